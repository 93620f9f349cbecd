"""`evaljudge probe datasheet`: a judge that reads is in order, and each bias is named."""

import json
import re
from collections.abc import Callable, Mapping
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaljudge.agreement import Measured
from evaljudge.engines.scripted import Scripted, ScriptedEngines, noise
from evaljudge.model.asks import Options, Prompt
from evaljudge.probes.datasheet import TWINS, TwinRow, datasheet, verdict_of
from evaljudge.probes.results import ProbeResult, as_text
from tests.build import refusal

DOCUMENTS = 12
Chooses = Callable[[Prompt, Options], Mapping[str, float]]


def told(good: float, options: Options) -> dict[str, float]:
    """A choice whose expected rating of 1 to 5 rises with a number from 0 to 1."""
    weights = {name: good if name == "5" else (1 - good) / 4 for name in options.names}
    return {name: log(weight) for name, weight in weights.items()}


def parts(prompt: Prompt) -> tuple[str, list[str]]:
    """The document's number, and the numbers that the text names."""
    (text,) = re.findall(r"<target>\n(.*?)\n</target>", prompt.text, re.DOTALL)
    (number,) = re.findall(r"Source (\d+)", prompt.text)[:1]
    return number, re.findall(r"Text (\d+)", text)


def reads(prompt: Prompt, options: Options) -> Mapping[str, float]:
    """How good each text is is known; one about another document is bad."""
    number, named = parts(prompt)
    good = 0.3 + noise(number) / 3
    return told(good if number in named or not named else 0.05, options)


def by_length(prompt: Prompt, options: Options) -> Mapping[str, float]:
    (text,) = re.findall(r"<target>\n(.*?)\n</target>", prompt.text, re.DOTALL)
    return told(min(0.9, len(text) / 400 + noise(text) / 50), options)


def by_words(prompt: Prompt, options: Options) -> Mapping[str, float]:
    """The instructions decide, at random."""
    return told(noise(prompt.text), options)


def probed(folder: Path, chooses: Chooses, **more: Any) -> ProbeResult[TwinRow]:
    rows = [
        {"doc_id": f"d{n}", "source": f"Source {n}. It rained.", "candidates": [
            {"system": "A", "text": f"Text {n} says it. {'So it goes on. ' * (n % 4)}It rained."}]}
        for n in range(DOCUMENTS)
    ]  # fmt: skip
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    config = {"corpus": str(folder / "cases.jsonl"), "out": str(folder / "x"), "model": "m",
              "axes": ["fluency"], "judges": ["geval"], "metrics": ["words"],
              "workers": {"executor": "local"}, "view": 1}  # fmt: skip
    engines = ScriptedEngines(lambda: Scripted(chooses=chooses))
    return datasheet(config, out=folder / "out", engines=engines, **more)


def verdicts(found: ProbeResult[TwinRow]) -> dict[str, str]:
    return {row.twin: row.verdict for row in found.rows if row.scorer == "geval"}


def test_a_judge_that_reads_is_in_order(tmp_path):
    found = probed(tmp_path, reads)
    assert verdicts(found) == dict.fromkeys(TWINS, "holds") | {"empty": "unscored"}
    rows = {row.twin: row for row in found.rows}
    assert (rows["lines"].moved.value, rows["lines"].spreads) == (0.0, 0.0)
    assert (rows["empty"].n, rows["empty"].unscored) == (0, DOCUMENTS)
    assert not [dot.label for dot in found.dots if dot.is_marked]
    again = probed(tmp_path, reads)
    assert again.rows == found.rows, "and it is resumed"


def test_a_judge_of_length_is_found_out(tmp_path):
    found = probed(tmp_path, by_length)
    said = verdicts(found)
    assert (said["padded"], said["twice"], said["foreign"]) == ("rises", "rises", "not lower")
    row = next(row for row in found.rows if row.twin == "twice")
    scores = {(s["scorer"], s["doc_id"], s["system"]): s["value"] for s in _scores(tmp_path)}
    clean, twice = (
        np.array([scores["geval", f"d{n}", name] for n in range(DOCUMENTS)])
        for name in ("clean", "twice")
    )
    gaps = twice - clean
    assert row.moved.value == pytest.approx(gaps.mean())
    assert row.spreads == pytest.approx(gaps.mean() / clean.std(ddof=1))
    assert row.varies == pytest.approx(np.abs(gaps).mean() / clean.std(ddof=1))
    assert re.search(r"twice +12 .* no higher +rises !", as_text(found))


def _scores(folder: Path) -> list[dict[str, Any]]:
    from tests.build import stored

    return stored(folder / "out" / "run" / "scores")


def test_a_judge_of_the_instructions_is_found_out(tmp_path):
    assert verdicts(probed(tmp_path, by_words))["reworded"] == "varies"
    (tmp_path / "alone").mkdir()
    found = probed(tmp_path / "alone", by_words, reworded=())
    assert "reworded" not in verdicts(found)
    assert found.notes[-1].startswith("reworded: geval would be asked the same")


def test_one_document_is_too_few(tmp_path):
    assert "two documents" in refusal(probed, tmp_path, reads, documents=1)


def sized(value: float, half: float, n: int = 20) -> Measured:
    return Measured(value, value - half, value + half, n)


@pytest.mark.parametrize(
    ("expected", "moved", "spreads", "varies", "said"),
    [
        ("the same", sized(0.5, 0.1), 0.21, 0.3, "moves"),
        ("the same", sized(0.5, 0.1), 0.19, 0.3, "holds"),
        ("the same", sized(0.5, 0.6), 0.9, 0.3, "holds"),
        ("the same", sized(0.0, 0.6), 0.0, 0.51, "varies"),
        ("no higher", sized(0.5, 0.1), 0.11, 0.9, "rises"),
        ("no higher", sized(-0.5, 0.1), -2.0, 2.0, "holds"),
        ("lower", sized(-0.5, 0.6), -2.0, 2.0, "not lower"),
        ("lower", sized(-0.5, 0.1), -0.1, 0.1, "holds"),
        ("lower", sized(-0.5, 0.1, n=5), -2.0, 2.0, "too few documents"),
        ("the same", sized(0.0, 0.0), None, None, "no spread"),
        ("lower", Measured(None, None, None, 0), None, None, "unscored"),
    ],
)
def test_what_is_warned_of(expected, moved, spreads, varies, said):
    assert verdict_of(expected, moved, spreads, varies) == said
