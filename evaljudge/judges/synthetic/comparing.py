"""Which texts are compared: a candidate with each reference, and, to check the judge itself, the
references with each other and some candidates the other way round.

Of the checks, each axis of a document has a verdict on system `*`, which the report sums up
(validity.py):

    {"neighbours": [{"worse": 1, "better": 2, "p": {"Better": .9, "Worse": .02, "Similar": .08}}],
     "exchanged": [{"system": "A", "rating": 3, "p": {…}, "exchanged": {…}}]}
"""

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

from evaljudge.judges.shared.asking import (
    ANY_WORDS,
    Text,
    check_place,
    document_texts,
    drawn,
    reason_unscorable,
)
from evaljudge.judges.shared.scale import named
from evaljudge.judges.synthetic.evidence import BETTER, SIMILAR, WORSE, Answers, Form, answers_of
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Prompt
from evaljudge.model.counting import cost
from evaljudge.prompts import Given, Task
from evaljudge.records import ANY_SYSTEM, Axis, Candidate, Case, Document, Verdict

Replies = Sequence[Chosen | Failed]  # the replies to the form's questions about one pair
References = Mapping[float, str]  # an axis' references by rating


@dataclass
class Placing:
    """A candidate to be c on an axis' scale; `reason`: why it cannot be."""

    axis: Axis
    candidate: Candidate
    references: References
    reason: str = ""
    levels: dict[float, dict[str, Any] | Failed] = field(default_factory=dict)
    """The evidence for each rating, in the order of asking, or why there is none."""
    replies: list[Chosen | Failed] = field(default_factory=list)

    @property
    def evidence(self) -> dict[float, dict[str, Any]]:
        return {r: level for r, level in self.levels.items() if not isinstance(level, Failed)}


class Comparing:
    def __init__(
        self, task: Task, form: Form, wanted: Sequence[float], neighbours: float, exchanged: float
    ) -> None:
        """`neighbours`, `exchanged`: the shares of documents and comparisons that are checked."""
        self._pack, self.form, self.ratings = task.pack, form, wanted
        self._examples = task.examples
        self._neighbours, self._exchanged = neighbours, exchanged
        texts = ["target"] if form.shows_all else ["target", "reference"]
        several = ["references"] if form.shows_all else []
        for words in form.words:
            slots = {**ANY_WORDS, "number": "1", "exchanged": "", **words}
            self._pack.check(form.template, texts, several=several, **slots)
        check_place(self._pack, form.template, "relation", form.relations)
        if form.shows_all:
            check_place(self._pack, form.template, "number", ["1", "2"], exchanged="")
            check_place(self._pack, form.template, "exchanged", ["", "yes"], number="1")
        self.prompts_hash = task.pack.hash([form.template])

    def placing(
        self, document: Document, axis: Axis, candidate: Candidate, levels: Mapping[float, Text]
    ) -> Placing:
        if reason := reason_unscorable(document, candidate):
            return Placing(axis, candidate, {}, reason)
        texts: dict[float, str] = {}
        for rating in self.ratings:
            level = levels.get(rating, Failed("never written"))
            if isinstance(level, Failed):
                reason = f"no reference of level {named(rating)} on {axis.name}: {level.reason}"
                return Placing(axis, candidate, {}, reason)
            texts[rating] = level
        return Placing(axis, candidate, texts)

    def prompts(
        self, document: Document, axis: Axis, target: str, references: References, rating: float,
        *, turned: bool = False, about: str = "",
    ) -> list[Prompt]:  # fmt: skip
        """The form's questions about a text beside the reference of this rating; `turned`: in each
        other's place; `about`: the prompts' label, if not the rating."""
        texts: dict[str, Given] = {**document_texts(document, axis)}
        words = dict(axis.words)
        if self.form.shows_all:
            order = sorted(references, key=lambda r: drawn(document.doc_id, axis.name, r))
            texts |= {"references": [references[r] for r in order], "target": target}
            number = str(order.index(rating) + 1)
            words |= {"number": number, "exchanged": "yes" if turned else ""}
        else:
            places = ("target", "reference") if turned else ("reference", "target")
            texts |= dict(zip(places, (references[rating], target), strict=True))
        about = (about or named(rating)) + (" exchanged" if turned else "")
        asked = [
            replace(
                self._pack.render(self.form.template, texts, **words, **question),
                about=about,
                example=self.form.example(question, turned),
            )
            for question in self.form.words
        ]
        if (shown := self._examples) is None:
            return asked
        return [shown.before(prompt, document, axis, self._pack) for prompt in asked]

    async def ask(
        self, pairs: Sequence[Sequence[Prompt]], model: Model, samples: int
    ) -> list[Replies]:
        prompts = list(chain.from_iterable(pairs))
        replies = iter(await model.choose(prompts, self.form.options, samples))
        return [[next(replies) for _ in pair] for pair in pairs]

    async def checks(
        self, judge: str, case: Case, levels: Mapping[Axis, Mapping[float, Text]],
        placings: Sequence[Placing], model: Model,
    ) -> list[Verdict]:  # fmt: skip
        if not case.document.source.strip():
            return []
        return await gather(*(
            self._check(judge, case.document, axis, texts,
                        [p for p in placings if p.axis == axis], model)
            for axis, texts in levels.items()
        ))  # fmt: skip

    async def _check(
        self, judge: str, document: Document, axis: Axis, levels: Mapping[float, Text],
        placings: Sequence[Placing], model: Model,
    ) -> Verdict:  # fmt: skip
        texts = {r: text for r, text in levels.items() if isinstance(text, str)}
        steps = pairwise(self.ratings) if _is_drawn(self._neighbours, document.doc_id) else ()
        neighbours = [
            ({"worse": worse, "better": better},
             [self.prompts(document, axis, texts[better], texts, worse,
                           about=f"{better:g} beside {worse:g}")])
            for worse, better in steps
            if worse in texts and better in texts
        ]  # fmt: skip
        exchanged = [
            ({"system": c.candidate.system, "rating": rating},
             [self.prompts(document, axis, c.candidate.text, c.references, rating, turned=turned)
              for turned in (False, True)])
            for c in placings
            for rating in c.references
            if rating in c.levels
            and _is_drawn(self._exchanged, document.doc_id, axis.name, c.candidate.system, rating)
        ]  # fmt: skip
        asked = [prompts for _, each in (*neighbours, *exchanged) for prompts in each]
        replies = await self.ask(asked, model, samples=0)
        read = map(self._read, replies)
        evidence: dict[str, list[dict[str, Any]]] = {"neighbours": [], "exchanged": []}
        for pair, _ in neighbours:
            if p := next(read):
                evidence["neighbours"].append({**pair, "p": p})
        for about, _ in exchanged:
            p, q = next(read), next(read)
            if p and q:
                turned = {BETTER: q[WORSE], WORSE: q[BETTER], SIMILAR: q[SIMILAR]}
                evidence["exchanged"].append({**about, "p": p, "exchanged": turned})
        tokens = cost(chain(*replies))
        return Verdict(document.doc_id, ANY_SYSTEM, judge, axis.name, evidence, tokens=tokens)

    def _read(self, replies: Replies) -> Answers | None:
        read = whole(replies)
        return None if isinstance(read, Failed) else answers_of([self.form.evidence(read)])[0]


def whole(replies: Replies) -> Sequence[Chosen] | Failed:
    """All of a pair's replies, or the first that failed."""
    failed = next((reply for reply in replies if isinstance(reply, Failed)), None)
    return failed or [reply for reply in replies if isinstance(reply, Chosen)]


def _is_drawn(share: float, *words: object) -> bool:
    return int.from_bytes(drawn(*words)) < share * 2**64
