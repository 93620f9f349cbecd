"""How far a text's tokens must move to become the other's: MoverScore (Zhao et al. 2019).

    mover: {model: all-MiniLM-L6-v2}               all tokens of one layer count alike
    text "A flood."   reference "The river flooded."
      ->  n=1: 0.132, n=2: 0.183   (all-MiniLM-L6-v2, last layer)

Every token of a text holds an equal share of it; moving a share costs the Euclidean distance
between the two tokens' unit vectors, and the score is 1 minus the least total cost (the earth
mover's distance, solved exactly by POT). It lies in -1..1: 1 for equal texts, 0 where tokens are at
a distance of 1 from their nearest (a cosine of 0.5), and below 0 where they are further apart.
With `n: 2` bigrams move in place of tokens: each is the mean of two neighbours, scaled to a unit
vector. A text of one token keeps that token.

docs/metrics.md has MoverScore's own settings. With `idf`, a bigram holds the sum of its tokens'
weights, and its vector is their mean by these weights. Both texts have the same weights, so that no
candidate's value depends on the others. The encoder's marks ([CLS], [SEP]) never count; in the
authors' code, bigrams pair them with the first and the last token.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from evaljudge.engines.tokens import Ids
from evaljudge.metrics.embeddings import (
    LAST,
    NEEDS_ENCODER,
    NO_TOKENS,
    NOTHING_TO_COMPARE,
    Embeddings,
    EncoderSettings,
)
from evaljudge.metrics.encoder import Embedded, unit
from evaljudge.metrics.protocol import KnownMetric, Unscored, Value, compared_with, libraries
from evaljudge.metrics.tokens import UNKNOWN, Floats, Frequencies, TokenIds, grams
from evaljudge.records import Document
from evaljudge.settings import read_settings

_UNTIL_SOLVED = 10**9
"""Steps of the solver, which stops by itself; its default is too few for long sources."""
NO_WEIGHT = Unscored("no token has any weight")
"""All texts of the corpus have each of its tokens."""
FIRST = np.uint64(UNKNOWN + 1)
"""The first id of an encoder, among numbers of which one means an unknown token."""
NONE = np.zeros(0, np.uint64)


class MoverSettings(EncoderSettings):
    n: Literal[1, 2] = 1
    idf: bool = False
    pooled_layers: Annotated[int, Field(ge=1)] = 1
    whole_words: bool = False
    squared: bool = False

    @model_validator(mode="after")
    def _has_these_layers(self) -> Self:
        if self.layer is not None and 0 <= self.layer < self.pooled_layers - 1:
            raise ValueError(f"pooled_layers: up to `layer: {self.layer}` there are fewer layers")
        return self


def mover(name: str, given: Mapping[str, Any]) -> Embeddings:
    where = f"metrics.{name}"
    settings = read_settings(MoverSettings, given, where)
    library = libraries(where, "transformers", "torch", "POT")
    last = LAST if settings.layer is None else settings.layer
    layers = tuple(range(last - settings.pooled_layers + 1, last + 1))
    kind = MoverByIdf if settings.idf else Embeddings
    return kind(name, settings, library, layers, partial(moved, settings, None))


@dataclass(frozen=True)
class MoverByIdf(Embeddings):
    """It counts the texts that candidates are compared with before it can measure."""

    settings: MoverSettings
    most_learnt: int = 0

    def learnt(self, documents: Iterable[Document]) -> Self:
        return self

    def counted(self, documents: Iterable[Document]) -> Frequencies:
        ids = [np.array(text, np.uint64) + FIRST for text in self._texts(documents)]
        tokens = TokenIds(np.concatenate([NONE, *ids]), np.array(list(map(len, ids)), np.int64))
        return Frequencies.of(grams(tokens, 1, 0), tokens)

    def _texts(self, documents: Iterable[Document]) -> Iterator[Ids]:
        windows = self._encoder().windows
        for document in documents:
            texts = compared_with(document, self.settings.against)
            if not isinstance(texts, Unscored):
                yield from map(windows.ids, texts)

    def fitted(self, counts: Iterable[Frequencies]) -> Self:
        return replace(self, likeness=partial(moved, self.settings, Frequencies.added(counts)))


def moved(
    settings: MoverSettings, corpus: Frequencies | None, text: Embedded, other: Embedded
) -> Value:
    """`corpus`: in how many texts each token is, for weights by idf."""
    import ot
    from scipy.spatial.distance import cdist

    moving = [_moving(settings, corpus, words) for words in (text, other)]
    for (_, weights), lacking in zip(moving, (NO_TOKENS, NOTHING_TO_COMPARE), strict=True):
        if not weights.sum():
            return NO_WEIGHT if weights.size else lacking
    (mine, _), (theirs, _) = moving
    costs = cdist(mine, theirs, "sqeuclidean" if settings.squared else "euclidean")
    shares = (weights / weights.sum() for _, weights in moving)
    return 1 - float(ot.emd2(*shares, costs, numItermax=_UNTIL_SOLVED))


def _moving(
    settings: MoverSettings, corpus: Frequencies | None, text: Embedded
) -> tuple[Floats, Floats]:
    """What moves, as unit vectors, and how much each weighs."""
    counts = text.own & ~text.minor if settings.whole_words else text.own
    weights = idf(corpus, text.ids[counts]) if settings.idf else np.ones(counts.sum())
    vectors = text.vectors[counts].astype(np.float64)
    return pairs(vectors, weights) if settings.n == 2 else (vectors, weights)


def pairs(vectors: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Neighbours together; one that is alone stays so."""
    if len(weights) == 1:
        return vectors, weights
    weighted = vectors * weights[:, None]
    return unit(weighted[:-1] + weighted[1:]), weights[:-1] + weights[1:]


def idf(corpus: Frequencies | None, ids: NDArray[np.int64]) -> Floats:
    assert corpus is not None, "the corpus is counted before anything is measured"
    keys, df = ids.astype(np.uint64) + FIRST, np.zeros(len(ids))
    is_known = np.isin(keys, corpus.keys)
    df[is_known] = corpus(keys[is_known])
    return np.asarray(np.log((corpus.documents + 1) / (df + 1)))


METRICS = {
    "mover": KnownMetric(
        mover,
        "How far a text's tokens must move to become the other's.",
        f"{NEEDS_ENCODER}, with POT in it",
    )
}
