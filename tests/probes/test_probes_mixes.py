"""Mixes by hand, how they are read, and the pairs of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evaljudge.analysis.mixes import Mix, all_pairs, mix_of
from evaljudge.errors import UserError
from evaljudge.probes.mixes import mixes, mixes_study
from evaljudge.probes.results import as_json, as_text

HUMAN = {"a": [[1, 2, 3, 4], [1, 2, 3, 4]]}
SCORES = {"x": [[1, 3, 2, 4], [1, 3, 2, 4]], "y": [[1, 1, 2, 2], [0, 0, 1, 1]], "z": [[9] * 4] * 2}
KNOWN = ["a", "a-b", "gpt+", "x", "2*b"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a+x", (("a", 1), ("x", 1))),
        ("a - x", (("a", 1), ("x", -1))),
        ("a-b", None),
        ("a-b-x", (("a-b", 1), ("x", -1))),
        ("x+gpt++a", (("x", 1), ("gpt+", 1), ("a", 1))),
        ("0.2*a + .01 * x - 1e-2*gpt+", (("a", 0.2), ("x", 0.01), ("gpt+", -0.01))),
        ("-a + 2*x", (("a", -1), ("x", 2))),
        ("2*2*b - a-b", (("2*b", 2), ("a-b", -1))),
    ],
)
def test_how_a_mix_is_read(text: str, parts: Any) -> None:
    if parts is None:
        with pytest.raises(UserError, match="name at least two"):
            mix_of(text, KNOWN)
    else:
        assert mix_of(text, KNOWN) == Mix(parts)


@pytest.mark.parametrize(
    "text", ["a+rouge", "a++x", "+a+x", "a x", "a+", "0*a+x", "2a+x", "1e999*a+x", "*a+x", "2*"]
)
def test_what_is_no_mix(text: str) -> None:
    with pytest.raises(UserError, match=r"--mix "):
        mix_of(text, KNOWN)


def test_the_nearest_scorer_is_named() -> None:
    with pytest.raises(UserError, match="unknown scorer 'rougue1': did you mean 'rouge1'"):
        mix_of("rouge1+rougue1", ["rouge1", "chrf"])


def test_weights_in_names_and_values() -> None:
    mix = mix_of("-0.010*x+0.2*y+z", "xyz")
    columns = {"x": np.array([100.0]), "y": np.array([5.0]), "z": np.array([0.5])}
    assert mix.name == "-0.01*x + 0.2*y + z"
    assert mix.compact == "-0.01*x+0.2*y+z"
    assert mix_of(mix.compact, "xyz") == mix_of(mix.name, "xyz") == mix
    np.testing.assert_allclose(mix.of(columns), [0.5])
    assert mix.of_values([100.0, 5.0, 0.5]) == pytest.approx(0.5)


def test_the_axes_of_a_mix() -> None:
    axes = {"x": ["*"], "y": ["tone", "ease"], "z": ["ease"], "w": ["wit"]}
    found = {text: mix_of(text, axes).axes(axes) for text in ("x+x", "x+y", "y+z", "z+w")}
    assert found == {"x+x": ["*"], "x+y": ["tone", "ease"], "y+z": ["ease"], "z+w": []}


def test_names_and_values() -> None:
    mix = mix_of("x-y+z", "xyz")
    columns = {"x": np.array([1.0, 5.0]), "y": np.array([2.0, np.nan]), "z": np.array([3.0, 1.0])}
    assert mix.name == "x - y + z"
    np.testing.assert_equal(mix.of(columns), [2.0, np.nan])
    assert [pair.name for pair in all_pairs("xyz")] == ["x + y", "x + z", "y + z"]


def test_by_hand(matrix: Callable[..., Any]) -> None:
    given = [Mix((("y", 1.0), ("x", -1.0)))]
    rows = mixes(matrix(SCORES, HUMAN), "a", "system", "spearman", given)
    found = {row.scorer: row for row in rows}
    assert list(found) == ["x", "y", "z", "x + y", "x + z", "y + z", "y - x"]
    assert found["x"].value == pytest.approx(0.8)
    assert found["y"].value == pytest.approx(2 / np.sqrt(5))  # ranks 1.5 1.5 3.5 3.5
    assert found["z"].value is None and found["z"].low is None
    assert found["x + y"].value == pytest.approx(np.sqrt(0.9))  # 1.5, 3.5, 3.5, 5.5 over systems
    assert not any(row.best for row in rows)  # four systems are too few to say so
    assert {row.n for row in rows} == {4}


def test_what_is_said(matrix: Callable[..., Any]) -> None:
    few = mixes(matrix(SCORES, HUMAN), "a", "system", "spearman")
    assert "x + y   0.949 (only 4 systems)  4\n" in as_text(mixes_study(few, "cases.jsonl"))
    rows = mixes(matrix(SCORES, HUMAN), "a", "summary", "spearman")
    assert [row.scorer for row in rows if row.best] == ["x + y"]
    study = mixes_study(rows, "cases.jsonl")
    lines = as_text(study).splitlines()
    assert lines[3].split() == ["scorer", "spearman", "[95%]", "n"]
    assert next(line for line in lines if line.startswith("x + y")).split()[-2].endswith("*")
    assert next(line for line in lines if line.startswith("x ")).split()[1] == "0.800"
    assert next(line for line in lines if line.startswith("z ")).split() == ["z", "–", "8"]
    assert len(json.loads(as_json(study))) == 6
    assert "x + y" in study.draw()
