"""The files that a rule selects: one line per candidate, and the rule with its counts.

    selected/good.jsonl  {"doc_id": "d1", "system": "A", "text": "A flood.",
                          "values": {"synthetic.level": {"fluency": 4.2}}}
    selected/good.json   {"name": "good", "rule": {…}, "considered": 16, "selected": 4,
                          "unscored": 1, "thresholds": [{…, "top_fraction": 0.1, "value": 4.2},
                                                        {…, "precision": 0.9, "good": 4.0,
                                                         "value": 2.31, "best": 0.97, …}]}

A candidate is selected when all conditions of the rule hold; one that lacks a finite number for
any of them is `unscored`. `top_fraction` f of a condition keeps the ceil(f * scored) highest values
of that scorer and axis, over all shards and whatever the other conditions say; where several
candidates are tied at the threshold, all of them are kept, so that order never decides.

`precision` keeps what reaches the lowest score that has that precision among rated candidates (see
thresholds.py, where it is sought beforehand): nothing, where no score has it.

Shards are read one at a time: first, where a rule has a top_fraction, to find the thresholds
(see highest.py), then to write. Memory does not grow with the corpus.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaljudge.analysis.findings import Selected
from evaljudge.analysis.highest import Highest
from evaljudge.analysis.sieve import Aims, Scale, Sieve, Thresholds, Values, scale_of
from evaljudge.records import Candidate, Case, Score
from evaljudge.storage import ahead

if TYPE_CHECKING:
    from evaljudge.config import Selection
    from evaljudge.storage import Output, Shard


NO_AIMS: Aims = MappingProxyType({})


def select(
    output: Output, shards: Sequence[Shard], selections: Sequence[Selection], aims: Aims = NO_AIMS
) -> list[Selected]:
    """Write every selection's two files, and remove those of selections no longer configured.

    `aims`: what was found for each precision that a condition asks for.
    """
    thresholds = _thresholds(output, shards, selections)
    with ExitStack() as files:
        opened = [files.enter_context(output.place.writing(_lines_file(r))) for r in selections]
        sieves = [
            Sieve(rule, thresholds, aims, file)
            for rule, file in zip(selections, opened, strict=True)
        ]
        for candidates in _by_shard(output, shards, {s for sieve in sieves for s in sieve.scales}):
            for sieve in sieves:
                for doc_id, candidate, values in candidates:
                    sieve.see(doc_id, candidate, values)
    selected = [sieve.selected() for sieve in sieves]
    for one in selected:
        output.place.write_json(_rule_file(one), _rule_content(one))
    _remove_stale(output, selections)
    return selected


def _thresholds(
    output: Output, shards: Sequence[Shard], selections: Sequence[Selection]
) -> Thresholds:
    sought = {
        (scale_of(condition), condition.top_fraction): Highest(condition.top_fraction)
        for selection in selections
        for condition in selection.all
        if condition.top_fraction is not None
    }
    while still := {key: highest for key, highest in sought.items() if not highest.found}:
        for scale, value in _scores(output, shards):
            for (of, _), highest in still.items():
                if of == scale:
                    highest.see(value)
        for highest in still.values():
            highest.narrow()
    return {key: highest.value for key, highest in sought.items()}


def _scores(output: Output, shards: Sequence[Shard]) -> Iterator[tuple[Scale, float]]:
    for scores in ahead(lambda shard: list(output.scores(shard)), shards):
        for score in scores:
            if score.value is not None and math.isfinite(score.value):
                yield (score.scorer, score.axis), score.value


def _by_shard(
    output: Output, shards: Sequence[Shard], scales: set[Scale]
) -> Iterator[list[tuple[str, Candidate, Values]]]:
    """Each shard's candidates, in case order, with what they have on these scales."""
    if not scales:
        return

    def read(shard: Shard) -> tuple[list[Case], list[Score]]:
        scores = list(output.scores(shard))
        return output.cases(shard), scores

    for cases, scores in ahead(read, shards):
        values: dict[tuple[str, str], dict[Scale, float]] = {}
        for score in scores:
            scale = score.scorer, score.axis
            if scale in scales and score.value is not None and math.isfinite(score.value):
                values.setdefault((score.doc_id, score.system), {})[scale] = score.value
        yield [
            (case.document.doc_id, one, values.get((case.document.doc_id, one.system), {}))
            for case in cases
            for one in case.candidates
        ]


def _rule_content(one: Selected) -> dict[str, object]:
    return {
        "name": one.name,
        "rule": one.rule,
        "considered": one.considered,
        "selected": one.selected,
        "unscored": one.unscored,
        "thresholds": list(one.thresholds),
    }


def _remove_stale(output: Output, selections: Sequence[Selection]) -> None:
    current = {_lines_file(rule) for rule in selections} | {_rule_file(rule) for rule in selections}
    for name in output.place.names("selected"):
        file = f"selected/{name}"
        if name.endswith((".json", ".jsonl")) and file not in current:
            output.place.remove(file)


def _lines_file(rule: Selection) -> str:
    return f"selected/{rule.name}.jsonl"


def _rule_file(rule: Selection | Selected) -> str:
    return f"selected/{rule.name}.json"
