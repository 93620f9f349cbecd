"""The interval of a correlation, written a second time, and the rows of resamples."""

from collections.abc import Sequence
from math import exp, log

from scipy import stats

from evaljudge.agreement.documents import multiplicities


def bounds(
    level: str, value: float, error: float, n: int, least: float = -1.0, choices: int = 1
) -> tuple[float, float]:
    """Student's t of n - 1 degrees of freedom; but at system level, in units of Fisher's z."""
    t = float(stats.t.ppf(1 - 0.05 / choices / 2, n - 1))
    share = (value - least) / (1 - least)
    if level == "system" or min(share, 1 - share) < 1e-9:
        return max(least, value - t * error), min(1.0, value + t * error)
    z = log(share / (1 - share)) / 2
    reach = t * error / (1 - least) / share / (1 - share) / 2
    low, high = (least + (1 - least) / (1 + exp(-2 * end)) for end in (z - reach, z + reach))
    return low, high


def redrawn(
    documents: Sequence[int], resamples: int, seed: int, kept: Sequence[bool] | None = None
) -> list[list[int]]:
    """The rows of each resample, a document's as often as it was drawn."""
    kept = [True] * len(documents) if kept is None else kept
    known = sorted({d for d, keep in zip(documents, kept, strict=True) if keep})
    (drawn,) = multiplicities(len(known), resamples, seed, block=resamples)
    return [
        [
            row
            for document, times in zip(known, weights, strict=True)
            for row in [i for i, d in enumerate(documents) if d == document] * int(times)
        ]
        for weights in drawn
    ]
