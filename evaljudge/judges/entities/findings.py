"""One pass over the verdicts of a run's judges of entities: for its report, or as a file of rows.

    with_entities(config, output, shards)
    ->  {"entities": [EntityRow("entities", …)], "entity_views": […], "entity_agreement": […]}

    export_entities("runs/first", "entities.jsonl")  ->  Exported(rows=4180, candidates=160)

Verdicts are read a shard at a time and leave counts behind; texts stay of those candidates that the
page shows, and single verdicts where people labelled the entity.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evaljudge.config import Config
from evaljudge.errors import UserError, unknown
from evaljudge.judges.entities.evidence import KIND, JudgedText, read_judged
from evaljudge.judges.entities.labels import (
    Answered,
    Labels,
    Matching,
    answered,
    question_rows,
    read_labels,
)
from evaljudge.judges.entities.sums import EntitySums, entity_row, shard_sums
from evaljudge.judges.shared.shown import first_shards, texts_of
from evaljudge.records import Verdict
from evaljudge.report import EntityView
from evaljudge.report.page import text_size
from evaljudge.storage import Output, Shard, ahead, to_write

MOST_SHOWN = 3_000_000
"""Bytes that all texts with their entities may add to the page."""


@dataclass(frozen=True, slots=True)
class Exported:
    rows: int
    candidates: int


@dataclass(frozen=True, slots=True)
class _Found:
    """Of one judge in one shard."""

    sums: EntitySums
    texts: Sequence[JudgedText] = ()
    answered: Sequence[Answered] = field(default_factory=list)


def with_entities(
    config: Config, output: Output, shards: Sequence[Shard], most_shown: int = MOST_SHOWN
) -> dict[str, Any]:
    """What Findings holds of them; nothing, where no judge reads entities."""
    judges = config.entity_judges
    if not judges:
        return {}
    labels = labels_given(config)
    matching = {judge: Matching(judge, given) for judge, given in labels.items()}
    sums = {judge: EntitySums() for judge in judges}
    shown = {judge: list[JudgedText]() for judge in judges}
    to_show = first_shards(shards, config.view)
    for found in ahead(partial(_read, output, judges, labels, to_show), shards):
        for judge, one in found.items():
            sums[judge] += one.sums
            shown[judge] += one.texts[: config.view - len(shown[judge])]
            for verdict in one.answered:
                matching[judge].see(verdict)
    resamples, seed = config.agreement.resamples, config.seed
    return {
        "entities": [entity_row(judge, sums[judge]) for judge in judges],
        "entity_views": list(_views(shown, sums, most_shown)) if config.view else [],
        "entity_agreement": [row for one in matching.values() for row in one.rows(resamples, seed)],
    }


def labels_given(config: Config) -> dict[str, Labels]:
    """Each judge's, of those that have a file; what is wrong with one is said here."""
    files = config.label_files
    if isinstance(config.entity_labels, str) and len(files) > 1:
        told = ", ".join(files)
        raise UserError(f"entity_labels: one file is for one judge of entities (here: {told})")
    return {judge: read_labels(file) for judge, file in files.items()}


def export_entities(out: str, to: str, judge: str | None = None) -> Exported:
    """Write every question of a run's judged shards to a file, for people to answer."""
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
        if not rows:  # said in here, so that no file appears
            raise UserError(f"{out}: {name} asked nothing there of any entity")
    return Exported(rows, candidates)


def _read(
    output: Output,
    judges: Sequence[str],
    labels: Mapping[str, Labels],
    to_show: set[int],
    shard: Shard,
) -> dict[str, _Found]:
    """Texts are read where they are wanted."""
    wanted = shard.number in to_show
    texts = texts_of(output, shard) if wanted or labels else {}
    found = {}
    for judge in judges:
        verdicts = list(output.verdicts(judge, shard))
        mine = _judged_texts(verdicts, texts) if wanted or judge in labels else []
        given = labels.get(judge)
        met = [one for text in mine for one in answered(text, given)] if given else []
        found[judge] = _Found(shard_sums(verdicts), mine if wanted else [], met)
    return found


def _texts(output: Output, judge: str, shard: Shard) -> list[JudgedText]:
    return _judged_texts(output.verdicts(judge, shard), texts_of(output, shard))


def _judged_texts(
    verdicts: Sequence[Verdict] | Iterator[Verdict], texts: Mapping[tuple[str, str], str]
) -> list[JudgedText]:
    return [
        JudgedText(one.doc_id, one.system, texts[one.doc_id, one.system], read_judged(one))
        for one in verdicts
    ]


def _views(
    shown: Mapping[str, Sequence[JudgedText]], sums: Mapping[str, EntitySums], most_shown: int
) -> Iterator[EntityView]:
    """Judges one after another, until the page is full."""
    left = most_shown
    for judge, texts in shown.items():
        kept: list[JudgedText] = []
        for text in texts:
            left -= text_size(text)
            if left < 0:
                break
            kept.append(text)
        yield EntityView(judge, kept, sums[judge].candidates - len(kept), len(kept) < len(texts))


def _judge_of(output: Output, wanted: str | None) -> str:
    bound = output.run()
    if bound is None:
        raise UserError(f"{output.uri}: no run lies here")
    told: Mapping[str, Mapping[str, Any]] = bound["fingerprint"]["judges"]
    judges = [name for name, own in told.items() if own.get("judge", name) == KIND]
    if wanted is not None:
        if wanted not in judges:
            raise UserError(f"--judge: {unknown('judge of entities', wanted, judges)}")
        return wanted
    if not judges:
        there = ", ".join(told) or "none"
        raise UserError(f"{output.uri}: no judge of entities there (its judges: {there})")
    if len(judges) > 1:
        raise UserError(f"{output.uri}: name one with --judge: {', '.join(judges)}")
    return judges[0]
