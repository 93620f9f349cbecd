"""The page: what it shows, that it asks for nothing, and that strangers' words stay words."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from evaljudge.report import Coverage, Findings, page
from evaljudge.report.plain import one_line

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2"),
    *("p", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("ul", "li", "a", "bdi", "small", "code"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "role", "tabindex"),
    *("aria-label", "scope", "href"),
}


class Reader(HTMLParser):
    """What a page holds: its elements, their attributes, and each table's cells by its caption."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.headings: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.scopes: Counter[str] = Counter()
        self.items: list[str] = []
        self._into: list[str] = [""]
        self._rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]
        self.scopes.update(value or "" for name, value in attrs if name == "scope")
        if tag in ("h1", "h2", "caption", "th", "td", "li"):
            self._into.append("")
        elif tag == "tr":
            self._rows.append([])

    def handle_data(self, data: str) -> None:
        self._into[-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h1", "h2"):
            self.headings.append(self._into.pop())
        elif tag == "caption":
            self._rows = self.tables.setdefault(self._into.pop(), [])
        elif tag in ("th", "td"):
            self._rows[-1].append(self._into.pop())
        elif tag == "li":
            self.items.append(self._into.pop())
            self._into[-1] += f"{self.items[-1]};"


def test_headings_in_order_coverage_first(findings: Findings) -> None:
    assert Reader(page(findings)).headings == [
        "first",
        "Coverage",
        "Warnings",
        "Agreement with human ratings",
        "Mean score of each system",
        "Selections",
        "What was asked",
        "How the numbers were made",
    ]


def test_tables_hold_the_findings(findings: Findings) -> None:
    tables = Reader(page(findings)).tables
    assert tables["Scored candidates"] == [
        ["scorer", "axis", "scored", "unscored", "share", "why unscored"],
        ["synthetic", "fluency", "1,597", "3", "99.8%", "empty text × 2;reply truncated × 1;"],
        ["synthetic.level", "fluency", "1,597", "3", "99.8%", "empty text × 3;"],
        ["rouge1", "*", "1,600", "0", "100.0%", ""],
    ]
    assert tables["Summary level: all candidates pooled"] == [
        ["scorer", "axis", "Spearman", "Kendall (tau-b)", "Pearson", "n", "skipped"],
        [
            *("synthetic", "fluency", "0.40 [0.27, 0.51]†", "0.30 [0.17, 0.41]†"),
            *("0.00 [-0.13, 0.11]†", "1,597", "2"),
        ],
    ]
    assert tables["synthetic"] == [
        ["system", "fluency", "coherence"],
        ["BART", "3.92 n 100", "4.10 n 100"],
        ["LEAD-3", "3.20 n 99", "–"],
    ]
    rule = "synthetic.level on fluency: at least 3.5;"
    top = "rouge1 on *: at most 0.9, in the top 10% (at least 0.41);"
    assert tables["Selected candidates"][1] == ["good", rule + top, "1,600", "154", "9.6%", "3"]
    assert tables["Asks and tokens"] == [
        [
            *("stage", "judge", "asks", "prompt", "prefilled", "of prompt", "floor"),
            *("floor / prefilled", "generated"),
        ],
        [
            *("prepare", "synthetic", "500", "400,000", "100,000", "25.0%", "90,000"),
            *("90.0%", "60,000"),
        ],
    ]
    assert tables["Signatures"][1] == ["synthetic", findings.signatures["synthetic"]]


def test_the_floor_is_passed_or_not(findings: Findings) -> None:
    assert '<p class="share passed">99.8% scored: reaches the floor of 95%</p>' in page(findings)
    under = replace(findings, coverage=[Coverage("s", "a", 9, 1, {"x": 1})])
    assert '<p class="share failed">90.0% scored: is under the floor of 95%</p>' in page(under)


def test_nothing_is_loaded_and_nothing_runs(findings: Findings) -> None:
    text = page(findings)
    reader = Reader(text)
    assert "http" not in text.replace("http-equiv", "")
    assert "src=" not in text and "url(" not in text and "@import" not in text
    assert ("content", POLICY) in reader.attributes
    assert [value for name, value in reader.attributes if name == "href"] == [
        "../selected/good.jsonl"
    ]
    assert set(reader.elements) <= ELEMENTS
    assert {name for name, _ in reader.attributes} <= ATTRIBUTES


def test_the_page_can_be_read_aloud(findings: Findings) -> None:
    text = page(findings)
    reader = Reader(text)
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert reader.elements["caption"] == reader.elements["table"] == len(reader.tables) == 8
    assert reader.elements["th"] == reader.scopes["col"] + reader.scopes["row"]
    assert reader.scopes["row"] == sum(len(rows) - 1 for rows in reader.tables.values())


def test_empty_findings_say_what_is_not_there(findings: Findings) -> None:
    nothing: dict[str, Any] = dict.fromkeys(
        ("coverage", "agreement", "systems", "selections", "tokens", "warnings"), ()
    )
    text = page(replace(findings, **nothing, signatures={}, rated=0))
    assert "100.0% scored" in text
    assert "There are no human ratings: nothing to agree with." in text
    assert "No system has a score." in text
    assert "The configuration selects nothing." in text
    assert "No model was asked." in text
    assert "<table" not in text and "Warnings" not in text


def test_asking_without_prefilling_divides_by_nothing(findings: Findings) -> None:
    row = {**findings.tokens[0], "prompt": 0, "prefilled": 0, "floor": 0}
    asked = Reader(page(replace(findings, tokens=[row]))).tables["Asks and tokens"]
    assert asked[1] == ["prepare", "synthetic", "500", "0", "0", "–", "0", "–", "60,000"]


def test_a_hostile_corpus_adds_no_element_and_no_attribute(hostile: Findings) -> None:
    reader = Reader(page(hostile))
    assert set(reader.elements) <= ELEMENTS
    assert {name for name, _ in reader.attributes} <= ATTRIBUTES
    assert [value for name, value in reader.attributes if name == "href"] == [
        "../selected/a.b.jsonl"
    ]
    assert reader.elements["style"] == reader.elements["title"] == 1


def test_a_hostile_corpus_is_shown_as_it_is(hostile: Findings) -> None:
    text = page(hostile)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "{{ 7 * 7 }} {% raw %}" in text
    assert not any(ord(character) < 32 and character != "\n" for character in text)
    assert not any(character in text for character in "\u202e\x7f\x9b")
    reader = Reader(text)
    words = [one_line(word) for word in hostile.warnings]
    assert reader.items[-len(words) - 1 : -1] == words
    assert [row[0] for row in reader.tables["Scored candidates"][1:]] == words
