"""What the report shows of a judge of one question: its first texts, with the answers about them.

d1 · A      A flood.      fluency: Yes 0.830, No 0.170
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaljudge.judges.collector import Found, JudgeFindings, SeenShard
from evaljudge.judges.shared.asking import quoted
from evaljudge.model.asks import Chosen
from evaljudge.records import ANY_AXIS, Verdict
from evaljudge.sections import View


@dataclass(frozen=True)
class Answer:
    """One line of the view: `fluency`, `Yes 0.830, No 0.170`."""

    axis: str
    answer: str


@dataclass(frozen=True)
class AnsweredText:
    doc_id: str
    system: str
    text: str
    answers: Sequence[Answer]


@dataclass
class AnswerFindings:
    """The collector of a OneQuestion."""

    judge: str
    shown: dict[tuple[str, str], AnsweredText] = field(default_factory=dict)
    candidates: int = 0

    def see(self, shard: SeenShard) -> None:
        self.candidates += len(shard.texts)
        for doc_id, system in list(shard.texts)[: shard.shown]:
            known = [v for v in shard.verdicts if (v.doc_id, v.system) == (doc_id, system)]
            answers = [Answer("" if v.axis == ANY_AXIS else v.axis, _shown(v)) for v in known]
            text = shard.texts[doc_id, system]
            self.shown[doc_id, system] = AnsweredText(doc_id, system, text, answers)

    def __iadd__(self, other: AnswerFindings) -> AnswerFindings:
        self.candidates += other.candidates
        self.shown |= other.shown
        return self

    def findings(self, found: Found) -> JudgeFindings:
        view = View(
            title=f"Answers of {self.judge}",
            template=Path(__file__).with_name("answers.html.j2"),
            texts=list(self.shown.values()),
            candidates=self.candidates,
        )
        return JudgeFindings(views=[view])


def _shown(verdict: Verdict) -> str:
    if verdict.status != "ok":
        return verdict.reason
    if "reply" in verdict.evidence:
        return quoted(verdict.evidence["reply"])
    p = Chosen(verdict.evidence["logprobs"]).p
    return ", ".join(f"{answer} {share:.3f}" for answer, share in p.items())
