"""Tasks: what is judged, on which axes, with which prompts. One YAML file and one pack each.

name: dialogue
axes:
  coherence: {description: whether the response is a valid continuation …}
  overall: {description: the overall impression …, phrase: overall quality}

An axis' `phrase` is what prompts call it, in sentences such as "rate the response with respect to
overall quality"; without one they call it by its name, `_` read as a space.

A pack is laid out in one of two ways. `paper`: every prompt in the order of its paper, mostly the
axis first. `shared`: the document first, then the axis, then the texts, so that an engine which
keeps what it has read reads a document once for all axes, judges and references; templates of this
layout stand in the pack's folder `shared/`, and what is not there is taken from the pack itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from evaljudge.errors import UserError, absent, unknown
from evaljudge.plugins import folder_of, kinds
from evaljudge.prompts.examples import Examples
from evaljudge.prompts.pack import Given, Pack, Place, read_pack, read_text
from evaljudge.records import Axis
from evaljudge.settings import Settings, read_settings, read_yaml
from evaljudge.text import shown

__all__ = ["Examples", "Given", "Layout", "Pack", "Task", "load_task"]

Layout = Literal["paper", "shared"]

HERE = Path(__file__).parent
COMMON = "common"  # the pack that serves every task, which its nouns fit to it
BUILT_IN = ("summary", "dialogue", "story")
NANO = "nano"  # the pack that the bundled judge was trained with; it serves every task
NOUNS = {"source": "text", "target": "text"}
"""What a document's source and a candidate's text are called, where a task says nothing."""


def _words(text: str) -> str:
    if not (words := " ".join(text.split())):
        raise ValueError("should have words")
    return words


Words = Annotated[str, StringConstraints(strict=True), AfterValidator(_words)]


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    axes: tuple[Axis, ...]
    pack: Pack
    nouns: Mapping[str, str] = field(default_factory=lambda: dict(NOUNS))
    roles: Mapping[str, str] = field(default_factory=dict)
    """Who votes on every document, and what each of them looks for."""
    about: str = ""  # what is judged, in a sentence, for people
    examples: Examples | None = None  # rated texts that one judge is shown

    def as_fingerprint(self) -> dict[str, Any]:
        return {
            axis.name: [axis.description, axis.context, *filter(None, [axis.phrase])]
            for axis in self.axes
        }


class _AxisInFile(Settings):
    description: Words
    context: bool = False
    phrase: Words | None = None
    """What prompts call the axis."""


class _TaskFile(Settings):
    name: str
    axes: dict[str, _AxisInFile] = Field(min_length=1)
    about: Words | None = None
    nouns: dict[Literal["source", "target"], Words] = {}
    roles: dict[str, Words] = {}
    prompts: str | None = None

    @field_validator("roles")
    @classmethod
    def _differ(cls, roles: dict[str, str]) -> dict[str, str]:
        """A vote is found by its role's name: it must not look like a number, nor like a tag."""
        for who in roles:
            if not any(map(str.isalpha, who)) or {"<", ">"} & set(who):
                raise ValueError(f"should name each role with letters (got {shown(who)})")
        named = {" ".join(who.split()): what for who, what in roles.items()}
        if len({who.casefold() for who in named}) < len(roles):
            raise ValueError(f"should name each role once (got {', '.join(roles)})")
        return named


def load_task(
    name: str,
    axes: Sequence[str] | None = None,
    prompts: str | None = None,
    layout: Layout = "paper",
) -> Task:
    """A built-in task or a YAML file; only these axes; with this folder's prompts first."""
    file = HERE / f"{name}.yaml" if name in BUILT_IN else _task_file(name)
    values = read_yaml(read_text(file, "task"), f"task {file}")
    spec = read_settings(_TaskFile, values, "", f"task {file}: ")
    places = [*_own_pack(file, spec), *built_in_pack(COMMON)]
    pack = read_pack(_laid_out([*_user_pack(prompts, places), *places], layout))
    if not spec.prompts and spec.name not in BUILT_IN:
        give = "give `prompts: summary`, another built-in task, or a folder"
        pack = replace(pack, advice=f"task {file} has no `prompts`: {give}")
    nouns = NOUNS | spec.nouns
    return Task(spec.name, _axes(spec, axes), pack, nouns, spec.roles, spec.about or "")


def _task_file(name: str) -> Path:
    file = Path(name)
    if file.is_file():
        return file
    if file.suffix in (".yaml", ".yml"):
        raise absent(name, "no such file", "task: ")
    raise UserError(f"task: {unknown('task', name, BUILT_IN)} (or a path to a task file)")


def _axes(spec: _TaskFile, wanted: Sequence[str] | None) -> tuple[Axis, ...]:
    each = spec.axes.items()
    axes = {name: Axis(name, a.description, a.context, a.phrase or "") for name, a in each}
    for name in wanted or ():
        if name not in axes:
            message = unknown("axis", name, axes)
            is_own = spec.name in BUILT_IN and "did you mean" not in message
            hint = " (an axis of your own goes into a task file: `task: FILE`)" if is_own else ""
            raise UserError(f"axes: {message}{hint}")
    return tuple(axes[name] for name in dict.fromkeys(axes if wanted is None else wanted))


def _user_pack(prompts: str | None, places: list[Place]) -> list[Place]:
    """The user's templates: each must have the name of one that it takes the place of."""
    if prompts is None:
        return []
    if prompts == NANO:
        return built_in_pack(NANO)
    if not Path(prompts).is_dir():
        raise absent(prompts, "no such folder", "prompts: ")
    templates = read_pack(_laid_out(places, "shared")).templates
    for name in read_pack(_laid_out([(Path(prompts), "")], "shared")).templates:
        if name not in templates:
            raise UserError(f"prompts: {prompts}: {unknown('template', name, templates)}")
    return [(Path(prompts), "")]


def _laid_out(places: Sequence[Place], layout: Layout) -> list[Place]:
    """Where to look, in order; a user's words come before ours, however they are laid out."""
    if layout == "paper":
        return list(places)
    shared = [(folder / "shared", prefix) for folder, prefix in places]
    return [place for two in zip(shared, places, strict=True) for place in two]


def _own_pack(file: Path, spec: _TaskFile) -> list[Place]:
    """The folder or the built-in task that `prompts` names.

    Without `prompts`: the folder beside the file, `task/` for `task.yaml`, and then the prompts of
    the built-in task of the same `name`, so that a copy of a built-in task file works as it stands.
    """
    if named := spec.prompts:
        if named not in BUILT_IN and not (file.parent / named).is_dir():
            names = ", ".join(BUILT_IN)
            raise UserError(
                f"task {file}: prompts: {named}: no such folder beside it, and no built-in task "
                f"({names})"
            )
        return built_in_pack(named) if named in BUILT_IN else [(file.parent / named, "")]
    same = built_in_pack(spec.name) if spec.name in BUILT_IN else []
    return [(file.with_suffix(""), ""), *same]


def built_in_pack(name: str) -> list[Place]:
    """Each judge's share of it lies with the judge, without the judge's name."""
    of_all = [(HERE, "")] if name == COMMON else []
    return [*((folder_of(kind) / "prompts" / name, f"{kind}.") for kind in kinds()), *of_all]
