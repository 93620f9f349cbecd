"""What changed from one run to another: settings, corpus, coverage, means, agreement, selections
and cost.

    run_differences(scored_run("runs/a"), scored_run("runs/b"))
    -> RunDifferences(settings=[{"key": "judges.direct.temperature", "first": 0.0, "second": 0.7}],
                      means=[MeanChange("direct", "fluency", None, PairedDifference(…)), …], …)

A difference is always the second run's value less the first one's.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Floats, Key, Rated, Text, codes, is_repetition
from evaljudge.analysis.findings import Coverage
from evaljudge.analysis.run_scores import (
    RunScores,
    ScoredRun,
    about_selection,
    aligned,
    scale_name,
    selected_texts,
    selections,
)
from evaljudge.analysis.settings_differences import SIDES, settings_differences
from evaljudge.analysis.tables import rating_columns
from evaljudge.decisions.differences import (
    AgreementDifference,
    PairedDifference,
    agreement_differences,
    paired_difference,
)
from evaljudge.reasons import grouped
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import Rows, count
from evaljudge.storage import judge_kinds

FEW_NAMED = 5
SUMS = {"synthetic": ("levels", "ordinal"), "roles": ("dynamic static", "mean")}
SUMS |= {"question": ("worth", "")}
"""Kinds of judges whose own score has a range that settings change, with these; and a score whose
range is always the same, if there is one."""
Row = Mapping[str, Any]
Maybe = float | None


@dataclass(frozen=True)
class CorpusChange:
    """How many are in both runs and in one alone; of those in both, how many are not the same."""

    documents: int
    documents_first: int  # only in the first
    documents_second: int
    sources_changed: int
    texts: int
    texts_first: int
    texts_second: int
    texts_changed: int
    ratings_changed: int  # texts that people rated otherwise, or in one run alone
    changed: Sequence[Mapping[str, str]]  # the first few documents and texts that are not the same

    @property
    def is_none(self) -> bool:
        counts = self.documents_first, self.documents_second, self.texts_first, self.texts_second
        return not any([*counts, self.sources_changed, self.texts_changed, self.ratings_changed])


@dataclass(frozen=True)
class CoverageChange:
    """A change of coverage; `reasons`: by kind, how often in either run, where that differs."""

    scorer: str
    axis: str
    scored: tuple[int, int]
    expected: tuple[int, int]  # 0 where a run does not have the scorer
    reasons: Mapping[str, tuple[int, int]]

    @property
    def shares(self) -> tuple[Maybe, Maybe]:
        first, second = (
            scored / expected if expected else None
            for scored, expected in zip(self.scored, self.expected, strict=True)
        )
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
class SelectionChange:
    """A selection's changes on texts of both runs; `flips`: those that only one selected."""

    name: str
    both: int
    first: int
    second: int
    unpaired: tuple[int, int]  # selected texts that the other run does not have
    rule_changed: bool
    rules: tuple[Row, Row]
    thresholds: tuple[Sequence[Row], Sequence[Row]]
    flips: Sequence[Row]

    @property
    def flipped(self) -> float:
        either = self.both + self.first + self.second
        return (self.first + self.second) / either if either else 0.0

    @property
    def is_none(self) -> bool:
        return not (self.flips or any(self.unpaired) or self.rule_changed)


@dataclass(frozen=True, repr=False)
class RunDifferences:
    first: str
    second: str
    warnings: Sequence[str]
    settings: Rows[Row]  # each a `key`, and its value in each run that has it
    corpus: CorpusChange
    scorers: tuple[Sequence[Key], Sequence[Key]]  # the scorers and axes that only one run has
    rescaled: Mapping[str, str]  # scorers whose range is another, and why: no means are compared
    coverage: Rows[CoverageChange]
    means: Rows[MeanChange]
    agreement: Rows[AgreementDifference]
    selections: Rows[SelectionChange]
    selection_names: tuple[Sequence[str], Sequence[str]]
    """The names of selections that only one run has."""
    cost: Mapping[str, tuple[Maybe, Maybe]]

    def __repr__(self) -> str:
        rows = (f"{n} {len(each)}" for n, each in vars(self).items() if isinstance(each, Rows))
        return f"RunDifferences({self.first!r}, {self.second!r}; rows of {', '.join(rows)})"


class _Side:
    """One of the two runs: its scores, and the hashes of what it has under each name."""

    def __init__(self, run: ScoredRun) -> None:
        self.run, self.scores = run, RunScores(run.output, run.scored)
        self.keys = [key for key in self.scores.scales if not is_repetition(key[0])]
        self.documents: dict[str, bytes] = {}
        self.texts: dict[Text, bytes] = {}
        self.ratings: dict[Text, Mapping[str, float]] = {}
        for cases in run.output.ahead(run.output.cases, run.shards):
            for case in cases:
                read, doc_id = case.document, case.document.doc_id
                self.documents[doc_id] = _hash(read.source, read.context, read.references)
                for candidate in case.candidates:
                    self.texts[doc_id, candidate.system] = _hash(candidate.text)
                    if candidate.ratings:
                        self.ratings[doc_id, candidate.system] = candidate.ratings

    def on(self, texts: Sequence[Text]) -> Rated:
        rows = self.scores.rows_of(texts)
        return Rated(
            documents=codes(doc_id for doc_id, _ in texts),
            systems=codes(system for _, system in texts),
            scores={key: aligned(self.scores.scores[key], rows) for key in self.keys},
            human=rating_columns([self.ratings.get(text, {}) for text in texts]),
            raters={},
            texts=texts,
        )


def _hash(*what: Any) -> bytes:
    return blake2b(json.dumps(what).encode(), digest_size=16).digest()


def run_differences(first: ScoredRun, second: ScoredRun) -> RunDifferences:
    sides = _Side(first), _Side(second)
    texts = sorted(sides[0].texts.keys() & sides[1].texts.keys())
    both = sides[0].on(texts), sides[1].on(texts)
    shared = [key for key in both[0].scores if key in both[1].scores]
    scales = [set(side.keys) for side in sides]
    names = [set(selections(run)) for run in (first, second)]
    corpus = _corpus(*sides, texts)
    settings = settings_differences(first, second)
    rescaled = rescaled_scorers(settings, first.about)
    steady = [key for key in shared if key[0].partition("#")[0] not in rescaled]
    other_scales = [f"{scorer}: {why}" for scorer, why in rescaled.items()]
    warnings = [*first.warnings, *second.warnings, *_warnings(corpus), *other_scales]
    return RunDifferences(
        first=first.out,
        second=second.out,
        warnings=list(dict.fromkeys(warnings)),
        settings=Rows(settings),
        corpus=corpus,
        scorers=(sorted(scales[0] - scales[1]), sorted(scales[1] - scales[0])),
        rescaled=rescaled,
        coverage=Rows(_coverage(key, *sides) for key in sorted(scales[0] | scales[1])),
        means=Rows(_means(steady, *both)),
        agreement=Rows(_agreement(shared, *both)),
        selections=Rows(
            _selection(name, (first, second), both) for name in sorted(names[0] & names[1])
        ),
        selection_names=(sorted(names[0] - names[1]), sorted(names[1] - names[0])),
        cost=_cost(first.about, second.about),
    )


def _corpus(first: _Side, second: _Side, paired: Sequence[Text]) -> CorpusChange:
    documents = sorted(first.documents.keys() & second.documents.keys())
    sources = [name for name in documents if first.documents[name] != second.documents[name]]
    texts = [text for text in paired if first.texts[text] != second.texts[text]]
    return CorpusChange(
        len(documents),
        len(first.documents) - len(documents),
        len(second.documents) - len(documents),
        len(sources),
        len(paired),
        len(first.texts) - len(paired),
        len(second.texts) - len(paired),
        len(texts),
        sum(first.ratings.get(text) != second.ratings.get(text) for text in paired),
        [
            *({"doc_id": doc_id} for doc_id in sources[:FEW_NAMED]),
            *({"doc_id": doc_id, "system": system} for doc_id, system in texts[:FEW_NAMED]),
        ],
    )


def _warnings(corpus: CorpusChange) -> Iterator[str]:
    counts = {"documents with another source, context or reference": corpus.sources_changed,
              "candidates with another text": corpus.texts_changed}  # fmt: skip
    if any(counts.values()):
        changed = ", ".join(f"{what}: {count(times)}" for what, times in counts.items() if times)
        yield f"{changed}; so the differences are of texts, too"
    if corpus.ratings_changed:
        yield (
            f"texts with other ratings: {count(corpus.ratings_changed)}; each run is compared with "
            "its own"
        )
    if not corpus.texts:
        names = "; give both systems one name to compare their texts of the same documents"
        more = names if corpus.documents else ""
        yield f"no text is in both runs, so no scores can be compared{more}"


def apart(*runs: ScoredRun) -> dict[str, str]:
    """Why no means are compared: by scorer, where its range is another; `""`: of all scorers."""
    columns = ["doc_id", "source"]
    first, second = (
        {_hash(row) for s in run.scored for row in run.output.case_table(s, columns).to_pylist()}
        for run in runs
    )
    others = {} if first == second else {"": "other documents"}
    return others | rescaled_scorers(settings_differences(*runs), runs[0].about)


def rescaled_scorers(settings: Sequence[Row], about: Row) -> dict[str, str]:
    kinds, config, found = judge_kinds(about), about.get("config", {}), dict[str, str]()
    for row in settings:
        _, name, key = f"..{row['key']}".rsplit(".", 2)
        grows_with, steady = SUMS.get(kinds.get(name, ""), ("", ""))
        if key in grows_with.split():
            both = f"`{key}` {row.get('first')} and {row.get('second')}"
            instead = f": compare {name}.{steady} instead" if steady else ""
            found[name] = f"the scale differs ({both}){instead}"
    mixes, combined = config.get("mixes", {}), config.get("combine", {})
    juries = {mix: re.findall(r"[^\W\d][\w.@-]*", str(parts)) for mix, parts in mixes.items()}
    juries |= {jury: how["of"] for jury, how in combined.items()}
    if cascade := config.get("cascade"):
        juries["cascade"] = [cascade["first"], cascade["then"]]
    for jury, parts in [*juries.items()] * len(juries):  # one may be of others
        if lost := [part for part in parts if part in found]:
            found[jury] = f"the scale of {', '.join(lost)} differs"
    return found


def _coverage(key: Key, *sides: _Side) -> CoverageChange:
    left, right = (
        side.scores.coverage(key) if key in side.keys else Coverage(*key, 0, 0, {})
        for side in sides
    )
    kinds = [{group.kind: group.times for group in grouped(row.reasons)} for row in (left, right)]
    times = {kind: (kinds[0].get(kind, 0), kinds[1].get(kind, 0)) for kind in kinds[0] | kinds[1]}
    return CoverageChange(
        *key,
        scored=(left.scored, right.scored),
        expected=(left.expected - left.not_expected, right.expected - right.not_expected),
        reasons={kind: two for kind, two in times.items() if two[0] != two[1]},
    )


def _means(shared: Sequence[Key], first: Rated, second: Rated) -> Iterator[MeanChange]:
    for key in shared:
        columns = first.scores[key], second.scores[key]
        tables = (_by_document(first.documents, column) for column in columns)
        yield MeanChange(*key, None, paired_difference(*tables))
        for code, system in enumerate(sorted(set(first.system_names))):
            its = first.systems == code  # at most one text of each document
            yield MeanChange(*key, system, paired_difference(*(c[its, None] for c in columns)))


def _by_document(documents: NDArray[np.int64], column: Floats) -> Floats:
    """The column as a table with a row for each document; texts are in the order of documents."""
    sizes = np.bincount(documents)
    places = np.arange(documents.size) - (np.cumsum(sizes) - sizes)[documents]
    table = np.full((sizes.size, int(sizes.max(initial=0))), np.nan)
    table[documents, places] = column
    return table


def _agreement(shared: Sequence[Key], first: Rated, second: Rated) -> Iterator[AgreementDifference]:
    matched = {
        (key[0], name): (first.scores[key], second.scores[key], first.human[name], human)
        for key in shared
        for name, human in sorted(second.human.items())
        if name in first.human and key[1] in (name, ANY_AXIS)
    }
    fours = list(matched.values())
    differences = agreement_differences(first.documents, first.systems, fours)
    for (scorer, axis), levels in zip(matched, differences, strict=True):
        for row in levels:
            yield replace(row, scorer=scorer, axis=axis)


def _selection(name: str, runs: Sequence[ScoredRun], both: Sequence[Rated]) -> SelectionChange:
    first, second = (about_selection(run, name) for run in runs)
    row_of = {text: row for row, text in enumerate(both[0].texts)}
    chosen = [list(selected_texts(run, name)) for run in runs]
    shared = [{text for text in texts_of if text in row_of} for texts_of in chosen]
    only = sorted(shared[0] - shared[1]), sorted(shared[1] - shared[0])
    conditions = [part for about in (first, second) for part in about["rule"]["all"]]
    scales = list(dict.fromkeys((part["scorer"], part["axis"]) for part in conditions))
    return SelectionChange(
        name=name,
        both=len(shared[0] & shared[1]),
        first=len(only[0]),
        second=len(only[1]),
        unpaired=(len(chosen[0]) - len(shared[0]), len(chosen[1]) - len(shared[1])),
        rule_changed=first["rule"] != second["rule"],
        rules=(first["rule"], second["rule"]),
        thresholds=(first["thresholds"], second["thresholds"]),
        flips=[
            {"doc_id": text[0], "system": text[1], "selected": side}
            | {"values": {scale_name(*s): _values(both, s, row_of[text]) for s in scales}}
            for side, flipped in zip(SIDES, only, strict=True)
            for text in flipped
        ],
    )


def _values(both: Sequence[Rated], scale: Key, row: int) -> list[float | None]:
    values = (float(rated.scores[scale][row]) if scale in rated.scores else nan for rated in both)
    return [value if isfinite(value) else None for value in values]


def _cost(*runs: Mapping[str, Any]) -> dict[str, tuple[Maybe, Maybe]]:
    """Seconds are those of all workers together."""
    sides = []
    for about in runs:
        total, cost = about.get("total", {}), about.get("cost", {})
        side = {name: total.get(name) for name in ("asks", "prompt", "prefilled", "generated")}
        hours = cost.get("gpu_hours")
        side["seconds"] = cost.get("worker_seconds")
        side["gpu_seconds"] = None if hours is None else round(hours * 3600, 1)
        sides.append(side)
    return {name: (sides[0][name], sides[1][name]) for name in sides[0]}
