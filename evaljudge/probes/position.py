"""Does a pairwise judge prefer a position? Votes on pairs, preferably asked in both orders.

{"doc_id": "d1", "axis": "fluency", "first": "A", "second": "B", "winner": "B"}
{"doc_id": "d1", "axis": "fluency", "first": "B", "second": "A", "winner": "tie"}
"""

from __future__ import annotations

from evaljudge.agreement import Preference, Vote, preferences
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.rows import Row, accepted, name_in
from evaljudge.errors import UserError
from evaljudge.probes.results import Dot, ProbeResult
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import NONE, bounded, tabled
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
    columns = {
        "axis": "axis",
        "votes": "n",
        "ties": "ties",
        "first wins": lambda row: bounded(row.first_wins),
        "pairs in both orders": "pairs",
        "flips": lambda row: bounded(row.flips),
        "place decided": lambda row: row.first_twice + row.second_twice,
        "first of those": lambda row: bounded(row.first_decides),
        "p": lambda row: NONE if row.p is None else f"{row.p:.2g}",
    }
    dots = []
    for row in rows:
        dots += [Dot(f"{row.axis}: first wins", row.first_wins)]
        dots += [Dot(f"{row.axis}: flips", row.flips)]
        dots += [Dot(f"{row.axis}: first decides", row.first_decides)]
    return ProbeResult(
        name="position",
        title="Position preference of pairwise votes",
        about=path,
        tables=[tabled("", rows, 1, columns)],
        notes=_NOTES,
        rows=rows,
        dots=dots,
        measure="share, with 95% interval over documents",
    )


def read_votes(path: str) -> list[Vote]:
    documents: dict[str, int] = {}
    votes = []
    for row in map(accepted, read_generic((path,))):
        doc_id, first, second = (name_in(row, name) for name in ("doc_id", "first", "second"))
        if first == second:
            raise UserError(f"{row.place}: first and second are the same system, {first!r}")
        document = documents.setdefault(doc_id, len(documents))
        axis, winner = str(row.fields.get("axis") or ANY_AXIS), _winner(row, first, second)
        votes.append(Vote(document, axis, first, second, winner))
    if not votes:
        raise UserError(f"{path}: holds no vote")
    return votes


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
