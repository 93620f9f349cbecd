"""Our engine beside plain vLLM and Ray Data's processor, on the same comparisons.

    python benches/peers.py [--rounds N] [--models tiny,computing] [--caches small,large]

SummEval-shaped comparisons (5 references, 16 candidates, about a thousand tokens each) with a tiny
random model, where Python's work dominates, and with one where the model's own work does; with a
key-value cache that holds about two documents, and with one that holds all of them. Every arm is a
process of its own that loads its engine once. The arms take turns, in another order each round,
with fresh texts. Loading and the making of prompts are not counted. Prints a table (seconds as a
ratio to ours, prefilled tokens) and writes benches/peers.json.

The arms: `ours` asks as a run does, all cases at once. `vllm` is `vllm.LLM.generate`, which gets
texts, or tokens; in the cases' own order, or shuffled; with our cache block of 32 tokens, or with
its own default; or without a cache of prefixes. `ray.data.llm` is Ray's batch processor with our
block and its stages for templates and tokens off; its time is what its engine notes from the first
request queued to the last token, since loading cannot be told apart from outside.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROSE = HERE.parent / "tests" / "prose.jsonl"
REFERENCES, CANDIDATES = 5, 16
BLOCK, CONTEXT = 32, 2048
DOCUMENT = 11_000
"""About how many distinct tokens the comparisons of one document have."""


@dataclass(frozen=True)
class Model:
    """The shape of a random model; `cases` by default, so that a round takes seconds."""

    width: int
    layers: int
    heads: int
    cases: int
    config: Mapping[str, Any] = field(default_factory=dict)
    """More of its config.json."""

    @property
    def bytes_of_a_token(self) -> int:
        return 2 * 4 * self.width * self.layers


MODELS = {"tiny": Model(64, 2, 2, 24), "computing": Model(256, 6, 4, 12)}
CACHES = {"small": 2, "large": 30}
"""How many documents a cache holds."""


@dataclass(frozen=True)
class Arm:
    ours: bool = False
    ray: bool = False
    tokens: bool = False
    shuffled: bool = False
    open_cases: int | None = None
    """How many cases ours asks at once; all of them if None."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


ALIKE = {"block_size": BLOCK}
ARMS = {
    "ours": Arm(ours=True, engine=ALIKE),
    "vllm, tokens, in order, block 32": Arm(tokens=True, engine=ALIKE),
    "vllm, texts, in order, block 32": Arm(engine=ALIKE),
    "vllm, texts, shuffled, block 32": Arm(shuffled=True, engine=ALIKE),
    "vllm, texts, shuffled, its defaults": Arm(shuffled=True),
    "vllm, tokens, no prefix cache": Arm(tokens=True, engine={"enable_prefix_caching": False}),
    "ray.data.llm, tokens, in order, block 32": Arm(ray=True, tokens=True, engine=ALIKE),
    "ray.data.llm, tokens, shuffled, block 32": Arm(
        ray=True, tokens=True, shuffled=True, engine=ALIKE
    ),
}


@dataclass(frozen=True)
class Round:
    seconds: float
    processor_seconds: float | None
    prompt_tokens: int
    prefilled: int | None


def comparisons(cases: int, seed: int) -> list[list[Any]]:
    """By case, its prompts in the order of their prefixes."""
    from evaljudge.prompts import load_task

    source, pack = random.Random(seed), load_task("summary").pack
    known = PROSE.read_text(encoding="utf-8").split()
    axis = {"axis": "fluency", "description": "the quality of the sentences"}

    def words(count: int) -> str:
        return " ".join(source.choices(known, k=count))

    asks = []
    for _ in range(cases):
        article, references = words(500), [words(60) for _ in range(REFERENCES)]
        targets = [words(60) for _ in range(CANDIDATES)]
        given = ({"source": article, "context": None, "reference": r, "target": t}
                 for r in references for t in targets)  # fmt: skip
        asks.append([pack.render("synthetic.compare", texts, **axis) for texts in given])
    return asks


def serve(pipe: Connection, arm: Arm, model: str) -> None:
    """Load the arm's engine, then answer each seed with a round on fresh texts."""
    from evaljudge.engines.vllm import set_environment

    os.dup2(2, 1)  # libraries print; the table is alone on the standard output
    os.environ.update(arm.environment)
    set_environment()
    engine = {"max_model_len": CONTEXT} | dict(arm.engine)
    opening = _open_ours if arm.ours else _open_ray if arm.ray else _open_plain
    play, close = opening(arm, model, engine)
    try:
        play(comparisons(1, -1))  # the first requests are slow
        pipe.send("ready")
        while (wanted := pipe.recv()) is not None:
            pipe.send(play(comparisons(*wanted)))
    finally:
        close()


Opened = tuple[Callable[[list[list[Any]]], Round], Callable[[], None]]
"""What plays a round, and what ends the engine."""


def _open_ours(arm: Arm, model: str, engine: dict[str, Any]) -> Opened:
    from evaljudge.engines import ModelSource, VllmEngines
    from evaljudge.judges.synthetic.comparing import COMPARE
    from evaljudge.model.counting import CountingModel
    from evaljudge.model.remembering import Remembering

    opened = VllmEngines().open(ModelSource(model, engine=engine), seed=0)

    async def ask(cases: list[list[Any]]) -> list[Any]:
        models = [CountingModel(opened) for _ in cases]
        slots = asyncio.Semaphore(arm.open_cases or len(cases))

        async def one(counting: CountingModel, prompts: list[Any]) -> None:
            async with slots:
                await Remembering(counting).choose(prompts, COMPARE.options)

        await asyncio.gather(*map(one, models, cases))
        return [counting.tokens for counting in models]

    def play(cases: list[list[Any]]) -> Round:
        started, used = time.monotonic(), time.process_time()
        tokens = asyncio.run(ask(cases))
        seconds, used = time.monotonic() - started, time.process_time() - used
        prompt = sum(one.prompt for one in tokens)
        return Round(seconds, used, prompt, sum(one.prefilled for one in tokens))

    return play, opened.close


def _prompts(arm: Arm, model: str, cases: list[list[Any]]) -> tuple[list[Any], list[int]]:
    """As this arm gets them, and the ids of the answers' first tokens."""
    from transformers import AutoTokenizer

    from evaljudge.engines.labels import compile_options
    from evaljudge.engines.template import read_template
    from evaljudge.engines.tokens import Tokeniser
    from evaljudge.judges.synthetic.comparing import COMPARE

    tokeniser = Tokeniser(AutoTokenizer.from_pretrained(model))
    template = read_template(tokeniser, {}, frozenset())
    labels = compile_options(COMPARE.options, tokeniser, template)
    ids = [list(template.around(prompt, tokeniser)[0]) for case in cases for prompt in case]
    if arm.shuffled:
        random.Random(len(ids)).shuffle(ids)
    given = ids if arm.tokens else [tokeniser.hf.decode(one) for one in ids]
    return given, list(labels.first.ids)


def _open_plain(arm: Arm, model: str, engine: dict[str, Any]) -> Opened:
    from vllm import LLM, SamplingParams
    from vllm.inputs import TokensPrompt

    from evaljudge.engines.opening import CPU_BUILD, installed_build

    llm = LLM(model=model, enforce_eager=installed_build() == CPU_BUILD, seed=0, **engine)

    def play(cases: list[list[Any]]) -> Round:
        given, answers = _prompts(arm, model, cases)
        how = SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=answers)
        prompts: Any = (
            [TokensPrompt(prompt_token_ids=one) for one in given] if arm.tokens else given
        )
        started, used = time.monotonic(), time.process_time()
        outputs = llm.generate(prompts, how, use_tqdm=False)
        seconds, used = time.monotonic() - started, time.process_time() - used
        prompt = sum(len(one.prompt_token_ids or ()) for one in outputs)
        cached = sum(one.num_cached_tokens or 0 for one in outputs)
        return Round(seconds, used, prompt, prompt - cached)

    return play, llm.llm_engine.engine_core.shutdown


def _open_ray(arm: Arm, model: str, engine: dict[str, Any]) -> Opened:
    import ray
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    config = vLLMEngineProcessorConfig(
        model_source=model,
        engine_kwargs={"enforce_eager": True, "distributed_executor_backend": "uni", **engine},
        concurrency=1,
        batch_size=64,
        max_concurrent_batches=8,
        chat_template_stage=False,
        tokenize_stage=False,
        detokenize_stage=False,
        log_engine_metrics=False,
        placement_group_config={"bundle_per_worker": {"CPU": 1}},
    )

    def play(cases: list[list[Any]]) -> Round:
        given, answers = _prompts(arm, model, cases)
        how = {"max_tokens": 1, "temperature": 0.0, "logprob_token_ids": answers}
        processor = build_processor(
            config,
            preprocess=lambda row: {"tokenized_prompt": row["ids"], "sampling_params": how},
            postprocess=lambda row: {"noted": json.dumps(row["metrics"])},
        )
        rows = ray.data.from_items([{"ids": ids} for ids in given], override_num_blocks=8)
        noted = [json.loads(row["noted"]) for row in processor(rows).take_all()]
        if len(noted) != len(given):
            raise RuntimeError(f"{len(noted)} of {len(given)} rows came back")
        first = min(one["queued_ts"] for one in noted)
        last = max(one["last_token_ts"] for one in noted)
        return Round(last - first, None, sum(map(len, given)), None)

    return play, ray.shutdown


def make_model(folder: Path, shape: Model) -> Path:
    """A tokenizer trained on our prose, and weights that the engine draws by itself."""
    from evaljudge.bundled.tiny import make_tiny_model

    made = make_tiny_model(folder, PROSE.read_text(encoding="utf-8").splitlines())
    config = json.loads((made / "config.json").read_text())
    config |= {
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.width // shape.heads,
        "intermediate_size": 3 * shape.width,
    } | dict(shape.config)
    if shape != MODELS["tiny"]:
        (made / "config.json").write_text(json.dumps(config, indent=1))
    return made


def series(
    model: str, cache: str, cases: int, rounds: int, arms: Sequence[str]
) -> dict[str, list[Round]]:
    """All arms on one model and cache, taking turns."""
    shape, start = MODELS[model], multiprocessing.get_context("spawn")
    found: dict[str, list[Round]] = {name: [] for name in arms}
    with tempfile.TemporaryDirectory() as folder:
        path = make_model(Path(folder), shape)
        cache_bytes = CACHES[cache] * DOCUMENT * shape.bytes_of_a_token
        pipes: dict[str, Connection] = {}
        processes = []
        for name in arms:
            here, there = start.Pipe()
            engine = {"kv_cache_memory_bytes": cache_bytes} | dict(ARMS[name].engine)
            engine |= {} if model == "tiny" else {"load_format": "dummy"}
            arm = replace(ARMS[name], engine=engine)
            process = start.Process(target=serve, args=(there, arm, str(path)))
            process.start()
            there.close()
            pipes[name], _ = here, processes.append(process)
            here.recv()
            print(f"{model}, {cache} cache: {name} is loaded", file=sys.stderr)
        for number in range(rounds):
            turn = number % len(arms)
            for name in [*arms[turn:], *arms[:turn]]:
                pipes[name].send((cases, number))
                found[name].append(pipes[name].recv())
        for pipe, process in zip(pipes.values(), processes, strict=True):
            pipe.send(None)
            process.join()
    return found


def row(model: str, cache: str, name: str, mine: list[Round], ours: list[Round]) -> dict[str, Any]:
    ratios = [a.seconds / b.seconds for a, b in zip(mine, ours, strict=True)]
    used = [one.processor_seconds for one in mine if one.processor_seconds is not None]
    prefilled = [one.prefilled for one in mine if one.prefilled is not None]
    return {
        "model": model,
        "cache": cache,
        "arm": name,
        "seconds": [round(one.seconds, 2) for one in mine],
        "processor_seconds": round(statistics.median(used), 2) if used else None,
        "prompt_tokens": mine[0].prompt_tokens,
        "prefilled": round(statistics.median(prefilled)) if prefilled else None,
        "time_over_ours": round(statistics.median(ratios), 2),
        "least_and_most": [round(min(ratios), 2), round(max(ratios), 2)],
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """As it stands in docs/performance.md: seconds over ours, and the share prefilled."""
    columns = list(dict.fromkeys((one["model"], one["cache"]) for one in rows))
    lines = ["| arm | " + " | ".join(f"{m} model, {c} cache" for m, c in columns) + " |"]
    lines += ["|---|" + "---|" * len(columns)]
    for name in dict.fromkeys(one["arm"] for one in rows):
        cells = []
        for model, cache in columns:
            of = [one for one in rows if (one["model"], one["cache"]) == (model, cache)]
            one = next(one for one in of if one["arm"] == name)
            share = (
                one["prefilled"] and f", {one['prefilled'] / one['prompt_tokens']:.0%} prefilled"
            )
            cells.append(f"{one['time_over_ours']:.2f}{share or ''}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, help="cases in a round; by default as the model says")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--caches", default=",".join(CACHES))
    parser.add_argument("--arms", default=";".join(ARMS), help="divided by semicolons; ours first")
    parser.add_argument("--out", type=Path, default=HERE / "peers.json")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # series were steadier
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_OFFLINE": "1"}
    from evaljudge.engines import VllmEngines

    arms, rows = given.arms.split(";"), []
    for model in given.models.split(","):
        for cache in given.caches.split(","):
            cases = given.cases or MODELS[model].cases
            found = series(model, cache, cases, given.rounds, arms)
            rows += [row(model, cache, name, mine, found["ours"]) for name, mine in found.items()]
    figures = {
        "machine": f"{os.cpu_count()} cores of {platform.machine()}, {platform.platform()}",
        "engine": VllmEngines().version,
        "rounds": given.rounds,
        "threads": os.environ["OMP_NUM_THREADS"],
        "rows": rows,
    }
    given.out.write_text(json.dumps(figures, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
