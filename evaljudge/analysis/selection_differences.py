"""Which texts two runs select differently, by the rule of the same name.

selection_difference(texts, columns, (first, second), "good")
-> SelectionChange("good", both=310, first=12, second=40, …, flips=[{"doc_id": "d1",
     "system": "A", "selected": "first", "values": {"synthetic.fluency": [4.2, 3.1]}}, …])
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from evaljudge.agreement.rated import Floats, Key, Text
from evaljudge.analysis.run_scores import ScoredRun, scale_name
from evaljudge.storage import DERIVED

SIDES = ("first", "second")
Row = Mapping[str, Any]
Columns = Mapping[Key, Floats]


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
    texts: Sequence[Text], columns: Sequence[Columns], runs: Sequence[ScoredRun], name: str
) -> SelectionChange:
    """`texts`: those that both runs have; `columns`: their scores in each run."""
    first, second = (_about(run, name) for run in runs)
    row_of = {text: row for row, text in enumerate(texts)}
    chosen = [list(selected_texts(run, name)) for run in runs]
    known = [{text for text in of if text in row_of} for of in chosen]
    only = sorted(known[0] - known[1]), sorted(known[1] - known[0])
    conditions = [one for about in (first, second) for one in about["rule"]["all"]]
    scales = list(dict.fromkeys((one["scorer"], one["axis"]) for one in conditions))
    return SelectionChange(
        name=name,
        both=len(known[0] & known[1]),
        first=len(only[0]),
        second=len(only[1]),
        unpaired=(len(chosen[0]) - len(known[0]), len(chosen[1]) - len(known[1])),
        rule_changed=first["rule"] != second["rule"],
        rules=(first["rule"], second["rule"]),
        thresholds=(first["thresholds"], second["thresholds"]),
        flips=[
            {"doc_id": text[0], "system": text[1], "selected": side}
            | {"values": {scale_name(*s): _values(columns, s, row_of[text]) for s in scales}}
            for side, flipped in zip(SIDES, only, strict=True)
            for text in flipped
        ],
    )


def _values(columns: Sequence[Columns], scale: Key, row: int) -> list[float | None]:
    """In both runs."""
    values = [float(of[scale][row]) if scale in of else np.nan for of in columns]
    return [value if np.isfinite(value) else None for value in values]


def selection_rule(run: ScoredRun, name: str) -> Row:
    """As the last report wrote it."""
    rule: Row = _about(run, name)["rule"]
    return rule


def _about(run: ScoredRun, name: str) -> dict[str, Any]:
    """The rule and its counts."""
    with _proven(run, f"selected/{name}.json") as lines:
        about: dict[str, Any] = json.loads(b"".join(lines))
    return about


def selected_texts(run: ScoredRun, name: str) -> Iterator[Text]:
    with _proven(run, f"selected/{name}.jsonl") as lines:
        for line in lines:
            text = json.loads(line)
            yield text["doc_id"], text["system"]


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
