"""How far the scorer of an answer agrees with people: what stands under the answer.

trust(findings, headline)
-> Trust("Agrees with people within documents: 0.441 [0.312, 0.553] (Spearman).", True)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evaljudge.agreement import Agreement
from evaljudge.analysis.findings import Findings
from evaljudge.decisions.systems import SystemRanking
from evaljudge.records import ANY_AXIS
from evaljudge.report.headlines import Headline, spearmans
from evaljudge.report.levels import NOTHING_RATED
from evaljudge.sections.figures import bracketed, estimate, only

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
    is_best = headline.axis != headline.ranking.axis
    return _of_interval(within, is_best)


def _of(findings: Findings, headline: Headline, level: str) -> Agreement | None:
    rows = [one for one in spearmans(findings, level) if one.scorer == headline.ranking.scorer]
    return next((one for one in rows if headline.axis in (one.axis, ANY_AXIS)), None)


def _of_interval(row: Agreement, is_best: bool) -> Trust:
    """`is_best`: the scorer was chosen for its agreement."""
    value = estimate(row)
    if row.low is None or row.high is None:
        said = f"Agreement with people within documents, without an interval: {value} (Spearman)."
        return Trust(said, None)
    if row.high < 0:
        return Trust(f"Orders texts against people: {value} (Spearman, within documents).", False)
    if row.low <= 0:
        said = f"No agreement with people is shown: {value} (Spearman, within documents)."
        return Trust(said, False)
    if is_best:
        said = f"Of all scorers, it agrees with people best: {value} (Spearman, within documents)."
        return Trust(said, True)
    return Trust(f"Agrees with people within documents: {value} (Spearman).", True)


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
        for row in findings.jury
        if (row.combination, row.axis, row.level) == (ranking.scorer, ranking.axis, "sample")
        and row.low is not None
        and row.low > 0
    ]
