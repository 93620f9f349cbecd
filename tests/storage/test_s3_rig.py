"""The rig itself: what a test of storage faults relies on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.service

CONTENT = bytes(range(256)) * 4096


@pytest.fixture
def put(s3: Any, s3_proxy: Any) -> Iterator[Callable[..., None]]:
    """Without retries of boto3's own, so that a fault is seen as it is."""
    import boto3
    from botocore.config import Config

    client = boto3.client("s3", config=Config(retries={"total_max_attempts": 1}))
    yield lambda key, content, **more: client.put_object(
        Bucket=s3.name, Key=key, Body=content, **more
    )
    client.close()


def fails(work: Callable[[], object]) -> str:
    from botocore.exceptions import BotoCoreError, ClientError

    with pytest.raises((BotoCoreError, ClientError)) as caught:
        work()
    return str(caught.value)


@pytest.mark.parametrize(
    ("fault", "code", "is_done"),
    [
        ("error", "InternalError", False),
        ("slow down", "SlowDown", False),
        ("denied", "AccessDenied", False),
        ("reset before", "", False),
        ("reset after", "", True),
        ("torn upload", "", False),
    ],
)
def test_a_fault_is_answered_and_only_after_forwarding_something_was_done(
    fault: str, code: str, is_done: bool, put: Callable[..., None], s3: Any, s3_proxy: Any
) -> None:
    rule = s3_proxy.add(fault, when=lambda method, path: method == "PUT", most=1)
    assert code in fails(lambda: put("new", CONTENT))
    assert rule.applied == s3_proxy.counts[fault] == 1
    assert s3.keys("new") == ({"new"} if is_done else set())
    put("new", CONTENT)
    assert s3.read("new") == CONTENT


def test_a_share_is_kept_and_is_the_same_for_the_same_seed(
    put: Callable[..., None], s3_proxy: Any
) -> None:
    from botocore.exceptions import ClientError

    failed = []
    for seed in (1, 1, 2):
        s3_proxy.heal()
        s3_proxy.add("error", share=0.3, seed=seed)
        failed.append(list[int]())
        for number in range(40):
            try:
                put(f"{number}", b"x")
            except ClientError:
                failed[-1].append(number)
    assert failed[0] == failed[1] != failed[2]
    assert all(5 <= len(numbers) <= 20 for numbers in failed)


def test_a_put_on_a_condition_holds_only_then(put: Callable[..., Any], s3: Any) -> None:
    mark = put("claim", b"first", IfNoneMatch="*")["ETag"]
    assert "Precondition" in fails(lambda: put("claim", b"second", IfNoneMatch="*"))
    put("claim", b"third", IfMatch=mark)
    assert "PreconditionFailed" in fails(lambda: put("claim", b"fourth", IfMatch=mark))
    assert s3.read("claim") == b"third"
