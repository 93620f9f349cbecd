"""Which texts of a run people are asked to rate: the size of each.

    sizes, strata = sized("stratified", systems, scores, doubts)

The size says how probable a text is to be drawn beside others (decisions/sampling.py).

    random      every text has the same
    stratified  the same; each system, and each quarter of the scores, gets its share
    doubt       rises with the judges' doubt: the entropy of the probabilities in the evidence;
                where no judge keeps any, with the disagreement between scorers
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import exp, log
from typing import Any, Literal, get_args

import numpy as np
from scipy.stats import rankdata

from evaljudge.agreement.documents import means
from evaljudge.agreement.rated import Codes, Floats, Key, Text
from evaljudge.decisions.sampling import bands, doubtful
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS
from evaljudge.storage import Output, Shard

Method = Literal["random", "stratified", "doubt"]
METHODS: tuple[Method, ...] = get_args(Method)


def sized(
    by: Method, systems: Codes, scores: Mapping[Key, Floats], doubts: Floats
) -> tuple[Floats, Codes | None]:
    """The size of each text, and its stratum where there are strata.

    `doubts`: of the judges' verdicts; NaN where the evidence has no probabilities.
    """
    equal = np.ones(systems.size)
    match by:
        case "random":
            return equal, None
        case "stratified":
            score = means(np.array([_standardised(column) for column in scores.values()]).T)
            return equal, bands(systems, score)
    is_known = np.isfinite(doubts).any()
    return doubtful(doubts if is_known else _disagreement(scores)), None


def _disagreement(scores: Mapping[Key, Floats]) -> Floats:
    """The standard deviation of a text's ranks by each scorer; in the mean over axes."""
    by_axis: dict[str, list[Floats]] = {}
    for (_, axis), column in scores.items():
        ranks = rankdata(column, nan_policy="omit") / max(1, np.isfinite(column).sum())
        by_axis.setdefault(axis, []).append(ranks)
    anywhere = by_axis.pop(ANY_AXIS, [])
    each = [columns + anywhere for columns in by_axis.values()] or [anywhere]
    several = [_spread(columns) for columns in each if len(columns) > 1]
    if not several:
        raise UserError(
            "--by doubt: no judge keeps probabilities and no axis has two scorers, so nothing says "
            "which texts are in doubt: take --by random"
        )
    return means(np.array(several).T)


def _spread(columns: Sequence[Floats]) -> Floats:
    """The spread of the columns; NaN where fewer than two are numbers."""
    table = np.array(columns)
    several = np.isfinite(table).sum(axis=0) > 1
    spreads = np.full(table.shape[1], np.nan)
    spreads[several] = np.nanstd(table[:, several], axis=0)
    return spreads


def _standardised(column: Floats) -> Floats:
    scored = column[np.isfinite(column)]
    if not scored.size:
        return column
    return (column - scored.mean()) / (scored.std() or 1.0)


def doubts_of(
    output: Output, shards: Sequence[Shard], judges: Collection[str], axes: Collection[str]
) -> dict[Text, float]:
    """The mean entropy of the answers about each text, in these judges' verdicts on these axes."""

    def read(shard: Shard) -> dict[Text, list[float]]:
        doubts: dict[Text, list[float]] = {}
        for judge in judges:
            for verdict in output.verdicts(judge, shard, with_tokens=False):
                if verdict.axis in (*axes, ANY_AXIS):
                    each = doubts.setdefault((verdict.doc_id, verdict.system), [])
                    each += entropies(verdict.evidence)
        return doubts

    return {
        text: sum(each) / len(each)
        for doubts_of_shard in output.ahead(read, shards if judges else ())
        for text, each in doubts_of_shard.items()
        if each
    }


def entropies(evidence: Any) -> Iterator[float]:
    """The entropy of each answer in a verdict's evidence, as a share of the highest possible.

    {"levels": [{"rating": 1, "logprobs": {"Better": -0.01, "Worse": -4.6}}]}  ->  [0.081]
    """
    if isinstance(evidence, Mapping):
        for key, value in evidence.items():
            is_distribution = isinstance(value, Mapping) and len(value) > 1
            if (
                key in ("logprobs", "p")
                and is_distribution
                and all(isinstance(number, int | float) for number in value.values())
            ):
                weights = [exp(v) if key == "logprobs" else v for v in value.values()]
                shares = [weight / sum(weights) for weight in weights if weight > 0]
                yield -sum(share * log(share) for share in shares) / log(len(weights))
            else:
                yield from entropies(value)
    elif isinstance(evidence, list):
        for value in evidence:
            yield from entropies(value)
