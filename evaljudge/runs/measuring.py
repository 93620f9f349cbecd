"""The metrics' part of a run: which shards lack which, what is counted of the whole corpus, and
then every candidate measured.

    commits/measure/00003.json   {"measured": {"rouge1": "rouge1@1 | …", …}, …}

A metric is missing where its signature is not the one that a shard was measured under: metrics may
change between reports, and only what changed is measured.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from evaljudge.execution.measuring import Measuring
from evaljudge.metrics import CorpusMetric, Metric
from evaljudge.metrics.measuring import drawn
from evaljudge.metrics.protocol import Part
from evaljudge.records import Document
from evaljudge.runs.job import Job
from evaljudge.storage import Index, Output, Shard, ahead, index_on_disk

Watch = Callable[[Mapping[str, Any]], None]
Lacking = dict[Shard, list[str]]
"""Of each shard, the metrics that are missing."""


def unmeasured(job: Job, output: Output, shards: Sequence[Shard]) -> Lacking:
    if not job.metrics:
        return {}
    wanted = job.metric_signatures(corpus_digest(output))
    known = {receipt["shard"]: receipt["measured"] for receipt in output.receipts("measure")}
    lacking = {
        shard: [n for n, line in wanted.items() if known.get(shard.number, {}).get(n) != line]
        for shard in shards
    }
    return {shard: names for shard, names in lacking.items() if names}


def measure(job: Job, output: Output, lacking: Lacking, watch: Watch) -> None:
    """Measure what is missing, telling `watch` of each shard's receipt."""
    if not lacking:
        return
    names = {name for missing in lacking.values() for name in missing}
    with job.executor.session():  # for all passes
        ready = [_ready(job, output, metric) for metric in job.metrics if metric.name in names]
        signatures = job.metric_signatures(corpus_digest(output))
        measuring = Measuring(job.config.out, ready, signatures, uuid.uuid4().hex)
        job.executor.measure(measuring, lacking, watch)


def corpus_digest(output: Output) -> str:
    return str((output.listing() or {})["corpus"])


def _ready(job: Job, output: Output, metric: Metric) -> Metric:
    """One that looks at the whole corpus learns and counts first, over all of the run's shards."""
    if not isinstance(metric, CorpusMetric):
        return metric
    shards, again = output.shards(), _again(output)
    of = sum(shard.cases for shard in shards) - sum(map(len, again.values()))
    documents = _once(ahead(lambda s: (s.number, output.sources(s)), shards), again)
    learnt = metric.learnt(drawn(documents, metric.most_learnt, of, job.config.seed))
    counted = partial(_counted, job.config.out, learnt, again)
    return learnt.fitted(job.executor.in_order(counted, shards))


def _counted(
    out: str, metric: CorpusMetric, again: Mapping[int, frozenset[str]], shard: Shard
) -> Part:
    documents = Output(out).sources(shard)
    return metric.counted(one.source for one in _once([(shard.number, documents)], again))


def _once(
    read: Iterable[tuple[int, list[Document]]], again: Mapping[int, frozenset[str]]
) -> Iterator[Document]:
    for number, documents in read:
        seen = again.get(number, frozenset())
        yield from (document for document in documents if document.doc_id not in seen)


def _again(output: Output) -> dict[int, frozenset[str]]:
    """Of shards that were cut when a run was extended: the documents that earlier ones hold too."""
    if len((output.listing() or {}).get("cuts", [0])) < 2:
        return {}
    found: dict[int, frozenset[str]] = {}
    with index_on_disk("CREATE TABLE seen (doc_id TEXT PRIMARY KEY) WITHOUT ROWID;") as index:
        shards = output.shards()
        for number, ids in ahead(lambda s: (s.number, output.documents(s)), shards):
            repeated = frozenset(i for i in ids if not _is_new(index, i))
            if repeated:
                found[number] = repeated
    return found


def _is_new(index: Index, doc_id: str) -> bool:
    return index.execute("INSERT OR IGNORE INTO seen VALUES (?)", (doc_id,)).rowcount == 1
