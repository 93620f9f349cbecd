"""A page of a report, read by an HTML parser."""

from collections import Counter
from html.parser import HTMLParser


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
        self.said: list[str] = []
        self._into: list[str] = [""]
        self._rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]
        self.scopes.update(value or "" for name, value in attrs if name == "scope")
        if tag in ("h1", "h2", "caption", "th", "td", "li", "p"):
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
        elif tag == "p":
            self.said.append(self._into.pop())
            self._into[-1] += self.said[-1]
        elif tag == "li":
            self.items.append(self._into.pop())
            self._into[-1] += f"{self.items[-1]};"
