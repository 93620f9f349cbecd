"""Which sentences are extracted, and which rating is the most probable.

    text      rain closed the bridge                        words: 4, pairs of words: 3
    source    1 It was late.   2 Rain fell.   3 They closed the bridge.   4 The bridge was old.

    recall of the text's words and pairs by one more sentence, added:
    first     2: 1/4 + 0   3: 3/4 + 2/3   4: 2/4 + 1/3      3 is chosen
    then      2: 1/4 + 0   4: 0, as 3 has its words         2 is chosen, so that all words are there
    then      nothing is left to cover                      1, the earliest of the others

The mean rating, weighted by the probabilities, is in judges/shared/ratings.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

Grams = Counter[tuple[str, ...]]


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
