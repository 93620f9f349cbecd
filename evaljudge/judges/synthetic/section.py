"""What could mislead a reader of a judge's scores: a row for each judge and axis, and warnings.

| judge     | axis    | checked | inverted | of pairs |   agreement | without inverted | …
| --------- | ------- | ------: | -------: | -------: | ----------: | ---------------: |
| synthetic | fluency |     100 |    12.0% |     3.2% | 0.441 (100) |       0.467 (88) | …

synthetic: more than 30% of exchanged comparisons flip … (fluency 36.2%): …
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from evaljudge.judges.synthetic.validity import ValidityRow
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, bracketed, correlation, count, percent, ratio, short

VALIDITY = "What could mislead"
REFERENCES = (
    "Checked: documents whose references the judge compared with each other, each with the one "
    "below it. Inverted: the share of them where it finds any reference worse than the one below; "
    "of pairs: the share of such pairs. Near 0% is good. Where it is high, the references are no "
    "scale in the judge's own eyes, and scores by them mean little."
)
AGREEMENT = (
    "Agreement: Spearman's with people at sample level, and in brackets of how many documents; "
    "without inverted: the same without inverted documents. About equal is good. Much higher "
    "without them, the references are what costs agreement."
)
PROBABILITIES = (
    "Entropy: how undecided the answers are, in bits. Certain: the share of comparisons with an "
    "answer above 99%. Entropy near 0 and much that is certain is bad: the probabilities say "
    "nothing of doubt, and scores come in few steps. Near 1.58 is bad too: all three answers are "
    "equally likely. Mass: what the answers offered hold of all that the model might say; near "
    "100% is good."
)
SCALE = (
    "Below, above: the share of candidates that lost, or won, against every reference. Near 0% is "
    "good. Where it is high, candidates lie beyond the references, which can hardly tell them "
    "apart."
)
POSITION = (
    "Flipped: the share of exchanged comparisons, asked again with the two texts in each other's "
    "place, that then take the other side. Near 0% is good; answers drawn at random would flip "
    "half of the time."
)
LENGTH = (
    "Length: Spearman's correlation of score and number of words within a document, the mean over "
    "n documents, with its 95% normal interval. Near 0 is good. Far from 0 is suspect, unless "
    "people rate by length as well. People's: the same of their ratings. Given ratings: the "
    "partial correlation of score and length, given the ratings, over the n documents that have "
    "enough of them: how far the judge goes with length where people do not. Near 0 is good, "
    "whatever the other two are."
)
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


def validity(rows: Sequence[ValidityRow]) -> Section:
    tables = [
        _table("The references by the judge itself", rows, _references),
        _table("Probabilities and scale", rows, _placing),
        _table("Position and length", rows, _leanings),
    ]
    notes = [REFERENCES, AGREEMENT, PROBABILITIES, SCALE, POSITION, LENGTH]
    return Section(VALIDITY, [], tables, notes)


Cells = Sequence[tuple[str, str]]
"""Heads, and the figures under them."""


def _references(row: ValidityRow) -> Cells:
    return [
        ("checked", count(row.checked)),
        ("inverted", ratio(row.inverted, row.checked)),
        ("of pairs", ratio(row.inverted_pairs, row.pairs)),
        ("agreement", _agreement(row.agreement, row.agreement_documents)),
        ("without inverted", _agreement(row.graded_agreement, row.graded_documents)),
    ]


def _placing(row: ValidityRow) -> Cells:
    return [
        ("comparisons", count(row.comparisons)),
        ("entropy", NONE if row.entropy is None else f"{row.entropy:.2f}"),
        ("certain", _share(row.certain)),
        ("mass", _share(row.mass)),
        ("candidates", count(row.candidates)),
        ("below", ratio(row.below, row.candidates)),
        ("above", ratio(row.above, row.candidates)),
    ]


def _leanings(row: ValidityRow) -> Cells:
    given = row.given_length, row.given_length_low, row.given_length_high
    return [
        ("exchanged", count(row.exchanged)),
        ("flipped", ratio(row.flipped, row.exchanged)),
        ("length", bracketed(row.length, row.length_low, row.length_high)),
        ("n", count(row.length_documents)),
        ("people's", correlation(row.people_length)),
        ("given ratings", bracketed(*given)),
        ("n", count(row.rated_length_documents)),
    ]


def _table(
    title: str, rows: Sequence[ValidityRow], cells_of: Callable[[ValidityRow], Cells]
) -> Table:
    found = [cells_of(row) for row in rows]
    heads = [head for head, _ in found[0]] if found else []
    cells = [
        [row.judge, row.axis, *(cell for _, cell in cells)]
        for row, cells in zip(rows, found, strict=True)
    ]
    return Table(title, ["judge", "axis", *heads], cells, "ll" + "r" * len(heads), lead=2)


def _agreement(value: float | None, documents: int) -> str:
    return NONE if value is None else f"{correlation(value)} ({count(documents)})"


def _share(value: float | None) -> str:
    return NONE if value is None else percent(value)


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
    return [
        warning
        for judge in dict.fromkeys(row.judge for row in rows)
        for alarm in _ALARMS
        if (warning := _warning(judge, alarm, [row for row in rows if row.judge == judge]))
    ]


def _warning(judge: str, alarm: _Alarm, rows: Sequence[ValidityRow]) -> str:
    enough = [row for row in rows if getattr(row, alarm.units) >= LEAST]
    figures = {row.axis: alarm.figure(row) for row in enough}
    where = [
        f"{axis} {alarm.shown(figure)}"
        for axis, figure in figures.items()
        if figure is not None and abs(figure) > alarm.most
    ]
    return f"{judge}: {alarm.found} ({', '.join(where)}): {alarm.meaning}" if where else ""


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
        "scores by references that are no scale mean little",
    ),
    _Alarm(
        "comparisons",
        lambda row: row.certain,
        MOST_CERTAIN,
        f"more than {short(MOST_CERTAIN * 100)}% of comparisons have an answer above 99%",
        "the probabilities say nothing of doubt, and scores come in few steps",
    ),
    _Alarm(
        "exchanged",
        lambda row: row.flipped / row.exchanged,
        MOST_FLIPPED,
        f"more than {short(MOST_FLIPPED * 100)}% of exchanged comparisons flip when the two texts "
        "change places",
        "the judge answers by the place as well as by the text",
    ),
    _Alarm(
        "candidates",
        lambda row: (row.below + row.above) / row.candidates,
        MOST_BEYOND,
        f"more than {short(MOST_BEYOND * 100)}% of candidates lose, or win, against every "
        "reference",
        "beyond the references, scores hardly tell candidates apart",
    ),
    _Alarm(
        "length_documents",
        _unexplained_length,
        MOST_LENGTH,
        f"scores go with length within documents, beyond ±{short(MOST_LENGTH)}",
        "unless people rate by length as well, the judge is misled by it",
        correlation,
    ),
    _Alarm(
        "rated_length_documents",
        lambda row: _sure(row.given_length, row.given_length_low, row.given_length_high),
        MOST_LENGTH,
        "scores go with length more than people's ratings account for, within documents beyond "
        f"±{short(MOST_LENGTH)} given the ratings",
        "the judge is misled by length",
        correlation,
    ),
)
