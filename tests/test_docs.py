"""The documentation is right: links lead somewhere, configurations load, commands do what is shown.

A fenced block says by its info string what is done with it:

    ```yaml [FILE]       a configuration, a part of one, or a task file: loaded, its judges are made
    ```json [FILE]       rows of JSON, one a line: read
    ```python [FILE]     run, where it names a FILE that is not in a folder
    ```console           `$ evaljudge …` and what it prints: run, and compared
    ```console engine    the same with a real model: in tests marked `engine`
    ```sh                commands: they parse, and what they `--set` is a configuration
    ```sh cluster        commands that need a cluster or a GPU: they parse

A block with a FILE is also written there, for the commands of the blocks behind it. In what is
shown, a line that begins with `…` stands for any lines, and `…` within a line for any characters.
Tables are those of a terminal of 100 columns.
What a real model answers differs a little between machines: there numbers need only be near.
"""

import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
import yaml

from evaljudge.cli import app, main
from evaljudge.commands.run import write_demo
from evaljudge.config import load_config
from evaljudge.engines import Identity, ModelFacts, ModelSource, VllmEngines
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.judges import make_judges
from evaljudge.prompts import load_task
from evaljudge.runs.job import make_job
from evaljudge.runs.pipeline import run
from evaljudge.studies.study import study_runs

pytestmark = pytest.mark.usefixtures("hundred_columns")
ROOT = Path(__file__).parents[1]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")),
          *sorted((ROOT / "evaljudge" / "judges").glob("*/README.md"))]  # fmt: skip
PAGES = [*GUIDES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
BASE = {"corpus": "cases.jsonl", "out": "runs/x", "model": "some/model"}
"""What a part of a configuration is a part of."""
FENCE = re.compile(r"^```(\S*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:evaljudge|tests|jobs|benches|docs)/[\w./-]*)`")
IN_PROSE = re.compile(r"`(evaljudge [a-z][^`]*)`")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
NEAR, NEAR_SHARE = 0.06, 0.05
"""How far numbers of a real model may lie apart: this much, or this share."""


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    told: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def needs_engine(self) -> bool:
        return self.kind == "console" and self.told == "engine"

    @property
    def file(self) -> str:
        return self.told if "." in self.told else ""

    def write(self) -> None:
        """Its file, in the current folder."""
        if self.file:
            Path(self.file).parent.mkdir(parents=True, exist_ok=True)
            Path(self.file).write_text(self.text)

    @property
    def sessions(self) -> Iterator[tuple[str, list[str]]]:
        """Each command, and the lines that are shown of what it prints."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            lines = iter(part.splitlines())
            command = next(lines)
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            yield command, list(lines)

    @property
    def commands(self) -> list[str]:
        if self.kind == "console":
            return [command for command, _ in self.sessions]
        return self.text.replace("\\\n", " ").splitlines()


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2].strip(), found[3])
        for found in FENCE.finditer(text)
    ]


BLOCKS = [block for page in GUIDES for block in blocks_of(page)]
CONFIGS = [block for block in BLOCKS if block.kind == "yaml"]
SHELLS = [block for block in BLOCKS if block.kind in ("sh", "console")]


def test_every_block_is_of_a_kind_that_is_looked_at():
    known = {"yaml", "json", "python", "console", "sh", "text", "csv", "jinja", "toml"}
    assert [str(block) for block in BLOCKS if block.kind not in known] == []
    assert all(block.told in ("", "cluster") for block in BLOCKS if block.kind == "sh")
    assert all(block.told in ("", "engine") for block in BLOCKS if block.kind == "console")


def test_no_two_pages_write_the_same_file_or_run_into_the_same_folder():
    """So all pages can be tried in one folder, one after the other."""
    names = [(block.file, block.page) for block in BLOCKS if block.file]
    told = ((yaml.safe_load(block.text), block.page) for block in CONFIGS)
    names += [(config["out"], page) for config, page in told if "out" in config]
    pages_of = {name: {page.name for other, page in names if other == name} for name, _ in names}
    assert {name: pages for name, pages in pages_of.items() if len(pages) > 1} == {}


# links and paths


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_every_path_leads_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = (link for link in LINK.findall(text) if "://" not in link)
    missing = [link for link in links if not _leads_somewhere(page, link)]
    if page in GUIDES:
        missing += [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    assert missing == []


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    """Of its headings, as they are made from their words."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_short_and_has_its_picture():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 200
    assert "](docs/pictures/answer.png)" in text
    for picture in (ROOT / "docs/pictures").iterdir():
        assert picture.stat().st_size < 200_000


# configurations


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder but for what `evaljudge demo` begins with; commands run there, and can import
    what they find there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write_demo(Path("runs/demo"), 36, 0)
    return tmp_path


def as_in_the_hub(_: VllmEngines, source: ModelSource) -> ModelFacts:
    return ModelFacts(Identity(source.source, "commit", {}, {}))


@pytest.mark.parametrize("block", CONFIGS, ids=str)
def test_every_configuration_is_accepted(block, folder, monkeypatch):
    monkeypatch.setattr(VllmEngines, "describe", as_in_the_hub)
    for earlier in takewhile(lambda other: other != block, blocks_of(block.page)):
        earlier.write()
    told = yaml.safe_load(block.text)
    if "axes" in told and isinstance(told["axes"], dict):
        Path("task.yaml").write_text(block.text)
        assert load_task("task.yaml").axes
        return
    config = load_config(({} if {"corpus", "out"} <= told.keys() else BASE) | told)
    runs = [one.config for one in study_runs(config)] if config.study else [config]
    for one in runs:
        job = make_job(one, ScriptedEngines())
        assert len(job.judges) == len(one.judges)


JUDGES = [page.parent.name for page in GUIDES if page.parent.parent.name == "judges"]


@pytest.mark.parametrize("judge", JUDGES)
def test_every_setting_of_a_judge_is_in_its_readme(judge):
    """In a table's first column; of settings within settings the inner ones."""
    module = import_module(f"evaljudge.judges.{judge}.judge")
    (settings,) = (
        kind
        for name, kind in vars(module).items()
        if name.lower() == f"{judge}settings"  # ChecksSettings are a setting of these
    )
    told = (ROOT / f"evaljudge/judges/{judge}/README.md").read_text()
    cells = " ".join(re.findall(r"^\| (`[^|]*) \|", told, re.MULTILINE))
    named = {name.partition(".")[0] for name in re.findall(r"`([\w.]+)`", cells)}
    assert settings.model_fields.keys() <= named


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.kind == "json"], ids=str)
def test_every_row_is_json(block):
    assert all(isinstance(json.loads(line), dict) for line in block.text.splitlines())


# commands


@pytest.mark.parametrize("block", SHELLS, ids=str)
def test_every_command_parses(block):
    for line in block.commands:
        parse(shlex.split(line, comments=True), block.kind == "sh" and not block.told)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_the_prose_parses(page):
    for line in IN_PROSE.findall(FENCE.sub("", page.read_text())):
        parse(shlex.split(" ".join(line.split())), whole=False)


def parse(words: Sequence[str], with_changes: bool = False, whole: bool = True) -> None:
    """Of a shell's line the command of ours that is in it, if there is one."""
    if words[:1] == ["make"]:
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words[1:] if "=" not in word} <= set(targets)
        return
    scripts = [word for word in words if re.fullmatch(r"(jobs|benches)/\w+\.py", word)]
    assert all((ROOT / script).is_file() for script in scripts)
    if (arguments := _ours(words)) is None:
        return
    command, rest = _command(arguments)
    if whole:
        command.make_context(command.name, list(rest))  # it takes the words out of its list
    else:
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= options
    if with_changes:
        changes = [rest[at + 1] for at, word in enumerate(rest) if word == "--set"]
        config = load_config(BASE, changes)
        assert make_judges(config.judges, load_task(config.task, config.axes))


def _ours(words: Sequence[str]) -> Sequence[str] | None:
    """The arguments of `evaljudge`, or of a script that hands them on to it."""
    for at, word in enumerate(words):
        if word == "evaljudge" and at == 0:
            return words[1:]
        if script := re.fullmatch(r"jobs/(run|prepare|judge|report|study)\.py", word):
            return [script[1], *words[at + 1 :]]
    return None


def _command(arguments: Sequence[str]) -> tuple[Any, list[str]]:
    """The command that is named, of typer's own kind, and what is left for it."""
    command: Any = typer.main.get_command(app())
    rest = list(arguments)
    while hasattr(command, "commands") and rest and not rest[0].isupper():
        command = command.commands[rest.pop(0)]
    return command, rest


# what commands print

ALONE = dict.fromkeys(b.page for b in BLOCKS if b.kind == "console" and not b.needs_engine)


@pytest.mark.parametrize("page", ALONE, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_without_a_model_print_what_is_shown(page, folder):
    carry_out([block for block in blocks_of(page) if not block.needs_engine])


@pytest.mark.long
@pytest.mark.engine
def test_the_tutorial_does_what_it_says(folder):
    carry_out(blocks_of(ROOT / "docs/tutorial.md"))
    selected = {file.name for file in Path("runs/first/selected").iterdir()}
    assert selected == {"half.jsonl", "half.json"}


@pytest.mark.engine
@pytest.mark.ray
@pytest.mark.long
def test_the_demo_and_its_study_print_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pages = [ROOT / "README.md", ROOT / "docs/studies.md"]
    carry_out([block for page in pages for block in blocks_of(page) if block.needs_engine])


@pytest.mark.long
@pytest.mark.engine
def test_the_commands_of_their_page_print_what_is_shown(folder, shared_engines, monkeypatch):
    """Those that need a model, all in this process, with an engine that is loaded once."""
    monkeypatch.setattr("evaljudge.runs.job.VllmEngines", lambda: shared_engines)
    monkeypatch.setattr(
        "evaljudge.commands.run.run", partial(run, changes=["workers.executor=local"])
    )
    at_once = SimpleNamespace(Event=lambda: SimpleNamespace(wait=lambda: None))
    monkeypatch.setattr("evaljudge.commands.view.threading", at_once)  # `view` ends
    blocks = [block for block in blocks_of(COMMANDS) if block.needs_engine or block.file]
    carry_out(blocks, is_here=True)


COMMANDS = ROOT / "docs/commands.md"


def names_of(group: Any, *parents: str) -> Iterator[str]:
    """Every command of a group by its whole name, such as `probe mixes`."""
    for name, command in group.commands.items():
        own = (*parents, name)
        yield from names_of(command, *own) if hasattr(command, "commands") else [" ".join(own)]


@pytest.mark.parametrize("name", sorted(names_of(typer.main.get_command(app()))))
def test_every_command_has_a_section_with_an_example_that_is_compared(name):
    text = COMMANDS.read_text(encoding="utf-8")
    assert f"\n### `evaljudge {name}`\n" in text
    shown = [
        lines
        for block in blocks_of(COMMANDS)
        if block.kind == "console"
        for command, lines in block.sessions
        if command.startswith(f"evaljudge {name} ") or command == f"evaljudge {name}"
    ]
    assert any(line.strip(" …") for lines in shown for line in lines)


def carry_out(blocks: Sequence[Block], is_here: bool = False) -> None:
    """In the current folder, one after the other; `is_here`: all in this process."""
    for block in blocks:
        block.write()
        if block.kind == "python" and block.file and "/" not in block.file:
            subprocess.run([sys.executable, block.file], check=True)
        if block.kind == "console":
            for command, shown in block.sessions:
                printed = (
                    _by_itself(command)
                    if block.needs_engine and not is_here
                    else _here(command, with_errors=not block.needs_engine)
                )
                problem = difference(shown, printed.splitlines(), near=block.needs_engine)
                assert not problem, f"{block}: $ {command}\n{problem}\n\nprinted:\n{printed}"


def _here(command: str, with_errors: bool = True) -> str:
    """`with_errors`: with what goes to the other stream, where an engine has lines of its own."""
    arguments = _ours(shlex.split(command))
    assert arguments is not None, command
    printed = io.StringIO()
    errors = printed if with_errors else io.StringIO()
    with redirect_stdout(printed), redirect_stderr(errors), pytest.raises(SystemExit) as left:
        main(list(arguments))
    is_mistake = re.search("^(evaljudge|error): ", printed.getvalue(), re.MULTILINE)
    assert left.value.code == (2 if is_mistake else 0), printed.getvalue() + errors.getvalue()
    return printed.getvalue()


def _by_itself(command: str) -> str:
    """In a process of its own, without the engine's own lines, which go to the other stream."""
    words = shlex.split(command)
    arguments = ["demo", "--out", "runs/demo"] if words == ["make", "demo"] else _ours(words)
    assert arguments is not None, command
    done = subprocess.run(
        [sys.executable, "-m", "evaljudge", *arguments],
        capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def difference(shown: Sequence[str], printed: Sequence[str], near: bool = False) -> str:
    """The first shown line that was not printed where it should be; empty where all are."""
    at, is_gap = 0, False
    for line in (line.rstrip() for line in shown):
        if line.startswith("…"):
            is_gap = True
            continue
        places = range(at, len(printed)) if is_gap else range(at, min(at + 1, len(printed)))
        found = next((n for n in places if is_like(line, printed[n].rstrip(), near)), None)
        if found is None:
            return f"shown and not printed: {line}"
        at, is_gap = found + 1, False
    left = [line for line in printed[at:] if line.strip()]
    return "" if is_gap or not left else f"printed and not shown: {left[0]}"


def is_like(shown: str, printed: str, near: bool) -> bool:
    pattern = ".*".join(map(re.escape, shown.split("…")))
    if not near:
        return re.fullmatch(pattern, printed) is not None
    words = re.sub(r"\s+|(?:\\ )+", " ", pattern)
    words = NUMBER.sub(lambda _: NUMBER.pattern, words.replace("\\-", "-").replace("\\.", "."))
    if not re.fullmatch(words, re.sub(r"\s+", " ", printed)):
        return False
    pairs = zip(_numbers(shown), _numbers(printed), strict=False)
    return "…" in shown or all(_are_near(mine, theirs) for mine, theirs in pairs)


def _numbers(line: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(line)]


def _are_near(mine: float, theirs: float) -> bool:
    return abs(mine - theirs) <= max(NEAR, NEAR_SHARE * abs(mine))
