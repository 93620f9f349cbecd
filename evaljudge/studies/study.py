"""A study: a grid of judges over one corpus, compared in one table.

Every setting of a model, a writer and a pack of prompts is a run of its own, in a folder under the
study's; what two judges of a run have in common is asked once, and references lie in one folder for
all runs. Every list of a judge's settings is a dimension of the grid:

    - {judge: synthetic, predict: [probabilities, yes-no], levels: [3, 5]}
    -> synthetic-probabilities-3  synthetic-probabilities-5  synthetic-yes-no-3  …
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, NamedTuple

from evaljudge.config import Config, ModelConfig, load_config
from evaljudge.engines import Engines
from evaljudge.errors import UserError
from evaljudge.identity import asking
from evaljudge.judges import make_judges
from evaljudge.prompts import load_task
from evaljudge.report.lines import asked_line, floor_line
from evaljudge.report.study import (
    costs_section,
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
from evaljudge.sections.figures import InLines
from evaljudge.settings import AnyPath
from evaljudge.storage import Output, Place
from evaljudge.studies.columns import Columns

Given = AnyPath | Mapping[str, Any]
Entry = Any  # the name of a judge, or its settings
JudgesSpec = dict[str, dict[str, Any]]  # settings by name, as `judges` has them in a configuration
METHODS, READINGS = "Methods", "Other readings of the same verdicts"
ABOUT = "How alike a method and the ratings order a document's texts: compare averages first."
ABOUT_READINGS = (
    "Other aggregations of what the methods above had asked: nothing was asked for them. "
    "The best and the second are those of this table."
)
PACKS = "Each pack of prompts alone"
ABOUT_PACKS = "The methods above with one pack of prompts each, without further questions."
POOLED = "All documents together"
COSTS = "Scores and cost"
ABOUT_TWO_TEXTS = (
    "At least half of the documents have two rated texts or fewer. The correlation of two texts is "
    f"1 or -1, so compare the methods by the summary level under “{POOLED}”."
)
OWN = "own"  # how the task's own prompts are named beside others


class Setting(NamedTuple):
    """What a run is made with. No writer: the model writes. No prompts: those of the task."""

    model: ModelConfig | None
    writer: ModelConfig | None
    prompts: str | None


@dataclass(frozen=True)
class StudyRun:
    label: str
    config: Config
    methods: str = ""  # what tells its methods from those of other models and writers
    pack: str = ""  # its pack of prompts, where there are several


@dataclass(frozen=True, repr=False)
class Study(InLines):
    out: str
    outcomes: Sequence[Outcome]
    sections: Sequence[Section]
    lead: Sequence[str]

    def __repr__(self) -> str:
        return self.text.rstrip()

    @property
    def text(self) -> str:
        return study_text(self.sections, self.lead)

    @property
    def exit_code(self) -> int:
        return max((outcome.exit_code for outcome in self.outcomes), default=DONE)


def run_study(
    given: Given,
    changes: Sequence[str] = (),
    *,
    watching: Callable[[], Watcher | None] = lambda: None,
    progress: bool = True,
    engines: Engines | None = None,
    **settings: Any,
) -> Study:
    """All its runs, resumed where they were begun, and then the tables. The rest is as of `run`."""
    config = load_config(given, changes, **settings)
    runs = study_runs(config)
    # a mistake in the last is reported before the first begins
    judges = [make_job(study_run.config, engines).judges for study_run in runs]
    outcomes = [
        run(study_run.config, watcher=watching(), progress=progress, engines=engines)
        for study_run in runs
    ]
    columns = Columns()
    for study_run, mine, outcome in zip(runs, judges, outcomes, strict=True):
        output = Output(study_run.config.out, study_run.config.briefs)
        columns.add(output, mine, list(study_run.config.metrics), study_run.methods, study_run.pack)
        columns.add_costs(outcome.findings["costs"], study_run.methods)
    sections, results = list[Section](), dict[str, Any]()
    for title, (names, about) in {
        METHODS: (columns.methods, (ABOUT, *[ABOUT_TWO_TEXTS] * columns.has_mostly_two_texts)),
        READINGS: (columns.readings, (ABOUT_READINGS,)),
        PACKS: (columns.of_packs, (ABOUT_PACKS,)),
    }.items():
        if compared := columns.compared(names, config.agreement):
            results[title] = asdict(compared)
            sections.append(methods_section(title, about, compared, columns.coarse(names)))
    if pooled := columns.pooled(config.agreement):
        results[POOLED] = list(map(asdict, pooled))
        sections.append(pooled_section(POOLED, pooled))
    lead, place = list(_lead(runs, outcomes, bool(sections))), Place(config.out)
    if costs := columns.costs(config.agreement):
        results[COSTS] = list(map(asdict, costs))
        sections.append(costs_section(COSTS, costs))
    place.write_json("study.json", results)
    place.write("study.md", study_markdown(sections, lead))
    place.write("study.html", study_page(sections, lead))
    return Study(config.out, outcomes, sections, lead)


def plan_study(
    given: Given, changes: Sequence[str] = (), *, engines: Engines | None = None
) -> list[tuple[str, Plan]]:
    """The plan of each of its runs, with the run's label."""
    with known_briefs() as written:
        return [
            (study_run.label, make_plan(make_job(study_run.config, engines), written))
            for study_run in study_runs(load_config(given, changes))
        ]


def study_runs(config: Config) -> list[StudyRun]:
    """One for each setting; metrics, which know no model, are the first one's."""
    study = config.study
    if study is None:
        raise UserError("no `study` in this configuration: `evaljudge run` runs it")
    settings = [
        Setting(model, writer if writer != model else None, prompts)
        for prompts in study.prompts or [config.prompts]
        for model, writer in study.pairs_of(config.model, config.writer)
    ]
    models = [
        _model_slug(way.model) + (f"--by--{_model_slug(way.writer)}" if way.writer else "")
        for way in settings
    ]
    packs = [_slug(way.prompts, OWN) if study.prompts else "" for way in settings]
    folders = [
        f"{model}--with--{pack}" if pack else model
        for model, pack in zip(models, packs, strict=True)
    ]
    for folder in folders:
        if folders.count(folder) > 1:
            kinds = "models, writers or packs of prompts"
            raise UserError(f"study: two {kinds} would lie in one folder, {folder!r}")
    judges = list(_judges_of(config, expand(study.judges), settings))
    used = {setting.prompts for setting, mine in zip(settings, judges, strict=True) if mine}
    for prompts in (way.prompts for way in settings if way.prompts not in used):
        raise UserError(
            f"study.prompts: {prompts or 'null'}: this pack changes no prompt of any judge: leave "
            "it out"
        )
    out, runs = config.out.rstrip("/"), list[StudyRun]()
    for at, (setting, mine) in enumerate(zip(settings, judges, strict=True)):
        methods = models[at] if len({*models}) > 1 else ""
        groups = [{name: mine[name]} for name in mine] if study.apart else [mine] * bool(mine)
        for group in groups:
            folder = "--".join([folders[at], *(group if study.apart else ())])
            changed: dict[str, Any] = {"study": None, "briefs": config.briefs or f"{out}/briefs"}
            changed |= {"out": f"{out}/{folder}", "judges": group} | setting._asdict()
            changed |= {"metrics": {}} if runs else {}
            label = folder if len(folders) > 1 or study.apart else ""
            runs.append(StudyRun(label, config.model_copy(update=changed), methods, packs[at]))
    return runs


def _judges_of(
    config: Config, judges: JudgesSpec, settings: Sequence[Setting]
) -> Iterator[JudgesSpec]:
    """The judges of each run. A judge without references is not run again for another writer, nor a
    judge whose prompts do not change for another pack."""
    bare = {n: {k: v for k, v in keys.items() if k != "references"} for n, keys in judges.items()}
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


def _model_slug(model: ModelConfig | None) -> str:
    source, adapter = (model.source, model.adapter) if model else (None, None)
    if model and model.name:
        return _slug(model.name, "model")
    thinks = "--thinking" if model and model.thinking else ""
    adapted = f"--plus--{_slug(adapter, 'adapter')}" if adapter else ""
    return _slug(source, "model") + adapted + thinks


def _slug(path: str | None, otherwise: str) -> str:
    last = str(path or otherwise).rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", last).strip(".-") or otherwise


def _lead(runs: Sequence[StudyRun], outcomes: Sequence[Outcome], is_rated: bool) -> Iterator[str]:
    for study_run, outcome in zip(runs, outcomes, strict=True):
        label = f"{study_run.label}: " if study_run.label else ""
        findings = outcome.findings
        yield f"{label}coverage {floor_line(findings)}; asked {asked_line(findings)}"
    # tables of single methods are many, and stand in the runs' reports
    names = [name for study_run in runs for name in study_run.config.judges]
    warnings = dict.fromkeys(w for outcome in outcomes for w in outcome.findings.warnings)
    single = [warning for warning in warnings if warning.partition(":")[0] in names]
    yield from (f"Warning: {warning}" for warning in warnings if warning not in single)
    if single:
        methods = ", ".join(dict.fromkeys(w.partition(":")[0] for w in single))
        yield f"Warning: the runs' reports have {len(single)} about single methods: {methods}"
    if not is_rated:
        yield "No candidate has human ratings, so there is nothing to compare the methods with."


def expand(entries: Sequence[Entry]) -> JudgesSpec:
    judges: JudgesSpec = {}
    for number, entry in enumerate(entries):
        where = f"study.judges.{number}"
        for name, settings in _points(entry, where):
            if name in judges:
                twice = f"two settings are named {name!r}: give one of them a `name`"
                raise UserError(f"{where}: {twice}")
            judges[name] = settings
    return judges


def _points(entry: Entry, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(entry, str | Mapping):
        raise UserError(f"{where}: must be the name of a judge, or its settings")
    options = {"judge": entry} if isinstance(entry, str) else dict(entry)
    kind = options.pop("judge", None)
    if not isinstance(kind, str):
        raise UserError(f"{where}: needs `judge`, the kind of judge")
    name = options.pop("name", kind.rpartition(":")[2])
    many = {key: values for key, values in options.items() if isinstance(values, list)}
    for key, values in many.items():
        if not values:
            raise UserError(f"{where}.{key}: a list without values")
    for point in product(*many.values()):
        settings = options | dict(zip(many, point, strict=True))
        label = "-".join([str(name), *map(_value_slug, point)])
        yield label, settings if label == kind else {"judge": kind} | settings


def _value_slug(value: Any) -> str:
    if value is None or value == {}:  # a group of settings: left out, or with its defaults
        return "off" if value is None else "on"
    return re.sub(r"[^A-Za-z0-9_]+", "-", str(value)).strip("-") or "none"
