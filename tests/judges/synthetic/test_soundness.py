"""What a judge finds when it looks at its own references and at its own sense of place."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from math import sqrt
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.execution.case import case_models
from evaljudge.judges.shared.scale import named, ratings
from evaljudge.judges.synthetic.evidence import answers_of
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.model.asks import Failed
from evaljudge.records import Brief, Candidate, Case, Document, Verdict
from tests.judges.synthetic.builders import Answers, Question, briefs, judge, scripted

CASE = Case(
    Document("d1", "The river rose."),
    (Candidate("A", "A flood."), Candidate("B", "Rain."), Candidate("C", " ")),
)


def looking(neighbours: float, exchanged: float, **settings: Any) -> Synthetic:
    return judge(checks={"neighbours": neighbours, "exchanged": exchanged}, **settings)


def even(target: str, reference: str, relation: str) -> dict[str, float]:
    return {"Yes": 0.5, "No": 0.5} if relation else dict.fromkeys(("Better", "Worse", "Similar"), 1)


def checks_of(
    judge: Synthetic, model: Scripted, told: list[Brief], case: Case = CASE
) -> tuple[list[Verdict], Verdict]:
    """The verdicts and the check of one axis, with a model that remembers what was asked."""
    remembering = case_models(model, [judge.name], set(), set())[judge.name]
    verdicts, (check,) = asyncio.run(judge.verdicts(case, told, remembering))
    return verdicts, check


# neighbours


@pytest.mark.parametrize("levels", [2, 3, 5, 9])
def test_each_reference_is_judged_against_the_one_below_it(levels):
    asked: list[Question] = []
    model = scripted(lambda *q: {"Better": 0.35, "Worse": 0.05, "Similar": 0.1}, asked)
    nothing_to_judge = replace(CASE, candidates=CASE.candidates[2:])
    _, check = checks_of(looking(1, 0, levels=levels), model, briefs(levels), nothing_to_judge)
    steps = list(zip(ratings(levels)[1:], ratings(levels), strict=False))
    assert asked == [(f"level {named(up)}", f"level {named(low)}", "") for up, low in steps]
    p = {"Better": pytest.approx(0.7), "Worse": pytest.approx(0.1), "Similar": pytest.approx(0.2)}
    assert check.evidence == {
        "neighbours": [{"worse": low, "better": up, "p": p} for up, low in steps],
        "exchanged": [],
    }
    assert (check.doc_id, check.system, check.judge, check.axis, check.status) == (
        "d1", "*", "synthetic", "fluency", "ok",
    )  # fmt: skip
    assert check.tokens.asks == levels - 1


def test_a_neighbour_that_was_not_written_is_left_out():
    *below, top = briefs(3)
    lost = replace(top, content={}, status="unscored", reason="cut off")
    _, check = checks_of(looking(1, 0, levels=3), scripted(even), [*below, lost])
    assert [(t["worse"], t["better"]) for t in check.evidence["neighbours"]] == [(1.0, 3.0)]


def test_without_a_source_nothing_is_looked_at():
    case = replace(CASE, document=Document("d1", " \n"))
    model = case_models(scripted(even), ["synthetic"], set(), set())["synthetic"]
    _, checks = asyncio.run(looking(1, 1).verdicts(case, briefs(), model))
    assert list(checks) == []


# exchanged


def test_a_comparison_is_read_in_both_places():
    asked: list[Question] = []

    def says(target: str, reference: str, relation: str) -> Answers:
        usual = {"Better": 0.5, "Worse": 0.2, "Similar": 0.3}
        return usual if reference.startswith("level") else {
            "Better": 0.1, "Worse": 0.6, "Similar": 0.3,
        }  # fmt: skip

    verdicts, check = checks_of(looking(0, 1, levels=2), scripted(says, asked), briefs(2))
    told = {"p": pytest.approx({"Better": 0.5, "Worse": 0.2, "Similar": 0.3}),
            "exchanged": pytest.approx({"Better": 0.6, "Worse": 0.1, "Similar": 0.3})}  # fmt: skip
    assert check.evidence == {
        "neighbours": [],
        "exchanged": [
            {"system": system, "rating": rating} | told for system in "AB" for rating in (1.0, 5.0)
        ],
    }
    usual = [
        (text, level, "") for text in ("A flood.", "Rain.") for level in ("level 1", "level 5")
    ]
    # the usual order is not asked again
    assert asked == [*usual, *((reference, target, "") for target, reference, _ in usual)]
    assert check.tokens.asks == len(usual)
    evidence = {v.system: v.evidence for v in verdicts if v.status == "ok"}
    for told in check.evidence["exchanged"]:
        levels = {level["rating"]: level for level in evidence[told["system"]]["levels"]}
        assert [told["p"]] == answers_of([levels[told["rating"]]])


# failures


def test_a_reply_that_failed_leaves_its_entry_out():
    fails = {
        ("level 3", "level 2"),  # a neighbour
        ("A flood.", "level 2"),  # a comparison as asked
        ("level 4", "A flood."),  # and one exchanged
    }

    def says(target: str, reference: str, relation: str) -> Answers | Failed:
        if (target, reference) in fails and relation != "better":
            return Failed("too long")
        return even(target, reference, relation)

    for predict in ("probabilities", "yes-no"):
        _, check = checks_of(looking(1, 1, predict=predict), scripted(says), briefs())
        assert check.status == "ok"
        pairs = [(told["worse"], told["better"]) for told in check.evidence["neighbours"]]
        assert pairs == [(1, 2), (3, 4), (4, 5)]
        looked = [(told["system"], told["rating"]) for told in check.evidence["exchanged"]]
        assert looked == [("A", r) for r in (1, 3, 5)] + [("B", r) for r in (1, 2, 3, 4, 5)]


# draws

DOCUMENTS = 300


def drawn(judge: Synthetic) -> tuple[set[str], set[tuple[str, str, float]]]:
    """The documents, and the comparisons, that are looked at."""

    async def look() -> list[Verdict]:
        found: list[Verdict] = []
        for number in range(DOCUMENTS):
            document = Document(f"d{number}", "The river rose.")
            case = Case(document, CASE.candidates[:1])
            found += (await judge.verdicts(case, briefs(), Scripted())).checks
        return found

    checks = asyncio.run(look())
    return (
        {check.doc_id for check in checks if check.evidence["neighbours"]},
        {
            (check.doc_id, told["system"], told["rating"])
            for check in checks
            for told in check.evidence["exchanged"]
        },
    )


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_about_the_share_asked_for_is_looked_at(share):
    """Within four standard deviations of what independent draws would give."""
    documents, comparisons = drawn(looking(share, share))
    for found, of in ((documents, DOCUMENTS), (comparisons, 5 * DOCUMENTS)):
        assert abs(len(found) - share * of) < 4 * sqrt(of * share * (1 - share))
    by_rating = [sum(r == rating for *_, r in comparisons) for rating in ratings(5)]
    least = share * DOCUMENTS - 4 * sqrt(DOCUMENTS * share * (1 - share))
    assert min(by_rating) > least
    by_document = [sum(doc_id == f"d{n}" for doc_id, *_ in comparisons) for n in range(DOCUMENTS)]
    assert by_document.count(5) < DOCUMENTS * share / 4  # one by one, not a candidate's together


def test_the_draw_is_by_names_alone_and_a_larger_one_holds_the_smaller():
    small, again, large = drawn(looking(0.1, 0.1)), drawn(looking(0.1, 0.1)), drawn(looking(0.3, 1))
    assert small == again
    assert small[0] < large[0]
    assert small[1] < large[1]
    assert len(large[1]) == 5 * DOCUMENTS
    other = looking(0.1, 0.1, predict="sampled", samples=5)
    assert drawn(other) == small  # of another judge's comparisons the same
