"""Retries when object storage fails: throttling, 5xx, lost connections, outages.

Requests are tried again with backoff and jitter. Errors that waiting cannot solve (no such bucket,
access denied) are raised at once, in one line that names the place. A place that has never answered
is given up after seconds: its address is wrong, or nothing there can be reached from here.
"""

import random
import re
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import ClassVar, TypeVar

from evaljudge.errors import StorageLost, UserError, first_line, seconds_in

R = TypeVar("R")
PATIENCE, VARIABLE = 300.0, "EVALJUDGE_STORAGE_PATIENCE"
SILENCE, BETWEEN = 10.0, 60.0
"""Seconds before a line says what is waited for, and between such lines."""
FIRST_CONTACT = 10.0
"""Seconds for a place that has not answered yet."""
FIRST_WAIT, LONGEST_WAIT = 0.25, 10.0
REPLY = re.compile(r"An error occurred \(|AWS Error (?!NETWORK_CONNECTION)|non-2xx status code")
"""Errors with which a server has answered, as boto3, pyarrow and obstore say them."""
DENIED = "access is denied to these credentials: give them access, then run it again"
_REFUSALS = {
    "NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound": "there is no such bucket",
    "QUOTA_EXCEEDED|QuotaExceeded": "its quota is used up: free space there, then run it again",
    "ACCESS_DENIED": DENIED,
    "INVALID_ACCESS_KEY_ID|INVALID_CLIENT_TOKEN_ID|UNRECOGNIZED_CLIENT": "the access key is not "
    "known there",
    "SIGNATURE_DOES_NOT_MATCH": "the secret key does not fit the access key",
    "MISSING_AUTHENTICATION_TOKEN": "it wants credentials, and none were found",
    "EXPIRED_TOKEN|ExpiredToken": "the credentials have expired: renew them, then run it again",
    r"HTTP status 400\) during Head\w+": "refused without a reason: have the credentials expired?",
    "(HTTP status|code:) 507": "the storage is full: free space there, then run it again",
    "HTTP status 301": "the bucket is in another region: set AWS_REGION",
    "(HTTP status|code:) 401|401 Client Error": "the credentials are not accepted",
    "(HTTP status|code:) 403|403 Client Error": DENIED,
}


def patiently(uri: str, work: Callable[[], R], patience: float | None = None) -> R:
    """Try until it is done, refused for good, or has taken too long.

    The work must be safe to do twice: an answer may be lost, not only a request.
    """
    if patience is None:
        patience = seconds_in(VARIABLE, PATIENCE)
    begun = time.monotonic()
    for tries in count():
        wait = min(FIRST_WAIT * 2 ** min(tries, 9), LONGEST_WAIT) * random.uniform(0.5, 1.0)
        try:
            done = work()
            _Known.hosts.add(_host(uri))
            return done
        except FileNotFoundError:
            _Known.hosts.add(_host(uri))
            raise
        except Exception as error:
            if not isinstance(error, OSError) and not _is_of_httpx(error):
                raise
            refuse(uri, str(error))
            if REPLY.search(str(error)):
                _Known.hosts.add(_host(uri))
            waited, cause = time.monotonic() - begun, first_line(error)
            if not has_answered(uri) and waited + wait > min(patience, FIRST_CONTACT):
                raise StorageLost(f"{uri}: no answer ({cause}): is the address right?") from None
            if waited + wait > patience:
                reason = f"it could not be used for {patience:g} s ({cause})"
                raise StorageLost(f"{uri}: {reason}") from None
            if waited >= SILENCE and time.monotonic() - _Known.said >= BETWEEN:
                _Known.said = time.monotonic()
                reason = f"no answer yet ({cause}); given up after {patience:g} s"
                print(f"waiting for {uri}: {reason}", file=sys.stderr, flush=True)
        time.sleep(wait)
    raise AssertionError("the waits never end")


class _Known:
    """What this process knows of storage, in all of its threads."""

    hosts: ClassVar = set[str]()
    """Buckets that have answered, by the beginning of their URIs."""
    are_all_known: ClassVar = False
    said: ClassVar = -BETWEEN
    """When the last line was written."""


def expect_answers() -> None:
    """Called in a restarted worker: its driver has reached all places before, so that one that
    does not answer now has an outage."""
    _Known.are_all_known = True


def has_answered(uri: str) -> bool:
    return _Known.are_all_known or _host(uri) in _Known.hosts


def _is_of_httpx(error: Exception) -> bool:
    """The hub's library lets them through, from whichever httpx it has."""
    return type(error).__module__.startswith("httpx")


def _host(uri: str) -> str:
    return "/".join(uri.split("/")[:3])


def refuse(uri: str, message: str) -> None:
    """Raise a UserError if the storage's message is of something that the user can correct."""
    for mark, meaning in _REFUSALS.items():
        if re.search(rf"\b({mark})\b", message):
            raise UserError(f"{uri}: {meaning}") from None
