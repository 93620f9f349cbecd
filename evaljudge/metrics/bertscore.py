"""BERTScore: every token of a text looks for its nearest in the other text, and back.

    text "A flood."   reference "The river flooded."
      ->  precision 0.698, recall 0.665, f1 0.681   (all-MiniLM-L6-v2, last layer)

Precision is the mean over the text's tokens of the highest cosine with a token of the other text,
recall the same over the other's tokens, `f1` their harmonic mean. The numbers are those of the
package bert-score without idf weights and without rescaling by a baseline: like there, the
encoder's marks ([CLS], [SEP]) carry no weight but may be another token's nearest. They are cosines,
so at most 1 (equal texts) and in practice above 0; most encoders leave little room below 0.8.
Texts longer than the encoder reads at once are not cut, as there, but read in windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from evaljudge.metrics.embeddings import Embeddings, EncoderSettings, libraries
from evaljudge.metrics.encoder import Embedded
from evaljudge.settings import read_settings

Part = Literal["f1", "precision", "recall"]


class BertScoreSettings(EncoderSettings):
    part: Part = "f1"


def bertscore(name: str, given: Mapping[str, Any]) -> Embeddings:
    where = f"metrics.{name}"
    settings = read_settings(BertScoreSettings, given, where)
    library = libraries(where, "transformers", "torch")
    return Embeddings(name, settings, library, partial(matched, settings.part))


def matched(part: Part, text: Embedded, other: Embedded) -> float:
    cosines = text.vectors @ other.vectors.T
    precision = float(cosines.max(axis=1)[text.own].mean())
    recall = float(cosines.max(axis=0)[other.own].mean())
    return {"precision": precision, "recall": recall, "f1": _f1(precision, recall)}[part]


def _f1(precision: float, recall: float) -> float:
    """0 where either is not positive: the harmonic mean means nothing there."""
    if precision <= 0 or recall <= 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)
