"""Two texts of a document compared, and all of them, while they are compared with each other.

    Which summary is better …? "First" or "Second"                          the common template
    Is the target Better, Worse or Similar …?                               the template of `nano`

With Better, Worse and Similar the template asks how the second text compares with the first.

A comparison is stored with each of its two texts. This one is of a text that was compared with B;
`first` has the answers when the text stood first, `second` when it stood second:

    {"other": "B", "first": {"First": -0.2, "Second": -1.6}, "second": {"First": -0.7, …}}
    {"other": "C", "first": {"First": -0.1, "Second": -2.4}, "worth": 0.7}

The second was asked in one order, and the log-odds that standing first is worth were estimated.
With `ranked_by`, both orders were asked, and one of them alone says which text is better.

    contest.wanted()            ->  [(0, 1), (2, 3)]      the pairs to compare next
    contest.learn({(0, 1): reply, (1, 0): reply, (2, 3): reply, …})
    …
    contest.wanted()            ->  []                    it is over
    contest.places              ->  [[3], [0], [2]]       the best first

Candidates whose texts are the same are one text here, and share its rank. The texts are numbered
in an order that is drawn for the document and axis. Where a model cannot decide, that order
decides, and not the order of the corpus.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from statistics import fmean
from typing import Any, Literal

from evaljudge.errors import UserError
from evaljudge.judges.pairs.equations import Pair, bradley_terry, log_odds, preference, ranks
from evaljudge.judges.pairs.sorting import LogOdds, Search
from evaljudge.judges.shared.asking import (
    ANY_WORDS,
    document_texts,
    drawn,
    quoted,
    reason_unscorable,
)
from evaljudge.model.asks import Chosen, Failed, Options, Prompt
from evaljudge.prompts import Task
from evaljudge.records import Axis, Candidate, Case, Document

TEMPLATE = "pairs.compare"
FIRST_OR_SECOND, BETTER_OR_WORSE = ("First", "Second"), ("Worse", "Better", "Similar")
"""The words for: the first text is better, the second one is, neither."""


@dataclass(frozen=True, slots=True)
class ReadPair:
    """What a stored comparison says of its text; `odds`: the log-odds that it is the better one.

    `first`, `second`: the log-odds of the first place when the text stood there, and when the other
    text did; None where it was not asked.
    """

    other: str
    odds: float
    first: float | None
    second: float | None

    @property
    def preference(self) -> float:
        return preference(self.odds)

    @property
    def worth_of_place(self) -> float | None:
        """The log-odds that standing first is worth, where both orders were asked."""
        return None if self.first is None or self.second is None else (self.first + self.second) / 2


def _odds_of_first(logprobs: Mapping[str, float] | None) -> float | None:
    if logprobs is None:
        return None
    words = BETTER_OR_WORSE if "Similar" in logprobs else FIRST_OR_SECOND
    return log_odds(*(logprobs[word] for word in words))


def read_comparison(stored: Mapping[str, Any]) -> ReadPair:
    first, second = _odds_of_first(stored.get("first")), _odds_of_first(stored.get("second"))
    worth, ranked_by = stored.get("worth", 0.0), stored.get("ranked_by")
    if first is not None and second is not None and ranked_by is None:
        odds = (first - second) / 2
    elif second is not None and ranked_by != "first":
        odds = worth - second
    else:
        odds = (first or 0.0) - worth
    return ReadPair(stored["other"], odds, first, second)


class PairQuestion:
    def __init__(self, task: Task, *, paraphrased: bool = False) -> None:
        """`paraphrased`: the template must have a place for another instruction."""
        self._pack = task.pack
        self._nouns = {f"{slot}_noun": noun for slot, noun in task.nouns.items()}
        needed, optional = ["first", "second"], ["instruction"]
        self._pack.check(TEMPLATE, needed, without=optional, **self._nouns, **ANY_WORDS)
        if paraphrased:
            self._pack.check(TEMPLATE, [*needed, *optional], **self._nouns, **ANY_WORDS)
        nothing = dict.fromkeys(("source", "context", *needed, *optional), "")
        question = self._pack.render(TEMPLATE, nothing, **self._nouns, **ANY_WORDS).text
        for answers in (BETTER_OR_WORSE, FIRST_OR_SECOND):
            if all(re.search(rf"\b{name}\b", question) for name in answers):
                self.options = Options(answers)
                break
        else:
            raise UserError(f"prompt {TEMPLATE}: it should name its answers: First and Second, or "
                            "Better, Worse and Similar")  # fmt: skip
        self.prompts = self._pack.hash([TEMPLATE])

    def prompt(
        self, document: Document, axis: Axis, texts: tuple[Candidate, Candidate], instruction: str
    ) -> Prompt:
        """`instruction`: in place of the template's own, unless it is empty."""
        first, second = texts
        slots = document_texts(document, axis) | {"first": first.text, "second": second.text}
        slots["instruction"] = instruction
        prompt = self._pack.render(TEMPLATE, slots, **axis.words, **self._nouns)
        # a model that only imagines answers goes by a drawn order of the texts
        ranks = [drawn(document.doc_id, text.system, "imagined") for text in texts]
        return replace(prompt, example=self.options.names[ranks[0] >= ranks[1]])


ALONE = "it is the only text of its document that can be compared"
Swap = Literal["both", "estimated", "none", "fairness"]
Replies = Mapping[Pair, Chosen | Failed]
"""The reply for each pair (the text that stood first, the text that stood second)."""
Ranking = Callable[[Sequence[int], LogOdds], Search[list[list[int]]]]
"""The places, the best first, with the texts that share each."""


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
        self._odds: dict[Pair, float] = {}
        self._left_out: dict[int, str] = {}
        self._worth: float | None = None
        """What standing first is worth, as log-odds; None until the first pairs were compared."""
        self._search: Search[list[list[int]]] | None = None
        self.places: list[list[int]] | None = None

    def wanted(self) -> list[Pair]:
        """The pairs to compare next; none once the texts are ranked."""
        if self.places is not None:
            return []
        texts = [text for text in range(len(self._same)) if text not in self._left_out]
        self._search = self._search or self._ranking(texts, self._odds)
        try:
            return next(self._search)
        except StopIteration as end:
            self.places = end.value
            return []

    def orders(self, pair: Pair) -> list[Pair]:
        """The orders in which a pair is shown; a single one is drawn for each pair."""
        a, b = pair
        is_estimating = self._swap == "estimated" and self._worth is None and abs(a - b) == 1
        if self._swap in ("both", "fairness") or is_estimating:
            return [pair, pair[::-1]]
        return [self._drawn_order(pair)]

    def _drawn_order(self, pair: Pair) -> Pair:
        seed = self.case.document.doc_id, self.axis.name
        return min(pair, pair[::-1], key=lambda order: drawn(*seed, *map(self._name, order)))

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
            both = [worth for pair in read if (worth := pair.worth_of_place) is not None]
            self._worth = fmean(both) if both else 0.0
        for text, other in replies:
            if not self._left_out.keys() & {text, other}:
                odds = read_comparison(self._stored(text, other)).odds
                self._odds |= {(text, other): odds, (other, text): -odds}

    def _leave_out(self) -> None:
        """The texts with the most failures; of those the longest, since prompts may be too long."""
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
        """Each system's evidence once all texts are ranked, or why it has no rank."""
        assert self.places is not None
        texts = list(chain.from_iterable(self.places))
        sizes = [sum(len(self._same[text]) for text in place) for place in self.places]
        ranked = zip(self.places, ranks(sizes), strict=True)
        rank = {text: mine for place, mine in ranked for text in place}
        strengths = bradley_terry(texts, self._odds)
        order = [[writer.system for writer in self._same[text]] for text in texts]
        evidence_of: dict[str, dict[str, Any] | Failed] = {
            candidate.system: Failed(reason_unscorable(self.case.document, candidate))
            for candidate in self.case.candidates
        }
        for text, candidates in enumerate(self._same):
            reason = self._left_out.get(text, ALONE if sum(sizes) < 2 else "")
            mine = Failed(reason) if reason else {
                "rank": rank[text], "order": order, "ranks": [rank[t] for t in texts],
                "strength": strengths[text], "comparisons": [
                    self._stored(text, other) for first, other in self._odds
                    if first == text and other not in self._left_out
                ],
            }  # fmt: skip
            evidence_of |= {candidate.system: mine for candidate in candidates}
        return evidence_of

    def replies_shown_first(self, system: str) -> list[Chosen | Failed]:
        """The replies to prompts in which this system's text stood first."""
        return [reply for (first, _), reply in self._replies.items() if self._name(first) == system]

    def _stored(self, text: int, other: int) -> dict[str, Any]:
        shown = {"first": self._replies.get((text, other)),
                 "second": self._replies.get((other, text))}  # fmt: skip
        replies = {place: reply for place, reply in shown.items() if isinstance(reply, Chosen)}
        logprobs = {place: dict(reply.logprobs) for place, reply in replies.items()}
        worth = {"worth": self._worth} if self._worth is not None and len(logprobs) == 1 else {}
        stands = "first" if self._drawn_order((text, other))[0] == text else "second"
        ranked_by = {"ranked_by": stands} if self._swap == "fairness" else {}
        most = {
            "left_out": max((reply.left_out for reply in replies.values()), default=0.0),
            "within": max((reply.within for reply in replies.values()), default=0.0),
        }
        doubts = {name: value for name, value in most.items() if value}
        thought = {f"{place} after": t for place, reply in replies.items() if (t := reply.thought)}
        return {"other": self._name(other), **logprobs, **worth, **ranked_by, **doubts, **thought}

    def _name(self, text: int) -> str:
        return self._same[text][0].system


def _same_texts(case: Case, axis: Axis) -> list[list[Candidate]]:
    """The candidates that can be compared, those of the same text together."""

    def order(candidate: Candidate) -> bytes:
        return drawn(case.document.doc_id, axis.name, candidate.system)

    by_text: dict[str, list[Candidate]] = {}
    for candidate in sorted(case.candidates, key=order):
        if not reason_unscorable(case.document, candidate):
            by_text.setdefault(" ".join(candidate.text.split()), []).append(candidate)
    return list(by_text.values())
