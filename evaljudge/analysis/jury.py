"""What a jury's judges have in common, what each adds to it, and whom each favours.

among_judges   how far two judges agree on the texts of a run, rated or not
left_out       the agreement with people of a combination with all its scorers, and without each; a
               difference above 0 is a gain: the jury agrees better with people without it
family_rows    how often a judge prefers the text of a system of its own model's family to another
               text on the same document, beside how often the other judges, and people, do

A combination by agreement keeps the weights that were fitted on other documents; of those that are
left they are scaled to 1. All intervals are 95%, over documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from evaljudge.agreement import AxisPair, among
from evaljudge.agreement.bootstrap import ratio_of_sums
from evaljudge.agreement.rated import MOST_TESTED, Floats, Ids, Rated
from evaljudge.analysis.combining import Combination, Weights, on_rated
from evaljudge.analysis.findings import FamilyRow, JudgePair, LeftOut
from evaljudge.decisions.agreement_differences import AgreementDifference, agreement_differences
from evaljudge.decisions.grid import Grid
from evaljudge.records import ANY_AXIS

# each left out


def left_out(
    combined: Mapping[str, Combination], fitted: Mapping[tuple[str, str], Weights], rated: Rated,
    documents: Ids, resamples: int, seed: int,
) -> Iterator[LeftOut]:  # fmt: skip
    """`fitted`: the weights of combinations by agreement, by name and axis."""
    for name, one in combined.items():
        for axis, human in sorted(rated.human.items()):
            if (name, axis) not in rated.scores and (name, ANY_AXIS) not in rated.scores:
                continue
            known = one, fitted.get((name, axis)), axis, rated, documents
            whole = on_rated(*known)
            without = {scorer: on_rated(*known, scorer) for scorer in one.of_scorers}
            fours = [(whole, smaller, human, human) for smaller in without.values()]
            codes = rated.documents, rated.systems
            found = agreement_differences(*codes, fours, resamples=resamples, seed=seed)
            for scorer, levels in zip(without, found, strict=True):
                yield from (_left_out(name, scorer, axis, level) for level in levels)


def _left_out(name: str, scorer: str, axis: str, found: AgreementDifference) -> LeftOut:
    at = found.level, found.coefficient
    gain = found.difference, found.low, found.high
    return LeftOut(
        name, scorer, axis, *at, found.first, found.second, *gain, found.n, found.sampled
    )


# among each other


def among_judges(
    scorers: Sequence[str], grid: Grid, resamples: int, seed: int
) -> Iterator[JudgePair]:
    """Each two of these scorers, on every axis that both have."""
    axes = dict.fromkeys(axis for scorer, axis in grid.scores if scorer in scorers)
    for axis in axes:
        tables = {one: grid.scores[one, axis] for one in scorers if (one, axis) in grid.scores}
        if len(tables) > 1:
            rated = _as_rows(tables).sampled(MOST_TESTED, seed)[0]
            columns = {scorer: column for (scorer, _), column in rated.scores.items()}
            found = among(rated.documents, rated.systems, columns, resamples=resamples, seed=seed)
            yield from (_pair(axis, one) for one in found)


def _pair(axis: str, found: AxisPair) -> JudgePair:
    at = found.level, found.coefficient
    spread = found.value, found.low, found.high
    return JudgePair(found.axis, found.other, axis, *at, *spread, found.n, found.sampled)


def _as_rows(tables: Mapping[str, Floats]) -> Rated:
    """A row for each text that any of them has scored."""
    there = np.isfinite(np.stack(list(tables.values()))).any(axis=0)
    documents, systems = np.nonzero(there)
    documents = np.unique(documents, return_inverse=True)[1]
    columns = {(scorer, ""): table[there] for scorer, table in tables.items()}
    return Rated(documents, systems, columns, {}, {})


# families


def family_rows(
    families: Mapping[str, Sequence[str]], scorers: Mapping[str, str], grid: Grid,
    resamples: int, seed: int,
) -> Iterator[FamilyRow]:  # fmt: skip
    """`scorers`: by judge, the scorer that stands for it.

    Other judges are those that share no system of the family.
    """
    for judge, systems in families.items():
        others = [
            scorer
            for name, scorer in scorers.items()
            if name != judge and not {*systems} & {*families.get(name, ())}
        ]
        own = np.array([system in systems for system in grid.systems])
        axes = [axis for scorer, axis in grid.scores if scorer == scorers[judge]]
        for axis in axes:
            wins = _wins(grid.scores[scorers[judge], axis], own)
            of_others = [
                _wins(grid.scores[other, axis], own)
                for other in others
                if (other, axis) in grid.scores
            ]
            human = grid.human.get(axis)
            of_people = None if human is None else _wins(human, own)
            yield _family_row(judge, axis, systems, wins, of_others, of_people, resamples, seed)


def _wins(scores: Floats, own: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """(documents, own texts, other texts): 1 where the own is higher, a half where they are equal;
    NaN where either has no score."""
    gaps = scores[:, own][:, :, None] - scores[:, ~own][:, None, :]
    return (np.sign(gaps) + 1) / 2


def _family_row(
    judge: str, axis: str, systems: Sequence[str], wins: Floats, of_others: Sequence[Floats],
    of_people: Floats | None, resamples: int, seed: int,
) -> FamilyRow:  # fmt: skip
    share, *_, documents = _mean(wins, resamples, seed)
    nothing = np.full_like(wins, np.nan)
    others = np.mean(of_others, axis=0) if of_others else nothing
    people = nothing if of_people is None else of_people
    excess, low, high, _ = _mean(wins - others, resamples, seed)
    over_people, people_low, people_high, _ = _mean(wins - people, resamples, seed)
    return FamilyRow(
        judge=judge,
        axis=axis,
        systems=list(systems),
        share=share,
        others=_mean(np.where(np.isfinite(wins), others, np.nan), 0, seed)[0],
        excess=excess,
        low=low,
        high=high,
        people=_mean(np.where(np.isfinite(wins), people, np.nan), 0, seed)[0],
        over_people=over_people,
        people_low=people_low,
        people_high=people_high,
        documents=documents,
    )


Mean = tuple[float | None, float | None, float | None, int]


def _mean(pairs: Floats, resamples: int, seed: int) -> Mean:
    """Over all pairs of texts, with its interval, and of how many documents."""
    known = np.isfinite(pairs)
    counts = known.sum(axis=(1, 2))
    used = counts > 0
    sums = np.where(known, pairs, 0.0).sum(axis=(1, 2))[used]
    found = ratio_of_sums(sums, counts[used].astype(np.float64), resamples, seed, int(used.sum()))
    return found.value, found.low, found.high, found.n


def family_warnings(families: Mapping[str, Sequence[str]], grid: Grid) -> Iterator[str]:
    for judge, systems in families.items():
        if unknown := [system for system in systems if system not in grid.systems]:
            yield f"families.{judge}: no text is by {', '.join(unknown)}"
