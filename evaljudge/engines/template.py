"""A model's chat template as token ids: those before our words, those after, the end of a turn.

The model's own template is rendered around a stand-in, so its special tokens are its own and BOS
comes once. A base model (`chat: none`) gets a plain completion prompt that ends in `Answer:`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Any

from evaljudge.engines.source import CLOCK
from evaljudge.engines.tokens import WORD, Ids, Marked, OwnWords, Texts
from evaljudge.errors import UserError
from evaljudge.model.asks import Prompt

STAND_IN = "\ue000ours\ue001"
REPLY = "\ue000theirs\ue001"
COMPLETION_TAIL = "\n\nAnswer:"


@dataclass(frozen=True, slots=True)
class Template:
    """`head` + our words + `tail`, then the model's turn, ended by any of `ends`.

    `head_words` is what of the head follows its last special token, `tail_words` of the tail:
    texts that come next are tokenised as they would be after these.
    """

    head: Ids
    head_words: str
    tail: Ids
    tail_text: str
    tail_words: str
    ends: frozenset[int]
    head_text: str = ""

    def around(self, prompt: Prompt, tokeniser: Texts) -> tuple[Ids, int]:
        """The prompt's ids, and how many of them are the template's own, before any document."""
        parts, head = self.parts_around(prompt, tokeniser)
        return tuple(chain.from_iterable(parts)), head

    def parts_around(self, prompt: Prompt, tokeniser: Texts) -> tuple[list[Ids], int]:
        """The same, with the ids of each part apart."""
        parts = [self.head, *(self.part(n, t, tokeniser) for n, t in enumerate(prompt.parts))]
        head = sum(map(len, parts[: prompt.head + 1])) if prompt.head else 0
        return [*parts, self.tail], head

    def part(self, number: int, text: str, tokeniser: Texts) -> Ids:
        """The ids of a prompt's part; the first one follows the template's own words."""
        return tokeniser.part(text) if number else tokeniser.text(text, self.head_words)

    def spelt_after(self, form: str, tokeniser: OwnWords) -> Ids | None:
        """A spelling's ids where the model's turn begins; None where it grows into the tail."""
        ids, tail = (tokeniser.marked(WORD + self.tail_text + end) for end in (form, ""))
        return ids[len(tail) :] if ids[: len(tail)] == tail else None


def read_template(
    tokeniser: Marked,
    switches: Mapping[str, Any] | None,
    stop_ids: frozenset[int],
    reply: str = "",
) -> Template:
    """`switches`: None where the model is to complete a text; `reply`: how each reply begins."""
    hf = tokeniser.hf
    ends = stop_ids | ({hf.eos_token_id} - {None})
    if switches is None:
        begins = tuple(hf("")["input_ids"][:1]) == (hf.bos_token_id,)  # as it begins every text
        head: Ids = (hf.bos_token_id,) if begins else ()
        tail_text = COMPLETION_TAIL
        head_text, head_words = hf.bos_token if head else "", ""
    elif not hf.chat_template:
        raise UserError(lacks_template("the model"))
    else:
        text = str(hf.chat_template)
        for name in switches:
            if not re.search(rf"\b{re.escape(name)}\b", text):
                raise UserError(f"model.chat.{name}: the model's chat template does not use it")
        turns = [{"role": "user", "content": STAND_IN}]
        head_text, tail_text = _around(hf, turns, STAND_IN, True, switches)
        head, head_words = tokeniser.marked(head_text), _last_words(head_text, hf)
        ends |= _end_of_turn(tokeniser, turns, switches)
    tail_text += reply
    return Template(
        head,
        head_words,
        tokeniser.marked(WORD + tail_text)[len(tokeniser.marked(WORD)) :],
        tail_text,
        _last_words(tail_text, hf),
        ends,
        head_text,
    )


def lacks_template(model: str) -> str:
    return (
        f"{model} has no chat template: if it is a base model, write `chat: none` beside its "
        "`source`, and it is asked to complete a text; else take a checkpoint that has one"
    )


def with_clock(switches: Mapping[str, Any]) -> dict[str, Any]:
    """The switches as the template takes them: it calls a function for the date."""
    if CLOCK not in switches:
        return dict(switches)
    try:
        day = date.fromisoformat(str(switches[CLOCK]))
    except ValueError as error:
        raise UserError(
            f"model.chat.{CLOCK}: a date such as 2024-07-26 is needed: {error}"
        ) from None
    return {**switches, CLOCK: day.strftime}


def _around(
    hf: Any, turns: list[dict[str, str]], stand_in: str, reply: bool, switches: Mapping[str, Any]
) -> tuple[str, str]:
    rendered: str = hf.apply_chat_template(
        turns, tokenize=False, add_generation_prompt=reply, **with_clock(switches)
    )
    before, found, after = rendered.partition(stand_in)
    if not found:
        raise UserError("the model's chat template leaves out the message it is given")
    return before, after


def _end_of_turn(
    tokeniser: Marked, turns: list[dict[str, str]], switches: Mapping[str, Any]
) -> frozenset[int]:
    """The special token that the template writes after a model's reply, where it writes one."""
    turns_and_reply = [*turns, {"role": "assistant", "content": REPLY}]
    _, after = _around(tokeniser.hf, turns_and_reply, REPLY, False, switches)
    first = tokeniser.marked(after)[:1]
    return frozenset(first) & frozenset(tokeniser.hf.all_special_ids)


def _last_words(text: str, hf: Any) -> str:
    ends = (text.rfind(s) + len(s) for s in hf.all_special_tokens if s in text)
    return text[max(ends, default=0) :]
