"""How reliable is each voter's vote? Dawid and Skene's model, by expectation-maximisation.

    >>> found = dawid_skene([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 0], [0, -1, 1]], labels=2)
    >>> found.confusions[2].round(2).tolist()  # the third voter says 1 for 0, and 0 for 1
    [[0.03, 0.97], [0.95, 0.05]]
    >>> found.posterior[4].round(3).tolist()  # so both votes on the last item say 0
    [0.998, 0.002]

Every item has one true label, unseen; label k has the share p_k; where it is true, voter v says g
with the probability c_v[k, g], whatever the others say. Shares and confusions are those that make
the votes most likely, with `smoothing` votes added for every label, and for every answer of a voter
to a true label (the mode of a symmetric Dirichlet prior of 1 + smoothing). The posterior of an item
then weighs each vote by what that voter's votes have turned out to mean.

- The start is each item's majority, evenly among labels that tie; it decides which label is which.
  So a voter who is always wrong is read the other way round, but not a majority of such voters.
- An item without votes estimates nothing; its posterior is the shares.
- A label that nobody gives is true of no item. It would attract items on which voters disagree.
- Where no item has three votes, many shares and confusions make the votes equally likely: no step
  is taken, `identified` is False, and the posterior is the start.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .pairs import Floats

MISSING = -1
FEWEST_VOTES = 3  # on one item: Kruskal's condition


@dataclass(frozen=True, slots=True)
class Voters:
    posterior: Floats  # (rows of votes, labels)
    confusions: Floats  # (voters, true label, label given); each row sums to 1
    shares: Floats  # (labels,)
    log_posteriors: Floats  # (steps,): of the votes, plus that of the prior; never falls
    converged: bool
    identified: bool


def dawid_skene(
    votes: ArrayLike, labels: int, counts: ArrayLike | None = None, *,
    smoothing: float = 0.1, tolerance: float = 1e-9, most_steps: int = 1000,
) -> Voters:  # fmt: skip
    """The model of votes (rows, voters): codes 0..labels - 1, or MISSING; `counts`: of items a row.

    Converged is a step that adds no more than `tolerance` per item that has a vote.
    """
    cast = np.asarray(votes)
    given = (cast[:, :, None] == np.arange(labels)).astype(np.float64)  # (rows, voters, labels)
    counted, used = given.sum(axis=1), given.any(axis=(0, 1))  # `used`: labels that somebody gives
    items = given.any(axis=(1, 2)) * (1 if counts is None else np.asarray(counts))

    def estimated(posterior: Floats) -> tuple[Floats, Floats, float]:
        """The maximisation: confusions and shares as counted, each label by how likely it is, and
        the logarithm of their prior."""
        voted = posterior * items[:, None]
        shares = _proportions(voted.sum(axis=0) + smoothing * used)
        confusions = _proportions(np.tensordot(voted, given, (0, 0)).swapaxes(0, 1) + smoothing)
        chances = np.append(shares[used], confusions)
        return confusions, shares, smoothing * float(np.log(chances).sum())

    def expected(confusions: Floats, shares: Floats) -> tuple[Floats, float]:
        """The expectation: the posterior, and the votes' log-likelihood."""
        log_shares = np.log(shares, where=used, out=np.full(labels, -np.inf))
        joint = np.tensordot(given, np.log(confusions).swapaxes(1, 2), 2) + log_shares
        of_item = np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return np.exp(joint - of_item), float(items @ of_item[:, 0])

    identified = bool((counted.sum(axis=1) >= FEWEST_VOTES).any())
    # even among the labels with the most votes
    posterior = _proportions((counted == counted.max(axis=1, keepdims=True)) * used)
    confusions, shares, log_prior = estimated(posterior)
    fits: list[float] = []
    converged = False
    while identified and not converged and len(fits) < most_steps:
        confusions, shares, log_prior = estimated(posterior)
        posterior, likelihood = expected(confusions, shares)
        fits.append(likelihood + log_prior)
        converged = len(fits) > 1 and bool(fits[-1] - fits[-2] <= tolerance * items.sum())
    return Voters(
        posterior=posterior,
        confusions=confusions,
        shares=shares,
        log_posteriors=np.array(fits),
        converged=converged,
        identified=identified,
    )


def _proportions(counts: Floats) -> Floats:
    return counts / counts.sum(axis=-1, keepdims=True)
