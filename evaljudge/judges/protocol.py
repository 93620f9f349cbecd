"""What a judge is: briefs from a document, verdicts on a case, scores by arithmetic alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evaljudge.asks import Options
from evaljudge.model import Model
from evaljudge.records import Brief, Case, Document, Score, Verdict


@dataclass(frozen=True, slots=True)
class Part:
    """One thing a judge writes about a document: reusable wherever its `told` is the same.

    `told` is all that the writing depends on besides the document and the writer: the axis' text,
    the prompts' hash, the settings of the writing.
    """

    axis: str
    name: str
    told: Mapping[str, Any]
    shows_context: bool = False


class Judge(Protocol):
    name: str
    version: str
    options: Sequence[Options]
    """Every set of options it will offer, so that an engine can refuse them at start-up."""

    @property
    def asking(self) -> Mapping[str, Any]:
        """What of its settings and prompts changes an ask: part of the run's fingerprint."""

    @property
    def scorers(self) -> Sequence[str]:
        """The scorers that `score` gives, per candidate and axis."""

    @property
    def axes(self) -> Sequence[str]: ...

    def parts(self) -> Sequence[Part]:
        """What the briefs of any document consist of."""

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        """The parts that `known` lacks; one that cannot be had is unscored, with its reason."""

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> list[Verdict]:
        """One verdict per candidate and axis, scored or not."""

    def score(self, verdict: Verdict) -> list[Score]:
        """No model, no await: from the evidence alone."""
