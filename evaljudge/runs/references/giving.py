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
from functools import partial
from typing import Any

from evaljudge.engines import Identity
from evaljudge.errors import UserError
from evaljudge.identity import brief_key
from evaljudge.judges.protocol import Judge, Part
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
    paths = {
        name: settings[SETTING]
        for name, settings in judges.items()
        if isinstance(settings.get(SETTING), str)
    }
    digests = {path: _digest(path, axes) for path in dict.fromkeys(paths.values())}
    settled = {
        name: {**settings, SETTING: digests[paths[name]]} if name in paths else settings
        for name, settings in judges.items()
    }
    return settled, paths


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
        for judge in self.takers:
            if judge.kind == kind:
                given = self._of(self._paths[judge.name], document)
                for part in judge.parts():
                    if reference := given.get((part.axis, part.name)):
                        key = brief_key(judge, part, document, writer)
                        found[key] = _brief(kind, key, part, reference)
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


def _brief(kind: str, key: str, part: Part, given: ReferenceRow) -> Brief:
    content = {"rating": given.level, "text": given.text, "writer": given.writer}
    known = (given.doc_id, key, kind, part.axis, part.name)
    return Brief(*known, content, signature=given.signature)


@contextmanager
def given_references(paths: Paths, judges: Sequence[Judge]) -> Iterator[GivenReferences]:
    with indexed(paths.values()) as files:
        yield GivenReferences(files, paths, judges)


def check_references(paths: Paths, judges: Sequence[Judge], documents: Iterable[Document]) -> None:
    """Refuse files whose references were written for other texts than these documents'."""
    if paths:
        with given_references(paths, judges) as given:
            if not [True for document in documents if given.check(document)]:
                files = ", ".join(dict.fromkeys(paths.values()))
                raise UserError(f"{files}: has no reference of any document of this corpus")


def put_references(
    paths: Paths, judges: Sequence[Judge], writer: Identity, output: Output, shards: Sequence[Shard]
) -> None:
    """Put what the files hold into the own briefs of shards that are to be prepared."""
    if not paths or not shards:
        return
    with given_references(paths, judges) as given:
        put = partial(_put, output, output.committed("prepare"))
        for _ in ahead(lambda one: put(*one), _missing(given, writer, output, shards)):
            pass


def _missing(
    given: GivenReferences, writer: Identity, output: Output, shards: Sequence[Shard]
) -> Iterator[tuple[str, Shard, Briefs]]:
    """What is still to be written, with what is there already."""
    for shard, (cases, own) in zip(
        shards, ahead(partial(_there, output, given.kinds), shards), strict=True
    ):
        for kind, known in own.items():
            found: Briefs = {}
            for case in cases:
                found |= given.briefs(kind, case.document, writer)
            if found.keys() - known.keys():
                yield kind, shard, found | known


def _there(
    output: Output, kinds: Iterable[str], shard: Shard
) -> tuple[list[Case], dict[str, Briefs]]:
    """A shard's cases, and its briefs that are there and not unscored."""
    own = {kind: output.own_briefs(kind, shard) for kind in kinds}
    whole = {kind: {b.key: b for b in own[kind] if b.status == "ok"} for kind in own}
    return output.cases(shard), whole


def _put(output: Output, marked: set[int], kind: str, shard: Shard, briefs: Briefs) -> None:
    """A marker whose briefs were lost is removed first: these briefs alone are not all."""
    if shard.number in marked:
        output.place.remove(f"commits/prepare/{shard.number:05d}.json")
    output.write_briefs(kind, shard, briefs.values())
