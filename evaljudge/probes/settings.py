"""How the importance metric's settings agree with people (Gigant et al. 2024, figure 5): all 240.

    option     setting     settings  mean   lowest  25%    median  75%    highest
    tokenizer  bpe         60        0.472  0.244   0.299  0.488   0.662  0.735
    tokenizer  words       60        0.341  0.229   0.262  0.325   0.410  0.532
    …
    weight     tanh        36        0.563  0.268   0.411  0.660   0.693  0.732

4 tokenizers x 3 sizes of n-grams x 2 ways to find important ones x 5 weights x with and without the
length penalty. The tokenizer of a pretrained model (the paper: GPT-2) takes part if it is named;
without it, 180 settings are left. The texts are cut into tokens and their n-grams counted once for
each tokenizer and size; everything else is arithmetic on the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from evaljudge.agreement import Correlation, Level
from evaljudge.errors import UserError
from evaljudge.metrics.importance import WEIGHTS, Importance, ImportanceSettings
from evaljudge.metrics.measuring import fitted_here, parts_of
from evaljudge.metrics.protocol import Value
from evaljudge.probes.matrix import Measure, ScoreMatrix
from evaljudge.probes.matrix import correlation as correlated
from evaljudge.probes.plots import boxes
from evaljudge.probes.results import ProbeResult, marked, table
from evaljudge.records import Case
from evaljudge.sections import Table
from evaljudge.sections.figures import correlation

OPTIONS = ("tokenizer", "n", "by", "weight", "length_penalty")
TOKENIZERS = ("bpe", "words", "characters", "model")
SIZES, WAYS = (2, 3, 4), ("tf-idf", "bm25")
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_SHOWN = 10
PANELS_ABREAST = 3


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One point of the grid; `default`: the metric's own settings, which are the paper's."""

    tokenizer: str
    n: int
    by: str
    weight: str
    length_penalty: bool
    value: float | None
    default: bool


def grid(model: str | None, revision: str | None) -> list[ImportanceSettings]:
    """The settings; those of one tokenizer and size follow each other."""
    tokenizers = [name for name in TOKENIZERS if model or name != "model"]
    found = []
    for point in product(tokenizers, SIZES, WAYS, WEIGHTS, (True, False)):
        named = dict(zip(OPTIONS, point, strict=True))
        its_model = {"model": model, "revision": revision} if point[0] == "model" else {}
        found.append(ImportanceSettings.model_validate(named | its_model))
    return found


def left_out(settings: Sequence[ImportanceSettings]) -> list[str]:
    """A note on the settings that could not be tried."""
    if any(one.tokenizer == "model" for one in settings):
        return []
    lacking = len(settings) // (len(TOKENIZERS) - 1)
    return [
        f"Left out: {lacking} settings with the tokenizer of a pretrained model: no model is named "
        "(--model; the paper's is gpt2)."
    ]


def name_of(settings: ImportanceSettings) -> str:
    return " ".join(_written(settings, option) for option in OPTIONS)


def measuring(settings: Sequence[ImportanceSettings], seed: int) -> Measure:
    """Measures cases with all these settings, by their names."""
    shared: dict[tuple[str, int], list[ImportanceSettings]] = {}
    for one in settings:
        shared.setdefault((one.tokenizer, one.n), []).append(one)

    def measure(cases: Sequence[Case]) -> dict[str, list[list[Value]]]:
        found: dict[str, list[list[Value]]] = {name_of(one): [] for one in settings}
        # a model that cannot be read is reported before the others are measured
        for alike in sorted(shared.values(), key=lambda alike: alike[0].tokenizer != "model"):
            ready = _fitted(alike[0], cases, seed)
            metrics = [replace(ready, settings=one) for one in alike]
            for part in parts_of(cases):
                for overlap in ready.overlaps(part):
                    for metric in metrics:
                        found[name_of(metric.settings)].append(metric.values(overlap))
        return found

    return measure


def _fitted(settings: ImportanceSettings, cases: Sequence[Case], seed: int) -> Importance:
    metric = Importance("importance", settings)
    try:
        return fitted_here(metric, cases, seed)
    except UserError as error:
        raise UserError(str(error).replace(f"metrics.{metric.name}.model", "--model")) from None


def setting_rows(
    matrix: ScoreMatrix, settings: Sequence[ImportanceSettings], axis: str,
    level: Level, coefficient: Correlation,
) -> list[SettingRow]:  # fmt: skip
    """Every setting on the candidates that all of them score."""
    columns, human = matrix.comparable(axis), matrix.grid(matrix.rated(axis))
    rows = []
    for one in settings:
        scores = matrix.grid(columns[name_of(one)])
        value = correlated(scores, human, level, coefficient)
        own = {option: getattr(one, option) for option in OPTIONS}
        rows.append(
            SettingRow(
                **own,
                value=value if np.isfinite(value) else None,
                default=one == ImportanceSettings(),
            )
        )
    return rows


def settings_study(
    rows: Sequence[SettingRow], title: str, about: str, notes: Sequence[str]
) -> ProbeResult[SettingRow]:
    """`title`: which correlation, with what."""
    return ProbeResult(
        name="settings",
        title="Settings of the importance metric",
        about=about,
        tables=[_by_option(rows, title), _best(rows, title)],
        notes=[*notes, "Marked: the default, which is the paper's choice."],
        rows=rows,
        draw=partial(_drawn, rows, title),
    )


def _by_option(rows: Sequence[SettingRow], title: str) -> Table:
    heads = ["option", "setting", "settings", "mean", "lowest", "25%", "median", "75%", "highest"]
    cells: list[list[str]] = []
    for option in OPTIONS:
        for setting, values in _values(rows, option).items():
            mean = float(np.mean(values)) if values else None
            figures = [mean, *_quantiles(values)]
            cells.append([option, setting, f"{len(values)}", *map(correlation, figures)])
    return table(heads, cells, names=2, title=f"By option: {title}")


def _best(rows: Sequence[SettingRow], title: str) -> Table:
    """The highest, and the default wherever it stands."""
    ranked = _ranked(rows)
    shown = [
        (place, row) for place, row in enumerate(ranked, 1) if place <= MOST_SHOWN or row.default
    ]
    cells: list[list[str]] = []
    for place, row in shown:
        figure = correlation(row.value)
        settings = [_written(row, option) for option in OPTIONS]
        cells.append([f"{place}", *settings, marked(figure) if row.default else figure])
    heads = ["place", *OPTIONS, "value"]
    return table(heads, cells, names=len(heads) - 1, title=f"The highest of {len(ranked)}: {title}")


def _ranked(rows: Sequence[SettingRow]) -> list[SettingRow]:
    return sorted((row for row in rows if row.value is not None), key=lambda row: -(row.value or 0))


def _values(rows: Sequence[SettingRow], option: str) -> dict[str, list[float]]:
    """By each setting of an option, the values that are defined."""
    found: dict[str, list[float]] = {_written(row, option): [] for row in rows}
    for row in rows:
        if row.value is not None:
            found[_written(row, option)].append(row.value)
    return found


def _quantiles(values: Sequence[float]) -> list[float | None]:
    if not values:
        return [None] * len(QUANTILES)
    return [float(value) for value in np.quantile(values, QUANTILES)]


def _written(row: SettingRow | ImportanceSettings, option: str) -> str:
    value = getattr(row, option)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _drawn(rows: Sequence[SettingRow], title: str) -> str:
    panels: dict[str, dict[str, list[float]]] = {option: {} for option in OPTIONS}
    for option, drawn in panels.items():
        for setting, values in _values(rows, option).items():
            if five := [value for value in _quantiles(values) if value is not None]:
                drawn[setting] = five
    return boxes(panels, "setting (whiskers: lowest and highest)", title, PANELS_ABREAST)
