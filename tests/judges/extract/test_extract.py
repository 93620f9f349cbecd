"""Extract, then evaluate: the greedy choice by hand and by brute force, what is asked and read."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from math import log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.extract.judge import (
    SIZES,
    TOO_SMALL,
    Extract,
    ExtractThenRate,
    chosen_sentences,
    extracted,
    grams,
    read_evidence,
    tokens_in,
)
from evaljudge.model.asks import Failed, Options, Prompt
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document, Verdict

SOURCE = "It was late. Rain fell. They closed the bridge. The bridge was old."
TEXT = "Rain closed the bridge."
P = {"1": 0.05, "2": 0.10, "3": 0.20, "4": 0.40, "5": 0.25}
CASE = Case(
    Document("d1", SOURCE, context="A fact."),
    (Candidate("A", TEXT), Candidate("B", "The bridge was late."), Candidate("C", " ")),
)


def judge(task: str = "summary", axes: list[str] | None = None, **settings: Any) -> ExtractThenRate:
    return ExtractThenRate(settings, load_task(task, axes or ["relevance"]))


class Noting(Scripted):
    """Answers with these probabilities, and notes the prompts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

        def choose(prompt: Prompt, options: Options) -> Mapping[str, float]:
            self.asked.append(prompt.text)
            return {name: log(P[name]) for name in options.names}

        super().__init__(chooses=choose)


def verdicts_of(one: ExtractThenRate, model: Scripted, case: Case = CASE) -> dict[str, Verdict]:
    return {v.system: v for v in asyncio.run(one.verdicts(case, [], model)).verdicts}


def shown_source(prompt: str) -> str:
    return prompt.partition("<source>\n")[2].partition("\n</source>")[0]


# the choice of sentences


@pytest.mark.parametrize(
    ("by", "budget", "chosen"),
    [
        ("rouge1+2", 5, [3]),  # They closed the bridge.: 3 of 4 words, 2 of 3 pairs
        ("rouge1+2", 8, [2, 3]),  # then Rain fell.: the word that is missing
        ("rouge1+2", 12, [1, 2, 3]),  # then nothing is left to cover: the earliest
        ("rouge1", 8, [2, 3]),
        ("rouge2", 8, [3]),  # then It was late.: 4 more tokens are too many
        ("rouge2", 9, [1, 3]),
        ("lead", 9, [1, 2]),
    ],
)
def test_greedy_by_hand(by, budget, chosen):
    sentences = ["It was late.", "Rain fell.", "They closed the bridge.", "The bridge was old."]
    assert [tokens_in(one) for one in sentences] == [4, 3, 5, 5]
    wanted = " ".join(sentences[n - 1] for n in chosen)
    assert extracted(SOURCE, TEXT, by, budget) == Extract(wanted, tuple(chosen), 4)


def test_it_ends_at_the_budget():
    """As in the authors' code, no shorter one takes its place."""
    source = "Snow fell. Rain and wind and hail and then more rain closed the bridge. It rained."
    assert extracted(source, TEXT, "rouge1", 6) == TOO_SMALL
    assert extracted(source, "Snow fell, and rain closed the bridge.", "rouge1", 15) == Extract(
        "Rain and wind and hail and then more rain closed the bridge.", (2,), 3
    )
    text = "Heading:\n- It was late.\n- Rain fell."
    assert extracted(text, TEXT, "rouge1+2", 100) == Extract(text)
    assert isinstance(extracted("!" * 9, TEXT, "rouge1", 8), Failed)


WORDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5)


@given(
    st.lists(WORDS, min_size=1, max_size=6), WORDS, st.integers(1, 12), st.sampled_from([*SIZES])
)
def test_greedy_by_brute_force(sentences, text, budget, by):
    """The recall of what is extracted is counted anew for each sentence that could be added."""
    sizes, lengths = SIZES[by], [len(one) for one in sentences]

    def recall(chosen: list[int]) -> float:
        total = 0.0
        for n in sizes:
            there: Counter[tuple[str, ...]] = Counter()
            for at in chosen:
                there += Counter(
                    tuple(sentences[at][i : i + n]) for i in range(lengths[at] - n + 1)
                )
            wanted = Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
            hits = sum(min(count, there[gram]) for gram, count in wanted.items())
            total += hits / max(1, len(text) - n + 1)
        return total

    found: list[int] = []
    while len(found) < len(sentences):
        others = [n for n in range(len(sentences)) if n not in found]
        best = max(others, key=lambda n: (round(recall([*found, n]), 9), -n))
        if sum(lengths[n] for n in [*found, best]) > budget:
            break
        found.append(best)
    each = [grams(one, sizes) for one in sentences]
    assert chosen_sentences(each, lengths, grams(text, sizes), budget) == sorted(found)


# what is asked


def test_each_candidate_is_rated_beside_its_own_extract():
    model = Noting()
    found = verdicts_of(judge(budget=8), model)
    first, second = model.asked
    assert shown_source(first) == "Rain fell. They closed the bridge."
    assert shown_source(second) == "The bridge was old."
    assert f"<target>\n{TEXT}\n</target>" in first
    assert first.index("relevance - the choice") < first.index("<source>") < first.index("<target>")
    assert (found["A"].evidence["extract"], found["A"].evidence["sentences"]) == ([2, 3], 4)
    assert found["C"].reason == "empty text"


@pytest.mark.parametrize("settings", [{"extract": "none"}, {"budget": 100}])
def test_the_whole_source(settings):
    model = Noting()
    found = verdicts_of(judge(**settings), model)
    assert {shown_source(prompt) for prompt in model.asked} == {SOURCE}
    assert set(found["A"].evidence) == {"logprobs"}


# what is read


def test_scores_by_hand():
    one = judge(budget=8)
    assert one.scorers == ["extract", "extract.greedy"]
    found = verdicts_of(one, Noting())
    values = {s.scorer: s.value for s in one.score(found["A"])}
    assert values == {"extract": pytest.approx(3.7), "extract.greedy": 4}
    assert [s.reason for s in one.score(found["C"])] == ["empty text"] * 2
    read = read_evidence(found["A"].evidence)
    assert (read.p, read.extract, read.sentences) == (pytest.approx(P), [2, 3], 4)
    whole = read_evidence({"logprobs": {"1": 0.0}})
    assert (whole.extract, whole.sentences) == (None, None)
