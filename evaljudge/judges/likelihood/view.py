"""The evidence on one text, for people: its mean log-probability, and its least probable tokens.

token      log-probability
“ flood”            -9.412
“ the”              -3.020  …
"""

from __future__ import annotations

from math import exp

from evaljudge.judges.likelihood.judge import mean_log_probability
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    mean = mean_log_probability(evidence["logprob"], evidence["weighed"])
    rows = [[f"“{one['text']}”", correlation(one["logprob"])] for one in evidence["least"]]
    about = (
        f"The mean log-probability of the {evidence['weighed']:,} tokens is {mean:.3f}, as if each "
        f"had the probability {exp(mean):.3f}."
    )
    table = Table("The least probable tokens", ["token", "log-probability"], rows, "lr")
    return Section("How probable the tokens are", [about], [table])
