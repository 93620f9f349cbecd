"""Files of a run that are damaged: no traceback, and no result that differs without a word.

Every kind of file, times eleven damages, times `run`, `report` and `check`.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.commands.check import Checked
from evaljudge.commands.python import check
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.reasons import DAMAGED_FILE
from evaljudge.runs.job import BOTH
from evaljudge.runs.watching import Watcher
from evaljudge.storage import Output, Place
from evaljudge.storage.failures import disk_error
from tests import build
from tests.build import command, document, jsonl, lines, refusal

DOCUMENTS = 3
"""In as many shards."""
DERIVED = ["scores/00000-00007.parquet", "selected/some.jsonl", "report/agreement.json"]
PAPERS = ["run.json", "shards.json"]
BUNDLES = ["commits/judge/00001.zip", "commits/measure/00001.zip", "briefs/z*/00001.zip"]
CASES = "cases/00001.parquet"
STAGES = [CASES, BUNDLES[0]]
MEASURED = BUNDLES[1]
BRIEFS = ["briefs/common/*.json", BUNDLES[2]]
"""A run that is done does not read them."""
FILES = [*PAPERS, *STAGES, MEASURED, *BRIEFS, *DERIVED]
SHORT = ("another's", "gone")
"""Damages of the ordinary tests; the long ones have all of them."""
FOREIGN = ("README", ".DS_Store", "00001.parquet~", "copy of 00001.json", "notes/00001.json")


def flipped(content: bytes, *places: int) -> bytes:
    changed = bytearray(content)
    for place in places:
        changed[place % len(content)] ^= 1 << place % 8
    return bytes(changed)


def other(file: Path) -> bytes:
    """Another file of the same kind, or one byte more where there is no other."""
    beside = [one for one in sorted(file.parent.glob(f"*{file.suffix}")) if one != file]
    return beside[0].read_bytes() if beside else file.read_bytes() + b"\n"


DAMAGES: dict[str, Callable[[Path], bytes]] = {
    "empty": lambda file: b"",
    "half": lambda file: file.read_bytes()[: file.stat().st_size // 2],
    "one bit": lambda file: flipped(file.read_bytes(), file.stat().st_size // 3),
    "zeros": lambda file: bytes(file.stat().st_size),
    "junk": lambda file: random.Random(1).randbytes(300),
    "other JSON": lambda file: b'{"id": 7, "shards": [[1]], "stage": "judge"}\n',
    "another's": other,
}


def gone(file: Path) -> None:
    file.unlink()


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "inside").write_text("x")


def pipe(file: Path) -> None:
    """Whoever reads it waits until somebody writes."""
    file.unlink()
    os.mkfifo(file)


def foreign(file: Path) -> None:
    for name in FOREIGN:
        beside = file.parent / name
        beside.parent.mkdir(exist_ok=True)
        beside.write_text("x")


def rewritten(content: Callable[[Path], bytes]) -> Callable[[Path], None]:
    return lambda file: file.write_bytes(content(file)) and None


ALL_DAMAGES = {name: rewritten(content) for name, content in DAMAGES.items()} | {
    "gone": gone, "folder": folder, "pipe": pipe, "foreign": foreign,
}  # fmt: skip


OFTEN_DAMAGED = [
    *((name, SHORT) for name in STAGES),
    *(pytest.param(name, (*ALL_DAMAGES,), marks=pytest.mark.long) for name in FILES),
]


class Warnings(Watcher):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, line: str) -> None:
        self.lines.append(line)


class Bench(build.Bench):
    """A run that is done, and copies of it to be damaged."""

    def __init__(self, folder: Path, judges: dict[str, Any]) -> None:
        least = {"scorer": "geval", "axis": "fluency", "at_least": 1}
        super().__init__(
            folder, judges=judges, metrics=["words"], coverage_floor=0.95,
            agreement={"resamples": 0}, view=2 * DOCUMENTS,
            select=[{"name": "some", "all": [least]}],
        )  # fmt: skip
        self.out = folder / "whole"
        self.corpus(document(n, fluency=1.0 + n % 4) for n in range(DOCUMENTS))
        self.run(metrics=[])  # what is measured later has a bundle of its own
        self.run()
        self.unharmed = self.results()

    def copied(self, name: str) -> Bench:
        made = copy(self)
        made.out = self.folder / name
        shutil.rmtree(made.out, ignore_errors=True)
        shutil.copytree(self.out, made.out)
        return made

    def other_corpus(self, name: str) -> tuple[list[dict[str, Any]], str]:
        """The rows of the corpus, and a file for what becomes of them."""
        return lines(self.folder / "cases.jsonl"), str(self.folder / f"{name}.jsonl")

    def run(self, work: Callable[..., Any] = evaljudge.run, *, extend: bool = False,
            **changes: Any) -> Any:  # fmt: skip
        self.warnings = Warnings()
        options = {"extend": True} if extend else {}
        engines = ScriptedEngines()
        return work(self.config(**changes), engines=engines, watcher=self.warnings, **options)

    def check(self) -> Checked:
        return check(str(self.out))

    def results(self) -> list[Any]:
        texts = ("report/agreement.json", "selected/some.jsonl", "selected/some.json")
        return [self.rows("scores"), *((self.out / name).read_text() for name in texts)]

    def find(self, name: str) -> Path:
        (file,) = self.out.glob(name)
        return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Of a judge whose run is quickly reported."""
    return Bench(tmp_path_factory.mktemp("damaged"), {"geval": {}})


pytestmark = pytest.mark.usefixtures("no_fsync")


@pytest.fixture
def hurt(whole):
    def make(name: str, damage: str) -> Bench:
        bench = whole.copied("hurt")
        ALL_DAMAGES[damage](bench.find(name))
        return bench

    return make


def one_line(error: UserError, name: str) -> None:
    said = str(error)
    assert "\n" not in said, said
    assert name.partition("*")[0].rpartition("/")[2] in said, said


@pytest.mark.parametrize("name", FILES)
def test_check_names_every_damaged_file(hurt, name):
    for damage in ALL_DAMAGES:
        checked = hurt(name, damage).check()
        if damage == "foreign":
            assert (checked.exit_code, checked.problems) == (0, []), damage
        else:
            assert checked.exit_code == 2, damage
            (problem,) = checked.problems
            one_line(UserError(problem), name)


@pytest.mark.parametrize(("name", "damages"), OFTEN_DAMAGED)
def test_run_makes_everything_again_or_refuses_in_one_line(hurt, name, damages):
    for damage in damages:
        bench = hurt(name, damage)
        try:
            bench.run()
        except UserError as error:
            refused(error, name, damage)
            continue
        assert bench.results() == bench.unharmed, damage
        if name not in BRIEFS:
            assert bench.check().problems == [], damage
        if name in [*STAGES, MEASURED] and damage != "foreign":
            is_lost_marker = name.startswith("commits/") and damage == "gone"
            assert sum(name in line for line in bench.warnings.lines) == (not is_lost_marker)
            assert (bench.out / "damaged" / name).exists() == (damage != "gone")


@pytest.mark.parametrize(("name", "damages"), OFTEN_DAMAGED)
def test_report_leaves_out_what_is_damaged_or_refuses_in_one_line(hurt, name, damages):
    for damage in damages:
        bench = hurt(name, damage)
        try:
            outcome = bench.run(evaljudge.make_report)
        except UserError as error:
            refused(error, name, damage)
            continue
        warnings = outcome.findings.warnings
        if name in STAGES and damage != "foreign":
            assert sum("1 shard left out" in line and name in line for line in warnings) == 1
            assert outcome.exit_code == 3
            assert all(row.reasons == {DAMAGED_FILE: 2} for row in outcome.findings.coverage)
            assert outcome.findings.candidates == 2 * DOCUMENTS
            assert {row["doc_id"] for row in bench.rows("scores")} == {"d0", "d2"}
        else:
            assert bench.results() == bench.unharmed, damage
            if name == BUNDLES[2] and damage not in ("gone", "folder", "foreign"):
                page = (bench.out / "report/index.html").read_text()
                assert f"{bench.find(name).relative_to(bench.out)}: " in page, damage
            is_remade = name == MEASURED and damage != "foreign"
            is_lost_marker = name.startswith("commits/") and damage == "gone"
            told = [line for line in bench.warnings.lines if "set aside in damaged/" in line]
            assert len(told) == (is_remade and not is_lost_marker), damage


def refused(error: UserError, name: str, damage: str) -> None:
    """Without run.json or shards.json nothing can be done; a report is not put into a folder."""
    one_line(error, name)
    assert name in PAPERS or (damage == "folder" and name in DERIVED), (damage, error)


def test_only_what_is_damaged_is_done_again_and_is_set_aside_beside_the_first(whole):
    bench = whole.copied("two")
    markers = [bench.out / f"commits/judge/{n:05d}.zip" for n in range(DOCUMENTS)]
    for content in (b"first", b"second"):
        before = [file.read_bytes() for file in markers]
        markers[0].write_bytes(content)
        markers[2].unlink()
        assert "is bound to another run: seed is 0 there, 1 here" in refusal(bench.run, seed=1)
        bench.run()
        assert bench.results() == bench.unharmed
        same = [file.read_bytes() == was for file, was in zip(markers, before, strict=True)]
        assert same == [False, True, False]
        (line,) = bench.warnings.lines
        assert "00000.zip: " in line
    kept = sorted((bench.out / "damaged/commits/judge").iterdir())
    assert [file.name for file in kept] == ["00000.zip", "00000.zip.2"]
    assert [file.read_bytes() for file in kept] == [b"first", b"second"]


def test_a_lost_marker_of_a_finished_run_stays_noticed(whole):
    bench, name = whole.copied("lost"), "commits/judge/00001.zip"
    (bench.out / name).rename(bench.out / f"{name}.old")
    for _ in range(2):  # the first report must not make the second one quiet
        assert bench.run(evaljudge.make_report).exit_code == 3
        assert any(problem.startswith(f"{bench.out}/{name}") for problem in bench.check().problems)


def test_of_a_shard_that_is_damaged_no_measures_are_missed(whole):
    """Those beside its verdicts were all; the other shard has further ones in a bundle."""
    bench = whole.copied("beside")
    for n in (0, 1):
        (bench.out / f"commits/measure/{n:05d}.zip").unlink()
        (bench.out / f"commits/judge/{n:05d}.zip").write_bytes(b"x")
    problems = bench.check().problems
    assert [problem.partition(": ")[0] for problem in problems] == [
        f"{bench.out}/commits/judge/{n:05d}.zip" for n in (0, 1)
    ]
    bench.run()
    assert (bench.results(), bench.check().problems) == (bench.unharmed, [])


def test_an_unfinished_run_is_reported_without_the_shards_that_are_left(whole):
    bench = whole.copied("unfinished")
    Output(str(bench.out)).write_run((Output(str(bench.out)).run() or {}) | {"state": "begun"})
    (bench.out / "commits/judge/00001.zip").unlink()
    outcome = bench.run(evaljudge.make_report)
    assert outcome.exit_code == 0
    assert any("1 shard is not judged yet" in line for line in outcome.findings.warnings)
    for file in (bench.out / "commits/judge").iterdir():
        file.write_bytes(b"")
    with pytest.raises(UserError, match="2 shards left out for damaged files.*nothing is left"):
        bench.run(evaljudge.make_report)


def test_cases_from_before_the_ratings_changed_are_damaged(whole):
    """A backup that is put back in part has them."""
    bench, (rows, corpus) = whole.copied("rated"), whole.other_corpus("rated")
    rows[1]["candidates"][0]["ratings"] = {"fluency": 4.5}
    jsonl(Path(corpus), rows)
    before = (bench.out / CASES).read_bytes()
    listing = (bench.out / "shards.json").read_bytes()
    bench.run(corpus=corpus)
    unharmed = bench.results()
    (bench.out / CASES).write_bytes(before)
    (problem,) = bench.check().problems
    assert f"{CASES}: is not the file that shards.json lists" in problem
    outcome = bench.run(evaljudge.make_report, corpus=corpus)
    assert any(CASES in line for line in outcome.findings.warnings)
    assert outcome.exit_code == 3
    bench.run(corpus=corpus)
    assert bench.results() == unharmed
    assert bench.check().problems == []
    (bench.out / "shards.json").write_bytes(listing)  # a killed run took them over in part
    bench.run(corpus=corpus)
    assert (bench.results(), bench.warnings.lines) == (unharmed, [])
    assert bench.check().problems == []


@pytest.mark.parametrize(
    ("name", "stage"),
    [*((CASES, stage) for stage in BOTH), (BRIEFS[0], "prepare"), (BUNDLES[2], "judge")],
)
def test_a_run_is_resumed_over_damaged_files(whole, name, stage):
    for damage in SHORT:
        bench = whole.copied("unfinished")
        ALL_DAMAGES[damage](bench.find(name))
        bench.find(BUNDLES[0]).unlink()
        if stage == "prepare":
            bench.find(BUNDLES[2]).unlink()
        bench.run()
        assert bench.results() == bench.unharmed, damage
        assert bench.check().problems == []


def test_cases_are_not_made_of_a_corpus_in_another_order(whole):
    bench, (rows, corpus) = whole.copied("turned"), whole.other_corpus("turned")
    jsonl(Path(corpus), reversed(rows))
    bench.run(corpus=corpus)  # the same run, as long as its cases are there
    damaged = bench.out / "cases/00000.parquet"
    damaged.write_bytes(b"PAR1")
    with pytest.raises(UserError, match="turned.jsonl is no longer as it was") as caught:
        bench.run(corpus=corpus)
    one_line(caught.value, "00000.parquet")
    assert damaged.read_bytes() == b"PAR1"  # refused before anything was moved
    bench.run()
    assert bench.results() == bench.unharmed


def test_cases_are_not_made_of_the_corpus_that_extended_the_run(whole):
    """There their documents have further candidates, which other shards hold."""
    bench, (_, corpus) = whole.copied("extended"), whole.other_corpus("grown")
    jsonl(Path(corpus), (document(n, "ABC", fluency=1.0 + n % 4) for n in range(DOCUMENTS)))
    bench.run(corpus=corpus, extend=True)
    before = bench.results()
    damaged = bench.out / "cases/00001.parquet"
    content = damaged.read_bytes()
    damaged.write_bytes(b"PAR1")
    (problem,) = bench.check().problems
    assert problem.endswith("without candidates that `--extend` has added to its documents since")
    with pytest.raises(UserError, match=r"grown.jsonl is no longer .*`--extend` has added texts"):
        bench.run(corpus=corpus)
    damaged.write_bytes(content)
    bench.run(corpus=corpus)
    assert bench.results() == before


def test_a_run_of_another_version_is_refused_and_nothing_is_changed(whole, capsys):
    bench = whole.copied("older")
    output = Output(str(bench.out))
    output.write_run((output.run() or {}) | {"layout": 2})
    before = files(bench.out)
    said = "(its layout is 2, and this version reads 3): take another `out`"
    for work in (evaljudge.run, evaljudge.make_report):
        assert said in refusal(bench.run, work)
    for name in ("check", "view"):
        assert said in command(capsys, name, str(bench.out), code=2)[1]
    assert files(bench.out) == before


def files(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_check_says_what_was_found(whole, capsys):
    bench = whole.copied("said")
    (bench.out / "commits/judge/00002.zip").write_text("{}")
    problem, *rest = command(capsys, "check", str(bench.out), code=2)[0].splitlines()
    assert problem.startswith(f"{bench.out}/commits/judge/00002.zip: cannot be read (File is not")
    assert problem.endswith(": `evaljudge run CONFIG` sets it aside and does its shard again")
    shards, files = rest
    assert shards == "shards     3: 3 prepared, 2 judged, 3 measured"
    (bench.out / "commits/judge/00001.zip").unlink()
    quick = command(capsys, "check", str(bench.out), "--quick")[0]
    assert quick == "shards     3: 3 prepared, 2 judged\n"  # it reads none of them
    assert files.endswith(" proven whole, 1 damaged")
    kept = (bench.out / "run.json").read_bytes()
    (bench.out / "run.json").write_text("{}")
    said = command(capsys, "check", str(bench.out), code=2)[0]
    assert said.splitlines()[1:] == ["files      1 damaged; the others were not read"]
    (bench.out / "run.json").write_bytes(kept)
    bench.run()
    said = json.loads(command(capsys, "check", str(bench.out), "--json")[0])
    assert said["damaged"] == []
    assert said["done"] == {"prepare": 3, "judge": 3, "measure": 3}


def unreadable(file: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until another file lies there."""
    mine, open_here, read = file.stat().st_ino, Place.open, Place.read

    def failing(work: Callable[..., Any]) -> Callable[..., Any]:
        def failed(place: Place, name: str, *more: Any) -> Any:
            path = Path(place.at(name))
            if path.is_file() and path.stat().st_ino == mine:
                raise disk_error(str(path), "read", OSError(number, os.strerror(number)))
            return work(place, name, *more)

        return failed

    monkeypatch.setattr(Place, "read", failing(read))
    monkeypatch.setattr(Place, "open", failing(open_here))


def test_a_file_that_may_not_be_read_is_refused_and_listed(whole, monkeypatch):
    bench = whole.copied("mine")
    (bench.out / "commits/judge/00002.zip").write_bytes(b"")
    unreadable(bench.out / BUNDLES[0], errno.EACCES, monkeypatch)
    denied, empty = sorted(bench.check().problems, key=lambda line: "Permission" not in line)
    assert ": is empty: " in empty
    assert denied.endswith(
        f"{BUNDLES[0]}: cannot be read (Permission denied): give yourself the permission, then run "
        "it again"
    )
    for work in (evaljudge.run, evaljudge.make_report):
        assert "give yourself the permission" in refusal(bench.run, work)
    assert not (bench.out / "damaged").exists()


def test_a_run_that_was_killed_before_it_was_cut_is_not_damaged(whole):
    bench = whole.copied("begun")
    for file in bench.out.iterdir():
        if file.name != "run.json":
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    written = Output(str(bench.out)).run() or {}
    Output(str(bench.out)).write_run(written | {"state": "begun", "derived": {}})
    checked = bench.check()
    assert (checked.problems, checked.found.shards) == ([], 0)


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_workers_on_ray_tell_the_driver_of_damage(whole):
    bench = whole.copied("on ray")
    (bench.out / "cases/00001.parquet").write_bytes(b"PAR1")
    (bench.out / "commits/judge/00001.zip").unlink()
    bench.run(workers={"executor": "ray", "min": 1, "max": 1})
    (line,) = bench.warnings.lines
    assert "cases/00001.parquet: is not as it was written" in line
    assert bench.results() == bench.unharmed


@pytest.mark.long
@pytest.mark.service
def test_damage_on_s3_is_found_and_repaired(whole, s3):
    bench, keys = whole.copied("for s3"), f"{s3.uri}/runs/first"
    for file in (file for file in bench.out.rglob("*") if file.is_file()):
        s3.put(f"runs/first/{file.relative_to(bench.out)}", file.read_bytes())
    names = ["commits/judge/00000.zip", "commits/measure/00001.zip", "cases/00002.parquet"]
    s3.put(f"runs/first/{names[0]}", b"")
    s3.put(f"runs/first/{names[1]}", b"{}")
    s3.remove(f"runs/first/{names[2]}")
    s3.put("runs/first/cases/README", b"mine")
    checked = check(keys)
    assert checked.exit_code == 2
    named = [problem.partition(": ")[0] for problem in checked.problems]
    assert named == [f"{keys}/{name}" for name in names]
    bench.run(out=keys)
    assert check(keys).problems == []
    assert s3.keys("runs/first/damaged") == {f"runs/first/damaged/{name}" for name in names[:2]}
    assert json.loads(s3.read("runs/first/report/agreement.json")) == json.loads(bench.unharmed[1])
