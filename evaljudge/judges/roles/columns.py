"""The verdicts and briefs of `roles` as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from evaljudge.judges.roles.readers import notes_in, readers_in


class RoleVoteColumns(TypedDict):
    choice: str | None
    confidence: float | None
    reason: str | None
    failed: str | None


class PlayerColumns(TypedDict):
    """`votes` and `exact` by the order in which the two texts were shown."""

    type: str
    description: str
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


class ReaderColumns(TypedDict):
    type: str
    description: str


class RolesBriefColumns(TypedDict):
    """`readers` and `notes` of the part `readers`, `text` of the part `reference`."""

    readers: list[ReaderColumns] | None
    notes: list[str] | None
    text: str | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[RolesColumns]:
    return [
        {
            "roles": [_player(role) for role in one["roles"]],
            "reference": one["reference"]["text"],
            "reference_from": one["reference"]["from"],
            "plain": _chances(one.get("plain", {})),
            "dropped": [{"type": type_, "reason": why} for type_, why in one["dropped"]],
            "notes": one["notes"],
        }
        for one in evidence
    ]


def _player(role: Mapping[str, Any]) -> PlayerColumns:
    return {
        "type": role["type"],
        "description": role["description"],
        "static": role["static"],
        "votes": {order: _vote(vote) for order, vote in role["votes"].items()},
        "exact": _chances(role.get("exact", {})),
    }


def _vote(vote: Mapping[str, Any]) -> RoleVoteColumns:
    return {
        "choice": vote.get("choice"),
        "confidence": vote.get("confidence"),
        "reason": vote.get("reason"),
        "failed": vote.get("failed"),
    }


def _chances(asked: Mapping[str, Any]) -> dict[str, float | None]:
    """p(candidate); null where the question had no usable answer."""
    return {order: None if isinstance(one, Mapping) else float(one) for order, one in asked.items()}


def brief_columns(contents: Sequence[Mapping[str, Any]]) -> list[RolesBriefColumns]:
    return [_brief(one) for one in contents]


def _brief(content: Mapping[str, Any]) -> RolesBriefColumns:
    if "text" in content:
        return {"readers": None, "notes": None, "text": content["text"]}
    readers: list[ReaderColumns] = [
        {"type": role.type, "description": role.description} for role in readers_in(content)
    ]
    return {"readers": readers, "notes": notes_in(content), "text": None}
