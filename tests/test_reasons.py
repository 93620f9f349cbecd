"""Reasons group by kind and say what to do; texts that nearly are their reference are told."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.analysis.addressing import Noticed
from evaljudge.engines import ModelFacts, ModelSource, VllmEngines
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_text
from evaljudge.model.asks import Failed, Prompt, Writing
from evaljudge.reasons import Group, by_kind, grouped, too_long
from evaljudge.report.summary import summary
from evaljudge.text import is_selfsame
from tests.build import case, jsonl, planned_text

READ_AS_WHOLE = "invalid literal for int() with base 10: '4.5'"


def test_a_kind_with_its_details_and_remedy():
    reasons = {
        too_long(2025, 80, 2048): 30,
        f"no reference of level 3 on tone: {too_long(1990, 80, 2048)}": 20,
        "prompt of 1999 tokens leaves no room for 80 more in the model's context of 2048": 7,
        "empty text": 2,
    }
    first, second = grouped(reasons)
    assert str(first) == (
        "prompt too long × 57: longest 2,025 and 80 for the reply of 2,048 tokens; shorten "
        "these texts, lower the judge's max_tokens or thinking.tokens, or take a model "
        "with more context"
    )
    assert str(second).startswith("empty text × 2: the system wrote nothing")


def test_what_differs_from_case_to_case_is_no_kind():
    reasons = {
        "more than one rating in '3 or 4'": 2,
        "more than one rating in 'it\\'s 2, or 5'": 1,
        "more than one rating in “a “4” or a 5”": 1,
        "compared with level 3: the reply was empty": 1,
        "no reference of level 1.5 on tone: the reply was empty": 1,
        "no steps for tone: never written": 5,
    }
    assert grouped({"no 'Score:' in it": 3}) == [Group("no 'Score:' in it", 3)]
    assert grouped(reasons) == [
        Group("never written", 5),
        Group("more than one rating in …", 4),
        Group("the reply was empty", 2),
    ]


def test_what_python_says_of_a_number_is_said_in_our_words():
    (group,) = grouped({"could not convert string to float: 'good'": 2, READ_AS_WHOLE: 1})
    assert str(group).startswith("the reply is not a number × 3: let the question ask for a number")


@pytest.fixture
def config(tmp_path):
    rows = [
        {"doc_id": f"d{n}", "source": "rain " * n, "system": s, "text": f"It rained {n}."}
        for n in range(1, 7)
        for s in "AB"
    ]
    rows[0]["text"] = ""
    return {
        "corpus": jsonl(tmp_path / "c.jsonl", rows), "out": str(tmp_path / "o"), "model": "m",
        "axes": ["fluency"], "judges": {"direct": {}}, "metrics": ["rouge1"],
        "workers": {"executor": "local"}, "view": 1, "coverage_floor": 0,
    }  # fmt: skip


def test_a_run_says_what_to_do_about_each(config):
    def writes(prompt: Prompt, how: Writing) -> str | Failed:
        words = prompt.text.count("rain")  # one in the candidate
        if words > 5:
            return Failed(too_long(2000 + words, 16, 2048))
        return any_text(prompt, how)

    outcome = evaljudge.run(config, engines=ScriptedEngines(lambda: Scripted(writes)))
    said = summary(outcome.findings, outcome.out).text
    told = [line for line in said.splitlines() if line[:8] == "unscored"]
    assert len(told) == 3
    assert told[0].startswith("unscored   no reference × 11: give the documents `references`")
    longest = "unscored   prompt too long × 4: longest 2,007 and 16 for the reply of 2,048 tokens; "
    assert any(line.startswith(longest) for line in told)


class Small(ScriptedEngines):
    """A model whose context holds little."""

    def describe(self, source: Any) -> ModelFacts:
        return replace(super().describe(source), context=800)


def test_a_plan_foresees_what_depends_on_no_reply(config):
    """A text that is empty, documents without references, and prompts that do not fit."""
    said = planned_text(config, engines=Small())
    empty = (
        "the system wrote nothing: correct the corpus, or leave these texts out, in another `out`"
    )
    assert [line for line in said.splitlines() if line.startswith("foreseen")] == [
        f"foreseen   direct: empty text × 1: {empty}",
        "foreseen   rouge1: no reference × 11: give the documents `references`, or compare with "
        "the source where that can be set",
        f"foreseen   rouge1: empty text × 1: {empty}",
    ]
    longest = "rain " * 900
    rows = Path(config["corpus"]).read_text().replace("rain rain rain rain rain rain ", longest)
    Path(config["corpus"]).write_text(rows)
    said = planned_text(config, engines=Small())
    assert "foreseen   direct: prompt too long × 2: longest " in said
    assert (
        " of 800 tokens; shorten these texts, lower the judge's max_tokens or thinking.tokens, or "
        "take a model with more context" in said
    )
    assert "prompt too long" not in planned_text(config, engines=ScriptedEngines())


def test_briefs_that_leave_no_room_for_their_reply_are_foreseen(config):
    """Every brief of `entities` may take 2,048 tokens."""
    config["judges"] = {"entities": {}}
    said = planned_text(config, engines=Small())
    (line,) = [text for text in said.splitlines() if "prompt too long" in text]
    assert re.match(
        r"foreseen   entities \(briefs\): prompt too long × \d+: longest [\d,]+ and 2,048 for the "
        "reply of 800 tokens; shorten these texts, lower the judge's max_tokens",
        line,
    )


@pytest.mark.long
@pytest.mark.engine
@pytest.mark.parametrize("judge", ["direct", "likelihood"])
def test_a_plan_knows_the_context_that_the_engine_has(config, tiny, judge):
    """What is foreseen is what the engine then says, of the same texts."""
    rows = Path(config["corpus"]).read_text().replace("rain rain rain rain rain ", "rain " * 1500)
    Path(config["corpus"]).write_text(rows)
    config |= {"model": {"source": str(tiny(context=1024))}, "metrics": []}
    steps = {"steps": False} if judge == "direct" else {}  # known when they are written
    config["judges"] = {judge: steps}
    assert VllmEngines().describe(ModelSource(config["model"]["source"])).context == 1024
    foreseen = [t for t in planned_text(config).splitlines() if "prompt too long" in t]
    (found,) = evaljudge.run(config).findings.coverage
    (said,) = [group for group in grouped(found.reasons) if group.kind == "prompt too long"]
    assert foreseen == [f"foreseen   {judge}: {said}"]
    assert said.times == 4


def test_kinds_that_are_not_known_are_other():
    """So that a metric's label has few values."""
    long = too_long(3000, 80, 2048)
    reasons = ["empty text", "empty text", long, "a judge's own reason of 'd1'", "another"]
    assert by_kind(reasons) == {"empty text": 2, "prompt too long": 1, "other": 2}
    assert by_kind([]) == {}


WORDS = [f"word{number}" for number in range(40)]
REFERENCE = " ".join(WORDS)


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("it said, “HELLO” –\n  twice", True),
        ("It said hello twice!", True),
        ("It said ｈｅｌｌｏ twice.", True),  # letters of full width
        ("It said hello.", False),
        ("It said hello twice 2.", False),
    ],
)
def test_case_and_punctuation_make_no_other_text(text, is_same):
    assert is_selfsame(text, "It said hello twice.") == is_same


@pytest.mark.parametrize(("text", "other"), [("की", "का"), ("!!!", "?"), ("3.5", "35"), ("", "!")])
def test_signs_that_make_a_difference(text, other):
    """Vowel signs of Hindi are no punctuation; punctuation alone is compared as it is."""
    assert not is_selfsame(text, other)
    assert is_selfsame(text, text)


def copies(*texts: str, references: tuple[str, ...] = (REFERENCE,)) -> Noticed:
    found = Noticed()
    found.see(case(*texts, references=references), is_judged=False)
    return found


@pytest.mark.parametrize(
    ("changed", "number"), [(0, 0), (1, 1), (2, 1), (3, 0)], ids="itself one two three".split()
)
def test_two_words_of_forty_may_differ(changed, number):
    assert copies(" ".join(["x"] * changed + WORDS[changed:])).seen["copies"] == number


def test_a_part_is_no_copy_and_copies_add_up():
    assert copies(" ".join(WORDS[:37]), f"{REFERENCE} and three more").seen["copies"] == 0
    assert copies(" ".join(WORDS[1:]), references=("other", REFERENCE)).seen["copies"] == 1
    assert copies("", REFERENCE, references=()).seen["copies"] == 0
    found = copies("other", " ".join(WORDS[1:]))
    found += copies(" ".join(WORDS[:-1]))
    assert list(found.of_copies) == [
        "2 texts share at least 95% of the words with a reference of the document (first: "
        "document d, system s1): for a near copy, scorers that compare the two say little"
    ]
    assert not list(Noticed().of_copies)


@pytest.mark.parametrize(("others", "serious"), [(19, 1), (20, 0)])
def test_near_copies_are_serious_where_they_are_one_in_twenty(tmp_path, others, serious):
    texts = [" ".join(WORDS[1:]), *["other words"] * others]
    rows = [
        {"doc_id": f"d{at}", "source": "s", "references": [REFERENCE],
         "candidates": [{"system": "A", "text": text}]}
        for at, text in enumerate(texts)
    ]  # fmt: skip
    given = {"corpus": jsonl(tmp_path / "c.jsonl", rows), "out": str(tmp_path / "o")}
    found = evaljudge.run({**given, "judges": {}, "metrics": ["words"]}).findings
    place = next(at for at, text in enumerate(found.warnings) if "near copy" in text)
    assert (place < found.serious) == bool(serious)
