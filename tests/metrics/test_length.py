"""The metrics of length, and the registry's words for what it lacks."""

from typing import Any

import pytest

from evaljudge.errors import UserError
from evaljudge.metrics import Unscored, make_metrics, metrics_spec, read_metrics
from evaljudge.records import Candidate, Case, Document

TEXTS = ("a  b\nc", " ", "")
CASE = Case(
    Document("d", "one two three four five six"),
    tuple(Candidate(f"s{i}", text) for i, text in enumerate(TEXTS)),
)


def test_values() -> None:
    empty = Unscored("empty text")
    for name, value in (("words", 3.0), ("compression", 2.0)):
        (metric,) = make_metrics({name: {}})
        assert metric.measure([CASE, CASE]) == [[value, empty, empty]] * 2


def test_compression_needs_a_source() -> None:
    (metric,) = make_metrics({"compression": {}})
    found = metric.measure([Case(Document("d", " "), (Candidate("A", "a text"),))])
    assert found == [[Unscored("empty source")]]


def test_one_metric_under_two_names() -> None:
    made = make_metrics({"words": {}, "again": {"metric": "words"}})
    assert [metric.name for metric in made] == ["words", "again"]
    assert made[0].measure([CASE]) == made[1].measure([CASE])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"word": {}}, "unknown metric 'word': did you mean 'words'"),
        ({"mine": {"metric": "word"}}, "unknown metric 'word'"),
        ({"mine": {"metric": ["words"]}}, "unknown metric"),
        ({"../x": {"metric": "words"}}, "metrics.../x: a name may hold letters"),
        ({"human": {"metric": "words"}}, "metrics.human: people go by this name"),
        ({"words": {"n": 2}}, "metrics.words: unknown key 'n'"),
    ],
)
def test_refusals(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        make_metrics(spec)


@pytest.mark.parametrize(
    "text", ["words, chrf", "[words, chrf]", "{words: , chrf: {}}", "words,chrf"]
)
def test_forms_on_a_command_line(text: str) -> None:
    assert read_metrics(text) == {"words": {}, "chrf": {}} == metrics_spec(["words", "chrf"])


@pytest.mark.parametrize("text", ["{words: 3}", "3", "[1]", "{a", "[[words]]"])
def test_what_is_no_list_of_metrics(text: str) -> None:
    with pytest.raises(UserError, match="--metrics "):
        read_metrics(text)
