"""What the judges of entities and of roles found in a whole run, and what the page shows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaljudge.judges.entities.evidence import JudgedText
from evaljudge.judges.roles.evidence import PolledText


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of how many, and what half of them have at most; None of none."""

    of: int
    median: float | None
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class AspectRow:
    """How many entities (of readability: sentences) have each verdict, by which rule."""

    aspect: str
    verdicts: Mapping[str, int]
    unscored: int  # without any ballot
    rules: Mapping[str, int]  # none of readability, where nothing is voted on


@dataclass(frozen=True, slots=True)
class EntityRow:
    """What one judge of entities found in the whole run."""

    judge: str
    candidates: int
    entities: Sizes  # of a candidate, of those where they could be had
    dropped: int  # that no words of their text support
    rubrics: Sizes  # of a document, of those that have one
    without_rubric: Mapping[str, int]  # documents, by the reason
    aspects: Sequence[AspectRow]
    structured: int  # replies of a given form
    cut: int  # of them, at their token limit
    malformed: int


@dataclass(frozen=True, slots=True)
class EntityView:
    """The candidates that the page shows with their entities, as far as it goes."""

    judge: str
    shown: Sequence[JudgedText]
    left_out: int  # candidates of the run that it does not show
    full: bool  # some of them because the page would be too large


@dataclass(frozen=True, slots=True)
class EntityAgreementRow:
    """A judge's verdicts on one aspect beside people's labels of the same entities."""

    judge: str
    aspect: str
    file: str
    kappa: float | None  # Cohen's; None where undefined
    low: float | None
    high: float | None
    same: float | None  # the share of n where verdict and label are the same
    n: int
    unscored: int  # labelled entities without a verdict
    unmet: int  # labels of no entity of the run
    blank: int  # rows without a label


@dataclass(frozen=True, slots=True)
class OrderRow:
    """All roles' votes with the texts in one order; `failed` ones chose neither."""

    order: str
    candidate: int
    reference: int
    failed: int
    confidence: float | None  # the mean over votes


@dataclass(frozen=True, slots=True)
class RoleRow:
    """What one judge of role-players found in the whole run."""

    judge: str
    candidates: int
    documents: int
    static: Sizes  # roles of a candidate, of those that have any
    dynamic: Sizes
    votes: Sequence[OrderRow]
    failed: Mapping[str, int]  # votes, by the reason
    both: int  # roles with a vote on a candidate in both orders
    both_first: int  # of them, those that chose the first text both times
    both_second: int
    without_readers: Mapping[str, int]  # documents, by the reason
    dropped: Mapping[str, int]  # roles of documents, by the reason
    notes: Mapping[str, int]  # documents
    roles: Sizes  # of a document, static and dynamic, of those that have any
    fewer: int  # documents that have fewer roles than those with the most


@dataclass(frozen=True, slots=True)
class RoleView:
    """The candidates that the page shows with their roles' votes, as far as it goes."""

    judge: str
    shown: Sequence[PolledText]
    left_out: int  # candidates of the run that it does not show
    full: bool  # some of them because the page would be too large
