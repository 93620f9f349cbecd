"""Judges that ask a question about each candidate, or several: on each axis, or once.

    class Brevity(OneQuestion):
        version = "1"
        question = "Is this {{ target_noun }} brief?\\n<target>{{ target }}</target>"
        answers = ("Yes", "No")
        each_axis = False

        def value(self, reply: Chosen) -> float:
            return reply.p["Yes"]

That is a whole judge: `judges: {brevity: {judge: "my_judges:Brevity"}}`. docs/extending.md explains
it. `slots` make several questions of one. `direct` and `geval` are not declared in this way, since
they write steps for each axis first (steps.py), and `geval` also draws ratings. What they have in
common with it is QuestionJudge.
"""

import re
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from math import isfinite, log
from statistics import fmean
from types import FunctionType
from typing import Any, Generic, TypeVar

from evaljudge.errors import UserError, first_line
from evaljudge.judges.protocol import Judge, Judged, Part
from evaljudge.judges.shared.asking import document_texts, printable, reason_unscorable
from evaljudge.model import Model
from evaljudge.model.asks import (
    Chosen,
    Failed,
    ModelRating,
    Options,
    Prompt,
    Weighed,
    Writing,
    Written,
)
from evaljudge.model.counting import cost
from evaljudge.plugins import added_code, own_place
from evaljudge.prompts import Given, Pack, Task
from evaljudge.records import ANY_AXIS, Axis, Brief, Candidate, Case, Document, Score, Verdict
from evaljudge.settings import Settings, read_settings
from evaljudge.text import IS_THE_REFERENCE, NOT_A_NUMBER, is_selfsame

Reply = TypeVar("Reply", bound=Written | Chosen | Weighed | ModelRating)
Texts = Mapping[str, Given]
BriefKey = tuple[str, str, str, str, str]
Asked = Sequence[tuple[Texts, Prompt | Failed]]
Answers = Sequence[tuple[Texts, Reply | Failed]]
"""The slots of each question about a candidate, and its prompt or its reply."""
LONGEST_REASON = 200
SHORT_REPLIES = {"an empty reply": "", "white space": " \n", "the reply `4.`": "4.",
                 "the reply `None`": "None"}  # fmt: skip
"""What `read` is tried on."""
TEXTS, WORDS = ("target", "source", "context", "reference"), ("target_noun", "source_noun")
TAKEN = {*TEXTS, *WORDS, "axis", "description"}
"""The slots that a question has without declaring them."""
_REFERENCE = re.compile(r"\{[{%][^}]*\breference\b")
UNMARKED = ("its question has no markers such as <target> and </target> around the text, so the "
            "model cannot tell where the text begins and ends")  # fmt: skip
_AXIS = re.compile(r"axis|description|include|extends")
AXISLESS = ("its question has no {{ axis }}, so it is the same on every axis: set "
            "`each_axis = False` to ask it once")  # fmt: skip


class QuestionJudge(Judge, Generic[Reply]):
    """Asks about each candidate on each axis, and keeps what it reads as evidence."""

    part = ""
    """What a model writes for each axis before it asks, if it has `_writing`."""
    _writing: Writing | None = None
    _inputs: Mapping[str, Any] = {}
    """All that the writing depends on besides the axis and the document."""
    _shows_document = False
    """Whether the prompt for it has the document."""
    several: bool = False
    """Whether it may ask several questions: the evidence has `answers`, each beside its slots."""

    def __init__(
        self, name: str, settings: Settings, task: Task, template: str,
        shown: Sequence[str] = ("target",), several: Sequence[str] = (),
        unused: Collection[str] = (),
    ) -> None:  # fmt: skip
        """`shown`, `several`: the texts, and lists of texts, that the template must have a place
        for; `unused`: the settings that change no ask beside the others."""
        self.name, self._template = name, template
        self._axes, self._pack = task.axes, task.pack
        self._nouns = {f"{slot}_noun": noun for slot, noun in task.nouns.items()}
        words = self._words(Axis("axis", "what it is"))
        self._pack.check(template, shown, several=several, **words)
        self._asking = settings.model_dump(mode="json", exclude=set(unused))
        self._asking |= {"prompts": self._pack.hash([template])}

    @property
    def asking(self) -> Mapping[str, Any]:
        return self._asking

    @property
    def axes(self) -> Sequence[str]:
        return [axis.name for axis in self._axes]

    def parts(self) -> Sequence[Part]:
        return [
            Part(a.name, self.part, {"name": a.name, **a.words, **self._inputs},
                 shows_context=a.context and self._shows_document)
            for a in (self._axes if self._writing else ())
        ]  # fmt: skip

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        if not self._writing:
            return []
        there = {brief.axis for brief in known}
        missing = [axis for axis in self._axes if axis.name not in there]
        replies: Sequence[Written | Failed] = [Failed("empty source")] * len(missing)
        if document.source.strip():
            prompts = [self._to_write(document, axis) for axis in missing]
            replies = await model.write(prompts, self._writing)
        keys = [(document.doc_id, "", self.kind, axis.name, self.part) for axis in missing]
        return [self._brief(key, reply) for key, reply in zip(keys, replies, strict=True)]

    def _to_write(self, document: Document, axis: Axis) -> Prompt:
        raise NotImplementedError

    def _brief(self, key: BriefKey, reply: Written | Failed) -> Brief:
        """What is kept of the part; `key`: its document, key, judge, axis and name."""
        raise NotImplementedError

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        pairs = [(axis, candidate) for axis in self._axes for candidate in case.candidates]
        asked = [self._asked(case.document, axis, c, briefs) for axis, c in pairs]
        prompts, texts = list[Prompt](), list[str]()
        for (_, candidate), questions in zip(pairs, asked, strict=True):
            can_be = [prompt for _, prompt in questions if isinstance(prompt, Prompt)]
            prompts += can_be
            texts += [self._text(case.document, candidate)] * len(can_be)
        replies = iter(await self._ask(prompts, texts, model))
        answers = [
            [(own, next(replies) if isinstance(p, Prompt) else p) for own, p in questions]
            for questions in asked
        ]
        both = zip(pairs, answers, strict=True)
        return Judged([self._verdict(case, axis, c, each) for (axis, c), each in both])

    def _text(self, document: Document, candidate: Candidate) -> str:
        return candidate.text

    def _asked(
        self, document: Document, axis: Axis, candidate: Candidate, briefs: Sequence[Brief]
    ) -> Asked:
        """Each question's slots and prompt; or, alone, why this candidate cannot be judged."""
        if reason := reason_unscorable(document, candidate):
            return [({}, Failed(reason))]
        questions = self._questions(axis, briefs)
        if isinstance(questions, Failed):
            return [({}, questions)]
        texts = {**self._document_texts(document, axis), "target": candidate.text}
        name, words = self._template, self._words(axis)
        asked = [(own, self._pack.render(name, {**texts, **own}, **words)) for own in questions]
        if (shown := self.examples) is None:
            return asked
        return [(own, shown.before(prompt, document, axis, self._pack)) for own, prompt in asked]

    def _document_texts(self, document: Document, axis: Axis) -> dict[str, str | None]:
        return document_texts(document, axis)

    def _verdict(
        self, case: Case, axis: Axis, candidate: Candidate, answers: Answers[Reply]
    ) -> Verdict:
        key = (case.document.doc_id, candidate.system, self.name, axis.name)
        tokens, text = cost([reply for _, reply in answers]), self._text(case.document, candidate)
        read = list[dict[str, Any]]()
        for slots, reply in answers:
            if isinstance(reply, Failed):
                return Verdict(*key, {}, "unscored", reply.reason, tokens)
            evidence, reason = self._read(axis, text, reply)
            if reason:
                return Verdict(*key, evidence, "unscored", reason, tokens)
            read.append({**slots, **evidence} if self.several else evidence)
        return Verdict(*key, {"answers": read} if self.several else read[0], tokens=tokens)

    def _questions(self, axis: Axis, briefs: Sequence[Brief]) -> Sequence[Texts] | Failed:
        """The texts that each question on this axis shows besides, or why there are none."""
        return [{}]

    def _written(self, axis: Axis, briefs: Sequence[Brief]) -> Mapping[str, Any] | Failed:
        found = (b.content if b.status == "ok" else Failed(b.reason)
                 for b in briefs if b.axis == axis.name)  # fmt: skip
        return next(found, Failed("never written"))

    def _words(self, axis: Axis) -> dict[str, str]:
        return self._nouns | axis.words

    def score(self, verdict: Verdict) -> list[Score]:
        is_scored = verdict.status == "ok"
        values = self._values(verdict.evidence) if is_scored else [None] * len(self.scorers)
        answers = verdict.evidence.get("answers", [verdict.evidence]) if is_scored else []
        logs = [found for a in answers if isinstance(found := a.get("logprobs"), Mapping)]
        doubts = [Chosen(each).doubt for each in logs if len(each) > 1]
        doubt = fmean(doubts) if doubts else None
        at = verdict.doc_id, verdict.system
        return [
            Score(*at, scorer, verdict.axis, value, verdict.reason, doubt=doubt)
            for scorer, value in zip(self.scorers, values, strict=False)
        ]

    @abstractmethod
    def _values(self, evidence: Mapping[str, Any]) -> Sequence[float]:
        """The scores that follow from a verdict's evidence alone, in the order of `scorers`."""

    @abstractmethod
    async def _ask(
        self, prompts: Sequence[Prompt], texts: Sequence[str], model: Model
    ) -> Sequence[Reply | Failed]:
        """One reply to each prompt about a text."""

    @abstractmethod
    def _read(self, axis: Axis, text: str, reply: Reply) -> tuple[dict[str, Any], str]:
        """A verdict's evidence, and why it is unscored, where it is."""


class OneQuestion(QuestionJudge[Written | Chosen]):
    """A judge that is declared: a question, and either `answers` and `value`, or `read`.

    With `slots`, or where `_questions` gives them, it asks several questions, and `together` makes
    one score of their values.

    With `answers`, the model chooses one of them, and `value` makes the score of their exact
    probabilities. Without, it writes at most `max_tokens` tokens, and `read` makes the score of
    them. Where either raises a ValueError, the text is unscored, with the error's message as the
    reason; so a reply that `float` cannot read needs no further code. Both are tried when the judge
    is made, on equal probabilities or a few short replies.
    """

    question: str = ""
    """The Jinja2 template, with the slots `target`, `source`, `context`, `reference` (the first; a
    text without one is unscored), `target_noun`, `source_noun` and, if the question is asked on
    each axis, `axis` and `description`. Empty: the file `ask.j2` among the prompts of the judge's
    folder."""
    answers: Sequence[str] = ()
    slots: Sequence[Mapping[str, str]] = ()
    """Texts for slots of its own: the question is asked once with each of these."""
    shown: Sequence[str] = ()
    """The slots of its own, where `_questions` fills them."""
    each_axis: bool = True
    """Whether it asks, and scores, on each axis; else once about each candidate."""
    max_tokens: int = 16
    keys: type[Settings] = Settings
    """The judge's own settings, which are then in `self.settings`; texts and numbers among them are
    slots of the question, too."""

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str) -> None:
        self.name, self._method = name, "value" if self.answers else "read"
        self._refuse_unfinished(task.pack)
        self.settings: Any = read_settings(self.keys, settings, f"judges.{name}")
        template, pack = f"{self.kind}.ask", task.pack
        if self.question:
            pack = replace(pack, templates={**pack.templates, template: self.question})
        axes = task.axes if self.each_axis else (Axis(ANY_AXIS, "", context=True),)
        task = replace(task, pack=pack, axes=axes)
        self._own = self._own_words()
        own = {slot for each in self.slots for slot in each}
        self.several = bool(self.shown or own)
        self._compares = bool(_REFERENCE.search(pack.templates.get(template, "")))
        shown = ["target", *self.shown, *sorted(own), *["reference"][: self._compares]]
        super().__init__(name, self.settings, task, template, shown)
        self.examples = task.examples if self.each_axis else None
        how = {"answers": list(self.answers)} if self.answers else {"max_tokens": self.max_tokens}
        self._asking = {**self._asking, **how}
        if self.slots:
            self._asking["slots"] = list(self.slots)
        if not self.each_axis:
            self._asking["each_axis"] = False
        if not pack.markers_of(template):
            self.cautions = (f"judges.{name}: {UNMARKED}",)
        if len(axes) > 1 and self.question and not _AXIS.search(self.question):
            self.cautions = (*self.cautions, f"judges.{name}: {AXISLESS}")
        self.options = (Options(tuple(self.answers)),) if self.answers else ()
        self._try_scoring()

    @classmethod
    def only_reads(cls) -> bool:
        mine = cls.mro()[: cls.mro().index(OneQuestion)]
        named = {name: member for each in mine for name, member in vars(each).items()}
        ways = FunctionType, property, staticmethod, classmethod
        changed = {
            name for name in named.keys() & {*dir(OneQuestion)} if isinstance(named[name], ways)
        }
        return changed <= {"value", "read", "together"}

    def _document_texts(self, document: Document, axis: Axis) -> dict[str, str | None]:
        reference = {"reference": document.references[0]} if self._compares else {}
        return super()._document_texts(document, axis) | reference

    def _asked(
        self, document: Document, axis: Axis, candidate: Candidate, briefs: Sequence[Brief]
    ) -> Asked:
        if self._compares and not document.references:
            return [({}, Failed("no reference"))]
        if self._compares and is_selfsame(candidate.text or "", document.references[0]):
            return [({}, Failed(IS_THE_REFERENCE))]
        return super()._asked(document, axis, candidate, briefs)

    def _questions(self, axis: Axis, briefs: Sequence[Brief]) -> Sequence[Texts] | Failed:
        return self.slots or [{}]

    def together(self, values: Sequence[float]) -> float:
        """The score of the questions' values, which it has one of for each of `slots`."""
        return fmean(values)

    def value(self, reply: Chosen) -> float:
        """The score of a choice: `reply.p` has each answer's probability, `reply.mass` their sum
        before it was made 1. Raises ValueError where there is none."""
        raise NotImplementedError

    def read(self, reply: str) -> float:
        """The score of a written reply. Raises ValueError where there is none."""
        raise NotImplementedError

    def score(self, verdict: Verdict) -> list[Score]:
        of = f"for document {verdict.doc_id}, system {verdict.system},"
        own_code = f"judges.{self.name}: its `{self._method}` {of}"
        try:
            with added_code(own_code, type(self).__module__, ValueError):
                return super().score(verdict)
        except ValueError as error:
            reason = printable(str(error))[:LONGEST_REASON] or "no score in the reply"
            return [Score(verdict.doc_id, verdict.system, self.name, verdict.axis, None, reason)]

    def _refuse_unfinished(self, pack: Pack) -> None:
        kind = type(self)
        lacks = [f"a `{name}`" for name in ("kind", "version") if not hasattr(self, name)]
        ways = ("value", "read")
        given = [way for way in ways if getattr(kind, way) != getattr(OneQuestion, way)]
        if given != [self._method]:
            odd = "has both" if len(given) > 1 else f"lacks a `{self._method}`"
            lacks.append(f"`answers` and `value`, or `read` (it {odd})")
        if not (lacks or self.question or pack.advice) and f"{self.kind}.ask" not in pack.templates:
            lacks.append("a `question`, or the file `ask.j2` among the prompts of its folder")
        different = {str(answer).casefold() for answer in self.answers}
        are_texts = all(isinstance(answer, str) for answer in self.answers)
        is_one = isinstance(self.answers, str)
        if is_one or not are_texts or 0 < len(different) < max(2, len(self.answers)):
            lacks.append("`answers` that are two texts or more and differ by more than their case")
        if not all(isinstance(each, Mapping) for each in self.slots):
            lacks.append('`slots` that are a list of mappings, [{"name": "its text"}]')
        elif taken := TAKEN.intersection(chain.from_iterable(self.slots)):
            lacks.append(f"another name for the slot {min(taken)!r}, which every question has")
        fields = ["version", *vars(OneQuestion)]  # what an author sets
        mine = kind.mro()[: kind.mro().index(OneQuestion)]
        own = {name for each in mine for name in vars(each) if not name.startswith("_")}
        nearly = {n: get_close_matches(n, fields, 1, 0.85) for n in sorted(own.difference(fields))}
        lacks += [
            f"another name for `{name}`: did you mean `{near[0]}`?"
            for name, near in nearly.items()
            if near and near[0] not in vars(kind)
        ]
        if idle := sorted(own & {"temperature", "top_p", "system", "schema", "stop", "seed"}):
            lacks.append(f"another name for `{idle[0]}`: a question has no such setting")
        if of_all := sorted({"judge", "model", "examples"} & self.keys.model_fields.keys()):
            lacks.append(f"another name for the key `{of_all[0]}`, which every judge has")
        if lacks:
            raise UserError(f"judges.{self.name}: the class {kind.__name__} needs {lacks[0]}")

    def _try_scoring(self) -> None:
        """A bug in the scoring is found now, and not when a model has answered everything."""
        equal = {answer: -log(len(self.answers)) for answer in self.answers}
        written = {case: {"reply": reply} for case, reply in SHORT_REPLIES.items()}
        tried = {"equal probabilities": {"logprobs": equal}} if equal else written
        for case, evidence in tried.items():
            method = self._method
            try:
                self._value(evidence)
                method = method if type(self).together is OneQuestion.together else "together"
                self._values(evidence)
            except ValueError:
                continue
            except Exception as error:  # the author's own code may raise anything
                at = own_place(error, type(self).__module__)
                line = f"its `{method}` fails for {case}{at}: {type(error).__name__}"
                raise UserError(
                    f"judges.{self.name}: {line}: {first_line(error)} (where there is no score, it "
                    "raises a ValueError)"
                ) from error

    def _own_words(self) -> dict[str, str]:
        """What its settings say in the question."""
        taken = TAKEN.union(self.shown, *self.slots)
        words = self.settings.model_dump(exclude=taken)
        return {
            key: f"{word}" for key, word in words.items() if isinstance(word, str | int | float)
        }

    def _words(self, axis: Axis) -> dict[str, str]:
        return self._own | (super()._words(axis) if self.each_axis else self._nouns)

    async def _ask(
        self, prompts: Sequence[Prompt], texts: Sequence[str], model: Model
    ) -> Sequence[Written | Chosen | Failed]:
        if self.options:
            return await model.choose(prompts, self.options[0])
        return await model.write(prompts, Writing(self.max_tokens))

    def _read(self, axis: Axis, text: str, reply: Written | Chosen) -> tuple[dict[str, Any], str]:
        if isinstance(reply, Chosen):
            return reply.evidence, ""
        return {"reply": reply.text}, ""

    def _values(self, evidence: Mapping[str, Any]) -> Sequence[float]:
        value = self.together([self._value(one) for one in evidence.get("answers", [evidence])])
        if not isfinite(value):
            raise ValueError(NOT_A_NUMBER)
        return [float(value)]

    def _value(self, answer: Mapping[str, Any]) -> float:
        if "reply" in answer:
            return self.read(answer["reply"])
        return self.value(Chosen(answer["logprobs"]))
