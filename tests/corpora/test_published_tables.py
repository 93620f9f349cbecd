"""HANNA's and NewsRoom's CSV files, in which a row is one rater's."""

import random
from math import nan

import pytest

from evaljudge.records import Candidate, Case, Document

HANNA_AXES = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
NEWS_AXES = ("Coherence", "Fluency", "Informativeness", "Relevance")


def story(number, model, text, ratings, **cells):
    return {
        "Story ID": number,
        "Prompt": "A river talks.",
        "Human": 'It said "hello".\nThen it ran.',
        "Story": text,
        "Model": model,
        **dict(zip(HANNA_AXES, ratings, strict=True)),
        "Worker ID": "W",
        "Assignment ID": "B",
        "Work time in seconds": 80.5,
        "Name": "River",
    } | cells


HUMAN = 'It said "hello".\nThen it ran.'
STORIES = [
    story(1, "Human", HUMAN, (5, 4, 3, 2, 4, 3)),
    story(1, "Human", HUMAN, (4, 4, 3, 2, 4, 3)),
    story(1, "Human", HUMAN, (3, 4, 3, 2, 4, 5)),
    story(97, "GPT-2 (tag)", "The river ran.", (2, 3, 1, 1, 2, 1)),
    story(97, "GPT-2 (tag)", "The river ran.", (2, 1, 1, 1, 2, 1)),
    story(97, "GPT-2 (tag)", "The river ran.", (2, 2, 1, 1, 5, 1)),
]


def test_hanna(read, table):
    got = read(table(STORIES), form="hanna")
    human = {
        "relevance": (5.0, 4.0, 3.0),
        "coherence": (4.0, 4.0, 4.0),
        "empathy": (3.0, 3.0, 3.0),
        "surprise": (2.0, 2.0, 2.0),
        "engagement": (4.0, 4.0, 4.0),
        "complexity": (3.0, 3.0, 5.0),
    }
    gpt = {
        "relevance": (2.0, 2.0, 2.0),
        "coherence": (3.0, 1.0, 2.0),
        "empathy": (1.0, 1.0, 1.0),
        "surprise": (1.0, 1.0, 1.0),
        "engagement": (2.0, 2.0, 5.0),
        "complexity": (1.0, 1.0, 1.0),
    }
    means = {"relevance": 4, "coherence": 4, "empathy": 3, "surprise": 2, "engagement": 4}
    lower = {"relevance": 2, "coherence": 2, "empathy": 1, "surprise": 1, "engagement": 3}
    assert got.cases == [
        Case(
            Document("hanna-01", "A river talks.", (HUMAN,)),
            (
                Candidate("Human", HUMAN, means | {"complexity": 11 / 3}, human),
                Candidate("GPT-2 (tag)", "The river ran.", lower | {"complexity": 1}, gpt),
            ),
        )
    ]


def test_stories_of_another_prompt_are_another_document(read, table):
    other = story(95, "Human", "x", (1,) * 6, Prompt="A stone talks.", Human="x")
    got = read(table([*STORIES, other]), form="hanna")
    assert [case.document.doc_id for case in got.cases] == ["hanna-01", "hanna-95"]


def test_raters_rows_may_lie_anywhere(read, table):
    rows = random.Random(3).sample(STORIES, len(STORIES))
    here, there = read(table(STORIES), form="hanna"), read(table(rows), form="hanna")
    assert here.digest == there.digest
    assert {c.system: c.ratings for c in here.cases[0].candidates} == {
        c.system: c.ratings for c in there.cases[0].candidates
    }


@pytest.mark.parametrize("name", ["Story ID", "Complexity"])
def test_a_column_that_hanna_lacks_is_named(read, table, name):
    rows = [{k: v for k, v in row.items() if k != name} for row in STORIES]
    got = read(table(rows), "skip", "hanna")
    assert got.skipped_rows == 6
    assert got.skipped[0] == f"cases.csv:2: no `{name}`"


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ({"Story ID": "x7"}, "not as its authors have it (invalid literal for int"),
        ({"Surprise": "much"}, "not as its authors have it (could not convert string to float"),
        ({"Story": "The river sat."}, "`text` of this candidate is another than in cases.csv:2"),
        ({"Prompt": "A tree talks."}, "`source` of this candidate is another than in cases.csv:2"),
    ],
)
def test_hanna_cells_that_are_refused(read, table, cells, problem):
    first = story(3, "HINT", "The river ran.", (1,) * 6)
    got = read(table([first, first | cells]), "skip", "hanna")
    assert got.skipped[0].startswith(f"cases.csv:4: {problem}")  # one before spans two lines
    assert got.cases[0].candidates[0].raters["relevance"] == (1.0,)


def test_two_prompts_under_one_number_contradict_each_other(read, table):
    rows = [story(3, "HINT", "a", (1,) * 6), story(99, "GPT", "b", (1,) * 6, Prompt="Other.")]
    got = read(table(rows), "skip", "hanna")
    assert got.skipped == (
        "cases.csv:4: `source` of document 'hanna-03' is another than in cases.csv:2",
    )


def test_empty_cells_are_absent_ratings(read, table):
    rows = [story(3, "HINT", "a", (1, 2, 3, 4, 5, rating)) for rating in ("", "nan", 4)]
    got = read(table(rows), form="hanna")
    assert got.cases[0].candidates[0].raters["complexity"] == (nan, nan, 4.0)
    assert got.absent_ratings == 2


def rated(system, summary, ratings, **cells):
    return {
        "ArticleID": "2140",
        "System": system,
        "ArticleText": "It rained &amp; rained.</p><p>The river&#x27;s up.<br/>So 1 &lt; 2.",
        "SystemSummary": summary,
        "ArticleTitle": "A flood",
        **{f"{axis}Rating": r for axis, r in zip(NEWS_AXES, ratings, strict=True)},
    } | cells


NEWS = [
    rated("lede3", "<p>It rained &quot;hard&quot;.</p>", (4, 5, 3, 4)),
    rated("textrank", "The river .", (1, 2, 1, 1)),
    rated("lede3", "<p>It rained &quot;hard&quot;.</p>", (2, 5, 3, 4)),
    rated("lede3", "<p>It rained &quot;hard&quot;.</p>", (3, 5, 4, 4)),
]


def test_newsroom(read, table):
    raters = {
        "coherence": (4.0, 2.0, 3.0),
        "fluency": (5.0, 5.0, 5.0),
        "informativeness": (3.0, 3.0, 4.0),
        "relevance": (4.0, 4.0, 4.0),
    }
    means = {"coherence": 3.0, "fluency": 5.0, "informativeness": 10 / 3, "relevance": 4.0}
    low = {"coherence": 1.0, "fluency": 2.0, "informativeness": 1.0, "relevance": 1.0}
    assert read(table(NEWS), form="newsroom").cases == [
        Case(
            Document("2140", "It rained & rained.\n\nThe river's up.\nSo 1 < 2."),
            (
                Candidate("lede3", 'It rained "hard".', means, raters),
                Candidate("textrank", "The river .", low, {a: (r,) for a, r in low.items()}),
            ),
        )
    ]


@pytest.mark.parametrize(
    "name",
    ["ArticleID", "RelevanceRating"],
)
def test_a_column_that_newsroom_lacks_is_named(read, table, name):
    rows = [{k: v for k, v in row.items() if k != name} for row in NEWS]
    got = read(table(rows), "skip", "newsroom")
    assert (got.skipped_rows, got.skipped[0]) == (4, f"cases.csv:2: no `{name}`")


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("a</p>\n<p>b", "a\n\nb"),
        ("a </p><p></p> <p> b", "a\n\nb"),
        ("<P>a</P>", "a"),
        ("a&lt;/p&gt;&lt;p&gt;b", "a\n\nb"),
        ("a <br> b<BR />c", "a\nb\nc"),
        ("1 &lt; 2 <unk> [UNK]", "1 < 2 <unk> [UNK]"),
        ("<pre> is kept", "<pre> is kept"),
        ("", ""),
    ],
)
def test_html_becomes_text(read, table, shown, text):
    got = read(table([rated("A", shown, (1, 1, 1, 1))]), form="newsroom")
    assert got.cases[0].candidates[0].text == text
