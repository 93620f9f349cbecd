"""A scripted model: callables answer in place of an engine, for tests and scale runs.

Without a script its answers are random but fixed: they depend on the prompt alone, so a run that is
killed and resumed must end like one that was not.
"""

import hashlib
from asyncio import sleep
from collections.abc import Callable, Mapping, Sequence
from math import log

from evaljudge.engines.source import Identity, LowMass, ModelFacts, ModelSource
from evaljudge.errors import UserError, unknown
from evaljudge.model.asks import (
    Chosen,
    Failed,
    ModelRating,
    Options,
    Prompt,
    Rating,
    Sample,
    Spent,
    Vector,
    Weighed,
    Writing,
    Written,
    rated,
    some_vector,
    sound,
    word_tokens,
)
from evaljudge.model.imagining import TokenCounter
from evaljudge.plugins import added_code

Writes = Callable[[Prompt, Writing], str | Failed]


def noise(*seeds: str) -> float:
    """A number in (0, 1) that depends on the seeds alone."""
    digest = hashlib.blake2b("\x1f".join(seeds).encode(), digest_size=8).digest()
    return (int.from_bytes(digest) + 0.5) / 2**64


def any_text(prompt: Prompt, how: Writing) -> str:
    mark = str(int(noise(prompt.text, repr(how)) * 1e9))
    return how.example.replace("{mark}", mark) or f"text {mark}"


def any_option(prompt: Prompt, options: Options) -> Mapping[str, float]:
    weights = {name: noise(prompt.text, name) for name in options.names}
    total = sum(weights.values())
    return {name: log(weight / total) for name, weight in weights.items()}


def any_weight(prompt: Prompt, text: str) -> Sequence[float]:
    return [log(noise(prompt.text, word)) for word in text.split()]


def any_rating(prompt: Prompt, text: str) -> float:
    return noise(prompt.text, text)


class Scripted:
    """Answers with what its callables say; counts each word as a token."""

    cache_block: int | None = None

    def __init__(
        self,
        writes: Writes = any_text,
        chooses: Callable[[Prompt, Options], Mapping[str, float] | Failed] = any_option,
        weighs: Callable[[Prompt, str], Sequence[float] | Failed] = any_weight,
        embeds: Callable[[str], Vector] = some_vector,
        rates: Callable[[Prompt, str], float | Failed] = any_rating,
        delay: float = 0.0,
    ) -> None:
        self._writes, self._chooses, self._weighs = writes, chooses, weighs
        self._embeds, self._rates, self._delay = embeds, rates, delay

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        await sleep(self._delay)
        return [self._written(prompt, self._writes(prompt, how), how) for prompt in prompts]

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        await sleep(self._delay)
        return [self._chosen(prompt, options, samples) for prompt in prompts]

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        await sleep(self._delay)
        replies = [self._weighs(p, t) for p, t in zip(prompts, texts, strict=True)]
        return [
            reply
            if isinstance(reply, Failed)
            else Weighed(word_tokens(text, reply), _words(prompt))
            for prompt, text, reply in zip(prompts, texts, replies, strict=True)
        ]

    async def rate(
        self, prompts: Sequence[Prompt], texts: Sequence[str], how: Rating
    ) -> list[ModelRating | Failed]:
        await sleep(self._delay)
        replies = [(p, self._rates(p, t)) for p, t in zip(prompts, texts, strict=True)]
        return [r if isinstance(r, Failed) else rated(r, _words(p)) for p, r in replies]

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return [self._embeds(text) for text in texts]

    def prepare(self, options: Options) -> None:
        """Any options will do."""

    def prepare_encoder(self, encoder: str) -> None:
        """No encoder is needed."""

    async def low_mass(self, prompt: Prompt, options: Options, least: float) -> LowMass | None:
        """A script is to the point."""

    def close(self) -> None:
        """Nothing is held."""

    def describe(self, source: ModelSource) -> ModelFacts:
        """Asked of `engines`, which a model is not."""
        raise UserError("engines: a Scripted is a model: give ScriptedEngines(lambda: Scripted(…))")

    def _written(self, prompt: Prompt, reply: str | Failed, how: Writing) -> Written | Failed:
        if isinstance(reply, Failed):
            return reply
        return Written((Sample(reply, "stop"),) * how.n, _words(prompt))

    def _chosen(self, prompt: Prompt, options: Options, samples: int) -> Chosen | Failed:
        with added_code("Scripted: its `chooses`", getattr(self._chooses, "__module__", "")):
            reply = self._chooses(prompt, options)
            if isinstance(reply, Failed):
                return reply
            _refuse_other_than_logs(reply, options)
        return sound(Chosen(reply, (), _words(prompt), key=prompt.text), samples)


def _refuse_other_than_logs(reply: object, options: Options) -> None:
    logs = reply if isinstance(reply, Mapping) else {}
    if any(round(logs.get(name, 1), 9) > 0 for name in options.names):
        raise UserError("Scripted: its `chooses` must return the log-probability of each "
                        f"of {options.names}, 0 or less (as log(0.7)): not {reply}")  # fmt: skip


def _words(prompt: Prompt) -> tuple[Spent, ...]:
    return (Spent(len(prompt.text.split()), 0, 1),)


class ScriptedEngines:
    """Opens a scripted model in place of an engine, in the worker; or each by its `source`."""

    version = "scripted 1"

    def __init__(
        self, opens: Callable[[], Scripted] | Mapping[str, Callable[[], Scripted]] = Scripted
    ) -> None:
        self._opens = opens

    def describe(self, source: ModelSource) -> ModelFacts:
        made = (source.source, source.revision or "scripted", source.chat, source.engine)
        return ModelFacts(Identity(*made, reply=source.reply or ""), labels=None)

    def find_encoder(self, encoder: str) -> str:
        return ""

    def token_counter(self, source: ModelSource) -> TokenCounter:
        return lambda prompt, options=None: _words(prompt)

    def fetch(self, source: ModelSource) -> None:
        """There are no files."""

    def open(self, source: ModelSource, seed: int) -> Scripted:
        if not isinstance(self._opens, Mapping):
            return self._opens()
        if source.source not in self._opens:
            raise UserError(f"ScriptedEngines: {unknown('model', source.source, self._opens)}")
        return self._opens[source.source]()
