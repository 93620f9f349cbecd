import shutil
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.pages import looking, make_run

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="session")
def outcome(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("view"), "run")


OPEN = ExitStack()
"""The browser that is open, if one is."""


@pytest.fixture
def browser():
    """One for all tests in a row that want one."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    return opened_once()


@cache
def opened_once() -> Any:
    from playwright.sync_api import sync_playwright

    playwright = OPEN.enter_context(sync_playwright())
    found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    OPEN.callback(found.close)
    OPEN.callback(opened_once.cache_clear)
    return found


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Playwright's loop must not run in other tests."""
    if nextitem is None or not nextitem.get_closest_marker("browser"):
        OPEN.close()


@pytest.fixture(scope="module", params=["served", pytest.param("alone", marks=pytest.mark.long)])
def link(request, outcome):
    """The page that was written with the run, and the page over all of its texts."""
    if request.param == "alone":
        yield (Path(outcome.out) / "report" / "index.html").as_uri()
    else:
        with looking(outcome) as found:
            yield found
