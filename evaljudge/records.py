"""The frozen records that all layers exchange.

A case is a document with its candidates. A judge turns the document into briefs, the case into
verdicts, and verdicts into scores:

    Case(Document("d1", "The river rose ..."), (Candidate("A", "A flood.", {"coherence": 4.0}),))
    Brief("d1", "k9f…", "synthetic", "coherence", {"rating": 5.0, "text": "…"}, …)
    Verdict("d1", "A", "synthetic", "coherence", {"levels": […]}, …)
    Score("d1", "A", "synthetic.level", "coherence", 3.9, …)
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, attrgetter
from typing import Any, Literal

Status = Literal["ok", "unscored"]
MILLION = 1_000_000
NAMELESS = re.compile(r"text \d+")  # the systems of a corpus that names none
ANY_AXIS = "*"  # the axis of a scorer that has no axes of its own
ANY_SYSTEM = "*"  # stands for the system where a verdict is on a document's own references
HUMAN = "human"  # the name under which people's ratings stand among the scorers


@dataclass(frozen=True, slots=True)
class Axis:
    """One quality dimension; `context`: the document's context is shown when it is judged."""

    name: str
    description: str
    context: bool = False
    phrase: str = ""  # what prompts call it (`overall quality`); empty for its name, in words

    @property
    def words(self) -> dict[str, str]:
        """The axis's words for the slots of prompts."""
        phrase = self.phrase or self.name.replace("_", " ")
        return {"axis": phrase, "description": self.description}


@dataclass(frozen=True, slots=True)
class Document:
    doc_id: str
    source: str
    references: tuple[str, ...] = ()
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    system: str
    text: str
    ratings: Mapping[str, float] = field(default_factory=dict)
    raters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Each rating on axes rated by several, NaN where one gave none; `ratings` has the mean."""


@dataclass(frozen=True, slots=True)
class Case:
    """A document with all its candidates: the unit of work, of retry and of commit."""

    document: Document
    candidates: tuple[Candidate, ...]

    @property
    def size(self) -> int:
        """The bytes of the longest texts that a prompt may hold together.

        Bytes and not letters, as the scripts that have more bytes in a letter have more tokens.
        """
        candidates = [in_bytes(c.text) for c in self.candidates]
        return self.whole_size - sum(candidates) + max(candidates, default=0)

    @property
    def whole_size(self) -> int:
        document = self.document
        others = (document.source, document.context or "", *document.references)
        return sum(map(in_bytes, (*others, *(c.text for c in self.candidates))))


def in_bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


@dataclass(frozen=True, slots=True)
class Tokens:
    """What asking cost: asks, engine requests, and the tokens that went in, were cached, came out.

    `floor` is the least that could have been prefilled at this block size, had the prefix cache
    served every token that two prompts of one case (or all templates' heads) have in common.
    `further`: of the prompt tokens, those of an ask's second request and on (an option of several
    tokens is stepped down, and how far depends on the reply): the rest is known beforehand.
    """

    asks: int = 0
    requests: int = 0
    prompt: int = 0
    cached: int = 0
    generated: int = 0
    floor: int = 0
    further: int = 0

    @property
    def prefilled(self) -> int:
        return self.prompt - self.cached

    def priced(self, price: Sequence[float]) -> float:
        """`price`: of a million prompt tokens, of those that were cached, and of generated ones."""
        counts = self.prefilled, self.cached, self.generated
        return sum(n * each for n, each in zip(counts, price, strict=True)) / MILLION

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(*map(add, self.counts, other.counts))

    @property
    def counts(self) -> tuple[int, ...]:
        return _COUNTS(self)


_COUNTS: Callable[[Tokens], tuple[int, ...]] = attrgetter(*Tokens.__slots__)


@dataclass(frozen=True, slots=True)
class Brief:
    """One part of what a judge prepares from a document alone; `key` says when it may be reused."""

    doc_id: str
    key: str
    judge: str
    axis: str
    part: str
    content: Mapping[str, Any]
    status: Status = "ok"
    reason: str = ""
    signature: str = ""
    tokens: Tokens = Tokens()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The evidence on one candidate, on one axis, from one judge."""

    doc_id: str
    system: str
    judge: str
    axis: str
    evidence: Mapping[str, Any]
    status: Status = "ok"
    reason: str = ""
    tokens: Tokens = Tokens()


@dataclass(slots=True, unsafe_hash=True)
class Score:
    """One number per candidate, scorer and axis; or unscored, with the reason.

    Not frozen, but not to be changed: a run has millions, and frozen ones take three times as long
    to make.
    """

    doc_id: str
    system: str
    scorer: str
    axis: str
    value: float | None
    reason: str = ""
    signature: str = ""
    doubt: float | None = None
    """How undecided the judge was, from 0 (certain) to 1 (every answer equally likely); None: this
    scorer does not say."""
    low: float | None = None  # where the interval of a calibrated score begins, and ends
    high: float | None = None

    @property
    def status(self) -> Status:
        return "unscored" if self.value is None else "ok"


@dataclass(frozen=True, slots=True)
class Critique:
    """What a model wrote about a score once it was there: it explains, and changes nothing."""

    doc_id: str
    system: str
    scorer: str
    axis: str
    value: float
    model: str
    text: str

    @property
    def caution(self) -> str:
        return f"Written after the score, by {self.model}; it does not change the score."

    @property
    def about(self) -> str:
        on = "" if self.axis == ANY_AXIS else f" on {self.axis}"
        return f"Why {self.value:.4g} by {self.scorer}{on}?"
