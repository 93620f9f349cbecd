"""What the readers of published benchmarks share; and those whose rows are of single raters.

    turned(Row("a.csv:2", {"Story": "A flood.", …}), turn) -> Row("a.csv:2", {"text": "A flood."…})
    turned(Row("a.csv:3", {"Model": "GPT", …}), turn)      -> BadRow("a.csv:3", "no `Story`")

Each turns a row of the authors' form into a row of the generic form. If theirs lacks the documents,
their source is empty, which is enough for agreement and for metrics against references.

HANNA's stories (Chhun et al. 2022) and NewsRoom's summaries (Grusky et al. 2018): CSV files in
which each row has the ratings of one rater.

Story ID,Prompt,Human,Story,Model,Relevance,Coherence,Empathy,Surprise,Engagement,Complexity,…
0,A river talks.,It said hello.,It said hello.,Human,5,4,3,2,4,3,…
96,A river talks.,It said hello.,The river ran.,GPT,2,3,1,1,2,1,…

is the form of hanna_stories_annotations.csv. Stories are numbered model after model, each with the
same 96 prompts: the number modulo 96 is the prompt, and names the document (hanna-00, …). The human
story is a system, and the reference.

ArticleID,System,ArticleText,SystemSummary,ArticleTitle,CoherenceRating,FluencyRating,
InformativenessRating,RelevanceRating
7,lede3,It rained.</p><p>The river&#x27;s up.,It rained.,A flood,4,5,3,4

is that of newsroom-human-eval.csv (the header is one line). Texts are HTML, as raters saw them:
entities become characters, and marks of paragraphs and line breaks become empty lines and line
breaks. There is no reference, and the title is not part of the source.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evaljudge.corpora.files import Readers, read_files
from evaljudge.corpora.readers import read_csv, read_json
from evaljudge.corpora.rows import BadRow, KnownFormat, RefusedError, Row, Rows, is_number, kind
from evaljudge.errors import first_line

Fields = Mapping[str, Any]
JSON: Readers = dict.fromkeys((".json", ".jsonl", ".json.gz", ".jsonl.gz"), read_json)
CSV: Readers = dict.fromkeys((".csv", ".csv.gz"), read_csv)
STORY_AXES = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
NEWS_AXES = ("Coherence", "Fluency", "Informativeness", "Relevance")
PROMPTS = 96
PARAGRAPH = re.compile(r"\s*(?:</?p\s*/?>\s*)+", re.IGNORECASE)
LINE_BREAK = re.compile(r"[ \t]*<br\s*/?>[ \t]*", re.IGNORECASE)


def turned(row: Row | BadRow, turn: Callable[[Fields], Fields]) -> Row | BadRow:
    if isinstance(row, BadRow):
        return row
    try:
        return Row(row.place, turn(row.fields))
    except KeyError as error:
        problem = f"no `{error.args[0]}`"
    except RefusedError as refused:
        problem = str(refused)
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"not as its authors have it ({first_line(error)})"
    return BadRow(row.place, " ".join(problem.split()))  # their names may hold line breaks


def rating(value: Any) -> Any:
    """A number, from a cell too; None if it is null or the cell is empty."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) and not is_number(value):
        raise TypeError(f"a rating is {kind(value)}")
    return float(value) if isinstance(value, str) else value


def read_rater_rows(turn: Callable[[Fields], dict[str, Any]], paths: tuple[str, ...]) -> Rows:
    """The rows of a candidate, one from each rater, joined to one row with lists of ratings. All
    candidates are held in memory, because a candidate's rows may be anywhere in the files."""
    candidates: dict[tuple[str, str], Row] = {}
    for row in (turned(row, turn) for row in read_files(paths, CSV)):
        if isinstance(row, BadRow):
            yield row
            continue
        key = row.fields["doc_id"], row.fields["system"]
        first = candidates.setdefault(key, Row(row.place, {**row.fields, "ratings": {}}))
        changed = [
            n for n, value in first.fields.items() if n != "ratings" and row.fields[n] != value
        ]
        if changed:
            message = f"`{changed[0]}` of this candidate is another than in {first.place}"
            yield BadRow(row.place, message)
            continue
        for axis, number in row.fields["ratings"].items():
            first.fields["ratings"].setdefault(axis, []).append(number)
    yield from candidates.values()


def _story(fields: Fields) -> dict[str, Any]:
    return {
        "doc_id": f"hanna-{int(fields['Story ID']) % PROMPTS:02}",
        "source": fields["Prompt"],
        "references": [fields["Human"]],
        "system": fields["Model"],
        "text": fields["Story"],
        "ratings": {axis.lower(): rating(fields[axis]) for axis in STORY_AXES},
    }


def _summary(fields: Fields) -> dict[str, Any]:
    return {
        "doc_id": fields["ArticleID"],
        "source": _text(fields["ArticleText"]),
        "system": fields["System"],
        "text": _text(fields["SystemSummary"]),
        "ratings": {axis.lower(): rating(fields[f"{axis}Rating"]) for axis in NEWS_AXES},
    }


def _text(encoded: str) -> str:
    lines = LINE_BREAK.sub("\n", html.unescape(encoded))
    return PARAGRAPH.sub("\n\n", lines).strip()


FORMATS = {
    "hanna": KnownFormat(
        partial(read_rater_rows, _story),
        "Stories from an idea, rated on six axes.",
        "hanna_stories_annotations.csv",
    ),
    "newsroom": KnownFormat(
        partial(read_rater_rows, _summary),
        "Summaries of news, rated on four axes.",
        "newsroom-human-eval.csv",
    ),
}
