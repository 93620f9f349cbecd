"""Runs to look at, pages of them in a browser, and the server."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import evaljudge
from evaljudge.analysis.run_scores import scored_run
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.viewer.labels import LabelSheet, label_site
from evaljudge.viewer.server import served
from evaljudge.viewer.site import RunSite

DOCUMENTS, SYSTEMS = 40, "ABC"


def write_corpus(file: Path, more: str = "") -> str:
    chance = random.Random(3)
    rows = [
        {"doc_id": f"d{n}{more}", "source": f"The river of town {n} rose.{more}", "candidates": [
            {"system": f"{system}{more}", "text": f"{system} on {n}: the river rose.{more}",
             "ratings": {"fluency": chance.randint(1, 5)} if n < 30 else {}}
            for system in SYSTEMS]}
        for n in range(DOCUMENTS)
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def make_run(folder: Path, name: str, more: str = "", **changes: Any) -> evaljudge.Outcome:
    config = {
        "corpus": write_corpus(folder / f"{name}.jsonl", more), "out": str(folder / name),
        "model": "m", "axes": ["fluency"], "metrics": ["words"], "view": 60,
        "judges": {"synthetic": {}, "geval": {"samples": 4}, "direct": {"steps": False},
                   "entities": {}, "roles": {}, "pairs": {}},
        "workers": {"executor": "local"}, "coverage_floor": 0,
        "select": [{"name": "good", "all": [
            {"scorer": "synthetic.ordinal", "axis": "fluency", "top_fraction": 0.25}]}],
        "agreement": {"resamples": 20}, **changes,
    }  # fmt: skip
    return evaljudge.run(config, engines=ScriptedEngines())


def write_sheet(
    file: Path, texts: int = 3, long: str = "", axes: Iterable[str] = ("fluency",)
) -> None:
    """As `evaljudge label` writes it: nobody has rated yet."""
    rows = [
        {"label": f"l{n}", "source": f"S{n} {long}", "context": "C", "text": f"T{n} {long}"}
        | dict.fromkeys(axes)
        | {"rater": None}
        for n in range(texts)
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@contextmanager
def labelling(
    file: Path, described: Mapping[str, str] | None = None, rater: str = "anna"
) -> Iterator[str]:
    """The link of a sheet's page."""
    with served(label_site(LabelSheet.open(str(file), rater), described or {})) as link:
        yield link


@contextmanager
def looking(run: evaljudge.Outcome, *beside: evaljudge.Outcome) -> Iterator[str]:
    """The link of a run's page."""
    others = [scored_run(one.out) for one in beside]
    with served(RunSite(scored_run(run.out), run.findings, others).site) as link:
        yield link


@contextmanager
def opened(browser: Any, link: str, watch: str = "", **options: Any) -> Iterator[Any]:
    """A page, which must not have an error and must ask nobody but its own server. `watch`: a
    script that runs before the page's own."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 1000}} | options)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    own = link.split("?")[0].rsplit("/", 1)[0]
    page.on("request", lambda asked: asked.url.startswith(own) or wrong.append(asked.url))
    page.add_init_script(watch)
    page.goto(link)
    yield page
    context.close()
    assert wrong == []


@contextmanager
def listed(browser: Any, link: str, **options: Any) -> Iterator[Any]:
    """The same, once its list of texts is there."""
    with opened(browser, link, **options) as page:
        page.wait_for_selector("#list tbody tr")
        yield page


def open_first(page: Any) -> None:
    """The first text of the list, with its evidence."""
    page.locator("#list tbody a").first.click()
    page.wait_for_selector("dialog[open] .judged")


def choose(page: Any, control: str, label: str) -> None:
    page.select_option(control, label=label)
    settle(page)


def settle(page: Any) -> None:
    """The list shows what was asked last: the page marks it while it is not."""
    page.wait_for_timeout(200)  # until a search has begun
    page.wait_for_selector("#list[aria-busy=false]")


def violations(page: Any, within: str = "html") -> list[str]:
    """Of all rules of axe-core, the advice on good practice too."""
    import axe_core_python

    page.evaluate(Path(axe_core_python.__file__).with_name("axe.min.js").read_text())
    found = page.evaluate("(within) => axe.run(within)", within)["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]
