"""The rig itself: what a test of storage faults relies on, with boto3 and with pyarrow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

pytestmark = pytest.mark.service


CONTENT = bytes(range(256)) * 4096  # a megabyte, told apart from its halves
ANSWERED = ("error", "slow down", "denied")
LOST = ("reset before", "reset after", "torn upload")


class Client(Protocol):
    def put(self, key: str, content: bytes) -> None: ...
    def get(self, key: str) -> bytes: ...


class Boto:
    """Without retries of its own, so that a fault is seen as it is."""

    def __init__(self, bucket: str) -> None:
        import boto3
        from botocore.config import Config

        once = Config(retries={"total_max_attempts": 1})
        self._bucket, self.client = bucket, boto3.client("s3", config=once)

    def put(self, key: str, content: bytes, **condition: str) -> None:
        self.client.put_object(Bucket=self._bucket, Key=key, Body=content, **condition)

    def get(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        return content

    def close(self) -> None:
        self.client.close()


class Arrow:
    """Without retries too. A filesystem made like this does not look at AWS_ENDPOINT_URL itself."""

    def __init__(self, bucket: str) -> None:
        from pyarrow import fs

        once = fs.AwsStandardS3RetryStrategy(max_attempts=1)
        endpoint = os.environ["AWS_ENDPOINT_URL"]
        system = fs.S3FileSystem(retry_strategy=once, endpoint_override=endpoint)
        self._bucket, self._system = bucket, system

    def put(self, key: str, content: bytes) -> None:
        with self._system.open_output_stream(f"{self._bucket}/{key}") as stream:
            stream.write(content)

    def get(self, key: str) -> bytes:
        with self._system.open_input_file(f"{self._bucket}/{key}") as stream:
            content: bytes = stream.read()
            return content

    def close(self) -> None:
        pass


@pytest.fixture(params=[Boto, Arrow])
def client(request: pytest.FixtureRequest, s3: Any, s3_proxy: Any) -> Iterator[Client]:
    client = request.param(s3.name)
    yield client
    client.close()


def uploads(method: str, path: str) -> bool:
    """Of content: the start and the end of an upload in parts have none."""
    return method == "PUT"


def fails(work: Callable[[], object]) -> str:
    from botocore.exceptions import BotoCoreError, ClientError

    with pytest.raises((OSError, BotoCoreError, ClientError)) as caught:
        work()
    return str(caught.value)


def test_what_is_put_is_there_and_comes_back(client: Client, s3: Any, s3_proxy: Any) -> None:
    client.put("a/b c+d%&=ü.bin", CONTENT)
    client.put("empty", b"")
    assert client.get("a/b c+d%&=ü.bin") == CONTENT == s3.read("a/b c+d%&=ü.bin")
    assert client.get("empty") == b""
    assert s3.keys() >= {"a/b c+d%&=ü.bin", "empty"}
    assert not s3_proxy.counts and s3_proxy.seen


@pytest.mark.parametrize("fault", ANSWERED)
def test_an_error_is_answered_and_nothing_is_done(
    fault: str, client: Client, s3: Any, s3_proxy: Any
) -> None:
    s3.put("there", CONTENT)
    s3_proxy.add(fault)
    code = {"error": "InternalError", "slow down": "SlowDown", "denied": "AccessDenied"}[fault]
    status = {"error": "500", "slow down": "503|SLOW_DOWN", "denied": "403|ACCESS_DENIED"}[fault]
    said = fails(lambda: client.get("there")) + fails(lambda: client.put("new", CONTENT))
    assert any(word in said for word in (code, *status.split("|"))), said
    assert s3_proxy.counts[fault] >= 2
    s3_proxy.heal()
    assert s3.keys() == {"there"}
    client.put("new", CONTENT)


@pytest.mark.parametrize("fault", LOST)
def test_a_connection_is_lost_and_only_after_forwarding_something_was_done(
    fault: str, client: Client, s3: Any, s3_proxy: Any
) -> None:
    rule = s3_proxy.add(fault, when=uploads, most=1)
    fails(lambda: client.put("new", CONTENT))
    assert rule.applied == s3_proxy.counts[fault] == 1
    if fault == "reset after" and isinstance(client, Boto):
        assert s3.read("new") == CONTENT
    else:
        assert s3.keys("new") == set()
    client.put("new", CONTENT)
    assert client.get("new") == CONTENT


def test_half_an_answer(client: Client, s3: Any, s3_proxy: Any) -> None:
    s3.put("there", CONTENT)
    rule = s3_proxy.add("torn answer", when=lambda method, path: method == "GET", most=1)
    fails(lambda: client.get("there"))
    assert rule.applied == 1
    assert client.get("there") == CONTENT


def test_a_delay(client: Client, s3: Any, s3_proxy: Any) -> None:
    s3.put("there", CONTENT)
    s3_proxy.add("delay", most=1, seconds=0.5)
    since = time.monotonic()
    assert client.get("there") == CONTENT
    assert 0.5 <= time.monotonic() - since < 5
    assert s3_proxy.counts["delay"] == 1


def test_an_outage_meets_open_connections_and_new_ones(
    client: Client, s3: Any, s3_proxy: Any
) -> None:
    s3.put("there", CONTENT)
    client.get("there")
    s3_proxy.outage(60)
    for _ in range(3):
        fails(lambda: client.get("there"))
    assert s3_proxy.counts["outage"] >= 3
    s3_proxy.outage(0.2)
    time.sleep(0.3)
    assert client.get("there") == CONTENT


def test_a_share_is_kept_and_is_the_same_for_the_same_seed(s3: Any, s3_proxy: Any) -> None:
    client = Boto(s3.name)
    applied = []
    for seed in (1, 1, 2):
        s3_proxy.heal()
        rule = s3_proxy.add("error", share=0.3, seed=seed)
        failed = []
        for number in range(40):
            try:
                client.put(f"{number}", b"x")
            except client.client.exceptions.ClientError:
                failed.append(number)
        applied.append(failed)
        assert rule.applied == len(failed)
    client.close()
    assert applied[0] == applied[1] != applied[2]
    assert all(5 <= len(failed) <= 20 for failed in applied)


def test_a_put_on_a_condition_holds_only_then(s3: Any, s3_proxy: Any) -> None:
    client = Boto(s3.name)
    client.put("claim", b"first", IfNoneMatch="*")
    assert "Precondition" in fails(lambda: client.put("claim", b"second", IfNoneMatch="*"))
    mark = client.client.head_object(Bucket=s3.name, Key="claim")["ETag"]
    client.put("claim", b"third", IfMatch=mark)
    said = fails(lambda: client.put("claim", b"fourth", IfMatch=mark))
    client.close()
    assert "PreconditionFailed" in said and s3.read("claim") == b"third"


def test_subprocesses_reach_the_same_bucket(s3: Any, s3_proxy: Any, tmp_path: Path) -> None:
    s3.put("run/a/b.json", b"[1]")
    said = subprocess.check_output(
        [
            *(sys.executable, "-c"),
            "import sys, json; from pyarrow import fs;"
            "system, path = fs.FileSystem.from_uri(sys.argv[1]);"
            "print(json.load(system.open_input_file(path)))",
            f"{s3.uri}/run/a/b.json",
        ],
        text=True,
    )
    assert json.loads(said) == [1] and s3_proxy.seen
    folder = s3.download("run", tmp_path / "run")
    assert (folder / "a" / "b.json").read_bytes() == b"[1]"
    assert s3.keys("run/") == {"run/a/b.json"} and s3.keys("else") == set()
    assert os.environ["AWS_ENDPOINT_URL"] == s3_proxy.url
