"""The configurations that we show: papers' are accepted, and the undecided pass no threshold.

The documentation, jobs/configs/ and the demo, each with the judge that stands beside the threshold.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaljudge.analysis.selection import odd_thresholds
from evaljudge.analysis.tables import Column
from evaljudge.commands.run import demo_config
from evaljudge.config import Selection, load_config
from evaljudge.corpora import known_formats
from evaljudge.engines import Identity, ModelFacts, ModelSource, VllmEngines
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.judges import make_judges
from evaljudge.judges.shared.scale import HIGHEST, ratings
from evaljudge.judges.synthetic.equations import answer_chances
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.prompts import load_task
from evaljudge.records import Score, Verdict
from evaljudge.runs.job import make_job
from evaljudge.studies.study import study_runs

ROOT = Path(__file__).parents[1]
UNDECIDED = {
    "any answer": {"Better": 1 / 3, "Worse": 1 / 3, "Similar": 1 / 3},
    "similar": {"Better": 0.0, "Worse": 0.0, "Similar": 1.0},
    "better or worse": {"Better": 0.5, "Worse": 0.5, "Similar": 0.0},
}
LEVELS = (2, 3, 5, 9)
YAML = re.compile(r"^```yaml[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every configuration that selects, and where it stands."""
    texts = {
        f"{page.relative_to(ROOT)}, block {n}": block
        for pages in ("*.md", "docs/*.md", "evaljudge/judges/*/README.md")
        for page in ROOT.glob(pages)
        for n, block in enumerate(YAML.findall(page.read_text()))
    }
    texts |= {file.name: file.read_text() for file in (ROOT / "jobs/configs").glob("*.yaml")}
    read = {name: list(yaml.safe_load_all(text)) for name, text in texts.items()}
    read["the demo"] = [demo_config(Path("cases.jsonl"), Path("out"))]
    for name, documents in read.items():
        yield from ((name, one) for one in documents if isinstance(one, dict) and "select" in one)


def conditions() -> Iterator[tuple[str, Mapping[str, Any], str, float]]:
    """Where, the judges, the scorer and the least score, of every threshold on the scale."""
    for name, config in shown():
        for condition in (one for rule in config["select"] for one in rule["all"]):
            if "at_least" in condition:
                judges = config.get("judges", {"synthetic": {}})
                yield name, judges, condition["scorer"], condition["at_least"]


def value(judge: Synthetic, scorer: str, answers: Mapping[float, Mapping[str, float]]) -> float:
    levels = [{"rating": rating, "p": p, "mass": 1.0} for rating, p in answers.items()]
    scores = judge.score(Verdict("d", "A", judge.name, "fluency", {"levels": levels}))
    found = next(score.value for score in scores if score.scorer == scorer)
    assert found is not None
    return found


def chances(distance: float) -> dict[str, float]:
    """Of the answers, for a text this many levels above the reference."""
    return dict(
        zip(("Better", "Worse", "Similar"), map(float, answer_chances(distance)), strict=True)
    )


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("undecided", UNDECIDED)
def test_no_shown_threshold_is_passed_by_a_judge_that_cannot_decide(undecided, levels):
    """However many references the reader chooses: those of the shown configuration are many."""
    seen = 0
    for where, judges, scorer, least in conditions():
        for judge in make_judges(judges, load_task("summary", ["fluency"])):
            if not isinstance(judge, Synthetic) or scorer not in judge.scorers:
                continue
            made = Synthetic({"levels": levels}, load_task("summary", ["fluency"]), judge.name)
            scale, seen = ratings(levels), seen + 1
            lost = value(made, scorer, dict.fromkeys(scale, UNDECIDED[undecided]))
            best = value(made, scorer, {r: chances(HIGHEST - r) for r in scale})
            assert lost < least <= best, f"{where}: {scorer} ≥ {least}: {lost:.2f}, {best:.2f}"
    assert seen >= 3


def cautions(scorer: str, least: float, **changes: Any) -> list[str]:
    condition = {"scorer": scorer, "axis": "fluency", "at_least": least}
    usual = {"corpus": "cases.jsonl", "out": "runs/x", "model": "m", "judges": {"synthetic": {}}}
    chosen = usual | changes | {"select": [{"name": "good", "all": [condition]}]}
    return make_job(load_config(chosen), ScriptedEngines()).cautions


def test_a_threshold_that_the_undecided_pass_is_said_with_the_remedy():
    assert cautions("synthetic.level", 3.5) == [
        "select.good: synthetic.level on fluency: at_least 3.5 is passed by a judge that cannot "
        "decide, which is at 3.86: use synthetic.ordinal, where it is at 3.00"
    ]
    finer = {"finer": {"judge": "synthetic", "levels": 2}}
    assert "which is at 4.33: use finer.ordinal" in cautions("finer.level", 4.3, judges=finer)[0]


@pytest.mark.parametrize(
    ("scorer", "least"),
    [("synthetic.level", 3.9), ("synthetic.ordinal", 3.5), ("synthetic.level", 2.5),
     ("synthetic", 0.0)],
)  # fmt: skip
def test_other_thresholds_are_the_user_s_choice(scorer, least):
    """Whoever wants no more than the middle of the scale does not ask for what is good."""
    assert cautions(scorer, least) == []


def test_a_threshold_that_no_score_reaches_is_warned_of():
    column = Column()
    for number in (1.5, 4.25):
        column.add(Score("d", "A", "s", "tone", number), is_kept=True)
    rule = Selection.model_validate(
        {"name": "good", "all": [{"scorer": "s", "axis": "tone", "at_least": 35},
                                 {"scorer": "s", "axis": "tone", "at_most": 1},
                                 {"scorer": "s", "axis": "tone", "at_least": 4.25},
                                 {"scorer": "s", "axis": "tone", "at_most": 1.5}]}
    )  # fmt: skip
    assert list(odd_thresholds([rule], {("s", "tone"): column}, {})) == [
        "select.good: s on tone: no score reaches 35 (the highest is 4.25): nothing is selected",
        "select.good: s on tone: no score is down to 1 (the lowest is 1.5): nothing is selected",
    ]


PAPERS = ROOT / "jobs" / "configs" / "papers"
RUNS_OF_STUDIES = {
    "direct-scoring-ablations": 1,
    "direct-scoring-models": 7,  # table 3: four models that judge and four that write, one in both
    "role-players-ablations": 1,
    "role-players-choices": 1,
}


def of_the_hub(_: VllmEngines, source: ModelSource) -> ModelFacts:
    """What encoders are called there; it is out of reach."""
    return ModelFacts(Identity(source.source, "commit", {}, {}))


@pytest.mark.parametrize(
    "name", sorted({f.stem for f in PAPERS.glob("*.yaml")} - {"newsroom-task"})
)
def test_each_is_accepted(name, monkeypatch):
    monkeypatch.chdir(ROOT)  # as their paths are
    monkeypatch.setattr(VllmEngines, "describe", of_the_hub)
    config = load_config(PAPERS / f"{name}.yaml")
    configs = [run.config for run in study_runs(config)] if config.study else [config]
    assert len(configs) == RUNS_OF_STUDIES.get(name, 1)
    for one in configs:
        job = make_job(one, ScriptedEngines())
        assert job.corpus.format in known_formats() and job.task.axes
