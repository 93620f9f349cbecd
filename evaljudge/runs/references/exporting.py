"""The references of a run as a file that another run can be given.

    export_references("s3://bucket/runs/first", "references.jsonl")
    -> ExportedReferences(references=990, documents=100, unscored=10)

Shards are read one after another, and rows are written as they come: to object storage through a
file on this machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from typing import Any

from evaljudge.errors import UserError
from evaljudge.records import Brief
from evaljudge.runs.references.file import ReferenceRow, source_digest
from evaljudge.storage import Index, Output, Shard, ahead, index_on_disk, to_write
from evaljudge.text import shown

_SCHEMA = """
CREATE TABLE seen (
    doc_id TEXT, axis TEXT, part TEXT, judge TEXT, digest BLOB, PRIMARY KEY (doc_id, axis, part)
) WITHOUT ROWID;
"""
_MISS = "INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?, NULL)"
_KEEP = "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?)"
_FIND = "SELECT digest FROM seen WHERE (doc_id, axis, part) = (?, ?, ?) AND digest NOT NULL"
_COUNTS = """
SELECT count(digest), count(DISTINCT CASE WHEN digest NOT NULL THEN doc_id END),
    count(CASE WHEN digest IS NULL AND judge IN (SELECT judge FROM seen WHERE digest NOT NULL)
        THEN 1 END)
FROM seen"""
"""Unscored briefs of a judge that writes no references do not count."""


@dataclass(frozen=True, slots=True)
class ExportedReferences:
    references: int
    documents: int
    unscored: int
    """References that could not be written."""


def export_references(out: str, to: str, briefs: str | None = None) -> ExportedReferences:
    """Write the references of a run's prepared shards to a file; `briefs`: where it keeps them."""
    output, bound = _run(out, briefs)
    judged: Mapping[str, Mapping[str, Any]] = bound["judges"]
    kinds = list(dict.fromkeys(asked.get("judge", name) for name, asked in judged.items()))
    place, name = to_write(to)
    with index_on_disk(_SCHEMA) as index, place.writing(name) as stream:
        for sources, briefs_of in ahead(partial(_read, output, kinds), _prepared(output, kinds)):
            for brief in briefs_of:
                if _is_new(index, brief, out):
                    row = asdict(_reference_of(brief, sources[brief.doc_id], bound))
                    stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        exported = ExportedReferences(*index.execute(_COUNTS).fetchone())
        if not exported.references:  # said in here, so that no file appears
            judges = ", ".join(judged) or "none"
            raise UserError(f"{out}: no reference was written there (its judges: {judges})")
    return exported


def _run(out: str, briefs: str | None) -> tuple[Output, Mapping[str, Any]]:
    bound = Output(out, briefs).run()
    if bound is None:
        raise UserError(f"{out}: no run lies here")
    return Output(out, briefs or bound.get("briefs"), bound["id"]), bound["fingerprint"]


def _prepared(output: Output, kinds: Sequence[str]) -> list[Shard]:
    """A shard whose briefs are gone counts as not prepared, as it does for a rerun."""
    there = [set(output.brief_files(kind)) for kind in kinds]
    committed = output.committed("prepare")
    shards = [
        shard
        for shard in output.shards()
        if shard.number in committed and all(output.brief_file(shard) in files for files in there)
    ]
    if kinds and not shards:
        raise UserError(
            f"{output.uri}: no prepared shard's briefs lie there; where they were kept elsewhere, "
            "name the place with --briefs"
        )
    return shards


def _read(output: Output, kinds: Iterable[str], shard: Shard) -> tuple[dict[str, str], list[Brief]]:
    """A shard's briefs, and the digest of each document's source."""
    sources = {document.doc_id: source_digest(document) for document in output.sources(shard)}
    return sources, [brief for kind in kinds for brief in output.own_briefs(kind, shard)]


def _reference_of(brief: Brief, source: str, bound: Mapping[str, Any]) -> ReferenceRow:
    content, made = brief.content, bound["writer"] or bound["model"]
    writer = content.get("writer") or f"{made['name']}@{made['revision']}"
    known = (brief.doc_id, source, brief.axis, float(content["rating"]))
    return ReferenceRow(*known, content["text"], writer, brief.signature)


def _is_new(index: Index, brief: Brief, out: str) -> bool:
    """Each reference once: where a run was extended, several shards have a document's.

    An unscored one counts as missing until another shard has it.
    """
    at = (brief.doc_id, brief.axis, brief.part)
    if brief.status == "unscored":
        index.execute(_MISS, (*at, brief.judge))
        return False
    if not {"rating", "text"} <= brief.content.keys():
        return False
    digest = sha256(brief.content["text"].encode()).digest()
    before = index.execute(_FIND, at).fetchone()
    if before is None:
        index.execute(_KEEP, (*at, brief.judge, digest))
    elif before[0] != digest:
        raise UserError(
            f"{out}: judges of this run have different references of level {brief.part} "
            f"of {brief.axis} for document {shown(brief.doc_id)}: one file cannot hold both"
        )
    return before is None
