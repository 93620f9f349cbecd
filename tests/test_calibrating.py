"""`evaljudge calibrate`: what is told and written, and shared judgements computed a second time."""

import json
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import pytest

from evaljudge.commands.agree import agreement_of
from evaljudge.commands.calibrate import calibrated
from evaljudge.commands.options import AgreeOptions, CalibrateOptions
from evaljudge.errors import UserError
from tests.build import SHARED, calibrate_with, document, jsonl, lines, needs_shared

Rows = list[dict[str, Any]]
RATED = {"d1": {"A": 1, "B": 3}, "d2": {"A": 2, "B": 4}}
SCORED = {"d1": {"A": 1.0, "B": 2.0}, "d2": {"A": 1.0, "B": 3.0}}
CASES: Rows = [
    document(d) | {"doc_id": doc_id, "candidates": [
        {"system": system, "text": f"{doc_id} {system}", "ratings": {"fluency": rating}}
        for system, rating in rated.items()]}
    for d, (doc_id, rated) in enumerate(RATED.items())
]  # fmt: skip
SCORES: Rows = [
    {"doc_id": doc_id, "system": system, "scorer": "mine", "axis": "fluency", "value": value}
    for doc_id, scored in SCORED.items()
    for system, value in scored.items()
]
UNRATED: Rows = [document(1, "A")]
BARE: Rows = [{k: v for k, v in row.items() if k != "axis"} for row in SCORES]


def with_ease(ease: Callable[[float], float]) -> Rows:
    """Those texts, rated on a second axis."""
    return [
        case | {"candidates": [
            c | {"ratings": c["ratings"] | {"ease": ease(c["ratings"]["fluency"])}}
            for c in case["candidates"]]}
        for case in CASES
    ]  # fmt: skip


def small(
    folder: Path, cases: Rows = CASES, scores: Rows = SCORES, **more: Any
) -> CalibrateOptions:
    source = jsonl(folder / "cases.jsonl", cases)
    return CalibrateOptions(source, [jsonl(folder / "scores.jsonl", scores)], **more)


def found(wanted: CalibrateOptions, out: Path | None = None) -> Rows:
    return json.loads(calibrate_with(wanted, str(out) if out else None, True))


def test_what_is_written_and_printed(tmp_path):
    out = tmp_path / "out"
    (row,) = found(small(tmp_path, good=3, precision=0.9), out)
    assert json.loads((out / "calibration.json").read_text()) == [row]
    assert (row["scorer"], row["of"], row["axis"]) == ("mine.calibrated", "mine", "fluency")
    assert row["signature"].startswith(
        "mine.calibrated@2 | of mine | isotonic, 2 folds by document, divisions 1, seed 0 | "
        "4 pairs of 2 documents | evaljudge "
    )
    assert row["map"] == {"scores": [1, 2, 3], "ratings": [1.5, 3, 4]}
    assert [*row["folds_of"]] == ["d1", "d2"]
    of_fold = [{"scores": [1, 3], "ratings": [2, 4]}, {"scores": [1, 2], "ratings": [1, 3]}]
    assert [row["fold_maps"][row["folds_of"][doc_id][0]] for doc_id in ("d1", "d2")] == of_fold
    assert (row["error_after"]["value"], row["error_of_mean"]["value"]) == (0.75, 1)
    values = [(r["doc_id"], r["system"], r["value"]) for r in lines(out / "calibrated.jsonl")]
    assert values == [("d1", "A", 2), ("d1", "B", 3), ("d2", "A", 1), ("d2", "B", 3)]
    selection = row["selection"]
    assert (selection["threshold"], selection["candidates"]) == (2, 2)
    assert selection["file"] == "selected/mine-fluency.jsonl"
    assert lines(out / selection["file"]) == [
        {"doc_id": doc_id, "system": "B", "text": f"{doc_id} B",
         "values": {"mine": {"fluency": score}, "mine.calibrated": {"fluency": 3}}}
        for doc_id, score in (("d1", 2), ("d2", 3))
    ]  # fmt: skip
    found(small(tmp_path), out)  # a later calibration takes back what it no longer selects
    assert not (out / selection["file"]).exists()


@pytest.mark.usefixtures("hundred_columns")
def test_what_a_terminal_shows(tmp_path, snapshot):
    """The first document selects from the second by 2, the second from the first by 3."""
    snapshot(calibrate_with(small(tmp_path, good=3, precision=0.9, folds=2), None, False))
    assert "Selected for" not in calibrate_with(small(tmp_path), None, False)


def test_why_there_is_no_threshold_is_said(tmp_path):
    worst = [row | {"value": -row["value"]} for row in SCORES]
    wanted = small(tmp_path, scores=worst, good=4, precision=0.9)
    said = calibrate_with(wanted, str(tmp_path / "out"), False)
    assert "mine on fluency: no threshold reaches 0.9; the best precision is 0.25." in said
    assert "mine on fluency: ratings do not rise with the score (is a lower one better?)" in said
    (row,) = found(wanted)
    assert (row["selection"]["threshold"], row["selection"]["best"]) == (None, 0.25)
    assert row["selection"]["file"] is None
    assert not (tmp_path / "out" / "selected" / "mine-fluency.jsonl").exists()


@pytest.mark.parametrize("documents", [20, 60])
def test_a_certified_threshold_selects_or_says_what_would_do(tmp_path, documents):
    """The lower half of the scores is bad; 20 good ones cannot certify 0.9."""
    names = [f"d{n:02}" for n in range(documents)]
    cases = [
        {"doc_id": name, "source": "s", "candidates": [
            {"system": "A", "text": name, "ratings": {"fluency": 5 if n % 2 else 1}}]}
        for n, name in enumerate(names)
    ]  # fmt: skip
    scores = [SCORES[0] | {"doc_id": name, "value": n % 2} for n, name in enumerate(names)]
    asked = {"good": 4, "precision": 0.9, "confidence": 0.95}
    wanted = small(tmp_path, cases, scores, **asked)
    said = " ".join(calibrate_with(wanted, str(tmp_path / "out"), False).split())
    assert "Selected for a precision of 0.9 with 95% confidence, where a rating of 4" in said
    (row,) = found(wanted)
    assert "each is the whole scale" not in said
    few = small(tmp_path, cases[:18], scores[:18])
    assert "With fewer than 19, each is the whole scale" in calibrate_with(few, None, False)
    wanted = small(tmp_path, cases, scores, **asked)
    if documents == 60:
        assert "mine fluency 0.500 1 0.500 1.000 1.000 With this confidence" in said
        assert (row["selection"]["threshold"], row["selection"]["candidates"]) == (1, 30)
        assert len(lines(tmp_path / "out/selected/mine-fluency.jsonl")) == 30
        values = lines(tmp_path / "out/calibrated.jsonl")
        assert {(one["value"], one["low"], one["high"]) for one in values} == {(1, 1, 1), (5, 5, 5)}
        assert "mean width mine fluency 60 0.950 1.000 0.000" in said
        assert row["intervals"][0]["coverage"] == 1
        assert "at once" not in said
        two = [*scores, *(one | {"scorer": "other"} for one in scores)]
        said = " ".join(calibrate_with(small(tmp_path, cases, two, **asked), None, False).split())
        assert "For all 2 at once, ask for confidence 0.975." in said
    else:
        assert (
            "mine on fluency: no threshold is certified to reach 0.9 with 95% confidence; about 59 "
            "rated documents would do (now 20)."
        ) in said
        assert row["selection"]["threshold"] is None
        assert not (tmp_path / "out/selected").exists()


def test_a_scorer_without_axes_is_calibrated_to_each(tmp_path):
    cases, out = with_ease(lambda fluency: 5 - fluency), tmp_path / "out"
    wanted = small(tmp_path, cases, BARE, good=3, precision=0.5)
    rows = found(wanted, out)
    assert [(row["scorer"], row["axis"]) for row in rows] == [
        ("mine.calibrated", "ease"),
        ("mine.calibrated", "fluency"),
    ]
    selected = lines(out / "selected" / "mine-fluency.jsonl")
    assert selected[0]["values"] == {"mine": {"*": 1}, "mine.calibrated": {"fluency": 2}}
    axes = [row["axis"] for row in found(small(tmp_path, cases, BARE, axis=["ease"]))]
    assert axes == ["ease"]
    again = agreement_of(AgreeOptions(wanted.cases, [str(out / "calibrated.jsonl")]))
    assert {(c.scorer, c.axis, c.scored) for c in again.coverage} == {
        ("mine.calibrated", "ease", 4),
        ("mine.calibrated", "fluency", 4),
    }


def test_unrated_candidates_are_calibrated_and_unscored_ones_counted(tmp_path):
    """Unrated: by the map of all. In a document that has a fold, by that of the fold."""
    more = {"doc_id": "d3", "source": "s", "candidates": [{"system": "A", "text": "t"}]}
    others = [{"system": "C", "text": "t"}, {"system": "D", "text": "t", "ratings": {"fluency": 2}}]
    first = CASES[0] | {"candidates": [*CASES[0]["candidates"], *others]}
    scores = [SCORES[0] | {"doc_id": "d3"}, SCORES[0] | {"system": "C", "value": 3.0}]
    scores.append(SCORES[0] | {"system": "D", "value": None})
    out = tmp_path / "out"
    (row,) = found(small(tmp_path, [first, CASES[1], more], [*SCORES, *scores]), out)
    assert (row["documents"], row["pairs"], row["unscored"]) == (2, 4, 1)
    values = {(r["doc_id"], r["system"]): r["value"] for r in lines(out / "calibrated.jsonl")}
    assert values["d3", "A"] == 1.5
    assert values["d1", "C"] == 4
    assert ("d1", "D") not in values
    assert "d3" not in row["folds_of"]


def test_names_of_strangers_become_names_of_files(tmp_path):
    rivals = ["a/b", "a\\b", "A_b", "../x", "\x1b[2J"]
    scores = [row | {"scorer": name} for name in rivals for row in SCORES]
    out = tmp_path / "out"
    rows = found(small(tmp_path, scores=scores, good=3, precision=0.9), out)
    files = [row["selection"]["file"] for row in rows]
    assert files == [
        "selected/a_b-fluency.jsonl",
        "selected/a_b-fluency-2.jsonl",
        "selected/A_b-fluency-3.jsonl",
        "selected/_x-fluency.jsonl",
        "selected/_2J-fluency.jsonl",
    ]
    assert sorted(path.name for path in (out / "selected").iterdir()) == sorted(
        file.removeprefix("selected/") for file in files
    )
    assert "\x1b" not in calibrate_with(small(tmp_path, scores=scores), None, False)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"scorer": ["mien"]}, "--scorer: unknown scorer 'mien': did you mean 'mine'"),
        ({"axis": ["fluencey"]}, "--axis: unknown human axis 'fluencey': did you mean 'fluency'"),
        ({"precision": 0.8}, "--precision needs --good"),
        ({"good": 4}, "--good needs --precision"),
        ({"good": 4, "precision": 1.5}, "precision: should be 1 or less"),
        ({"good": 4, "precision": 0}, "precision: should be more than 0"),
        ({"good": 4, "precision": nan}, "precision: should be a finite number"),
        ({"good": nan, "precision": 0.5}, "good: should be a finite number"),
        ({"good": 5, "precision": 0.8}, "--good 5: above every rating; the highest is 4"),
        ({"cases": UNRATED}, "no text has human ratings"),
        ({"scores": [SCORES[0] | {"doc_id": "x"}]}, "no score belongs to a text"),
        ({"scores": [row | {"axis": "flow"} for row in SCORES]}, "mine: no rating to calibrate to"),
        ({"cases": CASES[:1]}, "mine on fluency: fewer than 2 documents have both"),
        ({"good": 4, "precision": 0.9, "confidence": 1.0}, "confidence: should be less than 1"),
        ({"good": 4, "precision": 1, "confidence": 0.9}, "`confidence` needs a `precision` below"),
        ({"scores": [row | {"scorer": "mine.calibrated"} for row in SCORES],
          "good": 4, "precision": 0.9, "confidence": 0.9},
         "--confidence: mine.calibrated was fitted to ratings.*, with --scorer$"),
    ],
)  # fmt: skip
def test_mistakes_are_said(tmp_path, more, said):
    with pytest.raises(UserError, match=said):
        calibrate_with(small(tmp_path, **more))


def test_what_is_strange_or_few_is_said(tmp_path):
    more = [SCORES[0] | {"doc_id": "x"}, *(row | {"scorer": "slip", "axis": "f"} for row in SCORES)]
    wanted = small(tmp_path, scores=[*SCORES, *more])
    assert len(found(wanted)) == 1
    warnings = [
        "1 score belongs to no text of the corpus: left out",
        "slip: no rating to calibrate to: unknown human axis 'f': known: fluency",
        "mine on fluency: 2 documents, so as many folds",
    ]
    assert calibrated(wanted).warnings == warnings
    said = calibrate_with(wanted, None, False).splitlines()
    assert said[:4] == [*(f"warning    {warning}" for warning in warnings), ""]


@needs_shared
def test_unieval_calibrated_agrees_as_it_says(tmp_path):
    """`agree` reads what is written; before and after it finds what the calibration tells."""
    source = str(SHARED / "topicalchat.jsonl")
    given = str(SHARED / "topicalchat_unieval.jsonl")
    rows = {r["axis"]: r for r in found(CalibrateOptions(source, [given], resamples=50), tmp_path)}
    both = [given, str(tmp_path / "calibrated.jsonl")]
    agreed = {
        (row.scorer, row.axis): (row.value, row.low, row.high, row.n)
        for row in agreement_of(AgreeOptions(source, both, resamples=50)).agreement
        if (row.level, row.coefficient) == ("sample", "spearman")
    }
    assert len(rows) == 6
    for axis, row in rows.items():
        for scorer, name in (("unieval", "before"), ("unieval.calibrated", "after")):
            told = row[f"spearman_{name}"]
            expected = (told["value"], told["low"], told["high"], told["n"])
            assert agreed[scorer, axis] == pytest.approx(expected)
        assert row["error_after"]["value"] < row["error_of_mean"]["value"]
        assert row["less"]["low"] > 0
    sample = {axis: rows[axis]["spearman_before"]["value"] for axis in ("naturalness", "coherence")}
    assert sample == pytest.approx({"naturalness": 0.515, "coherence": 0.560}, abs=1e-3)
