"""`evaljudge agree`: scores from anywhere, and metrics, against the human ratings of a corpus.

agreement_of(AgreeOptions("cases.jsonl", metrics="importance"))
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from evaljudge.agreement import Agreement
from evaljudge.analyses import Rank, RunFrame, in_order, rows_of, warned_of
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.mixes import Mix, check_axes, mix_of, mixed_scores
from evaljudge.analysis.tables import Tables
from evaljudge.commands.given import read_rated, refuse_unknown
from evaljudge.commands.options import AgreeOptions, Shown
from evaljudge.config import AgreementConfig
from evaljudge.corpora.files import Given, Reasons
from evaljudge.errors import UserError, unknown
from evaljudge.identity import metric_signature
from evaljudge.metrics import Metric, Unscored, cautions_of, make_metrics, read_metrics
from evaljudge.metrics.protocol import measure_here
from evaljudge.records import ANY_AXIS, Case, Score
from evaljudge.report import write_report
from evaljudge.report.lines import floor_line, on_axis
from evaljudge.report.summary import agreement_text, coverage_text
from evaljudge.runs.outcome import DONE, UNDER_FLOOR
from evaljudge.sections.figures import Rows, count
from evaljudge.settings import AnyPath, as_path, read_settings
from evaljudge.storage import Place
from evaljudge.text import counted, listed, one_line

MOST_LACKING = 5  # scorers that a line names
Axes = Mapping[str, Sequence[str]]  # the axes of each scorer


@dataclass(frozen=True, repr=False)
class Agreed(Shown):
    findings: Findings

    @property
    def agreement(self) -> Rows[Agreement]:
        return self.findings.agreement

    @property
    def warnings(self) -> Sequence[str]:
        return self.findings.warnings

    @property
    def text(self) -> str:
        warnings = "".join(f"warning    {warning}\n" for warning in self.warnings)
        return f"{coverage_text(self.findings)}{warnings}\n{agreement_text(self.findings)}"

    @property
    def exit_code(self) -> int:
        return DONE if self.findings.floor_passed else UNDER_FLOOR

    @property
    def complaints(self) -> Sequence[str]:
        return [] if self.findings.floor_passed else [lacking_line(self.findings)]

    @property
    def json(self) -> str:
        return json.dumps([asdict(row) for row in self.agreement], indent=1) + "\n"

    def write(self, out: AnyPath) -> None:
        """All tables as files, to a path or URI."""
        write_report(Place(as_path(out, "out")), self.findings)


def lacking_line(findings: Findings) -> str:
    """Which scorers lack how many scores, those that lack most first."""
    lacking = sorted((row for row in findings.coverage if row.unscored), key=lambda r: -r.unscored)
    named = [
        f"{one_line(on_axis(row.scorer, row.axis))} lacks {count(row.unscored)} of "
        f"{count(row.expected)}"
        for row in lacking[:MOST_LACKING]
    ]
    more = len(lacking) - len(named)
    others = [f"{counted(more, 'other lacks', 'others lack')} some"] if more else []
    return (
        f"coverage: {floor_line(findings)}: "
        f"{'; '.join([*named, *others])} (add the missing scores, or lower --coverage-floor)"
    )


def agreed(wanted: AgreeOptions) -> Agreed:
    return Agreed(agreement_of(wanted))


def agreement_of(wanted: AgreeOptions) -> Findings:
    of_config = {name: getattr(wanted, name) for name in AgreementConfig.model_fields}
    how, spec = read_settings(AgreementConfig, of_config, ""), read_metrics(wanted.metrics)
    read, on = read_rated(wanted, "agree with"), listed(wanted.axis)
    scores, metrics = read.given, make_metrics(spec)
    reasons = read.reasons | _measure(metrics, read.cases, scores, wanted.seed)
    axes: dict[str, list[str]] = {}
    for scorer, axis in scores:
        axes.setdefault(scorer, []).append(axis)
    mixes = {text.replace(" ", ""): mix_of(text, axes) for text in listed(wanted.mix)}
    for mixed, mix in mixes.items():
        check_axes(mix, axes, f"--mix {mixed}")
    axes |= {mixed: mix.axes(axes) for mixed, mix in mixes.items()}
    keys = ((scorer, axis) for scorer, its in axes.items() for axis in its)
    tables = Tables(keys, read.corpus.candidates)
    for case in read.cases:
        tables.add(case, _scores(case, scores, reasons, mixes, axes))
    rated = tables.as_rated()
    refuse_unknown("--axis", "human axis", on, rated.human)
    warnings = [*read.left_out, *cautions_of(metrics)]
    for scorer, axis in rated.scores:
        if axis != ANY_AXIS and axis not in rated.human:  # mostly a spelling mistake
            strange = unknown("human axis", axis, rated.human)
            warnings.append(f"{scorer}: no rating to compare with: {strange}")
    warnings += [*read.notes, *tables.noticed.of_copies]
    looked_at, grid = rated, tables.as_grid()
    if on:
        looked_at, grid = rated.on(on), grid.on(on)
    seed, raters = wanted.seed, read.raters
    run = RunFrame(tables=tables, rated=looked_at, grid=grid, how=how, seed=seed, raters=raters)
    rows = rows_of(run)
    signatures = {
        metric.name: metric_signature(metric, kind, read.corpus.digest, wanted.seed)
        for metric in metrics
        for kind in [spec[metric.name].get("metric", metric.name)]
    }
    return Findings(
        run="given scores",
        task="",
        corpus=read.name,
        model="",
        writer="",
        cases=read.corpus.cases,
        candidates=tables.candidates,
        rated=tables.rated,
        coverage=[row for row in tables.coverage() if not on or row.axis in (*on, ANY_AXIS)],
        coverage_floor=wanted.coverage_floor,
        selections=(),
        signatures=signatures | {mixed: mix.signature(mixed) for mixed, mix in mixes.items()},
        tokens=(),
        **in_order({Rank.MISSING: warnings}, warned_of(run, rows)),
        rows=rows,
    )


def _measure(metrics: Sequence[Metric], cases: Sequence[Case], scores: Given, seed: int) -> Reasons:
    """Adds the metrics' columns to those that were given."""
    reasons: Reasons = {}
    for name, of_cases in measure_here(metrics, cases, seed).items():
        key = (name, ANY_AXIS)
        if any(scorer == name for scorer, _ in scores):
            raise UserError(f"scorer {name!r} is there twice, in --scores and in --metrics")
        scores[key], reasons[key] = {}, {}
        for case, values in zip(cases, of_cases, strict=True):
            for candidate, value in zip(case.candidates, values, strict=True):
                at = (case.document.doc_id, candidate.system)
                if isinstance(value, Unscored):
                    reasons[key][at] = value.reason
                else:
                    scores[key][at] = value
    return reasons


def _scores(
    case: Case, columns: Given, reasons: Reasons, mixes: Mapping[str, Mix], axes: Axes
) -> Mapping[tuple[str, str, str], Score]:
    scores = []
    for candidate in case.candidates:
        at = (case.document.doc_id, candidate.system)
        for key, values in columns.items():
            missing = "null or not finite" if at in values else "no score given"
            reason = reasons.get(key, {}).get(at, missing)
            scores.append(Score(*at, *key, values.get(at), reason))
    scores += mixed_scores(mixes, axes, scores)
    return {(score.system, score.scorer, score.axis): score for score in scores}
