"""The world: what is set is what the oracle reads, and the halves share no name."""

import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from evaljudge.bundled import world
from evaljudge.bundled.world import (
    AXES,
    HIGHEST,
    LOWEST,
    SYSTEMS,
    as_jsonl,
    garbled,
    make_cases,
    make_report,
    make_text,
    names,
    spelt,
)
from evaljudge.corpora import CorpusSource, open_corpus
from jobs.nano.grading import graded, level
from tests.world.oracle import levels_of, read_report

LEVELS = st.integers(LOWEST, HIGHEST)
KNOWN = [
    *world.TITLES, *world.TITLES.values(), *world.VERBS, *world.NUMBERS, *world.OBJECTS,
    *world.PLACES, *world.FICTIONS, *world.ORDER, *world.FILLERS, "In", "in", "Main",
    "news", "Other",
]  # fmt: skip
"""Every word of the world but the names."""


@given(st.integers(), st.fixed_dictionaries(dict.fromkeys(AXES, LEVELS)))
def test_a_text_has_the_levels_that_were_set(seed, wanted):
    random = Random(seed)
    report = make_report(random, "train")
    text = make_text(random, report, wanted)
    assert levels_of(spelt(text), report) == wanted == {axis: level(text, axis) for axis in AXES}


@given(st.integers(), st.sampled_from(AXES), LEVELS)
def test_a_graded_text_is_at_fault_on_its_axis_alone(seed, axis, wanted):
    report = make_report(Random(seed), "train")
    levels = dict.fromkeys(AXES, HIGHEST) | {axis: wanted}
    assert levels_of(spelt(graded(report, axis, wanted)), report) == levels


@given(st.integers())
def test_a_report_can_be_read_back(seed):
    report = make_report(Random(seed), "test")
    assert read_report(report.text) == report


def test_no_word_and_no_name_means_two_things():
    train, test = set(names("train")), set(names("test"))
    assert len(train) > 700 and len(test) > 150
    assert not train & test
    assert not {garbled(verb) for verb in world.VERBS} & set(KNOWN)
    assert len(KNOWN) == len(set(KNOWN)) == 161
    assert not set(KNOWN) & {*names("train"), *names("test")}


def test_a_corpus_is_in_the_designs_format(tmp_path):
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


def test_same_seed_same_corpus():
    assert as_jsonl(make_cases(4, seed=1)) == as_jsonl(make_cases(4, seed=1))
    assert as_jsonl(make_cases(4, seed=1)) != as_jsonl(make_cases(4, seed=2))
    first = next(make_cases(1, seed=1))
    assert json.loads(as_jsonl(make_cases(9, seed=1)).splitlines()[0]) == first  # a longer one


def test_systems_are_of_different_strength():
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
