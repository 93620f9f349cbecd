"""What a run found, as plain values: all that the report shows, and nothing of how it was counted.

Coverage("synthetic", "fluency", scored=97, unscored=3, reasons={"empty text": 3})
Agreement("sample", "spearman", 0.44, 0.31, 0.55, 100, 2, scorer="synthetic", axis="fluency")
SystemMean("synthetic", "fluency", "BART", mean=3.92, n=100)
Selected("good", {"name": "good", "all": […]}, considered=1600, selected=412, unscored=3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaljudge.agreement import (
    Agreement,
    AxisPair,
    Ceiling,
    Coefficient,
    LabelAgreement,
    LengthHeld,
    Level,
    Standing,
)
from evaljudge.analysis.replacing import ReplacingRow
from evaljudge.analysis.spreads import Spread
from evaljudge.decisions.people import PeopleScale
from evaljudge.decisions.systems import SystemRanking
from evaljudge.judges.collector import JudgeFindings
from evaljudge.sections.figures import count, percent
from evaljudge.text import means_selfsame, one_line


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many candidates got a number; `reasons` says, for the others, how often which."""

    scorer: str
    axis: str
    scored: int
    unscored: int
    reasons: Mapping[str, int]

    @property
    def expected(self) -> int:
        return self.scored + self.unscored


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one judge cost on one axis in one stage; seconds are its share of the workers' time.

    `documents` and `scores` are what it is a cost of: all stages have the same, to be divided by.
    """

    stage: str
    judge: str
    axis: str
    asks: int
    requests: int
    prompt: int
    prefilled: int
    generated: int
    further: int  # of the prompt tokens: those of an ask's second request and on
    seconds: float
    gpu_seconds: float
    documents: int
    scores: int


@dataclass(frozen=True, slots=True)
class Price:
    """What an hour of a GPU, and an hour of a worker, costs."""

    per_gpu_hour: float = 0
    per_worker_hour: float = 0
    currency: str = "USD"

    def __bool__(self) -> bool:
        return bool(self.per_gpu_hour or self.per_worker_hour)

    def __str__(self) -> str:
        per = {"GPU-hour": self.per_gpu_hour, "worker-hour": self.per_worker_hour}
        return " and ".join(f"{one:g} {self.currency} per {of}" for of, one in per.items() if one)

    def of(self, worker_seconds: float, gpu_seconds: float) -> float:
        by_hour = worker_seconds * self.per_worker_hour + gpu_seconds * self.per_gpu_hour
        return by_hour / 3600

    def money(self, amount: float) -> str:
        """Amounts below 1 keep three digits, so that a small run does not cost 0.00."""
        figures = f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.3g}"
        return f"{figures} {self.currency}"


@dataclass(frozen=True, slots=True)
class WithoutOutliers:
    """The agreement where the ratings are left out that a file names; empty if it names none."""

    file: str
    rows: int
    unmet: int  # rows that name no rating of the run
    set_aside: int  # ratings
    ratings: int  # that there are in all
    agreement: Sequence[Agreement]


@dataclass(frozen=True, slots=True)
class LabelledMean:
    """People's mean rating of all texts, or of one system's, from those that were drawn for
    rating; corrected for how they were drawn."""

    axis: str
    system: str  # ANY_SYSTEM: all texts
    value: float
    low: float | None
    high: float | None
    n: int
    documents: int
    effective: float


@dataclass(frozen=True, slots=True)
class SystemMean:
    scorer: str
    axis: str
    system: str
    mean: float
    n: int


@dataclass(frozen=True, slots=True)
class TextInterval:
    """How often, and how wide, the intervals of a calibrated scorer hold the rating of a text."""

    scorer: str
    axis: str
    confidence: float
    system: str  # of this one alone; empty: of all systems
    documents: int
    coverage: float  # of a random text of a random document, in cross-validation
    width: float  # the mean


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`gain`: the agreement without the scorer, less that with all."""

    combination: str
    scorer: str
    axis: str
    level: Level
    coefficient: Coefficient
    with_all: float | None  # each None where undefined
    without: float | None
    gain: float | None
    low: float | None
    high: float | None
    n: int  # documents (sample), systems (system) or texts (summary)
    sampled: bool


@dataclass(frozen=True, slots=True)
class JudgePair:
    one: str
    other: str
    axis: str
    level: Level
    coefficient: str
    value: float | None  # None where undefined
    low: float | None
    high: float | None
    n: int  # documents (sample), systems (system) or texts (summary)
    sampled: bool  # the interval, or both it and the value, come from a sample of documents


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """How often a judge prefers texts of its family, and how often it should by its habits.

    All figures are of the same pairs of texts, which the judge and the others have scored.
    """

    judge: str
    axis: str
    systems: Sequence[str]
    others: Sequence[str]  # judges, or "people" alone
    documents: int
    pairs: int  # of which one text is the family's
    share: float | None = None  # each None where there is no estimate
    expected: float | None = None
    excess: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""  # why there is no estimate


@dataclass(frozen=True, slots=True)
class Selected:
    """What one selection came to; `thresholds`: what each top_fraction or precision came to."""

    name: str
    rule: Mapping[str, Any]
    considered: int
    selected: int
    unscored: int
    thresholds: Sequence[Mapping[str, Any]] = ()
    undecided: int = 0  # of the selected: texts about which the judge was undecided


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How far the scores are from people's ratings on the texts that the page shows: of each text
    the distance between its places among all scores and among all ratings of the run."""

    scorer: str
    axis: str  # that people rated
    apart: Sequence[float | None]  # in the order of `telling`; from 0 to 1, None: not both there


@dataclass(frozen=True, slots=True, repr=False)
class Findings:
    """`tokens`: rows of stage, judge, asks, prompt, prefilled, generated, floor."""

    run: str
    task: str
    corpus: str
    model: str
    writer: str
    cases: int
    candidates: int
    rated: int
    coverage: Sequence[Coverage]
    coverage_floor: float
    agreement: Sequence[Agreement]
    selections: Sequence[Selected]
    signatures: Mapping[str, str]
    tokens: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]
    rated_by: str = "people"
    standings: Sequence[Standing] = ()
    axes: Sequence[AxisPair] = ()
    ceilings: Sequence[Ceiling] = ()
    labels: Sequence[LabelAgreement] = ()
    rankings: Sequence[SystemRanking] = ()
    lengths: Sequence[LengthHeld] = ()
    replacing: Sequence[ReplacingRow] = ()
    people_scale: Sequence[PeopleScale] = ()
    costs: Sequence[CostRow] = ()
    price: Price = Price()
    judged: JudgeFindings = JudgeFindings()
    """What the judges say of the run, each of its own."""
    without_outliers: Sequence[WithoutOutliers] = ()
    labelled: Sequence[LabelledMean] = ()
    intervals: Sequence[TextInterval] = ()
    jury: Sequence[LeftOut] = ()
    among_judges: Sequence[JudgePair] = ()
    families: Sequence[FamilyRow] = ()
    combined: Sequence[str] = ()
    """The combinations of the configuration, in its order."""
    spreads: Sequence[Spread] = ()
    telling: Sequence[tuple[str, str]] = ()
    """Document and system of the texts that the page shows."""
    disagreements: Sequence[Disagreement] = ()
    """Of these texts."""
    within_documents: Sequence[str] = ()
    """The scorers whose scores are ranks within a document."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """What the values of each scorer mean, in a sentence, where that is known."""

    def __repr__(self) -> str:
        return f"Findings({one_line(self.run)}: {self.sizes})"

    @property
    def sizes(self) -> str:
        """How many cases and texts, and how much of them is scored."""
        texts = f"{count(self.cases)} cases, {count(self.candidates)} texts"
        return f"{texts}, {percent(self.share)} scored"

    @property
    def share(self) -> float:
        """Scored of expected, over all scorers and axes; 0 where scorers had nothing to score."""
        if not self.coverage:
            return 1.0
        expected = self.expected
        return sum(row.scored for row in self.coverage) / expected if expected else 0.0

    @property
    def expected(self) -> int:
        """How many scores should be there: of a text that is its own reference, none."""
        return sum(row.expected for row in self.coverage) - self.not_expected

    @property
    def not_expected(self) -> int:
        """How many scores are absent because the text is the reference itself."""
        reasons = (reason for row in self.coverage for reason in row.reasons.items())
        return sum(times for reason, times in reasons if means_selfsame(reason))

    @property
    def floor_passed(self) -> bool:
        return self.share >= self.coverage_floor
