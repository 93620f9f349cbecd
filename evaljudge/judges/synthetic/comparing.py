"""Two texts on one axis, asked about in one of the forms; and a candidate's pairs with every level.

    Pair(fluency, target="A flood.", reference="A flood has closed the bridge.", about="4")
    -> one reply to Better, Worse or Similar; or two, to Yes and No

A judge gathers the pairs of a whole case and asks them in one list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaljudge.judges.shared.references import Text, check_place, shown_context
from evaljudge.judges.shared.scale import named
from evaljudge.judges.synthetic.forms import Form
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Prompt
from evaljudge.prompts import Task
from evaljudge.records import Axis, Candidate, Case, Document

Replies = Sequence[Chosen | Failed]
"""To the form's questions about one pair."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts to be compared on an axis."""

    axis: Axis
    target: str
    reference: str
    about: str
    """Which references stand in it."""

    @property
    def exchanged(self) -> Pair:
        return Pair(self.axis, self.reference, self.target, f"{self.about} exchanged")


@dataclass(frozen=True, slots=True)
class Placing:
    """A candidate to be placed on an axis' scale; `hurdle`: why it cannot be."""

    axis: Axis
    candidate: Candidate
    pairs: Mapping[float, Pair]
    hurdle: str = ""


class Comparing:
    def __init__(self, task: Task, form: Form, wanted: Sequence[float]) -> None:
        self._pack, self.form, self.ratings = task.pack, form, wanted
        for words in form.words:
            needed, told = ["reference", "target"], {"axis": "axis", "description": "what it is"}
            self._pack.check(form.template, needed, **told, **words)
        check_place(self._pack, form.template, "relation", form.relations)
        self.prompts = task.pack.hash([form.template])

    async def ask(
        self, document: Document, pairs: Sequence[Pair], model: Model, samples: int
    ) -> list[Replies]:
        """Of each pair the replies to the form's questions."""
        words = self.form.words
        prompts = [self._prompt(document, pair, w) for pair in pairs for w in words]
        replies = await model.choose(prompts, self.form.options, samples)
        return [replies[at : at + len(words)] for at in range(0, len(replies), len(words))]

    def _prompt(self, document: Document, pair: Pair, words: Mapping[str, str]) -> Prompt:
        axis, texts = pair.axis, {"reference": pair.reference, "target": pair.target}
        given = {"source": document.source, "context": shown_context(document, axis), **texts}
        prompt = self._pack.render(self.form.template, given, **axis.told, **words)
        return replace(prompt, about=pair.about)

    def placing(
        self, case: Case, axis: Axis, candidate: Candidate, levels: Mapping[float, Text]
    ) -> Placing:
        if hurdle := self._hurdle(case, axis, candidate, levels):
            return Placing(axis, candidate, {}, hurdle)
        pairs = {r: Pair(axis, candidate.text, str(levels[r]), named(r)) for r in self.ratings}
        return Placing(axis, candidate, pairs)

    def _hurdle(
        self, case: Case, axis: Axis, candidate: Candidate, levels: Mapping[float, Text]
    ) -> str:
        """Why this candidate cannot be compared at all; empty where it can."""
        if not case.document.source.strip():
            return "empty source"
        if not candidate.text.strip():
            return "empty text"
        for rating in self.ratings:
            level = levels.get(rating, Failed("never written"))
            if isinstance(level, Failed):
                return f"no reference of level {named(rating)} on {axis.name}: {level.reason}"
        return ""


def whole(replies: Replies) -> Sequence[Chosen] | Failed:
    """All of a pair's replies, or why the first that is missing is."""
    for reply in replies:
        if isinstance(reply, Failed):
            return reply
    return [reply for reply in replies if isinstance(reply, Chosen)]
