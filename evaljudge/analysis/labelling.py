"""Which texts of a run people are asked to rate: all that have one, and the size of each.

    population = read_population(output, shards, scales)
    sizes, strata = sized(population, "stratified")

The size says how probable a text is to be drawn beside others (decisions/sampling.py).

    random      every text has the same
    stratified  the same; each system, and each quarter of the scores, gets its share
    doubt       rises with the judges' doubt: the entropy of the probabilities in the evidence;
                where no judge keeps any, with the disagreement between scorers
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any, Literal, get_args

import numpy as np
from scipy.stats import rankdata

from evaljudge.agreement.rated import Floats, Key
from evaljudge.analysis.tables import codes
from evaljudge.decisions.sampling import Codes, bands, doubtful
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS
from evaljudge.storage import Output, Shard

Method = Literal["random", "stratified", "doubt"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Population:
    """Every text that is not empty, in the order of the shards."""

    at: Sequence[tuple[str, str]]
    """Its document and system."""
    shards: Sequence[Shard]
    scores: Mapping[Key, Floats]
    doubts: Floats
    """Of the judges' verdicts; NaN where the evidence has no probabilities, or was not read."""

    @property
    def documents(self) -> Codes:
        return codes([doc_id for doc_id, _ in self.at])

    @property
    def systems(self) -> Codes:
        return codes([system for _, system in self.at])


def read_population(
    output: Output,
    shards: Sequence[Shard],
    scales: Collection[Key] = (),
    judges: Collection[str] = (),
    axes: Collection[str] = (),
) -> Population:
    """`scales`: whose scores are read; `judges`: whose verdicts on these axes are."""
    at, places = list[tuple[str, str]](), list[Shard]()
    scores = {scale: list[float]() for scale in scales}
    doubts = list[float]()
    columns = ["doc_id", "system", "scorer", "axis", "value"]

    def read(shard: Shard) -> tuple[Any, ...]:
        numbers = output.numbers(shard, scales, columns) if scales else []
        return output.texts(shard), numbers, _doubts(output, shard, judges, axes)

    found = output.ahead(read, shards)
    for shard, (candidates, numbers, doubted) in zip(shards, found, strict=True):
        values = {tuple(row[:4]): row[4] for row in numbers}
        for doc_id, system, text in candidates:
            if not text.strip():
                continue
            at.append((doc_id, system))
            places.append(shard)
            doubts.append(doubted.get((doc_id, system), np.nan))
            for scale, column in scores.items():
                column.append(values.get((doc_id, system, *scale), np.nan))
    columns_of = {scale: np.array(column, np.float64) for scale, column in scores.items()}
    return Population(at, places, columns_of, np.array(doubts, np.float64))


def sized(population: Population, by: Method) -> tuple[Floats, Codes | None]:
    """The size of each text, and its stratum where there are strata."""
    equal = np.ones(len(population.at))
    match by:
        case "random":
            return equal, None
        case "stratified":
            score = _mean([_standardised(column) for column in population.scores.values()])
            return equal, bands(population.systems, score)
    is_known = np.isfinite(population.doubts).any()
    return doubtful(population.doubts if is_known else _disagreement(population)), None


def _disagreement(population: Population) -> Floats:
    """The standard deviation of a text's ranks by each scorer; in the mean over axes."""
    by_axis: dict[str, list[Floats]] = {}
    for (_, axis), column in population.scores.items():
        by_axis.setdefault(axis, []).append(_ranks(column))
    anywhere = by_axis.pop(ANY_AXIS, [])
    each = [columns + anywhere for columns in by_axis.values()] or [anywhere]
    several = [_spread(columns) for columns in each if len(columns) > 1]
    if not several:
        raise UserError(
            "--by doubt: no judge keeps probabilities and no axis has two scorers, so nothing says "
            "which texts are in doubt: take --by random"
        )
    return _mean(several)


def _ranks(column: Floats) -> Floats:
    """From 0 to 1."""
    found: Floats = rankdata(column, nan_policy="omit") / max(1, np.isfinite(column).sum())
    return found


def _spread(columns: Sequence[Floats]) -> Floats:
    """NaN where fewer than two are numbers."""
    table = np.array(columns)
    several = np.isfinite(table).sum(axis=0) > 1
    found = np.full(table.shape[1], np.nan)
    found[several] = np.nanstd(table[:, several], axis=0)
    return found


def _standardised(column: Floats) -> Floats:
    scored = column[np.isfinite(column)]
    if not scored.size:
        return column
    found: Floats = (column - scored.mean()) / (scored.std() or 1.0)
    return found


def _mean(columns: Sequence[Floats]) -> Floats:
    """Of those that are numbers; NaN where none is."""
    table = np.array(columns)
    known = np.isfinite(table)
    sums, counts = np.where(known, table, 0.0).sum(axis=0), known.sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _doubts(
    output: Output, shard: Shard, judges: Collection[str], axes: Collection[str]
) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for judge in judges:
        for verdict in output.verdicts(judge, shard, with_tokens=False):
            if verdict.axis in axes or verdict.axis == ANY_AXIS:
                each = found.setdefault((verdict.doc_id, verdict.system), [])
                each += entropies(verdict.evidence)
    return {text: sum(each) / len(each) for text, each in found.items() if each}


def entropies(evidence: Any) -> Iterator[float]:
    """Of each answer in a verdict's evidence, as a share of the highest that there could be.

    {"levels": [{"rating": 1, "logprobs": {"Better": -0.01, "Worse": -4.6}}]}  ->  [0.081]
    """
    if isinstance(evidence, Mapping):
        for key, value in evidence.items():
            if key in ("logprobs", "p") and _is_distribution(value):
                yield _entropy([exp(v) if key == "logprobs" else v for v in value.values()])
            else:
                yield from entropies(value)
    elif isinstance(evidence, list):
        for value in evidence:
            yield from entropies(value)


def _is_distribution(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and len(value) > 1
        and all(isinstance(one, int | float) for one in value.values())
    )


def _entropy(weights: Sequence[float]) -> float:
    total = sum(weights)
    shares = [weight / total for weight in weights if weight > 0]
    return -sum(share * log(share) for share in shares) / log(len(weights))
