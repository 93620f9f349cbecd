"""How outside input becomes typed settings: unknown keys are refused with the nearest known one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from evaljudge.errors import UserError, together, unknown

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
PYTHON = re.compile("^(Value error, |(Input|String|Value) (?=should))")


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    @classmethod
    def known_keys(cls) -> list[str]:
        """What a user may write, to find the nearest to a slip."""
        return list(cls.model_fields)


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
        elif step in _known(kind, path):  # left out, and its default is what is wrong
            path.append(step)
            given = {}
    return tuple(path)


def _one_mistake(kind: type[Settings], mistake: ErrorDetails, path: Sequence[str]) -> str:
    at = ".".join(filter(None, path))
    if mistake["type"] == "extra_forbidden":
        home, _, key = at.rpartition(".")
        known = _known(kind, mistake["loc"][:-1])
        return f"{home or 'configuration'}: {unknown('key', key, known)}"
    said = PLAIN.get(mistake["type"], re.sub(PYTHON, "", mistake["msg"]))
    plain = isinstance(mistake["input"], str | int | float | None)
    got = f" (got {mistake['input']!r})" if plain and mistake["type"] != "missing" else ""
    return f"{at}: {said}{got}" if at else said


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
