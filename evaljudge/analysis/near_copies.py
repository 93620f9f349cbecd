"""Texts that are nearly a reference of their document, counted while cases are scored.

    >>> NearCopies(2, "document bridge, system Human").warnings
    ["2 candidates share at least 95% of the words with a reference of the document (first: …"]

A text that is its reference is unscored wherever the two are compared (see text.py). With a few
words changed it is compared, and its high value shows only where the text was copied from.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Self

from evaljudge.records import Case
from evaljudge.text import counted, one_line, plain_words

NEAR = 0.95
"""The share of the longer text's words that the other one has, too."""


@dataclass
class NearCopies:
    number: int = 0
    first: str = ""

    def see(self, case: Case) -> None:
        references = list(map(plain_words, case.document.references))
        for candidate in case.candidates if references else ():
            if _is_near(plain_words(candidate.text), references):
                document, system = map(one_line, (case.document.doc_id, candidate.system))
                self.number += 1
                self.first = self.first or f"document {document}, system {system}"

    def __iadd__(self, other: Self) -> Self:
        """Add what lies in later shards."""
        self.number += other.number
        self.first = self.first or other.first
        return self

    @property
    def warnings(self) -> list[str]:
        if not self.number:
            return []
        share = counted(self.number, "candidate shares", "candidates share")
        return [
            f"{share} at least {NEAR:.0%} of the words with a reference of the document "
            f"(first: {self.first}): for a near copy, scorers that compare the two say little"
        ]


def _is_near(words: list[str], references: list[list[str]]) -> bool:
    """Whether it is nearly one of them, and is none of them."""
    if not words or words in references:
        return False
    return any(_shared(words, reference) >= NEAR for reference in references)


def _shared(words: list[str], others: list[str]) -> float:
    longer, shorter = max(len(words), len(others)), min(len(words), len(others))
    if shorter < NEAR * longer:  # they need not be counted
        return 0.0
    return (Counter(words) & Counter(others)).total() / longer
