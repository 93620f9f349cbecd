"""Single lines that the report says of a run, the same in every medium.

rule(selected) ->  ["synthetic.ordinal on fluency: at least 3.5, in the top 10% (at least 4.2)"]
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from evaljudge.analysis.findings import Coverage, Findings, Selected
from evaljudge.reasons import grouped
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import bracketed, correlation, count, percent, short

MOST_REASONS = 5


def reasons(coverage: Coverage) -> list[tuple[str, int]]:
    """The most frequent kinds of reasons, and how often there was any other."""
    ranked = [(group.kind, group.times) for group in grouped(coverage.reasons)]
    others = sum(times for _, times in ranked[MOST_REASONS:])
    return ranked[:MOST_REASONS] + ([("other reasons", others)] if others else [])


def asked_line(findings: Findings) -> str:
    """`1,133 times; 88.0% of 1,232,692 prompt tokens came from the prefix cache`, and the cost of
    the workers' time where a price is given."""
    asks, prompt, prefilled = (
        sum(row[name] for row in findings.tokens) for name in ("asks", "prompt", "prefilled")
    )
    if not prompt:
        return "nothing"
    share = percent(1 - prefilled / prompt)
    line = (
        f"{count(asks)} times; {share} of {count(prompt)} prompt tokens came from the prefix cache"
    )
    price, costs = findings.price, findings["costs"]
    if not price or not costs:
        return line
    what = "the workers' time cost" if not price.per_million else "which cost"
    return f"{line}; {what} {price.money(sum(map(price.of_row, costs)))}"


def floor_line(findings: Findings) -> str:
    if findings.coverage and not findings.expected:
        return "nothing to score: no candidate has anything to be compared with but itself"
    share = f"{percent(findings.share)} scored"
    if not findings.coverage_floor:
        return share
    standing = "reaches" if findings.floor_passed else "is under"
    return f"{share}: {standing} the floor of {short(findings.coverage_floor * 100)}%"


def facts(findings: Findings) -> dict[str, str]:
    facts = {
        "Task": findings.task,
        "Corpus": findings.corpus,
        "Judge model": findings.model,
        "Writer model": findings.writer,
        "Cases": count(findings.cases),
        "Candidates": f"{count(findings.candidates)} ({count(findings.rated)} rated by "
        f"{findings.rated_by})",
    }
    return {name: value for name, value in facts.items() if value}


def on_axis(scorer: str, axis: str) -> str:
    return scorer if axis == ANY_AXIS else f"{scorer} on {axis}"


def rule(selected: Selected) -> list[str]:
    return [_condition(condition, selected.thresholds) for condition in selected.rule["all"]]


def certified_together(selections: Sequence[Selected]) -> str:
    asked = {
        tuple(threshold[key] for key in ("scorer", "axis", "precision", "good", "confidence"))
        for selection in selections
        for threshold in selection.thresholds
        if threshold.get("kind") == "certified"
    }
    return at_once([confidence for *_, confidence in asked])


def at_once(confidences: Sequence[float]) -> str:
    """What several thresholds promise together (Bonferroni's correction); empty for one."""
    number = len(confidences)
    if number < 2:
        return ""
    divided = 1 - (1 - min(confidences)) / number
    upwards = ceil(divided * 10**6 - 1e-3) / 10**6
    return (
        f"The confidence is that of each of the {count(number)} thresholds by itself. For all "
        f"{count(number)} at once, ask for confidence {short(upwards)}."
    )


def _condition(condition: Mapping[str, Any], thresholds: Sequence[Mapping[str, Any]]) -> str:
    asked = []
    for key, words in (("at_least", "at least"), ("at_most", "at most")):
        if key in condition:
            asked.append(f"{words} {short(condition[key])}")
    if "top_fraction" in condition:
        least = _threshold(condition, thresholds, "top_fraction").get("value")
        reached = "" if least is None else f" (at least {short(least)})"
        asked.append(f"in the top {short(condition['top_fraction'] * 100)}%{reached}")
    if "precision" in condition:
        target = f"{short(condition['precision'])} of ratings ≥ {short(condition['good'])}"
        row = _threshold(condition, thresholds, "precision", "good", "confidence")
        reached = _certified(row) if "confidence" in condition else _reached(row)
        asked.append(f"precision {target} ({reached})")
    return f"{on_axis(condition['scorer'], condition['axis'])}: {', '.join(asked)}"


def _certified(row: Mapping[str, Any]) -> str:
    if row.get("documents") is None:
        return "too few ratings to certify a threshold"
    documents = f"{count(row['documents'])} documents"
    sure = f"with {short(row['confidence'] * 100)}% confidence on {documents}"
    if row["value"] is None:
        needed = f"; about {count(row['needed'])} would do" if row["needed"] else ""
        return f"nothing is certified {sure}{needed}"
    shares = (f"{name} {correlation(row['estimated'][name])}" for name in ("precision", "recall"))
    return (
        f"at least {short(row['value'])}: certified {sure}; estimates: {', '.join(shares)}; "
        f"{percent(row['coverage'])} of all texts"
    )


def _reached(row: Mapping[str, Any]) -> str:
    if row.get("cross_fitted") is None:
        return "too few ratings to find a threshold"
    if row["value"] is None:
        return f"no threshold reaches it; the best is {correlation(row['best'])}"
    share = row["cross_fitted"]["precision"]
    tried = bracketed(share["value"], share["low"], share["high"])
    return f"at least {short(row['value'])}: an estimate; cross-fitted {tried}"


def _threshold(
    condition: Mapping[str, Any], thresholds: Sequence[Mapping[str, Any]], *asked: str
) -> Mapping[str, Any]:
    """What was found for the condition by these of its keys; empty where that is unknown."""
    keys = ("scorer", "axis", *asked)
    same = (t for t in thresholds if all(t.get(key) == condition.get(key) for key in keys))
    return next(same, {})
