"""The tokenizer and the chat template of a server, by its own routes `/tokenize` and `/detokenize`.

So prompts go as token ids, and `<pad>` written in a document stays text: what looks like a special
token and is one (it is a single token) is cut in two before it is tokenised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evaljudge.engines.endpoint.client import Client, Unanswered
from evaljudge.engines.template import COMPLETION_TAIL, THINKING, ChatTemplate, Template
from evaljudge.engines.tokens import REMEMBERED_PARTS, WORD, Ids, Texts

OURS, THEIRS = "Zqours", "Zqtheirs"
"""Stand-ins that any tokenizer gives back."""
LIKE_SPECIAL = re.compile(r"<[^<>\n]{1,60}>|\[/?[A-Za-z_]{2,40}\]")
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
        self._is_special = lru_cache(None)(lambda spelling: len(self.marked(spelling)) == 1)

    def tokens(self, **what: Any) -> Ids:
        ids = self._asked("/tokenize", what).get("tokens")
        if not isinstance(ids, list) or not all(isinstance(i, int) for i in ids):
            raise Unanswered("its /tokenize gives no token ids")
        return tuple(ids)

    def words(self, ids: Ids) -> str:
        return str(self._asked("/detokenize", {"tokens": list(ids)}).get("prompt", ""))

    def _asked(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        asking = self._client.ask(path, {"model": self._name} | body, is_probe=self.is_probing)
        return self._client.wait(asking)

    def _marked(self, text: str) -> Ids:
        return self.tokens(prompt=text, add_special_tokens=False) if text else ()

    def _encode(self, text: str) -> Ids:
        return self.marked(text)

    def _text(self, text: str, after: str = "") -> Ids:
        spelt = (m.start() for m in LIKE_SPECIAL.finditer(text) if self._is_special(m[0]))
        return self._cut_at(spelt, text, after)

    def last_words(self, text: str) -> str:
        """What follows the last special token."""
        ends = (m.end() for m in LIKE_SPECIAL.finditer(text) if self._is_special(m[0]))
        return text[max(ends, default=0) :]


@dataclass(frozen=True, slots=True)
class ServedTemplate(ChatTemplate):
    texts: ServedTexts

    @classmethod
    def of(cls, texts: ServedTexts) -> ServedTemplate:
        return cls(THINKING, {}, texts)  # whether it reads this switch, its renderings tell

    def rendered(self, chat: Mapping[str, Any], *, is_answered: bool = False) -> Ids:
        turns = [{"role": "user", "content": OURS}]
        turns += [{"role": "assistant", "content": THEIRS}] if is_answered else []
        how = {"add_generation_prompt": not is_answered, "chat_template_kwargs": dict(chat)}
        return self.texts.tokens(messages=turns, **how)

    def around(self, chat: Mapping[str, Any], *, is_answered: bool = False) -> tuple[str, str, str]:
        rendered = self.texts.words(self.rendered(chat, is_answered=is_answered))
        before, _, rest = rendered.partition(OURS)
        behind, _, after = rest.partition(THEIRS)
        return before, behind, after


def served_template(texts: ServedTexts, chat: Mapping[str, Any] | None, reply: str) -> Template:
    """The template around our prompts (template.py); refused where its ids do not come out as the
    server renders them."""
    head: Ids = ()
    head_text, tail_text, ends, rendered = "", COMPLETION_TAIL, Ids(), Ids()
    if chat is None:
        plain, begun = texts.marked(WORD), texts.tokens(prompt=WORD, add_special_tokens=True)
        head = begun[: -len(plain)] if begun[-len(plain) :] == plain else ()
    else:
        template = ServedTemplate.of(texts)
        rendered = template.rendered(chat)
        head_text, tail_text, _ = template.around(chat)
        head = texts.marked(head_text)
        _, _, after_reply = template.around(chat, is_answered=True)
        first = texts.marked(after_reply)[:1]
        ends = first if LIKE_SPECIAL.fullmatch(texts.words(first)) else ()
    head_words = texts.last_words(head_text)

    def tail(text: str) -> Ids:
        return texts.marked(WORD + text)[len(texts.marked(WORD)) :]

    if rendered and head + texts.text(OURS, head_words) + tail(tail_text) != rendered:
        raise Unanswered("its tokenizer does not give back what its chat template renders")
    tail_text += reply
    words = texts.last_words(tail_text)
    return Template(head, head_words, tail(tail_text), tail_text, words, frozenset(ends), head_text)
