"""BARTScore on tiny random BART and T5, against log-probabilities computed with transformers alone.

The oracle tokenises with the model's own tokenizer, shifts the decoder's input by itself, and takes
one pair at a time.
"""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics
from evaljudge.metrics.bartscore import pairs_of
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.records import Candidate, Case, Document
from tests.metrics.tiny_models import EOS, POSITIONS, encoder_decoder

engine = pytest.mark.engine
REFERENCES = ("The river flooded the town.", "Boats came from the old city.", "")
TEXTS = ["A flood hit the town.", "Boats came. " * 12, "The cat sat on a mat."]
SOURCE = "The river rose after two days of rain, and the council closed the old bridge. " * 9
MOST = 24


def case(*texts: str, source: str = SOURCE, references: tuple[str, ...] = REFERENCES) -> Case:
    candidates = tuple(Candidate(f"s{i}", text) for i, text in enumerate(texts))
    return Case(Document("d", source, references), candidates)


# without a model


def test_what_is_asked_of_each_pair() -> None:
    assert pairs_of("precision", "text", "other") == [("other", "text")]
    assert pairs_of("recall", "text", "other") == [("text", "other")]
    assert pairs_of("f", "text", "other") == [("other", "text"), ("text", "other")]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "metrics.bartscore.model: name an encoder–decoder, by its hub name or its folder"),
        ({"model": "s3://bucket/x"}, "metrics.bartscore.model: name an encoder–decoder"),
        ({"model": "/nowhere"}, "metrics.bartscore.model: /nowhere is not on this machine"),
        (
            {"model": "facebook/no-such-bart"},
            "metrics.bartscore.model: facebook/no-such-bart is not on this machine, and this "
            "metric downloads nothing: name its folder, or have it there first (`hf download ",
        ),
        ({"model": "x", "most_tokens": 4}, "metrics.bartscore.most_tokens: "),
        ({"model": "x", "part": "f1"}, "metrics.bartscore.part: "),
        ({"model": "x", "layer": 3}, "metrics.bartscore: unknown key 'layer'"),
    ],
)
def test_mistakes(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        make_metrics({"bartscore": settings})[0].measure([case(*TEXTS)])
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


# with tiny models


@pytest.fixture(scope="module")
def folder_of(
    tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """A checkpoint of this architecture with random weights, made on the spot."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            made[name] = encoder_decoder(name, tiny("bytes"), tmp_path_factory.mktemp(name))
        return made[name]

    return make


class Oracle:
    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(folder).float().eval()

    def log_probability(self, given: str, said: str, most: int) -> float:
        import torch

        read, written = (
            self.tokenizer(text, truncation=True, max_length=most)["input_ids"]
            for text in (given, said)
        )
        start = self.model.config.decoder_start_token_id
        with torch.no_grad():
            rows = (
                self.model(
                    input_ids=torch.tensor([read]),
                    decoder_input_ids=torch.tensor([[start, *written[:-1]]]),
                )
                .logits[0]
                .log_softmax(-1)
            )
        return fmean(float(rows[n][token]) for n, token in enumerate(written))


def values(folder: Path, *cases: Case, **settings: Any) -> list[list[Value]]:
    (metric,) = make_metrics({"bartscore": {"model": str(folder), **settings}})
    return metric.measure(cases)


def close(found: list[list[Value]]) -> list[list[Any]]:
    """Apart from the rounding of float32, which grows with the number; reasons are to be equal."""
    return [
        [v if isinstance(v, Unscored) else pytest.approx(v, rel=1e-5) for v in row] for row in found
    ]


@engine
@pytest.mark.parametrize("against", ["first", "best", "mean", "source"])
@pytest.mark.parametrize("name", ["bart", "t5"])
def test_it_is_what_transformers_gives(
    folder_of: Callable[[str], Path], name: str, against: str
) -> None:
    """Also where texts are cut: the source is longer than BART's positions, and than `MOST`."""
    folder = folder_of(name)
    oracle = Oracle(folder)
    others = {"source": [SOURCE], "first": REFERENCES[:1]}.get(against, REFERENCES[:2])
    for most in (MOST, 1024):
        cut = min(most, POSITIONS) if name == "bart" else most
        pairs = [[(other, text) for other in others] for text in TEXTS]
        forth = [[oracle.log_probability(x, y, cut) for x, y in row] for row in pairs]
        back = [[oracle.log_probability(y, x, cut) for x, y in row] for row in pairs]
        both = [
            [(f + b) / 2 for f, b in zip(*two, strict=True)]
            for two in zip(forth, back, strict=True)
        ]
        combine = fmean if against == "mean" else max
        for part, wanted in {"precision": forth, "recall": back, "f": both}.items():
            (found,) = values(folder, case(*TEXTS), part=part, against=against, most_tokens=most)
            assert found == pytest.approx([combine(row) for row in wanted], abs=1e-3)


@engine
@pytest.mark.parametrize("name", ["bart", "t5"])
def test_company_changes_nothing(folder_of: Callable[[str], Path], name: str) -> None:
    folder = folder_of(name)
    cases = [case(*TEXTS), case(*reversed(TEXTS), references=(TEXTS[2],)), case(*REFERENCES[:2])]
    alone = [row for one in cases for row in values(folder, one, batch=1)]
    assert values(folder, *cases) == close(alone)
    assert values(folder, *cases, batch=100) == close(alone)
    numbers = [value for row in alone for value in row if not isinstance(value, Unscored)]
    assert len(set(numbers)) == len(numbers) and max(numbers) < 0


@engine
def test_unscored(folder_of: Callable[[str], Path]) -> None:
    folder = folder_of("bart")
    same = values(folder, case(REFERENCES[0], " \n"))
    assert same == [[Unscored("is the reference"), Unscored("empty text")]]
    none = values(folder, case(*TEXTS, references=("",)))
    assert none == [[Unscored("no reference")] * 3]
    assert values(folder, case("A.", source=" "), against="source") == [[Unscored("empty source")]]
    assert values(folder) == [] and values(folder, case()) == [[]]


@engine
def test_marks_in_a_text_are_words(folder_of: Callable[[str], Path]) -> None:
    """A text cannot end itself early; the oracle, which reads them as marks, differs."""
    folder, text = folder_of("bart"), f"A flood.{EOS} It was a perfect summary."
    ((found,),) = values(folder, case(text), part="precision")
    assert found != pytest.approx(
        Oracle(folder).log_probability(REFERENCES[0], text, POSITIONS), abs=1e-3
    )


@engine
def test_facts_say_what_the_numbers_depend_on(
    folder_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = folder_of("bart")
    (metric,) = make_metrics({"bartscore": {"model": str(folder), "batch": 7}})
    facts = metric.facts
    assert {"against": "first", "part": "f", "most_tokens": 1024}.items() <= facts.items()
    assert facts["model"].startswith(f"{folder.name}@") and "transformers " in facts["library"]
    assert not {"batch", "allow", "revision"} & facts.keys()
    there = pickle.loads(pickle.dumps(metric))
    assert there.measure([case(*TEXTS)]) == close(metric.measure([case(*TEXTS)]))
    moved_away = shutil.copytree(folder, tmp_path / folder.name)
    (same,) = make_metrics({"bartscore": {"model": str(moved_away)}})
    assert same.facts == facts


@engine
def test_a_name_is_read_from_the_hub_s_local_cache(
    folder_of: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    commit = "0123456789abcdef0123456789abcdef01234567"
    home = tmp_path / "models--somebody--tiny-bart"
    shutil.copytree(folder_of("bart"), home / "snapshots" / commit)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    (metric,) = make_metrics({"bartscore": {"model": "somebody/tiny-bart"}})
    assert metric.measure([case(*TEXTS)]) == close(values(folder_of("bart"), case(*TEXTS)))
    assert metric.facts["model"].startswith("somebody/tiny-bart@")


@engine
def test_a_folder_without_an_encoder_decoder(tiny: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match=r"^metrics\.bartscore\.model: .* cannot be read as "):
        values(tiny("bytes"), case(*TEXTS))
