"""The texts that a candidate is compared with: one reference, several, or the source.

    Document("d1", "The river rose …", ("A flood.", "", "The town is cut off."))
    against: first | best | mean | source

`first` compares with the first reference alone, as the papers do; `best` takes the highest and
`mean` the mean of the values against each of them; `source` compares with what was summarised or
answered. The rule is the same for every metric. An empty reference does not count: here the first
is "A flood." and the second "The town is cut off.". A candidate that is identical to a text it
would be compared with, even the source, is unscored (see `is_selfsame` in text.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.records import Case, Document
from evaljudge.settings import Settings
from evaljudge.text import IS_THE_REFERENCE, is_selfsame

Against = Literal["first", "best", "mean", "source"]
Comparison = Callable[[str], Value]
"""From a candidate's text to its value against one text."""

EMPTY_TEXT = Unscored("empty text")
NO_REFERENCE = Unscored("no reference")
EMPTY_SOURCE = Unscored("empty source")
SELFSAME = Unscored(IS_THE_REFERENCE)


class ReferenceSettings(Settings):
    against: Against = "first"


def measured(
    cases: Sequence[Case], against: Against, comparing: Callable[[str], Comparison]
) -> list[list[Value]]:
    """Every candidate's value; `comparing` prepares each text to compare with, once per case."""
    return [_of_case(case, against, comparing) for case in cases]


def _of_case(case: Case, against: Against, comparing: Callable[[str], Comparison]) -> list[Value]:
    texts = compared_with(case.document, against)
    if isinstance(texts, Unscored):
        return [EMPTY_TEXT if is_empty(c.text) else texts for c in case.candidates]
    prepared = [(text, comparing(text)) for text in texts]
    return [_of_text(candidate.text, against, prepared) for candidate in case.candidates]


def _of_text(text: str, against: Against, prepared: Sequence[tuple[str, Comparison]]) -> Value:
    if is_empty(text):
        return EMPTY_TEXT
    if any(is_selfsame(text, other) for other, _ in prepared):
        return SELFSAME
    return combined([compare(text) for _, compare in prepared], against)


def compared_with(document: Document, against: Against) -> Sequence[str] | Unscored:
    """The texts a candidate of this document is compared with: at least one, and none empty."""
    if against == "source":
        return EMPTY_SOURCE if is_empty(document.source) else [document.source]
    references = [text for text in document.references if not is_empty(text)]
    if not references:
        return NO_REFERENCE
    return references[:1] if against == "first" else references


def combined(values: Sequence[Value], against: Against) -> Value:
    """One value from those against each text; unscored only if all of them are."""
    numbers = [value for value in values if not isinstance(value, Unscored)]
    if not numbers:
        return values[0]
    return fmean(numbers) if against == "mean" else max(numbers)


def is_empty(text: str) -> bool:
    return not text.strip()
