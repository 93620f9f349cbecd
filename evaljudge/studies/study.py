"""A study: a grid of judges over one corpus, compared in one table.

    study = run_study("study.yaml")
    print(study.text)           methods x axes, the best and the second of each column

Every setting of a model, a writer and a pack of prompts is a run of its own, in a folder under the
study's; what two judges of a run have in common is asked once, and references lie in one folder for
all runs. Killed, a study goes on where it was, as its runs do.

    OUT/briefs/  OUT/Qwen3-8B/run.json …  OUT/Qwen3-8B--by--Llama-3/…  OUT/study.md .json .html

Packs of prompts are trials of one method: the tables have their mean and standard deviation, as the
paper of `roles` has those of five runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from evaljudge.agreement import Averaged
from evaljudge.config import Config, ModelConfig, StudyConfig, load_config
from evaljudge.engines import Engines
from evaljudge.errors import UserError
from evaljudge.identity import asking
from evaljudge.judges import make_judges
from evaljudge.prompts import load_task
from evaljudge.report import asked_line, floor_line
from evaljudge.report.study import (
    PooledValue,
    methods_section,
    pooled_section,
    study_markdown,
    study_page,
    study_text,
)
from evaljudge.runs.job import make_job
from evaljudge.runs.outcome import DONE, Outcome
from evaljudge.runs.pipeline import run
from evaljudge.runs.planning import Plan, known_briefs, make_plan
from evaljudge.runs.watching import Watcher
from evaljudge.sections import Section
from evaljudge.settings import AnyPath
from evaljudge.storage import Output, Place
from evaljudge.studies.columns import Columns
from evaljudge.studies.grid import JudgesSpec, expand

Given = AnyPath | Mapping[str, Any]
Found = dict[str, Averaged | Sequence[PooledValue]]
"""What the tables show, by their titles."""
METHODS, READINGS = "Methods", "Other readings of the same verdicts"
ABOUT_READINGS = (
    "Other aggregations of what the methods above had asked: nothing was asked for them. "
    "The best and the second are those of this table."
)
PACKS = "Each pack of prompts alone"
ABOUT_PACKS = "The methods above with one pack of prompts each, without further questions."
POOLED = "All documents together"
ABOUT_TWO_TEXTS = (
    "At least half of the documents have two rated texts or fewer. The correlation of two texts is "
    f"1 or -1, so compare the methods by the summary level under “{POOLED}”."
)
OWN = "own"
"""How the task's own prompts are named beside others."""


class Setting(NamedTuple):
    """What a run is made with. No writer: the model writes. No prompts: those of the task."""

    model: ModelConfig | None
    writer: ModelConfig | None
    prompts: str | None


class RunName(NamedTuple):
    """The model and the writer, and the pack of prompts, which is empty if the study names none."""

    models: str
    pack: str

    @property
    def folder(self) -> str:
        return f"{self.models}--with--{self.pack}" if self.pack else self.models


@dataclass(frozen=True)
class StudyRun:
    """One setting; `label` is empty where it is the only one."""

    label: str
    config: Config
    methods: str = ""
    """What tells its methods from those of other models and writers."""
    pack: str = ""
    """Which of several packs of prompts it has."""


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
        columns.add(output, mine, list(one.config.metrics), one.methods, one.pack)
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
    """One for each setting; metrics, which know no model, are the first one's.

    Tests are the study's own, not each report's.
    """
    study = config.study
    if study is None:
        raise UserError("no `study` in this configuration: `evaljudge run` runs it")
    settings = _settings(config, study)
    names = _names(settings, study)
    judges = list(_judges_of(config, expand(study.judges), settings))
    _refuse_idle_packs(settings, judges)
    out = config.out.rstrip("/")
    shared = {
        "briefs": config.briefs or f"{out}/briefs",
        "study": None,
    }
    several = len({name.models for name in names}) > 1
    return [
        StudyRun(
            name.folder if len(names) > 1 else "",
            config.model_copy(
                update=shared
                | {"out": f"{out}/{name.folder}", "judges": mine}
                | setting._asdict()
                | ({"metrics": {}} if name != names[0] else {})
            ),
            name.models if several else "",
            name.pack,
        )
        for name, mine, setting in zip(names, judges, settings, strict=True)
        if mine
    ]


def _settings(config: Config, study: StudyConfig) -> list[Setting]:
    return [
        Setting(model, writer if writer != model else None, prompts)
        for prompts in study.prompts or [config.prompts]
        for model, writer in study.pairs_of(config.model, config.writer)
    ]


def _judges_of(
    config: Config, judges: JudgesSpec, settings: Sequence[Setting]
) -> Iterator[JudgesSpec]:
    """Of each run. A judge without references is not run again for another writer, nor a judge
    whose prompts do not change for another pack."""
    bare = {n: {k: v for k, v in own.items() if k != "references"} for n, own in judges.items()}
    seen: list[tuple[Any, ...]] = []
    for model, writer, prompts in settings:
        task = load_task(config.task, config.axes, prompts, config.layout)
        mine = {}
        for judge in make_judges(bare, task):
            written = [part.inputs for part in judge.parts()]
            asks = model, writer if written else None, judge.name, asking(judge), written
            if asks not in seen:
                mine[judge.name] = judges[judge.name]
            seen.append(asks)
        yield mine


def _refuse_idle_packs(settings: Sequence[Setting], judges: Sequence[JudgesSpec]) -> None:
    used = {setting.prompts for setting, mine in zip(settings, judges, strict=True) if mine}
    for setting in settings:
        if setting.prompts not in used:
            raise UserError(
                f"study.prompts: {setting.prompts or 'null'}: this pack changes no prompt of any "
                "judge: leave it out"
            )


def _names(settings: Sequence[Setting], study: StudyConfig) -> list[RunName]:
    names = [
        RunName(
            _model_slug(model) + (f"--by--{_model_slug(writer)}" if writer else ""),
            _slug(prompts, OWN) if study.prompts else "",
        )
        for model, writer, prompts in settings
    ]
    for name in names:
        if names.count(name) > 1:
            of = "models, writers or packs of prompts"
            raise UserError(f"study: two {of} would lie in one folder, {name.folder!r}")
    return names


def _model_slug(model: ModelConfig | None) -> str:
    source, adapter = (model.source, model.adapter) if model else (None, None)
    return _slug(source, "model") + (f"--plus--{_slug(adapter, 'adapter')}" if adapter else "")


def _slug(path: str | None, otherwise: str) -> str:
    last = str(path or otherwise).rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", last).strip(".-") or otherwise


def _sections(columns: Columns, config: Config) -> tuple[list[Section], Found]:
    wanted = {
        METHODS: (columns.methods, (ABOUT_TWO_TEXTS,) * columns.has_mostly_two_texts),
        READINGS: (columns.readings, (ABOUT_READINGS,)),
        PACKS: (columns.of_packs, (ABOUT_PACKS,)),
    }
    sections, found = list[Section](), Found()
    for title, (names, about) in wanted.items():
        if compared := columns.compared(names, config.agreement):
            found[title] = compared
            sections.append(methods_section(title, about, compared))
    if pooled := columns.pooled(config.agreement):
        found[POOLED] = pooled
        sections.append(pooled_section(POOLED, pooled))
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


def _write(
    place: Place, study: Study, found: Mapping[str, Averaged | Sequence[PooledValue]]
) -> None:
    tables = {
        title: asdict(one) if isinstance(one, Averaged) else list(map(asdict, one))
        for title, one in found.items()
    }
    place.write_json("study.json", tables)
    place.write("study.md", study_markdown(study.sections, study.lead))
    place.write("study.html", study_page(study.sections, study.lead))
