"""What a run's shards lack, and how it is done: which model does which stage, which metrics run.

    commits/judge/00003.json     {"measured": {"rouge1": "rouge1@1 | …", …}, …}
    commits/measure/00003.json   {"measured": {"importance": "importance@1 | …", …}, …}

A metric is missing where its signature is not the one that a shard was measured under.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from evaljudge.execution.budget import Budget
from evaljudge.execution.protocol import (
    Assignment,
    Executor,
    Measuring,
    Order,
    PassedOn,
    Probe,
    Watch,
)
from evaljudge.metrics import CorpusMetric, Metric
from evaljudge.metrics.protocol import Part, drawn
from evaljudge.records import Document
from evaljudge.runs.asked import probes_of
from evaljudge.runs.job import Job, Pass, required
from evaljudge.storage import Output, Panel, Shard, Stage, ahead, index_on_disk

Lacking = dict[Shard, list[str]]  # the metrics that each shard lacks


def do_pass(
    part: Pass,
    output: Output,
    todo: Mapping[Shard, list[Stage]],
    watch: Watch,
    longest: int = 0,
    budget: Budget | None = None,
    executor: Executor | None = None,
    passed_on: PassedOn | None = None,
) -> None:
    """`longest`: see `ModelSource.longest`; `executor`: in place of the job's."""
    output = output.of(part.job.panel)
    files = _brief_files(part.job, output, list(todo))
    saved = set[int]().union(*map(output.saved, part.stages))
    orders = [Order(s, stages, files[s], s.number in saved) for s, stages in todo.items()]
    part = replace(part, source=replace(part.source, longest=longest))
    assignment = replace(_assignment(part, output, orders), passed_on=passed_on or PassedOn())
    (executor or part.job.executor).ask(assignment, orders, watch, budget)


def missing(job: Job, output: Output, wanted: Sequence[Stage]) -> dict[Shard, list[Stage]]:
    """For any of the run's models, shards in order."""
    left = dict[Shard, list[Stage]]()
    for part in job.passes:
        for shard, stages in lacking(part, output, wanted).items():
            left[shard] = [s for s in wanted if s in (*stages, *left.get(shard, ()))]
    return {shard: left[shard] for shard in output.shards() if shard in left}


def lacking(part: Pass, output: Output, wanted: Sequence[Stage]) -> dict[Shard, list[Stage]]:
    output = output.of(part.job.panel)
    done = {stage: output.committed(stage) for stage in wanted if stage in part.stages}
    left = {
        shard: [stage for stage in done if shard.number not in done[stage]]
        for shard in output.shards()
    }
    return {shard: stages for shard, stages in left.items() if stages}


def _assignment(part: Pass, output: Output, orders: Sequence[Order]) -> Assignment:
    """Of several models, the one for all judges that name none has the metrics measured."""
    job, probes = part.job, list[Probe]()
    judged = next((order.shard for order in orders if "judge" in order.stages), None)
    if judged and part.source.least_mass:
        probes = probes_of(part.judging, output.cases(judged)[0])
    light = [metric for metric in job.metrics if getattr(metric, "is_light", False)]
    return Assignment(
        output=output,
        judges=job.judges,
        judging=part.judging,
        engines=job.engines,
        source=part.source,
        writer=required(job.writer).identity,
        signatures=job.judge_signatures() | job.metric_signatures(corpus_digest(output)),
        seed=job.config.seed,
        probes=probes,
        commit_every=job.config.commit_every,
        metrics=light if not job.panel.judge else (),
        price=job.price,
    )


def _brief_files(
    job: Job, output: Output, shards: Sequence[Shard]
) -> dict[Shard, dict[str, list[str]]]:
    """Which files of the briefs' folder hold documents of which shard, besides its own file."""
    files_of: dict[Shard, dict[str, list[str]]] = {shard: {} for shard in shards}
    files = {kind: output.reusable_briefs(kind) for kind in job.kinds}
    given = {output.loose().brief_file(shard): shard for shard in shards}
    for kind, names in files.items():
        for name in filter(given.__contains__, names):
            files_of[given[name]].setdefault(kind, []).append(name)
        files[kind] = [name for name in names if name not in given]
    if not shards or not any(files.values()):
        return files_of
    by_number = {shard.number: shard for shard in shards}
    find = "SELECT shard FROM home WHERE doc_id = ?"
    with index_on_disk("CREATE TABLE home (doc_id TEXT, shard INTEGER);") as index:
        for number, ids in output.ahead(lambda s: (s.number, output.documents(s)), shards):
            index.executemany("INSERT INTO home VALUES (?, ?)", ((i, number) for i in ids))
        index.execute("CREATE INDEX by_document ON home (doc_id)")
        for kind, names in files.items():
            held = ahead(partial(output.brief_documents, kind), names)
            for name, documents in zip(names, held, strict=True):
                for number in {n for i in documents for (n,) in index.execute(find, (i,))}:
                    files_of[by_number[number]].setdefault(kind, []).append(name)
    return files_of


def unmeasured(job: Job, output: Output, shards: Sequence[Shard]) -> Lacking:
    if not job.metrics or not shards:
        return {}
    others = {shard.number for shard in output.shards()} - {shard.number for shard in shards}
    wanted = job.metric_signatures(corpus_digest(output))
    measured = defaultdict[int, set[tuple[str, str]]](set)
    judged = output.of(Panel()).receipts("judge", others)
    for receipt in chain(judged, output.receipts("measure", others)):
        measured[receipt["shard"]] |= receipt.get("measured", {}).items()
    lacking = {
        shard: [name for name, line in wanted.items() if (name, line) not in measured[shard.number]]
        for shard in shards
    }
    return {shard: names for shard, names in lacking.items() if names}


def measure(job: Job, output: Output, lacking: Lacking, watch: Watch) -> None:
    names = {name for missing in lacking.values() for name in missing}
    with job.executor.session():  # for all passes
        ready = [_ready(job, output, metric) for metric in job.metrics if metric.name in names]
        signatures = job.metric_signatures(corpus_digest(output))
        measuring = Measuring(output, ready, signatures, output.begun("measure"))
        job.executor.measure(measuring, lacking, watch)


def corpus_digest(output: Output) -> str:
    return str((output.listing() or {})["corpus"])


def _ready(job: Job, output: Output, metric: Metric) -> Metric:
    """A metric that needs the whole corpus first learns and counts, over all of the shards."""
    if not isinstance(metric, CorpusMetric):
        return metric
    shards, again = output.shards(), _again(output)
    total = sum(shard.cases for shard in shards) - sum(map(len, again.values()))
    documents = _once(output.ahead(lambda s: (s.number, output.sources(s)), shards), again)
    learnt = metric.learnt(drawn(documents, metric.most_learnt, total, job.config.seed))
    counted = partial(_counted, output, learnt, again)
    return learnt.fitted(job.executor.in_order(counted, shards))


def _counted(
    output: Output, metric: CorpusMetric, again: Mapping[int, frozenset[str]], shard: Shard
) -> Part:
    return metric.counted(_once([(shard.number, output.sources(shard))], again))


def _once(
    read: Iterable[tuple[int, list[Document]]], again: Mapping[int, frozenset[str]]
) -> Iterator[Document]:
    for number, documents in read:
        seen = again.get(number, frozenset())
        yield from (document for document in documents if document.doc_id not in seen)


def _again(output: Output) -> dict[int, frozenset[str]]:
    """The documents of shards cut when a run was extended that earlier shards hold too."""
    if len((output.listing() or {}).get("cuts", [0])) < 2:
        return {}
    measured: dict[int, frozenset[str]] = {}
    with index_on_disk("CREATE TABLE seen (doc_id TEXT PRIMARY KEY) WITHOUT ROWID;") as index:
        shards = output.shards()
        for number, ids in output.ahead(lambda s: (s.number, output.documents(s)), shards):
            keep = "INSERT OR IGNORE INTO seen VALUES (?)"
            if repeated := {i for i in ids if not index.execute(keep, (i,)).rowcount}:
                measured[number] = frozenset(repeated)
    return measured
