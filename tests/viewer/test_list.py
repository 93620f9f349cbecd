"""The list of texts: scorers without axes, texts without a score, axes in another script."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.viewer.pages import choose, listed, make_run, open_first, settle

pytestmark = [pytest.mark.browser, pytest.mark.long]
FLUENCY = "طلاقة"
DOCUMENTS = 12


def write_cases(file: Path) -> str:
    """People rate relevance by the number of the text, and fluency against it."""
    rows = [
        {"doc_id": f"d{n}", "source": f"The river {n} rose.", "candidates": [
            {"system": system, "text": "It rose. " * (n + place) if n + place else " ",
             "ratings": {"relevance": n + place, FLUENCY: -n - place}}
            for place, system in enumerate("AB")]}
        for n in range(DOCUMENTS)
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("list")
    axes = {axis: {"description": "how it reads"} for axis in ("relevance", FLUENCY)}
    task = folder / "task.yaml"
    task.write_text(yaml.safe_dump({"name": "mine", "axes": axes, "prompts": "summary"}))
    return make_run(folder, "run", corpus=write_cases(folder / "cases.jsonl"), axes=list(axes),
                    task=str(task), judges={"geval": {}}, select=[])  # fmt: skip


def cells(page: Any, number: int) -> list[str]:
    found: list[str] = page.locator(f"#list tbody td:nth-child({number})").all_text_contents()
    return found


def test_people_stand_beside_a_scorer_without_axes(link, browser):
    """On the axis that is chosen: the score is the length, which is also people's relevance."""
    with listed(browser, f"{link}#texts?scorer=words&axis=*&sort=disagreement") as page:
        assert page.is_visible("#by-people")
        choose(page, "#by-people", "relevance")
        assert {*cells(page, 5)} == {"0", "–"}  # the empty text has no score
        assert page.locator("#list tbody tr").count() == 2 * DOCUMENTS
        choose(page, "#by-rated", "rated on the axis")
        assert page.locator("#list tbody tr").count() == 2 * DOCUMENTS
        choose(page, "#by-people", FLUENCY)
        settle(page)
        apart = [float(cell) for cell in cells(page, 5) if cell != "–"]
        assert apart == sorted(apart, reverse=True) and apart[0] == 1
        page.reload()
        settle(page)
        assert page.input_value("#by-people") == FLUENCY
        page.locator("#list tbody a").first.click()
        page.wait_for_selector("dialog[open] .headline strong")
        assert f"rating on {FLUENCY}: " in page.text_content(".headline")
        page.click("#close")
        choose(page, "#by-scorer", f"geval · {FLUENCY}")
        assert not page.is_visible("#by-people")


def test_a_text_on_an_axis_of_another_script(link, browser):
    """Its score and its evidence come first, and the other axis is folded."""
    with listed(browser, f"{link}#texts?scorer=geval&axis={FLUENCY}&sort=high") as page:
        open_first(page)
        headline = page.text_content(".headline")
        assert headline.startswith(f"geval · {FLUENCY}: ") and "not scored" not in headline
        assert FLUENCY in page.text_content("#text-body > .judged h3")
        assert page.locator("#text-body > .judged").count() == 1
        assert page.locator(".further .judged").count() == 1
        assert page.locator(".reading").bounding_box()["y"] < page.locator(
            "#text-body > .judged").bounding_box()["y"]  # fmt: skip


def test_an_unscored_text_says_why(link, browser):
    with listed(browser, f"{link}#texts?status=unscored") as page:
        assert cells(page, 3) == ["unscored: empty text"]
        assert cells(page, 7) == ["(empty)"]
        open_first(page)
        assert "unscored: empty text" in page.text_content(".headline")
        assert page.text_content(".plain-text") == "(the text is empty)"
        kinds = page.evaluate("['at 2,025 of 2048: “a 1”', 'at 7 of 2048: “b”'].map(kindOf)")
        assert kinds == ["at … of …: “…”"] * 2  # one filter


def test_nearest_to_the_threshold_is_by_its_scorer(link, browser):
    with listed(browser, link) as page:
        choose(page, "#by-scorer", "words")
        choose(page, "#threshold-scorer", "geval · relevance")
        page.fill("#threshold-at", "150")
        page.fill("#by-low", "3")
        choose(page, "#sort", "nearest to the threshold below")
        assert page.locator("#by-scorer option:checked").text_content() == "geval · relevance"
        value = float(page.text_content("#threshold-value"))
        apart = [abs(float(cell) - value) for cell in cells(page, 3) if "unscored" not in cell]
        assert apart == sorted(apart)
        kept, address = cells(page, 3), page.url
    with listed(browser, address) as page:
        settle(page)
        assert (cells(page, 3), float(page.text_content("#threshold-value"))) == (kept, value)
        choose(page, "#by-scorer", "words")
        assert page.input_value("#sort") == "corpus"
