"""What a text shares with its reference, word for word or letter for letter: ROUGE, BLEU, chrF.

    reference "The river rose and closed the bridge."   text "The river closed the old bridge."
    rouge1 0.769   rouge2 0.364   rougeL 0.769   bleu 0.197   chrf 0.598

All lie in 0..1; the reference itself would have 1 (BLEU and chrF up to rounding) and is unscored.
BLEU (one sentence, tokens as in mteval 13a, exponential smoothing, effective order) and chrF are
sacrebleu's; `words: 2` makes chrF++. With several references `best` and `mean` are over the values
against one reference each, for BLEU too: its own way of pooling references has no mean.

ROUGE of a text without letters or digits, or against such texts only, is unscored (`no words`).
BLEU and chrF count signs too. Letters of scripts without spaces are words of their own (see
rouge.py), or BLEU would take a Chinese sentence for one word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from evaljudge.metrics.protocol import Value
from evaljudge.metrics.references import Comparison, ReferenceSettings, measured
from evaljudge.metrics.rouge import LIKE, Kind, compared, spaced
from evaljudge.records import Case
from evaljudge.settings import read_settings

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreBleu

BLEU_AS: Mapping[str, Any] = {"tokenize": "13a", "smooth_method": "exp", "effective_order": True}


class RougeSettings(ReferenceSettings):
    stemmer: bool = False


class ChrfSettings(ReferenceSettings):
    words: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True, slots=True)
class Lexical:
    """A metric that compares a text with one other at a time."""

    name: str
    settings: ReferenceSettings
    made_by: Mapping[str, Any]
    comparing: Callable[[str], Comparison]
    version: str = "2"

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**self.settings.model_dump(), **self.made_by}

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        return measured(cases, self.settings.against, self.comparing)


def _rouge(kind: Kind, name: str, given: Mapping[str, Any]) -> Lexical:
    settings = read_settings(RougeSettings, given, f"metrics.{name}")
    stemmed_by = {"library": _library("nltk")} if settings.stemmer else {}
    made_by = {"like": LIKE, **stemmed_by}
    return Lexical(name, settings, made_by, partial(compared, kind, settings.stemmer))


rouge1, rouge2, rouge_l = (partial(_rouge, kind) for kind in ("rouge1", "rouge2", "rougeL"))


def bleu(name: str, given: Mapping[str, Any]) -> Lexical:
    settings = read_settings(ReferenceSettings, given, f"metrics.{name}")
    made_by = {"library": _library("sacrebleu"), **BLEU_AS}
    return Lexical(name, settings, made_by, _bleu)


def chrf(name: str, given: Mapping[str, Any]) -> Lexical:
    settings = read_settings(ChrfSettings, given, f"metrics.{name}")
    made_by = {"library": _library("sacrebleu")}
    return Lexical(name, settings, made_by, partial(_chrf, settings.words))


def _library(name: str) -> str:
    return f"{name} {version(name)}"


def _bleu(reference: str) -> Comparison:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    # Each keeps its last 65,536 texts, none of which comes again: gigabytes, where they are long.
    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()
    return _sacrebleu(BLEU(**BLEU_AS, force=True, references=[[spaced(reference)]]))


def _chrf(words: int, reference: str) -> Comparison:
    from sacrebleu.metrics.chrf import CHRF

    return _sacrebleu(CHRF(word_order=words, references=[[spaced(reference)]]))


def _sacrebleu(metric: SacreBleu) -> Comparison:
    """Each text a corpus of one, against the reference that the metric was made with."""
    return lambda text: float(metric.corpus_score([spaced(text)], None).score) / 100
