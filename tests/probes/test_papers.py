"""The scripts that redo a paper's figures, each on a small corpus of the demo's world."""

from importlib import import_module

import pytest

from evaljudge.bundled.world import as_jsonl, make_cases
from jobs.papers.spurious import of

# Of what is not drawn at random, the numbers that the commands printed before they were scripts.
SHOWN = {
    "mixes --metrics importance,rouge1": ["importance+rouge1 0.943 0.826 1.0 6"],
    "complementarity --metrics importance,rouge1 --level system": ["rouge1 0.257 0.000"],
    "sizes --metrics rouge1 --steps 2": ["36 0.943 0.943 0.943"],
    "robustness --metrics rouge1 --steps 2": [
        "LEAD-3 rouge1 0.943 0.771", "TAIL-3 rouge1 0.943 -1.000",
    ],
    "ranges --metrics rouge1": ["systems 212 0.387 0.454 0.593 0.719 0.833 0.938 1.000"],
    "spurious --metrics rouge1": ["rouge1 0.245 0.208 0.213 0.933 0.397 0.331 -0.1 0.1"],
    "settings": ["bpe 60.0 0.418 0.231 0.143 0.143 0.429 0.543 0.829"],
}  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [call if "mixes" in call else pytest.param(call, marks=pytest.mark.long) for call in SHOWN],
)
def test_a_script_prints_its_table_and_draws_it(call, tmp_path, capsys):
    cases, figure = tmp_path / "cases.jsonl", tmp_path / "figure.svg"
    cases.write_text(as_jsonl(make_cases(36, 0)))
    name, *options = call.split()
    given = ["--cases", str(cases), "--figure", str(figure), *options]
    import_module(f"jobs.papers.{name}").main(given)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert set(SHOWN[call]) <= set(lines), "\n".join(lines)
    assert figure.read_text().startswith("<?xml")


def test_an_axis_that_nobody_rated_is_refused(tmp_path):
    cases = tmp_path / "cases.jsonl"
    cases.write_text(as_jsonl(make_cases(3, 0)))
    with pytest.raises(SystemExit, match="--axis relevence: nobody rated it; people rated coher"):
        import_module("jobs.papers.sizes").main(
            ["--cases", str(cases), "--metrics", "words", "--axis", "relevence"]
        )


def test_what_a_text_copies_by_hand():
    assert [*of("a b c d e", "b c x e").values()] == [3 / 4, 5 / 4, 5 / 4, 4.0]
