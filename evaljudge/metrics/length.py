"""Length, the first thing to suspect behind any score.

`words` counts the words of a text; `compression` is how many words of the source stand against one
of its own. Neither says anything of quality: they are baselines that a judge must beat.
"""

from __future__ import annotations

from evaljudge.metrics import Metric
from evaljudge.records import Document


def words(document: Document, text: str) -> float | None:
    """How many words the text has."""
    return float(len(text.split())) or None


def compression(document: Document, text: str) -> float | None:
    """Words of the source for each word of the text."""
    mine = len(text.split())
    return len(document.source.split()) / mine if mine else None


WORDS = Metric("words", "1", words)
COMPRESSION = Metric("compression", "1", compression)
