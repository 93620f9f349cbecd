"""BARTScore on tiny random BART and T5, against log-probabilities computed with transformers alone.

The oracle tokenises with the model's own tokenizer, shifts the decoder's input by itself, and takes
one pair at a time.
"""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evaljudge.metrics import make_metrics
from evaljudge.metrics.protocol import Value
from evaljudge.records import Case
from tests import build
from tests.metrics.tiny_models import EOS, POSITIONS, with_marks

engine = pytest.mark.engine
REFERENCES = ("The river flooded the town.", "Boats came from the old city.", "")
TEXTS = ["A flood hit the town.", "Boats came. " * 12, "The cat sat on a mat."]
SOURCE = "The river rose after two days of rain, and the council closed the old bridge. " * 9
MOST = 24


def case(*texts: str, source: str = SOURCE, references: tuple[str, ...] = REFERENCES) -> Case:
    return build.case(*texts, source=source, references=references)


@pytest.fixture(scope="module")
def folder_of(tiny, tmp_path_factory):
    """A checkpoint of this architecture with random weights, made on the spot."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            made[name] = with_marks(name, tiny("bytes"), tmp_path_factory.mktemp(name))
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


@engine
@pytest.mark.parametrize("against", ["first", "best", "mean", "source"])
@pytest.mark.parametrize("name", ["bart", "t5"])
def test_it_is_what_transformers_gives(folder_of, name, against):
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
def test_marks_in_a_text_are_words(folder_of):
    """A text cannot end itself early; the oracle, which reads them as marks, differs."""
    folder, text = folder_of("bart"), f"A flood.{EOS} It was a perfect summary."
    ((found,),) = values(folder, case(text), part="precision")
    assert found != pytest.approx(
        Oracle(folder).log_probability(REFERENCES[0], text, POSITIONS), abs=1e-3
    )
