"""From verdicts to scores and findings, in one pass over the shards.

    scoring = Scoring(Output("runs/first"), judges=…, metrics={"rouge1": "rouge1@1 | …"}, …)
    scoring(shards)  ->  a Scored of each: their score file is written; tables and collectors are
                         given back

Workers score the shards of one file; the driver adds up what they return, in the order of the
shards, so that the result does not depend on which worker did what. A judge whose arithmetic needs
the whole run reads all its verdicts before any is scored. What it fitted lies in
report/fitted.json, and the signature of its scores ends with a hash of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

from evaljudge.agreement.rated import Key
from evaljudge.analysis.mixes import Mix, mixed_scores
from evaljudge.analysis.ratings import ByText, with_ratings
from evaljudge.analysis.tables import ByScale, Tables
from evaljudge.identity import short
from evaljudge.judges.checked import check_scores, own_code
from evaljudge.judges.collector import Collector, SeenShard
from evaljudge.judges.protocol import Fitted, Judge
from evaljudge.records import Case, Score, Verdict
from evaljudge.storage import Output, Panel, Shard

FILE = "report/fitted.json"
HASH = 12


@dataclass
class Scored:
    """What scoring some shards leaves: tables, and what each judge's collector saw."""

    tables: Tables
    collected: dict[str, Collector]
    receipts: list[dict[str, Any]] = field(default_factory=list)
    """Those of one shard; they are not added up here."""

    def __iadd__(self, other: Scored) -> Self:
        """Add what lies in later shards."""
        self.tables += other.tables
        for judge, collector in other.collected.items():
            self.collected[judge] += collector
        return self


@dataclass(frozen=True)
class Scoring:
    """All that a worker needs to know to score shards; it travels once."""

    output: Output
    judges: Sequence[Judge]
    collecting: Mapping[str, Callable[[], Collector]]  # makes a fresh collector for each judge
    metrics: Mapping[str, str]  # their signatures
    mixes: Mapping[str, Mix]
    scorers: Mapping[str, Sequence[str]]  # every scorer of the run, and its axes
    signatures: Mapping[str, str]  # the signatures of the judges' scorers
    fitted: Mapping[str, Fitted]
    """What was fitted for each judge whose arithmetic needed the whole run."""
    ratings: ByText = field(default_factory=dict)  # further ratings, besides those of the corpus
    panels: Mapping[str, Panel] = field(default_factory=dict)
    """The panel of each judge that has several models."""

    def nothing(self) -> Scored:
        keys = ((scorer, axis) for scorer, axes in self.scorers.items() for axis in axes)
        collectors = {judge: make() for judge, make in self.collecting.items()}
        return Scored(Tables(keys), collectors)

    def __call__(self, shards: Sequence[Shard]) -> list[Scored]:
        """Write these shards' file of scores, and keep what the report needs."""
        scores, scored = dict[Shard, list[Score]](), list[Scored]()
        for shard in shards:
            scores[shard], one = self._score(shard)
            scored.append(one)
        self.output.write_scores(scores, self.signatures)
        return scored

    def _score(self, shard: Shard) -> tuple[list[Score], Scored]:
        output, scored = self.output, self.nothing()
        cases = [with_ratings(case, self.ratings) for case in output.cases(shard)]
        scores = list[Score]()
        for judge in self.judges:
            panel = output.of(self.panels.get(judge.name, Panel()))
            verdicts = list(panel.verdicts(judge.name, shard, with_tokens=False))
            with own_code(judge, "score"):
                if fitted := self.fitted.get(judge.name):
                    mine = [score for verdict in verdicts for score in fitted.score(verdict)]
                else:
                    mine = judge.scores(verdicts)
                check_scores(judge, cases, mine)
            checks = panel.checks(judge.name, shard, with_tokens=False) if judge.has_checks else ()
            briefs = partial(panel.own_briefs, judge.kind, shard)
            seen = SeenShard(cases, verdicts, list(checks), mine, briefs)
            with own_code(judge, "see"):
                scored.collected[judge.name].see(seen)
            scores += mine
        scored.receipts = output.receipts_of(shard) if self.judges else []
        beside = {pair for r in scored.receipts for pair in r.get("measured", {}).items()}
        for metric, line in self.metrics.items():
            name = f"judge/{metric}" if (metric, line) in beside else metric
            scores += output.measures(name, shard)
        scores += list(mixed_scores(self.mixes, self.scorers, scores))
        by_doc = by_document(scores)
        for case in cases:
            of_case = by_doc.get(case.document.doc_id, {})
            scored.tables.add(case, of_case, is_judged=bool(self.judges))
        return scores, scored


def fit(scoring: Scoring, output: Output, shards: Sequence[Shard]) -> Scoring:
    """The scoring with what judges fit on the whole run; no file is read for other judges."""
    tried = dict[str, Fitted | None]()
    for judge in scoring.judges:
        with own_code(judge, "fit"):
            tried[judge.name] = judge.fit(_verdicts(output, judge.name, shards))
    fitted = {name: each for name, each in tried.items() if each is not None}
    if not fitted:
        output.place.remove(FILE)  # an earlier report may have had one
        return scoring
    output.place.write_json(FILE, {name: each.learnt for name, each in fitted.items()})
    ends = {
        scorer: f" | fitted {short(fitted[judge.name].learnt)[:HASH]}"
        for judge in scoring.judges
        if judge.name in fitted
        for scorer in judge.scorers
    }
    signatures = {name: line + ends.get(name, "") for name, line in scoring.signatures.items()}
    return replace(scoring, fitted=fitted, signatures=signatures)


def _verdicts(output: Output, judge: str, shards: Sequence[Shard]) -> Iterator[Verdict]:
    for verdicts in output.ahead(lambda shard: list(output.verdicts(judge, shard)), shards):
        yield from verdicts


def by_document(scores: Iterable[Score]) -> dict[str, ByScale]:
    scores_of: dict[str, dict[tuple[str, str, str], Score]] = {}
    for score in scores:
        scores_of.setdefault(score.doc_id, {})[score.system, score.scorer, score.axis] = score
    return dict(scores_of)


def add_further(
    file: str, rows: Mapping[Key, Any], made: Callable[[Sequence[Score]], Iterable[Score]],
    output: Output, shards: Sequence[Shard], tables: Tables,
) -> None:  # fmt: skip
    """Adds what is made of each shard's scores to its file and the tables. `rows`: by scorer and
    axis, what `file` says of them; without any, that of an earlier report is removed."""
    if not rows:
        output.place.remove(file)
        return

    def add(together: Sequence[Shard]) -> list[tuple[list[Case], dict[str, ByScale]]]:
        scores, added = dict[Shard, list[Score]](), []
        for shard in together:
            scores[shard] = list(output.scores(shard))
            further = list(made(scores[shard]))
            scores[shard] += further
            added.append((output.cases(shard), by_document(further)))
        output.write_scores(scores)
        return added

    for added in output.ahead(add, output.scored_together(shards)):
        for cases, by_doc in added:
            for case in cases:
                tables.add_scores(case, by_doc.get(case.document.doc_id, {}), rows)
    output.place.write_json(file, list(rows.values()))


def by_scorer(lines: Mapping[Key, str]) -> dict[str, str]:
    """A signature for each scorer; for each of its axes, where these rest on other numbers."""
    different = {(scorer, line) for (scorer, _), line in lines.items()}
    times = Counter(scorer for scorer, _ in different)
    return {
        scorer if times[scorer] == 1 else f"{scorer} on {axis}": line
        for (scorer, axis), line in lines.items()
    }
