"""Which agreement remains with length held fixed, and whose does not?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evaljudge.agreement import LengthHeld, held_fixed
from evaljudge.agreement.rated import MOST_TESTED
from evaljudge.analyses import Analysis, Findings, Rank, Rows, RunFrame, Section, Warned
from evaljudge.analyses.agreement import TITLES
from evaljudge.sections import BarRow, Bars
from evaljudge.sections.figures import FEWEST, correlation, estimate, notes_on, only, tabled

TITLE = "Agreement with length held fixed"
ABOUT = (
    "Spearman's partial correlation of scores and ratings, given the texts' numbers of words: a "
    "scorer that only measures length keeps next to nothing of its agreement. What people rightly "
    "like about longer texts is taken away, too."
)
INTERVALS = (
    "In brackets: 95% intervals over documents (Student's t at sample level, a jackknife at "
    "summary level, both on Fisher's scale)."
)
ORDERED = (
    "In order: documents (summary level: 1 for all texts) whose scores are in the order of the "
    "lengths, or in the opposite one. They are left out, as are documents of fewer than four "
    "texts."
)
SAMPLE = "The values are those of a seeded sample of documents."
READING = (
    "The open circle is Spearman's correlation with people; the dot is what remains of it with "
    "length held fixed. A dot near 0 far from its circle is a scorer that may only measure length."
)

SUBSTANTIAL = 0.2
"""A Spearman correlation above it, whose interval lies above 0, should not come from length."""
WORDS = "words"  # the metric that says by its name that it is the length
LITTLE = 1 / 4  # share of the correlation: less remains, or less than half and perhaps nothing


def rows(run: RunFrame) -> Iterator[LengthHeld]:
    tested, is_sample = run.compared.sampled(MOST_TESTED, run.seed)
    if tested.lengths is None:
        return
    for human, ratings in sorted(tested.human.items()):
        for scorer, scores in tested.against(human).items():
            for held in held_fixed(tested.documents, scores, ratings, tested.lengths):
                yield replace(held, scorer=scorer, axis=human, sampled=is_sample)


def warnings(run: RunFrame, rows: Rows) -> Iterator[Warned]:
    """One for each scorer of whose agreement little remains, where documents are enough."""
    spearmans = (a for a in rows["agreement"] if a.coefficient == "spearman")
    by_scale = {(a.scorer, a.axis, a.level): a for a in spearmans}
    documents = {key[:2]: a.n + a.skipped for key, a in by_scale.items() if key[2] == "sample"}
    lost: dict[str, dict[str, str]] = {}
    for row in (row for row in rows["length"] if row.scorer != WORDS):
        plain = by_scale.get((row.scorer, row.axis, row.level))
        if plain is None or min(plain.n, documents[row.scorer, row.axis]) < FEWEST["sample"]:
            continue
        is_substantial = (plain.value or 0.0) > SUBSTANTIAL and (plain.low or 0.0) > 0
        if is_substantial and _vanishes(row):
            left = "nothing" if row.value is None else f"{row.value:.2f}"
            message = f"{row.axis} {row.spearman:.2f} to {left}"
            lost.setdefault(row.scorer, {}).setdefault(row.axis, message)
    for scorer, by_axis in lost.items():
        message = (
            f"{scorer} may measure length: with length held fixed, little of its agreement with "
            f"people remains (Spearman: {', '.join(by_axis.values())})"
        )
        yield Warned("measures length", Rank.AGREEMENT, message)


def _vanishes(row: LengthHeld) -> bool:
    """Also where most scores are in the order of the lengths, which leaves nothing to correlate."""
    if row.spearman is None or row.in_order > row.n:
        return row.spearman is not None
    if row.value is None or row.low is None or row.high is None:
        return False
    left = row.value / row.spearman
    return left < LITTLE or (left < 1 / 2 and row.low <= 0 <= row.high)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows: Sequence[LengthHeld] = [] if in_short else findings["length"]
    columns = {
        "scorer": "scorer",
        "axis": "axis",
        "Spearman": "spearman",
        "with length held fixed": estimate,
        "score and length": "with_length",
        "rating and length": "people_with_length",
        "n": "n",
        "in order": "in_order",
    }
    tables = [
        tabled(TITLES[level], [row for row in rows if row.level == level], 2, columns)
        for level in ("sample", "summary")
    ]
    notes = [ORDERED, *notes_on(rows, SAMPLE, "value")]
    yield Section(TITLE, [ABOUT, INTERVALS], tables, notes, _pictures(rows))


def _pictures(rows: Sequence[LengthHeld]) -> list[Bars]:
    """One for each axis: within documents, or of all texts where no document has enough."""
    defined = [row for row in rows if row.value is not None and row.spearman is not None]
    level = "sample" if any(row.level == "sample" for row in defined) else "summary"
    pictures = []
    for axis in dict.fromkeys(row.axis for row in defined):
        bars = [_bar(row) for row in defined if (row.axis, row.level) == (axis, level)]
        bars.sort(key=lambda bar: -abs(bar.value - (bar.other or 0.0)))
        title = f"Agreement on {axis}, {level} level"
        pictures.append(Bars("Length", title, READING, bars, least=-1.0, is_change=True))
    return pictures


def _bar(row: LengthHeld) -> BarRow:
    assert row.value is not None
    low, high = (None, None) if only(row.level, row.n) else (row.low, row.high)
    figure = f"{correlation(row.spearman)} → {estimate(row)}"
    return BarRow(row.scorer, row.value, figure, low, high, row.spearman)


ANALYSIS = Analysis(LengthHeld, rows, section, place=120, warnings=warnings)
