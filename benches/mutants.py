"""Single faults planted in the modules that matter: do the nearest tests notice them?

    python benches/mutants.py [--mutants 160] [--seed 0] [--only agreement/] [--at-once 2]

A mutant is a module with one fault: a sign turned, a number off by one, two operands swapped, a
condition dropped, an error swallowed. Of all that there could be in TARGETS so many are drawn by
seed. For each, the nearest tests run in a process of their own, forked from this one after the slow
imports, so that a mutant takes seconds. Those that no test notices are printed, and
benches/mutants.json has them all. A survivor that turns out to be no fault is explained there under
`no_faults`, with the reason, and drawn no more; the others want a test.

Each verdict is kept as it comes, so a draw may be ended at any time (`timeout 600 python …`) and
goes on with the same command: a mutant whose module and tests are as they were is not tried again,
unless --afresh is given. With --only nothing is kept.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import platform
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

HERE = Path(__file__).parent
ROOT = HERE.parent
PACKAGE = ROOT / "evaljudge"
SLOW = ("numpy", "scipy.stats", "scipy.optimize", "sklearn.cluster", "pyarrow.parquet",
        "pydantic", "jinja2", "yaml", "pytest", "typer", "rich",
        "sacrebleu", "psutil", "regex")  # fmt: skip
"""What the tests import besides evaljudge, loaded once."""
SLOWER = 4
"""A mutant whose tests take so many times as long as without it does not end: noticed, too."""

TARGETS: dict[str, tuple[str, ...]] = {
    "judges/synthetic/judge.py": (
        "judges/synthetic/test_synthetic.py",
        "judges/synthetic/test_soundness.py",
        "judges/synthetic/test_predictions.py",
        "judges/test_every_judge.py",
    ),
    "judges/synthetic/equations.py": (
        "judges/synthetic/test_equations.py",
        "judges/synthetic/test_synthetic.py",
        "test_thresholds.py",
    ),
    "judges/synthetic/comparing.py": (
        "judges/synthetic/test_synthetic.py",
        "judges/synthetic/test_ladder.py",
        "judges/test_every_judge.py",
        "judges/synthetic/test_soundness.py",
    ),
    "judges/shared/scale.py": (
        "judges/synthetic/test_synthetic.py",
        "judges/synthetic/test_predictions.py",
        "judges/geval/test_geval.py",
    ),
    "judges/synthetic/evidence.py": (
        "judges/synthetic/test_evidence.py",
        "judges/test_every_judge.py",
    ),
    "judges/entities/equations.py": (
        "judges/entities/test_equations.py",
        "judges/entities/test_entities.py",
    ),
    "judges/entities/voting.py": (
        "judges/entities/test_entities.py",
        "judges/shared/test_structured.py",
    ),
    "judges/entities/modelled.py": ("judges/entities/test_equations.py",),
    "agreement/averaged.py": ("agreement/test_averaged.py",),
    "agreement/calibration.py": (
        "agreement/test_calibration.py",
        "agreement/test_calibration_precision.py",
    ),
    "agreement/agree.py": (
        "agreement/test_agreement_literals.py",
        "agreement/test_ceiling_by_definition.py",
    ),
    "agreement/coefficients.py": (
        "agreement/test_agreement_literals.py",
        "agreement/test_agreement_by_definition.py",
        "judges/synthetic/test_validity.py",
    ),
    "agreement/documents.py": (
        "agreement/test_documents.py",
        "agreement/test_averaged.py",
        "agreement/test_calibration.py",
    ),
    "agreement/labels.py": ("agreement/test_labels_by_definition.py",),
    "probes/position.py": ("probes/test_probes_position.py",),
    "agreement/levels.py": (
        "agreement/test_agreement_literals.py",
        "agreement/test_agreement_by_definition.py",
    ),
    "agreement/significance.py": (
        "agreement/test_significance_best.py",
        "agreement/test_averaged.py",
    ),
    "agreement/voters.py": ("agreement/test_voters.py",),
    "engines/labels.py": ("engines/test_labels.py",),
    "storage/output.py": (
        "storage/test_storage.py",
        "execution/test_shards.py",
        "test_binding.py",
    ),
    "storage/streams.py": ("storage/test_storage.py", "storage/test_storage_s3.py"),
    "execution/attempts.py": ("execution/test_attempts.py", "execution/test_local.py"),
    "execution/local.py": (
        "execution/test_local.py",
        "execution/test_shards.py",
        "runs/test_most.py",
    ),
    "execution/measuring.py": ("runs/test_measures.py", "execution/test_local.py"),
    "execution/shards.py": (
        "execution/test_shards.py",
        "execution/test_local.py",
        "execution/test_saving.py",
        "test_casework.py",
    ),
    "runs/stages.py": ("runs/test_journey.py", "test_panels.py", "execution/test_local.py"),
    "runs/binding.py": (
        "runs/test_journey.py",
        "cli/test_cli.py",
        "runs/test_cutting.py",
    ),
    "analysis/selection.py": (
        "report/test_report_selecting.py",
        "test_thresholds.py",
        "test_fitting.py",
    ),
}
"""Modules, and the tests that are to notice a fault in them, the quickest first."""

KEPT = HERE / "mutants.json"
EXPLAINED: dict[str, str] = json.loads(KEPT.read_text())["no_faults"]
"""Why a mutant is no fault."""


@dataclass(frozen=True)
class Mutant:
    module: str
    function: str
    fault: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.module} {self.function}: {self.fault}"

    @property
    def row(self) -> dict[str, str]:
        named = {"module": self.module, "function": self.function, "fault": self.fault}
        return named | {"of": _digest(self.module)}


@cache
def _digest(module: str) -> str:
    """Of the module and the tests that are to notice a fault in it."""
    files = [PACKAGE / module, *(ROOT / "tests" / test for test in TARGETS[module])]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


# the faults

Fault = Callable[[Any], Iterator[tuple[str, ast.AST]]]
"""Yields what could stand in place of a node of the tree, and what to call that."""


def _signs(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    opposite = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
    is_sum = isinstance(node, ast.BinOp) and not _is_text(node.left) and not _is_text(node.right)
    if is_sum and (other := opposite.get(type(node.op))):
        yield "sign", ast.BinOp(node.left, other(), node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", node.operand


def _off_by_one(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    edges = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "off by one", ast.Constant(node.value + 1)
    if isinstance(node, ast.Compare) and (other := edges.get(type(node.ops[0]))):
        yield "off by one", ast.Compare(node.left, [other(), *node.ops[1:]], node.comparators)


def _swapped(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv):
        yield "operands swapped", ast.BinOp(node.right, node.op, node.left)
    ordered = ast.Lt | ast.LtE | ast.Gt | ast.GtE
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ordered):
        yield "operands swapped", ast.Compare(node.comparators[0], node.ops, [node.left])


def _dropped(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.If | ast.IfExp) and not _is_for_types(node.test):
        changed = copy.copy(node)
        changed.test = ast.Constant(value=False)
        yield "condition dropped", changed
    if isinstance(node, ast.BoolOp):
        yield "condition dropped", node.values[0]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "condition dropped", node.operand
    if isinstance(node, ast.comprehension) and node.ifs:
        yield "condition dropped", ast.comprehension(node.target, node.iter, [], node.is_async)


def _is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _swallowed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Raise):
        yield "error swallowed", ast.Pass()


FAULTS: tuple[Fault, ...] = (_signs, _off_by_one, _swapped, _dropped, _swallowed)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def mutants_of(module: str, *, with_source: bool = True) -> list[Mutant]:
    """Every fault that could be planted in it, in the order of its text."""
    tree = ast.parse((PACKAGE / module).read_text())
    mutants, seen = [], Counter[str]()
    for place, field, function in _places(tree):
        node = _get(place, field)
        for kind, other in (one for fault in FAULTS for one in fault(node)):
            before = _words(node)
            _set(place, field, ast.fix_missing_locations(ast.copy_location(other, node)))
            name = f"{kind}: {before} -> {_words(other)}"
            seen[f"{function} {name}"] += 1
            again = seen[f"{function} {name}"]
            name += f" ({again})" if again > 1 else ""
            source = ast.unparse(tree) if with_source else ""
            mutants.append(Mutant(module, function, name, source))
            _set(place, field, node)
    return mutants


Field = tuple[str, int | None]


NO_FAULTS_IN = ("annotation", "returns", "decorator_list", "type_ignores", "defaults",
                "kw_defaults")  # fmt: skip
"""Fields of the tree: what is not executed, and defaults, which are choices."""


def _places(tree: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, Field, str]]:
    """Each node below, by the one that holds it; annotations and docstrings are left out."""
    for name, value in ast.iter_fields(tree):
        if name in NO_FAULTS_IN:
            continue
        many = value if isinstance(value, list) else [value]
        for number, node in enumerate(many):
            if isinstance(node, ast.AST) and not _is_docstring(node):
                inside = getattr(node, "name", "") if isinstance(node, _NAMED) else ""
                where = ".".join(filter(None, (function, inside)))
                yield tree, (name, number if isinstance(value, list) else None), where
                yield from _places(node, where)


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _get(place: ast.AST, field: Field) -> Any:
    name, number = field
    value = getattr(place, name)
    return value if number is None else value[number]


def _set(place: ast.AST, field: Field, node: ast.AST) -> None:
    name, number = field
    if number is None:
        setattr(place, name, node)
    else:
        getattr(place, name)[number] = node


def _words(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    if isinstance(node, ast.comprehension):
        return " ".join(["for …", *(f"if {ast.unparse(test)}" for test in node.ifs)])
    words = ast.unparse(node)
    return words if len(words) <= 90 else f"{words[:90]}…"


def drawn(areas: Sequence[str], most: int, seed: int) -> list[Mutant]:
    """So many of those that are faults, by a hash of the seed and their names: where the code or
    EXPLAINED changes, the others stay."""
    everything = [m for module in areas for m in mutants_of(module, with_source=False)]
    places = {mutant.name: number for number, mutant in enumerate(everything)}
    faults = [mutant for mutant in everything if mutant.name not in EXPLAINED]

    def order(mutant: Mutant) -> str:
        return sha256(f"{seed} {mutant.name}".encode()).hexdigest()

    return sorted(sorted(faults, key=order)[:most], key=lambda mutant: places[mutant.name])


# the tests before a mutant


class Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Has one module of evaljudge imported from a text of our own."""

    def __init__(self, mutant: Mutant) -> None:
        name = mutant.module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self._name, self._mutant = f"evaljudge.{name}", mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._name:
            return None
        file = str(PACKAGE / self._mutant.module)
        return importlib.util.spec_from_file_location(name, file, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._mutant.source, str(PACKAGE / self._mutant.module), "exec"),
             module.__dict__)  # fmt: skip


Verdict = Literal["noticed", "survived", "did not end"]
NOTICED, UNNOTICED = {1, 2}, 0
"""Exit codes of pytest: tests failed, or could not even be collected; all passed."""


@dataclass(frozen=True)
class Trial:
    """The tests that are to notice a mutant; or to pass, where there is none."""

    mutant: Mutant | None
    tests: tuple[str, ...]
    patience: float = 600
    """Seconds."""


def verdicts_on(
    trials: Sequence[Trial], at_once: int, tell: Callable[[Trial, Verdict], None]
) -> None:
    """So many at once, each in a process of its own."""
    left = len(trials)
    running: dict[int, tuple[int, float]] = {}
    waiting = iter(enumerate(trials))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, _ended_with(running):
        while left:
            while len(running) < at_once and (begun := next(waiting, None)):
                number, trial = begun
                process = _begin(trial, Path(folder, str(number)))
                running[process] = number, time.monotonic()
            time.sleep(0.02)
            for process, (number, since) in list(running.items()):
                is_late = time.monotonic() - since > trials[number].patience
                if verdict := _verdict(process, is_late):
                    del running[process]
                    left -= 1
                    tell(trials[number], verdict)


@contextmanager
def _ended_with(running: Mapping[int, object]) -> Iterator[None]:
    """If this process is ended, so are those that run."""
    try:
        yield
    finally:
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)


def _begin(trial: Trial, folder: Path) -> int:
    process = os.fork()
    if process == 0:
        os.setsid()
        _run_tests(trial.mutant, trial.tests, folder)
    return process


def _verdict(process: int, is_late: bool) -> Verdict | None:
    ended, status = os.waitpid(process, os.WNOHANG)
    if not ended:
        if not is_late:
            return None
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        return "did not end"
    code = os.waitstatus_to_exitcode(status)
    if code == UNNOTICED:
        return "survived"
    if code in NOTICED or code < 0:
        return "noticed"
    raise SystemExit(f"pytest ended with {code}")


def _run_tests(mutant: Mutant | None, tests: Sequence[str], folder: Path) -> None:
    code = 70
    try:
        import pytest

        silent = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silent, stream)
        os.chdir(ROOT)
        if mutant:
            sys.meta_path.insert(0, Planted(mutant))
        how = ["-x", "-q", "-n0", "-m", "unit or service", "-p", "no:cacheprovider",
               f"--basetemp={folder}"]  # fmt: skip
        code = int(pytest.main([*how, *(f"tests/{test}" for test in tests)]))
    finally:
        os._exit(code)


# the command


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=160)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="modules whose path begins so")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--afresh", action="store_true", help="forget the verdicts that are kept")
    how = parser.parse_args()
    modules = [module for module in TARGETS if module.startswith(how.only)]
    chosen = drawn(modules, how.mutants, how.seed)
    kept = {} if how.afresh or how.only else _kept()
    verdicts = {
        m.name: kept[m.name] for m in chosen if kept.get(m.name, {}).items() >= m.row.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SLOW:
            importlib.import_module(name)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as `timeout` ends it

    def tell(trial: Trial, verdict: Verdict) -> None:
        assert trial.mutant
        verdicts[trial.mutant.name] = trial.mutant.row | {"verdict": verdict}
        place = f"{len(verdicts):>4}/{len(chosen)}"
        print(f"{place}  {verdict:<11}  {trial.mutant.name}", flush=True)
        if not how.only:
            _keep(chosen, verdicts, how.seed)

    for module in modules:
        left = {m.name for m in chosen if m.module == module} - verdicts.keys()
        if left:
            patience = 10 + SLOWER * _seconds_without_fault(TARGETS[module])
            planted = [mutant for mutant in mutants_of(module) if mutant.name in left]
            trials = [Trial(mutant, TARGETS[module], patience) for mutant in planted]
            verdicts_on(trials, how.at_once, tell)
    survivors = [name for name, row in verdicts.items() if row["verdict"] == "survived"]
    noticed = len(chosen) - len(survivors)
    print(f"\n{noticed} of {len(chosen)} noticed ({noticed / len(chosen):.1%})")
    for name in survivors:
        print(f"survived: {name}")
    return int(bool(survivors))


@cache
def _seconds_without_fault(tests: tuple[str, ...]) -> float:
    """How long these tests take; those that fail without any fault would notice every one."""

    def tell(_: Trial, verdict: Verdict) -> None:
        if verdict != "survived":
            raise SystemExit(f"without any fault: {' '.join(tests)}: {verdict}")

    began = time.monotonic()
    verdicts_on([Trial(None, tests)], 1, tell)
    return time.monotonic() - began


Row = dict[str, str]


def _kept() -> dict[str, Row]:
    rows: list[Row] = json.loads(KEPT.read_text())["rows"]
    return {f"{row['module']} {row['function']}: {row['fault']}": row for row in rows}


def _keep(chosen: Sequence[Mutant], verdicts: Mapping[str, Row], seed: int) -> None:
    rows = [verdicts[mutant.name] for mutant in chosen if mutant.name in verdicts]
    figures = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "seed": seed,
        "mutants": len(chosen),
        "tried": len(rows),
        "noticed": sum(row["verdict"] != "survived" for row in rows),
        "no_faults": EXPLAINED,
        "rows": rows,
    }
    whole = KEPT.with_suffix(".new")
    whole.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    whole.replace(KEPT)  # so that an end at any time leaves one of the two


if __name__ == "__main__":
    sys.exit(main())
