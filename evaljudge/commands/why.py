"""`evaljudge why`: what in a text accounts for its score, written by the model that judged it.

why(WhyOptions("runs/first", worst=5))    of the five worst scores
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import nsmallest
from itertools import starmap
from math import isfinite

from evaljudge.commands.given import refuse_unknown
from evaljudge.commands.options import Shown, WhyOptions
from evaljudge.commands.show import place_of, shown_critique
from evaljudge.config import load_config
from evaljudge.engines import Engines
from evaljudge.engines.endpoint.batch import OF_FILES
from evaljudge.errors import UserError
from evaljudge.execution.local import complete
from evaljudge.execution.protocol import Assignment
from evaljudge.judges.protocol import Judge
from evaljudge.judges.shared.asking import document_texts
from evaljudge.model.asks import Failed, Prompt, Writing, Written
from evaljudge.model.counting import CountingModel
from evaljudge.records import ANY_AXIS, Axis, Case, Critique, Score
from evaljudge.runs.binding import open_bound
from evaljudge.runs.job import Job, make_job, required
from evaljudge.settings import as_path
from evaljudge.storage import Output, Shard
from evaljudge.text import LONG, counted, one_line

TEMPLATE, HOW = "why.critique", Writing(400)
LOWER = "lower is better"
OVERALL = Axis(ANY_AXIS, "how good it is as a whole", phrase="overall quality")
Texts = Sequence[tuple[Score, Shard]]


@dataclass(frozen=True, repr=False)
class Critiques(Shown):
    found: Sequence[Critique]
    failed: Mapping[str, str]  # why nothing could be written, by the text

    @property
    def text(self) -> str:
        named = ((one_line(f"{c.doc_id}, {c.system}: {c.about}", LONG), c) for c in self.found)
        blocks = [shown_critique(head, each) for head, each in named]
        return "\n\n".join(blocks) + "\n" if blocks else ""

    @property
    def json(self) -> str:
        return json.dumps(list(map(asdict, self.found)), indent=1, ensure_ascii=False) + "\n"

    @property
    def complaints(self) -> Sequence[str]:
        failed = self.failed.items()
        return [one_line(f"not written: {text}: {reason}", LONG) for text, reason in failed]

    @property
    def exit_code(self) -> int:
        return int(bool(self.failed and not self.found))


def why(wanted: WhyOptions, engines: Engines | None = None) -> Critiques:
    out = as_path(wanted.run, "run")
    if (wanted.worst is None) == (wanted.doc_id is None or wanted.system is None):
        raise UserError("name a text with --doc and --system, or give --worst")
    run = Output(out).known_run()
    output = Output(out, run.get("briefs"), run["id"])
    job = make_job(load_config(out), engines)
    judges = {scorer: judge for judge in job.judges for scorer in judge.scorers}
    refuse_unknown("--scorer", "scorer of a judge", [wanted.scorer], judges)
    scorer = wanted.scorer or next(iter(judges), "")
    if not scorer:
        raise UserError(f"{out}: no judge judged there, so there is no model to ask")
    refuse_unknown("--axis", "axis", [wanted.axis], judges[scorer].axes_of(scorer))
    open_bound(job)  # refused where another model answers by its name now
    texts = _chosen(wanted, output, scorer, -1 if LOWER in job.meanings.get(scorer, "") else 1)
    had = output.critiques(score for score, _ in texts)
    known = {(c.doc_id, c.system, c.axis) for c in had}
    left = [(s, shard) for s, shard in texts if (s.doc_id, s.system, s.axis) not in known]
    failed = _written(job, output, judges[scorer], left) if left else {}
    return Critiques(output.critiques(score for score, _ in texts), failed)


def _chosen(wanted: WhyOptions, output: Output, scorer: str, sign: int) -> Texts:
    """The worst scores of the run, or those of one text; `sign`: -1 where lower is better."""
    shards = output.shards()
    if wanted.doc_id is not None:
        shard, case = place_of(output, wanted.doc_id)
        shards = [shard]
        systems = [candidate.system for candidate in case.candidates]
        refuse_unknown("--system", "system", [wanted.system], systems)

    def texts() -> Iterator[tuple[Score, Shard]]:
        for shard in output.scored(shards):
            for score in output.scores(shard):
                here = score.scorer, score.axis, score.doc_id, score.system
                named = scorer, wanted.axis, wanted.doc_id, wanted.system
                if all(want in (None, have) for want, have in zip(named, here, strict=True)):
                    yield score, shard

    def from_worst(text: tuple[Score, Shard]) -> tuple[float, str, str, str]:
        score = text[0]
        return sign * (score.value or 0.0), score.doc_id, score.system, score.axis

    valued = ((text, text[0].value) for text in texts())
    scored = (text for text, value in valued if value is not None and isfinite(value))
    chosen = nsmallest(wanted.worst or sys.maxsize, scored, key=from_worst)
    if not chosen:
        reason = next((score.reason for score, _ in texts()), "nothing is scored yet")
        raise UserError(f"{scorer} gave no score to explain: {reason}")
    return chosen


def _written(job: Job, output: Output, judge: Judge, texts: Texts) -> dict[str, str]:
    """Has the critiques written and keeps each; gives why some could not be, by the text."""
    panel = next(panel for panel in job.panels if judge in panel.judges)
    model, writer = required(panel.model), required(panel.writer)
    if model.source.is_bundled or (model.facts and model.facts.labels):
        raise UserError(
            f"model {model.source.source} writes no sentences, so it cannot say why: judge "
            "with a chat model"
        )
    if model.source.way.endswith(OF_FILES):
        raise UserError("the model answered by batch files, which cannot be asked for a critique")
    shards = {shard.number: shard for _, shard in texts}.values()
    cases = {case.document.doc_id: case for shard in shards for case in output.cases(shard)}
    asked = [(score, _prompt(job, judge, cases[score.doc_id], score)) for score, _ in texts]
    wanted = counted(len(asked), "critique", "critiques")
    print(f"{model.source.source} is loaded to write {wanted}", file=sys.stderr, flush=True)
    made = Assignment(output, (), job.engines, model.source, writer.identity, {}, job.config.seed)
    engine, failed = made.open_engine(), dict[str, str]()
    counting = CountingModel(engine)

    async def write(score: Score, prompt: Prompt) -> None:
        (reply,) = await counting.write([prompt], HOW)
        if isinstance(reply, Written) and not reply.text.strip():
            reply = Failed("the reply was empty")
        if isinstance(reply, Failed):
            failed[f"{score.doc_id}, {score.system}, {score.axis}"] = reply.reason
            return
        of = score.doc_id, score.system, score.scorer, score.axis, score.value or 0.0
        cut = " …" if reply.samples[0].finish == "length" else ""
        text = reply.text.strip() + cut
        output.keep_critique(score, Critique(*of, str(model.identity), text))

    async def write_all() -> None:
        await asyncio.gather(*starmap(write, asked))

    try:
        complete(write_all())
    finally:
        engine.close()
        spent = counting.tokens
        took = f"{spent.prompt:,} prompt tokens and {spent.generated:,} generated"
        print(f"{took}, which no total of the run has", file=sys.stderr, flush=True)
    return failed


def _prompt(job: Job, judge: Judge, case: Case, score: Score) -> Prompt:
    axis = next((axis for axis in job.task.axes if axis.name == score.axis), OVERALL)
    target = next(c.text for c in case.candidates if c.system == score.system)
    words = {f"{slot}_noun": noun for slot, noun in job.task.nouns.items()} | axis.words
    meaning = job.meanings.get(score.scorer, "Higher is better.")
    words |= {"score": f"{score.value:.4g}", "meaning": meaning}
    given = document_texts(case.document, axis) | {"target": target}
    return job.task.pack.render(TEMPLATE, given, **words)
