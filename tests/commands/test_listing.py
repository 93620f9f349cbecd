"""`evaljudge list`, a line each from where the thing itself is defined; and `run --limit`."""

import json
import re
from typing import Any

import pytest

import evaljudge
from evaljudge.analyses import analyses
from evaljudge.commands.listing import listing
from evaljudge.commands.options import ListOptions
from evaljudge.commands.run import StepTimes
from evaljudge.config import Config
from evaljudge.corpora import known_formats
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import GivenUp
from evaljudge.metrics import known_metrics
from evaljudge.plugins import kinds
from evaljudge.prompts import BUILT_IN
from evaljudge.runs.watching import Watcher
from tests.build import command

NAMES = {
    "judges": kinds(),
    "metrics": known_metrics(),
    "formats": known_formats(),
    "tasks": BUILT_IN,
    "analyses": analyses(),
}


@pytest.mark.parametrize("what", NAMES)
def test_each_is_a_line_with_a_sentence_and_what_it_needs(what):
    lines = listing(ListOptions(what)).text.splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES[what])
    assert all(line.endswith((".", "?")) for line in lines)
    assert all(". Needs: " in line for line in lines) or what == "analyses"


def test_the_task_says_its_axes_and_what_a_context_is_for():
    (dialogue,) = [
        line for line in listing(ListOptions("tasks")).text.splitlines() if line[:8] == "dialogue"
    ]
    assert "Axes: naturalness, engagingness, " in dialogue
    assert dialogue.endswith("`text` (the response), and `context` for groundedness.")


def said_of(name: str) -> dict[str, str]:
    lines = listing(ListOptions(name)).text.splitlines()
    return {line.split()[0]: line.partition("  ")[2].strip() for line in lines}


def test_the_settings_are_those_that_are_declared():
    said = said_of("settings")
    assert {name for name in said if "." not in name} == {*Config.known_keys()} - {"entity_labels"}
    about = "What becomes of rows of the corpus that cannot be read."
    assert said["bad_rows"] == f'fail | skip, default "fail": {about}'
    assert said["most.cost"] == "text: `20 USD`, or a number in the currency of `workers`."
    assert said["corpus.path"].startswith("text or list, needed: the file, folder, glob or URI")


def test_a_judge_and_a_metric_have_their_settings_and_scorers():
    said = said_of("synthetic")
    assert said["levels"] == "2 | 3 | 5 | 9, default 5: how many references: 2, 3, 5 or 9"
    assert said["checks.exchanged"] == "number, default 0.1"
    assert "from -15 (worse than all) to 15 (better than all)" in said["synthetic"]
    assert "1 (worst) to 5 (best)" in said["synthetic.level"]
    assert said_of("bertscore")["part"] == 'f1 | precision | recall, default "f1"'
    for kind in kinds():  # each judge refuses what it does not know, and so says what it takes
        (row,) = listing(ListOptions(kind)).rows
        assert row["settings"] and row["scorers"], kind
    without = {row["name"] for row in listing(ListOptions("metrics")).rows if not row["settings"]}
    assert without == {"words", "compression"}


@pytest.mark.parametrize(
    ("key", "names"),
    {
        "corpus.columns": {"corpus.columns"},
        "most.asks": {"most.asks"},
        "swap": {"judges.pairs.swap", "judges.synthetic.swap"},
        "mover.idf": {"metrics.mover.idf"},
    }.items(),
)
def test_a_key_is_asked_by_its_name_or_the_end_of_it(key, names, capsys):
    lines = command(capsys, "settings", key)[0].splitlines()
    assert {line.split()[0] for line in lines} == names
    assert all(line.partition("  ")[2] for line in lines)


def test_forms_and_mistakes(capsys):
    said = json.loads(command(capsys, "list", "metrics", "--json")[0])
    listed = {one["name"]: one for one in said}
    assert listed.keys() == known_metrics().keys()
    assert "an encoder (`model`)" in listed["mover"]["needs"]
    for wrong, near in ("metric", "metrics"), ("swpa", "swap"):
        said = command(capsys, "list", wrong, code=2)[1]
        assert said == f"evaljudge: unknown list {wrong!r}: did you mean {near!r}?\n"
    shown = command(capsys, "agree", "--help")[0]
    assert [name for name in known_formats() if name not in shown] == []


CASES = [
    {"doc_id": "bare", "source": "No text is here.", "candidates": []},
    *(
        {
            "doc_id": f"d{number}",
            "source": f"Document {number}: the river rose, and the bridge was closed.",
            "candidates": [
                {"system": system, "text": f"{system}: a flood.", "ratings": {"fluency": 3}}
                for system in "AB"
            ],
        }
        for number in range(3)
    ),
]


@pytest.fixture
def config(tmp_path):
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, CASES)))
    return {
        "corpus": str(tmp_path / "c.jsonl"), "out": str(tmp_path / "runs/first"), "model": "m",
        "axes": ["fluency"], "judges": {"synthetic": {}},
        "metrics": ["words"],
        "briefs": str(tmp_path / "shared"), "workers": {"executor": "local"}, "view": 1,
    }  # fmt: skip


def test_the_first_documents_are_judged_in_a_folder_of_their_own(config, tmp_path):
    times = StepTimes(Watcher())
    outcome = evaljudge.run(config, limit=2, watcher=times, engines=ScriptedEngines())
    assert outcome.out == str(tmp_path / "runs/first-first-2")
    assert set(outcome.scores(["doc_id"])["doc_id"].to_pylist()) == {"d0", "d1"}
    assert outcome.findings.rated == 4
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["first-first-2"]
    assert not (tmp_path / "shared").exists()
    steps = [re.split(r"  +", line) for line in times.text.splitlines()]
    assert steps[1][0].startswith(f"reading {outcome.out}/corpus/")
    assert [step for step, _ in steps if "corpus" not in step] == [
        "reading the settings", "starting the workers", "loading the model",
        "prepare and judge", "scoring and reporting 4 texts",
    ]  # fmt: skip
    assert all(re.fullmatch(r"\d+\.\d s", seconds) for _, seconds in steps)


class Lost(ScriptedEngines):
    def open(self, source: Any, seed: int) -> Any:
        raise GivenUp("the workers were lost")


def test_where_it_fails_the_last_step_is_that_which_failed(config):
    times = StepTimes(Watcher())
    with pytest.raises(GivenUp, match="the workers were lost"):
        evaljudge.run(config, limit=1, watcher=times, engines=Lost())
    assert times.text.splitlines()[-1].startswith("loading the model")


def test_the_command_prints_times_and_stops_where_it_is_told(config, tmp_path, capsys):
    metrics = {key: value for key, value in config.items() if key != "model"} | {"judges": {}}
    (tmp_path / "c.yaml").write_text(json.dumps(metrics))
    shown = command(capsys, "run", str(tmp_path / "c.yaml"), "--limit", "1")[0]
    assert re.search(r"^measure +\d+\.\d s$", shown, re.MULTILINE)
    shown = command(capsys, "run", str(tmp_path / "c.yaml"), "--limit", "3", "--until", "judge")[0]
    assert shown.startswith(f"verdicts are in: {tmp_path}/runs/first-first-3\n")
