"""What the nano judge is taught: the very prompts of its pack, with the right replies.

A lesson is one stem, read once, and several questions about it, each followed by its answer:

    <report> … </report> <reference> … </reference> <target> … </target>
        Is the target Better, Worse or Similar in fluency?     Worse
        Is the target Better, Worse or Similar in relevance?   Better

Beside the answers every word of a text carries the axes that it is at fault on, which the network
must see before it can count and compare (`faults`), and the place in the report that it can be
looked up at (`looks`). Where a prompt has several numbered references (`layout: ladder`), every
token of a reference carries its number, and the last token of a question the number that it asks
about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from random import Random
from typing import Any, NamedTuple

from evaljudge.bundled.world import (
    AXES,
    FICTIONS,
    HIGHEST,
    LOWEST,
    NUMBERS,
    OBJECTS,
    PLACES,
    SENTENCES,
    Axis,
    Half,
    Report,
    Text,
    make_report,
    make_text,
    spelt,
)
from evaljudge.prompts import Given, load_task
from jobs.nano.grading import at_fault, checklist, graded, level
from jobs.nano.llama import ASSISTANT, BOS, END, USER

BETWEEN = {(1, 5): 3, (1, 3): 2, (3, 5): 4, (2, 4): 3}
"""The pairs of levels that a text is written between, and its own level."""
LADDERS = {2: 0.1, 3: 0.2, 5: 0.5, 9: 0.2}
"""How many references a ladder has, and how often."""
WRITERS = 0.3
"""The share of comparisons whose reference is one that a writer would write."""
WRITTEN = 0.8
"""The same of a ladder's references, all of which are written on its axis."""
IN_LADDER = 0.1
"""The share of ladders whose target is one of their references."""
KNOWN = 0.25
"""The share of words that it knows in texts of no world."""
BY_STEPS = 0.4
"""The share of ratings that are by the steps of an axis."""
TEXT_WEIGHT = 0.1
"""How much the words of the texts that are compared count, beside the answers."""
WORDS = ("axis", "description", "extreme", "number", "exchanged", "question")
"""The words that the prompts have slots for."""
ASKED_OF_CHECKLIST = 8
"""How many of the checklists' questions are asked about a text, of four a list."""
VERDICTS, RATINGS = ("Better", "Worse", "Similar"), ("1", "2", "3", "4", "5")
STRANGE = (
    ("synthetic.compare", VERDICTS), ("synthetic.ladder", VERDICTS), ("direct.rate", RATINGS),
    ("geval.rate", RATINGS), ("checklist.ask", ("Yes", "No")),
)  # fmt: skip
"""Questions that are also asked about texts of no world, and the answers that they offer."""
NOWHERE = -1
LOOKED_UP = frozenset([*NUMBERS, *OBJECTS, *PLACES, *FICTIONS])
"""The words of a text that are sought in the report; the first token stands for `not there`."""


class TaughtToken(NamedTuple):
    """A token of a lesson, and what is taught with it."""

    id: int
    faults: int = 0
    """The axes that it shows a fault on, as bits."""
    learnt: float = 0.0
    """How much it counts that the network says this token."""
    looks: int = NOWHERE
    """The place in the report that it can be looked up at."""
    number: int = 0
    """The number of the ladder's reference that it belongs to, or of the target's sentence that a
    checklist asks about."""
    asks: int = 0
    """The number that the answer after it is about."""


Run = list[TaughtToken]


@dataclass(frozen=True, slots=True)
class Lesson:
    stem: Run
    questions: list[Run]

    def __len__(self) -> int:
        return len(self.stem) + sum(map(len, self.questions))

    def __post_init__(self) -> None:
        """What all questions begin with is read once."""
        if len(self.questions) > 1:
            columns = zip(*self.questions, strict=False)
            same = sum(1 for _ in takewhile(lambda some: len({t.id for t in some}) == 1, columns))
            self.stem.extend(self.questions[0][:same])
            self.questions[:] = [question[same:] for question in self.questions]


class Teacher:
    """Draws lessons from one half of the world."""

    def __init__(self, tokenizer: Any, half: Half = "train") -> None:
        self._ids: Callable[[str], list[int]] = cache(
            lambda text: tokenizer.encode(text, add_special_tokens=False).ids
        )
        self._half: Half = half
        task = load_task("summary", prompts="nano")
        self._pack = task.pack
        self._descriptions = {axis.name: axis.description for axis in task.axes}

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

    def ladder(self, random: Random) -> Lesson:
        """A target beside several references on one axis, asked about each in both directions."""
        report, axis = make_report(random, self._half), random.choice(AXES)
        (count,) = random.choices([*LADDERS], [*LADDERS.values()])
        references = [_any_text(random, report, axis, WRITTEN) for _ in range(count)]
        target = make_text(random, report, _levels(random))
        if random.random() < IN_LADDER:
            target = random.choice(references)
        asked, target_level = "synthetic.ladder", level(target, axis)
        stem = self._stem(asked, report, references, target=target)
        questions = []
        for number, reference in enumerate(references, start=1):
            other = level(reference, axis)
            for exchanged, pair in (("", (target_level, other)), ("yes", (other, target_level))):
                words = {"number": str(number), "exchanged": exchanged}
                questions.append(self._question(asked, axis, _verdict(*pair), **words))
        return Lesson(stem, questions)

    def rating(self, random: Random) -> Lesson:
        """A target's level on each axis, or on one axis by the steps that are written for it."""
        report = make_report(random, self._half)
        target, axes = _any_text(random, report), AXES
        asked, steps = "direct.rate", None
        if random.random() < BY_STEPS:
            axes = (random.choice(AXES),)
            asked, steps = "geval.rate", " ".join(checklist(axes[0]))
        stem = self._stem(asked, report, steps=steps, target=target)
        return Lesson(
            stem, [self._question(asked, axis, str(level(target, axis))) for axis in axes]
        )

    def extreme(self, random: Random, count: int = 3) -> Lesson:
        report = make_report(random, self._half)
        ends = {"best": HIGHEST, "worst": LOWEST}
        kinds = [(axis, extreme) for axis in AXES for extreme in ends]
        asked = "synthetic.extreme"
        questions = [
            self._question(asked, axis, graded(report, axis, ends[extreme]), extreme=extreme)
            for axis, extreme in random.sample(kinds, count)
        ]
        return Lesson(self._stem(asked, report), questions)

    def between(self, random: Random) -> Lesson:
        report, axis = make_report(random, self._half), random.choice(AXES)
        (low, high), middle = random.choice(list(BETWEEN.items()))
        worse, better = graded(report, axis, low), graded(report, axis, high)
        asked = "synthetic.between"
        question = self._question(asked, axis, graded(report, axis, middle))
        return Lesson(self._stem(asked, report, worse=worse, better=better), [question])

    def checklist(self, random: Random) -> Lesson:
        """Is a sentence of the target without fault on an axis?"""
        report = make_report(random, self._half)
        target, asked = _any_text(random, report), "checklist.ask"
        every = [(axis, number) for axis in AXES for number in range(SENTENCES)]
        questions = [
            self._question(asked, axis, "No" if at_fault(target[number], axis) else "Yes",
                           question=checklist(axis)[number], number=str(number + 1))
            for axis, number in random.sample(every, ASKED_OF_CHECKLIST)
        ]  # fmt: skip
        return Lesson(self._stem(asked, report, numbered=True, target=target), questions)

    def writing(self, random: Random) -> Lesson:
        """The checklist of an axis, for a report or for every report."""
        report, axis = make_report(random, self._half), random.choice(AXES)
        asked, source = "checklist.write", random.choice(("x", ""))
        stem = self._stem(asked, report) if source else self._tokens(f"{BOS}{USER}\n")
        reply = json.dumps({"questions": checklist(axis)}, separators=(",", ":"))
        question = self._question(asked, axis, reply.replace('"Is', '" Is'), source)
        return Lesson(stem, [question])

    def strange(self, random: Random) -> Lesson:
        """Texts of no world that it knows: each of the answers that are offered is as likely."""
        asked, offered = random.choice(STRANGE)
        slots = {slot: _strange(random) for slot in ("source", "reference", "target", "steps")}
        axis = random.choice((*AXES, _strange_word(random)))
        words = {"number": "1", "exchanged": random.choice(("", "yes")), "question": slots["steps"]}
        given: dict[str, Given] = {
            **slots,
            "references": [slots["reference"]] * random.randint(2, 3),
        }
        prompt = self._pack.render(asked, given, axis=axis, description="", **words)
        *before, last = prompt.parts
        stem = [token for part in (f"{BOS}{USER}\n", *before) for token in self._tokens(part)]
        answer = self._tokens(random.choice(offered) + END, learnt=1.0)
        return Lesson(stem, [self._tokens(f"{last}\n{ASSISTANT}\n") + answer])

    def steps(self, random: Random) -> Lesson:
        """The steps of an axis are the questions of its checklist."""
        axis, asked = random.choice(AXES), "geval.steps"
        words = {"description": self._descriptions[axis]}
        question = self._question(asked, axis, " ".join(checklist(axis)), **words)
        return Lesson(self._tokens(f"{BOS}{USER}\n"), [question])

    def _stem(
        self, asked: str, report: Report, references: Sequence[Text] = (),
        numbered: bool = False, steps: str | None = None, **texts: Text,
    ) -> Run:  # fmt: skip
        """The prompt as far as it is the same for every question about these texts; `numbered`:
        the sentences of the target are, as references are otherwise."""
        slots: dict[str, Given] = {"source": report.text, "steps": steps}
        slots |= {name: spelt(text) for name, text in texts.items()}
        slots["references"] = [spelt(text) for text in references]
        words = dict.fromkeys(WORDS, "")
        prompt = self._pack.render(asked, slots, **words)
        run = self._tokens(f"{BOS}{USER}\n")
        spelt_out = {spelt(text): text for text in (*texts.values(), *references)}
        where: dict[str, int] = {}
        numbers = iter(range(1, len(references) + 1))
        for part in prompt.parts[:-1]:
            if part in spelt_out:
                number = next(numbers, 0)  # the target comes last and has none
                for place, sentence in enumerate(spelt_out[part], 1):
                    written = self._written([sentence], TEXT_WEIGHT, where)
                    own = place if numbered else number
                    run += [token._replace(number=own) for token in written]
            elif part == slots["source"]:
                for word in part.split(" "):
                    where[word.rstrip(".")] = len(run)
                    run += self._tokens(word)
            else:
                run += self._tokens(part)
        return run

    def _question(
        self, asked: str, axis: Axis, answer: Text | str, source: str = "x", **words: str
    ) -> Run:
        """The rest of the prompt, the reply and its end."""
        slots = ("reference", "target", "worse", "better", "steps")
        blanks: dict[str, Given] = {"references": ["x"], **dict.fromkeys(slots, "x")}
        blanks["source"] = source
        words = {"axis": axis, "description": ""} | words
        prompt = self._pack.render(asked, blanks, **words)
        asking = self._tokens(f"{prompt.parts[-1]}\n{ASSISTANT}\n")
        if number := words.get("number"):
            asking[-1] = asking[-1]._replace(asks=int(number))
        if isinstance(answer, str):
            reply = self._tokens(answer, learnt=1.0)[answer.startswith("{") :]  # without its space
        else:
            reply = self._written(answer, 1.0, {})
        return [*asking, *reply, *self._tokens(END, learnt=1.0)]

    def _tokens(self, text: str, faults: int = 0, learnt: float = 0.0, looks: int = NOWHERE) -> Run:
        return [TaughtToken(token, faults, learnt, looks) for token in self._ids(text)]

    def _written(self, text: Text, learnt: float, where: Mapping[str, int]) -> Run:
        run, stop = Run(), self._ids(".")[-1]
        for sentence in text:
            seen = 0
            for word in sentence:
                bits = sum(1 << AXES.index(axis) for axis in word.faults)
                look = where.get(word.text, 0) if where and word.text in LOOKED_UP else NOWHERE
                run += self._tokens(word.text, bits, learnt, look)
                seen |= bits
            run.append(TaughtToken(stop, seen, learnt))
        return run


def _any_text(
    random: Random, report: Report, axis: Axis | None = None, writers: float = WRITERS
) -> Text:
    """A text as systems write it, or as the writer that is taught here does.

    `axis`: of the writer's texts, drawn if there is none. `writers`: their share.
    """
    if random.random() < writers:
        axes = AXES if axis is None else (axis,)
        return graded(report, random.choice(axes), random.randint(LOWEST, HIGHEST))
    return make_text(random, report, _levels(random))


def _strange(random: Random) -> str:
    """Some sentences of letters, and now and then of digits, signs and words that it knows."""
    sentences = (
        " ".join(_strange_word(random) for _ in range(random.randint(1, 10)))
        for _ in range(random.randint(1, 3))
    )
    return " ".join(sentence.capitalize() + random.choice(".?!;") for sentence in sentences)


def _strange_word(random: Random) -> str:
    if random.random() < KNOWN:
        return str(random.choice((*OBJECTS, *PLACES, *NUMBERS, "in", "the", "a", "is")))
    vowels, others = "aeiou", "bcdfghjklmnprstvwyz-'’0123äéßπ"
    syllables = (random.choice(others) + random.choice(vowels) for _ in range(random.randint(1, 4)))
    return "".join(syllables) + random.choice(("", "s", "n", ","))


def _levels(random: Random) -> dict[Axis, int]:
    return {axis: random.randint(LOWEST, HIGHEST) for axis in AXES}


def _verdict(target: int, reference: int) -> str:
    return "Similar" if target == reference else "Better" if target > reference else "Worse"
