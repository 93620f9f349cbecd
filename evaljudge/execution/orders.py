"""What travels to a worker: once, the assignment; then one order per shard, as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from evaljudge.engines import Engine, Engines, Identity, ModelSource
from evaljudge.errors import GivenUp, UserError, first_words
from evaljudge.judges.protocol import Judge
from evaljudge.storage import Output, Panel, Shard, Stage


@dataclass(frozen=True)
class Assignment:
    """All that a worker needs to know besides its shards; it travels once."""

    out: str
    briefs: str | None
    run: str
    judges: Sequence[Judge]
    engines: Engines
    source: ModelSource
    writer: Identity
    signatures: Mapping[str, str]
    seed: int
    session: str = ""
    """Of all work of one driver: deaths are counted within it, not over reruns."""
    panel: Panel = Panel()

    def open_output(self) -> Output:
        return Output(self.out, self.briefs, self.run, self.panel)

    def open_engine(self) -> Engine:
        """The engine; one that cannot be loaded is a UserError, whatever a library raises."""
        try:
            return self._opened()
        except (UserError, GivenUp):
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {first_words(error)}"
            raise UserError(f"model {self.source.source}: cannot be loaded: {said}") from error

    def _opened(self) -> Engine:
        engine = self.engines.open(self.source, self.seed)
        try:
            for options in dict.fromkeys(o for judge in self.judges for o in judge.options):
                engine.prepare(options)
            for encoder in dict.fromkeys(e for judge in self.judges for e in judge.encoders):
                engine.prepare_encoder(encoder)
        except BaseException:  # in a notebook the engine would keep its memory
            engine.close()
            raise
        return engine


@dataclass(frozen=True)
class Order:
    """One shard to be done: which stages of it are missing, which files may hold its briefs."""

    shard: Shard
    stages: Sequence[Stage]
    brief_files: Mapping[str, Sequence[str]]


def write_order(order: Order) -> str:
    return json.dumps(asdict(order))


def read_order(text: str) -> Order:
    spec = json.loads(text)
    return Order(Shard(**spec["shard"]), spec["stages"], spec["brief_files"])
