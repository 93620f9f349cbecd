"""The evidence of a judge that does not say how to show its own: what the model answered.

    shown_answer(verdict)  ->  Section("", ["How probable each answer is."], [Table(…)])

Evidence with `logprobs` is shown as the answers' probabilities, with `reply` as the reply, and any
other as it is stored.
"""

from __future__ import annotations

import json

from evaljudge.errors import UserError
from evaljudge.judges.plugin import JudgedCandidate, Show
from evaljudge.model.asks import Chosen
from evaljudge.records import Verdict
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation

PROBABLE = "How probable the model finds each answer."
LEFT_OUT = "Spellings that were not followed hold at most {:.1e} of the probability."


def shown_section(show: Show | None, judged: JudgedCandidate) -> Section:
    """The evidence as its judge shows it, or else the plain answer."""
    if show is None:
        return shown_answer(judged.verdict)
    section = show(judged)
    if not isinstance(section, Section):
        kind = type(section).__name__
        raise UserError(
            f"judges.{judged.verdict.judge}: its `show` gives {kind} in place of Section"
        )
    return section


def shown_answer(verdict: Verdict) -> Section:
    evidence = dict(verdict.evidence)
    tables = []
    if isinstance(logs := evidence.get("logprobs"), dict) and logs:
        rows = [[answer, correlation(p)] for answer, p in Chosen(logs).p.items()]
        tables = [Table("", ["answer", "probability"], rows, "lr")]
        del evidence["logprobs"]
    notes = []
    if left_out := evidence.pop("left_out", 0):
        notes = [LEFT_OUT.format(left_out)]
    notes += [f"{key}: {_as_words(value)}" for key, value in evidence.items()]
    return Section("", [PROBABLE] if tables else [], tables, notes)


def _as_words(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
