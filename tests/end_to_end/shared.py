"""What end-to-end tests and benches/chaos.py share: invented corpora, noted asks, and a run's files
as plain rows."""

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import build

Row = dict[str, Any]
SCRIPT = Path(__file__).with_name("scripted_run.py")
NONE = {"neighbours": 0, "exchanged": 0}
"""No checks: asks are easily counted."""


class Ask(NamedTuple):
    prompt: str
    document: str
    stage: str
    model: str


def cases(count: int, systems: str = "ABC", axes: tuple[str, ...] = ("coherence",)) -> list[Row]:
    """Invented cases, always the same; each source names its document, for the log of asks."""
    return [_case(number, systems, axes) for number in range(count)]


def _case(number: int, systems: str, axes: tuple[str, ...]) -> Row:
    source = random.Random(number)
    return {
        "doc_id": f"d{number}",
        "source": f"This is document-{number}. The river rose by {source.randint(1, 99)} feet.",
        "candidates": [
            {
                "system": system,
                "text": f"{system} says of it: {random.Random(f'{number}{system}').random()}",
                "ratings": {axis: source.randint(1, 5) for axis in axes},
            }
            for system in systems
        ],
    }


def write_cases(file: Path, rows: list[Row]) -> str:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(file)


def summeval(file: Path, count: int, systems: int = 16) -> str:
    """The first documents of SummEval, each with so many of its candidates, as a file."""
    if not build.SHARED.is_dir():
        pytest.skip("the shared human judgements are not here")
    lines = (build.SHARED / "summeval.jsonl").read_text().splitlines()[:count]
    rows = [json.loads(line) for line in lines]
    return write_cases(file, [row | {"candidates": row["candidates"][:systems]} for row in rows])


def config(folder: Path, rows: list[Row], **changes: Any) -> Row:
    """A run over these cases, which are written to the folder, on the scripted model."""
    usual = {"axes": ["coherence"], "model": "scripted", "out": str(folder / "out"), "view": 1}
    judges = {"synthetic": {"levels": 3, "checks": NONE}}
    corpus = write_cases(folder / "cases.jsonl", rows)
    return {"corpus": corpus, "judges": judges} | usual | changes


def asks(log: Path) -> list[Ask]:
    return [Ask(*line.split()) for line in log.read_text().splitlines()] if log.exists() else []


def tables(out: Path, briefs: Path | None = None) -> dict[str, Any]:
    """All that a run came to, in an order of its own: which shard held a row is no matter."""
    folders = {name: out / name for name in ("briefs", "verdicts", "checks", "measures", "scores")}
    folders |= {"briefs": briefs} if briefs else {}
    found: dict[str, Any] = {}
    for name, folder in folders.items():
        found[name] = sorted(json.dumps(row, sort_keys=True) for row in build.stored(folder))
    for file in sorted((out / "selected").glob("*")):
        found[file.name] = file.read_text().splitlines()
    return found | {"agreement": json.loads((out / "report/agreement.json").read_text())}


def lasting(out: Path) -> dict[str, Any]:
    """All but what depends on the hour: which requests met in a batch, and so in the cache."""
    found, counts = tables(out), ("asks", "prompt", "generated")
    for name in ("briefs", "verdicts", "checks"):
        rows = [json.loads(row) for row in found[name]]
        found[name] = [r | {"tokens": {k: r["tokens"][k] for k in counts}} for r in rows]
    return found


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The first rows of two runs' tables that are not the same, each beside its like."""
    found = []
    for name in sorted({*one, *other}):
        rows, others = one.get(name, []), other.get(name, [])
        if len(rows) != len(others):
            found.append(f"{name}: {len(rows)} rows, and {len(others)}")
        pairs = zip(rows, others, strict=False)
        found += [f"{name}: {a!s:.900} AND {b!s:.900}" for a, b in pairs if a != b][:3]
    return found


def files(out: Path) -> set[str]:
    """Every file there is, hidden ones too."""
    return {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}


def contract(out: Path, selections: tuple[str, ...] = ()) -> set[str]:
    """Every file that a finished run of the synthetic judge holds, and no other."""
    run = json.loads((out / "run.json").read_text())
    numbers = [f"{n:05d}" for n, *_ in json.loads((out / "shards.json").read_text())["shards"]]
    written = ("agreement.json", "agreement.md", "findings.json", "index.html", "judging.json")
    reports = {f"report/{name}" for name in written}
    others = ("significance", "axes", "ceiling", "labels", "validity", "costs")
    others += ("entities", "entity_agreement", "without_outliers", "fitted", "roles", "systems")
    others += ("length", "replacing", "people_scale", "labelled", "intervals", "reliability")
    others += ("ratings",)
    some = [f"report/{name}.json" for name in others]
    some += [f"commits/measure/{n}.zip" for n in numbers]  # of shards that were begun twice
    reports |= {name for name in some if (out / name).exists()}  # as far as there is any
    selected = {f"selected/{name}.{end}" for name in selections for end in ("json", "jsonl")}
    shards = {
        name
        for n in numbers
        for name in (f"cases/{n}.parquet", f"commits/judge/{n}.zip", f"briefs/{run['id']}/{n}.zip")
    }
    firsts = {8 * (int(n) // 8) for n in numbers}
    scores = {f"scores/{n:05d}-{n + 7:05d}.parquet" for n in firsts}
    return {"run.json", "shards.json"} | reports | selected | shards | scores
