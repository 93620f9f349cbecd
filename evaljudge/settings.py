"""How outside input becomes typed settings: unknown keys are refused with the nearest known one.

    read_yaml("levels: 5\nlevels: 9", "c.yaml")
    -> UserError("c.yaml:2: key 'levels' again (first in line 1)")
    read_settings(Levels, {"levles": 5}, "judges.synthetic")
    -> UserError("judges.synthetic: unknown key 'levles': did you mean 'levels'?")

Settings hold what JSON can hold: texts, numbers, true and false, null, lists and mappings. A date
in YAML is read as the text that it is written as.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from evaljudge.errors import UserError, plain_words, refused, unknown
from evaljudge.text import QUOTED, is_encodable, one_line, shown, without_secrets

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound="Settings")
AnyPath = str | PathLike[str]
Paths = AnyPath | Sequence[AnyPath]
SHOULD_BE = "should be "
DEEPEST, MOST_VALUES = 30, 10_000
"""Of levels and values in one configuration: one whose YAML repeats a part of itself can have
endlessly many."""
TIMESTAMP = "tag:yaml.org,2002:timestamp"


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)

    @classmethod
    def known_keys(cls) -> list[str]:
        """What a user may write, to find the nearest to a slip."""
        return list(cls.model_fields)

    @field_validator("*", mode="before")
    @classmethod
    def _truth_is_no_number(cls, given: Any, about: ValidationInfo) -> Any:
        """Python takes `true` for 1."""
        kinds = _leaves(cls.model_fields[str(about.field_name)].annotation)
        if isinstance(given, bool) and {int, float} & set(kinds) and bool not in kinds:
            raise ValueError("should be a number, not a truth value as YAML reads yes and on")
        return given


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag != TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def read_yaml(text: str, where: str | Path) -> Any:
    """The plain values that a YAML text holds; `where` is how a message names the text."""
    try:
        _refuse_odd_events(text, where)
        _refuse_repeated_keys(yaml.compose(text, _Loader), where, set())
        value = yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        said = one_line(": ".join(filter(None, [error.context, error.problem])))
        hint = "indent with spaces, keys of one mapping alike; put texts with signs in quotes"
        raise UserError(f"{where}:{line}: not YAML: {said}: {hint}") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a number of very many digits
        raise UserError(f"{where}: not YAML: {one_line(str(error))}") from None
    refuse_unplain(value, where)
    return value


def _refuse_odd_events(text: str, where: str | Path) -> None:
    """Refuse tags, and what is nested so deep that the parser would exhaust Python's stack."""
    depth = 0
    for event in yaml.parse(text, _Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if tag := getattr(event, "tag", None):
            raise UserError(f"{where}:{line}: the tag {shown(tag)} is not read here: remove it")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise UserError(f"{where}:{line}: nested deeper than {DEEPEST} levels")


def _refuse_repeated_keys(node: yaml.Node | None, where: str | Path, seen: set[int]) -> None:
    """YAML itself keeps the last of two keys of one name, and drops the first in silence.

    `seen`: the nodes looked through so far, since one with an anchor may stand in several places.
    """
    if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
        return
    seen.add(id(node))
    lines = dict[str, int]()
    for inner in node.value:
        key, value = inner if isinstance(inner, tuple) else (None, inner)
        if isinstance(key, yaml.ScalarNode):
            line = key.start_mark.line + 1
            if key.value in lines:
                first = lines[key.value]
                raise UserError(f"{where}:{line}: key {key.value!r} again (first in line {first})")
            lines[key.value] = line
        _refuse_repeated_keys(value, where, seen)


def refuse_unplain(value: Any, where: str | Path = "configuration") -> None:
    """Refuse what JSON cannot hold, texts that no file and no path can hold, and secrets: all of
    it is stored with a run, in run.json."""
    for number, (path, one) in enumerate(_values(value, ())):
        at = one_line(".".join(path)) or str(where)
        if number > MOST_VALUES or len(path) > DEEPEST:
            raise UserError(f"{where}: {one_line(at, 60)}: nested too deep, or a part of itself")
        if isinstance(one, str) and not is_encodable(one):
            raise UserError(f"{at}: {shown(one)} has a NUL or a character that is not UTF-8")
        if isinstance(one, str) and (plain := without_secrets(one)) != one:
            said = f"holds credentials: they belong in the environment (got {shown(plain)})"
            raise UserError(f"{at}: {said}")
        if not isinstance(one, str | int | float | Mapping | list | tuple | PathLike | None):
            raise UserError(f"{at}: a {type(one).__name__} is no value here: write it as a text")


def as_path(given: AnyPath, argument: str) -> str:
    """A path or URI as a text."""
    if not isinstance(given, str | PathLike):
        kind = type(given).__name__
        raise UserError(f"{argument}: give a path as a text, not a value of type {kind}")
    return fspath(given)


def as_paths(given: Paths, argument: str) -> tuple[str, ...]:
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return tuple(as_path(one, argument) for one in several)


def as_plain(value: Any) -> Any:
    """The value with each path of pathlib as a text."""
    if isinstance(value, Mapping):
        return {key: as_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(inner) for inner in value]
    return fspath(value) if isinstance(value, PathLike) else value


def _values(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value and key inside a value, with the path to it."""
    yield path, value
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield path, key
            yield from _values(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _values(inner, (*path, str(number)))


def read_settings(kind: type[M], given: Mapping[str, Any], where: str, place: str = "") -> M:
    """`where` is how the user finds the key: `judges.synthetic`; `place`: as for `refused`."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise refused(place, _all_mistakes(kind, given, error, where)) from None


def _all_mistakes(
    kind: type[Settings], given: Mapping[str, Any], error: ValidationError, where: str
) -> list[str]:
    """One mistake for each key. Where a value may have several forms, pydantic says of each why it
    does not fit: the form that fits furthest is taken to be meant."""
    of_key: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for mistake in error.errors():
        of_key.setdefault(_key_in(kind, given, mistake), []).append(mistake)
    around = {key[:length] for key in of_key for length in range(len(key))}
    return [
        _one_mistake(kind, several, [where, *map(str, key)])
        for key, several in of_key.items()
        if key not in around or not key
    ]


def _key_in(kind: type[Settings], given: Any, mistake: ErrorDetails) -> tuple[int | str, ...]:
    """Where in the given settings the mistake is, without pydantic's names of forms."""
    path = list[int | str]()
    for step in mistake["loc"]:
        if step in given if isinstance(given, Mapping) else isinstance(step, int):
            path.append(step)
            given = given[step]
    *around, last = mistake["loc"] or ("",)
    if isinstance(given, Mapping) and path == around:  # the key is left out, and needed
        path += [last for model in _models_at(kind, around) if last in model.known_keys()]
    return tuple(path)


def _one_mistake(
    kind: type[Settings], mistakes: Sequence[ErrorDetails], path: Sequence[str]
) -> str:
    """What is wrong with one key: with its value in each of the forms that it may have."""
    at, mistake, value = ".".join(filter(None, path)), mistakes[0], mistakes[0]["input"]
    forms = list(dict.fromkeys(map(plain_words, mistakes)))
    said = " or ".join([forms[0], *(form.removeprefix(SHOULD_BE) for form in forms[1:])])
    models = _models_at(kind, mistake["loc"][:-1])
    if mistake["type"] == "extra_forbidden":
        at, _, key = at.rpartition(".")
        said = unknown("key", key, next((model.known_keys() for model in models), []))
        if inner := _inside(kind, key) if len(mistake["loc"]) == 1 else "":
            said = f"unknown key {key!r}: did you mean {inner!r}?"
    elif mistake["type"] == "missing":
        fields = (model.model_fields[str(mistake["loc"][-1])] for model in models)
        said += next((f": {field.description}" for field in fields if field.description), "")
    elif mistake["type"].endswith("_type") or not isinstance(value, Mapping | list):
        if mistake["type"] == "list_type" and isinstance(value, str):
            said += f": [{one_line(value, QUOTED)}]"
        if mistake["type"] == "string_type" and isinstance(value, int | float):
            said += ": write it in quotes"
        got = json.dumps(value, ensure_ascii=False, default=str)
        said += f" (got {one_line(without_secrets(got), QUOTED)})"
    return f"{at}: {said}" if at else said


def _inside(kind: type[Settings], key: str) -> str:
    """Where a key is known that is not one of the settings themselves, but of a part of them."""
    for name, field in kind.model_fields.items():
        if any(key in part.known_keys() for part in _models_in(field.annotation)):
            return f"{name}.{key}"
    return ""


def _models_at(kind: Any, path: Sequence[int | str]) -> list[type[Settings]]:
    """The forms of the settings at this path; empty where no mapping of settings is there."""
    for step in path:
        field = kind.model_fields.get(step) if hasattr(kind, "model_fields") else None
        inner = _models_in(field.annotation) if field else _models_in(kind)
        kind = inner[0] if inner else kind
    return [kind] if isinstance(kind, type) and issubclass(kind, Settings) else []


def _models_in(annotation: Any) -> list[Any]:
    return [one for one in _leaves(annotation) if issubclass(one, BaseModel)]


def _leaves(annotation: Any) -> list[type]:
    """The types that an annotation is made of: int and str of `list[int] | str`."""
    parts = getattr(annotation, "__args__", ())
    if parts:
        return [leaf for part in parts for leaf in _leaves(part)]
    return [annotation] if isinstance(annotation, type) else []
