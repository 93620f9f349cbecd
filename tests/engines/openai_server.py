"""A server that speaks the OpenAI-compatible API on loopback, well or as badly as a test wants."""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, NamedTuple, Self

from evaljudge.engines.scripted import noise

MODEL = "judge-1"


class Ask(NamedTuple):
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        said = self.body.get("messages") or [{"content": self.body.get("prompt", "")}]
        return str(said[0]["content"])


@dataclass(frozen=True)
class Reply:
    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float = 0.0
    """Seconds between bytes."""
    cut: bool = False
    """The connection ends in the middle of the body."""

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def shown(ask: Ask, options: tuple[str, ...] = ("Better", "Worse", "Similar")) -> list[Any]:
    """Log-probabilities that depend on the prompt alone, as the chat route has them."""
    weights = {name: noise(ask.text, name) for name in options} | {"The": 0.01, "I": 0.005}
    total = sum(weights.values()) * 1.001
    tops = [{"token": t, "logprob": log(w / total)} for t, w in weights.items()]
    top = max(tops, key=lambda each: each["logprob"])
    return [{**top, "top_logprobs": tops[: ask.body["top_logprobs"]]}]


def well(ask: Ask) -> Reply:
    """Chat with log-probabilities and nothing else."""
    if ask.path.endswith("/models"):
        return Reply({"data": [{"id": MODEL}]})
    if not ask.path.endswith("/chat/completions"):
        return Reply({"error": "no such route"}, 404)
    said = f"text {int(noise(ask.text) * 1e9)}"
    choice: dict[str, Any] = {"message": {"content": said}, "finish_reason": "stop"}
    if ask.body.get("logprobs"):
        choice["logprobs"] = {"content": shown(ask)}
    usage = {"prompt_tokens": 7, "completion_tokens": 1}
    return Reply({"model": MODEL, "choices": [choice] * ask.body.get("n", 1), "usage": usage})


def changed(reply: Reply, **choice: Any) -> Reply:
    """With other values in each choice of the reply."""
    choices = [each | choice for each in reply.body["choices"]]
    return replace(reply, body=reply.body | {"choices": choices})


class Server:
    """`answers` is called in the server's own thread; `asks` notes all that was asked."""

    def __init__(self, answers: Callable[[Ask], Reply] = well, port: int = 0) -> None:
        self.answers, self.port, self.asks = answers, port, list[Ask]()
        self.is_noting = True
        self.flying, self.most_at_once = set[asyncio.StreamReader](), 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        async def end() -> None:
            self._server.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0.01)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")
                headers = {k.lower(): v.strip() for k, _, v in (x.partition(":") for x in lines)}
                content = await reader.readexactly(int(headers.get("content-length", 0)))
                ask = Ask(first.split()[1].partition("?")[0], headers, json.loads(content or "{}"))
                if self.is_noting:
                    self.asks.append(ask)
                self.flying.add(reader)
                # who has hung up, as a copy of a shard does that lost, waits no more
                waiting = sum(not (one.at_eof() or one.exception()) for one in self.flying)
                self.most_at_once = max(self.most_at_once, waiting)
                if not await self._write(reader, writer, self.answers(ask)):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.flying.discard(reader)
            writer.close()

    async def _write(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply
    ) -> bool:
        content = reply.content
        lines = [f"HTTP/1.1 {reply.status} X", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for at in range(len(content) - 1) if reply.drip else ():
            await asyncio.sleep(reply.drip)
            writer.write(content[at : at + 1])
            await writer.drain()
        self.flying.discard(reader)  # first, since who has the last byte may ask again
        last = content[-1:] if reply.drip else content
        writer.write(content[: len(content) // 2] if reply.cut else last)
        await writer.drain()
        return not reply.cut
