"""Texts that people rated, shown to a judge: of other documents alone, spread over the scale, and
of use only where ratings have to do with the texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import log
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_option, any_text
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, Prompt, Writing
from evaljudge.probes.datasheet import datasheet
from evaljudge.prompts import examples
from tests import build
from tests.build import refusal

TEXT = re.compile(r"Length (\d), flair (\d), system \w of d\d+")
RATED = re.compile(r"<target>\n(.*)\n</target>\nRating of fluency: (\S+)")
FOUR = {"geval": {}, "direct": {}, "checklist": {}, "synthetic": {"levels": 2}}
Ratings = dict[tuple[str, str], float]


def corpus(folder: Path, documents: int = 16, shuffled: bool = False) -> Ratings:
    """People rate flair, which a model would not by itself; shuffled: nothing that is there. Two
    documents have the same source."""
    draw, rows = Random(1), []
    for number in range(documents):
        features = [(draw.randint(1, 5), draw.randint(1, 5)) for _ in "ABC"]
        rows.append({"doc_id": f"d{number}", "source": f"source {max(number, 1)}", "candidates": [
            {"system": s, "text": f"Length {length}, flair {flair}, system {s} of d{number}",
             "ratings": {"fluency": float(draw.randint(1, 5) if shuffled else flair)}}
            for s, (length, flair) in zip("ABC", features, strict=True)
        ]})  # fmt: skip
    build.jsonl(folder / "cases.jsonl", rows)
    return {(row["doc_id"], one["system"]): one["ratings"]["fluency"]
            for row in rows for one in row["candidates"]}  # fmt: skip


def judged_by(prompt: Prompt) -> float:
    """The rating of someone who rates length until told better, and knows a text again."""
    rated, (*_, target) = dict(RATED.findall(prompt.text)), TEXT.finditer(prompt.text)
    if not rated or target[0] in rated:
        return float(rated.get(target[0], target[1]))
    of = [[float(number) for number in TEXT.findall(text)[0]] for text in rated]
    slopes = np.nan_to_num(np.cov([*zip(*of, strict=True), [*map(float, rated.values())]])[-1, :-1])
    feature = int(np.argmax(np.abs(slopes)))
    return float(3 + np.sign(slopes[feature]) * (float(target[feature + 1]) - 3))


def reader(asked: list[Prompt]) -> Scripted:
    def writes(prompt: Prompt, how: Writing) -> str:
        if prompt.template == "checklist.write":
            return json.dumps({"questions": ["Is it good?"]})
        if prompt.template != "geval.rate":
            return any_text(prompt, how)
        asked.append(prompt)
        return f"{judged_by(prompt):g}"

    def chooses(prompt: Prompt, options: Options) -> Mapping[str, float]:
        asked.append(prompt)
        if options.names == ("1", "2", "3", "4", "5"):
            at = {"1": 1.0, "5": 1.0} | {f"{judged_by(prompt):g}": 1e6}
            return {name: log(at.get(name, 1) / (1e6 + 4)) for name in options.names}
        return any_option(prompt, options)

    return Scripted(writes=writes, chooses=chooses)


def run(folder: Path, judges: Mapping[str, Any], out: str = "out") -> tuple[Any, list[Prompt]]:
    asked = list[Prompt]()
    config = build.config(folder, judges=judges, metrics=[], out=str(folder / out))
    evaljudge.run(config, engines=ScriptedEngines(lambda: reader(asked)))
    return evaljudge.open_run(folder / out), asked


def agreement(folder: Path, ratings: Ratings, judge: Mapping[str, Any], out: str) -> float:
    opened, _ = run(folder, {"geval": judge}, out)
    scores = [row for row in opened.scores().to_pylist() if row["scorer"] == "geval"]
    human = [ratings[row["doc_id"], row["system"]] for row in scores]
    return float(spearmanr([row["value"] for row in scores], human).statistic)


def own_shown(asked: list[Prompt]) -> set[str]:
    """The documents, by their source, that saw a rating of a text on that source."""
    found = set()
    for prompt in asked:
        sources = re.findall(r"source \d+", prompt.text)
        shown, own = sources[: len(RATED.findall(prompt.text))], sources[-1]
        assert shown, prompt.text
        found |= {own} & {*shown}
    return found


@pytest.mark.parametrize("judge", FOUR)
def test_no_question_shows_a_rating_of_its_own_document(judge, tmp_path, monkeypatch):
    corpus(tmp_path)
    wanted = {judge: {**FOUR[judge], "examples": {"n": 4}}}
    _, asked = run(tmp_path, wanted)
    assert own_shown(asked) == set()
    beginnings = {prompt.text.rpartition("Judge as these people would")[0] for prompt in asked}
    assert len(beginnings) == 2  # a fold's documents share all that comes first
    for beginning in beginnings:
        ratings = sorted(float(rating) for _, rating in RATED.findall(beginning))
        assert ratings[0] == 1 and ratings[-1] == 5 and len(set(ratings)) == 4
    monkeypatch.setattr(examples, "_shown_to", lambda fold: [fold])
    assert own_shown(run(tmp_path, wanted, "leak")[1])


def test_examples_help_where_ratings_mean_something_and_else_give_nothing(tmp_path, monkeypatch):
    ratings = corpus(tmp_path, 40)
    shown = {"examples": {"n": 16}}
    without, with_them = (
        agreement(tmp_path, ratings, judge, out) for judge, out in (({}, "plain"), (shown, "shown"))
    )
    assert abs(without) < 0.3 and with_them > 0.9
    noise = corpus(tmp_path, 16, shuffled=True)
    assert abs(agreement(tmp_path, noise, shown, "noise")) < 0.3
    monkeypatch.setattr(examples, "_shown_to", lambda fold: [fold])
    assert agreement(tmp_path, noise, shown, "leak") > 0.5


def test_they_are_kept_with_the_run_and_what_they_made_certifies_nothing(tmp_path):
    corpus(tmp_path)
    judge = {"geval": {"examples": {"n": 3}}}
    opened, asked = run(tmp_path, judge)
    row = next(row for row in opened.scores().to_pylist() if row["value"] is not None)
    assert row["signature"].endswith(" | shown people's ratings")
    assert '"examples": {"chosen": "' in row["signature"]
    rows = build.lines(tmp_path / "cases.jsonl")
    rows[0]["candidates"][0]["ratings"]["fluency"] = 2.5  # a rating is corrected: the run goes on
    build.jsonl(tmp_path / "cases.jsonl", [*rows, build.document(99, fluency=3.0)])
    more = list[Prompt]()
    config = build.config(tmp_path, judges=judge, metrics=[])
    evaljudge.run(config, extend=True, engines=ScriptedEngines(lambda: reader(more)))
    firsts = [{p.text.rpartition("Judge as")[0] for p in each} for each in (asked, more)]
    assert more and firsts[1] <= firsts[0]
    rule = {"name": "best", "all": [{"scorer": "geval", "axis": "fluency", "good": 4,
                                     "precision": 0.8, "confidence": 0.9}]}  # fmt: skip
    with pytest.raises(UserError, match="cannot certify"):
        evaljudge.plan(config | {"select": [rule]}, engines=ScriptedEngines(Scripted))


def test_texts_without_ratings_of_their_own_are_judged_with_the_examples_of_their_run(tmp_path):
    """Those that a cascade draws, and the twins of a probe."""
    corpus(tmp_path)
    asked = list[Prompt]()
    engines = build.Noting(tmp_path / "log")
    engines.open = lambda source, seed: reader(asked)  # type: ignore[method-assign]
    judges = {"small": {"judge": "geval", "model": "s"},
              "large": {"judge": "geval", "model": "l", "examples": {"n": 4}}}  # fmt: skip
    config = build.config(tmp_path, judges=judges)
    cascade = {"first": "small", "then": "large", "draw": 20, "within": 1}
    evaljudge.run(config | {"cascade": cascade}, engines=engines)
    asked[:] = [prompt for prompt in asked if RATED.search(prompt.text)]
    assert len(asked) == 48 and own_shown(asked) == set()
    asked.clear()
    del config["judges"]["small"]
    datasheet(config, documents=4, out=tmp_path / "twins", engines=engines, reworded=[])
    assert len(asked) == 4 * 5 and own_shown(asked) == set()


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        ({"geval": {"examples": {"n": 30}}}, "n is 30, but for half of the documents"),
        ({"geval": {"examples": {"n": 0}}}, "judges.geval.examples.n: should be"),
        ({"likelihood": {"examples": {"n": 2}}}, "they precede questions on an axis"),
    ],
)
def test_what_cannot_be_shown_is_refused_before_anything_is_asked(judges, said, tmp_path):
    corpus(tmp_path)
    assert said in refusal(run, tmp_path, judges)


def test_a_scorer_has_no_ratings_to_show():
    with pytest.raises(UserError, match="a Scorer has no corpus with ratings"):
        evaljudge.Scorer(judges={"geval": {"examples": {"n": 2}}}, model="m",
                         engines=ScriptedEngines(Scripted))  # fmt: skip
