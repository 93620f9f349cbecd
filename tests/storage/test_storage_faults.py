"""What becomes of storage's faults: said at once, waited out, or given up in one line."""

import time
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.errors import GivenUp, UserError
from evaljudge.storage import Output, Place, Shard, expand, open_to_read
from evaljudge.storage.place import objects
from evaljudge.storage.seals import parquet
from tests.s3.proxy import FaultProxy

pytestmark = [pytest.mark.service, pytest.mark.usefixtures("hasty")]


BIG = bytes(range(256)) * 4096 * 12  # 12 MB: more than one part of an upload
TRANSIENT = ("error", "slow down", "reset before", "reset after", "torn upload", "torn answer")
TABLE = pa.table({"doc_id": ["a", "b"], "value": [1.5, None]})


def read_it(place: Place) -> object:
    return place.read("there/a.json")


def read_table_of_it(place: Place) -> object:
    return pq.read_table(pa.BufferReader(place.read("there/t.parquet"))).to_pylist()


def write_it(place: Place) -> object:
    place.write("new/b", b"new")
    return place.read("new/b")


def write_much(place: Place) -> object:
    place.write("new/big", BIG)
    return place.read("new/big") == BIG


def look_for_it(place: Place) -> object:
    return place.kind("there/a.json") != "NotFound", place.kind("there/none") != "NotFound"


def list_it(place: Place) -> object:
    return place.names("there"), place.names("none")


def remove_it(place: Place) -> object:
    place.remove("there/other")
    return place.names("there")


def clear_it(place: Place) -> object:
    place.remove_folder("there")
    return place.names("there")


def expand_it(place: Place) -> object:
    return (
        expand(place.at("there/*.json")),
        expand(place.at("there")),
        expand(place.at("there/a.json")),
    )


def open_it(place: Place) -> object:
    with open_to_read(place.at("there/a.json")) as stream:
        return stream.read()


USES = (
    read_it, read_table_of_it, write_it, write_much, look_for_it, list_it, remove_it,
    clear_it, expand_it, open_it,
)  # fmt: skip


TRIED = [
    (write_it, "error"), (write_it, "reset after"), (write_much, "torn upload"),
    (read_it, "torn answer"), (list_it, "slow down"), (clear_it, "reset before"),
]  # fmt: skip


def furnish(place: Place, s3: Any) -> None:
    place.write("there/t.parquet", parquet(TABLE, "t"))
    for name in ("a.json", "other"):
        place.write(f"there/{name}", b"[1]")
    assert s3.keys()


# what the user can put right


@pytest.mark.parametrize("use", USES[::3])
def test_a_bucket_that_is_not_there_is_said_at_once(use, s3, refused):
    since = time.monotonic()
    uri = f"{s3.uri}-not/runs/first"
    refused(lambda: use(Place(uri)), UserError, f"{s3.uri}-not")
    assert time.monotonic() - since < 10
    assert s3.keys() == set()


@pytest.mark.parametrize("use", [read_it, write_much, list_it])
def test_denied_is_said_at_once(use, s3, s3_proxy, refused):
    place = Place(f"{s3.uri}/runs/first")
    furnish(place, s3)
    s3_proxy.add("denied")
    since, before = time.monotonic(), s3.keys()
    refused(lambda: use(place), UserError, f"{s3.uri}/runs/first", "denied")
    assert time.monotonic() - since < 10
    assert s3_proxy.counts["denied"] and s3.keys() == before


@pytest.mark.parametrize(
    ("fault", "said"),
    [("expired", "have expired: renew them"), ("full", "is full: free space"),
     ("quota", "quota is used up: free space")],
)  # fmt: skip
def test_what_only_the_user_can_mend_is_said_at_once(fault, said, s3, s3_proxy, refused):
    place = Place(f"{s3.uri}/runs/first")
    furnish(place, s3)
    rule, before = s3_proxy.add(fault), s3.keys()
    refused(lambda: write_much(place), UserError, place.uri, said, "then run it again")
    assert rule.applied == 1 and s3.keys() == before and s3.unfinished() == 0


@pytest.mark.parametrize("uri", ["s3://", "s3:///a", "s3://bucket?x=1", "ftp://host/a"])
def test_a_uri_that_names_no_place(uri, s3, refused):
    refused(lambda: Place(uri).read("a"), UserError, uri.partition("?")[0].rstrip("/"))


def test_no_word_of_the_credentials(s3, s3_proxy, patience):
    place = Place(f"{s3.uri}/runs/first")
    patience(0.5)
    for fault in ("denied", "error", "reset before"):
        s3_proxy.heal()
        s3_proxy.add(fault)
        with pytest.raises((UserError, GivenUp)) as caught:
            place.write("a", b"x")
        assert "loopback-key" not in str(caught.value)
        assert "loopback-secret" not in str(caught.value)


# what is waited out


@pytest.mark.parametrize(("use", "fault"), TRIED)
def test_a_use_that_fails_for_a_while_is_done_in_the_end(use, fault, s3, s3_proxy, patience):
    """More often than the libraries below try by themselves, and as if nothing had happened."""
    patience(60)
    calm = Place(f"{s3.uri}/calm")
    furnish(calm, s3)
    expected = use(calm)
    place = Place(f"{s3.uri}/runs/first")
    furnish(place, s3)

    rule = s3_proxy.add(fault, most=4, when=meets(fault))
    came = use(place)

    assert repr(came).replace("runs/first", "calm") == repr(expected)
    assert rule.applied == 4
    if use is write_it:  # the parts of an upload that is not completed would be paid for
        assert s3.unfinished() == 0
    assert relative(s3, "runs/first/") == relative(s3, "calm/")


def meets(fault: str) -> Callable[[str, str], bool]:
    methods = {"torn upload": {"PUT", "POST"}, "torn answer": {"GET"}}.get(fault)
    return lambda method, path: methods is None or method in methods


def relative(s3: Any, folder: str) -> dict[str, bytes]:
    keys = {key for key in s3.keys(folder) if not key.endswith("/")}
    return {key.removeprefix(folder): s3.read(key) for key in keys}


@pytest.mark.parametrize(
    ("use", "fault"),
    [*zip(USES[::2], cycle(("slow down", "reset after")), strict=False), (write_it, "torn upload")],
)
def test_a_use_that_fails_for_too_long_is_given_up(use, fault, s3, s3_proxy, patience, refused):
    place = Place(f"{s3.uri}/runs/first")
    furnish(place, s3)
    patience(3)
    rule = s3_proxy.add(fault, when=meets(fault))
    since = time.monotonic()
    refused(lambda: use(place), GivenUp, f"{s3.uri}/runs/first")
    assert 0.2 < time.monotonic() - since < 20
    assert rule.applied >= 2


@pytest.mark.parametrize(
    "use",
    [
        lambda place: place.write("a", b"x"),
        lambda place: objects(place.uri).read("a"),
        lambda place: objects(place.uri).put_if("a", b"x"),
    ],
)
def test_an_endpoint_that_does_not_speak_s3_is_said_at_once(use, refused, monkeypatch, s3):
    """A server of files: it has no put, and its pages of errors are not S3's."""
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, args=(0.02,)).start()
        monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        said = "AWS_ENDPOINT_URL answers, but not as S3 does: correct it"
        refused(lambda: use(Place("s3://trial/runs/w")), UserError, f"s3://trial/runs/w/a: {said}")
        server.shutdown()


@pytest.mark.parametrize("where", ["s3", "gs", "az"])
def test_an_output_is_whole_whatever_fails(where, shards, request, monkeypatch):
    bucket = request.getfixturevalue(where)
    with FaultProxy(bucket.server.url) as proxy:
        for name, value in bucket.through(proxy.url).items():
            monkeypatch.setenv(name, value)
        for seed, fault in enumerate(TRANSIENT):
            proxy.add(fault, share=0.03, when=meets(fault), seed=seed)
        for number in range(3):
            output, shard = Output(f"{bucket.uri}/runs/{number}", run="z1f0c"), Shard(number, 1, 1)
            wrote = shards.write(output, shard)
            assert shards.read(output, shard) == wrote
            assert output.committed("judge") == {number} and output.shards() == [shard]
        assert sum(proxy.counts.values()) > 3
