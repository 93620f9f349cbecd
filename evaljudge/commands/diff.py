"""`evaljudge diff A B`: what changed from one run to another, and whether a scorer's mean fell.

    compare_runs(DiffOptions("runs/first", "runs/second", fail_if_lower="synthetic.relevance"))
    -> Diffed(differences=RunDifferences(…), looked=[Looked(…)])

The terminal shows what changed; JSON has all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaljudge.agreement import LEVELS
from evaljudge.agreement.significance import holm
from evaljudge.analysis.run_differences import (
    CorpusChange,
    MeanChange,
    RunDifferences,
    run_differences,
)
from evaljudge.analysis.run_scores import scored_run
from evaljudge.analysis.selection_differences import SIDES
from evaljudge.commands.conditions import Looked, lower, on_axis
from evaljudge.commands.options import DiffOptions
from evaljudge.decisions.agreement_differences import AgreementDifference
from evaljudge.report.screen import on_screen
from evaljudge.sections import Table
from evaljudge.sections.figures import (
    NONE,
    bracketed,
    correlation,
    count,
    only,
    percent,
    probability,
    short,
)
from evaljudge.settings import as_path
from evaljudge.text import LONG, listed, one_line

LOWER = 4
"""The exit code where a mean that `--fail-if-lower` looks at is lower."""
ALPHA = 0.05
MOST_ROWS, MOST_FLIPS = 16, 2


@dataclass(frozen=True, repr=False)
class Diffed:
    differences: RunDifferences
    looked: Sequence[Looked]

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    @property
    def failed(self) -> list[str]:
        """Which of the means that were looked at are lower, and by how much."""
        return [one_line(str(scale), LONG) for scale in self.looked if scale.failed]

    @property
    def exit_code(self) -> int:
        return LOWER if self.failed else 0

    @property
    def text(self) -> str:
        return "\n".join(_lines(self.differences)) + "\n"

    @property
    def json(self) -> str:
        found = self.differences
        rows = asdict(found) | {
            "coverage": [asdict(one) | {"shares": one.shares} for one in found.coverage],
            "means": [_flat(one) for one in found.means],
            "selections": [asdict(one) | {"flipped": one.flipped} for one in found.selections],
            "looked": [asdict(one) for one in self.looked],
        }
        return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def compare_runs(wanted: DiffOptions) -> Diffed:
    first, second = as_path(wanted.a, "a"), as_path(wanted.b, "b")
    found = run_differences(scored_run(first), scored_run(second))
    return Diffed(found, lower(listed(wanted.fail_if_lower), wanted.tolerance, found))


def _flat(row: MeanChange) -> dict[str, Any]:
    return {"scorer": row.scorer, "axis": row.axis, "system": row.system} | asdict(row.found)


def _lines(found: RunDifferences) -> Iterator[str]:
    yield f"A          {one_line(found.first)}"
    yield f"B          {one_line(found.second)}"
    for warning in found.warnings:
        yield f"warning    {one_line(warning, LONG)}"
    parts = {
        "settings": list(_settings(found.settings)),
        "corpus": list(_corpus(found.corpus)),
        "scorers": list(
            _only("scorers", [[on_axis(*key) for key in keys] for keys in found.scorers])
        ),
        "coverage": list(_coverage(found)),
        "scores": list(_means(found)),
        "agreement": list(_agreement(found)),
        "selections": list(_selections(found)),
        "cost": list(_cost(found.cost)),
    }
    for lines in parts.values():
        yield from lines
    same = [name for name, lines in parts.items() if not lines]
    if len(same) == len(parts):
        yield "nothing changed"
    else:
        yield f"\nunchanged: {', '.join(same)}" if same else ""


def _table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str
) -> Iterator[str]:
    """At most so many rows; all of them are in the JSON."""
    if rows:
        shown = on_screen(Table("", heads, rows[:MOST_ROWS], sides))
        more = len(rows) - MOST_ROWS
        yield f"\n{title}\n{shown}" + (f"\n… and {count(more)} more: --json" if more > 0 else "")


def _settings(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    shown = [[row["key"], *(_value(row, side) for side in SIDES)] for row in rows]
    yield from _table("Settings", ["key", "A", "B"], shown, "lll")


def _value(row: Mapping[str, Any], side: str) -> str:
    return json.dumps(row[side], ensure_ascii=False) if side in row else "absent"


def _corpus(corpus: CorpusChange) -> Iterator[str]:
    if corpus.is_none:
        return
    heads = ["", "only in A", "only in B", "in both", "not the same"]
    rows = [
        ["documents", *map(count, (corpus.documents_first, corpus.documents_second,
                                   corpus.documents, corpus.sources_changed))],
        ["texts", *map(count, (corpus.texts_first, corpus.texts_second, corpus.texts,
                               corpus.texts_changed))],
    ]  # fmt: skip
    yield from _table("Corpus", heads, rows, "lrrrr")
    if corpus.changed:
        named = ", ".join(" by ".join(one.values()) for one in corpus.changed)
        yield f"not the same: {one_line(named)}"


def _only(what: str, sides: Sequence[Sequence[str]]) -> Iterator[str]:
    for side, names in zip("AB", sides, strict=True):
        if names:
            yield f"\n{what} only in {side}: {one_line(', '.join(names))}"


def _coverage(found: RunDifferences) -> Iterator[str]:
    rows = [
        [
            one.scorer,
            one.axis,
            *(_share(*two) for two in zip(one.scored, one.expected, strict=True)),
            "; ".join(f"{kind} ({count(a)} → {count(b)})" for kind, (a, b) in one.reasons.items()),
        ]
        for one in found.coverage
        if all(one.expected) and not one.is_none
    ]
    heads = ["scorer", "axis", "A", "B", "unscored (A → B)"]
    yield from _table("Scored", heads, rows, "llrrl")


def _share(scored: int, expected: int) -> str:
    return f"{percent(scored / expected)} of {count(expected)}"


def _means(found: RunDifferences) -> Iterator[str]:
    changed = [row for row in found.means if row.system is None and row.found.changed]
    overall = sorted(changed, key=lambda row: 1.0 if row.found.p is None else row.found.p)
    heads = ["scorer", "axis", "A", "B", "B - A", "p", "documents"]
    rows = [[row.scorer, row.axis, *_mean_cells(row)] for row in overall]
    yield from _table("Mean scores of the texts that both runs scored", heads, rows, "llrrrrr")
    told_apart = list(_told_apart(found.means))
    heads = ["system", "scorer", "axis", *heads[2:]]
    rows = [[row.system or "", row.scorer, row.axis, *_mean_cells(row)] for row in told_apart]
    yield from _table("Systems whose mean changed (p below 0.05, by Holm's method)",
                      heads, rows, "lllrrrrr")  # fmt: skip


def _mean_cells(row: MeanChange) -> list[str]:
    of, few = row.found, only("sample", row.found.n)
    change = (
        f"{correlation(of.difference)} ({few})"
        if few
        else (bracketed(of.difference, of.low, of.high))
    )
    p = NONE if few else probability(of.p)
    return [correlation(of.first), correlation(of.second), change, p, count(of.n)]


def _told_apart(means: Sequence[MeanChange]) -> Iterator[MeanChange]:
    """Among the systems of each scorer and axis."""
    by_scale = dict[tuple[str, str], list[MeanChange]]()
    for row in means:
        if row.system is not None and row.found.p is not None and not only("sample", row.found.n):
            by_scale.setdefault((row.scorer, row.axis), []).append(row)
    for rows in by_scale.values():
        adjusted = holm([row.found.p or 0.0 for row in rows])
        yield from (row for row, p in zip(rows, adjusted, strict=True) if p < ALPHA)


def _agreement(found: RunDifferences) -> Iterator[str]:
    """The differences alone, a column for each level."""
    by_scale = dict[tuple[str, str], dict[str, AgreementDifference]]()
    for one in found.agreement:
        by_scale.setdefault((one.scorer, one.axis), {})[one.level] = one
    rows = [
        [*scale, *(_agreement_cell(of[level]) for level in LEVELS)]
        for scale, of in by_scale.items()
        if any(one.difference for one in of.values())
    ]
    heads = ["scorer", "axis", *LEVELS]
    yield from _table("Spearman's correlation with people: B - A at each level",
                      heads, rows, "llrrr")  # fmt: skip


def _agreement_cell(one: AgreementDifference) -> str:
    if one.difference is not None and (few := only(one.level, one.n)):
        return f"{correlation(one.difference)} ({few})"
    return bracketed(one.difference, one.low, one.high, one.sampled)


def _selections(found: RunDifferences) -> Iterator[str]:
    yield from _only("selections", found.selection_names)
    for one in found.selections:
        if one.is_none:
            continue
        rule = "; its rule is another" if one.rule_changed else ""
        unpaired = f"; {count(sum(one.unpaired))} texts that the other run does not have"
        yield (
            f"\nselected   {one.name}: {count(one.both)} in both, {count(one.first)} only in A, "
            f"{count(one.second)} only in B{unpaired if any(one.unpaired) else ''}{rule}"
        )
        for side, name in zip(SIDES, "AB", strict=True):
            for flip in [row for row in one.flips if row["selected"] == side][:MOST_FLIPS]:
                values = (f"{scale} {_two(two)}" for scale, two in flip["values"].items())
                text = f"{flip['doc_id']} by {flip['system']}, {'; '.join(values)}"
                yield f"           only in {name}: {one_line(text)}"


def _two(values: Sequence[float | None]) -> str:
    return " → ".join(NONE if value is None else short(value) for value in values)


def _cost(cost: Mapping[str, tuple[float | None, float | None]]) -> Iterator[str]:
    rows = [
        [name, *(NONE if side is None else f"{side:,}" for side in two)]
        for name, two in cost.items()
        if two[0] != two[1]
    ]
    yield from _table("Cost", ["", "A", "B"], rows, "lrr")
