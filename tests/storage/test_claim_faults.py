"""A folder is worked on by one job at a time, whatever fails on the way (see test_claim.py)."""

import time

import pytest

from evaljudge.errors import UserError
from evaljudge.storage import claimed
from evaljudge.storage.claim import BEAT

pytestmark = [pytest.mark.service, pytest.mark.usefixtures("hasty")]

OTHERS = ("error", "slow down", "reset before", "torn answer")


@pytest.mark.parametrize(
    ("first", "fault"),
    [
        *((first, "reset after") for first in range(3)),
        (0, "torn upload"),
        *(pytest.param(n, one, marks=pytest.mark.long) for n in range(3) for one in OTHERS),
    ],
)
def test_a_claim_is_taken_and_left_whatever_fails(first, fault, s3, s3_proxy, patience, refused):
    """A lost answer above all: who finds the claim taken may have taken it.

    The fault meets the look for a claim, or what follows: its taking, and another who looks.
    """
    patience(60)
    uri, requests = f"{s3.uri}/runs/first", iter(range(100))
    methods = {"PUT"} if fault == "torn upload" else {"GET", "PUT"}
    wanted = 0 if fault == "torn upload" else first
    rule = s3_proxy.add(
        fault, most=2, when=lambda method, path: method in methods and next(requests) >= wanted
    )
    with claimed(uri) as claim:
        claim.check()
        refused(lambda: hold(uri), UserError, uri)
    assert rule.applied and s3.keys() == set()


def test_a_holder_outlives_an_outage(s3, s3_proxy, refused):
    """In which nobody else could take the folder either."""
    uri = f"{s3.uri}/run"
    with claimed(uri) as claim:
        s3_proxy.outage(2.4 * BEAT / 10)
        time.sleep(2.6 * BEAT / 10)
        claim.check()
        refused(lambda: hold(uri), UserError, uri)
    assert s3_proxy.counts["outage"] and s3.keys() == set()


def test_letting_go_hides_nothing(s3, s3_proxy):
    def work() -> None:
        with claimed(f"{s3.uri}/run"):
            s3_proxy.add("denied")
            raise ValueError("the work's own")

    with pytest.raises(ValueError, match="the work's own"):
        work()


def hold(uri: str) -> None:
    with claimed(uri):
        pass
