"""Pages of judges' evidence, read as a browser reads them; and words that attack a page."""

import re
from collections import Counter
from html.parser import HTMLParser

from evaljudge.records import Candidate, Document
from evaljudge.report.page import Evidence, PageText, text_html
from evaljudge.sections import View

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</summary></details></td></table></mark></article></section>",
    "שלום \u202egnp.exe\u2066",
    "\x00\x1b[2J\x07\x9b31m\x7f\t\u2028",
    "{{ 7 * 7 }} {% raw %}",
    "a | b | c\n|---|",
]


class Reader(HTMLParser):
    """Elements, attributes, and the words of each element that is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.words: dict[str, list[str]] = {}
        self._open: list[tuple[str, list[str]]] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "link", "input", "br"):
            self._open.append((tag, []))

    def handle_data(self, data: str) -> None:
        for _, words in self._open:
            words.append(data)

    def handle_endtag(self, tag: str) -> None:
        opened, words = self._open.pop()
        assert opened == tag
        self.words.setdefault(tag, []).append(" ".join("".join(words).split()))


def opened(kind: str, view: View, candidate: Candidate) -> str:
    """What the page shows when this text is opened."""
    evidence = [Evidence(kind, "*", view=view)]
    text = PageText(Document("d1", "source"), candidate, [], evidence=evidence)
    return str(text_html(text, "no prompts"))


def assert_harmless(text: str) -> None:
    """Without characters that direct a line or a terminal."""
    assert not any(ord(character) < 32 and character != "\n" for character in text)
    assert not any(character in text for character in "\u202e\u2066\x7f\x9b\u2028")


def assert_nothing_is_added(hostile: str, ordinary: str) -> None:
    """No element and no attribute beside those of an ordinary text, and the words are shown."""
    found, known = Reader(hostile), Reader(ordinary)
    assert set(found.elements) <= set(known.elements)
    assert found.attributes <= known.attributes
    assert_harmless(hostile)
    assert not re.search(r"<(script|img)", hostile)
    assert "&lt;script&gt;" in hostile and "{{ 7 * 7 }} {% raw %}" in hostile
