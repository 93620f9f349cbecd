"""The tokenizer and the chat template of a server, by what its own routes say of them.

So prompts go as token ids, and `<pad>` written in a document stays text: what looks like a special
token and is one is cut in two before it is tokenised.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evaljudge.engines.endpoint.client import Client, Unanswered
from evaljudge.engines.source import THINKING
from evaljudge.engines.template import COMPLETION_TAIL, ChatTemplate, Template
from evaljudge.engines.tokens import REMEMBERED_PARTS, WORD, Ids, Texts

OURS, THEIRS = "Zqours", "Zqtheirs"  # stand-ins that any tokenizer gives back
LIKE_SPECIAL = re.compile(r"(?P<lead>[<[]\W*)([^<>\n]{1,60}>|[A-Za-z_]{2,40}\])")
SPECIAL_WORDS = (
    "s|pad|unk|bos|eos|cls|sep|mask|think|(start|end)_of_\\w+|begin_of_\\w+|(tool|function)_\\w+"
)
AS_TEXT = re.compile(
    rf"<(?=[|｜])|(?<=[|｜])(?=>)|<(?=/?({SPECIAL_WORDS})>)|\[(?=/?[A-Z_]{{2,40}}\])"
)


def neutralised(text: str) -> str:
    """A text in which nothing is spelt as servers spell special tokens: `< |im_end| >`, `< s>`."""
    return AS_TEXT.sub(r"\g<0> ", text)


class ServedTexts(Texts):
    """Called from threads, never from the client's own loop."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__(None)
        self._client, self._name, self.is_probing = client, name, True
        self.marked = lru_cache(REMEMBERED_PARTS)(self._marked)  # type: ignore[method-assign]
        self.is_special = lru_cache(None)(self._is_special)

    def asked(self, path: str, **what: Any) -> Mapping[str, Any]:
        body = {"model": self._name} | what
        return self._client.wait(self._client.ask(path, body, is_probe=self.is_probing))

    def tokens(self, text: str, *, begins: bool = False) -> Ids:
        """`begins`: with what the tokenizer puts before every text."""
        reply = self.asked("/tokenize", prompt=text, add_special_tokens=begins)
        return as_ids(reply.get("tokens"))

    def _marked(self, text: str) -> Ids:
        return self.tokens(text) if text else ()

    def _is_special(self, spelling: str) -> bool:
        """A special token is one wherever it stands; a word of the vocabulary, by itself alone."""
        ids = self.marked(spelling)
        return len(ids) == 1 and ids[0] in self.marked(f"{WORD}{spelling}{WORD}")

    def _encode(self, text: str) -> Ids:
        return self.marked(text)

    def _text(self, text: str, after: str = "") -> Ids:
        spelt = (m for m in LIKE_SPECIAL.finditer(text) if self.is_special(m[0]))
        # before the first letter, where most tokenizers cut anyway: `</` and `s>`
        return self._cut_at((m.end("lead") - 1 for m in spelt), text, after)

    def last_words(self, text: str) -> str:
        """What follows the last special token."""
        ends = (m.end() for m in LIKE_SPECIAL.finditer(text) if self.is_special(m[0]))
        return text[max(ends, default=0) :]


def as_ids(value: Any) -> Ids:
    if not isinstance(value, list) or not all(isinstance(i, int) for i in value):
        raise Unanswered("it gives no token ids")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class ServedTemplate(ChatTemplate):
    texts: ServedTexts

    def rendered(self, chat: Mapping[str, Any], *, is_answered: bool = False) -> tuple[str, Ids]:
        turns = [{"role": "user", "content": OURS}]
        turns += [{"role": "assistant", "content": THEIRS}] if is_answered else []
        reply = self.texts.asked(
            "chat/completions",
            messages=turns,
            add_generation_prompt=not is_answered,
            chat_template_kwargs=dict(chat),
            max_tokens=1,
            return_prompt_text=True,
            return_token_ids=True,
        )
        return str(reply.get("prompt_text") or ""), as_ids(reply.get("prompt_token_ids"))

    def around(self, chat: Mapping[str, Any], *, is_answered: bool = False) -> tuple[str, str, str]:
        text, _ = self.rendered(chat, is_answered=is_answered)
        before, _, rest = text.partition(OURS)
        behind, _, after = rest.partition(THEIRS)
        return before, behind, after


def templated(texts: ServedTexts) -> ServedTemplate:
    return ServedTemplate(THINKING, {}, texts)  # whether it reads this switch, its renderings tell


def served_template(texts: ServedTexts, switches: Mapping[str, Any] | None, reply: str) -> Template:
    """The template around our prompts (template.py); refused where its ids do not come out as the
    server renders them."""
    head_text, tail_text, rendered = "", COMPLETION_TAIL, Ids()
    head, ends = Ids(), Ids()
    if switches is None:
        plain, begun = texts.marked(WORD), texts.tokens(WORD, begins=True)
        head = begun[: -len(plain)] if begun[-len(plain) :] == plain else ()
    else:
        template = templated(texts)
        _, rendered = template.rendered(switches)
        head_text, tail_text, _ = template.around(switches)
        head = texts.marked(head_text)
        _, _, after_reply = template.around(switches, is_answered=True)
        if (end := LIKE_SPECIAL.match(after_reply)) and texts.is_special(end[0]):
            ends = texts.marked(end[0])
    head_words = texts.last_words(head_text)

    whole = head + texts.text(OURS, head_words) + texts.following(tail_text)
    if rendered and whole != rendered:
        raise Unanswered("its tokenizer reads its chat template otherwise in parts")
    text = tail_text + reply
    tail = texts.following(text), text, texts.last_words(text)
    return Template(head, head_words, *tail, frozenset(ends), head_text)
