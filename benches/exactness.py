"""How many requests an ask takes, and how far off its probabilities may be.

    PYTHONPATH=. python benches/exactness.py [--asks 10000] [--rounds 2]

Questions of the judge `synthetic` about texts of the demo's world are asked of three models: the
demo's judge, whose tokenizer spells many forms of an answer in several tokens; one of random
weights whose tokenizer has each answer as one token, and that gives the answers most of its
probability; and the same with answers that it never gives, of several tokens each (`very good`,
`very bad`, `neither of them`). The other two are asked a tenth of the questions.

Each is asked by two rules: all that is not followed may move no probability by more than
`exactness`, 1e-4; and every spelling followed, against which the other's numbers are held. Rounds
of the rules take turns after a round that is not counted, so that all find the same prefix cache.
Writes benches/exactness.json.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from pathlib import Path
from typing import Any

from figures import keep
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from evaljudge.bundled.world import make_cases
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.vllm import VllmModel
from evaljudge.judges.synthetic.evidence import COMPARE
from evaljudge.model.asks import Chosen, Options, Prompt
from tests.tiny import make_tiny_model

RULES = {"1e-4": 1e-4, "every spelling": 0.0}
SEVERAL = Options(("very good", "very bad", "neither of them"))
ENGINE = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 29}


def prompts(count: int) -> list[Prompt]:
    """Each text of a document beside each other one, in the words that the demo's judge learnt."""

    def pairs() -> Iterator[Prompt]:
        for case in make_cases(count, seed=1):
            texts = [candidate["text"] for candidate in case["candidates"]]
            for reference, target in permutations(texts, 2):
                yield Prompt((
                    "<report>\n", case["source"], "\n</report>\n<reference>\n", reference,
                    "\n</reference>\n<target>\n", target,
                    "\n</target>\nIs the target Better, Worse or Similar in relevance?",
                ), head=1)  # fmt: skip

    return list(islice(pairs(), count))


def answering(folder: Path, texts: Sequence[str]) -> Path:
    """A tiny random model that gives the answers of `synthetic` most of its probability."""
    make_tiny_model(folder, texts)
    tokens = Tokenizer.from_file(str(folder / "tokenizer.json"))
    weights = load_file(folder / "model.safetensors")
    for name in COMPARE.options.names:
        weights["lm_head.weight"][tokens.token_to_id(name)] *= 8
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def measured(
    title: str, source: ModelSource, options: Options, asks: Sequence[Prompt], rounds: int
) -> Iterator[dict[str, Any]]:
    model = VllmEngines().open(source, seed=0)
    assert isinstance(model, VllmModel)
    seconds = {name: list[tuple[float, float]]() for name in RULES}
    replies = dict[str, list[Chosen]]()
    asyncio.run(model.choose(asks, options))
    for _ in range(rounds):
        for name, exactness in RULES.items():
            model.exactness = exactness
            wall, cpu = time.monotonic(), time.process_time()
            chosen = asyncio.run(model.choose(asks, options))
            seconds[name].append((time.monotonic() - wall, time.process_time() - cpu))
            replies[name] = [reply for reply in chosen if isinstance(reply, Chosen)]
    model.close()
    every = replies["every spelling"]
    for name, mine in replies.items():
        both = zip(mine, every, strict=True)
        off = max(abs(reply.p[answer] - two.p[answer]) for reply, two in both for answer in reply.p)
        wall, cpu = map(min, zip(*seconds[name], strict=True))
        yield {
            "model": title, "rule": name, "asks": len(mine),
            "requests_per_ask": round(sum(len(reply.spent) for reply in mine) / len(mine), 4),
            "most_off": float(f"{off:.1e}"),
            "left_out": float(f"{max(reply.left_out for reply in mine):.1e}"),
            "mean_mass": round(sum(reply.mass for reply in mine) / len(mine), 3),
            "seconds": round(wall, 1), "cpu_seconds": round(cpu, 1),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--asks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=1)
    options_given = parser.parse_args()
    asks, rows = prompts(options_given.asks), []
    with tempfile.TemporaryDirectory() as folder:
        tiny = answering(Path(folder, "tiny"), [prompt.text for prompt in asks[::100]])
        arms = [
            ("nano", ModelSource("nano"), COMPARE.options),
            ("answers of one token", ModelSource(str(tiny), engine=ENGINE), COMPARE.options),
            ("answers of several tokens", ModelSource(str(tiny), engine=ENGINE), SEVERAL),
        ]
        for title, source, options in arms:
            mine = asks if source.is_bundled else asks[: len(asks) // 10]
            for row in measured(title, source, options, mine, options_given.rounds):
                rows.append(row)
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    keep("exactness", {"rows": rows})


if __name__ == "__main__":
    main()
