"""How outside input becomes typed settings: unknown keys are refused with the nearest known one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from evaljudge.errors import UserError, unknown

M = TypeVar("M", bound="Settings")


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


def read_settings(kind: type[M], given: Mapping[str, Any], where: str) -> M:
    """`where` is how the user finds the key: `judges.synthetic`."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise UserError(_said(kind, error, where)) from None


def _said(kind: type[Settings], error: ValidationError, where: str) -> str:
    # a misspelt key is often a missing one too: the slip is what helps
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    at = ".".join(filter(None, [where, *map(str, first["loc"])]))
    if first["type"] == "extra_forbidden":
        home, _, key = at.rpartition(".")
        return f"{home or 'configuration'}: {unknown('key', key, _known(kind, first['loc'][:-1]))}"
    said = first["msg"].removeprefix("Value error, ")
    plain = isinstance(first["input"], str | int | float | None)
    got = f" (got {first['input']!r})" if plain and first["type"] != "missing" else ""
    return f"{at}: {said}{got}" if at else said


def _known(kind: Any, path: tuple[int | str, ...]) -> list[str]:
    """The keys that the model at this path of the configuration has."""
    for step in path:
        field = kind.model_fields.get(step) if hasattr(kind, "model_fields") else None
        inner = _models_in(field.annotation) if field else _models_in(kind)
        kind = inner[0] if inner else kind
    return list(getattr(kind, "model_fields", {}))


def _models_in(annotation: Any) -> list[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for part in getattr(annotation, "__args__", ()) for m in _models_in(part)]
