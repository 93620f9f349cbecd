"""How far do scores agree with people's ratings? The table of each level, as the report begins.

| scorer    | axis    |             Spearman | … | Pairwise accuracy    |   n | skipped |
| --------- | ------- | -------------------: | … | -------------------: | --: | ------: |
| synthetic | fluency | 0.441 [0.312, 0.553] | … | 0.672 [0.641, 0.704] |  98 |       2 |

A scorer's axis meets the human axis of the same name; a scorer without axes meets them all. The
tables stand before all sections, so this analysis has no section of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evaljudge.agreement import Agreement, comparisons, soft_accuracies
from evaljudge.agreement.rated import MOST_TESTED, Rated
from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analysis.findings import Findings
from evaljudge.records import ANY_AXIS
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import (
    FEW,
    NONE,
    SAMPLED,
    SAMPLED_NOTE,
    Estimated,
    count,
    estimate,
    only,
    together,
)

COEFFICIENTS = {
    "spearman": "Spearman",
    "kendall": "Kendall (tau-b)",
    "pearson": "Pearson",
    "kendall_c": "Kendall (tau-c)",
    "accuracy": "Pairwise accuracy",
    "soft_accuracy": "Soft accuracy",
}
TOOLTIPS = {
    "spearman": "Are scores in the order of the ratings? 1: the same order, 0: none, -1: opposite.",
    "kendall": "Pairs in the same order minus pairs in the opposite one, as a share; allows ties.",
    "pearson": "Do scores and ratings lie on a line? 1: a rising one, 0: none, -1: a falling one.",
    "kendall_c": "As tau-b, but allows for scales with different numbers of values, not for ties.",
    "accuracy": "Of all pairs, how often the scorer says what people say: better, worse or a tie.",
    "soft_accuracy": "How alike the p-values for pairs of systems are; 1: those of people.",
}
"""Of the heads of a table on the page."""
LEVELS = ("sample", "system", "summary")
NOTHING_RATED = "There are no human ratings: nothing to agree with."
NOTHING_SHARED = (
    "Candidates are rated, but no scorer has a number on a rated axis: nothing to compare."
)
ACCURACY = (
    "Pairwise accuracy: the share of pairs that the scorer orders, or ties, as people do; how "
    "close scores must be to tie is calibrated (epsilon, in agreement.json). "
    "Without ties, 0.5 is chance."
)
SOFT = (
    "Soft accuracy: one less the mean distance of people's p-values from the scorer's, that one of "
    "two systems is better than the other (Thompson et al. 2024). It has no interval."
)
SAMPLED_SOFT = " It is that of a seeded sample of documents."
SAMPLED_ACCURACY = " Pairwise accuracy is altogether that sample's."
INTERVALS = (
    "In brackets: 95% intervals, of Student's t over documents; of fewer than 20 documents, and "
    "where documents have few texts, they hold the value less often."
)
_TITLES = {
    "sample": "Sample level: within documents",
    "system": "System level: between systems",
    "summary": "Summary level: all candidates pooled",
}
_MEANINGS = {
    "sample": (
        "The correlation across the candidates of one document, averaged over n documents: "
        "does the scorer pick the better text for the same document?",
        "Skipped: documents with fewer than two pairs, or whose scores or ratings are all equal.",
    ),
    "system": (
        "The correlation of the mean scores of n systems with their mean ratings: "
        "does the scorer rank systems as people do?",
        "The interval says what other documents would have shown of these systems, not what other "
        "systems would. Skipped: systems without a pair.",
    ),
    "summary": (
        "The correlation over n candidates of all documents at once: "
        "does one threshold mean the same everywhere? Easy and hard documents are mixed.",
        "Skipped: rated candidates without a score.",
    ),
}
_ACROSS = {
    "system": "a system's mean depends on which other systems are in the run",
    "summary": "those of different documents do not compare, and are pooled here",
}
"""What scores that rank texts within a document mean at levels that go across documents."""


@dataclass(frozen=True, slots=True)
class LevelRow:
    scorer: str
    axis: str
    estimates: Mapping[str, Agreement]  # by coefficient

    @property
    def n(self) -> str:
        return self._counted(lambda row: row.n)

    @property
    def skipped(self) -> str:
        return self._counted(lambda row: row.skipped)

    def _counted(self, number: Callable[[Agreement], int]) -> str:
        """Accuracy is apart: it needs no variation, so that it rests on more than the others."""
        numbers = {name: number(row) for name, row in self.estimates.items()}
        numbers.pop("soft_accuracy", None)
        accuracy = numbers.pop("accuracy", None)
        if not numbers or accuracy is None or {*numbers.values()} == {accuracy}:
            return together(numbers.values() or [accuracy or 0])
        return f"{together(numbers.values())}; accuracy {count(accuracy)}"


@dataclass(frozen=True, slots=True)
class Level:
    name: str
    title: str
    meaning: Sequence[str]
    rows: Sequence[LevelRow]
    within_documents: Sequence[str] = ()
    """The scorers whose scores are ranks within a document."""

    @property
    def sampled(self) -> set[str]:
        """Coefficients whose intervals come from a sample."""
        found = {name for row in self.rows for name, e in row.estimates.items() if e.sampled}
        return found - {"soft_accuracy"}

    @property
    def coefficients(self) -> Mapping[str, str]:
        """Their names; soft accuracy only where it is."""
        is_soft = any("soft_accuracy" in row.estimates for row in self.rows)
        return {key: of for key, of in COEFFICIENTS.items() if is_soft or key != "soft_accuracy"}

    @property
    def is_few(self) -> bool:
        """Whether a value rests on too few units to mean anything."""
        estimates = (e for row in self.rows for e in row.estimates.values())
        return any(e.value is not None and only(e.level, e.n) for e in estimates)

    @property
    def notes(self) -> Iterator[str]:
        """What must be known to read the level's table."""
        if self.sampled:
            accuracy = SAMPLED_ACCURACY if "accuracy" in self.sampled else ""
            yield f"{SAMPLED} {SAMPLED_NOTE}{accuracy}"
        if any("accuracy" in row.estimates for row in self.rows):
            yield ACCURACY
        if soft := [e for row in self.rows if (e := row.estimates.get("soft_accuracy"))]:
            yield SOFT + (SAMPLED_SOFT if any(e.sampled for e in soft) else "")
        if self.is_few:
            yield FEW
        yield from across(self.name, (row.scorer for row in self.rows), self.within_documents)


def across(level: str, scorers: Iterable[str], within_documents: Sequence[str]) -> list[str]:
    """A note on those of the scorers that rank texts within a document, if the level has any."""
    there = set(scorers)
    ranking = [scorer for scorer in within_documents if scorer in there]
    if level not in _ACROSS or not ranking:
        return []
    return [f"{', '.join(ranking)}: ordered within each document; {_ACROSS[level]}."]


def levels(findings: Findings) -> list[Level]:
    """The levels that have results, in their fixed order."""
    return levels_of(findings.agreement, findings.within_documents)


def levels_of(agreement: Sequence[Agreement], within_documents: Sequence[str] = ()) -> list[Level]:
    grouped = dict[str, dict[tuple[str, str], dict[str, Agreement]]]()
    for row in agreement:
        by_scale = grouped.setdefault(row.level, {})
        by_scale.setdefault((row.scorer, row.axis), {})[row.coefficient] = row
    return [
        Level(
            name, _TITLES[name], _MEANINGS[name],
            [LevelRow(*at, estimates) for at, estimates in grouped[name].items()],
            within_documents,
        )
        for name in LEVELS
        if name in grouped
    ]  # fmt: skip


def level_table(title: str, level: Level) -> Table:
    """Every coefficient of one level."""
    rows = [
        [
            *(row.scorer, row.axis),
            *(estimate(row.estimates.get(name)) for name in level.coefficients),
            *(row.n, row.skipped),
        ]
        for row in level.rows
    ]
    heads = ["scorer", "axis", *level.coefficients.values(), "n", "skipped"]
    return Table(title, heads, rows, "ll" + "r" * (len(heads) - 2), lead=2)


def spearman_table(title: str, found: Sequence[Level]) -> Table:
    """Spearman's correlation at every level, side by side."""
    cells = {
        (row.scorer, row.axis, level.name): estimate(row.estimates.get("spearman"))
        for level in found
        for row in level.rows
    }
    names = [level.name for level in found]
    rows = [
        [scorer, axis, *(cells.get((scorer, axis, name), NONE) for name in names)]
        for scorer, axis in dict.fromkeys((scorer, axis) for scorer, axis, _ in cells)
    ]
    return Table(title, ["scorer", "axis", *names], rows, "ll" + "r" * len(names), lead=2)


def sampled_note(rows: Iterable[Estimated]) -> list[str]:
    """What the mark of a sampled interval means, where there is one."""
    return [f"{SAMPLED} {SAMPLED_NOTE}"] if any(row.sampled for row in rows) else []


def nothing(findings: Findings) -> str:
    """Why there is no agreement to show."""
    return NOTHING_SHARED if findings.rated else NOTHING_RATED


def rows(run: RunFrame) -> Iterator[Agreement]:
    return agreement_of(run.compared, run.seed)


def agreement_of(rated: Rated, seed: int) -> Iterator[Agreement]:
    keys, axes = list(rated.scores), sorted(rated.human)
    columns = [*rated.scores.values(), *(rated.human[human] for human in axes)]
    meeting = [
        (place, len(keys) + number)
        for place, (_, axis) in enumerate(keys)
        for number, human in enumerate(axes)
        if axis in (human, ANY_AXIS)
    ]
    found = comparisons(rated.documents, rated.systems, columns, meeting, seed=seed)
    soft = _soft(rated, seed, meeting)
    for (place, number), agreed, more in zip(meeting, found, soft, strict=True):
        for one in [*agreed, *more]:
            yield replace(one, scorer=keys[place][0], axis=axes[number - len(keys)])


def _soft(rated: Rated, seed: int, meeting: Sequence[tuple[int, int]]) -> Sequence[list[Agreement]]:
    """The soft accuracy of each two columns."""
    tested, is_sample = rated.sampled(MOST_TESTED, seed)
    columns = [*tested.scores.values(), *(tested.human[axis] for axis in sorted(tested.human))]
    found = soft_accuracies(tested.documents, tested.systems, columns, meeting, seed=seed)
    return [[replace(one, sampled=is_sample)] for one in found]


def section(findings: Findings, in_short: bool) -> Iterable[Section]:
    return ()


ANALYSIS = Analysis(Agreement, rows, section, is_always_written=True)
