"""The scripts that redo a paper's figures, each on a small corpus of the demo's world."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from evaljudge.bundled.world.corpus import as_jsonl, make_cases
from jobs.papers.spurious import correlates

# The numbers that the commands printed before they were scripts.
SHOWN = {
    "mixes --metrics importance,rouge1": ["importance+rouge1 0.943 0.826 1.000 6"],
    "complementarity --metrics importance,rouge1,words": ["2 rouge1 0.257 0.000 0.645"],
    "sizes --metrics rouge1 --steps 2": ["rouge1 0.936 [0.771, 1.000] 0.943"],
    "robustness --metrics rouge1 --steps 3": [
        "RAND-3 rouge1 0.943 0.783 0.189", "TAIL-3 rouge1 0.943 0.223 -1.000",
    ],
    "ranges --metrics rouge1": [
        "rouge1 RAND-3 36 0.255 0.318 0.415 0.473 0.604 0.651 0.764",
        "rouge1 systems 212 0.387 0.454 0.593 0.719 0.833 0.938 1.000",
    ],
    "spurious --metrics rouge1": ["rouge1 0.933 0.397 0.331 -0.100 0.100"],
    "settings": ["tokenizer bpe 60 0.418 0.143 0.143 0.429 0.543 0.829"],
}  # fmt: skip


@pytest.mark.parametrize("call", SHOWN)
def test_a_script_prints_the_numbers_of_the_former_command(
    call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cases.jsonl").write_text(as_jsonl(make_cases(36, 0)))
    name, *options = call.split()
    import_module(f"jobs.papers.{name}").main(["--cases", str(tmp_path / "cases.jsonl"), *options])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert set(SHOWN[call]) <= set(lines)


def test_what_a_text_copies_by_hand() -> None:
    assert correlates("a b c d e", "b c x e") == (3 / 4, 5 / 4, 5 / 4, 4.0)
