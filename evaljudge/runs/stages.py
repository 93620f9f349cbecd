"""Which shards lack which stage, and on which model each is done."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from evaljudge.engines import ModelSource
from evaljudge.execution.orders import Assignment, Order
from evaljudge.runs.job import Job
from evaljudge.storage import Index, Output, Shard, Stage, ahead, index_on_disk

Watch = Callable[[Mapping[str, Any]], None]
Pool = tuple[ModelSource, list[Order]]


def do_stages(job: Job, output: Output, wanted: Sequence[Stage], watch: Watch) -> None:
    """Do what is missing of the wanted stages; nothing is asked where nothing is missing."""
    for source, orders in _pools(job, output, wanted):
        if orders:
            job.executor.ask(_assignment(job, output, source), orders, watch)


def missing(job: Job, output: Output, wanted: Sequence[Stage]) -> dict[Shard, list[Stage]]:
    """The stages that each shard still lacks, shards in order."""
    done = {stage: output.committed(stage) for stage in wanted}
    if "prepare" in done:
        done["prepare"] &= _with_briefs(job, output)
    lacking = {
        shard: [stage for stage in wanted if shard.number not in done[stage]]
        for shard in output.shards()
    }
    return {shard: stages for shard, stages in lacking.items() if stages}


def _pools(job: Job, output: Output, wanted: Sequence[Stage]) -> list[Pool]:
    if not job.judges or job.model is None or job.writer is None:
        return []
    lacking = missing(job, output, wanted)
    files = _brief_files(job, output, list(lacking))
    if job.one_model:
        return [(job.model, [Order(s, stages, files[s]) for s, stages in lacking.items()])]
    homes: list[tuple[Stage, ModelSource]] = [("prepare", job.writer), ("judge", job.model)]
    return [
        (source, [Order(s, [stage], files[s]) for s, stages in lacking.items() if stage in stages])
        for stage, source in homes
    ]


def _assignment(job: Job, output: Output, source: ModelSource) -> Assignment:
    assert job.writer_is is not None
    return Assignment(
        out=job.config.out,
        briefs=job.config.briefs,
        run=output.name,
        judges=job.judges,
        engines=job.engines,
        source=source,
        writer=job.writer_is,
        signatures=job.judge_signatures(),
        seed=job.config.seed,
        session=uuid.uuid4().hex,
    )


def _with_briefs(job: Job, output: Output) -> set[int]:
    """Shards whose own brief files still lie where this run's briefs are."""
    by_kind = [set(output.brief_files(kind)) for kind in job.kinds]
    return {
        shard.number
        for shard in output.shards()
        if all(output.brief_file(shard) in files for files in by_kind)
    }


def _brief_files(
    job: Job, output: Output, shards: Sequence[Shard]
) -> dict[Shard, dict[str, list[str]]]:
    """Which files of the briefs' folder hold documents of which shard; its own goes unsaid."""
    found: dict[Shard, dict[str, list[str]]] = {shard: {} for shard in shards}
    files = {kind: output.reusable_briefs(kind) for kind in job.kinds}
    if not shards or not any(files.values()):
        return found
    by_number = {shard.number: shard for shard in shards}
    with index_on_disk("CREATE TABLE home (doc_id TEXT, shard INTEGER);") as index:
        for number, ids in ahead(lambda s: (s.number, output.documents(s)), shards):
            index.executemany("INSERT INTO home VALUES (?, ?)", ((i, number) for i in ids))
        index.execute("CREATE INDEX by_document ON home (doc_id)")
        for kind, names in files.items():
            held = ahead(partial(output.brief_documents, kind), names)
            for name, documents in zip(names, held, strict=True):
                for number in _homes(index, documents):
                    found[by_number[number]].setdefault(kind, []).append(name)
    return found


def _homes(index: Index, documents: Iterable[str]) -> set[int]:
    find = "SELECT shard FROM home WHERE doc_id = ?"
    return {number for doc_id in documents for (number,) in index.execute(find, (doc_id,))}
