"""Strangers' words as one harmless line: literals, then laws over any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evaljudge.text import columns, fitted, markdown, one_line


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
def test_one_line(text: str, line: str) -> None:
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
def test_markdown(text: str, marked: str) -> None:
    assert markdown(text) == marked


@given(st.text(max_size=80))
def test_rendered_markdown_is_the_line_and_nothing_else(text: str) -> None:
    """An independent CommonMark renderer reads one paragraph that says the line."""
    line = one_line(text)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown(text))
    inline = [token for token in tokens if token.type == "inline"]
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    children = [child for token in inline for child in token.children or []]
    assert {child.type for child in children} <= {"text"}
    assert "".join(child.content for child in children).strip() == line


@given(st.text(), st.integers(1, 40))
def test_fitted_fills_exactly_its_width(text: str, width: int) -> None:
    assert columns(fitted(one_line(text), width)) == width


def test_wide_and_combining_characters_take_their_columns() -> None:
    assert columns("雨a\u0301") == 3
    assert fitted("雨雨雨", 4) == "雨… "


def test_names_of_one_family_stay_apart() -> None:
    names = [f"qwen3-8b-instruct-synthetic-{n}-levels" for n in ("five", "nine")]
    assert [fitted(name, 20) for name in names] == ["qwen3-8b-i…ve-levels", "qwen3-8b-i…ne-levels"]
