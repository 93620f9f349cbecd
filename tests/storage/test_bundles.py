"""Bundles: whole or not there, the first of two counts, and every part proves itself."""

import asyncio
import pickle
import random
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.engines.scripted import Scripted, any_option
from evaljudge.errors import Damaged
from evaljudge.execution.protocol import Order
from evaljudge.execution.shards import ShardWork
from evaljudge.model.asks import Options, Prompt
from evaljudge.records import Score, Verdict
from evaljudge.storage import Output, Panel, Place, Shard, ahead
from evaljudge.storage.seals import (
    END,
    Bundle,
    Recent,
    Unsound,
    bundled,
    parquet,
    read_json,
    read_parquet,
    sealed_json,
)
from tests.build import done
from tests.execution.test_shards import CASES, SHARD, assignment, do, here

RUN = "z1f0c9a2b"
PARTS = {"verdicts/j/00003.parquet": b"PAR1" * 50, "commits/judge/00003.json": b"{}"}


def counting(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is read from now on."""
    counts, read = Counter[str](), Place.read

    def counted(place: Place, name: str, last: int | None = None) -> bytes:
        counts[name] += 1
        return read(place, name, last)

    monkeypatch.setattr(Place, "read", counted)
    return counts


def verdict(reason: str = "") -> Verdict:
    return Verdict("d1", "A", "j", "fluency", {"reason": reason})


def judged(folder: Path | str, *verdicts: Verdict) -> bool:
    output = Output(str(folder), run=RUN, panel=Panel())
    output.write_verdicts("j", SHARD, verdicts)
    return output.commit("judge", SHARD, {"files": [], "worker": "w"})


def test_bundles_are_zips_that_end_with_the_receipt(tmp_path):
    assert bundled(PARTS) == bundled(PARTS)
    (tmp_path / "b.zip").write_bytes(bundled(PARTS))
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == PARTS
        assert archive.testzip() is None
    large = {"verdicts/j/00003.parquet": bytes(2 * END), "commits/judge/00003.json": b"{}"}
    end = Bundle(bundled(large)[-END:])
    assert end.lies_before("verdicts/j/00003.parquet")
    assert not end.lies_before("commits/judge/00003.json")
    assert end.part("commits/judge/00003.json") == b"{}"


def test_whatever_byte_is_changed_a_part_is_as_it_was_or_refused():
    whole = bundled(PARTS)
    for at in range(len(whole)):
        changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        for name, content in PARTS.items():
            try:
                assert Bundle(changed).part(name) == content
            except Unsound:
                continue
    for size in range(len(whole)):
        with pytest.raises(Unsound):
            Bundle(whole[:size]).part("verdicts/j/00003.parquet")
    for more in (b"x", whole[:9]):
        with pytest.raises(Unsound, match="^has bytes after its end$"):
            Bundle(whole + more)


def test_nothing_lies_there_before_the_commit_and_then_one_object(tmp_path):
    output = Output(str(tmp_path), run=RUN)
    output.write_verdicts("j", SHARD, [verdict()])
    output.write_checks("j", SHARD, [])
    assert not list(tmp_path.rglob("*"))
    assert output.commit("judge", SHARD, {"files": [], "worker": "w"})
    (file,) = (file for file in tmp_path.rglob("*") if file.is_file())
    assert file == tmp_path / "commits/judge/00003.zip"
    again = Output(str(tmp_path), run=RUN)
    assert again.committed("judge") == {3} and list(again.verdicts("j", SHARD)) == [verdict()]


def test_of_two_workers_the_first_counts(tmp_path):
    assert judged(tmp_path, verdict("first"))
    assert not judged(tmp_path, verdict("second"))
    assert list(Output(str(tmp_path), run=RUN).verdicts("j", SHARD)) == [verdict("first")]


@pytest.mark.service
def test_on_s3_the_first_counts_too_and_the_end_is_read_alone(s3):
    uri, key = f"{s3.uri}/runs/first", "runs/first/commits/judge/00003.zip"
    long = verdict(random.Random(1).randbytes(END).hex())
    assert judged(uri, long)
    assert not judged(uri, verdict("second"))
    output = Output(uri, run=RUN, panel=Panel())
    assert len(output.place.read("commits/judge/00003.zip", END)) == END < len(s3.read(key))
    assert [receipt["worker"] for receipt in output.receipts("judge")] == ["w"]
    assert list(output.verdicts("j", SHARD)) == [long]
    s3.put(key, b"")
    with pytest.raises(Damaged, match="is empty"):
        list(Output(uri, run=RUN, panel=Panel()).receipts("judge"))
    s3.remove(key)
    assert judged(uri, verdict("third"))


def test_a_worker_that_is_second_goes_on_with_the_briefs_that_count(tmp_path):
    """Both write the same shard's references; the second one's differ, and are not judged by."""
    Output(str(tmp_path), run=RUN).write_cases(SHARD, CASES)
    job = assignment(tmp_path, run=RUN)
    do(job, Scripted(), Order(SHARD, ["prepare"], {}))
    counted = Output(str(tmp_path), run=RUN).own_briefs("synthetic", SHARD)
    seen = list[str]()

    def choose(prompt: Prompt, options: Options) -> Any:
        seen.append(prompt.text)
        return any_option(prompt, options)

    model = Scripted(lambda prompt, how: f"other {hash(prompt.text)}", choose)
    second = ShardWork(job, replace(here(job), worker="host-2"), model)
    receipts = asyncio.run(done(second, Order(SHARD, ["prepare", "judge"], {})))
    assert [receipt["worker"] for receipt in receipts] == ["host-1", "host-2"]
    assert Output(str(tmp_path), run=RUN).own_briefs("synthetic", SHARD) == counted
    assert seen and not any("other " in prompt for prompt in seen)


def test_all_parts_are_one_read_and_receipts_the_end_alone(tmp_path, monkeypatch):
    judged(tmp_path, verdict())
    output, counts = Output(str(tmp_path), run=RUN, panel=Panel()), counting(monkeypatch)
    assert next(output.receipts("judge"))["worker"] == "w"
    for _ in range(2):
        assert list(output.verdicts("j", SHARD)) == [verdict()]
    assert output.receipts_of(SHARD) == [{"files": [], "worker": "w"}]
    assert counts == {"commits/judge/00003.zip": 2, f"briefs/{RUN}/00003.zip": 1}


def test_a_damaged_part_is_named_with_its_bundle(tmp_path):
    judged(tmp_path, verdict())
    file = tmp_path / "commits/judge/00003.zip"
    parts = Bundle(file.read_bytes())
    content = {name: parts.part(name) for name in parts.names}
    content["verdicts/j/00003.parquet"] += b" "
    file.write_bytes(bundled(content))
    output = Output(str(tmp_path), run=RUN, panel=Panel())
    with pytest.raises(Damaged, match="its part verdicts/j/00003.parquet is not as it") as caught:
        list(output.verdicts("j", SHARD))
    assert caught.value.file == str(file)
    assert output.name_of(caught.value) == "commits/judge/00003.zip"
    with pytest.raises(Damaged):
        output.prove("commits/judge/00003.json")


def test_scores_of_many_shards_are_one_file_and_read_by_shard(tmp_path, monkeypatch):
    output, shards = Output(str(tmp_path), run=RUN), [Shard(n, 1, 1) for n in (0, 1, 7, 8)]
    scores = {shard: [Score(f"d{shard.number}", "A", "j", "x", 1.0)] for shard in shards}
    scores[shards[1]] = []
    for together in output.scored_together(shards):
        output.write_scores({shard: scores[shard] for shard in together})
    assert sorted(file.name for file in (tmp_path / "scores").iterdir()) == [
        "00000-00007.parquet", "00008-00015.parquet",
    ]  # fmt: skip
    again, counts = Output(str(tmp_path), run=RUN), counting(monkeypatch)
    assert again.scored([*shards, Shard(2, 1, 1), Shard(64, 1, 1)]) == shards
    assert {shard: list(again.scores(shard)) for shard in shards} == scores
    assert set(counts.values()) == {1}
    with pytest.raises(Damaged, match="has no rows of shard 2"):
        list(again.scores(Shard(2, 1, 1)))


def test_what_was_read_is_kept_up_to_so_many_bytes():
    recent = Recent(most=10)
    for name, size in (("a", 4), ("b", 4), ("c", 4), ("too much", 11)):
        recent.keep(name, bytes(size))
    kept = [name for name in ("a", "b", "c", "too much") if recent.get(name) is not None]
    assert kept == ["b", "c"]


def test_threads_that_want_a_file_at_once_read_it_once(tmp_path, monkeypatch):
    shards = [Shard(n, 1, 1) for n in range(8)]
    scores = {shard: [Score(f"d{shard.number}", "A", "j", "x", 1.0)] for shard in shards}
    Output(str(tmp_path), run=RUN).write_scores(scores)
    output, counts = Output(str(tmp_path), run=RUN), counting(monkeypatch)
    assert list(ahead(lambda shard: list(output.scores(shard)), shards)) == [*scores.values()]
    assert counts == {"scores/00000-00007.parquet": 1}


# seals


NAME = "s1f0c/verdicts/synthetic/00003.parquet"
CONTENT = {"stage": "judge", "seconds": 0.1, "files": ["ü"], "sha256": "another's"}
TABLE = pa.table({"doc_id": ["a", "b"] * 20, "signature": ["long"] * 40, "n": range(40)})
Read = Callable[..., Any]
KINDS = [
    pytest.param(sealed_json(CONTENT, NAME), read_json, id="json"),
    pytest.param(parquet(TABLE, NAME), read_parquet, id="parquet"),
]


def test_what_was_sealed_is_read_and_nothing_else():
    plain = {name: value for name, value in CONTENT.items() if name != "sha256"}
    assert read_json(sealed_json(CONTENT, NAME), NAME) == plain
    assert read_parquet(parquet(TABLE, NAME), NAME, ["n"]).equals(TABLE.select(["n"]))
    unsealed = pa.BufferOutputStream()
    pq.write_table(TABLE, unsealed)
    for content, said in ((b"", "is empty"), (b'{"a": 1}', "not as it was"), (b"{", "not as it")):
        with pytest.raises(Unsound, match=said):
            read_json(content, NAME)
    with pytest.raises(Unsound, match="not as it was written"):
        read_parquet(unsealed.getvalue().to_pybytes(), NAME)


@pytest.mark.parametrize(("content", "read"), KINDS)
def test_every_changed_byte_is_noticed(content, read):
    for at in range(len(content)):
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        with pytest.raises(Unsound, match="not as it was written"):
            read(changed, NAME)


@pytest.mark.parametrize(("content", "read"), KINDS)
def test_every_cut_is_noticed(content, read):
    for size in range(len(content)):
        with pytest.raises(Unsound):
            read(content[:size], NAME)


@pytest.mark.parametrize(("content", "read"), KINDS)
def test_a_file_in_another_s_place_is_noticed(content, read):
    for name in (NAME.replace("3", "4"), NAME.replace("1f0c", "1f0d")):
        with pytest.raises(Unsound):
            read(content, name)


def test_readers_and_processes_are_told_of_damage():
    content = parquet(pa.table({"text": ["one long text of a document"]}), NAME)
    at = content.index(b"long text")
    changed = pa.BufferReader(content[:at] + b"L" + content[at + 1 :])
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        pq.ParquetFile(changed, page_checksum_verification=True).read()
    error = Damaged("runs/first/run.json", "is empty", "put it back")
    said = "runs/first/run.json: is empty: put it back"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.file) == (said, error.file)
