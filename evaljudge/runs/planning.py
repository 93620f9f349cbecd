"""What a run would ask from here on: its judges over its cases with a model that only imagines.

The number of asks is exact as long as every brief can be had: a reference that is cut or empty is
not asked with. Prompt tokens are exact where the briefs exist; a brief that is not written yet is
taken to be as long as the corpus' own candidates. An option of several tokens takes further
requests, which depend on the replies and are not planned.
"""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from heapq import nlargest
from itertools import chain
from operator import attrgetter
from typing import Any

from evaljudge.corpora import Corpus, open_corpus, refuse_empty
from evaljudge.engines.memory import footprint
from evaljudge.errors import Damaged, UserError
from evaljudge.execution.case import Asked, Models, add_counts, case_models
from evaljudge.execution.local import complete
from evaljudge.identity import brief_key, common_key
from evaljudge.judges.checked import briefs_of, verdicts_of
from evaljudge.metrics import Metric, Unscored
from evaljudge.metrics.protocol import EMPTY_TEXT, compared_with, is_empty
from evaljudge.model.imagining import Imagining
from evaljudge.model.remembering import Common
from evaljudge.reasons import grouped
from evaljudge.records import Brief, Case, Document, Tokens
from evaljudge.runs.binding import differs_from_run, refuse_lone_texts
from evaljudge.runs.job import BOTH, Job, Pass, required
from evaljudge.runs.references import given_references
from evaljudge.runs.stages import lacking, missing
from evaljudge.sections.figures import InLines
from evaljudge.storage import Index, Output, Shard, Stage, index_on_disk

LONGEST_CASES = 3
"""How many cases with the longest texts are made into prompts, before anything is asked."""
WORTH_COUNTING = 1 << 30
"""Bytes of a cache, for one prompt, for which there may be no room."""
Work = tuple[Case, Sequence[Stage]]


@dataclass(repr=False)
class Plan(InLines):
    cases: int = 0
    candidates: int = 0
    done: int = 0
    """Cases that are judged already, and so not planned."""
    asked: dict[tuple[Stage, str], Tokens] = field(default_factory=dict)
    rated: Mapping[str, int] = field(default_factory=dict)
    """How many candidates people rated on each axis."""
    warnings: Sequence[str] = ()
    """What in the corpus is not read, or may be a slip."""
    unscored: dict[str, Counter[str]] = field(default_factory=dict)
    """Why each judge's and metric's candidates cannot be scored, whatever the reply."""
    refused: Sequence[str] = ()
    """How this run differs from the one that its folder is bound to, if it does."""
    is_whole: bool = False
    """All cases are to be asked: no run was begun, or only another one."""
    in_hand: int = 0
    """How many replies are kept of documents that are not done: so many fewer are asked for."""
    longest: dict[str, int] = field(default_factory=dict)
    """The tokens of each model's longest prompt that it holds, with its longest reply."""

    def __repr__(self) -> str:
        sizes, asked = f"documents {self.cases:,}, texts {self.candidates:,}", self.total
        plan = f"Plan({sizes}; asks {asked.asks:,}, tokens of prompts {asked.prompt:,})"
        foreseen = (f"foreseen {line}" for line in self.foreseen)
        return "\n".join([plan, *foreseen, *(f"warning: {line}" for line in self.warnings)])

    @property
    def foreseen(self) -> list[str]:
        """`unscored` in lines, each kind of reason with its remedy."""
        return [f"{name}: {group}" for name, n in self.unscored.items() for group in grouped(n)]

    def foresee(self, name: str, reasons: Iterable[str]) -> None:
        for reason in reasons:
            if all(group.foreseeable for group in grouped({reason: 1})):
                self.unscored.setdefault(name, Counter())[reason] += 1

    @property
    def total(self) -> Tokens:
        return sum(self.asked.values(), Tokens())

    @property
    def is_exact(self) -> bool:
        """No brief is to be written whose length is not known yet, and no replies are kept."""
        return not (
            self.in_hand
            or any(t.asks for (stage, _), t in self.asked.items() if stage == "prepare")
        )


def make_plan(job: Job, written: "KnownBriefs | None" = None) -> Plan:
    """`written`: the briefs of the runs planned before this one, to which its own are added."""
    with open_corpus(job.corpus, job.config.bad_rows) as corpus:
        refuse_empty(corpus, job.config.corpus_name, "judge")
        refuse_lone_texts(corpus, job)
        plan = Plan(corpus.cases, corpus.candidates)
        plan.rated, plan.warnings = corpus.rated_on(), corpus.unread
        if job.judges:
            output = Output(job.config.out, job.config.briefs)
            with _all_briefs(job, output, corpus, written) as briefs:
                differs = differs_from_run(job, output, corpus.digest)
                plan.refused, plan.is_whole = differs or [], differs != []
                if not plan.is_whole:
                    left = missing(job, output, BOTH)
                    plan.done = sum(shard.cases for shard in output.shards() if shard not in left)
                for part in job.passes:
                    work = _remaining(part, output, corpus, plan)
                    complete(_PassPlan(part, briefs, output, plan).add(work))
        for case in corpus if job.metrics else ():
            for metric in job.metrics:
                plan.foresee(metric.name, _unmeasurable(metric, case))
        return plan


def longest_ask(part: Pass, output: Output, todo: Iterable[Shard]) -> int:
    """About how many tokens the longest prompt of a pass takes with its reply; 0: not known, as
    where the cache of all that the model holds is small. Only the longest cases are looked at."""
    sizes: Mapping[str, int] = (output.listing() or {}).get("largest", {})
    if not sizes or not (model := footprint(part.source)):
        return 0
    context = part.job.engines.describe(part.source).context
    if not context or model.cache(context) < WORTH_COUNTING:
        return 0
    left = (shard for shard in todo if f"{shard.number}" in sizes)
    shards = nlargest(LONGEST_CASES, left, key=lambda shard: sizes[f"{shard.number}"])
    cases = chain.from_iterable(map(output.cases, shards))
    plan = Plan()
    try:
        largest = nlargest(LONGEST_CASES, cases, key=attrgetter("size"))
        with known_briefs() as briefs:
            for each in part.job.passes:
                work = ((case, each.stages) for case in largest)
                complete(_PassPlan(each, briefs, None, plan).add(work))
    except UserError:  # no tokenizer here: the engine says what does not fit
        return 0
    return plan.longest.get(part.source.source, 0)


@contextmanager
def _all_briefs(
    job: Job, output: Output, corpus: Corpus, written: "KnownBriefs | None"
) -> "Iterator[KnownBriefs]":
    with nullcontext(written) if written is not None else known_briefs() as briefs:
        for panel in job.panels:
            briefs.add(given_briefs(panel, (case.document for case in corpus)))
        for kind in job.kinds:
            briefs.add(output.briefs(kind, output.brief_files(kind)))
        yield briefs


def given_briefs(job: Job, documents: Iterable[Document]) -> Iterator[Brief]:
    """What files of references hold in place of what would be written."""
    if job.references:
        writer = required(job.writer).identity
        with given_references(job.references, job.judges) as references:
            for document in documents:
                for kind in references.kinds:
                    yield from references.briefs(kind, document, writer).values()


def _remaining(part: Pass, output: Output, corpus: Corpus, plan: Plan) -> Iterator[Work]:
    """What the shards of a begun run lack; everything, where no run was begun."""
    if plan.is_whole:
        yield from ((case, part.stages) for case in corpus)
        return
    kept = output.of(part.job.panel)
    for shard, stages in lacking(part, output, BOTH).items():
        saved = dict[Stage, dict[str, Any]]()
        for stage in stages:
            with suppress(Damaged):  # a run says so, and asks again
                saved[stage] = kept.partial(stage, shard) or {}
        for of_stage in saved.values():
            plan.in_hand += sum(map(len, of_stage.get("replies", {}).values()))
        judged = saved.get("judge", {}).get("results", {})
        for case in output.cases(shard):
            is_judged = case.document.doc_id in judged
            yield case, [stage for stage in stages if stage != "judge" or not is_judged]


@contextmanager
def known_briefs() -> "Iterator[KnownBriefs]":
    """The briefs that are there already, by key: an index on disk, as there may be many."""
    columns = "key TEXT PRIMARY KEY, brief BLOB, doc_id TEXT, of_pass INTEGER"
    with index_on_disk(f"CREATE TABLE briefs ({columns}) WITHOUT ROWID;") as index:
        yield KnownBriefs(index)


class KnownBriefs:
    def __init__(self, index: Index) -> None:
        self.common: dict[str, Mapping[str, Any]] = {}
        """What was written once for all documents."""
        self.passes = 0
        self._index = index

    def add(self, briefs: Iterable[Brief]) -> None:
        rows = ((brief.key, pickle.dumps(brief), brief.doc_id, self.passes) for brief in briefs)
        self._index.executemany("INSERT OR REPLACE INTO briefs VALUES (?, ?, ?, ?)", rows)

    def with_keys(self, keys: Iterable[str], doc_id: str) -> list[Brief]:
        """Those from before this pass, in which only judges of the same document share them."""
        find = "SELECT brief FROM briefs WHERE key = ? AND (of_pass < ? OR doc_id = ?)"
        at = self.passes, doc_id
        rows = (self._index.execute(find, (key, *at)).fetchone() for key in keys)
        return [pickle.loads(row[0]) for row in rows if row]


class _PassPlan:
    def __init__(self, part: Pass, briefs: KnownBriefs, output: Output | None, plan: Plan) -> None:
        self._job, self._judging = part.job, part.judging
        self._source, self._stages = part.source, part.stages
        self._writer = required(part.job.writer).identity
        self._briefs, self._output, self._plan = briefs, output, plan
        # reading a tokenizer takes time, so it is read only where there is something to count
        self._counter = cache(lambda: part.job.engines.token_counter(part.source))
        self._context = cache(lambda: part.job.engines.describe(part.source).context)
        self._heads, self._blocks = set[int](), set[int]()

    async def add(self, work: Iterable[Work]) -> None:
        asked: dict[Stage, dict[str, Asked]] = {
            "prepare": {judge.name: Asked() for judge in self._job.judges},
            "judge": {judge.name: Asked() for judge in self._judging},
        }
        self._briefs.passes += 1
        for case, stages in work:
            self._blocks = set()
            briefs = await self._prepare(case, asked["prepare"], "prepare" in stages)
            if "judge" in stages:
                await self._judge(case, briefs, asked["judge"])
        for stage in self._stages:
            self._plan.asked |= {(stage, name): a.tokens for name, a in asked[stage].items()}

    async def _prepare(
        self, case: Case, asked: Mapping[str, Asked], wanted: bool
    ) -> dict[str, list[Brief]]:
        briefs = dict[str, list[Brief]]()
        with self._counted_models(case, asked) as models:
            for judge in self._job.judges:
                keys = {
                    (part.axis, part.name): brief_key(judge, part, case.document, self._writer)
                    for part in judge.parts()
                }
                old = self._briefs.with_keys(keys.values(), case.document.doc_id)
                whole = [brief for brief in old if brief.status == "ok"]
                if wanted:
                    new = await briefs_of(judge, case.document, whole, models[judge.name])
                    self._briefs.add(replace(b, key=keys[b.axis, b.part]) for b in new)
                    old = [*whole, *new]
                    failed = [brief.reason for brief in new if brief.status != "ok"]
                    self._plan.foresee(f"{judge.name} (briefs)", failed)
                briefs[judge.name] = old
        return briefs

    async def _judge(
        self, case: Case, briefs: Mapping[str, list[Brief]], asked: Mapping[str, Asked]
    ) -> None:
        with self._counted_models(case, asked) as models:
            for judge in self._judging:
                judged = await verdicts_of(judge, case, briefs[judge.name], models[judge.name])
                unscored = [v.reason for v in judged.verdicts if v.status == "unscored"]
                self._plan.foresee(judge.name, unscored)

    @contextmanager
    def _counted_models(self, case: Case, asked: Mapping[str, Asked]) -> Iterator[Models]:
        texts = [candidate.text for candidate in case.candidates]
        thinking = self._source.thinking
        imagining = Imagining(
            *(lambda *asked: self._counter()(*asked), texts, self._context()),
            with_thoughts=thinking.planned if thinking else tuple,
        )
        output = self._output
        common = self._briefs.common
        model = Common(
            imagining,
            # what an earlier run wrote once for all documents, a fresh run would ask for
            lambda name: common.get(name) or (output.common_reply(name) if output else None),
            lambda name, reply: common.setdefault(name, reply) is reply,
            lambda prompt, how: common_key(prompt, how, self._writer),
        )
        models = case_models(model, asked, self._heads, self._blocks)
        yield models
        add_counts(asked, models)
        longest = self._plan.longest
        longest[self._source.source] = max(longest.get(self._source.source, 0), imagining.longest)


def _unmeasurable(metric: Metric, case: Case) -> Iterator[str]:
    """Why candidates have no value of a metric that compares them with references or the source."""
    against = getattr(getattr(metric, "settings", None), "against", None)
    if against is None:
        return
    others = compared_with(case.document, against)
    for candidate in case.candidates:
        if is_empty(candidate.text):
            yield EMPTY_TEXT.reason
        elif isinstance(others, Unscored):
            yield others.reason
