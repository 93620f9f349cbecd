"""The question about two texts of a document, its answers, and what a stored comparison says.

    Which summary is better …? "First" or "Second"                          the common template
    Is the target Better, Worse or Similar …?                               the template of `nano`

With Better, Worse and Similar the template asks how the second text compares with the first.

A comparison is stored with each of its two texts. This one is of a text that was compared with B;
`first` has the answers when the text stood first, `second` when it stood second:

    {"other": "B", "first": {"First": -0.2, "Second": -1.6}, "second": {"First": -0.7, …}}
    {"other": "C", "first": {"First": -0.1, "Second": -2.4}, "worth": 0.7}

The second was asked in one order, and the log-odds that standing first is worth were estimated.
With `ranked_by`, both orders were asked, and one of them alone says which text is better.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evaljudge.errors import UserError
from evaljudge.judges.pairs.equations import log_odds, preference
from evaljudge.judges.shared.asking import ANY_WORDS, document_texts, drawn
from evaljudge.model.asks import Options, Prompt
from evaljudge.prompts import Task
from evaljudge.records import Axis, Candidate, Document

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
        needed, own = ["first", "second"], ["instruction"]
        self._pack.check(TEMPLATE, needed, without=own, **self._nouns, **ANY_WORDS)
        if paraphrased:
            try:
                self._pack.check(TEMPLATE, [*needed, *own], **self._nouns, **ANY_WORDS)
            except UserError as error:
                raise UserError(
                    f"`optimise` and `instruction` need another prompt: {error}"
                ) from None
        nothing = dict.fromkeys(("source", "context", *needed, *own), "")
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
        given = document_texts(document, axis) | {"first": first.text, "second": second.text}
        given["instruction"] = instruction
        prompt = self._pack.render(TEMPLATE, given, **axis.words, **self._nouns)
        # a model that only imagines answers goes by a drawn order of the texts
        ranks = [drawn(document.doc_id, text.system, "imagined") for text in texts]
        return replace(prompt, example=self.options.names[ranks[0] >= ranks[1]])
