"""Benchmarks in the form that their authors publish: what is read of a good file."""

import gzip
import json
from math import nan

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.records import Candidate, Case, Document
from tests.corpora.samples import (
    ACU,
    AXES,
    CHOSEN,
    EXPERTS,
    HUMAN,
    NEWS,
    PAPER,
    PROTOCOLS,
    REPORT,
    RESPONSE,
    STORIES,
    TRUE,
    annotations,
    annotator,
    choices,
    hanna,
    newsroom,
    paper_rater,
    rose,
    summeval,
    usr,
)


@pytest.fixture
def whole(tmp_path):
    """Writes one JSON value as a file."""

    def write(value, name="all.json", indent=None):
        (tmp_path / name).write_text(json.dumps(value, indent=indent))
        return tmp_path / name

    return write


# SummEval: paired, unpaired with story files, and unpaired alone

STORY = "River town (WTN)\n\n  The river rose.  \n\nIt rained.\n\n@highlight\n\nA flood came\n"


def summary(system):
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


def news(source, *systems):
    document = Document("dm-test-1a", source, ("A flood came.", "Rain fell."))
    return [Case(document, tuple(map(summary, systems)))]


def test_summeval(read, lines, tmp_path):
    text = "The river rose."
    got = read(lines(summeval(text=text), summeval("M1", text=text)), form="summeval")
    assert got.cases == news(text, "M0", "M1")
    assert (got.rated, got.absent_ratings) == (2, 0)
    assert read(lines(summeval()), form="summeval").cases == news("", "M0")
    path = lines(summeval(text=text))  # no story is needed
    assert read(path, form="summeval", sources=str(tmp_path)).cases == news(text, "M0")
    story = tmp_path / "stories/cnndm/dailymail/stories/1a.story"
    story.parent.mkdir(parents=True)
    story.write_text(STORY)
    path = lines(summeval(), summeval("M1"))
    got = read(path, form="summeval", sources=f"{tmp_path}/stories/")
    assert got.cases == news("River town (WTN) The river rose. It rained.", "M0", "M1")


def test_summeval_s_crowd_workers_and_experts(read, lines):
    got = read(lines(summeval()), form="summeval-turkers").cases[0].candidates[0]
    assert got.raters["coherence"] == (1.0, 2.0, 1.0, 1.0, 1.0)
    assert got.ratings == {"coherence": 1.2, "consistency": 2.2, "fluency": 3.2, "relevance": 4.2}
    rows = [rated("A", 1, 5, 3), rated("B", 3, 4, 3), rated("C", 2, 2, 3), rated("D", 1, 4, 4)]
    (case,) = read(lines(*rows), form="summeval-consistent").cases
    assert [c.system for c in case.candidates] == ["B"]


@pytest.mark.parametrize(("rater", "ratings"), list(enumerate(EXPERTS, start=1)))
def test_one_experts_choice(read, lines, rater, ratings):
    got = read(lines(summeval()), form=f"summeval-expert-{rater}").cases[0].candidates[0]
    assert got.ratings == dict(zip(AXES, map(float, ratings), strict=True))


def rated(system, *ratings, doc_id="dm-test-1a"):
    """By each expert the same on all axes."""
    return summeval(system, id=doc_id, expert_annotations=annotations([(r,) * 4 for r in ratings]))


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
    got = read(lines(summeval()), form="summeval-extremes").cases[0].candidates[0]
    assert got.ratings["average"] == pytest.approx((4 + 5 + 14 / 3 + 10 / 3) / 4)


@pytest.mark.parametrize("form", ["summeval-extremes", "summeval-consistent"])
def test_what_nobody_rated_is_no_extreme(read, lines, form):
    unrated = summeval("M1", expert_annotations=annotations([(None, 1, 1, 1)]))
    (case,) = read(lines(summeval(), unrated), form=form).cases
    assert [c.system for c in case.candidates] == ["M0"]


def test_absent_ratings(read, lines, table):
    given = annotations(EXPERTS)
    given[1]["fluency"] = None
    got = read(lines(summeval(expert_annotations=given)), form="summeval")
    assert got.cases[0].candidates[0].raters["fluency"] == (5.0, nan, 5.0)
    assert got.absent_ratings == 1
    rows = [hanna(3, "HINT", "a", (1, 2, 3, 4, 5, rating)) for rating in ("", "nan", 4)]
    got = read(table(rows), form="hanna")
    assert got.cases[0].candidates[0].raters["complexity"] == (nan, nan, 4.0)
    assert got.absent_ratings == 2


# HANNA and NewsRoom: a row for each rater


def by_raters(system, text, **raters):
    """The candidate with these ratings on each axis, one from each rater."""
    means = {axis: sum(numbers) / len(numbers) for axis, numbers in raters.items()}
    return Candidate(system, text, means, {axis: (*numbers,) for axis, numbers in raters.items()})


def test_hanna(read, table):
    human = by_raters(
        "Human", HUMAN, relevance=(5, 4, 3), coherence=(4, 4, 4), empathy=(3, 3, 3),
        surprise=(2, 2, 2), engagement=(4, 4, 4), complexity=(3, 3, 5),
    )  # fmt: skip
    gpt = by_raters(
        "GPT-2 (tag)", "The river ran.", relevance=(2, 2, 2), coherence=(3, 1, 2),
        empathy=(1, 1, 1), surprise=(1, 1, 1), engagement=(2, 2, 5), complexity=(1, 1, 1),
    )  # fmt: skip
    got = read(table(STORIES), form="hanna")
    assert got.cases == [Case(Document("hanna-01", "A river talks.", (HUMAN,)), (human, gpt))]


def test_newsroom(read, table):
    lede = by_raters(
        "lede3", 'It rained "hard".', coherence=(4, 2, 3), fluency=(5, 5, 5),
        informativeness=(3, 3, 4), relevance=(4, 4, 4),
    )  # fmt: skip
    rank = by_raters(
        "textrank", "The river .", coherence=(1,), fluency=(2,), informativeness=(1,),
        relevance=(1,),
    )  # fmt: skip
    document = Document("2140", "It rained & rained.\n\nThe river's up.\nSo 1 < 2.")
    assert read(table(NEWS), form="newsroom").cases == [Case(document, (lede, rank))]


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
    got = read(table([newsroom("A", shown, (1, 1, 1, 1))]), form="newsroom")
    assert got.cases[0].candidates[0].text == text


# USR and RoSE


@pytest.mark.parametrize(("form", "prefix"), [("topicalchat", "tc"), ("personachat", "pc")])
def test_usr(read, whole, form, prefix):
    """Conversations are named by their place, which a bad one has, too."""
    expected = by_raters(
        "Argmax Decoding", "which one ?", understandability=(1, 1, 0), naturalness=(3, 2, 3),
        coherence=(3, 3, 2), engagingness=(2, 2, 1), groundedness=(0, 0, 1), overall=(4, 3, 5),
    )  # fmt: skip
    got = read(whole([usr(), {}, usr()], indent=2), "skip", form)
    source, fact = "do you like rivers ? \n i do .", "the rhine is a river ."
    assert got.cases == [
        Case(Document(f"{prefix}-{number}", source, (), fact), (expected,))
        for number in ("00", "02")
    ]
    plain, true = (
        read(whole([usr(RESPONSE, TRUE)]), form=name).cases[0]
        for name in (form, f"{form}-references")
    )
    assert (plain.document.references, true.document.references) == ((), ("the rhine is long .",))
    assert true.candidates == plain.candidates


@pytest.mark.parametrize("content", [b"", b"[]", b"\n"])
def test_no_conversations(read, tmp_path, content):
    (tmp_path / "usr.json").write_bytes(content)
    assert read(tmp_path / "usr.json", form="topicalchat").cases == []


def test_rose(read, lines, tmp_path):
    """In Parquet every row has every system."""
    acu = {"acu": 0.5, "normalized_acu": 0.375}
    got = read(lines(rose()), form="rose")
    document = Document("1a2b", "The river rose.", ("A flood came.\nIt rained.",))
    bart = Candidate("bart", "A flood.", PROTOCOLS | acu)
    assert got.cases == [
        Case(document, (Candidate("brio-ext", "Rain.", acu), bart, Candidate("gold", "Water.")))
    ]
    assert (got.rated, got.absent_ratings) == (2, 0)
    other = {"system_outputs": {"t0": "A t0."}, "annotations": {"t0": PROTOCOLS | ACU}}
    rows = [rose(), rose(example_id="3c", **other)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rose.parquet")
    first, second = read(tmp_path / "rose.parquet", form="rose").cases
    assert first.document == document
    assert {c.system: c.text for c in first.candidates} == rows[0]["system_outputs"]
    assert {c.system: c.ratings for c in second.candidates} == {"t0": PROTOCOLS | acu}


# long documents

PAPER_READ = Candidate(
    "BART (LEAD 1K)", " we study rivers. ", {"relevance": 0.375, "factual_consistency": 0.75}
)


def test_long_documents(read, whole, table):
    """Each format takes its part of the list, or of the table."""
    path, expected = whole([PAPER, REPORT]), Case(Document("ID_1603.04792", ""), (PAPER_READ,))
    assert read(path, form="arxiv").cases == [expected]
    assert read(table([PAPER, REPORT]), form="arxiv").cases == [expected]
    (report,) = read(path, form="govreport").cases
    assert (report.document.doc_id, report.candidates[0].text) == ("ID_R45741", "A report.")
    raters = {"a1": paper_rater(0.5, 1.0), "a2": paper_rater(0.25, 0.5), "a3": paper_rater(0.75, 0)}
    got = read(whole([raters]), form="arxiv").cases[0].candidates
    both = {"relevance": (0.5, 0.25, 0.75), "factual_consistency": (1.0, 0.5, 0.0)}
    assert got == (by_raters("BART (LEAD 1K)", " we study rivers. ", **both),)


@pytest.mark.parametrize("doc_id", ["ID_1603.04792", "1603.04792"])
def test_documents_from_elsewhere(read, whole, lines, doc_id):
    other = {"doc_id": "9999.1", "source": "Of no use.", "references": []}
    paper = {"doc_id": doc_id, "source": "Rivers run.", "references": ["Of rivers."]}
    got = read(whole([PAPER]), "skip", "arxiv", str(lines(other, paper, b"{")))
    assert got.cases == [
        Case(Document("ID_1603.04792", "Rivers run.", ("Of rivers.",)), (PAPER_READ,))
    ]
    assert got.skipped == ("cases.jsonl:3: not valid JSON (one object a line)",)


# texts chosen as the best and the worst

T0, GPT3, BRIO = (("t0", "It rained."), ("gpt3", "A flood came."), ("brio", "Rain."))
CHOICES = [
    Case(
        Document("0", "The river rose."),
        tuple(
            by_raters(*text, overall=votes)
            for text, votes in ((T0, (-1, -1, -1)), (GPT3, (1, 1, 0)), (BRIO, (0, 1, 1)))
        ),
    ),
    Case(  # who chose a text as the best and as the worst chose it as neither
        Document("1", "It snowed."),
        tuple(
            by_raters(*text, overall=votes)
            for text, votes in ((T0, (-1, 0, 1)), (GPT3, (0, 1, 0)), (BRIO, (0, -1, -1)))
        ),
    ),
]


def test_choices(read, whole, lines, tmp_path):
    got = read(whole(CHOSEN, indent=4), form="choices")
    assert (got.cases, got.rated, got.absent_ratings) == (CHOICES, 6, 0)
    rows = [{**row, "doc_id": doc_id} for doc_id, row in CHOSEN.items()]
    assert read(lines(*rows), form="choices").cases == CHOICES
    (tmp_path / "bbc_human.json.gz").write_bytes(gzip.compress(json.dumps(CHOSEN).encode()))
    assert read(tmp_path / "bbc_human.json.gz", form="choices").cases == CHOICES
    first, second = read(whole(CHOSEN), form="choices-extremes").cases
    labels = {c.system: c.ratings["best"] for c in first.candidates}
    assert labels == {"t0": 0, "gpt3": 1, "brio": 1}
    assert {c.system: c.ratings["best"] for c in second.candidates} == {"brio": 0}
    assert first.candidates[1].raters["overall"] == (1.0, 1.0, 0.0)


def test_choices_without_a_majority_or_a_worst(read, lines):
    split = choices(annotator("t0", "brio"), annotator("gpt3", "t0"), annotator("brio", "gpt3"))
    half = choices(annotator("t0", "brio"), annotator("gpt3", "t0"), doc_id="b")  # one of two
    clear = choices(annotator("t0", "brio"), doc_id="c")
    got = read(lines(split | {"doc_id": "a"}, half, clear), form="choices-extremes")
    assert [case.document.doc_id for case in got.cases] == ["c"]
    assert [c.ratings["best"] for c in got.cases[0].candidates] == [1, 0]
    row = choices(annotator("t0"), annotator("gpt3"), reference="Water.", doc_id="a")
    (case,) = read(lines(row), form="choices").cases
    assert case.document.references == ("Water.",)
    assert [c.ratings["overall"] for c in case.candidates] == [0.5, 0.5, 0]
