"""Tables on a terminal: whatever the names are, 100 columns and every figure whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.report.screen import counts_on, on_screen, wrapped
from evaljudge.sections import Named, Table
from evaljudge.text import columns

pytestmark = pytest.mark.usefixtures("hundred_columns")

WORDS = st.text(max_size=60)
FIGURES = st.sampled_from(["–", "0.123", "-0.440 [-0.610, -0.350]†", "1,234,567"])
LISTS = st.lists(st.builds(Named, WORDS, st.sampled_from(["", "p 0.012"])), min_size=1, max_size=6)
ROWS = st.lists(st.tuples(WORDS, LISTS, FIGURES, FIGURES, FIGURES, FIGURES), max_size=5)


@given(ROWS, st.tuples(*[WORDS] * 6))
def test_fits_and_shows_every_figure(
    rows: list[tuple[str, list[Named], str, str, str, str]], heads: tuple[str, ...]
) -> None:
    shown = on_screen(Table("", heads, rows, "llrrrr", lead=2))
    lines = shown.split("\n")
    assert max(map(columns, lines)) <= 100
    parts = shown.count("\n\n") + 1
    assert len(lines) == parts * (1 + len(rows)) + (parts - 1)
    for figure in ("0.123", "-0.440 [-0.610, -0.350]†", "1,234,567"):
        if not any(figure in word for row in rows for word in (row[0], *(n.name for n in row[1]))):
            assert shown.count(figure) >= sum(row[2:].count(figure) for row in rows)


def test_what_fits_is_shown_whole() -> None:
    names = [Named("chrF", "p 0.012"), Named("BLEU")]
    table = Table("", ["axis", "told", "n"], [["fluency", names, "100"]], "llr")
    assert on_screen(table) == (
        "axis     told                  n\nfluency  chrF (p 0.012); BLEU  100"
    )


def test_a_long_list_is_counted_on() -> None:
    names = [Named(f"scorer number {n}") for n in range(10)]
    line = on_screen(Table("", ["axis", "told"], [["fluency", names]], "ll")).split("\n")[1]
    assert line == (
        "fluency  scorer number 0; scorer number 1; scorer number 2; scorer number 3; "
        "scorer number 4 +5"
    )


def test_the_first_name_gives_way_and_its_figure_stays() -> None:
    names = [Named("x" * 30, "p 0.012"), Named("y" * 30)]
    rows = [["a" * 200, names, "0" * 60]]
    line = on_screen(Table("", ["a", "b", "c"], rows, "llr")).split("\n")[1]
    assert line.endswith(f"… (p 0.012) +1  {'0' * 60}")
    assert columns(line) == 100


def test_wrapped_at_100_columns() -> None:
    assert list(map(len, wrapped("word " * 30).split("\n"))) == [99, 49]


def test_output_that_goes_to_a_file_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    names = [Named(f"scorer number {n} of quite a long name") for n in range(10)]
    table = Table("", ["axis", "told", "a head that is long enough"], [["x", names, "1"]], "llr")
    line = on_screen(table).split("\n")[1]
    assert line.endswith("scorer number 9 of quite a long name  1")
    assert not counts_on(table) and "…" not in on_screen(table)
    assert wrapped("word " * 60) == "word " * 60


def test_a_terminal_has_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [Named(f"scorer number {n}") for n in range(10)]
    table = Table("", ["axis", "told"], [["fluency", names]], "ll")
    monkeypatch.setenv("COLUMNS", "200")
    assert not counts_on(table) and on_screen(table).endswith("scorer number 9")
    monkeypatch.setenv("COLUMNS", "80")
    assert counts_on(table) and max(map(len, on_screen(table).split("\n"))) <= 80
    assert max(map(len, wrapped("word " * 60).split("\n"))) <= 80
