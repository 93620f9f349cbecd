"""The section on what could mislead, and the warnings: present where there is something to tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evaljudge.judges.synthetic.findings import MOST_FLIPPED, validity, validity_warnings
from evaljudge.judges.synthetic.validity import ValidityRow
from evaljudge.sections import Bars

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


def test_flips_are_drawn_beside_the_share_that_is_warned_of() -> None:
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


def test_what_cannot_be_told_has_no_figure() -> None:
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
    ({"below": 656}, "more than 50% of candidates", "(fluency 51.0%)"),
    ({"above": 1600, "below": 0}, "more than 50% of candidates", "(fluency 100.0%)"),
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
def test_what_is_beyond_its_limit_is_warned_of(
    changed: dict[str, Any], said: str, figure: str
) -> None:
    found = validity_warnings([replace(SOUND, **changed)])
    assert len(found) == bool(said)
    for warning in found:
        assert warning.startswith("synthetic: ")
        assert said in warning and figure in warning


def test_one_warning_of_each_judge_and_kind_names_the_axes() -> None:
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
