"""Analyses of a run's scores: a file each, found by looking; a new one touches nothing else.

    analyses()["length"]  ->  Analysis(row=LengthHeld, rows=…, sections=…, warnings=…)
    report/length.json        its rows, under the name of its file

A file in this folder with an `ANALYSIS` is one, and so is such a file in a folder that the
environment variable EVALJUDGE_ANALYSES names, and an entry point in the group `evaljudge.analyses`.
The report, `evaljudge agree` and the JSON files all go through the same list.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, is_dataclass, replace
from enum import IntEnum
from functools import cache, cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from evaljudge.agreement.rated import Grid, Rated, is_repetition
from evaljudge.analysis.combining import Combination, Weights
from evaljudge.analysis.costs import Accounts
from evaljudge.analysis.findings import Findings as Findings
from evaljudge.analysis.ratings import RaterNote
from evaljudge.analysis.selection import Found
from evaljudge.analysis.tables import Tables
from evaljudge.config import AgreementConfig, Config
from evaljudge.decisions.conformal import Covered
from evaljudge.judges.protocol import Judge
from evaljudge.plugins import added_code, folders, found_in_files
from evaljudge.sections import Section as Section
from evaljudge.sections import merged

__path__ = folders("analyses")  # one that the environment names is a part of this package
JUDGES_PLACE = 70  # the place of the judges' own sections among those of the analyses
RowType = TypeVar("RowType")


class Rank(IntEnum):
    """How much a warning puts in doubt: the page's first screen shows the first one."""

    MISSING = 0
    RATINGS = 1
    JUDGES = 2
    COPIES = 3
    AGREEMENT = 4
    SELECTIONS = 5
    MEANS = 6
    FAMILIES = 7
    COST = 8


class Warned(NamedTuple):
    """`id`: what tests and programs know the warning by."""

    id: str
    rank: Rank
    text: str


@dataclass(frozen=True, kw_only=True)
class RunFrame:
    """What analyses are made from; scores that were given to `evaljudge agree` have no judges."""

    tables: Tables
    rated: Rated  # the rated texts
    grid: Grid  # all texts that are kept, rated or not
    how: AgreementConfig = AgreementConfig()
    seed: int = 0
    config: Config | None = None
    judges: Sequence[Judge] = ()
    models: int = 1
    accounts: Accounts | None = None
    combined: Mapping[str, Combination] = field(default_factory=dict)
    weights: Mapping[tuple[str, str], Weights] = field(default_factory=dict)
    intervals: Sequence[Covered] = ()
    thresholds: Found = field(default_factory=dict)
    notes: Sequence[RaterNote] = ()
    raters: Mapping[str, Sequence[str]] = field(default_factory=dict)  # their names, by axis
    cascade: Mapping[str, Any] = field(default_factory=dict)  # what OUT/cascade.json has

    @cached_property
    def compared(self) -> Rated:
        """The scorers and axes that are compared with people: no repetitions, not too many axes."""
        scores = {key: c for key, c in self.rated.scores.items() if not is_repetition(key[0])}
        return replace(self.rated, scores=scores).with_few_axes()

    @property
    def families(self) -> Mapping[str, Sequence[str]]:
        return self.config.families if self.config else {}

    @property
    def headlines(self) -> Mapping[str, str]:
        return {judge.name: judge.scorers[0] for judge in self.judges}


Rows = Mapping[str, Sequence[Any]]  # the rows of each analysis


@dataclass(frozen=True)
class Analysis(Generic[RowType]):
    """One question about a run. Its name is that of its file, or of its entry point."""

    row: type[RowType]  # A dataclass; the fields are the keys of the JSON file
    rows: Callable[[RunFrame], Iterable[RowType]]
    sections: Callable[[Findings, bool], Iterable[Section]]
    """Makes the sections from all findings, in short for a terminal. Tables without rows are left
    out, and so are sections without tables."""
    place: float = 125  # sections are in the order of their places
    warnings: Callable[[RunFrame, Rows], Iterable[Warned]] = lambda *_: ()
    is_always_written: bool = False  # whether the file is there without rows, too

    def __post_init__(self) -> None:
        if not is_dataclass(self.row):
            raise TypeError(f"the rows should be of a dataclass, not of {self.row!r}")


@cache
def analyses() -> Mapping[str, Analysis[Any]]:
    by_name = found_in_files("analyses", "ANALYSIS", Analysis)
    return dict(sorted(by_name.items(), key=lambda item: item[1].place))


def rows_of(run: RunFrame) -> dict[str, list[Any]]:
    found = dict[str, list[Any]]()
    for name, analysis in analyses().items():
        with _added("rows", name, analysis):
            found[name] = _all(analysis.rows(run), analysis.row)
    return found


def _all(made: Iterable[Any], kind: type[RowType]) -> list[RowType]:
    rows = list(made)
    if odd := [row for row in rows if not isinstance(row, kind)]:
        raise TypeError(f"{odd[0]!r} is no {kind.__name__}")
    return rows


def warned_of(run: RunFrame, rows: Rows) -> list[Warned]:
    warned = list[Warned]()
    for name, analysis in analyses().items():
        with _added("warnings", name, analysis):
            warned += _all(analysis.warnings(run, rows), Warned)
    return warned


def _added(part: str, name: str, analysis: Analysis[Any]) -> AbstractContextManager[None]:
    return added_code(f"`{part}` of the analysis {name}", analysis.rows.__module__)


def in_order(texts: Mapping[Rank, Sequence[str]], warned: Iterable[Warned]) -> dict[str, Any]:
    """The texts of all warnings, by rank; those of analyses come after others of their rank. And
    how many of them, the first ones, put scores or their agreement in doubt."""
    ranked = [(rank, text) for rank, some in texts.items() for text in some]
    ranked += [(warning.rank, warning.text) for warning in warned]
    ranked.sort(key=lambda warning: warning[0])
    serious = sum(rank <= Rank.AGREEMENT for rank, _ in ranked)
    return {"warnings": [text for _, text in ranked], "serious": serious}


def sections(findings: Findings, in_short: bool = False) -> list[Section]:
    """The sections that have rows, in their order; sections with the same title are joined."""
    made = list[tuple[float, list[Section]]]()
    for name, analysis in analyses().items():
        with _added("sections", name, analysis):
            made.append((analysis.place, _all(analysis.sections(findings, in_short), Section)))
    made.append((JUDGES_PLACE, list(findings.judged.sections)))
    ordered = [section for _, some in sorted(made, key=lambda m: m[0]) for section in some]
    filled = (replace(s, tables=[table for table in s.tables if table.rows]) for s in ordered)
    return merged(section for section in filled if section.tables)
