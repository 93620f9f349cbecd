"""The k-th highest of a stream of numbers, exactly, in memory that does not grow with the stream.

    highest = Highest(fraction=0.5)          # of 1.0 4.0 2.0 3.0
    while not highest.found:
        for value in stream(): highest.see(value)
        highest.narrow()
    highest.value                            # 3.0: two of the four are at least this

A float64 orders as a 64-bit integer does. A reading of the stream counts numbers by that integer;
where more than LIMIT differ, by its upper bits, dropping as few of the lower bits as keeps to
LIMIT counts. Then only the one bin that holds the k-th is read again, and counted more finely.
LIMIT = 2^16 bins cannot need fewer than 16 bits of what is left of 64, so four readings always
do; one does where at most LIMIT numbers differ, as among most scores.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

LIMIT = 2**16
_BITS = 64
_SIGN = 1 << (_BITS - 1)
_ALL = (1 << _BITS) - 1


class Highest:
    """`value` is None where the stream was empty."""

    def __init__(self, fraction: float, limit: int = LIMIT) -> None:
        self.fraction = fraction
        self.value: float | None = None
        self.found = False
        self._limit = limit
        self._counts: dict[int, int] = {}
        self._dropped = 0  # lower bits that a bin does not tell apart
        self._rank: int | None = None  # of the number sought, from the top of what is still open
        self._first, self._last = 0, _ALL  # the integers still open

    def see(self, value: float) -> None:
        key = ordered(value)
        if self._first <= key <= self._last:
            bin_ = key >> self._dropped
            self._counts[bin_] = self._counts.get(bin_, 0) + 1
            while len(self._counts) > self._limit:
                self._coarsen()

    def narrow(self) -> None:
        """After each reading of the whole stream."""
        if not self._counts:
            self.found = True
            return
        bin_ = self._bin_of_rank()
        if self._dropped == 0:
            self.value, self.found = from_ordered(bin_), True
        self._first = bin_ << self._dropped
        self._last = self._first + (1 << self._dropped) - 1
        self._counts, self._dropped = {}, 0

    @property
    def size(self) -> int:
        """How many counts are held."""
        return len(self._counts)

    def _bin_of_rank(self) -> int:
        """The bin that holds the number sought; its rank becomes the one within that bin."""
        if self._rank is None:
            self._rank = share_of(self.fraction, sum(self._counts.values()))
        for bin_ in sorted(self._counts, reverse=True):
            if self._rank <= self._counts[bin_]:
                return bin_
            self._rank -= self._counts[bin_]
        raise ValueError("a later reading of the stream held fewer numbers than the first")

    def _coarsen(self) -> None:
        halved: dict[int, int] = {}
        for bin_, times in self._counts.items():
            halved[bin_ >> 1] = halved.get(bin_ >> 1, 0) + times
        self._counts, self._dropped = halved, self._dropped + 1


def share_of(fraction: float, number: int) -> int:
    """ceil(fraction * number) of the decimal as it is written: 0.07 of 100 is 7, never 8."""
    return math.ceil(Fraction(repr(fraction)) * number)


def ordered(value: float) -> int:
    """An integer from 0 to 2^64 - 1 that orders as the number does; -0.0 is 0.0."""
    bits: int = struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]
    return bits ^ _ALL if bits & _SIGN else bits | _SIGN


def from_ordered(key: int) -> float:
    bits = key & ~_SIGN if key & _SIGN else key ^ _ALL
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value
