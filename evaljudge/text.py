"""Texts of a corpus as people see them: in one plain line, quoted, or compared.

one_line("BART\\n| a |\\x1b[2J")  ->  "BART | a |␛[2J"
markdown("BART | `a` <b>")       ->  "BART \\\\| \\\\`a\\\\` &lt;b&gt;"
is_selfsame("It said: hello.\\n", "it said hello")  ->  True     (case and punctuation apart)

Names of systems, reasons and paths come from strangers. One line of them can break neither a
table's row nor a terminal, nor change the reading direction of what stands beside it.
"""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import zip_longest

from rich.cells import cell_len

SHORT, LONG = 200, 2000
QUOTED = 60
"""Characters that a message quotes."""
IS_THE_REFERENCE = "is the reference"
NOT_A_NUMBER = "the score is not a number"
CERTAIN = "the first judge was certain"
"""Why the second judge of a cascade was not asked about a text."""
WIDE_ENOUGH = 12  # columns: of less, only the beginning is kept
_CONTROL_PICTURES = 0x2400
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_DIRECTING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LOGIN = re.compile(
    r"(:/+)(?!anonymous@)(?!(?:(?<=abfs:/)|(?<=abfss:/)|(?<=abfs://)|(?<=abfss://))[^:/\s]*@)"
    r"[^/\s]*@"
)
_PARAMETER = re.compile(
    r"(?<=[?&])[^=&\s]*(?:secret|passw|credential|bearer|auth(?!or\b)|(?:key|token|sig|signature)(?==))"
    r"[^=&\s]*=[^&\s]+",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_MARKS = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_OPENING = re.compile(r"^(\d+(?=[.)])|(?=[-+=#]))")  # `1.` opens a list by its point


def one_line(text: str, longest: int = SHORT) -> str:
    """Spaces for line breaks, pictures for controls, at most `longest` characters."""
    if text.isascii() and text.isprintable():  # as most are
        return _cut(" ".join(text.split()), longest)
    shown = _DIRECTING.sub("\ufffd", "".join(map(_visible, text)))
    line = _cut(" ".join(shown.split()), longest)
    return (
        f"{_ISOLATE}{line}{_END_ISOLATE}"
        if any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in line)
        else line
    )


def shortened(text: str, longest: int) -> str:
    """The text on one line, cut in the middle: models' names often begin alike and differ later."""
    line = one_line(text, LONG)
    if len(line) <= longest:
        return line
    head = longest // 3
    return f"{line[:head]}…{line[head + 1 - longest :]}"


def told_apart(names: Iterable[str], longest: int) -> dict[str, str]:
    """Each name shortened. Those that this cuts to the same words begin a little before the first
    place where they differ; they are shown whole where that does not tell them apart."""
    short = {name: shortened(name, longest) for name in names}
    for alike in _same(short):
        lines = [one_line(name, LONG).strip(_ISOLATE + _END_ISOLATE) for name in alike]
        differ = (at for at, here in enumerate(zip_longest(*lines)) if len(set(here)) > 1)
        begin = max(0, next(differ, 0) - longest // 4)
        for name, line in zip(alike, lines, strict=True):
            short[name] = one_line(f"…{line[begin:]}", longest)
    return short | {name: one_line(name, LONG) for alike in _same(short) for name in alike}


def _same(short: Mapping[str, str]) -> list[list[str]]:
    return [
        alike
        for line, times in Counter(short.values()).items()
        if times > 1 and (alike := [name for name in short if short[name] == line])
    ]


def counted(number: int, one: str, many: str) -> str:
    """`1 rating was …`, `2 ratings were …`."""
    return f"{number:,} {one if number == 1 else many}"


def is_encodable(text: str) -> bool:
    """Whether files and paths can hold it: no NUL, no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def without_secrets(text: str) -> str:
    """The text with `…` for secrets: the user and the password of a URI, the values of such
    parameters of a URI as `secret_key`, a token of the hub, a key of AWS.

    No secrets are Google's `anonymous@`, and what stands before the @ of Azure's places, a
    container, where no password follows it. Python's paths have one slash after the colon.
    """
    return _TOKEN.sub("…", _PARAMETER.sub("…", _LOGIN.sub(r"\1…@", text)))


def is_selfsame(text: str, other: str) -> bool:
    """Apart from case, punctuation and white space."""
    return plain_words(text) == plain_words(other)


def plain_words(text: str) -> list[str]:
    """The text without case and punctuation; one that is only punctuation as it stands."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return folded.translate(_punctuation()).split() or text.split()


@cache
def _punctuation() -> Mapping[int, str]:
    """A space for each punctuation mark; a letter's combining marks are none."""
    every = range(sys.maxunicode + 1)
    return {c: " " for c in every if unicodedata.category(chr(c)).startswith("P")}


def is_not_expected(reason: str) -> bool:
    """Whether a score is absent as it should be: the candidate is the reference, or a cascade asks
    no further. A reason of several parts names the part that is (`rouge1: …`)."""
    return any(reason == why or reason.endswith(f": {why}") for why in (IS_THE_REFERENCE, CERTAIN))


def shown(text: str) -> str:
    """The text in Python's quotes, for a message; line breaks are `\\n`, the end may be cut."""
    return repr(_cut(text, QUOTED))


def markdown(text: str, longest: int = SHORT) -> str:
    """One line that Markdown shows as it is, in a table's cell or at the head of a line."""
    marked = _MARKS.sub(r"\\\g<0>", one_line(text, longest))
    return _OPENING.sub(r"\1\\", marked).translate(_ENTITIES)


def harmless(text: str) -> str:
    """The text in its lines, without characters that control a terminal or reading direction."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c if c.isprintable() or c == "\n" else one_line(c) or " " for c in plain)


def direction(text: str) -> str:
    """`rtl` where most of its letters are of scripts that are written from right to left."""
    times = Counter("" if text.isascii() else map(unicodedata.bidirectional, text))
    return "rtl" if times["R"] + times["AL"] > times["L"] else "ltr"


def listed(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given


columns = cell_len
"""The columns that a terminal gives a line."""


def fitted(text: str, width: int) -> str:
    """A line cut to a terminal's `width` columns, and filled up to it."""
    if columns(text) > width:
        text = _shortened(text, width)
    return text + " " * (width - columns(text))


def _shortened(text: str, width: int) -> str:
    """Shortened in its middle, as similar names differ at their ends; isolated text at its end."""
    if width < WIDE_ENOUGH or text.endswith(_END_ISOLATE):
        end = _END_ISOLATE if text.endswith(_END_ISOLATE) else ""
        return f"{_first(text, width - 1)}…{end}"
    head = _first(text, width // 2)
    tail = _first(text[::-1], width - 1 - columns(head))[::-1]
    return f"{head}…{tail}"


def _first(text: str, width: int) -> str:
    while columns(text) > width:
        text = text[:-1]
    return text


def _cut(line: str, longest: int) -> str:
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    if character < " ":
        return chr(_CONTROL_PICTURES + ord(character))
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cs") else character
