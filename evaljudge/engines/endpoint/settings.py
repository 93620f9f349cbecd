"""What a user says of an endpoint: `endpoint: URL` or `endpoint: {url: …, key: VARIABLE, …}`."""

import os
import re
from ipaddress import ip_address
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from evaljudge.errors import UserError
from evaljudge.settings import Settings

USUAL_KEY = "EVALJUDGE_API_KEY"
"""Not OPENAI_API_KEY: a key is for one host, and goes to no other because it happens to be set."""
ROUTE = re.compile(r"/(chat/)?completions$")
BEARER = "Authorization"


class Endpoint(Settings):
    shorthand = "url"
    url: Annotated[str, Field(min_length=1)]
    key: str | None = None
    """The environment variable that holds the key; its value is never stored or shown."""
    header: str = BEARER
    """How the key is sent: `api-key` sends it bare under this name, as Azure has it."""
    widest: Annotated[float, Field(gt=0, le=1)] = 0.1
    """How wide, as a part of its scale, a score's bounds may be."""
    samples: Annotated[int, Field(ge=2, le=1000)] = 25
    """How many answers are drawn where a server shows no log-probabilities."""
    wait: Annotated[float, Field(ge=0)] = 300.0
    """Seconds that a server may be gone before the run ends."""
    timeout: Annotated[float, Field(gt=0)] = 300.0
    """Seconds that one reply may take."""
    at_once: Annotated[int, Field(ge=1, le=8192)] = 512
    """Requests in flight at most, of all workers together."""

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        """Checked together, so that no message quotes what was written in place of a variable."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url: write it as https://HOST/v1, or http:// for a server nearby")
        if self.key is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.key):
            raise ValueError("key: name the environment variable that holds the key, not the key")
        if self.key:
            self.refuse_plain_key()
        return self

    def refuse_plain_key(self) -> None:
        if urlsplit(self.url).scheme == "http" and not self.is_here:
            raise ValueError("a key is not sent over plain http to another host: use https")

    @property
    def is_here(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            return False

    def at(self, path: str) -> str:
        """The URL of a route; one that begins with a slash lies beside the API's version."""
        parts = urlsplit(self.url)
        base = ROUTE.sub("", parts.path.rstrip("/"))
        if path.startswith("/"):
            base, path = re.sub(r"/v\d+$", "", base), path[1:]
        return parts._replace(path=f"{base}/{path}").geturl()

    def secret(self) -> str:
        value = os.environ.get(self.key or USUAL_KEY, "")
        if self.key and not value:
            raise UserError(f"model.endpoint.key: the environment variable {self.key} is not set")
        if value:
            try:
                self.refuse_plain_key()
            except ValueError as error:
                raise UserError(f"model.endpoint: {USUAL_KEY} is set, and {error}") from None
        return value
