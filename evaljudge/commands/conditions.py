"""`--fail-if`: conditions on what changed from one run to another.

    read_condition("synthetic.relevance.mean < -0.1")
    -> Condition("synthetic.relevance.mean < -0.1", "synthetic.relevance", "mean", "<", -0.1)
    tried(condition, differences)
    -> Tried(…, holds=("synthetic on relevance: -0.213",))

Every quantity is a difference, the second run's value less the first one's; only `flipped` is a
share. Without a scorer, the condition is on every scorer that has this axis of its own, and holds
if it holds for any of them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from evaljudge.analysis.run_differences import RunDifferences
from evaljudge.analysis.two_runs import scale_name
from evaljudge.errors import UserError, unknown
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import short

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
OF_SCORERS = ("mean", "mean.low", "mean.high", "spearman", "spearman.low", "spearman.high",
              "coverage")  # fmt: skip
FLIPPED = "flipped"
OF_RUNS = ("coverage", "asks", "prompt", "prefilled", "generated", "seconds", "gpu_seconds")
_PARTS = re.compile(r"([^<>=]+?)\s*(<=|>=|<|>)\s*([^<>=\s]+)")
HOW = "write NAME < NUMBER with one of < <= > >=, for example 'relevance.mean < -0.1'"
Values = Mapping[str, float | None]
"""By what it is of; None where it is not defined."""


@dataclass(frozen=True)
class FailIf:
    text: str
    subject: str
    """A scorer and an axis, an axis, a selection (`selected.good`); empty for the whole run."""
    quantity: str
    operator: str
    number: float


@dataclass(frozen=True)
class Tried:
    condition: str
    values: Values
    holds: Sequence[str]
    """Where it holds, with the values there."""


def read_condition(text: str) -> FailIf:
    parts = _PARTS.fullmatch(text.strip())
    if parts is None:
        raise UserError(f"--fail-if {text!r}: {HOW}")
    name, sign, number = parts.groups()
    try:
        limit = float(number)
    except ValueError:
        limit = float("nan")
    if not isfinite(limit):
        raise UserError(f"--fail-if {text!r}: {number!r} is no number: {HOW}")
    subject, quantity = _split(name)
    known = {*OF_SCORERS, FLIPPED} if subject else OF_RUNS
    if quantity not in known:
        raise UserError(f"--fail-if {text!r}: {unknown('quantity', quantity, known)}")
    return FailIf(text, subject, quantity, sign, limit)


def _split(name: str) -> tuple[str, str]:
    """The longest quantity at its end; what is before it may have dots, too."""
    for quantity in sorted(OF_SCORERS, key=len, reverse=True):
        if name.endswith(f".{quantity}"):
            return name.removesuffix(f".{quantity}"), quantity
    subject, _, quantity = name.rpartition(".")
    return subject, quantity


def tried(condition: FailIf, found: RunDifferences) -> Tried:
    """Whether it holds; a quantity that is not known or not defined is a mistake."""
    values = _values(condition, found)
    compare = OPERATORS[condition.operator]
    holds = [
        f"{of}: {short(value)}" if of else short(value)
        for of, value in values.items()
        if value is not None and compare(value, condition.number)
    ]
    undefined = [of or "the runs" for of, value in values.items() if value is None]
    if undefined and not holds:
        raise UserError(
            f"--fail-if {condition.text!r}: {condition.quantity} is not defined for "
            f"{', '.join(undefined)}: {_why_undefined(condition.quantity)}"
        )
    return Tried(condition.text, values, holds)


def _why_undefined(quantity: str) -> str:
    if quantity.startswith("spearman"):
        return "too few texts that both runs scored are rated, or their scores do not vary"
    if quantity.startswith("mean"):
        return "too few documents have scores in both runs, or all changed by the same"
    return "a run does not say it"


def _values(condition: FailIf, found: RunDifferences) -> Values:
    subject, quantity = condition.subject, condition.quantity
    mistake = f"--fail-if {condition.text!r}"
    if not subject:
        return {"": _of_run(quantity, found)}
    if quantity == FLIPPED:
        selections = {f"selected.{one.name}": one.flipped for one in found.selections}
        if subject not in selections:
            raise UserError(f"{mistake}: {unknown('selection', subject, selections)}")
        return {"": selections[subject]}
    own = {(one.scorer, one.axis) for one in found.coverage if one.axis != ANY_AXIS}
    subjects = dict[str, dict[str, float | None]]()
    for scorer, axis, value in _of_scorers(quantity, found):
        of = scorer if axis == ANY_AXIS else f"{scorer} on {axis}"
        subjects.setdefault(scale_name(scorer, axis), {})[of] = value
        if (scorer, axis) in own:
            subjects.setdefault(axis, {})[of] = value
    for run, keys in zip("AB", found.scorers, strict=True):
        if subject in {scale_name(*key) for key in keys}:
            raise UserError(f"{mistake}: only {run} has scores of {subject}")
    if subject not in subjects:
        raise UserError(f"{mistake}: {unknown('scorer or axis', subject, subjects)}")
    return subjects[subject]


def _of_scorers(quantity: str, found: RunDifferences) -> Iterator[tuple[str, str, float | None]]:
    """Of each scorer and axis that both runs have."""
    kind, _, end = quantity.partition(".")
    field = end or "difference"
    shared = [row for row in found.means if row.system is None]
    if kind == "mean":
        yield from ((row.scorer, row.axis, getattr(row.found, field)) for row in shared)
    elif kind == "spearman":
        # of an axis that nobody rated it is not defined
        yield from ((row.scorer, row.axis, None) for row in shared if row.axis != ANY_AXIS)
        for agreed in found.agreement:
            if agreed.level == "sample":
                yield agreed.scorer, agreed.axis, getattr(agreed, field)
    else:
        alone = {*found.scorers[0], *found.scorers[1]}
        for one in found.coverage:
            if (one.scorer, one.axis) not in alone:
                yield one.scorer, one.axis, _difference(*one.shares)


def _of_run(quantity: str, found: RunDifferences) -> float | None:
    return _difference(*(found.shares if quantity == "coverage" else found.cost[quantity]))


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else second - first
