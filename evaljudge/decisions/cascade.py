"""Up to which doubt does a first judge answer as a second one would, with a guarantee?

    >>> kept(doubts, agrees, agreement=0.95, confidence=0.9).threshold
    -0.31    the second judge is asked about the texts with a doubt above 0.31

The texts of a run are given. Some of them are drawn at random, each as probable as any other, and
both judges answer about these. Of the texts up to some doubt, the drawn ones are then a random
sample, however alike the texts of a document are, and how many of them agree is binomial at most:
an exact test says whether the first judge agrees with the second on fewer than `agreement` of all
texts up to this doubt. Doubts are tested from small to large, each at full level, until the first
that is not certified (decisions/certified.py, of which this is another reading: the least doubtful
texts are selected, and good where the judges agree).
"""

import numpy as np
from numpy.typing import ArrayLike

from evaljudge.decisions.certified import Certified, certified


def kept(
    doubts: ArrayLike, agrees: ArrayLike, *, agreement: float, confidence: float
) -> Certified | None:
    """What is certified, with doubts below 0: its `threshold` is minus the largest doubt, its
    `coverage` the share of texts that the first judge keeps. None where fewer than two are drawn.

    `doubts`: of all texts, infinite or NaN where the first judge has no answer; `agrees`: 1 or 0,
    NaN where the text was not drawn.
    """
    each = np.asarray(doubts, np.float64)
    texts = np.arange(each.size)
    return certified(texts, -each, agrees, good=1, target=agreement, confidence=confidence)
