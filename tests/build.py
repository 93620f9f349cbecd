"""What many tests make: cases, files of rows, runs that are counted, and calls of commands."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.analysis.findings import Findings
from evaljudge.cli import main
from evaljudge.commands.agree import Agreed
from evaljudge.commands.calibrate import CalibratedScores, calibrated
from evaljudge.commands.options import CalibrateOptions
from evaljudge.commands.plan import planned
from evaljudge.engines import Identity, ModelFacts, ModelSource
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_option, any_text
from evaljudge.errors import UserError
from evaljudge.execution.protocol import Order, Receipt
from evaljudge.execution.shards import ShardWork
from evaljudge.model.asks import Options, Prompt, Writing
from evaljudge.records import Candidate, Case, Document

SHARED = Path(__file__).parents[2] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")


def case(*texts: str, source: str = "source", references: tuple[str, ...] = ()) -> Case:
    """One document, and a candidate of a system of its own for each text: s0, s1, …"""
    candidates = (Candidate(f"s{number}", text) for number, text in enumerate(texts))
    return Case(Document("d", source, references), tuple(candidates))


def document(number: int, systems: Iterable[str] = "AB", **ratings: float) -> dict[str, Any]:
    """A row of a corpus: d0, d1, … with a text of each system, all rated alike."""
    more = {"ratings": ratings} if ratings else {}
    texts = [{"system": s, "text": f"{s} of {number}"} | more for s in systems]
    return {"doc_id": f"d{number}", "source": f"source {number}", "candidates": texts}


def jsonl(file: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write the rows, a line each, and return the file's name."""
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def tabled(file: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """The same in the form that the file's name ends in: JSON lines, CSV or Parquet."""
    if file.suffix == ".jsonl":
        return jsonl(file, rows)
    if file.suffix == ".csv":
        cells = [rows[0].keys(), *(row.values() for row in rows)]
        file.write_text("\n".join(",".join(map(str, line)) for line in cells))
    else:
        pq.write_table(pa.Table.from_pylist(list(rows)), file)
    return str(file)


def lines(file: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def stored(folder: Path | str) -> list[dict[str, Any]]:
    """The rows of all Parquet files below a folder of a run, as if none were in a bundle."""
    return [row for content in tables(Path(folder)).values() for row in table_rows(content)]


def table_rows(content: bytes) -> list[dict[str, Any]]:
    return pq.read_table(pa.BufferReader(content)).to_pylist()


def tables(folder: Path) -> dict[str, bytes]:
    """All Parquet files below a folder of a run, or of briefs, by their names there."""
    found = {f"{file.relative_to(folder)}": file.read_bytes() for file in folder.rglob("*.parquet")}
    run = next((above for above in folder.parents if (above / "commits").is_dir()), None)
    begin = f"{folder.relative_to(run)}/" if run else "briefs/"
    for file in (run or folder).rglob("*.zip"):
        if "damaged" not in file.parts and begin != "scores/":
            with ZipFile(file) as bundle:
                names = [n for n in bundle.namelist() if n.endswith("t") and n.startswith(begin)]
                found |= {name.removeprefix(begin): bundle.read(name) for name in names}
    return dict(sorted(found.items()))


def config(folder: Path, **changes: Any) -> dict[str, Any]:
    """A run in this process over the folder's cases.jsonl, which goes to its out; few texts are on
    its page, since they take half of a small run's time."""
    usual = {"corpus": str(folder / "cases.jsonl"), "out": str(folder / "out"), "model": "m"}
    return usual | {"axes": ["fluency"], "view": 1, "workers": {"executor": "local"}} | changes


def planned_text(*given: Any, **named: Any) -> str:
    return planned(*given, **named).text


def command(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    """What `evaljudge` prints on its two streams; it must end with this code."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    said = capsys.readouterr()
    assert (ended.value.code or 0) == code, said.err
    return said.out, said.err


def refusal(work: Callable[..., object], *given: Any, **named: Any) -> str:
    """What is said of a user's mistake, in one line."""
    with pytest.raises(UserError) as refused:
        work(*given, **named)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def shown(made: Agreed | CalibratedScores, out: str | None, as_json: bool) -> str:
    if out:
        made.write(out)
    return made.json if as_json else made.text


def agreed_text(findings: Findings, out: str | None = None, as_json: bool = False) -> str:
    return shown(Agreed(findings), out, as_json)


def calibrate_with(wanted: CalibrateOptions, out: str | None = None, as_json: bool = False) -> str:
    return shown(calibrated(wanted), out, as_json)


def numbered(*numbers: int) -> list[dict[str, Any]]:
    """Rows whose sources name their numbers in words that no other source has."""
    return [document(n) | {"source": f"This is number {n}. The river rose."} for n in numbers]


@dataclass
class Counted(ScriptedEngines):
    """Notes what is opened, closed and asked; each model does what `answers` does."""

    answers: Callable[[Prompt], None] = lambda prompt: None
    identified: int = 0
    opened: list[str] = field(default_factory=list)
    closed: int = 0
    asked: Counter[str] = field(default_factory=Counter)

    def describe(self, source: ModelSource) -> ModelFacts:
        self.identified += 1
        return super().describe(source)

    def open(self, source: ModelSource, seed: int) -> Scripted:
        self.opened.append(source.source)

        def writes(prompt: Prompt, how: Writing) -> str:
            self.asked[prompt.text] += 1
            self.answers(prompt)
            return any_text(prompt, how)

        model = Scripted(writes)
        model.close = self.close_one  # type: ignore[method-assign]
        return model

    def close_one(self) -> None:
        self.closed += 1


class Noting(ScriptedEngines):
    """Models that answer each in its own way, note what they are asked, and are asked so often."""

    def __init__(self, log: Path, most: int = sys.maxsize) -> None:
        self.log, self.most = str(log), most

    def describe(self, source: ModelSource) -> ModelFacts:
        return ModelFacts(Identity(source.source, f"{source.source}-1", source.chat, source.engine))

    def end(self) -> None:
        raise UserError("asked enough")

    def open(self, source: ModelSource, seed: int) -> Scripted:
        def note(kind: str) -> None:
            with open(self.log, "a") as file:
                file.write(f"{kind} {source.source}\n")

        def asked(kind: str) -> None:
            self.most -= 1
            if self.most < 0:
                self.end()
            note(kind)

        def writes(prompt: Prompt, how: Writing) -> str:
            asked("write")
            return f"{source.source}: {any_text(prompt, how)}"

        def chooses(prompt: Prompt, options: Options) -> Mapping[str, float]:
            asked("choose")
            return any_option(Prompt(f"{source.source} {prompt.text}"), options)

        note("open")
        return Scripted(writes, chooses)


def compared(out: Path) -> dict[str, Any]:
    """A run's tables but for what is chance: which document's common steps came first."""
    rows = {name: stored(out / name) for name in ("scores", "verdicts", "briefs")}
    for row in rows["briefs"]:
        del row["tokens"]
    return {name: sorted(map(repr, some)) for name, some in rows.items()}


async def done(work: ShardWork, order: Order) -> list[Receipt]:
    """The receipts of an order."""
    return [receipt async for receipt in work.do(order)]


class Bench:
    """A folder with a corpus, and runs over it whose asks are counted."""

    def __init__(self, folder: Path, **usual: Any) -> None:
        self.folder, self.out, self.log = folder, folder / "out", folder / "asks"
        self.usual = usual

    def corpus(self, rows: Iterable[Mapping[str, Any]]) -> None:
        jsonl(self.folder / "cases.jsonl", rows)

    def config(self, **changes: Any) -> dict[str, Any]:
        return config(self.folder, out=str(self.out)) | self.usual | changes

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def counted(self) -> Counter[str]:
        """What was asked of whom."""
        return Counter(line for line in self.lines() if not line.startswith("open"))

    def opened(self) -> list[str]:
        return [line.split()[1] for line in self.lines() if line.startswith("open")]

    def rows(self, table: str) -> list[dict[str, Any]]:
        return stored(self.out / table)
