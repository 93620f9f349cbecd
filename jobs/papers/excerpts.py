"""Three sentences of the source in place of a summary: at random, the first, or the last.

    "A. B. C. D. E."  ->  RAND-3 "B. C. E."   LEAD-3 "A. B. C."   TAIL-3 "C. D. E."

They keep the source's order. A source of fewer sentences gives all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from evaljudge.metrics.sentences import sentences
from evaljudge.records import Case

Alteration = Literal["RAND-3", "LEAD-3", "TAIL-3"]
ALTERATIONS: tuple[Alteration, ...] = get_args(Alteration)
TAKEN = 3


def excerpt(source: str, how: Alteration, stream: np.random.Generator) -> str:
    found = sentences(source)
    if how == "LEAD-3":
        taken = found[:TAKEN]
    elif how == "TAIL-3":
        taken = found[-TAKEN:]
    else:
        drawn = stream.choice(len(found), min(TAKEN, len(found)), replace=False)
        taken = [found[index] for index in np.sort(drawn)]
    return " ".join(taken)


def with_altered_references(
    cases: Sequence[Case], how: Alteration, stream: np.random.Generator
) -> list[Case]:
    """In every document that has references, one excerpt replaces them all."""
    return [_altered(case, how, stream) if case.document.references else case for case in cases]


def _altered(case: Case, how: Alteration, stream: np.random.Generator) -> Case:
    reference = excerpt(case.document.source, how, stream)
    return replace(case, document=replace(case.document, references=(reference,)))
