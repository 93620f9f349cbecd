"""Checks of a judge's own references and questions; the report sums them up (validity.py).

For each axis of a document, a verdict on system `*`:

    {"neighbours": [{"worse": 1, "better": 2, "p": {"Better": .9, "Worse": .02, "Similar": .08}}],
     "exchanged": [{"system": "A", "rating": 3, "p": {…}, "exchanged": {…}}]}

Which documents and comparisons are drawn depends on their names alone.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from evaljudge.judges.shared.asking import drawn
from evaljudge.judges.shared.references import Text
from evaljudge.judges.synthetic.comparing import (
    BETTER,
    SIMILAR,
    WORSE,
    Comparing,
    Pair,
    Placing,
    Replies,
    whole,
)
from evaljudge.judges.synthetic.evidence import Answers, answers_of
from evaljudge.model import Model
from evaljudge.model.asks import Failed
from evaljudge.model.counting import cost
from evaljudge.records import ANY_SYSTEM, Axis, Case, Verdict


class Soundness:
    def __init__(
        self, judge: str, comparing: Comparing, neighbours: float, exchanged: float
    ) -> None:
        """`neighbours`, `exchanged`: the shares of documents and comparisons that are drawn."""
        self._judge, self._comparing = judge, comparing
        self._neighbours, self._exchanged = neighbours, exchanged

    async def checks(
        self,
        case: Case,
        levels: Mapping[Axis, Mapping[float, Text]],
        placings: Sequence[Placing],
        model: Model,
    ) -> list[Verdict]:
        if not case.document.source.strip():
            return []
        return await gather(*(
            self._check(case, axis, texts, self._chosen(case, axis, placings), model)
            for axis, texts in levels.items()
        ))  # fmt: skip

    async def _check(
        self,
        case: Case,
        axis: Axis,
        levels: Mapping[float, Text],
        chosen: Sequence[tuple[str, float, Pair]],
        model: Model,
    ) -> Verdict:
        texts = {r: text for r, text in levels.items() if isinstance(text, str)}
        is_drawn = _is_drawn(self._neighbours, case.document.doc_id)
        steps = [
            (worse, better)
            for worse, better in pairwise(self._comparing.ratings)
            if is_drawn and worse in texts and better in texts
        ]
        neighbours = [
            replace(
                self._comparing.pairs(case.document, axis, texts[better], texts)[worse],
                about=f"{better:g} beside {worse:g}",
            )
            for worse, better in steps
        ]
        usual = [pair for _, _, pair in chosen]
        asked = [*neighbours, *usual, *(pair.exchanged for pair in usual)]
        replies = await self._comparing.ask(case.document, asked, model, samples=0)
        read = iter([self._read(reply) for reply in replies])
        below = [next(read) for _ in steps]
        here, there = [next(read) for _ in chosen], list(read)
        evidence = {
            "neighbours": [
                {"worse": worse, "better": better, "p": p}
                for (worse, better), p in zip(steps, below, strict=True)
                if p
            ],
            "exchanged": [
                {"system": system, "rating": rating, "p": p, "exchanged": _turned(other)}
                for (system, rating, _), p, other in zip(chosen, here, there, strict=True)
                if p and other
            ],
        }
        tokens, doc_id = cost(chain(*replies)), case.document.doc_id
        return Verdict(doc_id, ANY_SYSTEM, self._judge, axis.name, evidence, tokens=tokens)

    def _read(self, replies: Replies) -> Answers | None:
        found = whole(replies)
        if isinstance(found, Failed):
            return None
        return answers_of([self._comparing.form.evidence(found)])[0]

    def _chosen(
        self, case: Case, axis: Axis, placings: Sequence[Placing]
    ) -> list[tuple[str, float, Pair]]:
        """The comparisons that are drawn to be asked the other way round too."""
        known = case.document.doc_id, axis.name
        return [
            (placing.candidate.system, rating, pair)
            for placing in placings
            for rating, pair in placing.pairs.items()
            if placing.axis == axis and rating in placing.levels
            and _is_drawn(self._exchanged, *known, placing.candidate.system, rating)
        ]  # fmt: skip


def _turned(p: Answers) -> Answers:
    """What the answers to an exchanged question say of the usual one."""
    return {BETTER: p[WORSE], WORSE: p[BETTER], SIMILAR: p[SIMILAR]}


def _is_drawn(share: float, *words: object) -> bool:
    return int.from_bytes(drawn(*words)) < share * 2**64
