"""What a judge of the user's own does wrong is said in one line, at the first case if possible."""

import re
from math import inf, nan
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.config import load_config
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import EngineDead, GivenUp, UserError
from evaljudge.execution import shards
from evaljudge.judges.checked import own_code
from evaljudge.judges.direct.judge import Direct
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.model.asks import Options, Prompt
from evaljudge.plugins import added_code
from evaljudge.records import ANY_AXIS, Score, Verdict
from evaljudge.runs import pipeline
from evaljudge.runs.job import make_job
from evaljudge.runs.watching import Watcher
from tests.build import refusal

ANSWERS = Options(("Yes", "No"))
CASES, OPEN = 12, 2


class Sound(Judge):
    """Does all as it should; each judge below does one thing wrong."""

    kind, version, name = "own:Sound", "1", "own"
    asking: dict[str, Any] = {}
    axes, scorers = (ANY_AXIS,), ("own",)

    async def verdicts(self, case: Any, briefs: Any, model: Any) -> Any:
        prompts = [Prompt((one.text,)) for one in case.candidates]
        replies = await model.choose(prompts, ANSWERS)
        known = [(case.document.doc_id, one.system, self.name, ANY_AXIS) for one in case.candidates]
        return Judged([Verdict(*k, self.evidence(r)) for k, r in zip(known, replies, strict=True)])

    def evidence(self, reply: Any) -> dict[str, Any]:
        return {"yes": reply.p["Yes"]}

    def score(self, verdict: Verdict) -> Any:
        return [Score(verdict.doc_id, verdict.system, "own", verdict.axis, self.value(verdict))]

    def value(self, verdict: Verdict) -> Any:
        return verdict.evidence["yes"]


class LeavesOneOut(Sound):
    async def verdicts(self, case: Any, briefs: Any, model: Any) -> Any:
        return Judged((await super().verdicts(case, briefs, model)).verdicts[1:])


class Fails(Sound):
    async def verdicts(self, case: Any, briefs: Any, model: Any) -> Any:
        return {}["axis"]


class NoJson(Sound):
    def evidence(self, reply: Any) -> dict[str, Any]:
        return {"yes": object()}


class NoScore(Sound):
    def score(self, verdict: Verdict) -> Any:
        return []


class Text(Sound):
    def value(self, verdict: Verdict) -> Any:
        return "high"


class Overflows(Sound):
    def value(self, verdict: Verdict) -> Any:
        return inf if verdict.system == "steady" else nan


FIRST_CASE = {
    LeavesOneOut: "its `verdicts` gives none on (test-…-…, steady, *)",
    Fails: "its `verdicts` fails at test_checked.py:…: KeyError: 'axis'",
    NoJson: "its `verdicts` fails: TypeError: Object of type object is not JSON serializable",
    NoScore: "its `score` gives none on (test-…-…, steady, own, *)",
    Text: "its `score` gives 'high' in place of a number",
}


class Asked(ScriptedEngines):
    """Counts."""

    def __init__(self) -> None:
        self.asks = 0
        super().__init__(lambda: Scripted(chooses=self._choose))

    def _choose(self, prompt: Prompt, options: Options) -> dict[str, float]:
        self.asks += 1
        return {"Yes": -0.5, "No": -1.0}


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "cases.jsonl").write_text(as_jsonl(make_cases(CASES, 0)))
    config = load_config({
        "corpus": str(tmp_path / "cases.jsonl"), "out": str(tmp_path / "out"), "model": "m",
        "judges": {"own": {"judge": "direct"}}, "workers": {"executor": "local"}, "view": 1,
    })  # fmt: skip

    def run(judge: Judge) -> int:
        """How many asks the run took."""
        monkeypatch.setattr("evaljudge.runs.job.make_judges", lambda *_: [judge])
        monkeypatch.setattr(shards, "MOST_OPEN_CASES", OPEN)
        engines = Asked()
        try:
            pipeline.run_job(make_job(config, engines), Watcher())
        finally:
            run.asks = engines.asks  # type: ignore[attr-defined]
        return engines.asks

    run.config = config  # type: ignore[attr-defined]
    return run


def test_a_fault_in_a_script_says_where_it_was_raised(tmp_path):
    """Its judge is not to blame, nor is the library that noticed."""
    source = "import json\n\ndef writes(replies):\n    return json.loads(replies[7])\n"
    made: dict[str, Any] = {}
    exec(compile(source, str(tmp_path / "script.py"), "exec"), made)
    for replies, fault in (([], "IndexError: list index"), ("{" * 8, "JSONDecodeError")):
        said = rf"`verdicts` fails at script\.py:4: {fault}"
        with pytest.raises(UserError, match=said), own_code(Sound(), "verdicts"):
            made["writes"](replies)


def test_a_sound_judge_passes(run):
    assert run(Sound()) == 6 * CASES


def test_nan_and_inf_are_no_scores(run):
    run(Overflows())
    scores = evaljudge.open_run(run.config.out).scores().to_pylist()
    said = {(row["value"], row["reason"]) for row in scores}
    assert said == {(None, "the score is not a number")}


@pytest.mark.parametrize("judge", FIRST_CASE, ids=lambda judge: judge.__name__)
def test_what_it_does_wrong_is_said_before_the_other_cases_are_asked(run, judge):
    said = re.sub(r"(?<=[:-])\d+", "…", refusal(run, judge()))
    assert said == f"judges.own: {FIRST_CASE[judge]}"
    assert run.asks <= 6 * OPEN


class FindsNothing(SumCollector):
    def findings(self, found: Any) -> Any:
        return None


class Collecting(Sound):
    def collecting(self, wanted: Any) -> Any:
        return FindsNothing


def test_what_a_judge_finds_of_the_whole_run_is_checked(run):
    assert "own: its `findings` gives NoneType in place of JudgeFind" in refusal(run, Collecting())
    with pytest.raises(UserError, match="own: its `fit` fails at .*: ValueError: 72 verdicts"):
        run(Fitting())


class Lately(Sound):
    """Wrong for a later text alone."""

    def score(self, verdict: Verdict) -> Any:
        return [] if verdict.doc_id == "test-0-0011" else super().score(verdict)


def test_a_score_that_is_missing_later_is_named_by_the_report(run):
    assert "own: its `score` gives none on (test-0-0011, steady, own" in refusal(run, Lately())


class Fitting(Sound):
    def fit(self, verdicts: Any, ratings: Any) -> None:
        raise ValueError(f"{len(list(verdicts))} verdicts")


def test_a_bug_of_a_built_in_judge_keeps_its_traceback():
    built_in = Direct.__module__
    with pytest.raises(KeyError), added_code("judges.direct: its `score`", built_in):
        raise KeyError("p")


@pytest.mark.parametrize("error", [EngineDead("cuda"), GivenUp("lost"), OSError("disk full")])
def test_what_is_not_its_fault_stays_as_it_is(error):
    with pytest.raises(type(error)) as raised, own_code(Sound(), "verdicts"):
        raise error
    assert raised.value is error
