"""SummEval's annotations: paired, unpaired with story files, and unpaired alone."""

import json
from math import nan

import pytest

from evaljudge.errors import UserError
from evaljudge.records import Candidate, Case, Document

AXES = ("coherence", "consistency", "fluency", "relevance")
EXPERTS = [(4, 5, 5, 3), (5, 5, 4, 3), (3, 5, 5, 4)]
TURKERS = [(1, 2, 3, 4), (2, 2, 3, 4), (1, 2, 4, 4), (1, 3, 3, 4), (1, 2, 3, 5)]
STORY = "River town (WTN)\n\n  The river rose.  \n\nIt rained.\n\n@highlight\n\nA flood came\n"


def annotations(ratings):
    return [dict(zip(AXES, of, strict=True)) for of in ratings]


def summary(system="M0", **fields):
    return {
        "id": "dm-test-1a",
        "decoded": f"a flood , says {system} .",
        "expert_annotations": annotations(EXPERTS),
        "turker_annotations": annotations(TURKERS),
        "references": ["A flood came.", "Rain fell."],
        "model_id": system,
        "filepath": "cnndm/dailymail/stories/1a.story",
    } | fields


def without(name, row):
    return {k: v for k, v in row.items() if k != name}


def candidate(system):
    return Candidate(
        system,
        f"a flood , says {system} .",
        {"coherence": 4.0, "consistency": 5.0, "fluency": 14 / 3, "relevance": 10 / 3},
        {
            "coherence": (4.0, 5.0, 3.0),
            "consistency": (5.0, 5.0, 5.0),
            "fluency": (5.0, 4.0, 5.0),
            "relevance": (3.0, 3.0, 4.0),
        },
    )


def document(source):
    return Document("dm-test-1a", source, ("A flood came.", "Rain fell."))


def test_paired(read, lines):
    text = "The river rose."
    got = read(lines(summary(text=text), summary("M1", text=text)), form="summeval")
    assert got.cases == [Case(document(text), (candidate("M0"), candidate("M1")))]
    assert (got.rated, got.absent_ratings) == (2, 0)


def test_unpaired_with_story_files(read, lines, tmp_path):
    story = tmp_path / "stories/cnndm/dailymail/stories/1a.story"
    story.parent.mkdir(parents=True)
    story.write_text(STORY)
    path = lines(summary(), summary("M1"))
    got = read(path, form="summeval", sources=f"{tmp_path}/stories/")
    source = "River town (WTN) The river rose. It rained."
    assert got.cases == [Case(document(source), (candidate("M0"), candidate("M1")))]


def test_unpaired_alone_has_empty_sources(read, lines):
    got = read(lines(summary()), form="summeval")
    assert got.cases == [Case(document(""), (candidate("M0"),))]


def test_a_paired_text_needs_no_story(read, lines, tmp_path):
    path = lines(summary(text="The river rose."))
    got = read(path, form="summeval", sources=str(tmp_path))
    assert got.cases[0].document.source == "The river rose."


def test_the_crowd_workers_ratings(read, lines):
    got = read(lines(summary()), form="summeval-turkers").cases[0].candidates[0]
    assert got.raters == {
        "coherence": (1.0, 2.0, 1.0, 1.0, 1.0),
        "consistency": (2.0, 2.0, 2.0, 3.0, 2.0),
        "fluency": (3.0, 3.0, 4.0, 3.0, 3.0),
        "relevance": (4.0, 4.0, 4.0, 4.0, 5.0),
    }
    assert got.ratings == {"coherence": 1.2, "consistency": 2.2, "fluency": 3.2, "relevance": 4.2}


@pytest.mark.parametrize(("rater", "ratings"), list(enumerate(EXPERTS, start=1)))
def test_one_experts_choice(read, lines, rater, ratings):
    got = read(lines(summary()), form=f"summeval-expert-{rater}").cases[0].candidates[0]
    assert got.ratings == dict(zip(AXES, map(float, ratings), strict=True))


def test_an_expert_who_is_not_there(read, lines):
    row = summary(expert_annotations=annotations(EXPERTS[:2]))
    got = read(lines(row), "skip", "summeval-expert-3")
    assert got.skipped == ("cases.jsonl:1: no rater 3 in `expert_annotations`",)


def rated(system, *ratings, doc_id="dm-test-1a"):
    """By each expert the same on all axes."""
    return summary(system, id=doc_id, expert_annotations=annotations([(r,) * 4 for r in ratings]))


def test_the_two_best_and_the_two_worst(read, lines):
    """Of equals the earlier ones; a document's lines may lie anywhere."""
    means = {"A": 3, "B": 5, "C": 1, "D": 4, "E": 2, "F": 4, "G": 2}
    rows = [rated(system, mean, mean, mean) for system, mean in means.items()]
    rows.insert(3, rated("A", 1, 2, 3, doc_id="other"))
    first, other = read(lines(*rows), form="summeval-extremes").cases
    assert [c.system for c in first.candidates] == ["B", "C", "D", "E"]
    assert [c.ratings["average"] for c in first.candidates] == [5, 1, 4, 2]
    assert first.candidates[0].raters["fluency"] == (5.0, 5.0, 5.0)
    assert [(c.system, c.ratings["average"]) for c in other.candidates] == [("A", 2)]
    got = read(lines(summary()), form="summeval-extremes").cases[0].candidates[0]
    assert got.ratings["average"] == pytest.approx((4 + 5 + 14 / 3 + 10 / 3) / 4)


def test_the_summary_on_which_experts_agree(read, lines):
    rows = [rated("A", 1, 5, 3), rated("B", 3, 4, 3), rated("C", 2, 2, 3), rated("D", 1, 4, 4)]
    (case,) = read(lines(*rows), form="summeval-consistent").cases
    assert [c.system for c in case.candidates] == ["B"]


@pytest.mark.parametrize("form", ["summeval-extremes", "summeval-consistent"])
def test_what_nobody_rated_is_no_extreme(read, lines, form):
    unrated = summary("M1", expert_annotations=annotations([(None, 1, 1, 1)]))
    (case,) = read(lines(summary(), unrated), form=form).cases
    assert [c.system for c in case.candidates] == ["M0"]


def test_a_null_rating_is_absent(read, lines):
    given = annotations(EXPERTS)
    given[1]["fluency"] = None
    got = read(lines(summary(expert_annotations=given)), form="summeval")
    assert got.cases[0].candidates[0].raters["fluency"] == (5.0, nan, 5.0)
    assert got.absent_ratings == 1


@pytest.mark.parametrize("name", ["id", "expert_annotations"])
def test_a_field_that_is_missing_is_named(read, lines, name):
    got = read(lines(summary(), without(name, summary("M1"))), "skip", "summeval")
    assert got.skipped == (f"cases.jsonl:2: no `{name}`",)


@pytest.mark.parametrize(
    "fields",
    [{"expert_annotations": {"a": 4}}, {"expert_annotations": [4]}, {"references": "A"},
     {"id": True}, {"decoded": ["a"]}, {"text": 7}],
)  # fmt: skip
def test_a_field_of_another_kind_is_refused(read, lines, fields):
    (said,) = read(lines(summary(**fields)), "skip", "summeval").skipped
    assert said.startswith("cases.jsonl:1: ")


def test_without_a_filepath_no_story_is_found(read, lines, tmp_path):
    path = lines(without("filepath", summary()))
    got = read(path, "skip", "summeval", str(tmp_path))
    assert got.skipped == ("cases.jsonl:1: no `filepath`",)


def test_a_story_that_is_not_there_is_named(read, lines, tmp_path):
    with pytest.raises(UserError, match=r"cnndm/dailymail/stories/1a\.story: no such file"):
        read(lines(summary()), "skip", "summeval", str(tmp_path))


def test_a_story_that_is_not_utf8_is_named(read, lines, tmp_path):
    (tmp_path / "1a.story").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"1a\.story: not UTF-8"):
        read(lines(summary(filepath="1a.story")), "skip", "summeval", str(tmp_path))


def test_another_ending_is_refused(read, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(summary()))
    with pytest.raises(UserError, match=r"unknown ending; the known are \.jsonl"):
        read(tmp_path / "a.json", form="summeval")
