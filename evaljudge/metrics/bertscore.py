"""BERTScore: every token of a text looks for its nearest in the other text, and back.

    bertscore: {model: roberta-large}                  layer 17, as the package bert-score has it
    bertscore: {model: all-MiniLM-L6-v2, layer: 6}     of an encoder that it does not know
    text "A flood."   reference "The river flooded."
      ->  precision 0.698, recall 0.665, f1 0.681      (all-MiniLM-L6-v2, last layer)

Precision is the mean over the text's tokens of the highest cosine with a token of the other text,
recall the same over the other's tokens, `f1` their harmonic mean. The numbers are those of the
package bert-score without idf weights and without rescaling by a baseline: like there, the
encoder's marks ([CLS], [SEP]) carry no weight but may be another token's nearest. They are cosines,
so at most 1 (equal texts) and in practice above 0; most encoders leave little room below 0.8.
The layer is that of the package's table (layers.py) unless `layer` says another. Of an encoder that
the table does not know it is the last. Only numbers of the table's layer are called BERTScore's: of
others the signature and a warning of the report say that they are not.
Texts longer than the encoder reads at once are read in windows; that package cuts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from evaljudge.metrics.embeddings import LAST, Embeddings, EncoderSettings, libraries
from evaljudge.metrics.encoder import Embedded
from evaljudge.metrics.layers import own_layer
from evaljudge.settings import read_settings

Statistic = Literal["f1", "precision", "recall"]


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
        partial(matched, settings.part),
        layer,
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


def matched(part: Statistic, text: Embedded, other: Embedded) -> float:
    cosines = text.vectors @ other.vectors.T
    precision = float(cosines.max(axis=1)[text.own].mean())
    recall = float(cosines.max(axis=0)[other.own].mean())
    return {"precision": precision, "recall": recall, "f1": _f1(precision, recall)}[part]


def _f1(precision: float, recall: float) -> float:
    """0 where either is not positive: the harmonic mean means nothing there."""
    if precision <= 0 or recall <= 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)
