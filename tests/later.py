"""Modules that take seconds to import: by the first test that uses one, not by all who collect."""

from importlib import import_module
from typing import Any


class Later:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # pytest asks every name of a module what it is
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)
