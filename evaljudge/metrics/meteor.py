"""METEOR (Banerjee and Lavie 2005) by nltk: the words that two texts share, in how many chunks.

    meteor: {}                                  equal words, then equal stems
    meteor: {synonyms: /data/wordnet}           then synonyms: a folder with WordNet's files
    reference "the cat sat on the mat"   text "the cat was sat on the mat"
      ->  6 words in 2 chunks: F 0.984, penalty 0.019, value 0.965

docs/metrics.md says how nltk aligns the words. A chunk is a longest run of aligned words that
follow each other in both texts. With m aligned words:

    P = m / words of the text            R = m / words of the other
    F = P R / (alpha P + (1 - alpha) R)  penalty = gamma (chunks / m)^beta
    value = F (1 - penalty)

alpha 0.9, beta 3 and gamma 0.5 make the paper's own F = 10 P R / (R + 9 P) and 0.5 (chunks / m)^3.
Words are those of ROUGE (lexical.py).
"""

import hashlib
import warnings
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

from pydantic import Field

from evaljudge.errors import UserError
from evaljudge.metrics.lexical import NO_WORDS, Lexical, porter, words
from evaljudge.metrics.protocol import Comparison, KnownMetric, ReferenceSettings, Value, libraries
from evaljudge.settings import read_settings

WORDNET = [
    f"{name}.{kind}" for name in ("index", "data") for kind in ("noun", "verb", "adj", "adv")
]
WORDNET += ["noun.exc", "verb.exc", "adj.exc", "adv.exc", "lexnames"]
"""The files of a folder with WordNet."""


class MeteorSettings(ReferenceSettings):
    stems: bool = True
    synonyms: str | None = None
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.9
    beta: Annotated[float, Field(ge=0)] = 3.0
    gamma: Annotated[float, Field(ge=0, le=1)] = 0.5


def meteor(name: str, given: Mapping[str, Any]) -> Lexical:
    where = f"metrics.{name}"
    settings = read_settings(MeteorSettings, given, where)
    made_by = {"library": libraries(where, "nltk", extra="metrics")}
    if settings.synonyms:
        files = [Path(settings.synonyms, file) for file in WORDNET]
        if lacking := [file.name for file in files if not file.is_file()]:
            raise UserError(
                f"{where}.synonyms: {settings.synonyms} has no {lacking[0]}: name a folder of this "
                "machine with WordNet's files (`dict` in Princeton's WordNet, or "
                "`corpora/wordnet` in nltk's data)"
            )
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in files))
        made_by["synonyms"] = f"wordnet@{digest.hexdigest()[:12]}"
    return Lexical(name, settings, made_by, partial(compared, settings), version="2")


def compared(settings: MeteorSettings, other: str) -> Comparison:
    from nltk.translate.meteor_score import single_meteor_score

    theirs = words(other)
    how = {
        "stemmer": SimpleNamespace(stem=porter() if settings.stems else str),
        "wordnet": (
            _wordnet(settings.synonyms)
            if settings.synonyms
            else SimpleNamespace(synsets=lambda word: ())
        ),
        "alpha": settings.alpha,
        "beta": settings.beta,
        "gamma": settings.gamma,
    }

    def value(text: str) -> Value:
        mine = words(text)
        return float(single_meteor_score(theirs, mine, **how)) if mine and theirs else NO_WORDS

    return value


@cache
def _wordnet(folder: str) -> Any:
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """nltk compares these files with another WordNet, from its downloads."""

    nltk.data.path.append(folder)  # it reads corpora from folders of this list alone
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The multilingual functions are not available")
        return Reader(folder, None)


METRICS = {
    "meteor": KnownMetric(
        meteor,
        "The words that a text shares, also by stem and synonym, in how many chunks.",
        "a reference, or `against: source`; the extra `metrics`; for synonyms, WordNet's folder",
    )
}
