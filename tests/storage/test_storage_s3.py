"""Places, outputs and globs on S3 exactly as on a disk."""

import gc
import json
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evaljudge.storage import Output, Place, Shard, expand
from tests.build import refusal

pytestmark = pytest.mark.service


BIG = bytes(range(256)) * 4096 * 12  # 12 MB: more than one part of an upload
ODD = "a b+c%25&=ü~(1).json"


def test_what_is_written_is_read(place, ground):
    place.write("a.txt", "text ü")
    place.write("deep/er/b.bin", b"\0\xff")
    place.write("empty", b"")
    place.write_json(ODD, {"a": [1, None, "ü"]})
    assert ground.files() == {"a.txt", "deep/er/b.bin", "empty", ODD}
    assert ground.read("deep/er/b.bin") == place.read("deep/er/b.bin") == b"\0\xff"
    assert place.read("a.txt") == "text ü".encode() and place.read("empty") == b""
    assert place.read("a.txt", 3) == " ü".encode() and place.read("empty", 3) == b""
    assert json.loads(place.read(ODD)) == json.loads(ground.read(ODD)) == {"a": [1, None, "ü"]}


def test_many_parts_and_many_changes_at_once(place, ground):
    with place.writing("big") as stream:
        for start in range(0, len(BIG), 1 << 20):
            stream.write(BIG[start : start + (1 << 20)])
        assert place.kind("big") == "NotFound" and place.names("") == []  # before it ends
    assert pickle.loads(pickle.dumps(place)).read("big") == ground.read("big") == BIG
    place.write("a", b"")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: place.change("a", lambda had: had + bytes([n])), range(20)))
    assert sorted(ground.read("a")) == list(range(20)) and ground.files() == {"a", "big"}


@pytest.mark.parametrize("size", [3, len(BIG)])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, pytest.param(ValueError, marks=pytest.mark.long)]
)
def test_a_block_that_ends_badly_leaves_what_was(size, error, place, ground):
    def broken(name: str) -> None:
        with place.writing(name) as stream:
            stream.write(BIG[:size])
            raise error

    ground.put("old", b"old")
    for name in ("old", "new"):
        with pytest.raises(error):
            broken(name)
    gc.collect()
    time.sleep(0.2)
    assert ground.files() == {"old"} and ground.read("old") == b"old"


def test_names_are_those_of_files_directly_in_a_folder(place, ground):
    assert place.names("folder") == []
    for name in ("b.json", "a.json", ODD, ".hidden", "deeper/c.json"):
        ground.put(f"folder/{name}", b"x")
    ground.put("folder-2/z.json", b"x")
    assert place.names("folder") == sorted([ODD, "a.json", "b.json"])
    assert place.names("none") == []


@pytest.mark.long
def test_more_names_than_one_listing_holds(s3):
    """S3 lists a thousand at a time."""
    place = Place(f"{s3.uri}/many")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: s3.put(f"many/commits/{n:05d}.json", b"1"), range(1100)))
    assert place.names("commits") == [f"{n:05d}.json" for n in range(1100)]


def test_only_case_files_of_other_shards_are_removed(ground):
    for name in ("00000.parquet", "00001.parquet", "README", "old/00002.parquet"):
        ground.put(f"cases/{name}", b"x")
    Output(ground.uri).keep_cases([Shard(0, 1, 1)])
    assert ground.files() == {"cases/00000.parquet", "cases/README", "cases/old/00002.parquet"}


def test_a_folder_is_removed_with_all_that_is_in_it(place, ground):
    place.remove_folder("none")
    place.remove("none/a")
    for name in ("f/a", "f/.hidden", "f/deeper/c", "f/ab", "f2/d", "e"):
        ground.put(name, b"x")
    for _ in range(2):
        place.remove("f/ab")
        assert ground.files() == {"f/a", "f/.hidden", "f/deeper/c", "f2/d", "e"}
    place.remove_folder("f")
    assert ground.files() == {"f2/d", "e"} and place.names("f") == []
    place.write("f/a", b"new")
    assert place.names("f") == ["a"]


def test_files_of_a_file_a_folder_and_a_glob(ground):
    for name in ("b.jsonl", "a.jsonl", "c.csv", ".hidden", "_SUCCESS", "deeper/d.jsonl"):
        ground.put(f"corpus/{name}", b"x")
    uri = f"{ground.uri}/corpus"

    def names(given: str) -> list[str]:
        found = expand(given)
        assert all(file.startswith(f"{uri}/") for file in found)
        return [file.removeprefix(f"{uri}/") for file in found]

    assert names(uri) == names(f"{uri}/") == ["a.jsonl", "b.jsonl", "c.csv"]
    assert names(f"{uri}/*.jsonl") == ["a.jsonl", "b.jsonl"]
    assert names(f"{uri}/[ac].*") == ["a.jsonl", "c.csv"]
    assert names(f"{uri}/c.csv") == ["c.csv"]
    assert names(f"{uri}/none*") == []
    assert "none.jsonl: no such file" in refusal(expand, f"{uri}/none.jsonl")


def test_an_output_comes_back_as_it_went(ground, shards):
    output, shard = Output(ground.uri, run="z1f0c"), Shard(3, 1, 2)
    wrote = shards.write(output, shard)
    again = Output(ground.uri, run="z1f0c")
    assert shards.read(again, shard) == wrote
    assert again.run() == {"layout": 3, "id": "z1f0c"} and again.shards() == [shard]
    assert again.committed("judge") == again.committed("prepare") == {3}
    assert again.committed("measure") == set()
    assert [receipt["shard"] for receipt in again.receipts("judge")] == [3]
    assert ground.files() == {
        "run.json",
        "shards.json",
        "cases/00003.parquet",
        "briefs/z1f0c/00003.zip",
        "scores/00000-00007.parquet",
        "commits/judge/00003.zip",
    }
