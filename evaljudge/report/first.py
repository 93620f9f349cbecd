"""The page's first screen: which system is best on which axis, how far to trust that, and what has
no score.

    answers(findings)[0]
    -> AxisAnswer("relevance", "synthetic", "north is first, but …", "Agrees …", dots=[…])

The headline scorer of an axis is the first combination that has it, else the cascade, else the
first judge. In a run of metrics alone it is, on each axis that people rated, the metric that agrees
with them best; its interval is widened for that choice. Places of dots are from 0 to 1:
pictures.html.j2 draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import floor, log10
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from evaljudge.agreement import Agreement, Standing
from evaljudge.analyses.agreement import NOTHING_RATED
from evaljudge.analyses.length import WORDS
from evaljudge.analysis.cascade import NAME as CASCADE
from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.decisions.systems import RankedSystem, SystemRanking
from evaljudge.reasons import grouped
from evaljudge.records import ANY_AXIS, HUMAN, NAMELESS
from evaljudge.sections.figures import NONE, bracketed, correlation, count, estimate, only
from evaljudge.text import CERTAIN, counted, is_not_expected, told_apart

LENGTHS = (WORDS, "compression")
"""Metrics that are baselines: no system is best by them."""
NOT_RANKED = "No scorer measures a quality of which more is better, so no system is ranked."
MOST_SYSTEMS = 12  # for an axis; all of them stand in the table of systems
MOST_REASONS = MOST_NAMED = 3
short_names = partial(told_apart, longest=22)  # of systems, wherever the page shortens them
LITTLE = 0.3  # below it, agreement is called little


class Headline(NamedTuple):
    """`axis`: of people's ratings where the scorer has no axes, else the scorer's own."""

    axis: str
    ranking: SystemRanking


@dataclass(frozen=True, slots=True)
class AxisAnswer:
    axis: str
    scorer: str
    sentence: str
    people: str  # the system that is best by people's ratings; empty where nobody rated the axis
    trust: str
    is_trusted: bool | None  # None: nobody rated, or too few did
    notes: Sequence[str]
    dots: Sequence[dict[str, Any]]
    """Each system's dot: its place, the ends of its interval, its letters, the figures as text,
    and the link to the list of its texts, the worst first."""
    ticks: Sequence[tuple[float, str]]
    hidden: int  # systems that are not drawn


def headlines(findings: Findings) -> list[Headline]:
    """One for each axis with scores; where no scorer has an axis, one for each that is rated."""
    rows = leading(findings, findings["systems"])
    if not rows or rows[0].axis != ANY_AXIS:
        return [Headline(row.axis, row) for row in rows]
    named = [row for row in rows if not _unrankable(findings, row.scorer)]
    by_scorer = {row.scorer: row for row in named or rows}
    best: dict[str, Agreement] = {}
    for level in ("summary", "sample"):  # pooled only where it is undefined within documents
        rows_of_level = [row for row in spearmans(findings, level) if row.scorer in by_scorer]
        best |= {row.axis: row for row in sorted(rows_of_level, key=lambda row: row.value or 0.0)}
    headings = [Headline(axis, by_scorer[best[axis].scorer]) for axis in sorted(best)]
    return headings or [Headline(ANY_AXIS, _by_rank(findings, rows)[0])]


def leading(findings: Findings, rows: Sequence[SystemRanking]) -> list[SystemRanking]:
    """The headline ranking of each axis; if no scorer has an axis, all rankings of scorers."""
    judged = [row for row in rows if row.scorer != HUMAN]
    ranked = _by_rank(findings, judged)
    axes = dict.fromkeys(row.axis for row in judged if row.axis != ANY_AXIS)
    return [next(row for row in ranked if row.axis == axis) for axis in axes] or judged


def _by_rank(findings: Findings, rows: Sequence[SystemRanking]) -> list[SystemRanking]:
    leading = [*findings.combined, CASCADE]
    places = {name: place - len(leading) for place, name in enumerate(leading)}
    return sorted(rows, key=lambda row: places.get(row.scorer, _unrankable(findings, row.scorer)))


def _unrankable(findings: Findings, scorer: str) -> bool:
    """Of a baseline, under any name, and where fewer are better, the highest mean is not best."""
    meaning = findings.meanings.get(scorer, "")
    return scorer in LENGTHS or meaning.endswith((": a baseline.", ": fewer are better."))


def spearmans(findings: Findings, level: str) -> list[Agreement]:
    at = level, "spearman"
    rows = findings.agreement
    return [row for row in rows if (row.level, row.coefficient) == at and row.value is not None]


def ranked(findings: Findings) -> list[Headline]:
    shown = headlines(findings)
    return [line for line in shown if not _unrankable(findings, line.ranking.scorer)]


def over_axes(findings: Findings) -> str:
    """The mean rank of each system that every axis has; empty of fewer than two axes."""
    rankings = [row for _, row in ranked(findings) if row.axis != ANY_AXIS]
    ranks = [row for row in rankings if not _nameless(row)]
    means = [{s.system: s.mean for s in row.systems if not _few(row, s)} for row in ranks]
    names = [name for name in means[0] if all(name in of for of in means)] if means[1:] else []
    if len(names) < 2:
        return ""
    from scipy.stats import rankdata  # only here, since it takes long to load

    ranks = rankdata([[-of[name] for name in names] for of in means], axis=1).mean(axis=0)
    short, best = short_names(names), sorted(zip(ranks, names, strict=True))
    said = _listed([f"{short[name]} {rank:.3g}" for rank, name in best])
    return f"Mean rank over {len(means)} axes (1: best mean on each; not tested): {said}."


def answers(findings: Findings) -> list[AxisAnswer]:
    """All axes of a scorer are drawn on one scale, so that a small difference looks small."""
    shown = ranked(findings)
    ends: dict[str, list[float]] = {}
    for _, row in shown:
        for answer in row.systems[:MOST_SYSTEMS]:
            numbers = (end for end in (answer.mean, answer.low, answer.high) if end is not None)
            ends.setdefault(row.scorer, []).extend(numbers)
    return [_answer(findings, answer, ends[answer.ranking.scorer]) for answer in shown]


def _answer(findings: Findings, headline: Headline, ends: Sequence[float]) -> AxisAnswer:
    row, low, high = headline.ranking, min(ends), max(ends)
    edge = (high - low) * 0.04 or abs(low) * 0.1 or 0.5
    low, high = low - edge, high + edge
    # of a scorer without axes, people's ratings on this one
    people = {} if headline.axis == row.axis else {"people": headline.axis}
    scale = {"scorer": row.scorer, "axis": row.axis}
    short = short_names([*(s.system for s in row.systems), *(name for name, _ in row.unscored)])
    drawn = () if _nameless(row) else row.systems[:MOST_SYSTEMS]
    dots: list[dict[str, Any]] = [
        {
            "system": system.system,
            "name": f"{short[system.system]}{_few(row, system)}",
            "at": place_of(system.mean, low, high),
            "low": place_of(system.low, low, high),
            "high": place_of(system.high, low, high),
            "letters": system.letters if any(p.told_apart for p in row.pairs) else "",
            "figure": f"{bracketed(system.mean, system.low, system.high)}, "
            + counted(system.n, "document", "documents"),
            "texts": _list_of(**scale, system=system.system, **people, sort="low"),
        }
        for system in drawn
    ]
    nothing = {"at": None, "low": None, "letters": ""}
    dots += [
        nothing
        | {
            "system": name,
            "name": short[name],
            "figure": f"no scores (first text: {why})",
            "texts": link,
        }
        for name, why in row.unscored[: MOST_SYSTEMS - len(dots)]
        for link in [_list_of(**scale, system=name, **people)]
    ]
    gained = [
        f"The jury agrees better with {findings.rated_by} without {lost.scorer}: "
        f"+{bracketed(lost.gain, lost.low, lost.high)}."
        for lost in findings["jury"]
        if (lost.combination, lost.axis, lost.level) == (row.scorer, row.axis, "sample")
        and lost.low is not None
        and lost.low > 0
    ]
    trust, is_trusted = _trust(findings, headline)
    return AxisAnswer(
        axis=headline.axis,
        scorer=row.scorer,
        sentence=_sentence(row),
        people=_peoples_best(findings, headline.axis),
        trust=trust,
        is_trusted=is_trusted,
        notes=[*gained, *_by_length(findings, headline)],
        dots=dots,
        ticks=ticks(low, high),
        hidden=len(row.systems) + len(row.unscored) - len(dots) if drawn else 0,
    )


def place_of(value: float | None, low: float, high: float) -> float | None:
    return None if value is None else min(max((value - low) / (high - low), 0.0), 1.0)


def _list_of(**wanted: str) -> str:
    return f"#texts?{urlencode(wanted, quote_via=quote)}"


def _nameless(row: SystemRanking) -> bool:
    """Whether the corpus names no systems."""
    return all(NAMELESS.fullmatch(system.system) for system in row.systems)


def _sentence(row: SystemRanking) -> str:
    if _nameless(row):
        return "The texts name no systems, so none is ranked."
    first, short = row.systems[0], short_names(system.system for system in row.systems)
    name = _named(row, first)
    if len(row.systems) == 1:
        mean = correlation(first.mean).removesuffix(".000")
        return f"There is only one system, {name}: {mean}."
    if len({system.mean for system in row.systems}) == 1:
        return "The means of all systems are equal."
    if row.documents == 1:
        return f"{name} is first, but one document cannot tell systems apart."
    if not any(pair.told_apart for pair in row.pairs):
        most, tested = max(system.n for system in row.systems), len(row.pairs)
        few = f": {most} documents are few" if most < 9 else ""
        if tested * 2 ** (1 - most) > 0.05:  # the least p of signs, by Holm's correction
            few = f", and none could: {most} documents are too few for {tested} pairs"
        return f"No two systems differ significantly by this scorer{few}."
    pairs = [pair for pair in row.pairs if pair.first == first.system]
    close = [short[pair.second] for pair in pairs if not pair.told_apart]
    if not close:
        return f"{name} has the highest mean by this scorer, and differs from every other system."
    others = "any other system" if len(close) == len(pairs) else _listed(close)
    return f"{name} is first, but not significantly ahead of {others}."


def _named(row: SystemRanking, system: RankedSystem) -> str:
    short = short_names(each.system for each in row.systems)
    return f"{short[system.system]}{_few(row, system)}"


def _few(row: SystemRanking, system: RankedSystem) -> str:
    """Its documents, where it has fewer than half of them."""
    most = max(each.n for each in row.systems)
    return f" (in {system.n} of {most} documents)" if 2 * system.n < most else ""


def _listed(names: Sequence[str]) -> str:
    named = ", ".join(names[:MOST_NAMED])
    hidden = len(names) - MOST_NAMED
    return f"{named} and {hidden} more" if hidden > 0 else named


def _peoples_best(findings: Findings, axis: str) -> str:
    rated = next((r for r in findings["systems"] if (r.scorer, r.axis) == (HUMAN, axis)), None)
    if rated is None or len(rated.systems) < 2 or _nameless(rated):
        return ""
    best = [_named(rated, one) for one in rated.systems if one.mean == rated.systems[0].mean]
    if len(best) == len(rated.systems):
        return f"rated by {findings.rated_by}, all systems are alike"
    whose = "people's best" if findings.rated_by == "people" else f"best by {findings.rated_by}"
    more = f" and {len(best) - MOST_NAMED} more" if len(best) > MOST_NAMED else ""
    return f"{whose}: {', '.join(best[:MOST_NAMED])}{more}"


def ticks(low: float, high: float, wanted: int = 5) -> list[tuple[float, str]]:
    """Places of round numbers in between, which are 1, 2 or 5 times a power of ten apart."""
    if low == high:
        return [(0.5, f"{low + 0.0:g}")]
    rough = (high - low) / wanted
    power = 10.0 ** floor(log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
    numbers = [round(i * step, 10) for i in range(-floor(-low / step), floor(high / step) + 1)]
    return [((number - low) / (high - low), f"{number + 0.0:g}") for number in numbers]


def _trust(findings: Findings, headline: Headline) -> tuple[str, bool | None]:
    """What stands under the answer, and whether agreement is shown; None: too little is known."""
    if not findings.rated:
        return NOTHING_RATED, None
    row, whom = _agreement_of(findings, headline, "sample"), findings.rated_by
    if row is None:
        text = f"Not compared with {whom} within documents: {_why_not(findings, headline)}."
        if pooled := _agreement_of(findings, headline, "summary"):
            text += f" Across all texts (summary level): {estimate(pooled)}."
        return text, None
    if only(row.level, row.n):
        alike = counted(row.skipped, "further one has", "further ones have")
        left = f"; {alike} nothing to rank" if row.skipped else ""
        text = f"Rated too little to say how far it agrees with {whom}: {estimate(row)}{left}."
        return text, None
    chosen = _standing(findings, row) if headline.axis != headline.ranking.axis else None
    how = "Spearman, within documents"
    if chosen is not None:
        row = replace(row, low=chosen.low, high=chosen.high)
        how += f"; the interval is widened, as the best of {chosen.chosen} scorers"
    value = estimate(row)
    if row.low is None or row.high is None:
        text = f"Agreement with {whom} within documents, without an interval: {value} (Spearman)."
        return text, None
    if row.high < 0:
        return f"Orders texts against {whom}: {value} ({how}).", False
    if row.low <= 0:
        return f"Agreement with {whom} cannot be told from chance: {value} ({how}).", False
    if chosen is None:
        a_little = " a little" if (row.value or 0.0) < LITTLE else ""
        return f"Agrees{a_little} with {whom} within documents: {value} (Spearman).", True
    close = chosen.indistinguishable
    others = (
        f"Not significantly below it: {_listed(list(short_names(close).values()))}."
        if close
        else "All others agree less."
    )
    return f"The highest agreement with {whom}: {value} ({how}). {others}", True


def _by_length(findings: Findings, headline: Headline) -> Iterator[str]:
    """Where the length of a text agrees better with people than the metric that leads."""
    row = _agreement_of(findings, headline, "sample")
    if row and not only(row.level, row.n) and headline.ranking.axis == ANY_AXIS:
        for length in spearmans(findings, row.level):
            is_other = length.scorer in LENGTHS and length.scorer != row.scorer
            is_better = (length.value or 0.0) > (row.value or 0.0)
            if is_other and is_better and length.axis == headline.axis:
                yield f"Length alone agrees better: {length.scorer} {estimate(length)}."


def _agreement_of(findings: Findings, headline: Headline, level: str) -> Agreement | None:
    rows = (r for r in spearmans(findings, level) if r.scorer == headline.ranking.scorer)
    return next((row for row in rows if headline.axis in (row.axis, ANY_AXIS)), None)


def _standing(findings: Findings, row: Agreement) -> Standing | None:
    at = row.axis, row.level, row.coefficient, row.scorer
    rows: Sequence[Standing] = findings["significance"]
    return next((s for s in rows if (s.axis, s.level, s.coefficient, s.best) == at), None)


def why_none(findings: Findings, row: Agreement) -> str:
    """`–: all scores are equal`, of a row without a value."""
    ranked = (r for r in findings["systems"] if r.scorer == row.scorer)
    ranking = next((r for r in ranked if r.axis in (row.axis, ANY_AXIS)), None)
    return f"{NONE}: {_why_not(findings, Headline(row.axis, ranking))}" if ranking else NONE


def _why_not(findings: Findings, headline: Headline) -> str:
    row = headline.ranking
    scale = row.scorer, row.axis
    spread = next((s for s in findings.spreads if (s.scorer, s.axis) == scale), None)
    rated = [r for r in spread.people if headline.axis in (r.axis, ANY_AXIS)] if spread else []
    if spread is None or not rated:
        return "no scored text is rated on it"
    if all(len(r.ratings) == 1 for r in rated):
        return "all ratings are equal"
    if spread.low == spread.high:
        return "all scores are equal"
    if not row.documents:
        return "each document has a text of one system only"
    return "in each of them all scores or all ratings are equal"


def lead(findings: Findings) -> dict[str, str]:
    """The scale with which lists begin: that of the first answer."""
    rows = [headline.ranking for headline in headlines(findings)[:1]]
    return {"scorer": rows[0].scorer, "axis": rows[0].axis} if rows else {}


def by_severity(findings: Findings) -> dict[str, Sequence[str]]:
    at, warnings = findings.serious, findings.warnings
    if at is None:
        return {"All warnings": warnings}
    kinds = {"What puts the scores in doubt": warnings[:at], "Less serious": warnings[at:]}
    return {kind: some for kind, some in kinds.items() if some}


def gravest(findings: Findings) -> Sequence[str]:
    """The warnings on the first screen: the serious ones, or else the first."""
    return findings.warnings[: min(findings.serious or 1, MOST_NAMED)]


def warnings_line(findings: Findings) -> str:
    number, serious = len(findings.warnings), findings.serious
    if serious and serious == number:
        return counted(number, "serious warning", "serious warnings")
    line = counted(number, "warning", "warnings")
    return f"{line}, {serious} of them serious" if serious else line


def card_lines(findings: Findings) -> Iterator[str]:
    texts = counted(findings.candidates, "text", "texts")
    yield f"{texts} of {counted(findings.cases, 'document', 'documents')}"
    rated = counted(findings.rated, "is", "are") if findings.rated else "None is"
    yield f"{rated} rated by {findings.rated_by}."
    number = sum(row.unscored for row in findings.coverage) - findings.not_expected
    missing = counted(number, "score", "scores") if number else "No score"
    line = f"{missing} of {count(findings.expected)} {'is' if number <= 1 else 'are'} missing."
    if findings.not_expected:
        more = counted(findings.not_expected, "more is", "more are")
        why = "as the text is itself the reference"
        if any(reason.endswith(CERTAIN) for row in findings.coverage for reason in row.reasons):
            why = "as a cascade asks its second judge in doubt only"
        line += f" {more} not expected, {why}."
    yield line


def missing(findings: Findings) -> list[dict[str, Any]]:
    """The most frequent kinds of reasons, each with the scorer and axis that lack most for it, and
    the link to the list of these texts."""
    by_kind: dict[str, list[tuple[int, Coverage]]] = {}
    for row in findings.coverage:
        expected = {why: n for why, n in row.reasons.items() if not is_not_expected(why)}
        for group in grouped(expected):
            by_kind.setdefault(group.kind, []).append((group.times, row))
    found = list[dict[str, Any]]()
    for kind, rows in by_kind.items():
        _, most = max(rows, key=lambda counted_row: counted_row[0])
        times, others = sum(times for times, _ in rows), len(rows) - 1
        more = f" and {count(others)} more" if others else ""
        number = counted(times, *(("score", "scores") if others else ("text", "texts")))
        scale = {"scorer": most.scorer, "axis": most.axis}
        said = f"{most.scorer}{more}: {kind}, {number}"
        link = _list_of(**scale, status="unscored")
        found.append({"times": times, "said": said, "scale": scale, "texts": link})
    return sorted(found, key=lambda counted_row: -counted_row["times"])[:MOST_REASONS]


def coverage_class(findings: Findings) -> str:
    """How the page colours the coverage: as good only where a floor was set and is reached."""
    reached = "passed" if findings.coverage_floor else ""
    return reached if findings.floor_passed else "failed"
