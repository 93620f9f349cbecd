"""`evaljudge export RUN entities`: every question of a run's judge as a row for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from evaljudge.errors import UserError, unknown

if TYPE_CHECKING:
    from evaljudge.judges.entities.evidence import JudgedText
    from evaljudge.storage import Output, Shard


def export_entities(out: str, to: str, judge: str | None = None) -> str:
    """Write every question of a run's judged shards to a file; gives a line on it."""
    from evaljudge.judges.entities.labels import question_rows
    from evaljudge.storage import Output, ahead, to_write

    output = Output(out)
    name = _judge_of(output, judge)
    judged = output.committed("judge")
    shards = [shard for shard in output.shards() if shard.number in judged]
    if not shards:
        raise UserError(f"{out}: nothing is judged yet, so there is nothing to export")
    place, file = to_write(to)
    rows = candidates = 0
    with place.writing(file) as stream:
        for texts in ahead(partial(_texts, output, name), shards):
            candidates += len(texts)
            for row in (row for text in texts for row in question_rows(text)):
                stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                rows += 1
        if not rows:  # raised before the file is complete, so that none appears
            raise UserError(f"{out}: judge {name!r} recorded no entity questions in this run")
    return f"{rows:,} questions about {candidates:,} candidates: {to}"


def _texts(output: Output, judge: str, shard: Shard) -> list[JudgedText]:
    from evaljudge.judges.collector import SeenShard
    from evaljudge.judges.entities.evidence import read_judged

    seen = SeenShard(output.cases(shard), list(output.verdicts(judge, shard)))
    return [read_judged(one, seen.texts[one.doc_id, one.system]) for one in seen.verdicts]


def _judge_of(output: Output, wanted: str | None) -> str:
    judges_there: Mapping[str, Mapping[str, Any]] = output.known_run()["fingerprint"]["judges"]
    kind = __package__.rpartition(".")[2]
    judges = [name for name, own in judges_there.items() if own.get("judge", name) == kind]
    if wanted is not None and wanted not in judges:
        raise UserError(f"--judge: {unknown('judge of entities', wanted, judges)}")
    if not judges:
        there = ", ".join(judges_there) or "none"
        raise UserError(f"{output.uri}: no judge of entities there (its judges: {there})")
    if wanted is None and len(judges) > 1:
        raise UserError(f"{output.uri}: name one with --judge: {', '.join(judges)}")
    return wanted or judges[0]
