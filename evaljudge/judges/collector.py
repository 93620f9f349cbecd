"""What a judge reports about a whole run, gathered shard by shard.

A worker makes a new collector for each shard and shows it the shard. Collectors of neighbouring
shards are added up, always the same ones, and the sum is asked for its findings (`SumCollector` in
shared/counting.py):

    collector = judge.collecting(wanted)()
    collector.see(shard)
    total += collector
    total.findings(found)  ->  Findings of this judge: sections, files, warnings
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evaljudge.agreement.rated import Rated
from evaljudge.records import Brief, Case, Score, Verdict
from evaljudge.sections import Section, merged


@dataclass(frozen=True)
class CollectorOptions:
    resamples: int = 1000  # for each interval
    seed: int = 0
    keys: Mapping[str, Any] = field(default_factory=dict)
    """What the configuration's own keys of this kind of judge give this one (see `Plugin.keys`)."""


@dataclass(frozen=True)
class SeenShard:
    """All that one shard holds for one judge. Its verdicts and checks come without `tokens`: what a
    run cost is counted elsewhere (analysis/costs.py)."""

    cases: Sequence[Case]
    verdicts: Sequence[Verdict]
    checks: Sequence[Verdict] = ()
    scores: Sequence[Score] = ()
    briefs: Callable[[], Sequence[Brief]] = list
    """The briefs of the judge's kind; they are read only if a collector calls this."""

    @cached_property
    def texts(self) -> Mapping[tuple[str, str], str]:
        return {
            (case.document.doc_id, candidate.system): candidate.text
            for case in self.cases
            for candidate in case.candidates
        }


@dataclass(frozen=True)
class Found:
    """The run's scores beside people's ratings."""

    rated: Rated
    documents: Mapping[str, int]  # the number that each rated document has in `rated`


@dataclass(frozen=True)
class JudgeFindings:
    sections: Sequence[Section] = ()
    """Sections and tables of several judges with the same titles and columns become one."""
    files: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Rows (dataclasses) by file: `roles` is report/roles.json, which judges of a kind share."""
    warnings: Sequence[str] = ()


def all_judges(each: Sequence[JudgeFindings]) -> JudgeFindings:
    files = dict[str, list[Any]]()
    for name, rows in (file for findings in each for file in findings.files.items()):
        files.setdefault(name, []).extend(rows)
    return JudgeFindings(
        sections=merged(section for findings in each for section in findings.sections),
        files=files,
        warnings=[warning for findings in each for warning in findings.warnings],
    )
