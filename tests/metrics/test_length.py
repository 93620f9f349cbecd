"""The metrics of length, and the registry's words for one it lacks."""

from __future__ import annotations

import pytest

from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics
from evaljudge.records import Document

DOCUMENT = Document("d", "one two three four five six")


def test_values() -> None:
    words, compression = make_metrics(["words", "compression"])
    assert words.measure(DOCUMENT, "a  b\nc") == 3
    assert compression.measure(DOCUMENT, "a b c") == 2
    assert words.measure(DOCUMENT, " ") is None
    assert compression.measure(DOCUMENT, "") is None


def test_names() -> None:
    assert [m.name for m in make_metrics(["words", "words"])] == ["words"]
    with pytest.raises(UserError, match="unknown metric 'word': did you mean 'words'"):
        make_metrics(["word"])
