"""Every bench can be begun: what it imports is there."""

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[1] / "benches"


@pytest.mark.parametrize("file", sorted(BENCHES.glob("*.py")), ids=lambda file: file.name)
def test_a_bench_finds_what_it_imports(file, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    name = f"bench_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # where dataclasses look for themselves
    spec.loader.exec_module(module)


def test_the_modules_and_tests_of_mutants_are_there(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    mutants = importlib.import_module("mutants")
    assert [module for module in mutants.TARGETS if not (mutants.PACKAGE / module).exists()] == []
    tests = {test for of_module in mutants.TARGETS.values() for test in of_module}
    assert [test for test in tests if not (mutants.ROOT / "tests" / test).exists()] == []
    explained = {name.partition(" ")[0] for name in mutants.EXPLAINED}
    faults = [m.name for area in explained for m in mutants.mutants_of(area, with_source=False)]
    assert mutants.EXPLAINED.keys() - set(faults) == set()


@pytest.mark.long
@pytest.mark.engine
def test_an_arm_that_cannot_run_says_why_in_one_line(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    gpu = importlib.import_module("gpu")
    found = dict(gpu.take_turns({"ours": gpu.OURS}, tmp_path / "none", 1, 1))
    one = gpu.row("vllm", "tiny", "ours", 1, found["ours"])
    assert one.keys() == {"study", "shape", "arm", "cannot_run"}
    assert "its tokenizer cannot be read" in gpu.line(one)
    assert "\n" not in gpu.line(one)
