"""The prompt of G-Eval: steps of evaluation written once for an axis, and a rating by these steps.

The steps are a brief of every document although they say nothing of it. As the question for them
holds no text of a document, it is asked once (see model/remembering.py), so all documents are rated
by the same steps, and judges that ask for them alike share them.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from evaljudge.errors import UserError
from evaljudge.judges.shared.one_question import BriefKey, QuestionJudge, Texts
from evaljudge.judges.shared.references import text_brief
from evaljudge.model.asks import Chosen, Failed, Prompt, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Document
from evaljudge.settings import Settings

STEPS = "steps"
MOST_TOKENS = 512  # the limit of an axis' steps, where the settings give no other
_WHOLE = re.compile(r".*(?<!\d)[.!?](?=\s|$)|.*(?=\n)", re.DOTALL)
"""Up to the last end of a sentence or a line."""
Reply = TypeVar("Reply", Written, Chosen)


class StepsColumns(TypedDict):
    """`cut`: the reply reached its limit, and only its whole sentences were kept."""

    text: str
    cut: bool


def brief_columns(contents: Sequence[Mapping[str, Any]]) -> list[StepsColumns]:
    return [{"text": content["text"], "cut": content.get("cut", False)} for content in contents]


class RatingJudge(QuestionJudge[Reply]):
    """A judge that asks for a rating of each candidate on each axis, following the axis's steps."""

    part = STEPS

    def __init__(
        self, name: str, settings: Settings, task: Task, template: str,
        steps_tokens: int | None = None, unused: Collection[str] = (),
    ) -> None:  # fmt: skip
        """`steps_tokens`: the limit of the steps' reply; None for a question without steps."""
        shown = ["steps", "target"] if steps_tokens else ["target"]
        super().__init__(name, settings, task, template, shown, unused=unused)
        self.examples = task.examples
        self._writing = Writing(steps_tokens) if steps_tokens else None
        self._prompts = {"rating": self._pack.hash([template])}
        if self._writing:
            prompt = self._pack.render("geval.steps", {}, axis="the axis", description="of what")
            if "the axis" not in prompt.text or "of what" not in prompt.text:
                # no text of a document may be asked for
                raise UserError("prompt geval.steps: needs a place for {{ axis }} and "
                                "{{ description }}")  # fmt: skip
            self._prompts["writing"] = self._pack.hash(["geval.steps"])
            self._inputs = {"prompts": self._prompts["writing"], "max_tokens": steps_tokens}
        self._asking = {**self._asking, "prompts": self._prompts}

    def _to_write(self, document: Document, axis: Axis) -> Prompt:
        return self._pack.render("geval.steps", {}, **axis.words)

    def _brief(self, key: BriefKey, reply: Written | Failed) -> Brief:
        """Steps that were cut are kept to their last whole sentence."""
        if isinstance(reply, Failed) or reply.samples[0].finish == "stop":
            return text_brief(key, reply)
        whole = _WHOLE.match(reply.text.strip())
        if not (steps := whole[0].strip() if whole else ""):
            reason = "the reply was cut before its first step ended"
            return Brief(*key, {}, "unscored", reason, tokens=cost([reply]))
        return Brief(*key, {"text": steps, "cut": True}, tokens=cost([reply]))

    def _questions(self, axis: Axis, briefs: Sequence[Brief]) -> Sequence[Texts] | Failed:
        if not self._writing:
            return [{}]
        written = self._written(axis, briefs)
        if isinstance(written, Failed):
            return Failed(f"no steps for {axis.name}: {written.reason}")
        return [{"steps": str(written["text"])}]
