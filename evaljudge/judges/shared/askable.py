"""What no judge can look at: one line for all of them."""

from __future__ import annotations

from evaljudge.records import Candidate, Document


def hurdle(document: Document, candidate: Candidate) -> str:
    """Why nothing can be asked about this candidate; empty where it can."""
    if not document.source.strip():
        return "empty source"
    return "" if candidate.text.strip() else "empty text"
