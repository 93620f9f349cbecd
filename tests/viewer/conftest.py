from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from tests.viewer.pages import looking, make_run

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="session")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> evaljudge.Outcome:
    return make_run(tmp_path_factory.mktemp("view"), "run")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(params=["served", pytest.param("alone", marks=pytest.mark.long)])
def link(request: pytest.FixtureRequest, outcome: evaljudge.Outcome) -> Iterator[str]:
    """The page that was written with the run, and the page over all of its texts."""
    if request.param == "alone":
        yield (Path(outcome.out) / "report" / "index.html").as_uri()
    else:
        with looking(outcome) as found:
            yield found
