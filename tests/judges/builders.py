"""A case, replies that any judge of the package can read, and what a judge makes of them."""

import asyncio
import json
from collections.abc import Sequence
from math import log

from evaljudge.engines.scripted import Scripted, any_text
from evaljudge.judges.protocol import Judge
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Writing
from evaljudge.model.imagining import imagined_value
from evaljudge.records import Brief, Candidate, Case, Document, Verdict

CASE = Case(
    Document("d1", "The river rose.", context="A fact."),
    (Candidate("A", "A flood."), Candidate("B", "Rain."), Candidate("C", "  ")),
)


def briefs_of(judge: Judge, model: Scripted, known: Sequence[Brief] = ()) -> list[Brief]:
    return asyncio.run(judge.brief(CASE.document, known, model))


def verdicts_of(judge: Judge, briefs: Sequence[Brief], model: Scripted) -> dict[str, Verdict]:
    return {v.system: v for v in asyncio.run(judge.verdicts(CASE, briefs, model)).verdicts}


class Drawing(Scripted):
    """Gives the first of these draws to every question, whatever the probabilities are."""

    def __init__(self, *draws: str) -> None:
        super().__init__()
        self._draws = draws

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        even = dict.fromkeys(options.names, log(1 / len(options.names)))
        return [Chosen(even, self._draws[:samples]) for _ in prompts]


def any_reply(prompt: Prompt, how: Writing) -> str:
    if how.schema:
        return json.dumps(imagined_value(json.loads(how.schema), "said by nobody " * 30))
    return "4" if prompt.template.endswith(".rate") else any_text(prompt, how)
