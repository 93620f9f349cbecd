"""The page: what it shows, that it asks for nothing, and that strangers' words stay words."""

import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

import evaljudge
from evaljudge.analysis.findings import Coverage
from evaljudge.records import Candidate, Document
from evaljudge.report import first
from evaljudge.report.page import LARGEST, PageText, page
from evaljudge.text import one_line
from tests.frames import replaced
from tests.report.findings import PLAIN, made_of
from tests.report.reader import Reader

POLICY = re.compile(
    r"default-src 'none'; style-src '(sha256-[\w+/]{43}=)'; script-src '(sha256-[\w+/]{43}=)'; "
    r"img-src data:; base-uri 'none'; form-action 'none'"
)
ELEMENTS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "main",
        "section",
        "h1",
        "h2",
        "h3",
    ),
    *("nav", "strong", "script", "link", "details", "summary", "button"),
    *("p", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("ul", "li", "a", "bdi", "small", "code"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "role", "tabindex"),
    *("aria-label", "scope", "href", "id", "type", "rel", "title"),
}


def elsewhere(reader: Reader) -> list[str]:
    """Links that lead out of the page."""
    links = (value for name, value in reader.attributes if name == "href")
    return [link for link in links if not link.startswith("#") and link != "data:,"]


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def test_headings_and_tables_hold_the_findings(with_statistics, snapshot):
    reader = Reader(page(with_statistics))
    told = {"headings": reader.headings, "said": reader.said, "tables": reader.tables}
    snapshot(told)


def test_the_head_and_the_title_say_when_the_run_was(findings):
    text = page(findings)
    when = "2026-11-27 22:36 to 2026-11-28 02:54 UTC"
    assert f"<title>first, {when} – evaljudge report</title>" in text
    assert f"<bdi>{when}</bdi></p>\n</header>" in text
    assert replace(findings, ended="2026-11-27T22:54:24Z").when == "2026-11-27 22:36 to 22:54 UTC"
    assert replace(findings, begun="").when == ""


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("مرحبا بكم. The river rose after two days of rain.", "ltr"),
        ("The مرحبا بكم في المدينة القديمة", "rtl"),
        ("שלום (2026)", "rtl"),
        ("123 – 雨", "ltr"),
    ],
)
def test_most_letters_of_a_text_give_its_direction(findings, text, way):
    shown = page(findings, [PageText(Document("d", text), Candidate("A", text), [])])
    assert shown.count(f'dir="{way}">{text}') == 2  # the text and its source


def test_floors_and_divisions(findings):
    assert '<p class="share passed">99.9% scored: reaches the floor of 95%</p>' in page(findings)
    under = replaced(findings, coverage=[Coverage("s", "a", 9, 1, {"x": 1})])
    assert '<p class="share failed">90.0% scored: is under the floor of 95%</p>' in page(under)
    row = {**findings.tokens[0], "prompt": 0, "prefilled": 0, "floor": 0}
    asked = Reader(page(replace(findings, tokens=[row]))).tables["Asks and tokens"]
    assert asked[1] == ["prepare", "synthetic", "500", "0", "0", "–", "0", "–", "60,000"]


def test_nothing_is_loaded_and_only_its_own_script_runs(findings):
    text = page(findings)
    reader = Reader(text)
    assert "http" not in text.replace("http-equiv", "")
    assert "src=" not in text and "url(" not in text and "@import" not in text
    (policy,) = filter(None, (POLICY.fullmatch(value) for _, value in reader.attributes))
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    script = text[text.rindex("<script>") + 8 : text.rindex("</script>")]
    assert list(policy.groups()) == [_digest(style), _digest(script)]
    assert elsewhere(reader) == ["../selected/good.jsonl"]
    assert set(reader.elements) <= ELEMENTS
    assert {name for name, _ in reader.attributes} <= ATTRIBUTES


def test_empty_findings_say_what_is_not_there(findings):
    nothing: dict[str, Any] = dict.fromkeys(
        ("coverage", "agreement", "selections", "tokens", "warnings"), ()
    )
    text = page(replaced(findings, **nothing, signatures={}, rated=0))
    assert "100.0% scored" in text
    assert "There are no human ratings: nothing to agree with." in text
    assert "The configuration selects nothing." in text
    assert "No model was asked." in text
    assert "<table" not in text and "Warnings" not in text


def test_the_page_can_be_read_aloud(with_statistics):
    text = page(with_statistics)
    reader = Reader(text)
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert reader.elements["caption"] == reader.elements["table"]
    assert reader.elements["th"] == reader.scopes["col"] + reader.scopes["row"]
    assert reader.scopes["row"] == reader.elements["tr"] - reader.elements["table"]


def test_a_hostile_corpus_is_shown_as_it_is_and_adds_nothing(hostile):
    reader, plain = Reader(page(hostile)), Reader(page(made_of(PLAIN)))
    assert reader.elements - Counter(["code"]) == plain.elements
    assert {name for name, _ in reader.attributes} == {name for name, _ in plain.attributes}
    assert elsewhere(reader) == ["../selected/a.b.jsonl"]
    text = page(hostile)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "{{ 7 * 7 }} {% raw %}" in text
    assert not any(ord(character) < 32 and character != "\n" for character in text)
    assert not any(character in text for character in "\u202e\x7f\x9b")
    reader = Reader(text)
    words = [one_line(word) for word in hostile.warnings]
    said = [word.replace("`", "").replace("a | b", "A | b") for word in words]
    assert any(reader.items[at : at + len(said)] == said for at in range(len(reader.items)))
    assert [row[0] for row in reader.tables["Scored texts"][1:]] == words


@pytest.mark.parametrize(
    ("warning", "shown"),
    [
        ("model `nano <i>` is small", "Model <code>nano &lt;i&gt;</code> is small"),
        ("`levels` is large", "<code>levels</code> is large"),
        ("synthetic: try `levels`", "synthetic: try <code>levels</code>"),
        ("geval on fluency: equal", "geval on fluency: equal"),
        ("a mark ` alone", "A mark ` alone"),
    ],
)
def test_a_warning_is_a_sentence(findings, warning, shown):
    text = page(replace(findings, warnings=[warning]))
    assert text.count(f"<bdi>{shown}</bdi>") == 2


def test_a_text_that_is_the_reference_is_not_said_to_be_missing(findings):
    rows = [Coverage("a", "*", 9, 1, {"is the reference": 1}), Coverage("b", "*", 10, 0, {})]
    text = page(replaced(findings, coverage=rows))
    assert "No score of 19 is missing. 1 more is not expected," in text
    assert "the share at the top leaves out these (1)" in text
    rows = [Coverage("a", "*", 8, 2, {"is the reference": 1, "empty text": 1})]
    assert "1 score of 9 is missing. 1 more is" in page(replaced(findings, coverage=rows))
    text = page(replaced(findings, coverage=[Coverage("a", "*", 8, 2, {"empty text": 2})]))
    assert "2 scores of 10 are missing.</p>" in text and "leaves out" not in text


def test_a_page_of_large_texts_stays_under_its_limit_and_keeps_the_most_telling(findings):
    texts = [
        PageText(Document(f"d{n}", f"{n} " * 150_000), Candidate("A", "words"), [])
        for n in range(30)
    ]
    telling = [(f"d{n}", "A") for n in (17, 3, *set(range(30)) - {17, 3})]
    made = page(replace(findings, telling=telling), texts)
    assert 4_000_000 < len(made.encode()) <= LARGEST
    shown = re.findall(r'"doc":\[([^\]]+)\]', made)[0].replace('"', "").split(",")
    assert {"d17", "d3"} <= set(shown) < {f"d{n}" for n in range(30)}
    assert shown == sorted(shown, key=lambda name: int(name[1:]))


def test_without_a_judge_each_rated_axis_has_the_scorer_that_agrees_best(tmp_path):
    """On fluency longer texts are rated higher; on relevance, those that repeat the reference."""
    rows = [
        {"doc_id": f"d{n}", "source": f"River {n} rose and the town was cut off.",
         "references": [f"River {n} rose and fell."],
         "candidates": [
             {"system": "long", "text": f"Of {n} " * (20 + n),
              "ratings": {"fluency": 5, "relevance": 1}},
             {"system": "middle", "text": f"River {n} sank and stayed low for a while",
              "ratings": {"fluency": 3, "relevance": 3}},
             {"system": "short", "text": f"River {n} rose",
              "ratings": {"fluency": 1, "relevance": 5}}]}
        for n in range(12)
    ]  # fmt: skip
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = evaljudge.run({
        "corpus": str(tmp_path / "c.jsonl"), "out": str(tmp_path / "run"), "judges": {},
        "metrics": ["words", "rouge1"], "workers": {"executor": "local"},
        "agreement": {"resamples": 50},
    }).findings  # fmt: skip
    page = (tmp_path / "run/report/index.html").read_text()
    assert "by metrics alone" in page and "evaljudge prompts" not in page
    of = {one.axis: one for one in first.answers(found)}
    assert {axis: one.scorer for axis, one in of.items()} == {
        "fluency": "rouge1", "relevance": "rouge1",
    }  # fmt: skip
    assert first.lead(found) == {"scorer": "rouge1", "axis": "*"}
    assert of["fluency"].is_trusted is False
    assert of["fluency"].notes == ["Length alone agrees better: words 1.000 [0.471, 1.000]."]
    trust = of["relevance"].trust
    assert trust.startswith("The highest agreement with people: ")
    assert trust.endswith("widened, as the best of 2 scorers). All others agree less.")
    link = of["fluency"].dots[0]["texts"]
    assert "axis=%2A" in link and link.endswith("people=fluency&sort=low")
