"""The probes as functions: a corpus by name in, a table with its rows out.

    mixes("cases.jsonl", metrics="importance,rouge1").rows[0]  ->  MixRow(scorer="importance", …)

The commands print what these give. In Python they are `evaljudge.probe.mixes` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from evaljudge.agreement import CORRELATIONS, LEVELS, Correlation, Level, Preference
from evaljudge.config import Config, load_config
from evaljudge.corpora import source_of
from evaljudge.corpora.advice import PROBE_OPTIONS
from evaljudge.engines import Engines
from evaljudge.errors import UserError, unknown
from evaljudge.metrics import GivenMetrics, read_metrics
from evaljudge.probes import (
    complementarity as complementarities,
)
from evaljudge.probes import (
    injection as injections,
)
from evaljudge.probes import mixes as mixing
from evaljudge.probes import position as positions
from evaljudge.probes import ranges as ranging
from evaljudge.probes import robustness as altering
from evaljudge.probes import settings as setting_grids
from evaljudge.probes import sizes as sizing
from evaljudge.probes import spurious as correlates
from evaljudge.probes.results import ProbeResult
from evaljudge.probes.source import ProbeData
from evaljudge.runs.watching import Watcher
from evaljudge.settings import AnyPath, Paths, as_path, as_paths
from evaljudge.text import listed

Name = TypeVar("Name", bound=str)
Names = str | Sequence[str]


def mixes(
    cases: Paths, *, scores: Paths = (), metrics: GivenMetrics = (), mix: Names = (),
    axis: str | None = None, level: Level = "system", coefficient: Correlation = "spearman",
    seed: int = 0, format: str = "generic", sources: AnyPath | None = None,
    column: Mapping[str, str] | None = None,
) -> ProbeResult[mixing.MixRow]:  # fmt: skip
    """Sums of all pairs of scorers, and mixes of yours, against people."""
    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis, how = data.axis(axis), (one_of("level", level, LEVELS), _known(coefficient))
    given = data.mixes(listed(mix), axis)
    rows = mixing.mixes(data.matrix, axis, *how, given, seed=seed)
    return data.warned(mixing.mixes_study(rows, data.about(f"{axis}, {level} level")), axis)


def robustness(
    cases: Paths, *, metrics: GivenMetrics, scores: Paths = (), mix: Names = (),
    axis: str | None = None, level: Level = "system", coefficient: Correlation = "spearman",
    steps: int = 11, draws: int = 5, seed: int = 0, format: str = "generic",
    sources: AnyPath | None = None, column: Mapping[str, str] | None = None,
) -> ProbeResult[altering.RobustnessRow]:  # fmt: skip
    """References replaced, more and more, by random, first or last sentences of the source."""
    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis, how = data.axis(axis), (one_of("level", level, LEVELS), _known(coefficient))
    growth = altering.Growth(axis, *how, steps, draws, seed)
    measure = data.remeasured("robustness")
    rows = altering.robustness(data.matrix, measure, growth, data.mixes(listed(mix), axis))
    study = altering.robustness_study(rows, growth, data.about(f"{axis}, {level} level"))
    return data.warned(data.noted(study, level), axis)


def complementarity(
    cases: Paths, *, scores: Paths = (), metrics: GivenMetrics = (),
    level: complementarities.RankedAt = "system", coefficient: Correlation = "spearman",
    seed: int = 0, format: str = "generic", sources: AnyPath | None = None,
    column: Mapping[str, str] | None = None,
) -> ProbeResult[complementarities.ComplementarityRow]:  # fmt: skip
    """How differently each pair of scorers ranks."""
    data = _data(cases, format, sources, column, scores, metrics, seed)
    how = one_of("level", level, complementarities.RANKED_AT), _known(coefficient)
    rows = complementarities.complementarity(data.matrix, *how)
    about = data.about(f"{level} level, {coefficient}")
    return data.warned(data.noted(complementarities.complementarity_study(rows, about), level))


def sizes(
    cases: Paths, *, scores: Paths = (), metrics: GivenMetrics = (), axis: str | None = None,
    coefficient: Correlation = "spearman", steps: int = 10, draws: int = 100,
    all_documents: bool = False, seed: int = 0, format: str = "generic",
    sources: AnyPath | None = None, column: Mapping[str, str] | None = None,
) -> ProbeResult[sizing.SizeRow]:  # fmt: skip
    """The system-level correlation against the number of documents."""
    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis, how = data.axis(axis), _known(coefficient)
    subsets = sizing.Subsets(axis, how, steps, draws, seed, all_documents)
    rows = sizing.sizes(data.matrix, subsets)
    study = sizing.sizes_study(rows, subsets, data.about(f"{axis}, {coefficient}"))
    return data.warned(data.noted(study, "system"), axis)


def ranges(
    cases: Paths, *, scores: Paths = (), metrics: GivenMetrics = (), seed: int = 0,
    format: str = "generic", sources: AnyPath | None = None,
    column: Mapping[str, str] | None = None,
) -> ProbeResult[ranging.RangeRow]:  # fmt: skip
    """The values scorers take for references, sentences of the source, whole documents, systems."""
    data = _data(cases, format, sources, column, scores, metrics, seed)
    rows = ranging.ranges(data.matrix, data.measure, seed)
    return data.warned(ranging.ranges_study(rows, data.about()))


def spurious(
    cases: Paths, *, scores: Paths = (), metrics: GivenMetrics = (), axis: str | None = None,
    seed: int = 0, format: str = "generic", sources: AnyPath | None = None,
    column: Mapping[str, str] | None = None,
) -> ProbeResult[correlates.SpuriousRow]:  # fmt: skip
    """Correlation with coverage, density, compression and length, beside the human axes."""
    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    rows = correlates.spurious(data.matrix, axis)
    about = data.about(f"{axis}, summary level")
    return data.warned(correlates.spurious_study(rows, axis, about), axis)


def settings(
    cases: Paths, *, axis: str | None = None, level: Level = "system",
    coefficient: Correlation = "spearman", model: AnyPath | None = None,
    revision: str | None = None, seed: int = 0, format: str = "generic",
    sources: AnyPath | None = None, column: Mapping[str, str] | None = None,
) -> ProbeResult[setting_grids.SettingRow]:  # fmt: skip
    """The importance metric with all 240 settings of its paper, against people.

    `model`: the pretrained tokenizer, a hub name or a path; without it 180 settings are left.
    """
    how = one_of("level", level, LEVELS), _known(coefficient)
    grid = setting_grids.grid(None if model is None else as_path(model, "model"), revision)
    source = source_of(cases, format, sources, column, PROBE_OPTIONS)
    data = ProbeData(source, (), {}, seed, setting_grids.measuring(grid, seed))
    axis = data.axis(axis)
    rows = setting_grids.setting_rows(data.matrix, grid, axis, *how)
    title, notes = f"{coefficient} with {axis} ({level} level)", setting_grids.left_out(grid)
    study = setting_grids.settings_study(rows, title, data.about(f"{axis}, {level} level"), notes)
    return data.warned(data.noted(study, level), axis)


def position(votes: AnyPath, *, resamples: int = 1000, seed: int = 0) -> ProbeResult[Preference]:
    """Whether a judge of pairs prefers a place: how often the first wins, how often order flips."""
    path = as_path(votes, "votes")
    rows = positions.position(path, resamples=resamples, seed=seed)
    return positions.position_study(rows, path)


def injection(
    config: AnyPath | Mapping[str, Any] | Config, changes: Sequence[str] = (), *,
    documents: int = 50, resamples: int = 1000, seed: int = 0, out: AnyPath = "runs/injection",
    watcher: Watcher | None = None, engines: Engines | None = None,
) -> ProbeResult[injections.InjectionRow]:  # fmt: skip
    """How far instructions planted in candidates move the scores of a configuration's judges.

    `out`: where its run goes; it is resumed from there.
    """
    given = config.as_given() if isinstance(config, Config) else config
    found = injections.injection(
        load_config(given, changes), as_path(out, "out"), documents=documents,
        resamples=resamples, seed=seed, watcher=watcher, engines=engines,
    )  # fmt: skip
    return injections.injection_study(found)


def one_of(option: str, name: str, known: tuple[Name, ...]) -> Name:
    for one in known:
        if one == name:
            return one
    raise UserError(f"--{option}: {unknown(option, name, known)}")


def _known(coefficient: str) -> Correlation:
    return one_of("coefficient", coefficient, CORRELATIONS)


def _data(
    cases: Paths, format: str, sources: AnyPath | None, column: Mapping[str, str] | None,
    scores: Paths, metrics: GivenMetrics, seed: int,
) -> ProbeData:  # fmt: skip
    source = source_of(cases, format, sources, column, PROBE_OPTIONS)
    return ProbeData(source, as_paths(scores, "scores"), read_metrics(metrics), seed)
