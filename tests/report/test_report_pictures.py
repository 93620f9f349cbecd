"""The pictures that sections carry: kept beside their tables, and drawn on the page alone."""

import re
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from evaljudge.agreement import LengthHeld
from evaljudge.analysis.costs import CostRow, Price
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.telling import BINS, Spread
from evaljudge.judges.collector import JudgeFindings
from evaljudge.report import read_findings, write_report
from evaljudge.report.lines import agreement_markdown
from evaljudge.report.page import page
from evaljudge.report.pictures import MOST_ROWS
from evaljudge.report.summary import agreement_text
from evaljudge.sections import BarRow, Bars, Named, Picture, Point, Points, Section, Table, merged
from evaljudge.storage import Place
from tests.frames import replaced, sections

HOSTILE = '"><script>alert(1)</script>'


def bars(*names: str, title: str = "T", **more: float | bool) -> Bars:
    rows = [BarRow(name, 0.25, f"figure of {name}", 0.1, 0.4, 0.3) for name in names]
    return Bars("Position", title, "How to read it.", rows, **more)


def points(title: str = "P") -> Points:
    found = [Point(0.1, 0.2, 9, 0.1, 0.4, "nine of them"), Point(0.9, 0.8, 1, None, None, "one")]
    return Points("Reliability", title, "On the line is good.", "predicted", "observed", found)


def section(*pictures: Bars | Points) -> Section:
    rows = [["a", "x", "1"], ["b", [Named("y", "remark")], "2"]]
    table = Table("A table", ["judge", "beside", "n"], rows, "llr")
    return Section("A judge's own", ["about"], [table], ["note"], list(pictures))


def with_sections(findings: Findings, *own: Section) -> Findings:
    return replace(findings, judged=JudgeFindings(list(own)))


def pictures_of(analysis: str, findings: Findings, in_short: bool = False) -> Sequence[Picture]:
    (found,) = sections(analysis, findings, in_short)
    return found.pictures


def drawings(text: str, label: str) -> list[ElementTree.Element]:
    """The pictures of sections whose label in words has this in it."""
    found = re.findall(r'<svg class="picture small.*?</svg>', text, re.DOTALL)
    return [one for one in map(ElementTree.fromstring, found) if label in one.attrib["aria-label"]]


def test_they_are_read_back_as_they_were_written(findings, tmp_path):
    given = section(bars("a", "b"), points(), bars("c", least=-1.0, is_change=True))
    write_report(Place(str(tmp_path)), with_sections(findings, given))
    written = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    (found,) = read_findings(written.get).judged.sections
    assert found == given


def test_bars_of_one_frame_are_one_picture():
    one, other = section(bars("a"), points("first")), section(bars("b"), points("second"))
    (found,) = merged([one, other])
    assert list(found.pictures) == [bars("a", "b"), points("first"), points("second")]
    (found,) = merged([section(bars("a")), section(bars("b", title="U"))])
    assert list(found.pictures) == [bars("a"), bars("b", title="U")]


def test_the_page_draws_them_with_words_and_links_to_their_tables(findings):
    text = page(with_sections(findings, section(bars("a", "b"), points())))
    (drawn,) = drawings(text, "T. a: figure of a; b: figure of b")
    assert drawn.attrib["role"] == "img"
    assert [one.text for one in drawn.iter("title")] == ["a: figure of a", "b: figure of b"]
    (drawn,) = drawings(text, "P. nine of them; one")
    assert [one.text for one in drawn.iter("title")] == ["nine of them", "one"]
    assert "How to read it." in text and "On the line is good." in text
    links = set(re.findall(r'href="#(section-\d+)"', text))
    assert len(links) == 1
    assert f'<section id="{links.pop()}">\n<details><summary><h2>A judge&#39;s own</h2>' in text


def test_each_sentence_stands_before_its_own_pictures(findings):
    other = replace(bars("b", title="U"), reading="Another way to read.")
    text = page(with_sections(findings, section(bars("a"), other, bars("c", title="V"))))
    words = ("How to read it.", "<bdi>T</bdi>", "<bdi>V</bdi>", other.reading, "<bdi>U</bdi>")
    places = [text.index(one) for one in words]
    assert places == sorted(places) and text.count("How to read it.") == 1
    assert text.count("<h3><bdi>Position</bdi></h3>") == 1


def test_figures_of_a_sample_and_of_many_rows_say_so(findings):
    known = Spread("synthetic", "fluency", 1.0, 5.0, {"A": [2] * BINS, "B": [1] * BINS})
    text = page(replace(findings, spreads=[replace(known, is_sample=True)]))
    assert text.count(f"These figures are of a sample of {3 * BINS} texts.") == 2
    assert "of a sample of" not in page(replace(findings, spreads=[known]))
    names = [f"n{number}" for number in range(MOST_ROWS + 3)]
    text = page(with_sections(findings, section(bars(*names))))
    (drawn,) = drawings(text, "T. n0")
    assert len(list(drawn.iter("title"))) == MOST_ROWS
    assert "3 more are in the tables." in text


def test_only_the_page_draws_them_and_names_stay_names(findings):
    given = with_sections(findings, section(bars("a")))
    for text in (agreement_markdown(given), agreement_text(given)):
        assert "A judge's own" in text and "figure of a" not in text
    hostile = replace(points(HOSTILE), points=[replace(points().points[0], figure=HOSTILE)])
    text = page(with_sections(findings, section(bars(HOSTILE), hostile)))
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)") >= 4


def test_places_are_those_of_the_values(findings):
    one = Bars("H", "T", "R", [BarRow("n", -0.5, "f", -0.75, 0.0, 0.5)], least=-1.0)
    (drawn,) = drawings(page(with_sections(findings, section(one))), "T. n: f")
    (bar,) = drawn.findall(".//rect[@class='amount']")
    assert (float(bar.attrib["x"]), float(bar.attrib["width"])) == (6 + 0.25 * 408, 0.25 * 408)
    (line,) = drawn.findall(".//line[@class='doubt']")
    assert float(line.attrib["x1"]) == 6 + 0.125 * 408
    assert float(line.attrib["x2"]) == 6 + 0.5 * 408
    (mark,) = drawn.findall(".//line[@class='limit']")
    assert float(mark.attrib["x1"]) == 6 + 0.75 * 408
    assert [tick.text for tick in drawn.findall(".//text[@class='tick']")] == [
        "-1", "-0.5", "0", "0.5", "1",
    ]  # fmt: skip


def held(scorer: str, value: float | None, before: float, axis: str = "fluency") -> LengthHeld:
    known = ("sample", value, 0.0, 0.2, 50, before, 0.5, 0.4, 0)
    return LengthHeld(*known, scorer=scorer, axis=axis)


def test_length_held_fixed_by_the_largest_change(findings):
    rows = [held("steady", 0.5, 0.52), held("long", 0.1, 0.6), held("words", None, 0.6),
            held("steady", 0.3, 0.4, "relevance"),
            replace(held("pooled", 0.1, 0.6), level="summary"),
            replace(held("few", 0.2, 0.21), n=3)]  # fmt: skip
    fluency, relevance = pictures_of("length", replaced(findings, length=rows))
    assert isinstance(fluency, Bars) and isinstance(relevance, Bars)
    assert fluency.title == "Agreement on fluency, sample level"
    assert [row.name for row in fluency.rows] == ["long", "steady", "few"]
    first, _, few = fluency.rows
    assert (first.other, first.value, first.low, first.high) == (0.6, 0.1, 0.0, 0.2)
    assert first.figure == "0.600 → 0.100 [0.000, 0.200]"
    assert (few.low, few.high) == (None, None)
    assert [row.name for row in relevance.rows] == ["steady"]
    text = page(replaced(findings, length=rows))
    (drawn,) = drawings(text, fluency.title)
    assert len(drawn.findall(".//circle[@class='open']")) == 3
    assert [*pictures_of("length", replaced(findings, length=rows), in_short=True)] == []


def spent(judge: str, axis: str, seconds: float) -> CostRow:
    return CostRow("judge", judge, axis, 1, 1, 1, 1, 1, 0, seconds, seconds, 1, 1)


def test_cost_is_shared_out(findings):
    costs = [spent("a", "x", 10), spent("a", "y", 60), spent("b", "*", 30)]
    given = replaced(findings, costs=costs, price=Price(per_gpu_hour=36))
    (picture,) = pictures_of("costs", given)
    assert isinstance(picture, Bars)
    assert [(row.name, row.value) for row in picture.rows] == [
        ("a · y", 0.6), ("b · all axes", 0.3), ("a · x", 0.1),
    ]  # fmt: skip
    assert picture.rows[0].figure == "60.0%, 60.0 seconds, 0.6 USD"


@pytest.mark.parametrize("costs", [[spent("a", "x", 3)], [spent("a", "x", 0), spent("b", "x", 0)]])
def test_no_cost_to_share_out(findings, costs):
    assert list(pictures_of("costs", replaced(findings, costs=costs))) == []
