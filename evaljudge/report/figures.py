"""How the report writes its numbers: the same in Markdown, on the page and in a terminal.

percent(0.9499)   ->  "94.9%"      never rounded up: what is under a floor looks under it
estimate(row)     ->  "0.440 [0.310, 0.552]", or "1.000 (only 3 systems)" where these are too few
probability(1e-9) ->  "≤ 0.001"
rule(selected)    ->  "synthetic.ordinal on fluency: at least 3.5, in the top 10% (at least 4.2)"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from evaljudge.analysis.findings import (
    AgreementRow,
    AxisRow,
    CeilingRow,
    Coverage,
    Findings,
    Selected,
)
from evaljudge.reasons import grouped
from evaljudge.report.judged import Sizes

NONE = "–"
SAMPLED = "†"
MOST_REASONS = 5
_ALPHA, _LEAST_P = 0.05, 0.001

FEWEST = {"sample": 6, "system": 5, "summary": 5}
"""Of fewer units no coefficient of the level means anything: even a perfect one comes about by
chance more than once in twenty times. Of four systems 2 of the 24 orders are perfect, up or down;
five documents all agree in sign in 2 of 32 cases."""
_UNITS = {"sample": "document", "system": "system", "summary": "candidate"}
FEW = (
    f"Only: with fewer than {FEWEST['sample']} documents, or {FEWEST['system']} systems or pooled "
    "candidates, even perfect agreement can be chance (p above 0.05). Such a value says nothing "
    "and is shown without its interval, which stands in the JSON file."
)

FEW_DOCUMENTS = (
    f"Only: resampling fewer than {FEWEST['sample']} documents gives no interval that means "
    "anything, so values stand without one; no threshold chosen on so few can be relied on."
)


def count(number: int) -> str:
    return f"{number:,}"


def percent(share: float) -> str:
    tenths = Decimal(repr(share * 1.0)).quantize(Decimal("0.001"), ROUND_FLOOR) * 100
    return f"{tenths:.1f}%"


def ratio(part: int, whole: int) -> str:
    return percent(part / whole) if whole else NONE


def sized(sizes: Sizes) -> list[str]:
    """The median, the least and the most."""
    if sizes.median is None or sizes.least is None or sizes.most is None:
        return [NONE] * 3
    return [f"{sizes.median:,.1f}", count(sizes.least), count(sizes.most)]


def correlation(value: float | None) -> str:
    return NONE if value is None else f"{round(value, 3) + 0.0:.3f}"  # + 0.0: no minus before 0


def bracketed(
    value: float | None, low: float | None, high: float | None, sampled: bool = False
) -> str:
    """A value with its interval, where it has one."""
    if value is None or low is None or high is None:
        return correlation(value)
    mark = SAMPLED if sampled else ""
    return f"{correlation(value)} [{correlation(low)}, {correlation(high)}]{mark}"


def estimate(row: AgreementRow | AxisRow | CeilingRow | None) -> str:
    if row is None:
        return NONE
    few = only(row.level, row.n)
    if row.value is not None and few:
        return f"{correlation(row.value)} ({few})"
    return bracketed(row.value, row.low, row.high, row.sampled)


def only(level: str, n: int) -> str:
    """`only 3 systems`; empty where they are enough (see FEWEST)."""
    if n >= FEWEST[level]:
        return ""
    return f"only {count(n)} {_UNITS[level]}{'' if n == 1 else 's'}"


def probability(p: float | None) -> str:
    """Never rounded up to 5%: what tells two apart looks as if it does."""
    if p is None:
        return NONE
    if p <= _LEAST_P:
        return f"≤ {_LEAST_P}"
    rounded = round(p, 3)
    return f"{_ALPHA - 0.001 if p < _ALPHA <= rounded else rounded:.3f}"


def together(numbers: Iterable[int]) -> str:
    """`100`, or `100 / 100 / 98` where the coefficients rest on differently many."""
    told = list(map(count, numbers))
    return told[0] if len(set(told)) == 1 else " / ".join(told)


def reasons(coverage: Coverage) -> list[tuple[str, int]]:
    """The most frequent kinds of reasons, and how often there was any other."""
    ranked = [(group.kind, group.times) for group in grouped(coverage.reasons)]
    others = sum(times for _, times in ranked[MOST_REASONS:])
    return ranked[:MOST_REASONS] + ([("other reasons", others)] if others else [])


def asked_line(findings: Findings) -> str:
    """`1,133 times; 88.0% of 1,232,692 prompt tokens came from the prefix cache`."""
    asks, prompt, prefilled = (
        sum(row[name] for row in findings.tokens) for name in ("asks", "prompt", "prefilled")
    )
    if not prompt:
        return "nothing"
    share = percent(1 - prefilled / prompt)
    return (
        f"{count(asks)} times; {share} of {count(prompt)} prompt tokens came from the prefix cache"
    )


def floor_line(findings: Findings) -> str:
    if findings.coverage and not findings.expected:
        return "nothing to score: no candidate has anything to be compared with but itself"
    share = f"{percent(findings.share)} scored"
    if not findings.coverage_floor:
        return share
    standing = "reaches" if findings.floor_passed else "is under"
    return f"{share}: {standing} the floor of {short(findings.coverage_floor * 100)}%"


def facts(findings: Findings) -> dict[str, str]:
    """What the report is of; what is not known of given scores is left out."""
    told = {
        "Task": findings.task,
        "Corpus": findings.corpus,
        "Judge model": findings.model,
        "Writer model": findings.writer,
        "Cases": count(findings.cases),
        "Candidates": f"{count(findings.candidates)} ({count(findings.rated)} rated by people)",
    }
    return {name: value for name, value in told.items() if value}


def rule(selected: Selected) -> list[str]:
    """One line per condition."""
    return [_condition(condition, selected.thresholds) for condition in selected.rule["all"]]


def short(number: float) -> str:
    return f"{number:.6g}"


def _condition(condition: Mapping[str, Any], thresholds: Sequence[Mapping[str, Any]]) -> str:
    asked = []
    if "at_least" in condition:
        asked.append(f"at least {short(condition['at_least'])}")
    if "at_most" in condition:
        asked.append(f"at most {short(condition['at_most'])}")
    if "top_fraction" in condition:
        asked.append(_top(condition, thresholds))
    if "precision" in condition:
        asked.append(_precise(condition, thresholds))
    return f"{condition['scorer']} on {condition['axis']}: {', '.join(asked)}"


def _top(condition: Mapping[str, Any], thresholds: Sequence[Mapping[str, Any]]) -> str:
    told = f"in the top {short(condition['top_fraction'] * 100)}%"
    found = _threshold(condition, thresholds, "top_fraction")
    if found is None or found["value"] is None:
        return told
    return f"{told} (at least {short(found['value'])})"


def _precise(condition: Mapping[str, Any], thresholds: Sequence[Mapping[str, Any]]) -> str:
    told = f"precision {short(condition['precision'])} of ratings ≥ {short(condition['good'])}"
    found = _threshold(condition, thresholds, "precision", "good")
    if found is None or found["cross_fitted"] is None:
        return f"{told} (too few ratings to find a threshold)"
    if found["value"] is None:
        return f"{told} (no threshold reaches it; the best is {correlation(found['best'])})"
    share = found["cross_fitted"]["precision"]
    tried = bracketed(share["value"], share["low"], share["high"])
    return f"{told} (at least {short(found['value'])}; cross-fitted {tried})"


def _threshold(
    condition: Mapping[str, Any], thresholds: Sequence[Mapping[str, Any]], *asked: str
) -> Mapping[str, Any] | None:
    """What the condition came to, of what it asked in these words."""
    keys = ("scorer", "axis", *asked)
    same = (t for t in thresholds if all(t.get(key) == condition[key] for key in keys))
    return next(same, None)
