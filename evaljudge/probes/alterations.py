"""Three sentences of the source in place of a summary: at random, the first, or the last.

    "A. B. C. D. E."  ->  RAND-3 "B. C. E."   LEAD-3 "A. B. C."   TAIL-3 "C. D. E."

They keep the source's order. A source of fewer sentences gives all it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from evaljudge.probes.sentences import sentences
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
    """Every document that has references has this one text in their place."""
    return [_altered(case, how, stream) for case in cases]


def _altered(case: Case, how: Alteration, stream: np.random.Generator) -> Case:
    if not case.document.references:
        return case
    reference = excerpt(case.document.source, how, stream)
    return replace(case, document=replace(case.document, references=(reference,)))
