"""The equation of GPTScore, with equal weights for all tokens, as its authors use it.

log p of the tokens   A −2.0   flood −0.5   . −0.5      score (−2.0 − 0.5 − 0.5) / 3 = −1.0
"""

from __future__ import annotations


def mean_log_probability(log_probability: float, tokens: int) -> float:
    """Σ log p(token | those before it, the prompt) / the number of tokens."""
    return log_probability / tokens
