"""What a run ends with, in thirty lines, which Python and notebooks show, too."""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evaljudge.agreement import Agreement, Rival
from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.analysis.telling import BinnedRatings, Spread
from evaljudge.decisions.systems import SystemRanking
from evaljudge.report.lines import asked_line
from evaljudge.report.summary import (
    MOST_LINES,
    full_summary,
    outcome_html,
    outcome_text,
    program,
    summary,
)
from evaljudge.runs.outcome import Outcome
from tests.frames import replaced
from tests.report.findings import agreement, made, standing
from tests.report.findings import ranking as named_ranking

AXES = ("coherence", "fluency", "relevance")


def ranking(scorer: str, axis: str, names: Sequence[str] = ("BART", "T5", "LEAD")) -> SystemRanking:
    return named_ranking(names, scorer=scorer, axis=axis)


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


MANY = tuple(f"axis {n}" for n in range(30))
REASONS = {f"a reason like {'x' * n}": n for n in range(1, 21)}


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


def _nothing_selected() -> Findings:
    why = "synthetic on tone: no threshold is certified to reach 0.8: nothing is selected"
    warnings = [*(f"warning {n}" for n in range(9)), f"select.good: {why}"]
    (rule,) = run().selections
    return run(selections=[replace(rule, selected=0)], warnings=warnings)


def _untested() -> Findings:
    """A study's runs have no tests of their own: the highest is the best."""
    rows = [agreement("summary", "spearman", v, scorer=s) for s, v in (("a", 0.1), ("b", 0.3))]
    return run(agreement=[*rows, agreement("summary", "pearson", 0.9, scorer="a")], significance=[])


def _alike() -> Findings:
    """People's first two systems have the same mean."""
    people = ranking("human", "fluency")
    systems = [replace(one, mean=min(one.mean, 3.95)) for one in people.systems]
    rankings = [replace(people, systems=systems), ranking("synthetic", "fluency")]
    return run(("fluency",), systems=rankings)


def _sample(*rows: Agreement) -> Findings:
    return run(agreement=rows, significance=[])


NO_RATINGS: dict[str, Any] = {"agreement": [], "significance": [], "rated": 0}
NO_RATINGS["systems"] = [ranking("synthetic", "fluency")]
FOUND: dict[str, Findings] = {
    "ordinary": run(),
    "thirty axes": run(MANY),
    "no ratings": run(**NO_RATINGS),
    "one system": run(systems=[ranking("synthetic", axis, ("BART",)) for axis in AXES]),
    "ten scorers": _ten_scorers(),
    "everything": _everything(),
    "many warnings": run(**NO_RATINGS, warnings=_everything().warnings),
    "many reasons": run(coverage=_everything().coverage),
    "many selections": run(selections=_everything().selections, warnings=[]),
    "nothing selected": _nothing_selected(),
    "untested": _untested(),
    "systems alike": _alike(),
    "few documents": _sample(agreement("sample", "spearman", 1.0, n=3)),
    "a long name": _sample(agreement("sample", "spearman", 0.4, scorer="no.end" * 9)),
    "chance": _sample(
        *(
            agreement("sample", "spearman", v, axis=a)
            for a, v in (("a", 0.4), ("b", 0.1), ("c", -1))
        )
    ),
    "metrics alone": run(coverage=[Coverage("rouge1", "*", 16, 0, {})], tokens=[], model="none"),
}


@pytest.mark.parametrize("columns", ["", "80"])
@pytest.mark.parametrize("of", FOUND)
def test_what_a_run_ends_with_in_thirty_lines(of, columns, monkeypatch, snapshot):
    monkeypatch.setenv("COLUMNS", columns)
    said = lines(FOUND[of])
    assert len(said) <= MOST_LINES == 30
    for start in ("coverage", "asked", "report", "scores"):
        assert [line for line in said if line.startswith(start)] != []
    if not columns or of == "ten scorers":
        snapshot("".join(f"{line}\n" for line in said), f"{of} {columns}".strip())


def test_what_has_no_room_is_counted_and_is_there_in_full():
    said = lines(_everything())
    assert 29 <= len(said) <= 30  # an axis takes two lines
    axes = sum(line.startswith("axis ") for line in said)
    left = [int(line.split()[1]) for line in said if line.endswith("more of the axes")]
    assert axes + sum(left) == 30
    selected = sum(line.startswith("selected") for line in said)
    assert f"and {25 - selected} more of the selections: runs/x/selected/" in said
    warned = sum(line.startswith("warning: warning number") for line in said)
    assert warned >= 1 and f"warning: the report lists {40 - warned} more" in said
    unscored = sum(line.startswith("unscored") for line in said)
    left_out = f"           and {20 - unscored} more reasons; 210 of 220 scores in all"
    assert any(line.startswith(left_out) for line in said)
    said = full_summary(_everything(), "runs/x")
    assert len(said.warnings) == 40
    assert said.places.count("selected   ") == 25
    assert said.text.count("unscored   ") == 20
    assert "Spearman's correlation at each level" in said.text
    assert "Highest agreement" in said.text


ROW: dict[str, Any] = {"stage": "judge", "judge": "synthetic", "asks": 1133, "prompt": 1000,
                       "prefilled": 120, "generated": 5, "floor": 100}  # fmt: skip


def test_asks_and_what_the_cache_served(findings):
    rows = [ROW, ROW | {"asks": 1, "prefilled": 380}]
    line = asked_line(replace(findings, tokens=rows))
    assert line == "1,134 times; 75.0% of 2,000 prompt tokens came from the prefix cache"


def test_python_shows_what_the_command_prints(findings):
    said = outcome_text(findings, "runs/first").splitlines()
    printed = summary(findings, "runs/first")
    assert said == [
        *printed.text.splitlines(), *printed.warnings, *printed.places.splitlines()[:-1]
    ]  # fmt: skip
    assert any(line.startswith("unscored   empty text × 5") for line in said)
    assert f"warning: {findings.warnings[0]}" in said
    assert said[-1] == "scores     runs/first/scores/"
    assert repr(Outcome("runs/first", findings)) == "\n".join(said)
    low = outcome_text(_everything(), "runs/x").splitlines()
    assert low[1] == "coverage   4.5% scored: is under the floor of 95%"
    hidden = 40 - sum(line.startswith("warning: warning number") for line in low)
    assert f"warning: the report lists {hidden} more" in low
    assert "<table>" not in outcome_html(replaced(findings, agreement=[]), "runs/first")


def test_a_table_of_each_judge_also_where_all_its_scores_are_equal():
    spread = Spread("constant", "fluency", 1.0, 1.0, {}, [BinnedRatings("fluency", [1.0, 2.0], [])])
    rows = [
        agreement("sample", "spearman", value, scorer=scorer, axis=axis)
        for scorer, axis, value in (
            ("synthetic", "fluency", 0.441),
            ("synthetic.level", "fluency", 0.441),
            ("constant", "fluency", None),
            ("rouge1", "fluency", 0.2),
            ("rouge1", "tone", 0.3),
        )
    ]
    ranked = [ranking("synthetic", "fluency"), ranking("constant", "fluency")]
    shown = outcome_html(run(agreement=rows, systems=ranked, spreads=[spread]), "runs/x")
    assert re.findall("<tr><td>(.+?)</td><td>(.+?)</td><td>(.+?)</td>", shown) == [
        ("synthetic", "fluency", "0.441 [0.311, 0.551]"),
        ("constant", "fluency", "–: all scores are equal"),
        ("rouge1", "fluency", "0.200 [0.070, 0.310]"),
    ]


def test_names_are_text(hostile):
    page = Outcome("<script>x", hostile)._repr_html_()
    assert "<script" not in page
    assert page.count("<tr>") >= 2
    assert len(repr(Outcome("a\nb", hostile)).splitlines()) <= MOST_LINES


@pytest.mark.parametrize(
    ("called", "path", "printed"),
    [
        (".venv/bin/evaljudge", "", ".venv/bin/evaljudge"),
        ("my env/bin/evaljudge", "", "'my env/bin/evaljudge'"),
        ("{here}/evaljudge", "{here}", "evaljudge"),
        ("/usr/lib/evaljudge/__main__.py", "", "evaljudge"),
    ],
)
def test_a_command_to_copy_begins_as_this_process_did(called, path, printed, tmp_path, monkeypatch):
    (tmp_path / "evaljudge").touch(0o755)
    monkeypatch.setenv("PATH", path.format(here=tmp_path))
    monkeypatch.setattr(sys, "argv", [called.format(here=tmp_path)])
    assert program() == printed
