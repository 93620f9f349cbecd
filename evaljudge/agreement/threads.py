"""One thread for linear algebra: the tables are small, and threads cost more than they bring.

On two cores, 1,000 resamples of documents and systems take three times as long with two.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped, unused-ignore]

P = ParamSpec("P")
R = TypeVar("R")


def on_one_thread(statistic: Callable[P, R]) -> Callable[P, R]:
    @wraps(statistic)
    def limited(*given: P.args, **named: P.kwargs) -> R:
        with _libraries().limit(limits=1, user_api="blas"):
            return statistic(*given, **named)

    return limited


@cache
def _libraries() -> ThreadpoolController:
    """Those loaded by now; numpy's and scipy's are."""
    return ThreadpoolController()
