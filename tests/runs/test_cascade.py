"""A cascade: what its equation certifies, whom a run asks about which text, and what it reports."""

import json
import sys
from collections.abc import Mapping
from itertools import islice
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import evaljudge
from evaljudge.analysis.cascade import AnsweredTexts, Cascade, agrees
from evaljudge.decisions.certified import kept
from evaljudge.engines import ModelSource
from evaljudge.engines.scripted import Scripted
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, Prompt
from evaljudge.records import Score
from evaljudge.storage import Output, inspect
from evaljudge.text import CERTAIN
from tests import build
from tests.build import Noting, planned_text, refusal

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))
from promises_cascade import CONFIDENCE, rows

TEXTS, CERTAIN_OF = 400, 300
JUDGES = {"small": {"judge": "geval", "model": "s"}, "large": {"judge": "geval", "model": "l"}}
CASCADE = {"first": "small", "then": "large", "draw": 200}
SELECT = [{"name": "good", "all": [{"scorer": "cascade", "axis": "fluency", "at_least": 3}]}]


class Two(Noting):
    """The small model is sure of 300 texts and right about them, and of the others it knows
    nothing; the large one says 1 or 5 of each."""

    def open(self, source: ModelSource, seed: int) -> Scripted:
        model = super().open(source, seed)
        noted = model._chooses

        def chooses(prompt: Prompt, options: Options) -> Mapping[str, float]:
            noted(prompt, options)
            number = int(prompt.text.split("text number ")[1].split()[0])
            said, sure = ("1", "5")[number % 2], 0.96
            if number >= CERTAIN_OF and source.source == "s":
                said, sure = "1", 0.5
            return {n: log(sure if n == said else (1 - sure) / 4) for n in options.names}

        model._chooses = chooses
        return model


class Bench(build.Bench):
    def __init__(self, folder: Path) -> None:
        how = {"agreement": {"resamples": 10}, "view": 0, "judges": JUDGES, "cascade": CASCADE}
        super().__init__(folder, **how, select=SELECT)
        numbers = range(0, TEXTS, 2)
        self.corpus(
            {"doc_id": f"d{n}", "source": "A source.", "candidates": [
                {"system": s, "text": f"text number {n + at} of all"} for at, s in enumerate("AB")]}
            for n in numbers
        )  # fmt: skip

    def run(self, **changes: Any) -> evaljudge.Outcome:
        self.log.write_text("")
        return evaljudge.run(self.config(**changes), engines=Two(self.log), progress=False)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_the_second_judge_is_asked_in_doubt_alone(bench):
    planned = planned_text(bench.config(), engines=Two(bench.log))
    assert "the most that it may\nbe asked. It will be asked about 200 drawn texts" in planned
    assert "so nothing is saved" not in planned
    every = bench.config(cascade=CASCADE | {"draw": 2 * TEXTS})
    assert "so nothing is saved" in planned_text(every, engines=Two(bench.log))
    came = bench.run()
    (row,) = came.findings["cascade"]
    assert row.kept + row.passed_on == TEXTS and row.kept > 0.9 * CERTAIN_OF
    assert bench.counted()["choose s"] == TEXTS
    known = json.loads((bench.out / "cascade.json").read_text())
    assert known["texts"] == TEXTS and known["axes"] == ["fluency"]
    (reported,) = json.loads((bench.out / "report" / "cascade.json").read_text())
    assert reported["bound"] == known["bound"] == row.bound
    assert "Cascade" in (bench.out / "report" / "index.html").read_text()
    assert 0 < known["taken_over"] < row.passed_on
    assert bench.counted()["choose l"] == row.passed_on + row.drawn - known["taken_over"]
    assert row.saved == TEXTS - bench.counted()["choose l"]
    assert bench.counted()["write l"] == 1, "its briefs are written once"
    ended = json.loads((bench.out / "run.json").read_text())
    costs = [each for each in came.findings["costs"] if each.judge == "large"]
    asked = bench.counted()
    assert ended["total"]["asks"] == asked.total()
    assert sum(each.asks for each in costs) == asked["choose l"] + asked["write l"]
    scores = {(s["scorer"], s["doc_id"], s["system"]): s for s in bench.rows("scores")}
    for (scorer, *text), score in scores.items():
        if scorer == "cascade":
            large, small = (scores[name, *text] for name in ("large", "small"))
            chosen = small if large["reason"] == CERTAIN else large
            assert score["value"] == chosen["value"]
            assert (large["reason"] == CERTAIN) == (small["doubt"] <= row.bound)
    assert came.findings.share == 1, "what is not asked is not missing"
    assert not [line for line in came.findings.warnings if line.startswith("cascade")]
    (good,) = came.findings.selections
    assert (good.unscored, good.selected) == (0, TEXTS // 2)
    assert bench.opened() == ["s", "l"]
    bench.run()
    assert bench.opened() == [], "all is there"
    evaljudge.make_report(bench.config(), engines=Two(bench.log))
    assert json.loads((bench.out / "run.json").read_text())["total"] == ended["total"]
    found = inspect(Output(str(bench.out)), with_derived=True)
    assert found.faults == []


def test_with_too_few_drawn_the_second_judge_judges_all_and_a_line_says_so(bench):
    came = bench.run(cascade=CASCADE | {"draw": 30})
    (row,) = came.findings["cascade"]
    assert (row.bound, row.kept, bench.counted()["choose l"]) == (None, 0, TEXTS)
    (line,) = [line for line in came.findings.warnings if line.startswith("cascade: large judged")]
    assert row.needed and f"about {row.needed:,} would do" in line


@pytest.mark.long
def test_a_run_goes_on_with_the_draw_it_began_with(bench):
    """With a writer, whose model is asked first."""
    bench.usual["writer"] = "w"
    whole = bench.run().scores().to_pandas()
    assert bench.opened() == ["w", "s", "w", "l"]
    bench.out = bench.folder / "again"
    bench.log.write_text("")
    with pytest.raises(UserError, match="asked enough"):
        evaljudge.run(bench.config(), engines=Two(bench.log, TEXTS + 250), progress=False)
    assert bench.run().scores().to_pandas().equals(whole)
    known = json.loads((bench.out / "cascade.json").read_text())
    assert 0 < bench.counted()["choose l"] <= known["passed_on"] - known["taken_over"]
    with pytest.raises(UserError, match="cascade.agreement is 0.95 there, 0.9 here"):
        bench.run(cascade=CASCADE | {"agreement": 0.9})


@pytest.mark.long
@pytest.mark.ray
def test_on_ray_as_in_this_process(bench, local_ray):
    here, asked = bench.run().scores().to_pandas(), bench.counted()
    bench.out = bench.folder / "ray"
    there = bench.run(workers={"executor": "ray"})
    assert there.scores().to_pandas().equals(here) and bench.counted() == asked
    assert bench.opened() == ["s", "l", "l"], "each run has workers of its own"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cascade": CASCADE | {"then": "none"}}, "cascade.then: no judge is called 'none'"),
        ({"select": []}, "when do two scores agree"),
        ({"judges": {"small": {"judge": "geval"}, "large": {"judge": "geval"}}}, "of its own"),
        ({"judges": JUDGES | {"large": {"judge": "pairs", "model": "l"}}}, "depends on others"),
        ({"most": {"asks": 10}}, "does not count what a cascade's draw asks"),
        ({"judges": JUDGES | {"small": {"judge": "direct", "model": "s"}}}, "in doubt: name"),
        ({"combine": {"jury": {"of": ["small", "large"]}}}, "most texts would have no jury"),
        ({"mixes": {"both": "small + large"}}, "most texts would have no both"),
    ],
)
def test_what_cannot_be_a_cascade(bench, changes, said):
    assert said in refusal(bench.run, **changes)
    assert not bench.log.read_text(), "refused before anything is asked"


def test_what_is_certified_is_by_the_binomial_alone():
    """Of 400 texts half are drawn; the judges differ on every eighth from the 200th on."""
    doubts = np.arange(400) / 400
    agree = np.where((np.arange(400) >= 200) & (np.arange(400) % 8 == 0), 0.0, 1.0)
    agree[1::2] = np.nan
    found = kept(doubts, agree, agreement=0.95, confidence=0.9)
    assert found is not None and found.threshold is not None
    for test in found.tested:
        chosen = (doubts <= -test.threshold) & np.isfinite(agree)
        assert (test.selected, test.good) == (chosen.sum(), agree[chosen].sum())
        assert test.p == pytest.approx(1 - binom.cdf(test.good - 1, test.selected, 0.95))
    *certain, failed = found.tested
    assert max(test.p for test in certain) <= 0.1 < failed.p
    assert certain[-1].threshold == found.threshold


def test_forty_five_that_all_agree_certify_and_forty_four_do_not():
    """0.95 ** 45 = 0.0994, and 0.95 ** 44 = 0.1047; a text without an answer is never kept."""
    for number, is_certified in ((44, False), (45, True)):
        doubts = [*np.arange(number) / number, np.inf]
        found = kept(doubts, [1.0] * number + [np.nan], agreement=0.95, confidence=0.9)
        assert found is not None and (found.threshold is not None) == is_certified


@pytest.mark.long
def test_the_promise_is_kept_in_simulated_worlds():
    for row in islice(rows(40), 4):  # all of them, 1,000 times each: benches/promises.json
        assert row["kept"] >= 40 * CONFIDENCE, row


def test_two_answers_agree_on_a_side_or_within_a_difference():
    first, then = np.array([[3.0, 1], [3, 1], [2, np.nan]]), np.array([[4.0, 1], [2.9, 1], [2, 1]])
    assert agrees(first, then, ["a", "b"], {"a": [3.0]}, None).tolist() == [1, 0, 0]
    assert agrees(first, then, ["a", "b"], {}, 0.5).tolist() == [0, 1, 0]


def test_a_text_has_the_greatest_doubt_of_its_axes():
    scores = [
        Score("d", "A", "j", "a", 1.0, doubt=0.2), Score("d", "A", "j", "b", 2.0, doubt=0.6),
        Score("d", "B", "j", "a", 1.0, doubt=0.2), Score("d", "B", "j", "b", None, "why"),
    ]  # fmt: skip
    found = AnsweredTexts.of(scores, "j", ["a", "b"])
    assert found.texts == [("d", "A"), ("d", "B")]
    assert found.doubts.tolist() == [0.6, np.inf]


def test_the_answer_is_the_second_ones_where_it_was_asked():
    cascade = Cascade((("small", 1.0), ("large", 1.0)))
    small = Score("d", "A", "small", "a", 4.0)
    for large, answer in (
        (Score("d", "A", "large", "a", 2.0), (2.0, "")),
        (Score("d", "A", "large", "a", None, CERTAIN), (4.0, "")),
        (Score("d", "A", "large", "a", None, "engine died"), (None, "engine died")),
    ):
        assert cascade.of_scores([small, large]) == answer
