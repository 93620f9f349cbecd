"""Texts that several annotators chose as the best or the worst of their document: JSON.

{"0": {"article": "The river rose …",
       "annotators": [{"best_summary": ["gpt3"], "worst_summary": ["t0"]},
                      {"best_summary": ["gpt3", "brio"], "worst_summary": ["t0"]},
                      {"best_summary": ["brio"], "worst_summary": ["t0"]}],
       "t0": {"text": "It rained."}, "gpt3": {"text": "A flood came."}, "brio": {"text": …}}, …}

is the form of cnn_human.json and bbc_human.json (Goyal et al. 2022), which DRPE calls CNN2022 and
BBC2022. In JSON lines each line is a document, with its `doc_id`. An annotator may choose several
texts, or no worst one. There may be a `reference`; the authors' files have none. A rating is 1 for
a text among the best, -1 among the worst, 0 for neither or both; so the mean is the share of "best"
minus the share of "worst". DRPE does not say whether its worst texts needed two votes, too.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from evaljudge.corpora.files import Readers
from evaljudge.corpora.published import Fields, read_turned
from evaljudge.corpora.readers import read_json_object, read_jsonl
from evaljudge.corpora.rows import BadRow, KnownFormat, RefusedError, Row, Rows
from evaljudge.text import shown

OVERALL, BEST = "overall", "best"
FILES: Readers = {
    **dict.fromkeys((".json", ".json.gz"), read_json_object),
    **dict.fromkeys((".jsonl", ".jsonl.gz"), read_jsonl),
}


def read_extremes(paths: tuple[str, ...]) -> Rows:
    for row in read_turned(_case, FILES, paths):
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


def _case(fields: Fields) -> dict[str, Any]:
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


NEEDS = "cnn_human.json or bbc_human.json of Goyal et al., or JSON lines of that form"
FORMATS = {
    "choices": KnownFormat(
        partial(read_turned, _case, FILES),
        "Texts that annotators chose as the best or the worst.",
        NEEDS,
    ),
    "choices-extremes": KnownFormat(
        read_extremes, "The texts that most annotators chose as the best or the worst.", NEEDS
    ),
}
