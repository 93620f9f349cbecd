"""How much a cascade asks of a larger judge, and how well it then agrees with people.

    python benches/cascade.py SMALLER [--documents N]    (default: 100, with six texts each)

SMALLER is a checkpoint of `python -m jobs.nano.train SMALLER --start CHECKPOINT --layers 5`, with
the checkpoint of the demo's judge. Both judge held-out documents of the demo's world by `geval`,
all texts on two axes. Then 1,000 cascades are made of these answers, each with a draw of its own,
for each promise. Prints how many kept their promise, the share of the texts that the larger judge
was asked about, the mean distance from the true level, and beside it that of as many texts passed
on at random. Writes benches/cascade.json.
"""

import argparse
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from figures import keep

import evaljudge
from evaljudge.agreement.pairs import Floats
from evaljudge.analysis.cascade import AnsweredTexts, agrees
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.commands.run import demo_config
from evaljudge.decisions.certified import kept
from evaljudge.storage import Output

AXES = ("coherence", "fluency")
DRAWN, CASCADES, CONFIDENCE = 300, 1000, 0.9
PROMISES: dict[str, tuple[float, float | None]] = {
    "95% on the same side of 3.5": (0.95, None),
    "95% within half a level": (0.95, 0.5),
    "90% within half a level": (0.9, 0.5),
}


def judged(cases: Path, out: Path, smaller: str) -> Any:
    demo = demo_config(cases, out)
    models = {"smaller": demo["model"] | {"source": smaller}, "larger": demo["model"]}
    judges = {name: {"judge": "geval", "max_tokens": 96, "model": model}
              for name, model in models.items()}  # fmt: skip
    changes = {"axes": [*AXES], "metrics": [], "calibrate": [], "select": [], "judges": judges}
    return evaljudge.run(demo | changes | {"workers": {"executor": "local"}})


def levels(made: Iterable[Mapping[str, Any]], axis: str) -> dict[tuple[str, str], float]:
    return {
        (case["doc_id"], candidate["system"]): candidate["ratings"][axis]
        for case in made
        for candidate in case["candidates"]
    }


def rows(outcome: Any, axis: str, levels: dict[tuple[str, str], float]) -> dict[str, Any]:
    output = Output(outcome.out)
    scores = [score for shard in output.shards() for score in output.scores(shard)]
    first, then = (AnsweredTexts.of(scores, name, [axis]) for name in ("smaller", "larger"))
    assert first.texts == then.texts
    true = np.array([levels[text] for text in first.texts])
    far, near = (abs(answers.values[:, 0] - true) for answers in (first, then))
    alone = {"smaller": round(float(far.mean()), 3), "larger": round(float(near.mean()), 3)}
    found: dict[str, Any] = {"distance alone": alone}
    for name, (agreement, within) in PROMISES.items():
        ends = {} if within else {axis: [3.5]}
        alike = agrees(first.values, then.values, [axis], ends, within)
        found[name] = cascades(first.doubts, alike, agreement, far, near)
    return found


def cascades(
    doubts: Floats, alike: Floats, agreement: float, far: Floats, near: Floats
) -> dict[str, Any]:
    held, bounds, asked = 0, 0, list[float]()
    off, at_random = list[float](), list[float]()
    for turn in range(CASCADES):
        stream = np.random.default_rng(turn)
        drawn = stream.choice(doubts.size, DRAWN, replace=False)
        seen = np.full(doubts.size, np.nan)
        seen[drawn] = alike[drawn]
        found = kept(doubts, seen, agreement=agreement, confidence=CONFIDENCE)
        bound = -np.inf if not found or found.threshold is None else -found.threshold
        mine = doubts <= bound
        bounds += bool(mine.any())
        held += bool(not mine.any() or alike[mine].mean() >= agreement)
        also = np.zeros(doubts.size, bool)
        also[drawn] = True
        asked.append(float((~mine | also).mean()))
        off.append(float(np.where(mine, far, near).mean()))
        at_random.append(float(mine.mean() * far.mean() + (1 - mine.mean()) * near.mean()))
    means = {"asked of the larger": asked, "distance": off, "distance at random": at_random}
    agree = {"agree on all texts": round(float(alike.mean()), 3), "kept": held}
    agree["with a bound"] = bounds
    return agree | {name: round(float(np.mean(values)), 3) for name, values in means.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("smaller")
    parser.add_argument("--documents", type=int, default=100)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases, made = Path(folder) / "cases.jsonl", list(make_cases(wanted.documents, seed=3))
        cases.write_text(as_jsonl(made))
        outcome = judged(cases, Path(folder) / "run", wanted.smaller)
        found = {axis: rows(outcome, axis, levels(made, axis)) for axis in AXES}
    for axis, figures in found.items():
        for name, of_axis in figures.items():
            print(f"{axis}, {name}: {of_axis}")
    keep("cascade", {"documents": wanted.documents, "drawn": DRAWN, "cascades": CASCADES} | found)


if __name__ == "__main__":
    main()
