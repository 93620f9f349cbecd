"""How far a run's references and comparisons can be trusted: tables, pictures and warnings.

| judge     | axis    | checked | inverted | of pairs |   agreement | without inverted | …
| --------- | ------- | ------: | -------: | -------: | ----------: | ---------------: |
| synthetic | fluency |     100 |    12.0% |     3.2% | 0.441 (100) |       0.467 (88) | …

synthetic: more than 30% of exchanged comparisons flip … (fluency 36.2%): …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple, Self

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.shared.counting import add_by_key, share_bar
from evaljudge.judges.synthetic.reliability import (
    ReliabilitySums,
    reliability,
    reliability_rows,
    reliability_sums,
)
from evaljudge.judges.synthetic.validity import AxisSums, ValidityRow, shard_sums, validity_rows
from evaljudge.sections import BarRow, Bars, Section, Table
from evaljudge.sections.figures import NONE, bracketed, correlation, count, percent, ratio, short

VALIDITY = "What could mislead"
NOTES = Path(__file__).with_name("validity.md")
"""What every column means, a paragraph for each note."""

# If one pair of neighbours in twenty were inverted, and each independently, every fifth document
# of five references would hold an inversion.
MOST_INVERTED = 0.2
# Then at most one comparison in ten is more than a bare vote.
MOST_CERTAIN = 0.9
# More than half way from a judge that never flips to one that answers at random and flips half.
MOST_FLIPPED = 0.3
# Then of most candidates the references tell only that they are off the scale.
MOST_BEYOND = 0.5
# Of fewer documents, or comparisons, a share is too uncertain to warn of.
LEAST = 10
# Then length alone could account for a quarter of the ranks' variance.
MOST_LENGTH = 0.5


class SyntheticFindings:
    """Sums of checks and comparisons."""

    def __init__(self, judge: str) -> None:
        self._judge = judge
        self._sums: dict[str, AxisSums] = {}
        self._reliability: dict[str, ReliabilitySums] = {}

    def see(self, shard: SeenShard) -> None:
        add_by_key(self._sums, shard_sums(self._judge, shard))
        add_by_key(self._reliability, reliability_sums(shard))

    def __iadd__(self, other: SyntheticFindings) -> Self:
        add_by_key(self._sums, other._sums)
        add_by_key(self._reliability, other._reliability)
        return self

    def findings(self, found: Found) -> JudgeFindings:
        rows = validity_rows(self._judge, self._sums, found.rated, found.documents)
        probabilities = reliability_rows(self._judge, self._reliability)
        return JudgeFindings(
            sections=[validity(rows), reliability(probabilities)],
            files={"validity": rows, "reliability": probabilities},
            warnings=validity_warnings(rows),
        )


def validity(rows: Sequence[ValidityRow]) -> Section:
    tables = [
        Table(
            title,
            ["judge", "axis", *(head for head, _ in columns)],
            [[row.judge, row.axis, *(cell(row) for _, cell in columns)] for row in rows],
            "ll" + "r" * len(columns),
            lead=2,
        )
        for title, columns in _COLUMNS.items()
    ]
    notes = NOTES.read_text(encoding="utf-8").split("\n\n")
    pictures = [one for one in (_flips(rows), _lengths(rows)) if one.rows]
    return Section(VALIDITY, [], tables, [" ".join(note.split()) for note in notes], pictures)


def _flips(rows: Sequence[ValidityRow]) -> Bars:
    reading = (
        "Share of comparisons that take the other side when the two texts change places. Short is "
        f"good; beyond the upright mark ({short(MOST_FLIPPED * 100)}%) the report warns. The line "
        "is Wilson's 95% interval, too narrow where comparisons of a document are alike."
    )
    bars = [
        share_bar(f"{row.judge} · {row.axis}", row.flipped, row.exchanged, MOST_FLIPPED)
        for row in rows
        if row.exchanged
    ]
    return Bars("Position", "Comparisons that flip", reading, bars)


def _lengths(rows: Sequence[ValidityRow]) -> Bars:
    """Of axes that nobody rated: of others, the agreement with length held fixed is drawn."""
    reading = (
        "Spearman's correlation of score and number of words within a document, with its 95% "
        "interval. Near 0 is good; far from 0 is suspect, unless people rate by length as well, "
        "which ratings of some texts would show."
    )
    bars = [
        BarRow(
            f"{row.judge} · {row.axis}",
            row.length,
            bracketed(row.length, row.length_low, row.length_high),
            row.length_low,
            row.length_high,
        )
        for row in rows
        if row.length is not None and not row.rated_length_documents
    ]
    return Bars("Length", "Score and number of words", reading, bars, least=-1.0)


def _agreement(value: float | None, documents: int) -> str:
    return NONE if value is None else f"{correlation(value)} ({count(documents)})"


def _of_all(asked: int, every: int) -> str:
    return count(asked) if asked == every else f"{count(asked)} of {count(every)}"


def _share(value: float | None) -> str:
    return NONE if value is None else percent(value)


_COLUMNS: Mapping[str, Sequence[tuple[str, Callable[[ValidityRow], str]]]] = {
    "The references by the judge itself": [
        ("checked", lambda row: count(row.checked)),
        ("inverted", lambda row: ratio(row.inverted, row.checked)),
        ("of pairs", lambda row: ratio(row.inverted_pairs, row.pairs)),
        ("agreement", lambda row: _agreement(row.agreement, row.agreement_documents)),
        ("without inverted", lambda row: _agreement(row.graded_agreement, row.graded_documents)),
    ],
    "Probabilities and scale": [
        ("comparisons", lambda row: _of_all(row.comparisons, row.comparisons + row.inferred)),
        ("entropy", lambda row: NONE if row.entropy is None else f"{row.entropy:.2f}"),
        ("certain", lambda row: _share(row.certain)),
        ("mass", lambda row: _share(row.mass)),
        ("candidates", lambda row: count(row.candidates)),
        ("below", lambda row: ratio(row.below, row.candidates)),
        ("above", lambda row: ratio(row.above, row.candidates)),
    ],
    "Position and length": [
        ("exchanged", lambda row: count(row.exchanged)),
        ("flipped", lambda row: ratio(row.flipped, row.exchanged)),
        ("length", lambda row: bracketed(row.length, row.length_low, row.length_high)),
        ("n", lambda row: count(row.length_documents)),
        ("people's", lambda row: correlation(row.people_length)),
        ("given ratings", lambda row: bracketed(
            row.given_length, row.given_length_low, row.given_length_high
        )),
        ("n", lambda row: count(row.rated_length_documents)),
    ],
}  # fmt: skip


class _Alarm(NamedTuple):
    """A figure that is alarming where it is further than `most` from 0, of enough `units`."""

    units: str
    figure: Callable[[ValidityRow], float | None]
    most: float
    found: str
    meaning: str
    shown: Callable[[float], str] = percent


def validity_warnings(rows: Sequence[ValidityRow]) -> list[str]:
    """One of each judge and kind, with the axes where it holds."""
    found = []
    for judge, alarm in product(dict.fromkeys(row.judge for row in rows), _ALARMS):
        where = [
            f"{row.axis} {alarm.shown(figure)}"
            for row in rows
            if row.judge == judge and getattr(row, alarm.units) >= LEAST
            if (figure := alarm.figure(row)) is not None and abs(figure) > alarm.most
        ]
        if where:
            found.append(f"{judge}: {alarm.found} ({', '.join(where)}): {alarm.meaning}")
    return found


def _unexplained_length(row: ValidityRow) -> float | None:
    """The correlation with length, where too few ratings say what it means."""
    if row.rated_length_documents >= LEAST:
        return None
    return _sure(row.length, row.length_low, row.length_high)


def _sure(value: float | None, low: float | None, high: float | None) -> float | None:
    """A correlation whose interval excludes 0."""
    return None if low is None or high is None or low <= 0 <= high else value


_ALARMS = (
    _Alarm(
        "checked",
        lambda row: row.inverted / row.checked,
        MOST_INVERTED,
        f"in more than {short(MOST_INVERTED * 100)}% of documents the judge itself finds a "
        "reference worse than the one below it",
        "scores by references that are no scale mean little; let a larger model write them "
        "(`writer`)",
    ),
    _Alarm(
        "comparisons",
        lambda row: row.certain,
        MOST_CERTAIN,
        f"more than {short(MOST_CERTAIN * 100)}% of comparisons have an answer above 99%",
        "the probabilities say nothing of doubt, and scores come in few steps; try more `levels` "
        "or a larger model",
    ),
    _Alarm(
        "exchanged",
        lambda row: row.flipped / row.exchanged,
        MOST_FLIPPED,
        f"more than {short(MOST_FLIPPED * 100)}% of exchanged comparisons flip when the two texts "
        "change places",
        "the judge answers by the place as well as by the text; `swap: both` asks in both orders",
    ),
    _Alarm(
        "candidates",
        lambda row: (row.below + row.above) / row.candidates,
        MOST_BEYOND,
        f"more than {short(MOST_BEYOND * 100)}% of candidates lose, or win, against every "
        "reference",
        "beyond the references, scores hardly tell candidates apart; let another model write them "
        "(`writer`)",
    ),
    _Alarm(
        "length_documents",
        _unexplained_length,
        MOST_LENGTH,
        f"scores go with length within documents, beyond ±{short(MOST_LENGTH)}",
        "unless people rate by length as well, the judge is misled by it; to find out, let people "
        "rate some texts (`evaljudge label`)",
        correlation,
    ),
    _Alarm(
        "rated_length_documents",
        lambda row: _sure(row.given_length, row.given_length_low, row.given_length_high),
        MOST_LENGTH,
        "scores go with length more than people's ratings account for, within documents beyond "
        f"±{short(MOST_LENGTH)} given the ratings",
        "the judge is misled by length; try another model, and be careful where systems differ in "
        "length",
        correlation,
    ),
)
