"""A candidate that is itself the text it would be compared with: the comparison says nothing.

    is_selfsame("It said hello.\n", "It said  hello.") -> True     (white space apart)

In HANNA the system `Human` wrote what the others are compared with. ROUGE gives it 1, and people
rate it highest: the correlation would rise by what nobody measured. So every scorer that compares
leaves such a candidate unscored (`is the reference`), which is counted like other reasons but
expected: the coverage floor does not hold it against a run.
"""

from __future__ import annotations

IS_THE_REFERENCE = "is the reference"


def is_for_that(reason: str) -> bool:
    """Whether a score is absent for that reason; a mix names the part that is (`rouge1: …`)."""
    return reason == IS_THE_REFERENCE or reason.endswith(f": {IS_THE_REFERENCE}")


def is_selfsame(text: str, other: str) -> bool:
    return text.split() == other.split()
