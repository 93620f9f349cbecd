"""What the metrics over an encoder's token vectors share: the encoder, and what is compared.

The driver looks up the encoder's revision when `facts` is first read. The revision travels with the
metric, so that all workers load the same one. Every distinct text of one `measure` is encoded once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator

from evaljudge.engines import Identity, ModelSource, VllmEngines
from evaljudge.errors import UserError, naming
from evaljudge.metrics.encoder import Embedded, TokenEncoder, opened
from evaljudge.metrics.protocol import (
    Comparison,
    ReferenceSettings,
    Unscored,
    Value,
    compared_with,
    is_empty,
    libraries,
    measured,
)
from evaljudge.records import Case
from evaljudge.settings import Settings, read_settings

NEEDS_ENCODER = "a reference, or `against: source`; an encoder (`model`) and the extra `embeddings`"
NO_TOKENS = Unscored("no tokens")
"""The encoder's vocabulary reads nothing in the text, as in control characters alone."""
NOTHING_TO_COMPARE = Unscored("no tokens to compare with")
LAST = -1
_OPERATIONAL = frozenset({"model", "revision", "allow", "layer", "batch"})
"""Settings that the signature names in another way, or that change no number."""


class ModelSettings(Settings):
    """The settings of a metric that reads texts with its own model, which the user names."""

    kinds: ClassVar[Mapping[str, str]]
    """What its settings name that name a model."""
    model: Annotated[str, Field(validate_default=True)] = ""
    revision: str | None = None
    allow: Sequence[Literal["pickle"]] = ()

    @field_validator("model", "acceptability", check_fields=False)
    @classmethod
    def _is_named(cls, model: str, about: Any) -> str:
        if not model or "://" in model:
            kind, metric = cls.kinds[about.field_name], about.context.rpartition(".")[2]
            given = f"`{{{metric}: {{{about.field_name}: NAME}}}}`"
            raise ValueError(f"name {kind}, by its hub name or its folder: {given}")
        return model


class LayerSettings(ModelSettings):
    kinds = {"model": "an encoder"}
    layer: int | None = None
    batch: Annotated[int, Field(gt=0)] = 32


class EncoderSettings(ReferenceSettings, LayerSettings):
    """Settings of metrics that compare with a reference or the source."""


@dataclass(frozen=True)
class OverModel:
    """The part of a metric that finds its model: on this machine, or else on the hub."""

    name: str
    settings: ModelSettings
    library: str

    @classmethod
    def made(cls, kind: type[ModelSettings], name: str, given: Mapping[str, Any]) -> Self:
        where = f"metrics.{name}"
        settings = read_settings(kind, given, where)
        return cls(name, settings, libraries(where, "transformers", "torch"))

    @property
    def facts(self) -> Mapping[str, Any]:
        settings = self.settings.model_dump(exclude=set(_OPERATIONAL))
        return {**settings, "model": str(self._identity), "library": self.library}

    @cached_property
    def _identity(self) -> Identity:
        """Made on the driver; it travels, so that all workers read the commit that it saw."""
        with naming(f"metrics.{self.name}.model"):
            return identified(self.settings)


@dataclass(frozen=True)
class OverEncoder(OverModel):
    settings: LayerSettings
    layers: tuple[int, ...]

    @property
    def facts(self) -> Mapping[str, Any]:
        layer = self.layers[0] if len(self.layers) == 1 else list(self.layers)
        return {**super().facts, "layer": layer}

    def _encoder(self) -> TokenEncoder:
        identity = self._identity
        with naming(f"metrics.{self.name}.model"):
            encoder = opened(self.settings.model, identity.commit, bool(identity.allow))
        layers = encoder.layers
        if outside := [layer for layer in self.layers if not -layers - 1 <= layer <= layers]:
            raise UserError(
                f"metrics.{self.name}.layer: the encoder has layers 0 (its input) to {layers}, or "
                f"-{layers + 1} to -1 from its end; not {outside[0]}"
            )
        return encoder


Likeness = Callable[[Embedded, Embedded], Value]
"""How similar a candidate's tokens are to those of one other text."""


@dataclass(frozen=True)
class Embeddings(OverEncoder):
    """A metric that compares a text's token vectors with those of one other text at a time."""

    settings: EncoderSettings
    likeness: Likeness
    made_by: Mapping[str, str] = field(default_factory=dict)
    """Further facts for the signature."""
    cautions: Sequence[str] = ()
    version: str = "2"

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, **self.made_by}

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        texts = [text for case in cases for text in self._compared(case)]
        states = self._encoder().embed(texts, self.layers, self.settings.batch)
        return measured(cases, self.settings.against, partial(self._comparing, states))

    def _compared(self, case: Case) -> Iterator[str]:
        """The texts that must be encoded; none if there is nothing to compare with."""
        others = compared_with(case.document, self.settings.against)
        if not isinstance(others, Unscored):
            yield from others
            yield from (c.text for c in case.candidates if not is_empty(c.text))

    def _comparing(self, texts: Mapping[str, Embedded], other: str) -> Comparison:
        def value(text: str) -> Value:
            if text not in texts:
                return NO_TOKENS
            if other not in texts:
                return NOTHING_TO_COMPARE
            return self.likeness(texts[text], texts[other])

        return value


def identified(settings: ModelSettings) -> Identity:
    source = ModelSource(settings.model, settings.revision, None, allow=tuple(settings.allow))
    return VllmEngines().describe(source).identity
