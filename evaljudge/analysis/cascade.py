"""A cascade: a first judge answers, and where it is in doubt, a second one of another model.

    cascade: {first: small, then: large, agreement: 0.95, confidence: 0.9}

    doubt of `small`   0.1   0.2   0.7            asked about the third text alone
    small              4.2   1.3   3.4
    large               -     -    2.1
    cascade            4.2   1.3   2.1

Two answers agree where they are on the same side of every threshold (`at_least`, `at_most`) that a
selection has for the scorer `cascade`; with `within`, where they differ by no more. A text has one
doubt, the greatest of the axes that count, and agrees where it does on all of these. What is known
of it is in OUT/cascade.json, from decisions/certified.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from evaljudge.agreement.pairs import Floats
from evaljudge.analysis.mixes import VERSION, Mix
from evaljudge.config import Config
from evaljudge.errors import UserError
from evaljudge.judges.protocol import Judge
from evaljudge.records import ANY_AXIS, Score
from evaljudge.text import CERTAIN

NAME, FILE = "cascade", "cascade.json"
Sides = Mapping[str, Sequence[float]]
"""The thresholds on each axis that counts; none where scores are compared by `within`."""


@dataclass(frozen=True, slots=True)
class Cascade(Mix):
    """Its parts: the first judge's scorer, and the second one's."""

    @property
    def meaning(self) -> str:
        (first, _), (then, _) = self.parts
        return f"{then} where it was asked, as {first} was in doubt; else {first}."

    def signature(self, name: str) -> str:
        (first, _), (then, _) = self.parts
        return f"{name}@{VERSION} | {first}, in doubt {then}"

    def of_scores(self, scores: Sequence[Score | None]) -> tuple[float | None, str]:
        first, then = scores
        answer = first if then and then.reason == CERTAIN else then
        return (answer.value, answer.reason) if answer else (None, "no score")


def cascade_of(
    config: Config, judges: Mapping[str, Judge], mixes: Mapping[str, Mix]
) -> dict[str, Cascade]:
    """The configuration's cascade by its name; refused where these judges make none."""
    if not (wanted := config.cascade):
        return {}
    named = {"first": wanted.first, "then": wanted.then}
    for key, name in named.items():
        if name not in judges:
            raise UserError(f"cascade.{key}: no judge is called {name!r} ({', '.join(judges)})")
        judge = judges[name]
        if judge.whole_documents or type(judge).fit is not Judge.fit:
            raise UserError(
                f"cascade.{key}: {name}'s score of one text depends on others, so it cannot be "
                "asked about some: name another judge"
            )
    if NAME in judges:
        raise UserError("cascade: a judge has this name, and the cascade's scorer needs it")
    first, then = judges[wanted.first], judges[wanted.then]
    is_known = first.only_reads() or type(first).__module__.startswith("evaljudge.")
    if not first.options and is_known:
        raise no_doubt(first)
    made = Cascade(((first.scorers[0], 1.0), (then.scorers[0], 1.0)))
    of = {judge.scorers[0]: judge.axes_of(judge.scorers[0]) for judge in (first, then)}
    if not set(of[first.scorers[0]]) & set(of[then.scorers[0]]):
        raise UserError("cascade: its judges share no axis")
    for name in (name for name, mix in mixes.items() if {*then.scorers} & {*dict(mix.parts)}):
        raise UserError(
            f"{name}: {wanted.then} is asked only where {wanted.first} is in doubt (`cascade`), so "
            f"most texts would have no {name}: leave it out of {name}, or the cascade"
        )
    if config.most:
        raise UserError("most: does not count what a cascade's draw asks: leave one of them out")
    if wanted.within is None and not sides(config):
        raise UserError(
            "cascade: when do two scores agree? Give a selection of the scorer `cascade` with "
            "`at_least` or `at_most`, or `within`, the largest difference"
        )
    return {NAME: made}


def no_doubt(first: Judge) -> UserError:
    return UserError(
        f"cascade.first: the scores of {first.name} do not say how far it is in doubt: name a "
        "judge that chooses among answers, such as geval or synthetic"
    )


def sides(config: Config) -> Sides:
    found = dict[str, list[float]]()
    for condition in (c for rule in config.select for c in rule.all if c.scorer == NAME):
        ends = condition.at_least, condition.at_most
        found.setdefault(condition.axis, []).extend(end for end in ends if end is not None)
    is_compared = config.cascade and config.cascade.within is not None
    return {} if is_compared else {axis: ends for axis, ends in found.items() if ends}


@dataclass(frozen=True)
class AnsweredTexts:
    """A judge's scores of some texts and its doubt, in the axes that count; NaN: unscored."""

    texts: Sequence[tuple[str, str]]
    values: Floats
    doubts: Floats
    """Infinite where there is no score, or none that says how far it is doubted."""

    @classmethod
    def of(cls, scores: Sequence[Score], scorer: str, axes: Sequence[str]) -> "AnsweredTexts":
        by_text = dict[tuple[str, str], dict[str, Score]]()
        for score in scores:
            if score.scorer == scorer and score.axis in axes:
                by_text.setdefault((score.doc_id, score.system), {})[score.axis] = score
        rows = [[by_axis[axis] for axis in axes] for by_axis in by_text.values()]
        values = [[np.nan if s.value is None else s.value for s in row] for row in rows]
        doubts = [
            max(inf if s.value is None or s.doubt is None else s.doubt for s in row) for row in rows
        ]
        shape = len(rows), len(axes)
        return cls(list(by_text), np.array(values, float).reshape(shape), np.array(doubts, float))


def agrees(
    first: Floats, then: Floats, axes: Sequence[str], wanted: Sides, within: float | None
) -> Floats:
    """1 or 0 for each text; a score that is absent agrees with none."""
    alike = np.isfinite(first) & np.isfinite(then)
    for at, axis in enumerate(axes):
        if within is not None:
            alike[:, at] &= np.abs(first[:, at] - then[:, at]) <= within
        for end in wanted.get(axis, ()):
            alike[:, at] &= (first[:, at] >= end) == (then[:, at] >= end)
    return alike.all(axis=1).astype(np.float64)


def axes_of(cascade: Cascade, axes: Mapping[str, Sequence[str]], wanted: Sides) -> list[str]:
    """The axes that count: those with thresholds, or all that both scorers have."""
    shared = cascade.axes(axes)
    return [axis for axis in shared if axis in wanted] if wanted else shared or [ANY_AXIS]
