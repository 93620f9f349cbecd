"""How quickly `evaljudge view` answers a browser over a run of many texts, beside an empty page.

    python benches/page_speed.py [--documents 10000] [--rounds 5] [--out FOLDER]

Makes a run on the scripted model, ten systems' texts for each document and a third of them rated,
serves it as the command does, and opens it in Chromium. Each round loads an empty page from a
server of the same kind, then the run's first screen, and then filters, sorts, searches and opens
texts. Prints the median of each in seconds and as a multiple of the empty page's load, and writes
benches/page_speed.json. `--out`: a run that an earlier call left there is used again.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from figures import keep

SYSTEMS, RATED_EVERY = 10, 3
WORDS = ("river", "council", "bridge", "boats", "weather", "city", "money", "vote", "night")
EMPTY = b"<!doctype html><html lang='en'><title>empty</title><link rel='icon' href='data:,'></html>"
TARGETS = {"first screen": 2.0, "filter": 0.5}
"""Seconds; other steps have none."""
LISTED = "#list[aria-busy=false] tbody tr"
CHANGED = """([id, value]) => new Promise((done) => {
  const [list, control] = [document.getElementById("list"), document.getElementById(id)];
  const begun = performance.now();
  new MutationObserver((_, seen) => {
    if (list.getAttribute("aria-busy") === "false") {
      seen.disconnect();
      requestAnimationFrame(() => setTimeout(() => done((performance.now() - begun) / 1000)));
    }
  }).observe(list, { attributeFilter: ["aria-busy"] });
  control.value = value;
  control.dispatchEvent(new Event("input"));
})"""
"""Seconds from a change of a control until the list has been drawn anew."""
MOVED = """(value) => new Promise((done) => {
  const control = document.getElementById("threshold-at");
  const begun = performance.now();
  control.value = value;
  control.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => setTimeout(() => done((performance.now() - begun) / 1000)));
})"""
STEPS = [
    ("filter: a system", "by-system", "system 3"),
    ("filter: scores from", "by-low", "3"),
    ("filter: scores to", "by-high", "4"),
    ("filter: off", "by-system", ""),
    ("filter: rated", "by-rated", "yes"),
    ("filter: selected", "by-selected", "yes:best"),
    ("sort: disagreement", "sort", "disagreement"),
    ("all texts: off", "by-selected", ""),
    ("all texts: off", "by-rated", ""),
    ("all texts: off", "by-low", ""),
    ("all texts: off", "by-high", ""),
    ("sort all: by score", "sort", "low"),
    ("sort all: disagreement", "sort", "disagreement"),
    ("sort all: doubt", "sort", "doubt"),
    ("sort all: threshold", "sort", "threshold"),
    ("search", "search", "d77 river"),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    how = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="page-speed-") as scratch:
        folder = how.out or Path(scratch)
        made = folder / "run"
        if not made.exists():
            make_run(folder, made, how.documents)
        starts, rows = measured(made, how.rounds)
    empty = statistics.median(row["empty page"] for row in rows)
    medians = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    figures: dict[str, Any] = {
        "texts": how.documents * SYSTEMS,
        "server_seconds": starts,
        "medians": {
            name: {"seconds": round(seconds, 3), "of_empty": round(seconds / empty, 1)}
            for name, seconds in medians.items()
        },
        "rounds": [{name: round(seconds, 3) for name, seconds in row.items()} for row in rows],
    }
    print(f"{figures['texts']:,} texts; the link answers after {starts} s")
    late = []
    for name, times in figures["medians"].items():
        target = next((s for begin, s in TARGETS.items() if name.startswith(begin)), None)
        print(f"{name:24}{times['seconds']:>8.3f} s{times['of_empty']:>8.1f} × the empty page")
        if target is not None and times["seconds"] > target:
            late.append(f"{name}: {times['seconds']} s, more than {target} s")
    keep("page_speed", figures)
    print("\n".join(late))
    return int(bool(late))


def make_run(folder: Path, out: Path, documents: int) -> None:
    import evaljudge
    from evaljudge.engines.scripted import ScriptedEngines

    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / "cases.jsonl"
    with corpus.open("w") as lines:
        lines.writelines(f"{json.dumps(row)}\n" for row in rows_of(documents))
    best = {"scorer": "geval", "axis": "fluency", "top_fraction": 0.1}
    config = {
        "corpus": str(corpus),
        "out": str(out),
        "model": "scripted",
        "axes": ["fluency"],
        "judges": {"geval": {"samples": 4}},
        "metrics": ["words"],
        "workers": {"executor": "local"},
        "agreement": {"resamples": 20},
        "select": [{"name": "best", "all": [best]}],
    }
    evaljudge.run(config, engines=ScriptedEngines())


def rows_of(documents: int) -> Iterator[dict[str, Any]]:
    for number in range(documents):
        draw = random.Random(number)
        is_rated = number % RATED_EVERY == 0
        candidates = [
            {
                "system": f"system {place}",
                "text": " ".join(draw.choices(WORDS, k=20)),
                "ratings": {"fluency": draw.randint(1, 5)} if is_rated else {},
            }
            for place in range(SYSTEMS)
        ]
        source = " ".join(draw.choices(WORDS, k=80))
        yield {"doc_id": f"d{number}", "source": source, "candidates": candidates}


def measured(out: Path, rounds: int) -> tuple[float, list[dict[str, float]]]:
    """Seconds until the command's link answers, and those of each step in each round."""
    from playwright.sync_api import sync_playwright

    with empty_page() as empty, viewed(out) as (link, starts), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        loaded(browser, empty)  # the first page of a browser takes longer than any later one
        rows = [one_round(browser, empty, link) for _ in range(rounds)]
        browser.close()
    return starts, rows


@contextmanager
def empty_page() -> Iterator[str]:
    from evaljudge.viewer.server import HTML, Response, Site, serving

    site = Site({"/": lambda given: Response(EMPTY, HTML)})
    server = serving(site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/?token={site.token}"
    server.shutdown()
    server.server_close()


@contextmanager
def viewed(out: Path) -> Iterator[tuple[str, float]]:
    command = [sys.executable, "-m", "evaljudge", "view", str(out)]
    begun = time.monotonic()
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        link = server.stdout.readline().split()[-1]
        urlopen(link).close()
        yield link, round(time.monotonic() - begun, 1)
    finally:
        server.terminate()
        server.wait()


def loaded(browser: Any, link: str) -> float:
    page = browser.new_page()
    begun = time.monotonic()
    page.goto(link)
    seconds = time.monotonic() - begun
    page.close()
    return seconds


def one_round(browser: Any, empty: str, link: str) -> dict[str, float]:
    seconds_of = {"empty page": loaded(browser, empty)}
    page = browser.new_page()
    begun = time.monotonic()
    page.goto(link)
    page.wait_for_selector(LISTED)
    seconds_of["first screen"] = time.monotonic() - begun
    for name, control, value in STEPS:
        seconds = page.evaluate(CHANGED, [control, value])
        seconds_of[name] = max(seconds_of.get(name, 0.0), seconds)
    for name, value in (("threshold: moved", 70), ("threshold: moved", 30)):
        seconds_of[name] = max(seconds_of.get(name, 0.0), page.evaluate(MOVED, value))
    begun = time.monotonic()
    page.locator("#list tbody a").first.click()
    page.wait_for_selector("dialog[open] .judged")
    seconds_of["text: by a click"] = time.monotonic() - begun
    address = page.url
    page.close()
    page = browser.new_page()
    begun = time.monotonic()
    page.goto(address)
    page.wait_for_selector("dialog[open] .judged")
    seconds_of["text: by its link"] = time.monotonic() - begun
    page.close()
    return seconds_of


if __name__ == "__main__":
    sys.exit(main())
