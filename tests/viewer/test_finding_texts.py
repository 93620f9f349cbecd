"""What helps to find odd texts on the page, to keep what is found, and to see several runs."""

import json
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.commands.label import label_texts
from evaljudge.commands.options import LabelOptions, ViewOptions
from evaljudge.commands.view import viewing
from evaljudge.engines.scripted import ScriptedEngines
from tests.viewer.pages import (
    choose,
    labelling,
    listed,
    looking,
    make_run,
    opened,
    settle,
    violations,
)

pytestmark = [pytest.mark.browser, pytest.mark.long]


def visible(page: Any, parts: str) -> list[str]:
    found: list[str] = page.locator(parts).evaluate_all(
        "all => all.filter((one) => one.checkVisibility()).map((one) => one.id || one.tagName)"
    )
    return found


def test_a_matrix_has_the_oddest_documents_first(link, browser):
    with listed(browser, link, bypass_csp=True) as page:
        choose(page, "#by-scorer", "geval · fluency")
        if link.startswith("file"):  # which has some texts alone
            assert not page.locator("#matrix").is_visible()
            return
        page.click("#matrix summary")
        page.wait_for_selector("#matrix thead th")
        heads = page.locator("#matrix thead th").all_text_contents()
        assert heads[0] == "document" and sorted(heads[1:]) == ["A", "B", "C"]
        assert page.locator("#matrix tbody tr").count() == 30
        said = page.text_content("#matrix-of")
        assert "30 of 40 documents" in said
        odd = page.locator("#matrix tbody tr").first.locator("td:has(a)")
        shades = [int(name[-1]) for name in odd.evaluate_all("all => all.map((o) => o.className)")]
        assert max(shades) >= 5
        assert violations(page, "#matrix") == []
        choose(page, "#by-system", "B")
        assert page.locator("#matrix thead th").all_text_contents() == ["document", "B"]
        address = page.url
        assert address.endswith("#texts?scorer=geval&axis=fluency&system=B&matrix=open")
        cell = page.locator("#matrix tbody a").first
        shown = cell.text_content()
        cell.click()
        page.wait_for_selector("dialog[open] .judged")
        assert page.locator(".headline strong").first.text_content().startswith(shown[:-1])
        others = page.locator("#text-body p", has_text="Other systems:").locator("a").count()
        assert others == 2
    with listed(browser, address) as page:
        page.locator("#matrix thead th", has_text="B").wait_for()
        assert page.url == address


def test_the_address_keeps_the_threshold_too(link, browser):
    ids = ("#threshold-scorer", "#threshold-axis", "#threshold-good", "#threshold-at", "#by-system")
    with listed(browser, link) as page:
        choose(page, "#by-system", "B")
        page.select_option("#threshold-scorer", label="geval · fluency")
        page.select_option("#threshold-good", index=1)
        page.locator("#threshold-at").evaluate(
            "slider => { slider.value = 77; slider.dispatchEvent(new Event('input')); }"
        )
        page.wait_for_url("**#thresholds?system=B&cut=77&**")
        before = [page.input_value(one) for one in ids], page.text_content("#threshold-line")
        page.reload()
        settle(page)
        assert ([page.input_value(o) for o in ids], page.text_content("#threshold-line")) == before
        choose(page, "#by-system", "all")
        assert "cut=77" in page.url and "system" not in page.url


def test_each_system_leads_to_its_texts_and_the_first_screen_prints_alone(link, browser):
    with listed(browser, link) as page:
        page.locator(".dot a").last.click()
        settle(page)
        assert len({*page.locator("#list td.system").all_text_contents()}) == 1
        page.emulate_media(media="print")
        sections = "main > section, main > div"
        assert len(visible(page, sections)) > 3
        page.evaluate("print = () => { window.seen = document.body.className; }")
        page.emulate_media(media="screen")
        page.click("#print")
        assert page.evaluate("window.seen") == "alone"
        page.emulate_media(media="print")
        page.evaluate("document.body.classList.add('alone')")
        assert visible(page, sections) == ["answer"]


def test_several_runs_are_a_trend(browser, tmp_path):
    judges = {"judges": {"geval": {"samples": 4}}, "select": []}
    names = ("may", "june", "july")
    runs = [make_run(tmp_path, n, **judges, seed=s).out for s, n in enumerate(names)]
    with viewing(ViewOptions(runs[0], beside=runs[1:])) as link, opened(browser, link) as page:
        table = page.locator("section:has(h2:text-is('Trend')) table")
        assert table.locator("thead th").all_text_contents() == ["system", *runs]
        drawn = page.locator("#pictures figure", has_text="A: geval, fluency")
        assert drawn.locator("circle:not(.open)").count() == 3
        page.wait_for_selector("#list tbody tr")
        assert page.locator("#list thead th", has_text="in june").count() == 1


def test_notes_of_raters_stand_beside_the_judges_error(browser, tmp_path):
    changes: dict[str, Any] = {"judges": {"geval": {"samples": 4}}, "select": []}
    made = make_run(tmp_path, "run", **changes)
    sheet = tmp_path / "sheet.jsonl"
    label_texts(LabelOptions(made.out, str(sheet), n=3))
    with labelling(sheet) as link, opened(browser, link, bypass_csp=True) as page:
        assert violations(page) == []
        for rating, words in (("5", "says 5 twice <b>"), ("1", "")):
            with page.expect_response("**/rate"):
                page.keyboard.press(rating)
            if words:
                page.fill("#note", words)
                with page.expect_response("**/rate"):
                    page.keyboard.press("Tab")
            page.click("#next")
        page.reload()
        page.click("#previous")
        page.click("#previous")
        assert page.input_value("#note") == "says 5 twice <b>"
        with page.expect_response("**/rate"):  # a pause in typing is enough
            page.fill("#note", "says 5 thrice")
        page.fill("#note", "says 5 twice <b>")  # and so is the page's end
        page.goto("about:blank")
        for _ in range(100):  # the last note comes when it can
            if "thrice" not in sheet.read_text():
                break
            page.wait_for_timeout(200)
    rows = [json.loads(line) for line in sheet.read_text().splitlines()]
    assert [(row["fluency"], row["note"], row["rater"]) for row in rows] == [
        (5, "says 5 twice <b>", "anna"), (1, None, "anna"), (None, None, None),
    ]  # fmt: skip
    config = {"corpus": str(tmp_path / "run.jsonl"), "out": made.out, "model": "m",
              "axes": ["fluency"], "metrics": ["words"], "workers": {"executor": "local"},
              "coverage_floor": 0, "ratings": [str(sheet)]}  # fmt: skip
    found = evaljudge.make_report(config | changes, engines=ScriptedEngines()).findings
    (noted,) = found["notes"]
    assert (noted.rater, noted.note, noted.rating) == ("anna", "says 5 twice <b>", 5.0)
    assert noted.scorer == "geval" and 0 <= noted.apart <= 1
    page_text = (Path(made.out) / "report/index.html").read_text()
    assert "Notes of raters" in page_text and "says 5 twice &lt;b&gt;" in page_text


def test_warnings_are_listed_by_severity(browser, outcome):
    with looking(outcome) as link, opened(browser, link) as page:
        heads = page.locator("#warnings h3").all_text_contents()
        assert heads[0] == "What puts the scores in doubt"
        card = page.text_content(".caveat strong")
        assert f"{outcome.findings.serious} of them serious" in card
