"""An endpoint as a model: `write`, `choose` and `weigh` over HTTP.

What content makes impossible, or the server refuses or garbles for one request, is a Failed reply;
a server that is gone for too long ends the run (client.py).
"""

import asyncio
import json
from collections.abc import Callable, Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from math import inf
from operator import itemgetter
from typing import Any, TypeVar, cast

from evaljudge.engines.endpoint.bounds import TopTokens, read_samples, read_shown
from evaljudge.engines.endpoint.client import Client, Json, Unanswered
from evaljudge.engines.endpoint.served import Served, of_ids, reading, reading_ids
from evaljudge.engines.endpoint.texts import as_ids, neutralised
from evaljudge.engines.labels import CompiledOptions, Node, compile_options
from evaljudge.engines.sentences import Prepared
from evaljudge.engines.source import LowMass, ModelSource
from evaljudge.engines.template import COMPLETION_TAIL, DrawKey, Rendered, Template
from evaljudge.engines.thinking import Thinker
from evaljudge.engines.tokens import REMEMBERED_PARTS, Ids
from evaljudge.model.asks import (
    Chosen,
    Failed,
    Options,
    Prompt,
    Sample,
    Spent,
    Token,
    Weighed,
    Writing,
    Written,
    sound,
    weighed,
)

R = TypeVar("R")
Asked = Rendered | str  # a prompt as the server takes it: with token ids, or as text
FIRST_TOKENS = 8
MOST_TOKENS = 24  # the most of a reply that is read to tell options apart
ALIKE = 0.01


class EndpointModel(Prepared[CompiledOptions | None]):
    cache_block: int | None = None

    def __init__(self, client: Client, served: Served, source: ModelSource, seed: int) -> None:
        super().__init__(self._compile)
        self._client, self._served, self._seed = client, served, seed
        self._exactness, self._widest = source.exactness, client.endpoint.widest
        self._threads = ThreadPoolExecutor(16)
        """In which texts are tokenised, each with a request of its own."""
        self._neutralised = lru_cache(REMEMBERED_PARTS)(neutralised)

    def _compile(self, options: Options) -> CompiledOptions | None:
        served = self._served
        if served.template is None or served.texts is None:
            return None
        template = served.thinker.after if served.thinker else served.template
        return compile_options(options, served.texts, template)

    async def low_mass(self, prompt: Prompt, options: Options, least: float) -> LowMass | None:
        (chosen,) = await self.choose([prompt], options)
        if isinstance(chosen, Failed) or chosen.mass + chosen.left_out >= least:
            return None
        if chosen.thoughts:
            return LowMass(chosen.mass, chosen.thoughts[0].text)
        (written,) = await self.write([prompt], Writing(FIRST_TOKENS))
        return LowMass(chosen.mass, "" if isinstance(written, Failed) else written.text)

    def close(self) -> None:
        self._encoders.close()
        self._client.close()
        self._threads.shutdown()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        body = {"temperature": how.temperature, "top_p": how.top_p} | self._form(how)

        async def written(asked: Asked) -> Written | Failed:
            answers, spent = await self._answers(asked, how.n, how.max_tokens, **body)
            return Written(tuple(Sample(*answer) for answer in answers), spent)

        return await self._each([(prompt, None) for prompt in prompts], how.max_tokens, written)

    def _form(self, how: Writing, ends: Collection[int] = ()) -> Json:
        """The reply's form, and for prompts of ids all that else the server would choose."""
        if (template := self._served.template) is None:
            schema = {"name": "reply", "strict": True, "schema": json.loads(how.schema or "{}")}
            as_json = {"type": "json_schema", "json_schema": schema}
            return {"response_format": as_json} if how.schema else {}
        usual: Json = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "min_tokens": 1}
        usual |= {"presence_penalty": 0.0, "frequency_penalty": 0.0}
        usual |= {"stop_token_ids": sorted(ends)} if (ends := ends or template.ends) else {}
        form: Json = {"regex": how.regex} if how.regex else {}
        if how.schema:
            form = {"json": json.loads(how.schema), "disable_any_whitespace": True}
        return usual | ({"structured_outputs": form} if form else {})

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        labels, thinker = self._compiled(options), self._served.thinker
        room = labels.deepest + 1 if labels else MOST_TOKENS
        before = thinker.before if thinker else None
        room += thinker.room if thinker else 0

        async def chosen(asked: Asked) -> Chosen | Failed:
            if labels and isinstance(asked, Rendered):
                read: Chosen | Failed
                read = await (self._think if thinker else self._read_exactly)(asked, labels)
            else:
                read = await self._read_partly(asked, options)
            if not thinker and isinstance(read, Chosen) and read.within > (widest := self._widest):
                close = f"the answers' probabilities are known only to within {read.within:.2g}"
                return Failed(f"{close}, and `widest` is {widest:g}", read.spent)
            return read if isinstance(read, Failed) else sound(read, samples)

        return await self._each([(prompt, None) for prompt in prompts], room, chosen, before)

    async def _think(self, asked: Rendered, labels: CompiledOptions) -> Chosen | Failed:
        """What answers are after each of the thoughts; of two equal ones one is read."""
        thinker = cast(Thinker, self._served.thinker)
        how, ends = thinker.writing, thinker.ends
        body = {"temperature": how.temperature, "top_p": how.top_p, "n": how.n}
        body |= {"return_token_ids": True} | self._form(how, ends)
        reply = await self._ask(asked, how.max_tokens, **body)
        with reading():
            thoughts = [(_thought(c, ends), str(c["text"])) for c in reply["choices"]]
        begun = [thinker.closed(asked, ids) for ids, _ in thoughts]
        several = {each.ids: each for each in begun}
        read = {ids: await self._read_exactly(each, labels) for ids, each in several.items()}
        spent = self._served.spent(reply) + tuple(s for each in read.values() for s in each.spent)
        answers, key = [read[each.ids] for each in begun], DrawKey(self._seed, asked.parts)
        return thinker.answer(answers, thoughts, spent, key)

    async def _read_exactly(self, asked: Rendered, labels: CompiledOptions) -> Chosen:
        """Node by node of the options' trie, as far as `exactness` needs it (labels.py)."""
        found, replies = dict[Ids, dict[int, float]](), list[Json]()
        further: Sequence[Node] = [labels.root]
        while True:
            for node in further:
                ids = asked.ids + node.path
                replies.append(await self._ask(ids, 1, **reading_ids(node.ids)))
                with reading():
                    row = of_ids(self._served.rows(replies[-1])[0])
                    found[node.path] = {i: row[i] for i in node.ids}
            logprobs, left_out, further = labels.read(found, self._exactness)
            if not further:
                spent, key = self._served.spent(*replies), DrawKey(self._seed, asked.parts)
                return Chosen(logprobs, (), spent, key, left_out)

    async def _read_partly(self, asked: Asked, options: Options) -> Chosen | Failed:
        served, longest = self._served, min(MOST_TOKENS, max(map(len, options.names)) + 2)
        key = f"{self._seed} {asked}"
        if not served.top:
            wanted = self._client.endpoint.samples
            answers, spent = await self._answers(asked, wanted, longest, temperature=1.0)
            known = read_samples(options, [text for text, _ in answers])
            return known if isinstance(known, Failed) else known.chosen(key, spent)
        how = served.log_probabilities(served.top)
        replies = [await self._ask(asked, 1, temperature=1.0, **how)]
        first = served.rows(replies[0])[:1]
        known = read_shown(options, first, served.top)
        if not isinstance(known, Failed) and known.goes_on:
            replies.append(await self._ask(asked, longest, temperature=0.0, **how))
            rows = served.rows(replies[-1])
            if rows and _alike(first[0], rows[0]):  # else it shows what the temperature made
                rows[0] = TopTokens(rows[0].token, first[0].shown)
                known = read_shown(options, rows, served.top)
        return known if isinstance(known, Failed) else known.chosen(key, served.spent(*replies))

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        async def reply_to(asked: Asked) -> Weighed | Failed:
            if not isinstance(asked, Rendered):
                return Failed("this server gives no log-probabilities of a text that is given")
            reply = await self._ask(asked, 1, temperature=0.0, prompt_logprobs=0)
            spent, tokens, end = self._served.spent(reply), list[Token](), 0
            with reading():
                rows = reply["choices"][0]["prompt_logprobs"][asked.text_at :]
                for row, token in zip(rows, asked.ids[asked.text_at :], strict=True):
                    start, end = end, end + len(row[f"{token}"]["decoded_token"])
                    tokens.append(Token(start, end, float(row[f"{token}"]["logprob"])))
            return weighed(tuple(tokens), spent)

        return await self._each(list(zip(prompts, texts, strict=True)), 1, reply_to)

    async def _each(
        self,
        prompts: Sequence[tuple[Prompt, str | None]],
        room: int,
        work: Callable[[Asked], Coroutine[Any, Any, R | Failed]],
        template: Template | None = None,
    ) -> list[R | Failed]:
        """Ask in the order of the prompts' beginnings, which a server may keep; answer in the order
        of the prompts. The first error of the run itself ends all."""
        loop, template = asyncio.get_running_loop(), template or self._served.template
        render = partial(self._rendered, prompts, room, template)
        rendered = await loop.run_in_executor(self._threads, render) if template else render()
        asked = {n: one for n, one in enumerate(rendered) if not isinstance(one, Failed)}
        replies: dict[int, R | Failed]
        replies = {n: one for n, one in enumerate(rendered) if isinstance(one, Failed)}

        async def ask(place: int) -> None:
            try:
                replies[place] = await work(asked[place])
            except Unanswered as error:
                replies[place] = Failed(error.reason)

        async def ask_all() -> None:
            try:
                async with asyncio.TaskGroup() as group:
                    for place in sorted(asked, key=lambda n: cast(Any, _prompt(asked[n]))):
                        group.create_task(ask(place))
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None

        await self._client.run(ask_all())
        return [replies[place] for place in range(len(prompts))]

    def _rendered(
        self, prompts: Sequence[tuple[Prompt, str | None]], room: int, template: Template | None
    ) -> list[Asked | Failed]:
        served, made = self._served, list[Asked | Failed]()
        texts = served.texts
        for prompt, text in prompts:
            if template is None or texts is None:
                tail = "" if served.is_chat else COMPLETION_TAIL + served.reply
                made.append("".join([*map(self._neutralised, prompt.parts), tail]))
                continue
            try:
                made.append(template.render(prompt, texts, room, served.context or inf, text))
            except Unanswered as error:
                made.append(Failed(error.reason))
        return made

    async def _ask(self, asked: Asked | Ids, most: int, **how: Any) -> Json:
        reply = await self._served.ask(self._client, _prompt(asked), most, **how)
        with reading():
            ends = {choice.get("finish_reason") for choice in reply["choices"]}
        if odd := ends - {None, "stop", "length"}:
            raise Unanswered(f"the server gave the reply up: {odd.pop()}")
        return reply

    async def _answers(
        self, asked: Asked, wanted: int, most: int, **how: Any
    ) -> tuple[list[tuple[str, Any]], tuple[Spent, ...]]:
        """So many answers, each with why it ended; some servers give one, whatever `n` is."""
        answers, replies = list[tuple[str, Any]](), list[Json]()
        while len(answers) < wanted:
            more = {"n": wanted - len(answers)} if wanted > 1 else {}
            replies.append(await self._ask(asked, most, **how, **more))
            answers += self._served.answers(replies[-1])
        return answers[:wanted], self._served.spent(*replies)


def _prompt(asked: Asked | Ids) -> Ids | str:
    return asked.ids if isinstance(asked, Rendered) else asked


def _thought(choice: Json, ends: frozenset[int]) -> Ids:
    """The ids of a thought, without a token of which only the server knows that it ends a turn."""
    ids = as_ids(choice["token_ids"])
    stopped_by = {*ids[-1:]} & {choice.get("stop_reason")}
    return ids[:-1] if stopped_by - ends else ids


def _alike(one: TopTokens, other: TopTokens) -> bool:
    text, value = max(one.shown, key=itemgetter(1))
    return abs(value - dict(other.shown).get(text, inf)) < ALIKE
