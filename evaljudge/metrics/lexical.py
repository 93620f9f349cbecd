"""What a text shares with its reference, word for word or letter for letter: ROUGE, BLEU, chrF.

    reference "The river rose and closed the bridge."   text "The river closed the old bridge."
    rouge1 0.769   rouge2 0.364   rougeL 0.769   bleu 0.197   chrf 0.598

All lie in 0..1; the reference itself would have 1 (BLEU and chrF up to rounding) and is unscored.
BLEU (one sentence, tokens as in mteval 13a, exponential smoothing, effective order) and chrF are
sacrebleu's; `words: 2` makes chrF++. With several references `best` and `mean` are over the values
against one reference each, for BLEU too: its own way of pooling references has no mean.

ROUGE is the F1 of the words that two texts have in common: here 5 of 7 and 6 words, 2 of 6 and 5
pairs (`the river`, `closed the`), and 5 words in the same order.

The numbers are those of rouge-score, with which the tests compare them. They are counted here,
because rouge-score splits the reference into words again for every text, and is many times slower
for ROUGE-L. The whole text is one sentence (not `rougeLsum`). A text of one word has no pair, so
that its ROUGE-2 is 0. A text without letters or digits is unscored (`no words`); BLEU and chrF
count signs too.

A word is a run of letters and digits, in lower case, after compatibility normalisation (ﬁ is fi,
full-width digits are digits). On ASCII these are rouge-score's tokens; other letters, which it
drops, are kept. In scripts that put no spaces between words (Chinese, Japanese, Thai, Lao, Khmer,
Burmese) each letter, with its marks, is a word of its own; for BLEU too, which would take a Chinese
sentence for one word.

    words("The café's co-op, 12 km")  ->  the café s co op 12 km
    words("东京tower")                 ->  东 京 tower
    spaced("东京tower")                ->  " 东  京 tower"
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import regex
from pydantic import Field

from evaljudge.metrics.protocol import (
    Comparison,
    KnownMetric,
    ReferenceSettings,
    Unscored,
    Value,
    libraries,
    measured,
)
from evaljudge.records import Case
from evaljudge.settings import read_settings

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreBleu

NO_WORDS = Unscored("no words")
REMEMBERED = 100_000  # words whose stems are kept
Kind = Literal["rouge1", "rouge2", "rougeL"]
LIKE = "rouge-score 0.1.2"
Words = list[str]
_UNSPACED = r"[\p{L}&&[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
_ALONE = regex.compile(rf"(?V1){_UNSPACED}\p{{M}}*")
_WORD = regex.compile(
    rf"(?V1){_UNSPACED}\p{{M}}*|[\p{{L}}\p{{N}}--{_UNSPACED}][\p{{L}}\p{{N}}\p{{M}}--{_UNSPACED}]*"
)
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
    is_light: ClassVar[bool] = True

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**self.settings.model_dump(), **self.made_by}

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        return measured(cases, self.settings.against, self.comparing)


def _rouge(kind: Kind, name: str, given: Mapping[str, Any]) -> Lexical:
    where = f"metrics.{name}"
    settings = read_settings(RougeSettings, given, where)
    made_by = {"like": LIKE}
    if settings.stemmer:
        made_by["library"] = libraries(where, "nltk", extra="metrics")
    return Lexical(name, settings, made_by, partial(compared, kind, settings.stemmer))


rouge1, rouge2, rouge_l = (partial(_rouge, kind) for kind in ("rouge1", "rouge2", "rougeL"))


def bleu(name: str, given: Mapping[str, Any]) -> Lexical:
    where = f"metrics.{name}"
    settings = read_settings(ReferenceSettings, given, where)
    made_by = {"library": libraries(where, "sacrebleu", extra="metrics"), **BLEU_AS}
    return Lexical(name, settings, made_by, _bleu)


def chrf(name: str, given: Mapping[str, Any]) -> Lexical:
    where = f"metrics.{name}"
    settings = read_settings(ChrfSettings, given, where)
    made_by = {"library": libraries(where, "sacrebleu", extra="metrics")}
    return Lexical(name, settings, made_by, partial(_chrf, settings.words))


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


def _sacrebleu(metric: "SacreBleu") -> Comparison:
    """Each text a corpus of one, against the reference that the metric was made with."""
    return lambda text: float(metric.corpus_score([spaced(text)], None).score) / 100


def compared(kind: Kind, stemmer: bool, reference: str) -> Comparison:
    theirs = words(reference, stemmer)
    compare = _same_order(theirs) if kind == "rougeL" else _same_grams(int(kind[-1]), theirs)

    def value(text: str) -> Value:
        mine = words(text, stemmer)
        return compare(mine) if mine and theirs else NO_WORDS

    return value


def _same_grams(n: int, theirs: Words) -> Callable[[Words], float]:
    counted = Counter(_grams(n, theirs))

    def value(mine: Words) -> float:
        shared = counted & Counter(_grams(n, mine))
        return _f1(shared.total(), len(mine) - n + 1, len(theirs) - n + 1)

    return value


def _grams(n: int, words: Words) -> Iterable[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(n)), strict=False)


def _same_order(theirs: Words) -> Callable[[Words], float]:
    """The longest common subsequence, bit-parallel (Hyyrö 2004): one step for each of my words."""
    everywhere = (1 << len(theirs)) - 1
    places: dict[str, int] = {}
    for at, word in enumerate(theirs):
        places[word] = places.get(word, 0) | 1 << at

    def value(mine: Words) -> float:
        free = everywhere  # each bit cleared is a word by which the subsequence has grown
        for word in mine:
            matched = free & places.get(word, 0)
            free = (free + matched | free - matched) & everywhere
        return _f1(len(theirs) - free.bit_count(), len(mine), len(theirs))

    return value


def _f1(shared: int, mine: int, theirs: int) -> float:
    return 2 * shared / (mine + theirs) if shared else 0.0


def words(text: str, stemmer: bool = False) -> list[str]:
    listed: list[str] = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
    return [_stem(word) for word in listed] if stemmer else listed


def spaced(text: str) -> str:
    """The text with spaces around letters that are words, for tokenizers that need spaces."""
    return text if text.isascii() else str(_ALONE.sub(r" \g<0> ", text))


def _stem(word: str) -> str:
    """The stem as in rouge-score, which keeps three letters; Porter's rules are for English."""
    return porter()(word) if len(word) > 3 and word.isascii() else word


@cache
def porter() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer  # seconds to import

    return lru_cache(REMEMBERED)(PorterStemmer().stem)


LIBRARY = "a reference, or `against: source`; the extra `metrics`"
METRICS = {
    "rouge1": KnownMetric(rouge1, "F1 of the words in common with a reference, from 0 to 1."),
    "rouge2": KnownMetric(rouge2, "F1 of the pairs of words in common with it, from 0 to 1."),
    "rougeL": KnownMetric(rouge_l, "F1 of the longest sequence of words in common, from 0 to 1."),
    "bleu": KnownMetric(bleu, "sacrebleu's BLEU of one text, from 0 to 1.", LIBRARY),
    "chrf": KnownMetric(chrf, "sacrebleu's chrF: the same letters in a row, from 0 to 1.", LIBRARY),
}
