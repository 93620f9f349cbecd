"""The import rules of the house: who may import what, no cycles, and nothing heavy at the door."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from evaljudge.plugins import kinds

PACKAGE = Path(__file__).parents[1] / "evaljudge"
HEAVY = ("ray", "vllm", "torch", "transformers")
JUDGES = {f"judges.{kind}" for kind in kinds()}
ROOMS = """
    reasons records errors text settings plugins
    model storage agreement decisions prompts corpora bundled engines sections metrics judges
    config identity analysis analyses report execution runs viewer studies probes commands results
    cli __main__
""".split()
"""Each imports only rooms before it; of modules at the root, each is a room of its own."""
MOST_AT_THE_ROOT = 11


@cache
def modules() -> dict[str, ast.Module]:
    """Every module by its name inside the package (`judges.synthetic`)."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(file.read_text())
    return found


def imports(tree: ast.Module, module: str, at_start_only: bool = False) -> Iterator[str]:
    nodes = _running(tree, at_start=True) if at_start_only else ast.walk(tree)
    yield from _imported(nodes, module)


def _imported(nodes: Iterable[ast.AST], module: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield _absolute(node, module)
            yield from (f"{_absolute(node, module)}.{alias.name}" for alias in node.names)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    is_package = (PACKAGE / module.replace(".", "/")).is_dir()
    home = f"evaljudge.{module}".split(".")
    home = home[: len(home) - node.level + is_package]
    return ".".join([*home, *([node.module] if node.module else [])])


def _running(tree: ast.Module, *, at_start: bool) -> Iterator[ast.AST]:
    """What is not for type checkers alone; `at_start`: and runs when the module is imported."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if at_start and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        todo += ast.iter_child_nodes(node)


def inside(module: str, *folders: str) -> bool:
    return any(module == f or module.startswith(f + ".") for f in folders)


def users(*packages: str) -> dict[str, set[str]]:
    """Modules that import any of these packages, wherever in their text."""
    return {
        module: found
        for module, tree in modules().items()
        if (found := {i for i in imports(tree, module) for p in packages if inside(i, p)})
    }


@pytest.mark.parametrize(
    ("packages", "rooms"),
    [
        (["ray"], ["execution.ray"]),
        (["vllm", "torch", "transformers"], ["engines", "metrics"]),
        (["boto3", "pyarrow.fs"], ["storage"]),
    ],
)
def test_a_package_is_known_in_its_rooms_alone(packages, rooms):
    assert users(*packages)
    assert [module for module in users(*packages) if not inside(module, *rooms)] == []


def test_rooms_import_downwards_and_heavy_things_in_constructors():
    for importing, imported in arrows():
        is_inside = importing == "execution" or inside(importing, "execution.ray")
        assert is_inside or not inside(imported, "execution.ray"), (importing, imported)
    for module, tree in modules().items():
        for name in imports(tree, module, at_start_only=True):
            assert not inside(name, *HEAVY), (module, name)
    found = {(room(a), room(b)): f"{a} imports {b}" for a, b in arrows() if room(a) != room(b)}
    assert [said for two, said in found.items() if not _is_down(*two)] == []
    assert {room(module) for module in modules()} - {"__init__"} == set(ROOMS)
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_AT_THE_ROOT


def _is_down(importing: str, imported: str) -> bool:
    return ROOMS.index(imported) < ROOMS.index(importing)


def room(module: str) -> str:
    return module.partition(".")[0]


def arrows() -> Iterator[tuple[str, str]]:
    """Who imports whom, as modules of the package; the package itself is nobody's concern."""
    for module, tree in modules().items():
        for name in imports(tree, module):
            mine = name.removeprefix("evaljudge.")
            if inside(name, "evaljudge") and mine in modules() and room(module) in ROOMS:
                yield module, mine


def test_nothing_outside_a_judge_s_folder_knows_what_is_in_it():
    for importing, imported in arrows():
        for judge in JUDGES:
            assert not inside(imported, judge) or inside(importing, judge), (importing, imported)
    # not even as a text, to be imported later
    for module, tree in modules().items():
        for text in (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)):
            if isinstance(text, str) and not inside(module, *JUDGES):
                for judge in JUDGES:
                    assert f"evaljudge.{judge}" not in text or "\n" in text, (module, text)
    found = [two for two in arrows() if room(two[0]) == "report" and room(two[1]) == "judges"]
    assert found == []


def test_no_name_means_two_things():
    """Of classes; those that begin with an underscore are a module's own."""
    homes: dict[str, list[str]] = {}
    for module, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_agreement_knows_arrays_and_records():
    for module, tree in modules().items():
        if inside(module, "agreement"):
            for name in imports(tree, module):
                if inside(name, "evaljudge"):
                    assert inside(name, "evaljudge.agreement", "evaljudge.records"), (module, name)


def test_there_is_no_import_cycle():
    """Imports within functions count, but for those of `engines`, which load what is heavy late."""
    known = modules()
    graph = {module: _needs(tree, module, set(known)) for module, tree in known.items()}
    while leaves := {module for module, needs in graph.items() if not needs & graph.keys()}:
        graph = {m: needs for m, needs in graph.items() if m not in leaves}
    assert graph == {}


def _needs(tree: ast.Module, module: str, known: set[str]) -> set[str]:
    """`from package import module` needs that module; any other name, the package itself."""
    needs, late = set(), not inside(module, "engines")
    for name in _imported(_running(tree, at_start=not late), module):
        mine = name.removeprefix("evaljudge.")
        if inside(name, "evaljudge") and mine in known:
            needs.add(mine)
    return {n for n in needs if not any(other.startswith(n + ".") for other in needs)} - {module}


DOORS = [
    "import evaljudge",
    "from evaljudge import run, Config, load_config",
    "from evaljudge.cli import main; main(['--help'])",
]


@pytest.mark.service
@pytest.mark.parametrize("said", DOORS)
def test_nothing_heavy_is_loaded_at_the_door(said):
    script = f"""
import sys
try:
    {said}
except SystemExit:
    pass
loaded = {{name.partition('.')[0] for name in sys.modules}}
print('loaded:', sorted(loaded & {set(HEAVY)!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("loaded: []\n")


@pytest.mark.service
def test_the_entry_point_needs_no_package_but_ours():
    """So it begins quickly: before that, Python itself answers a signal."""
    script = f"import sys; sys.path.append({str(PACKAGE.parent)!r}); import evaljudge.__main__"
    without_packages = ["-I", "-S"]
    subprocess.run([sys.executable, *without_packages, "-c", script], check=True)
