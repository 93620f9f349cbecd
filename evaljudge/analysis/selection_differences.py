"""Which texts two runs select differently, by the rule of the same name.

selection_difference(paired, first, second, "good")
-> SelectionChange("good", both=310, first=12, second=40, …, flips=[{"doc_id": "d1",
     "system": "A", "selected": "first", "values": {"synthetic.fluency": [4.2, 3.1]}}, …])
"""

from __future__ import annotations

import io
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Floats, Key
from evaljudge.analysis.two_runs import SIDES, PairedRuns, ScoredRun, scale_name
from evaljudge.storage import DERIVED

Row = Mapping[str, Any]


@dataclass(frozen=True)
class SelectionChange:
    """Of the texts that both runs have; `flips` are those that one of them selected."""

    name: str
    both: int
    first: int
    second: int
    unpaired: tuple[int, int]  # selected texts that the other run does not have
    rule_changed: bool
    rules: tuple[Row, Row]
    thresholds: tuple[Sequence[Row], Sequence[Row]]
    flips: Sequence[Row]

    @property
    def flipped(self) -> float:
        """Of the texts that either run selected, the share that only one did."""
        either = self.both + self.first + self.second
        return (self.first + self.second) / either if either else 0.0

    @property
    def is_none(self) -> bool:
        return not (self.flips or any(self.unpaired) or self.rule_changed)


def selections(run: ScoredRun) -> list[str]:
    """Those that the last report wrote."""
    files = run.about.get(DERIVED)
    if files is None:  # an earlier version did not note them
        there = run.output.place.names("selected")
        files = [f"selected/{name}" for name in there if f"{name}l" in there]
    found = (re.fullmatch(r"selected/(.+)\.json", name) for name in files)
    return [match[1] for match in found if match]


def selection_difference(
    paired: PairedRuns, first: ScoredRun, second: ScoredRun, name: str
) -> SelectionChange:
    rules = [_about(run, name) for run in (first, second)]
    rows, unpaired = zip(*(_rows(paired, run, name) for run in (first, second)), strict=True)
    only = np.setdiff1d(rows[0], rows[1]), np.setdiff1d(rows[1], rows[0])
    return SelectionChange(
        name=name,
        both=rows[0].size - only[0].size,
        first=only[0].size,
        second=only[1].size,
        unpaired=unpaired,
        rule_changed=rules[0]["rule"] != rules[1]["rule"],
        rules=(rules[0]["rule"], rules[1]["rule"]),
        thresholds=(rules[0]["thresholds"], rules[1]["thresholds"]),
        flips=list(_flips(paired, [rule["rule"] for rule in rules], only)),
    )


def _flips(
    paired: PairedRuns, rules: Sequence[Row], only: Sequence[NDArray[np.int64]]
) -> Iterator[Row]:
    """Each text with its values in both runs, on the scales that the rules ask about."""
    conditions = [condition for rule in rules for condition in rule["all"]]
    scales = dict.fromkeys((one["scorer"], one["axis"]) for one in conditions)
    for side, rows in zip(SIDES, only, strict=True):
        for row in map(int, rows):
            values = {
                scale_name(*scale): [_value(scores, scale, row) for scores in paired.scores]
                for scale in scales
            }
            doc_id, system = paired.texts[row]
            yield {"doc_id": doc_id, "system": system, "selected": side, "values": values}


def _value(scores: Mapping[Key, Floats], scale: Key, row: int) -> float | None:
    value = float(scores[scale][row]) if scale in scores else np.nan
    return value if np.isfinite(value) else None


def selection_rule(run: ScoredRun, name: str) -> Row:
    """As the last report wrote it."""
    rule: Row = _about(run, name)["rule"]
    return rule


def _about(run: ScoredRun, name: str) -> dict[str, Any]:
    """The rule and its counts."""
    with _proven(run, f"selected/{name}.json") as lines:
        about: dict[str, Any] = json.loads(b"".join(lines))
    return about


def _rows(paired: PairedRuns, run: ScoredRun, name: str) -> tuple[NDArray[np.int64], int]:
    """The selected texts by their places in the arrays; how many the other run does not have."""
    rows, unpaired = array("q"), 0
    with _proven(run, f"selected/{name}.jsonl") as lines:
        for line in lines:
            text = json.loads(line)
            row = paired.row.get((text["doc_id"], text["system"]))
            if row is None:
                unpaired += 1
            else:
                rows.append(row)
    return np.array(rows, np.int64), unpaired


@contextmanager
def _proven(run: ScoredRun, name: str) -> Iterator[Iterator[bytes]]:
    """A file's lines; they must be read to the end, and be as the last report wrote them."""
    output, digest = run.output, sha256()

    def each(lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            digest.update(line)
            yield line

    try:
        with output.place.open(name) as stream, io.BufferedReader(stream) as lines:  # type: ignore[type-var]
            yield each(lines)
    except FileNotFoundError:
        raise output.damaged(name, "is gone") from None
    except (ValueError, KeyError, TypeError):  # no JSON, or another's
        raise output.damaged(name, "cannot be read") from None
    if run.about.get(DERIVED, {}).get(name, digest.hexdigest()) != digest.hexdigest():
        raise output.damaged(name, "is not as the last report wrote it")
