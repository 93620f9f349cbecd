"""`evaljudge agree`: scores from anywhere, and metrics, against the human ratings of a corpus.

    agreement_of(AgreeOptions(cases="cases.jsonl", metrics={"importance": {}}))

Without scores or metrics it tells how far the ratings agree among themselves.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from evaljudge.agreement.rated import Rated
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.mixes import Mix, check_axes, mix_of, mixed_scores
from evaljudge.analysis.statistics import too_few_permutations, with_statistics
from evaljudge.analysis.tables import Tables
from evaljudge.config import AgreementConfig
from evaljudge.corpora import BadRows, Corpus, CorpusSource, open_corpus, refuse_empty
from evaljudge.corpora.scores import Given, read_all_given
from evaljudge.errors import UserError, unknown
from evaljudge.identity import metric_signature
from evaljudge.metrics import Metric, MetricsSpec, Unscored, cautions_of, make_metrics
from evaljudge.metrics.measuring import measure_here
from evaljudge.records import ANY_AXIS, Case, Score
from evaljudge.report import agreement_text, coverage_text, write_report
from evaljudge.storage import Place

Reasons = dict[tuple[str, str], dict[tuple[str, str], str]]
"""Why a value that was measured is none."""
Axes = Mapping[str, Sequence[str]]
"""Of each scorer."""


@dataclass(frozen=True)
class AgreeOptions:
    """What is to be compared, and how."""

    cases: CorpusSource
    scores: Sequence[str] = ()
    metrics: MetricsSpec = field(default_factory=dict)
    mixes: Sequence[str] = ()
    axes: Sequence[str] = ()
    """The human axes that are looked at; all, where none is named."""
    how: AgreementConfig = AgreementConfig()
    seed: int = 0
    bad_rows: BadRows = "fail"


def agree_with(wanted: AgreeOptions, out: str | None, as_json: bool) -> str:
    findings = agreement_of(wanted)
    if out:
        write_report(Place(out), findings)
    if as_json:
        for warning in findings.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        return json.dumps([asdict(row) for row in findings.agreement], indent=1) + "\n"
    warnings = "".join(f"warning    {warning}\n" for warning in findings.warnings)
    return f"{coverage_text(findings)}{warnings}\n{agreement_text(findings)}"


def agreement_of(wanted: AgreeOptions) -> Findings:
    given = read_all_given(wanted.scores)
    with open_corpus(wanted.cases, wanted.bad_rows) as corpus:
        cases = list(corpus)
    name = _named(wanted.cases)
    refuse_empty(corpus, name, "agree with")
    if not corpus.rated:
        raise UserError(
            f"{name}: no candidate has human ratings to agree with{unread_hint(corpus)}"
        )
    strangers = _strangers(given, cases)
    if given and strangers == sum(map(len, given.values())):
        raise UserError(f"{', '.join(wanted.scores)}: no score belongs to a candidate of {name}")
    metrics = make_metrics(wanted.metrics)
    reasons = _measure(metrics, cases, given, wanted.seed)
    axes = _axes(given)
    mixes = _mixes(wanted.mixes, axes)
    axes |= {mixed: mix.axes(axes) for mixed, mix in mixes.items()}
    tables = Tables((scorer, axis) for scorer, on in axes.items() for axis in on)
    for case in cases:
        tables.add(case, _scores(case, given, reasons, mixes, axes))
    rated = tables.as_rated()
    skipped = [f"{corpus.skipped_rows} bad rows of the corpus were skipped"]
    warnings = [*cautions_of(metrics), *_unmet(rated), *too_few_permutations(rated, wanted.how)]
    warnings += skipped if corpus.skipped_rows else []
    warnings += [f"corpus: {note}" for note in corpus.unread]
    if corpus.absent_ratings:
        warnings.append(f"{corpus.absent_ratings} ratings were no numbers: taken as absent")
    if strangers:
        said = f"{strangers} scores belong to no candidate of the corpus and were left out"
        warnings.insert(0, said)
    return Findings(
        run="given scores",
        task="",
        corpus=name,
        model="",
        writer="",
        cases=corpus.cases,
        candidates=tables.candidates,
        rated=tables.rated,
        coverage=tables.coverage(),
        coverage_floor=0.0,
        systems=tables.systems(),
        selections=(),
        signatures=_signatures(wanted, corpus.digest)
        | {mixed: mix.signature(mixed) for mixed, mix in mixes.items()},
        tokens=(),
        warnings=warnings,
        **with_statistics(_looked_at(rated, wanted), wanted.how, wanted.seed),
    )


def _looked_at(rated: Rated, wanted: AgreeOptions) -> Rated:
    for axis in wanted.axes:
        if axis not in rated.human:
            raise UserError(f"--axis: {unknown('human axis', axis, rated.human)}")
    return rated.on(wanted.axes) if wanted.axes else rated


def _unmet(rated: Rated) -> Iterator[str]:
    """Scorers whose axis nobody rated: a slip of spelling, mostly."""
    for scorer, axis in rated.scores:
        if axis != ANY_AXIS and axis not in rated.human:
            yield f"{scorer}: no rating to compare with: {unknown('human axis', axis, rated.human)}"


def _measure(metrics: Sequence[Metric], cases: Sequence[Case], given: Given, seed: int) -> Reasons:
    """Adds the metrics' columns to those that were given."""
    reasons: Reasons = {}
    for name, of_cases in measure_here(metrics, cases, seed).items():
        key = (name, ANY_AXIS)
        if any(scorer == name for scorer, _ in given):
            raise UserError(f"scorer {name!r} is there twice, in --scores and in --metrics")
        given[key], reasons[key] = {}, {}
        for case, values in zip(cases, of_cases, strict=True):
            for candidate, value in zip(case.candidates, values, strict=True):
                at = (case.document.doc_id, candidate.system)
                if isinstance(value, Unscored):
                    reasons[key][at] = value.reason
                else:
                    given[key][at] = value
    return reasons


def _mixes(texts: Sequence[str], axes: Axes) -> dict[str, Mix]:
    """Of scores that were given and of metrics alike, by the name that each goes by."""
    mixes = [mix_of(text, axes) for text in texts]
    for mix in mixes:
        check_axes(mix, axes, f"--mix {mix.compact}")
    return {mix.compact: mix for mix in mixes}


def _axes(given: Given) -> dict[str, list[str]]:
    axes: dict[str, list[str]] = {}
    for scorer, axis in given:
        axes.setdefault(scorer, []).append(axis)
    return axes


def _scores(
    case: Case, given: Given, reasons: Reasons, mixes: Mapping[str, Mix], axes: Axes
) -> Mapping[tuple[str, str, str], Score]:
    found = []
    for candidate in case.candidates:
        at = (case.document.doc_id, candidate.system)
        for key, values in given.items():
            missing = "null" if at in values else "no score given"
            reason = reasons.get(key, {}).get(at, missing)
            found.append(Score(*at, *key, values.get(at), reason))
    found += mixed_scores(mixes, axes, found)
    return {(score.system, score.scorer, score.axis): score for score in found}


def _strangers(given: Given, cases: Sequence[Case]) -> int:
    known = {(case.document.doc_id, c.system) for case in cases for c in case.candidates}
    return sum(at not in known for values in given.values() for at in values)


def _signatures(wanted: AgreeOptions, digest: str) -> dict[str, str]:
    return {
        metric.name: metric_signature(
            metric, wanted.metrics[metric.name].get("metric", metric.name), digest, wanted.seed
        )
        for metric in make_metrics(wanted.metrics)
    }


def unread_hint(corpus: Corpus) -> str:
    """Where ratings are missing: what may have been meant by columns that nothing reads."""
    return "".join(f"; {note}" for note in corpus.unread)


def _named(source: CorpusSource) -> str:
    return source.path if isinstance(source.path, str) else ", ".join(source.path)
