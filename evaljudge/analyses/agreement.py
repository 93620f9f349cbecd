"""How far do scores agree with people's ratings? The table of each level, as the report begins.

A scorer's axis meets the human axis of the same name; a scorer without axes meets them all. The
tables stand before all sections, so this analysis has no section of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evaljudge.agreement import LEVELS, Agreement, comparisons, soft_accuracies
from evaljudge.agreement.rated import MOST_TESTED, Rated
from evaljudge.analyses import Analysis, Findings, RunFrame
from evaljudge.records import ANY_AXIS
from evaljudge.sections import Table
from evaljudge.sections.figures import FEW, SAMPLED, SAMPLED_NOTE, count, estimate, only, together

COEFFICIENTS = {
    "spearman": "Spearman",
    "kendall": "Kendall (tau-b)",
    "pearson": "Pearson",
    "kendall_c": "Kendall (tau-c)",
    "accuracy": "Pairwise accuracy",
    "soft_accuracy": "Soft accuracy",
}
_TOOLTIPS = {
    "spearman": "Are scores in the order of the ratings? 1: the same order, 0: none, -1: opposite.",
    "kendall": "Pairs in the same order minus pairs in the opposite one, as a share; allows ties.",
    "pearson": "Do scores and ratings lie on a line? 1: a rising one, 0: none, -1: a falling one.",
    "kendall_c": "As tau-b, but allows for scales with different numbers of values, not for ties.",
    "accuracy": "Of all pairs, how often the scorer says what people say: better, worse or a tie.",
    "soft_accuracy": "How alike the p-values for pairs of systems are; 1: those of people.",
}
TOOLTIPS = {COEFFICIENTS[name]: words for name, words in _TOOLTIPS.items()}
NOTHING_RATED = "There are no human ratings: nothing to agree with."
NOTHING_SHARED = "Texts are rated, but no scorer has a number on a rated axis: nothing to compare."
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
TITLES = {
    "sample": "Sample level: within documents",
    "system": "System level: between systems",
    "summary": "Summary level: all texts pooled",
}
_MEANINGS = {
    "sample": (
        "The correlation across the texts of one document, averaged over n documents: "
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
        "The correlation over n texts of all documents at once: "
        "does one threshold mean the same everywhere? Easy and hard documents are mixed.",
        "Skipped: rated texts without a score.",
    ),
}
_ACROSS = {
    "system": "a system's mean depends on which other systems are in the run",
    "summary": "those of different documents do not compare, and are pooled here",
}
"""What scores that rank texts within a document mean at levels that go across documents."""


@dataclass(frozen=True, slots=True)
class Level:
    """The agreement at one level; `within_documents`: scorers that rank texts in a document."""

    name: str
    rows: Sequence[Agreement]
    within_documents: Sequence[str] = ()

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @property
    def meaning(self) -> Sequence[str]:
        return _MEANINGS[self.name]

    @property
    def coefficients(self) -> Mapping[str, str]:
        is_soft = any(row.coefficient == "soft_accuracy" for row in self.rows)
        return {k: what for k, what in COEFFICIENTS.items() if is_soft or k != "soft_accuracy"}

    @property
    def by_scale(self) -> Mapping[tuple[str, str], Mapping[str, Agreement]]:
        rows_by_scale = dict[tuple[str, str], dict[str, Agreement]]()
        for row in self.rows:
            rows_by_scale.setdefault((row.scorer, row.axis), {})[row.coefficient] = row
        return rows_by_scale

    def table(self, title: str = "") -> Table:
        cells = [
            [
                *at,
                *(estimate(by_name.get(name)) for name in self.coefficients),
                _counted({name: row.n for name, row in by_name.items()}),
                _counted({name: row.skipped for name, row in by_name.items()}),
            ]
            for at, by_name in self.by_scale.items()
        ]
        heads = ["scorer", "axis", *self.coefficients.values(), "n", "skipped"]
        return Table(title, heads, cells, "ll" + "r" * (len(heads) - 2), lead=2)

    @property
    def notes(self) -> Iterator[str]:
        there = {row.coefficient for row in self.rows}
        sampled = {row.coefficient for row in self.rows if row.sampled}
        if sampled - {"soft_accuracy"}:
            accuracy = SAMPLED_ACCURACY if "accuracy" in sampled else ""
            yield f"{SAMPLED} {SAMPLED_NOTE}{accuracy}"
        if "accuracy" in there:
            yield ACCURACY
        if "soft_accuracy" in there:
            yield SOFT + (SAMPLED_SOFT if "soft_accuracy" in sampled else "")
        if any(row.value is not None and only(row.level, row.n) for row in self.rows):
            yield FEW
        yield from across(self.name, (row.scorer for row in self.rows), self.within_documents)


def _counted(numbers: dict[str, int]) -> str:
    """Accuracy is apart: it needs no variation, so that it rests on more than the others."""
    numbers.pop("soft_accuracy", None)
    accuracy = numbers.pop("accuracy", None)
    if not numbers or accuracy is None or {*numbers.values()} == {accuracy}:
        return together(numbers.values() or [accuracy or 0])
    return f"{together(numbers.values())}; accuracy {count(accuracy)}"


def across(level: str, scorers: Iterable[str], within_documents: Sequence[str]) -> list[str]:
    """A note on those of the scorers that rank texts within a document, if the level has any."""
    there = set(scorers)
    ranking = [scorer for scorer in within_documents if scorer in there]
    if level not in _ACROSS or not ranking:
        return []
    return [f"{', '.join(ranking)}: ordered within each document; {_ACROSS[level]}."]


def levels(findings: Findings) -> list[Level]:
    return levels_of(findings.agreement, findings.within_documents)


def levels_of(agreement: Sequence[Agreement], within_documents: Sequence[str] = ()) -> list[Level]:
    by_level = {name: [row for row in agreement if row.level == name] for name in LEVELS}
    return [Level(name, rows, within_documents) for name, rows in by_level.items() if rows]


def spearman_table(title: str, levels: Sequence[Level]) -> Table:
    by_level = {level.name: level.by_scale for level in levels}
    scales = dict.fromkeys(at for scales in by_level.values() for at in scales)
    rows = [
        [*at, *(estimate(scales.get(at, {}).get("spearman")) for scales in by_level.values())]
        for at in scales
    ]
    return Table(title, ["scorer", "axis", *by_level], rows, "ll" + "r" * len(by_level), lead=2)


def nothing(findings: Findings) -> str:
    return NOTHING_SHARED if findings.rated else NOTHING_RATED


def rows(run: RunFrame) -> Iterator[Agreement]:
    return agreement_of(run.compared, run.seed)


def agreement_of(rated: Rated, seed: int) -> Iterator[Agreement]:
    keys, axes = list(rated.scores), sorted(rated.human)
    columns = [*rated.scores.values(), *(rated.human[human] for human in axes)]
    matched = [
        (place, len(keys) + number)
        for place, (_, axis) in enumerate(keys)
        for number, human in enumerate(axes)
        if axis in (human, ANY_AXIS)
    ]
    compared = comparisons(rated.documents, rated.systems, columns, matched, seed=seed)
    soft = _soft(rated, seed, matched)
    for (place, number), agreed, more in zip(matched, compared, soft, strict=True):
        for agreement in [*agreed, *more]:
            yield replace(agreement, scorer=keys[place][0], axis=axes[number - len(keys)])


def _soft(rated: Rated, seed: int, matched: Sequence[tuple[int, int]]) -> Sequence[list[Agreement]]:
    tested, is_sample = rated.sampled(MOST_TESTED, seed)
    columns = [*tested.scores.values(), *(tested.human[axis] for axis in sorted(tested.human))]
    accuracies = soft_accuracies(tested.documents, tested.systems, columns, matched, seed=seed)
    return [[replace(agreement, sampled=is_sample)] for agreement in accuracies]


ANALYSIS = Analysis(Agreement, rows, lambda *_: (), is_always_written=True)
