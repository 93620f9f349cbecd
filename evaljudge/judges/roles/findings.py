"""What the role-players of a run said, shard by shard and then in the report."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Self

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.roles.evidence import PolledText, read_polled
from evaljudge.judges.roles.section import roles
from evaljudge.judges.roles.sums import RoleSums, role_row, shard_sums
from evaljudge.judges.roles.view import ShownPolled, shown_polled
from evaljudge.sections import View

TEMPLATE = Path(__file__).with_name("view.html.j2")


class RoleFindings:
    """Counts of the votes; and the first candidates' votes, for the page."""

    def __init__(self, judge: str, scorers: tuple[str, ...]) -> None:
        self._judge, self._scorers = judge, scorers
        self._sums, self._shown = RoleSums(), list[ShownPolled]()

    def see(self, shard: SeenShard) -> None:
        self._sums += shard_sums(shard.verdicts)
        for verdict in islice(shard.verdicts, shard.shown):
            text = shard.texts[verdict.doc_id, verdict.system]
            known = PolledText(verdict.doc_id, verdict.system, text, read_polled(verdict))
            self._shown.append(shown_polled(known))

    def __iadd__(self, other: RoleFindings) -> Self:
        self._sums += other._sums
        self._shown += other._shown
        return self

    def findings(self, found: Found) -> JudgeFindings:
        row = role_row(self._judge, self._sums)
        own = [one for one in found.agreement if one.scorer in self._scorers]
        title = f"Texts and their role-players: {self._judge}"
        views = [View(title, TEMPLATE, self._shown, row.candidates)] if self._shown else []
        section = roles(row, own, with_texts=bool(views))
        return JudgeFindings([section], {"roles": [row]}, views=views)
