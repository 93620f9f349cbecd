"""What the report says of references and probabilities: by loops over a drawn world; warnings."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.counting import Sums, add, wilson
from evaljudge.judges.synthetic.findings import MOST_FLIPPED, NOTES, validity, validity_warnings
from evaljudge.judges.synthetic.reliability import (
    ReliabilityRow,
    reliability,
    reliability_rows,
    reliability_sums,
)
from evaljudge.judges.synthetic.validity import ValidityRow
from evaljudge.records import Candidate, Case, Document, Verdict
from evaljudge.sections import Bars

SYSTEMS = "ABC"
Drawn = tuple[str, float, float]
"""The document, what was predicted, and what people said."""


def world(
    documents: int, seed: int = 5, inferred: float = 0.0
) -> tuple[list[SeenShard], list[Drawn]]:
    """A shard for each document, and the comparisons that count, with no array anywhere."""
    draw, shards, expected = Random(seed), [], []
    for number in range(documents):
        doc_id, candidates, verdicts = f"d{number}", [], []
        for system in SYSTEMS:
            rating = draw.randint(2, 10) / 2
            is_rated = draw.random() < 0.9
            candidates.append(Candidate(system, "text", {"fluency": rating} if is_rated else {}))
            levels = []
            for level in (1.0, 3.0, 5.0):
                weights = [draw.random() ** 3 + 0.001 for _ in range(3)]
                better, worse, similar = (weight / sum(weights) for weight in weights)
                one = {"rating": level, "p": {"Better": better, "Worse": worse, "Similar": similar}}
                if draw.random() < inferred and level != 3:
                    one["inferred"] = [0.0, 1.0]
                elif is_rated:
                    said = 1.0 if rating > level else 0.5 if rating == level else 0.0
                    expected.append((doc_id, better + similar / 2, said))
                levels.append(one)
            verdicts.append(Verdict(doc_id, system, "s", "fluency", {"levels": levels}))
        case = Case(Document(doc_id, "source"), tuple(candidates))
        shards.append(SeenShard([case], verdicts))
    return shards, expected


def row_of(shards: list[SeenShard]) -> ReliabilityRow:
    total: Sums = {}
    for shard in shards:
        add(total, reliability_sums(shard))
    (row,) = reliability_rows("s", total)
    return row


def by_hand(expected: list[Drawn], at: int) -> tuple[int, int, float, float, float, float]:
    """A bin from its comparisons: the interval by residuals of each document."""
    mine = [one for one in expected if at / 10 <= one[1] < (at + 1) / 10]
    share = np.mean([said for _, _, said in mine])
    documents = sorted({doc_id for doc_id, _, _ in mine})
    residuals = [sum(s - share for d, _, s in mine if d == doc_id) for doc_id in documents]
    k, n = len(documents), len(mine)
    variance = np.sum(np.square(residuals)) / n**2 * k / (k - 1)
    independent = min(n, share * (1 - share) / variance)
    t = stats.t.ppf(0.975, k - 1)
    # the roots of (share - x)^2 = t^2 x (1 - x) / independent
    squared = t**2 / independent
    low, high = sorted(np.roots([1 + squared, -2 * share - squared, share**2]))
    return n, k, float(np.mean([p for _, p, _ in mine])), float(share), float(low), float(high)


@pytest.mark.parametrize("inferred", [0.0, 0.4])
def test_bins_are_those_by_hand(inferred):
    shards, expected = world(40, inferred=inferred)
    row = row_of(shards)
    assert row.comparisons == len(expected)
    assert row.documents == len({doc_id for doc_id, _, _ in expected})
    assert row.predicted == pytest.approx(np.mean([p for _, p, _ in expected]))
    assert row.observed == pytest.approx(np.mean([said for _, _, said in expected]))
    assert [one.at_least for one in row.bins] == [at / 10 for at in range(10)]
    for at, one in enumerate(row.bins):
        found = (one.n, one.documents, one.predicted, one.observed, one.low, one.high)
        assert found == pytest.approx(by_hand(expected, at))
    apart = sum(one.n * abs(one.predicted - one.observed) for one in row.bins)
    assert row.calibration_error == pytest.approx(apart / len(expected))


def test_ratings_outside_the_levels_leave_their_axis_out():
    (shard,), _ = world(1)
    far = Candidate("A", "text", {"fluency": 7.0})
    case = Case(shard.cases[0].document, (far, *shard.cases[0].candidates[1:]))
    sums = reliability_sums(SeenShard([case], shard.verdicts))
    assert sums["fluency"]["beyond"] == 3
    assert reliability_rows("s", sums) == []


def test_a_single_document_and_certain_bins():
    (shard,), _ = world(1)
    assert {one.low for one in row_of([shard]).bins} == {None}
    levels = [{"rating": r, "p": {"Better": 1, "Worse": 0, "Similar": 0}} for r in (1.0, 3.0, 5.0)]
    candidates = tuple(Candidate(system, "text", {"fluency": 5.0}) for system in SYSTEMS)
    cases = [Case(Document(f"d{n}", "source"), candidates) for n in range(4)]
    verdicts = [Verdict(f"d{n}", system, "s", "fluency", {"levels": levels[:2]})
                for n in range(4) for system in SYSTEMS]  # fmt: skip
    beyond = reliability_sums(SeenShard(cases, verdicts))
    assert beyond["fluency"]["beyond"] == 24
    verdicts = [Verdict(one.doc_id, one.system, "s", "fluency", {"levels": [
        *levels[:2], levels[2] | {"inferred": [0, 1]}]}) for one in verdicts]  # fmt: skip
    (bin_,) = row_of([SeenShard(cases, verdicts)]).bins
    t = stats.t.ppf(0.975, 3)
    assert (bin_.observed, bin_.high) == (1.0, 1.0)
    assert bin_.low == pytest.approx(4 / (4 + t**2))  # four documents, not 24 comparisons


def test_a_picture_of_each_axis():
    row = row_of(world(40)[0])
    section = reliability([row], NOTES)
    (picture,) = section.pictures
    assert picture.title == "s on fluency"
    assert [point.n for point in picture.points] == [one.n for one in row.bins]
    assert section.tables[0].rows[0][-1] == f"{row.calibration_error:.3f}"


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 11), (450, 500), (9, 9)])
def test_wilson_is_that_of_scipy(hits, n):
    true = stats.binomtest(hits, n).proportion_ci(0.95, "wilson")
    assert wilson(hits / n, n) == pytest.approx((true.low, true.high), abs=1e-4)


SOUND = ValidityRow(
    judge="synthetic",
    axis="fluency",
    checked=100,
    inverted=12,
    pairs=400,
    inverted_pairs=13,
    agreement=0.4412,
    agreement_documents=98,
    graded_agreement=0.4671,
    graded_documents=86,
    comparisons=8000,
    entropy=0.8349,
    certain=0.2559,
    mass=0.9876,
    candidates=1600,
    below=80,
    above=160,
    exchanged=500,
    flipped=45,
    length=-0.1234,
    length_low=-0.2,
    length_high=0.0004,
    length_documents=1099,
)
EMPTY = ValidityRow("other", "*")


def test_flips_are_drawn_beside_the_share_that_is_warned_of():
    other = replace(SOUND, axis="relevance", exchanged=4, flipped=4, rated_length_documents=40)
    flips, lengths = validity([SOUND, other, EMPTY]).pictures
    assert isinstance(flips, Bars) and isinstance(lengths, Bars)
    few, all_flip = flips.rows
    assert (few.name, few.value, few.other) == ("synthetic · fluency", 0.09, MOST_FLIPPED)
    assert few.figure == "9.0% of 500"
    assert (few.low, few.high) == pytest.approx((0.0680, 0.1183), abs=1e-4)
    assert (all_flip.value, all_flip.high) == (1.0, 1.0)
    # where people rated, the agreement with length held fixed is drawn in its place
    (row,) = lengths.rows
    assert (row.name, row.value, row.low, row.high) == (
        "synthetic · fluency", SOUND.length, SOUND.length_low, SOUND.length_high,
    )  # fmt: skip
    assert list(validity([EMPTY]).pictures) == []


def test_what_cannot_be_told_has_no_figure():
    references, placing, leanings = validity([EMPTY]).tables
    assert references.rows == [["other", "*", "0", "–", "–", "–", "–"]]
    assert placing.rows == [["other", "*", "0", "–", "–", "–", "0", "–", "–"]]
    assert leanings.rows == [["other", "*", "0", "–", "–", "0", "–", "–", "0"]]


# warnings


FAR = {"length": 0.7, "length_low": 0.6, "length_high": 0.8}
GIVEN = {
    "people_length": 0.6, "given_length": 0.1, "given_length_low": 0.05, "given_length_high": 0.7,
    "rated_length_documents": 60,
}  # fmt: skip
ALARMING: list[tuple[dict[str, Any], str, str]] = [
    ({"inverted": 20}, "", ""),
    ({"inverted": 21}, "in more than 20% of documents", "(fluency 21.0%)"),
    ({"certain": 0.9}, "", ""),
    ({"certain": 0.901}, "more than 90% of comparisons", "(fluency 90.1%)"),
    ({"flipped": 150}, "", ""),
    ({"flipped": 151}, "more than 30% of exchanged comparisons flip", "(fluency 30.2%)"),
    ({"below": 640}, "", ""),
    ({"below": 656}, "more than 50% of texts", "(fluency 51.0%)"),
    ({"above": 1600, "below": 0}, "more than 50% of texts", "(fluency 100.0%)"),
    ({"length": 0.5, "length_low": 0.4, "length_high": 0.6}, "", ""),
    ({"length": 0.51, "length_low": 0.4, "length_high": 0.6}, "beyond ±0.5", "(fluency 0.510)"),
    ({"length": -0.51, "length_low": -0.6, "length_high": -0.4}, "beyond ±0.5", "(fluency -0.510)"),
    ({"length": 0.6, "length_low": -0.1, "length_high": 1.0}, "", ""),
    ({"length": 0.6, "length_low": 0.0, "length_high": 1.0}, "", ""),
    ({"length": 1.0, "length_low": None, "length_high": None}, "", ""),
    ({**FAR, **GIVEN, "given_length": 0.1}, "", ""),  # people rate by length as well
    ({**FAR, **GIVEN, "given_length": 0.51}, "go with length more than people", "0.510)"),
    ({**GIVEN, "given_length": -0.6}, "go with length more than people", "(fluency -0.600)"),
    ({**FAR, **GIVEN, "rated_length_documents": 9}, "unless people rate by length", "0.700)"),
]


@pytest.mark.parametrize(("changed", "said", "figure"), ALARMING)
def test_what_is_beyond_its_limit_is_warned_of(changed, said, figure):
    found = validity_warnings([replace(SOUND, **changed)])
    assert len(found) == bool(said)
    for warning in found:
        assert warning.startswith("synthetic: ")
        assert said in warning and figure in warning


def test_one_warning_of_each_judge_and_kind_names_the_axes():
    rows = [
        replace(SOUND, inverted=30, certain=0.95),
        replace(SOUND, axis="coherence"),
        replace(SOUND, axis="relevance", inverted=41),
        replace(SOUND, judge="other", inverted=50),
    ]
    inverted, certain, other = validity_warnings(rows)
    assert inverted == (
        "synthetic: in more than 20% of documents the judge itself finds a reference worse than "
        "the one below it (fluency 30.0%, relevance 41.0%): scores by references that are no scale "
        "mean little; let a larger model write them (`writer`)"
    )
    assert certain.startswith("synthetic: more than 90%") and "(fluency 95.0%)" in certain
    assert other.startswith("other: in more than 20%") and "(fluency 50.0%)" in other
