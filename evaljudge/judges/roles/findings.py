"""One pass over the verdicts of a run's judges of role-players, for its report.

    with_roles(config, output, shards)
    ->  {"roles": [RoleRow("roles", …)], "role_views": [RoleView("roles", …)]}

Verdicts are read a shard at a time and leave counts behind; texts stay of those candidates that the
page shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evaljudge.config import Config
from evaljudge.judges.roles.evidence import KIND, PolledText, read_polled
from evaljudge.judges.roles.sums import RoleSums, role_row, shard_sums
from evaljudge.judges.shared.shown import first_shards, texts_of
from evaljudge.report import RoleView
from evaljudge.report.page import polled_size
from evaljudge.storage import Output, Shard, ahead

MOST_SHOWN = 3_000_000
"""Bytes that all texts with their votes may add to the page."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Of one judge in one shard."""

    sums: RoleSums
    texts: Sequence[PolledText]


def with_roles(
    config: Config, output: Output, shards: Sequence[Shard], most_shown: int = MOST_SHOWN
) -> dict[str, Any]:
    """What Findings holds of them; nothing, where no judge plays roles."""
    judges = role_judges(config)
    if not judges:
        return {}
    sums = {judge: RoleSums() for judge in judges}
    shown = {judge: list[PolledText]() for judge in judges}
    to_show = first_shards(shards, config.view)
    for found in ahead(partial(_read, output, judges, to_show), shards):
        for judge, one in found.items():
            sums[judge] += one.sums
            shown[judge] += one.texts[: config.view - len(shown[judge])]
    return {
        "roles": [role_row(judge, sums[judge]) for judge in judges],
        "role_views": list(_views(shown, sums, most_shown)) if config.view else [],
    }


def role_judges(config: Config) -> list[str]:
    return [name for name, own in config.judges.items() if own.get("judge", name) == KIND]


def _read(
    output: Output, judges: Sequence[str], to_show: set[int], shard: Shard
) -> dict[str, _Found]:
    """Texts are read where they are wanted."""
    texts = texts_of(output, shard) if shard.number in to_show else {}
    found = {}
    for judge in judges:
        verdicts = list(output.verdicts(judge, shard))
        mine = [
            PolledText(one.doc_id, one.system, texts[one.doc_id, one.system], read_polled(one))
            for one in verdicts
            if texts
        ]
        found[judge] = _Found(shard_sums(verdicts), mine)
    return found


def _views(
    shown: Mapping[str, Sequence[PolledText]], sums: Mapping[str, RoleSums], most_shown: int
) -> Iterator[RoleView]:
    """Judges one after another, until the page is full."""
    left = most_shown
    for judge, texts in shown.items():
        kept: list[PolledText] = []
        for text in texts:
            left -= polled_size(text)
            if left < 0:
                break
            kept.append(text)
        yield RoleView(judge, kept, sums[judge].candidates - len(kept), len(kept) < len(texts))
