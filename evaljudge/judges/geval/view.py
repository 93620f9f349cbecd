"""The evidence on one text, for people: how probable each rating is, and the draws of it.

rating  probability  draws
5             0.250      1
4             0.400      2  …
"""

from __future__ import annotations

from evaljudge.judges.geval.judge import probabilities
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.ratings import RATINGS, mean_rating
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation, count


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    p, draws = probabilities(evidence), evidence.get("draws")
    heads = ["rating", "probability", *(["draws"] if draws else [])]
    rows = [
        [rating, correlation(p[rating]), *([count(draws[rating])] if draws else [])]
        for rating in reversed(RATINGS.names)
    ]
    about = "How probable the model's next word makes each rating, among the five."
    mean = f"The mean rating by these probabilities is {mean_rating(p):.2f}."
    title = "The ratings' probabilities"
    return Section(title, [about], [Table(title, heads, rows, "l" + "r" * len(heads[1:]))], [mean])
