"""Who agrees best with people, and who does not differ significantly from it?"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from evaljudge.agreement import LEVELS, Rival, Standing, against_best
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analyses.agreement import COEFFICIENTS
from evaljudge.analysis.calibration import SUFFIX
from evaljudge.sections import Cell, Named, Table
from evaljudge.sections.figures import SAMPLED, bounded, correlation, only, probability, tabled

TITLE = "Highest agreement"
TESTED = (
    "Tested: Student's t over documents, two-sided, on the texts that both scored, at 5% "
    "after Holm's correction for every two scorers of the axis and level. A scorer that does "
    "not differ significantly from the best may still be worse: there is too little here to say so."
)
WIDENED = "The interval of the best is widened for the choice among all scorers."
LACKING = (
    "Not compared: untested, where too little was scored by both; "
    "undefined, where a scorer has no correlation."
)
TIES = (
    "Scores that end in `.calibrated` are not compared: they order texts as the scores that they "
    "are made of do. Where ratings tie they tie, too, which correlations of ranks reward."
)
SAMPLED_TEST = "Tested on a seeded sample of documents."


def rows(run: RunFrame) -> Iterator[Standing]:
    rated = run.compared
    for human, ratings in sorted(rated.human.items()):
        against = rated.against(human).items()
        scores = {scorer: column for scorer, column in against if not scorer.endswith(SUFFIX)}
        for level in LEVELS if len(scores) > 1 else ():
            best = against_best(
                rated.documents, rated.systems, scores, ratings,
                level=level, coefficient=run.how.coefficient, seed=run.seed,
            )  # fmt: skip
            if best is not None:
                yield replace(best, axis=human)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    units = {(r.scorer, r.axis, r.level, r.coefficient): r.n for r in findings.agreement}
    standings: Sequence[Standing] = findings["significance"]
    few: dict[tuple[str, str], str] = {
        (row.axis, row.level): only(row.level, n)
        for row in standings
        if (n := units.get((row.best, row.axis, row.level, row.coefficient))) is not None
    }
    rows = [_of_enough(row, few.get((row.axis, row.level), "")) for row in standings]
    lacking = any(_not_compared(row) for row in rows)
    notes = [LACKING] if lacking else []
    if any(row.scorer.endswith(SUFFIX) for row in findings.agreement):
        notes.append(TIES)
    if any(map(_is_sampled, rows)):
        notes.append(f"{SAMPLED} {SAMPLED_TEST}")
    if in_short:
        yield Section(TITLE, [], [_summary(rows, few, lacking, in_short)], [TESTED, *notes])
        return
    beside = [_beside(row) for row in rows if row.rivals]
    summary = _summary(rows, few, True, in_short)
    yield Section(TITLE, [TESTED, WIDENED], [summary, *beside], notes)


def _of_enough(row: Standing, few: str) -> Standing:
    """No test stands beside a coefficient of so few units that it says nothing."""
    rivals = [replace(r, p=None, p_holm=None) if only(row.level, r.n) else r for r in row.rivals]
    tested = {r.scorer for r in rivals if r.p_holm is not None and not few}
    close = [scorer for scorer in row.indistinguishable if scorer in tested]
    return replace(row, rivals=[] if few else rivals, indistinguishable=close)


def _is_sampled(row: Standing) -> bool:
    return any(rival.sampled for rival in row.rivals)


def _summary(
    rows: Sequence[Standing], few: Mapping[tuple[str, str], str], with_lacking: bool, in_short: bool
) -> Table:
    def best(row: Standing) -> list[Named]:
        only_few = few.get((row.axis, row.level), "")
        value = correlation(row.value) if only_few or in_short else bounded(row)
        return [Named(row.best, ", ".join(filter(None, [value, only_few])))]

    def apart(row: Standing) -> list[Named]:
        return [
            Named(rival.scorer, f"p {probability(rival.p_holm)}")
            for rival in row.rivals
            if rival.p_holm is not None and rival.scorer not in row.indistinguishable
        ]

    used = dict.fromkeys(COEFFICIENTS[row.coefficient] for row in rows)
    columns: dict[str, Callable[[Standing], Cell]] = {
        "axis": lambda row: row.axis,
        "level": lambda row: f"{row.level}{SAMPLED}" if _is_sampled(row) else row.level,
        f"best ({' / '.join(used)})": best,
        "not significantly lower": lambda row: list(map(Named, row.indistinguishable)),
        "significantly lower": apart,
    }
    if with_lacking:
        columns["not compared"] = _not_compared
    return tabled("The best of each axis and level", rows, len(columns), columns, lead=1)


def _not_compared(row: Standing) -> list[Named]:
    untested = [Named(r.scorer, "untested") for r in row.rivals if r.p_holm is None]
    return untested + [Named(scorer, "undefined") for scorer in row.undefined]


def _beside(row: Standing) -> Table:
    columns: dict[str, str | Callable[[Rival], Cell]] = {
        "scorer": "scorer",
        COEFFICIENTS[row.coefficient]: "value",
        "the best's": "best_value",
        "p": lambda rival: _p(rival.p, rival),
        "p (Holm)": lambda rival: _p(rival.p_holm, rival),
        "n": "n",
    }
    title = f"{row.level.capitalize()} level, {row.axis}: beside {row.best}"
    return tabled(title, row.rivals, 1, columns)


def _p(p: float | None, rival: Rival) -> str:
    return f"{probability(p)}{SAMPLED if rival.sampled and p is not None else ''}"


ANALYSIS = Analysis(Standing, rows, section, place=20)
