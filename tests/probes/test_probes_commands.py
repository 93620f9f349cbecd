"""`evaljudge probe`: what is refused."""

import pytest

from evaljudge.cli import main


@pytest.mark.parametrize("command", [["probe", "position"], ["probe", "injection"], ["calibrate"]])
def test_a_slip_of_a_few_digits_is_refused(command, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--resamples", "10000000"])
    said = capsys.readouterr().err
    assert "'--resamples'" in said and " 1000000 " in said, said
