"""The importance metric written down with loops, for tests: slow, and plain to read.

It shares nothing with evaljudge.metrics but the tokenizers package.
"""

from collections.abc import Callable, Sequence
from math import exp, log, tanh
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

Gram = tuple[Any, ...]
Read = Callable[[str], list[Any]]


def reader(sources: Sequence[str], kind: str, vocabulary: int, no_stops: bool) -> Read:
    def clean(text: str) -> str:
        words = text.lower().split()
        kept = [word for word in words if word not in ENGLISH_STOP_WORDS]
        return " ".join(kept) if no_stops else text.lower()

    if kind == "words":
        return lambda text: clean(text).split()
    if kind == "characters":
        return lambda text: list(clean(text))
    bpe = Tokenizer(models.BPE(unk_token="?"))
    bpe.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=["?"], show_progress=False)
    bpe.train_from_iterator([clean(source) for source in sources], trainer)
    return lambda text: bpe.encode(clean(text)).tokens


def grams(tokens: Sequence[Any], n: int) -> list[Gram]:
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def without_unknown(found: list[Gram]) -> list[Gram]:
    return [gram for gram in found if "?" not in gram]


def importances(
    found: list[Gram], length: int, corpus: list[list[Gram]], lengths: list[int],
    by: str, k: float = 1.2, b: float = 0.75,
) -> dict[Gram, float]:  # fmt: skip
    documents = sum(size > 0 for size in lengths)
    w = {}
    for gram in found:
        tf = sum(other == gram for other in found)
        df = sum(gram in document for document in corpus)
        if by == "tf-idf":
            w[gram] = tf * log(documents / df)
        else:
            mean = sum(lengths) / documents
            sated = tf / (tf + k * (1 - b + b * length / mean))
            w[gram] = sated * log(1 + (documents - df + 0.5) / (df + 0.5))
    return w


def refined(w: dict[Gram, float]) -> dict[Gram, float]:
    order = list(w)  # as they first come
    less = {}
    for i, gram in enumerate(order):
        near = [w[other] for other in order[max(0, i - 2) : i + 2]]
        less[gram] = w[gram] if w[gram] == max(near) else w[gram] / 10
    seen: dict[Any, int] = {}
    found = {}
    for gram in sorted(order, key=lambda gram: -less[gram]):
        penalty = 1.0
        for token in gram:
            penalty += 0.5 * seen.get(token, 0)
            seen[token] = seen.get(token, 0) + 1
        found[gram] = less[gram] / penalty
    return found


def weights(w: dict[Gram, float], weight: str) -> dict[Gram, float]:
    rounded = {gram: round(value, 9) for gram, value in w.items()}
    found = {}
    for gram, value in rounded.items():
        rank = sum(other >= value for other in rounded.values())
        found[gram] = {
            "tanh": tanh(value / rank),
            "importance": value,
            "inverse-rank": 1 / rank,
            "exponential-rank": exp(-rank),
            "constant": 1.0,
        }[weight]
    return found


def by_definition(
    sources: Sequence[str], texts: Sequence[Sequence[str]], *, n: int = 3,
    tokenizer: str = "bpe", vocabulary: int = 100, by: str = "tf-idf", weight: str = "tanh",
    length_penalty: bool = True, drop_stop_words: bool = False, use_refined: bool = False,
) -> list[list[float | None]]:  # fmt: skip
    read = reader(sources, tokenizer, vocabulary, drop_stop_words)
    tokens = [read(source) for source in sources]
    corpus = [without_unknown(grams(document, n)) for document in tokens]
    lengths = [len(document) for document in tokens]
    scores: list[list[float | None]] = []
    for document, found, of_source in zip(tokens, corpus, texts, strict=True):
        w = importances(found, len(document), corpus, lengths, by)
        weighed = weights(refined(w) if use_refined else w, weight)
        ceiling = sum(weighed.values())
        row: list[float | None] = []
        for text in of_source:
            mine = read(text)
            if not mine or not ceiling > 0:
                row.append(None)
                continue
            overlap = sum(weighed.get(gram, 0.0) for gram in set(grams(mine, n)))
            ratio = len(mine) / len(document)
            penalty = 1 / (1 + exp(20 * ratio - 10)) if length_penalty else 1.0
            row.append(penalty * overlap / ceiling)
        scores.append(row)
    return scores
