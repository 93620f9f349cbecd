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

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaljudge.engines.template import CLOCK, REPLY, STAND_IN, lacks_template, with_clock
from evaljudge.errors import UserError

DATE = "2024-07-26"
"""Stands for today; Llama 3's template has this day where it finds no clock."""
THINKING = "enable_thinking"
RECOGNISED = (THINKING, CLOCK)
"""Switches of a template that are set where the user says nothing."""
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


def find_template(path: str, revision: str | None) -> ChatTemplate | None:
    """That of a folder, a URI or a hub name; None where its tokenizer's files cannot be had."""
    written = _read(path, _CONFIG, revision)
    if written is None:
        return None
    try:
        config = json.loads(written)
    except ValueError as error:
        raise UserError(f"model {path}: {_CONFIG} is not JSON: {error}") from None
    text = _read(path, _FILE, revision) or config.get("chat_template") or ""
    if isinstance(text, list):  # several, by name
        text = next((one["template"] for one in text if one["name"] == "default"), "")
    tokens = {name: value for name, value in config.items() if name.endswith("_token")}
    words = {n: v.get("content") if isinstance(v, dict) else v for n, v in tokens.items()}
    return ChatTemplate(text, {name: v for name, v in words.items() if isinstance(v, str)})


def _read(path: str, name: str, revision: str | None) -> str | None:
    try:
        if "://" in path:
            from evaljudge.storage import Place

            return Place(path).read(name).decode()
        if not Path(path).is_dir():
            return _from_hub(path, name, revision)
        return Path(path, name).read_text("utf-8")
    except FileNotFoundError:
        return None


def _from_hub(model: str, name: str, revision: str | None) -> str | None:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(model, name, revision=revision)).read_text("utf-8")
    except Exception:  # the hub's client raises many kinds; each means: not from there
        return None


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
        if THINKING in template.text and _changes(template, settled, {THINKING: False}):
            settled[THINKING] = False
        return settled, _lacking(template, settled)
    except TemplateError as error:
        raise UserError(f"model {name}: its chat template cannot be rendered: {error}") from None


def _changes(template: ChatTemplate, chat: dict[str, Any], switch: dict[str, Any]) -> bool:
    """Where thinking is off anyway, nothing is set, and the model's identity stays."""
    return template.tail(chat | switch) != template.tail(chat)


def _lacking(template: ChatTemplate, chat: Mapping[str, Any]) -> str:
    """What a reply needs before its answer."""
    tail, before = template.tail(chat), template.before_answer(chat)
    rest = before.removeprefix(tail) if before.startswith(tail) else ""
    if rest.strip() or END_OF_BLOCK in tail:  # else white space, as `[/INST] Yes` has it
        return rest
    if found := _OPEN_BLOCK.search(tail):
        return f"\n</{found[1]}>\n\n"
    # it takes blocks out of replies that are known, so its model writes some
    return EMPTY_BLOCK if END_OF_BLOCK in template.text else ""
