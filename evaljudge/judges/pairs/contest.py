"""The texts of one document on one axis, while they are compared with each other.

    contest.wanted()            ->  [(0, 1), (2, 3)]      the pairs to compare next
    contest.learn({(0, 1): reply, (1, 0): reply, (2, 3): reply, …})
    …
    contest.wanted()            ->  []                    it is over
    contest.places              ->  [[3], [0], [2]]       the best first

Candidates whose texts are the same are one text here, and share its rank. The texts are numbered
in an order that is drawn for the document and axis. Where a model cannot decide, that order
decides, and not the order of the corpus.

When a comparison fails, one of its two texts is left out, and the others are ranked without it: the
text with the most failures, and of those the longest, as most failures are prompts that are too
long. The replies about the others are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from statistics import fmean
from typing import Any, Literal

from evaljudge.judges.pairs.comparing import PairQuestion, read_comparison
from evaljudge.judges.pairs.equations import Pair, bradley_terry, ranks, worth_of_place
from evaljudge.judges.pairs.sorting import LogOdds, Search
from evaljudge.judges.shared.asking import drawn, quoted, reason_unscorable
from evaljudge.model.asks import Chosen, Failed, Prompt
from evaljudge.records import Axis, Candidate, Case

ALONE = "it is the only text of its document that can be compared"
Swap = Literal["both", "estimated", "none", "fairness"]
Replies = Mapping[Pair, Chosen | Failed]
"""By (the text that stood first, the text that stood second)."""
Ranking = Callable[[Sequence[int], LogOdds], Search[list[list[int]]]]
"""The places from the best on, with the texts that share each."""


class Contest:
    def __init__(
        self,
        case: Case,
        axis: Axis,
        comparing: PairQuestion,
        ranking: Ranking,
        swap: Swap,
        instruction: str = "",
    ) -> None:
        self.case, self.axis, self._comparing, self._ranking = case, axis, comparing, ranking
        self._swap, self._instruction = swap, instruction
        self._same = _same_texts(case, axis)
        self._replies: dict[Pair, Chosen | Failed] = {}
        self._known: dict[Pair, float] = {}
        self._left_out: dict[int, str] = {}
        self._worth: float | None = None
        """Of standing first, as log-odds; None until the first pairs were compared."""
        self._search: Search[list[list[int]]] | None = None
        self.places: list[list[int]] | None = None

    def wanted(self) -> list[Pair]:
        """The pairs to compare next; none once the texts are ranked."""
        if self.places is not None:
            return []
        texts = [text for text in range(len(self._same)) if text not in self._left_out]
        self._search = self._search or self._ranking(texts, self._known)
        try:
            return next(self._search)
        except StopIteration as end:
            self.places = end.value
            return []

    def orders(self, pair: Pair) -> list[Pair]:
        """In which orders a pair is shown; if in one, it is drawn for each pair."""
        one, other = pair
        is_estimating = self._swap == "estimated" and self._worth is None and abs(one - other) == 1
        if self._swap in ("both", "fairness") or is_estimating:
            return [pair, pair[::-1]]
        return [self._drawn_order(pair)]

    def _drawn_order(self, pair: Pair) -> Pair:
        known = self.case.document.doc_id, self.axis.name
        return min(pair, pair[::-1], key=lambda one: drawn(*known, *map(self._name, one)))

    def prompt(self, order: Pair) -> Prompt:
        texts = self._same[order[0]][0], self._same[order[1]][0]
        return self._comparing.prompt(self.case.document, self.axis, texts, self._instruction)

    def learn(self, replies: Replies) -> None:
        """The replies about all pairs that were wanted."""
        self._replies |= replies
        left_out = len(self._left_out)
        self._leave_out()
        if len(self._left_out) > left_out:
            self._search = None  # the rest is ranked anew, with all that is known
        if self._swap == "estimated" and self._worth is None:
            read = (read_comparison(self._stored(*order)) for order in self._replies)
            both = [
                worth_of_place(pair.first, pair.second)
                for pair in read
                if pair.first is not None and pair.second is not None
            ]
            self._worth = fmean(both) if both else 0.0
        for one, other in replies:
            if not self._left_out.keys() & {one, other}:
                odds = read_comparison(self._stored(one, other)).odds
                self._known |= {(one, other): odds, (other, one): -odds}

    def _leave_out(self) -> None:
        while failed := [
            order
            for order, reply in self._replies.items()
            if isinstance(reply, Failed) and not self._left_out.keys() & set(order)
        ]:
            times = Counter(chain.from_iterable(failed))
            out = max(times, key=lambda text: (times[text], len(self._same[text][0].text), text))
            order = next(order for order in failed if out in order)
            (other,) = {*order} - {out}
            reply = self._replies[order]
            assert isinstance(reply, Failed)
            self._left_out[out] = f"compared with {quoted(self._name(other))}: {reply.reason}"

    @cached_property
    def evidence(self) -> dict[str, dict[str, Any] | Failed]:
        """Of each system's text once all are ranked, or why it has no rank."""
        assert self.places is not None
        texts = list(chain.from_iterable(self.places))
        sizes = [sum(len(self._same[text]) for text in place) for place in self.places]
        ranked = zip(self.places, ranks(sizes), strict=True)
        rank = {text: mine for place, mine in ranked for text in place}
        strengths = bradley_terry(texts, self._known)
        order = [[one.system for one in self._same[text]] for text in texts]
        found: dict[str, dict[str, Any] | Failed] = {
            candidate.system: Failed(reason_unscorable(self.case.document, candidate))
            for candidate in self.case.candidates
        }
        for text, candidates in enumerate(self._same):
            reason = self._left_out.get(text, ALONE if sum(sizes) < 2 else "")
            mine = Failed(reason) if reason else {
                "rank": rank[text], "order": order, "ranks": [rank[one] for one in texts],
                "strength": strengths[text], "comparisons": [
                    self._stored(text, other) for first, other in self._known
                    if first == text and other not in self._left_out
                ],
            }  # fmt: skip
            found |= {candidate.system: mine for candidate in candidates}
        return found

    def replies_shown_first(self, system: str) -> list[Chosen | Failed]:
        """The replies to prompts in which this system's text stood first."""
        return [reply for (first, _), reply in self._replies.items() if self._name(first) == system]

    def _stored(self, text: int, other: int) -> dict[str, Any]:
        shown = {"first": self._replies.get((text, other)),
                 "second": self._replies.get((other, text))}  # fmt: skip
        replies = {place: one for place, one in shown.items() if isinstance(one, Chosen)}
        said = {place: dict(reply.logprobs) for place, reply in replies.items()}
        worth = {"worth": self._worth} if self._worth is not None and len(said) == 1 else {}
        stands = "first" if self._drawn_order((text, other))[0] == text else "second"
        ranked_by = {"ranked_by": stands} if self._swap == "fairness" else {}
        most = max((reply.left_out for reply in replies.values()), default=0.0)
        left_out = {"left_out": most} if most else {}
        return {"other": self._name(other), **said, **worth, **ranked_by, **left_out}

    def _name(self, text: int) -> str:
        return self._same[text][0].system


def _same_texts(case: Case, axis: Axis) -> list[list[Candidate]]:
    """The candidates that can be compared, those of the same text together."""

    def order(candidate: Candidate) -> bytes:
        return drawn(case.document.doc_id, axis.name, candidate.system)

    found: dict[str, list[Candidate]] = {}
    for candidate in sorted(case.candidates, key=order):
        if not reason_unscorable(case.document, candidate):
            found.setdefault(" ".join(candidate.text.split()), []).append(candidate)
    return list(found.values())
