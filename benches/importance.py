"""The importance metric: how much faster than loops by the definition, and how it grows.

    python benches/importance.py [CASES.jsonl]        (default: an invented corpus of 100 × 16)

First, both score the same cases in one process, all preparation included (tokenizer, document
frequencies), and must give equal numbers; their ratio is printed. The loops do no work twice:
frequencies are counted once, and a document's weights are kept for its summaries.

Then invented corpora of growing size: in memory, and as the Ray job of a run (two passes and the
score files), each in a process of its own, with the memory of the driver and of the workers.
Writes benches/importance.json.
"""

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import exp, log, tanh
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from figures import keep

import evaljudge
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.metrics import make_metrics
from evaljudge.metrics.protocol import measure_here
from evaljudge.metrics.tokens import learn_bpe
from evaljudge.records import Candidate, Case, Document

SIZES = (1_000, 10_000, 100_000)
ROUNDS, N = 3, 3
Grams = list[tuple[int, ...]]


def loops(cases: Sequence[Case]) -> list[list[float]]:
    read, scores = _reader(cases), []
    sources = [read(case.document.source) for case in cases]
    frequencies = Counter(gram for _, document in sources for gram in set(document))
    for case, (length, document) in zip(cases, sources, strict=True):
        weights = _weights(document, len(cases), frequencies)
        ceiling, of_case = sum(weights.values()), []
        for candidate in case.candidates:
            mine, grams = read(candidate.text)
            overlap = sum(weights.get(gram, 0.0) for gram in set(grams))
            of_case.append(overlap / ceiling / (1 + exp(20 * mine / length - 10)))
        scores.append(of_case)
    return scores


def _reader(cases: Sequence[Case]) -> Callable[[str], tuple[int, Grams]]:
    bpe = learn_bpe((case.document.source.lower() for case in cases), 100)

    def read(text: str) -> tuple[int, Grams]:
        ids = bpe([text.lower()]).ids.tolist()
        return len(ids), [tuple(ids[i : i + N]) for i in range(len(ids) - N + 1)]

    return read


def _weights(
    document: Grams, documents: int, frequencies: Counter[tuple[int, ...]]
) -> dict[tuple[int, ...], float]:
    times = Counter(document)
    w = {gram: round(n * log(documents / frequencies[gram]), 9) for gram, n in times.items()}
    at_least = dict(_at_least(Counter(w.values())))
    return {gram: tanh(value / at_least[value]) for gram, value in w.items()}


def _at_least(values: Counter[float]) -> Iterator[tuple[float, int]]:
    """How many n-grams have at least each of these importances."""
    falling = sorted(values, reverse=True)
    return zip(falling, accumulate(values[value] for value in falling), strict=True)


def arrays(cases: Sequence[Case]) -> list[list[float]]:
    values = measure_here(make_metrics({"importance": {}}), cases)["importance"]
    return [[float(value) for value in of_case] for of_case in values]  # type: ignore[arg-type]


def speed(cases: Sequence[Case]) -> dict[str, Any]:
    ways = {"arrays": arrays, "loops": loops}
    seen: dict[str, list[float]] = {name: [] for name in ways}
    arrays(cases[:2])  # imports
    for _ in range(ROUNDS):
        results = []
        for name, way in ways.items():
            since = time.perf_counter()
            results.append(way(cases))
            seen[name].append(round(time.perf_counter() - since, 3))
        for other in results[1:]:
            for mine, theirs in zip(results[0], other, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    best = {name: min(times) for name, times in seen.items()}
    return {
        "summaries": sum(len(case.candidates) for case in cases),
        "seconds": seen,
        "loops / arrays": round(best["loops"] / best["arrays"], 1),
    }


def invented(cases: int, systems: int = 2, words: int = 400, of_text: int = 60) -> Iterator[Case]:
    """Words by Zipf's law, and spelt of syllables; a text is drawn from its document."""
    draw = random.Random(0)
    syllables = [c + v + e for c in "bdfgklmnprst" for v in "aeiou" for e in ("", "n", "r", "s")]
    words_known = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(20_000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(words_known) + 1)))
    for number in range(cases):
        draws = random.Random(number)
        source = draws.choices(words_known, cum_weights=weights, k=words)
        texts = [" ".join(draws.choices(source, k=of_text)) for _ in range(systems)]
        candidates = (Candidate(f"s{i}", text) for i, text in enumerate(texts))
        yield Case(Document(f"d{number}", " ".join(source)), tuple(candidates))


def growth(form: str, size: int) -> dict[str, Any]:
    """The growth measured in a process of its own, so that its memory is its own."""
    command = [sys.executable, __file__, "--grow", form, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(form, json.dumps(figures))
    return figures


def in_memory(size: int) -> dict[str, Any]:
    cases = list(invented(size))
    since = time.perf_counter()
    arrays(cases)
    seconds = time.perf_counter() - since
    return {"documents": size, "seconds": round(seconds, 1), "ms_each": _each(seconds, size)}


def as_ray_job(size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="importance-") as folder:
        corpus, out = Path(folder) / "cases.jsonl", Path(folder) / "out"
        with corpus.open("w") as file:
            for case in invented(size):
                file.write(json.dumps(_row(case)) + "\n")
        with peaks() as peak:
            since = time.perf_counter()
            evaljudge.run({"corpus": str(corpus), "out": str(out), "judges": {},
                           "metrics": ["importance"]})  # fmt: skip
            seconds = time.perf_counter() - since
        return {
            "documents": size,
            "seconds": round(seconds, 1),
            "ms_each": _each(seconds, size),
        } | {f"{who}_mb_peak": round(mb) for who, mb in peak.items()}


def _row(case: Case) -> dict[str, Any]:
    texts = [{"system": c.system, "text": c.text} for c in case.candidates]
    return {"doc_id": case.document.doc_id, "source": case.document.source, "candidates": texts}


def _each(seconds: float, size: int) -> float:
    return round(1000 * seconds / size, 3)


class peaks:
    """The most that the driver, and any one worker, held at once; what is shared is not counted."""

    def __enter__(self) -> dict[str, float]:
        self._seen, self._end = {"driver": 0.0, "worker": 0.0}, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self._seen

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._end.wait(0.5):
            self._note("driver", me)
            for child in me.children(recursive=True):
                self._note("worker", child)

    def _note(self, who: str, process: psutil.Process) -> None:
        try:
            if who == "driver" or process.name().startswith("ray::"):
                used = process.memory_full_info().uss / 2**20
                self._seen[who] = max(self._seen[who], used)
        except psutil.Error:
            return  # it has ended


def main(path: str | None) -> None:
    if path:
        with open_corpus(CorpusSource(path)) as corpus:
            cases = list(corpus)
    else:
        cases = list(invented(100, 16))
    seen: dict[str, Any] = {"corpus": Path(path).name if path else "invented"}
    seen["speed"] = speed(cases)
    print(json.dumps(seen))
    seen["in_memory"] = [growth("memory", size) for size in SIZES]
    seen["ray_job"] = [growth("ray", size) for size in SIZES]
    keep("importance", seen)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--grow"]:
        grow = {"memory": in_memory, "ray": as_ray_job}[sys.argv[2]]
        print(json.dumps(grow(int(sys.argv[3]))))
    else:
        main(*(sys.argv[1:2] or [None]))
