"""HANNA's annotated stories (Chhun et al. 2022): hanna_stories_annotations.csv, a row a rater.

Story ID,Prompt,Human,Story,Model,Relevance,Coherence,Empathy,Surprise,Engagement,Complexity,…
0,A river talks.,It said hello.,It said hello.,Human,5,4,3,2,4,3,…
96,A river talks.,It said hello.,The river ran.,GPT,2,3,1,1,2,1,…

Stories are numbered model after model, each with the same 96 prompts: the number modulo 96 is the
prompt, and names the document (hanna-00, …). The human story is a system, and the reference.
"""

from __future__ import annotations

from typing import Any

from evaljudge.corpora.files import read_files
from evaljudge.corpora.published import CSV, Fields, given, number, rater_by_rater, turned
from evaljudge.corpora.rows import KnownFormat, RefusedError, Rows
from evaljudge.text import shown

AXES = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
PROMPTS = 96


def read_hanna(paths: tuple[str, ...]) -> Rows:
    return rater_by_rater(turned(row, _rated) for row in read_files(paths, CSV))


def _rated(fields: Fields) -> dict[str, Any]:
    return {
        "doc_id": f"hanna-{_prompt(given(fields, 'Story ID', str)):02}",
        "source": given(fields, "Prompt", str),
        "references": [given(fields, "Human", str)],
        "system": given(fields, "Model", str),
        "text": given(fields, "Story", str),
        "ratings": {axis.lower(): number(fields, axis) for axis in AXES},
    }


def _prompt(story: str) -> int:
    if not story.isdecimal():
        raise RefusedError(f"`Story ID` must be a whole number, not {shown(story)}")
    return int(story) % PROMPTS


FORMATS = {
    "hanna": KnownFormat(
        read_hanna, "Stories from an idea, rated on six axes.", "hanna_stories_annotations.csv"
    )
}
