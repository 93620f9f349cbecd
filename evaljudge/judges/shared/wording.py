"""What a model wrote, as it is compared, shown in one line, or quoted in a reason."""

from __future__ import annotations

import re
import unicodedata

MOST_SHOWN = 60
"""Characters of a reply that a reason quotes."""


def fold(text: str) -> str:
    """By which types are the same: without case, punctuation and spacing."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(" " if unicodedata.category(c)[0] in "PZSC" else c for c in plain)
    return " ".join(kept.split())


def one_line(text: str) -> str:
    """Without what does not print, and without marks of emphasis, code, fences and headings."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(
        re.sub(r"[<>|]+", " ", re.sub(r"[*`]+|(?<!\w)[_#]+|_+(?!\w)", "", shown)).split()
    )


def quoted(text: str) -> str:
    """A reply in one line of a reason, shortened."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f"“{line}”" if len(line) <= MOST_SHOWN else f"“{line[: MOST_SHOWN - 1]}…”"
