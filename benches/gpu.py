"""Our engine's speed on a GPU: beside plain vLLM, and by the settings that may change it.

    python benches/gpu.py [--shapes 8B,1.5B] [--studies vllm,open_cases,…] [--rounds 3] [--tiny]

SummEval-shaped comparisons (80 asks of about a thousand tokens for each case, as in peers.py) with
models of the shape of an 8B and a 1.5B Llama, whose weights are drawn at random: speed does not
depend on their values. Every arm is a process that loads its engine once and answers each round on
fresh texts. The arms of the study `vllm` are loaded together, each with half of the GPU's memory,
and take turns; those of the other studies have the GPU to themselves, one after the other. Loading
and the making of prompts are not counted. Prints a row for each arm and writes benches/gpu.json
with the machine's name. The row of an arm that cannot run says why.

Speed says nothing of numbers. On a GPU, first hold those against transformers on the same weights:

    pytest -n0 -m cuda_path tests/engines

CUDA takes another model runner of vLLM's than the CPU build does; `make test-cuda-path` runs these
tests by it without a GPU. Random weights give the answers next to nothing of their probability, so
that ours makes more requests than of a model that answers (`requests_per_ask`).

`--tiny` tries all of this in minutes with a tiny model, on the CPU build, too. What it measures
there says nothing about GPUs.
"""

import argparse
import json
import multiprocessing
import os
import platform
import signal
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import peers
from peers import Arm, Model, Round

LONGEST = 1200.0
"""Seconds after which an arm that has not answered is given up."""
CPU_DOCUMENTS = 16
"""How many documents a cache on the CPU build holds; on a GPU the engine takes what there is."""
GPU_SHARE, NO_GPU = 0.9, "torch finds no GPU"
SPAWN = multiprocessing.get_context("spawn")


def _llama(width: int, layers: int, heads: int, cases: int, inner: int, **more: int) -> Model:
    more |= {"intermediate_size": inner}
    return Model(width, layers, heads, cases, {"torch_dtype": "bfloat16", **more})


SHAPES = {
    "8B": _llama(4096, 32, 32, 64, 14336, num_key_value_heads=8, vocab_size=128_256),
    "1.5B": _llama(1536, 28, 12, 128, 8960, num_key_value_heads=2, vocab_size=151_936),
}
TINY = {"tiny": Model(64, 2, 2, 2, {"vocab_size": 4096})}

OURS, PLAIN = Arm(ours=True), Arm(tokens=True)
OWN_PROCESS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}


def _ours(**engine: Any) -> Arm:
    return replace(OURS, engine=engine)


@dataclass(frozen=True)
class Study:
    arms: Mapping[str, Arm]
    together: bool = False
    """All arms are loaded at once and take turns."""
    needs_gpu: bool = False

    def groups(self) -> list[Mapping[str, Arm]]:
        return [self.arms] if self.together else [{name: arm} for name, arm in self.arms.items()]


STUDIES = {
    "vllm": Study(
        {
            "ours": _ours(block_size=peers.BLOCK),
            "vllm.LLM, tokens, in order": replace(PLAIN, engine={"block_size": peers.BLOCK}),
        },
        together=True,
    ),
    "open_cases": Study({f"{n} open": replace(OURS, open_cases=n) for n in (1, 4, 16, 64)}),
    "batched_tokens": Study(
        {f"{n} tokens in a step": _ours(max_num_batched_tokens=n) for n in (2048, 8192, 16384)}
    ),
    "block_size": Study({f"blocks of {n}": _ours(block_size=n) for n in (16, 32, 64)}),
    "process": Study(
        {
            "ours, in this process": OURS,
            "ours, in its own": replace(OURS, environment=OWN_PROCESS),
            "vllm.LLM, in its own": replace(PLAIN, environment=OWN_PROCESS),
        }
    ),
    "fp8": Study({"fp8": _ours(quantization="fp8")}, needs_gpu=True),
}


class Served:
    """An arm in its own process, its engine loaded: its rounds, or why it cannot run."""

    def __init__(self, arm: Arm, model: Path) -> None:
        self.rounds: list[Round] = []
        self.cannot_run = ""
        self._pipe, there = SPAWN.Pipe()
        self._process = SPAWN.Process(target=_serve_or_say_why, args=(there, arm, str(model)))
        self._process.start()
        there.close()
        self._answer()

    def play(self, *wanted: int) -> None:
        if not self.cannot_run:
            self._answer(wanted)

    def close(self) -> None:
        """End it with all that it started, which would keep the GPU's memory."""
        if self._process.is_alive() and not self.cannot_run:
            self._pipe.send(None)
        self._process.join(60)
        assert self._process.pid
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _answer(self, wanted: tuple[int, ...] = ()) -> None:
        try:
            if wanted:
                self._pipe.send(wanted)
            late = RuntimeError(f"no answer within {LONGEST:.0f} s")
            answer = self._pipe.recv() if self._pipe.poll(LONGEST) else late
        except (EOFError, OSError):
            answer = RuntimeError("its process died")
        if isinstance(answer, Exception):
            self.cannot_run = str(answer)
        elif isinstance(answer, Round):
            self.rounds.append(answer)


def _serve_or_say_why(pipe: Connection, arm: Arm, model: str) -> None:
    os.setpgid(0, 0)
    from evaljudge.errors import first_words

    try:
        peers.serve(pipe, "comparisons", arm, model)
    except Exception as error:
        pipe.send(RuntimeError(f"{type(error).__name__}: {first_words(error)}"))


def take_turns(
    arms: Mapping[str, Arm], model: Path, cases: int, rounds: int
) -> Iterator[tuple[str, Served]]:
    """All arms are loaded, one after the other; each round begins with another one."""
    served: dict[str, Served] = {}
    try:
        for name, arm in arms.items():
            served[name] = Served(arm, model)
        for number in range(rounds):
            turn = number % len(served)
            for ready in [*served.values()][turn:] + [*served.values()][:turn]:
                ready.play(cases, number)
    finally:
        for ready in served.values():
            ready.close()
    yield from served.items()


def row(study: str, shape: str, arm: str, cases: int, served: Served) -> dict[str, Any]:
    names = {"study": study, "shape": shape, "arm": arm}
    if served.cannot_run:
        return names | {"cannot_run": served.cannot_run}
    seconds = statistics.median(turn.seconds for turn in served.rounds)
    prompt = served.rounds[0].prompt_tokens
    return names | {
        "asks_per_second": round(cases * peers.REFERENCES * peers.CANDIDATES / seconds, 1),
        "tokens_per_second": round(prompt / seconds),
        "prefilled": round(statistics.median(turn.prefilled or 0 for turn in served.rounds)),
        "prompt_tokens": prompt,
        "requests_per_ask": round(served.rounds[0].requests / served.rounds[0].asks, 3),
        "seconds": [round(turn.seconds, 3) for turn in served.rounds],
    }


def line(row: Mapping[str, Any]) -> str:
    name = f"{row['shape']:<5} {row['study']:<15} {row['arm']:<28}"
    if why := row.get("cannot_run"):
        return f"{name} cannot run: {why}"
    return f"{name} {row['asks_per_second']:9.1f} asks/s {row['tokens_per_second']:10d} tokens/s"


def gpu_name() -> str | None:
    """The name of the first GPU. Called in its own process, since it takes some of its memory."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def all_rows(options: argparse.Namespace, gpu: str | None) -> Iterator[dict[str, Any]]:
    shapes = TINY if options.tiny else {name: SHAPES[name] for name in options.shapes.split(",")}
    for shape_name, shape in shapes.items():
        cases = options.cases or shape.cases
        with tempfile.TemporaryDirectory() as folder:
            model = peers.make_model(Path(folder), shape)
            for name in options.studies.split(","):
                study = STUDIES[name]
                if study.needs_gpu and not gpu:
                    for arm in study.arms:
                        yield {"study": name, "shape": shape_name, "arm": arm, "cannot_run": NO_GPU}
                    continue
                for group in study.groups():
                    memory = _memory(shape, len(group), gpu)
                    arms = {
                        arm: replace(how, engine={"load_format": "dummy", **memory, **how.engine})
                        for arm, how in group.items()
                    }
                    for arm, served in take_turns(arms, model, cases, options.rounds):
                        yield row(name, shape_name, arm, cases, served)


def _memory(shape: Model, arms: int, gpu: str | None) -> dict[str, float]:
    """What an engine takes, where this many are loaded together."""
    if gpu:
        return {"gpu_memory_utilization": GPU_SHARE / arms}
    return {"kv_cache_memory_bytes": CPU_DOCUMENTS * peers.DOCUMENT * shape.bytes_of_a_token}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--studies", default=",".join(STUDIES))
    parser.add_argument("--cases", type=int, help="cases in a round; by default as the shape says")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="a tiny model, to try the script")
    parser.add_argument("--out", type=Path, default=peers.HERE / "gpu.json")
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    from evaljudge.engines import VllmEngines

    with SPAWN.Pool(1) as pool:
        gpu = pool.apply(gpu_name)
    cpu = f"CPU, {os.cpu_count()} cores of {platform.machine()}"
    figures = {"machine": gpu or cpu, "engine": VllmEngines().version, "rounds": options.rounds}
    rows: list[dict[str, Any]] = []
    for figure in all_rows(options, gpu):
        print(line(figure), flush=True)
        rows.append(figure)
        options.out.write_text(json.dumps(figures | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
