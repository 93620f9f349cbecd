"""What a text is compared with, by hand: the measure is how many words two texts are apart."""

from collections.abc import Sequence

import pytest

from evaljudge.metrics.protocol import Against, Comparison, Unscored, Value, combined, measured
from evaljudge.records import Candidate, Case, Document

RIVER = Document("d1", "one two three four five six", ("a b", " \n", "c d e f"))


def words_apart(reference: str) -> Comparison:
    """Minus the difference in words; a text with an x has no such number."""
    here = len(reference.split())
    return lambda text: Unscored("x") if "x" in text else -abs(here - len(text.split()))


def values(document: Document, texts: Sequence[str], against: Against) -> list[Value]:
    candidates = tuple(Candidate(f"s{i}", text) for i, text in enumerate(texts))
    (row,) = measured([Case(document, candidates)], against, words_apart)
    return row


@pytest.mark.parametrize(
    ("against", "expected"),
    [("first", [-1, -1]), ("best", [-1, -1]), ("mean", [-1, -2]), ("source", [-3, -5])],
)
def test_values_by_hand(against, expected):
    assert values(RIVER, ["p q r", "p"], against) == expected


@pytest.mark.parametrize(
    ("document", "against", "reason"),
    [
        (Document("d", "s"), "first", "no reference"),
        (Document("d", "s", ("", "\t")), "mean", "no reference"),
        (Document("d", " ", ("a b",)), "source", "empty source"),
    ],
)
def test_nothing_to_compare_with(document, against, reason):
    assert values(document, ["p", ""], against) == [Unscored(reason), Unscored("empty text")]


@pytest.mark.parametrize(
    ("against", "expected"),
    [
        ("first", [Unscored("is the reference"), -2, Unscored("x")]),
        ("best", [Unscored("is the reference"), Unscored("is the reference"), Unscored("x")]),
        ("mean", [Unscored("is the reference"), Unscored("is the reference"), Unscored("x")]),
        ("source", [-4, -2, Unscored("is the reference")]),
    ],
)
def test_a_text_is_not_compared_with_itself(against, expected):
    """White space apart, it is one of the texts that it would be compared with."""
    assert values(RIVER, ["a  b\n", "c d e f", RIVER.source], against) == expected


def test_unscored_against_some_is_scored_against_the_others():
    gap = Unscored("x")
    assert combined([gap, 0.5, 0.25], "best") == 0.5
    assert combined([gap, 0.5, 0.25], "mean") == 0.375
    assert combined([gap, gap], "mean") == gap
    assert values(RIVER, ["x y"], "best") == [gap]


def test_a_reference_is_prepared_once_for_all_candidates_of_its_case():
    prepared: list[str] = []

    def comparing(reference: str) -> Comparison:
        prepared.append(reference)
        return words_apart(reference)

    case = Case(RIVER, tuple(Candidate(system, "p q") for system in "ABC"))
    assert measured([case, case], "mean", comparing) == [[-1, -1, -1]] * 2
    assert prepared == ["a b", "c d e f"] * 2
