"""How outside input becomes typed settings: unknown keys are refused with the nearest known one.

read_yaml("levels: 5\\nlevels: 9", "c.yaml")
-> UserError("c.yaml:2: not YAML: key 'levels' again (first in line 1)")
read_settings(Levels, {"levles": 5}, "judges.synthetic")
-> UserError("judges.synthetic: unknown key 'levles': did you mean 'levels'?")
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, TypeGuard, TypeVar, get_origin

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from evaljudge.errors import UserError, plain_words, refused, unknown
from evaljudge.text import QUOTED, is_encodable, one_line, shown, without_secrets

TEMPORARY = "evaljudge-score-"
M = TypeVar("M", bound="Settings")
AnyPath = str | PathLike[str]
DEEPEST, MOST_VALUES = 30, 10_000
"""The most levels and values of a configuration: one whose YAML repeats a part of itself can have
endlessly many."""


class Settings(BaseModel, use_attribute_docstrings=True):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    shorthand: ClassVar[str] = ""
    """The key that a text or a list stands for where a mapping is expected."""
    homes: ClassVar[Mapping[str, str]] = {}
    """Where keys belong that are no fields here."""

    @model_validator(mode="before")
    @classmethod
    def _as_mapping(cls, value: Any) -> Any:
        return {cls.shorthand: value} if cls.shorthand and isinstance(value, str | list) else value

    @classmethod
    def known_keys(cls) -> list[str]:
        """What a user may write, to find the nearest to a slip."""
        return list(cls.model_fields)

    @field_validator("*", mode="before")
    @classmethod
    def _truth_is_no_number(cls, value: Any, about: ValidationInfo) -> Any:
        """Python takes `true` for 1."""
        kinds = leaves(cls.model_fields[str(about.field_name)].annotation)
        if isinstance(value, bool) and {int, float} & set(kinds) and bool not in kinds:
            raise ValueError("should be a number, not a truth value as YAML reads yes and on")
        return value


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """YAML itself keeps the last of two keys of one name, and drops the first in silence."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        lines = dict[str, int]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in lines:
                again = f"key {key.value!r} again (first in line {lines[key.value]})"
                raise yaml.composer.ComposerError(None, None, again, key.start_mark)
            lines[key.value] = key.start_mark.line + 1
        return node


def read_yaml(text: str, where: str | Path) -> Any:
    """The plain values that a YAML text holds; `where` is how a message names the text."""
    try:
        value = yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        reason = one_line(": ".join(filter(None, [error.context, error.problem])))
        raise UserError(f"{where}:{line}: not YAML: {reason}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a number of very many digits
        raise UserError(f"{where}: not YAML: {one_line(str(error))}") from None
    refuse_unplain(value, where)
    return value


def yaml_beside(module: str, name: str) -> Any:
    """What one of our own files holds, which lies beside this module (`__file__`)."""
    return yaml.safe_load(Path(module).with_name(name).read_text("utf-8"))


def refuse_unplain(value: Any, where: str | Path = "configuration") -> None:
    """Refuse what JSON cannot hold, texts that no file and no path can hold, and secrets: all of
    it is stored with a run, in run.json."""
    for number, (path, v) in enumerate(_values(value, ())):
        at = one_line(".".join(path)) or str(where)
        if number > MOST_VALUES or len(path) > DEEPEST:
            raise UserError(f"{where}: {one_line(at, 60)}: nested too deep, or a part of itself")
        if isinstance(v, str) and not is_encodable(v):
            raise UserError(f"{at}: {shown(v)} has a NUL or a character that is not UTF-8")
        if isinstance(v, str) and (plain := without_secrets(v)) != v:
            reason = f"holds credentials: they belong in the environment (got {shown(plain)})"
            raise UserError(f"{at}: {reason}")
        if not isinstance(v, str | int | float | Mapping | list | tuple | PathLike | None):
            if not isinstance(v, type):
                raise UserError(f"{at}: a {type(v).__name__} is no value here: write it as a text")
            home = v.__module__.replace("__main__", "my_judge")
            how = f"put it into {home}.py (in a notebook: `%%writefile {home}.py`)"
            how = f"{how if home == 'my_judge' else 'write it'} as '{home}:{v.__name__}'"
            raise UserError(f"{at}: a class is no value here, as workers import judges: {how}")


def as_path(value: AnyPath, argument: str) -> str:
    if not isinstance(value, str | PathLike):
        kind = type(value).__name__
        raise UserError(f"{argument}: give a path as a text, not a value of type {kind}")
    return fspath(value)


def is_temporary(out: str) -> bool:
    """Whether a run's folder goes with its outcome in Python."""
    return Path(out).parent.name.startswith(TEMPORARY)


def as_plain(value: Any) -> Any:
    """The value with each path of pathlib as a text."""
    if isinstance(value, Mapping):
        return {key: as_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(inner) for inner in value]
    return fspath(value) if isinstance(value, PathLike) else value


def _values(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, value
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield path, key
            yield from _values(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _values(inner, (*path, str(number)))


def read_settings(kind: type[M], values: Mapping[str, Any], where: str, place: str = "") -> M:
    """`where` is how the user finds the key: `judges.synthetic`; `place`: as for `refused`."""
    try:
        return kind.model_validate(values, context=where)
    except ValidationError as error:
        by_key: dict[tuple[str, ...], list[ErrorDetails]] = {}
        for mistake in error.errors():
            by_key.setdefault(_key_in(kind, values, mistake), []).append(mistake)
        around = {key[:length] for key in by_key for length in range(1, len(key))}
        lines = [_complaint(kind, where, key, by_key[key]) for key in by_key if key not in around]
        refusal = refused(place, lines)
        refusal.declared = kind
        raise refusal from None


def _key_in(kind: type[Settings], settings: Any, mistake: ErrorDetails) -> tuple[str, ...]:
    """Where in the given settings the mistake is, without pydantic's names of a value's forms."""
    path, (*around, last) = list[str](), mistake["loc"] or ("",)
    for step in mistake["loc"]:
        if step in settings if isinstance(settings, Mapping) else isinstance(step, int):
            path.append(str(step))
            settings = settings[step]
    model = _model_at(kind, around)
    if model and last in model.model_fields and path[-1:] != [last]:  # it is left out
        path.append(str(last))
    return tuple(path)


def _complaint(
    kind: type[Settings], where: str, key: Sequence[str], mistakes: Sequence[ErrorDetails]
) -> str:
    """What is wrong with one key: with its value in each of the forms that it may have."""
    at, mistake, value = ".".join(filter(None, [where, *key])), mistakes[0], mistakes[0]["input"]
    first, *forms = dict.fromkeys(map(plain_words, mistakes))
    text = " or ".join([first, *(form.removeprefix("should be ") for form in forms)])
    *around, last = mistake["loc"] or ("",)
    model = _model_at(kind, around)
    if mistake["type"] == "extra_forbidden" and model:
        inner = {name: _model_at(model, [name]) for name in model.model_fields}
        homes = [n for n, at in inner.items() if at and at is not model and last in at.model_fields]
        homes = [n for n in homes if get_origin(model.model_fields[n].annotation) is not dict]
        text = unknown("key", key[-1], model.known_keys())
        home = f"{homes[0]}.{last}" if homes else model.homes.get(str(last))
        if home:  # it stands one level too high
            text = f"unknown key {last!r}: did you mean {home!r}?"
        elif model is not kind and not get_close_matches(str(last), model.known_keys()):
            near = get_close_matches(str(last), kind.known_keys(), 1, 0.8)  # or too low
            text = f"unknown key {last!r}: did you mean {near[0]!r}, at the top?" if near else text
        at = at.rpartition(".")[0]
    elif mistake["type"] in ("missing", "string_pattern_mismatch") and model:
        described = model.model_fields.get(str(last))
        text = ": ".join(filter(None, [text, described and described.description]))
    elif not isinstance(value, Mapping | list):
        got = json.dumps(value, ensure_ascii=False, default=str)
        text += f" (got {one_line(without_secrets(got), QUOTED)})"
    return f"{at}: {text}" if at else text


def _model_at(kind: Any, path: Sequence[int | str]) -> type[Settings] | None:
    for step in path:
        field = kind.model_fields.get(step) if hasattr(kind, "model_fields") else None
        inner = [k for k in leaves(field.annotation if field else kind) if is_settings(k)]
        kind = inner[0] if inner else kind
    return kind if is_settings(kind) else None


def is_settings(kind: Any) -> TypeGuard[type[Settings]]:
    return isinstance(kind, type) and issubclass(kind, Settings)


def leaves(annotation: Any) -> list[type]:
    """The types that an annotation is made of: int and str of `list[int] | str`."""
    parts = getattr(annotation, "__args__", ())
    if parts:
        return [leaf for part in parts for leaf in leaves(part)]
    return [annotation] if isinstance(annotation, type) else []
