"""Pooled statistics of many resamples at once, without building one.

A candidate whose document was drawn twice and whose system three times weighs six. Weights are
whole numbers, so weighted ranks, ties and concordances are exactly those of the list with
repetitions. Candidates that are always drawn together (those of a document, where documents are
resampled) are one group.
"""

from dataclasses import dataclass

import numpy as np

from .accuracy import calibrated, gaps, share
from .coefficients import cosine, ratio, stuart
from .crossed import Crossed, crossed
from .estimate import Draws, Resampled
from .orders import compared
from .pairs import Codes, Floats, Pairs
from .standing import Side, side, standing


@dataclass(frozen=True, slots=True)
class Pool:
    groups: Codes  # each candidate's
    documents: Codes  # each group's, and where groups are not of one document, its first
    systems: Codes
    scores: Side
    human: Side
    concordance: Crossed  # concordant less discordant pairs of candidates
    agreement: Crossed | None  # pairs on which scorer and people agree, epsilon being fixed
    epsilon: float  # NaN where accuracy was not asked for

    def weights(self, draws: Draws) -> Floats:
        """(resamples, groups); what is not resampled was drawn once throughout."""
        return draws.documents[:, self.documents] * draws.systems[:, self.systems]


def pool(
    pairs: Pairs, chosen: Codes, resampled: Resampled = "documents", *, accuracy: bool = True
) -> Pool:
    """The candidates of the chosen documents."""
    kept = np.flatnonzero(np.isin(pairs.documents, chosen))
    codes = _drawn_together(pairs, resampled)[kept]
    kept = kept[np.argsort(codes, kind="stable")]
    _, first, groups = np.unique(np.sort(codes), return_index=True, return_inverse=True)
    x, y = pairs.scores[kept], pairs.human[kept]
    orders = compared(x, y)
    epsilon = calibrated([gaps(orders)]) if accuracy else np.nan
    return Pool(
        groups=groups,
        documents=pairs.documents[kept][first],
        systems=pairs.systems[kept][first],
        scores=side(x, groups),
        human=side(y, groups),
        concordance=crossed(groups, orders.balance()),
        agreement=crossed(groups, orders.agreeing(epsilon)) if accuracy else None,
        epsilon=epsilon,
    )


def pooled_coefficients(pool: Pool, draws: Draws) -> Floats:
    """(5, resamples)."""
    weights = pool.weights(draws)
    drawn = weights[:, pool.groups]
    sizes = drawn.sum(axis=1)
    x, y = standing(pool.scores, weights, sizes), standing(pool.human, weights, sizes)
    balance = pool.concordance.weighed(weights)
    kendall = ratio(balance, np.sqrt(x.untied * y.untied))
    products = np.einsum("rc,rc,rc->r", drawn, x.ranks, y.ranks)
    spearman = ratio(products, np.sqrt(x.squares * y.squares))
    pearson = cosine(pool.scores.centred(drawn), pool.human.centred(drawn), drawn)
    # Centring a constant leaves rounding noise; counting its ties does not.
    pearson = np.where(np.isnan(kendall), np.nan, pearson)
    kendall_c = stuart(balance, sizes, x.distinct, y.distinct)
    return np.stack([spearman, kendall, pearson, kendall_c, _accuracies(pool, weights, sizes)])


def _accuracies(pool: Pool, weights: Floats, sizes: Floats) -> Floats:
    if pool.agreement is None:
        return np.full(sizes.shape, np.nan)
    return share(pool.agreement.weighed(weights), sizes)


def _drawn_together(pairs: Pairs, resampled: Resampled) -> Codes:
    if resampled == "documents":
        return pairs.documents
    return pairs.systems + (pairs.documents * pairs.system_count if resampled == "both" else 0)
