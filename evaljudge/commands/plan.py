"""`evaljudge plan`: what is wrong with a configuration, then what is left to ask, as a table."""

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from evaljudge.analysis.ratings import FurtherRatings
from evaljudge.commands.options import PlanOptions, Shown
from evaljudge.commands.problems import Problem, Problems, jobs_of, look_at_corpus
from evaljudge.config import load_config
from evaljudge.engines import Engines, ModelSource, VllmEngines
from evaljudge.engines.internals import CPU_BUILD
from evaljudge.engines.memory import GIB, Card, card_named, footprint, gpus_needed, room_on
from evaljudge.errors import UserError
from evaljudge.records import Tokens
from evaljudge.runs.binding import refuse_other_run
from evaljudge.runs.job import Job
from evaljudge.runs.planning import Plan, known_briefs, make_plan
from evaljudge.storage import Output
from evaljudge.studies.study import StudyRun, study_runs
from evaljudge.text import counted, one_line

RARELY = 100_000
"""So many new values before garbage is looked for: a plan makes millions, and leaves no garbage."""
COUNTED_FROM = {"configuration", "study", "settings", "engine", "model", "out", "briefs", "corpus"}
"""Topics: after an error in any of them there is nothing to count."""
HIDING = "More mistakes may show when these are corrected."
HEAD = ("asks", "prompt tokens", "prefill at least", "generate")
EXACT = "Asks and prompt tokens are exact: every brief is there."
FURTHER = (
    "{:,} further requests are planned, for one answer of several tokens to each ask. More are\n"
    "made where several such answers are probable, or unusual spellings."
)
THOUGHT = (
    "Thoughts are planned as long as they may be, with a request or more after each of them: so\n"
    "tokens are at most these."
)
NONE_FURTHER = (
    "Each ask is one request, except where the model gives much probability to an answer's other\n"
    "spelling of several tokens."
)
CASCADED = (
    "cascade: {0} is counted as if every text were passed on to it: this is the most that it may\n"
    "be asked. It will be asked about {1:,} drawn texts at least, of {2:,}."
)
WIDTH = 92
ENDPOINT = "endpoint   {} is {}: {}; its tokens are estimates, one for four letters"
NO_RATE = (
    "No cost in money is estimated, as no rate is known: give --throughput TOKENS, or "
    "--throughput-of OUT, the folder of an earlier run on such machines."
)
CLUSTERED = (
    "{}: but which readers vote is known when their vectors are: their tokens are estimates, and\n"
    "settings that come to the same voters ask once."
)
Labelled = Sequence[tuple[str, Plan]]
ESTIMATED = (
    "Asks are exact as long as every brief can be written. Prompt tokens that hold a brief not\n"
    "yet written are estimates: it is taken to be as long as the texts."
)


@dataclass(frozen=True)
class Planned(Shown):
    problems: Sequence[Problem]  # what is wrong with the configuration
    counts: Sequence[str]  # lines; none where an error leaves nothing to be counted

    @property
    def exit_code(self) -> int:
        is_wrong = any(problem.level == "error" for problem in self.problems)
        return UserError.exit_code if is_wrong else 0

    @property
    def text(self) -> str:
        more = [HIDING] if self.exit_code and not self.counts else []
        return "".join(f"{line}\n" for line in (*self.problems, *more, *self.counts))


def plan_of(wanted: PlanOptions) -> Planned:
    gc.freeze()  # what was imported stays, and need not be looked through
    gc.set_threshold(RARELY)
    earlier = wanted.throughput_of
    rate = throughput_of(earlier) if earlier else wanted.throughput
    return planned(wanted.config, wanted.changes or (), rate, gpu=wanted.gpu)


def planned(
    given: str | Mapping[str, Any],
    changes: Sequence[str] = (),
    throughput: float | None = None,
    engines: Engines | None = None,
    gpu: str | None = None,
) -> Planned:
    """`gpu`: the name of a card, on which models are looked at for whether they fit."""
    card = card_named(gpu) if gpu else None
    problems, counts, engines = Problems(), list[str](), engines or VllmEngines()
    with problems.looking_at("configuration"):
        config = load_config(given, changes)
        runs = [StudyRun("", config)]
        if config.study is not None:
            with problems.looking_at("study"):
                runs = study_runs(config)
        jobs = jobs_of(config, [run.config for run in runs], engines, problems)
        look_at_corpus(config, jobs, problems)
        if len(jobs) == len(runs) and not problems.errors() & COUNTED_FROM:
            with problems.looking_at("counts"):
                with known_briefs() as written:  # a study's later runs have those of runs before
                    plans = [
                        (run.label, make_plan(job, written if run.label else None))
                        for run, job in zip(runs, jobs, strict=True)
                    ]
                thinks = any(source.thinking for job in jobs for source in job.sources)
                lines = _lines(plans, jobs[0], throughput, card, thinks, problems.further)
                counts = [*lines, *_money(plans, jobs, throughput)]
                for job, (_, plan) in zip(jobs, plans, strict=True):
                    with problems.looking_at("out"):
                        output = Output(job.config.out, job.config.briefs)
                        refuse_other_run(output, list(plan.refused))
    return Planned(problems, counts)


def _lines(
    labelled: Labelled,
    job: Job,
    throughput: float | None,
    card: Card | None,
    thinks: bool,
    files: FurtherRatings,
) -> Iterator[str]:
    plans = [plan for _, plan in labelled]
    total = sum((plan.total for plan in plans), Tokens())
    texts = counted(plans[0].candidates, "text", "texts")
    yield f"{counted(plans[0].cases, 'document', 'documents')}, {texts}"
    more = Counter(axis for rated in files.texts.values() for axis in rated.ratings)
    said = f"rated by {one_line(job.config.rated_by)}: {_rated(plans[0].rated)}"
    yield f"{said}; in the files of `ratings`: {_rated(more)}" if more else said
    if not job.judges:
        yield "The configuration names no judge: no model is asked, so there is no cost to plan."
    for label, plan in labelled if job.judges else ():
        yield from _table(label, plan)
    for label, plan in labelled:
        yield from (f"foreseen   {label}{': ' * bool(label)}{line}" for line in plan.foreseen)
    if not job.judges:
        return
    if len(plans) > 1:
        yield f"{'all runs':42}" + _numbers(total)
    guessed = {judge.name: judge.estimated for judge in job.judges if judge.estimated}
    if len(guessed) < len(job.judges):
        yield EXACT if all(plan.is_exact for plan in plans) else ESTIMATED
        if kept := sum(plan.in_hand for plan in plans):
            replies = counted(kept, "reply is", "replies are")
            yield f"{replies} kept of documents that are not done: so many fewer will be asked for."
    clustered = [judge.name for judge in job.judges if judge.encoders]
    if others := [name for name in clustered if name not in guessed]:
        yield CLUSTERED.format(", ".join(others))
    for sentence in dict.fromkeys(guessed.values()):
        names = ", ".join(name for name, mine in guessed.items() if mine == sentence)
        note = f"{names}: asks and tokens are estimates. {sentence}"
        yield fill(note, WIDTH, break_on_hyphens=False)
    if cascade := job.config.cascade:
        candidates = plans[0].candidates
        yield CASCADED.format(cascade.then, min(cascade.draw, candidates), candidates)
        if cascade.draw >= candidates:
            yield "cascade.draw takes every text, so nothing is saved: name a smaller number."
    further = total.requests - total.asks
    yield THOUGHT if thinks else FURTHER.format(further) if further else NONE_FURTHER
    for source in {source.source: source for source in job.sources if source.endpoint}.values():
        yield ENDPOINT.format(source.source, source.revision, source.way)
    if card:
        for name, source in {source.source: source for source in job.sources}.items():
            longest = max(plan.longest.get(name, 0) for plan in plans)
            yield _memory(source, job.engines.describe(source).context, longest, card)
    if throughput:
        yield from _cost(total, job, throughput)
    elif job.price.by_hour:
        yield NO_RATE


def _rated(by_axis: Mapping[str, int]) -> str:
    return ", ".join(f"{one_line(axis)} {n:,}" for axis, n in by_axis.items()) or "none"


def _money(labelled: Labelled, jobs: Sequence[Job], throughput: float | None) -> Iterator[str]:
    """What the tokens cost by the models' prices; and which cap of `most` a run will come to."""
    for (label, plan), job in zip(labelled, jobs, strict=True):
        price, total, start = job.price, plan.total, f"{label}: " if label else ""
        money = sum(price.of_tokens(*part, tokens) for part, tokens in plan.asked.items())
        if price.per_million:
            said = f"{start}An estimate of the cost of the tokens: {price.money(money)}"
            yield f"{said}, at {price}; a server that caches prompts may take less"
        if throughput:
            money += _by_hour(total, job, throughput)[0]
        planned = total.asks, total.prompt + total.generated, money
        caps = job.config.most.amounts if job.config.most else planned
        for what, n, cap in zip(("asks", "tokens", "cost"), planned, caps, strict=True):
            if n > cap:
                yield f"{start}most: {cap:,g} of {n:,.6g} planned ({what}): the run will stop there"


def _table(label: str, plan: Plan) -> Iterator[str]:
    if label:
        yield f"\n{label}"
    if plan.done:
        yield f"{counted(plan.done, 'document is', 'documents are')} judged already"
    yield f"{'stage':10}{'judge':32}" + "".join(f"{head:>18}" for head in HEAD)
    for (stage, name), tokens in plan.asked.items():
        if tokens.asks:
            yield f"{stage:10}{name:32}" + _numbers(tokens)
    yield f"{'total':42}" + _numbers(plan.total)


def _numbers(total: Tokens) -> str:
    sums = total.asks, total.prompt, total.floor, total.generated
    return "".join(f"{number:>18,}" for number in sums)


def _memory(source: ModelSource, context: int | None, longest: int, card: Card) -> str:
    model, engine = footprint(source), source.engine
    tokens = int(engine.get("max_model_len") or longest or context or 0)
    if model is None or tokens <= 0:
        return f"memory     {source.source}: its config.json is not here, or not known"
    room = room_on(card, model, tokens, engine, source.gpus_per_engine)
    left = _gib(room.left) if room.left > 0 else f"nothing ({_gib(-room.left)} too few)"
    where = f"{room.gpus} × {card.name}, each" if room.gpus > 1 else card.name
    start = (
        f"memory     {source.source} on {where} with {_gib(card.memory)}: weights "
        f"{_gib(room.weights)}, computing about {_gib(room.computing)}, left for the cache {left}\n"
        f"           the longest prompt and its reply are {tokens:,} tokens, {_gib(room.request)}: "
    )
    if room.at_once:
        return f"{start}{room.at_once:,} of them fit at once"
    gpus = gpus_needed(card, model, tokens, engine)
    several = f"{gpus} GPUs (`engine: {{tensor_parallel_size: {gpus}}}`), " if gpus else ""
    return f"{start}this does not fit. Take {several}a smaller or quantised model, or a larger card"


def _gib(size: float) -> str:
    return f"{size / GIB:.2f} GiB" if abs(size) < GIB else f"{size / GIB:.1f} GiB"


def _cost(total: Tokens, job: Job, throughput: float) -> Iterator[str]:
    """The cost on one worker: with a prefix cache that serves all it can, and with none."""
    gpus = job.sources[-1].gpus_per_engine
    least, most = (each / 3600 * max(1, gpus) for each in _seconds(total, throughput))
    workers, build = job.config.workers, job.engines.version if gpus else ""
    on_cpu = build.startswith(CPU_BUILD) and workers.executor != "ray"
    hours = "worker-hours" if on_cpu or 0 in (gpus, workers.gpus) else "GPU-hours"
    yield (
        f"At {throughput:,.0f} tokens a second: {least:,.3g} {hours} with a perfect prefix "
        f"cache, {most:,.3g} without any (loading the model and further requests apart)"
    )
    if (price := job.price).by_hour:
        low, high = map(price.money, _by_hour(total, job, throughput))
        yield (
            f"An estimate of the cost, at {price}: from {low} with a perfect prefix cache to "
            f"{high} without any"
        )


def _seconds(total: Tokens, throughput: float) -> list[float]:
    return [(total.generated + read) / throughput for read in (total.floor, total.prompt)]


def _by_hour(total: Tokens, job: Job, throughput: float) -> list[float]:
    asked = job.config.workers.gpus
    gpus = job.sources[-1].gpus_per_engine if asked == "auto" else asked
    return [job.price.of(each, each * gpus) for each in _seconds(total, throughput)]


def throughput_of(out: str) -> float:
    """The tokens that a worker of an earlier run computed a second, loading its model included."""
    run = Output(out).known_run()
    seconds = run.get("cost", {}).get("worker_seconds", 0)
    tokens = sum(run.get("total", {}).get(name, 0) for name in ("prefilled", "generated"))
    if not seconds or not tokens:
        raise UserError(
            f"--throughput-of {out}: this run has asked no model yet, so it has no rate: name "
            "another, or give --throughput"
        )
    return float(tokens / seconds)
