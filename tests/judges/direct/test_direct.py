"""The direct judge: how replies are read, what is asked, and every way to stay unscored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.direct.judge import Direct, rating_of
from evaljudge.model.asks import Failed, Prompt, Sample, Writing
from evaljudge.prompts import load_task
from evaljudge.records import Case, Verdict
from tests.judges.builders import CASE


def judge(task: str = "summary", axes: list[str] | None = None, **settings: Any) -> Direct:
    """With the short question, unless the settings say otherwise."""
    chosen = axes or (["fluency"] if task == "summary" else None)
    return Direct({"steps": False} | settings, load_task(task, chosen))


def verdicts_of(judge: Direct, model: Scripted, case: Case = CASE) -> dict[str, Verdict]:
    return {v.system: v for v in asyncio.run(judge.verdicts(case, [], model)).verdicts}


def read(reply: str, cut: bool = False) -> float | str:
    found = rating_of(Sample(reply, "length" if cut else "stop"), "fluency")
    return found.reason if isinstance(found, Failed) else found


# the parser


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("4", 4), (" 4\n", 4), ("4.", 4), ("4.5", 4.5), ("**4**", 4), ("__5__", 5), ("[2]", 2),
        ("- 4", 4), ("٤", 4), ("four", 4), ("Four.", 4), ("FIVE!", 5), ("1", 1), ("5.0", 5),
        ("4/5", 4), ("**4**/5", 4), ("4 / 5", 4), ("4 out of 5", 4), ("four out of five", 4),
        ("Rating: 4", 4), ("**Rating:** 3", 3), ("Rating: 4/5", 4), ("rating - 2", 2),
        ("Rating:\n4", 4), ("Score = 3.5", 3.5), ('{"rating": 4}', 4), ("Answer: two", 2),
        ("Fluency: 2", 2), ("- Fluency (1-5): 2", 2), ("fluency is 2, I think", 2),
        ("I would give it a 4.", 4), ("I rate it 3 because it rambles", 3), ("4 stars", 4),
        ("On a scale of 1 to 5, I would give it 4.", 4), ("(1-5): 4", 4),
        ("Rating: on a scale of 1 (worst) to 5 (best), 4", 4), ("4 on a scale from 1 to 5", 4),
        ("4\n\nIt leaves out 3 facts.", 4), ("4. It is fluent.", 4), ("Rating: 4. Score: 4", 4),
        ("1.", 1), ("1. Fluency: 2\n2. The rest is fine.", 2), ("1. Sound.\n2. Rating: 4", 4),
    ],
)  # fmt: skip
def test_a_rating_is_read(reply, rating):
    assert read(reply) == rating


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Rating: between 3 and 4", "more than one rating in"), ("3-4", "more than one rating in"),
        ("3 or 4", "more than one rating in"), ("three to four", "more than one rating in"),
        ("4,5", "more than one rating in"), ("4\nRating: 3", "more than one rating in"),
        ("4/10", "a rating on another scale in"), ("3 out of 4", "a rating on another scale in"),
        ("8/10", "a rating on another scale in"), ("7", "a rating outside 1 to 5 in"),
        ("0", "a rating outside 1 to 5 in"), ("-3", "a rating outside 1 to 5 in"),
        ("Rating: −2", "a rating outside 1 to 5 in"), ("5.01", "a rating outside 1 to 5 in"),
        ("45", "a rating outside 1 to 5 in"), ("2004", "a rating outside 1 to 5 in"),
        ("It leaves out 3 facts.", "no rating in"), ("between 3 and 4", "no rating in"),
        ("3 sentences are unclear.", "no rating in"), ("I rate the 3 facts", "no rating in"),
        ("One of the best", "no rating in"), ("fourteen", "no rating in"), ("4th", "no rating in"),
        ("5-year plan", "no rating in"), ("4%", "no rating in"), ("4:30", "no rating in"),
        ("1.2.3", "no rating in"), ("4/5/2004", "no rating in"), ("4²", "no rating in"),
        ("4 -", "no rating in"), ("3 and", "no rating in"), ("4/", "no rating in"),
        ("1 to 5", "no rating in"), ("1. The summary is clear.", "no rating in"),
        ("Rating:\n1. Poor\n2. Dull", "no rating in"), ("Good.", "no rating in"),
        ("fıve", "no rating in"), ("3, 4 facts are missing", "no rating in"),
        ("4 out of 5 facts are right", "no rating in"),
        ("I rate it low. It leaves out 3.", "no rating in"),
    ],
)  # fmt: skip
def test_what_is_no_rating(reply, why):
    line = " ".join(reply.split())
    assert read(reply) == f"{why} the reply: “{line}”"


@pytest.mark.parametrize("reply", ["4", "4/5", "four", "Rating: 4\n", "4\n\nIt is", "4. It is"])
def test_a_number_before_the_cut_counts(reply):
    assert read(reply, cut=True) == 4


@pytest.mark.parametrize("reply", ["Rating: between 3", "I give it 4.", "The summary is", "3 or"])
def test_a_reply_cut_before_its_number_was_whole(reply):
    assert read(reply, cut=True) == f"cut at the token limit before a rating was given: “{reply}”"


NUMBERS = st.sampled_from(
    "1 2 3 4 5 4.5 0 -1 10 one five rating score / - to or of . ( ) % \n".split(" ")
)


@given(st.lists(NUMBERS | st.text(max_size=5)).map(" ".join), st.booleans())
def test_any_reply_is_a_rating_of_the_scale_or_one_line(reply, cut):
    found = read(reply, cut)
    if isinstance(found, str):
        assert found.isprintable() and len(found) < 130
    else:
        assert 1 <= found <= 5


# what is asked, and the evidence


def test_each_candidate_is_asked_about_once_per_axis():
    asked: list[tuple[str, Writing]] = []

    def write(prompt: Prompt, how: Writing) -> str:
        asked.append((prompt.text, how))
        return "Rating: 4" if "A flood." in prompt.text else "so-so"

    found = verdicts_of(judge(), Scripted(writes=write))
    assert [how for _, how in asked] == [Writing(max_tokens=16, temperature=0.0)] * 2
    assert "<article>\nThe river rose.\n</article>" in asked[0][0]
    assert "<target>\nA flood.\n</target>" in asked[0][0]
    assert "fluency - the quality of the individual sentences" in asked[0][0]
    assert found["A"].evidence == {"reply": "Rating: 4", "rating": 4.0}
    assert found["B"].evidence == {"reply": "so-so"}
    assert found["B"].reason == "no rating in the reply: “so-so”"
    assert (found["C"].reason, found["C"].evidence, found["C"].tokens.asks) == ("empty text", {}, 0)
    scores = [judge().score(found[system])[0] for system in "ABC"]
    assert [(s.scorer, s.axis, s.value, s.status) for s in scores] == [
        ("direct", "fluency", 4.0, "ok"),
        ("direct", "fluency", None, "unscored"),
        ("direct", "fluency", None, "unscored"),
    ]
    assert scores[2].reason == "empty text"
