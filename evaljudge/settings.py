"""How outside input becomes typed settings: unknown keys are refused with the nearest known one.

    read_yaml("levels: 5\nlevels: 9", "c.yaml")
    -> UserError("c.yaml:2: key 'levels' again (first in line 1)")
    read_settings(Levels, {"levles": 5}, "judges.synthetic")
    -> UserError("judges.synthetic: unknown key 'levles': did you mean 'levels'?")

Settings hold what JSON can hold: texts, numbers, true and false, null, lists and mappings. A date
in YAML is read as the text that it is written as.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from evaljudge.errors import UserError, together, unknown
from evaljudge.text import QUOTED, is_encodable, one_line, shown

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound="Settings")
PLAIN = {
    "missing": "is needed",
    "dict_type": "should be a mapping of keys to values",
    "model_type": "should be a mapping of keys to values",
    "model_attributes_type": "should be a mapping of keys to values",
    "list_type": "should be a list",
    "string_too_short": "should not be empty",
    "too_short": "should not be empty",
    "string_type": "should be a text",
    "bool_parsing": "should be true or false",
    "bool_type": "should be true or false",
    "int_type": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_from_float": "should be a whole number",
    "float_type": "should be a number",
    "float_parsing": "should be a number",
}
"""Plain words for those of pydantic's messages that speak of Python."""
DEEPEST, MOST_VALUES = 30, 10_000
"""Of levels and values in one configuration: one whose YAML repeats a part of itself can have
endlessly many."""
TIMESTAMP = "tag:yaml.org,2002:timestamp"
PYTHON = re.compile("^(Value error, |(Input|String|Value) (?=should))")


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)

    @classmethod
    def known_keys(cls) -> list[str]:
        """What a user may write, to find the nearest to a slip."""
        return list(cls.model_fields)


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
    """Refuse what JSON cannot hold, and texts that no file and no path can hold."""
    for number, (path, one) in enumerate(_values(value, ())):
        at = one_line(".".join(path)) or str(where)
        if number > MOST_VALUES or len(path) > DEEPEST:
            raise UserError(f"{where}: {one_line(at, 60)}: nested too deep, or a part of itself")
        if isinstance(one, str) and not is_encodable(one):
            raise UserError(f"{at}: {shown(one)} has a NUL or a character that is not UTF-8")
        if not isinstance(one, str | int | float | Mapping | list | tuple | None):
            raise UserError(f"{at}: a {type(one).__name__} is no value here: write it as a text")


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


def read_settings(kind: type[M], given: Mapping[str, Any], where: str) -> M:
    """`where` is how the user finds the key: `judges.synthetic`."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise UserError(_all_mistakes(kind, given, error, where)) from None


def _all_mistakes(
    kind: type[Settings], given: Mapping[str, Any], error: ValidationError, where: str
) -> str:
    """One mistake for each key. Where a value may have several forms, pydantic says of each why it
    does not fit: the form that fits furthest is taken to be meant."""
    mistakes = error.errors()
    unknowns = [mistake for mistake in mistakes if mistake["type"] == "extra_forbidden"]
    meant = {(*path, _meant(kind, path, key)) for *path, key in (m["loc"] for m in unknowns)}
    one_each = dict[tuple[int | str, ...], str]()
    for mistake in mistakes:
        if mistake["type"] != "missing" or mistake["loc"] not in meant:
            key = _key_in(kind, given, mistake)
            one_each.setdefault(key, _one_mistake(kind, mistake, [where, *map(str, key)]))
    around = {key[:length] for key in one_each for length in range(len(key))}
    return together([said for key, said in one_each.items() if key not in around or not key])


def _meant(kind: type[Settings], path: Sequence[int | str], key: int | str) -> str:
    """The known key nearest to a misspelt one, which is not reported as missing, too."""
    return next(iter(get_close_matches(str(key), _known(kind, path), n=1)), "")


def _key_in(kind: type[Settings], given: Any, mistake: ErrorDetails) -> tuple[int | str, ...]:
    """Where in the given settings the mistake is, without pydantic's names of forms."""
    path = list[int | str]()
    for step in mistake["loc"]:
        if step in given if isinstance(given, Mapping) else isinstance(step, int):
            path.append(step)
            given = given[step]
        elif step in _known(kind, path):  # left out: the default is wrong, or the short form
            path.append(step)
            given = {} if isinstance(given, Mapping) else given
    return tuple(path)


def _one_mistake(kind: type[Settings], mistake: ErrorDetails, path: Sequence[str]) -> str:
    at = ".".join(filter(None, path))
    if mistake["type"] == "extra_forbidden":
        home, _, key = at.rpartition(".")
        known = _known(kind, mistake["loc"][:-1])
        said = unknown("key", key, known)
        if inner := _inside(kind, key) if len(mistake["loc"]) == 1 else "":
            said = f"unknown key {key!r}: did you mean {inner!r}?"
        return f"{home or 'configuration'}: {said}"
    said = PLAIN.get(mistake["type"], re.sub(PYTHON, "", mistake["msg"]))
    plain = isinstance(mistake["input"], str | int | float | None)
    got = f" (got {_shown(mistake['input'])})" if plain and mistake["type"] != "missing" else ""
    return f"{at}: {said}{got}" if at else said


def _inside(kind: type[Settings], key: str) -> str:
    """Where a key is known that is not one of the settings themselves, but of a part of them."""
    for name, field in kind.model_fields.items():
        if any(key in part.known_keys() for part in _models_in(field.annotation)):
            return f"{name}.{key}"
    return ""


def _shown(value: Any) -> str:
    return shown(value) if isinstance(value, str) else one_line(repr(value), QUOTED)


def _known(kind: Any, path: Sequence[int | str]) -> list[str]:
    """The keys that the model at this path of the configuration has."""
    for step in path:
        field = kind.model_fields.get(step) if hasattr(kind, "model_fields") else None
        inner = _models_in(field.annotation) if field else _models_in(kind)
        kind = inner[0] if inner else kind
    return kind.known_keys() if isinstance(kind, type) and issubclass(kind, Settings) else []


def _models_in(annotation: Any) -> list[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for part in getattr(annotation, "__args__", ()) for m in _models_in(part)]
