"""A model that is asked by files: what it would ask over HTTP are lines, and so are its replies.

    {"custom_id": "4e1d…", "method": "POST", "url": "/v1/chat/completions", "body": {"model": …}}
    {"custom_id": "4e1d…", "response": {"status_code": 200, "body": {"choices": […]}}}

No judge knows of it: it is an endpoint's model with another client, which answers from the replies
that came and notes what else is asked. Where a case asks for one of these it stays open.
"""

import hashlib
import json
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

from evaljudge.engines.endpoint.client import Client, Json, Unanswered
from evaljudge.engines.endpoint.model import EndpointModel
from evaljudge.engines.endpoint.served import Served
from evaljudge.engines.endpoint.settings import Endpoint
from evaljudge.engines.opening import VllmEngines
from evaljudge.engines.source import Identity, LowMass, ModelFacts, ModelSource
from evaljudge.errors import UserError
from evaljudge.model.asks import UNASKED, Options, Prompt

R = TypeVar("R")
TOP = 20
OF_FILES = " of batch files"


class BatchEngines(VllmEngines):
    """`samples`: how many answers are drawn where a provider shows no log-probabilities."""

    def __init__(self, replies: dict[str, Json], samples: int = 0) -> None:
        self.replies, self._samples = replies, samples
        self.asked = dict[str, Json]()

    @property
    def version(self) -> str:
        return "batch files"

    def describe(self, source: ModelSource) -> ModelFacts:
        if source.reply and source.chat is not None:
            raise UserError(f"model {source.source}: batch files have no place for `reply`")
        if source.thinking:
            raise UserError(f"model {source.source}: batch files have no place for `thinking`")
        n, url = self._samples, source.endpoint.url if source.endpoint else ""
        way = f"{n} sampled answers" if n else f"bounds by the top {TOP} tokens"
        named = source.source, source.revision or source.source, source.chat, source.engine
        return ModelFacts(Identity(*named, endpoint=url, way=way + OF_FILES), weighs=False)

    def open(self, source: ModelSource, seed: int) -> EndpointModel:
        samples = int(source.way.split()[0]) if source.way[0].isdigit() else 0
        endpoint = source.endpoint or Endpoint(url="http://localhost")
        endpoint = endpoint.model_copy(update={"samples": samples})
        is_chat, chat = source.chat is not None, source.chat
        limit = "max_completion_tokens" if is_chat else "max_tokens"
        served = Served(
            *(source.source, "", source.way, None, None, chat, source.reply or "", is_chat, limit),
            top=0 if samples else TOP,
        )
        return _BatchModel(cast("Client", _Files(self, endpoint)), served, source, seed)


class _Files:
    def __init__(self, engines: BatchEngines, endpoint: Endpoint) -> None:
        self._engines, self.endpoint = engines, endpoint

    async def run(self, work: Coroutine[Any, Any, R]) -> R:
        return await work

    async def ask(self, path: str, body: Json, *, is_probe: bool = False) -> Json:
        key = hashlib.blake2b(json.dumps([path, body]).encode(), digest_size=20).hexdigest()
        if key in self._engines.replies:
            return self._engines.replies[key]
        line = {"custom_id": key, "method": "POST", "url": f"/v1/{path}", "body": body}
        self._engines.asked[key] = line
        raise Unanswered(UNASKED.reason)

    def close(self) -> None:
        """Nothing is held."""


class _BatchModel(EndpointModel):
    async def low_mass(self, prompt: Prompt, options: Options, least: float) -> LowMass | None:
        """Not known before all is asked."""
