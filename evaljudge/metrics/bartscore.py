"""BARTScore (Yuan et al. 2021): how probable an encoder–decoder finds one text after another.

    log p(y | x) = (1/m) Σ log p(token t of y | x, the tokens of y before it)

    precision   log p(text | other)      with `against: source` the paper's faithfulness
    recall      log p(other | text)
    f           the mean of both         e.g. −1.0 and −3.0 -> −2.0

The m tokens of y include the marks that the tokenizer puts around a text (BART's <s> and </s>), as
in the authors' code. Any encoder–decoder of transformers will do, if its tokenizer puts the same
marks around what is read and what is written (BART, T5, Pegasus).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Field

from evaljudge.engines.tokens import Ids, Tokeniser
from evaljudge.errors import naming
from evaljudge.metrics.embeddings import NO_TOKENS, NOTHING_TO_COMPARE, ModelSettings, OverModel
from evaljudge.metrics.encoder import longest_first, marks_around, padded, pretrained
from evaljudge.metrics.protocol import (
    Comparison,
    KnownMetric,
    ReferenceSettings,
    Unscored,
    Value,
    compared_with,
    is_empty,
    measured,
)
from evaljudge.records import Case

Direction = Literal["f", "precision", "recall"]
Pair = tuple[str, str]  # what the encoder reads, and the text whose probability is wanted


class BartScoreSettings(ReferenceSettings, ModelSettings):
    kinds = {"model": "an encoder–decoder"}
    part: Direction = "f"
    most_tokens: Annotated[int, Field(ge=8)] = 1024
    batch: Annotated[int, Field(gt=0)] = 4


@dataclass(frozen=True)
class BartScore(OverModel):
    settings: BartScoreSettings
    version: str = "1"

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        settings, identity = self.settings, self._identity
        with naming(f"metrics.{self.name}.model"):
            model = opened_pair(settings.model, identity.commit, bool(identity.allow))
        pairs = [pair for case in cases for pair in self._pairs(case)]
        logprobs = model.log_probabilities(pairs, settings.most_tokens, settings.batch)
        return measured(cases, settings.against, partial(self._comparing, model, logprobs))

    def _pairs(self, case: Case) -> Iterator[Pair]:
        others = compared_with(case.document, self.settings.against)
        for other in () if isinstance(others, Unscored) else others:
            for candidate in case.candidates:
                if not is_empty(candidate.text):
                    yield from pairs_of(self.settings.part, candidate.text, other)

    def _comparing(
        self, model: "EncoderDecoder", logprobs: Mapping[Pair, float], other: str
    ) -> Comparison:
        def value(text: str) -> Value:
            if not model.reads(text):
                return NO_TOKENS
            if not model.reads(other):
                return NOTHING_TO_COMPARE
            return fmean(logprobs[pair] for pair in pairs_of(self.settings.part, text, other))

        return value


def pairs_of(part: Direction, text: str, other: str) -> list[Pair]:
    pairs = {"precision": [(other, text)], "recall": [(text, other)]}
    return pairs.get(part) or [*pairs["precision"], *pairs["recall"]]


@cache
def opened_pair(source: str, revision: str | None, unpickles: bool) -> "EncoderDecoder":
    return EncoderDecoder(*pretrained("AutoModelForSeq2SeqLM", source, revision, unpickles))


class EncoderDecoder:
    def __init__(self, hf_tokenizer: Any, model: Any) -> None:
        self._model = model.float().eval()
        self._tokeniser = Tokeniser(hf_tokenizer)
        self._head, self._tail = marks_around(hf_tokenizer)
        self._positions = getattr(model.config, "max_position_embeddings", None)

    def reads(self, text: str) -> bool:
        """Whether the vocabulary reads anything in the text."""
        return bool(self._tokeniser.text(text))

    def log_probabilities(
        self, pairs: Collection[Pair], most: int, batch: int
    ) -> dict[Pair, float]:
        """The log-probability of each distinct pair with tokens on both sides. Apart from rounding,
        a pair's number does not depend on the pairs read with it."""
        distinct = [p for p in dict.fromkeys(pairs) if self.reads(p[0]) and self.reads(p[1])]
        ids = {pair: (self._ids(pair[0], most), self._ids(pair[1], most)) for pair in distinct}
        numbers: dict[Pair, float] = {}
        for places in longest_first([tuple(map(len, ids[pair])) for pair in distinct], batch):
            chosen = [distinct[place] for place in places]
            values = self._means(*zip(*(ids[pair] for pair in chosen), strict=True))
            numbers.update(zip(chosen, values, strict=True))
        return numbers

    def _ids(self, text: str, most: int) -> Ids:
        most = min(most, self._positions or most)
        room = most - len(self._head) - len(self._tail)
        return self._head + self._tokeniser.text(text)[:room] + self._tail

    def _means(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[float]:
        """The mean log-probability of the tokens of each of `targets` after its source."""
        import torch

        (read, read_mask), (written, mask) = padded(sources), padded(targets)
        with torch.inference_mode():
            logits = self._model(
                input_ids=read,
                attention_mask=read_mask,
                labels=written.masked_fill(mask == 0, -100),  # what no token is predicted for
            ).logits
            chosen = logits.gather(-1, written[..., None])[..., 0] - logits.logsumexp(-1)
            means = (chosen * mask).sum(dim=1) / mask.sum(dim=1)
        listed: list[float] = means.tolist()
        return listed


METRICS = {
    "bartscore": KnownMetric(
        partial(BartScore.made, BartScoreSettings),
        "How probable an encoder–decoder finds the text after the other, and the other after it.",
        "a reference, or `against: source`; an encoder–decoder (`model`) and the extra "
        "`embeddings`",
    )
}
