"""What a model was asked about one text: a finished run's prompts, made again from its briefs.

    prompts = RunPrompts(output)
    prompts.about("synthetic", "fluency", case, "A", briefs)
    ->  [AskedPrompt("synthetic.compare", "The probability of …", "Compare …")]

A run keeps no prompts, which would be larger than all the rest. From the task and the settings that
its report keeps, a case and its briefs, the judge makes them again, with a model that writes down
what it is asked. Where the next question depends on a reply, a placeholder stands for the reply.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from evaljudge.engines import Identity
from evaljudge.errors import UserError
from evaljudge.execution.local import complete
from evaljudge.execution.protocol import Probe
from evaljudge.identity import asking, brief_key
from evaljudge.judges import make_judges
from evaljudge.judges.checked import briefs_of, verdicts_of
from evaljudge.judges.protocol import Judge
from evaljudge.model import ModelAround
from evaljudge.model.asks import (
    Chosen,
    Failed,
    ModelRating,
    Options,
    Prompt,
    Rating,
    Spent,
    Weighed,
    Writing,
    Written,
)
from evaljudge.model.imagining import MARK, Imagining
from evaljudge.model.remembering import Remembering
from evaljudge.plugins import kinds
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Brief, Case, in_bytes
from evaljudge.report.page import AskedPrompt
from evaljudge.runs.job import Job
from evaljudge.runs.references import SETTING
from evaljudge.storage import DERIVED, Output, Place, Stage

SAID = "PLACEHOLDER FOR A REPLY"
PLACEHOLDER = f"{SAID} {MARK}"
BYTES_READ, READ_WHILE_WRITING = 4, 4
"""The bytes of a token, about; and how many tokens a model reads while it writes one."""
KEPT = "report/judging.json"
CHANGED = "This version of evaljudge makes other prompts than the run's: run it with that version."
NOT_KEPT = "The run's last report keeps no prompts: `evaljudge report CONFIG` writes it anew."
NOT_HERE = "The judge {} is not installed here, so its prompts cannot be shown."
OF_A_PATH = "The judge is a class named by its path: `evaljudge prompts CONFIG` shows its prompts."


@dataclass(frozen=True, slots=True)
class RecordedAsk:
    stage: Stage
    how: str  # how the reply is read, in a sentence
    prompt: Prompt
    reply: str = ""
    """The reply that is given to the model, where only its probability is asked for."""
    options: Options | None = None
    written: int = 0
    """About how many tokens are written in reply, which is a placeholder here."""

    @property
    def kind(self) -> tuple[str, str, str]:
        return self.stage, self.prompt.template, self.how


class Recording(ModelAround):
    """Writes down what it is asked, in order; its replies are imagined, and as long as `texts`."""

    def __init__(self, texts: Sequence[str] = (PLACEHOLDER,), stage: Stage = "prepare") -> None:
        super().__init__(Imagining(lambda *_: (Spent(0, 0, 0),), texts))
        self.stage = stage
        self.questions: list[RecordedAsk] = []

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        form = _writing(how)
        replies = await super().write(prompts, how)
        for prompt, reply in zip(prompts, replies, strict=True):
            length = len(reply.text) // BYTES_READ if isinstance(reply, Written) else 0
            written = max(1, min(how.max_tokens, length)) * how.n
            self.questions.append(RecordedAsk(self.stage, form, prompt, written=written))
        return replies

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        how = f"The probability of each answer is read: {', '.join(options.names)}."
        asks = (RecordedAsk(self.stage, how, p, options=options) for p in prompts)
        self.questions += asks
        return await super().choose(prompts, options, samples)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        how = "The probability of a reply that was written is read."
        for prompt, text in zip(prompts, texts, strict=True):
            self.questions.append(RecordedAsk(self.stage, how, prompt, text))
        return await super().weigh(prompts, texts)

    async def rate(
        self, prompts: Sequence[Prompt], texts: Sequence[str], how: Rating
    ) -> list[ModelRating | Failed]:
        said = "The number is read that the model gives the text"
        said += f", as its probability of {' or '.join(how.labels)}." if how.labels else "."
        for prompt, text in zip(prompts, texts, strict=True):
            self.questions.append(RecordedAsk(self.stage, said, prompt, text))
        return await super().rate(prompts, texts, how)


def _writing(how: Writing) -> str:
    form = ", as JSON of a given schema" if how.schema else ", in a given form" if how.regex else ""
    warm = f", at temperature {how.temperature:g}" if how.temperature else ""
    times = f", {how.n} times" if how.n > 1 else ""
    return f"The model writes up to {how.max_tokens:,} tokens{form}{warm}{times}."


def dry_run(
    judge: Judge, case: Case, briefs: Sequence[Brief], recording: Recording
) -> list[RecordedAsk]:
    """Briefs are written only where `recording` begins with that stage."""

    async def ask() -> None:
        model, had = Remembering(recording), list(briefs)
        if recording.stage == "prepare":
            had += await briefs_of(judge, case.document, briefs, model)
            recording.stage = "judge"
        await verdicts_of(judge, case, had, model)

    complete(ask())
    return recording.questions


def probes_of(judges: Sequence[Judge], case: Case) -> list[Probe]:
    """The first question with options that each judge would ask about a case, if it asks any.

    What is written before is imagined: a model that answers otherwise does so whatever it reads.
    """
    case = replace(case, candidates=case.candidates[:2])  # some judges compare them
    probes = list[Probe]()
    for judge in judges:
        asked = [(ask.prompt, ask.options) for ask in _questions(judge, case) if ask.options]
        probes += [Probe(judge.name, *first) for first in asked[:1]]
    return probes


def tokens_of(job: Job, case: Case) -> float:
    """About how many tokens a model computes for a case: the parts of prompts that its cache cannot
    hold yet, and what it may write, of which a token takes as long as several that are read."""
    known, read, written = set[tuple[str, ...]](), 0, 0
    for thinking, ask in ((job.thinking(j), a) for j in job.judges for a in _questions(j, case)):
        if ask.options and thinking:
            written += thinking.tokens * thinking.samples
        parts = ask.prompt.parts
        beginnings = [parts[: n + 1] for n in range(ask.prompt.head, len(parts))]
        read += sum(in_bytes(begun[-1]) for begun in beginnings if begun not in known)
        read += in_bytes(ask.reply)
        written += ask.written if beginnings else 0  # else it is asked once for all documents
        known.update(beginnings)
    return read / BYTES_READ + written * READ_WHILE_WRITING


def _questions(judge: Judge, case: Case) -> list[RecordedAsk]:
    """What a judge would ask about a case, as far as its own code comes: the run says what is wrong
    with it, should a real reply cause it."""
    recording = Recording([c.text for c in case.candidates])
    with suppress(UserError):
        dry_run(judge, case, [], recording)
    return recording.questions


# what a report keeps of the judges


@dataclass(frozen=True)
class Judging:
    task: Task
    judges: Mapping[str, Mapping[str, Any]]


def judging_of(job: Job) -> Judging:
    """The judges' settings, with digests of reference files; the fingerprint has the models."""
    judges = dict[str, Mapping[str, Any]]()
    for judge in job.judges:
        kept = {key: value for key, value in job.settled[judge.name].items() if key != "model"}
        has_file = judge.name in job.references
        judges[judge.name] = kept | ({SETTING: judge.asking[SETTING]} if has_file else {})
    return Judging(job.task, judges)


def keep_judging(place: Place, judging: Judging) -> None:
    if judging.judges:
        place.write_json(KEPT, asdict(judging))
    else:
        place.remove(KEPT)


def kept_judging(output: Output) -> Judging:
    if KEPT not in (output.run() or {}).get(DERIVED, {}):
        raise UserError(NOT_KEPT)
    try:
        return TypeAdapter(Judging).validate_python(json.loads(output.place.read(KEPT)))
    except (ValueError, FileNotFoundError):
        raise output.damaged(KEPT, "cannot be read") from None


# making the prompts again


class RunPrompts:
    def __init__(self, output: Output, judging: Judging | None = None) -> None:
        """`judging`: what a report keeps, where it is not yet written."""
        self._judging = cache(lambda: judging or kept_judging(output))
        self._fingerprint = output.known_run()["fingerprint"]
        self._judge = cache(self._made)

    def about(
        self, name: str, axis: str, case: Case, system: str, briefs: Sequence[Brief]
    ) -> list[AskedPrompt]:
        """What the judge asked on this axis about this system's text, or a UserError that says why
        that cannot be shown. `briefs`: of the document, those of the judge's kind."""
        judge = self._judge(name, axis)
        bound = self._fingerprint
        model = bound["writer"] or bound["judges"][name].get("model") or bound["model"]
        writer = Identity.known(model)
        keys = {brief_key(judge, part, case.document, writer) for part in judge.parts()}
        mine = [brief for brief in briefs if brief.key in keys]
        alone = tuple(c for c in case.candidates if c.system == system)
        # a judge that compares the texts of a document with each other asks nothing about one
        asked = self._about(judge, replace(case, candidates=alone), system, mine) or self._about(
            judge, case, system, mine
        )
        return [
            AskedPrompt(ask.prompt.template, ask.how, words, ask.reply, is_guessed=SAID in words)
            for ask in asked
            for words in [ask.prompt.text]
        ]

    def _about(self, judge: Judge, case: Case, system: str, mine: list[Brief]) -> list[RecordedAsk]:
        """The questions that would be different if the text were another one."""
        changed = tuple(
            replace(c, text=PLACEHOLDER) if c.system == system else c for c in case.candidates
        )
        other, asked = (
            dry_run(judge, asked_of, mine, Recording(stage="judge"))
            for asked_of in (replace(case, candidates=changed), case)
        )
        of_any = {ask.prompt for ask in other}
        return [ask for ask in asked if ask.prompt not in of_any]

    def _made(self, name: str, axis: str) -> Judge:
        judging = self._judging()
        settings, task = judging.judges[name], judging.task
        kind = settings.get("judge", name)
        if kind not in kinds():  # a run's folder may be from elsewhere: it never has code imported
            raise UserError(OF_A_PATH if ":" in kind else NOT_HERE.format(kind))
        (judge,) = make_judges({name: settings}, task)
        asked = {
            key: value for key, value in self._fingerprint["judges"][name].items() if key != "model"
        }
        if json.loads(json.dumps(asking(judge))) != asked:
            raise UserError(CHANGED)
        if axis == ANY_AXIS:
            return judge
        only = replace(task, axes=tuple(a for a in task.axes if a.name == axis))
        (judge,) = make_judges({name: settings}, only)
        return judge
