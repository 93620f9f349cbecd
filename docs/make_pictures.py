"""The pictures of the documentation, taken from a run's page in a real browser.

    make demo pictures        docs/pictures/*.png anew, from the demo's run
    python docs/make_pictures.py runs/demo/run docs/pictures

It needs Debian's `chromium`, or another Chromium on the path.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright
from replies_by_hand import run_by_hand

import evaljudge
from evaljudge.analysis.run_scores import scored_run
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.commands.options import ViewOptions
from evaljudge.commands.run import demo_config
from evaljudge.commands.view import viewing

TALL = {"width": 1200, "height": 1800}
LOW = {"width": 1200, "height": 560}
OTHERS = ["geval", "pairs"]
SIZE, PHONE = {"width": 1200, "height": 900}, {"width": 375, "height": 760}


def make_pictures(run: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, TemporaryDirectory() as temporary:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        of_the_demo(browser, run, folder)
        of_judges(browser, run_by_hand(Path(temporary)), ["entities", "roles"], folder)
        of_judges(browser, other_judges_of_nano(Path(temporary)), OTHERS, folder)
        of_rating(browser, run, Path(temporary) / "sheet.jsonl", folder)
        browser.close()


def other_judges_of_nano(folder: Path) -> str:
    """The folder of a small run with those judges of the demo's model that the demo lacks."""
    cases = folder / "cases.jsonl"
    cases.write_text(as_jsonl(make_cases(2, 0)), encoding="utf-8")
    config = demo_config(cases, folder / "nano") | {
        "axes": ["relevance"], "judges": OTHERS, "metrics": [], "calibrate": [], "select": [],
        "workers": {"executor": "local"}, "model": {"source": "nano", "least_mass": 0},
    }  # fmt: skip
    return evaljudge.run(config, progress=False).out


def of_judges(browser: Any, run: str, judges: Sequence[str], folder: Path) -> None:
    """The evidence of each judge on the first text."""
    with viewing(ViewOptions(run)) as link, opened(browser, link, viewport=TALL) as page:
        page.locator("#list tbody a").first.click()
        for judge in judges:
            part = page.locator(".judged", has=page.locator("h3", has_text=judge))
            part.screenshot(path=str(folder / f"{judge}.png"))


def of_rating(browser: Any, run: str, sheet: Path, folder: Path) -> None:
    """A sheet by hand: one of `evaljudge label` would leave its key in the run."""
    read = scored_run(run)
    axes = dict.fromkeys(read.about["fingerprint"]["task"]["axes"])
    rows = [
        {"label": case.document.doc_id, "source": case.document.source,
         "text": case.candidates[0].text, **axes, "rater": None}
        for case in read.output.cases(read.scored[0])
    ]  # fmt: skip
    sheet.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with viewing(ViewOptions(run, label=str(sheet), rater="anna")) as link:
        page = browser.new_page(viewport=LOW)
        page.goto(link)
        page.keyboard.press("3")
        page.keyboard.press("?")
        page.locator("#progress").hover()
        page.screenshot(path=str(folder / "rating.png"))


def of_the_demo(browser: Any, run: str, folder: Path) -> None:
    """Each picture by its name: what is looked at, and how."""
    with viewing(ViewOptions(run)) as link:

        def save(page: Any, name: str) -> None:
            page.screenshot(path=str(folder / f"{name}.png"))

        with opened(browser, link) as page:
            save(page, "answer")
            page.select_option("#sort", "disagreement")
            show(page, "#texts")
            save(page, "texts")
            page.locator("#list tbody a").first.click()
            page.wait_for_selector("dialog[open] .judged")
            page.locator(".judged").first.scroll_into_view_if_needed()
            save(page, "text")
            page.click("#close")
            show(page, "#thresholds")
            save(page, "threshold")
            show(page, "#pictures")
            save(page, "pictures")
        with opened(browser, link, color_scheme="dark") as page:
            save(page, "dark")
        with opened(browser, link, viewport=PHONE) as page:
            save(page, "phone")


@contextmanager
def opened(browser: Any, link: str, **options: Any) -> Iterator[Any]:
    context = browser.new_context(**{"viewport": SIZE, "reduced_motion": "reduce"} | options)
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector("#list tbody tr")
    yield page
    context.close()


def show(page: Any, part: str) -> None:
    page.wait_for_timeout(300)  # until the list holds what was asked
    page.locator(part).evaluate("element => element.scrollIntoView()")


if __name__ == "__main__":
    make_pictures(sys.argv[1], Path(sys.argv[2]))
