"""What all judges of one case share while it is open: a memory, and a count for each of them.

A worker opens cases over its engine, `plan` over a model that only imagines.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from evaljudge.judges.checked import check_scores, own_code
from evaljudge.judges.protocol import Judge
from evaljudge.model import Model
from evaljudge.model.counting import CountingModel, Masses, Reply
from evaljudge.model.remembering import Memory, Remembering
from evaljudge.records import Brief, Case, Tokens, Verdict
from evaljudge.storage import as_stored


@dataclass
class Asked:
    """What a stage asked of its model, for one judge."""

    tokens: Tokens = Tokens()
    masses: Masses = Masses()
    axes: dict[str, Tokens] = field(default_factory=dict)
    seconds: float = 0.0
    """Seconds of cases with this judge, waiting for replies included; cases overlap."""

    @contextmanager
    def timed(self) -> Iterator[None]:
        since = time.monotonic()
        yield
        self.seconds += time.monotonic() - since

    def add(self, model: CountingModel) -> None:
        self.tokens += model.tokens
        self.masses += model.masses

    def add_axes(self, records: Iterable[Brief | Verdict]) -> None:
        for record in records:
            self.axes[record.axis] = self.axes.get(record.axis, Tokens()) + record.tokens


class CaseModel(Remembering):
    """One judge's view of the model: it counts what the judge is the first to ask."""

    def __init__(self, counting: CountingModel, memory: Memory) -> None:
        super().__init__(counting, memory)
        self.counting = counting

    def _count(self, had: list[Reply]) -> None:
        self.counting.count(had)


Models = Mapping[str, CaseModel]
"""The keys are the judges' names."""


def add_counts(asked: Mapping[str, Asked], models: Models) -> None:
    for name, model in models.items():
        asked[name].add(model.counting)


def case_models(
    model: Model,
    names: Iterable[str],
    heads: set[int],
    blocks: set[int],
    memory: Memory | None = None,
) -> Models:
    """These judges' models for one case: what any of these judges has asked, no other asks again.

    `heads`, `blocks`: what the model has read of the templates, and of this case in either stage.
    """
    memory = Memory() if memory is None else memory
    return {name: CaseModel(CountingModel(model, heads, blocks), memory) for name in names}


def try_scoring(judge: Judge, case: Case, verdicts: Sequence[Verdict]) -> bool:
    """Score a first case as the report will, so that a bug there costs no run; False: none of its
    texts could be judged. Arithmetic that needs the whole run is not tried."""
    with own_code(judge, "verdicts"):
        stored = as_stored(verdicts)
    if type(judge).fit is Judge.fit:
        with own_code(judge, "score"):
            check_scores(judge, [case], judge.scores(stored))
    return any(verdict.status == "ok" for verdict in verdicts)
