"""What changed from one run to another: settings, corpus, coverage, means, agreement, selections
and cost.

    run_differences(scored_run("runs/a"), scored_run("runs/b"))
    -> RunDifferences(settings=[{"key": "judges.direct.temperature", "first": 0.0, "second": 0.7}],
                      means=[MeanChange("direct", "fluency", None, PairedDifference(…)), …], …)

A difference is always the second run's value less the first one's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaljudge.agreement.rated import Floats, Key
from evaljudge.analysis.findings import Coverage
from evaljudge.analysis.selection_differences import (
    SelectionChange,
    selection_difference,
    selections,
)
from evaljudge.analysis.settings_differences import settings_differences
from evaljudge.analysis.two_runs import CorpusChange, PairedRuns, ScoredRun, paired_runs
from evaljudge.decisions.agreement_differences import (
    AgreementDifference,
    Four,
    agreement_differences,
)
from evaljudge.decisions.differences import PairedDifference, paired_difference
from evaljudge.reasons import grouped
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import count
from evaljudge.text import means_selfsame

Row = Mapping[str, Any]


@dataclass(frozen=True)
class CoverageChange:
    """`reasons`: by kind, how often in either run, where that is not the same."""

    scorer: str
    axis: str
    scored: tuple[int, int]
    expected: tuple[int, int]  # 0 where a run does not have the scorer
    reasons: Mapping[str, tuple[int, int]]

    @property
    def shares(self) -> tuple[float | None, float | None]:
        """Scored of expected."""
        first, second = map(_share, self.scored, self.expected)
        return first, second

    @property
    def is_none(self) -> bool:
        return self.scored[0] == self.scored[1] and self.expected[0] == self.expected[1]


@dataclass(frozen=True)
class MeanChange:
    scorer: str
    axis: str
    system: str | None  # None: of all systems
    found: PairedDifference


@dataclass(frozen=True)
class RunDifferences:
    first: str
    second: str
    warnings: Sequence[str]
    settings: Sequence[Row]
    """Each a `key`, and its value in each run that has it."""
    corpus: CorpusChange
    scorers: tuple[Sequence[Key], Sequence[Key]]
    """The scorers and axes that only one run has."""
    coverage: Sequence[CoverageChange]
    means: Sequence[MeanChange]
    agreement: Sequence[AgreementDifference]
    selections: Sequence[SelectionChange]
    selection_names: tuple[Sequence[str], Sequence[str]]
    """Those that only one run has."""
    cost: Mapping[str, tuple[float | None, float | None]]

    @property
    def shares(self) -> tuple[float | None, float | None]:
        """Scored of expected, over all scorers and axes of each run."""
        first, second = (
            _share(
                sum(one.scored[side] for one in self.coverage),
                sum(one.expected[side] for one in self.coverage),
            )
            for side in (0, 1)
        )
        return first, second


def _share(scored: int, expected: int) -> float | None:
    return scored / expected if expected else None


def run_differences(first: ScoredRun, second: ScoredRun, *, seed: int = 0) -> RunDifferences:
    paired = paired_runs(first, second)
    scales = [set(scores) for scores in paired.scores]
    names = [set(selections(run)) for run in (first, second)]
    return RunDifferences(
        first=first.out,
        second=second.out,
        warnings=list(
            dict.fromkeys([*first.warnings, *second.warnings, *_warnings(paired.corpus)])
        ),
        settings=settings_differences(first, second, paired.signatures),
        corpus=paired.corpus,
        scorers=(sorted(scales[0] - scales[1]), sorted(scales[1] - scales[0])),
        coverage=list(_coverage(*paired.coverage)),
        means=list(_means(paired)),
        agreement=list(_agreement(paired, seed)),
        selections=[
            selection_difference(paired, first, second, name)
            for name in sorted(names[0] & names[1])
        ],
        selection_names=(sorted(names[0] - names[1]), sorted(names[1] - names[0])),
        cost=_cost(first.about, second.about),
    )


def _warnings(corpus: CorpusChange) -> Iterator[str]:
    counts = {"documents with another source, context or reference": corpus.sources_changed,
              "candidates with another text": corpus.texts_changed}  # fmt: skip
    if any(counts.values()):
        said = ", ".join(f"{what}: {count(times)}" for what, times in counts.items() if times)
        yield f"{said}; so the differences are of texts, too"
    if corpus.ratings_changed:
        yield (
            f"texts with other ratings: {count(corpus.ratings_changed)}; each run is compared with "
            "its own"
        )
    if not corpus.texts:
        yield "no text is in both runs, so no scores can be compared"


def _coverage(
    first: Mapping[Key, Coverage], second: Mapping[Key, Coverage]
) -> Iterator[CoverageChange]:
    for key in sorted(first.keys() | second.keys()):
        one, other = (of.get(key, Coverage(*key, 0, 0, {})) for of in (first, second))
        kinds = [{group.kind: group.times for group in grouped(of.reasons)} for of in (one, other)]
        times = {
            kind: (kinds[0].get(kind, 0), kinds[1].get(kind, 0)) for kind in kinds[0] | kinds[1]
        }
        yield CoverageChange(
            *key,
            scored=(one.scored, other.scored),
            expected=(_expected(one), _expected(other)),
            reasons={kind: two for kind, two in times.items() if two[0] != two[1]},
        )


def _expected(row: Coverage) -> int:
    itself = sum(times for reason, times in row.reasons.items() if means_selfsame(reason))
    return row.expected - itself


def _means(paired: PairedRuns) -> Iterator[MeanChange]:
    for key in _shared_keys(paired):
        first, second = (scores[key] for scores in paired.scores)
        yield MeanChange(*key, None, paired_difference(*_by_document(paired, first, second)))
        for code, system in enumerate(paired.system_names):
            of = paired.systems == code
            sides = first[of, None], second[of, None]  # at most one text of each document
            yield MeanChange(*key, system, paired_difference(*sides))


def _shared_keys(paired: PairedRuns) -> list[Key]:
    return [key for key in paired.scores[0] if key in paired.scores[1]]


def _by_document(paired: PairedRuns, *columns: Floats) -> Iterator[Floats]:
    """As tables with a row for each document; the texts lie in the order of their documents."""
    sizes = np.bincount(paired.documents)
    places = np.arange(paired.documents.size) - (np.cumsum(sizes) - sizes)[paired.documents]
    for column in columns:
        table = np.full((sizes.size, int(sizes.max(initial=0))), np.nan)
        table[paired.documents, places] = column
        yield table


def _agreement(paired: PairedRuns, seed: int) -> Iterator[AgreementDifference]:
    """Of every scorer and the human axes that it meets."""
    met = dict[tuple[str, str], Four]()
    for scorer, axis in _shared_keys(paired):
        first, second = (side[scorer, axis] for side in paired.scores)
        for human in sorted(paired.human[0].keys() & paired.human[1].keys()):
            if axis in (human, ANY_AXIS):
                met[scorer, human] = first, second, paired.human[0][human], paired.human[1][human]
    found = agreement_differences(paired.documents, paired.systems, list(met.values()), seed=seed)
    for (scorer, axis), levels in zip(met, found, strict=True):
        for row in levels:
            yield replace(row, scorer=scorer, axis=axis)


def _cost(*runs: Mapping[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """Seconds are those of all workers together."""
    sides = []
    for about in runs:
        cost, hours = about.get("cost", {}), about.get("cost", {}).get("gpu_hours")
        times = {
            "seconds": cost.get("worker_seconds"),
            "gpu_seconds": None if hours is None else round(hours * 3600, 1),
        }
        total = about.get("total", {})
        asked = {name: total.get(name) for name in ("asks", "prompt", "prefilled", "generated")}
        sides.append(asked | times)
    return {name: (sides[0][name], sides[1][name]) for name in sides[0]}
