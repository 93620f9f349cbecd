"""What fits: the answer on the first screen, the page on a phone, and all tables on paper."""

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from evaljudge.agreement import Agreement
from evaljudge.decisions.systems import RankedSystem, SystemPair, SystemRanking
from tests.viewer.pages import looking, open_first, opened

pytestmark = pytest.mark.browser

SCREEN, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PORTRAIT, LANDSCAPE = 703, 1031
"""CSS pixels between the margins of a sheet of A4."""
LETTERS = """all => all.map((one) => {
    const scale = one.ownerSVGElement ? one.getScreenCTM().a : 1;
    return [scale * parseFloat(getComputedStyle(one).fontSize), one.textContent];
})"""
TOO_WIDE = """(all, width) => all.filter((one) => one.getBoundingClientRect().right > width)
    .map((one) => `${one.getBoundingClientRect().right} ${one.textContent.slice(0, 50)}`)"""


@pytest.fixture(scope="module")
def link(outcome):
    with looking(outcome) as found:
        yield found


def shown(page: Any, size: dict[str, int]) -> None:
    page.set_viewport_size(size)
    page.wait_for_selector("#list tbody tr")


def on_paper(page: Any) -> None:
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")


def ranking(axis: str) -> SystemRanking:
    """Six systems, of which the first cannot be told apart from the next three."""
    names = ["inventor", "steady", "wanderer", "mumbler", "novice", "muddler"]
    systems = [RankedSystem(name, -n, -n - 1, -n + 1, 36, "abc") for n, name in enumerate(names)]
    pairs = [
        SystemPair(*pair, 1.0, 0.1, 2.0, 0.01, 0.01 if pair[1] in names[4:] else 0.1, 36, 9, 9)
        for pair in combinations(names, 2)
    ]
    known = 36, "permutation", 8, 5.0, 1.0, 1.5, 0.05, 0.8
    return SystemRanking(systems, pairs, *known, scorer="synthetic", axis=axis)


def test_the_answer_for_four_axes_and_six_systems_is_on_the_first_screen(outcome, browser):
    axes = ["coherence", "consistency", "fluency", "relevance"]
    known = "sample", "spearman", 0.859, 0.808, 0.909, 36, 0
    found = replace(
        outcome.findings,
        rows={
            **outcome.findings.rows,
            "systems": [ranking(axis) for axis in axes],
            "agreement": [Agreement(*known, scorer="synthetic", axis=axis) for axis in axes],
        },
        coverage_floor=0.9,
        warnings=["model nano knows the small world of `evaljudge demo` and nothing else: of other "
                  "texts its scores say nothing, so name a real model for them", "another"],
    )  # fmt: skip
    with looking(replace(outcome, findings=found)) as link, opened(browser, link) as page:
        shown(page, SCREEN)
        assert page.locator(".answer .dot").count() == 24
        assert "not significantly ahead of steady" in page.locator(".answer").first.inner_text()
        for answer in page.locator(".answer").all():
            box = answer.bounding_box()
            assert box["y"] > 0 and box["y"] + box["height"] <= SCREEN["height"]


def test_a_phone_shows_all_without_moving_sideways_in_letters_that_can_be_read(link, browser):
    with opened(browser, link) as page:
        shown(page, PHONE)
        width = "document.documentElement.scrollWidth"
        assert page.evaluate(width) == PHONE["width"]
        for part in (".controls label > *", "#list", ".picture"):
            found = page.locator(f"{part}:visible")
            assert found.count() > 2 or part == "#list"
            assert found.evaluate_all(TOO_WIDE, PHONE["width"]) == []
        letters = page.locator("main svg text, .rows span").evaluate_all(LETTERS)
        assert len(letters) > 50 and min(letters)[0] >= 11
        page.locator("#list tbody a").first.click()
        page.wait_for_selector("dialog[open] .ladder")
        letters = page.locator("dialog .ladder span").evaluate_all(LETTERS)
        assert letters and min(letters)[0] >= 11
        dialog = page.locator("dialog")
        assert dialog.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert page.locator("dialog .picture").evaluate_all(TOO_WIDE, PHONE["width"]) == []


def test_the_letters_of_significance_are_whole_on_screen_and_on_paper(outcome, browser):
    letters = ("abcd", "a", "abcdefghijkl")
    names = ("A", "north", "a-system-with-a-long-name")
    systems = [
        RankedSystem(name, 3.0, 2.0, 4.0, 36, letter)
        for name, letter in zip(names, letters, strict=True)
    ]
    row = replace(ranking("fluency"), systems=systems)
    found = replace(outcome.findings, rows={**outcome.findings.rows, "systems": [row]})
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((o) => o.textContent)"
    with looking(replace(outcome, findings=found)) as link, opened(browser, link) as page:
        for size, media in ((SCREEN, "screen"), (PHONE, "screen"), (SCREEN, "print")):
            shown(page, size)
            page.emulate_media(media=media)
            spans = page.locator(".dot .letters")
            assert tuple(spans.all_text_contents()) == letters
            assert spans.evaluate_all(cut) == []
            lefts = page.locator(".dot svg").evaluate_all(
                "all => all.map((one) => [one.getBoundingClientRect().left, one.clientWidth])"
            )
            assert lefts[0][1] > 100 and lefts == [lefts[0]] * 3  # on one scale


def sheets(page: Any) -> list[tuple[float, float]]:
    """Width and height of each page, in points."""
    found = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page.pdf(format="A4"))
    return [(float(width), float(height)) for width, height in found]


@pytest.mark.long
def test_paper_says_what_the_list_and_the_threshold_show(link, browser):
    with opened(browser, link) as page:
        shown(page, SCREEN)
        assert page.locator(".paper:visible").count() == 0
        page.select_option("#by-system", label="B")
        page.fill("#by-low", "1")
        on_paper(page)
        of_list, of_threshold = page.locator(".paper:visible").all_inner_texts()
        scorer = page.locator("#by-scorer option:checked").text_content()
        assert of_list == (
            f"Shown here: scorer {scorer}; order as in the corpus; system B; score from 1."
        )
        assert of_threshold.startswith("Shown here: scorer ")
        assert "a text is good if rated on fluency; with a rating of at least" in of_threshold


@pytest.mark.long
def test_tables_are_printed_across_and_an_open_text_alone_with_its_evidence(link, browser):
    with opened(browser, link) as page:
        shown(page, SCREEN)
        across = [width > height for width, height in sheets(page)]
        assert across[0] is False and across[-1] is True
        assert across == sorted(across)
        assert (
            page.locator("main > section > details[open]:not(.filters)").count() == 0
        )  # as before printing
        open_first(page)
        unfolded = page.locator("dialog details[open]").count()
        alone = sheets(page)
        assert 1 <= len(alone) < len(across)
        assert all(width < height for width, height in alone)
        on_paper(page)
        for hidden in ("h1", "#answer", "#list", "#pictures", "#made", "#close"):
            assert not page.is_visible(hidden)
        assert page.is_visible("dialog .judged .ladder")
        assert page.locator("dialog details:has(> .plain-text):not([open])").count() == 0
        prompts = page.locator("dialog .judged details", has=page.locator("pre"))
        assert prompts.count() > 0
        assert not any(one.get_attribute("open") is not None for one in prompts.all())
        dialog = page.locator("dialog")
        assert dialog.evaluate("one => one.scrollHeight <= one.clientHeight")
        assert page.locator("dialog table").evaluate_all(TOO_WIDE, SCREEN["width"]) == []
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("dialog details[open]").count() == unfolded


@pytest.mark.long
def test_an_open_text_begins_with_its_score_and_the_evidence(link, browser):
    with opened(browser, link) as page:
        shown(page, SCREEN)
        open_first(page)
        assert page.locator("dialog .judged").first.bounding_box()["y"] < SCREEN["height"] / 2
        lines = page.locator("dialog .headline p").all_inner_texts()
        assert re.fullmatch(r"synthetic · fluency: -?\d+\.\d{3}; rating: \d", lines[0])
        assert lines[1] == page.text_content("#meaning")
        assert "from -15 (worse than all) to 15 (better than all)" in lines[1]
        total = lines[0].split(": ")[1].split(";")[0]
        sentence = page.locator(
            "dialog .judged p", has_text="the sum, over the levels"
        ).inner_text()
        said = sentence.split(" = ")[1].split(":")[0]
        assert float(said) == pytest.approx(float(total), abs=0.006)
        assert (
            page.locator("dialog .judged details[open]").first.inner_text().startswith("Reference")
        )
        assert not page.is_visible("dialog .all-scores table")
