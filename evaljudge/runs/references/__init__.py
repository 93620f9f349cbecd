"""References as data: those that a run wrote, as a file, and such a file in place of writing.

    export_references("runs/first", to="references.jsonl")
    judges: {synthetic: {references: references.jsonl}}

{"doc_id": "d1", "source_sha256": "9f86…", "axis": "fluency", "level": 3.0, "text": "A flood …",
 "writer": "Qwen/Qwen3-8B@b968…", "signature": "synthetic@3 | Qwen/Qwen3-8B@b968… | …"}

The model is not asked for references that the file has; it writes the others. The file's digest
stands in place of its path in the run's fingerprint, so that another file makes another run.
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
