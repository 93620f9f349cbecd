"""A text's sentences: their places, and the heading that each is under.

    Imaging:                                         (a heading is no sentence)
    - Dr. J. Doe saw a CT at 9 a.m. It was normal.
    Medications: aspirin 100 mg

    Sentence(11, 40, "Dr. J. Doe saw a CT at 9 a.m.", "Imaging")
    Sentence(41, 55, "It was normal.", "Imaging")
    Sentence(69, 83, "aspirin 100 mg", "Medications")

A sentence ends
- with its line, which is an item; a bullet before it is not part of the sentence;
- at `.`, `!`, `?` or `…` before white space, together with closing quotes and brackets, unless a
  lower-case letter follows or the stop belongs to a title (`Mr.`), another abbreviation (`No. 4`)
  or an initial;
- at a stop that is alone between spaces, as in tokenised texts, whatever follows;
- at the stops of other scripts (`。`, `؟`, `।`), with or without white space after them.

In a text without capitals, a lower-case letter may begin a sentence. After `U.S.` or `Inc.` a
sentence ends only where a word follows that often begins one (`The`). The rules are wrong at
abbreviations that they do not know (before a capital), and where a paragraph was broken into lines.

Headings are lines of their own: `## Imaging`, `**Imaging**`, `Imaging:` or `IMAGING` (not where all
lines are in capitals). Labels (`Medications: …`) are headings where the text has two such lines. In
a list, only `- Imaging:` is a heading. A text of one line has none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evaljudge.settings import yaml_beside


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is the text from `start` to `end`; `heading` is "" where there is none above it."""

    start: int
    end: int
    text: str
    heading: str


_WORD = re.compile(r"[^\W_]")

_STOPS = ".!?…"
_WIDE_STOPS = "。！？｡।॥؟۔።។။։"
_CLOSERS = r"\"'`“”‘’«»‹›)\]}*_」』】》）"
_WIDE_CLOSERS = r"\"'”’»)\]}*_」』】》）"  # without white space before it, `“` opens what follows
# All possessive (but the group, where Python 3.11.2 is wrong, and after which nothing can fail),
# and a run is matched from its head only, so that any text is read in linear time.
_STOP = re.compile(
    rf"[{_WIDE_STOPS}][{_WIDE_STOPS}{_STOPS}]*+[{_WIDE_CLOSERS}]*+"
    rf"|(?<![{_STOPS}])[{_STOPS}]++[{_CLOSERS}]*+(?!\S)"
    rf"(?:\s++(?:[{_STOPS}]++[{_CLOSERS}]*+|[)\]}}”]++|''|-r[rsc]b-)(?!\S))*"
)
_FOLLOWING = re.compile(rf"[^\w{_STOPS}{_WIDE_STOPS}]*+_*+([^\W_])")
_LONE_QUOTE = re.compile(r"(?<!\S)(?:``|''|[\"'`’])(?!\S)")
_QUOTE_BEHIND = re.compile(r"\s++(?:``|[\"'’])(?!\S)")

_WORD_BEFORE = re.compile(r"(?<![\w.'’])[^\W_](?:[\w.]*\w)?\s?$")
_LONGEST_ABBREVIATION = 12
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_ENUMERATOR = re.compile(r"\W*(?:\d{1,3}|[^\W\d_])\s?")
_LONGEST_ENUMERATOR = 8
_WORDS: Mapping[str, str] = yaml_beside(__file__, "words.yaml")
_NEVER_LAST, _BEFORE_NUMBERS, _SOMETIMES_LAST = (
    frozenset(_WORDS[kind].split()) for kind in ("never last", "before numbers", "sometimes last")
)
_BEGINNER = re.compile(rf"(?:{'|'.join(_WORDS['beginners'].split())})(?=[\s,'’])", re.IGNORECASE)

_BULLET = re.compile(r"\s*+((?:(?:[-–—*•‣◦▪●·>]|\(?\d{1,2}[.)])\s++)*+)")
_LONGEST_HEADING = 100
_HEADING_WORDS, _LABEL_WORDS = 8, 5
_MARKS = "#*_:： \t"
_HASHED = re.compile(r"#{1,6}\s")
_BOLD = re.compile(r"(\*\*|__).*\1\s*[:：]?")
_LABEL = re.compile(
    r"(?:\*\*|__)?([^\W\d_][^:：.!?,;\"“”]{0,60}?)\s?"
    r"(?:(?:\*\*|__)?:(?:\*\*|__)?(?=\s)|(?:\*\*|__)?：(?:\*\*|__)?)"
)


def sentences(text: str) -> list[Sentence]:
    """The text's sentences in order; none in a text without a letter or digit."""
    passages, heading, uncased = [], "", _is_uncased(text)
    for line_start, line_end, opened in _lines(text):
        heading = opened or heading
        for start, end in _spans(text, line_start, line_end, uncased):
            passages.append(Sentence(start, end, text[start:end], heading))
    return passages


def running_sentences(text: str) -> list[str]:
    """Those of a text without headings and items, whose line breaks are spaces."""
    line = " ".join(text.split())
    return [line[start:end] for start, end in _spans(line, uncased=_is_uncased(line))]


def _is_uncased(text: str) -> bool:
    is_tokenised = re.search(r"(?<!\S)\.(?!\S)", text)  # its sentences show without capitals
    return text.islower() and not is_tokenised


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    """The place of each line, after its bullet and its label, and the heading that it opens."""
    items = list(_items(text))
    in_capitals = all(text[start:end].isupper() for start, end, _ in items)
    titles = [_title(text[a:b], bullet, not in_capitals) for a, b, bullet in items]
    labels = [None if bullet else _label(text, a, b) for a, b, bullet in items]
    headed = sum(bool(title or label) for title, label in zip(titles, labels, strict=True)) > 1
    for (start, end, _), title, label in zip(items, titles, labels, strict=True):
        if title and len(items) > 1:
            yield end, end, title
        elif label and headed:
            yield label.end(), end, label[1].strip(_MARKS)
        else:
            yield start, end, ""


def _items(text: str) -> Iterator[tuple[int, int, str]]:
    """Each line with words after its bullet: where these start and end, and the bullet."""
    at = 0
    for line in text.splitlines(keepends=True):
        end = at + len(line.rstrip())
        bullet = _BULLET.match(text, at, end)
        if bullet and _WORD.search(text, bullet.end(), end):
            yield bullet.end(), end, bullet[1]
        at += len(line)


def _title(line: str, bullet: str, may_be_in_capitals: bool) -> str:
    """The heading, where the whole line is one; otherwise empty."""
    if len(line) > _LONGEST_HEADING or not _looks_like_title(line, bullet, may_be_in_capitals):
        return ""
    name = line.strip(_MARKS)
    name = name[_BULLET.match(name).end() :].strip()  # type: ignore[union-attr]  # always matches
    closed = not _WORD.search(name) or name[-1] in ".!…。！।۔"
    return "" if closed or len(list(_spans(name))) > 1 else name


def _looks_like_title(line: str, bullet: str, may_be_in_capitals: bool) -> bool:
    few = len(line.strip(_MARKS).split()) <= _HEADING_WORDS
    if few and line.rstrip("*_ \t").endswith((":", "：")):
        return True
    has_figures = re.search(r"\d", line)  # `BP 120/80` is a finding
    capitals = may_be_in_capitals and line.isupper() and len(line) > 1 and not has_figures
    marked = _HASHED.match(line) or (few and (capitals or _BOLD.fullmatch(line)))
    return not bullet and bool(marked)


def _label(text: str, start: int, end: int) -> re.Match[str] | None:
    label = _LABEL.match(text, start, end)
    if not label or label[1][0].islower() or len(label[1].split()) > _LABEL_WORDS:
        return None
    return label if _WORD.search(text, label.end(), end) else None


def _spans(
    text: str, start: int = 0, end: int | None = None, uncased: bool = False
) -> Iterator[tuple[int, int]]:
    """The sentences of one line."""
    end = len(text) if end is None else end
    for stop in _STOP.finditer(text, start, end):
        if _ends(text, start, stop, end, uncased):
            cut = _behind_closing_quote(text, start, stop, end)
            yield from _trimmed(text, start, cut)
            start = cut
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if _WORD.search(piece):
        yield end - len(piece.lstrip()), start + len(piece.rstrip())


def _ends(text: str, start: int, stop: re.Match[str], end: int, uncased: bool) -> bool:
    """Whether the sentence that began at `start` ends at this stop."""
    at = stop.start()
    following = _FOLLOWING.match(text, stop.end(), end)
    if text[at] in _WIDE_STOPS or not following:
        return True
    marks = "".join(sign for sign in stop[0] if sign in _STOPS)
    trails_off = set(marks) <= {".", "…"} and marks != "."
    alone = at == start or text[at - 1].isspace()
    if following[1].islower() and (trails_off or not (alone or uncased)):
        return False
    return marks != "." or not _abbreviates(text, start, at, following, alone)


def _abbreviates(text: str, start: int, at: int, following: re.Match[str], alone: bool) -> bool:
    """Whether the point at `at` belongs to the word, number or letter before it."""
    if at - start <= _LONGEST_ENUMERATOR and _ENUMERATOR.fullmatch(text, start, at):
        return True
    before = _WORD_BEFORE.search(text, max(start, at - _LONGEST_ABBREVIATION), at)
    word = before[0].strip().lower() if before else ""
    if word in _NEVER_LAST or alone:
        return word in _NEVER_LAST
    if word in _BEFORE_NUMBERS:
        return following[1].isdigit()
    if word in _SOMETIMES_LAST or _INITIALS.fullmatch(word):
        return following[1].islower() or not _BEGINNER.match(text, following.start(1))
    return False


def _behind_closing_quote(text: str, start: int, stop: re.Match[str], end: int) -> int:
    """In `' go . ' he left`, a quote between spaces closes one that was opened since `start`."""
    quote = _QUOTE_BEHIND.match(text, stop.end(), end)
    opened = quote and len(_LONE_QUOTE.findall(text, start, stop.end())) % 2
    return quote.end() if quote and opened else stop.end()


_QUOTES, _DASHES = "\"'`´‘’‚‛“”„‟′″«»‹›", r"\-‐‑‒–—―−"
_TOKEN = re.compile(rf"(\s+)|([{_QUOTES}]+)|([{_DASHES}]+)|[^\s{_QUOTES}{_DASHES}]+")
_RUNS = {1: r"\s++", 2: rf"(?<![{_QUOTES}])[{_QUOTES}]++", 3: rf"(?<![{_DASHES}])[{_DASHES}]++"}
_SPACED_SCRIPTS = "0-9a-zß-öø-ɏͰ-ԯḀ-ỿ"  # Latin, Greek, Cyrillic: no word starts inside another


def find(words: str, sentence_start: int, sentence_end: int, text: str) -> tuple[int, int] | None:
    """The first place of the words, ignoring case, white space and the kind of quotes and dashes.

    `He – "late"` is found in `but he -- ''late'' again`; `art` is not found in `party`.
    """
    if not _WORD.search(words):
        return None
    pattern, sentence = _pattern(words.strip()), text[sentence_start:sentence_end]
    match = re.search(pattern, sentence, re.IGNORECASE)
    return match and (sentence_start + match.start(), sentence_start + match.end())


def _pattern(words: str) -> str:
    parts = [_RUNS[t.lastindex] if t.lastindex else re.escape(t[0]) for t in _TOKEN.finditer(words)]
    if re.match(f"[{_SPACED_SCRIPTS}]", words[0], re.IGNORECASE):
        parts.insert(0, f"(?<![{_SPACED_SCRIPTS}])")
    if re.match(f"[{_SPACED_SCRIPTS}]", words[-1], re.IGNORECASE):
        parts.append(f"(?![{_SPACED_SCRIPTS}])")
    return "".join(parts)
