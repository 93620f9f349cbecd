"""Libraries that take seconds to import, in the processes alone whose tests use them: each of
pytest's processes collects all tests.

torch = Lazily("torch")
"""

from importlib import import_module
from typing import Any


class Lazily:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest asks all names of a module what they are
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)
