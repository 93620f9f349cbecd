"""A statistic of how often each document counts: its value, and what resampling makes of it.

Two documents where the first won 3 of 4 votes and 1 of 4:
statistic = lambda drawn: ratio(drawn @ [3, 1], drawn @ [4, 4]) -> 0.5, from 0.25 to 0.75
"""

from collections.abc import Callable

import numpy as np

from .bootstrap import interval, multiplicities
from .coefficients import BUDGET
from .pairs import Floats

# How often each document was drawn, (resamples, documents) -> (resamples,); NaN where undefined.
Statistic = Callable[[Floats], Floats]


def spread(
    statistic: Statistic, documents: int, resamples: int, seed: int, width: int = 0
) -> tuple[float | None, float | None, float | None]:
    """The value and its 95% interval, each None where undefined (see the package's policy).

    `width`: how many numbers the statistic holds at once per resample, where more than documents.
    """
    value = float(statistic(np.ones((1, documents)))[0])
    if np.isnan(value):
        return None, None, None
    if documents < 2 or resamples < 1:
        return value, None, None
    drawn = multiplicities(
        documents, resamples, seed, block=max(1, BUDGET // max(documents, width))
    )
    return value, *interval(np.concatenate([statistic(block) for block in drawn]))


def quotient(above: Floats, below: Floats) -> Floats:
    """NaN where there is nothing to divide by."""
    found = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found
