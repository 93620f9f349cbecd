"""References as data: those that a run wrote, as a file, and such a file in place of writing.

    export_references("runs/first", to="references.jsonl")
    judges: {synthetic: {references: references.jsonl}}

{"doc_id": "d1", "source_sha256": "9f86…", "axis": "fluency", "level": 3.0, "text": "A flood …",
 "writer": "Qwen/Qwen3-8B@b968…", "signature": "synthetic@3 | Qwen/Qwen3-8B@b968… | …"}

What a file holds of a run's documents, axes and levels is not asked for; the rest is written. The
file's digest stands for its path in all that is asked, so that another file is another run.
"""

from evaljudge.runs.references.exporting import ExportedReferences, export_references
from evaljudge.runs.references.giving import (
    GivenReferences,
    check_references,
    given_references,
    put_references,
    take_references,
)

__all__ = ["ExportedReferences", "GivenReferences", "check_references", "export_references",
           "given_references", "put_references", "take_references"]  # fmt: skip
