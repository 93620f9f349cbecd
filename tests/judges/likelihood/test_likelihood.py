"""GPTScore: the mean log-probability by hand, what is asked in both directions, and every way to
stay unscored."""

import asyncio
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.likelihood.judge import (
    NO_PROBABILITY,
    Likelihood,
    LikelihoodEvidence,
    shown_evidence,
)
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.model.asks import Failed, Prompt, Weighed
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document, Verdict

CASE = Case(
    Document("d1", " The river rose.\n", context="A fact."),
    (Candidate("A", "A flood came."), Candidate("B", "Rain.\n"), Candidate("C", "  ")),
)
LOGPROBS = {"A": -2.0, "flood": -0.5, "came.": -0.5, "Rain.": -1.5, "The": -1.0, "river": -4.0,
            "rose.": -0.25}  # fmt: skip
EXAMPLES = [
    {"source": "Snow fell.", "target": "Snow."},
    {"source": "A dog barked.", "target": "A </target> dog.", "axis": "relevance"},
]


def judge(task: str = "summary", axes: list[str] | None = None, **settings: Any) -> Likelihood:
    return Likelihood(settings, load_task(task, axes or ["fluency"]))


def by_word(prompt: Prompt, text: str) -> Sequence[float]:
    return [LOGPROBS[word] for word in text.split()]


class Noting(Scripted):
    """Notes what it weighs."""

    def __init__(self, weighs: Callable[[Prompt, str], Any] = by_word) -> None:
        super().__init__(weighs=weighs)
        self.asked: list[tuple[str, str]] = []

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        self.asked += [(p.text, text) for p, text in zip(prompts, texts, strict=True)]
        return await super().weigh(prompts, texts)


def verdicts_of(one: Likelihood, model: Scripted, case: Case = CASE) -> dict[str, Verdict]:
    return {v.system: v for v in asyncio.run(one.verdicts(case, [], model)).verdicts}


def values_of(one: Likelihood, model: Scripted) -> dict[str, float | None]:
    found = verdicts_of(one, model)
    return {s.system: s.value for verdict in found.values() for s in one.score(verdict)}


# arithmetic


def test_scores_by_hand():
    assert values_of(judge(), Noting()) == {"A": -1.0, "B": -1.5, "C": None}
    reversed_ = values_of(judge(reversed=True), Noting())
    assert reversed_ == {"A": -1.75, "B": -1.75, "C": None}


def test_evidence_is_the_sum_the_number_and_the_least_probable():
    found = verdicts_of(judge(), Noting())
    assert found["A"].evidence == {
        "logprob": -3.0,
        "weighed": 3,
        "least": [
            {"text": "A", "logprob": -2.0},
            {"text": " flood", "logprob": -0.5},
            {"text": " came.", "logprob": -0.5},
        ],
    }
    assert found["A"].evidence.keys() == LikelihoodEvidence.__annotations__.keys()
    shown = shown_evidence(JudgedCandidate(CASE.candidates[0], found["A"]))
    assert "of the 3 tokens is -1.000, as if each had the probability 0.368" in shown.about[0]
    assert shown.tables[0].rows[0] == ["“A”", "-2.000"]


# what is asked


def test_the_text_follows_the_aspect_and_the_source():
    model = Noting()
    verdicts_of(judge(), model)
    (prompt, text), (same, other) = model.asked
    assert (text, other) == ("A flood came.", "Rain.")
    assert prompt == same
    assert "A flood came." not in prompt and "A fact." not in prompt
    places = [prompt.index(w) for w in ("fluency - the quality", "\nThe river rose.\n")]
    assert places == sorted(places)
    assert prompt.endswith("</source>\n\nThe summary:")


def test_reversed_the_source_follows_the_text():
    model = Noting()
    verdicts_of(judge(reversed=True), model)
    (prompt, text), (_, other) = model.asked
    assert text == other == "The river rose."
    assert "<target>\nA flood came.\n</target>" in prompt and "The river rose." not in prompt
    assert prompt.endswith("</target>\n\nThe article:")


@pytest.mark.parametrize("is_reversed", [False, True])
def test_demonstrations_of_the_axis_stand_before_the_document(is_reversed):
    one = judge(axes=["fluency", "relevance"], reversed=is_reversed, demonstrations=EXAMPLES)
    model = Noting()
    verdicts_of(one, model)
    fluency, relevance = model.asked[0][0], model.asked[2][0]
    assert "Snow fell." in fluency and "A dog barked." not in fluency
    first, second = ("source", "target") if not is_reversed else ("target", "source")
    order = [EXAMPLES[0][first], EXAMPLES[0][second]]
    order += [{"source": "A dog barked.", "target": "A ‹/target> dog."}[slot]
              for slot in (first, second)]  # fmt: skip
    order += ["A flood came." if is_reversed else "The river rose."]
    assert [relevance.index(f"\n{text}\n") for text in order] == sorted(
        relevance.index(f"\n{text}\n") for text in order
    )
    assert "Example 2, article:" in relevance and "Example 2" not in fluency


# unscored


def test_what_cannot_be_weighed_has_a_reason():
    failing = Noting(lambda p, t: Failed("prompt too long") if "flood" in t else [-inf])
    found = verdicts_of(judge(), failing)
    assert [found[s].reason for s in "ABC"] == ["prompt too long", NO_PROBABILITY, "empty text"]
    (score,) = judge().score(found["A"])
    assert (score.value, score.reason) == (None, "prompt too long")
