"""The oracle: a text's true level on each axis, read off the text and the report it is about.

It knows nothing of how a text was made, so it measures what a model writes as well as what the
world does: each sentence is read word by word, and what cannot be read as a sentence of the world
is a fault of fluency. A sentence too few or too many counts as a faulty one.
"""

import re
from collections.abc import Iterator

from evaljudge.bundled.world import (
    AXES,
    FICTIONS,
    HIGHEST,
    LOWEST,
    MAIN,
    MAIN_FACTS,
    NUMBERS,
    OBJECTS,
    ORDER,
    PLACES,
    SENTENCES,
    TITLES,
    VERBS,
    Axis,
    Fact,
    Report,
)

_SUBJECTS = {*TITLES, *TITLES.values()}


_FACT = re.compile(
    r"In (?P<place>\w+) (?P<title>\w+) (?P<name>\w+) "
    r"(?P<verb>\w+) (?P<number>\w+) (?P<things>\w+)\."
)


def read_report(text: str) -> Report | None:
    """The report that reads so; None where the text is none of the world's."""
    if not text.lstrip().startswith(MAIN):
        return None
    facts = tuple(Fact(**found.groupdict()) for found in _FACT.finditer(text))
    report = Report(facts[:MAIN_FACTS], facts[MAIN_FACTS:])
    return report if report.text == " ".join(text.split()) else None


def levels_of(text: str, report: Report) -> dict[Axis, int]:
    sentences = [_words(said) for said in text.split(".") if said.strip()]
    faulty: dict[Axis, list[bool]] = {
        "coherence": list(_incoherent(sentences)),
        "consistency": [_contradicts(sentence, report) for sentence in sentences],
        "fluency": [not _is_fluent(sentence) for sentence in sentences],
        "relevance": list(_irrelevant(sentences, report)),
    }
    off = abs(SENTENCES - len(sentences))
    return {axis: max(LOWEST, HIGHEST - sum(faulty[axis]) - off) for axis in AXES}


def _words(sentence: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", sentence)


def _is_fluent(words: list[str]) -> bool:
    """`First , in Oldby Ms Balwick bought three boats` or `Then , in Oldby she …`, no more."""
    match words:
        case [order, ",", "in", place, *who, verb, number, things]:
            known = order in ORDER and verb in VERBS and number in NUMBERS
            return (
                known and things in OBJECTS and place in (*PLACES, *FICTIONS) and _is_somebody(who)
            )
    return False


def _is_somebody(who: list[str]) -> bool:
    match who:
        case [title, name]:
            return title in TITLES and name not in TITLES and name.istitle()
        case [pronoun]:
            return pronoun in TITLES.values()
    return False


def _incoherent(sentences: list[list[str]]) -> Iterator[bool]:
    """Out of order, or a pronoun that cannot mean whom the text has named last."""
    meant = ""
    for place, words in enumerate(sentences):
        subject = next((word for word in words if word in _SUBJECTS), "")
        in_order = bool(words) and place < SENTENCES and words[0] == ORDER[place]
        broken = subject in TITLES.values() and subject != meant
        meant = TITLES.get(subject, meant)
        yield not in_order or broken


def _contradicts(words: list[str], report: Report) -> bool:
    """Another number or place than the report has for these things, or things it lacks."""
    fact = next((fact for fact in report.facts if fact.things in words), None)
    if fact is None:
        return True
    numbers = {word for word in words if word in NUMBERS}
    places = {word for word in words if word in PLACES or word in FICTIONS}
    return not numbers <= {fact.number} or not places <= {fact.place}


def _irrelevant(sentences: list[list[str]], report: Report) -> Iterator[bool]:
    """Not of the main news, or a repetition."""
    missing = {fact.things for fact in report.main}
    for words in sentences:
        reported = missing & set(words)
        missing -= reported
        yield not reported
