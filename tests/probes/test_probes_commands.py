"""`evaljudge probe`: what is refused, and the scripts that some of its commands have become."""

from pathlib import Path

import pytest

from evaljudge.cli import main
from evaljudge.cli.built_in import SCRIPTS as GONE

SCRIPTS = Path(__file__).parents[2] / "jobs/papers"


@pytest.mark.parametrize("name", GONE)
def test_a_command_that_is_gone_names_its_script(name, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["probe", name, "--cases", "cases.jsonl"])
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.endswith(f" python -m jobs.papers.{name}\n")
    assert (SCRIPTS / f"{name}.py").is_file()


@pytest.mark.parametrize("command", [["probe", "position"], ["probe", "injection"], ["calibrate"]])
def test_a_slip_of_a_few_digits_is_refused(command, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--resamples", "10000000"])
    said = capsys.readouterr().err
    assert "'--resamples'" in said and " 1000000 " in said, said
