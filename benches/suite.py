"""Where the test suite's time goes: by folder, mark, fixture, and by what its tests wait for.

    python benches/suite.py [--name after] [-- PYTEST ARGUMENTS]      (the arguments of `make test`)

Runs the suite with the plugin beside this file (suite_clock.py), prints a summary, and keeps it
under the name given in benches/suite.json, beside those of other names.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
KEPT = HERE / "suite.json"
SLOWEST = 100
Test = Mapping[str, Any]


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    given.add_argument("--name", default="after")
    given.add_argument("pytest", nargs="*")
    how = given.parse_args()
    with tempfile.TemporaryDirectory(prefix="suite-") as folder:
        log = Path(folder, "log")
        began = time.monotonic()
        code = _run(how.pytest, folder, log)
        wall = time.monotonic() - began
        found = {"command": " ".join(["pytest", *how.pytest]), "wall_seconds": round(wall, 1)}
        found |= summary(Path(folder), ROOT / "tests", log.read_text())
    keep(how.name, found)
    print(json.dumps({k: v for k, v in found.items() if k != "slowest"}, indent=1))
    return code


def _run(arguments: Iterable[str], folder: str, log: Path) -> int:
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = os.environ | {"SUITE_CLOCK": folder, "PYTHONPATH": path}
    line = [sys.executable, "-m", "pytest", "-p", "suite_clock", *arguments]
    with log.open("w") as said:
        process = subprocess.Popen(
            line, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for text in process.stdout:
            print(text, end="", flush=True)
            said.write(text)
        return process.wait()


def summary(folder: Path, tests_folder: Path, log: str) -> dict[str, Any]:
    """Of what the plugin noted in a folder, and of the last line that pytest said."""
    noted = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    tests = [test for one in noted for test in one["tests"]]
    ending = re.findall(r"^=* ?(\d+ (?:passed|failed).*?) ?=*$", log, re.MULTILINE)
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "outcome": ending[-1] if ending else "did not end",
        "cases": len(tests),
        "assertions": assertions(tests_folder),
        "seconds_of_tests": round(sum(map(seconds, tests)), 1),
        "by_mark": _sums(tests, lambda test: "+".join(test.get("marks", ())) or "none"),
        "by_folder": _sums(tests, lambda test: str(Path(test["id"].partition("::")[0]).parent)),
        "by_file": dict(list(_sums(tests, lambda t: t["id"].partition("::")[0]).items())[:40]),
        "by_wait": _waits(tests),
        "by_fixture": _fixtures(noted),
        "slowest": [
            {"id": test["id"], "seconds": round(seconds(test), 2), "waits": test["waits"]}
            for test in sorted(tests, key=seconds, reverse=True)[:SLOWEST]
        ],
    }


def seconds(test: Test) -> float:
    return float(sum(test.get(phase, 0.0) for phase in ("setup", "call", "teardown")))


def assertions(folder: Path) -> dict[str, int]:
    """What stands in the tests: `assert` statements, and refusals that are expected."""
    found: Counter[str] = Counter()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            found["assert"] += isinstance(node, ast.Assert)
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                found["pytest.raises"] += name in ("pytest.raises", "pytest.warns")
                found["refused"] += name.endswith("refused")
    return dict(found)


def _sums(tests: Iterable[Test], key: Callable[[Test], str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(lambda: {"cases": 0, "seconds": 0.0})
    for test in tests:
        one = found[key(test)]
        one["cases"] += 1
        one["seconds"] += seconds(test)
    ordered = sorted(found.items(), key=lambda item: -item[1]["seconds"])
    return {name: one | {"seconds": round(one["seconds"], 1)} for name, one in ordered}


def _waits(tests: Iterable[Test]) -> dict[str, float]:
    found: Counter[str] = Counter()
    for test in tests:
        found.update(test["waits"])
    return {kind: round(total, 1) for kind, total in found.most_common()}


def _fixtures(noted: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(lambda: {"times": 0, "seconds": 0.0})
    for one in noted:
        for name, told in one["fixtures"].items():
            found[name]["times"] += told["times"]
            found[name]["seconds"] += told["seconds"]
    ordered = sorted(found.items(), key=lambda item: -item[1]["seconds"])[:20]
    return {name: one | {"seconds": round(one["seconds"], 1)} for name, one in ordered}


def keep(name: str, found: Mapping[str, Any]) -> None:
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    KEPT.write_text(json.dumps(kept | {name: found}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
