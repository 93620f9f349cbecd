"""Tables, numbers and strangers' words as text: 100 columns, every figure whole, no harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evaljudge.agreement import Agreement
from evaljudge.report.screen import COUNTED_ON, on_screen, wrapped
from evaljudge.sections import Named, Table
from evaljudge.sections.figures import NONE, bracketed, correlation, estimate, percent, probability
from evaljudge.text import columns, fitted, markdown, one_line

pytestmark = pytest.mark.usefixtures("hundred_columns")

WORDS = st.text(max_size=60)
FIGURES = st.sampled_from(["–", "0.123", "-0.440 [-0.610, -0.350]†", "1,234,567"])
LISTS = st.lists(st.builds(Named, WORDS, st.sampled_from(["", "p 0.012"])), min_size=1, max_size=6)
ROWS = st.lists(st.tuples(WORDS, LISTS, FIGURES, FIGURES, FIGURES, FIGURES), max_size=5)


@given(ROWS, st.tuples(*[WORDS] * 6))
def test_fits_and_shows_every_figure(rows, heads):
    shown = on_screen(Table("", heads, rows, "llrrrr", lead=2))
    lines = shown.split("\n")
    assert max(map(columns, lines)) <= 100
    parts = shown.count("\n\n") + 1
    assert len(lines) == parts * (1 + len(rows)) + (parts - 1)
    for figure in ("0.123", "-0.440 [-0.610, -0.350]†", "1,234,567"):
        if not any(figure in word for row in rows for word in (row[0], *(n.name for n in row[1]))):
            assert shown.count(figure) >= sum(row[2:].count(figure) for row in rows)


def test_lists_are_shown_as_far_as_there_is_room():
    names = [Named("chrF", "p 0.012"), Named("BLEU")]
    table = Table("", ["axis", "told", "n"], [["fluency", names, "100"]], "llr")
    assert on_screen(table) == (
        "axis     told                  n\nfluency  chrF (p 0.012); BLEU  100"
    )
    names = [Named(f"scorer number {n}") for n in range(10)]
    line = on_screen(Table("", ["axis", "told"], [["fluency", names]], "ll")).split("\n")[1]
    assert line == (
        "fluency  scorer number 0; scorer number 1; scorer number 2; scorer number 3; "
        "scorer number 4 +5"
    )
    names = [Named("x" * 30, "p 0.012"), Named("y" * 30)]
    rows = [["a" * 200, names, "0" * 60]]
    line = on_screen(Table("", ["a", "b", "c"], rows, "llr")).split("\n")[1]
    assert line.endswith(f"… (p 0.012) +1  {'0' * 60}")
    assert columns(line) == 100
    assert list(map(len, wrapped("word " * 30).split("\n"))) == [99, 49]


def test_the_width_is_that_of_the_file_or_terminal(monkeypatch):
    monkeypatch.delenv("COLUMNS")
    names = [Named(f"scorer number {n} of quite a long name") for n in range(10)]
    table = Table("", ["axis", "told", "a head that is long enough"], [["x", names, "1"]], "llr")
    line = on_screen(table).split("\n")[1]
    assert line.endswith("scorer number 9 of quite a long name  1")
    assert not COUNTED_ON.search(on_screen(table)) and "…" not in on_screen(table)
    assert wrapped("word " * 60) == "word " * 60
    names = [Named(f"scorer number {n}") for n in range(10)]
    table = Table("", ["axis", "told"], [["fluency", names]], "ll")
    monkeypatch.setenv("COLUMNS", "200")
    assert on_screen(table).endswith("scorer number 9")
    monkeypatch.setenv("COLUMNS", "80")
    assert COUNTED_ON.search(on_screen(table)) and max(map(len, on_screen(table).split("\n"))) <= 80
    assert max(map(len, wrapped("word " * 60).split("\n"))) <= 80


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("BART\n| a |\r\n\u2028b", "BART | a | b"),
        ("\x00\x1b[2J\x07", "␀␛[2J␇"),
        ("\x7f\x9b31m \ud800", "\ufffd\ufffd31m \ufffd"),
        ("a\u202egnp.exe\u2066", "a\ufffdgnp.exe\ufffd"),
        ("\u05e9\u05dc", "\u2068\u05e9\u05dc\u2069"),
        ("x" * 201, "x" * 199 + "…"),
        ("", ""),
    ],
)
def test_one_line(text, line):
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("a|b", r"a\|b"),
        ("a\\|b", r"a\\\|b"),
        ("`a` *b* [c](d) ~e~", r"\`a\` \*b\* \[c\](d) \~e\~"),
        ("key_facts _em_", r"key_facts \_em\_"),
        ("__0__", r"\_\_0\_\_"),
        ("<b> &lt;", "&lt;b&gt; &amp;lt;"),
        ("# a", r"\# a"),
        ("- a", r"\- a"),
        ("12. a", r"12\. a"),
        ("12) a", r"12\) a"),
        ("12 a - b", "12 a - b"),
    ],
)
def test_markdown(text, marked):
    assert markdown(text) == marked


@given(st.text(max_size=80))
def test_rendered_markdown_is_the_line_and_nothing_else(text):
    """An independent CommonMark renderer reads one paragraph that says the line."""
    line = one_line(text)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown(text))
    inline = [token for token in tokens if token.type == "inline"]
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    children = [child for token in inline for child in token.children or []]
    assert {child.type for child in children} <= {"text"}
    assert "".join(child.content for child in children).strip() == line


@given(st.text(), st.integers(1, 40))
def test_fitted_fills_exactly_its_width(text, width):
    assert columns(fitted(one_line(text), width)) == width


def test_wide_characters_and_names_of_one_family():
    assert columns("雨a\u0301") == 3
    assert fitted("雨雨雨", 4) == "雨… "
    names = [f"qwen3-8b-instruct-synthetic-{n}-levels" for n in ("five", "nine")]
    assert [fitted(name, 20) for name in names] == ["qwen3-8b-i…ve-levels", "qwen3-8b-i…ne-levels"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.5139, "0.514"), (1.0, "1.000"), (-0.0004, "0.000"), (-0.0006, "-0.001"), (None, "–")],
)
def test_correlations_have_three_decimals(value, shown):
    assert correlation(value) == shown


def test_an_interval_stands_beside_its_value():
    assert bracketed(0.4405, 0.3104, -0.00001) == "0.441 [0.310, 0.000]"
    assert bracketed(0.44, 0.31, 0.55, sampled=True) == "0.440 [0.310, 0.550]†"
    assert bracketed(0.44, None, None, sampled=True) == "0.440"
    assert bracketed(None, None, None) == "–"


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (None, "–"),
        (0.0, "≤ 0.001"),
        (1 / 1001, "≤ 0.001"),
        (0.0011, "0.001"),
        (0.0494, "0.049"),
        (0.04996, "0.049"),
        (0.05, "0.050"),
        (0.0504, "0.050"),
        (1.0, "1.000"),
    ],
)
def test_a_p_under_five_percent_looks_so(p, shown):
    assert probability(p) == shown


def test_a_share_is_rounded_but_never_up_to_all_or_to_its_floor():
    shares = (14 / 48, 2 / 3, 0.9996, 1.0, 0.0, None)
    assert [*map(percent, shares)] == ["29.2%", "66.7%", "99.9%", "100.0%", "0.0%", NONE]
    assert [percent(0.9497, floor) for floor in (0.95, 0.949)] == ["94.9%", "95.0%"]


@pytest.mark.parametrize(
    ("level", "n", "shown"),
    [
        ("system", 3, "1.000 (only 3 systems)"),
        ("system", 4, "1.000 (only 4 systems)"),
        ("system", 5, "1.000 [0.500, 1.000]"),
        ("sample", 1, "1.000 (only 1 document)"),
        ("sample", 5, "1.000 (only 5 documents)"),
        ("sample", 6, "1.000 [0.500, 1.000]"),
        ("summary", 4, "1.000 (only 4 texts)"),
        ("summary", 5, "1.000 [0.500, 1.000]"),
    ],
)
def test_of_few_units_a_coefficient_says_so(level, n, shown):
    row = Agreement(level, "spearman", 1.0, 0.5, 1.0, n, 0)
    assert estimate(row) == shown


def test_of_few_units_what_is_undefined_stays_so():
    row = Agreement("system", "spearman", None, None, None, 2, 0)
    assert estimate(row) == "–"
