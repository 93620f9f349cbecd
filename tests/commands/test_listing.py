"""`evaljudge list`: a line each, from where the thing itself is defined."""

import json

import pytest

from evaljudge.cli import main
from evaljudge.commands.listing import WHAT, list_text
from evaljudge.corpora import known_formats
from evaljudge.metrics import known_metrics
from evaljudge.plugins import kinds
from evaljudge.prompts import BUILT_IN

NAMES = {
    "judges": kinds(),
    "metrics": known_metrics(),
    "formats": known_formats(),
    "tasks": BUILT_IN,
}


@pytest.mark.parametrize("what", WHAT)
def test_each_is_a_line_with_a_sentence_and_what_it_needs(what: str) -> None:
    lines = list_text(what).splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES[what])
    assert all(". Needs: " in line and line.endswith(".") for line in lines)


def test_without_a_word_it_lists_what_can_be_listed() -> None:
    assert [line.split()[0] for line in list_text(None).splitlines()] == list(NAMES)


def test_the_task_says_its_axes_and_what_a_context_is_for() -> None:
    (dialogue,) = [line for line in list_text("tasks").splitlines() if line[:8] == "dialogue"]
    assert "Axes: naturalness, engagingness, " in dialogue
    assert dialogue.endswith("`text` (the response), and `context` for groundedness.")


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main_ends(["list", "metrics", "--json"], 0)
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed.keys() == known_metrics().keys()
    assert "an encoder (`model`)" in listed["mover"]["needs"]


def test_a_misspelt_word_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    main_ends(["list", "metric"], 2)
    assert capsys.readouterr().err == (
        "evaljudge: unknown list 'metric': did you mean 'metrics'?\n"
    )


def test_formats_are_in_the_help_of_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    main_ends(["agree", "--help"], 0)
    shown = capsys.readouterr().out
    assert [name for name in known_formats() if name not in shown] == []


def main_ends(arguments: list[str], code: int) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == code
