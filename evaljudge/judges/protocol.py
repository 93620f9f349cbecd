"""What a judge is: briefs from a document, verdicts on a case, scores by arithmetic alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from evaljudge.model import Model
from evaljudge.model.asks import Options
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
    shows_references: bool = False


class Judge(Protocol):
    kind: str
    """Its name in the registry; briefs are shared among judges of a kind."""
    name: str
    """Its name in this run: the kind, unless the configuration gives another."""
    version: str
    asks_by_replies: bool
    """How often it asks depends on what was replied, so that `plan` can but estimate it."""
    options: Sequence[Options]
    """Every set of options it will offer, so that an engine can refuse them at start-up."""
    encoders: Sequence[str]
    """The sentence encoders it will name to `embed`: loaded at start-up for the same reason."""

    @property
    def asking(self) -> Mapping[str, Any]:
        """What of its settings and prompts changes an ask: part of the run's fingerprint."""

    @property
    def scorers(self) -> Sequence[str]:
        """The scorers that `score` gives, per candidate and axis."""

    @property
    def axes(self) -> Sequence[str]:
        """Of its verdicts: ANY_AXIS alone, where one verdict on a candidate serves all axes."""

    def axes_of(self, scorer: str) -> Sequence[str]:
        """Of this scorer's scores: those of the verdicts, unless a judge's scorers differ."""

    def parts(self) -> Sequence[Part]:
        """What the briefs of any document consist of."""

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        """The parts that `known` lacks; one that cannot be had is unscored, with its reason."""

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> list[Verdict]:
        """One verdict per candidate and axis, scored or not."""

    def score(self, verdict: Verdict) -> list[Score]:
        """No model, no await: from the evidence alone."""


@runtime_checkable
class Reading(Judge, Protocol):
    """A judge with a choice of arithmetic: told in signatures, and binding no run."""

    @property
    def reading(self) -> Mapping[str, Any]:
        """Which of its readings its scores are by, as settings."""


class Fitted(Protocol):
    """What a judge learnt from all verdicts of a run, and scores them by."""

    @property
    def told(self) -> Mapping[str, Any]:
        """All that its scores depend on besides the verdict: plain JSON, kept with the report."""

    def score(self, verdict: Verdict) -> list[Score]:
        """As `Judge.score`, and in its place: the same scorers on the same axes."""


@runtime_checkable
class Fitting(Judge, Protocol):
    """A judge whose arithmetic needs the whole run."""

    def fit(self, verdicts: Iterable[Verdict]) -> Fitted | None:
        """No model, no await; None, and nothing read, where its settings need no fit.

        The verdicts are those of all shards, read as they are asked for, once and in order: what is
        kept of them must not grow with the run.
        """


class Compared(NamedTuple):
    """One comparison of a candidate with a reference: how likely each answer is.

    `p` is of Better, Worse and Similar, whatever the form of the question was; `mass` is what the
    answers offered hold together of all that the model might say.
    """

    rating: float
    p: Mapping[str, float]
    mass: float


@runtime_checkable
class Anchored(Judge, Protocol):
    """A judge that compares with references of its own, and can look at how sound they are.

    Its checks are verdicts on system `*`, one for each axis of a document, with the evidence

        neighbours  [{"worse": 1.0, "better": 2.0, "p": {"Better": .9, "Worse": .02, …}}, …]
                    each reference judged as a candidate against the one below it
        exchanged   [{"system": "A", "rating": 3.0, "p": {…}, "exchanged": {…}}, …]
                    a comparison as asked, and with the two texts in each other's place (read back
                    as if it had been asked in the usual order)
    """

    async def checks(self, case: Case, briefs: Sequence[Brief], model: Model) -> list[Verdict]: ...

    @property
    def undecided(self) -> Mapping[str, float]:
        """Of each scorer on the scale of ratings: its score where no comparison is decided."""

    def comparisons(self, verdict: Verdict) -> Sequence[Compared]:
        """Of a verdict that is scored, in the order of the references' ratings."""
