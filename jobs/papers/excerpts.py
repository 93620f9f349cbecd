"""Three sentences of the source in the place of a summary: at random, the first, or the last."""

from __future__ import annotations

import numpy as np

from evaljudge.metrics.passages import running_sentences

KINDS = ("RAND-3", "LEAD-3", "TAIL-3")
TAKEN = 3


def excerpt(source: str, kind: str, stream: np.random.Generator) -> str:
    """Sentences in the source's order; a source of fewer sentences gives all of them."""
    parts = running_sentences(source)
    if kind == "RAND-3":
        places = np.sort(stream.permutation(len(parts))[:TAKEN])
        return " ".join(parts[place] for place in places)
    return " ".join(parts[:TAKEN] if kind == "LEAD-3" else parts[-TAKEN:])
