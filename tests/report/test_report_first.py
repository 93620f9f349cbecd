"""The page's first screen: its sentences, whom they name, and what is missing."""

from dataclasses import replace
from typing import Any

import pytest

from evaljudge.agreement import Agreement
from evaljudge.analyses.jury import LeftOut
from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.analysis.telling import BINS, BinnedRatings, Spread
from evaljudge.decisions.systems import SystemRanking, rank_systems
from evaljudge.metrics import known_metrics
from evaljudge.records import HUMAN
from evaljudge.report import pictures
from evaljudge.report.first import (
    NOT_RANKED,
    AxisAnswer,
    answers,
    card_lines,
    coverage_class,
    headlines,
    leading,
    missing,
    over_axes,
    warnings_line,
)
from evaljudge.report.page import page
from evaljudge.report.summary import coverage_text, summary
from evaljudge.runs.reporting import without_scores
from evaljudge.text import shortened, told_apart
from tests.frames import replaced
from tests.report.findings import agreement, made, standing

SYSTEMS = ["north", "south", "east"]
DISTINCT = [[5 + n % 3 / 9, 3 + n % 2 / 9, 1 + n % 4 / 9] for n in range(20)]
ALIKE = [[n % 5 + (n + k) % 3 / 1 for k in range(3)] for n in range(20)]


def ranked(
    scorer: str, table: list[list[float]], axis: str = "fluency", systems: list[str] = SYSTEMS
) -> SystemRanking:
    (found,) = rank_systems(systems, [table], 0)
    assert found is not None
    return replace(found, scorer=scorer, axis=axis)


def spearman(
    value: float | None, low: float | None, high: float | None, level: str = "sample"
) -> Agreement:
    return replace(agreement(level, "spearman", value), low=low, high=high)


def only_answer(table: list[list[float]] = DISTINCT, **more: Any) -> AxisAnswer:
    rankings = [ranked("synthetic", table, systems=SYSTEMS[: len(table[0])])]
    (found,) = answers(made(**{"systems": rankings} | more))
    return found


@pytest.mark.parametrize(
    ("figures", "said", "holds"),
    [
        ((0.44, 0.31, 0.55), "Agrees with people within documents: 0.440 [0.310, 0.550]", True),
        (
            (-0.036, -0.209, 0.242),
            "Agreement with people cannot be told from chance: -0.036 [-0.209",
            False,
        ),
        ((-0.4, -0.6, -0.2), "Orders texts against people: -0.400 [-0.600, -0.200]", False),
        ((0.4, None, None), "Agreement with people within documents, without an interval", None),
    ],
)
def test_agreement_is_claimed_where_it_is_shown(figures, said, holds):
    found = only_answer(agreement=[spearman(*figures)])
    assert found.trust.startswith(said)
    assert found.is_trusted is holds


def test_a_wider_interval_than_that_of_agree_says_why():
    row = replace(spearman(0.168, -0.155, 0.458), axis="fluency", scorer="rouge1")
    best = standing("sample", "rouge1", [], value=0.168, low=-0.214, high=0.505, chosen=2)
    rankings = [ranked("rouge1", DISTINCT, "*")]
    (found,) = answers(made(systems=rankings, agreement=[row], significance=[best]))
    why = "the interval is widened, as the best of 2 scorers"
    assert found.trust.endswith(f"0.168 [-0.214, 0.505] (Spearman, within documents; {why}).")


def test_too_few_documents_are_counted_whole_and_no_length_is_compared_on_them():
    few = [replace(spearman(0.4, None, None), axis="fluency", n=5, skipped=1, scorer=scorer)
           for scorer in ("rouge1", "words")]  # fmt: skip
    rankings = [ranked("rouge1", DISTINCT, "*")]
    (found,) = answers(made(systems=rankings, agreement=[few[0], replace(few[1], value=0.9)]))
    said = "0.400 (only 5 documents); 1 further one has nothing to rank."
    assert found.trust.endswith(said) and not found.notes


def test_serious_warnings_are_counted_once():
    lines = [warnings_line(made(warnings=["a", "b"][:n], serious=k)) for n, k in
             ((2, 2), (2, 1), (1, 1), (2, 0))]  # fmt: skip
    assert lines == [
        "2 serious warnings", "2 warnings, 1 of them serious", "1 serious warning", "2 warnings",
    ]  # fmt: skip


def spread(low: float, high: float, ratings: list[float]) -> Spread:
    counts = {system: [1] * BINS for system in SYSTEMS}
    return Spread(
        "synthetic", "fluency", low, high, counts, [BinnedRatings("fluency", ratings, [])]
    )


@pytest.mark.parametrize(
    ("of", "table", "why"),
    [
        (spread(1, 5, [3]), DISTINCT, "all ratings are equal"),
        (spread(3, 3, [1, 5]), DISTINCT, "all scores are equal"),
        (spread(1, 5, [1, 5]), [[1.0], [2.0], [4.0]], "each document has a text of one system"),
        (spread(1, 5, [1, 5]), DISTINCT, "in each of them all scores or all ratings are equal"),
    ],
)
def test_what_cannot_be_compared_says_why(of, table, why):
    undefined = [spearman(None, None, None)]
    assert why in only_answer(table, agreement=undefined, spreads=[of]).trust


def test_what_cannot_be_compared_within_documents_has_the_figure_of_all_texts():
    rows = [spearman(None, None, None), spearman(0.492, -0.122, 0.947, level="summary")]
    found = only_answer([[1.0], [2.0], [4.0]], agreement=rows, spreads=[spread(1, 5, [1, 5])])
    assert found.trust.endswith(" Across all texts (summary level): 0.492 [-0.122, 0.947].")
    assert found.sentence == "There is only one system, north: 2.333."


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            DISTINCT,
            "north has the highest mean by this scorer, and differs from every other system.",
        ),
        (ALIKE, "No two systems differ significantly by this scorer."),
        ([[2.0, 2.0, 2.0]] * 8, "The means of all systems are equal."),
        ([[3.0, 2.0, 1.0]], "north is first, but one document cannot tell systems apart."),
        ([[5.0], [5.0]], "There is only one system, north: 5."),
        (
            [[4 + (n + 1) % 3, 4 + n % 3, 1 + n % 2 / 9] for n in range(20)],
            "north is first, but not significantly ahead of south.",
        ),
    ],
)
def test_a_sentence_names_a_first_system_where_there_is_one(table, said):
    assert only_answer(table).sentence == said


def test_peoples_best_is_named_with_ties():
    rows = [ranked(HUMAN, [[4.0, 4.0, 1.0]] * 9), ranked("synthetic", DISTINCT)]
    (found,) = answers(made(systems=rows))
    assert found.people == "people's best: north, south"


def test_ratings_that_no_people_gave_are_not_said_to_be_theirs():
    rows = [ranked(HUMAN, [[4.0, 4.0, 1.0]] * 9), ranked("synthetic", DISTINCT)]
    findings = made(systems=rows, rated_by="true levels")
    (found,) = answers(findings)
    assert found.people == "best by true levels: north, south"
    assert any(line.endswith(" rated by true levels.") for line in card_lines(findings))
    assert " texts rated by true levels\n" in coverage_text(findings)
    for text in (page(findings), summary(findings, "out").text):
        assert "best by true levels" in text
        assert "people's best" not in text and "rated by people" not in text
        assert " with people" not in text


def test_a_combination_stands_for_the_judges():
    rows = [ranked("a", DISTINCT), ranked("jury", DISTINCT), ranked("b", DISTINCT, "tone")]
    lost = ("spearman", 0.5, 0.553, 0.053, 0.008, 0.098, 100, False)
    left_out = [
        LeftOut("jury", "chance", "fluency", "sample", *lost),
        LeftOut("jury", "chance", "fluency", "system", *lost),
        LeftOut("jury", "a", "fluency", "sample", *lost[:4], -0.01, *lost[5:]),
    ]
    found = made(systems=rows, combined=["jury"], jury=left_out)
    first, second = answers(found)
    assert (first.scorer, second.scorer) == ("jury", "b")
    assert first.notes == [
        "The jury agrees better with people without chance: +0.053 [0.008, 0.098]."
    ]
    assert [row.scorer for row in leading(found, rows)] == ["jury", "b"]


def test_a_length_does_not_lead_a_run_without_ratings():
    rows = [ranked("words", DISTINCT, "*"), ranked("rouge1", DISTINCT, "*")]
    assert [one.ranking.scorer for one in headlines(made(systems=rows, agreement=[]))] == ["rouge1"]


@pytest.mark.parametrize("rated", [0, 1600])
@pytest.mark.parametrize("scorer", ["words", "compression", "long", "estime"])
def test_nothing_is_best_by_what_is_no_quality(scorer, rated):
    long, fewer = (known_metrics()[name].about for name in ("words", "estime"))
    meanings = {"long": long, "estime": fewer}  # a baseline under a name of the configuration
    rows = [spearman(0.5, 0.4, 0.6), replace(spearman(0.9, 0.8, 0.95), scorer=scorer)]
    lone = [ranked(scorer, DISTINCT, "*")]
    found = made(systems=lone, meanings=meanings, rated=rated, agreement=rows[1:] * bool(rated))
    assert answers(found) == []
    for text in (page(found), summary(found, "out").text):
        assert NOT_RANKED in text
        assert "north is" not in text and "north has" not in text and "Worst texts" not in text
    both = made(systems=[*lone, ranked("synthetic", DISTINCT, "*")], meanings=meanings)
    assert [one.scorer for one in answers(replaced(both, agreement=rows))] == ["synthetic"]


def test_a_system_without_scores_has_a_line_that_says_why():
    row = replace(ranked("synthetic", DISTINCT), unscored=[("west", "empty text")])
    found = made(systems=[row])
    (answer,) = answers(found)
    assert [(dot["system"], dot["at"] is None) for dot in answer.dots] == [
        ("north", False), ("south", False), ("east", False), ("west", True),
    ]  # fmt: skip
    assert answer.hidden == 0
    assert '<text class="tick" y="14">no scores (first text: empty text)</text>' in page(found)
    assert "west: no scores (first text: empty text)." in summary(found, "out").text


def test_a_system_in_few_documents_is_named_with_their_number():
    said = only_answer([[3.0 + n % 2, 3.0] for n in range(6)]).sentence
    assert said == "No two systems differ significantly by this scorer: 6 documents are few."
    alone = only_answer([[3.0 + n + place for place in range(3)] for n in range(4)])
    assert alone.sentence.endswith("and none could: 4 documents are too few for 3 pairs.")
    assert {dot["letters"] for dot in alone.dots} == {""}
    table = [[9.0, float("nan"), float("nan")], *[[float("nan"), 3.0 + n, 1.0] for n in range(9)]]
    answer = only_answer(table)
    assert "north (in 1 of 9 documents)" in answer.sentence
    assert "north (in 1 of 9 documents)" in {dot["name"] for dot in answer.dots}
    both = [ranked("synthetic", table, axis) for axis in ("tone", "style")]
    assert "north" not in over_axes(made(systems=both))


def test_over_all_axes_there_is_a_mean_rank_of_the_systems_that_all_have():
    tied = ranked("synthetic", [[4.0, 4.0, 1.0, 9.0]] * 8, "tone", [*SYSTEMS, "west"])
    turned = ranked("synthetic", DISTINCT, "style", SYSTEMS[::-1])
    found = made(systems=[ranked("synthetic", DISTINCT), tied, turned])
    # north 1, 1.5 and 3; south 2, 1.5 and 2; east 3, 3 and 1
    said = "over 3 axes (1: best mean on each; not tested): north 1.83, south 1.83, east 2.33."
    assert over_axes(found) == f"Mean rank {said}"
    for text in (page(found), summary(found, "out").text):
        assert said in text
    assert over_axes(made(systems=[ranked("synthetic", DISTINCT)])) == ""
    of_metrics = [ranked(name, DISTINCT, "*") for name in ("rouge1", "rouge2")]
    assert over_axes(made(systems=of_metrics)) == ""
    alone = ranked("synthetic", [[3.0]] * 8, "tone", ["west"])
    assert over_axes(made(systems=[ranked("synthetic", DISTINCT), alone])) == ""


def test_long_names_are_cut_in_the_middle():
    names = [f"organisation/a-very-long-name-of-a-model-{n}-awq" for n in range(3)]
    (found,) = answers(made(systems=[ranked("synthetic", ALIKE, systems=names)]))
    assert shortened(names[1], 22) == "organis…-a-model-1-awq"
    text = page(made(systems=[ranked("synthetic", DISTINCT, systems=names)]))
    assert f"{shortened(names[0], 22)} has the highest mean" in text
    assert text.count(f"<bdi>{shortened(names[0], 22)}</bdi>") == 1  # beside its dot
    assert f'title="{names[2]}: ' in text
    assert found.hidden == 0


def test_names_that_differ_in_their_middle_alone_are_told_apart():
    names = [f"llama-3.1-8b-nightly-2026-{month}-27-instruct-awq" for month in (9, 10, 11)]
    (found,) = answers(made(systems=[ranked("synthetic", ALIKE, systems=names)]))
    short = {dot["system"]: dot["name"] for dot in found.dots}
    assert list(map(short.get, names)) == [
        "…2026-9-27-instruct-a…",
        "…2026-10-27-instruct-…",
        "…2026-11-27-instruct-…",
    ]
    close = [f"{'a' * 30}{first}{'b' * 30}{second}{'c' * 30}" for first in "12" for second in "12"]
    assert list(told_apart(close, 22).values()) == close  # no window shows both places


def test_pictures_have_one_scale_and_the_answer_s_order():
    narrow = [[3 + (n + k) % 3 / 100 for k in range(3)] for n in range(20)]
    rows = [ranked("synthetic", DISTINCT), ranked("synthetic", narrow, "tone")]
    wide, small = answers(made(systems=rows))
    assert wide.ticks == small.ticks
    assert max(dot["at"] for dot in small.dots) - min(dot["at"] for dot in small.dots) < 0.05
    findings = made(systems=[ranked("synthetic", DISTINCT)], spreads=[spread(2, 2, [1, 5])])
    (found,) = pictures.all_strips(findings)
    assert [row["name"] for row in found["rows"]] == SYSTEMS
    assert found["ticks"] == [(0.5, "2")]
    shares = found["rows"][0]["shares"]
    assert [at for at, share in enumerate(shares) if share] == [len(shares) // 2]


EMPTY = Coverage("importance", "*", 0, 600, {"no n-gram of the source has any weight": 600})


def test_what_is_missing_is_said():
    (found,) = missing(made(coverage=[EMPTY, Coverage("words", "*", 600, 0, {})]))
    assert found["said"] == "importance: no n-gram of the source has any weight, 600 texts"
    assert found["texts"] == "#texts?scorer=importance&axis=%2A&status=unscored"
    (warning,) = without_scores([EMPTY])
    said = "importance has no score: no n-gram of the source has any weight × 600: importance "
    assert warning.startswith(said)
    findings: Findings = made(cases=1, candidates=1, rated=1)
    size, rated, _ = card_lines(findings)
    assert (size, rated) == ("1 text of 1 document", "1 is rated by people.")


@pytest.mark.parametrize(("floor", "colour"), [(0.0, ""), (0.3, "passed"), (0.95, "failed")])
def test_coverage_is_good_only_where_a_floor_is_reached(floor, colour):
    half = Coverage("words", "*", 1, 1, {"empty text": 1})
    assert coverage_class(made(coverage=[half], coverage_floor=floor)) == colour
