"""The HTTP client of an endpoint: it waits, tries again, and adapts to how much a server takes.

    client = Client(endpoint)
    client.wait(client.ask("completions", {"prompt": "…"}))     from a thread
    await client.run(client.ask("completions", {"prompt": "…"}))     from any event loop
    ->  {"choices": […], "model": "qwen"}

It has an event loop of its own, in a thread, so that one pool of connections serves whoever asks.
What one request is refused for is `Unanswered`, with a reason; a server that is gone for too long,
or that refuses the key, ends the run in one line.
"""

import asyncio
import json
import random
import threading
from collections import deque
from collections.abc import Coroutine, Mapping
from functools import partial
from itertools import cycle
from math import ceil
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from evaljudge.engines.endpoint.settings import BEARER, Endpoint
from evaljudge.errors import GivenUp, UserError
from evaljudge.text import one_line, without_secrets

R = TypeVar("R")
Json = dict[str, Any]
FIRST_AT_ONCE = 32
POOLS = 32  # of connections: httpx looks through all of one for each request
TRIES = 4  # how often one request may fail while another is answered
LONGEST_PAUSE = 10.0
LARGEST = 8 << 20  # the most bytes of a reply
WORDS = 240


class Unanswered(Exception):
    """Why this request has no reply; `status` is HTTP's where the server refused it."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.status = reason, status


class _Trouble(NamedTuple):
    """What may be better on the next try."""

    words: str
    is_busy: bool = False
    after: float = 0.0  # the seconds that the server wants to be left alone


class Pace:
    """How many requests are in flight: twice as many each round until the server is busy for the
    first time, from then on one more each round, and half as many whenever it is busy; never more
    than `most`."""

    def __init__(self, most: int) -> None:
        self._most, self.limit = most, float(min(FIRST_AT_ONCE, most))
        self._flying, self._was_busy, self._halved, self.resumes = 0, False, 0.0, 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._waiting or self._flying >= self.limit:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._leave()
                raise
        else:
            self._flying += 1

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self._flying -= 1
        while self._waiting and self._flying < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._flying += 1

    def note(self, trouble: _Trouble | None) -> None:
        if trouble is None:
            more = 1 / self.limit if self._was_busy else 1.0
            self.limit = min(self._most, self.limit + more)
        elif trouble.is_busy:
            self._was_busy, now = True, monotonic()
            if now - self._halved > 1:  # replies to one burst are one sign
                self.limit, self._halved = max(1.0, self.limit / 2), now
            self.resumes = max(self.resumes, now + trouble.after)


class Client:
    def __init__(self, endpoint: Endpoint) -> None:
        import httpx

        self.endpoint, self._key = endpoint, endpoint.secret()
        value = f"Bearer {self._key}" if endpoint.header == BEARER else self._key
        self._errors = httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, TimeoutError
        make = partial(
            httpx.AsyncClient,
            headers={endpoint.header: value} if self._key else {},
            verify=httpx.create_ssl_context(),
            timeout=httpx.Timeout(endpoint.timeout, connect=10, pool=None),
            limits=httpx.Limits(max_connections=ceil(endpoint.at_once / POOLS)),
            follow_redirects=False,
            trust_env=not endpoint.is_here,  # no proxy between here and here
        )
        self._pools = [make() for _ in range(POOLS)]
        self._turns = cycle(self._pools)
        self._pace, self._heard = Pace(endpoint.at_once), monotonic()
        self.question: tuple[str, Mapping[str, Any] | None] = "models", None
        """What is asked to see whether a request fails by its own fault."""
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda *_: None)  # of tasks that nobody waits for any more
        self._thread = threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True)
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, R]) -> R:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def wait(self, work: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self.wait(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for pool in self._pools:
            await pool.aclose()
        await asyncio.sleep(0.01)  # in which connections take leave

    async def ask(
        self, path: str, body: Mapping[str, Any] | None = None, *, is_probe: bool = False
    ) -> Json:
        """The server's reply to a POST of this body, or to a GET where there is none; a probe, to
        find out what a server can, is not tried for long."""
        since, tries, is_alone = monotonic(), 0, False
        while True:
            while (left := self._pace.resumes - monotonic()) > 0:
                await asyncio.sleep(left + random.uniform(0, 0.1))
            async with self._pace:
                reply = await self._once(path, body, is_probe)
                self._pace.note(reply if isinstance(reply, _Trouble) else None)
            if not isinstance(reply, _Trouble):
                self._heard = monotonic()
                return reply
            tries += 1
            is_enough = tries >= (2 if is_probe else TRIES) and not reply.is_busy
            if is_enough and (is_probe or is_alone):
                raise Unanswered(f"the server gave no answer in {tries} tries: {reply.words}")
            # it may have come back since: so this is tried once more after another was answered
            is_alone = is_enough and await self._answers_another()
            gone = monotonic() - max(self._heard, since)
            if max(gone, reply.after) > self.endpoint.wait:
                raise GivenUp(
                    f"endpoint {self.endpoint.url}: no answer for {self.endpoint.wait:g} s "
                    f"(model.endpoint.wait): {reply.words}"
                )
            pause = min(LONGEST_PAUSE, 0.25 * 2**tries) * random.uniform(0.5, 1)
            await asyncio.sleep(max(pause, reply.after))

    async def _answers_another(self) -> bool:
        """Whether the server answers the question that it has answered before."""
        async with self._pace:
            return not isinstance(await self._once(*self.question, is_probe=False), _Trouble)

    async def _once(
        self, path: str, body: Mapping[str, Any] | None, is_probe: bool
    ) -> Json | _Trouble:
        content, method = bytearray(), "GET" if body is None else "POST"
        try:
            async with (
                asyncio.timeout(self.endpoint.timeout),
                next(self._turns).stream(method, self.endpoint.at(path), json=body) as reply,
            ):
                async for chunk in reply.aiter_bytes():
                    content += chunk
                    if len(content) > LARGEST:
                        raise Unanswered(f"a reply of more than {LARGEST >> 20} MiB was refused")
        except self._errors as error:
            return _Trouble(self._words(f"{type(error).__name__} {error}"))
        status, headers = reply.status_code, reply.headers
        words = self._words(f"HTTP {status} {content[: 8 * WORDS].decode(errors='replace')}")
        if status in (401, 403) and not is_probe:  # a gateway may forbid what it does not know
            raise UserError(f"endpoint {self.endpoint.url}: the key is refused: {words}")
        if 300 <= status < 400:
            to = self._words(headers.get("location", "nowhere"))
            raise UserError(f"endpoint {self.endpoint.url}: it sends on to {to}: name that URL")
        if status in (408, 409, 425, 429) or (status >= 500 and status != 501):
            return _Trouble(words, status in (429, 503), _pause_of(headers))
        if status >= 400:  # what it has not got, or not for this request
            raise Unanswered(f"the server refused the request: {words}", status)
        try:
            found = json.loads(content)
        except ValueError:
            return _Trouble(self._words(f"no JSON: {content[:WORDS].decode(errors='replace')}"))
        return found if isinstance(found, dict) else _Trouble("a reply that is no JSON object")

    def _words(self, text: str) -> str:
        text = text.replace(self._key, "…") if self._key else text
        return one_line(without_secrets(text), WORDS)


def _pause_of(headers: Mapping[str, str]) -> float:
    """Seconds, by Azure's `retry-after-ms` or by `Retry-After`; 0 where it is no number."""
    milliseconds, seconds = headers.get("retry-after-ms"), headers.get("retry-after", "")
    try:
        return max(0.0, float(milliseconds) / 1000 if milliseconds else float(seconds))
    except ValueError:
        return 0.0
