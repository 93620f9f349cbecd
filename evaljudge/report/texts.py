"""The texts that the page holds: columns for its list, which the page's script filters and sorts,
and each text with its evidence, as HTML from a template that escapes every word of the corpus."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evaljudge.analysis.findings import Findings
from evaljudge.analysis.telling import BINS
from evaljudge.records import ANY_AXIS, Candidate, Document, Score
from evaljudge.sections import Section, View

BEGINNING = 100  # characters of a text in the list


@dataclass(frozen=True)
class AskedPrompt:
    template: str
    how: str  # how the reply is read, in a sentence
    words: str
    reply: str = ""  # the reply that is given to the model, where only its probability is asked for
    times: int = 1  # how often it asked in this way; this prompt is the first
    is_guessed: bool = False  # A placeholder stands in it for an earlier reply


@dataclass(frozen=True)
class Evidence:
    """What one judge says of a text on one axis: in its own form, or as a section."""

    judge: str
    axis: str
    reason: str = ""  # why it is unscored
    view: View | None = None
    section: Section | None = None
    asked: Sequence[AskedPrompt] = ()
    unasked: str = ""  # why the prompts are not shown


@dataclass(frozen=True)
class PageText:
    document: Document
    candidate: Candidate
    scores: Sequence[Score]
    selected: frozenset[str] = frozenset()  # the selections that it is in
    evidence: Sequence[Evidence] = ()


def spread_data(findings: Findings) -> dict[str, Any]:
    """What the page's script needs of all texts: for the threshold, and what scores mean."""
    names = ("scorer", "axis", "low", "high", "counts")
    spreads = [
        {name: getattr(row, name) for name in names} | {"people": list(map(asdict, row.people))}
        for row in findings.spreads
    ]
    common = {"bins": BINS, "spreads": spreads, "candidates": findings.candidates}
    return common | {"meanings": findings.meanings}


def text_data(findings: Findings, texts: Sequence[PageText]) -> dict[str, Any]:
    """The columns of the list; a page without texts has none."""
    if not texts:
        return {}
    scales = [(row.scorer, row.axis) for row in findings.coverage]
    systems = sorted({text.candidate.system for text in texts})
    axes = sorted({axis for text in texts for axis in text.candidate.ratings})
    selections = [rule.name for rule in findings.selections]
    by_scale = [{(s.scorer, s.axis): s for s in text.scores} for text in texts]
    reasons = sorted({s.reason for text in texts for s in text.scores if s.value is None})
    scores = [[found.get(scale) for found in by_scale] for scale in scales]
    # over the whole run, each scorer's disagreement with people on each axis that they rated
    places = {text: at for at, text in enumerate(findings.telling)}
    rows = [places.get((text.document.doc_id, text.candidate.system)) for text in texts]
    apart = {(row.scorer, row.axis): row.apart for row in findings.disagreements}

    def disagreement(scorer: str, scorer_axis: str, axis: str) -> list[float | None] | None:
        column = apart.get((scorer, axis)) if scorer_axis in (axis, ANY_AXIS) else None
        if column is None:
            return None
        return [None if row is None else _rounded(column[row]) for row in rows]

    return {
        "scorers": [{"scorer": scorer, "axis": axis} for scorer, axis in scales],
        "systems": systems,
        "human": axes,
        "reasons": reasons,
        "selections": selections,
        "texts": {
            "doc": [text.document.doc_id for text in texts],
            "system": [systems.index(text.candidate.system) for text in texts],
            "begins": [beginning(text.candidate.text) for text in texts],
            "score": [[_rounded(s.value if s else None) for s in column] for column in scores],
            "reason": [
                [reasons.index(s.reason) if s and s.value is None else -1 for s in column]
                for column in scores
            ],
            "doubt": [[_rounded(s.doubt if s else None) for s in column] for column in scores],
            "rating": [[text.candidate.ratings.get(axis) for text in texts] for axis in axes],
            "disagreement": [
                [disagreement(scorer, own, axis) for axis in axes] for scorer, own in scales
            ],
            "selected": [[int(name in text.selected) for text in texts] for name in selections],
        },
    }


def beginning(text: str) -> str:
    if not text.strip():
        return "(empty)"
    return text if len(text) <= BEGINNING else f"{text[:BEGINNING]}…"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def first_of_each(asked: Sequence[AskedPrompt]) -> list[AskedPrompt]:
    """The first of those that are one template, asked in one way."""
    first: dict[tuple[str, str], AskedPrompt] = {}
    for ask in asked:
        asked_before = first.setdefault((ask.template, ask.how), replace(ask, times=0))
        first[ask.template, ask.how] = replace(asked_before, times=asked_before.times + ask.times)
    return list(first.values())
