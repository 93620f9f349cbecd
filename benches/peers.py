"""Our engine beside plain vLLM and Ray Data's processor, on the same questions.

    PYTHONPATH=. python benches/peers.py [--rounds N] [--models tiny,computing]
        [--caches small,large] [--shapes comparisons,ratings,entities]

The questions are those of a judge about SummEval-shaped cases (16 candidates of 60 words, an
article of 500): `comparisons` with five references by `synthetic`, `ratings` by `direct`, or
questions about `entities`. They go to a tiny random model, where Python's work dominates, and to
one where the model's own work does; with a key-value cache that holds about four documents, and
with one that holds all of them. Every arm is a process of its own that loads its engine once. The
arms take turns, in another order each round, with fresh texts. Loading is not counted. Prints a
table (seconds as a ratio to ours, prefilled tokens) and writes benches/peers.json, where it
replaces the series of the same questions, model, cache and number of documents.

The arms: `ours` is the judge itself with all cases at once, so it also makes the prompts, which the
others get ready-made. `ours, adaptive` asks about fewer references; its random model is sure of
nothing, so each answer is replaced, after it was asked for, by that of a judge that is sure. `ours,
ladder` has all references in the prompt. `vllm` is `vllm.LLM.generate`, which gets texts, or
tokens; in the best order, or shuffled; with our cache block of 32 tokens, or with its own default;
or without a cache of prefixes. `ray.data.llm` is Ray's batch processor with our block and its
stages for templates and tokens off; its time is what its engine notes from the first request queued
to the last token, since loading cannot be separated from outside.
"""

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
from datetime import date
from itertools import product
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from evaljudge.model import ModelAround

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
        """In the cache, in bfloat16."""
        return 2 * 2 * self.width * self.layers


MODELS = {"tiny": Model(64, 2, 2, 24), "computing": Model(256, 6, 4, 12)}
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "comparisons": {"judge": "synthetic", "checks": {"neighbours": 0, "exchanged": 0}},
    "ratings": {"judge": "direct"},
    "entities": {"judge": "entities"},
}
"""The judges whose questions are asked."""
CACHES = {"small": 4, "large": 60}
"""How many documents a cache holds."""


@dataclass(frozen=True)
class Arm:
    ours: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The judge's settings, where it is ours."""
    open_cases: int | None = None
    """How many cases ours asks at once; all of them if None."""
    ray: bool = False
    tokens: bool = False
    shuffled: bool = False
    engine: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


ALIKE = {"block_size": BLOCK}
ARMS = {
    "ours": Arm(ours=True, engine=ALIKE),
    "ours, adaptive": Arm(ours=True, settings={"adaptive": {}}, engine=ALIKE),
    "ours, ladder": Arm(ours=True, settings={"layout": "ladder"}, engine=ALIKE),
    "ours, ladder and adaptive": Arm(
        ours=True, settings={"layout": "ladder", "adaptive": {}}, engine=ALIKE
    ),
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
    asks: int
    prompt_tokens: int
    prefilled: int | None
    requests: int = 0


class Work:
    """The cases of a round, and the judge's questions about them."""

    def __init__(self, shape: str, settings: Mapping[str, Any]) -> None:
        from evaljudge.judges import make_judges
        from evaljudge.prompts import load_task

        task = load_task("summary", ["fluency"])
        (self.judge,) = make_judges({"judge": {**SHAPES[shape], **settings}}, task)
        self._known = PROSE.read_text(encoding="utf-8").split()

    def cases(self, count: int, seed: int) -> list[Any]:
        """Cases with an article, candidates and the judge's briefs."""
        from evaljudge.records import Candidate, Case, Document

        source, made = random.Random(seed), []
        for number in range(count):
            texts = [self._words(source, 60) for _ in range(CANDIDATES)]
            candidates = tuple(Candidate(f"s{n}", text) for n, text in enumerate(texts))
            document = Document(f"{seed} {number}", self._words(source, 500))
            case = Case(document, candidates)
            briefs = asyncio.run(self.judge.brief(document, [], self.scripted()))
            made.append((case, briefs))
        return made

    def scripted(self) -> Any:
        """Writes any text, and answers as a judge that is sure how good each candidate is."""
        from evaljudge.engines.scripted import Scripted, any_option, any_text

        def write(prompt: Any, how: Any) -> str:
            return (
                any_text(prompt, how)
                if how.example
                else self._words(random.Random(prompt.text), 60)
            )

        def choose(prompt: Any, options: Any) -> Mapping[str, float]:
            if "Better" not in options.names:
                return any_option(prompt, options)
            target = prompt.text.rpartition("<target>")[2].partition("</target>")[0]
            level = random.Random(target).randint(1, REFERENCES)
            sure = ("Similar", "Better", "Worse")[
                (level > float(prompt.about)) - (level < float(prompt.about))
            ]
            return {name: -0.001 if name == sure else -8.0 for name in options.names}

        return Scripted(writes=write, chooses=choose)

    def questions(self, cases: Sequence[Any]) -> list[tuple[Any, Any]]:
        """What the judge asks, each with its options; a case's questions by their beginnings."""
        questions: list[tuple[Any, Any]] = []
        for case, briefs in cases:
            noting = Noting(self.scripted())
            asyncio.run(self.judge.verdicts(case, briefs, noting))
            questions += sorted(noting.asked, key=lambda question: question[0].parts)
        return questions

    def _words(self, source: random.Random, count: int) -> str:
        return " ".join(source.choices(self._known, k=count))


class Noting(ModelAround):
    """A model that keeps what it is asked to choose."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.asked: list[tuple[Any, Any]] = []

    async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
        self.asked += [(prompt, options) for prompt in prompts]
        return await super().choose(prompts, options, samples)


class Planted(ModelAround):
    """A model that asks the engine for every choice, and gives the answers of another."""

    def __init__(self, answers: Any, engine: Any) -> None:
        super().__init__(answers)
        self._engine = engine

    async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
        await self._engine.choose(prompts, options)
        return await super().choose(prompts, options, samples)


def serve(pipe: Connection, shape: str, arm: Arm, model: str) -> None:
    """Load the arm's engine, then answer each seed with a round on fresh texts."""
    from evaljudge.engines.loading import set_environment

    os.dup2(2, 1)  # libraries print; the table is alone on the standard output
    os.environ.update(arm.environment)
    set_environment()
    engine = {"max_model_len": CONTEXT} | dict(arm.engine)
    opening = _open_ours if arm.ours else _open_ray if arm.ray else _open_plain
    work = Work(shape, arm.settings)
    play, close = opening(arm, work, model, engine)
    try:
        play(work.cases(1, -1))  # the first requests are slow
        pipe.send("ready")
        while (wanted := pipe.recv()) is not None:
            pipe.send(play(work.cases(*wanted)))
    finally:
        close()


Opened = tuple[Callable[[Sequence[Any]], Round], Callable[[], None]]
"""What plays a round, and what ends the engine."""


def _open_ours(arm: Arm, work: Work, model: str, engine: dict[str, Any]) -> Opened:
    from evaljudge.engines import ModelSource, VllmEngines
    from evaljudge.model.counting import CountingModel
    from evaljudge.model.remembering import Remembering

    opened = VllmEngines().open(ModelSource(model, engine=engine), seed=0)
    answers = work.scripted()

    async def ask(cases: Sequence[Any]) -> list[Any]:
        models = [CountingModel(opened) for _ in cases]
        slots = asyncio.Semaphore(arm.open_cases or len(cases))

        async def one(case: Any, briefs: Any, counting: CountingModel) -> None:
            async with slots:
                model = Planted(answers, Remembering(counting))
                await work.judge.verdicts(case, briefs, model)

        await asyncio.gather(*(one(*c, m) for c, m in zip(cases, models, strict=True)))
        return [counting.tokens for counting in models]

    def play(cases: Sequence[Any]) -> Round:
        started, used = time.monotonic(), time.process_time()
        tokens = asyncio.run(ask(cases))
        seconds, used = time.monotonic() - started, time.process_time() - used
        counted = "asks", "prompt", "prefilled", "requests"
        return Round(seconds, used, *(sum(getattr(t, name) for t in tokens) for name in counted))

    return play, opened.close


def _prompts(arm: Arm, work: Work, model: str, cases: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """The prompts as this arm gets them, each with the ids of the answers' first tokens."""
    from transformers import AutoTokenizer

    from evaljudge.engines.labels import compile_options
    from evaljudge.engines.template import read_template
    from evaljudge.engines.tokens import Tokeniser

    tokeniser = Tokeniser(AutoTokenizer.from_pretrained(model))
    template = read_template(tokeniser, {}, frozenset())
    prompts, answers = [], dict[Any, list[int]]()
    for prompt, options in work.questions(cases):
        if options not in answers:
            answers[options] = [*compile_options(options, tokeniser, template).root.ids]
        ids = [*template.render(prompt, tokeniser, 0, inf).ids]
        prompts.append((ids if arm.tokens else tokeniser.hf.decode(ids), answers[options]))
    if arm.shuffled:
        random.Random(len(prompts)).shuffle(prompts)
    return prompts


def _open_plain(arm: Arm, work: Work, model: str, engine: dict[str, Any]) -> Opened:
    from vllm import LLM, SamplingParams
    from vllm.inputs import TokensPrompt

    from evaljudge.engines.internals import CPU_BUILD, installed_build

    llm = LLM(model=model, enforce_eager=installed_build() == CPU_BUILD, seed=0, **engine)

    def play(cases: Sequence[Any]) -> Round:
        asked = _prompts(arm, work, model, cases)
        params = {
            tuple(ids): SamplingParams(max_tokens=1, temperature=0.0, logprob_token_ids=ids)
            for _, ids in asked
        }
        how = [params[tuple(ids)] for _, ids in asked]
        prompts: Any = [
            TokensPrompt(prompt_token_ids=entry) if arm.tokens else entry for entry, _ in asked
        ]
        started, used = time.monotonic(), time.process_time()
        outputs = llm.generate(prompts, how, use_tqdm=False)
        seconds, used = time.monotonic() - started, time.process_time() - used
        prompt = sum(len(entry.prompt_token_ids or ()) for entry in outputs)
        cached = sum(entry.num_cached_tokens or 0 for entry in outputs)
        return Round(seconds, used, len(asked), prompt, prompt - cached, len(asked))

    return play, llm.llm_engine.engine_core.shutdown


def _open_ray(arm: Arm, work: Work, model: str, engine: dict[str, Any]) -> Opened:
    import ray
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(address="local", num_cpus=4, **quiet)
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

    def play(cases: Sequence[Any]) -> Round:
        prompts = _prompts(arm, work, model, cases)
        how = {"max_tokens": 1, "temperature": 0.0}
        processor = build_processor(
            config,
            preprocess=lambda row: {
                "tokenized_prompt": row["ids"],
                "sampling_params": how | {"logprob_token_ids": list(row["answers"])},
            },
            postprocess=lambda row: {"noted": json.dumps(row["metrics"])},
        )
        items = [{"ids": ids, "answers": answers} for ids, answers in prompts]
        rows = ray.data.from_items(items, override_num_blocks=8)
        noted = [json.loads(row["noted"]) for row in processor(rows).take_all()]
        if len(noted) != len(prompts):
            raise RuntimeError(f"{len(noted)} of {len(prompts)} rows came back")
        first = min(row["queued_ts"] for row in noted)
        last = max(row["last_token_ts"] for row in noted)
        return Round(last - first, None, len(prompts), sum(len(ids) for ids, _ in prompts), None)

    return play, ray.shutdown


def make_model(folder: Path, shape: Model) -> Path:
    """A tokenizer trained on our prose, and weights that the engine draws by itself."""
    from tests.tiny import make_tiny_model

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
    shape: str, model: str, cache: str, cases: int, rounds: int, arms: Sequence[str]
) -> dict[str, list[Round]]:
    """All arms on one model and cache, taking turns."""
    size, start = MODELS[model], multiprocessing.get_context("spawn")
    rounds_of: dict[str, list[Round]] = {name: [] for name in arms}
    with tempfile.TemporaryDirectory() as folder:
        path = make_model(Path(folder), size)
        cache_bytes = CACHES[cache] * DOCUMENT * size.bytes_of_a_token
        pipes: dict[str, Connection] = {}
        processes = []
        for name in arms:
            here, there = start.Pipe()
            engine = {"kv_cache_memory_bytes": cache_bytes} | dict(ARMS[name].engine)
            engine |= {} if model == "tiny" else {"load_format": "dummy"}
            arm = replace(ARMS[name], engine=engine)
            process = start.Process(target=serve, args=(there, shape, arm, str(path)))
            process.start()
            there.close()
            pipes[name], _ = here, processes.append(process)
            here.recv()
            print(f"{shape}, {model}, {cache} cache: {name} is loaded", file=sys.stderr)
        for number in range(rounds):
            turn = number % len(arms)
            for name in [*arms[turn:], *arms[:turn]]:
                pipes[name].send((cases, number))
                rounds_of[name].append(pipes[name].recv())
        for pipe, process in zip(pipes.values(), processes, strict=True):
            pipe.send(None)
            process.join()
    return rounds_of


def row(name: str, mine: list[Round], ours: list[Round]) -> dict[str, Any]:
    ratios = [a.seconds / b.seconds for a, b in zip(mine, ours, strict=True)]
    used = [turn.processor_seconds for turn in mine if turn.processor_seconds is not None]
    prefilled = [turn.prefilled for turn in mine if turn.prefilled is not None]
    return {
        "arm": name,
        "asks": mine[0].asks,
        "seconds": [round(turn.seconds, 2) for turn in mine],
        "processor_seconds": round(statistics.median(used), 2) if used else None,
        "prompt_tokens": mine[0].prompt_tokens,
        "prefilled": round(statistics.median(prefilled)) if prefilled else None,
        "time_over_ours": round(statistics.median(ratios), 2),
        "least_and_most": [round(min(ratios), 2), round(max(ratios), 2)],
    }


Series = Mapping[str, Any]
"""The rows of a series, and what they were measured on."""


def table(every: Sequence[Series]) -> str:
    """Time over ours (least to most), and thousands of tokens prefilled."""
    heads = [
        f"{s['shape']}, {s['model']} model, {s['cache']} cache, {s['cases']} documents"
        for s in every
    ]
    lines = ["| arm | " + " | ".join(heads) + " |", "|---|" + "---|" * len(every)]
    for name in dict.fromkeys(row["arm"] for s in every for row in s["rows"]):
        cells = [cell(next((f for f in s["rows"] if f["arm"] == name), None)) for s in every]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "not run"
    low, high = row["least_and_most"]
    read = f", {row['prefilled'] / 1000:.0f}k" if row["prefilled"] else ""
    return f"{row['time_over_ours']:.2f} ({low:.2f} to {high:.2f}){read}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, help="cases in a round; by default as the model says")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--caches", default=",".join(CACHES))
    parser.add_argument("--arms", default=";".join(ARMS), help="divided by semicolons; ours first")
    parser.add_argument("--out", type=Path, default=HERE / "peers.json")
    how = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # series were steadier
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_OFFLINE": "1"}
    from evaljudge.engines import VllmEngines

    kept = json.loads(how.out.read_text())["series"] if how.out.exists() else []
    every = {(s["shape"], s["model"], s["cache"], s["cases"]): s for s in kept}
    wanted = (names.split(",") for names in (how.shapes, how.models, how.caches))
    for shape, model, cache in product(*wanted):
        arms = [a for a in how.arms.split(";") if shape == "comparisons" or not ARMS[a].settings]
        cases = how.cases or MODELS[model].cases
        rounds_of = series(shape, model, cache, cases, how.rounds, arms)
        every[shape, model, cache, cases] = {
            "shape": shape,
            "model": model,
            "cache": cache,
            "cases": cases,
            "date": date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores of {platform.machine()}, {platform.platform()}",
            "engine": VllmEngines().version,
            "rounds": how.rounds,
            "threads": os.environ["OMP_NUM_THREADS"],
            "rows": [row(name, mine, rounds_of["ours"]) for name, mine in rounds_of.items()],
        }
        how.out.write_text(json.dumps({"series": [*every.values()]}, indent=1) + "\n")
    print(table([*every.values()]))


if __name__ == "__main__":
    main()
