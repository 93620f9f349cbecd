"""Does a pairwise judge prefer a position? Votes on pairs, preferably asked in both orders.

{"doc_id": "d1", "axis": "fluency", "first": "A", "second": "B", "winner": "B"}
{"doc_id": "d1", "axis": "fluency", "first": "B", "second": "A", "winner": "tie"}

axis     votes  ties  first wins            …  flips                 place decided  …  p
fluency  2,200  67    0.483 [0.454, 0.510]  …  0.363 [0.331, 0.394]  368            …  0.042
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from evaljudge.agreement import Measured, Preference, Vote, preferences
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.rows import Row, accepted, name_in
from evaljudge.errors import UserError
from evaljudge.probes.plots import Interval, intervals
from evaljudge.probes.results import ProbeResult, table
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import NONE, bracketed
from evaljudge.settings import AnyPath, as_path
from evaljudge.text import one_line

TIE = "tie"
_NOTES = [
    "first wins: of the votes that are no tie. flips: of the pairs asked in both orders, those\n"
    "whose winner changes with the order (a tie being no winner). place decided: pairs of which\n"
    "the same place won twice; a judge without a preference gives half of them to the first.\n"
    "p: exact binomial of that half, which takes pairs for independent; intervals resample\n"
    "documents: where one holds 0.5, believe it rather than p."
]


def position(votes: AnyPath, *, resamples: int = 1000, seed: int = 0) -> ProbeResult[Preference]:
    """Whether a judge of pairs prefers a place: how often the first wins, how often order flips."""
    path = as_path(votes, "votes")
    rows = preferences(read_votes(path), resamples=resamples, seed=seed)
    return ProbeResult(
        name="position",
        title="Position preference of pairwise votes",
        about=path,
        tables=[
            table(
                ["axis", "votes", "ties", "first wins", "pairs in both orders", "flips",
                 "place decided", "first of those", "p"],
                [_line(row) for row in rows],
            )
        ],
        notes=_NOTES,
        rows=rows,
        draw=partial(_drawn, rows),
    )  # fmt: skip


def read_votes(path: str) -> list[Vote]:
    found = list(_votes(path))
    if not found:
        raise UserError(f"{path}: holds no vote")
    return found


def _votes(path: str) -> Iterator[Vote]:
    documents: dict[str, int] = {}
    for row in map(accepted, read_generic((path,))):
        doc_id, first, second = (name_in(row, name) for name in ("doc_id", "first", "second"))
        if first == second:
            raise UserError(f"{row.place}: first and second are the same system, {first!r}")
        yield Vote(
            document=documents.setdefault(doc_id, len(documents)),
            axis=str(row.fields.get("axis") or ANY_AXIS),
            first=first,
            second=second,
            winner=_winner(row, first, second),
        )


def _winner(row: Row, first: str, second: str) -> str | None:
    if "winner" not in row.fields:
        raise UserError(f"{row.place}: needs `winner`: {first!r}, {second!r} or {TIE!r}")
    winner = row.fields["winner"]
    if winner is None or winner == "" or winner == TIE:
        return None
    if isinstance(winner, bool | dict | list) or str(winner) not in (first, second):
        shown = one_line(repr(winner))
        raise UserError(f"{row.place}: the winner {shown} is neither {first!r} nor {second!r}")
    return str(winner)


def _line(row: Preference) -> list[str]:
    decided = row.first_twice + row.second_twice
    return [
        row.axis,
        f"{row.n:,}",
        f"{row.ties:,}",
        _share(row.first_wins),
        f"{row.pairs:,}",
        _share(row.flips),
        f"{decided:,}",
        _share(row.first_decides),
        NONE if row.p is None else f"{row.p:.2g}",
    ]


def _share(share: Measured) -> str:
    return bracketed(share.value, share.low, share.high)


def _drawn(rows: Sequence[Preference]) -> str:
    dots = [
        Interval(f"{row.axis}: {name}", share.value, share.low, share.high, False)
        for row in rows
        for name, share in (
            ("first wins", row.first_wins), ("flips", row.flips),
            ("first decides", row.first_decides),
        )
        if share.value is not None
    ]  # fmt: skip
    return intervals(dots, "share, with 95% interval over documents")
