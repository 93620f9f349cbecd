"""What the nano judge is taught: the very prompts of its pack, with the right replies.

A lesson is one stem, read once, and several questions about it, each followed by its answer:

    <report> … </report> <reference> … </reference> <target> … </target>
        Is the target Better, Worse or Similar in fluency?     Worse
        Is the target Better, Worse or Similar in relevance?   Better

Beside the answers every word of a text carries the axes that it is at fault on, which the network
must see before it can count and compare (`faults`), and the place in the report that it can be
looked up at (`looks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from random import Random
from typing import Any

from evaljudge.bundled.llama import ASSISTANT, BOS, END, USER
from evaljudge.bundled.world import (
    AXES,
    HIGHEST,
    LOWEST,
    Axis,
    Report,
    Text,
    graded,
    level,
    make_report,
    make_text,
    spelt,
)
from evaljudge.bundled.world.words import FICTIONS, NUMBERS, OBJECTS, PLACES, Half
from evaljudge.prompts import load_task

BETWEEN = {(1, 5): 3, (1, 3): 2, (3, 5): 4, (2, 4): 3}
"""The pairs of levels that a text is written between, and its own level."""


WRITERS = 0.3
"""The share of comparisons whose reference is one that a writer would write."""
TEXT_WEIGHT = 0.1
"""How much the words of the texts that are compared count, beside the answers."""
NOWHERE = -1
LOOKED_UP = frozenset([*NUMBERS, *OBJECTS, *PLACES, *FICTIONS])
"""The words of a text that are sought in the report; the first token stands for `not there`."""


@dataclass(slots=True)
class Run:
    """Tokens in a row: what each is, the axes it shows a fault on, and whether it is learnt."""

    ids: list[int] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    learnt: list[float] = field(default_factory=list)
    looks: list[int] = field(default_factory=list)

    def add(
        self, ids: Sequence[int], faults: int = 0, learnt: float = 0.0, looks: int = NOWHERE
    ) -> None:
        self.ids += ids
        self.looks += [looks] * len(ids)
        self.faults += [faults] * len(ids)
        self.learnt += [learnt] * len(ids)

    def cut(self, at: int) -> Run:
        """What follows the first `at` tokens; these stay."""
        rest = Run(self.ids[at:], self.faults[at:], self.learnt[at:], self.looks[at:])
        del self.ids[at:], self.faults[at:], self.learnt[at:], self.looks[at:]
        return rest


@dataclass(frozen=True, slots=True)
class Lesson:
    stem: Run
    questions: list[Run]

    def __len__(self) -> int:
        return len(self.stem.ids) + sum(len(question.ids) for question in self.questions)

    def __post_init__(self) -> None:
        """What all questions begin with is read once."""
        if len(self.questions) > 1:
            columns = zip(*(question.ids for question in self.questions), strict=False)
            same = sum(1 for _ in takewhile(lambda ids: len(set(ids)) == 1, columns))
            rests = [question.cut(same) for question in self.questions]
            self.stem.add(self.questions[0].ids)
            self.questions[:] = rests


class Teacher:
    """Draws lessons from one half of the world."""

    def __init__(self, tokenizer: Any, half: Half = "train") -> None:
        self._ids: Callable[[str], list[int]] = cache(
            lambda text: tokenizer.encode(text, add_special_tokens=False).ids
        )
        self._half: Half = half
        self._pack = load_task("summary", prompts="nano").pack

    def comparison(self, random: Random) -> Lesson:
        """Reference and target on all four axes at once; some of the references are graded ones."""
        report = make_report(random, self._half)
        reference = _any_text(random, report)
        target = make_text(random, report, _levels(random))
        asked = "synthetic.compare"
        stem = self._stem(asked, report, reference=reference, target=target)
        questions = [
            self._question(asked, axis, _verdict(level(target, axis), level(reference, axis)))
            for axis in AXES
        ]
        return Lesson(stem, questions)

    def extreme(self, random: Random, count: int = 3) -> Lesson:
        report = make_report(random, self._half)
        kinds = [(axis, extreme) for axis in AXES for extreme in ("best", "worst")]
        asked = "synthetic.extreme"
        questions = [
            self._question(asked, axis, graded(report, axis, _at(extreme)), extreme=extreme)
            for axis, extreme in random.sample(kinds, count)
        ]
        return Lesson(self._stem(asked, report), questions)

    def between(self, random: Random) -> Lesson:
        report, axis = make_report(random, self._half), random.choice(AXES)
        (low, high), middle = random.choice(list(BETWEEN.items()))
        given = {"worse": graded(report, axis, low), "better": graded(report, axis, high)}
        asked = "synthetic.between"
        question = self._question(asked, axis, graded(report, axis, middle))
        return Lesson(self._stem(asked, report, **given), [question])

    def _stem(self, asked: str, report: Report, **texts: Text) -> Run:
        """The prompt as far as it is the same for every question about these texts."""
        given = {"source": report.text} | {name: spelt(text) for name, text in texts.items()}
        prompt = self._pack.render(asked, given, axis="", description="", extreme="")
        run = Run()
        run.add(self._ids(f"{BOS}{USER}\n"))
        spelt_out = {given[name]: text for name, text in texts.items()}
        where: dict[str, int] = {}
        for part in prompt.parts[:-1]:
            if part in spelt_out:
                self._write(run, spelt_out[part], TEXT_WEIGHT, where)
            elif part == given["source"]:
                for word in part.split(" "):
                    where[word.rstrip(".")] = len(run.ids)
                    run.add(self._ids(word))
            else:
                run.add(self._ids(part))
        return run

    def _question(self, asked: str, axis: Axis, answer: Text | str, **words: str) -> Run:
        """The rest of the prompt, the reply and its end."""
        slots = dict.fromkeys(("source", "reference", "target", "worse", "better"), "x")
        prompt = self._pack.render(asked, slots, axis=axis, description="", **words)
        run = Run()
        run.add(self._ids(f"{prompt.parts[-1]}\n{ASSISTANT}\n"))
        if isinstance(answer, str):
            run.add(self._ids(answer), learnt=1.0)
        else:
            self._write(run, answer, 1.0, {})
        run.add(self._ids(END), learnt=1.0)
        return run

    def _write(self, run: Run, text: Text, learnt: float, where: Mapping[str, int]) -> None:
        stop = self._ids(".")[-1:]
        for sentence in text:
            seen = 0
            for word in sentence:
                bits = sum(1 << AXES.index(axis) for axis in word.faults)
                look = where.get(word.text, 0) if where and word.text in LOOKED_UP else NOWHERE
                run.add(self._ids(word.text), bits, learnt, look)
                seen |= bits
            run.add(stop, seen, learnt)


def _any_text(random: Random, report: Report) -> Text:
    """As systems write, or as the writer that is taught here does."""
    if random.random() < WRITERS:
        return graded(report, random.choice(AXES), random.randint(LOWEST, HIGHEST))
    return make_text(random, report, _levels(random))


def _levels(random: Random) -> dict[Axis, int]:
    return {axis: random.randint(LOWEST, HIGHEST) for axis in AXES}


def _verdict(target: int, reference: int) -> str:
    return "Similar" if target == reference else "Better" if target > reference else "Worse"


def _at(extreme: str) -> int:
    return HIGHEST if extreme == "best" else LOWEST
