"""A model's chat template as token ids: those before our words, those after, the end of a turn.

The model's own template is rendered around a stand-in, so its special tokens are its own and BOS
comes once. A base model (`chat: none`) gets a plain completion prompt that ends in `Answer:`.

A judge reads the probabilities of its options where the reply begins. A model that first thinks, or
opens a channel, puts its probability on that, and nothing on the options. What must stand before an
answer is mostly in the template itself, which writes a reply of the model that is already known:
the text between the generation prompt and this reply is what a new reply lacks.

    …<|assistant|>\n<think>\n       a thinking block is open: "\n</think>\n\n" closes it
    …<|start|>assistant             answers stand behind "<|channel|>final<|message|>"
    Today is {{ strftime_now(…) }}  every day another prompt: here it is always the same day
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import chain
from typing import Any

from evaljudge.engines.checkpoint import labels_of, read_file, read_json
from evaljudge.engines.source import CLOCK, THINKING, ModelSource
from evaljudge.engines.tokens import REMEMBERED_PARTS, WORD, Ids, Texts, Tokeniser
from evaljudge.errors import UserError
from evaljudge.model.asks import Failed, Prompt
from evaljudge.reasons import too_long

STAND_IN = "\ue000ours\ue001"
REPLY = "\ue000theirs\ue001"
COMPLETION_TAIL = "\n\nAnswer:"
DATE = "2024-07-26"
"""Stands for today; Llama 3's template has this day where it finds no clock."""
EMPTY_BLOCK, END_OF_BLOCK = "<think>\n\n</think>\n\n", "</think>"
OPEN_BLOCK = re.compile(r"<([\w:]*think\w*)>\s*$")
_HABITS = re.compile(rf"think|<\|channel|{CLOCK}")
"""Templates without these words need not be rendered."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered prompt; the first `head` of its ids are the template's own, and its `turn` is the
    same as that of other prompts that begin with the same document."""

    ids: Ids
    parts: Sequence[Ids]
    head: int
    turn: int = 0

    @property
    def text_at(self) -> int:
        return len(self.ids) - len(self.parts[-1])


@dataclass(frozen=True, slots=True)
class DrawKey:
    """What a draw depends on: not on the hour, nor on what shares the batch. (Sampled texts of the
    CPU build do, and where top_p cuts, those of a GPU may.)

    Most replies are never drawn from, so the prompt is hashed when one is.
    """

    seed: int
    parts: Sequence[Ids]

    def __str__(self) -> str:
        ids = ", ".join(_listed(part) for part in self.parts if part)
        return hashlib.sha256(f"{self.seed} ({ids})".encode()).hexdigest()


@lru_cache(REMEMBERED_PARTS)
def _listed(ids: Ids) -> str:
    return ", ".join(map(str, ids))


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
    after: Ids = ()  # what follows a text that is rated
    has_types: bool = False
    """Whether the tokens of such a text are of another type than those before it."""

    def render(
        self,
        prompt: Prompt,
        tokeniser: Texts,
        room: int,
        context: float,
        text: str | None = None,
        turn: int = 0,
    ) -> Rendered | Failed:
        """`room`: for the reply; `text`: one that follows the prompt and is weighed or rated."""
        parts = [self.head, *(self.part(n, t, tokeniser) for n, t in enumerate(prompt.parts))]
        head = sum(map(len, parts[: prompt.head + 1])) if prompt.head else 0
        parts.append(self.tail)
        if text is not None:
            parts.append(tokeniser.text(text, after=self.tail_words))
            if not parts[-1]:
                return Failed("nothing to weigh: the text is empty")
        ids = tuple(chain.from_iterable(parts)) + self.after
        if len(ids) + room <= context:
            return Rendered(ids, parts, head, turn)
        return Failed(too_long(len(ids), room, int(context)))

    def part(self, number: int, text: str, tokeniser: Texts) -> Ids:
        """The ids of a prompt's part; the first one follows the template's own words."""
        return tokeniser.part(text) if number else tokeniser.text(text, self.head_words)

    def spelt_after(self, form: str, tokeniser: Texts) -> Ids | None:
        """A spelling's ids where the model's turn begins; None where it grows into the tail."""
        ids, tail = (tokeniser.marked(WORD + self.tail_text + end) for end in (form, ""))
        return ids[len(tail) :] if ids[: len(tail)] == tail else None


def read_template(
    tokeniser: Tokeniser,
    switches: Mapping[str, Any] | None,
    stop_ids: frozenset[int],
    reply: str = "",
    *,
    rates: bool = False,
) -> Template:
    """`switches`: None where the model is to complete a text; `reply`: how each reply begins;
    `rates`: it gives numbers for a reply that is known."""
    hf, after = tokeniser.hf, ""
    if rates and (switches is None or not hf.chat_template):
        return pair_template(tokeniser)
    ends = stop_ids | ({hf.eos_token_id} - {None})
    if switches is None:
        begins = tuple(hf("")["input_ids"][:1]) == (hf.bos_token_id,)  # as it begins every text
        head: Ids = (hf.bos_token_id,) if begins else ()
        tail_text = COMPLETION_TAIL
        head_text, head_words = hf.bos_token if head else "", ""
    elif not hf.chat_template:
        raise UserError(_lacks_template("the model"))
    else:
        template = ChatTemplate(hf.get_chat_template(), hf.special_tokens_map)
        for name in switches:
            if not re.search(rf"\b{re.escape(name)}\b", template.text):
                raise UserError(f"model.chat.{name}: the model's chat template does not use it")
        head_text, tail_text, after = template.around(switches, is_answered=rates)
        head, head_words = tokeniser.marked(head_text), _last_words(head_text, hf)
        _, _, after_reply = template.around(switches, is_answered=True)
        ends |= {*tokeniser.marked(after_reply)[:1]} & {*hf.all_special_ids}
    tail_text += reply
    tail, end = tokeniser.following(tail_text), tokeniser.following(after)
    words = _last_words(tail_text, hf)
    return Template(head, head_words, tail, tail_text, words, ends, head_text, end if rates else ())


def pair_template(tokeniser: Tokeniser, between: str | None = None) -> Template:
    """How a model without a chat template reads two texts: as its tokenizer joins them, or with
    these words between them."""
    before, middle, after, has_types = tokeniser.around_two()
    middle = middle if between is None else tokeniser.marked(between)
    if not middle:
        raise UserError("the model has no chat template, and its tokenizer joins no two texts")
    head_text, tail_text = map(tokeniser.backend.decode, (before, middle), (False, False))
    return Template(before, "", middle, tail_text, "", frozenset(), head_text, after, has_types)


def _last_words(text: str, hf: Any) -> str:
    ends = (text.rfind(s) + len(s) for s in hf.all_special_tokens if s in text)
    return text[max(ends, default=0) :]


def _lacks_template(model: str) -> str:
    return (
        f"{model} has no chat template: if it is a base model, write `chat: none` beside its "
        "`source`, and it is asked to complete a text; else take a checkpoint that has one"
    )


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    text: str  # empty where the tokenizer has none
    special_tokens: Mapping[str, Any]

    def around(self, chat: Mapping[str, Any], *, is_answered: bool = False) -> tuple[str, str, str]:
        """What stands before the user's words, behind them, and behind a reply that is known."""
        from transformers.utils.chat_template_utils import render_jinja_template

        turns = [{"role": "user", "content": STAND_IN}]
        turns += [{"role": "assistant", "content": REPLY}] if is_answered else []
        (rendered,), _ = render_jinja_template(
            conversations=[turns],
            chat_template=self.text,
            add_generation_prompt=not is_answered,
            **{**self.special_tokens, **_with_clock(chat)},
        )
        before, has_words, rest = str(rendered).partition(STAND_IN)
        behind, has_reply, after = rest.partition(REPLY)
        if not has_words or (is_answered and not has_reply):
            raise UserError("the model's chat template leaves out the message it is given")
        return before, behind, after


def find_template(source: ModelSource) -> ChatTemplate | None:
    if (config := read_json(source, "tokenizer_config.json")) is None:
        return None
    file = read_file(source, "chat_template.jinja") or b""
    text = file.decode() or config.get("chat_template") or ""
    if isinstance(text, list):  # several, by name
        text = next((variant["template"] for variant in text if variant["name"] == "default"), "")
    tokens = {name: value for name, value in config.items() if name.endswith("_token")}
    words = {n: v.get("content") if isinstance(v, dict) else v for n, v in tokens.items()}
    return ChatTemplate(text, {name: v for name, v in words.items() if isinstance(v, str)})


def settled(source: ModelSource, template: ChatTemplate | None) -> ModelSource:
    """The source with what its chat template asks for, where the user leaves that open."""
    if source.chat is None:
        return source
    if template is not None and not template.text:
        if labels_of(source):  # it reads pairs of texts
            return replace(source, reply="")
        raise UserError(_lacks_template(f"model {source.source}"))
    chat, reply = dict(source.chat), source.reply
    if template is None or not _HABITS.search(template.text):
        # what is not known here the engine finds, and the first question how the model answers
        return replace(source, chat=chat, reply=reply or "")
    if reply is None and labels_of(source):
        reply = ""
    from jinja2 import TemplateError

    try:
        if CLOCK in template.text:
            one, other = (template.around({CLOCK: day, **chat}) for day in (DATE, "1999-12-31"))
            if one != other:
                chat[CLOCK] = DATE
        if reply is None and THINKING not in chat:
            off = chat | {THINKING: False}
            # where thinking is off anyway, nothing is set, and the model's identity stays
            if THINKING in template.text and template.around(off)[1] != template.around(chat)[1]:
                chat = off
            reply = _lacking(template, chat)
    except TemplateError as error:
        message = f"its chat template cannot be rendered: {error}"
        raise UserError(f"model {source.source}: {message}") from None
    return replace(source, chat=chat, reply=reply or "")


def _lacking(template: ChatTemplate, chat: Mapping[str, Any]) -> str:
    _, tail, _ = template.around(chat)
    _, before_reply, _ = template.around(chat, is_answered=True)
    rest = before_reply.removeprefix(tail) if before_reply.startswith(tail) else ""
    if rest.strip() or END_OF_BLOCK in tail:  # else white space, as `[/INST] Yes` has it
        return rest
    if match := OPEN_BLOCK.search(tail):
        return f"\n</{match[1]}>\n\n"
    # it takes blocks out of replies that are known, so its model writes some
    return EMPTY_BLOCK if END_OF_BLOCK in template.text else ""


def _with_clock(switches: Mapping[str, Any]) -> dict[str, Any]:
    if CLOCK not in switches:
        return dict(switches)
    try:
        day = date.fromisoformat(str(switches[CLOCK]))
    except ValueError as error:
        raise UserError(
            f"model.chat.{CLOCK}: a date such as 2024-07-26 is needed: {error}"
        ) from None
    return {**switches, CLOCK: day.strftime}
