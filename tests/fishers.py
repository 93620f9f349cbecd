"""The interval of a correlation, written a second time."""

from math import exp, log

from scipy import stats


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
