"""USR's annotated responses (Mehri and Eskenazi 2020), Topical-Chat's and PersonaChat's: JSON.

[{"context": "do you like rivers ?\\ni do .\\n", "fact": "the rhine is a river .\\n",
  "annotators": ["ab", "cd", "ef"],
  "responses": [{"response": "which one ?\\n", "model": "Argmax Decoding",
                 "Understandable": [1, 1, 1], "Natural": [3, 2, 3], "Maintains Context": [3, 3, 2],
                 "Engaging": [2, 2, 1], "Uses Knowledge": [0, 0, 1], "Overall": [4, 3, 3]}, …]}, …]

Conversations have no names. They are numbered in the order of the file: tc-00, tc-01, …
(PersonaChat's pc-00, …). The fact, or persona, is the document's context. White space around texts
is removed.

USR's files have no references. With `topicalchat-references` and `personachat-references` the
response "Original Ground Truth", which a person wrote, is also the reference, so that metrics have
something to compare with. It remains a candidate, which these metrics leave unscored.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from evaljudge.corpora.files import read_files
from evaljudge.corpora.published import JSON, Fields, turned
from evaljudge.corpora.rows import KnownFormat, RefusedError, Rows
from evaljudge.text import shown

GROUND_TRUTH = "Original Ground Truth"
AXES = {
    "Understandable": "understandability",
    "Natural": "naturalness",
    "Maintains Context": "coherence",
    "Engaging": "engagingness",
    "Uses Knowledge": "groundedness",
    "Overall": "overall",
}


def read_usr(prefix: str, paths: tuple[str, ...], with_reference: bool = False) -> Rows:
    for number, row in enumerate(read_files(paths, JSON)):
        yield turned(row, partial(_case, f"{prefix}-{number:02}", with_reference))


def _case(doc_id: str, with_reference: bool, fields: Fields) -> dict[str, Any]:
    case: dict[str, Any] = {
        "doc_id": doc_id,
        "source": fields["context"].strip(),
        "context": fields["fact"].strip(),
        "candidates": [
            {
                "system": response["model"],
                "text": response["response"].strip(),
                "ratings": {axis: response[name] for name, axis in AXES.items()},
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


NEEDS = "USR's JSON file"
FORMATS = {}
for dataset, prefix in {"TopicalChat": "tc", "PersonaChat": "pc"}.items():
    about = f"Responses in {dataset}'s conversations, rated by people (USR)"
    read = partial(read_usr, prefix)
    FORMATS[dataset.lower()] = KnownFormat(read, f"{about}.", NEEDS)
    FORMATS[f"{dataset.lower()}-references"] = KnownFormat(
        partial(read, with_reference=True), f"{about}; the person's is the reference.", NEEDS
    )
