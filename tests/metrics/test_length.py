"""The metrics of length, the registry's words for what it lacks, and the layers of encoders."""

import pytest

from evaljudge.metrics import Unscored, cautions_of, make_metrics, metrics_spec, read_metrics
from evaljudge.metrics.bertscore import own_layer
from evaljudge.records import Candidate, Case, Document

TEXTS = ("a  b\nc", " ", "")
CASE = Case(
    Document("d", "one two three four five six"),
    tuple(Candidate(f"s{i}", text) for i, text in enumerate(TEXTS)),
)


def test_values():
    empty = Unscored("empty text")
    for name, value in (("words", 3.0), ("compression", 2.0)):
        (metric,) = make_metrics({name: {}})
        assert metric.measure([CASE, CASE]) == [[value, empty, empty]] * 2
    (metric,) = make_metrics({"compression": {}})
    found = metric.measure([Case(Document("d", " "), (Candidate("A", "a text"),))])
    assert found == [[Unscored("empty source")]]
    made = make_metrics({"words": {}, "again": {"metric": "words"}})
    assert [metric.name for metric in made] == ["words", "again"]
    assert made[0].measure([CASE]) == made[1].measure([CASE])


@pytest.mark.parametrize(
    "text", ["words, chrf", "[words, chrf]", "{words: , chrf: {}}", "words,chrf"]
)
def test_forms_on_a_command_line(text):
    assert read_metrics(text) == {"words": {}, "chrf": {}} == metrics_spec(["words", "chrf"])


@pytest.mark.parametrize(
    ("encoder", "layer"),
    [
        ("roberta-large", 17),
        ("bert-base-uncased", 9),
        ("google-bert/bert-base-uncased", 9),
        ("microsoft/deberta-xlarge-mnli", 40),
        ("somebody/roberta-large", None),
        ("all-MiniLM-L6-v2", None),
        ("t5-base", None),
    ],
)
def test_own_layer(encoder, layer):
    assert own_layer(encoder) == layer


@pytest.mark.parametrize(("name", "layer"), [("roberta-large", 17), ("deberta-xlarge-mnli", 40)])
def test_a_folder_goes_by_its_last_part(tmp_path, name, layer):
    folder = tmp_path / name
    folder.mkdir()
    assert own_layer(str(folder)) == own_layer(f"{folder}/") == layer


@pytest.mark.parametrize(
    ("settings", "layer", "like", "caution"),
    [
        ({"model": "roberta-large"}, 17, "BERTScore", None),
        ({"model": "roberta-large", "layer": 17}, 17, "BERTScore", None),
        ({"model": "roberta-large", "layer": 10}, 10, "not BERTScore's own",
         "b: not BERTScore's own number, which is of layer 17: `layer` is 10"),
        ({"model": "a/b"}, -1, "not BERTScore's own",
         "b: not BERTScore's own number: its table has no layer for a/b, so that the last was "
         "taken: set `layer`"),
        ({"model": "a/b", "layer": 0}, 0, "not BERTScore's own",
         "b: not BERTScore's own number: its table has no layer for a/b, so that yours was taken"),
    ],
)  # fmt: skip
def test_the_layer_is_chosen_and_said(settings, layer, like, caution):
    (metric,) = made = make_metrics({"b": {"metric": "bertscore", **settings}})
    assert (metric.layers, metric.made_by) == ((layer,), {"like": like})
    assert cautions_of(made) == ([caution] if caution else [])
