"""Every word that a page shows may come from a stranger: none runs, and none asks for anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import evaljudge
from evaljudge.analysis.two_runs import scored_run
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.viewer.labels import LabelSheet
from evaljudge.viewer.site import LabelSite, RunSite
from tests.viewer.pages import choose, opened, served, settle

pytestmark = pytest.mark.browser
FAR = "http://127.0.0.1:9"
HOSTILE = (
    "</script><script>window.ran = 1</script>"
    f'<img src="{FAR}/x" onerror="window.ran = 1"><svg onload="window.ran = 1">'
    f"</style><style>*{{display:none;background:url({FAR}/y)}}</style>"
    "<!-- <script> --\u2028> \u202e\u2066"
    '"\'><a href="javascript:window.ran=1">a</a><iframe src="data:text/html,x"></iframe>'
    "</template></textarea></title></option></select>{{ 7 * 7 }}${7 * 7}"
)
SHORT = "</script><img src=x onerror=window.ran=1>"
NAMES = ["__proto__", "constructor", "querySelector", f"{SHORT}\u202e"]
WATCH = """
  window.broken = [];
  addEventListener("securitypolicyviolation", ({ violatedDirective }) => {
    window.broken.push(violatedDirective);
  });
"""


def make_hostile_run(folder: Path, name: str) -> tuple[evaljudge.Outcome, dict[str, Any]]:
    axes = {axis: {"description": f"how it reads {HOSTILE}"} for axis in ("fluency", *NAMES)}
    task = {"name": SHORT, "about": HOSTILE, "axes": axes, "prompts": "summary",
            "roles": {"Critic": HOSTILE}}  # fmt: skip
    (folder / "task.yaml").write_text(yaml.safe_dump(task))
    rows = [
        {"doc_id": doc, "source": f"S {HOSTILE}", "context": f"C {HOSTILE}",
         "references": [f"R {HOSTILE}"], "candidates": [
            {"system": system, "text": f"T {place} {doc} {HOSTILE}",
             "ratings": dict.fromkeys(axes, place + 1)}
            for place, system in enumerate(NAMES)]}
        for doc in [*NAMES, *(f"d{n} {HOSTILE}" for n in range(8))]
    ]  # fmt: skip
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    config = {
        "corpus": str(folder / "cases.jsonl"), "out": str(folder / name), "model": SHORT,
        "task": str(folder / "task.yaml"), "metrics": ["words"], "view": 60,
        "judges": {"synthetic": {"levels": 2}, "direct": {"steps": False}, "entities": {},
                   "roles": {}, "constructor": {"judge": "geval"}},
        "select": [{"name": "constructor", "all": [
            {"scorer": "constructor", "axis": "__proto__", "top_fraction": 0.25}]}],
        "workers": {"executor": "local"}, "coverage_floor": 0,
        "agreement": {"resamples": 20, "permutations": 20},
    }  # fmt: skip
    engines = ScriptedEngines(lambda: Scripted(writes=lambda prompt, how: f"W {HOSTILE}"))
    return evaljudge.run(config, engines=engines), config


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> evaljudge.Outcome:
    return make_hostile_run(tmp_path_factory.mktemp("hostile"), "<img src=x onerror=ran=1>\u202e")[
        0
    ]


@contextmanager
def unharmed(browser: Any, link: str) -> Iterator[Any]:
    """No script ran, nothing was refused by the policy since nothing was tried, nothing was added;
    `opened` reads the log and the requests."""
    with opened(browser, link, watch=WATCH) as page:
        yield page
        assert page.evaluate("window.ran") is None
        assert page.evaluate("window.broken") == []
        assert page.locator("img, iframe, main script, main style, svg[onload]").count() == 0
        assert page.locator("[href^='javascript:'], [href^='data:text'], [onerror]").count() == 0
        assert page.evaluate("Object.keys(Object.prototype)") == []
        assert page.locator("h1").is_visible()


def test_a_runs_page_is_unharmed(hostile: evaljudge.Outcome, browser: Any) -> None:
    alone = (Path(hostile.out) / "report" / "index.html").as_uri()
    run = scored_run(hostile.out)
    with served(RunSite(run, hostile.findings).site) as link:
        for address in (alone, link):
            with unharmed(browser, address) as page:
                look_around(page)


def test_two_runs_side_by_side_are_unharmed(
    hostile: evaljudge.Outcome, browser: Any, tmp_path: Path
) -> None:
    run = scored_run(hostile.out)
    site = RunSite(run, hostile.findings, scored_run(hostile.out)).site
    with served(site) as link, unharmed(browser, link) as page:
        look_around(page)
        choose(page, "#by-selected", "constructor: only one of the two runs selects it")
        assert page.text_content("#count").startswith("0 of 48")


def look_around(page: Any) -> None:
    """At every text of each system, with all that is folded, and by each control."""
    page.wait_for_selector("#list tbody tr")
    assert [*page.locator("#by-system option").all_text_contents()] == [
        "all", *sorted(name.replace("\u202e", "\ufffd") for name in NAMES)
    ]  # fmt: skip
    choose(page, "#by-scorer", "constructor · __proto__")
    choose(page, "#by-selected", "selected by constructor")
    assert page.text_content("#count").startswith("12 of 48")
    choose(page, "#by-selected", "all")
    choose(page, "#sort", "most disagreement with people")
    for system in NAMES:
        choose(page, "#by-system", system.replace("\u202e", "\ufffd"))
        assert page.text_content("#count").startswith("12 of 48")
        page.locator("#list tbody a").first.click()
        page.wait_for_selector("dialog[open] .judged")
        page.locator("dialog summary").evaluate_all("all => all.forEach((one) => one.click())")
        shown = page.text_content("#text-body")
        for beginning in ("S ", "C ", "R "):
            assert f"{beginning}</script><script>window.ran = 1</script>" in shown
        assert "{{ 7 * 7 }}${7 * 7}" in shown and "\u202e" not in page.inner_text("body")
        page.keyboard.press("Escape")
    page.fill("#search", "__proto__ </script>")
    settle(page)
    assert page.locator("#list tbody tr").count() > 0
    page.locator("#threshold-at").fill("30")
    page.wait_for_selector("#borderline li")


def test_a_sheet_is_unharmed(browser: Any, tmp_path: Path) -> None:
    axes = dict.fromkeys([*NAMES, "replaceChildren"])
    row = {"label": "__proto__", "source": HOSTILE, "context": HOSTILE, "text": HOSTILE}
    file = tmp_path / "<img src=x onerror=ran=1>.jsonl"
    file.write_text(json.dumps(row | axes | {"rater": None}) + "\n")
    sheet = LabelSheet.open(str(file), SHORT)
    site = LabelSite(sheet, dict.fromkeys(axes, HOSTILE)).site
    with served(site) as link, unharmed(browser, link) as page:
        for rating in range(1, 6):
            with page.expect_response("**/rate"):
                page.keyboard.press(str(rating))
        page.locator("#progress", has_text="1 are rated").wait_for()
        assert "</script><script>window.ran = 1</script>" in page.text_content("#text")
        assert SHORT in page.text_content("#progress")
    found = json.loads(file.read_text())
    assert [found[axis] for axis in axes] == [1, 2, 3, 4, 5] and found["rater"] == SHORT
