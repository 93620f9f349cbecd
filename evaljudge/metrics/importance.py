"""Importance-weighted overlap with the source (Gigant et al. 2024): relevance without a reference.

    importance: {n: 3, tokenizer: bpe, vocabulary: 100, by: tf-idf, weight: tanh}

For a summary s of a document d of the corpus D, both lower-cased and cut into tokens:

    w  = tf-idf (or BM25) of an n-gram t in d;   r = how many n-grams of d have at least this w
    W  = tanh(w / r) if t is in d, else 0        (also: w, 1/r, exp(-r), 1)
    score = f(|s| / |d|) * sum of W over the distinct n-grams of s / sum of W over those of d
    f(x) = 1 / (1 + exp(20 x - 10)), the length penalty

So rank 1 is the most important, and n-grams of equal importance share the worst of their ranks; the
order of the text breaks no ties. The corpus is the run's documents; idf = ln(N / df). BM25 is
tf / (tf + k (1 - b + b |d| / mean |d|)) * ln(1 + (N - df + 1/2) / (df + 1/2)).

`refined` adds what only the authors' released code does: `salient`, then `novel` (tokens.py). That
code also drops stop words; `drop_stop_words` drops those of scikit-learn's list, which is another
one.

Any script works; a character that the tokenizer's sample lacks matches nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from evaljudge.engines import Identity, ModelSource, identity_of
from evaljudge.errors import naming
from evaljudge.metrics.protocol import (
    EMPTY_SOURCE,
    EMPTY_TEXT,
    KnownMetric,
    Unscored,
    Value,
    parts_of,
)
from evaljudge.metrics.tokens import (
    Characters,
    Counts,
    Floats,
    Frequencies,
    Grams,
    Ids,
    TokenIds,
    Tokenizer,
    Words,
    grams,
    learn_bpe,
    novel,
    of_model,
    salient,
)
from evaljudge.records import Case, Document
from evaljudge.settings import Settings, read_settings

SHORT_SOURCE = Unscored("source shorter than an n-gram")
NOTHING_WEIGHS = Unscored("no n-gram of the source has any weight")
DIGITS = 9  # decimals to which importances are compared: products of logarithms are not exact

WEIGHTS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "tanh": lambda w, r: np.tanh(w / r),
    "importance": lambda w, r: w,
    "inverse-rank": lambda w, r: 1 / r,
    "exponential-rank": lambda w, r: np.exp(-r),
    "constant": lambda w, r: np.ones_like(w),
}


class ImportanceSettings(Settings):
    n: Annotated[int, Field(ge=2, le=4)] = 3
    tokenizer: Literal["bpe", "words", "characters", "model"] = "bpe"
    vocabulary: Annotated[int, Field(ge=2)] = 100
    model: str | None = None
    revision: str | None = None
    by: Literal["tf-idf", "bm25"] = "tf-idf"
    k: Annotated[float, Field(ge=0)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    weight: Literal["tanh", "importance", "inverse-rank", "exponential-rank", "constant"] = "tanh"
    length_penalty: bool = True
    drop_stop_words: bool = False
    refined: bool = False

    @model_validator(mode="after")
    def _has_its_model(self) -> Self:
        if self.tokenizer == "model" and not self.model:
            raise ValueError("tokenizer: model needs a `model`: a hub name or a path")
        return self


@dataclass(frozen=True, slots=True)
class Overlap:
    """The distinct n-grams of one case's source, and which of them each text has."""

    lengths: Counts  # the tokens of each text; the first text is the source
    times: Floats  # how often the source has each n-gram
    frequencies: Counts  # how many documents have it
    first: Counts  # where it first comes, counted in n-grams of the source
    members: Ids  # its tokens
    texts: Counts  # every pair of a text and an n-gram that it has, with `grams`
    grams: Counts


@dataclass(frozen=True)
class Importance:
    """It can measure after it has learnt its tokenizer and counted the corpus."""

    name: str
    settings: ImportanceSettings
    tokenizer: Tokenizer | None = None
    corpus: Frequencies | None = None
    version: str = "1"
    most_learnt: int = 10_000

    @property
    def facts(self) -> Mapping[str, Any]:
        facts = self.settings.model_dump(exclude={"model", "revision"})
        if self.settings.tokenizer == "model":
            facts["model"] = str(self._identity)
        made_by = ["tokenizers"] if self.settings.tokenizer in ("bpe", "model") else []
        made_by += ["scikit-learn"] if self.settings.drop_stop_words else []  # its list of them
        library = ", ".join(f"{package} {version(package)}" for package in made_by)
        return facts | ({"library": library} if library else {})

    @cached_property
    def _identity(self) -> Identity:
        with naming(f"metrics.{self.name}.model"):
            return identity_of(ModelSource(str(self.settings.model), self.settings.revision))

    def learnt(self, documents: Iterable[Document]) -> Self:
        return replace(self, tokenizer=self._learnt(self._read(d.source) for d in documents))

    def counted(self, documents: Iterable[Document]) -> Frequencies:
        sources = [document.source for document in documents]
        parts = map(self._tokens, parts_of(sources))  # a few at a time: they have many n-grams
        each = (Frequencies.of(self._grams(tokens), tokens) for tokens in parts)
        return Frequencies.added(each)

    def fitted(self, counts: Iterable[Frequencies]) -> Self:
        return replace(self, corpus=Frequencies.added(counts))

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        return [self.values(overlap) for overlap in self.overlaps(cases)]

    def overlaps(self, cases: Sequence[Case]) -> Iterator[Overlap]:
        """What the cases' texts share with their sources, for any weights of the n-grams."""
        texts = [[case.document.source, *(c.text for c in case.candidates)] for case in cases]
        tokens = self._tokens(list(chain(*texts)))
        grams, start = self._grams(tokens), 0
        for case in cases:
            end = start + 1 + len(case.candidates)
            yield self._overlap(tokens, tokens.lengths[start:end], grams.part(start, end))
            start = end

    def values(self, overlap: Overlap) -> list[Value]:
        lengths, weights = overlap.lengths, self._weights(overlap)
        if lengths[0] and weights.size and weights.sum() > 0:
            sums = np.bincount(overlap.texts, weights[overlap.grams], minlength=lengths.size)
            shares = sums / weights.sum()
            values: list[Value] = list(map(float, shares * self._penalties(lengths)))
        else:
            reason = (
                NOTHING_WEIGHS if weights.size else SHORT_SOURCE if lengths[0] else EMPTY_SOURCE
            )
            values = [reason] * lengths.size
        return [v if n else EMPTY_TEXT for v, n in zip(values[1:], lengths[1:], strict=True)]

    def _penalties(self, lengths: Counts) -> Floats:
        if not self.settings.length_penalty:
            return np.ones(lengths.size)
        from scipy.special import expit

        return np.asarray(expit(10 - 20 * lengths / lengths[0]), np.float64)

    def _overlap(self, tokens: TokenIds, lengths: Counts, grams: Grams) -> Overlap:
        assert self.corpus is not None, "the corpus is counted before anything is measured"
        source = grams.part(0, 1)
        keys, first, times = np.unique(source.keys, return_index=True, return_counts=True)
        if not keys.size:
            grams = grams.part(0, 0)
        at = np.minimum(np.searchsorted(keys, grams.keys), max(0, keys.size - 1))
        shared = keys[at] == grams.keys
        once = np.unique(grams.texts[shared] * keys.size + at[shared])
        texts, grams_of_texts = np.divmod(once, max(1, keys.size))
        return Overlap(
            lengths=lengths,
            times=times.astype(np.float64),
            frequencies=self.corpus(keys),
            first=first,
            members=tokens.ids[source.at[first][:, None] + np.arange(self.settings.n)],
            texts=texts,
            grams=grams_of_texts,
        )

    def _weights(self, overlap: Overlap) -> Floats:
        w = self._importances(overlap)
        if self.settings.refined and w.size:
            w = novel(salient(w, overlap.first), overlap.first, overlap.members)
        w = np.round(w, DIGITS)
        ranks = w.size - np.searchsorted(np.sort(w), w)
        return WEIGHTS[self.settings.weight](w, ranks.astype(np.float64))

    def _importances(self, overlap: Overlap) -> Floats:
        assert self.corpus is not None, "_overlap comes first"
        documents, times, df = self.corpus.documents, overlap.times, overlap.frequencies
        if self.settings.by == "tf-idf":
            return np.asarray(times * np.log(documents / df))
        k, b, mean = self.settings.k, self.settings.b, self.corpus.tokens / max(1, documents)
        sated = times / (times + k * (1 - b + b * overlap.lengths[0] / mean))
        return np.asarray(sated * np.log1p((documents - df + 0.5) / (df + 0.5)))

    def _tokens(self, texts: Sequence[str]) -> TokenIds:
        assert self.tokenizer is not None, "it is learnt before anything is counted"
        return self.tokenizer([self._read(text) for text in texts])

    def _grams(self, tokens: TokenIds) -> Grams:
        assert self.tokenizer is not None, "_tokens comes first"
        return grams(tokens, self.settings.n, self.tokenizer.base)

    def _read(self, text: str) -> str:
        text = text.lower() if text.strip() else ""
        if not self.settings.drop_stop_words:
            return text
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return " ".join(word for word in text.split() if word not in ENGLISH_STOP_WORDS)

    def _learnt(self, sources: Iterable[str]) -> Tokenizer:
        settings = self.settings
        match settings.tokenizer:
            case "words":
                return Words()
            case "characters":
                return Characters()
            case "model":
                commit = self._identity.commit
                with naming(f"metrics.{self.name}.model"):
                    return of_model(str(settings.model), commit)
            case "bpe":
                return learn_bpe(sources, settings.vocabulary)


def importance(name: str, given: Mapping[str, Any]) -> Importance:
    return Importance(name, read_settings(ImportanceSettings, given, f"metrics.{name}"))


METRICS = {
    "importance": KnownMetric(
        importance,
        "The share of the source's n-grams that a text has, weighted by their importance there.",
        "the source, and a corpus of several documents",
    )
}
