"""The sentences of a source that a text is about, within a budget of tokens.

    source "It was late. Rain fell. They closed the bridge."   text "rain closed the bridge"
    extracted(source, text, "rouge1", 8)
      ->  Extract("Rain fell. They closed the bridge.", (2, 3), 3)

A token is a word or a sign here (in scripts without spaces, a letter), counted without any model's
tokenizer, so that an extract is the same for all models; a model's tokenizer usually makes more of
them. Words are compared as by ROUGE with a stemmer (metrics/lexical.py).

How they are chosen:

    text      rain closed the bridge                        words: 4, pairs of words: 3
    source    1 It was late.   2 Rain fell.   3 They closed the bridge.   4 The bridge was old.

    recall of the text's words and pairs by one more sentence, added:
    first     2: 1/4 + 0   3: 3/4 + 2/3   4: 2/4 + 1/3      3 is chosen
    then      2: 1/4 + 0   4: 0, as 3 has its words         2 is chosen, so that all words are there
    then      nothing is left to cover                      1, the earliest of the others

The mean rating, weighted by the probabilities, is in judges/shared/ratings.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from evaljudge.judges.shared.passages import sentences
from evaljudge.metrics.lexical import spaced, words
from evaljudge.model.asks import Failed

Grams = Counter[tuple[str, ...]]
By = Literal["rouge1", "rouge2", "rouge1+2", "lead"]
SIZES: Mapping[By, Sequence[int]] = {"rouge1": (1,), "rouge2": (2,), "rouge1+2": (1, 2), "lead": ()}
"""The n of the n-grams that are covered; without any, the source's first sentences are taken."""
TOO_SMALL = Failed("the budget holds no sentence of the source")
_TOKEN = re.compile(r"\w+|[^\w\s]")
REMEMBERED = 256
"""Extracts, since each candidate's is needed on every axis; of more, it is made again."""
SOURCES = 8
"""Sources that are kept cut, since all candidates of a document need the same one."""


@dataclass(frozen=True, slots=True)
class Extract:
    text: str
    chosen: Sequence[int]
    """The numbers of its sentences, from 1; empty where it is the whole source."""
    of: int
    """How many sentences the source has."""


@lru_cache(REMEMBERED)
def extracted(source: str, text: str, by: By, budget: int) -> Extract | Failed:
    cut = _cut(source, by)
    if tokens_in(source) <= budget:
        return Extract(source, (), len(cut.sentences))
    wanted = grams(words(text, stemmer=True), SIZES[by])
    chosen = chosen_sentences(cut.grams, cut.lengths, wanted, budget)
    if not chosen:
        return TOO_SMALL
    shown = " ".join(cut.sentences[n] for n in chosen)
    return Extract(shown, tuple(n + 1 for n in chosen), len(cut.sentences))


@dataclass(frozen=True, slots=True)
class _Cut:
    """A source cut into sentences, with the tokens and the n-grams of each."""

    sentences: Sequence[str]
    lengths: Sequence[int]
    grams: Sequence[Sequence[Grams]]


@lru_cache(SOURCES)
def _cut(source: str, by: By) -> _Cut:
    found = [sentence.text for sentence in sentences(source)]
    each = [grams(words(one, stemmer=True), SIZES[by]) for one in found]
    return _Cut(found, [tokens_in(one) for one in found], each)


def tokens_in(text: str) -> int:
    return len(_TOKEN.findall(spaced(text)))


def grams(words: Sequence[str], sizes: Sequence[int]) -> list[Grams]:
    """The n-grams of a text, for each of these n."""
    return [Counter(zip(*(words[start:] for start in range(n)), strict=False)) for n in sizes]


def chosen_sentences(
    sentences: Sequence[Sequence[Grams]], lengths: Sequence[int], text: Sequence[Grams], budget: int
) -> list[int]:
    """Greedily, the sentence that covers most of what the text has and no sentence covered yet.

    It ends before the first one that would exceed the budget. Of equals the earliest is chosen. The
    sentences are given, and returned, in the source's order.
    """
    shared = [[own & of for own, of in zip(one, text, strict=True)] for one in sentences]
    missing = list(text)
    chosen: list[int] = []
    left, room = list(range(len(sentences))), budget
    while left:
        best = max(left, key=lambda n: _recall(shared[n], missing, text))
        if lengths[best] > room:
            break
        room -= lengths[best]
        left.remove(best)
        chosen.append(best)
        missing = [still - own for still, own in zip(missing, shared[best], strict=True)]
    return sorted(chosen)


def _recall(sentence: Sequence[Grams], missing: Sequence[Grams], text: Sequence[Grams]) -> float:
    """What the sentence adds to the recall of the text's n-grams, over all n."""
    each = zip(sentence, missing, text, strict=True)
    return sum((own & still).total() / max(1, of.total()) for own, still, of in each)


def most_probable(p: Mapping[str, float]) -> float:
    """The rating that a model would write without sampling; the lowest of equals."""
    return float(max(p, key=lambda rating: p[rating]))
