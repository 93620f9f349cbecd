"""Methods x axes in three media: literal text, marks and places, and names that mean harm."""

import re
from typing import NamedTuple

import numpy as np
import pytest
from markdown_it import MarkdownIt

from evaljudge.agreement import (
    Averaged,
    AveragedColumn,
    AveragedMethod,
    AveragedValue,
    Challenger,
    Correlation,
    averaged,
)
from evaljudge.report.study import (
    COMMON,
    PLACES,
    PLACES_ON_SCREEN,
    TESTED,
    methods_section,
    study_markdown,
    study_page,
    study_text,
)
from evaljudge.sections import Placed, Section, Table
from evaljudge.sections.figures import FEW
from evaljudge.text import one_line
from tests.report.findings import PLAIN, WORDS
from tests.report.reader import Reader

pytestmark = pytest.mark.usefixtures("hundred_columns")

DOCUMENTS = 9


class Figure(NamedTuple):
    """A method's in one column; `p_holm`: beside the column's best."""

    value: float | None
    low: float | None = None
    high: float | None = None
    spread: float | None = None
    place: str = ""
    p_holm: float | None = None


def averages(coefficient: Correlation, axes: list[str], rows: dict[str, list[Figure]]) -> Averaged:
    """As the statistics would have found them, all on the same documents."""
    return Averaged(
        coefficient,
        tuple(axes),
        tuple(
            AveragedMethod(name, 1, tuple(
                AveragedValue(f.value, f.low, f.high, DOCUMENTS, f.spread, f.value) for f in row
            ))
            for name, row in rows.items()
        ),
        tuple(
            AveragedColumn(
                axis,
                *(tuple(name for name, row in rows.items() if row[at].place == place)
                  for place in ("best", "second")),
                tuple(
                    Challenger(name, None, row[at].p_holm, row[at].p_holm, DOCUMENTS)
                    for name, row in rows.items()
                ),
                DOCUMENTS,
            )
            for at, axis in enumerate([*axes, None])
        ),
    )  # fmt: skip


TABLE = averages(
    "spearman",
    ["coherence", "fluency"],
    {
        "ours": [
            Figure(0.4371, 0.38, 0.49, place="best"),
            Figure(0.3, 0.25, 0.3549, place="second", p_holm=0.2),
            Figure(0.3686, 0.32, 0.41, place="best"),
        ],
        "sampled": [
            Figure(0.31, 0.25, 0.36, 0.0123, "second", 0.01),
            Figure(0.4, 0.3, 0.5, 0.02, "best"),
            Figure(0.355, 0.3, 0.4, 0.01, "second", 0.0499),
        ],
        "half": [Figure(-0.0001, -0.2, -0.001), Figure(None), Figure(None)],
        "last": [Figure(0.1, 0.0, 0.2, p_holm=0.05), Figure(0.1), Figure(0.1)],
    },
)


def made() -> list[Section]:
    return [methods_section("SummEval", ["Llama judges."], TABLE)]


def test_each_medium_as_it_is_written(snapshot):
    snapshot(study_markdown(made(), ["100 documents"]), "markdown")
    snapshot(study_text(made(), ["100 documents"]), "terminal")
    text = study_page(made(), ["100 documents"])
    places = re.findall(r"<(strong|u)(?: [^>]*)?>([^<]*)<", text)
    snapshot({"tables": Reader(text).tables, "places": places}, "page")


def test_in_short_the_average_alone_is_shown():
    section = methods_section("SummEval", [], TABLE, ["half"])
    cost = Section("Cost", [], [Table("Asks", ["m", "n"], [["a", "1"]], "lr")])
    told = study_text([section, cost], ["100 documents"], full=False)
    lines = [line.split() for line in told.splitlines()]
    assert lines[0] == ["100", "documents"] and "Asks" not in told
    at = lines.index(["method", "average"])
    assert lines[at + 1] == ["ours", "0.369¹", "[0.32,", "0.41]"]
    assert "tie where ratings tie: half." in told
    assert "Asks" in study_text([cost], [], full=False)
    coarse = methods_section("SummEval", [], TABLE, ["ours", "sampled", "half", "last"])
    assert not any("tie where ratings tie" in note for note in coarse.notes)


def test_nothing_is_explained_that_is_not_there():
    rows = {"only": [Figure(0.3, place="best"), Figure(0.3, place="best")]}
    section = methods_section("S", [], averages("kendall", ["fluency"], rows))
    assert section.notes == ["n: all values of a column rest on the same documents: fluency 9."]
    assert section.tables[0].heads == ["method", "fluency"]  # an average of one is that one
    assert section.tables[0].rows == [["only", "0.300"]]
    assert section.tables[0].title == "Kendall (tau-b), sample level"
    section = Section("Cost", ["What it took."], [Table("Asks", ["m", "n"], [["a", "1"]], "lr")])
    for told in (study_markdown([section], []), study_text([section], [])):
        assert PLACES not in told and PLACES_ON_SCREEN not in told and "Asks" in told
    assert PLACES not in study_page([section], [])


def test_5_percent_is_the_line():
    def mark(p_holm: float | None) -> str:
        found = averages("pearson", ["a"], {"m": [Figure(0.1, p_holm=p_holm)] * 2})
        return str(methods_section("", [], found).tables[0].rows[0][1])

    assert [mark(p) for p in (0.0499, 0.05, None)] == ["0.100‡", "0.100", "0.100°"]


def test_takes_what_the_statistics_found():
    defined = AveragedValue(0.4, 0.3, 0.5, 9, 0.01, 0.45)
    less = AveragedValue(0.2, None, None, 8, None)
    nothing = AveragedValue(None, None, None, 0, None)
    found = Averaged(
        coefficient="kendall",
        axes=("fluency", "relevance"),
        methods=(
            AveragedMethod("a", 2, (defined, nothing, nothing)),
            AveragedMethod("b", 1, (less, less, less)),
            AveragedMethod("c", 1, (less, nothing, nothing)),
        ),
        columns=(
            AveragedColumn(
                "fluency", ("a",), ("b", "c"),
                (Challenger("b", 0.2, 0.01, 0.02, 9), Challenger("c", 0.2, None, None, 1)),
                7,
            ),
            AveragedColumn("relevance", ("b",), (), (), 8),
            AveragedColumn(None, ("b",), (), (), 8),
        ),
    )  # fmt: skip
    table, documents = methods_section("S", [], found).tables
    assert table.title == "Kendall (tau-b), sample level"
    assert table.rows == [
        ["a", "0.400 ± 0.010 [0.30, 0.50]", "–", "–"],
        ["b", "0.200‡", "0.200", "0.200"],
        ["c", "0.200°", "–", "–"],
    ]
    places = [[getattr(cell, "place", None) for cell in row[1:]] for row in table.rows]
    assert places == [["best", None, None], ["second", "best", "best"], ["second", None, None]]
    assert documents.heads == [
        "method",
        *("fluency: n", "fluency: on all 7", "relevance: n", "relevance: on all 8"),
        *("average: n", "average: on all 8"),
    ]
    assert documents.rows == [
        ["a", "9", "0.450", "0", "–", "0", "–"],
        ["b", "8", "–", "8", "–", "8", "–"],
        ["c", "8", "–", "0", "–", "0", "–"],
    ]


def test_from_scores_to_a_table():
    stream = np.random.default_rng(0)
    documents, systems = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    human = {axis: stream.normal(size=200) for axis in ("coherence", "fluency")}
    methods = {
        name: {axis: column + noise * stream.normal(size=200) for axis, column in human.items()}
        for name, noise in (("noisy", 5.0), ("near", 0.5))
    }
    found = averaged(documents, systems, methods, human)
    section = methods_section("World", [], found)
    noisy, near = section.tables[0].rows
    assert [getattr(cell, "place", None) for cell in near[1:]] == ["best"] * 3
    assert [getattr(cell, "place", None) for cell in noisy[1:]] == ["second"] * 3
    assert [str(cell)[-1] for cell in noisy[1:]] == ["‡"] * 3
    assert near[3] == "{:.3f} [{:.2f}, {:.2f}]".format(
        *((one := found.methods[1].columns[2]).value, one.low, one.high)
    )


def sections_of(words: list[str]) -> list[Section]:
    """Methods, axes, titles and sentences named so."""
    figures = [Figure(0.3, 0.2, 0.4, 0.01, "second", 0.01)] * (len(words) + 1)
    table = averages("spearman", words, dict.fromkeys(words, figures))
    return [methods_section(word, words, table) for word in words]


def test_no_name_adds_to_markdown_or_page():
    parser = MarkdownIt("commonmark").enable("table")
    hostile, plain = (study_markdown(sections_of(words), words) for words in (WORDS, PLAIN))
    tokens = parser.parse(hostile)
    assert [token.type for token in tokens] == [token.type for token in parser.parse(plain)]
    inline = [child for token in tokens for child in token.children or []]
    assert {child.type for child in inline} == {"text", "html_inline"}
    assert {c.content for c in inline if c.type == "html_inline"} == {"<ins>", "</ins>"}
    hostile, plain = (study_page(sections_of(words), words) for words in (WORDS, PLAIN))
    reader, ordinary = Reader(hostile), Reader(plain)
    assert reader.elements == ordinary.elements
    assert {name for name, _ in reader.attributes} == {name for name, _ in ordinary.attributes}
    heads = reader.tables["Spearman, sample level"][0]
    assert heads == ["method", *map(one_line, WORDS), "average"]
    for text in (study_markdown(sections_of(WORDS), WORDS), hostile):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\x9b\u202e]", text)


def compared(methods: dict[str, list[float]], documents: int) -> Section:
    """Of five candidates a document, whom people rank 0 to 4; NaN: unscored."""
    ids, systems = np.repeat(np.arange(documents), 5), np.tile(np.arange(5), documents)
    given = {name: {"fluency": scores} for name, scores in methods.items()}
    human = {"fluency": systems.astype(float)}
    found = averaged(ids, systems, given, human)
    return methods_section("World", [], found)


UP, SWAPPED = [0.0, 1, 2, 3, 4], [0.0, 1, 2, 4, 3]


def test_few_and_different_documents_are_said():
    """`easy` is undefined where the other fails: on what both have, they are alike."""
    all_of_them, easy = UP * 6 + SWAPPED * 2, UP * 6 + [np.nan] * 10
    section = compared({"all": all_of_them, "easy": easy}, 8)
    table, documents = section.tables
    assert str(table.rows[0][1]).startswith("0.975 ")
    assert documents.heads == ["method", "fluency: n", "fluency: on all 6"]
    assert documents.rows == [["all", "8", "1.000"], ["easy", "6", "1.000"]]
    assert COMMON in section.notes
    section = compared({"a": UP * 3, "b": SWAPPED * 3}, 3)
    assert [row[1] for row in section.tables[0].rows] == [
        "1.000 (only 3 documents)", "0.900 (only 3 documents)"
    ]  # fmt: skip
    assert not any(isinstance(row[1], Placed) for row in section.tables[0].rows)
    assert FEW in section.notes
    assert TESTED not in section.notes
