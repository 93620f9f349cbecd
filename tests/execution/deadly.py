"""A metric that kills the process which measures, and a shard with the document that it dies of."""

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaljudge.execution.protocol import Measuring
from evaljudge.metrics import Value
from evaljudge.records import Candidate, Case, Document
from evaljudge.storage import Output, Shard


@dataclass(frozen=True)
class Deadly:
    """Kills its process over one document, as often as there are lives to take."""

    lives: str
    name: str = "deadly"
    version: str = "1"
    facts: Mapping[str, Any] = field(default_factory=dict)

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        lives = Path(self.lives)
        left = int(lives.read_text())
        if left and any(case.document.doc_id == "deadly" for case in cases):
            lives.write_text(str(left - 1))
            signal.raise_signal(signal.SIGBUS)
        return [[1.0 for _ in case.candidates] for case in cases]


@dataclass(frozen=True)
class DeadlyShard:
    """Its second document of three is deadly."""

    folder: Path
    shard: Shard = Shard(0, 3, 3)

    @property
    def output(self) -> Output:
        return Output(str(self.folder / "out"))

    @property
    def lives(self) -> int:
        return int((self.folder / "lives").read_text())

    def task(self, lives: int) -> Measuring:
        names = ("before", "deadly", "after")
        cases = [Case(Document(name, "s"), (Candidate("A", "t"),)) for name in names]
        self.output.write_cases(self.shard, cases)
        (self.folder / "lives").write_text(str(lives))
        metric = Deadly(str(self.folder / "lives"))
        return Measuring(self.output, [metric], {"deadly": "deadly@1"})

    def measured(self) -> dict[str, float | str]:
        scores = self.output.measures("deadly", self.shard)
        return {score.doc_id: score.value or score.reason for score in scores}
