"""The words between a driver, its executor and its workers.

What travels to a worker is, once, its assignment, and then an order for each shard, as text. What
comes back is a receipt for each stage of a shard that is committed, and meanwhile a stream of
events:

    Event("loading")  Event("loaded")    a model is loaded
    Event("cases", "judge", 3, 17)       so many cases of a shard that is not committed yet are done
    Event("unscored", "judge", 3, 2)     of a shard that is committed: texts without a score
    Event("committed", "judge", 3, 32, {…})    its cases, and its receipt
    Event("measured", "judge", 3, 1)    how many metrics are committed with its verdicts
    Event("died", "judge", 3, 2)    a worker, with two shards in hand, of which this is the first
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from math import inf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from evaljudge.analysis.costs import NO_PRICE, Price
from evaljudge.engines import Engine, Engines, Identity, ModelSource
from evaljudge.errors import GivenUp, UserError, first_words
from evaljudge.execution.budget import Budget
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.judges.shared.asking import quoted
from evaljudge.metrics import Metric
from evaljudge.model.asks import Options, Prompt
from evaljudge.records import Case
from evaljudge.storage import Output, Shard, Stage

R = TypeVar("R")
T = TypeVar("T")
Receipt = dict[str, Any]

BEFORE_AN_ANSWER = {
    "<think>": "<think>\n\n</think>\n\n",
    "<|channel|>": "<|channel|>final<|message|>",
}
"""How a reply may begin, and what of it stands before an answer."""


@dataclass(frozen=True)
class Probe:
    judge: str
    prompt: Prompt
    options: Options


@dataclass(frozen=True)
class PassedOn:
    """The texts that the second judge of a cascade is asked about; without it all are asked."""

    judge: str = ""
    keys: frozenset[int] = frozenset()
    said: Mapping[str, Judged] = field(default_factory=dict)
    """What it has said of some of them already, by document."""

    @staticmethod
    def key(doc_id: str, system: str) -> int:
        name = f"{doc_id}\0{system}".encode(errors="surrogatepass")
        return int.from_bytes(blake2b(name, digest_size=8).digest())

    def of(self, judge: Judge, case: Case) -> Case:
        """The case with the candidates that this judge is asked about."""
        if judge.name != self.judge:
            return case
        doc_id = case.document.doc_id
        mine = (c for c in case.candidates if self.key(doc_id, c.system) in self.keys)
        return replace(case, candidates=tuple(mine))


@dataclass(frozen=True)
class Assignment:
    output: Output
    judges: Sequence[Judge]
    engines: Engines
    source: ModelSource
    writer: Identity
    signatures: Mapping[str, str]
    seed: int
    probes: Sequence[Probe] = ()  # asked of each engine as it is opened, and counted nowhere
    commit_every: float = inf  # seconds after which what is new of a shard in hand is saved
    metrics: Sequence[Metric] = ()
    """Measured by the worker that judges, with the signatures of their names."""
    price: Price = NO_PRICE  # what a worker's time costs, where a run may spend only so much
    judging: Sequence[Judge] = ()
    """The judges that judge with this model, where it writes for others, too; empty: all."""
    passed_on: PassedOn = PassedOn()  # where one of these judges is not asked about all texts

    def open_engine(self) -> Engine:
        """The engine; one that cannot be loaded is a UserError, whatever a library raises."""
        try:
            return self._opened()
        except (UserError, GivenUp):
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {first_words(error)}"
            raise UserError(f"model {self.source.source}: cannot be loaded: {message}") from error

    def _opened(self) -> Engine:
        engine = self.engines.open(self.source, self.seed)
        try:
            for options in dict.fromkeys(o for judge in self.judges for o in judge.options):
                engine.prepare(options)
            for encoder in dict.fromkeys(e for judge in self.judges for e in judge.encoders):
                engine.prepare_encoder(encoder)
            for probe in self.probes:
                self._refuse_low_mass(engine, probe)
        except BaseException:  # in a notebook the engine would keep its memory
            engine.close()
            raise
        return engine

    def _refuse_low_mass(self, engine: Engine, probe: Probe) -> None:
        least = self.source.least_mass
        asking = engine.low_mass(probe.prompt, probe.options, least)
        with ThreadPoolExecutor(1) as thread:  # this one may have a loop that runs
            low = thread.submit(asyncio.run, asking).result()
        if not low:
            return
        source, options = self.source.source, ", ".join(probe.options.names)
        model = f"source: {source}"
        if self.source.endpoint:
            model = f"endpoint: …, name: {source}, chat: none"
        begun = (text for begin, text in BEFORE_AN_ANSWER.items() if begin in low.said)
        reply, said = (json.dumps(t, ensure_ascii=False) for t in (next(begun, "…"), low.said))
        begins = f"its reply begins with {said}"
        name = f"Name what must stand before its answers, `model: {{{model}, reply: {reply}}}`"
        if source == "nano":
            name = "It answers the questions of `prompts: nano` alone: set them"
        if self.source.thinking:
            begins = f"it had thought {quoted(low.said)}"
            name = "Let it think longer, `thinking: {tokens: …}`"
        raise UserError(
            f"judges.{probe.judge}: model {source} puts only {low.mass:.1%} of its probability on "
            f"the answers offered ({options}): {begins}. {name}, or judge all the same with "
            f"`least_mass: 0` (now {least:g})"
        )


@dataclass(frozen=True)
class Order:
    """One shard to be done: which stages of it are missing, which files may hold its briefs."""

    shard: Shard
    stages: Sequence[Stage]
    brief_files: Mapping[str, Sequence[str]]
    is_again: bool = False
    """Some of it may be committed already, by another worker, or kept (case.py)."""
    is_copy: bool = False  # another worker has it in hand, too

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str, **changes: Any) -> "Order":
        spec = json.loads(text) | changes
        return cls(**spec | {"shard": Shard(**spec["shard"])})


@dataclass(frozen=True)
class Measuring:
    output: Output
    metrics: Sequence[Metric]
    signatures: Mapping[str, str]
    begun: Collection[int] = ()  # the numbers of the shards that have measures already


class Event(NamedTuple):
    """Counts are not kept: a shard that is begun again counts from 0, and what is said of it once
    it is committed replaces them."""

    kind: Literal["loading", "loaded", "cases", "unscored", "committed", "measured", "died"]
    stage: Stage = "prepare"
    shard: int = -1
    n: int = 0
    receipt: Mapping[str, Any] = MappingProxyType({})


Watch = Callable[[Event], None]
"""Called by an executor while a model is asked, from any thread."""
Tell = Callable[[Sequence[Event]], None]
"""Called by a worker, about once a second, with what has changed."""


def tell_receipt(watch: Watch, receipt: Receipt) -> None:
    """Of a committed shard, as events."""
    at = receipt["stage"], receipt["shard"]
    watch(Event("unscored", *at, receipt["unscored"]))
    watch(Event("committed", *at, receipt["cases"], receipt))
    if at[0] == "judge" and (measured := receipt.get("measured")):
        watch(Event("measured", *at, len(measured)))


class Executor(ABC):
    def check(self, engine_sizes: Collection[int]) -> AbstractContextManager[None]:
        """Refuse, before any work is done, engines that can never be placed; `engine_sizes`: how
        many GPUs each needs. What had to be started in order to look stays for the block."""
        return nullcontext()

    def fetching(self, fetch: Callable[[], None], engine_size: int) -> AbstractContextManager[None]:
        """Meanwhile, `fetch` is done where workers will be, without waiting for it."""
        return nullcontext()

    def session(self) -> AbstractContextManager[None]:
        """Whatever several calls share, started once for the block."""
        return nullcontext()

    @abstractmethod
    def ask(
        self, assignment: Assignment, orders: Sequence[Order], watch: Watch, budget: Budget | None
    ) -> None:
        """Have every order done, each shard committed before `watch` gets its event.

        Raises Unasked where the budget did not allow that."""

    @abstractmethod
    def in_order(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
        """What `work` makes of each item, in the order of the items: of shards, say."""

    def as_done(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """The same with each item's place, as soon as it is done."""
        return enumerate(self.in_order(work, items))

    @abstractmethod
    def measure(
        self, measuring: Measuring, lacking: Mapping[Shard, Sequence[str]], watch: Watch
    ) -> None:
        """Measure the metrics that each shard lacks, each shard committed before `watch` hears."""
