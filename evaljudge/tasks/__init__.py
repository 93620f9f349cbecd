"""Tasks: what is judged, on which axes, with which prompts. One YAML file and one pack each.

name: summary
axes:
  coherence: {description: how well the sentences fit together …}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaljudge.errors import UserError, unknown
from evaljudge.records import Axis
from evaljudge.tasks.pack import Pack, read_pack

__all__ = ["Pack", "Task", "load_task"]

HERE = PACKS = Path(__file__).parent
BUILT_IN = ("summary", "dialogue", "story")
NANO = "nano"
"""The pack that the bundled judge was taught in; it serves every task."""
_TASK_KEYS = {"name", "axes", "prompts"}
_AXIS_KEYS = {"description", "context"}


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    axes: tuple[Axis, ...]
    pack: Pack

    def as_fingerprint(self) -> dict[str, Any]:
        return {axis.name: [axis.description, axis.context] for axis in self.axes}


def load_task(name: str, axes: Sequence[str] | None = None, prompts: str | None = None) -> Task:
    """A built-in task or a YAML file; only these axes; with this folder's prompts first."""
    file = HERE / f"{name}.yaml" if name in BUILT_IN else Path(name)
    if not file.is_file():
        raise UserError(f"task: {unknown('task', name, BUILT_IN)} (or a path to a task file)")
    spec = _read(file)
    own = _own_folder(file, spec)
    pack = read_pack([*_user_folder(prompts, own), *own])
    return Task(str(spec["name"]), _axes(file, spec, axes), pack)


def _read(file: Path) -> Mapping[str, Any]:
    import yaml

    try:
        spec = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"task {file}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(spec, dict) or not {"name", "axes"} <= set(spec):
        raise UserError(f"task {file}: needs `name` and `axes`")
    _refuse_unknown(file, "key", spec, _TASK_KEYS)
    if not isinstance(spec["axes"], dict) or not spec["axes"]:
        raise UserError(f"task {file}: `axes` needs at least one axis with its description")
    return spec


def _axes(file: Path, spec: Mapping[str, Any], wanted: Sequence[str] | None) -> tuple[Axis, ...]:
    known = {str(name): _axis(file, str(name), a) for name, a in spec["axes"].items()}
    for name in wanted or ():
        if name not in known:
            raise UserError(f"axes: {unknown('axis', name, known)}")
    return tuple(known[name] for name in dict.fromkeys(known if wanted is None else wanted))


def _axis(file: Path, name: str, spec: Any) -> Axis:
    if not isinstance(spec, dict) or not isinstance(spec.get("description"), str):
        raise UserError(f"task {file}: axes.{name} needs a `description`")
    _refuse_unknown(file, f"key of axes.{name}", spec, _AXIS_KEYS)
    return Axis(name, " ".join(spec["description"].split()), bool(spec.get("context", False)))


def _refuse_unknown(file: Path, kind: str, spec: Mapping[str, Any], known: set[str]) -> None:
    for key in spec:
        if key not in known:
            raise UserError(f"task {file}: {unknown(kind, str(key), known)}")


def _user_folder(prompts: str | None, own: list[Path]) -> list[Path]:
    """The user's templates: each must have the name of one that it takes the place of."""
    if prompts is None:
        return []
    if prompts == NANO:
        return [PACKS / NANO]
    if not Path(prompts).is_dir():
        raise UserError(f"prompts: {prompts}: no such folder")
    known = read_pack(own).templates
    for name in read_pack([Path(prompts)]).templates:
        if name not in known:
            raise UserError(f"prompts: {prompts}: {unknown('template', name, known)}")
    return [Path(prompts)]


def _own_folder(file: Path, spec: Mapping[str, Any]) -> list[Path]:
    """A task file's pack: the folder it names, the one beside it, or a built-in task's."""
    named = spec.get("prompts")
    if named in BUILT_IN:
        return [HERE / str(named)]
    return [file.parent / str(named)] if named else [file.with_suffix("")]
