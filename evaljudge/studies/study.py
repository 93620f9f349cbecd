"""A study: a grid of judges over one corpus, compared in one table.

    study = run_study("study.yaml")
    print(study.text)           methods x axes, the best and the second of each column

Every pair of a model and a writer is a run of its own, in a folder under the study's; what two
judges of a run have in common is asked once, and references lie in one folder for all runs. Killed,
a study goes on where it was, as its runs do.

    OUT/briefs/  OUT/Qwen3-8B/run.json …  OUT/Qwen3-8B--by--Llama-3/…  OUT/study.md .json .html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaljudge.agreement import Averaged
from evaljudge.config import Config, ModelConfig, load_config
from evaljudge.engines import Engines
from evaljudge.errors import UserError
from evaljudge.judges import make_judges
from evaljudge.prompts import load_task
from evaljudge.report import asked_line, floor_line
from evaljudge.report.study import (
    methods_section,
    study_markdown,
    study_page,
    study_text,
)
from evaljudge.runs.job import make_job
from evaljudge.runs.outcome import DONE, Outcome
from evaljudge.runs.pipeline import Watcher, run
from evaljudge.runs.planning import Plan, known_briefs, make_plan
from evaljudge.sections import Section
from evaljudge.settings import AnyPath
from evaljudge.storage import Output, Place
from evaljudge.studies.columns import Columns
from evaljudge.studies.grid import JudgesSpec, expand

Given = AnyPath | Mapping[str, Any]
Pair = tuple[ModelConfig | None, ModelConfig | None]
"""A model and a writer; None: the same."""
METHODS, READINGS = "Methods", "Other readings of the same verdicts"
ABOUT_READINGS = (
    "Other aggregations of what the methods above had asked: nothing was asked for them. "
    "The best and the second are those of this table."
)


@dataclass(frozen=True)
class StudyRun:
    """One pair of a model and a writer; `label` is empty where it is the only one."""

    label: str
    config: Config


@dataclass(frozen=True)
class Study:
    out: str
    outcomes: Sequence[Outcome]
    sections: Sequence[Section]
    lead: Sequence[str]

    @property
    def text(self) -> str:
        return study_text(self.sections, self.lead)

    @property
    def exit_code(self) -> int:
        return max((outcome.exit_code for outcome in self.outcomes), default=DONE)


def run_study(
    given: Given, changes: Sequence[str] = (), *,
    watching: Callable[[], Watcher] = Watcher, engines: Engines | None = None,
) -> Study:  # fmt: skip
    """All its runs, resumed where they were begun, and then the tables."""
    config = load_config(given, changes)
    runs = study_runs(config)
    # a mistake in the last is reported before the first begins
    judges = [make_job(one.config, engines).judges for one in runs]
    outcomes = [run(one.config, watcher=watching(), engines=engines) for one in runs]
    columns = Columns()
    for one, mine in zip(runs, judges, strict=True):
        output = Output(one.config.out, one.config.briefs)
        label = f" · {one.label}" if one.label else ""
        columns.add(output, mine, list(one.config.metrics), label)
    sections, found = _sections(columns, config)
    lead = list(_lead(runs, outcomes, bool(sections)))
    study = Study(config.out, outcomes, sections, lead)
    _write(Place(config.out), study, found)
    return study


def plan_study(
    given: Given, changes: Sequence[str] = (), *, engines: Engines | None = None
) -> list[tuple[str, Plan]]:
    """What each of its runs would ask, those after the first having its references."""
    with known_briefs() as written:
        return [
            (one.label, make_plan(make_job(one.config, engines), written))
            for one in study_runs(load_config(given, changes))
        ]


def study_runs(config: Config) -> list[StudyRun]:
    """Those of one writer follow each other; metrics, which know no model, are the first one's.

    Tests are the study's own, not each report's.
    """
    study = config.study
    if study is None:
        raise UserError("no `study` in this configuration: `evaljudge run` runs it")
    models: Sequence[ModelConfig | None] = study.models or [config.model]
    writers: Sequence[ModelConfig | None] = study.writers or [config.writer]
    pairs = [(model, writer if writer != model else None) for writer in writers for model in models]
    names, judges = _names(pairs), _judges_of_pairs(config, expand(study.judges), pairs)
    out = config.out.rstrip("/")
    shared = {
        "briefs": config.briefs or f"{out}/briefs",
        "study": None,
        "agreement": config.agreement.model_copy(update={"permutations": 0}),
    }
    return [
        StudyRun(
            name if len(pairs) > 1 else "",
            config.model_copy(
                update=shared
                | {"out": f"{out}/{name}", "judges": mine, "model": model, "writer": writer}
                | ({"metrics": {}} if name != names[0] else {})
            ),
        )
        for name, mine, (model, writer) in zip(names, judges, pairs, strict=True)
        if mine
    ]


def _judges_of_pairs(
    config: Config, judges: JudgesSpec, pairs: Sequence[Pair]
) -> Iterator[JudgesSpec]:
    """Of each pair; a judge that has nothing written stands with the first writer alone."""
    task = load_task(config.task, config.axes, config.prompts, config.layout)
    bare = {n: {k: v for k, v in own.items() if k != "references"} for n, own in judges.items()}
    written = {judge.name for judge in make_judges(bare, task) if judge.parts()}
    seen: list[ModelConfig | None] = []
    for model, _ in pairs:
        again = model in seen
        yield {name: own for name, own in judges.items() if name in written or not again}
        seen.append(model)


def _names(pairs: Sequence[Pair]) -> list[str]:
    names = [_slug(model) + (f"--by--{_slug(writer)}" if writer else "") for model, writer in pairs]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"study: two models or writers would lie in one folder, {name!r}")
    return names


def _slug(model: ModelConfig | None) -> str:
    source = str(model.source if model else "model").rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", source).strip(".-") or "model"


def _sections(columns: Columns, config: Config) -> tuple[list[Section], dict[str, Averaged]]:
    wanted = {METHODS: (columns.methods, ()), READINGS: (columns.readings, (ABOUT_READINGS,))}
    sections, found = [], {}
    for title, (names, about) in wanted.items():
        if compared := columns.compared(names, config.agreement, config.seed):
            found[title] = compared
            sections.append(methods_section(title, about, compared))
    return sections, found


def _lead(runs: Sequence[StudyRun], outcomes: Sequence[Outcome], is_rated: bool) -> Iterator[str]:
    for one, outcome in zip(runs, outcomes, strict=True):
        label = f"{one.label}: " if one.label else ""
        found = outcome.findings
        yield f"{label}coverage {floor_line(found)}; asked {asked_line(found)}"
    yield from _warnings(runs, outcomes)
    if not is_rated:
        yield "No candidate has human ratings, so there is nothing to compare the methods with."


def _warnings(runs: Sequence[StudyRun], outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Those of a run; those of single methods are many, and stand in the runs' reports."""
    names = [name for one in runs for name in one.config.judges]
    warnings = dict.fromkeys(w for outcome in outcomes for w in outcome.findings.warnings)
    single = [w for w in warnings if w.partition(":")[0] in names]
    yield from (f"Warning: {warning}" for warning in warnings if warning not in single)
    if single:
        methods = ", ".join(dict.fromkeys(w.partition(":")[0] for w in single))
        yield f"Warning: the runs' reports have {len(single)} about single methods: {methods}"


def _write(place: Place, study: Study, found: Mapping[str, Averaged]) -> None:
    place.write_json("study.json", {title: asdict(one) for title, one in found.items()})
    place.write("study.md", study_markdown(study.sections, study.lead))
    place.write("study.html", study_page(study.sections, study.lead))
