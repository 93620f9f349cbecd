"""The driver's sums: coverage, means, and which columns of ratings a scorer is compared with."""

from __future__ import annotations

import pytest

from evaljudge.accounts import Accounts
from evaljudge.agreeing import with_statistics
from evaljudge.config import AgreementConfig
from evaljudge.records import ANY_AXIS, Candidate, Case, Document, Score
from evaljudge.scoring import Tables


def score(system: str, scorer: str, axis: str, value: float | None, reason: str = "") -> Score:
    return Score("d", system, scorer, axis, value, reason)


def filled() -> Tables:
    tables = Tables([("judge", "fluency"), ("words", ANY_AXIS)])
    for number in range(3):
        case = Case(
            Document(f"d{number}", "s"),
            (
                Candidate("A", "a", {"fluency": 1.0, "relevance": 3.0}),
                Candidate("B", "b", {"fluency": 2.0}),
                Candidate("C", "c"),
            ),
        )
        values = {"A": 1.0, "B": 2.0 + number, "C": 9.0}
        found = {
            (s, "judge", "fluency"): score(s, "judge", "fluency", v) for s, v in values.items()
        }
        if number == 2:
            found["A", "judge", "fluency"] = score("A", "judge", "fluency", None, "empty text")
        found |= {(s, "words", ANY_AXIS): score(s, "words", ANY_AXIS, 5.0) for s in values}
        tables.add(case, found)
    return tables


def test_coverage() -> None:
    judged, words = filled().coverage()
    assert (judged.scored, judged.unscored, judged.reasons) == (8, 1, {"empty text": 1})
    assert (words.scored, words.unscored) == (9, 0)


def test_means_per_system() -> None:
    means = {(m.scorer, m.system): (m.mean, m.n) for m in filled().systems()}
    assert means["judge", "A"] == (1.0, 2)
    assert means["judge", "B"] == (3.0, 3)
    assert means["judge", "C"] == (9.0, 3)


def test_only_rated_candidates_are_kept() -> None:
    tables = filled()
    assert (tables.candidates, tables.rated) == (9, 6)


def test_axes_of_one_name_are_compared_and_no_axis_with_all() -> None:
    rated = filled().as_rated()
    rows = with_statistics(rated, AgreementConfig(resamples=5, permutations=5), seed=0)["agreement"]
    assert {(r.scorer, r.axis) for r in rows} == {
        ("judge", "fluency"), ("words", "fluency"), ("words", "relevance"),
    }  # fmt: skip
    found = {(r.scorer, r.axis, r.level): r for r in rows if r.coefficient == "spearman"}
    assert found["judge", "fluency", "sample"].value == pytest.approx(1.0)
    assert (found["judge", "fluency", "sample"].n, found["judge", "fluency", "sample"].skipped) == (
        2,
        1,
    )
    assert found["words", "fluency", "sample"].value is None


def receipt(stage: str, worker: str, seconds: float, mass: float = 0.9) -> dict[str, object]:
    tokens = {
        "asks": 10,
        "requests": 12,
        "prompt": 1000,
        "cached": 800,
        "generated": 10,
        "floor": 190,
    }
    masses = {"choices": 10, "total": 10 * mass, "low": 0}
    return {"stage": stage, "worker": worker, "worker_seconds": seconds, "gpus": 2,
            "asked": {"synthetic": {"tokens": tokens, "masses": masses}}}  # fmt: skip


def test_accounts_by_hand() -> None:
    accounts = Accounts(
        [receipt("judge", "a", 100), receipt("judge", "a", 1800), receipt("prepare", "b", 1800)]
    )
    judged, prepared = accounts.tokens
    assert (judged["stage"], judged["asks"], judged["prefilled"], judged["floor"]) == (
        "judge",
        20,
        400,
        380,
    )
    assert prepared["asks"] == 10
    assert accounts.total["prompt"] == 3000
    assert accounts.cost == {"worker_seconds": 3600, "gpu_hours": 2.0}
    assert accounts.mass["synthetic"]["mean"] == pytest.approx(0.9)
    assert accounts.warnings == []


def test_low_mass_is_warned_of() -> None:
    (warning,) = Accounts([receipt("judge", "a", 1, mass=0.2)]).warnings
    assert "20.0%" in warning
    assert "enable_thinking: false" in warning
