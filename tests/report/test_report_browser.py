"""The page in a real browser: what a strict parser may let pass, a browser may not."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from evaljudge.analysis.findings import Findings
from evaljudge.report import page

CHROMIUM = shutil.which("chromium")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None, reason="chromium is not installed: the page is checked by parsing only"
    ),
]


def opened(findings: Findings, folder: Path) -> str:
    """The document as the browser holds it once the page is open."""
    file = folder / "index.html"
    file.write_text(page(findings), encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [str(CHROMIUM), *QUIET, profile, "--dump-dom", file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def elements(dom: str) -> set[str]:
    return set(re.findall(r"<([a-z][a-z0-9]*)", dom))


def test_headings_and_tables_are_there(findings: Findings, tmp_path: Path) -> None:
    dom = opened(findings, tmp_path)
    assert "<h1><bdi>first</bdi></h1>" in dom
    assert "<h2>Coverage</h2>" in dom
    first = dom[dom.index("<table") : dom.index("</table>")]
    assert "<caption><bdi>Scored candidates</bdi></caption>" in first
    assert first.count("<tr>") == 4
    assert '<td class="number">99.8%</td>' in first
    assert dom.count("<table>") == 7


def test_a_hostile_corpus_stays_text(
    with_statistics: Findings, hostile_with_statistics: Findings, tmp_path: Path
) -> None:
    ordinary = opened(with_statistics, tmp_path)
    dom = opened(hostile_with_statistics, tmp_path)
    assert elements(dom) <= elements(ordinary) | {"input"}  # long tables have a filter
    assert not {"img", "iframe"} & elements(dom)
    assert dom.count("<script") == ordinary.count("<script") == 2  # the page's own, and its data
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in dom
    assert dom.count("<h2>") == 7 + 3
    assert dom.count("<table>") == 14 + 1 + 10 + 2 + 1
