"""A small Llama in plain torch: what is trained here is what vLLM loads.

Beside the next token it foretells, of every token, the axes that it shows a fault on (`faults`):
a scaffold for training alone, left behind when the weights are saved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class Shape:
    vocabulary: int
    width: int = 128
    layers: int = 6
    heads: int = 4
    inner: int = 352
    faults_after: int = 4
    """The layer whose output must tell the faults, so that those above can count them."""
    looks_in: int = 3
    """The layer whose first head must look up in the report what a text tells."""
    theta: float = 10_000.0
    context: int = 2048


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
        """What comes out, and how much each token's first head likes each other."""
        batch, length, width = x.shape
        mixed = self.query_key_value(self.before_attention(x))
        q, k, v = mixed.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        # Written out: on a CPU its gradient is several times as fast as the fused kernel's.
        liked = turned(q * q.shape[-1] ** -0.5, turn) @ turned(k, turn).transpose(2, 3) + mask
        seen = F.softmax(liked, -1, dtype=v.dtype) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(self.before_inner(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up), liked[:, 0]


class Network(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.last = nn.RMSNorm(shape.width, eps=1e-5)
        self.faults = nn.Linear(shape.width, 4)
        self.apply(_begin)
        for layer in self.layers:
            for into in (layer.out, layer.down):
                nn.init.normal_(into.weight, std=0.02 / (2 * shape.layers) ** 0.5)

    def forward(
        self, ids: Tensor, positions: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Hidden states to read words off, the logits of each token's faults, and of its look."""
        x = self.words(ids)
        turn = turns(positions, self.shape, x.dtype)
        faults = looks = x
        for number, layer in enumerate(self.layers, start=1):
            x, liked = layer(x, turn, mask)
            if number == self.shape.looks_in:
                looks = liked
            if number == self.shape.faults_after:
                faults = self.faults(x)
        return self.last(x), faults, looks

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
