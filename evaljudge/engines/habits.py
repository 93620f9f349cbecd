"""What a chat template says of how replies begin, so that a judge's question is answered at once.

    …<|assistant|>\n<think>\n       a thinking block is open: "\n</think>\n\n" closes it
    …<|start|>assistant             answers stand behind "<|channel|>final<|message|>"
    Today is {{ strftime_now(…) }}  every day another prompt: here it is always the same day

A judge reads the probabilities of its options where the reply begins. A model that first thinks, or
opens a channel, puts its probability on that, and nothing on the options. What must stand before an
answer is mostly in the template itself, which writes a reply of the model that is already known:
the text between the generation prompt and this reply is what a new reply lacks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evaljudge.engines.checkpoint import read_file, read_json
from evaljudge.engines.source import CLOCK, THINKING, ModelSource
from evaljudge.engines.template import REPLY, STAND_IN, lacks_template, with_clock
from evaljudge.errors import UserError

DATE = "2024-07-26"
"""Stands for today; Llama 3's template has this day where it finds no clock."""
EMPTY_BLOCK, END_OF_BLOCK = "<think>\n\n</think>\n\n", "</think>"
_OPEN_BLOCK = re.compile(r"<([\w:]*think\w*)>\s*$")
_HABITS = re.compile(rf"think|<\|channel|{CLOCK}")
"""Templates without these words need not be rendered."""
_FILE, _CONFIG = "chat_template.jinja", "tokenizer_config.json"


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    text: str
    """Empty where the tokenizer has none."""
    special_tokens: Mapping[str, str]

    def tail(self, chat: Mapping[str, Any]) -> str:
        """The generation prompt, and what precedes it of the user's turn."""
        return self._rendered(chat).partition(STAND_IN)[2]

    def before_answer(self, chat: Mapping[str, Any]) -> str:
        """What stands between the user's words and a reply that is known."""
        rendered = self._rendered(chat, {"role": "assistant", "content": REPLY})
        return rendered.partition(STAND_IN)[2].partition(REPLY)[0]

    def stamps_date(self, chat: Mapping[str, Any]) -> bool:
        one, other = (self._rendered({CLOCK: day, **chat}) for day in (DATE, "1999-12-31"))
        return one != other

    def _rendered(self, chat: Mapping[str, Any], *replies: Mapping[str, str]) -> str:
        from transformers.utils.chat_template_utils import render_jinja_template

        turns = [{"role": "user", "content": STAND_IN}, *replies]
        words = {**self.special_tokens, **with_clock(chat)}
        (rendered,), _ = render_jinja_template(
            conversations=[turns],
            chat_template=self.text,
            add_generation_prompt=not replies,
            **words,
        )
        return str(rendered)


def find_template(source: ModelSource) -> ChatTemplate | None:
    """The chat template; None where the tokenizer's files cannot be had."""
    if (config := read_json(source, _CONFIG)) is None:
        return None
    text = (read_file(source, _FILE) or b"").decode() or config.get("chat_template") or ""
    if isinstance(text, list):  # several, by name
        text = next((variant["template"] for variant in text if variant["name"] == "default"), "")
    tokens = {name: value for name, value in config.items() if name.endswith("_token")}
    words = {n: v.get("content") if isinstance(v, dict) else v for n, v in tokens.items()}
    return ChatTemplate(text, {name: v for name, v in words.items() if isinstance(v, str)})


def settled(source: ModelSource, template: ChatTemplate | None) -> ModelSource:
    """The source with what its chat template asks for, where the user leaves that open."""
    if source.chat is None:
        return source
    chat, reply = settle(source.source, template, source.chat, source.reply)
    return replace(source, chat=chat, reply=reply)


def settle(
    name: str, template: ChatTemplate | None, chat: Mapping[str, Any], reply: str | None
) -> tuple[dict[str, Any], str]:
    """The switches, and the text behind the generation prompt, that this model is asked with.

    What the user gives is taken as it is; a `reply` of theirs, or their `enable_thinking`, means
    that none is looked for.
    """
    settled = dict(chat)
    if template is None:  # the engine finds what there is, and the first question how it answers
        return settled, reply or ""
    if not template.text:
        raise UserError(lacks_template(f"model {name}"))
    if not _HABITS.search(template.text):
        return settled, reply or ""
    from jinja2 import TemplateError

    try:
        if CLOCK in template.text and CLOCK not in chat and template.stamps_date(chat):
            settled[CLOCK] = DATE
        if reply is not None or THINKING in chat:
            return settled, reply or ""
        off = settled | {THINKING: False}
        # where thinking is off anyway, nothing is set, and the model's identity stays
        if THINKING in template.text and template.tail(off) != template.tail(settled):
            settled = off
        return settled, _lacking(template, settled)
    except TemplateError as error:
        raise UserError(f"model {name}: its chat template cannot be rendered: {error}") from None


def _lacking(template: ChatTemplate, chat: Mapping[str, Any]) -> str:
    tail, before = template.tail(chat), template.before_answer(chat)
    rest = before.removeprefix(tail) if before.startswith(tail) else ""
    if rest.strip() or END_OF_BLOCK in tail:  # else white space, as `[/INST] Yes` has it
        return rest
    if match := _OPEN_BLOCK.search(tail):
        return f"\n</{match[1]}>\n\n"
    # it takes blocks out of replies that are known, so its model writes some
    return EMPTY_BLOCK if END_OF_BLOCK in template.text else ""
