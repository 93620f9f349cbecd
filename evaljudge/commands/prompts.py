"""`evaljudge prompts`: what a run would ask the model about one document, in the model's words.

    prompts_text("config.yaml", PromptsOptions(doc_id="d17", judge="synthetic"))

Each judge works on the document as in a run, with a model that replies with placeholders
(model/imagining.py), and what it asks is written down. Of every kind of question, which is one
template asked in one way, the first is shown. No engine is loaded and nothing is downloaded: where
the model's tokenizer is on this machine, its chat template stands around the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any

from evaljudge.commands.given import unknown_document
from evaljudge.config import Config, load_config
from evaljudge.corpora import Corpus, open_corpus, refuse_empty
from evaljudge.engines import ModelSource
from evaljudge.engines.gauge import text_around
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError, unknown
from evaljudge.execution.local import complete
from evaljudge.judges.checked import briefs_of, verdicts_of
from evaljudge.judges.protocol import Judge
from evaljudge.model.imagining import MARK, imagined
from evaljudge.model.remembering import Remembering
from evaljudge.records import Brief, Case, Document
from evaljudge.report.screen import WIDEST_PROSE, wrapped
from evaljudge.runs.asked import PLACEHOLDER, SAID, RecordedAsk, Recording
from evaljudge.runs.job import Job, make_job, one_of
from evaljudge.runs.references import given_references
from evaljudge.studies.study import study_runs
from evaljudge.text import counted, harmless, one_line

OF_STAGE = {"prepare": "about the document alone", "judge": "about a text"}
NOT_HERE = (
    "The tokenizer of {} is not on this machine, so its chat template is not shown: the words of "
    "each prompt are one message of the user."
)
LABEL = 11
AROUND = "The words of each prompt stand in the chat template of {}."


@dataclass(frozen=True)
class PromptsOptions:
    doc_id: str | None = None
    """The corpus' first document, where none is named."""
    system: str | None = None
    """All of the document's texts are judged, where none is named."""
    judge: str | None = None
    axis: str | None = None


@dataclass(frozen=True)
class QuestionKind:
    """One kind of question: one template, asked in one way."""

    questions: Sequence[RecordedAsk]

    @property
    def first(self) -> RecordedAsk:
        return self.questions[0]

    @property
    def template(self) -> str:
        return self.first.prompt.template

    def is_shown_in(self, other: QuestionKind) -> bool:
        """Whether the other's first prompt holds a placeholder for one of these replies."""
        asked = (one.prompt for one in self.questions if one.is_writing)
        marks = (imagined(prompt, [PLACEHOLDER])[-len(MARK) :] for prompt in asked)
        return any(mark in other.first.prompt.text for mark in marks)


def prompts_text(
    config: str | Mapping[str, Any], changes: Sequence[str], wanted: PromptsOptions
) -> str:
    job = _job(load_config(config, changes), wanted)
    with open_corpus(job.corpus, job.config.bad_rows) as corpus:
        refuse_empty(corpus, job.config.corpus_name, "ask about")
        case = _case(corpus, wanted)
        known = list(_given(job, case.document))
    kinds = {judge.name: complete(_asked(judge, case, known)) for judge in _judges(job, wanted)}
    blocks = [_head(job, case), *(b for j in job.judges if j.name in kinds
                                  for b in _of_judge(job, j, kinds[j.name]))]  # fmt: skip
    return "\n\n".join(blocks) + "\n"


# what is asked about


def _job(config: Config, wanted: PromptsOptions) -> Job:
    """The first run of a study; without what no model is asked about."""
    if config.study is not None:
        config = study_runs(config)[0].config
    unasked: dict[str, Any] = {"metrics": {}, "mixes": {}, "combine": {}, "select": []}
    unasked |= {"calibrate": []}
    if not config.judges:
        raise UserError("the configuration names no judge, so no model is asked anything")
    job = make_job(config.model_copy(update=unasked), ScriptedEngines())
    if wanted.axis is None:
        return job
    axes = [axis.name for axis in job.task.axes]
    if wanted.axis not in axes:
        raise UserError(f"--axis: {unknown('axis', wanted.axis, axes)}")
    return make_job(job.config.model_copy(update={"axes": [wanted.axis]}), ScriptedEngines())


def _judges(job: Job, wanted: PromptsOptions) -> list[Judge]:
    judges = {judge.name: judge for judge in job.judges}
    if wanted.judge is not None and wanted.judge not in judges:
        raise UserError(f"--judge: {unknown('judge', wanted.judge, judges)}")
    return [judge for name, judge in judges.items() if wanted.judge in (None, name)]


def _case(corpus: Corpus, wanted: PromptsOptions) -> Case:
    case = next(iter(corpus)) if wanted.doc_id is None else corpus.find(wanted.doc_id)
    if case is None:
        ids = [one.document.doc_id for one in corpus]
        raise UserError(f"--doc: {unknown_document(str(wanted.doc_id), ids)}")
    if wanted.system is None:
        return case
    systems = {candidate.system: candidate for candidate in case.candidates}
    if wanted.system not in systems:
        raise UserError(f"--system: {unknown('system', wanted.system, systems)}")
    return replace(case, candidates=(systems[wanted.system],))


def _given(job: Job, document: Document) -> Iterator[Brief]:
    """What files of references hold in place of what would be written."""
    if job.references:
        with given_references(job.references, job.judges) as given:
            for kind in given.kinds:
                yield from given.briefs(kind, document, one_of(job.writer_is)).values()


async def _asked(judge: Judge, case: Case, known: Sequence[Brief]) -> list[QuestionKind]:
    recording = Recording()
    model = Remembering(recording)
    mine = [brief for brief in known if brief.judge == judge.kind]
    briefs = [*mine, *await briefs_of(judge, case.document, mine, model)]
    recording.stage = "judge"
    await verdicts_of(judge, case, briefs, model)
    by_kind: dict[tuple[str, str, str], list[RecordedAsk]] = {}
    for one in recording.questions:
        by_kind.setdefault(one.kind, []).append(one)
    return [QuestionKind(questions) for questions in by_kind.values()]


# words


def _head(job: Job, case: Case) -> str:
    systems = ", ".join(one_line(candidate.system) for candidate in case.candidates)
    texts = counted(len(case.candidates), "text", "texts")
    about = [f"document   {one_line(case.document.doc_id)} ({texts}: {systems})"]
    for label, source in _models(job):
        said = NOT_HERE if text_around(source) is None else AROUND
        line = f"{label:{LABEL}}{said.format(one_line(source.source))}"
        about.append(fill(line, WIDEST_PROSE, subsequent_indent=" " * LABEL))
    return "\n".join(about)


def _models(job: Job) -> Iterator[tuple[str, ModelSource]]:
    for one in job.passes:
        yield "model" if "judge" in one.stages else "writer", one.source


def _of_judge(job: Job, judge: Judge, kinds: Sequence[QuestionKind]) -> Iterator[str]:
    job = job.panel_of(judge.name)
    for number, kind in enumerate(kinds, 1):
        yield _block(job, f"{judge.name} {number} of {len(kinds)}", kind, kinds)
    if judge.estimated:
        yield f"How often {judge.name} asks depends on the replies. {judge.estimated}"


def _block(job: Job, name: str, kind: QuestionKind, kinds: Sequence[QuestionKind]) -> str:
    first, times = kind.first, len(kind.questions)
    head = f"── {one_line(name)}: prompt {one_line(kind.template or 'without a name')} "
    said = "once" if times == 1 else f"{times:,} times; this is the first"
    about = [f"{head}{'─' * max(0, WIDEST_PROSE - len(head))}",
             wrapped(f"Asked {OF_STAGE[first.stage]}, {said}. {first.how}")]  # fmt: skip
    if others := [one.template for one in kinds if one.is_shown_in(kind)]:
        names = " and ".join(map(one_line, dict.fromkeys(others)))
        about.append(wrapped(f"{SAID} stands for what the model will have written to {names}."))
    source = one_of(job.writer if first.stage == "prepare" else job.model)
    before, after = text_around(source) or ("", "")
    words = harmless(before + first.prompt.text + after)
    reply = f"\n\nThe reply: {harmless(first.reply)}" if first.reply else ""
    return "\n".join(about) + f"\n\n{words}{reply}"
