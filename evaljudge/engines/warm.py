"""Engines that stay open from one run of this process to the next."""

from copy import copy
from typing import Any, Self, cast

from evaljudge.engines.source import Engine, Engines, ModelSource
from evaljudge.errors import Ended


class WarmEngines:
    """Opens each engine once; runs that close it leave it open. All else is the engines' own.

    `only`: the model that stays open; others are opened and closed as ever.
    """

    def __init__(self, engines: Engines, only: ModelSource | None = None) -> None:
        self._engines, self._only = engines, only
        self.opened: dict[str, Engine] = {}
        self._in_this_run: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engines, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """What travels to a worker opens an engine there, and closes it."""
        return copy, (self._engines,)

    def begin_run(self) -> None:
        self._in_this_run.clear()

    def open(self, source: ModelSource, seed: int) -> Engine:
        """A run opens an engine a second time only if the first has died."""
        if self._only:
            if source != self._only:
                return self._engines.open(source, seed)
            source = self._only  # with its longest prompt
        name = f"{source} {seed}"
        if name in self._in_this_run and name in self.opened:
            self.opened.pop(name).close()
        if name not in self.opened:
            self.opened[name] = self._engines.open(source, seed)
        self._in_this_run.add(name)
        return cast(Engine, _LeftOpen(self.opened[name]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, Ended):  # a step may take longer than there is
            self.close()

    def close(self) -> None:
        while self.opened:
            self.opened.popitem()[1].close()


class _LeftOpen:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """A run is over."""
