"""What a server can, found out by one probe of a few short questions before anything is judged.

    Served(name="qwen", model="qwen", way="exact to 0.0001 by token ids", …)

Probabilities come in the first of three ways that the server has: exact ones of given tokens, after
a prompt of token ids; the most probable tokens, and so bounds; answers that are drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

from evaljudge.engines.endpoint.bounds import TopTokens
from evaljudge.engines.endpoint.client import Client, Json, Unanswered
from evaljudge.engines.endpoint.texts import ServedTexts, served_template, templated
from evaljudge.engines.source import ModelSource
from evaljudge.engines.template import Template, settled
from evaljudge.engines.thinking import Thinker
from evaljudge.engines.tokens import WORD, Ids
from evaljudge.errors import GivenUp, UserError
from evaljudge.model.asks import Spent

HINTS = {
    401: "`key` names the variable that holds the key, `header` how it is sent (Azure: api-key)",
    404: "`url` ends where chat/completions begins, often in /v1; without `name` models are listed",
}
THINKS = "it thinks before it answers: switch that off there or by `chat`, or name another model"
TOPS = (20, 5, 0)
"""How many of the most probable tokens are asked for: OpenAI shows 20, some servers 5."""
LIMITS = ("max_tokens", "max_completion_tokens")
PROBE = "Answer with one word: is water wet, Yes or No?"


@dataclass(frozen=True)
class Served:
    name: str
    model: str  # as the server names it in its replies
    way: str = ""
    template: Template | None = None  # where prompts go as token ids
    texts: ServedTexts | None = None
    chat: Mapping[str, Any] | None = field(default_factory=dict)
    reply: str = ""
    is_chat: bool = True  # prompts go as messages; else as text or ids to be completed
    limit: str = "max_tokens"
    top: int = 0
    is_fixed: bool = False  # it refuses a temperature of the asker's
    context: int | None = None
    thinker: Thinker | None = None

    async def ask(
        self, client: Client, prompt: Ids | str, most: int, *, is_probe: bool = False, **how: Any
    ) -> Json:
        asked: Json = {"prompt": prompt}
        if self.is_chat:
            asked = {"messages": [{"role": "user", "content": prompt}]}
            asked |= {"chat_template_kwargs": dict(self.chat)} if self.chat else {}
        body = {"model": self.name, self.limit: most, **asked, **how}
        for name in ("temperature", "top_p") if self.is_fixed else ():
            body.pop(name, None)
        path = "chat/completions" if self.is_chat else "completions"
        reply = await client.ask(path, body, is_probe=is_probe)
        if is_probe:
            client.question = path, body
        named = reply.get("model")
        if self.model and named and named != self.model:
            raise GivenUp(
                f"endpoint {client.endpoint.url}: the model is {named!r} now, and was "
                f"{self.model!r}: a run has one model; begin another in another `out`"
            )
        return reply

    def log_probabilities(self, top: int) -> Json:
        return {"logprobs": True, "top_logprobs": top} if self.is_chat else {"logprobs": top}

    def rows(self, reply: Json) -> list[TopTokens]:
        """The tokens shown in each place of the reply; none where the server shows none."""
        with reading():
            shown = reply["choices"][0].get("logprobs") or {}
            if self.is_chat:
                return [
                    TopTokens(place["token"], [(t["token"], float(t["logprob"])) for t in tokens])
                    for place in shown.get("content") or []
                    if (tokens := place.get("top_logprobs"))
                ]
            places = zip(shown.get("tokens") or [], shown.get("top_logprobs") or [], strict=False)
            return [
                TopTokens(token, [(text, float(value)) for text, value in tokens.items()])
                for token, tokens in places
                if tokens
            ]

    def answers(self, reply: Json) -> list[tuple[str, str]]:
        with reading():
            said = [
                c["message"].get("content") if self.is_chat else c["text"] for c in reply["choices"]
            ]
            _, ends = said[0], [choice["finish_reason"] for choice in reply["choices"]]
            return [(text or "", end) for text, end in zip(said, ends, strict=True)]

    def spent(self, *replies: Json) -> tuple[Spent, ...]:
        usages = [reply.get("usage") or {} for reply in replies]
        return tuple(
            Spent(
                int(usage.get("prompt_tokens") or 0),
                int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
                int(usage.get("completion_tokens") or 0),
            )
            for usage in usages
        )


@contextmanager
def reading() -> Iterator[None]:
    """A reply that lacks what is read in this block is none."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__} {error}"
        raise Unanswered(f"the reply is not as the API has it: {what[:80]}") from None


def of_ids(row: TopTokens) -> dict[int, float]:
    """A row that names its tokens by their ids: `token_id:271`."""
    with reading():
        return {int(token.removeprefix("token_id:")): value for token, value in row.shown}


def reading_ids(ids: Sequence[int]) -> Json:
    return {
        "temperature": 0.0,
        "logprobs": 1,
        "logprob_token_ids": list(ids),
        "return_tokens_as_token_ids": True,
    }


def find_out(client: Client, source: ModelSource) -> Served:
    """Called from a thread, not from the client's own loop."""
    url = client.endpoint.url
    try:
        name, context = _name(client, "" if source.source == url else source.source)
        if served := _by_ids(client, source, name, context):
            return served
        if source.thinking:
            raise Unanswered("`thinking` reads probabilities after token ids, which it does not "
                             "take: leave it out, or take a server that does")  # fmt: skip
        return _by_text(client, source, name)
    except Unanswered as error:
        hint = f"; {HINTS[error.status]}" if error.status in HINTS else ""
        raise UserError(f"endpoint {url}: {error.reason}{hint}") from None


def _name(client: Client, wanted: str) -> tuple[str, int | None]:
    try:
        listed = client.wait(client.ask("models", is_probe=True)).get("data")
    except Unanswered as error:
        if not error.status:
            raise Unanswered(f"it cannot be asked: {error.reason}") from None
        listed = None
    with reading():
        known = {str(model["id"]): model.get("max_model_len") for model in listed or ()}
    if not wanted and len(known) != 1:
        has = f"it has {', '.join(list(known)[:5])}" if known else "it lists none"
        raise Unanswered(f"name the model, `name: …` beside `endpoint`: {has}")
    name = wanted or next(iter(known))
    return name, known.get(name)


def _by_ids(client: Client, source: ModelSource, name: str, context: int | None) -> Served | None:
    """None where the server takes no token ids, or shows no probabilities of given ones."""
    try:
        texts = ServedTexts(client, name)
        asked = settled(source, templated(texts))
        template = served_template(texts, asked.chat, asked.reply or "")
        thinker = None
        if source.thinking:
            read, made = partial(served_template, texts), (source.thinking, templated(texts))
            thinker = Thinker(*made, asked.chat or {}, read, texts)
        ids = (*template.head, *texts.marked(WORD), *template.tail)
        kind = Served(name, "", is_chat=False)
        wanted = sorted({*ids})[:4]
        how = reading_ids(wanted) | {"prompt_logprobs": 0}
        reply = client.wait(kind.ask(client, ids, 1, is_probe=True, **how))
        if not {*wanted} <= of_ids(kind.rows(reply)[0]).keys():
            return None
        with reading():
            _ = reply["choices"][0]["prompt_logprobs"][-1][f"{ids[-1]}"]["logprob"]
    except (Unanswered, IndexError):
        return None
    texts.is_probing = False
    exact = f"exact to {source.exactness:g} by token ids"
    served = (name, str(reply.get("model", "")), exact, template, texts, asked.chat)
    return Served(*served, asked.reply or "", is_chat=False, context=context, thinker=thinker)


def _by_text(client: Client, source: ModelSource, name: str) -> Served:
    refusal = Unanswered("it has neither chat nor completions")
    for is_chat in (True, False) if source.chat is not None else (False,):
        if is_chat and source.reply:
            raise Unanswered("its chat route has no place for `reply`: leave it out")
        for limit, top in product(LIMITS, TOPS):
            chat, reply = source.chat, source.reply or ""
            served = Served(name, "", "", None, None, chat, reply, is_chat, limit)
            how = served.log_probabilities(top) if top else {}
            try:
                asking = served.ask(client, PROBE, 1, is_probe=True, temperature=1.0, **how)
                answer = client.wait(asking)
                rows = served.rows(answer)
                shown = min(top, len(rows[0].shown)) if rows else 0
            except Unanswered as error:
                if error.status == 404:  # not this route, or not this model
                    refusal = refusal if refusal.status else error
                    break
                refusal = error
                continue
            with reading():
                said = answer["choices"][0].get("message") or {}
            if not said.get("content") and (said.get("reasoning") or said.get("reasoning_content")):
                raise Unanswered(THINKS)
            samples = f"{client.endpoint.samples} sampled answers, with their standard error"
            way = f"bounds by the top {shown} tokens" if shown else samples
            way = f"{way} (widest {client.endpoint.widest:g})"
            if is_fixed := _refuses(client, served, temperature=0.0, top_p=1.0):
                way += ", at a temperature of its own"
            model = str(answer.get("model", ""))
            return replace(served, model=model, way=way, top=shown, is_fixed=is_fixed)
    raise refusal


def _refuses(client: Client, served: Served, **how: Any) -> bool:
    try:
        client.wait(served.ask(client, PROBE, 1, is_probe=True, **how))
    except Unanswered as error:
        return error.status in (400, 422)
    return False
