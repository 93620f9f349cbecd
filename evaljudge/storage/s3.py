"""What Amazon's S3, and storage with the same interface, asks for beside what clouds.py does.

Credentials are boto3's: those of the environment, a profile or the machine's role, never the URI's.
"""

import os
from datetime import timedelta
from typing import Any

from pyarrow import fs

from evaljudge.errors import UserError, first_words, needing
from evaljudge.storage.failures import patiently

SCHEME = "s3://"
NO_CREDENTIALS = (
    "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
)


def endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


def s3_settings(bucket: str) -> dict[str, Any]:
    """What makes a store of `s3://bucket`."""
    with needing(bucket, "s3"):
        from boto3 import Session
        from botocore.exceptions import BotoCoreError
        from obstore.auth.boto3 import Boto3CredentialProvider
    server = endpoint()
    if server and "@" in server:  # not to be repeated
        advice = "they belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise UserError(f"AWS_ENDPOINT_URL holds credentials: {advice}")
    if server and "://" not in server:
        raise UserError(f"AWS_ENDPOINT_URL is {server}: write it as https://HOST")
    try:
        session = Session()
        if session.get_credentials() is None:
            raise UserError(f"{bucket}: {NO_CREDENTIALS}")
    except BotoCoreError as error:  # no such profile, or half of a key
        raise UserError(f"{bucket}: {first_words(error)}") from None
    settings = {
        # asked again before each is used: botocore renews those of a role when it is time
        "credential_provider": Boto3CredentialProvider(session, ttl=timedelta(minutes=5)),
        "region": _region(bucket),
        "endpoint": server,
        "disable_bulk_delete": True,  # not every server has it, and single objects are removed
    }
    return {name: setting for name, setting in settings.items() if setting}


def _region(bucket: str) -> str | None:
    """The region that is named; otherwise, on Amazon's own S3, the region of the bucket."""
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if named or endpoint():
        return named
    return str(patiently(bucket, lambda: fs.resolve_s3_region(bucket.removeprefix(SCHEME))))
