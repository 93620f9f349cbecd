"""What the roles said of one text, read from its verdict's evidence; and as columns of a table.

    {"roles": [{"type": "Critic", "description": "Checks the writing.", "static": True,
                "votes": {"fixed": {"choice": "candidate", "confidence": 0.82, "reason": "…"}}}],
     "reference": {"from": "human", "text": "A flood."}, "dropped": [["Readers", "…"]], …}
    ->  Polled("d1", "A", "The river rose.",
               roles=(RolePlayer("Critic", "Checks the writing.", True,
                                 {"fixed": RoleVote("candidate", 0.82, "…")}),),
               origin="human", reference="A flood.", dropped=(("Readers", "…"),), …)

`fixed`: the reference is the first text and the candidate the second; `swapped`: the other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from evaljudge.judges.roles.readers import notes_in, readers_in
from evaljudge.model.asks import Failed
from evaljudge.records import Verdict

Order = Literal["fixed", "swapped"]
Choice = Literal["candidate", "reference"]
ORDERS: tuple[Order, ...] = ("fixed", "swapped")
NO_READERS = "readers could not be had: "
"""The beginning of the note that says why."""
NONE_WANTED = "none were asked for"
NONE_LEFT = "every one was dropped"


@dataclass(frozen=True, slots=True)
class RoleVote:
    """One role's choice in one order; `failed` says why there is none."""

    choice: Choice | None = None
    confidence: float | None = None
    reason: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class RolePlayer:
    type: str
    description: str
    static: bool
    votes: Mapping[Order, RoleVote]
    exact: Mapping[Order, float | Failed] = field(default_factory=dict)
    """p(candidate), where the model's own probabilities were asked for."""


@dataclass(frozen=True, slots=True)
class Polled:
    doc_id: str
    system: str
    text: str
    roles: tuple[RolePlayer, ...]
    origin: str
    """Where the reference comes from; empty where there is none."""
    reference: str
    plain: Mapping[Order, float | Failed]
    """p(candidate) by one question without roles, where that was asked."""
    dropped: tuple[tuple[str, str], ...]
    """Roles that were not asked, and why."""
    notes: tuple[str, ...]
    reason: str
    """Why there is no verdict at all; empty where there is one."""

    @property
    def orders(self) -> tuple[Order, ...]:
        """Those in which any role was asked."""
        asked = {order for role in self.roles for order in (*role.votes, *role.exact)}
        return tuple(order for order in ORDERS if order in asked)

    @property
    def no_readers(self) -> str:
        """Why no role was invented for the document; empty where one was."""
        if self.reason or any(not role.static for role in self.roles):
            return self.reason
        reasons = [n.removeprefix(NO_READERS) for n in self.notes if n.startswith(NO_READERS)]
        return "; ".join(reasons) or (NONE_LEFT if self.dropped else NONE_WANTED)


def read_polled(verdict: Verdict, text: str = "") -> Polled:
    """`text`: the candidate's, where it is shown."""
    evidence = verdict.evidence
    reference = evidence.get("reference", {"from": "", "text": ""})
    return Polled(
        doc_id=verdict.doc_id,
        system=verdict.system,
        text=text,
        roles=tuple(
            RolePlayer(
                role["type"],
                role["description"],
                role["static"],
                {order: RoleVote(**vote) for order, vote in role["votes"].items()},
                _chances(role.get("exact", {})),
            )
            for role in evidence.get("roles", ())
        ),
        origin=reference["from"],
        reference=reference["text"],
        plain=_chances(evidence.get("plain", {})),
        dropped=tuple((type_, why) for type_, why in evidence.get("dropped", ())),
        notes=tuple(evidence.get("notes", ())),
        reason=verdict.reason if verdict.status == "unscored" else "",
    )


def _chances(asked: Mapping[Order, Any]) -> dict[Order, float | Failed]:
    return {
        order: Failed(one["failed"]) if isinstance(one, Mapping) else float(one)
        for order, one in asked.items()
    }


# columns of a table


class RoleVoteColumns(TypedDict):
    choice: str | None
    confidence: float | None
    reason: str | None
    failed: str | None


class ReaderColumns(TypedDict):
    type: str
    description: str


class PlayerColumns(ReaderColumns):
    """`votes` and `exact` by the order in which the two texts were shown."""

    static: bool
    votes: Mapping[str, RoleVoteColumns]
    exact: Mapping[str, float | None]


class DroppedColumns(TypedDict):
    type: str
    reason: str


class RolesColumns(TypedDict):
    """`plain` by order; empty where the question without roles was not asked."""

    roles: list[PlayerColumns]
    reference: str
    reference_from: str
    plain: Mapping[str, float | None]
    dropped: list[DroppedColumns]
    notes: list[str]


class RolesBriefColumns(TypedDict):
    """`readers` and `notes` of the part `readers`, `text` of the part `reference`."""

    readers: list[ReaderColumns] | None
    notes: list[str] | None
    text: str | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[RolesColumns]:
    return [
        {
            "roles": [role | {"exact": _numbers(role.get("exact", {}))} for role in one["roles"]],
            "reference": one["reference"]["text"],
            "reference_from": one["reference"]["from"],
            "plain": _numbers(one.get("plain", {})),
            "dropped": [{"type": type_, "reason": why} for type_, why in one["dropped"]],
            "notes": one["notes"],
        }
        for one in evidence
    ]


def _numbers(asked: Mapping[Order, Any]) -> dict[str, float | None]:
    """p(candidate); null where the question had no usable answer."""
    return {order: None if isinstance(p, Failed) else p for order, p in _chances(asked).items()}


def brief_columns(contents: Sequence[Mapping[str, Any]]) -> list[RolesBriefColumns]:
    found: list[RolesBriefColumns] = []
    for content in contents:
        if "text" in content:
            found.append({"readers": None, "notes": None, "text": content["text"]})
            continue
        readers: list[ReaderColumns] = [
            {"type": role.type, "description": role.description} for role in readers_in(content)
        ]
        found.append({"readers": readers, "notes": notes_in(content), "text": None})
    return found
