"""The page in a real browser: list, filters, links, threshold, two runs, labels."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

import evaljudge
from evaljudge.analysis.run_scores import scored_run
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.viewer.site import RunIndex
from tests.viewer.pages import (
    DOCUMENTS,
    SYSTEMS,
    choose,
    labelling,
    listed,
    looking,
    make_run,
    opened,
    settle,
)

pytestmark = pytest.mark.browser


def rows(page: Any) -> int:
    return int(page.text_content("#count").split(" of ")[0].replace(",", ""))


def scores(page: Any) -> list[float]:
    cells = page.locator("#list tbody tr td:nth-child(3)").all_text_contents()
    return [float(cell) for cell in cells if cell != "unscored"]


def test_texts_are_filtered_and_sorted(link, browser):
    with listed(browser, link) as page:
        everything = rows(page)
        assert everything == (60 if link.startswith("file") else DOCUMENTS * len(SYSTEMS))
        choose(page, "#by-scorer", "synthetic.ordinal · fluency")
        choose(page, "#sort", "highest score first")
        assert scores(page) == sorted(scores(page), reverse=True)
        choose(page, "#sort", "lowest score first")
        assert scores(page) == sorted(scores(page))
        choose(page, "#by-system", "B")
        of_b = rows(page)
        assert 0 < of_b < everything
        assert {*page.locator("#list td:nth-child(2)").all_text_contents()} == {"B"}
        page.fill("#by-low", "3")
        settle(page)
        assert all(score >= 3 for score in scores(page)) and rows(page) < of_b
        page.fill("#by-low", "")
        choose(page, "#by-system", "all")
        choose(page, "#by-rated", "rated on the axis")
        rated = rows(page)
        choose(page, "#by-rated", "not rated")
        assert rated + rows(page) == everything
        choose(page, "#by-rated", "all")
        choose(page, "#by-selected", "selected by good")
        selected = rows(page)
        choose(page, "#by-selected", "not selected by good")
        assert selected > 0 and selected + rows(page) == everything


def test_the_answer_leads_to_the_worst_texts(link, browser):
    with listed(browser, link) as page:
        page.fill("#search", "nowhere")
        settle(page)
        worst = page.locator(".answer a").first
        system = worst.inner_text().removeprefix("Worst texts of ")
        worst.click()
        settle(page)
        assert page.input_value("#search") == ""
        assert {*page.locator("#list td:nth-child(2)").all_text_contents()} == {system}
        assert scores(page) == sorted(scores(page))
        assert len(scores(page)) > 1


@pytest.mark.long
def test_search_finds_words_of_texts(link, browser):
    with listed(browser, link) as page:
        name = page.locator("#list tbody th").first.text_content()
        page.fill("#search", f"{name} RIVER")
        settle(page)
        found = page.locator("#list tbody th").all_text_contents()
        assert found and all(name in one for one in found)
        page.fill("#search", "nowhere")
        settle(page)
        assert rows(page) == 0


def test_a_text_is_opened_by_its_link_with_the_evidence_of_each_judge(link, browser):
    with opened(browser, link) as page:
        page.locator("#list tbody a").nth(1).click()
        page.wait_for_selector("dialog[open] .judged")
        name, address = page.text_content("#text-name"), page.url
        heads = page.locator("#text-body .judged > h3").all_text_contents()
        assert [head.split()[0] for head in heads] == [
            "synthetic", "geval", "direct", "pairs", "entities", "roles",
        ]  # fmt: skip
        judged = page.locator("#text-body .judged")
        assert judged.first.locator("svg rect.better").count() == 5
        assert judged.nth(3).locator("svg rect.better").count() in (1, 2)
        assert judged.nth(3).locator("tbody tr").count() == len(SYSTEMS)
        page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "name => document.querySelector('#text-name').textContent != name", arg=name
        )
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog:not([open])", state="attached")
        assert page.url.endswith("#texts")
    with opened(browser, address) as page:
        page.wait_for_selector("dialog[open]")
        assert page.text_content("#text-name") == name
        page.click("#close")


@pytest.mark.long
def test_an_opened_text_has_the_prompts_as_asked(link, browser):
    """The first of each kind on the page alone; all of them, served."""
    with opened(browser, link) as page:
        page.locator("#list tbody a").first.click()
        own = page.locator(".judged", has=page.locator("h3", has_text="synthetic"))
        own.locator("summary", has_text="What the model was asked").click()
        words = page.text_content("#text-body .plain-text")
        prompts = own.locator("pre").all_text_contents()
        levels = own.locator("svg rect.better").count()
        assert len(prompts) == 1 if link.startswith("file") else len(prompts) >= levels > 1
        assert all(words in prompt for prompt in prompts)
        assert own.locator("pre").first.is_visible()


@pytest.mark.long
def test_the_threshold_says_what_it_selects(link, browser, outcome):
    with listed(browser, link) as page:
        choose(page, "#threshold-scorer", "synthetic.ordinal · fluency")
        page.locator("#threshold-at").fill("40")
        line = page.text_content("#threshold-line")
        at_least = float(line.split("at_least: ")[1].rstrip("}]"))
        selected = int(page.text_content("#threshold-selected").split(" of ")[0])
        true = sum(
            score.value is not None and score.value >= at_least
            for shard in scored_run(outcome.out).scored
            for score in scored_run(outcome.out).output.scores(shard)
            if (score.scorer, score.axis) == ("synthetic.ordinal", "fluency")
        )
        assert selected == true > 0
        assert "precision" in page.text_content("#threshold-precision")
        page.locator("#borderline li").nth(4).wait_for()
        assert page.locator("#borderline li").count() == 5


@pytest.mark.long
def test_every_table_is_sorted_by_a_click(link, browser):
    with opened(browser, link) as page:
        table = page.locator("table", has_text="Scored texts").first
        before = table.locator("tbody th").all_text_contents()
        table.locator("thead button").first.click()
        assert table.locator("tbody th").all_text_contents() == sorted(before)
        table.locator("thead button").first.click()
        assert table.locator("thead th").first.get_attribute("aria-sort") == "descending"
        assert table.locator("tbody th").all_text_contents() == sorted(before, reverse=True)


@pytest.mark.long
def test_two_runs_side_by_side_show_flips(outcome, browser, tmp_path):
    other = make_run(tmp_path, "next", judges={"synthetic": {"levels": 3}})
    with looking(outcome, other) as link, listed(browser, link) as page:
        choose(page, "#by-scorer", "synthetic.ordinal · fluency")
        cells = page.locator("#list tbody tr").all()
        pairs = [row.locator("td").all_text_contents()[1:3] for row in cells[:50]]
        assert {len(cell.partition(".")[2]) for pair in pairs for cell in pair} == {2}
        apart = [abs(float(a) - float(b)) for a, b in pairs]
        flips = int(page.text_content("#compared li").split()[0])
        for group in (apart[:flips], apart[flips:]):
            assert group == pytest.approx(sorted(group, reverse=True), abs=0.02)
        assert 0 < flips < len(apart) and apart[flips] > apart[flips - 1]
        page.locator("#compared a", has_text="selected by only one run").click()
        settle(page)
        mine, theirs = (
            {json.loads(line)["doc_id"] + json.loads(line)["system"]
             for line in (Path(one.out) / "selected" / "good.jsonl").read_text().splitlines()}
            for one in (outcome, other)
        )  # fmt: skip
        assert rows(page) == len(mine ^ theirs) > 0
        assert page.text_content("#compared li").startswith(f"{rows(page)} texts are selected by")
        head = page.locator("#list th", has_text="in next")
        assert head.get_attribute("title") == f"The same scorer's score in {other.out}"
        assert f"Compared with {other.out}, on the 120 texts" in page.inner_text("#texts")
        difference = page.locator("#difference span")
        assert "scores of synthetic · fluency differ." in difference.text_content()
        choose(page, "#by-scorer", "geval · fluency")
        assert difference.text_content().startswith("The other run has no scorer geval")
        page.locator("#list tbody a").first.click()
        page.wait_for_selector("dialog[open] .beside .judged")
        heads = page.locator(".beside > .judged > h3").all_text_contents()
        assert [head.split()[0] for head in heads] == ["synthetic"]


@pytest.mark.long
def test_each_other_run_has_a_column(outcome, browser, tmp_path):
    third = make_run(tmp_path, "third", judges={"synthetic": {"levels": 3}})
    with looking(outcome, outcome, third) as link, listed(browser, link) as page:
        heads = page.locator("#list th").all_text_contents()
        assert heads[2:5] == ["score", "in run", "in third"]

        def columns() -> list[list[float]]:
            texts = [row.locator("td").all_text_contents()[1:4]
                     for row in page.locator("#list tbody tr").all()]  # fmt: skip
            return [[float(cell) for cell in row] for row in texts]

        choose(page, "#by-scorer", "synthetic.ordinal · fluency")
        mine, same, other = zip(*columns(), strict=True)
        assert mine == same != other
        said = page.locator("#difference span").all_text_contents()
        assert said[0].startswith("No score differs") and "differ" in said[1]
        page.locator("#list th button", has_text="in third").click()
        settle(page)
        theirs = [row[2] for row in columns()]
        assert theirs == sorted(theirs, reverse=True)
        page.locator("#list tbody a").first.click()
        page.wait_for_selector("dialog[open] .beside .judged")
        assert page.locator(".beside > h3").all_text_contents() == [
            f"In {outcome.out}", f"In {third.out}"]  # fmt: skip


def test_twenty_texts_are_rated_blind(outcome, browser, tmp_path):
    from evaljudge.commands.label import label_texts
    from evaljudge.commands.options import LabelOptions

    sheet, out = tmp_path / "sheet.jsonl", str(shutil.copytree(outcome.out, tmp_path / "run"))
    label_texts(LabelOptions(out, str(sheet), n=20))
    with labelling(sheet) as link, opened(browser, link) as page:
        shown = page.text_content("#data") + page.inner_text("body")
        assert "system" not in shown and "score" not in shown
        for number in range(20):
            page.keyboard.press(str(number % 5 + 1))
            page.wait_for_function(
                "n => document.querySelector('#progress').textContent.includes(`; ${n} `)",
                arg=number + 1,
            )
            page.keyboard.press("n")
        said = page.text_content("#end")
        assert said.startswith("All 20 texts are rated on every axis.") and str(sheet) in said
        line = yaml.safe_load(page.inner_text("#line"))
    found = [json.loads(line) for line in sheet.read_text().splitlines()]
    assert [row["fluency"] for row in found] == [n % 5 + 1 for n in range(20)]
    assert {row["rater"] for row in found} == {"anna"}
    assert line == {"ratings": [str(sheet)]}
    given = {"corpus": str(Path(outcome.out).with_suffix(".jsonl")), **line}
    config = {**given, "out": out, "model": "m", "axes": ["fluency"], "metrics": ["words"],
              "judges": {"synthetic": {}, "geval": {"samples": 4}, "direct": {"steps": False},
                         "entities": {}, "roles": {}, "pairs": {}},
              "workers": {"executor": "local"}, "coverage_floor": 0}  # fmt: skip
    again = evaljudge.make_report(config, engines=ScriptedEngines())
    assert again.findings["labelled"]
    index = RunIndex(scored_run(out))
    given = {text: one.ratings["fluency"] for text, one in index.further.items()}
    shown = dict(zip(index.texts, index.human["fluency"].tolist(), strict=True))
    assert len(given) == 20 and given.items() <= shown.items()


@pytest.mark.long
def test_a_threshold_begins_where_ratings_are_split_most_evenly(link, browser, outcome):
    (met,) = outcome.findings.spreads[0].people
    total = sum(n for _, _, n in met.counts)
    good = {at: sum(n for _, r, n in met.counts if r >= at) for at in range(len(met.ratings))}
    with listed(browser, link) as page:
        at = int(page.input_value("#threshold-good"))
        assert abs(2 * good[at] - total) == min(abs(2 * n - total) for n in good.values())
        chosen = int(page.text_content("#threshold-precision").split("of the ")[1].split()[0])
        assert 0 < chosen < total
