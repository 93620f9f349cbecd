"""How far a text's tokens must move to become the other's: a score like MoverScore.

    text "A flood."   reference "The river flooded."
      ->  n=1: 0.132, n=2: 0.183   (all-MiniLM-L6-v2, last layer)

Every token of a text holds an equal share of it; moving a share costs the Euclidean distance
between the two tokens' unit vectors, and the score is 1 minus the least total cost (the earth
mover's distance, solved exactly by POT). It lies in -1..1: 1 for equal texts, 0 where tokens are at
a distance of 1 from their nearest (a cosine of 0.5), and below 0 where they are further apart.
With `n: 2` bigrams move in place of tokens: each is the mean of two neighbours, scaled to a unit
vector. A text of one token keeps that token.

MoverScore itself weights tokens by idf over the corpus, leaves out punctuation and the later pieces
of words, and (in its first version) pools several layers. Here all tokens of one layer count alike,
and the encoder's marks ([CLS], [SEP]) do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evaljudge.metrics.embeddings import LAST, Embeddings, EncoderSettings, libraries
from evaljudge.metrics.encoder import Embedded, Vectors
from evaljudge.settings import read_settings

_UNTIL_SOLVED = 10**9
"""Steps of the solver, which stops by itself; its default is too few for long sources."""


class MoverSettings(EncoderSettings):
    n: Literal[1, 2] = 1


def mover(name: str, given: Mapping[str, Any]) -> Embeddings:
    where = f"metrics.{name}"
    settings = read_settings(MoverSettings, given, where)
    library = libraries(where, "transformers", "torch", "POT")
    layer = LAST if settings.layer is None else settings.layer
    return Embeddings(name, settings, library, partial(moved, settings.n), layer)


def moved(n: int, text: Embedded, other: Embedded) -> float:
    import ot  # type: ignore[import-untyped, unused-ignore]
    from scipy.spatial.distance import cdist

    costs = cdist(grams(text.words, n), grams(other.words, n))
    equal_shares: list[float] = []  # POT gives every token the same share for an empty list
    return 1 - float(ot.emd2(equal_shares, equal_shares, costs, numItermax=_UNTIL_SOLVED))


def grams(words: Vectors, n: int) -> NDArray[np.float64]:
    exact = words.astype(np.float64)
    if n == 1 or len(exact) == 1:
        return exact
    means = (exact[:-1] + exact[1:]) / 2
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))
