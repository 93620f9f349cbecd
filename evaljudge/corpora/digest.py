"""Two digests of a corpus, of its texts and of its ratings, which do not depend on any order.

    digests([Case(Document("d1", "The river …"), (Candidate("A", "A flood.", {"fluency": 4.0}),))])
    -> ("5c0e…", "91b7…")

Each case is hashed by itself and the hashes are added up, so that nothing has to be sorted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b
from math import isnan
from typing import Any

from evaljudge.records import Candidate, Case

BYTES = 32


def digests(cases: Iterable[Case]) -> tuple[str, str]:
    content = ratings = 0
    for case in cases:
        content += _content(case)
        ratings += _ratings(case)
    return _hex(content), _hex(ratings)


def _content(case: Case) -> int:
    of = case.document
    texts = sorted((c.system, c.text) for c in case.candidates)
    return _hash([of.doc_id, of.source, of.context, of.references, texts])


def _ratings(case: Case) -> int:
    """Zero for a case without ratings: one more unrated candidate changes no rating."""
    rated = sorted(_rated(c) for c in case.candidates if c.ratings)
    return _hash([case.document.doc_id, rated]) if rated else 0


def _rated(candidate: Candidate) -> tuple[Any, ...]:
    """Without raters where there are none, so that such a corpus keeps its earlier digest."""
    raters = sorted(
        (axis, [None if isnan(number) else number for number in numbers])  # JSON has no NaN
        for axis, numbers in candidate.raters.items()
    )
    return (candidate.system, sorted(candidate.ratings.items()), *([raters] if raters else ()))


def _hash(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False)
    return int.from_bytes(blake2b(text.encode(), digest_size=BYTES).digest(), "big")


def _hex(total: int) -> str:
    return f"{total % (1 << 8 * BYTES):0{2 * BYTES}x}"
