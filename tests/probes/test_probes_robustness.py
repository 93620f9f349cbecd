"""Bad references: the mixing of scores by document against measuring every step anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaljudge.analysis.mixes import mix_of
from evaljudge.errors import UserError
from evaljudge.probes.excerpts import excerpt
from evaljudge.probes.matrix import (
    Floats,
    Measure,
    ScoreMatrix,
    correlation,
    measured_columns,
    score_matrix,
)
from evaljudge.probes.results import as_text
from evaljudge.probes.robustness import Growth, RobustnessRow, robustness, robustness_study
from evaljudge.records import Candidate, Case, Document

GROWTH = Growth("a", "system", "pearson", steps=4, draws=2, seed=3)
UNSCORED = ("d1", "s2")
WORDS = ["red", "green", "blue", "white", "black", "grey"]


@pytest.fixture
def cases() -> list[Case]:
    """Five documents, the last without references, and four systems."""
    stream = np.random.default_rng(0)

    def text(length: int) -> str:
        return " ".join(stream.choice(WORDS, length))

    return [
        Case(
            Document(f"d{d}", " ".join(f"{text(3).capitalize()}." for _ in range(5)),
                     (text(4), text(2)) if d < 4 else ()),
            tuple(Candidate(f"s{s}", text(4 + s), {"a": float(stream.integers(9))})
                  for s in range(4)),
        )
        for d in range(5)
    ]  # fmt: skip


@pytest.fixture
def matrix(cases: list[Case], measure: Measure) -> ScoreMatrix:
    """One candidate, UNSCORED, lacks a given score: it counts for no scorer, at no step."""
    fixed = {("given", "*"): {(f"d{d}", f"s{s}"): d * s % 5 for d in range(5) for s in range(4)}}
    fixed["given", "*"][UNSCORED] = None
    return score_matrix(cases, fixed, measured_columns(measure, cases))


def of(rows: Sequence[RobustnessRow], **wanted: Any) -> list[float | None]:
    return [
        row.value for row in rows if all(getattr(row, key) == one for key, one in wanted.items())
    ]


def test_scorers_without_references_stay_flat(matrix: ScoreMatrix, measure: Measure) -> None:
    rows = robustness(matrix, measure, GROWTH)
    for name in ("words", "given"):
        expected = agreement(matrix, matrix.scores[name])
        assert of(rows, scorer=name) == [pytest.approx(expected)] * 12
    assert len({row.value for row in rows if row.scorer == "overlap"}) > 3


def test_each_step_is_what_measuring_it_anew_gives(
    matrix: ScoreMatrix, measure: Measure, cases: list[Case]
) -> None:
    mix = mix_of("overlap+overlap", list(matrix.scores))
    rows = robustness(matrix, measure, GROWTH, [mix])
    counts = list(dict.fromkeys(row.replaced for row in rows))
    assert counts == [0, 1, 3, 4]
    for count in counts:
        by_draw = []
        for draw in range(2):
            order = np.random.default_rng((3, draw)).permutation(4)
            columns = measured_columns(measure, replaced_by_lead(cases, set(order[:count])))
            by_draw.append(agreement(matrix, columns["overlap"]))
        found = [r for r in rows if (r.alteration, r.replaced) == ("LEAD-3", count)]
        for row in (row for row in found if row.scorer in ("overlap", mix.name)):
            assert row.value == pytest.approx(np.mean(by_draw))
            assert (row.low, row.high) == pytest.approx((min(by_draw), max(by_draw)))
            assert row.draws == 2


def agreement(matrix: ScoreMatrix, column: Floats) -> float:
    """Of the first four documents: the fifth has no reference, and so no overlap."""
    shared = np.where(np.isfinite(matrix.scores["given"]), column, np.nan)
    grids = matrix.grid(shared)[:4], matrix.grid(matrix.human["a"])[:4]
    return correlation(*grids, "system", "pearson")


def replaced_by_lead(cases: list[Case], chosen: set[int]) -> list[Case]:
    stream = np.random.default_rng(0)
    return [
        replace(case, document=replace(
            case.document, references=(excerpt(case.document.source, "LEAD-3", stream),)))
        if place in chosen else case
        for place, case in enumerate(cases)
    ]  # fmt: skip


def test_texts_are_measured_once_per_alteration_and_random_draw(
    matrix: ScoreMatrix, measure: Measure
) -> None:
    seen: list[tuple[str, ...]] = []

    def counting(cases: Sequence[Case]) -> Any:
        seen.append(cases[0].document.references)
        return measure(cases)

    robustness(matrix, counting, replace(GROWTH, steps=11, draws=4))
    assert len(seen) == 4 + 1 + 1
    assert len(set(seen[:4])) > 1  # other sentences at each draw


def test_it_repeats_by_its_seed(matrix: ScoreMatrix, measure: Measure) -> None:
    first = robustness(matrix, measure, GROWTH)
    assert robustness(matrix, measure, GROWTH) == first
    assert robustness(matrix, measure, replace(GROWTH, seed=4)) != first


def test_nothing_to_replace(cases: list[Case], measure: Measure) -> None:
    bare = [replace(case, document=replace(case.document, references=())) for case in cases]
    made = score_matrix(bare, {}, {"m": np.arange(20.0)})
    with pytest.raises(UserError, match="no document of the cases has references"):
        robustness(made, measure, GROWTH)


def test_what_is_said(matrix: ScoreMatrix, measure: Measure) -> None:
    rows = robustness(matrix, measure, GROWTH)
    study = robustness_study(rows, GROWTH, "cases")
    lines = as_text(study).splitlines()
    assert lines[3].split() == ["alteration", "scorer", "0", "1", "3", "4"]
    assert [line.split()[1] for line in lines[4:7]] == ["overlap", "words", "given"]
    drawn = study.draw()
    for said in ("RAND-3", "LEAD-3", "TAIL-3", "documents with replaced references", "overlap"):
        assert said in drawn
