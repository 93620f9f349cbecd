"""The world: what is set is what the oracle reads, and the halves share no name."""

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.bundled.world import (
    AXES,
    HIGHEST,
    LOWEST,
    Axis,
    Report,
    graded,
    level,
    make_report,
    make_text,
    spelt,
)
from evaljudge.bundled.world.corpus import SYSTEMS, as_jsonl, make_cases
from evaljudge.bundled.world.texts import Fact
from evaljudge.bundled.world.words import VERBS, garbled, names, vocabulary
from evaljudge.corpora import CorpusSource, open_corpus
from tests.world.oracle import levels_of, read_report

LEVELS = st.integers(LOWEST, HIGHEST)


def fact(place: str, who: str, verb: str, number: str, things: str) -> Fact:
    title, name = who.split()
    return Fact(title, name, verb, number, things, place)


REPORT = Report(
    main=(
        fact("Oldby", "Ms Balwick", "bought", "three", "boats"),
        fact("Farhill", "Mr Corlin", "sold", "six", "lamps"),
        fact("Marsden", "Mr Corlin", "lost", "two", "doors"),
        fact("Kettle", "Ms Balwick", "hid", "nine", "cups"),
    ),
    other=(
        fact("Eastport", "Mr Fenton", "stole", "ten", "keys"),
        fact("Ashdown", "Ms Balwick", "found", "four", "maps"),
        fact("Lakeside", "Mr Fenton", "washed", "five", "coats"),
        fact("Seaview", "Mr Corlin", "tested", "seven", "bells"),
    ),
)
PERFECT = (
    "First, in Oldby Ms Balwick bought three boats. Then, in Farhill Mr Corlin sold six lamps. "
    "Next, in Marsden he lost two doors. Finally, in Kettle Ms Balwick hid nine cups."
)


def off(**levels: int) -> dict[Axis, int]:
    return {axis: levels.get(axis, HIGHEST) for axis in AXES}


@pytest.mark.parametrize(
    ("said", "instead", "levels"),
    [
        ("", "", off()),
        ("bought three boats", "bought um three boats", off(fluency=4)),
        ("bought three boats", "bought three boats boats", off(fluency=4)),
        ("bought three boats", "bght three boats", off(fluency=4)),
        ("First,", "First", off(fluency=4)),
        ("First,", "Finally,", off(coherence=4)),
        ("Ms Balwick bought", "she bought", off(coherence=4)),  # nobody is named yet
        ("he lost", "she lost", off(coherence=4)),  # it was Mr Corlin
        ("six lamps", "seven lamps", off(consistency=4)),
        ("in Farhill", "in Lakeside", off(consistency=4)),
        ("hid nine cups", "hid nine bells", off(consistency=4, relevance=4)),
        ("in Kettle Ms Balwick hid nine cups", "in Ashdown Ms Balwick found four maps",
         off(relevance=4)),
        ("Finally, in Kettle Ms Balwick hid nine cups.", "",
         off(coherence=4, consistency=4, fluency=4, relevance=4)),
        ("in Marsden he lost two doors", "in Farhill he sold six lamps", off(relevance=4)),
    ],
)  # fmt: skip
def test_the_oracle_reads_each_fault(said: str, instead: str, levels: dict[Axis, int]) -> None:
    assert said in PERFECT
    assert levels_of(PERFECT.replace(said, instead, 1), REPORT) == levels


@pytest.mark.parametrize("text", ["", "...", "No such world.", "a. b. c. d. e. f. g. h. i."])
def test_the_oracle_gives_any_text_a_level(text: str) -> None:
    assert set(levels_of(text, REPORT).values()) <= set(range(LOWEST, HIGHEST + 1))


@given(st.integers(), st.fixed_dictionaries(dict.fromkeys(AXES, LEVELS)))
def test_a_text_has_the_levels_that_were_set(seed: int, wanted: dict[Axis, int]) -> None:
    random = Random(seed)
    report = make_report(random, "train")
    text = make_text(random, report, wanted)
    assert levels_of(spelt(text), report) == wanted == {axis: level(text, axis) for axis in AXES}


@given(st.integers(), st.sampled_from(AXES), LEVELS)
def test_a_graded_text_is_at_fault_on_its_axis_alone(seed: int, axis: Axis, wanted: int) -> None:
    report = make_report(Random(seed), "train")
    assert levels_of(spelt(graded(report, axis, wanted)), report) == off(**{axis: wanted})


@given(st.integers())
def test_a_report_can_be_read_back(seed: int) -> None:
    report = make_report(Random(seed), "test")
    assert read_report(report.text) == report


def test_the_halves_share_no_name() -> None:
    train, test = set(names("train")), set(names("test"))
    assert len(train) > 700 and len(test) > 150
    assert not train & test


def test_a_garbled_word_is_no_word() -> None:
    assert not {garbled(verb) for verb in VERBS} & set(vocabulary())


def test_no_word_has_two_meanings() -> None:
    known = vocabulary()
    assert len(known) == len(set(known)) == 161
    assert not set(known) & {*names("train"), *names("test")}


def test_a_corpus_is_in_the_designs_format(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(as_jsonl(make_cases(3, seed=7)))
    with open_corpus(CorpusSource(str(file))) as corpus:
        cases = list(corpus)
    assert len(cases) == 3
    for case in cases:
        report = read_report(case.document.source)
        assert report is not None
        assert [c.system for c in case.candidates] == list(SYSTEMS)
        for candidate in case.candidates:
            assert levels_of(candidate.text, report) == candidate.ratings


def test_same_seed_same_corpus() -> None:
    assert as_jsonl(make_cases(4, seed=1)) == as_jsonl(make_cases(4, seed=1))
    assert as_jsonl(make_cases(4, seed=1)) != as_jsonl(make_cases(4, seed=2))
    first = next(make_cases(1, seed=1))
    assert json.loads(as_jsonl(make_cases(9, seed=1)).splitlines()[0]) == first  # a longer one


def test_systems_are_of_different_strength() -> None:
    """Each is worst where it is weak, over a hundred documents."""
    cases = list(make_cases(100, seed=3))
    means = {
        system: {
            axis: sum(c["ratings"][axis] for case in cases for c in case["candidates"]
                      if c["system"] == system) / len(cases)
            for axis in AXES
        }
        for system in SYSTEMS
    }  # fmt: skip
    for system, axis in [("mumbler", "fluency"), ("muddler", "coherence"),
                         ("inventor", "consistency"), ("wanderer", "relevance")]:  # fmt: skip
        assert min(SYSTEMS, key=lambda s: means[s][axis]) == system
    assert all(means["steady"][axis] > means["novice"][axis] + 1 for axis in AXES)
