"""Training and examining the nano judge: from nothing to a checkpoint, the same way each time.

Several things are learnt at once: the answers and the texts (what is shipped), the axes that each
word shows a fault on, where in the report a text's things are mentioned, and which of several
references a question is about. All but the first only help the training: without them a network
this small does not find out in an hour on two cores that it must look things up at all.

A step's lessons are drawn from the seed and the step's number alone, so a training that was cut
short goes on with what it would have seen. `examine` measures what a network has learnt on people
that it was not trained on: those of the test half.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from evaljudge.bundled.world import AXES
from jobs.nano.checkpoint import make_tokenizer, start_from
from jobs.nano.lessons import NOWHERE, Lesson, Teacher
from jobs.nano.llama import Shape
from jobs.nano.network import Batch, Network, Seen, collate

_REPORTED_EVERY = 50
_WORTH_COMPILING = 500
_FAULTS_ARE_RARE = 5.0
_EXAMINED_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the weights depend on, beside the world and the machine's arithmetic."""

    seed: int = 0
    steps: int = 2600
    layers: int = 6
    comparisons: int = 24
    ladders: int = 8
    extremes: int = 4
    betweens: int = 6
    checklists: int = 8
    ratings: int = 8
    writings: int = 2
    steps_of_axes: int = 1
    strangers: int = 2
    rate: float = 2e-3
    rate_of_matrices: float = 4e-3
    share: float = 1.0
    """Of both rates: less of it changes less of what a checkpoint knows."""
    warm_up: int = 100
    cool_down: float = 0.4
    faults: float = 1.0
    looks: float = 0.3
    decay: float = 0.05


class Training:
    def __init__(self, recipe: Recipe, folder: Path, start: Path | None = None) -> None:
        """`start`: a checkpoint to begin with, which learns more, in place of random weights."""
        torch.manual_seed(recipe.seed)
        tokenizer = make_tokenizer()
        self.recipe, self.step = recipe, 0
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self._halves = self.device == "cuda" or torch.cpu._is_avx512_bf16_supported()
        shape = Shape(tokenizer.get_vocab_size(), layers=recipe.layers)
        self.network = Network(shape).to(self.device)
        if start is not None:
            start_from(start, self.network)
        self._forward = _compiled(self.network, recipe.steps)
        self._teacher = Teacher(tokenizer)
        self._optimisers = _optimisers(self.network, recipe)
        self._state = folder / "training.pt"

    def resume(self) -> bool:
        """Resumes an earlier training of this recipe; False where there was none."""
        if not self._state.exists():
            return False
        state = torch.load(self._state, weights_only=True, map_location=self.device)
        if state["recipe"] != asdict(self.recipe):
            raise SystemExit(f"{self._state}: of another recipe: {state['recipe']}; remove it")
        self.step = state["step"]
        self.network.load_state_dict(state["network"])
        for optimiser, kept in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(kept)
        return True

    def save(self) -> None:
        state = {
            "recipe": asdict(self.recipe),
            "step": self.step,
            "network": self.network.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
        }
        self._state.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._state.with_suffix(".fresh")
        torch.save(state, fresh)
        fresh.replace(self._state)

    def run(self, say: Callable[[str], None]) -> None:
        began, losses = time.monotonic(), []
        while self.step < self.recipe.steps:
            losses.append(self.take_step())
            if self.step % _REPORTED_EVERY == 0 or self.step == self.recipe.steps:
                self.save()
                means = ", ".join(f"{mean:.3f}" for mean in torch.tensor(losses).mean(0).tolist())
                seconds = time.monotonic() - began
                say(
                    f"step {self.step:,} of {self.recipe.steps:,}: loss of comparisons, ladders, "
                    "extremes, betweens, checklists, ratings, writings, steps, strangers "
                    f"{means}; {seconds:.0f} s"
                )
                losses = []

    def take_step(self) -> list[float]:
        random, recipe = Random(f"{self.recipe.seed} {self.step}"), self.recipe
        teach = self._teacher
        sets = [
            [teach.comparison(random) for _ in range(recipe.comparisons)],
            [teach.ladder(random) for _ in range(recipe.ladders)],
            [teach.extreme(random) for _ in range(recipe.extremes)],
            [teach.between(random) for _ in range(recipe.betweens)],
            [teach.checklist(random) for _ in range(recipe.checklists)],
            [teach.rating(random) for _ in range(recipe.ratings)],
            [teach.writing(random) for _ in range(recipe.writings)],
            [teach.steps(random) for _ in range(recipe.steps_of_axes)],
            [teach.strange(random) for _ in range(recipe.strangers)],
        ]
        losses = [self._learn(lessons) for lessons in sets]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] = group["full_rate"] * self._pace()
            optimiser.step()
            optimiser.zero_grad()
        self.step += 1
        return losses

    def _pace(self) -> float:
        """The share of the full learning rate: up, level, and down at the end."""
        recipe = self.recipe
        left = (recipe.steps - self.step) / (recipe.steps * recipe.cool_down)
        return max(0.01, min(1.0, (self.step + 1) / recipe.warm_up, left))

    def _learn(self, lessons: Sequence[Lesson]) -> float:
        batch = collate(lessons).to(self.device)
        with torch.autocast(self.device, torch.bfloat16, enabled=self._halves):
            seen: Seen = self._forward(batch.ids, batch.positions, batch.sees)
            words = self.network.read(seen.hidden[batch.learnt > 0])
        loss = _loss_of_words(words, batch)
        seeking = _loss_of_looks(seen.looks, batch) + _loss_of_ladders(seen, batch)
        faulty = _loss_of_faults(seen.faults, batch)
        (loss + self.recipe.faults * faulty + self.recipe.looks * seeking).backward()
        return float(loss.item())


def _loss_of_words(logits: Tensor, batch: Batch) -> Tensor:
    weights = batch.learnt[batch.learnt > 0]
    missed = F.cross_entropy(logits.float(), batch.following[batch.learnt > 0], reduction="none")
    return (missed * weights).sum() / weights.sum()


def _loss_of_faults(logits: Tensor, batch: Batch) -> Tensor:
    rare = torch.tensor(_FAULTS_ARE_RARE, device=logits.device)
    return F.binary_cross_entropy_with_logits(logits.float(), batch.faults, pos_weight=rare)


def _loss_of_looks(logits: Tensor, batch: Batch) -> Tensor:
    looking = batch.looks != NOWHERE
    if not looking.any():
        return torch.zeros((), device=logits.device)
    return F.cross_entropy(logits[looking].float(), batch.looks[looking])


def _loss_of_ladders(seen: Seen, batch: Batch) -> Tensor:
    """The loss of the tokens' numbers, and of an answer's attention to other references."""
    numbers = batch.numbers + batch.asks
    if not batch.asks.any():
        return torch.zeros((), device=numbers.device)
    missed = F.cross_entropy(seen.numbers[numbers > 0].float(), numbers[numbers > 0])
    row, at = batch.asks.nonzero(as_tuple=True)
    attention = F.log_softmax(seen.reads[row, at].float(), -1)
    elsewhere = batch.numbers[row] != batch.asks[row, at][:, None]
    return missed - attention.masked_fill(elsewhere, float("-inf")).logsumexp(-1).mean()


def _compiled(network: Network, steps: int) -> Callable[..., Any]:
    """A third faster where torch finds a C++ compiler, after two minutes of compiling."""
    if shutil.which("g++") is None or steps < _WORTH_COMPILING:
        return network
    compiled: Callable[..., Any] = torch.compile(network, dynamic=True)
    return compiled


def _optimisers(network: Network, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the layers' matrices, which learns copying in half the steps; AdamW for the rest."""
    matrices = [p for p in network.layers.parameters() if p.ndim == 2]
    inside = {id(p) for p in matrices}
    rest = [p for p in network.parameters() if id(p) not in inside]
    optimisers: list[torch.optim.Optimizer] = [
        torch.optim.Muon(
            matrices, recipe.rate_of_matrices, recipe.decay, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(rest, recipe.rate, betas=(0.9, 0.95), weight_decay=recipe.decay),
    ]
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["full_rate"] = recipe.share * group["lr"]
    return optimisers


@dataclass(frozen=True, slots=True)
class Marks:
    """Shares of comparisons answered correctly, and of texts written word for word as taught."""

    compared: dict[str, float]
    ladders: float
    extremes: float
    betweens: float
    checklists: float
    ratings: float
    writings: float
    steps: float

    def __str__(self) -> str:
        right = ", ".join(f"{axis} {share:.3f}" for axis, share in self.compared.items())
        return (f"held out: compares rightly: {right}; in ladders {self.ladders:.3f}; "
                f"writes as taught: extremes {self.extremes:.3f}, in-betweens "
                f"{self.betweens:.3f}, checklists {self.writings:.3f}, steps "
                f"{self.steps:.3f}; answers checklists rightly {self.checklists:.3f}, "
                f"rates {self.ratings:.3f}")  # fmt: skip


def examine(network: Network, seed: int = 0, lessons: int = 300) -> Marks:
    teacher, random = Teacher(make_tokenizer(), "test"), Random(f"examination {seed}")
    compared = _marked(network, [teacher.comparison(random) for _ in range(lessons)])
    by_axis = [compared[i :: len(AXES)] for i in range(len(AXES))]
    return Marks(
        {axis: _share(marks) for axis, marks in zip(AXES, by_axis, strict=True)},
        _share(_marked(network, [teacher.ladder(random) for _ in range(lessons // 3)])),
        _share(_marked(network, [teacher.extreme(random) for _ in range(lessons // 3)])),
        _share(_marked(network, [teacher.between(random) for _ in range(lessons // 3)])),
        _share(_marked(network, [teacher.checklist(random) for _ in range(lessons // 3)])),
        _share(_marked(network, [teacher.rating(random) for _ in range(lessons // 3)])),
        _share(_marked(network, [teacher.writing(random) for _ in range(lessons // 3)])),
        _share(_marked(network, [teacher.steps(random) for _ in range(len(AXES))])),
    )


def _marked(network: Network, lessons: Sequence[Lesson]) -> list[bool]:
    """Whether the network would say every word of the answer, for each question."""
    device = next(network.parameters()).device.type
    marks: list[bool] = []
    for start in range(0, len(lessons), _EXAMINED_AT_ONCE):
        some = lessons[start : start + _EXAMINED_AT_ONCE]
        batch = collate(some).to(device)
        answered = _said(network, batch)
        for row, lesson in enumerate(some):
            at = len(lesson.stem)
            for question in lesson.questions:
                end = at + len(question) - 1
                answer = batch.learnt[row, at:end] > 0
                right = answered[row, at:end] == batch.following[row, at:end]
                marks.append(bool(right[answer].all()))
                at = end + 1
    return marks


@torch.inference_mode()
def _said(network: Network, batch: Batch) -> torch.Tensor:
    seen: Seen = network(batch.ids, batch.positions, batch.sees.float())
    return network.read(seen.hidden).argmax(-1)


def _share(marks: Sequence[bool]) -> float:
    return sum(marks) / len(marks)
