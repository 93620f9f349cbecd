"""What a judge is: briefs from a document, verdicts on a case, scores by arithmetic alone."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evaljudge.judges.collector import CollectorOptions
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.model import Model
from evaljudge.model.asks import Options, Rating
from evaljudge.prompts import Examples
from evaljudge.records import Brief, Case, Document, Score, Verdict


@dataclass(frozen=True, slots=True)
class Part:
    """One thing a judge writes about a document, which can be reused where `inputs` are the same.

    `inputs` holds all that the writing depends on besides the document and the writer: the axis'
    text, the prompts' hash, the settings of the writing.
    """

    axis: str
    name: str
    inputs: Mapping[str, Any]
    shows_context: bool = False
    shows_references: bool = False
    chooses: bool = False
    """Whether the model chooses among answers for it, for which it may think."""


class Judged(NamedTuple):
    verdicts: list[Verdict]  # one for each candidate and axis, scored or not
    checks: list[Verdict] = []
    """Verdicts on the judge's own work, with system `*`; only where `has_checks` is true."""


Learnt = Mapping[str, Any]
"""What a judge learnt from all verdicts of a run, on which its scores depend besides the verdict:
plain JSON, kept with the report."""
Ratings = Mapping[tuple[str, str], Mapping[str, float]]
"""People's mean ratings by document and system, and by axis; of texts that have any."""


class Judge(ABC):
    """A judge implements the abstract methods; the other defaults suit a simple judge."""

    kind: str
    """The name of its folder; briefs are shared among judges of a kind."""
    name: str
    """Its name in this run: the kind, unless the configuration gives another."""
    version: str
    """Raised whenever the same settings and replies would give another score."""
    code: str = ""
    """The digest of its module, where an import path names it and it says only how replies are
    read: then they are read again, and not asked for, when that has changed."""
    has_checks: bool = False
    """Whether it checks its own work: then `verdicts` gives checks, too."""
    whole_documents: bool = False
    """Whether it ranks the candidates of a document against each other. Then the report says where
    its scores are used across documents, and `--extend` adds no candidates to judged documents."""
    options: Sequence[Options] = ()
    """Every set of options it will offer, so that an engine can refuse them at start-up."""
    weighs: bool = False
    """Whether it asks for the probability of a given text, which few servers show."""
    rates: Rating | None = None
    """What it asks of a model that was trained to rate texts; None: it asks one that writes."""
    encoders: Sequence[str] = ()
    """The sentence encoders it will name to `embed`: loaded at start-up for the same reason."""

    examples: Examples | None = None
    """The texts that people rated and that its questions show, where it can and was told to."""
    cautions: Sequence[str] = ()
    """What a reader of its scores must know, whatever the model replies."""

    @property
    def estimated(self) -> str:
        """What `plan` assumes if the number of asks depends on the replies, in a sentence."""
        return ""

    @property
    @abstractmethod
    def asking(self) -> Mapping[str, Any]:
        """The settings and prompts that change an ask: part of the run's fingerprint."""

    @property
    def reading(self) -> Mapping[str, Any]:
        """Settings of its arithmetic alone: part of signatures, but not of the fingerprint."""
        return {"code": self.code} if self.code else {}

    @classmethod
    def only_reads(cls) -> bool:
        """Whether its code says only how replies are read, and `asking` all that is asked."""
        return False

    @property
    def scorers(self) -> Sequence[str]:
        """The scorers that `score` gives, per candidate and axis; the first is the headline."""
        return [self.name, *self.other_readings, *self.fitted_to_people]

    @property
    @abstractmethod
    def axes(self) -> Sequence[str]:
        """The axes of its verdicts: only ANY_AXIS where one verdict on a candidate serves all."""

    def axes_of(self, scorer: str) -> Sequence[str]:
        """The axes of this scorer's scores."""
        return self.axes

    @property
    def undecided(self) -> Mapping[str, float]:
        """The score of a judge that cannot decide, for each scorer on the scale of ratings."""
        return {}

    @property
    def meanings(self) -> Mapping[str, str]:
        """What a scorer's values mean and their scale, in one sentence that the page shows beside
        them. The keys are the scorers' suffixes; the headline's is empty."""
        return {}

    @property
    def other_readings(self) -> Sequence[str]:
        """The scorers that read the same evidence as another scorer; a study tells them apart."""
        return ()

    def parts(self) -> Sequence[Part]:
        """What the briefs of any document consist of."""
        return ()

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        """The parts that `known` lacks; a part that fails is unscored, with its reason."""
        return []

    @abstractmethod
    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        """Ask about every candidate on every axis, and keep the replies as evidence."""

    @abstractmethod
    def score(self, verdict: Verdict) -> list[Score]:
        """Computed from the evidence alone, without a model; the verdict comes without `tokens`."""

    def scores(self, verdicts: Sequence[Verdict]) -> list[Score]:
        """A shard's scores, in the order of its verdicts: faster for arithmetic on many at once."""
        return [score for verdict in verdicts for score in self.score(verdict)]

    def fit(self, verdicts: Iterable[Verdict], ratings: Callable[[], Ratings]) -> Learnt | None:
        """What it learns from all of its verdicts, where its arithmetic needs the whole run.

        None, and nothing is read, where its settings need no fit. The verdicts of all shards are
        read once, in order, as they are iterated: what is kept of them must not grow with the run,
        but for those on texts that people rated.
        """
        return None

    def score_by(self, learnt: Learnt, verdict: Verdict) -> list[Score]:
        """Used in place of `score` where `fit` learnt something: the same scorers and axes."""
        return self.score(verdict)

    @property
    def fitted_to_people(self) -> Sequence[str]:
        """The scorers that `fit` fits to people, across folds: ratings cannot certify them."""
        return ()

    def collecting(self, wanted: CollectorOptions) -> Callable[[], SumCollector]:
        """A function that makes a new collector; files that collectors need are read here, once."""
        return SumCollector
