"""How far the scorer of an answer agrees with people: what stands under the answer.

trust(findings, headline)
-> Trust("Agrees with people within documents: 0.441 [0.312, 0.553] (Spearman).", True)

Where the scorer was chosen because it agrees best, its interval is widened for the choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from evaljudge.agreement import Agreement, Standing
from evaljudge.analyses.agreement import NOTHING_RATED
from evaljudge.analysis.findings import Findings
from evaljudge.decisions.systems import SystemRanking
from evaljudge.records import ANY_AXIS
from evaljudge.report.headlines import Headline, spearmans
from evaljudge.sections.figures import bracketed, estimate, only
from evaljudge.text import shortened

MOST_NAMED = 3
LONGEST_NAME = 40
LITTLE = 0.3
"""Below it, agreement is called little."""
POOLED = "Across all texts (summary level)"


class Trust(NamedTuple):
    """`holds`: whether agreement is shown; None where too little is known to say so."""

    said: str
    holds: bool | None


def trust(findings: Findings, headline: Headline) -> Trust:
    if not findings.rated:
        return Trust(NOTHING_RATED, None)
    within = _of(findings, headline, "sample")
    if within is None:
        return Trust(" ".join(_undefined(findings, headline)), None)
    if only(within.level, within.n):
        few = f"Rated too little to say how far it agrees with people ({estimate(within)})."
        return Trust(few, None)
    is_chosen = headline.axis != headline.ranking.axis
    return _of_interval(within, _standing(findings, within) if is_chosen else None)


def _of(findings: Findings, headline: Headline, level: str) -> Agreement | None:
    rows = [one for one in spearmans(findings, level) if one.scorer == headline.ranking.scorer]
    return next((one for one in rows if headline.axis in (one.axis, ANY_AXIS)), None)


def listed(names: Sequence[str]) -> str:
    """The first few of them: `north, south, east and 4 more`."""
    named = ", ".join(shortened(name, LONGEST_NAME) for name in names[:MOST_NAMED])
    hidden = len(names) - MOST_NAMED
    return f"{named} and {hidden} more" if hidden > 0 else named


def _standing(findings: Findings, row: Agreement) -> Standing | None:
    at = row.axis, row.level, row.coefficient, row.scorer
    standings: Sequence[Standing] = findings["significance"]
    found = (s for s in standings if (s.axis, s.level, s.coefficient, s.best) == at)
    return next(found, None)


def _of_interval(row: Agreement, chosen: Standing | None) -> Trust:
    """`chosen`: of how many scorers this one was chosen for its agreement."""
    if chosen is not None:
        row = replace(row, low=chosen.low, high=chosen.high)
    value = estimate(row)
    if row.low is None or row.high is None:
        said = f"Agreement with people within documents, without an interval: {value} (Spearman)."
        return Trust(said, None)
    if row.high < 0:
        return Trust(f"Orders texts against people: {value} (Spearman, within documents).", False)
    if row.low <= 0:
        said = f"No agreement with people is shown: {value} (Spearman, within documents)."
        return Trust(said, False)
    if chosen is not None:
        close = chosen.indistinguishable
        said = (
            f"The highest agreement with people of the {chosen.chosen} scorers compared: {value} "
            "(Spearman, within documents; the interval is widened for the choice). "
            + (f"Cannot be told from it: {listed(close)}." if close else "The others differ.")
        )
        return Trust(said, True)
    a_little = " a little" if (row.value or 0.0) < LITTLE else ""
    return Trust(f"Agrees{a_little} with people within documents: {value} (Spearman).", True)


def _undefined(findings: Findings, headline: Headline) -> Iterator[str]:
    """Why there is no correlation within documents, and the one of all texts if there is."""
    yield f"Not compared with people within documents: {_why(findings, headline)}."
    pooled = _of(findings, headline, "summary")
    if pooled is not None:
        yield f"{POOLED}: {estimate(pooled)}."


def _why(findings: Findings, headline: Headline) -> str:
    of = headline.ranking.scorer, headline.ranking.axis
    spread = next((one for one in findings.spreads if (one.scorer, one.axis) == of), None)
    met = [one for one in spread.people if headline.axis in (one.axis, ANY_AXIS)] if spread else []
    if spread is None or not met:
        return "no scored text is rated on it"
    if all(len(one.ratings) == 1 for one in met):
        return "all ratings are equal"
    if spread.low == spread.high:
        return "all scores are equal"
    if not headline.ranking.documents:
        return "each document has a text of one system only"
    return "in each of them all scores or all ratings are equal"


def gained_without(findings: Findings, ranking: SystemRanking) -> list[str]:
    """The scorers of a combination without which it agrees better with people."""
    return [
        f"The jury agrees better with people without {row.scorer}: "
        f"+{bracketed(row.gain, row.low, row.high)}."
        for row in findings["jury"]
        if (row.combination, row.axis, row.level) == (ranking.scorer, ranking.axis, "sample")
        and row.low is not None
        and row.low > 0
    ]
