"""Two runs read side by side: their texts paired by document and system, whatever their shards are.

    with paired_runs(scored_run("runs/a"), scored_run("runs/b")) as paired:
        paired.scores[0]["synthetic", "fluency"]   # the first run's, a number for each paired text

Shards are read one at a time. The names of documents and texts lie in an index on disk; in memory
stay a number for each score and rating of the texts that both runs have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Floats, Key, is_repetition
from evaljudge.analysis.findings import Coverage
from evaljudge.analysis.tables import Column
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS, Case
from evaljudge.storage import SHARDS, Index, Output, Shard, holder, index_on_disk

FEW_NAMED = 5
SIDES = ("first", "second")
NAMES = """
CREATE TABLE documents (doc_id TEXT PRIMARY KEY, first BLOB, second BLOB) WITHOUT ROWID;
CREATE TABLE texts (doc_id TEXT, system TEXT, first BLOB, second BLOB, rated_first TEXT,
                    rated_second TEXT, PRIMARY KEY (doc_id, system)) WITHOUT ROWID;
"""
"""Hashes of what each run has under a name; ratings as JSON."""
PAIRED = """
CREATE TABLE paired (doc_id TEXT, system TEXT, row INTEGER, PRIMARY KEY (doc_id, system))
    WITHOUT ROWID;
INSERT INTO paired SELECT doc_id, system, row_number() OVER (ORDER BY doc_id, system) - 1
    FROM texts WHERE first IS NOT NULL AND second IS NOT NULL;
CREATE UNIQUE INDEX by_row ON paired (row);
"""


def scale_name(scorer: str, axis: str) -> str:
    """A scorer and an axis as one name: `synthetic.fluency`, and `words` where it has none."""
    return scorer if axis == ANY_AXIS else f"{scorer}.{axis}"


@dataclass(frozen=True)
class ScoredRun:
    """A run, what run.json says of it, and which of its shards have scores."""

    out: str
    output: Output
    about: Mapping[str, Any]
    shards: Sequence[Shard]
    scored: Sequence[Shard]
    warnings: Sequence[str]


def scored_run(out: str) -> ScoredRun:
    """Refused in one line where no run lies there, or nothing is scored yet."""
    at_work, output = holder(out), Output(out)
    about, has_listing = output.known_run(), output.has_listing
    shards, warnings = output.shards(), list[str]()
    there = set(output.place.names("scores"))
    if there and not has_listing:
        raise output.damaged(SHARDS, "is gone")
    is_done = about.get("state") == "done"  # then a file that is gone is damage, which reading says
    scored = [shard for shard in shards if is_done or shard.file in there]
    if not scored:
        raise UserError(f"{out}: nothing is scored yet: `evaljudge report CONFIG` writes them")
    if at_work:
        warnings.append(f"{out}: at work is {at_work}: what it writes meanwhile may be missed")
    if len(scored) < len(shards):
        missing = f"{len(shards) - len(scored):,} of {len(shards):,} shards have no scores"
        warnings.append(f"{out}: {missing}: only the others are compared")
    return ScoredRun(out, Output(out, None, about["id"]), about, shards, scored, warnings)


@dataclass(frozen=True)
class CorpusChange:
    """How many are in both runs and in one alone; of those in both, how many are not the same."""

    documents: int
    documents_first: int  # only in the first
    documents_second: int
    sources_changed: int
    texts: int
    texts_first: int
    texts_second: int
    texts_changed: int
    ratings_changed: int  # texts that people rated otherwise, or in one run alone
    changed: Sequence[Mapping[str, str]]
    """The first few documents and texts that are not the same."""

    @property
    def is_none(self) -> bool:
        counts = self.documents_first, self.documents_second, self.texts_first, self.texts_second
        return not any([*counts, self.sources_changed, self.texts_changed, self.ratings_changed])


@dataclass
class PairedRuns:
    """`documents` and `systems`: codes of each paired text, in the order of their names."""

    index: Index
    corpus: CorpusChange
    documents: NDArray[np.intp]
    systems: NDArray[np.intp]
    system_names: Sequence[str]
    human: tuple[Mapping[str, Floats], Mapping[str, Floats]]
    scores: tuple[dict[Key, Floats], dict[Key, Floats]]
    coverage: tuple[dict[Key, Coverage], dict[Key, Coverage]]
    """Over all texts of each run, paired or not."""
    signatures: tuple[dict[str, str], dict[str, str]]

    def row(self, doc_id: str, system: str) -> int | None:
        """The place of a text in the arrays; None where only one run has it."""
        asked = "SELECT row FROM paired WHERE doc_id = ? AND system = ?"
        found: tuple[int] | None = self.index.execute(asked, (doc_id, system)).fetchone()
        return found[0] if found else None

    def name(self, row: int) -> tuple[str, str]:
        """The document and the system of a paired text."""
        asked = "SELECT doc_id, system FROM paired WHERE row = ?"
        found: tuple[str, str] = self.index.execute(asked, (row,)).fetchone()
        return found


@contextmanager
def paired_runs(first: ScoredRun, second: ScoredRun) -> Iterator[PairedRuns]:
    """For this block, since the names lie in an index on disk."""
    with index_on_disk(NAMES) as index:
        for side, run in zip(SIDES, (first, second), strict=True):
            for cases in run.output.ahead(run.output.cases, run.shards):
                _note_names(index, side, cases)
        index.executescript(PAIRED)
        documents, systems, names, human = _codes(index)
        paired = PairedRuns(
            index, _corpus(index), documents, systems, names, human, ({}, {}), ({}, {}), ({}, {})
        )  # fmt: skip
        for place, run in enumerate((first, second)):
            _read_scores(paired, place, run)
        yield paired


def _note_names(index: Index, side: str, cases: Sequence[Case]) -> None:
    def insert(table: str, columns: str, values: Iterator[tuple[Any, ...]]) -> None:
        names = columns.split()
        kept = ", ".join(f"{name} = excluded.{name}" for name in names if side in name)
        keys = ", ".join(name for name in names if side not in name)
        marks = ", ".join("?" * len(names))
        index.executemany(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) "
            f"ON CONFLICT ({keys}) DO UPDATE SET {kept}",
            values,
        )

    documents = (case.document for case in cases)
    insert("documents", f"doc_id {side}", (
        (one.doc_id, _hash(one.source, one.context, one.references)) for one in documents
    ))  # fmt: skip
    insert("texts", f"doc_id system {side} rated_{side}", (
        (case.document.doc_id, one.system, _hash(one.text), _sorted_json(one.ratings))
        for case in cases for one in case.candidates
    ))  # fmt: skip


def _hash(*what: Any) -> bytes:
    return blake2b(json.dumps(what).encode(), digest_size=16).digest()


def _sorted_json(ratings: Mapping[str, float]) -> str:
    return json.dumps(dict(ratings), sort_keys=True)


def _codes(
    index: Index,
) -> tuple[
    NDArray[np.intp], NDArray[np.intp], list[str], tuple[dict[str, Floats], dict[str, Floats]]
]:
    """Of each paired text the codes of its document and system, and its ratings in both runs."""
    systems = [name for (name,) in index.execute("SELECT DISTINCT system FROM paired ORDER BY 1")]
    code_of = {name: code for code, name in enumerate(systems)}
    (size,) = index.execute("SELECT count(*) FROM paired").fetchone()
    codes = np.zeros((2, size), np.intp)
    human: tuple[dict[str, Floats], dict[str, Floats]] = ({}, {})
    before, document = None, -1
    rows = index.execute(
        "SELECT row, doc_id, system, rated_first, rated_second FROM paired JOIN texts "
        "USING (doc_id, system) ORDER BY row"
    )
    for row, doc_id, system, *rated in rows:
        document += doc_id != before
        before = doc_id
        codes[:, row] = document, code_of[system]
        for axes, ratings in zip(human, map(json.loads, rated), strict=True):
            for axis, rating in ratings.items():
                axes.setdefault(axis, np.full(size, np.nan))[row] = rating
    return codes[0], codes[1], systems, human


def _corpus(index: Index) -> CorpusChange:
    documents, texts = (_counts(index, table) for table in ("documents", "texts"))
    rerated = "SELECT count(*) FROM texts WHERE rated_first != rated_second"
    (ratings,) = index.execute(rerated).fetchone()
    return CorpusChange(
        documents=documents[0],
        documents_first=documents[1],
        documents_second=documents[2],
        sources_changed=documents[3],
        texts=texts[0],
        texts_first=texts[1],
        texts_second=texts[2],
        texts_changed=texts[3],
        ratings_changed=ratings,
        changed=[*_not_the_same(index, "documents"), *_not_the_same(index, "texts")],
    )


def _counts(index: Index, table: str) -> Sequence[int]:
    """How many are in both, in the first alone, in the second alone, in both and not the same."""
    conditions = (
        "first IS NOT NULL AND second IS NOT NULL",
        "second IS NULL",
        "first IS NULL",
        "first != second",
    )
    counted = ", ".join(f"count(({condition}) OR NULL)" for condition in conditions)
    found: Sequence[int] = index.execute(f"SELECT {counted} FROM {table}").fetchone()
    return found


def _not_the_same(index: Index, table: str) -> Iterator[dict[str, str]]:
    keys = ("doc_id",) if table == "documents" else ("doc_id", "system")
    names = ", ".join(keys)
    asked = f"SELECT {names} FROM {table} WHERE first != second ORDER BY {names} LIMIT ?"
    for row in index.execute(asked, (FEW_NAMED,)):
        yield dict(zip(keys, row, strict=True))


def _read_scores(paired: PairedRuns, place: int, run: ScoredRun) -> None:
    columns, size = dict[Key, Column](), paired.documents.size
    values, signatures = paired.scores[place], paired.signatures[place]
    for scores in run.output.ahead(lambda shard: list(run.output.scores(shard)), run.scored):
        rows = dict[tuple[str, str], int | None]()
        for score in scores:
            if is_repetition(score.scorer):
                continue
            key, text = (score.scorer, score.axis), (score.doc_id, score.system)
            if key not in columns:
                columns[key], values[key] = Column(), np.full(size, np.nan)
            columns[key].add(score)
            signatures[score.scorer] = score.signature
            if text not in rows:
                rows[text] = paired.row(*text)
            if score.value is not None and (row := rows[text]) is not None:
                values[key][row] = score.value
    for key, column in columns.items():
        reasons = dict(column.reasons)
        counts = column.scored, column.reasons.total()
        paired.coverage[place][key] = Coverage(*key, *counts, reasons)
