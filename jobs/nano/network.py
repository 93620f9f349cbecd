"""A small Llama in plain torch, and the batches that it reads: what is trained here, vLLM loads.

Beside the next token it predicts, of every token, the axes that it shows a fault on (`faults`), and
the number of the reference that it belongs to or asks about (`numbers`): this only serves training,
and is left out when the weights are saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jobs.nano.lessons import NOWHERE, Lesson, TaughtToken
from jobs.nano.llama import Shape

_STEP = 32
_NOTHING, _STEM = -1, 0
_NEVER = -1e4
FAULTS_AFTER = 4
"""The layer whose output must show the faults, so that those above can count them."""
MOST_NUMBERED = 9
"""How many references of a ladder have a number, which the same layer must show."""
LOOKS_IN = 3
"""The layer whose first head must look up in the report what a text says."""
READS_IN = 5
"""The layer whose first head must read, for an answer, the reference that is asked about."""


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, inner = shape.width, shape.inner
        self.heads = shape.heads
        self.before_attention = nn.RMSNorm(width, eps=1e-5)
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.before_inner = nn.RMSNorm(width, eps=1e-5)
        self.gate_up = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What comes out, and the first head's attention logits."""
        batch, length, width = x.shape
        mixed = self.query_key_value(self.before_attention(x))
        q, k, v = mixed.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        # Written out: on a CPU its gradient is several times as fast as the fused kernel's.
        logits = turned(q * q.shape[-1] ** -0.5, turn) @ turned(k, turn).transpose(2, 3) + mask
        seen = F.softmax(logits, -1, dtype=v.dtype) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(self.before_inner(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up), logits[:, 0]


class Seen(NamedTuple):
    """What a network makes of a batch: what words are read off, and what only serves training."""

    hidden: Tensor
    faults: Tensor
    numbers: Tensor
    looks: Tensor
    reads: Tensor


class Network(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.last = nn.RMSNorm(shape.width, eps=1e-5)
        self.faults = nn.Linear(shape.width, 4)
        self.numbers = nn.Linear(shape.width, MOST_NUMBERED + 1)
        self.apply(_begin)
        for layer in self.layers:
            for into in (layer.out, layer.down):
                nn.init.normal_(into.weight, std=0.02 / (2 * shape.layers) ** 0.5)

    def forward(self, ids: Tensor, positions: Tensor, mask: Tensor) -> Seen:
        x = self.words(ids)
        turn = turns(positions, self.shape, x.dtype)
        faults = numbers = looks = reads = x
        for number, layer in enumerate(self.layers, start=1):
            x, logits = layer(x, turn, mask)
            if number == LOOKS_IN:
                looks = logits
            if number == FAULTS_AFTER:
                faults, numbers = self.faults(x), self.numbers(x)
            if number == READS_IN:
                reads = logits
        return Seen(self.last(x), faults, numbers, looks, reads)

    def read(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.words.weight)


def _begin(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)


def turns(positions: Tensor, shape: Shape, dtype: Any) -> tuple[Tensor, Tensor]:
    """Rotary positions as Hugging Face's Llama has them: halves, not pairs."""
    half = shape.width // shape.heads // 2
    rates = shape.theta ** -(torch.arange(half, dtype=torch.float32) / half)
    angles = positions[:, None, :, None].float() * rates
    return angles.cos().repeat(1, 1, 1, 2), angles.sin().repeat(1, 1, 1, 2)


def turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = turn
    left, right = x.chunk(2, -1)
    return (x * cos + torch.cat((-right, left), -1) * sin).to(x.dtype)


@dataclass(frozen=True, slots=True)
class Batch:
    """Lessons side by side as tensors, [lesson, token]; each question sees the stem and itself.

    `sees` is [lesson, 1, token, token]: what is added to the attention logits.
    """

    ids: Tensor
    positions: Tensor
    sees: Tensor
    following: Tensor
    learnt: Tensor
    faults: Tensor
    looks: Tensor
    numbers: Tensor
    asks: Tensor

    def to(self, device: str) -> Batch:
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


def collate(lessons: Sequence[Lesson]) -> Batch:
    longest = max(len(lesson) for lesson in lessons)
    length = -(-longest // _STEP) * _STEP
    rows = [_row(lesson, length) for lesson in lessons]
    columns = (torch.tensor(column) for column in zip(*rows, strict=True))
    ids, positions, owner, following, learnt, faults, *taught = columns
    bits = faults[..., None].bitwise_right_shift(torch.arange(4)).bitwise_and(1)
    return Batch(ids, positions, _sees(owner), following, learnt, bits.float(), *taught)


def _row(lesson: Lesson, length: int) -> list[Sequence[Any]]:
    """A lesson's columns; where it is learnt, the weight stands at the token before."""
    rows = []
    for number, run in enumerate((lesson.stem, *lesson.questions)):
        start = 0 if number == _STEM else len(lesson.stem)
        pairs = zip(run, [*run[1:], TaughtToken(0)], strict=True)
        for at, (token, after) in enumerate(pairs, start):
            taught = (token.faults, token.looks, token.number, token.asks)
            rows.append((token.id, at, number, after.id, after.learnt, *taught))
    rows += [(0, 0, _NOTHING, 0, 0.0, 0, NOWHERE, 0, 0)] * (length - len(rows))
    return list(zip(*rows, strict=True))


def _sees(owner: Tensor) -> Tensor:
    length = owner.shape[1]
    before = torch.ones(length, length, dtype=torch.bool).tril()
    shared = (owner[:, None, :] == _STEM) | (owner[:, None, :] == owner[:, :, None])
    return torch.where(before & shared, 0.0, _NEVER)[:, None].to(torch.bfloat16)
