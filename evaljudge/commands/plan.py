"""`evaljudge plan`: what is left to ask, as a table in words.

36 cases, 252 candidates
rated by people: coherence 252, fluency 250
stage     judge               asks   prompt tokens  prefill at least   generate
prepare   synthetic            720         205,000            31,000     57,000
judge     synthetic          6,048       2,150,000           190,000      6,048
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any

from evaljudge.config import Config, load_config
from evaljudge.engines import Engines, ModelSource
from evaljudge.engines.memory import GIB, Card, card_named, footprint, gpus_needed, room_on
from evaljudge.errors import UserError
from evaljudge.prompts import NANO
from evaljudge.reasons import grouped
from evaljudge.runs.binding import as_begun
from evaljudge.runs.job import Job, make_job
from evaljudge.runs.planning import COMPARED_CASES, Plan, make_plan, prefilled_by_layout
from evaljudge.storage import Output
from evaljudge.studies.study import plan_study, study_runs
from evaljudge.text import LONG, one_line

HEAD = ("asks", "prompt tokens", "prefill at least", "generate")
LAYOUTS = ("paper", "shared")
EXACT = "Asks and prompt tokens are exact: every brief is there."
FURTHER = (
    "{:,} further requests are planned, for one answer of several tokens to each ask. More are\n"
    "made where several such answers are probable, or unusual spellings."
)
NONE_FURTHER = (
    "Each ask is one request, but where the model gives much probability to an answer's other\n"
    "spelling of several tokens."
)
GUESSED = "{}: asks and tokens are estimates. {}"
WIDTH = 92
NO_RATE = (
    "No cost in money is estimated, as no rate is known: give --throughput TOKENS, or "
    "--throughput-of OUT, the folder of an earlier run on such machines."
)
NO_CANDIDATE = (
    "warning: corpus: no document has a candidate: `evaljudge run` refuses such a corpus, and\n"
    "`evaljudge prepare` does the part of this plan that is called prepare"
)
CLUSTERED = (
    "{}: but which readers vote is known when their vectors are: their tokens are estimates, and\n"
    "settings that come to the same voters ask once."
)
ESTIMATED = (
    "Asks are exact as long as every brief can be written. Prompt tokens that hold a brief not\n"
    "yet written are estimates: it is taken to be as long as the candidates."
)


def planned_text(
    given: str | Mapping[str, Any],
    changes: Sequence[str] = (),
    throughput: float | None = None,
    engines: Engines | None = None,
    gpu: str | None = None,
) -> str:
    """`gpu`: the name of a card, on which models are looked at for whether they fit."""
    config = load_config(given, changes)
    card = card_named(gpu) if gpu else None
    if config.study is None:
        plans = [("", make_plan(as_begun(make_job(config, engines))))]
        shown = config
    else:
        plans = plan_study(given, changes, engines=engines)
        shown = study_runs(config)[0].config
    return "\n".join(_lines(plans, shown, throughput, engines, card)) + "\n"


def _lines(
    plans: Sequence[tuple[str, Plan]], config: Config, throughput: float | None,
    engines: Engines | None, card: Card | None,
) -> Iterator[str]:  # fmt: skip
    first = plans[0][1]
    yield f"{first.cases:,} cases, {first.candidates:,} candidates"
    rated = ", ".join(f"{one_line(axis)} {n:,}" for axis, n in first.rated.items())
    yield f"rated by {one_line(config.rated_by)}: {rated or 'none'}"
    yield from (f"warning: corpus: {one_line(note, LONG)}" for note in first.unread)
    if not first.candidates:
        yield NO_CANDIDATE
    if not config.judges:
        yield "The configuration names no judge: no model is asked, so there is no cost to plan."
        return
    for label, plan in plans:
        yield from _table(label, plan)
    for label, plan in plans:
        for name, reasons in plan.unscored.items():
            where = f"{label}: {name}" if label else name
            yield from (f"foreseen   {where}: {group}" for group in grouped(reasons))
    if len(plans) > 1:
        yield f"{'all runs':42}" + _numbers(*(plan for _, plan in plans))
    job = make_job(config, engines)
    guessed = {judge.name: judge.estimated for judge in job.judges if judge.estimated}
    if len(guessed) < len(job.judges):
        yield ESTIMATED if any(not plan.is_exact for _, plan in plans) else EXACT
    clustered = [judge.name for judge in job.judges if judge.encoders]
    if others := [name for name in clustered if name not in guessed]:
        yield CLUSTERED.format(", ".join(others))
    for sentence in dict.fromkeys(guessed.values()):
        names = ", ".join(name for name, mine in guessed.items() if mine == sentence)
        yield fill(GUESSED.format(names, sentence), WIDTH, break_on_hyphens=False)
    totals = [plan.total for _, plan in plans]
    further = sum(total.requests - total.asks for total in totals)
    yield FURTHER.format(further) if further else NONE_FURTHER
    yield from _by_layout(job, first, engines)
    given = (model.caution for model in config.models)
    of_models = (job.engines.describe(source).caution for source in job.sources)
    said = dict.fromkeys([*given, *of_models])
    yield from (f"warning: {one_line(caution, LONG)}" for caution in said if caution)
    if card:
        for name, source in {source.source: source for source in job.sources}.items():
            longest = max(plan.longest.get(name, 0) for _, plan in plans)
            yield _memory(source, job.engines.describe(source).context, longest, card)
    if throughput:
        yield _hours([plan for _, plan in plans], job, throughput)
        if job.price:
            yield _money([plan for _, plan in plans], job, throughput)
    elif job.price:
        yield NO_RATE


def _table(label: str, plan: Plan) -> Iterator[str]:
    if label:
        yield f"\n{label}"
    if plan.refused:
        more = f" (and {len(plan.refused) - 1} more)" if len(plan.refused) > 1 else ""
        yield f"`out` is bound to another run ({plan.refused[0]}{more}): this needs another `out`"
    if plan.done:
        yield f"{plan.done:,} cases are judged already"
    yield f"{'stage':10}{'judge':32}" + "".join(f"{head:>18}" for head in HEAD)
    for (stage, name), tokens in plan.asked.items():
        if tokens.asks:
            yield f"{stage:10}{name:32}" + _numbers(Plan(asked={(stage, name): tokens}))
    yield f"{'total':42}" + _numbers(plan)


def _numbers(*plans: Plan) -> str:
    totals = [plan.total for plan in plans]
    sums = [[t.asks, t.prompt, t.floor, t.generated] for t in totals]
    return "".join(f"{sum(column):>18,}" for column in zip(*sums, strict=True))


def _by_layout(job: Job, planned: Plan, engines: Engines | None) -> Iterator[str]:
    if job.config.prompts == NANO:
        return  # its prompts have one layout
    others = [
        make_job(job.config.model_copy(update={"layout": layout}), engines)
        for layout in LAYOUTS
        if layout != job.config.layout
    ]
    found = sorted(prefilled_by_layout(job, planned, others).items())
    floors = "; ".join(f"{layout} {floor:,} of {prompt:,}" for layout, (prompt, floor) in found)
    yield (
        f"By layout, a fresh run of (at most {COMPARED_CASES}) cases would prefill at least, of "
        f"its prompt tokens:\n{floors} (this configuration: {job.config.layout})"
    )


def _memory(source: ModelSource, context: int | None, longest: int, card: Card) -> str:
    """Whether a model fits on a card, with the longest prompt that is left to ask."""
    model, engine = footprint(source), source.engine
    tokens = int(engine.get("max_model_len") or longest or context or 0)
    if model is None or tokens <= 0:
        return f"memory     {source.source}: its config.json is not here, or not known"
    room = room_on(card, model, tokens, engine, source.gpus_per_engine)
    left = _gib(room.left) if room.left > 0 else f"nothing ({_gib(-room.left)} too few)"
    where = f"{room.gpus} × {card.name}, each" if room.gpus > 1 else card.name
    said = (
        f"memory     {source.source} on {where} with {_gib(card.memory)}: weights "
        f"{_gib(room.weights)}, computing about {_gib(room.computing)}, left for the cache {left}\n"
        f"           the longest prompt and its reply are {tokens:,} tokens, {_gib(room.request)}: "
    )
    if room.at_once:
        return f"{said}{room.at_once:,} of them fit at once"
    gpus = gpus_needed(card, model, tokens, engine)
    several = f"{gpus} GPUs (`engine: {{tensor_parallel_size: {gpus}}}`), " if gpus else ""
    return f"{said}this does not fit. Take {several}a smaller or quantised model, or a larger card"


def _gib(size: float) -> str:
    return f"{size / GIB:.2f} GiB" if abs(size) < GIB else f"{size / GIB:.1f} GiB"


def _hours(plans: Sequence[Plan], job: Job, throughput: float) -> str:
    gpus = max(1, job.sources[-1].gpus_per_engine)
    least, most = (seconds / 3600 * gpus for seconds in _seconds(plans, throughput))
    return (
        f"At {throughput:,.0f} tokens a second: {least:,.3g} GPU-hours with a perfect prefix "
        f"cache, {most:,.3g} without any (loading the model and further requests apart)"
    )


def _money(plans: Sequence[Plan], job: Job, throughput: float) -> str:
    given = job.config.workers.gpus
    gpus = job.sources[-1].gpus_per_engine if given == "auto" else given
    least, most = (job.price.of(s, s * gpus) for s in _seconds(plans, throughput))
    return (
        f"An estimate of the cost, at {job.price}: from {job.price.money(least)} with a perfect "
        f"prefix cache to {job.price.money(most)} without any"
    )


def _seconds(plans: Sequence[Plan], throughput: float) -> tuple[float, float]:
    """Of one worker: where all that can be is served from the prefix cache, and nothing of it."""
    generated, floor, prompt = (
        sum(getattr(plan.total, name) for plan in plans)
        for name in ("generated", "floor", "prompt")
    )
    return (generated + floor) / throughput, (generated + prompt) / throughput


def throughput_of(out: str) -> float:
    """The tokens that a worker of an earlier run computed a second, loading its model included."""
    run = Output(out).run()
    if run is None:
        raise UserError(f"--throughput-of {out}: no run lies there: name the output folder of one")
    seconds = run.get("cost", {}).get("worker_seconds", 0)
    tokens = sum(run.get("total", {}).get(name, 0) for name in ("prefilled", "generated"))
    if not seconds or not tokens:
        raise UserError(
            f"--throughput-of {out}: this run has asked no model yet, so it has no rate: name "
            "another, or give --throughput"
        )
    return float(tokens / seconds)
