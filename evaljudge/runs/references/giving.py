"""References of a file in place of those that a judge would write: briefs that are there already.

    {"doc_id": "d1", "axis": "fluency", "level": 3.0, "text": "A flood …", "writer": "m@9c1", …}
    -> Brief("d1", key, "synthetic", "fluency", "3", {"rating": 3.0, "text": "A flood …",
             "writer": "m@9c1"}, signature=…)

They are put into a shard's own brief file before it is ordered, where its worker finds them.
Which judges take references from a file is settled before anything else is done:

    take_references({"synthetic": {"references": "refs.jsonl", "levels": 5}}, ["fluency"])
    -> {"synthetic": {"references": "5f1c09ab77e2d410", "levels": 5}}, {"synthetic": "refs.jsonl"}
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from evaljudge.engines import Identity
from evaljudge.errors import UserError
from evaljudge.identity import brief_key
from evaljudge.judges.protocol import Judge
from evaljudge.records import Brief, Case, Document
from evaljudge.runs.references.file import (
    LEVELS,
    ReferenceFiles,
    ReferenceRow,
    indexed,
    source_digest,
)
from evaljudge.storage import Output, Shard, ahead
from evaljudge.text import shown

SETTING = "references"
"""The setting of a judge that can take a file; to any other judge it is an unknown key."""
Paths = Mapping[str, str]
"""Each judge's file, of those that have one."""
Briefs = dict[str, Brief]
"""By key."""


def take_references(
    judges: Mapping[str, Mapping[str, Any]], axes: Collection[str]
) -> tuple[dict[str, Mapping[str, Any]], dict[str, str]]:
    """The judges' settings with digests in place of files, and each judge's file."""
    given = {name: settings.get(SETTING) for name, settings in judges.items()}
    paths = {name: path for name, path in given.items() if isinstance(path, str)}
    digests = {path: _digest(path, axes) for path in dict.fromkeys(paths.values())}
    settled = {name: {**judges[name], SETTING: digests[path]} for name, path in paths.items()}
    return {**judges, **settled}, paths


def _digest(path: str, axes: Collection[str]) -> str:
    """Refuses a file that has nothing for these axes; single rows may be of others."""
    with indexed([path]) as files:
        found = files.axes()
        if not found & set(axes):
            there, wanted = (", ".join(sorted(some)) for some in (found, axes))
            raise UserError(
                f"{path}: its references are of other axes ({there}) than the run's ({wanted})"
            )
        return files.digests[path]


class GivenReferences:
    """The files that a run's judges are given, whose rows become briefs."""

    def __init__(self, files: ReferenceFiles, paths: Paths, judges: Sequence[Judge]) -> None:
        self._files, self._paths = files, paths
        self.takers = [judge for judge in judges if judge.name in paths]
        self.kinds = list(dict.fromkeys(judge.kind for judge in self.takers))
        for judge in self.takers:
            path = paths[judge.name]
            if files.digests[path] != judge.asking[SETTING]:
                raise UserError(f"{path}: was changed since this run was begun")

    def check(self, document: Document) -> bool:
        """Whether the files have a reference of this document; one for another text is refused."""
        return any(self._of(path, document) for path in dict.fromkeys(self._paths.values()))

    def briefs(self, kind: str, document: Document, writer: Identity) -> Briefs:
        """Of all judges of a kind."""
        found: Briefs = {}
        for judge in (judge for judge in self.takers if judge.kind == kind):
            given = self._of(self._paths[judge.name], document)
            for part in judge.parts():
                if reference := given.get((part.axis, part.name)):
                    key = brief_key(judge, part, document, writer)
                    content = {"rating": reference.level, "text": reference.text,
                               "writer": reference.writer}  # fmt: skip
                    of = (document.doc_id, key, kind, part.axis, part.name)
                    found[key] = Brief(*of, content, signature=reference.signature)
        return found

    def _of(self, path: str, document: Document) -> dict[tuple[str, str], ReferenceRow]:
        """By axis and the level's name."""
        found = self._files.of(path, document.doc_id)
        source = source_digest(document) if found else ""
        for line, reference in found.items():
            if reference.source_sha256 != source:
                raise UserError(
                    f"{path}:{line}: was written for another source than document "
                    f"{shown(document.doc_id)} has here"
                )
        return {(one.axis, LEVELS[one.level]): one for one in found.values()}


@contextmanager
def given_references(paths: Paths, judges: Sequence[Judge]) -> Iterator[GivenReferences]:
    with indexed(paths.values()) as files:
        yield GivenReferences(files, paths, judges)


def check_references(paths: Paths, judges: Sequence[Judge], documents: Iterable[Document]) -> None:
    """Refuse files whose references were written for other texts than these documents'."""
    if paths:
        with given_references(paths, judges) as given:
            if not sum(map(given.check, documents)):  # checks all, not only the first
                files = ", ".join(dict.fromkeys(paths.values()))
                raise UserError(f"{files}: has no reference of any document of this corpus")


def put_references(
    paths: Paths, judges: Sequence[Judge], writer: Identity, output: Output, shards: Sequence[Shard]
) -> None:
    """Put what the files hold into the own briefs of shards that are to be prepared."""
    if not paths or not shards:
        return
    prepared = output.committed("prepare")

    def put(new: tuple[str, Shard, Briefs]) -> None:
        kind, shard, briefs = new
        if shard.number in prepared:  # but its briefs were lost, and these alone are not all
            output.place.remove(f"commits/prepare/{shard.number:05d}.json")
        output.write_briefs(kind, shard, briefs.values())

    with given_references(paths, judges) as given:
        for _ in ahead(put, _new_briefs(given, writer, output, shards)):
            pass


def _new_briefs(
    given: GivenReferences, writer: Identity, output: Output, shards: Sequence[Shard]
) -> Iterator[tuple[str, Shard, Briefs]]:
    """What is still to be written, with what is there already and not unscored."""

    def read(shard: Shard) -> tuple[list[Case], dict[str, list[Brief]]]:
        return output.cases(shard), {kind: output.own_briefs(kind, shard) for kind in given.kinds}

    for shard, (cases, own) in zip(shards, ahead(read, shards), strict=True):
        for kind, briefs in own.items():
            known = {brief.key: brief for brief in briefs if brief.status == "ok"}
            found: Briefs = {}
            for case in cases:
                found |= given.briefs(kind, case.document, writer)
            if found.keys() - known.keys():
                yield kind, shard, found | known
