"""What a run found, as plain values: all that the report shows, and nothing of how it was counted.

findings["length"]  ->  the rows of the analysis of that name (analyses/length.py)
Coverage("synthetic", "fluency", scored=97, unscored=3, reasons={"empty text": 3})
Selected("good", {"name": "good", "all": […]}, considered=1600, selected=412, unscored=3)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evaljudge.agreement import Agreement
from evaljudge.analysis.costs import Price
from evaljudge.analysis.telling import Disagreement, Spread
from evaljudge.errors import UserError, unknown
from evaljudge.judges.collector import JudgeFindings
from evaljudge.sections.figures import Rows, only, percent
from evaljudge.text import counted, is_not_expected, one_line


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

    @property
    def not_expected(self) -> int:
        """How many scores are absent as they should be (see `is_not_expected`)."""
        return sum(times for reason, times in self.reasons.items() if is_not_expected(reason))

    @property
    def share(self) -> float:
        """Scored of expected; 1 where nothing is expected."""
        expected = self.expected - self.not_expected
        return self.scored / expected if expected else 1.0


@dataclass(frozen=True, slots=True)
class Selected:
    """What one selection came to; `thresholds`: what each top_fraction or precision came to."""

    name: str
    rule: Mapping[str, Any]
    considered: int
    selected: int
    unscored: int
    thresholds: Sequence[Mapping[str, Any]] = ()
    undecided: int = 0  # selected texts about which the judge was undecided


class NoAnalysisError(UserError, KeyError):
    __str__ = Exception.__str__


@dataclass(frozen=True, slots=True, repr=False)
class Findings(Mapping[str, Rows[Any]]):
    """The facts of the run, and the rows of each analysis by its name.

    `tokens`: rows of stage, judge, asks, prompt, prefilled, generated, floor.
    """

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
    selections: Sequence[Selected]
    signatures: Mapping[str, str]
    tokens: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]
    begun: str = ""  # 2026-11-27T22:36:37Z, as in run.json; empty where there is no run
    ended: str = ""
    serious: int | None = None
    """How many of the warnings, the first ones, put the scores in doubt; None: not known."""
    rated_by: str = "people"
    title: str = ""  # of the page; empty: the run is its name
    price: Price = Price()
    judged: JudgeFindings = JudgeFindings()  # what the judges say of the run, each of its own
    combined: Sequence[str] = ()  # the combinations of the configuration, in its order
    spreads: Sequence[Spread] = ()
    telling: Sequence[tuple[str, str]] = ()  # document and system of the texts that the page shows
    disagreements: Sequence[Disagreement] = ()  # the disagreements on these texts
    within_documents: Sequence[str] = ()  # the scorers whose scores are ranks within a document
    meanings: Mapping[str, str] = field(default_factory=dict)
    """What the values of each scorer mean, in a sentence, where that is known."""
    rows: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __getitem__(self, analysis: str) -> Rows[Any]:
        """The rows of this analysis; none where it found nothing."""
        if analysis not in self.rows:
            raise NoAnalysisError(f"findings: {unknown('analysis', analysis, self.rows)}")
        return Rows(self.rows[analysis])

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    _ipython_key_completions_ = Mapping.keys

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def agreement(self) -> Rows[Agreement]:
        """As tables show it: what rests on too few units has no interval, as it has in the file."""
        rows: Rows[Agreement] = self["agreement"]
        return Rows(replace(r, low=None, high=None) if only(r.level, r.n) else r for r in rows)

    def __repr__(self) -> str:
        documents = counted(self.cases, "document", "documents")
        sizes = f"{documents}, {counted(self.candidates, 'text', 'texts')}"
        return f"Findings({one_line(self.run)}: {sizes}, {percent(self.share)} scored)"

    @property
    def when(self) -> str:
        """`2026-11-27 22:36 to 22:54 UTC`; empty where it is not known."""
        begun, ended = (time[:16].replace("T", " ") for time in (self.begun, self.ended))
        return f"{begun} to {ended.removeprefix(begun[:11])} UTC" if begun and ended else ""

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
        return sum(row.not_expected for row in self.coverage)

    @property
    def floor_passed(self) -> bool:
        """Whether each scorer on each axis reaches the floor: many others may hide one that has
        none."""
        each = [self.share, *(row.share for row in self.coverage)]
        return min(each) >= self.coverage_floor
