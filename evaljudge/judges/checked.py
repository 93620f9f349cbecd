"""Calls of a judge's own code: a mistake there is said in one line that names the judge.

    judges.clear: its `score` fails at judge.py:61: KeyError: 'Yes'
    judges.clear: its `verdicts` gives none on (d17, A, *)

An error in a judge that comes with evaljudge is a bug of evaljudge, and keeps its traceback.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import product
from math import isfinite
from numbers import Real
from typing import Any

from evaljudge.errors import UserError
from evaljudge.judges.collector import Found, JudgeFindings
from evaljudge.judges.plugin import JudgedCandidate, Show
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.model import Model
from evaljudge.model.asks import Chosen
from evaljudge.plugins import added_code
from evaljudge.records import Brief, Case, Document, Score, Verdict
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation
from evaljudge.text import NOT_A_NUMBER

PROBABLE = "How probable the model finds each answer, among those offered."
Place = tuple[str, str, str]
"""A document, a system, and a scale: an axis, or a scorer and its axis."""


def own_code(judge: Judge, method: str) -> AbstractContextManager[None]:
    return added_code(f"judges.{judge.name}: its `{method}`", type(judge).__module__)


async def briefs_of(
    judge: Judge, document: Document, known: Sequence[Brief], model: Model
) -> list[Brief]:
    with own_code(judge, "brief"):
        return await judge.brief(document, known, model)


async def verdicts_of(judge: Judge, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
    """One for each candidate and axis: any that is missing is refused."""
    with own_code(judge, "verdicts"):
        judged = await judge.verdicts(case, briefs, model)
        if not isinstance(judged, Judged):
            raise _mistake(judge, "verdicts", _gives(judged, Judged))
        there = {(verdict.doc_id, verdict.system, verdict.axis) for verdict in judged.verdicts}
        _refuse_missing(judge, "verdicts", _texts([case], judge.axes), there)
    return judged


def checked_scores(judge: Judge, cases: Sequence[Case], scores: Sequence[Score]) -> list[Score]:
    """Each is a number or None (nan and inf are none), and none is missing."""
    for value in (score.value for score in scores):
        if not (value is None or type(value) is float or isinstance(value, Real)):
            raise _mistake(judge, "score", f"gives {value!r} in place of a number")
    scales = [f"{scorer}, {axis}" for scorer in judge.scorers for axis in judge.axes_of(scorer)]
    if len(scores) != len(scales) * sum(len(case.candidates) for case in cases):
        there = {(row.doc_id, row.system, f"{row.scorer}, {row.axis}") for row in scores}
        _refuse_missing(judge, "score", _texts(cases, scales), there)
    return [
        replace(score, value=None, reason=NOT_A_NUMBER) if not isfinite(score.value or 0) else score
        for score in scores
    ]


def judge_findings(judge: Judge, collector: SumCollector, found: Found) -> JudgeFindings:
    with own_code(judge, "findings"):
        findings = collector.findings(found)
    if not isinstance(findings, JudgeFindings):
        raise _mistake(judge, "findings", _gives(findings, JudgeFindings))
    return findings


def shown_section(show: Show | None, judged: JudgedCandidate) -> Section:
    """The evidence as its judge shows it; or, where the judge does not say how, the answer."""
    if show is None:
        return shown_answer(judged.verdict)
    section = show(judged)
    if not isinstance(section, Section):
        gives = _gives(section, Section)
        raise UserError(f"judges.{judged.verdict.judge}: its `show` {gives}")
    thoughts = shown_thoughts([judged.verdict.evidence, *(b.content for b in judged.briefs)])
    return replace(section, notes=[*section.notes, *thoughts])


def shown_answer(verdict: Verdict) -> Section:
    """The answers' probabilities where there are `logprobs`, and the rest as it is stored."""
    evidence = dict(verdict.evidence)
    tables, chosen = list[Table](), list[Chosen]()
    if isinstance(logs := evidence.get("logprobs"), dict) and logs:
        chosen = [Chosen(logs)]
        rows = [[answer, correlation(p)] for answer, p in chosen[0].p.items()]
        tables = [Table("", ["answer", "probability"], rows, "lr")]
        del evidence["logprobs"]
    if answers := evidence.pop("answers", None):
        chosen = [Chosen(one.get("logprobs", {})) for one in answers]
        tables = [_answers_table(answers, chosen)]
    notes = []
    mass = min((choice.mass for choice in chosen if choice.logprobs), default=1.0)
    if mass < 0.5:
        notes = [f"Together the answers hold only {mass:.2g} of the model's probability."]
    left_out = evidence.pop("left_out", 0)
    if within := evidence.pop("within", 0):
        notes += [f"Each probability is known to within {within:.2g}; the signature says how."]
    elif left_out:
        most = f"hold at most {left_out:.1e} of the probability"
        notes += [f"Spellings that were not followed {most}."]
    notes += shown_thoughts(verdict.evidence)
    evidence.pop("thoughts", None)
    for key, value in evidence.items():
        words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        notes.append(f"{key}: {words}")
    return Section("", [PROBABLE] if tables else [], tables, notes)


def shown_thoughts(evidence: Any) -> Iterator[str]:
    """What the model thought before any of its answers, a line for each thought."""
    if isinstance(evidence, Mapping):
        found = evidence.get("thoughts")
        for thought in found if isinstance(found, list) else ():
            yield f"The model thought: “{thought}”"
        evidence = list(evidence.values())
    for value in evidence if isinstance(evidence, list) else ():
        yield from shown_thoughts(value)


def _answers_table(answers: Sequence[Mapping[str, Any]], chosen: Sequence[Chosen]) -> Table:
    """A row for each question: its slots, and the reply or the answers' probabilities."""
    rows = [{**one, **{answer: correlation(p) for answer, p in each.p.items()}}
            for one, each in zip(answers, chosen, strict=True)]  # fmt: skip
    heads = [head for head, value in rows[0].items() if isinstance(value, str)]
    return Table("", heads, [[row[head] for head in heads] for row in rows], "l" * len(heads))


def _texts(cases: Iterable[Case], scales: Sequence[str]) -> Iterator[Place]:
    for case in cases:
        for candidate, scale in product(case.candidates, scales):
            yield case.document.doc_id, candidate.system, scale


def _refuse_missing(judge: Judge, method: str, wanted: Iterable[Place], there: set[Place]) -> None:
    if missing := next((key for key in wanted if key not in there), None):
        raise _mistake(judge, method, f"gives none on ({', '.join(missing)})")


def _gives(found: object, kind: type) -> str:
    return f"gives {type(found).__name__} in place of {kind.__name__}"


def _mistake(judge: Judge, method: str, message: str) -> UserError:
    return UserError(f"judges.{judge.name}: its `{method}` {message}")
