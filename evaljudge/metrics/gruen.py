"""Two of the four parts of GRUEN (Zhu and Bhat 2020): grammar and repetition, from the text alone.

    gruen2of4: {model: bert-base-cased, acceptability: models/bert-base-cased-cola}
    text "The river rose. The river rose fast. Boats came."   perplexity 1.4, acceptability 2.0
      ->  0.5 + (exp(-0.7) + 2.0) / 8 = 0.812;  one pair is alike in 1 way:  0.812 - 0.1 = 0.712

The value is min(1, max(0, g + r)), in which

    g = max(0, 1/2 + (exp(-perplexity / 2) + acceptability) / 8)      grammaticality
    r = -0.1 for each way in which two of the sentences are alike     non-redundancy

The perplexity (of a masked language model) and the acceptability (of a classifier trained on CoLA)
are means over the sentences. The four ways to be alike:

    the longest string in common has more than 0.8 of the letters of the shorter sentence
    it has more than 0.8 of the words of the sentence with fewer words
    fewer letters must be edited than 0.6 of those of the longer sentence
    more than 0.8 of the words of the sentence with fewer words are words of the other

Where one sentence is inside the other, all four count; otherwise none does if both have fewer than
five words. The numbers are those of the authors' code, for sentences split alike. As there, each
full stop and each line break ends a sentence, numbers with a point become `UNK`, sentences of one
word do not count, and one is cut at 510 tokens for the perplexity, at 126 for the acceptability.

Two parts are missing (docs/metrics.md says why), and so the metric is named 2 of 4.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property, partial
from itertools import combinations
from math import exp
from statistics import fmean
from string import punctuation
from typing import Annotated, Any

from pydantic import Field

from evaljudge.engines import Identity
from evaljudge.errors import UserError, naming
from evaljudge.metrics.embeddings import ModelSettings, OverModel, identified
from evaljudge.metrics.encoder import Windows, padded, positions, pretrained
from evaljudge.metrics.passages import running_sentences
from evaljudge.metrics.protocol import EMPTY_TEXT, KnownMetric, Unscored, Value, is_empty
from evaljudge.records import Case

NO_SENTENCE = Unscored("no sentence of two words")
MISSING = "focus, and structure and coherence"
READ_FOR_PERPLEXITY, READ_FOR_ACCEPTABILITY = 512, 128
ALIKE, EDITED, PENALTY, WAYS = 0.8, 0.6, 0.1, 4
FEWEST_WORDS = 5
CHANGES = (
    *(("\n\n", ". "), ("\n", ". "), ("..", ".")),
    *((".", ". "), (". . ", ". "), (".  . ", ". ")),
)
"""The authors' changes to a text, one after the other, so that full stops end sentences."""


class GruenSettings(ModelSettings):
    kinds = {"model": "a masked language model", "acceptability": "a classifier trained on CoLA"}
    acceptability: Annotated[str, Field(validate_default=True)] = ""
    batch: Annotated[int, Field(gt=0)] = 32


@dataclass(frozen=True)
class Gruen(OverModel):
    settings: GruenSettings
    version: str = "2"

    @property
    def cautions(self) -> Sequence[str]:
        return [f"{self.name}: GRUEN without two of its four parts ({MISSING})"]

    @property
    def facts(self) -> Mapping[str, Any]:
        models = {key: str(identity) for key, identity in self._identities.items()}
        return {**models, "library": self.library, "like": f"GRUEN without {MISSING}"}

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        texts = {c.text for case in cases for c in case.candidates if not is_empty(c.text)}
        parts = {text: separated(text) for text in texts}
        distinct = sorted({sentence for of_text in parts.values() for sentence in of_text})
        perplexity, acceptability = self._read(distinct)

        def value(text: str) -> Value:
            if is_empty(text):
                return EMPTY_TEXT
            if not (in_text := parts[text]):
                return NO_SENTENCE
            by_sentence = [(perplexity[s], acceptability[s]) for s in in_text]
            perplexities, accepted = zip(*by_sentence, strict=True)
            g = grammaticality(fmean(perplexities), fmean(accepted))
            r = -PENALTY * sum(ways_alike(a, b) for a, b in combinations(in_text, 2))
            return min(1.0, max(0.0, g + r))

        return [[value(candidate.text) for candidate in case.candidates] for case in cases]

    @cached_property
    def _identities(self) -> Mapping[str, Identity]:
        classifier = {"model": self.settings.acceptability, "revision": None}
        with naming(f"metrics.{self.name}.acceptability"):
            other = identified(self.settings.model_copy(update=classifier))
        return {"model": self._identity, "acceptability": other}

    def _read(self, texts: Sequence[str]) -> tuple[Mapping[str, float], Mapping[str, float]]:
        read_by: dict[str, Mapping[str, float]] = {}
        for key, identity in self._identities.items():
            with naming(f"metrics.{self.name}.{key}"):
                source = getattr(self.settings, key)
                reader = opened(key, source, identity.commit, bool(identity.allow))
            read_by[key] = reader.numbers(texts, self.settings.batch)
        return read_by["model"], read_by["acceptability"]


def grammaticality(perplexity: float, acceptability: float) -> float:
    return max(0.0, 0.5 + (exp(-perplexity / 2) + acceptability) / 8)


def ways_alike(a: str, b: str) -> int:
    if a in b or b in a:
        return WAYS
    words, others = a.split(), b.split()
    if max(len(words), len(others)) < FEWEST_WORDS:
        return 0
    start, _, length = SequenceMatcher(None, a, b).find_longest_match()
    common = len(a[start : start + length].split())
    shared = sum(word in others for word in words)
    fewer = ALIKE * min(len(words), len(others))
    return sum(
        [
            length > ALIKE * min(len(a), len(b)),
            common > fewer,
            edits(a, b) < EDITED * max(len(a), len(b)),
            shared > fewer,
        ]
    )


def edits(a: str, b: str) -> int:
    """Levenshtein's distance, bit-parallel (Hyyrö 2003): one step for each letter of b."""
    everywhere, last = (1 << len(a)) - 1, 1 << len(a) - 1
    places: dict[str, int] = {}
    for at, letter in enumerate(a):
        places[letter] = places.get(letter, 0) | 1 << at
    more, less, distance = everywhere, 0, len(a)
    for letter in b:
        same = places.get(letter, 0)
        diagonal = (((same & more) + more) ^ more) | same | less
        up, down = less | ~(diagonal | more), diagonal & more
        distance += bool(up & last) - bool(down & last)
        up, down = up << 1 | 1, down << 1
        more, less = (down | ~(diagonal | up)) & everywhere, up & diagonal & everywhere
    return distance


def separated(text: str) -> list[str]:
    """The sentences of more than one word, after the authors' changes to the text.

    separated("It rose 3.5 metres. Boats came.Yes.")  ->  ["It rose UNK metres.", "Boats came."]
    """
    text = text.strip()
    for old, new in CHANGES:
        text = text.replace(old, new)
    text = re.sub(r"(\d+)\. (\d+)", "UNK", re.sub(" {2,}", " ", text))
    without_signs = str.maketrans("", "", punctuation)
    return [s for s in running_sentences(text) if len(s.translate(without_signs).split()) > 1]


class Reader:
    """A model that gives a number for each sentence by itself."""

    def __init__(
        self, hf_tokenizer: Any, model: Any, most: int, number: Callable[..., Any]
    ) -> None:
        self._model = model.float().eval()
        self._windows = Windows(hf_tokenizer, min(most, positions(hf_tokenizer, model.base_model)))
        self._number = number

    def numbers(self, texts: Sequence[str], batch: int) -> dict[str, float]:
        import torch

        values: dict[str, float] = {}
        for start in range(0, len(texts), batch):
            chosen = texts[start : start + batch]
            ids, mask = padded([self._ids(sentence) for sentence in chosen])
            with torch.inference_mode():
                logits = self._model(input_ids=ids, attention_mask=mask).logits
            values.update(zip(chosen, self._number(logits, ids, mask).tolist(), strict=True))
        return values

    def _ids(self, sentence: str) -> Any:
        return self._windows.around(self._windows.ids(sentence)[: self._windows.room])


def _perplexities(logits: Any, ids: Any, mask: Any) -> Any:
    """Each sentence's perplexity: of its tokens, with the marks around it, given all of them."""
    from torch.nn.functional import cross_entropy

    labels = ids.masked_fill(mask == 0, -100)  # what cross entropy leaves out
    losses = cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return (losses.sum(dim=1) / mask.sum(dim=1)).exp()


@cache
def opened(key: str, source: str, revision: str | None, unpickles: bool) -> Reader:
    masked, classifier = "AutoModelForMaskedLM", "AutoModelForSequenceClassification"
    kind = masked if key == "model" else classifier
    hf, model = pretrained(kind, source, revision, unpickles, is_whole=True)
    if kind == masked:
        return Reader(hf, model, READ_FOR_PERPLEXITY, _perplexities)
    if model.config.num_labels != 2:
        raise UserError(f"{source} has {model.config.num_labels} classes, not 2 as those of CoLA")
    return Reader(hf, model, READ_FOR_ACCEPTABILITY, lambda logits, ids, mask: logits[:, 1])


METRICS = {
    "gruen2of4": KnownMetric(
        partial(Gruen.made, GruenSettings),
        "GRUEN without focus, structure and coherence: grammar, and no sentence twice.",
        "a masked language model (`model`) and a classifier trained on CoLA (`acceptability`), "
        "and the extra `embeddings`",
    )
}
