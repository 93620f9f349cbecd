"""vLLM as a model: `write`, `choose`, `weigh` and `rate` over token ids, on both builds.

Prompts reach the engine as ids, sorted so that those sharing the longest prefix follow each other
and the prefix cache serves them; and those about a document that was asked about earlier come
before those about a later one. What content makes impossible is a Failed reply; anything else
that goes wrong in the engine raises EngineDead.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from itertools import count
from sys import maxsize
from typing import Any, TypeVar

from evaljudge.engines.adapter import adapter_request
from evaljudge.engines.checkpoint import labels_of
from evaljudge.engines.internals import (
    CPU_BUILD,
    cached_block,
    context_of,
    installed_build,
    name_blocks,
    stops_of,
    takes_rows,
)
from evaljudge.engines.labels import CompiledOptions, Reading, compile_options
from evaljudge.engines.loop import Request, Steps
from evaljudge.engines.sampling import Sampling
from evaljudge.engines.sentences import Prepared
from evaljudge.engines.source import LowMass, ModelSource
from evaljudge.engines.template import (
    ChatTemplate,
    DrawKey,
    Rendered,
    Template,
    pair_template,
    read_template,
)
from evaljudge.engines.thinking import Thinker
from evaljudge.engines.tokens import Beginning, Ids, Tokeniser
from evaljudge.model.asks import (
    Chosen,
    Failed,
    ModelRating,
    Options,
    Prompt,
    Rating,
    Sample,
    Spent,
    Weighed,
    Writing,
    Written,
    rated,
    sound,
    weighed,
)

R = TypeVar("R")
FIRST_TOKENS = 8
"""How much of a reply is shown where a model answers otherwise than it was asked."""
REMEMBERED_TURNS = 4096


class VllmModel(Prepared[CompiledOptions]):
    def __init__(self, engine: Any, tokeniser: Tokeniser, source: ModelSource, seed: int) -> None:
        self._tokeniser, self._seed, self.exactness = tokeniser, seed, source.exactness
        self._labels, reply = labels_of(source), source.reply or ""
        self._template: Template = read_template(
            tokeniser, source.chat, stops_of(engine), reply, rates=bool(self._labels)
        )
        self._context, self.cache_block = context_of(engine), cached_block(engine)
        self._beginning = Beginning(self.cache_block or maxsize)
        by_rows = takes_rows(engine)
        self._sampling = Sampling(self._template.ends, takes_rows=by_rows)
        # on a CPU the first model runner dies of a seeded prompt that it reads in two steps
        self._takes_seeds = by_rows or installed_build() != CPU_BUILD
        self._thinker: Thinker | None = None
        if source.thinking:
            hf, chat = tokeniser.hf, source.chat or {}
            template = ChatTemplate(hf.get_chat_template(), hf.special_tokens_map)
            read = partial(read_template, tokeniser, stop_ids=stops_of(engine))
            self._thinker = Thinker(source.thinking, template, chat, read, tokeniser)
        before_answers = self._thinker.after if self._thinker else self._template
        super().__init__(partial(compile_options, tokeniser=tokeniser, template=before_answers))
        turns = count()
        self._turn: Callable[[tuple[str, ...]], int]
        self._turn = lru_cache(REMEMBERED_TURNS)(lambda beginning: next(turns))
        name_blocks(engine)
        self._steps = Steps(engine, adapter_request(source))

    async def low_mass(self, prompt: Prompt, options: Options, least: float) -> LowMass | None:
        (chosen,) = await self.choose([prompt], options)
        if isinstance(chosen, Failed) or chosen.mass >= least:
            return None
        asked = self._render(prompt, room=FIRST_TOKENS)
        if isinstance(asked, Failed) or chosen.thoughts:
            return LowMass(chosen.mass, "".join(t.text for t in chosen.thoughts[:1]))
        how = self._sampling.writing(Writing(FIRST_TOKENS), None)
        ((output,),) = await self._steps.ask([(asked.ids, how)])
        decoded = self._tokeniser.backend.decode(
            output.outputs[0].token_ids, skip_special_tokens=False
        )
        return LowMass(chosen.mass, decoded)

    def close(self) -> None:
        self._encoders.close()
        self._steps.close()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        rendered = [self._render(prompt, room=how.max_tokens) for prompt in prompts]

        def reply(asked: Rendered, outputs: list[Any]) -> Written | Failed:
            replies = outputs[0].outputs
            for output in replies:
                if output.finish_reason not in ("stop", "length"):
                    return Failed(f"the engine gave the reply up: {output.finish_reason}")
            samples = tuple(
                Sample(self._tokeniser.words(tuple(output.token_ids)), output.finish_reason)
                for output in replies
            )
            return Written(samples, self._spent(outputs, asked))

        return await self._each(rendered, lambda asked: self._writing(how, asked), reply)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        labels, thinker = self._compiled(options), self._thinker
        room, before = labels.deepest + 1, thinker.before if thinker else None
        room += thinker.room if thinker else 0
        rendered = [self._render(prompt, room, template=before) for prompt in prompts]
        first = self._sampling.reading(labels.root.ids)

        def read(asked: Rendered, outputs: list[Any]) -> Reading:
            found = dict[Ids, Mapping[int, float]]()
            for output in outputs:  # each node of the options' trie, by the ids behind the prompt
                row = output.outputs[0].logprobs[0].items()
                path = tuple(output.prompt_token_ids)[len(asked.ids) :]
                found[path] = {token: float(entry.logprob) for token, entry in row}
            return labels.read(found, self.exactness)

        def request(asked: Rendered) -> Any:
            return self._writing(thinker.writing, asked, thinker.ends) if thinker else first

        def begun(asked: Rendered, outputs: list[Any]) -> list[tuple[Rendered, list[Any]]]:
            """What answers are read after, each with what was read so far."""
            if not thinker:
                return [(asked, outputs)]
            begun = [thinker.closed(asked, tuple(o.token_ids)) for o in outputs[0].outputs]
            there = [(tuple(output.prompt_token_ids), output) for output in outputs[1:]]
            return [(b, [o for ids, o in there if ids[: len(b.ids)] == b.ids]) for b in begun]

        def further(asked: Rendered, outputs: list[Any]) -> list[Request]:
            if len(labels.steps) == 1 and (not thinker or len(outputs) > 1):
                return []
            requests = dict[Ids, Any]()  # of two equal thoughts one is read
            for each, there in begun(asked, outputs):
                for node in read(each, there).further if there else [labels.root]:
                    requests[each.ids + node.path] = self._sampling.reading(node.ids)
            return list(requests.items())

        def reply(asked: Rendered, outputs: list[Any]) -> Chosen | Failed:
            spent, key = self._spent(outputs, asked), DrawKey(self._seed, asked.parts)
            reads = [read(*each) for each in begun(asked, outputs)]
            chosen = [Chosen(each.logprobs, (), spent, key, each.left_out) for each in reads]
            if not thinker:
                return sound(chosen[0], samples)
            thoughts = [tuple(output.token_ids) for output in outputs[0].outputs]
            words = (self._tokeniser.words(thinker.own(ids)) for ids in thoughts)
            answer = thinker.answer(chosen, list(zip(thoughts, words, strict=True)), spent, key)
            return answer.drawn(samples) if isinstance(answer, Chosen) and samples else answer

        return await self._each(rendered, request, reply, further)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        rendered = [self._render(p, 1, text) for p, text in zip(prompts, texts, strict=True)]

        def values_of(asked: Rendered, output: Any) -> tuple[float, ...] | None:
            return self._sampling.of_prompt(output, asked.ids, asked.text_at)

        def request(asked: Rendered, from_cache: bool = True) -> Any:
            return self._sampling.weighing(asked.ids, asked.text_at, from_cache)

        def further(asked: Rendered, outputs: list[Any]) -> list[Request]:
            if len(outputs) > 1 or values_of(asked, outputs[0]) is not None:
                return []
            return [(asked.ids, request(asked, from_cache=False))]

        def reply(asked: Rendered, outputs: list[Any]) -> Weighed | Failed:
            values, spent = values_of(asked, outputs[-1]), self._spent(outputs, asked)
            if values is None:
                return Failed("the engine gave no probability of a token of the text", spent)
            return weighed(self._tokeniser.placed(asked.ids[asked.text_at :], values), spent)

        return await self._each(rendered, request, reply, further)

    async def rate(
        self, prompts: Sequence[Prompt], texts: Sequence[str], how: Rating
    ) -> list[ModelRating | Failed]:
        place, template = how.place(self._labels), self._template
        if how.between is not None:
            template = pair_template(self._tokeniser, how.between)
        asked = zip(prompts, texts, strict=True)
        rendered = [self._render(prompt, 0, text, template) for prompt, text in asked]

        def request(asked: Rendered) -> Any:
            since = asked.text_at - len(template.after)
            return self._sampling.rating(since if template.has_types else None)

        def reply(asked: Rendered, outputs: list[Any]) -> ModelRating | Failed:
            numbers = outputs[0].outputs.data.tolist()
            return rated(how.read(numbers, place), self._spent(outputs, asked))

        return await self._each(rendered, request, reply)

    async def _each(
        self,
        rendered: Sequence[Rendered | Failed],
        request: Callable[[Rendered], Any],
        reply: Callable[[Rendered, list[Any]], R],
        further: Callable[[Rendered, list[Any]], list[Request]] = lambda asked, outputs: [],
    ) -> list[R | Failed]:
        """Ask in the order of the ids, answer in the order of the prompts."""
        asked = {n: one for n, one in enumerate(rendered) if isinstance(one, Rendered)}
        order = sorted(asked, key=lambda n: asked[n].ids)
        requests = [(asked[n].ids, request(asked[n])) for n in order]
        outputs = await self._steps.ask(
            requests,
            lambda place, outputs: further(asked[order[place]], outputs),
            turn=min((one.turn for one in asked.values()), default=0),
        )
        replies = {n: reply(asked[n], mine) for n, mine in zip(order, outputs, strict=True)}
        return [ask if isinstance(ask, Failed) else replies[n] for n, ask in enumerate(rendered)]

    def _render(
        self, prompt: Prompt, room: int, text: str | None = None, template: Template | None = None
    ) -> Rendered | Failed:
        turn, template = self._turn(prompt.parts[: prompt.head + 1]), template or self._template
        return template.render(prompt, self._tokeniser, room, self._context, text, turn)

    def _writing(self, how: Writing, asked: Rendered, ends: Collection[int] = ()) -> Any:
        is_seeded = how.temperature and self._takes_seeds
        seed = int(str(DrawKey(self._seed, asked.parts))[:15], 16) if is_seeded else None
        return self._sampling.writing(how, seed, ends)

    def _spent(self, outputs: Sequence[Any], asked: Rendered) -> tuple[Spent, ...]:
        return tuple(
            Spent(
                prompt=len(output.prompt_token_ids),
                cached=output.num_cached_tokens or 0,
                generated=0 if self._labels else sum(len(one.token_ids) for one in output.outputs),
                blocks=self._beginning.followed_by(tuple(output.prompt_token_ids)).blocks,
                head=asked.head // self._beginning.size,
                block_size=self.cache_block,
            )
            for output in outputs
        )
