"""BERTScore: the cosine of every token to its nearest in the other text, in both directions.

    bertscore: {model: all-MiniLM-L6-v2, layer: 6}
    text "A flood."   reference "The river flooded."
      ->  precision 0.698, recall 0.665, f1 0.681      (all-MiniLM-L6-v2, last layer)

Precision is the mean over the text's tokens of the highest cosine with a token of the other text,
recall the same over the other's tokens, `f1` their harmonic mean. The numbers are those of the
package bert-score without idf weights and without rescaling by a baseline. As there, the encoder's
marks ([CLS], [SEP]) carry no weight but may be another token's nearest. Texts longer than the
encoder reads at once are read in windows; that package cuts them.

That package's table of layers is layers.json. It lacks the encoders that end in a normalisation of
their own (T5, Pegasus, mBART, Blenderbot 400M): the package applies it to the layer it reads, and
we do not, so that numbers would differ.
"""

import json
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from evaljudge.metrics.embeddings import LAST, NEEDS_ENCODER, Embeddings, EncoderSettings
from evaljudge.metrics.encoder import Embedded
from evaljudge.metrics.protocol import KnownMetric, libraries
from evaljudge.settings import read_settings

Statistic = Literal["f1", "precision", "recall"]
_OWNERS = {"albert", "distilbert", "FacebookAI", "google-bert", "openai-community", "xlnet"}
"""The hub's owners, today, of encoders that the table names without an owner."""


class BertScoreSettings(EncoderSettings):
    part: Statistic = "f1"


def bertscore(name: str, given: Mapping[str, Any]) -> Embeddings:
    where = f"metrics.{name}"
    settings = read_settings(BertScoreSettings, given, where)
    library = libraries(where, "transformers", "torch")
    own = own_layer(settings.model)
    chosen = own if settings.layer is None else settings.layer
    layer = LAST if chosen is None else chosen
    like = "BERTScore" if layer == own else "not BERTScore's own"
    return Embeddings(
        name,
        settings,
        library,
        (layer,),
        partial(matched, settings.part),
        {"like": like},
        [] if layer == own else [f"{name}: {_caution(settings, own)}"],
    )


def _caution(settings: BertScoreSettings, own: int | None) -> str:
    if own is not None:
        return f"not BERTScore's own number, which is of layer {own}: `layer` is {settings.layer}"
    taken = "the last was taken: set `layer`" if settings.layer is None else "yours was taken"
    return (
        f"not BERTScore's own number: its table has no layer for {settings.model}, so that {taken}"
    )


def own_layer(encoder: str) -> int | None:
    """The layer in the table, or None where the table does not know the encoder.

    own_layer("roberta-large")             -> 17      FacebookAI/roberta-large too
    own_layer("models/bert-base-uncased")  -> 9       a folder, by the last part of its path
    own_layer("all-MiniLM-L6-v2")          -> None    and somebody-else/roberta-large
    """
    layers = _layers()
    if encoder in layers:
        return layers[encoder]
    if Path(encoder).is_dir():
        by_last_part = {name.rpartition("/")[2]: layer for name, layer in layers.items()}
        return by_last_part.get(Path(encoder).resolve().name)
    owner, _, name = encoder.partition("/")
    return layers.get(name) if owner in _OWNERS else None


@cache
def _layers() -> dict[str, int]:
    table = files("evaljudge.metrics").joinpath("layers.json").read_text("utf-8")
    return {name: int(layer) for layer, names in json.loads(table).items() for name in names}


def matched(part: Statistic, text: Embedded, other: Embedded) -> float:
    cosines = text.vectors @ other.vectors.T
    precision = float(cosines.max(axis=1)[text.own].mean())
    recall = float(cosines.max(axis=0)[other.own].mean())
    return {"precision": precision, "recall": recall, "f1": _f1(precision, recall)}[part]


def _f1(precision: float, recall: float) -> float:
    """0 where either is not positive, since the harmonic mean is not defined there."""
    if precision <= 0 or recall <= 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)


METRICS = {
    "bertscore": KnownMetric(
        bertscore, "The cosine of every token to its nearest one.", NEEDS_ENCODER
    )
}
