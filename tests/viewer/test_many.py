"""The page over a run of many texts: how much of it is asked for and drawn."""

import json
from pathlib import Path

import pytest

from tests.viewer.pages import choose, looking, make_run, opened, settle

pytestmark = pytest.mark.browser
DOCUMENTS, SYSTEMS, SHOWN = 2_000, 10, 50
DRAGGED = """() => {
  const slider = document.querySelector("#threshold-at");
  for (let value = 20; value < 60; value += 1) {
    slider.value = value;
    slider.dispatchEvent(new Event("input", {bubbles: true}));
  }
}"""
"""As quickly as a hand moves it, however busy this machine is."""


def write_many(file: Path) -> str:
    rows = [
        {"doc_id": f"d{n}", "source": f"Town {n}.", "candidates": [
            {"system": f"s{s}", "text": f"The river of town {n} rose {s} feet. " * (s + 1),
             "ratings": {"fluency": s % 5 + 1} if n % 3 == 0 else {}} for s in range(SYSTEMS)]}
        for n in range(DOCUMENTS)
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


@pytest.mark.long
def test_of_many_texts_few_are_asked_for_and_drawn(browser, tmp_path):
    made = make_run(tmp_path, "many", judges={"geval": {}}, select=[],
                    corpus=write_many(tmp_path / "texts.jsonl"))  # fmt: skip
    asked, texts = list[str](), DOCUMENTS * SYSTEMS
    with looking(made) as link, opened(browser, link) as page:
        page.wait_for_selector("#borderline li")
        page.wait_for_timeout(300)
        sizes = list[int]()
        page.on("response", lambda one: sizes.append(int(one.headers["content-length"])))
        page.reload()
        page.wait_for_selector("#list[aria-busy=false] tbody tr")
        page.wait_for_selector("#borderline li")
        assert len(sizes) <= 10
        assert sum(sizes) < 300_000 + 40 * texts  # numbers and names, not texts
        rows = page.locator("#list tbody tr")
        assert rows.count() == SHOWN
        assert page.text_content("#count").startswith(f"{texts:,} of {texts:,}")
        page.on("request", lambda request: asked.append(request.url))
        choose(page, "#by-system", "s3")
        assert rows.count() == SHOWN
        assert page.text_content("#count").startswith(f"{DOCUMENTS:,} of {texts:,}")
        choose(page, "#sort", "most disagreement with people")
        paths = [one.split("?")[0].rpartition("/")[2] for one in asked]
        assert paths == ["begins", "begins"]  # the browser has all columns of the scorer
        asked.clear()
        page.evaluate(DRAGGED)
        page.wait_for_timeout(400)
        assert len(asked) <= 10
        for extent in range(2 * SHOWN, 13 * SHOWN, SHOWN):
            page.click("#more")
            settle(page)
            assert rows.count() == extent
