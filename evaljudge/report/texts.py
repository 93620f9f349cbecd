"""The texts that the page holds: columns for its list, and each text with its evidence.

    text_data(findings, texts)  ->  {"doc": ["d1"], "system": [0], "score": [[4.1], …], …}

The page's script filters and sorts the columns. A text's body is HTML from a template, which
escapes every word of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaljudge.analysis.findings import Findings
from evaljudge.analysis.telling import BINS
from evaljudge.records import ANY_AXIS, Candidate, Document, Score
from evaljudge.sections import Section, View

BEGINNING = 100
"""Characters of a text in the list."""


@dataclass(frozen=True)
class AskedPrompt:
    """What the model was asked about the text, in the model's words."""

    template: str
    how: str
    """How the reply is read, in a sentence."""
    words: str
    reply: str = ""
    """The reply that is given to the model, where only its probability is asked for."""
    times: int = 1
    """How often it asked in this way; this prompt is the first."""
    is_guessed: bool = False
    """A placeholder stands in it for an earlier reply."""


@dataclass(frozen=True)
class Evidence:
    """What one judge says of a text on one axis: in its own form, or as a section."""

    judge: str
    axis: str
    reason: str = ""
    """Why it is unscored."""
    view: View | None = None
    section: Section | None = None
    asked: Sequence[AskedPrompt] = ()
    unasked: str = ""
    """Why the prompts are not shown."""


@dataclass(frozen=True)
class PageText:
    """A candidate with all that is known of it."""

    document: Document
    candidate: Candidate
    scores: Sequence[Score]
    selected: frozenset[str] = frozenset()
    """The selections that it is in."""
    evidence: Sequence[Evidence] = ()


def spread_data(findings: Findings) -> dict[str, Any]:
    """What the page's script needs of all texts: for the threshold, and what scores mean."""
    spreads = [
        {
            "scorer": one.scorer,
            "axis": one.axis,
            "low": one.low,
            "high": one.high,
            "counts": one.counts,
            "people": [
                {"axis": met.axis, "ratings": met.ratings, "counts": met.counts}
                for met in one.people
            ],
        }
        for one in findings.spreads
    ]
    return {
        "bins": BINS,
        "spreads": spreads,
        "candidates": findings.candidates,
        "meanings": findings.meanings,
    }


def text_data(findings: Findings, texts: Sequence[PageText]) -> dict[str, Any]:
    """The columns of the list; a page without texts has none."""
    if not texts:
        return {}
    scales = [(row.scorer, row.axis) for row in findings.coverage]
    systems = sorted({one.candidate.system for one in texts})
    axes = sorted({axis for one in texts for axis in one.candidate.ratings})
    selections = [one.name for one in findings.selections]
    by_scale = [{(s.scorer, s.axis): s for s in one.scores} for one in texts]
    reasons = sorted({s.reason for one in texts for s in one.scores if s.value is None})
    return {
        "scorers": [{"scorer": scorer, "axis": axis} for scorer, axis in scales],
        "systems": systems,
        "human": axes,
        "reasons": reasons,
        "selections": selections,
        "texts": {
            "doc": [one.document.doc_id for one in texts],
            "system": [systems.index(one.candidate.system) for one in texts],
            "begins": [beginning(one.candidate.text) for one in texts],
            "score": [
                [_rounded(found[scale].value if scale in found else None) for found in by_scale]
                for scale in scales
            ],
            "reason": [
                [_reason(found.get(scale), reasons) for found in by_scale] for scale in scales
            ],
            "doubt": [
                [_rounded(found[scale].doubt if scale in found else None) for found in by_scale]
                for scale in scales
            ],
            "rating": [[one.candidate.ratings.get(axis) for one in texts] for axis in axes],
            "disagreement": _disagreements(findings, texts, scales, axes),
            "selected": [[int(name in one.selected) for one in texts] for name in selections],
        },
    }


def _disagreements(
    findings: Findings,
    texts: Sequence[PageText],
    scales: Sequence[tuple[str, str]],
    axes: Sequence[str],
) -> list[list[list[float | None] | None]]:
    """With people, over the whole run: of each scorer on each axis that people rated, None where
    they are not compared."""
    places = {text: at for at, text in enumerate(findings.telling)}
    rows = [places.get((one.document.doc_id, one.candidate.system)) for one in texts]
    apart = {(one.scorer, one.axis): one.apart for one in findings.disagreements}

    def column(scorer: str, own: str, axis: str) -> list[float | None] | None:
        found = apart.get((scorer, axis)) if own in (axis, ANY_AXIS) else None
        if not found:
            return None
        return [None if row is None else _rounded(found[row]) for row in rows]

    return [[column(scorer, own, axis) for axis in axes] for scorer, own in scales]


def beginning(text: str) -> str:
    """The first words of a text, as the list shows them."""
    if not text.strip():
        return "(empty)"
    return text if len(text) <= BEGINNING else f"{text[:BEGINNING]}…"


def _reason(score: Score | None, reasons: Sequence[str]) -> int:
    return reasons.index(score.reason) if score and score.value is None else -1


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def first_of_each(asked: Sequence[AskedPrompt]) -> list[AskedPrompt]:
    """The first of those that are one template, asked in one way."""
    found: dict[tuple[str, str], AskedPrompt] = {}
    for one in asked:
        known = found.setdefault((one.template, one.how), replace(one, times=0))
        found[one.template, one.how] = replace(known, times=known.times + one.times)
    return list(found.values())


def by_scorer(scores: Sequence[Score]) -> Mapping[str, Mapping[str, Score]]:
    """A table's rows: each scorer's scores by axis."""
    found: dict[str, dict[str, Score]] = {}
    for score in scores:
        found.setdefault(score.scorer, {})[score.axis] = score
    return found
