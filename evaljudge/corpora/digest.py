"""Digests of what a corpus holds, which do not depend on any order.

    digests([Case(Document("d1", "The river …"), (Candidate("A", "A flood.", {"fluency": 4.0}),))])
    -> Digests(digest="5c0e…", ratings_digest="91b7…")

Each case is hashed by itself and the hashes are added up, so that nothing has to be sorted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b
from math import isnan
from typing import Any, NamedTuple

from evaljudge.records import Candidate, Case

BYTES = 32


class Digests(NamedTuple):
    digest: str
    ratings_digest: str


def digests(cases: Iterable[Case]) -> Digests:
    content = ratings = 0
    for case in cases:
        content += _content(case)
        ratings += _ratings(case)
    return Digests(_hex(content), _hex(ratings))


def _content(case: Case) -> int:
    of = case.document
    texts = sorted((c.system, c.text) for c in case.candidates)
    return _hash([of.doc_id, of.source, of.context, of.references, texts])


def _ratings(case: Case) -> int:
    """Zero for a case without ratings: one more unrated candidate changes no rating."""
    rated = sorted(_rated(c) for c in case.candidates if c.ratings)
    return _hash([case.document.doc_id, rated]) if rated else 0


def _rated(candidate: Candidate) -> tuple[Any, ...]:
    """Raters only where there are any, so that a corpus without them keeps its earlier digest."""
    listed = sorted((axis, _nulled(numbers)) for axis, numbers in candidate.raters.items())
    return (candidate.system, sorted(candidate.ratings.items()), *([listed] if listed else ()))


def _nulled(numbers: Iterable[float]) -> list[float | None]:
    """Null for NaN, which JSON lacks."""
    return [None if isnan(number) else number for number in numbers]


def _hash(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False)
    return int.from_bytes(blake2b(text.encode(), digest_size=BYTES).digest(), "big")


def _hex(total: int) -> str:
    return f"{total % (1 << 8 * BYTES):0{2 * BYTES}x}"
