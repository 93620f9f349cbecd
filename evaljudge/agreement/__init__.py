"""How far a scorer agrees with human ratings: arrays in, named results out.

    >>> agreements(documents=[0, 0, 0, 1, 1, 1], systems=[0, 1, 2, 0, 1, 2],
    ...            scores=[1, 2, 3, 1, 3, 2], human=[1, 2, 3, 1, 2, 3])[0]
    Agreement(level='sample', coefficient='spearman', value=0.75, low=0.5, high=1.0, n=2, ...)

Levels: `sample` is the mean over documents of the correlation across a document's candidates;
`system` the correlation of the systems' means; `summary` the correlation over all candidates
pooled. Coefficients: Spearman (tied values share their mean rank), Kendall (tau-b), Pearson.

Policy:
- A pair is a candidate whose score and rating are both finite; only pairs count, anywhere.
- `sample`: a document with fewer than two pairs, or whose scores or ratings are all equal, is
  left out and counted in `skipped`.
- `system`: a system without a pair is counted in `skipped`. Means equal but for rounding are tied.
- `summary`: a rated candidate without a score is counted in `skipped`.
- A vector that does not vary at system or summary level, or no document left at sample level,
  makes the value None, never 0.

Intervals are 95% percentile bootstraps that resample whole documents with replacement, because
the candidates of one document are not independent. Only documents with a pair are resampled, and
all nine statistics see the same resamples. An interval is over the resamples where its statistic
is defined; it is None where that is fewer than half, or with fewer than two documents, or where
the value itself is None. A resample that lacks a system correlates the systems it has. Resampling
adds noise to every system's mean, so at system level intervals lean towards 0 and need not hold
a value near 1.

`sampled=True` marks a pooled statistic on more than MAX_POOLED pairs: its value is still exact;
its interval comes from a seeded sample of documents (see summary.py for what it then means).
"""

from .agree import Agreement, agreements
from .estimate import COEFFICIENTS, LEVELS, Coefficient, Level
from .summary import MAX_POOLED

__all__ = [
    "COEFFICIENTS",
    "LEVELS",
    "MAX_POOLED",
    "Agreement",
    "Coefficient",
    "Level",
    "agreements",
]
