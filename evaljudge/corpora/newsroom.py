"""NewsRoom's human evaluation (Grusky et al. 2018): newsroom-human-eval.csv, a row a rater.

ArticleID,System,ArticleText,SystemSummary,ArticleTitle,CoherenceRating,FluencyRating,
InformativenessRating,RelevanceRating
7,lede3,It rained.</p><p>The river&#x27;s up.,It rained.,A flood,4,5,3,4

(the header is one line; columns may have any order). Texts are HTML, as raters saw them: entities
become characters, and marks of paragraphs and line breaks become empty lines and line breaks.
There is no reference, and the title is not part of the source.
"""

from __future__ import annotations

import html
import re
from typing import Any

from evaljudge.corpora.files import read_files
from evaljudge.corpora.published import CSV, Fields, given, number, rater_by_rater, turned
from evaljudge.corpora.rows import KnownFormat, Rows

AXES = ("coherence", "fluency", "informativeness", "relevance")
PARAGRAPH = re.compile(r"\s*(?:</?p\s*/?>\s*)+", re.IGNORECASE)
LINE_BREAK = re.compile(r"[ \t]*<br\s*/?>[ \t]*", re.IGNORECASE)


def read_newsroom(paths: tuple[str, ...]) -> Rows:
    return rater_by_rater(turned(row, _rated) for row in read_files(paths, CSV))


def _rated(fields: Fields) -> dict[str, Any]:
    return {
        "doc_id": given(fields, "ArticleID", str),
        "source": _text(given(fields, "ArticleText", str)),
        "system": given(fields, "System", str),
        "text": _text(given(fields, "SystemSummary", str)),
        "ratings": {axis: number(fields, f"{axis.capitalize()}Rating") for axis in AXES},
    }


def _text(encoded: str) -> str:
    lines = LINE_BREAK.sub("\n", html.unescape(encoded))
    return PARAGRAPH.sub("\n\n", lines).strip()


FORMATS = {
    "newsroom": KnownFormat(
        read_newsroom, "Summaries of news, rated on four axes.", "newsroom-human-eval.csv"
    )
}
