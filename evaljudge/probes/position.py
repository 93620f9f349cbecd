"""Does a pairwise judge prefer a position? Votes on pairs, preferably asked in both orders.

{"doc_id": "d1", "axis": "fluency", "first": "A", "second": "B", "winner": "B"}
{"doc_id": "d1", "axis": "fluency", "first": "B", "second": "A", "winner": "tie"}
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaljudge.agreement.documents import Measured, ratio_of_sums
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


@dataclass(frozen=True, slots=True)
class Vote:
    document: int
    axis: str
    first: str  # the system shown first
    second: str
    winner: str | None  # one of these two; None: a tie

    @property
    def position(self) -> int:
        """1: the first won; 2: the second; 0: a tie."""
        return 0 if self.winner is None else 1 if self.winner == self.first else 2


@dataclass(frozen=True, slots=True)
class Preference:
    axis: str
    n: int  # votes
    ties: int
    first_wins: Measured  # share of the votes that are no tie
    pairs: int  # asked in both orders
    flips: Measured  # share of those pairs whose winner changes with the order, a tie being none
    first_twice: int  # those pairs where whatever was shown first won
    second_twice: int
    first_decides: Measured  # share of the first among those where one position won twice
    p: float | None  # two-sided exact binomial (McNemar) of first_twice against second_twice


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


def preferences(votes: Iterable[Vote], *, resamples: int = 1000, seed: int = 0) -> list[Preference]:
    """One per axis, in the order of first appearance."""
    by_axis: defaultdict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        by_axis[vote.axis].append(vote)
    return [_preference(axis, of_axis, resamples, seed) for axis, of_axis in by_axis.items()]


def _preference(axis: str, votes: Sequence[Vote], resamples: int, seed: int) -> Preference:
    from scipy.stats import binomtest  # here, since it takes long to import

    place = {document: at for at, document in enumerate(sorted({vote.document for vote in votes}))}

    def share(held: Iterable[tuple[int, bool]]) -> Measured:
        """The share of (document, whether it held); documents without one are resampled as well."""
        true, counted = np.zeros((2, len(place)))
        for document, holds in held:
            true[place[document]] += holds
            counted[place[document]] += 1
        return ratio_of_sums(true, counted, resamples, seed, n=int(counted.sum()))

    decided = [vote for vote in votes if vote.position]
    pairs = list(_asked_both_ways(votes))
    same = [vote for vote, other in pairs if vote.position and vote.position == other.position]
    first_twice = sum(vote.position == 1 for vote in same)
    return Preference(
        axis=axis,
        n=len(votes),
        ties=len(votes) - len(decided),
        first_wins=share((vote.document, vote.position == 1) for vote in decided),
        pairs=len(pairs),
        flips=share((vote.document, vote.winner != other.winner) for vote, other in pairs),
        first_twice=first_twice,
        second_twice=len(same) - first_twice,
        first_decides=share((vote.document, vote.position == 1) for vote in same),
        p=float(binomtest(first_twice, len(same)).pvalue) if same else None,
    )


def _asked_both_ways(votes: Iterable[Vote]) -> Iterator[tuple[Vote, Vote]]:
    """A pair asked more than once in an order: the first of each, the second of each, ..."""
    by_order: defaultdict[tuple[int, str, str], list[Vote]] = defaultdict(list)
    for vote in votes:
        by_order[vote.document, vote.first, vote.second].append(vote)
    for (document, first, second), ones in by_order.items():
        if first < second:
            yield from zip(ones, by_order.get((document, second, first), ()), strict=False)
