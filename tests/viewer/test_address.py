"""What the page's address keeps of the list, and the list's order by its heads."""

from pathlib import Path
from typing import Any

import pytest

from tests.viewer.pages import choose, listed, looking, make_run, opened, settle

pytestmark = [pytest.mark.browser, pytest.mark.long]
CONTROLS = ("#search", "#by-scorer", "#by-system", "#by-low", "#by-status", "#by-selected", "#sort")


def seen(page: Any) -> tuple[list[str], list[str], str]:
    """The list's controls, rows and count."""
    settle(page)
    names = page.locator("#list tbody th, #list td:nth-child(2)").all_text_contents()
    return [page.input_value(one) for one in CONTROLS], names, page.text_content("#count")


@pytest.fixture
def alone(outcome):
    """The page that was written with the run."""
    return (Path(outcome.out) / "report" / "index.html").as_uri()


def column(page: Any, number: int) -> list[str]:
    found = page.locator(f"#list tbody td:nth-child({number})").all_text_contents()
    return [cell for cell in found if cell != "–" and not cell.startswith("unscored")]


def evidence(page: Any) -> list[str]:
    """The heads of a text's evidence, in both runs."""
    page.wait_for_selector("dialog[open] .beside .judged")
    heads: list[str] = page.locator("#text-body .judged > h3").all_text_contents()
    return heads


def test_the_address_keeps_filters_and_order(link, browser):
    with listed(browser, link) as page:
        before, history = seen(page), page.evaluate("history.length")
        choose(page, "#by-scorer", "geval · fluency")
        choose(page, "#by-system", "B")
        choose(page, "#sort", "highest score first")
        page.fill("#by-low", "1.5")
        page.fill("#search", "river & rose")
        page.wait_for_url("**search=*")
        page.fill("#search", "river rose")
        page.wait_for_url("**search=river+rose")
        assert page.url.partition("#")[2] == (
            "texts?scorer=geval&axis=fluency&system=B&from=1.5&sort=high&search=river+rose"
        )
        assert page.evaluate("history.length") == history
        chosen, address = seen(page), page.url
        assert chosen[1] and chosen != before
        page.reload()
        assert seen(page) == chosen
        page.locator("#list tbody a").nth(1).click()
        page.wait_for_selector("dialog[open] .judged")
        assert "scorer=geval&axis=fluency" in page.url
        page.go_back()
        page.wait_for_selector("dialog:not([open])", state="attached")
        assert page.url == address and seen(page) == chosen
        page.click("nav a[href='#texts']")
        assert page.url == address and seen(page) == chosen
    with listed(browser, address) as page:
        assert seen(page) == chosen
        choose(page, "#by-scorer", "synthetic · fluency")
        choose(page, "#by-system", "all")
        choose(page, "#sort", "as in the corpus")
        page.fill("#by-low", "")
        page.fill("#search", "")
        page.wait_for_url("**#texts")
        assert seen(page) == before


def test_what_is_not_there_is_said_and_the_list_is_as_at_the_start(outcome, browser):
    with looking(outcome) as link, listed(browser, f"{link}#texts?sort=bogus") as page:
        assert page.text_content("#unknown") == "There is no order 'bogus'."
        start = ["", "0", "", "", "", "", "corpus"]
        assert seen(page)[0] == start
        for asked, said in (
            ("system=x", "There is no system 'x' in this run."),
            ("scorer=x&axis=fluency", "There is no scorer 'x' on axis 'fluency' in this run."),
            ("scorer=geval&axis=x", "There is no axis 'x' of geval in this run."),
            ("status=x&from=y", "There is no score 'y'. There is no status 'x' in this run."),
            ("selected=yes:x", "There is no selection 'yes:x' in this run."),
            ("sistem=x", "The list has no filter 'sistem'."),
        ):
            page.evaluate("hash => { location.hash = hash }", f"#texts?{asked}")
            page.wait_for_function(
                "said => document.querySelector('#unknown').textContent === said", arg=said
            )
            assert seen(page)[0] == start
            assert page.is_visible("#unknown") and page.url.endswith("#texts")
        choose(page, "#by-system", "A")
        assert not page.is_visible("#unknown")
        page.evaluate("location.hash = '#nonsense'")
        page.wait_for_selector("#unknown:visible")
        assert page.text_content("#unknown") == "There is no part 'nonsense' on this page."
        page.evaluate("location.hash = '#answer'")
        page.wait_for_selector("#unknown", state="hidden")
    with looking(outcome) as link, listed(browser, f"{link}#nonsense") as page:
        assert page.text_content("#unknown:visible").startswith("There is no part 'nonsense'")


def test_a_text_that_is_not_there_is_said(link, browser):
    with opened(browser, f"{link}#text?doc=nope&system=A") as page:
        page.wait_for_selector("dialog[open]")
        assert page.text_content("#text-name") == (
            "This text is not among the 60 texts of this page: evaljudge view shows all texts of "
            "the run." if link.startswith("file") else "The run has no such text."
        )  # fmt: skip
        assert page.evaluate("document.activeElement.id") == "text-name"
        assert page.is_disabled("#previous") and page.is_disabled("#next")


def test_a_texts_link_says_whose_evidence_comes_first(browser, tmp_path):
    axes = ["fluency", "relevance", "coherence"]
    made = make_run(tmp_path, "axes", axes=axes, judges={"direct": {"steps": False}}, select=[])
    with looking(made, made) as link, listed(browser, link) as page:
        choose(page, "#by-scorer", "direct · relevance")
        page.locator("#list tbody a").first.click()
        expected = [f"direct on {axis}" for axis in ("relevance", "fluency", "coherence")] * 2
        assert evidence(page) == expected
        page.reload()
        assert evidence(page) == expected
        assert page.locator("#by-scorer option:checked").text_content() == "direct · relevance"
        page.click("#next")
        page.wait_for_url("**&system=B&scorer=direct&axis=relevance")
        page.locator("#text-name", has_text="· B").wait_for()
        assert evidence(page) == expected
        said = page.text_content("#difference span")
        assert said == "No score differs between the two runs."


def test_heads_and_order_are_in_step(alone, browser):
    with listed(browser, alone) as page:
        for word, number, orders in (
            ("score", 3, ("high", "low", "high")),
            ("people", 4, ("people-high", "people-low")),
            ("disagreement", 5, ("disagreement", "disagreement-low")),
            ("doubt", 6, ("doubt", "doubt-low")),
        ):
            head = page.locator("#list thead th", has_text=word)
            for order in orders:
                head.locator("button").click()
                settle(page)
                falls = order in ("high", "people-high", "disagreement", "doubt")
                assert page.input_value("#sort") == order and page.url.endswith(f"sort={order}")
                assert head.get_attribute("aria-sort") == ("descending" if falls else "ascending")
                assert page.locator("#list [aria-sort]").count() == 1
                shown = [float(cell) for cell in column(page, number)]
                assert shown == sorted(shown, reverse=falls) and shown[0] != shown[-1]
        choose(page, "#sort", "highest score first")
        marked = page.locator("#list [aria-sort]")
        assert marked.all_text_contents() == ["score"]
        choose(page, "#sort", "as in the corpus")
        assert marked.count() == 0
