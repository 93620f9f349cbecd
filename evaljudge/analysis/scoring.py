"""From verdicts to scores and findings, in one pass over the shards.

    scoring = Scoring(Output("runs/first"), judges=…, metrics={"rouge1": "rouge1@1 | …"}, …)
    scoring(shards)  ->  Scored: their score file is written; tables, collectors and accounts, each
                         added up, are given back

Workers score the shards of one file and add them up; the driver adds up what they return as it
comes, always the same neighbours (`added_up`), so that the result does not depend on which worker
did what, nor when. A judge whose arithmetic needs the whole run reads all its verdicts before any
is scored. What it fitted lies in report/fitted.json, and the signature of its scores ends with a
hash of that.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self, TypeVar

from evaljudge.agreement.rated import Key
from evaljudge.analysis.costs import Accounts
from evaljudge.analysis.mixes import Mix, mixed_scores
from evaljudge.analysis.ratings import ByText, with_ratings
from evaljudge.analysis.tables import ByScale, Tables
from evaljudge.corpora.files import TO_PEOPLE
from evaljudge.identity import short
from evaljudge.judges.checked import checked_scores, own_code
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.protocol import Judge, Learnt, Ratings
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.records import Score, Verdict
from evaljudge.storage import Output, Panel, Shard

FILE = "report/fitted.json"
HASH = 12
Summed = TypeVar("Summed", "Scored", Tables)
Made = Callable[[Sequence[Score]], Iterable[Score]]
"""Further scores of one shard, from those that it has."""


@dataclass
class Scored:
    tables: Tables
    collected: dict[str, SumCollector]
    accounts: Accounts = field(default_factory=lambda: Accounts(()))
    uncounted: int = 0  # shards of which it is not known what preparing them cost

    def __iadd__(self, other: "Scored") -> Self:
        self.tables += other.tables
        for judge, collector in other.collected.items():
            self.collected[judge] += collector
        self.accounts += other.accounts
        self.uncounted += other.uncounted
        return self


@dataclass(frozen=True)
class Scoring:
    """All that a worker needs to know to score shards; it travels once."""

    output: Output
    judges: Sequence[Judge]
    collecting: Mapping[str, Callable[[], SumCollector]]  # makes a fresh collector for each judge
    metrics: Mapping[str, str]  # their signatures
    mixes: Mapping[str, Mix]
    scorers: Mapping[str, Sequence[str]]  # every scorer of the run, and its axes
    signatures: Mapping[str, str]  # the signatures of the judges' scorers
    learnt: Mapping[str, Learnt]
    ratings: ByText = field(default_factory=dict)  # further ratings, besides those of the corpus
    panels: Mapping[str, Panel] = field(default_factory=dict)
    """The panel of each judge that has several models."""
    candidates: int = 0  # how many all shards have
    whole: Collection[Key] = ()  # the scorers and axes of which a selection needs every score

    def nothing(self) -> Scored:
        keys = ((scorer, axis) for scorer, axes in self.scorers.items() for axis in axes)
        collectors = {judge: make() for judge, make in self.collecting.items()}
        return Scored(Tables(keys, self.candidates, self.whole), collectors)

    def __call__(self, shards: Sequence[Shard]) -> Scored:
        """Write these shards' file of scores, and keep what the report needs."""
        scores, scored = dict[Shard, list[Score]](), self.nothing()
        for shard in shards:
            scores[shard], one = self._score(shard)
            scored += one
        self.output.write_scores(scores, self.signatures)
        return scored

    def further(self, made: Made, keys: Iterable[Key], shards: Sequence[Shard]) -> Tables:
        """Add what is made of these shards' scores to their file; gives it as columns."""
        output, scores = self.output, dict[Shard, list[Score]]()
        tables = Tables(keys, self.candidates, self.whole)
        for shard in shards:
            before = list(output.scores(shard))
            scores[shard] = before + (added := list(made(before)))
            by_doc = by_document(added)
            for case in output.cases(shard):
                of_case = by_doc.get(case.document.doc_id, {})
                tables.add_scores(with_ratings(case, self.ratings), of_case)
        output.write_scores(scores)
        return tables

    def _score(self, shard: Shard) -> tuple[list[Score], Scored]:
        output, scored = self.output, self.nothing()
        cases = [with_ratings(case, self.ratings) for case in output.cases(shard)]
        scores = list[Score]()
        for judge in self.judges:
            panel = output.of(self.panels.get(judge.name, Panel()))
            verdicts = list(panel.verdicts(judge.name, shard, with_tokens=False))
            with own_code(judge, "score"):
                learnt = self.learnt.get(judge.name)
                mine = (
                    judge.scores(verdicts)
                    if learnt is None
                    else [score for v in verdicts for score in judge.score_by(learnt, v)]
                )
                mine = checked_scores(judge, cases, mine)
            checks = panel.checks(judge.name, shard) if judge.has_checks else ()
            briefs = partial(panel.own_briefs, judge.kind, shard)
            seen = SeenShard(cases, verdicts, list(checks), mine, briefs)
            with own_code(judge, "see"):
                scored.collected[judge.name].see(seen)
            scores += mine
        receipts = output.receipts_of(shard) if self.judges else []
        beside = {pair for r in receipts for pair in r.get("measured", {}).items()}
        for metric, line in self.metrics.items():
            name = f"judge/{metric}" if (metric, line) in beside else metric
            scores += output.measures(name, shard)
        scores += list(mixed_scores(self.mixes, self.scorers, scores))
        by_doc = by_document(scores)
        for case in cases:
            of_case = by_doc.get(case.document.doc_id, {})
            scored.tables.add(case, of_case, is_judged=bool(self.judges), shard=shard.number)
        if self.judges:
            prepared = len(output.folders("prepare"))
            scored.accounts = Accounts(receipts)
            scored.uncounted = sum(r["stage"] == "prepare" for r in receipts) < prepared
        return scores, scored


def added_up(parts: Iterable[tuple[int, Summed]], nothing: Summed) -> Summed:
    """The sum of numbered parts, in whatever order they come: always the same neighbours are added,
    as in a tree, the earlier one first. Parts that wait for a neighbour are few."""
    sums: dict[tuple[int, int], Summed] = {}  # by height, and by place at this height
    for place, part in parts:
        height = 0
        while (other := sums.pop((height, place ^ 1), None)) is not None:
            first, second = (other, part) if place % 2 else (part, other)
            first += second
            height, place, part = height + 1, place // 2, first
        sums[height, place] = part
    for at in sorted(sums, reverse=True):
        nothing += sums[at]
    return nothing


def fit(scoring: Scoring, output: Output, shards: Sequence[Shard]) -> Scoring:
    """The scoring with what judges fit on the whole run; no file is read for other judges."""
    tried = dict[str, Learnt | None]()
    for judge in scoring.judges:
        with own_code(judge, "fit"):
            ratings = partial(_ratings, scoring, output, shards)
            tried[judge.name] = judge.fit(_verdicts(output, judge.name, shards), ratings)
    learnt = {name: each for name, each in tried.items() if each is not None}
    if not learnt:
        output.place.remove(FILE)  # an earlier report may have had one
        return scoring
    output.place.write_json(FILE, learnt)
    ends = {
        scorer: (TO_PEOPLE if scorer in judge.fitted_to_people else " | fitted ")
        + short(learnt[judge.name])[:HASH]
        for judge in scoring.judges
        if judge.name in learnt
        for scorer in judge.scorers
    }
    signatures = {name: line + ends.get(name, "") for name, line in scoring.signatures.items()}
    return replace(scoring, learnt=learnt, signatures=signatures)


def _verdicts(output: Output, judge: str, shards: Sequence[Shard]) -> Iterator[Verdict]:
    for verdicts in output.ahead(lambda shard: list(output.verdicts(judge, shard)), shards):
        yield from verdicts


def _ratings(scoring: Scoring, output: Output, shards: Sequence[Shard]) -> Ratings:
    cases = (with_ratings(c, scoring.ratings) for shard in shards for c in output.cases(shard))
    return {
        (case.document.doc_id, candidate.system): candidate.ratings
        for case in cases
        for candidate in case.candidates
        if candidate.ratings
    }


def by_document(scores: Iterable[Score]) -> dict[str, ByScale]:
    scores_of: dict[str, dict[tuple[str, str, str], Score]] = {}
    for score in scores:
        scores_of.setdefault(score.doc_id, {})[score.system, score.scorer, score.axis] = score
    return dict(scores_of)


@dataclass(frozen=True)
class Further:
    """Adds what is made of each shard's scores to its file and to the tables, on workers."""

    scoring: Scoring
    as_done: Callable[..., Iterator[tuple[int, Tables]]]
    """Has workers do something with each item (see `Executor.as_done`)."""
    output: Output
    shards: Sequence[Shard]
    tables: Tables

    def add(self, file: str, rows: Mapping[Key, Any], made: Made) -> None:
        """`rows`: by scorer and axis, what `file` says of them; without any, that of an earlier
        report is removed."""
        if not rows:
            self.output.place.remove(file)
            return
        work = partial(self.scoring.further, made, list(rows))
        parts = self.as_done(work, self.output.scored_together(self.shards))
        self.tables.columns |= added_up(parts, Tables(rows)).columns
        self.output.place.write_json(file, list(rows.values()))


def by_scorer(lines: Mapping[Key, str]) -> dict[str, str]:
    """A signature for each scorer; for each of its axes, where these rest on other numbers."""
    different = {(scorer, line) for (scorer, _), line in lines.items()}
    times = Counter(scorer for scorer, _ in different)
    return {
        scorer if times[scorer] == 1 else f"{scorer} on {axis}": line
        for (scorer, axis), line in lines.items()
    }
