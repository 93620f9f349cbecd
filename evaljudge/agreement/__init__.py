"""How far a scorer agrees with human ratings: arrays in, named results out.

    >>> agreements(documents=[0, 0, 0, 1, 1, 1], systems=[0, 1, 2, 0, 1, 2],
    ...            scores=[1, 2, 3, 1, 3, 2], human=[1, 2, 3, 1, 2, 3])[0]
    Agreement(level='sample', coefficient='spearman', value=0.75, low=-1.0, high=1.0, n=2, ...)

Levels: `sample` is the mean over documents of the statistic across a document's candidates;
`system` that of the systems' means; `summary` that of all candidates pooled. Coefficients:
Spearman (tied values share their mean rank), Kendall (tau-b, and Stuart's tau-c as `kendall_c`),
Pearson, and pairwise accuracy with tie calibration (coefficients.py). At system level there
is also soft pairwise accuracy (soft.py).

Policy:
- A pair is a candidate whose score and rating are both finite; only pairs count, anywhere.
- `sample`: a document with fewer than two pairs, or whose scores or ratings are all equal, is
  left out and counted in `skipped`.
- `system`: a system without a pair is counted in `skipped`. Means equal but for rounding are tied.
- `summary`: a rated candidate without a score is counted in `skipped`.
- A vector that does not vary at system or summary level, or no document left at sample level,
  makes the value None, never 0.
- `accuracy` needs only two candidates: where nothing varies all are tied, and ties can agree. So
  documents with equal ratings count. It compares every two candidates: a document with more than
  MAX_COMPARED pairs is skipped, and with more systems than that there is no accuracy.
- `epsilon`, up to which scores are tied for `accuracy`, is chosen once for a level, over all its
  documents: the smallest that makes the value greatest. The jackknife keeps it.

Intervals are 95%, of Student's t over documents, because the candidates of one document are not
independent: they say what other documents would have shown. At sample level they are of the
documents' own correlations, elsewhere a jackknife's over documents (documents.py). In simulation
they hold the value in 92 to 97% of worlds from 20 documents on, and in 89 to 96% with eight
(benches/promises.py). None with fewer than two documents, where the value itself is None, or where
leaving documents out leaves it undefined more often than not.

`sampled=True` marks a pooled statistic on more than MAX_POOLED pairs (see summary.py).
"""

from evaljudge.agreement.calibration import Precise, precise

from .agree import Agreement, AxisPair, Ceiling, agreements, among, ceiling, comparisons
from .averaged import Averaged, AveragedColumn, AveragedMethod, AveragedValue, averaged
from .calibration import Calibration, CrossFitted, Isotonic, calibration, cross_fitted, fit_isotonic
from .coefficients import COEFFICIENTS, CORRELATIONS, MAX_COMPARED, Coefficient, Correlation
from .documents import LEVELS, Level, Measured
from .held import LengthHeld, held_fixed
from .labels import LabelAgreement, cohen_kappa, krippendorff_alpha
from .significance import Challenger, Rival, Standing, against_best, holm
from .soft import soft_accuracies
from .summary import MAX_POOLED
from .voters import Voters, dawid_skene

__all__ = [
    "COEFFICIENTS", "CORRELATIONS", "LEVELS", "MAX_COMPARED", "MAX_POOLED", "Agreement",
    "Averaged", "AveragedColumn", "AveragedMethod", "AveragedValue", "AxisPair", "Calibration",
    "Ceiling", "Challenger", "Coefficient", "Correlation", "CrossFitted",
    "Isotonic", "LabelAgreement", "LengthHeld", "Level", "Measured", "Precise",
    "Rival", "Standing", "Voters", "against_best", "agreements", "among",
    "averaged", "calibration", "ceiling", "cohen_kappa", "comparisons", "cross_fitted",
    "dawid_skene", "fit_isotonic", "held_fixed", "holm", "krippendorff_alpha", "precise",
    "soft_accuracies",
]  # fmt: skip
