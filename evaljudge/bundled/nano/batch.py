"""Lessons side by side as tensors; each question sees the stem and itself, not its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from evaljudge.bundled.nano.lessons import NOWHERE, Lesson

_STEP = 32
_NOTHING, _STEM = -1, 0
_NEVER = -1e4


@dataclass(frozen=True, slots=True)
class Batch:
    """[lesson, token]; `sees` is [lesson, 1, token, token], what is added to a token's liking."""

    ids: Tensor
    positions: Tensor
    sees: Tensor
    following: Tensor
    learnt: Tensor
    faults: Tensor
    looks: Tensor

    def to(self, device: str) -> Batch:
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


def collate(lessons: Sequence[Lesson]) -> Batch:
    longest = max(len(lesson) for lesson in lessons)
    length = -(-longest // _STEP) * _STEP
    rows = [_row(lesson, length) for lesson in lessons]
    columns = [torch.tensor(column) for column in zip(*rows, strict=True)]
    ids, positions, owner, following, learnt, faults, looks = columns
    bits = faults[..., None].bitwise_right_shift(torch.arange(4)).bitwise_and(1)
    return Batch(ids, positions, _sees(owner), following, learnt, bits.float(), looks)


def _row(lesson: Lesson, length: int) -> tuple[list[Any], ...]:
    ids: list[int] = []
    positions: list[int] = []
    owner: list[int] = []
    following: list[int] = []
    learnt: list[float] = []
    faults: list[int] = []
    looks: list[int] = []
    for number, run in enumerate((lesson.stem, *lesson.questions)):
        start = 0 if number == _STEM else len(lesson.stem.ids)
        ids += run.ids
        positions += range(start, start + len(run.ids))
        owner += [number] * len(run.ids)
        following += [*run.ids[1:], 0]
        learnt += [*run.learnt[1:], 0.0]
        faults += run.faults
        looks += run.looks
    gap = length - len(ids)
    columns: list[tuple[list[Any], float]] = [
        *((ids, 0), (positions, 0), (owner, _NOTHING), (following, 0)),
        *((learnt, 0.0), (faults, 0), (looks, NOWHERE)),
    ]
    return tuple(column + [blank] * gap for column, blank in columns)


def _sees(owner: Tensor) -> Tensor:
    length = owner.shape[1]
    before = torch.ones(length, length, dtype=torch.bool).tril()
    shared = (owner[:, None, :] == _STEM) | (owner[:, None, :] == owner[:, :, None])
    return torch.where(before & shared, 0.0, _NEVER)[:, None].to(torch.bfloat16)
