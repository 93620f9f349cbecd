"""The whole journey on the scripted model: what a rerun asks, and what it refuses."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.errors import UserError
from tests import build
from tests.build import Noting, document, planned_text, refusal

AXES = ["fluency", "relevance"]


BOTH = pytest.mark.parametrize(
    "executor",
    ["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.long])],
    indirect=True,
)


def case(number: int, systems: str = "AB", rated: bool = True) -> dict[str, Any]:
    ratings = {"fluency": 1.0 + number % 4} if rated else {}
    return document(number, systems, **ratings)


def synthetic(levels: int) -> dict[str, Any]:
    """Without checks of its own, so that asks are easily counted."""
    return {"synthetic": {"levels": levels, "checks": {"neighbours": 0, "exchanged": 0}}}


class Bench(build.Bench):
    def __init__(self, folder: Path, executor: str) -> None:
        super().__init__(folder, axes=AXES, judges=synthetic(3), workers={"executor": executor})
        self.engines = Noting(self.log)
        self.corpus([case(n) for n in range(4)])

    def asked(
        self, work: Callable[..., Any] = evaljudge.run, *, extend: bool = False, **changes: Any
    ) -> Counter[str]:
        """Runs, and gives what was asked of whom."""
        self.log.write_text("")
        more = {"extend": True} if extend else {}
        self.came = work(self.config(**changes), engines=self.engines, **more)
        return self.counted()

    def run_json(self) -> dict[str, Any]:
        return json.loads((self.out / "run.json").read_text())  # type: ignore[no-any-return]


@pytest.fixture
def bench(tmp_path, executor):
    return Bench(tmp_path, executor)


WHOLE = {"write m": 4 * 2 * 3, "choose m": 4 * 2 * 2 * 3}


def select(**condition: Any) -> list[dict[str, Any]]:
    rule = {"scorer": "synthetic.level", "axis": "fluency"} | condition
    return [{"name": "some", "all": [rule]}]


@pytest.mark.long
@pytest.mark.ray
def test_select_metrics_workers_and_floor_change_freely(bench):
    assert bench.asked() == WHOLE
    changes = {"metrics": ["words"], "select": select(at_least=1.0), "coverage_floor": 0.1,
               "workers": {"min": 1, "max": 2}}  # fmt: skip
    assert bench.asked(**changes) == {}
    assert len((bench.out / "selected/some.jsonl").read_text().splitlines()) == 8
    assert {row["scorer"] for row in bench.rows("scores")} == {
        "synthetic",
        "synthetic.level",
        "synthetic.ordinal",
        "synthetic.bradley-terry",
        "words",
    }
    assert bench.asked(select=select(at_least=5.1)) == {}
    assert (bench.out / "selected/some.jsonl").read_text() == ""


@pytest.mark.parametrize(("before", "after", "new"), [(3, 5, 2), (5, 3, 0)])
def test_levels_that_exist_are_reused(bench, before, after, new):
    bench.asked(judges=synthetic(before))
    briefs = str(bench.out / "briefs")
    bench.out = bench.folder / "second"
    asked = bench.asked(judges=synthetic(after), briefs=briefs)
    assert asked["write m"] == 4 * 2 * new
    assert asked["choose m"] == 4 * 2 * 2 * after
    assert all(row["status"] == "ok" for row in bench.rows("scores"))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model": "other"}, 'model.name is "m" there, "other" here'),
        ({"judges": synthetic(5)}, "judges.synthetic.levels is 3 there, 5 here"),
        ({"seed": 1}, "seed is 0 there, 1 here"),
        ({"axes": ["fluency"]}, "task.axes.relevance"),
        ({"writer": "other"}, "writer"),
        ({"model": "a" * 50}, f'"{"a" * 38}…" here'),
        ({"model": "other", "seed": 1}, "seed is 0 there, 1 here. Take another `out`, or"),
        ({"model": "other", "seed": 1, "judges": synthetic(5)}, "bound to another run: model."),
        ({"model": "other", "seed": 1, "judges": synthetic(5)}, "here (and 1 more). Take another"),
    ],
)
def test_another_run_into_the_same_folder_is_refused(bench, changes, named):
    bench.asked()
    said = refusal(bench.asked, **changes)
    assert "is bound to another run" in said and named in said
    assert bench.log.read_text() == ""
    assert bench.asked() == {}


def test_what_a_corpus_holds_beside_its_cases_is_said_of_the_corpus_of_today(bench):
    bench.asked()
    bench.corpus([case(n) | {"coherence": 4} for n in range(4)])
    assert bench.asked() == {}
    (note,) = json.loads((bench.out / "shards.json").read_text())["unread"]
    assert "these look like ratings: `coherence`" in note


def test_what_an_extension_wants(bench):
    bench.asked(evaljudge.prepare)
    bench.corpus([case(n) for n in range(5)])
    assert "finish the run as it was" in refusal(bench.asked, extend=True)
    with pytest.raises(UserError, match="add what is new .* with `evaljudge run --extend`"):
        bench.asked()
    bench.corpus([case(n) for n in range(4)])
    bench.asked()
    bench.corpus([case(n) for n in range(5)])
    with pytest.raises(UserError, match="asked enough"):
        evaljudge.run(bench.config(), engines=Noting(bench.log, 0), extend=True)
    assert bench.asked(extend=True) == {"write m": 6, "choose m": 12}, "one that was cut goes on"


def test_a_folder_in_which_nothing_was_committed_is_free_to_plan_for(bench):
    class Broken(Noting):
        def open(self, source: Any, seed: int) -> Any:
            raise UserError("cannot be loaded")

    assert "cannot be loaded" in refusal(evaljudge.run, bench.config(), engines=Broken(bench.log))
    assert "bound to another" not in planned_text(bench.config(seed=1), engines=bench.engines)
    (bench.out / "shards.json").unlink()
    plan = evaljudge.plan(bench.config(), engines=bench.engines)
    assert plan.total.asks == sum(WHOLE.values()), "one that was not cut yet lacks all"


@BOTH
def test_extending_asks_only_what_is_new(bench):
    bench.asked()
    before = {row["doc_id"] + row["system"] + row["axis"]: row for row in bench.rows("verdicts")}
    bench.corpus([case(0, "ABC"), *(case(n) for n in range(1, 5))])
    asked = bench.asked(extend=True)
    assert asked == {"write m": 1 * 2 * 3, "choose m": (1 + 2) * 2 * 3}
    after = {row["doc_id"] + row["system"] + row["axis"]: row for row in bench.rows("verdicts")}
    assert len(after) == len(before) + (1 + 2) * 2
    assert {key: after[key] for key in before} == before
    assert len(bench.rows("scores")) == 4 * len(after)  # of four readings
    assert bench.asked(extend=True) == {}
    assert bench.asked() == {}
    bench.corpus([case(0, "ABC"), *(case(n) for n in range(1, 5))][::-1])
    assert bench.asked() == {}  # the order of rows is no difference


def test_corrected_ratings_are_taken_over_and_nothing_is_asked(bench):
    bench.asked()
    rows = [case(n) for n in range(4)]
    for row in rows:
        row["candidates"][0]["ratings"] = {"fluency": 5.0, "relevance": 2.0}
    bench.corpus(rows)
    assert bench.asked() == {}
    assert {row.axis for row in bench.came.agreement} == {"fluency", "relevance"}


def ratings_of(bench: Bench) -> dict[str, dict[str, float]]:
    return {
        row["doc_id"] + candidate["system"]: dict(candidate["ratings"])
        for row in bench.rows("cases")
        for candidate in row["candidates"]
    }


def test_ratings_of_candidates_that_an_extension_leaves_out_are_kept(bench):
    bench.asked()
    before = ratings_of(bench)
    bench.corpus([case(4)])
    bench.asked(extend=True)
    corrected = case(4)
    corrected["candidates"][1]["ratings"] = {"fluency": 5.0}
    bench.corpus([corrected])
    assert bench.asked() == {}
    after = ratings_of(bench)
    assert {key: after[key] for key in before} == before
    assert after["d4B"] == {"fluency": 5.0}


def test_a_refused_extension_changes_nothing(bench):
    bench.asked()
    cases = sorted((bench.out / "cases").iterdir()), ratings_of(bench)
    rows = [case(5), *(case(n) for n in range(4))]
    rows[4]["source"] = "another"
    rows[1]["candidates"][0]["ratings"] = {"fluency": 5.0}
    bench.corpus(rows)
    assert "document 'd3' differs" in refusal(bench.asked, extend=True)
    assert (sorted((bench.out / "cases").iterdir()), ratings_of(bench)) == cases


def test_briefs_stand_on_their_own(bench):
    """Those that another run wrote into a shared folder may go; this run's files hold all."""
    shared = str(bench.folder / "shared")
    bench.asked(briefs=shared)
    others = list(Path(shared).rglob("*.zip"))
    bench.out = bench.folder / "second"
    bench.asked(briefs=shared, judges=synthetic(5))
    for file in [*others, *(bench.out / "commits/judge").iterdir()]:
        file.unlink()
    asked = bench.asked(briefs=shared, judges=synthetic(5))
    assert asked == {"choose m": 4 * 2 * 2 * 5}
    assert bench.came.coverage == 1.0


def test_one_step_at_a_time_is_the_same(bench):
    bench.asked()
    whole = bench.rows("scores"), bench.rows("verdicts")
    bench.out = bench.folder / "steps"
    assert bench.asked(evaljudge.prepare) == {"write m": WHOLE["write m"]}
    assert bench.asked(evaljudge.judge) == {"choose m": WHOLE["choose m"]}
    assert bench.asked(evaljudge.make_report) == {}
    assert (bench.rows("scores"), bench.rows("verdicts")) == whole
    assert bench.run_json()["state"] == "done"


def test_judging_prepares_what_is_lacking(bench):
    assert bench.asked(evaljudge.judge) == WHOLE
    assert bench.asked(evaljudge.judge) == {}
    assert not (bench.out / "report").exists()


def test_a_writer_prepares_its_own(bench):
    assert bench.asked(writer="w") == {"write w": WHOLE["write m"], "choose m": WHOLE["choose m"]}
    assert bench.asked(writer="w") == {}
    assert all("w@w-1" in row["signature"] for row in bench.rows("scores"))


def test_a_corpus_without_ratings(bench):
    bench.corpus([case(n, rated=False) for n in range(2)])
    bench.asked()
    assert list(bench.came.agreement) == []
    assert "no human ratings" in (bench.out / "report/agreement.md").read_text()
    compared = json.loads((bench.out / "report/systems.json").read_text())
    assert [pair["n"] for row in compared for pair in row["pairs"]] == [2] * len(compared)
    assert "## Systems" in (bench.out / "report/agreement.md").read_text()
    assert bench.came.exit_code == 0


def test_low_coverage_ends_with_three_and_all_files(bench):
    rows = [case(n) for n in range(4)]
    rows[0]["source"] = ""
    bench.corpus(rows)
    bench.asked()
    assert bench.came.exit_code == 3
    assert bench.came.coverage == 0.75
    reasons = Counter(row["reason"] for row in bench.rows("scores"))
    assert reasons == {"": 3 * 4 * 4, "empty source": 4 * 4}  # of four readings
    assert (bench.out / "report/index.html").exists()
    bench.asked(coverage_floor=0.75)
    assert bench.came.exit_code == 0


def test_bad_rows_are_skipped_and_counted(bench):
    file = bench.folder / "cases.jsonl"
    file.write_text(file.read_text() + "\n{broken\n" + json.dumps(case(0)))
    with pytest.raises(UserError, match="bad rows: skip|bad_rows: skip"):
        bench.asked()
    assert bench.asked(bad_rows="skip") == WHOLE
    assert bench.run_json()["counts"]["skipped_rows"] == 2


def test_mixes_are_scorers_like_others(bench):
    """Changed freely, selected by, and unscored where a part is."""
    rows = [case(n) for n in range(2)]
    rows[0]["candidates"][0]["text"] = " "
    bench.corpus(rows)
    bench.asked(metrics=["words"])
    mixes = {"blend": "0.5*synthetic.level - 2 * words", "lengths": "words + words"}
    mine = select(scorer="blend", at_least=-100)
    assert bench.asked(metrics=["words"], mixes=mixes, select=mine, coverage_floor=0) == {}
    scores = {(r["doc_id"], r["system"], r["scorer"], r["axis"]): r for r in bench.rows("scores")}
    for axis in AXES:
        level = scores["d1", "A", "synthetic.level", axis]["value"]
        mixed = scores["d1", "A", "blend", axis]
        assert mixed["value"] == pytest.approx(0.5 * level - 2 * 3)
        assert mixed["signature"].startswith("blend@1 | mix 0.5*synthetic.level - 2*words | ")
        unscored = scores["d0", "A", "blend", axis]
        assert (unscored["value"], unscored["reason"]) == (None, "synthetic.level: empty text")
    assert scores["d1", "B", "lengths", "*"]["value"] == 6
    assert len((bench.out / "selected/some.jsonl").read_text().splitlines()) == 3
    assert {row.scorer for row in bench.came.agreement} >= {"blend", "lengths"}


def test_run_json_says_what_was_asked(bench):
    bench.asked()
    run = bench.run_json()
    asked = {row["stage"]: row["asks"] for row in run["asked"]}
    assert asked == {"prepare": WHOLE["write m"], "judge": WHOLE["choose m"]}
    assert run["total"]["asks"] == sum(WHOLE.values())
    assert set(run) >= {"fingerprint", "versions", "counts", "total", "seconds", "cost", "coverage"}
