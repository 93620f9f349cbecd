"""What the metrics over an encoder's token vectors share: the encoder, and what is compared.

    bertscore: {model: roberta-large}
    mover: {model: /models/minilm, n: 2, against: source}

The user names the encoder by its hub name or its folder; there is no default. The driver looks up
its revision when `facts` is first read. The revision travels with the metric, so that all workers
load the same one. Every distinct text of one `measure` is encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from evaljudge.engines import Identity, ModelSource, VllmEngines
from evaljudge.errors import UserError
from evaljudge.metrics.encoder import Embedded, TokenEncoder, opened
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.metrics.references import (
    Comparison,
    ReferenceSettings,
    compared_with,
    is_empty,
    measured,
)
from evaljudge.records import Case

NO_TOKENS = Unscored("no tokens")
"""The encoder's vocabulary reads nothing in the text, as in control characters alone."""
NOTHING_TO_COMPARE = Unscored("no tokens to compare with")
LAST = -1
_OPERATIONAL = frozenset({"model", "revision", "allow", "layer", "batch"})
"""Settings that the signature names in another way, or that change no number."""


class EncoderSettings(ReferenceSettings):
    model: Annotated[str, Field(validate_default=True)] = ""
    revision: str | None = None
    allow: Sequence[Literal["pickle"]] = ()
    layer: int | None = None
    batch: Annotated[int, Field(gt=0)] = 32

    @field_validator("model")
    @classmethod
    def _is_named(cls, model: str) -> str:
        if not model or "://" in model:
            raise ValueError("name an encoder, by its hub name or its folder")
        return model


Likeness = Callable[[Embedded, Embedded], float]
"""How similar a candidate's tokens are to those of one other text."""


@dataclass(frozen=True)
class Embeddings:
    """A metric that compares a text's token vectors with those of one other text at a time."""

    name: str
    settings: EncoderSettings
    library: str
    likeness: Likeness
    layer: int = LAST
    made_by: Mapping[str, str] = field(default_factory=dict)
    """Further facts for the signature."""
    cautions: Sequence[str] = ()
    version: str = "2"

    @property
    def facts(self) -> Mapping[str, Any]:
        settings = self.settings.model_dump(exclude=set(_OPERATIONAL))
        made = {"model": str(self._identity), "layer": self.layer, "library": self.library}
        return {**settings, **made, **self.made_by}

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        texts = [text for case in cases for text in self._compared(case)]
        known = self._encoder().embed(texts, self.layer, self.settings.batch)
        return measured(cases, self.settings.against, partial(self._comparing, known))

    def _compared(self, case: Case) -> Iterator[str]:
        """The texts that must be encoded; none if there is nothing to compare with."""
        others = compared_with(case.document, self.settings.against)
        if not isinstance(others, Unscored):
            yield from others
            yield from (c.text for c in case.candidates if not is_empty(c.text))

    def _comparing(self, known: Mapping[str, Embedded], other: str) -> Comparison:
        return partial(self._value, known, known.get(other))

    def _value(self, known: Mapping[str, Embedded], other: Embedded | None, text: str) -> Value:
        if text not in known:
            return NO_TOKENS
        return NOTHING_TO_COMPARE if other is None else self.likeness(known[text], other)

    @cached_property
    def _identity(self) -> Identity:
        with self._naming_the_model():
            settings = self.settings
            allow = tuple(settings.allow)
            return VllmEngines().identify(
                ModelSource(settings.model, settings.revision, allow=allow)
            )

    def _encoder(self) -> TokenEncoder:
        commit = self._identity.commit
        with self._naming_the_model():
            encoder = opened(self.settings.model, commit, bool(self._identity.allow))
        layers = encoder.layers
        if not -layers - 1 <= self.layer <= layers:
            raise UserError(
                f"metrics.{self.name}.layer: the encoder has layers 0 (its input) to {layers}, or "
                f"-{layers + 1} to -1 from its end; not {self.layer}"
            )
        return encoder

    @contextmanager
    def _naming_the_model(self) -> Iterator[None]:
        """An error names the setting."""
        try:
            yield
        except UserError as error:
            raise UserError(f"metrics.{self.name}.model: {error}") from None


def libraries(where: str, *packages: str) -> str:
    """`transformers 5.19.0, torch 2.13.0`: what the numbers were made with."""
    try:
        return ", ".join(f"{package} {version(package)}" for package in packages)
    except PackageNotFoundError as error:
        raise UserError(
            f"{where}: the package {error.name} is missing: install evaljudge[embeddings]"
        ) from None
