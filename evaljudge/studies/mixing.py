"""Scorers added up or taken from each other, candidate by candidate, in their own units.

    mix_of("importance + chrf", …) -> Mix((("importance", 1.0), ("chrf", 1.0)))
    mix_of("importance-estime", …) -> Mix((("importance", 1.0), ("estime", -1.0)))

A scorer of a wider range weighs more: nothing is standardised, as in the paper. A name may hold
`+` or `-` itself: the longest known name that fits is meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations

from evaljudge.errors import UserError, unknown
from evaljudge.studies.matrix import Floats

_SIGNS = {"+": 1.0, "-": -1.0}


@dataclass(frozen=True, slots=True)
class Mix:
    parts: tuple[tuple[str, float], ...]

    @property
    def name(self) -> str:
        first, *others = (("" if sign > 0 else "-") + part for part, sign in self.parts)
        signed = [f"- {other[1:]}" if other.startswith("-") else f"+ {other}" for other in others]
        return " ".join([first, *signed])

    def of(self, columns: Mapping[str, Floats]) -> Floats:
        """NaN where a part is."""
        mixed = sum(columns[part] * sign for part, sign in self.parts)
        assert not isinstance(mixed, int)
        return mixed


def all_pairs(scorers: Collection[str]) -> list[Mix]:
    return [Mix(((one, 1.0), (other, 1.0))) for one, other in combinations(scorers, 2)]


def mix_of(text: str, scorers: Collection[str]) -> Mix:
    named = "|".join(sorted(map(re.escape, scorers), key=len, reverse=True))
    part = re.compile(rf"\s*([+-]?)\s*({named})\s*(?=[+-]|$)")
    parts: list[tuple[str, float]] = []
    at = 0
    while at < len(text):
        found = part.match(text, at)
        if not found or bool(found[1]) != bool(parts):
            raise UserError(f"--mix {text}: {_complaint(text[at:], scorers)}")
        parts.append((found[2], _SIGNS.get(found[1], 1.0)))
        at = found.end()
    if len(parts) < 2:
        raise UserError(f"--mix {text}: name at least two scorers, as in a+b or a-b")
    return Mix(tuple(parts))


def _complaint(rest: str, scorers: Collection[str]) -> str:
    name = re.split(r"[+-]", rest.strip().lstrip("+-"))[0].strip()
    return unknown("scorer", name, scorers)
