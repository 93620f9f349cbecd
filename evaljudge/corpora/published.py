"""What the readers of published benchmarks share; and those that need little more.

    turned(Row("a.csv:2", {"Story": "A flood.", …}), turn) -> Row("a.csv:2", {"text": "A flood."…})
    turned(Row("a.csv:3", {"Model": "GPT", …}), turn)      -> BadRow("a.csv:3", "no `Story`")

If the authors' form lacks the documents, their source is empty, which is enough for agreement and
for metrics against references. Texts that annotators chose (Goyal et al. 2022) are in the form

{"0": {"article": "The river rose …",
       "annotators": [{"best_summary": ["gpt3"], "worst_summary": ["t0"]},
                      {"best_summary": ["gpt3", "brio"], "worst_summary": ["t0"]},
                      {"best_summary": ["brio"], "worst_summary": ["t0"]}],
       "t0": {"text": "It rained."}, "gpt3": {"text": "A flood came."}, "brio": {"text": …}}, …}

DRPE does not say whether its worst texts needed two votes, too.
"""

import html
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from evaljudge.corpora.files import Readers, read_files
from evaljudge.corpora.readers import (
    PARQUET,
    read_csv,
    read_json,
    read_json_object,
    read_jsonl,
    read_parquet,
)
from evaljudge.corpora.rows import BadRow, KnownFormat, RefusedError, Row, Rows, is_number, kind
from evaljudge.errors import first_line
from evaljudge.text import shown

Fields = Mapping[str, Any]
Turn = Callable[[Fields], dict[str, Any]]
OVERALL, BEST = "overall", "best"
CHOICE_FILES: Readers = {
    **dict.fromkeys((".json", ".json.gz"), read_json_object),
    **dict.fromkeys((".jsonl", ".jsonl.gz"), read_jsonl),
}


def read_extremes(paths: tuple[str, ...]) -> Rows:
    for row in read_turned(_chosen, CHOICE_FILES, paths):
        if isinstance(row, BadRow):
            yield row
        elif kept := list(_extremes(row.fields["candidates"])):
            yield Row(row.place, {**row.fields, "candidates": kept})


def _extremes(candidates: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    for candidate in candidates:
        votes = candidate["ratings"][OVERALL]
        for vote, label in ((1, 1.0), (-1, 0.0)):
            if 2 * votes.count(vote) > len(votes):
                yield {**candidate, "ratings": {OVERALL: votes, BEST: label}}


def _chosen(fields: Fields) -> dict[str, Any]:
    texts = {system: entry["text"] for system, entry in fields.items() if isinstance(entry, dict)}
    votes = [(vote["best_summary"], vote.get("worst_summary", ())) for vote in fields["annotators"]]
    for system in (system for best, worst in votes for system in (*best, *worst)):
        if system not in texts:
            raise RefusedError(f"`annotators` chose {shown(str(system))}, which has no text here")
    return {
        "doc_id": fields["doc_id"],
        "source": fields["article"],
        "references": [fields["reference"]] if "reference" in fields else [],
        "candidates": [
            {
                "system": system,
                "text": text,
                "ratings": {OVERALL: [(system in b) - (system in w) for b, w in votes]},
            }
            for system, text in texts.items()
        ],
    }


JSON: Readers = dict.fromkeys((".json", ".jsonl", ".json.gz", ".jsonl.gz"), read_json)
CSV: Readers = dict.fromkeys((".csv", ".csv.gz"), read_csv)
STORY_AXES = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
NEWS_AXES = ("Coherence", "Fluency", "Informativeness", "Relevance")
PROMPTS = 96
PARAGRAPH = re.compile(r"\s*(?:</?p\s*/?>\s*)+", re.IGNORECASE)
LINE_BREAK = re.compile(r"[ \t]*<br\s*/?>[ \t]*", re.IGNORECASE)
USR_AXES = {
    "Understandable": "understandability",
    "Natural": "naturalness",
    "Maintains Context": "coherence",
    "Engaging": "engagingness",
    "Uses Knowledge": "groundedness",
    "Overall": "overall",
}
GROUND_TRUTH = "Original Ground Truth"
ROSE_AXES = ("prior", "ref_based", "ref_free", "acu", "normalized_acu")
ROSE_FIELDS = ("example_id", "source", "reference", "system_outputs", "annotations")
ROSE_FILES: Readers = {**JSON, PARQUET: partial(read_parquet, wanted=ROSE_FIELDS)}


def read_turned(turn: Turn, files: Readers, paths: tuple[str, ...]) -> Rows:
    return (turned(row, turn) for row in read_files(paths, files))


def turned(row: Row | BadRow, turn: Turn) -> Row | BadRow:
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


def read_rater_rows(turn: Turn, paths: tuple[str, ...]) -> Rows:
    """The rows of a candidate, one from each rater, joined to one row with lists of ratings. All
    candidates are held in memory, because a candidate's rows may be anywhere in the files."""
    candidates: dict[tuple[str, str], Row] = {}
    for row in read_turned(turn, CSV, paths):
        if isinstance(row, BadRow):
            yield row
            continue
        key = row.fields["doc_id"], row.fields["system"]
        first = candidates.setdefault(key, Row(row.place, {**row.fields, "ratings": {}}))
        told = {**row.fields, "ratings": first.fields["ratings"]}
        if changed := [name for name, value in first.fields.items() if told[name] != value]:
            message = f"`{changed[0]}` of this candidate is another than in {first.place}"
            yield BadRow(row.place, message)
            continue
        for axis, number in row.fields["ratings"].items():
            first.fields["ratings"].setdefault(axis, []).append(number)
    yield from candidates.values()


def _hanna(fields: Fields) -> dict[str, Any]:
    """A rater's row of HANNA (Chhun et al. 2022).

    Story ID,Prompt,Human,Story,Model,Relevance,Coherence,Empathy,Surprise,Engagement,Complexity,…
    0,A river talks.,It said hello.,It said hello.,Human,5,4,3,2,4,3,…
    96,A river talks.,It said hello.,The river ran.,GPT,2,3,1,1,2,1,…

    Stories are numbered model after model, each with the same 96 prompts: the number modulo 96 is
    the prompt, and names the document. The human story is a system, and the reference.
    """
    return {
        "doc_id": f"hanna-{int(fields['Story ID']) % PROMPTS:02}",
        "source": fields["Prompt"],
        "references": [fields["Human"]],
        "system": fields["Model"],
        "text": fields["Story"],
        "ratings": {axis.lower(): rating(fields[axis]) for axis in STORY_AXES},
    }


def _newsroom(fields: Fields) -> dict[str, Any]:
    """A rater's row of NewsRoom (Grusky et al. 2018); the header is one line.

    ArticleID,System,ArticleText,SystemSummary,ArticleTitle,CoherenceRating,FluencyRating,
    InformativenessRating,RelevanceRating
    7,lede3,It rained.</p><p>The river&#x27;s up.,It rained.,A flood,4,5,3,4

    Texts are HTML, as raters saw them. The title is not part of the source.
    """
    return {
        "doc_id": fields["ArticleID"],
        "source": _text(fields["ArticleText"]),
        "system": fields["System"],
        "text": _text(fields["SystemSummary"]),
        "ratings": {axis.lower(): rating(fields[f"{axis}Rating"]) for axis in NEWS_AXES},
    }


def _text(encoded: str) -> str:
    """Marks of paragraphs and line breaks become empty lines and line breaks."""
    lines = LINE_BREAK.sub("\n", html.unescape(encoded))
    return PARAGRAPH.sub("\n\n", lines).strip()


def _rose(fields: Fields) -> dict[str, Any]:
    """A document of RoSE (Liu et al. 2023).

    {"example_id": "1a2b", "count_id": 7, "source": "The river …", "reference": "A flood came.",
     "reference_acus": ["A flood came"], "system_outputs": {"bart": "It rained.", …},
     "annotations": {"bart": {"prior": 3.67, "ref_based": 2.33, "ref_free": 4.0,
                              "acu_labels": [0], "acu": 0.0, "normalized_acu": 0.0}, …}, …}

    A system's axes are the protocols it is annotated with; ratings are means, since those of single
    raters are not published. A system without annotation is a candidate without rating. In Parquet
    every row names every system, and some values are null.
    """
    annotations, outputs = (
        {system: value for system, value in fields[name].items() if value is not None}
        for name in ("annotations", "system_outputs")
    )
    ratings = {
        system: {axis: rating(annotated[axis]) for axis in ROSE_AXES if axis in annotated}
        for system, annotated in annotations.items()
    }
    for system, rated in ratings.items():
        if system not in outputs:
            raise RefusedError(f"no `system_outputs` of {shown(system)}, which has `annotations`")
        if not rated:
            axes = ", ".join(ROSE_AXES)
            raise RefusedError(f"`annotations` of a system have none of {axes}")
    return {
        "doc_id": fields["example_id"],
        "source": fields["source"],
        "references": [fields["reference"]],
        "candidates": [
            {"system": system, "text": text, "ratings": ratings.get(system, {})}
            for system, text in outputs.items()
        ],
    }


def read_usr(prefix: str, paths: tuple[str, ...], with_reference: bool = False) -> Rows:
    """Conversations have no names: they are numbered in the order of the file (tc-00, tc-01, …)."""
    for number, row in enumerate(read_files(paths, JSON)):
        yield turned(row, partial(_usr, f"{prefix}-{number:02}", with_reference))


def _usr(doc_id: str, with_reference: bool, fields: Fields) -> dict[str, Any]:
    """A conversation of USR (Mehri and Eskenazi 2020), Topical-Chat's or PersonaChat's.

    {"context": "do you like rivers ?\\ni do .\\n", "fact": "the rhine is a river .\\n",
     "annotators": ["ab", "cd", "ef"],
     "responses": [{"response": "which one ?\\n", "model": "Argmax Decoding",
                    "Understandable": [1, 1, 1], "Natural": [3, 2, 3], …}, …]}

    The fact, or persona, is the document's context. USR's files have no references. With them, the
    response that a person wrote is also the reference, so that metrics have something to compare
    with. It remains a candidate, which these metrics leave unscored.
    """
    case: dict[str, Any] = {
        "doc_id": doc_id,
        "source": fields["context"].strip(),
        "context": fields["fact"].strip(),
        "candidates": [
            {
                "system": response["model"],
                "text": response["response"].strip(),
                "ratings": {axis: response[name] for name, axis in USR_AXES.items()},
            }
            for response in fields["responses"]
        ],
    }
    if with_reference:
        true = [text["text"] for text in case["candidates"] if text["system"] == GROUND_TRUTH]
        if not true:
            raise RefusedError(f"no response of {shown(GROUND_TRUTH)}, which is the reference")
        case["references"] = true[:1]
    return case


CHOICE_FILES_NEEDED = "cnn_human.json or bbc_human.json of Goyal et al., or JSON lines of that form"
FORMATS = {
    "choices": KnownFormat(
        partial(read_turned, _chosen, CHOICE_FILES),
        "Texts that annotators chose as the best or the worst.",
        CHOICE_FILES_NEEDED,
    ),
    "choices-extremes": KnownFormat(
        read_extremes,
        "The texts that most annotators chose as the best or the worst.",
        CHOICE_FILES_NEEDED,
    ),
    "hanna": KnownFormat(
        partial(read_rater_rows, _hanna),
        "Stories from an idea, rated on six axes.",
        "hanna_stories_annotations.csv",
    ),
    "newsroom": KnownFormat(
        partial(read_rater_rows, _newsroom),
        "Summaries of news, rated on four axes.",
        "newsroom-human-eval.csv",
    ),
    "rose": KnownFormat(
        partial(read_turned, _rose, ROSE_FILES),
        "Summaries with RoSE's atomic content units.",
        "RoSE's JSON or Parquet files",
    ),
}
for dataset, prefix in {"TopicalChat": "tc", "PersonaChat": "pc"}.items():
    about = f"Responses in {dataset}'s conversations, rated by people (USR)"
    read = partial(read_usr, prefix)
    FORMATS[dataset.lower()] = KnownFormat(read, f"{about}.", "USR's JSON file")
    FORMATS[f"{dataset.lower()}-references"] = KnownFormat(
        partial(read, with_reference=True),
        f"{about}; the person's is the reference.",
        "USR's JSON file",
    )
