"""`evaljudge prompts`: what a run would ask the model about one document, in the model's words.

Each judge works on the document as in a run, with a model that replies with placeholders
(model/imagining.py), and what it asks is written down. Of every kind of question, which is one
template asked in one way, the first is shown, in the chat template of a tokenizer that is here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import fill
from typing import Any

from evaljudge.commands.given import refuse_unknown
from evaljudge.commands.options import PromptsOptions
from evaljudge.config import Config, load_config
from evaljudge.corpora import Corpus, open_corpus, refuse_empty
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.engines.token_counter import text_around
from evaljudge.errors import UserError, unknown
from evaljudge.judges.protocol import Judge
from evaljudge.model.imagining import MARK, imagined
from evaljudge.records import Case
from evaljudge.report.screen import WIDEST_PROSE, wrapped
from evaljudge.runs.asked import PLACEHOLDER, SAID, RecordedAsk, Recording, dry_run
from evaljudge.runs.job import Job, make_job, required
from evaljudge.runs.planning import given_briefs
from evaljudge.studies.study import study_runs
from evaljudge.text import counted, harmless, one_line

OF_STAGE = {"prepare": "about the document alone", "judge": "about a text"}
NOT_HERE = (
    "The tokenizer of {} is not on this machine, so its chat template is not shown: the words of "
    "each prompt are one message of the user."
)
LABEL = 11
AROUND = "The words of each prompt stand in the chat template of {}."
Kind = Sequence[RecordedAsk]  # the questions of one kind: one template, asked in one way


def prompts_text(wanted: PromptsOptions) -> str:
    job = _job(load_config(wanted.config, wanted.changes or ()), wanted)
    with open_corpus(job.corpus, job.config.bad_rows) as corpus:
        refuse_empty(corpus, job.config.corpus_name, "ask about")
        case = _case(corpus, wanted)
    briefs = list(given_briefs(job, [case.document]))
    blocks = [_head(job, case)]
    judges = {judge.name: judge for judge in job.judges}
    refuse_unknown("--judge", "judge", [wanted.judge], judges)
    for judge in (named for name, named in judges.items() if wanted.judge in (None, name)):
        mine = [brief for brief in briefs if brief.judge == judge.kind]
        kinds = dict[tuple[str, str, str], list[RecordedAsk]]()
        for ask in dry_run(judge, case, mine, Recording()):
            kinds.setdefault(ask.kind, []).append(ask)
        blocks += _of_judge(job, judge, list(kinds.values()))
    return "\n\n".join(blocks) + "\n"


def _job(config: Config, wanted: PromptsOptions) -> Job:
    """The first run of a study; without what no model is asked about."""
    if config.study is not None:
        config = study_runs(config)[0].config
    unasked: dict[str, Any] = {"metrics": {}, "mixes": {}, "combine": {}, "select": []}
    unasked |= {"calibrate": [], "cascade": None}
    if not config.judges:
        raise UserError("the configuration names no judge, so no model is asked anything")
    job = make_job(config.model_copy(update=unasked), ScriptedEngines())
    if wanted.axis is None:
        return job
    axes = [axis.name for axis in job.task.axes]
    refuse_unknown("--axis", "axis", [wanted.axis], axes)
    return make_job(job.config.model_copy(update={"axes": [wanted.axis]}), ScriptedEngines())


def _case(corpus: Corpus, wanted: PromptsOptions) -> Case:
    case = next(iter(corpus)) if wanted.doc_id is None else corpus.find(wanted.doc_id)
    if case is None:
        ids = [case.document.doc_id for case in corpus]
        raise UserError(f"--doc: {unknown('document', str(wanted.doc_id), ids)}")
    if wanted.system is None:
        return case
    systems = {candidate.system: candidate for candidate in case.candidates}
    refuse_unknown("--system", "system", [wanted.system], systems)
    return replace(case, candidates=(systems[wanted.system],))


def _head(job: Job, case: Case) -> str:
    systems = ", ".join(one_line(candidate.system) for candidate in case.candidates)
    texts = counted(len(case.candidates), "text", "texts")
    about = [f"document   {one_line(case.document.doc_id)} ({texts}: {systems})"]
    for each_pass in job.passes:
        label = "model" if "judge" in each_pass.stages else "writer"
        note = NOT_HERE if text_around(each_pass.source) is None else AROUND
        line = f"{label:{LABEL}}{note.format(one_line(each_pass.source.source))}"
        about.append(fill(line, WIDEST_PROSE, subsequent_indent=" " * LABEL))
    return "\n".join(about)


def _of_judge(job: Job, judge: Judge, kinds: Sequence[Kind]) -> Iterator[str]:
    job = next(panel for panel in job.panels if judge in panel.judges)
    for number, kind in enumerate(kinds, 1):
        yield _block(job, f"{judge.name} {number} of {len(kinds)}", kind, kinds)
    if judge.estimated:
        yield f"How often {judge.name} asks depends on the replies. {judge.estimated}"


def _block(job: Job, name: str, kind: Kind, kinds: Sequence[Kind]) -> str:
    first, times = kind[0], len(kind)
    template = one_line(first.prompt.template or "without a name")
    head = f"── {one_line(name)}: prompt {template} "
    frequency = "once" if times == 1 else f"{times:,} times; this is the first"
    about = [
        f"{head}{'─' * max(0, WIDEST_PROSE - len(head))}",
        wrapped(f"Asked {OF_STAGE[first.stage]}, {frequency}. {first.how}"),
    ]
    written = [  # the templates whose placeholder replies are in this prompt
        each[0].prompt.template
        for each in kinds
        if any(
            imagined(ask.prompt, [PLACEHOLDER])[-len(MARK) :] in first.prompt.text
            for ask in each
            if ask.written
        )
    ]
    if written:
        names = " and ".join(map(one_line, dict.fromkeys(written)))
        about.append(wrapped(f"{SAID} stands for what the model will have written to {names}."))
    source = required(job.writer if first.stage == "prepare" else job.model).source
    if first.options and (thinking := source.thinking):
        tokens = counted(thinking.tokens, "token", "tokens")
        about.append(wrapped(f"Before that, the model thinks, in at most {tokens}."))
    before, after = text_around(source) or ("", "")
    words = harmless(before + first.prompt.text + after)
    reply = f"\n\nThe reply: {harmless(first.reply)}" if first.reply else ""
    return "\n".join(about) + f"\n\n{words}{reply}"
