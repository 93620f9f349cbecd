"""How far a run's references and comparisons can be trusted: tables, pictures and warnings.

| judge     | axis    | checked | inverted | of pairs |   agreement | without inverted | …
| --------- | ------- | ------: | -------: | -------: | ----------: | ---------------: |
| synthetic | fluency |     100 |    12.0% |     3.2% | 0.441 (100) |       0.467 (88) | …

synthetic: more than 30% of exchanged comparisons flip … (fluency 36.2%): …
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.shared.counting import Sums, share_bar, table
from evaljudge.judges.synthetic.reliability import reliability, reliability_rows, reliability_sums
from evaljudge.judges.synthetic.validity import ValidityRow, shard_sums, validity_rows
from evaljudge.sections import BarRow, Bars, Section
from evaljudge.sections.figures import NONE, bracketed, correlation, count, percent, ratio, short
from evaljudge.settings import yaml_beside

NOTES = yaml_beside(__file__, "notes.yaml")
COLUMNS_EXPLAINED = Path(__file__).with_name("validity.md").read_text("utf-8").split("\n\n")

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


def counted(judge: str, shard: SeenShard) -> Sums:
    return {"validity": shard_sums(judge, shard), "reliability": reliability_sums(shard)}


def report(judge: str, sums: Sums, found: Found) -> JudgeFindings:
    rows = validity_rows(judge, sums.get("validity", {}), found.rated, found.documents)
    probabilities = reliability_rows(judge, sums.get("reliability", {}))
    return JudgeFindings(
        sections=[validity(rows), reliability(probabilities, NOTES)],
        files={"validity": rows, "reliability": probabilities},
        warnings=validity_warnings(rows),
    )


def validity(rows: Sequence[ValidityRow]) -> Section:
    tables = [
        table(
            "The references by the judge itself", rows, "judge", "axis", "checked",
            ("inverted", lambda row: ratio(row.inverted, row.checked)),
            ("of pairs", lambda row: ratio(row.inverted_pairs, row.pairs)),
            ("agreement", lambda row: _agreement(row.agreement, row.agreement_documents)),
            ("without inverted",
             lambda row: _agreement(row.graded_agreement, row.graded_documents)),
        ),
        table(
            "Probabilities and scale", rows, "judge", "axis", ("comparisons", _comparisons),
            ("entropy", lambda row: NONE if row.entropy is None else f"{row.entropy:.2f}"),
            ("certain", lambda row: NONE if row.certain is None else percent(row.certain)),
            ("mass", lambda row: NONE if row.mass is None else percent(row.mass)),
            "candidates",
            ("below", lambda row: ratio(row.below, row.candidates)),
            ("above", lambda row: ratio(row.above, row.candidates)),
        ),
        table(
            "Position and length", rows, "judge", "axis", "exchanged",
            ("flipped", lambda row: ratio(row.flipped, row.exchanged)),
            ("length", lambda row: bracketed(row.length, row.length_low, row.length_high)),
            ("n", "length_documents"),
            ("people's", "people_length"),
            ("given ratings", lambda row: bracketed(
                row.given_length, row.given_length_low, row.given_length_high)),
            ("n", "rated_length_documents"),
        ),
    ]  # fmt: skip
    notes = [" ".join(note.split()) for note in COLUMNS_EXPLAINED]
    return Section("What could mislead", [], tables, notes, [p for p in _pictures(rows) if p.rows])


def _agreement(value: float | None, documents: int) -> str:
    return NONE if value is None else f"{correlation(value)} ({count(documents)})"


def _comparisons(row: ValidityRow) -> str:
    every = f" of {count(row.comparisons + row.inferred)}" if row.inferred else ""
    return f"{count(row.comparisons)}{every}"


def _pictures(rows: Sequence[ValidityRow]) -> list[Bars]:
    flips = [
        share_bar(f"{row.judge} · {row.axis}", row.flipped, row.exchanged, MOST_FLIPPED)
        for row in rows
        if row.exchanged
    ]
    lengths = [  # where people rated, the agreement with length held fixed is drawn instead
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
    reading = NOTES["flips"].format(most=_share(MOST_FLIPPED))
    return [
        Bars("Position", "Comparisons that flip", reading, flips),
        Bars("Length", "Score and number of words", NOTES["lengths"], lengths, least=-1.0),
    ]


def _share(most: float) -> str:
    return f"{short(most * 100)}%"


def _sure(value: float | None, low: float | None, high: float | None) -> float | None:
    """A correlation whose interval excludes 0."""
    return None if low is None or high is None or low <= 0 <= high else value


def _unexplained_length(row: ValidityRow) -> float | None:
    """The correlation with length, where too few ratings say what it means."""
    is_rated = row.rated_length_documents >= LEAST
    return None if is_rated else _sure(row.length, row.length_low, row.length_high)


# By kind of warning: a figure that is alarming where it is further from 0 than the limit, of enough
# units. All are shares but the correlations with length.
Figure = Callable[[ValidityRow], float | None]
_ALARMS: Mapping[str, tuple[str, Figure, float]] = {
    "inverted": ("checked", lambda row: row.inverted / row.checked, MOST_INVERTED),
    "certain": ("comparisons", lambda row: row.certain, MOST_CERTAIN),
    "flipped": ("exchanged", lambda row: row.flipped / row.exchanged, MOST_FLIPPED),
    "beyond": ("candidates", lambda row: (row.below + row.above) / row.candidates, MOST_BEYOND),
    "length": ("length_documents", _unexplained_length, MOST_LENGTH),
    "given length": (
        "rated_length_documents",
        lambda row: _sure(row.given_length, row.given_length_low, row.given_length_high),
        MOST_LENGTH,
    ),
}


def validity_warnings(rows: Sequence[ValidityRow]) -> list[str]:
    """One of each judge and kind, with the axes where it holds."""
    warnings = []
    for judge, kind in product(dict.fromkeys(row.judge for row in rows), _ALARMS):
        units, figure_of, most = _ALARMS[kind]
        limit, shown = (short, correlation) if "length" in kind else (_share, percent)
        where = [
            f"{row.axis} {shown(figure)}"
            for row in rows
            if row.judge == judge and getattr(row, units) >= LEAST
            if (figure := figure_of(row)) is not None and abs(figure) > most
        ]
        if where:
            form, meaning = NOTES["warnings"][kind]
            warning = form.format(most=limit(most))
            warnings.append(f"{judge}: {warning} ({', '.join(where)}): {meaning}")
    return warnings
