"""A small invented world: reports of who did what where, and texts about them of known quality.

What is judged elsewhere by people is known here by construction, so a judge can be trained on one
half of the world and measured on the other. The halves share words and no name.

The quality of its texts is set, not guessed. A text has four sentences; each is at fault on an axis
or is not, and a text's level on the axis is five less its faulty sentences. So every text is about
as long as any other, and its levels on the four axes are set apart from each other:

    First, in Oldby Ms Balwick bought three boats. Then, …                as the report has it
    First, in Oldby Ms Balwick um bought three boats boats.               fluency
    Finally, in Oldby he bought three boats.   (nobody is named yet)      coherence
    First, in Oldby Ms Balwick bought nine boats.                         consistency
    First, in Marsden Mr Corlin lost ten keys.   (other news)             relevance

Its words, a few hundred, mean one thing each. People's names have two syllables (`Bal` + `wick`),
so that the names of the test half of the world are made of known syllables, though none of them is
in the training half.

A corpus of it has the shape of any other. Each of its six systems has its own weakness: of its
sentences, the share that is at fault on each axis. A candidate's `ratings` are its true levels.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args
from zlib import crc32

import yaml

Half = Literal["train", "test"]

_FILE = Path(__file__).parent / "words.yaml"
_WORDS = {kind: said.split() for kind, said in yaml.safe_load(_FILE.read_text("utf-8")).items()}
SYLLABLES = _WORDS["first_syllables"], _WORDS["second_syllables"]
VERBS, NUMBERS = _WORDS["verbs"], _WORDS["numbers"]
OBJECTS, PLACES = _WORDS["objects"], _WORDS["places"]
TITLES = {"Mr": "he", "Ms": "she"}
FICTIONS = ("Erewhon", "Utopia", "Arcadia", "Camelot")  # places that no report mentions
ORDER = ("First", "Then", "Next", "Finally")
"""The word that a text's first, second, third and fourth sentence begins with."""
FILLERS = ("um", "er", "hmm", "well", "uh")
MAIN, OTHER = "Main news:", "Other news:"


@cache
def names(half: Half) -> list[str]:
    """The people of one half of the world; no name lives in both.

    The test half has a fifth of all names, by a hash: a network could learn any simpler rule, and
    would learn never to write these names.
    """
    everybody = map("".join, product(*SYLLABLES))
    return [name for name in everybody if (crc32(name.encode()) % 5 == 0) == (half == "test")]


def garbled(word: str) -> str:
    """The word without its vowels behind the first letter: `painted` is `pntd`; no word at all."""
    return word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou")


Axis = Literal["coherence", "consistency", "fluency", "relevance"]
AXES: tuple[Axis, ...] = get_args(Axis)
LOWEST, HIGHEST = 1, 5
SENTENCES = HIGHEST - LOWEST
MAIN_FACTS = OTHER_FACTS = 4
_PEOPLE = 3
_PRONOUN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Fact:
    title: str
    name: str
    verb: str
    number: str
    things: str
    place: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a document of the world says: eight facts, of which the first four are the main news.

    No two facts of a document share things, number or place, so what a text says of `boats` can be
    right or wrong, main news or not, and nothing else.
    """

    main: tuple[Fact, ...]
    other: tuple[Fact, ...]

    @property
    def facts(self) -> tuple[Fact, ...]:
        return self.main + self.other

    @property
    def text(self) -> str:
        """Main news: In Oldby Ms Balwick bought three boats. … Other news: In Marsden …"""
        return f"{MAIN} {_said(self.main)} {OTHER} {_said(self.other)}"


def make_report(random: Random, half: Half) -> Report:
    count = MAIN_FACTS + OTHER_FACTS
    people = [(random.choice(list(TITLES)), n) for n in random.sample(names(half), _PEOPLE)]
    news = zip(*(random.sample(kind, count) for kind in (NUMBERS, OBJECTS, PLACES)), strict=True)
    facts = [Fact(*random.choice(people), random.choice(VERBS), *what) for what in news]
    return Report(tuple(facts[:MAIN_FACTS]), tuple(facts[MAIN_FACTS:]))


def _said(facts: Sequence[Fact]) -> str:
    return " ".join(
        f"In {fact.place} {fact.title} {fact.name} {fact.verb} {fact.number} {fact.things}."
        for fact in facts
    )


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, and the axes on which it shows its sentence to be at fault."""

    text: str
    faults: frozenset[Axis] = frozenset()


_GARBLED: frozenset[Axis] = frozenset({"fluency"})
Sentence = list[Word]
Text = list[Sentence]


def spelt(text: Text) -> str:
    return " ".join(f"{' '.join(word.text for word in sentence)}." for sentence in text)


def perfect(report: Report) -> Text:
    """The main news in the report's order, without a fault."""
    return [sentence_on(order, fact) for order, fact in zip(ORDER, report.main, strict=True)]


def make_text(random: Random, report: Report, levels: Mapping[Axis, int]) -> Text:
    """A text of exactly these levels; which sentences are at fault, and how, is drawn."""
    faulty: dict[Axis, set[int]] = {
        axis: set(random.sample(range(SENTENCES), HIGHEST - levels[axis])) for axis in AXES
    }
    facts = _chosen(random, report, faulty["relevance"])
    text: Text = []
    named: Fact | None = None
    for place, fact in enumerate(facts):
        at_fault = {axis for axis in AXES if place in faulty[axis]}
        sentence, named = _sentence(random, report, place, (fact, named), at_fault)
        text.append(sentence)
    return text


def _chosen(random: Random, report: Report, irrelevant: set[int]) -> list[Fact]:
    """A fact for each sentence: main news but for these; in the report's order or in any."""
    main = random.sample(range(SENTENCES), SENTENCES - len(irrelevant))
    other = random.sample(report.other, len(irrelevant))
    if random.random() < 0.5:
        main.sort()
    of_main, of_other = iter(report.main[i] for i in main), iter(other)
    return [next(of_other if place in irrelevant else of_main) for place in range(SENTENCES)]


def _sentence(
    random: Random, report: Report, place: int, facts: tuple[Fact, Fact | None], at_fault: set[Axis]
) -> tuple[Sentence, Fact | None]:
    """The sentence on the first of these facts, in a text that has last named the person of the
    second; and the fact whose person is named last now."""
    fact, named = facts
    shown: dict[str, str] = {"relevance": "things"} if "relevance" in at_fault else {}
    if "consistency" in at_fault:
        fact, shown["consistency"] = _contradicted(random, fact, report)
    order, who = ORDER[place], _subject(random, fact, named)
    if "coherence" in at_fault:
        if random.random() < 0.5:
            order = random.choice([word for word in ORDER if word != order])
            shown["coherence"] = "order"
        else:
            # a pronoun that cannot mean whom the text has named last
            others = [p for title, p in TITLES.items() if named is None or title != named.title]
            who = [random.choice(others)]
            shown["coherence"] = "who"
    sentence = sentence_on(order, fact, who, **shown)
    if "fluency" in at_fault:
        sentence = _spoilt(random, sentence)
    return sentence, fact if who[0] in TITLES else named


def _contradicted(random: Random, fact: Fact, report: Report) -> tuple[Fact, str]:
    """Another number or place, which the report does not have; and which of the two it is."""
    if random.random() < 0.5:
        known = {fact.number for fact in report.facts}
        return replace(fact, number=_unknown(random, NUMBERS, known)), "number"
    places = {entry.place for entry in report.facts}
    return replace(fact, place=_unknown(random, (*PLACES, *FICTIONS), places)), "place"


def _unknown(random: Random, words: Sequence[str], known: set[str]) -> str:
    return random.choice([word for word in words if word not in known])


def _subject(random: Random, fact: Fact, named: Fact | None) -> list[str]:
    same = named is not None and (named.title, named.name) == (fact.title, fact.name)
    if same and random.random() < _PRONOUN_SHARE:
        return [TITLES[fact.title]]
    return [fact.title, fact.name]


def _spoilt(random: Random, sentence: Sentence) -> Sentence:
    kind, at = random.randrange(3), random.randrange(1, len(sentence))
    if kind == 0:
        return filled(sentence, at, random.choice(FILLERS))
    if kind == 1:
        return echoed(sentence, at)
    verb = len(sentence) - 3
    word = Word(garbled(sentence[verb].text), _GARBLED)
    return [*sentence[:verb], word, *sentence[verb + 1 :]]


def filled(sentence: Sentence, at: int, filler: str) -> Sentence:
    return [*sentence[:at], Word(filler, _GARBLED), *sentence[at:]]


def echoed(sentence: Sentence, at: int) -> Sentence:
    return [*sentence[: at + 1], Word(sentence[at].text, _GARBLED), *sentence[at + 1 :]]


def sentence_on(
    order: str, fact: Fact, subject: Sequence[str] = (), /, **shown_at: str
) -> Sentence:
    """`shown_at`: the axes that the sentence is at fault on, and the slot that shows it."""
    who = subject or (fact.title, fact.name)
    slots = [("order", f"{order},"), ("", "in"), ("place", fact.place),
             *(("who", word) for word in who), ("", fact.verb), ("number", fact.number),
             ("things", fact.things)]  # fmt: skip
    return [
        Word(word, frozenset(axis for axis in AXES if shown_at.get(axis) == slot))
        for slot, word in slots
    ]


def _weak(usual: float, **at: float) -> dict[Axis, float]:
    return {axis: at.get(axis, usual) for axis in AXES}


SYSTEMS: Mapping[str, Mapping[Axis, float]] = {
    "steady": _weak(0.1),
    "novice": _weak(0.5),
    "mumbler": _weak(0.2, fluency=0.7),
    "muddler": _weak(0.2, coherence=0.7),
    "inventor": _weak(0.2, consistency=0.7),
    "wanderer": _weak(0.2, relevance=0.7),
}


def make_cases(documents: int, seed: int, half: Half = "test") -> Iterator[dict[str, Any]]:
    for number in range(documents):
        random = Random(f"{half} {seed} {number}")
        report = make_report(random, half)
        candidates = []
        for system, shares in SYSTEMS.items():
            levels = {axis: _drawn(random, share) for axis, share in shares.items()}
            text = spelt(make_text(random, report, levels))
            candidates.append({"system": system, "text": text, "ratings": levels})
        yield {
            "doc_id": f"{half}-{seed}-{number:04d}",
            "source": report.text,
            "references": [spelt(perfect(report))],
            "candidates": candidates,
        }


def _drawn(random: Random, share: float) -> int:
    return HIGHEST - sum(random.random() < share for _ in range(SENTENCES))


def as_jsonl(cases: Iterator[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(case)}\n" for case in cases)
