"""A study through the command line, with the judge in the box on vLLM; and one that is killed.

The grid is the paper's: three ways of predicting, 2 to 9 levels, and the rivals that ask for a
rating. What the bundled judge was not taught scores badly; what is tested is that nothing is asked
twice, that the plan foretells it, and that sampled judgements come to what the probabilities say.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.judges.synthetic.evidence import answers_of
from evaljudge.studies.study import plan_study
from tests import build
from tests.end_to_end import killing, shared

GRID: list[Any] = [
    {"judge": "synthetic", "predict": ["probabilities", "yes-no", "sampled"],
     "levels": [2, 3, 5, 9], "max_tokens": 96},
    {"judge": "direct", "steps_tokens": 96},
    {"judge": "geval", "samples": 20, "max_tokens": 96},
]  # fmt: skip
AXES = ["fluency", "relevance"]


@pytest.fixture(scope="module", autouse=True)
def adopting():
    with killing.adopting():
        yield


def spec(folder: Path, **changes: Any) -> dict[str, Any]:
    usual = {
        "corpus": str(folder / "cases.jsonl"),
        "out": str(folder / "out"),
        "axes": AXES,
        "prompts": "nano",
        "model": {"source": "nano", "engine": {"kv_cache_memory_bytes": 1 << 28}, "least_mass": 0},
        "coverage_floor": 0,
        "agreement": {"resamples": 200},
        "study": {"judges": GRID},
    }
    return usual | changes


@pytest.fixture(scope="module")
def planned_and_run(tmp_path_factory):
    """The plan before anything was asked; the study's folder, and what the command printed."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "cases.jsonl").write_text(as_jsonl(make_cases(3, 5)))
    (folder / "study.yaml").write_text(json.dumps(spec(folder)))
    ((_, plan),) = plan_study(str(folder / "study.yaml"))
    line = [sys.executable, "-m", "evaljudge", "study", str(folder / "study.yaml")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return plan, folder, done.stdout


def of_run(folder: Path, stage: str | None = None) -> Counter[str]:
    """What was asked: the sums over judges, of one stage or of both."""
    rows = json.loads((folder / "out/nano/run.json").read_text())["asked"]
    total: Counter[str] = Counter()
    for row in rows:
        if stage in (None, row["stage"]):
            total.update({name: n for name, n in row.items() if isinstance(n, int)})
    return total


@pytest.mark.long
@pytest.mark.engine
def test_one_command_one_table(planned_and_run):
    _, folder, printed = planned_and_run
    found = json.loads((folder / "out/study.json").read_text())["Methods"]
    names = [method["name"] for method in found["methods"]]
    kinds = ("probabilities", "yes-no", "sampled")
    expected = {f"synthetic-{kind}-{n}" for kind in kinds for n in (2, 3, 5, 9)}
    expected |= {f"synthetic-sampled-{n}.n{k}" for n in (2, 3, 5, 9) for k in (1, 3, 10, 100)}
    assert set(names) == expected | {"direct", "geval", "geval.sampled"}
    trials = {method["name"]: method["trials"] for method in found["methods"]}
    assert trials["synthetic-sampled-5"] == trials["synthetic-sampled-5.n1"] == 5
    assert trials["synthetic-probabilities-5"] == 1
    page, markdown = ((folder / "out" / f"study.{end}").read_text() for end in ("html", "md"))
    for name in names:
        assert all(name in text for text in (page, markdown))
    assert "synthetic-probabilities-9" in printed
    assert "coverage" in printed.splitlines()[0]
    by_name = {method["name"]: method["columns"] for method in found["methods"]}
    taught = by_name["synthetic-probabilities-5"]
    assert all(column["value"] > 0.5 for column in taught)


@pytest.mark.long
@pytest.mark.engine
def test_the_plan_foretells_what_is_asked(planned_and_run):
    """Further requests apart: an option that the model spells in several tokens takes more."""
    plan, folder, _ = planned_and_run
    asked = of_run(folder)
    assert plan.total.asks == asked["asks"]
    assert not plan.is_exact
    first = plan.total.prompt - plan.total.further
    assert first == pytest.approx(asked["prompt"] - asked["further"], rel=0.1)


@pytest.mark.long
@pytest.mark.engine
def test_with_its_briefs_the_plan_is_exact(planned_and_run):
    _, folder, _ = planned_and_run
    again = spec(folder, out=str(folder / "other"), briefs=str(folder / "out/briefs"))
    ((_, plan),) = plan_study(again)
    asked = of_run(folder, "judge")
    assert plan.is_exact
    assert plan.total.asks == asked["asks"]
    assert plan.total.prompt - plan.total.further == asked["prompt"] - asked["further"]
    ((_, done),) = plan_study(spec(folder))
    assert (done.done, done.total.asks) == (3, 0)


@pytest.mark.long
@pytest.mark.engine
def test_sampled_judgements_come_to_the_probabilities(planned_and_run):
    """No count of a thousand draws is one that its probability makes rarer than one in 10^7."""
    _, folder, _ = planned_and_run
    verdicts = build.stored(folder / "out/nano/verdicts/synthetic-sampled-5")
    compared = 0
    for row in verdicts:
        for level in json.loads(row["evidence"])["levels"]:
            for draws in level["draws"]["1000"]:
                (answers,) = answers_of([level])
                for p, drawn in zip(answers.values(), draws, strict=True):
                    assert binomtest(drawn, 1000, min(p, 1.0)).pvalue > 1e-7, (p, drawn)
                    compared += 1
    assert compared == len(verdicts) * 5 * 5 * 3


# killed, on the scripted model


@pytest.mark.long
@pytest.mark.service
def test_writers_and_judges_may_be_other_models(tmp_path):
    """Each reference is written once, by its writer; a judge without briefs stands once."""
    folder = tmp_path / "pairs"
    folder.mkdir()
    pair = [{"source": "one", "revision": "1"}, {"source": "two", "revision": "2"}]
    judges = [{"judge": "synthetic", "levels": [3, 5]}, {"judge": "direct", "steps": False}]
    config = shared.config(folder, shared.cases(12), agreement={"resamples": 100}, coverage_floor=0)
    del config["judges"]
    config["study"] = {"judges": judges, "models": pair, "writers": pair}
    (folder / "config.json").write_text(json.dumps(config))
    line = [sys.executable, shared.SCRIPT, "config.json", "asks", 0.0]
    study = killing.Command(line, folder, folder / "out", {})
    study.start()
    study.end()
    asks = Counter(ask for ask in shared.asks(folder / "asks") if ask.stage == "prepare")
    assert set(asks.values()) == {1}, "something was written twice"
    written = Counter(ask.model for ask in asks)
    # five references of each document by each writer, and each model's own ratings of 36 texts
    assert written == {"one": 12 * 5 + 36, "two": 12 * 5 + 36}
    found = json.loads((folder / "out/study.json").read_text())["Methods"]
    names = {method["name"] for method in found["methods"]}
    pairs = ("one", "two", "one--by--two", "two--by--one")
    assert names == {f"synthetic-{n} · {pair}" for n in (3, 5) for pair in pairs} | {
        "direct · one", "direct · two--by--one",
    }  # fmt: skip
