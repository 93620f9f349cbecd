"""Thought before an answer: the model writes one, and the answer's probabilities are read after it.

    …<|assistant|>\n<think>\n    It leaves out the bridge.    </think>\n\n    Better .81, Worse …
    the prompt, and `opens`      written, `tokens` at most    `closes`         read exactly

Where thoughts begin and end is in the chat template, as it asks for a reply and as it writes one
that is known (template.py). What is written and weighed is asked for without a thought: so two
judges of one model, with thoughts and without, share what they write for a document.

A thought without its end, cut by its limit or by the end of the turn, is closed here and counted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaljudge.engines.source import THINKING, Thinking
from evaljudge.engines.template import END_OF_BLOCK, OPEN_BLOCK, ChatTemplate, Rendered, Template
from evaljudge.engines.tokens import Ids, Texts
from evaljudge.errors import UserError
from evaljudge.model.asks import Chosen, Failed, Sample, Spent, Writing, averaged

FINAL, ANALYSIS = "<|channel|>final", "<|channel|>analysis"
WHERE = "model.thinking: the model's"
AFTER = "\n\n"
"""Stands between a thought and an answer where the template does not show what does."""


@dataclass(frozen=True, slots=True)
class ThoughtForm:
    """`opens` is put behind the generation prompt; the model ends a thought by `tag`."""

    chat: Mapping[str, Any]
    opens: str
    tag: str
    closes: str


def thought_form(template: ChatTemplate, chat: Mapping[str, Any]) -> ThoughtForm:
    """How this template has its model think; refused where it shows no place for a thought."""
    chat = {**chat, **({THINKING: True} if THINKING in template.text else {})}
    _, tail, _ = template.around(chat)
    _, known, _ = template.around(chat, is_answered=True)
    rest = known.removeprefix(tail) if known.startswith(tail) else ""
    special = re.search(r"<\|\w+\|>", tail)
    if FINAL in rest and special:  # a turn for the thought, and another for the answer
        closes = tail[special.start() :] + rest
        return ThoughtForm(chat, rest.replace(FINAL, ANALYSIS), special[0], closes)
    opened = OPEN_BLOCK.search(tail)
    tag = f"</{opened[1]}>" if opened else END_OF_BLOCK
    if not opened and (END_OF_BLOCK in tail or END_OF_BLOCK not in template.text + rest):
        raise UserError(f"{WHERE} chat template opens no block of thoughts: leave it out")
    opens = "" if opened else (rest.partition(tag)[0].rstrip() or "<think>") + "\n"
    after = known.rpartition(tag)[2] if tag in known else AFTER
    return ThoughtForm(chat, opens, tag, tag + after)


class Thinker:
    """`before`: the template up to a thought; `after`: from a thought's end on, where answers are
    spelt; `ends`: the ids with which a thought may end, if it is not cut by its limit."""

    def __init__(
        self, how: Thinking, template: ChatTemplate, chat: Mapping[str, Any],
        read: Callable[..., Template], texts: Texts,
    ) -> None:  # fmt: skip
        """`read`: makes a template of `switches` and a `reply`, as that of replies was made."""
        form, self._keeps = thought_form(template, chat), how.keep
        self.before = before = read(switches=form.chat, reply=form.opens)
        self.writing = Writing(how.tokens, how.temperature, n=how.samples)
        self._closing, self._cutting = (texts.following(t + form.closes) for t in ("", "\n"))
        tag = texts.following(form.tag)
        if len(tag) != 1:
            raise UserError(f"{WHERE} tokenizer has no token for {form.tag} alone: leave it out")
        self._tag, self.ends = tag[0], before.ends | {*tag}
        self.after = replace(before, tail=self._closing, tail_text=form.closes, tail_words="")
        self.room = how.tokens + len(self._cutting)
        """The tokens of the longest thought, with its end."""

    def own(self, ids: Ids) -> Ids:
        return ids[:-1] if ids and ids[-1] in self.ends else ids

    def is_cut(self, ids: Ids) -> bool:
        return ids[-1:] != (self._tag,)

    def closed(self, asked: Rendered, ids: Ids) -> Rendered:
        end = self._cutting if self.is_cut(ids) else self._closing
        return replace(asked, ids=asked.ids + self.own(ids) + end)

    def answer(
        self,
        answers: Sequence[Chosen],
        thoughts: Sequence[tuple[Ids, str]],
        spent: tuple[Spent, ...],
        key: object,
    ) -> Chosen | Failed:
        """`answers`: after each of the thoughts, which are given with their words."""
        mean = averaged(answers)
        if isinstance(mean, Failed):
            return replace(mean, spent=spent)
        kept = tuple(
            Sample(words if self._keeps else "", "length" if self.is_cut(ids) else "stop")
            for ids, words in thoughts
        )
        return replace(mean, thoughts=kept, spent=spent, key=key)
