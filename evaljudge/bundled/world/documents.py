"""Documents of the world: eight facts, of which the first four are the main news.

    Main news: In Oldby Ms Balwick bought three boats. … Other news: In Marsden Mr Corlin lost …

No two facts of a document share things, number or place, so what a text says of `boats` can be
right or wrong, main news or not, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from evaljudge.bundled.world.words import (
    MAIN,
    NUMBERS,
    OBJECTS,
    OTHER,
    PLACES,
    TITLES,
    VERBS,
    Half,
    names,
)

MAIN_FACTS = OTHER_FACTS = 4
_PEOPLE = 3


@dataclass(frozen=True, slots=True)
class Fact:
    title: str
    name: str
    verb: str
    number: str
    things: str
    place: str

    @property
    def words(self) -> list[str]:
        return ["In", self.place, self.title, self.name, self.verb, self.number, self.things]


@dataclass(frozen=True, slots=True)
class Report:
    """What a document of the world says."""

    main: tuple[Fact, ...]
    other: tuple[Fact, ...]

    @property
    def facts(self) -> tuple[Fact, ...]:
        return self.main + self.other

    @property
    def text(self) -> str:
        return f"{MAIN} {_sentences(self.main)} {OTHER} {_sentences(self.other)}"


def make_report(random: Random, half: Half) -> Report:
    count = MAIN_FACTS + OTHER_FACTS
    people = [(random.choice(list(TITLES)), n) for n in random.sample(names(half), _PEOPLE)]
    news = zip(*(random.sample(kind, count) for kind in (NUMBERS, OBJECTS, PLACES)), strict=True)
    facts = [Fact(*random.choice(people), random.choice(VERBS), *what) for what in news]
    return Report(tuple(facts[:MAIN_FACTS]), tuple(facts[MAIN_FACTS:]))


def _sentences(facts: Sequence[Fact]) -> str:
    return " ".join(f"{' '.join(fact.words)}." for fact in facts)
