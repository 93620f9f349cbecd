"""The demo through the command line: the judge in the box, on vLLM, judges better than chance.

What is asserted is far under what it reaches, and far above what a broken pipeline could: with
Better and Worse exchanged, or the true levels shuffled, the same check fails.
"""

import io
import json
import random
import shutil
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import sync_playwright
from scipy.stats import spearmanr

import evaljudge
from evaljudge.bundled.world import AXES, SYSTEMS
from evaljudge.cli import main
from evaljudge.commands.options import ViewOptions
from evaljudge.commands.view import viewing
from evaljudge.judges import make_judges
from evaljudge.prompts import load_task
from evaljudge.records import Verdict
from evaljudge.runs import job
from tests import build
from tests.end_to_end import shared
from tests.world.oracle import levels_of, read_report

pytestmark = [pytest.mark.engine, pytest.mark.ray]
DOCUMENTS = 4
CLEARLY = 0.5
"""Chance is 0, give or take 0.22: four documents of six candidates."""
Levels = dict[tuple[str, str], float]


@pytest.fixture(scope="module")
def demo(tmp_path_factory, shared_engines):
    """Its folder, and what it printed; in this process, which test_e2e_submit.py has on Ray."""
    out, printed = tmp_path_factory.mktemp("demo") / "demo", io.StringIO()
    words = ["demo", f"--out={out}", f"--documents={DOCUMENTS}", "--seed=5"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(job, "VllmEngines", lambda: shared_engines)
        here = partial(evaljudge.run, changes=["workers.executor=local"])
        patch.setattr("evaljudge.commands.run.run", here)
        with pytest.raises(SystemExit) as ended:
            main(words)
    assert not ended.value.code
    return out, printed.getvalue()


def true_levels(out: Path, axis: str) -> Levels:
    cases = [json.loads(line) for line in (out / "cases.jsonl").read_text().splitlines()]
    return {
        (case["doc_id"], candidate["system"]): candidate["ratings"][axis]
        for case in cases
        for candidate in case["candidates"]
    }


def verdicts(out: Path) -> list[dict[str, Any]]:
    rows = build.stored(out / "run/verdicts/synthetic")
    assert len(rows) == DOCUMENTS * len(SYSTEMS) * len(AXES)
    return rows


def scored(rows: list[dict[str, Any]], axis: str, exchanged: bool = False) -> Levels:
    """The judge's own arithmetic over the verdicts; `exchanged`: with Better and Worse mixed up."""
    (judge,) = make_judges({"synthetic": {}}, load_task("summary", prompts="nano"))
    found = {}
    for row in rows:
        if row["axis"] != axis:
            continue
        evidence = json.loads(row["evidence"])
        if exchanged:
            for level in evidence["levels"]:
                logs = level["logprobs"]
                logs["Better"], logs["Worse"] = logs["Worse"], logs["Better"]
        verdict = Verdict(row["doc_id"], row["system"], "synthetic", axis, evidence, row["status"])
        value = judge.score(verdict)[0].value
        assert value is not None
        found[row["doc_id"], row["system"]] = value
    return found


def spearman(scores: Levels, human: Levels) -> float:
    """At sample level, by scipy: the mean over documents on which either is not constant."""
    found = []
    for doc_id in sorted({doc_id for doc_id, _ in scores}):
        mine, true = ([table[doc_id, s] for s in SYSTEMS] for table in (scores, human))
        if len(set(mine)) > 1 and len(set(true)) > 1:
            found.append(float(spearmanr(mine, true).statistic))
    assert len(found) > DOCUMENTS / 2
    return sum(found) / len(found)


@pytest.mark.parametrize("axis", AXES)
def test_it_judges_clearly_better_than_chance(demo, axis):
    """And what is asserted would fail with Better and Worse exchanged, or on shuffled levels."""
    rows, levels = verdicts(demo[0]), true_levels(demo[0], axis)
    assert spearman(scored(rows, axis), levels) > CLEARLY
    assert spearman(scored(rows, axis, exchanged=True), levels) < -CLEARLY
    values = random.Random(0).sample(list(levels.values()), len(levels))
    shuffled = dict(zip(levels, values, strict=True))
    assert abs(spearman(scored(rows, axis), shuffled)) < CLEARLY


def test_all_is_scored_and_what_is_printed_says_what_it_is(demo):
    out, printed = demo
    run = json.loads((out / "run/run.json").read_text())
    assert run["coverage"] == 1.0
    assert run["mass"]["synthetic"]["mean"] > 0.99
    assert any("small world" in warning for warning in run["warnings"])
    for said in (
        "knows the small world",
        f"evaljudge run {out}/config.yaml --set model=",
        "came from the prefix cache",
        f"{out}/run/selected/best-fifth.jsonl",
        f"{out}/run/report/index.html",
    ):
        assert said in printed


def test_the_report_has_what_was_recomputed_here(demo):
    out, _ = demo
    rows = json.loads((out / "run/report/agreement.json").read_text())
    told = {
        row["axis"]: row["value"]
        for row in rows
        if (row["scorer"], row["level"], row["coefficient"]) == ("synthetic", "sample", "spearman")
    }
    for axis in AXES:
        mine = spearman(scored(verdicts(out), axis), true_levels(out, axis))
        assert told[axis] == pytest.approx(mine, abs=1e-9)


@pytest.mark.long
def test_on_ray_it_comes_to_the_same(demo):
    """To the last digit."""
    out, _ = demo
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert config["workers"] == {"executor": "ray"}
    evaljudge.run(config | {"out": str(out / "ray")})
    there, here = (shared.lasting(out / name) for name in ("ray", "run"))
    assert len(here["verdicts"]) == DOCUMENTS * len(SYSTEMS) * len(AXES)
    assert not shared.differences(there, here)


def test_its_references_rise_in_truth(demo):
    """In most documents no reference on fluency has a lower true level than the one below it."""
    out, _ = demo
    corpus = map(json.loads, (out / "cases.jsonl").read_text().splitlines())
    reports = {case["doc_id"]: read_report(case["source"]) for case in corpus}
    written: dict[str, dict[float, int]] = {}
    for brief in evaljudge.open_run(out / "run").briefs("synthetic").to_pylist():
        if brief["axis"] == "fluency" and brief["status"] == "ok":
            report = reports[brief["doc_id"]]
            level = levels_of(brief["text"], report)["fluency"]
            written.setdefault(brief["doc_id"], {})[brief["rating"]] = level
    in_order = [[levels[rating] for rating in sorted(levels)] for levels in written.values()]
    assert len(in_order) == DOCUMENTS
    assert all(len(levels) == 5 for levels in in_order)
    assert sum(levels == sorted(levels) for levels in in_order) >= 0.6 * DOCUMENTS


@pytest.mark.long
def test_the_page_leads_from_the_best_system_to_its_worst_text_and_the_reason(demo):
    run, chromium = str(demo[0] / "run"), shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with viewing(ViewOptions(run)) as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(link)
        page.wait_for_selector("#list tbody tr")
        answer = page.locator(".answer", has=page.locator("h3", has_text="relevance"))
        worst = answer.get_by_role("link", name="Worst texts of")
        best = worst.inner_text().removeprefix("Worst texts of ")
        worst.click()
        page.wait_for_function(
            "best => [...document.querySelectorAll('#list td:nth-child(2)')]"
            ".every((cell) => cell.textContent === best)", arg=best,
        )  # fmt: skip
        page.locator("#list tbody a").first.click()
        page.wait_for_selector("dialog[open] .judged")
        name = page.text_content("#text-name") or ""
        assert page.locator("#text-body rect.better").count() == 5 * len(AXES)
        browser.close()
    scores = evaljudge.open_run(run).scores().to_pylist()
    key = (best, "synthetic", "relevance")
    mine = {
        row["doc_id"]: row["value"]
        for row in scores
        if (row["system"], row["scorer"], row["axis"]) == key
    }
    assert name.endswith(f" · {best}") and mine[name.split(" · ")[0]] == min(mine.values())
