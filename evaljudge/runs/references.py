"""References as data: those that a run wrote, as a file, and such a file in place of writing.

    export_references("runs/first", to="references.jsonl")
    -> ExportedReferences(references=990, documents=100, unscored=10)

    judges: {synthetic: {references: references.jsonl}}

    {"doc_id": "d1", "source_sha256": "9f86…", "axis": "fluency", "level": 3.0, "text": "A flood …",
     "writer": "Qwen/Qwen3-8B@b968…", "signature": "synthetic@3 | Qwen/Qwen3-8B@b968… | …"}

The model writes only what the file lacks. Before a shard is ordered, the file's rows are put into a
file of briefs, where the shard's worker finds them. The file's digest stands in place of its path
in the run's fingerprint. Files have many rows: they are read row by row, with an index on disk.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, field_validator

from evaljudge.corpora.files import rows_of
from evaljudge.corpora.rows import clean
from evaljudge.engines import Identity
from evaljudge.errors import UserError
from evaljudge.identity import brief_key
from evaljudge.judges.protocol import Judge
from evaljudge.judges.shared.scale import named, ratings
from evaljudge.records import Brief, Document
from evaljudge.settings import Settings, read_settings
from evaljudge.storage import Index, Output, Panel, Shard, ahead, index_on_disk, panels_of, to_write
from evaljudge.text import shown

SETTING = "references"
"""The setting of a judge that can take a file; to any other judge it is an unknown key."""
LEVELS = {rating: named(rating) for rating in ratings(9)}
"""Every level that a scale of any number of levels can have, with its name."""
DIGITS = 16
Paths = Mapping[str, str]  # each judge's file, of those that have one


def _something(text: str) -> str:
    if not text.strip():
        raise ValueError("should not be blank")
    return text


Words = Annotated[str, AfterValidator(clean)]
Named = Annotated[Words, AfterValidator(_something)]


class ReferenceRow(Settings):
    model_config = ConfigDict(extra="ignore")

    doc_id: Named
    source_sha256: Named
    """Digest of the document that it was written for, so that it is not used for another."""
    axis: Named
    level: float
    text: Named
    writer: Words
    signature: Words

    @field_validator("level")
    @classmethod
    def _is_a_level(cls, level: float) -> float:
        if level not in LEVELS:
            first, second, *_, last = LEVELS.values()
            raise ValueError(f"should be one of {first}, {second}, … {last}")
        return level


def _source_digest(document: Document) -> str:
    return sha256(document.source.encode()).hexdigest()


# giving a file's to a run


_GIVEN = """
CREATE TABLE given (
    path TEXT, doc_id TEXT, axis TEXT, level REAL, line INTEGER, fields TEXT,
    PRIMARY KEY (path, doc_id, axis, level)
) WITHOUT ROWID;
"""
_ADD = "INSERT OR IGNORE INTO given VALUES (?, ?, ?, ?, ?, ?)"
_FIRST = "SELECT line FROM given WHERE (path, doc_id, axis, level) = (?, ?, ?, ?)"
_OF = "SELECT line, fields FROM given WHERE path = ? AND doc_id = ? ORDER BY line"


def _add(index: Index, path: str) -> str:
    """The digest of the file's bytes; its rows are in the index then."""
    digest = sha256()
    for row in rows_of(path, see=digest.update):
        line = int(row.place.rpartition(":")[2])
        parsed = read_settings(ReferenceRow, row.fields, "", f"{row.place}: ")
        at = (path, parsed.doc_id, parsed.axis, parsed.level)
        if not index.execute(_ADD, (*at, line, parsed.model_dump_json())).rowcount:
            (first,) = index.execute(_FIRST, at).fetchone()
            raise UserError(
                f"{row.place}: level {LEVELS[parsed.level]} of {parsed.axis} for document "
                f"{shown(parsed.doc_id)} again (first in line {first})"
            )
    if not index.execute("SELECT 1 FROM given WHERE path = ?", (path,)).fetchone():
        raise UserError(f"{path}: holds no reference")
    return digest.hexdigest()[:DIGITS]


def take_references(
    judges: Mapping[str, Mapping[str, Any]], axes: Collection[str]
) -> tuple[dict[str, Mapping[str, Any]], dict[str, str]]:
    """The judges' settings with digests in place of files, and each judge's file."""
    files = {name: settings.get(SETTING) for name, settings in judges.items()}
    paths = {name: path for name, path in files.items() if isinstance(path, str)}
    digests = {path: _digest(path, axes) for path in dict.fromkeys(paths.values())}
    settled = {name: {**judges[name], SETTING: digests[path]} for name, path in paths.items()}
    return {**judges, **settled}, paths


def _digest(path: str, axes: Collection[str]) -> str:
    """Refuses a file that has nothing for these axes; single rows may be of others."""
    with index_on_disk(_GIVEN) as index:
        digest = _add(index, path)
        axes_there = {axis for (axis,) in index.execute("SELECT DISTINCT axis FROM given")}
    if not axes_there & set(axes):
        there, wanted = (", ".join(sorted(some)) for some in (axes_there, axes))
        raise UserError(
            f"{path}: its references are for other axes ({there}) than the run's ({wanted})"
        )
    return digest


class GivenReferences:
    def __init__(self, index: Index, paths: Paths, judges: Sequence[Judge]) -> None:
        self._index, self._paths = index, paths
        self._takers = [judge for judge in judges if judge.name in paths]
        self.kinds = list(dict.fromkeys(judge.kind for judge in self._takers))
        digests = {path: _add(index, path) for path in dict.fromkeys(paths.values())}
        for judge in self._takers:
            path = paths[judge.name]
            if digests[path] != judge.asking[SETTING]:
                raise UserError(f"{path}: was changed since this run was begun")

    def has_any(self, document: Document) -> bool:
        return any(self._rows(path, document) for path in dict.fromkeys(self._paths.values()))

    def briefs(self, kind: str, document: Document, writer: Identity) -> dict[str, Brief]:
        briefs: dict[str, Brief] = {}
        for judge in (judge for judge in self._takers if judge.kind == kind):
            rows = self._rows(self._paths[judge.name], document)
            for part in judge.parts():
                if row := rows.get((part.axis, part.name)):
                    key = brief_key(judge, part, document, writer)
                    content = {"rating": row.level, "text": row.text, "writer": row.writer}
                    identity = (document.doc_id, key, kind, part.axis, part.name)
                    briefs[key] = Brief(*identity, content, signature=row.signature)
        return briefs

    def _rows(self, path: str, document: Document) -> dict[tuple[str, str], ReferenceRow]:
        """The keys are axis and the level's name; a reference for another text is refused."""
        rows: dict[tuple[str, str], ReferenceRow] = {}
        source = _source_digest(document)
        for line, fields in self._index.execute(_OF, (path, document.doc_id)):
            row = ReferenceRow.model_validate_json(fields)
            if row.source_sha256 != source:
                raise UserError(
                    f"{path}:{line}: was written for another source than document "
                    f"{shown(document.doc_id)} has here"
                )
            rows[row.axis, LEVELS[row.level]] = row
        return rows


@contextmanager
def given_references(paths: Paths, judges: Sequence[Judge]) -> Iterator[GivenReferences]:
    with index_on_disk(_GIVEN) as index:
        yield GivenReferences(index, paths, judges)


def check_references(paths: Paths, judges: Sequence[Judge], documents: Iterable[Document]) -> None:
    with given_references(paths, judges) as references:
        if not sum(map(references.has_any, documents)):  # checks all, not only the first
            files = ", ".join(dict.fromkeys(paths.values()))
            raise UserError(f"{files}: has no reference of any document of this corpus")


def put_references(
    paths: Paths, judges: Sequence[Judge], writer: Identity, output: Output, shards: Sequence[Shard]
) -> None:
    """Briefs that are there already stay, unless they are unscored."""
    prepared, index_in_use, given = output.committed("prepare"), Lock(), output.loose()

    def put(references: GivenReferences, shard: Shard) -> None:
        documents = [case.document for case in output.cases(shard)]
        for kind in references.kinds:
            stored = given.own_briefs(kind, shard)
            kept = {brief.key: brief for brief in stored if brief.status == "ok"}
            with index_in_use:
                each = [references.briefs(kind, document, writer) for document in documents]
            from_files = {key: brief for briefs in each for key, brief in briefs.items()}
            if from_files.keys() <= kept.keys():
                continue
            if shard.number in prepared:  # but its briefs were lost, and these alone are not all
                output.uncommit(output.marker("prepare", shard))
            given.write_briefs(kind, shard, (from_files | kept).values())

    with given_references(paths, judges) as references:
        for _ in ahead(partial(put, references), shards):
            pass


# exporting those of a run

Writers = dict[tuple[str, str], tuple[Output, Mapping[str, Any]]]
"""What reads the briefs, and the model that wrote them, by the judge's kind and the files' end."""
Made = tuple[Brief, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ExportedReferences:
    references: int
    documents: int
    unscored: int


_SEEN = """
CREATE TABLE seen (
    doc_id TEXT, axis TEXT, part TEXT, digest BLOB, PRIMARY KEY (doc_id, axis, part)
) WITHOUT ROWID;
"""
_KEEP = """
INSERT INTO seen VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET digest = excluded.digest WHERE digest IS NULL"""
_FIND = "SELECT digest FROM seen WHERE (doc_id, axis, part) = (?, ?, ?)"
_COUNTS = """
SELECT count(digest), count(DISTINCT doc_id) FILTER (WHERE digest NOT NULL),
    count(*) - count(digest)
FROM seen"""


def export_references(out: str, to: str, briefs: str | None = None) -> ExportedReferences:
    """Write the references of a run's prepared shards to a file; `briefs`: where it keeps them."""
    run = Output(out, briefs).known_run()
    output, bound = Output(out, briefs or run.get("briefs"), run["id"]), run["fingerprint"]
    judged: Mapping[str, Mapping[str, Any]] = bound["judges"]
    writers = _writers(output, run)
    place, name = to_write(to)
    with index_on_disk(_SEEN) as index, place.writing(name) as stream:
        shards = _prepared(output, writers)
        for sources, briefs_of in ahead(partial(_read, output, writers), shards):
            for brief, made in briefs_of:
                if _is_new(index, brief, out):
                    row = ReferenceRow(
                        doc_id=brief.doc_id,
                        source_sha256=sources[brief.doc_id],
                        axis=brief.axis,
                        level=brief.content["rating"],
                        text=brief.content["text"],
                        writer=brief.content.get("writer") or f"{made['name']}@{made['revision']}",
                        signature=brief.signature,
                    )
                    line = json.dumps(row.model_dump(), ensure_ascii=False)
                    stream.write(line.encode() + b"\n")
        exported = ExportedReferences(*index.execute(_COUNTS).fetchone())
        if not exported.references:  # raised in here, so that no file appears
            judges = ", ".join(judged) or "none"
            raise UserError(f"{out}: no reference was written there (its judges: {judges})")
    return exported


def _writers(output: Output, run: Mapping[str, Any]) -> Writers:
    bound, panels = run["fingerprint"], panels_of(run)
    writers: Writers = {}
    for name, asked in bound["judges"].items():
        panel = panels.get(name, Panel())
        made = bound["writer"] or asked.get("model") or bound["model"]
        writers[asked.get("judge", name), panel.prepare] = output.of(panel), made
    return writers


def _prepared(output: Output, writers: Writers) -> list[Shard]:
    prepared = output.committed("prepare")
    shards = [shard for shard in output.shards() if shard.number in prepared]
    if writers and not shards:
        raise UserError(
            f"{output.uri}: no prepared shard's briefs lie there; where they were kept elsewhere, "
            "name the place with --briefs"
        )
    return shards


def _read(output: Output, writers: Writers, shard: Shard) -> tuple[dict[str, str], list[Made]]:
    sources = {document.doc_id: _source_digest(document) for document in output.sources(shard)}
    briefs = (
        (brief, made)
        for (kind, _), (mine, made) in writers.items()
        for brief in mine.own_briefs(kind, shard)
    )
    return sources, [(brief, made) for brief, made in briefs if "rating" in brief.content]


def _is_new(index: Index, brief: Brief, out: str) -> bool:
    """Where a run was extended, several shards have a document's references. An unscored one counts
    as missing until another shard has it."""
    at = (brief.doc_id, brief.axis, brief.part)
    is_written = brief.status == "ok"
    digest = sha256(brief.content["text"].encode()).digest() if is_written else None
    if index.execute(_KEEP, (*at, digest)).rowcount:
        return is_written
    if is_written and index.execute(_FIND, at).fetchone() != (digest,):
        raise UserError(
            f"{out}: judges of this run have different references of level {brief.part} "
            f"of {brief.axis} for document {shown(brief.doc_id)}: one file cannot hold both"
        )
    return False
