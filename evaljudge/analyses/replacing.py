"""May the judge take a rater's place, by the raters' own ratings?

A judge is measured by its distance from ratings, so its numbers must mean what theirs mean. There
is no such declaration, so it is seen from the numbers: nearly all lie among the ratings. A constant
is tested beside each, because it can pass, and so can length when it is calibrated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from evaljudge.agreement.pairs import Codes
from evaljudge.agreement.rated import Floats, Rated
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.decisions.replacing import FEWEST_RATERS, FEWEST_TEXTS, Replacing, replacing
from evaljudge.sections import Cell, Named, Table
from evaljudge.sections.figures import NONE, bracketed, probability, short, tabled

TITLE = "May the judge replace a rater?"
TEST = (
    "The alternative annotator test (Calderon et al. 2025): on how many texts is the judge at "
    "least as close to the other raters as the rater who is set aside? The judge may replace "
    "raters if it wins against at least half: if the rater's share exceeds the judge's by less "
    "than epsilon = {epsilon} (p below 0.05 after Benjamini and Yekutieli's correction)."
)
CLUSTERED = (
    "Documents are the units; `texts apart` takes every text as independent, as the authors do, "
    "which rejects too often where the texts of a document depend on each other."
)
CONSTANT = (
    "A constant: the same of a judge that gives every text the mean or the commonest rating, "
    "whichever does better. Where it wins, too, a judge's advantage must be above the constant's, "
    "with its interval."
)
COLUMNS = (
    "A rater is a position in the lists of ratings. Where it is not the same person throughout, "
    "the test is of one rater at random."
)
FEW_RATERS = (
    "* Fewer than {fewest} raters, which the authors ask for: there is no group that a rater could "
    "be far from."
)
IN_SHORT = (
    "In brackets: raters that the judge wins against. A constant gives every text one rating; a "
    "judge that does no better has not read the texts to any effect."
)

NEARLY_ALL = 0.9
OFF_SCALE = "not on the raters' scale"
TOO_FEW = f"no rater with {FEWEST_TEXTS} texts that it scored and another rated"
Answer = Literal["yes", "no better than a constant", "no"]  # may the judge replace a rater?


@dataclass(frozen=True, slots=True)
class ReplacingRow:
    scorer: str
    axis: str
    raters: int  # columns of ratings
    texts: int = 0  # scored by the scorer and rated by two raters
    documents: int = 0
    found: Replacing | None = None
    constant: Replacing | None = None  # for the same texts, all with one score
    answer: Answer | None = None
    reason: str = ""  # why nothing is found


def rows(run: RunFrame) -> Iterator[ReplacingRow]:
    rated, epsilon = run.compared, run.how.alt_test_epsilon
    for axis in sorted(rated.raters):
        ratings = rated.table(axis)
        for scorer, scores in rated.against(axis).items():
            yield _row(scorer, axis, scores, ratings, rated, epsilon)


def _row(
    scorer: str, axis: str, scores: Floats, ratings: Floats, rated: Rated, epsilon: float
) -> ReplacingRow:
    raters = int(np.isfinite(ratings).any(axis=0).sum())
    if not _is_on_scale(scores, ratings):
        return ReplacingRow(scorer, axis, raters, reason=OFF_SCALE)
    kept = np.isfinite(scores) & (np.isfinite(ratings).sum(axis=1) > 1)
    tested = replacing(scores[kept], ratings[kept], rated.documents[kept], epsilon=epsilon)
    counts = int(kept.sum()), np.unique(rated.documents[kept]).size
    if tested is None:
        return ReplacingRow(scorer, axis, raters, *counts, reason=TOO_FEW)
    constant = _constant(ratings[kept], rated.documents[kept], epsilon)
    return ReplacingRow(scorer, axis, raters, *counts, tested, constant, _answer(tested, constant))


def _answer(tested: Replacing, constant: Replacing | None) -> Answer:
    """The lower end of the judge's advantage is what must be above that of a constant."""
    if not tested.passes:
        return "no"
    if constant is not None and constant.passes and (tested.low or 0.0) <= constant.advantage:
        return "no better than a constant"
    return "yes"


def _constant(ratings: Floats, documents: Codes, epsilon: float) -> Replacing | None:
    values, times = np.unique(ratings[np.isfinite(ratings)], return_counts=True)
    both = np.nanmean(ratings), values[np.argmax(times)]
    tested = [
        replacing(np.full(len(ratings), x), ratings, documents, epsilon=epsilon) for x in both
    ]
    return max(filter(None, tested), key=lambda x: x.advantage, default=None)


def _is_on_scale(scores: Floats, ratings: Floats) -> bool:
    there = scores[np.isfinite(scores)]
    if not there.size or not np.isfinite(ratings).any():
        return False
    among = (there >= np.nanmin(ratings)) & (there <= np.nanmax(ratings))
    return bool(among.mean() >= NEARLY_ALL)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows: Sequence[ReplacingRow] = findings["replacing"]
    tested = [(row, row.found) for row in rows if row.found is not None]
    if not tested:
        return
    about = TEST.format(epsilon=short(tested[0][1].epsilon))
    few = any(row.raters < FEWEST_RATERS for row, _ in tested)
    notes = [FEW_RATERS.format(fewest=FEWEST_RATERS)] if few else []
    if in_short:
        yield Section(TITLE, [], [_summary(rows)], [f"{about} {IN_SHORT}", *notes])
        return
    whole = {
        "scorer": "scorer",
        "axis": "axis",
        "may it?": lambda row: f"{row.answer}{_mark(row)}",
        "winning rate": "found.winning_rate",
        "texts apart": "found.winning_rate_texts",
        "advantage": lambda row: bracketed(row.found.advantage, row.found.low, row.found.high),
        "a constant's winning rate": lambda row: row.constant and row.constant.winning_rate,
        "a constant's advantage": lambda row: row.constant and row.constant.advantage,
        "raters": lambda row: len(row.found.raters),
        "texts": "texts",
        "documents": "documents",
    }
    beside = {
        "scorer": lambda at: at[0].scorer,
        "axis": lambda at: at[0].axis,
        "rater": lambda at: at[1].rater + 1,
        "judge": lambda at: at[1].judge,
        "rater's": lambda at: at[1].itself,
        "p": lambda at: probability(at[1].p_clustered),
        "p (corrected)": lambda at: probability(at[1].p_clustered_corrected),
        "p, texts apart": lambda at: probability(at[1].p),
        "(corrected)": lambda at: probability(at[1].p_corrected),
        "texts": lambda at: at[1].n,
        "documents": lambda at: at[1].documents,
    }
    raters = [(row, rater) for row, found in tested for rater in found.raters]
    tables = [
        tabled("The judge in place of a rater", [row for row, _ in tested], 3, whole, lead=2),
        tabled("Beside each rater: shares of texts", raters, 2, beside),
        _left_out(rows),
    ]
    yield Section(TITLE, [about, CLUSTERED, CONSTANT, COLUMNS], tables, notes)


def _summary(rows: Sequence[ReplacingRow]) -> Table:
    named: dict[str, dict[str, list[Named]]] = {}
    for row in rows:
        if row.found and row.answer:
            raters = len(row.found.raters)
            won = round((row.found.winning_rate or 0.0) * raters)
            by_answer = named.setdefault(row.axis, {})
            remark = f"{won} of {raters}{_mark(row)}"
            by_answer.setdefault(row.answer, []).append(Named(row.scorer, remark))
    answers = get_args(Answer)
    cells: list[list[Cell]] = [
        [axis, *(counts.get(a) or NONE for a in answers)] for axis, counts in named.items()
    ]
    return Table("Who may", ["axis", *answers], cells, "llll")


def _mark(row: ReplacingRow) -> str:
    return "*" if row.raters < FEWEST_RATERS else ""


def _left_out(rows: Sequence[ReplacingRow]) -> Table:
    scorers: dict[tuple[str, str], list[Named]] = {}
    for row in rows:
        if row.reason:
            scorers.setdefault((row.axis, row.reason), []).append(Named(row.scorer))
    cells: list[list[Cell]] = [[*at, names] for at, names in scorers.items()]
    return Table("Not tested", ["axis", "why", "scorers"], cells, "lll")


ANALYSIS = Analysis(ReplacingRow, rows, section, place=110)
