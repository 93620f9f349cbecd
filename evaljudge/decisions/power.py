"""What so many documents can show, and how many a difference needs: paired t-tests of two systems.

    detectable(spread=1.0, documents=100)           -> 0.283
    documents_needed(difference=0.1, spread=1.0)    -> 787

`spread` is the standard deviation, over documents, of the difference of two systems' scores.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evaljudge.agreement.pairs import Floats

ALPHA, POWER = 0.05, 0.8
_FEWEST, _MOST = 2, 1000
"""Documents for which the needed difference is kept; beyond, a correction of the normal formula
is exact to less than one document (Guenther, 1981)."""
_FAR = 300.0
"""The critical value from which only the spread's error matters: the mean's is less than 1 in
10,000 of it, and scipy's noncentral t is slow and less exact."""


def detectable(spread: ArrayLike, documents: ArrayLike, alpha: float = ALPHA) -> Floats:
    """The smallest true difference that a two-sided test at alpha shows with the power POWER."""
    n = np.asarray(documents, dtype=np.float64)
    shown = np.asarray(spread) * _standardised(np.maximum(n, _FEWEST), alpha)
    return np.where(n >= _FEWEST, shown, np.nan)


def documents_needed(difference: ArrayLike, spread: ArrayLike, alpha: float = ALPHA) -> Floats:
    """The fewest documents that show this true difference; infinite for none, NaN if unknown."""
    normal = special.ndtri(1 - alpha / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.abs(difference) / np.asarray(spread, dtype=np.float64)
        many = ((normal + special.ndtri(POWER)) / wanted) ** 2 + normal**2 / 2
    shown = _shown(alpha)
    few = _FEWEST + np.searchsorted(-shown, -wanted)
    documents: Floats = np.where(wanted >= shown[-1], few, np.ceil(many))
    return np.where(np.isnan(wanted), np.nan, documents)


@lru_cache(maxsize=64)
def _shown(alpha: float) -> Floats:
    """The smallest difference, in deviations, that documents from _FEWEST to _MOST show."""
    return _standardised(np.arange(_FEWEST, _MOST + 1, dtype=np.float64), alpha)


def _standardised(documents: Floats, alpha: float) -> Floats:
    """The difference by the noncentral t distribution, whose other tail is less than rounding."""
    freedom = documents - 1
    critical = special.stdtrit(freedom, 1 - alpha / 2)
    near = special.nctdtrinc(freedom, 1 - POWER, np.minimum(critical, _FAR))
    far = critical * np.sqrt(special.chdtri(freedom, 1 - POWER) / freedom)
    return np.where(critical < _FAR, near, far) / np.sqrt(documents)
