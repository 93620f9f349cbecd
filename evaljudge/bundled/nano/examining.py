"""What a network has learnt, measured on people that it was not trained on: the test half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch

from evaljudge.bundled.nano.lessons import Lesson, Teacher
from evaljudge.bundled.nano.network import Batch, Network, collate
from evaljudge.bundled.nano.tokenizer import make_tokenizer
from evaljudge.bundled.world import AXES

_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Marks:
    """Shares of comparisons answered correctly, and of texts written word for word as taught."""

    compared: dict[str, float]
    extremes: float
    betweens: float

    def __str__(self) -> str:
        right = ", ".join(f"{axis} {share:.3f}" for axis, share in self.compared.items())
        return (f"held out: compares rightly: {right}; writes as taught: "
                f"extremes {self.extremes:.3f}, in-betweens {self.betweens:.3f}")  # fmt: skip


def examine(network: Network, seed: int = 0, lessons: int = 300) -> Marks:
    teacher, random = Teacher(make_tokenizer(), "test"), Random(f"examination {seed}")
    compared = _marked(network, [teacher.comparison(random) for _ in range(lessons)])
    by_axis = [compared[i :: len(AXES)] for i in range(len(AXES))]
    return Marks(
        {axis: _share(marks) for axis, marks in zip(AXES, by_axis, strict=True)},
        _share(_marked(network, [teacher.extreme(random) for _ in range(lessons // 3)])),
        _share(_marked(network, [teacher.between(random) for _ in range(lessons // 3)])),
    )


def _marked(network: Network, lessons: Sequence[Lesson]) -> list[bool]:
    """Of each question, whether every word of the answer is the one the network would say."""
    device = next(network.parameters()).device.type
    marks: list[bool] = []
    for start in range(0, len(lessons), _AT_ONCE):
        some = lessons[start : start + _AT_ONCE]
        batch = collate(some).to(device)
        said = _said(network, batch)
        for row, lesson in enumerate(some):
            at = len(lesson.stem)
            for question in lesson.questions:
                end = at + len(question) - 1
                answer = batch.learnt[row, at:end] > 0
                right = said[row, at:end] == batch.following[row, at:end]
                marks.append(bool(right[answer].all()))
                at = end + 1
    return marks


@torch.inference_mode()
def _said(network: Network, batch: Batch) -> torch.Tensor:
    hidden, _, _ = network(batch.ids, batch.positions, batch.sees.float())
    return network.read(hidden).argmax(-1)


def _share(marks: Sequence[bool]) -> float:
    return sum(marks) / len(marks)
