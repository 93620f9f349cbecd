"""Scorers added up with weights, candidate by candidate: one scorer made of several.

    mix_of("importance + rouge1", …)        -> Mix((("importance", 1.0), ("rouge1", 1.0)))
    mix_of("0.2*direct - 0.01*estime", …)   -> Mix((("direct", 0.2), ("estime", -0.01)))

Nothing is standardised: a scorer of a wider range counts for more, unless a weight brings it to the
range of the others. Gigant et al. (2024) print plain sums, but their released code divides the
ratings of an LLM by 5 and chrF by 100, and subtracts a hundredth of ESTIME. (`chrf` here is 0..1.)
A mix has values on the axes that all of its scorers have; one without axes goes with any.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum, isfinite, nan

import numpy as np

import evaljudge
from evaljudge.agreement.rated import Floats
from evaljudge.errors import UserError, unknown
from evaljudge.metrics import check_name
from evaljudge.records import ANY_AXIS, Score

VERSION = "1"
INFINITE = "the mix is no finite number"
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"


@dataclass(frozen=True, slots=True)
class Mix:
    parts: tuple[tuple[str, float], ...]

    @property
    def name(self) -> str:
        """`0.2*direct + chrf - 0.01*estime`"""
        text = ""
        for scorer, weight in self.parts:
            text += (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
            text += scorer if abs(weight) == 1 else f"{abs(weight):.12g}*{scorer}"
        return text

    @property
    def meaning(self) -> str:
        return f"The sum {self.name}."

    def signature(self, name: str) -> str:
        return f"{name}@{VERSION} | mix {self.name} | evaljudge {evaljudge.__version__}"

    def of(self, columns: Mapping[str, Floats]) -> Floats:
        """The weighted sum; NaN where a part is, or where the result is no number."""
        rows = np.stack([columns[part] for part, _ in self.parts], axis=1).tolist()
        values = (self.of_values(row) if all(map(isfinite, row)) else nan for row in rows)
        return np.array(list(values), np.float64)

    def of_values(self, values: Iterable[float]) -> float | None:
        """One candidate's, of its parts' values in order; None where the sum is no number."""
        weights = (weight for _, weight in self.parts)
        try:
            mixed = fsum(weight * value for weight, value in zip(weights, values, strict=True))
        except (OverflowError, ValueError):  # some part is infinite
            return None
        return mixed if isfinite(mixed) else None

    def of_scores(self, scores: Sequence[Score | None]) -> tuple[float | None, str]:
        """One candidate's value, of its parts' scores in order, or why it has none."""
        values = []
        for (part, _), score in zip(self.parts, scores, strict=True):
            if score is None or score.value is None:
                return None, f"{part}: {score.reason if score else 'no score'}"
            values.append(score.value)
        value = self.of_values(values)
        return value, "" if value is not None else INFINITE

    def axes(self, axes_of: Mapping[str, Collection[str]]) -> list[str]:
        """The axes that all parts share; `axes_of`: the axes of each scorer."""
        limited = [axes_of[part] for part, _ in self.parts if ANY_AXIS not in axes_of[part]]
        if not limited:
            return [ANY_AXIS]
        return [axis for axis in limited[0] if all(axis in others for others in limited)]


def mix_of(text: str, scorers: Collection[str], where: str = "--mix") -> Mix:
    """A name may hold `+`, `-` or `*` itself: the longest known name that fits is taken."""
    named = "|".join(sorted(map(re.escape, scorers), key=len, reverse=True))
    part = re.compile(rf"\s*([+-]?)\s*(?:({_NUMBER})\s*\*\s*)?({named})\s*(?=[+-]|$)")
    parts: list[tuple[str, float]] = []
    at = 0
    while at < len(text):
        match = part.match(text, at)
        if not match or (match[1] == "+" if not parts else not match[1]):
            raise UserError(f"{where} {text}: {_complaint(text[at:], scorers)}")
        weight = float(match[2] or 1)
        if not weight or not isfinite(weight):
            raise UserError(f"{where} {text}: the weight {match[2]} of {match[3]} must be a finite "
                            "number other than 0")  # fmt: skip
        parts.append((match[3], -weight if match[1] == "-" else weight))
        at = match.end()
    if len(parts) < 2:
        raise UserError(f"{where} {text}: name at least two scorers, as in a+b or 0.2*a-b")
    return Mix(tuple(parts))


def mixes_of(configured: Mapping[str, str], axes: Mapping[str, Sequence[str]]) -> dict[str, Mix]:
    made = {}
    for name, text in configured.items():
        where = f"mixes.{name}:"
        check_new_name(name, axes, where)
        made[name] = mix_of(text, axes, where)
        check_axes(made[name], axes, f"{where} {text}")
    return made


def check_new_name(name: str, scorers: Collection[str], where: str) -> None:
    check_name(name, where)
    if name in scorers:
        raise UserError(f"{where} a scorer of the run has this name; give another")


def check_axes(mix: Mix, axes: Mapping[str, Sequence[str]], where: str) -> None:
    if not mix.axes(axes):
        raise UserError(f"{where}: its scorers share no axis")


def mixed_scores(
    mixes: Mapping[str, Mix], axes: Mapping[str, Sequence[str]], scores: Sequence[Score]
) -> Iterator[Score]:
    if not mixes:
        return
    by_key = {(s.doc_id, s.system, s.scorer, s.axis): s for s in scores}
    candidates = dict.fromkeys((score.doc_id, score.system) for score in scores)
    for name, mix in mixes.items():
        signature = mix.signature(name)
        for (doc_id, system), axis in product(candidates, axes[name]):
            value, reason = mixed(mix, by_key, (doc_id, system), axis)
            score = Score(doc_id, system, name, axis, value, reason, signature)
            by_key[doc_id, system, name, axis] = score  # a later one may be made of it
            yield score


def mixed(
    mix: Mix, scores: Mapping[tuple[str, str, str, str], Score], at: tuple[str, str], axis: str
) -> tuple[float | None, str]:
    parts = [part for part, _ in mix.parts]
    found = [scores.get((*at, p, axis), scores.get((*at, p, ANY_AXIS))) for p in parts]
    return mix.of_scores(found)


def _complaint(rest: str, scorers: Collection[str]) -> str:
    bare = re.sub(rf"^\s*[+-]?\s*(?:{_NUMBER}\s*\*)?", "", rest)
    name = re.split(r"[+*-]", bare.strip().lstrip("+-"))[0].strip()
    return unknown("scorer", name, scorers)
