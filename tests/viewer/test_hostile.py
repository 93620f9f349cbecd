"""Every word that a page shows may come from a stranger: none runs, and none asks for anything."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_option, noise
from evaljudge.model.asks import Failed, Options, Prompt
from evaljudge.report.page import page
from evaljudge.runs.outcome import open_run
from tests.viewer.pages import choose, labelling, looking, open_first, opened, settle

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
DIRECTING = re.compile("[\u202a-\u202e\u2066-\u2069]")
FILE = "<img src=x onerror=ran=1>\u202e"
SHORT = "</script><img src=x onerror=window.ran=1>"
NAMES = ["__proto__", "constructor", "querySelector", f"{SHORT}\u202e"]
WATCH = """
  window.broken = [];
  addEventListener("securitypolicyviolation", ({ violatedDirective }) => {
    window.broken.push(violatedDirective);
  });
"""
WORDS = """
  (function words(within) {
    return [...within.querySelectorAll("*")].filter((one) => !one.matches("script, style"))
      .flatMap((one) => [
        ...[...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data),
        ...[...one.attributes].filter(({ name }) => !["href", "value"].includes(name)
          && !name.startsWith("data-")).map(({ value }) => value),
        ...(one.content instanceof DocumentFragment ? words(one.content) : []),
      ]);
  })(document)
"""
"""All that is shown or read aloud, or will be."""


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
    ratings = folder / f"{FILE}.jsonl"
    ratings.write_text("\n".join(map(json.dumps, hostile_ratings())))
    config = {
        "corpus": str(folder / "cases.jsonl"), "out": str(folder / name), "model": SHORT,
        "task": str(folder / "task.yaml"), "view": 60,
        "metrics": {"words": {}, "toString": {"metric": "words"}},
        "mixes": {"valueOf": "words + constructor"},
        "judges": {"synthetic": {"levels": 2}, "direct": {"steps": False}, "entities": {},
                   "roles": {"encoder": f"E{SHORT}\u202e"}, "pairs": {},
                   "constructor": {"judge": "geval"}},
        "select": [{"name": name, "all": [
            {"scorer": "constructor", "axis": "__proto__", "top_fraction": 0.25}]}
            for name in ("constructor", "toString")],
        "ratings": [str(ratings)],
        "workers": {"executor": "local"}, "coverage_floor": 0,
        "agreement": {"resamples": 20},
    }  # fmt: skip
    scripted = partial(Scripted, writes=lambda prompt, how: f"W {HOSTILE}", chooses=at_times_none)
    return evaljudge.run(config, engines=ScriptedEngines(scripted)), config


def hostile_ratings() -> list[dict[str, Any]]:
    """Of two raters; a slip, a text that the run does not have, and columns that nobody reads."""
    given = [
        {"doc_id": doc, "system": system, "rater": rater, "fluency": rating, NAMES[-1]: rating,
         f"ratings.{HOSTILE}": rating}
        for doc in NAMES for rater in (SHORT, f"__proto__{HOSTILE}")
        for rating, system in enumerate(NAMES, start=len(rater) % 2)
    ]  # fmt: skip
    return [*given, {"doc_id": HOSTILE, "system": HOSTILE, NAMES[-1]: 55, f"Fluency{HOSTILE}": "5"}]


def at_times_none(prompt: Prompt, options: Options) -> Mapping[str, float] | Failed:
    if noise(prompt.text) < 0.05:
        return Failed(f"F \u202e{HOSTILE}")
    return any_option(prompt, options)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return make_hostile_run(tmp_path_factory.mktemp("hostile"), FILE)[0]


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
        assert directing(page) == []
        assert page.locator("h1").is_visible()


def directing(page: Any) -> list[str]:
    """What would change the reading direction of what stands beside it."""
    return [one for one in page.evaluate(WORDS) if DIRECTING.search(one)]


@pytest.mark.long
def test_a_runs_page_is_unharmed(hostile, browser):
    alone = (Path(hostile.out) / "report" / "index.html").as_uri()
    with looking(hostile) as link:
        for address in (alone, link):
            with unharmed(browser, address) as page:
                look_around(page)


def test_a_run_that_a_stranger_sent_is_unharmed(outcome, browser, tmp_path):
    """Names that no configuration may have: of judges, metrics, scorers and selections."""
    findings = open_run(outcome.out).findings
    scorers = {row.scorer for row in findings.coverage}
    names = {*scorers, *findings.signatures, *(row.name for row in findings.selections)}
    changed = renamed(findings, {name: f"{name}\u202e{HOSTILE}" for name in names})
    changed = replace(changed, warnings=[HOSTILE, *changed.warnings], model=HOSTILE)
    file = tmp_path / "index.html"
    file.write_text(page(changed))
    with unharmed(browser, file.as_uri()) as shown:
        shown.click("#unfold")
        assert "{{ 7 * 7 }}${7 * 7}" in shown.inner_text("#warnings")
        for name in ("good", "geval", "words"):
            assert shown.get_by_text(f"{name}\ufffd</script>").count() > 0
        assert "\\u202e" in shown.text_content("#threshold-line")


def renamed(given: Any, names: Mapping[str, str]) -> Any:
    if is_dataclass(given) and not isinstance(given, type):
        return replace(given, **{
            one.name: renamed(getattr(given, one.name), names) for one in fields(given)
        })  # fmt: skip
    if isinstance(given, Mapping):
        return {renamed(key, names): renamed(value, names) for key, value in given.items()}
    if isinstance(given, list | tuple):
        return type(given)([renamed(one, names) for one in given])
    return names.get(given, given) if isinstance(given, str) else given


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
    choose(page, "#by-status", "unscored")
    titles = page.locator("#list td.reason", has_text="script")
    assert titles.count() == int(page.text_content("#count").split()[0]) > 0
    assert directing(page) == []
    choose(page, "#by-status", "all")
    choose(page, "#sort", "most disagreement with people")
    for system in NAMES:
        choose(page, "#by-system", system.replace("\u202e", "\ufffd"))
        assert page.text_content("#count").startswith("12 of 48")
        open_first(page)
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


def test_a_sheet_is_unharmed(browser, tmp_path):
    axes = dict.fromkeys([*NAMES, "replaceChildren"])
    row = {"label": "__proto__", "source": HOSTILE, "context": HOSTILE, "text": HOSTILE}
    file = tmp_path / f"{FILE}.jsonl"
    file.write_text(json.dumps(row | axes | {"rater": None}) + "\n")
    sheet = labelling(file, dict.fromkeys(axes, HOSTILE), f"{SHORT}\u202e")
    with sheet as link, unharmed(browser, link) as page:
        for rating in range(1, 6):
            with page.expect_response("**/rate"):
                page.keyboard.press(str(rating))
        page.locator("#progress", has_text="1 is rated").wait_for()
        assert "</script><script>window.ran = 1</script>" in page.text_content("#text")
        assert SHORT in page.text_content("#rater")
        assert "<img src=x" in page.text_content("#end")
        assert yaml.safe_load(page.text_content("#line")) == {"ratings": [str(file)]}
        for axis in range(len(axes)):
            page.locator("fieldset").nth(axis).locator("button").click()
            assert page.locator(f"#about-{axis}").inner_text().startswith("</script><script>")
    found = json.loads(file.read_text())
    assert [found[axis] for axis in axes] == [1, 2, 3, 4, 5] and found["rater"] == f"{SHORT}\u202e"
