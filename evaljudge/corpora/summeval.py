"""SummEval's human annotations (Fabbri et al. 2021): model_annotations.aligned.jsonl, or .paired.

{"id": "dm-test-1a2b", "model_id": "M0", "decoded": "a flood came .", "references": ["…", …],
 "expert_annotations": [{"coherence": 4, "consistency": 5, "fluency": 5, "relevance": 3}, …],
 "turker_annotations": [{"coherence": 3, …}, …],
 "filepath": "cnndm/dailymail/stories/1a2b.story", "text": "The river …"}

One summary a line. Only the paired file has `text`, the article. Without it, `sources` names the
folder in which `filepath` leads to the story files of CNN and Daily Mail; or sources stay empty.
A rating is the list of the three experts', or with `summeval-turkers` of the five crowd workers'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from evaljudge.corpora.files import Readers, read_files
from evaljudge.corpora.jsonl import read_jsonl
from evaljudge.corpora.published import Fields, given, number, objects, turned
from evaljudge.corpora.rows import NOT_UTF8, BadRow, Row
from evaljudge.errors import UserError
from evaljudge.storage import open_to_read

AXES = ("coherence", "consistency", "fluency", "relevance")
EXPERTS, TURKERS = "expert_annotations", "turker_annotations"
LINES: Readers = dict.fromkeys((".jsonl", ".jsonl.gz"), read_jsonl)
HIGHLIGHT = "@highlight"
"""What a story file has before each of its reference sentences, after the article."""


def read_summeval(
    paths: tuple[str, ...], sources: str | None = None, raters: str = EXPERTS
) -> Iterator[Row | BadRow]:
    story = cache(partial(_story, sources)) if sources else None
    return (turned(row, partial(_summary, raters, story)) for row in read_files(paths, LINES))


def _summary(raters: str, story: Callable[[str], str] | None, fields: Fields) -> dict[str, Any]:
    source = fields.get("text")
    if source is None and story:
        source = story(given(fields, "filepath", str))
    annotations, where = objects(fields, raters), f" in `{raters}`"
    return {
        "doc_id": given(fields, "id", str),
        "source": source,
        "references": given(fields, "references", list),
        "system": given(fields, "model_id", str),
        "text": given(fields, "decoded", str),
        "ratings": {axis: [number(one, axis, where) for one in annotations] for axis in AXES},
    }


def _story(folder: str, filepath: str) -> str:
    """The article in a story file: its lines in one, without the highlights."""
    file = f"{folder.rstrip('/')}/{filepath}"
    with open_to_read(file) as stream:
        try:
            article, _, _ = stream.read().decode().partition(HIGHLIGHT)
        except UnicodeDecodeError:
            raise UserError(f"{file}: {NOT_UTF8}") from None
    return " ".join(line.strip() for line in article.split("\n") if line.strip())
