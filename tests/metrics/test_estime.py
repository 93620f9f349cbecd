"""ESTIME: by hand on vectors of two numbers, and by a second implementation on a tiny BERT."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer

from evaljudge.metrics import make_metrics
from evaljudge.metrics.estime import Read, estimated, masked, words_of
from evaljudge.metrics.protocol import Unscored, Value
from tests.build import case
from tests.lazily import Lazily

torch = Lazily("torch")
transformers = Lazily("transformers")

Part = Literal["alarms", "all", "soft"]
PARTS: list[Part] = ["alarms", "all", "soft"]
EAST, NORTH = (1.0, 0.0), (0.0, 1.0)


def read(words: str, *places: tuple[float, float], first: Sequence[int]) -> Read:
    inputs = np.array([[1.0, 0.0] if token % 2 else [0.6, 0.8] for token in first], np.float32)
    return Read(words.split(), np.array(first), np.array(places, np.float32), inputs)


def test_by_hand():
    """In the places of `town` and `city` the source has `river`; `city` is not in the source."""
    source = read("river town", EAST, NORTH, first=[1, 2])
    text = read("river town city", (0.9, 0.1), (5, 1), (1, 0.5), first=[1, 2, 3])
    assert estimated("alarms", text, source) == 1
    assert estimated("all", text, source) == 2
    assert estimated("soft", text, source) == pytest.approx((1 + 0.6 + 1) / 3)
    found = list(masked([(5,), (6, 7), (8,)], mask=0, room=450))
    assert found == [((0, 6, 7, 8), {0: 0}), ((5, 0, 0, 8), {1: 1}), ((5, 6, 7, 0), {2: 3})]
    first, (_, second) = list(masked([(i,) for i in range(20)], 99, room=18))[:2]
    # A margin of 2; the words 0 and 8 of the first window, 16 in the next, from 14 on.
    ids = (99, *range(1, 8), 99, *range(9, 16), 99, 17)
    assert first == (ids, {0: 0, 8: 8, 16: 16})
    assert second == {1: 1, 9: 9}


@given(st.lists(st.integers(1, 12), max_size=60), st.integers(2, 30))
def test_each_word_is_masked_once(lengths, room):
    words = [(number + 1,) * length for number, length in enumerate(lengths)]
    windows = list(masked(words, 0, room))
    assert sorted(word for _, masks in windows for word in masks) == list(range(len(words)))
    for ids, masks in windows:
        assert len(ids) <= room
        assert all(ids[place] == 0 for place in masks.values())
        numbers = sorted(masks)
        assert all(later - word >= 8 for word, later in pairwise(numbers))
        assert not {number + 1 for number in numbers} & set(ids)


# On a tiny BERT

SOURCE = "The river rose after two days of rain. The town was cut off, and a flood closed a bridge."
TEXTS = [
    "The river rose two days.",
    "A bridge closed the town; rain reopened it 3.5 days.",
    "flood",
    SOURCE.replace("river", "bridge") * 3 + "A well-known re-open.",
]


class SecondImplementation:
    """Word by word and window by window, with transformers' own tokenizer and model."""

    def __init__(self, folder: Path, layer: int) -> None:
        self.tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
        self.model = transformers.BertForMaskedLM.from_pretrained(folder).eval()
        self.layer, self.room, self.margin = layer, 62, 6

    def words(self, text: str) -> list[tuple[str, list[str]]]:
        split = NLTKWordTokenizer().tokenize
        found = [word for one in re.split(r"(?<=[.!?]) ", text) for word in split(one)]
        return [(word, self.tokenizer.tokenize(word)) for word in found]

    def vectors(self, text: str) -> dict[int, Any]:
        words = self.words(text)
        tokens = [token for _, pieces in words for token in pieces]
        spans, at = [], 0
        for _, pieces in words:
            spans.append((at, at + len(pieces)))
            at += len(pieces)
        found: dict[int, Any] = {}
        while len(found) < len(words):
            left = [number for number in range(len(words)) if number not in found]
            begin = max(0, spans[left[0]][0] - self.margin)
            shown, group, previous = tokens[begin : begin + self.room], [], -8
            for number in left:
                if spans[number][1] - 1 > begin + self.room - self.margin:
                    break
                if number - previous >= 8 and (number - left[0]) % 8 == 0:
                    group.append(number)
                    previous = number
            for number in group:
                for place in range(*spans[number]):
                    shown[place - begin] = "[MASK]"
            ids = self.tokenizer.convert_tokens_to_ids(["[CLS]", *shown, "[SEP]"])
            with torch.no_grad():
                states = self.model(torch.tensor([ids]), output_hidden_states=True).hidden_states
            for number in group:
                found[number] = states[self.layer][0][1 + spans[number][0] - begin]
        return found

    def estime(self, text: str, source: str) -> dict[Part, float]:
        mine, theirs = self.words(text), self.words(source)
        here, there = self.vectors(text), self.vectors(source)
        table = self.model.get_input_embeddings().weight.detach()
        found: dict[Part, float] = {"alarms": 0, "all": 0, "soft": 0}
        for number, (word, pieces) in enumerate(mine):
            products = [float(here[number] @ there[other]) for other in range(len(theirs))]
            nearest = theirs[products.index(max(products))][1][0]
            if nearest != pieces[0]:
                found["all"] += 1
                found["alarms"] += word in [other for other, _ in theirs]
            ids = self.tokenizer.convert_tokens_to_ids([pieces[0], nearest])
            cosine = torch.nn.functional.cosine_similarity(table[ids[0]], table[ids[1]], dim=0)
            found["soft"] += float(cosine) / len(mine)
        return found


def values(folder: Path, source: str, *texts: str, **settings: Any) -> list[Value]:
    (metric,) = make_metrics({"estime": {"model": str(folder), "layer": 2, **settings}})
    (row,) = metric.measure([case(*texts, source=source)])
    return row


@pytest.mark.engine
@pytest.mark.parametrize("source", [SOURCE, f"{SOURCE} A flood! " * 5])
def test_as_a_second_implementation(tiny_bert, source):
    second = SecondImplementation(tiny_bert, 2)
    expected = [second.estime(text, source) for text in TEXTS]
    for part in PARTS:
        found = values(tiny_bert, source, *TEXTS, part=part)
        assert found == pytest.approx([one[part] for one in expected], abs=1e-4)
    alarms = [one["alarms"] for one in expected]
    assert len({*alarms}) > 2 and max(alarms) < max(one["all"] for one in expected)
    other_layer = values(tiny_bert, source, *TEXTS, layer=-1, batch=1, part="soft")
    assert other_layer != pytest.approx([one["soft"] for one in expected], abs=1e-4)


def test_words_are_those_of_the_authors():
    """Clitics stand apart, abbreviations do not; accents are signs of their own (NFKD)."""
    found = words_of("It's 3.5 km. He didn't say “no” to the U.S. team: it's well-known.")
    assert found == ["It", "'s", "3.5", "km", ".", "He", "did", "n't", "say", "“", "no", "”", "to",
                     "the", "U.S.", "team", ":", "it", "'s", "well-known", "."]  # fmt: skip
    assert words_of("yûki") == ["yu\u0302ki"]
    assert words_of("河が") == ["河", "か\u3099"]


@pytest.mark.engine
def test_no_word_in_common(tiny_bert):
    none = [Unscored("no word in common with the source")]
    assert values(tiny_bert, SOURCE, "zebra") == none
    assert values(tiny_bert, SOURCE, "zebra", part="all") != none


@pytest.mark.engine
def test_marks_in_a_text_are_words(tiny_bert):
    """A written [MASK] is three words; none of them hides the word beside it."""
    with_mask = values(tiny_bert, "[MASK] river rose", "river [MASK] rose", part="all")
    assert with_mask == values(tiny_bert, "[maSk] river rose", "river [maSk] rose", part="all")
