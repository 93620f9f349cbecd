"""What it costs to ask an endpoint: asks for a second of a processor, and memory.

    python benches/endpoint.py --asks 10000

A null server, in a process of its own, answers at once with the same twenty log-probabilities; the
asks are those of 10 prompts at a time with some hundreds of such calls open, as judges make them.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

TOGETHER = 10
OPEN = 256
"""The most calls of `choose` that are open at once: the cases of a worker."""
TEXT = "The river rose after two days of rain, and the town council closed the old bridge. " * 24
NAMES = ("Better", "Worse", "Similar")


def serve() -> None:
    """A reply that is made once, and no other work."""
    tops = [{"token": f"t{n}", "logprob": -9.0} for n in range(17)]
    tops += [{"token": name, "logprob": -1.1} for name in NAMES]
    content = [{"token": "Better", "logprob": -1.1, "top_logprobs": tops}]
    choice = {"message": {"content": "Better"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 500, "completion_tokens": 1}
    chat = {"model": "m", "choices": [choice | {"logprobs": {"content": content}}], "usage": usage}

    def as_http(body: object) -> bytes:
        text = json.dumps(body).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text

    replies = {b"GET": as_http({"data": [{"id": "m"}]}), b"POST": as_http(chat)}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
                await reader.readexactly(int(size or 0))
                writer.write(replies[head.partition(b" ")[0]])
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


def asked(url: str, asks: int) -> dict[str, float]:
    from evaljudge.engines import ModelSource, VllmEngines
    from evaljudge.engines.endpoint.settings import Endpoint
    from evaljudge.model.asks import Chosen, Options, Prompt

    model = VllmEngines().open(ModelSource("m", endpoint=Endpoint(url=url)), seed=0)
    before, since = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    gate = asyncio.Semaphore(OPEN)

    async def call(number: int) -> int:
        async with gate:
            prompts = [Prompt((f"{number} {n}", TEXT)) for n in range(TOGETHER)]
            replies = await model.choose(prompts, Options(NAMES))
        return sum(isinstance(reply, Chosen) for reply in replies)

    async def all_calls() -> int:
        return sum(await asyncio.gather(*map(call, range(asks // TOGETHER))))

    answered = asyncio.run(all_calls())
    after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.monotonic() - since
    model.close()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "asks": answered,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(used, 1),
        "asks_per_cpu_second": round(answered / used),
        "mib_before": round(before.ru_maxrss / 1024),
        "mib_most": round(after.ru_maxrss / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=10_000)
    parser.add_argument("--serve", action="store_true", help="be the null server")
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = server.stdout.readline().strip()
        try:
            figures = asked(f"http://127.0.0.1:{port}/v1", options.asks)
        finally:
            server.kill()
    print(json.dumps(figures, indent=1))
    Path(__file__).with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
