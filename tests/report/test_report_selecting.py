"""Selected files: literal lines, and brute-force selections and thresholds over any scores."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.agreement import Precise, precise
from evaljudge.agreement.rated import Key
from evaljudge.analysis import selection
from evaljudge.analysis.findings import Selected
from evaljudge.analysis.selection import (
    Found,
    Target,
    highest,
    share_of,
    top_scales,
    tops_of,
)
from evaljudge.analysis.tables import Column
from evaljudge.config import Condition, Selection
from evaljudge.decisions.certified import Certified, certified
from evaljudge.errors import Damaged
from evaljudge.records import Candidate, Case, Document, Score
from evaljudge.report import lines as report_lines
from evaljudge.storage import Output, Shard

Row = tuple[str, str, str, float | None, float | None]  # doc, system, text, fluency, rouge


def written(folder: Path | str, shards: Sequence[Sequence[Row]]) -> tuple[Output, list[Shard]]:
    """An output folder that holds these candidates and their two scores."""
    output, scores = Output(str(folder)), dict[Shard, list[Score]]()
    for number, rows in enumerate(shards):
        documents = list(dict.fromkeys(row[0] for row in rows))
        cases = [
            Case(Document(d, "A source."), tuple(Candidate(r[1], r[2]) for r in rows if r[0] == d))
            for d in documents
        ]
        shard = Shard(number, len(cases), len(rows))
        output.write_cases(shard, cases)
        scores[shard] = [score for row in reversed(rows) for score in scores_of(row)]
    if scores:
        output.write_scores(scores)
    return output, list(scores)


def scores_of(row: Row) -> Iterator[Score]:
    doc_id, system, _, fluency, rouge = row
    yield Score(doc_id, system, "synthetic.level", "fluency", fluency)
    yield Score(doc_id, system, "rouge1", "*", rouge)
    yield Score(doc_id, system, "noise", "fluency", 100.0)


def fluency(**asked: float) -> Condition:
    return Condition(scorer="synthetic.level", axis="fluency", **asked)


def rouge(**asked: float) -> Condition:
    return Condition(scorer="rouge1", axis="*", **asked)


def select(
    output: Output, shards: list[Shard], rules: list[Selection], found: Found | None = None
) -> list[Selected]:
    columns = defaultdict[Key, Column](lambda: Column(is_whole=True))
    for score in chain.from_iterable(map(output.scores, shards if top_scales(rules) else ())):
        columns[score.scorer, score.axis].add(score, is_kept=False)
    tops = tops_of(rules, columns)
    return selection.select(output, shards, rules, tops, found or {}, output.ahead)


def rule(name: str, *conditions: Condition) -> Selection:
    return Selection(name=name, all=list(conditions))


SHARDS: list[list[Row]] = [
    [
        ("d1", "A", "Ein Fluß.\nZwei.", 4.25, 0.5),
        ("d1", "B", "\u05e9\u05dc\u05d5\u05dd", 3.5, 0.25),
        ("d2", "A", "<script>", None, 0.75),
    ],
    [("d3", "A", "c", 5.0, 0.5), ("d3", "B", "", 3.5, None), ("d3", "C", "e", 1.0, 0.5)],
]


@pytest.mark.parametrize(
    ("doubts", "warns"),
    [((0.95, 0.1, 0.1, None, 1.0), True), ((0.95, 0.1, 0.1, 0.9, 0.2, 0.3), False)],
)
def test_a_selection_of_undecided_verdicts_is_warned_of(tmp_path, doubts, *, warns):
    rows: list[Row] = [(f"d{n}", "A", "text", 4.0, 0.5) for n in range(len(doubts))]
    output, (shard,) = written(tmp_path, [rows])
    scores = [
        Score(doc_id, "A", "synthetic.level", "fluency", 4.0, doubt=doubt)
        for (doc_id, *_), doubt in zip(rows, doubts, strict=True)
    ]
    output.write_scores({shard: scores})
    (selected,) = select(output, [shard], [rule("good", fluency(at_least=3.5))])
    assert (selected.selected, selected.undecided) == (len(rows), 2 if warns else 1)
    lines = (tmp_path / "selected/good.jsonl").read_text().splitlines()
    assert [json.loads(line).get("doubt", {}) for line in lines] == [
        {} if doubt is None else {"synthetic.level": {"fluency": doubt}} for doubt in doubts
    ]
    said = list(selection.undecided([selected]))
    assert len(said) == warns
    assert not warns or said[0].startswith("select.good: the judge was undecided about 2 of 5 ")


@pytest.mark.parametrize(
    ("part", "scores", "said"),
    [
        (0.2, [3.0] * 18, "18 scores tie at the cut, 3: 14 too many are in the top 20%"),
        (
            0.4,
            [5.0, 4, 4, 4, 1],
            "3 scores tie at the cut, 4: 2 too many are in the top 40%",
        ),
        (0.1, [0.0, 0, -1], "2 scores tie at the cut, 0: 1 too many are in the top 10%"),
        (0.75, [5.0, 4, 4, 1, None], ""),
        (0.5, [None], ""),
    ],
)
def test_ties_at_the_cut_of_a_top_fraction_are_said(part, scores, said):
    columns = defaultdict[Key, Column](lambda: Column(is_whole=True))
    for n, value in enumerate(scores):
        score = Score(f"d{n}", "A", "synthetic.level", "fluency", value)
        columns["synthetic.level", "fluency"].add(score, is_kept=False)
    rules = [rule("best", fluency(top_fraction=part)), rule("all", fluency(at_least=-5))]
    warned = list(selection.odd_thresholds(rules, columns, tops_of(rules, columns)))
    assert warned == [f"select.best: synthetic.level on fluency: {said}"] * bool(said)


def test_lines_and_rule_are_written(tmp_path, snapshot):
    output, shards = written(tmp_path, SHARDS)
    good = rule("good", fluency(at_least=3.5), rouge(at_most=0.5))
    assert select(output, shards, [good]) == [
        Selected("good", good.model_dump(exclude_none=True), 6, 3, 2, [])
    ]
    snapshot((tmp_path / "selected/good.jsonl").read_text(encoding="utf-8"), "lines")
    snapshot(json.loads((tmp_path / "selected/good.json").read_text()), "rule")


def lines(output: Output, name: str) -> list[tuple[str, str]]:
    content = output.place.read(f"selected/{name}.jsonl").decode()
    rows = [json.loads(line) for line in content.split("\n")[:-1]]
    return [(row["doc_id"], row["system"]) for row in rows]


def certified_on(documents: int) -> Certified:
    """One candidate each: every third is bad, and has a low score."""
    found = certified(
        range(documents), [1.0, 3.5, 4.25] * (documents // 3), [1, 5, 5] * (documents // 3),
        good=4, target=0.9, confidence=0.95,
    )  # fmt: skip
    assert found is not None
    return found


def aimed(precision: float, good: float) -> dict[Target, Precise | None]:
    """Where people rated d1 5 2 and d3 4 4 1."""
    scores, ratings = [4.25, 3.5, 5.0, 3.5, 1.0], [5, 2, 4, 4, 1]
    found = precise([1, 1, 3, 3, 3], scores, ratings, good=good, target=precision)
    return {Target(SCALE, precision, good): found}


def sure(documents: int) -> dict[Target, Certified]:
    return {Target(SCALE, 0.9, 4, 0.95): certified_on(documents)}


SCALE = "synthetic.level", "fluency"
CERTIFYING = fluency(precision=0.9, good=4, confidence=0.95)
RULES: dict[str, tuple[Condition, Mapping[Target, Precise | Certified | None], str, str]] = {
    # of 5.0 4.25 3.5 3.5 1.0 the top half is three, and the third is tied with the fourth
    "top": (fluency(top_fraction=0.5), {}, "d1A d1B d3A d3B", "in the top 50% (at least 3.5)"),
    # from the top: 1/1, 2/2, 3/4 at 3.5, 3/5. d1 is selected from by 3.5 (d3: 2/2, then 2/3), which
    # is good once in twice; d3 by 4.25, which selects one of its two good ones
    "precision": (
        fluency(precision=0.9, good=4),
        aimed(0.9, 4),
        "d1A d3A",
        "precision 0.9 of ratings ≥ 4 (at least 4.25: an estimate; cross-fitted 0.667 [0.500, "
        "1.000])",
    ),
    "beside others": (
        fluency(precision=0.7, good=4, top_fraction=0.8, at_most=4.5),
        aimed(0.7, 4),
        "d1A d1B d3B",
        "at most 4.5, in the top 80% (at least 3.5), precision 0.7 of ratings ≥ 4 (at least 3.5: "
        "an estimate; cross-fitted ",
    ),
    "unreached": (
        fluency(precision=0.9, good=5),
        aimed(0.9, 5),
        "",
        "precision 0.9 of ratings ≥ 5 (no threshold reaches it; the best is 0.500)",
    ),
    "certified": (
        CERTIFYING,
        sure(60),
        "d1A d1B d3A d3B",
        "precision 0.9 of ratings ≥ 4 (at least 3.5: certified with 95% confidence on 60 "
        "documents; estimates: precision 1.000, recall 1.000; 66.7% of all texts)",
    ),
    "uncertified": (
        CERTIFYING,
        sure(30),
        "",
        "precision 0.9 of ratings ≥ 4 (nothing is certified with 95% confidence on 30 documents; "
        "about 45 would do)",
    ),
    "few": (
        fluency(precision=0.9, good=4),
        {Target(SCALE, 0.9, 4): None},
        "",
        "precision 0.9 of ratings ≥ 4 (too few ratings to find a threshold)",
    ),
    "few to certify": (
        CERTIFYING,
        {Target(SCALE, 0.9, 4, 0.95): None},
        "",
        "precision 0.9 of ratings ≥ 4 (too few ratings to certify a threshold)",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_keeps_what_reaches_its_threshold_and_says_what_it_is(name, tmp_path, snapshot):
    asked, found, kept, told = RULES[name]
    output, shards = written(tmp_path, SHARDS)
    (selected,) = select(output, shards, [rule("some", asked)], found)
    assert ["".join(text) for text in lines(output, "some")] == kept.split()
    counts = selected.considered, selected.selected, selected.unscored
    assert counts == (6, len(kept.split()), 1)
    (line,) = report_lines.rule(selected)
    assert line.startswith(f"synthetic.level on fluency: {told}")
    content = json.loads(output.place.read("selected/some.json"))
    assert content["rule"]["all"] == [asked.model_dump(exclude_none=True)]
    snapshot(content["thresholds"], f"thresholds {name}")


def test_several_certified_thresholds_say_what_holds_for_all_of_them(tmp_path):
    output, shards = written(tmp_path, SHARDS)
    once, twice, stricter = (
        rule(name, fluency(precision=0.9, good=4, confidence=confidence))
        for name, confidence in (("once", 0.95), ("twice", 0.95), ("stricter", 0.99))
    )
    found = {Target(SCALE, 0.9, 4, confidence): certified_on(60) for confidence in (0.95, 0.99)}
    same = select(output, shards, [once, twice], found)
    assert report_lines.certified_together(same) == ""
    several = select(output, shards, [once, twice, stricter], found)
    assert report_lines.certified_together(several) == (
        "The confidence is that of each of the 2 thresholds by itself. For all 2 at once, ask for "
        "confidence 0.975."
    )
    assert report_lines.at_once([0.95] * 10).endswith(" 10 at once, ask for confidence 0.995.")
    # rounded upwards: 1 - 0.05 / 3 is 0.9833333…
    assert report_lines.at_once([0.95] * 3).endswith("ask for confidence 0.983334.")


def test_no_number_is_not_selected(tmp_path):
    """As in the agreement statistics: and JSON could not say it."""
    rows = [("d", "A", "a", float("inf"), 1.0), ("d", "B", "b", 1.0, 1.0)]
    output, shards = written(tmp_path, [rows])
    (selected,) = select(output, shards, [rule("top", fluency(top_fraction=0.5))])
    assert (selected.selected, selected.unscored) == (1, 1)
    assert lines(output, "top") == [("d", "B")]
    output, shards = written(tmp_path, [[("d", "A", "a", None, None)]])
    (selected,) = select(output, shards, [rule("top", fluency(top_fraction=0.5))])
    assert (selected.considered, selected.selected, selected.unscored) == (1, 0, 1)
    assert selected.thresholds[0]["value"] is None
    assert lines(output, "top") == []


def test_files_of_a_selection_no_longer_configured_go(tmp_path):
    output, shards = written(tmp_path, SHARDS)
    select(output, shards, [rule("old", fluency(at_least=1)), rule("kept", rouge(at_least=0))])
    (tmp_path / "selected/notes.txt").write_text("mine")
    select(output, shards, [rule("kept", rouge(at_least=0))])
    assert output.place.names("selected") == ["kept.json", "kept.jsonl", "notes.txt"]
    assert select(output, shards, []) == []
    assert output.place.names("selected") == ["notes.txt"]


def test_a_selection_that_fails_leaves_the_last_one_whole(tmp_path):
    output, shards = written(tmp_path, SHARDS)
    good = [rule("good", fluency(at_least=3.5))]
    select(output, shards, good)
    before = (tmp_path / "selected/good.jsonl").read_bytes()
    with pytest.raises(Damaged):
        select(output, [*shards, Shard(9, 1, 1)], good)
    assert (tmp_path / "selected/good.jsonl").read_bytes() == before
    assert sorted(file.name for file in (tmp_path / "selected").iterdir()) == [
        "good.json",
        "good.jsonl",
    ]


# a brute-force selection over any scores

VALUES = st.none() | st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0]) | st.floats(-1e6, 1e6)
ASKED = st.fixed_dictionaries(
    {},
    optional={
        "at_least": st.sampled_from([-1.0, 0.0, 0.5]),
        "at_most": st.sampled_from([0.0, 2.0, 100.0]),
        "top_fraction": st.sampled_from([0.07, 0.1, 0.5, 1.0]),
    },
).filter(lambda asked: asked and asked.get("at_least", 0.0) <= asked.get("at_most", 100.0))


def passing(rows: Sequence[Row], column: int, asked: dict[str, float]) -> set[tuple[str, str]]:
    """Those that hold one condition, by sorting all of them."""
    values = {(row[0], row[1]): row[column] for row in rows}
    scored = {at: float(value) for at, value in values.items() if value is not None}
    ranked = sorted(scored.values(), reverse=True)
    kept = share_of(asked.get("top_fraction", 1.0), len(ranked))
    threshold = ranked[kept - 1] if ranked else 0.0
    least = max(asked.get("at_least", threshold), threshold)
    return {at for at, value in scored.items() if least <= value <= asked.get("at_most", value)}


@given(st.lists(st.lists(st.tuples(VALUES, VALUES), max_size=5), max_size=4), ASKED, ASKED)
def test_is_what_sorting_everything_selects(values, first, second):
    shards = [
        [(f"d{number}-{n // 2}", "AB"[n % 2], "text", *pair) for n, pair in enumerate(pairs)]
        for number, pairs in enumerate(values)
    ]
    rows = [row for shard in shards for row in shard]
    expected = passing(rows, 3, first) & passing(rows, 4, second)
    with TemporaryDirectory() as folder:
        output, made = written(folder, shards)
        both = rule("both", fluency(**first), rouge(**second))
        (selected,) = select(output, made, [both])
        found = lines(output, "both")
    assert found == [(row[0], row[1]) for row in rows if (row[0], row[1]) in expected]
    assert selected.considered == len(rows)
    assert selected.selected == len(expected)
    assert selected.unscored == sum(None in row[3:] for row in rows)


# the threshold of a top fraction


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TIED = st.integers(-3, 3).map(float) | st.just(-0.0)


def test_nothing_has_no_highest_and_there_is_one_zero():
    assert highest([], 0.5) is None
    assert str(highest([-0.0, 0.0], 1.0)) == "0.0"
    assert str(highest([-0.0], 1.0)) == "0.0"


@given(st.lists(NUMBERS | TIED, min_size=1, max_size=60), st.floats(0.001, 1.0))
def test_is_what_sorting_says(values, fraction):
    expected = sorted(values, reverse=True)[share_of(fraction, len(values)) - 1]
    assert highest(values, fraction) == expected


@pytest.mark.parametrize(
    ("fraction", "number", "share"),
    [(0.07, 100, 7), (0.1, 30, 3), (0.1, 31, 4), (1.0, 9, 9), (1e-9, 5, 1), (0.5, 0, 0)],
)
def test_a_share_is_of_the_decimal_as_written(fraction, number, share):
    assert share_of(fraction, number) == share
    assert math.ceil(0.07 * 100) == 8  # why floats are not multiplied
