"""What a run ends with, in thirty lines; what Python and notebooks show of it, in three."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from evaljudge.agreement import Agreement, Rival
from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.decisions.systems import RankedSystem, SystemPair, SystemRanking
from evaljudge.report import asked_line, full_summary, outcome_html, outcome_text, summary
from evaljudge.report.summary import MOST_LINES
from evaljudge.runs.outcome import Outcome
from tests.frames import replaced
from tests.report.findings import agreement, made, standing

AXES = ("coherence", "fluency", "relevance")


def ranking(scorer: str, axis: str, names: tuple[str, ...] = ("BART", "T5", "LEAD")) -> Any:
    """The first two cannot be told apart."""
    systems = [RankedSystem(n, 4.1 - i, 4, 4.2, 100, "a") for i, n in enumerate(names)]
    pairs = [
        SystemPair(a, b, 0.1, 0.0, 0.2, 0.1, 0.9 if b == "T5" else 0.01, 99, 1, 2)
        for a, b in combinations(names, 2)
    ]
    how: dict[str, Any] = {"test": "t", "told_apart": 1, "spread": 0.9, "detectable": 0.25}
    how |= {"documents": 100, "detectable_among_all": None, "alpha": 0.05, "power": 0.8}
    return SystemRanking(systems=systems, pairs=pairs, scorer=scorer, axis=axis, **how)


def run(axes: tuple[str, ...] = AXES, **more: Any) -> Findings:
    """People rated all texts, and two scorers scored them."""
    words = Rival("words", 0.4, 0.44, 0.2, 0.4, 100, False)
    close = {"indistinguishable": ["words"], "low": 0.2989, "high": 0.566, "chosen": 2}
    found: dict[str, Any] = {
        "agreement": [
            agreement(level, "spearman", value, scorer=scorer, axis=axis)
            for level in ("sample", "system")
            for axis in axes
            for scorer, value in (("synthetic", 0.441), ("words", 0.4))
        ],
        "significance": [
            standing("sample", "synthetic", [words], axis=axis, **close) for axis in axes
        ],
        "systems": [ranking(of, axis) for of in ("human", "synthetic") for axis in axes]
        + [ranking("words", "*")],
    }
    return made(**found | more)


def lines(findings: Findings) -> list[str]:
    """All that a run prints, with the line on its coverage that follows where it is low."""
    said = summary(findings, "runs/x", "d1")
    low = [] if findings.floor_passed else ["coverage is under the floor"]
    return [*said.text.splitlines(), *said.warnings, *said.places.splitlines(), *low]


def test_of_an_ordinary_run(snapshot: Callable[..., None]) -> None:
    said = summary(run(), "runs/first", "d 17")
    snapshot("".join([said.text, *(f"{line}\n" for line in said.warnings), said.places]))


def test_why_nothing_is_selected_is_said_on_its_line() -> None:
    (rule,) = run().selections
    why = "synthetic on tone: no threshold is certified to reach 0.8: nothing is selected"
    warnings = [*(f"warning {n}" for n in range(9)), f"select.good: {why}"]
    empty = run(selections=[replace(rule, selected=0)], warnings=warnings)
    assert summary(empty, "x").places.startswith(f"selected   0 of 1,600: good: {why}\nreport ")
    full = replace(empty, selections=[rule])
    assert summary(full, "x").places.startswith("selected   154 of 1,600: x/selected/good.jsonl\n")


MANY = tuple(f"axis {n}" for n in range(30))
REASONS = {f"a reason like {'x' * n}": n for n in range(1, 21)}


def _no_ratings() -> Findings:
    return run(agreement=[], significance=[], rated=0, systems=[ranking("synthetic", "fluency")])


def _one_system() -> Findings:
    return run(systems=[ranking("synthetic", axis, ("BART",)) for axis in AXES])


def _ten_scorers() -> Findings:
    names = [f"scorer {n}" for n in range(10)]
    rows = [agreement("sample", "spearman", n / 20, scorer=s) for n, s in enumerate(names)]
    best = standing("sample", "scorer 9", [], indistinguishable=names[:9])
    return run(agreement=rows, significance=[best], systems=[ranking(s, "*") for s in names])


def _everything() -> Findings:
    found = run(MANY)
    return replace(
        found,
        coverage=[Coverage("synthetic", "fluency", 10, 210, REASONS)],
        warnings=[f"warning number {n}" for n in range(40)],
        selections=[replace(found.selections[0], name=f"rule-{n}") for n in range(25)],
    )


@pytest.mark.parametrize(
    "of",
    [run, lambda: run(MANY), _no_ratings, _one_system, _ten_scorers, _everything,
     lambda: replace(_no_ratings(), warnings=_everything().warnings),
     lambda: replace(run(), coverage=_everything().coverage),
     lambda: replace(run(), selections=_everything().selections, warnings=[])],
    ids=["demo-like", "thirty axes", "no ratings", "one system", "ten scorers", "everything",
         "many warnings", "many reasons", "many selections"],
)  # fmt: skip
@pytest.mark.parametrize("columns", ["", "80"])
def test_never_more_than_thirty_lines(
    of: Callable[[], Findings], columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = lines(of())
    assert len(said) <= MOST_LINES == 30
    for start in ("coverage", "asked", "report", "scores"):
        assert [line for line in said if line.startswith(start)] != []


def test_what_has_no_room_is_counted() -> None:
    said = lines(_everything())
    assert len(said) == 30
    axes = sum(line.startswith("axis ") for line in said) - 2
    left = [int(line.split()[1]) for line in said if line.endswith(("more axes", "more rows"))]
    assert axes + sum(left) == 2 * 30
    selected = sum(line.startswith("selected") for line in said)
    assert f"and {25 - selected} more selections: runs/x/selected/" in said
    warned = sum(line.startswith("warning: warning number") for line in said)
    assert warned >= 1 and f"warning: the report lists {40 - warned} more" in said
    unscored = sum(line.startswith("unscored") for line in said)
    left_out = f"           and {20 - unscored} more reasons; 210 of 220 scores in all"
    assert any(line.startswith(left_out) for line in said)


def test_without_ratings_it_says_how_to_get_some() -> None:
    said = lines(_no_ratings())
    assert "There are no human ratings: nothing to agree with." in said
    assert "`evaljudge label runs/x --to sheet.csv` draws texts for people to rate." in said
    assert "axis     scorer     best (mean)   cannot be told from it" in said


def test_untested_the_highest_is_the_best() -> None:
    """A study's runs have no tests of their own."""
    rows = [agreement("summary", "spearman", v, scorer=s) for s, v in (("a", 0.1), ("b", 0.3))]
    rows.append(agreement("summary", "pearson", 0.9, scorer="a"))
    said = lines(run(agreement=rows, significance=[]))
    assert "fluency  b       –                       0.300 [0.170, 0.410]" in said
    assert any("on all texts pooled (summary level)" in line for line in said)


def test_systems_of_the_same_mean_share_the_place_of_the_best() -> None:
    people = ranking("human", "fluency")
    systems = [replace(one, mean=min(one.mean, 3.0)) for one in people.systems]
    rankings = [replace(people, systems=systems), ranking("synthetic", "fluency")]
    assert summary(run(("fluency",), systems=rankings), "runs/x").text.count("BART; T5\n") == 1


def test_few_documents_are_no_evidence() -> None:
    said = lines(run(agreement=[agreement("sample", "spearman", 1.0, n=3)], significance=[]))
    assert any(line.endswith("1.000 (only 3 documents)") for line in said)


def test_names_are_counted_where_there_is_no_room_and_never_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = lines(_ten_scorers())
    names = "; ".join(f"scorer {n}" for n in range(9))
    assert any(names in line for line in whole)
    monkeypatch.setenv("COLUMNS", "80")
    narrow = lines(_ten_scorers())
    assert any(line.startswith("fluency  scorer 9  9 others ") for line in narrow)
    long = "synthetic.calibrated.on.a.name.without.end"
    rows = [agreement("sample", "spearman", 0.4, scorer=long)]
    assert any(long in line for line in lines(run(agreement=rows, significance=[])))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([agreement("sample", "spearman", 0.441), agreement("sample", "spearman", 0.1, axis="b"),
          agreement("sample", "spearman", -0.5, axis="c")],
         "No agreement is shown where the interval does not lie above 0: b, c."),
        ([agreement("sample", "spearman", 1.0, n=3)], "There is too little for intervals."),
    ],
    ids=["chance", "few"],
)  # fmt: skip
def test_the_intervals_in_words(rows: list[Agreement], words: str) -> None:
    said = lines(run(agreement=rows, significance=[]))
    assert f"0 is chance, 1 is people's own order. {words}" in said


def test_metrics_alone_have_no_model() -> None:
    said = lines(run(coverage=[Coverage("rouge1", "*", 16, 0, {})], tokens=[], model="none"))
    assert said[0] == "scored     1,600 texts of 100 documents, by rouge1"


def test_all_of_it_is_there_in_full() -> None:
    said = full_summary(_everything(), "runs/x")
    assert len(said.warnings) == 40
    assert said.places.count("selected   ") == 25
    assert said.text.count("unscored   ") == 20
    assert "Spearman's correlation at each level" in said.text
    assert "Highest agreement" in said.text


ROW: dict[str, Any] = {"stage": "judge", "judge": "synthetic", "asks": 1133, "prompt": 1000,
                       "prefilled": 120, "generated": 5, "floor": 100}  # fmt: skip


def test_asks_and_what_the_cache_served(findings: Findings) -> None:
    rows = [ROW, ROW | {"asks": 1, "prefilled": 380}]
    line = asked_line(replace(findings, tokens=rows))
    assert line == "1,134 times; 75.0% of 2,000 prompt tokens came from the prefix cache"


def test_three_lines(findings: Findings) -> None:
    said = outcome_text(findings, "runs/first").splitlines()
    assert len(said) == 3
    assert said[0].startswith("runs/first: ")
    assert " on " in said[1]
    assert said[2] == "report: runs/first/report/index.html"
    assert repr(Outcome("runs/first", findings)) == "\n".join(said)


def test_without_agreement(findings: Findings) -> None:
    said = outcome_text(replaced(findings, agreement=[]), "runs/first")
    assert said.splitlines()[1] == "agreement within documents (Spearman): –"
    assert "<table>" not in outcome_html(replaced(findings, agreement=[]), "runs/first")


def test_names_are_text(hostile: Findings) -> None:
    page = Outcome("<script>x", hostile)._repr_html_()
    assert "<script" not in page
    assert page.count("<tr>") >= 2
    assert len(repr(Outcome("a\nb", hostile)).splitlines()) == 3
