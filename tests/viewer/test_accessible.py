"""The pages for people who see them otherwise, use the keyboard, or print them."""

from typing import Any

import pytest

from evaljudge.report.study import study_page
from evaljudge.sections import Section, Table
from tests.viewer.pages import (
    labelling,
    listed,
    open_first,
    opened,
    settle,
    violations,
    write_sheet,
)

pytestmark = pytest.mark.browser


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_runs_page(link, browser, scheme):
    with listed(browser, link, bypass_csp=True, color_scheme=scheme) as page:
        assert violations(page) == []
        open_first(page)
        assert violations(page, "#text") == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_axe_finds_nothing_on_the_other_pages(tmp_path, browser, scheme):
    table = Table("All methods", ["method", "fluency"], [["ours", "0.4"], ["theirs", "0.3"]], "lr")
    study = tmp_path / "study.html"
    study.write_text(study_page([Section("Methods", ["About."], [table], ["A note."])], ["Lead."]))
    write_sheet(tmp_path / "sheet.jsonl", axes=["fluency", "relevance"])
    with labelling(tmp_path / "sheet.jsonl", {"fluency": "how it reads"}) as label_link:
        for link in (label_link, study.as_uri()):
            with opened(browser, link, bypass_csp=True, color_scheme=scheme) as page:
                assert violations(page) == []


def focused(page: Any) -> str:
    """The element that has the focus, by its id or its words."""
    found: str = page.evaluate(
        "document.activeElement.id || document.activeElement.textContent.trim()"
    )
    return found


def test_everything_is_reached_by_the_keyboard(link, browser):
    with listed(browser, link) as page:
        page.focus("#sort")
        page.keyboard.press("l")  # lowest score first
        settle(page)
        page.focus("#by-selected")  # the last of the filters
        page.keyboard.press("Tab")  # to the list, which can be scrolled
        for head in ("score", "people", "disagreement", "doubt"):
            page.keyboard.press("Tab")
            assert focused(page) == head
        page.keyboard.press("Tab")
        first = page.locator("#list tbody a").first
        name = first.text_content()
        assert focused(page) == name
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog[open] .judged")
        assert page.evaluate("document.activeElement.closest('dialog') !== null")
        for _ in range(60):  # the focus does not leave the dialog
            page.keyboard.press("Tab")
            away = "document.activeElement.matches('main :not(dialog, dialog *)')"
            assert not page.evaluate(away)
        title = page.text_content("#text-name")
        steps = (("next", "Enter", False), ("previous", "Enter", True), ("text", "j", False),
                 ("text", "k", True), ("next", " ", False), ("previous", " ", True))  # fmt: skip
        for at, key, is_same in steps:
            page.locator(f"#{at}").press(key)
            page.wait_for_function(
                "([t, is]) => (document.querySelector('#text-name').textContent === t) === is",
                arg=[title, is_same],
            )
        whole = page.title()
        system = page.locator("#list tbody td.system").first.text_content()
        assert whole.startswith(f"{name} · {system} – ") and whole.endswith("evaljudge report")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog:not([open])", state="attached")
        assert focused(page) == name
        assert page.title() == whole.removeprefix(f"{name} · {system} – ")
        page.locator("#list tbody a").nth(2).click()  # and after a reload, which forgets the focus
        page.wait_for_selector("dialog[open] .judged")
        again = page.text_content("#text-name").split(" · ")
        page.reload()
        page.wait_for_selector("dialog[open] .judged")
        page.keyboard.press("Escape")
        row = page.locator("#list tbody tr:has(a:focus)")
        assert page.title() == whole.removeprefix(f"{name} · {system} – ")
        assert [row.locator("a").text_content(), row.locator(".system").text_content()] == again
        page.focus("#more")
        page.keyboard.press("Enter")
        page.locator("#list tbody tr").nth(50).wait_for()
        page.wait_for_selector("#list tbody a:focus")
        assert focused(page) == page.locator("#list tbody th").nth(50).text_content()


@pytest.mark.long
def test_a_table_and_the_threshold_are_moved_by_the_keyboard(link, browser):
    with listed(browser, link) as page:
        table = page.locator("table", has_text="Scored texts").first
        table.locator("thead button").first.focus()
        for order in ("ascending", "descending"):
            page.keyboard.press("Enter")
            assert table.locator("thead th").first.get_attribute("aria-sort") == order
        page.focus("#threshold-at")
        before = page.text_content("#threshold-value")
        page.keyboard.press("ArrowLeft")
        after = page.text_content("#threshold-value")
        assert float(after) < float(before)
        assert page.get_attribute("#threshold-at", "aria-valuetext") == after
        page.keyboard.press("End")
        assert float(page.text_content("#threshold-value")) > float(before)
        page.wait_for_selector("#borderline li")


@pytest.mark.long
def test_on_paper_tables_and_pictures_are_whole_and_controls_are_not(link, browser):
    with listed(browser, link, color_scheme="dark") as page:
        page.emulate_media(media="print")
        shown = page.locator("button:not(th button), input, select, nav").evaluate_all(
            "all => all.filter((one) => one.checkVisibility()).map((one) => one.outerHTML)"
        )
        assert shown == []
        cut = page.locator(".scroll").evaluate_all(
            "all => all.filter((one) => getComputedStyle(one).overflowX !== 'visible')"
            ".map((one) => one.ariaLabel)"
        )
        assert cut == []
        heads = page.locator("table", has_text="Scored texts").first.locator("thead th")
        assert heads.first.inner_text() == "scorer"
        pictures = page.locator("main svg")
        assert pictures.count() > 2
        assert all(box.bounding_box()["height"] > 20 for box in pictures.all())
        colours = "(({ color, backgroundColor }) => [color, backgroundColor])"
        drawn = page.evaluate(f"{colours}(getComputedStyle(document.body))")
        assert drawn == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
