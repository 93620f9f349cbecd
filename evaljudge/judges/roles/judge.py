"""Role-players that vote: is the candidate better than a reference, in whose eyes, and why.

After "Large Language Models are Diverse Role-Players for Summarization Evaluation" (DRPE). Readers
are invented for each document (briefs.py) and clustered with the task's static roles (clusters.py);
all of them vote (polling.py). What the votes come to is at the end of this file.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import fsum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from evaljudge.errors import UserError, unknown
from evaljudge.judges.collector import CollectorOptions
from evaljudge.judges.protocol import Judge, Judged, Part
from evaljudge.judges.roles.briefs import (
    KIND,
    READERS,
    TEMPLATES,
    Opponent,
    Readers,
    Role,
    notes_in,
    readers_in,
    without_namesakes,
)
from evaljudge.judges.roles.clusters import survivors
from evaljudge.judges.roles.evidence import NO_READERS, ORDERS, Polled, RoleVote, read_polled
from evaljudge.judges.roles.findings import counted, report
from evaljudge.judges.roles.polling import WHICH, Polling
from evaljudge.judges.shared.asking import reason_unscorable, scored
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Options, Writing
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Brief, Candidate, Case, Document, Score, Verdict
from evaljudge.settings import Settings, read_settings
from evaljudge.text import IS_THE_REFERENCE, is_selfsame

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


class RolesSettings(Settings):
    dynamic: Annotated[int, Field(ge=0, le=20)] = 4
    static: bool = True
    clustering: bool = True
    encoder: str = MINILM
    readers: Annotated[int, Field(ge=1, le=20)] = 6
    """The most that each of the two lists may have."""
    batch: bool = True
    order: Literal["fixed", "swapped", "both"] = "fixed"
    exact: bool = False
    plain: bool = False
    reference: Literal["human", "written", "level"] = "human"
    level: Annotated[float, Field(ge=1, le=5)] = 3.0
    axis: str | None = None
    """The synthetic reference's; by default the task's first one."""
    max_tokens: Annotated[int, Field(ge=1)] = 1024

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if not self.static and not self.dynamic:
            raise ValueError("nobody votes: dynamic is 0 and static false")
        if self.reference != "level" and {"level", "axis"} & self.model_fields_set:
            raise ValueError("level and axis need `reference: level`")
        if self.level * 2 % 1:
            raise ValueError("level is a whole or a half number from 1 to 5")
        if self.dynamic > len(TEMPLATES) * self.readers:
            raise ValueError(
                f"dynamic: {self.dynamic} readers cannot be had of {len(TEMPLATES)} lists of "
                f"{self.readers}: set readers: {-(-self.dynamic // len(TEMPLATES))} or more"
            )
        return self


class Roles(Judge):
    kind = KIND
    version = "3"
    weighs = True
    axes = (ANY_AXIS,)

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self.name = name
        self._settings = chosen = read_settings(RolesSettings, settings, f"judges.{name}")
        self._static = [Role(*role) for role in task.roles.items()] if chosen.static else []
        if chosen.static and not self._static:
            raise UserError(f"judges.{name}: task {task.name} names no `roles`: name some in its "
                            "file, or set static: false")  # fmt: skip
        how = Writing(chosen.max_tokens)
        axes = [axis.name for axis in task.axes]
        if chosen.axis is not None and chosen.axis not in axes:
            raise UserError(f"judges.{name}.axis: {unknown('axis', chosen.axis, axes)}")
        orders = ORDERS if chosen.order == "both" else (chosen.order,)
        self._readers = Readers(task, how, chosen.readers)
        level = (chosen.level, chosen.axis or axes[0])
        self._rival = Opponent(task, how, chosen.reference, *level)
        self._polling = Polling(
            task, how, orders, batch=chosen.batch, exact=chosen.exact, plain=chosen.plain
        )
        self._noun = task.nouns["source"]
        self.options: Sequence[Options] = [WHICH] if chosen.exact or chosen.plain else []
        self.encoders = [chosen.encoder] if chosen.dynamic and chosen.clustering else []

    @property
    def estimated(self) -> str:
        """How many vote depends on how many of the readers are distinct."""
        chosen = self._settings
        is_open = chosen.dynamic and (chosen.exact or not chosen.batch)
        return "It is assumed that all readers of a document are different." if is_open else ""

    @property
    def asking(self) -> Mapping[str, Any]:
        prompts = {"voting": self._polling.prompts, "readers": self._readers.prompts}
        static = {role.type: role.description for role in self._static}
        unused = set() if self._settings.reference == "level" else {"level", "axis"}
        unused |= set() if self._settings.dynamic else {"clustering", "encoder", "readers"}
        used = self._settings.model_dump(exclude=unused)
        used |= {"prompts": prompts | dict(self._rival.prompts), "roles": static}
        return used | {"names": list(self._polling.names)}

    meanings = {
        "": "The roles' votes for the text against a reference, each weighted by its "
        "confidence: from 0 (none) to the number of roles (all).",
        ".mean": "The votes for the text, by confidence, per role: from 0 (none) to 1 (all).",
        ".exact": "The mean probability that a role prefers the text to a reference, 0 to 1.",
        ".plain": "The probability that the text is preferred to a reference, 0 to 1, by one "
        "question without roles.",
    }

    @property
    def scorers(self) -> Sequence[str]:
        asked = {".exact": self._settings.exact, ".plain": self._settings.plain}
        return [f"{self.name}{suffix}" for suffix in READINGS if asked.get(suffix, True)]

    def parts(self) -> list[Part]:
        chosen = self._settings
        limits = chosen.model_dump(include={"readers", "max_tokens"})
        depends_on = {"prompts": self._readers.prompts} | limits | {"noun": self._noun}
        readers = [Part(ANY_AXIS, READERS, depends_on)] if chosen.dynamic else []
        return [*readers, *self._rival.parts()]

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        is_given = self._settings.reference == "human"
        if is_given and isinstance(self._rival.text(document, known), Failed):
            return []  # there will be no vote
        there = {brief.part for brief in known}
        wanted = bool(self._settings.dynamic) and READERS not in there
        readers = [await self._readers.brief(document, model)] if wanted else []
        return [*readers, *await self._rival.brief(document, known, model)]

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        document, reference = case.document, self._rival.text(case.document, briefs)
        if isinstance(reference, Failed):
            reason = reference.reason
            return Judged([self._unscored(document, c, reason) for c in case.candidates])
        reasons = {
            c.system: reason_unscorable(document, c)
            or (IS_THE_REFERENCE if is_selfsame(c.text, reference) else "")
            for c in case.candidates
        }
        readable = [c for c in case.candidates if not reasons[c.system]]
        voters, dropped, notes = await self._voters(briefs, model)
        polled = await self._polling.ask(
            document, reference, readable, voters, len(self._static), model
        )
        shared = {
            "reference": {"from": self._settings.reference, "text": reference},
            "dropped": [[role.type, why] for role, why in dropped],
            "notes": notes,
        }
        judged = {}
        for ballots in polled:
            plain = {"plain": ballots.plain} if self._settings.plain else {}
            key = (document.doc_id, ballots.candidate.system, self.name, ANY_AXIS)
            after = {"after": ballots.after} if ballots.after else {}
            kept = {"roles": ballots.roles, **shared, **plain, **after}
            judged[ballots.candidate.system] = Verdict(*key, kept, tokens=ballots.tokens)
        return Judged([
            judged.get(c.system) or self._unscored(document, c, reasons[c.system])
            for c in case.candidates
        ])  # fmt: skip

    def _unscored(self, document: Document, candidate: Candidate, reason: str) -> Verdict:
        key = (document.doc_id, candidate.system, self.name, ANY_AXIS)
        return Verdict(*key, {}, "unscored", reason)

    async def _voters(
        self, briefs: Sequence[Brief], model: Model
    ) -> tuple[list[Role], list[tuple[Role, str]], list[str]]:
        """Who votes: the static roles in any case, and readers where there are any. Who does not,
        with the reason; and notes on the readers."""
        keep, brief = self._settings.dynamic, next((b for b in briefs if b.part == READERS), None)
        if not keep:
            return self._static, [], []
        if brief is None or brief.status != "ok":
            reason = brief.reason if brief else "never written"
            return self._static, [], [f"{NO_READERS}{reason}"]
        free, namesakes = without_namesakes(readers_in(brief.content), self._static)
        if self._settings.clustering:
            described = [f"{role.type}: {role.description}" for role in (*self._static, *free)]
            vectors = await model.embed(described, self._settings.encoder)
            stay, dropped = survivors(self._static, free, vectors, keep)
        else:
            stay, dropped = free[:keep], [(role, "more than are wanted") for role in free[keep:]]
        notes = notes_in(brief.content)
        if len(stay) < keep:
            notes.append(f"{len(stay)} of {keep} dynamic roles: no more of them are distinct")
        return [*self._static, *stay], [*namesakes, *dropped], notes

    def score(self, verdict: Verdict) -> list[Score]:
        polled = read_polled(verdict.evidence)
        failed = Failed(verdict.reason) if verdict.status == "unscored" else None
        readings = [(scorer, READINGS[scorer.removeprefix(self.name)]) for scorer in self.scorers]
        return [
            scored(verdict, name, verdict.axis, failed or read(polled)) for name, read in readings
        ]

    def collecting(self, wanted: CollectorOptions) -> Callable[[], SumCollector]:
        return partial(SumCollector, counted, partial(report, self.name))


# the equations of the paper, and other scores from the same poll


def sum_of_votes(polled: Polled) -> float | Failed:
    """Equation (4), the mean over the orders that were asked.

    General Public    Summary 2 (the candidate)   e^-.3 = .74       .74 + .82 = 1.56
    Critic            Summary 1 (the reference)
    Residents         Summary 2 (the candidate)   e^-.2 = .82       their mean over roles: .52
    """
    orders = polled.roles[0].votes if polled.roles else ()
    sums = [_sum_of_order([role.votes[order] for role in polled.roles]) for order in orders]
    return _mean(sums, polled.nobody)


def _sum_of_order(votes: Sequence[RoleVote]) -> float | Failed:
    """Equation (2), scaled to the number of roles, where some gave no vote that can be read."""
    read = [vote for vote in votes if vote.choice]
    if not read:
        return Failed(f"nobody voted: {votes[0].failed}")
    total = fsum(vote.confidence or 0.0 for vote in read if vote.choice == "candidate")
    return total * len(votes) / len(read)


def mean_of_votes(polled: Polled) -> float | Failed:
    total = sum_of_votes(polled)
    return total if isinstance(total, Failed) else total / len(polled.roles)


def _mean(values: Sequence[float | Failed], none: str) -> float | Failed:
    """The mean of the values; where all failed, the first reason; `none`: why there is no value."""
    there = [value for value in values if not isinstance(value, Failed)]
    failed = next((value for value in values if isinstance(value, Failed)), Failed(none))
    return fsum(there) / len(there) if there else failed


READINGS: Mapping[str, Callable[[Polled], float | Failed]] = {
    "": sum_of_votes,
    ".mean": mean_of_votes,
    ".exact": lambda polled: _mean(
        [p for role in polled.roles for p in role.exact.values()], polled.nobody
    ),
    ".plain": lambda polled: _mean(list(polled.plain.values()), "it was not asked"),
}
"""The keys are the scorers' suffixes."""
