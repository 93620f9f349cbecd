"""The page on which people rate: what is in reach, the keys, and the end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaljudge.viewer.labels import LabelSheet
from tests.viewer.pages import labelling, opened, violations, write_sheet

pytestmark = pytest.mark.browser
AXES = {"fluency": "how it reads", "relevance": "what it leaves out", "coherence": ""}
LONG = "The river rose. " * 1000


@contextmanager
def rating(
    browser: Any, file: Path, texts: int = 3, long: str = "", **options: Any
) -> Iterator[Any]:
    write_sheet(file, texts, long, AXES)
    with labelling(file, AXES) as link, opened(browser, link, **options) as page:
        yield page


def press(page: Any, *keys: str) -> None:
    """Each of them is a rating, which is saved."""
    for key in keys:
        with page.expect_response("**/rate"):
            page.keyboard.press(key)


def saved(file: Path) -> list[list[float | None]]:
    return [[row[axis] for axis in AXES] for row in map(json.loads, file.read_text().splitlines())]


def focused(page: Any) -> tuple[str, str]:
    """The axis that has the focus, and the rating."""
    axis, value = page.evaluate("""[
        document.activeElement.closest("fieldset")?.querySelector("legend").textContent,
        document.activeElement.value]""")
    return axis, value


def box(page: Any, part: str) -> tuple[float, float, float, float]:
    """Left, top, right and bottom."""
    found = page.locator(part).bounding_box()
    return found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"]


def test_text_and_source_are_side_by_side_over_the_ratings(browser, tmp_path):
    with rating(browser, tmp_path / "s.jsonl", long=LONG) as page:
        (_, top, right, bottom), source = box(page, "#text-panel"), box(page, "#beside-panel")
        assert right < source[0] and (top, bottom) == (source[1], source[3])
        ratings = box(page, "#ratings")
        assert bottom < ratings[1] and ratings[3] <= 1000
        page.locator("#text-panel").evaluate("panel => { panel.scrollTop = 1000; }")
        assert page.locator("#text-panel").evaluate("panel => panel.scrollTop") == 1000
        assert page.evaluate("scrollY") == 0 and box(page, "#ratings") == ratings
        page.keyboard.press("n")
        assert page.locator("#text-panel").evaluate("panel => panel.scrollTop") == 0


@pytest.mark.long
@pytest.mark.parametrize("long", [pytest.param("", marks=pytest.mark.long), LONG])
def test_on_a_phone_the_source_is_folded_under_the_ratings(browser, tmp_path, long):
    phone = {"width": 375, "height": 760}
    with rating(browser, tmp_path / "s.jsonl", long=long) as opened_wide:
        assert opened_wide.locator("#source").is_visible()
    with rating(browser, tmp_path / "s.jsonl", long=long, viewport=phone) as page:
        text, ratings = box(page, "#text-panel"), box(page, "#ratings")
        assert ratings[1] > text[1] and ratings[3] <= 760
        assert box(page, "#beside-panel")[1] > ratings[1]
        assert not page.locator("#source").is_visible()
        page.locator("#has-source summary").click()
        page.keyboard.press("n")
        assert page.locator("#source").is_visible()  # it stays as it was left
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        sizes = [one.bounding_box() for one in page.locator(".values label").all()]
        assert all(size["width"] >= 30 and size["height"] >= 40 for size in sizes)


def test_ratings_are_given_taken_away_and_explained_by_keys(browser, tmp_path):
    file = tmp_path / "s.jsonl"
    with rating(browser, file) as page:
        assert focused(page) == ("fluency", "")
        press(page, "4", "2")
        assert focused(page) == ("coherence", "")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        assert focused(page) == ("fluency", "4")
        press(page, "0")
        assert focused(page) == ("fluency", "") and saved(file)[0] == [None, 2, None]
        page.keyboard.press("ArrowDown")
        press(page, "Backspace")
        assert saved(file)[0] == [None, None, None]
        assert json.loads(file.read_text().splitlines()[0])["rater"] is None
        page.keyboard.press("?")
        assert page.locator("#about-1").inner_text() == AXES["relevance"]
        page.keyboard.press("?")
        assert not page.locator("#about-1").is_visible()
        assert page.locator("fieldset").nth(2).locator("button").count() == 0  # it has no words
        with page.expect_response("**/rate"):
            page.locator("fieldset").nth(1).get_by_text("5").click()
        assert saved(file)[0] == [None, 5, None]
        page.keyboard.press("n")
        page.keyboard.press("ArrowLeft")
        assert focused(page) == ("fluency", "")
        assert page.locator("fieldset input:checked").nth(1).input_value() == "5"


def test_the_next_text_without_ratings_and_the_end(browser, tmp_path):
    file = tmp_path / "s.jsonl"
    with rating(browser, file) as page:
        page.keyboard.press("n")
        press(page, "1", "2", "3")
        page.keyboard.press("u")
        assert page.inner_text("#text").startswith("T2")
        assert page.inner_text("#end") == (
            "This is the last text. 2 texts of 3 are not rated on every axis yet."
        )
        press(page, "4", "5", "1")
        page.keyboard.press("Enter")  # the focus is on “Next unrated”
        assert page.inner_text("#text").startswith("T0")
        page.locator("#all-rated").wait_for(state="hidden")
        press(page, "3", "3", "3")
        page.locator("#all-rated").wait_for()
        assert page.inner_text("#end") == (
            f"All 3 texts are rated on every axis. The ratings are in {file}."
        )
        assert yaml.safe_load(page.inner_text("#line")) == {"ratings": [str(file)]}
        assert page.locator("#open").is_disabled()
        page.keyboard.press("ArrowLeft")
        press(page, "0")
        page.locator("#all-rated").wait_for(state="hidden")
    assert saved(file) == [[None, 3, 3], [1, 2, 3], [4, 5, 1]]


@pytest.mark.long
def test_a_rating_that_replaces_one_from_elsewhere_says_so(browser, tmp_path):
    file = tmp_path / "s.jsonl"
    with rating(browser, file) as page:
        LabelSheet.open(str(file), "anna").rate("l0", {"fluency": 2}, {})
        press(page, "4")
        said = "Text 1 was rated 2 on fluency elsewhere, as anna’s: 4 takes its place."
        page.locator("#problem", has_text=said).wait_for()
        press(page, "3")
        page.wait_for_function("() => !document.querySelector('#problem').innerText")
    assert saved(file)[0] == [4, 3, None]


def test_a_rating_that_is_not_saved_is_named(browser, tmp_path):
    with rating(browser, tmp_path / "s.jsonl") as page:
        page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError()); }")
        page.keyboard.press("4")
        page.locator("#problem", has_text="Text 1 is not saved on fluency").wait_for()
        assert focused(page) == ("fluency", "")


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
@pytest.mark.parametrize("width", [pytest.param(375, marks=pytest.mark.long), 1280])
def test_axe_finds_nothing_at_the_end(browser, tmp_path, scheme, width):
    size = {"width": width, "height": 760}
    options = {"viewport": size, "color_scheme": scheme, "bypass_csp": True}
    with rating(browser, tmp_path / "s.jsonl", 1, LONG, **options) as page:
        page.keyboard.press("?")
        press(page, "1", "2", "3")
        page.locator("summary").evaluate_all("all => all.forEach((one) => one.click())")
        page.locator("#all-rated").wait_for()
        assert violations(page) == []
