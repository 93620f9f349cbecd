"""Cheaper ways of comparing beside the paper's: how much is asked, and whether people notice.

    python benches/cheaper.py [--documents N] [--timed]    (default: 50 of the demo's judge)

Judges held-out documents of the demo's world by its own judge, with 5 and with 9 levels, in one run
each: by `synthetic` as it is (full), with `adaptive` at several certainties, with `layout: ladder`,
and with both. Then full and adaptively by a scripted judge that is about as noisy as real ones are:
it misjudges each text, each reference and each comparison by random amounts, and agrees with the
ratings at about 0.65. Prints for each way the share of the comparisons that was asked, Spearman's
correlation with the ratings within documents of full and of this way, and their paired difference
with its 95% interval over documents. With --timed also the seconds that judging takes in full and
in each cheaper way of the demo's judge, with the references written beforehand and the ways taking
turns. Writes benches/cheaper.json.
"""

import argparse
import json
import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from math import log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from figures import keep
from scipy.special import expit
from scipy.stats import spearmanr

import evaljudge
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.engines import VllmEngines
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.model.asks import Options, Prompt
from evaljudge.storage import Output

HERE = Path(__file__).parent
LEVELS = (5, 9)
CERTAINTIES = (0.98, 0.95, 0.9, 0.8)
READINGS = ("", ".ordinal")
ROUNDS = 3
DOCUMENTS, CANDIDATES = 100, 16
"""The scripted judge has as many as SummEval."""
TEXT, REFERENCE, COMPARISON = 1.0, 0.3, 0.5
"""How many levels the scripted judge is typically wrong by about each."""
SLOPE = 2.2


class Noisy:
    """The scripted judge's answers."""

    def __call__(self, prompt: Prompt, options: Options) -> Mapping[str, float]:
        found = re.search(r"text (\d+) (\d+) ([\d.]+)", prompt.text)
        assert found
        document, candidate, level = found[1], found[2], float(found[3])
        rating = float(prompt.about)
        distance = level + drawn(TEXT, document, candidate)
        distance -= rating + drawn(REFERENCE, document, rating)
        distance += drawn(COMPARISON, document, candidate, rating)
        better, worse = expit(SLOPE * distance - 1), expit(-SLOPE * distance - 1)
        p = {"Better": better, "Worse": worse, "Similar": 1 - better - worse}
        return {name: log(p[name]) for name in options.names}


def drawn(spread: float, *of: object) -> float:
    return random.Random(repr(of)).gauss(0, spread)


def noisy_cases() -> Iterator[dict[str, Any]]:
    source = random.Random(0)
    for document in range(DOCUMENTS):
        levels = [source.uniform(1.5, 5) for _ in range(CANDIDATES)]
        yield {
            "doc_id": f"d{document}",
            "source": f"Document {document}.",
            "candidates": [
                {"system": f"s{n}", "text": f"text {document} {n} {level:.3f}",
                 "ratings": {"fluency": round(3 * level) / 3}}
                for n, level in enumerate(levels)
            ],
        }  # fmt: skip


ADAPTIVE: dict[str, dict[str, Any]] = {
    f"certainty-{100 * c:g}": {"adaptive": {"certainty": c}} for c in CERTAINTIES
}
LADDER: dict[str, dict[str, Any]] = {
    "ladder": {"layout": "ladder"},
    "ladder-certainty-98": {"layout": "ladder", "adaptive": {"certainty": 0.98}},
}
"""Ways that are compared with the full one, by name; the scripted judge reads no ladder."""
TIMED = ("certainty-98", *LADDER)


def judges(levels: int, ways: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    common = {"judge": "synthetic", "levels": levels, "max_tokens": 96}
    common |= {"checks": {"neighbours": 0, "exchanged": 0}}
    return {"full": common} | {name: {**common, **settings} for name, settings in ways.items()}


def judged(
    corpus: Path, out: Path, names: Mapping[str, Any], more: Mapping[str, Any], engines: Any
) -> Path:
    config = {
        "corpus": str(corpus), "out": str(out), "judges": names, "coverage_floor": 0,
        "workers": {"executor": "local"}, "agreement": {"resamples": 0},
    }  # fmt: skip
    evaljudge.run(config | dict(more), engines=engines)
    return out


def asked_share(out: Path, judge: str) -> float:
    """The share of comparisons in this judge's verdicts that were asked, not inferred."""
    asked = every = 0
    output = Output(str(out))
    for shard in output.shards():
        for verdict in output.verdicts(judge, shard):
            levels = verdict.evidence.get("levels", [])
            every += len(levels)
            asked += sum("inferred" not in level for level in levels)
    return asked / every


def correlations(out: Path, ratings: Mapping[tuple[str, str, str], float]) -> dict[str, Any]:
    """Spearman's with these ratings, by scorer, document and axis where it is defined."""
    values: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    for file in sorted((out / "scores").rglob("*.parquet")):
        for row in pq.read_table(file).to_pylist():
            if row["value"] is not None:
                by_group = values.setdefault(row["scorer"], {})
                by_group.setdefault((row["doc_id"], row["axis"]), {})[row["system"]] = row["value"]
    by_scorer: dict[str, dict[tuple[str, str], float]] = {}
    for scorer, groups in values.items():
        for (doc, axis), by_system in groups.items():
            people = [ratings[doc, system, axis] for system in by_system]
            if len(set(people)) > 1 and len(set(by_system.values())) > 1:
                by_scorer.setdefault(scorer, {})[doc, axis] = spearmanr(
                    [*by_system.values()], people
                )[0]
    return by_scorer


def difference(mine: Mapping[Any, float], full: Mapping[Any, float]) -> tuple[float, float, float]:
    """The difference of the means over documents, each the mean over its axes; its interval."""
    gaps: dict[str, list[float]] = {}
    for doc, axis in mine.keys() & full.keys():
        gaps.setdefault(doc, []).append(mine[doc, axis] - full[doc, axis])
    each = np.array([np.mean(gaps[doc]) for doc in sorted(gaps)])
    draws = np.random.default_rng(0).choice(each, (10_000, each.size)).mean(axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(each.mean()), float(low), float(high)


def rows(
    title: str, out: Path, levels: int, corpus: Path, ways: Iterable[str]
) -> Iterator[dict[str, Any]]:
    cases = [json.loads(line) for line in corpus.read_text().splitlines()]
    ratings = {
        (case["doc_id"], candidate["system"], axis): value
        for case in cases
        for candidate in case["candidates"]
        for axis, value in candidate["ratings"].items()
    }
    by_scorer = correlations(out, ratings)
    for way in ways:
        share = asked_share(out, way)
        for reading in READINGS:
            mine, full = by_scorer[way + reading], by_scorer["full" + reading]
            gap, low, high = difference(mine, full)
            yield {
                "judge": title,
                "levels": levels,
                "way": way,
                "reading": f"synthetic{reading}",
                "asked": round(share, 3),
                "full": round(float(np.mean([*full.values()])), 4),
                "cheaper": round(float(np.mean([*mine.values()])), 4),
                "difference": round(gap, 4),
                "low": round(low, 4),
                "high": round(high, 4),
                "documents": len({doc for doc, _ in mine}),
            }


def seconds(out: Path) -> float:
    """Seconds of judging, without writing the references."""
    costs = json.loads((out / "report/costs.json").read_text())
    return sum(float(row["seconds"]) for row in costs if row["stage"] == "judge")


def timed(folder: Path, world: Path, nano: Mapping[str, Any], levels: int) -> dict[str, Any]:
    every, seconds_of = judges(levels, ADAPTIVE | LADDER), dict[str, list[float]]()
    more = dict(nano) | {"briefs": str(folder / f"briefs{levels}")}
    judged(world, folder / f"warm{levels}", {"full": every["full"]}, more, VllmEngines())
    for number in range(ROUNDS):
        for way in ("full", *TIMED):
            out = folder / f"timed-{levels}-{number}-{way}"
            judged(world, out, {way: every[way]}, more, VllmEngines())
            seconds_of.setdefault(way, []).append(round(seconds(out), 2))
    ratios = {
        way: round(median(x / y for x, y in zip(seconds_of["full"], times, strict=True)), 2)
        for way, times in seconds_of.items()
    }
    return {"levels": levels, "seconds": seconds_of, "full / cheaper": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--timed", action="store_true")
    options = parser.parse_args()
    all_rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="cheaper-") as folder:
        world, noisy = Path(folder, "world.jsonl"), Path(folder, "noisy.jsonl")
        world.write_text(as_jsonl(make_cases(options.documents, seed=777)))
        noisy.write_text("".join(f"{json.dumps(case)}\n" for case in noisy_cases()))
        nano = {"prompts": "nano", "model": {"source": "nano", "engine": {}}}
        scripted = {"model": "scripted", "axes": ["fluency"]}
        for levels in LEVELS:
            ways = judges(levels, ADAPTIVE | LADDER)
            out = judged(world, Path(folder, f"nano{levels}"), ways, nano, VllmEngines())
            all_rows += rows("the demo's judge", out, levels, world, ADAPTIVE | LADDER)
            engines = ScriptedEngines(lambda: Scripted(chooses=Noisy()))
            ways = judges(levels, ADAPTIVE)
            out = judged(noisy, Path(folder, f"noisy{levels}"), ways, scripted, engines)
            all_rows += rows("scripted and noisy", out, levels, noisy, ADAPTIVE)
        wanted = LEVELS if options.timed else ()
        times = [timed(Path(folder), world, nano, levels) for levels in wanted]
    keep("cheaper", {"rows": all_rows, "times": times})
    for row in all_rows:
        print(
            "{judge:20}{levels:>2} levels  {way:20}{reading:18} asked {asked:.1%}  "
            "agreement {full:.3f} -> {cheaper:.3f}  {difference:+.4f} [{low:+.4f}, {high:+.4f}]"
            .format(**row)
        )  # fmt: skip
    for time in times:
        print(json.dumps(time))


if __name__ == "__main__":
    main()
