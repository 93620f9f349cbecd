"""From a run's verdicts to its report: which shards, their scores, what is found, and run.json."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from importlib.util import find_spec
from itertools import chain

import evaljudge
from evaljudge.agreement.rated import unmatched
from evaljudge.analyses import Rank, RunFrame, in_order, rows_of, warned_of
from evaljudge.analysis import selection
from evaljudge.analysis.addressing import COPIES, MANY
from evaljudge.analysis.calibration import calibrate_shards
from evaljudge.analysis.cascade import FILE
from evaljudge.analysis.combining import weigh_shards
from evaljudge.analysis.costs import Accounts
from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.analysis.ratings import FurtherRatings, keep_ratings, names_of, read_ratings
from evaljudge.analysis.ratings import unmet as unmet_ratings
from evaljudge.analysis.scoring import Further, Scoring, added_up, by_scorer, fit
from evaljudge.analysis.telling import disagreements, spreads, telling_texts
from evaljudge.corpora import notes_on
from evaljudge.errors import UserError
from evaljudge.execution.protocol import Executor
from evaljudge.judges import plugins
from evaljudge.judges.checked import judge_findings
from evaljudge.judges.collector import Found, all_judges
from evaljudge.reasons import DAMAGED_FILE, grouped
from evaljudge.records import ANY_AXIS
from evaljudge.report import write_report
from evaljudge.report.page import page
from evaljudge.runs.asked import RunPrompts, judging_of, keep_judging
from evaljudge.runs.binding import utc_now
from evaljudge.runs.job import BOTH, FoundModel, Job, required
from evaljudge.runs.repair import Faulty, left_out_warning
from evaljudge.runs.shown import selected_of, shown_in
from evaljudge.runs.stages import corpus_digest, missing
from evaljudge.storage import DERIVED, Output, Shard, digests, marker, was_finished
from evaljudge.text import counted, is_not_expected, listed

LIBRARIES = "ray", "pyarrow", "numpy", "scipy"


def shards_to_report(job: Job, output: Output, damaged: Faulty) -> tuple[list[Shard], list[str]]:
    """The shards that are judged and undamaged, and notes on the others; no earlier score of a
    damaged shard remains."""
    listed, notes = output.shards(), list[str]()
    shards = listed
    if job.judges:
        judged = output.committed("judge") | {shard.number for shard in damaged}
        lost = [shard for shard in listed if shard.number not in judged]
        shards = [shard for shard in listed if shard.number in judged]
        if not shards:
            raise UserError(f"{output.uri}: nothing is judged yet, so there is nothing to report")
        if lost and was_finished(output.run() or {}):
            for folder in output.folders("judge"):
                output.prove(marker(folder, lost[0].number))  # raises Damaged
        if lost:
            are = counted(len(lost), "shard is", "shards are")
            notes.append(f"{are} not judged yet: this report covers the others")
    if damaged:
        notes.append(left_out_warning(damaged))
    for shard in damaged:
        output.forget_scores(shard)
    whole = [shard for shard in shards if shard not in damaged]
    if damaged and not whole:
        raise UserError(f"{output.uri}: {left_out_warning(damaged)}; nothing is left to report")
    return whole, notes


def further_ratings(job: Job, output: Output) -> FurtherRatings:
    axes = [axis.name for axis in job.task.axes]
    ratings = read_ratings(listed(job.config.ratings), output, axes)
    for rule in job.config.select:
        for condition in rule.all:
            if condition.confidence is not None and condition.axis in ratings.uneven:
                raise UserError(
                    f"select.{rule.name}: the texts rated for {condition.axis} were drawn with "
                    "unequal probabilities, so they certify no threshold with `confidence`: have "
                    "texts rated that `evaljudge label --by random` drew, or select by `at_least`"
                )
    return ratings


def findings_of(
    job: Job,
    output: Output,
    shards: Sequence[Shard],
    notes: Sequence[str],
    damaged: Iterable[Shard],
    executor: Executor,
) -> tuple[Findings, Accounts, list[Shard]]:
    """Gives the shards of the texts that the page shows, too. `notes`: warnings that come first; a
    page's first screen has room for one, so they are in the order of how much they put in doubt."""
    ratings = further_ratings(job, output)
    scoring = fit(_scoring(job, output, shards, ratings), output, shards)
    scored = added_up(executor.as_done(scoring, output.scored_together(shards)), scoring.nothing())
    accounts = accounts_of(job, output, [*shards, *damaged])
    accounts += scored.accounts
    if scored.uncounted:
        have = counted(scored.uncounted, "shard has lost its", "shards have lost their")
        notes = [*notes, f"{have} marker of `prepare`: its cost is not counted"]
    scored.tables.probabilities = ratings.probabilities
    further = Further(scoring, executor.as_done, output, shards, scored.tables)
    weights, of_weights = weigh_shards(job.weighted, job.scorers, job.config.seed, further)
    wanted = {scorer: job.scorers[scorer] for scorer in job.config.calibrate}
    fits, of_fits = calibrate_shards(wanted, job.config.seed, further)
    lines = {key: each.signature for key, each in weights.items()}
    lines |= {fit.key: fit.signature for fit in fits}
    for shard in damaged:
        scored.tables.leave_out(shard.cases, shard.candidates, DAMAGED_FILE)
    tables, people, grid = scored.tables, scored.tables.as_rated(), scored.tables.as_grid()
    judged = {axis.name for axis in job.task.axes if job.judges}
    of_ratings = [*ratings.warnings, *(f"corpus: {n}" for n in unmatched(judged, people.human))]
    resamples = job.config.agreement.resamples
    aims = selection.targets(job.config.select, people, grid, resamples, job.config.seed)
    run = RunFrame(
        tables=tables,
        rated=people,
        grid=grid,
        how=job.config.agreement,
        seed=job.config.seed,
        config=job.config,
        judges=job.judges,
        models=len(job.panels),
        accounts=accounts,
        combined=job.combined,
        weights=weights,
        intervals=[interval for fit in fits for interval in fit.intervals],
        thresholds=aims,
        notes=ratings.notes,
        raters=names_of(output, ratings),
        cascade=output.kept(FILE) if job.config.cascade else {},
    )
    rows = rows_of(run)
    seen = Found(people, people.code_of)
    by_judge = [judge_findings(judge, scored.collected[judge.name], seen) for judge in job.judges]
    tops = selection.tops_of(job.config.select, tables.columns)
    selected = selection.select(output, shards, job.config.select, tops, aims, executor.in_order)
    lost = unmet_ratings(ratings.texts, people.texts)
    first = [
        *job.model_cautions,
        *notes,
        *lost,
        *without_scores(tables.coverage()),
        *tables.noticed.of_addressing,
    ]
    of_judges = list(accounts.warnings)
    of_judges += [warning for f in by_judge for warning in f.warnings]
    of_judges += [c for c in job.cautions if c not in (*first, *of_ratings, *of_judges)]
    copies = list(tables.noticed.of_copies)
    are_many = tables.noticed.seen[COPIES] >= MANY * tables.candidates
    warned = {
        Rank.MISSING: first,
        Rank.RATINGS: [*of_ratings, *corpus_notes(output)],
        Rank.JUDGES: of_judges,
        Rank.COPIES: copies * are_many,
        Rank.SELECTIONS: [
            *selection.undecided(selected),
            *of_weights,
            *of_fits,
            *selection.unmet(job.config.select, people, aims),
            *selection.odd_thresholds(job.config.select, tables.columns, tops),
        ],
        Rank.COST: [*accounts.cost_warnings, *copies * (not are_many)],
    }
    kept, bound = tables.as_kept(), output.run() or {}
    headlines = [(j.scorers[0], axis) for j in job.judges for axis in j.axes_of(j.scorers[0])]
    headlines = headlines or [(name, ANY_AXIS) for name in job.scorers]
    telling = telling_texts(kept, headlines, job.config.view)
    findings = Findings(
        run=job.config.out,
        task=job.task.name,
        corpus=job.config.corpus_name,
        model=named_by_panel(job, lambda panel: panel.model),
        writer=named_by_panel(job, lambda panel: panel.writer),
        cases=tables.cases,
        candidates=tables.candidates,
        rated=tables.rated,
        rated_by=job.config.rated_by,
        title=job.config.title,
        coverage=tables.coverage(),
        coverage_floor=job.config.coverage_floor,
        selections=selected,
        signatures=job.signatures(corpus_digest(output))
        | dict(scoring.signatures)
        | by_scorer(lines),
        tokens=accounts.tokens,
        **in_order(warned, warned_of(run, rows)),
        begun=bound.get("begun", ""),
        ended=bound["ended"] if bound.get("state") == "done" else utc_now(),
        price=job.price,
        judged=all_judges(by_judge),
        combined=list(job.combined),
        spreads=spreads(grid),
        telling=telling,
        disagreements=disagreements(kept, telling),
        within_documents=job.within_documents,
        meanings=job.meanings,
        rows=rows,
    )
    shown = tables.shards_of(set(telling))
    return findings, accounts, [shard for shard in shards if shard.number in shown]


def without_scores(coverage: Iterable[Coverage]) -> Iterator[str]:
    """A line for each scorer with an axis that has no score, with the most frequent reason."""
    empty = [row for row in coverage if row.unscored and not row.scored]
    for scorer in dict.fromkeys(row.scorer for row in empty):
        rows = [row for row in empty if row.scorer == scorer]
        axes = ", ".join(row.axis for row in rows if row.axis != ANY_AXIS)
        group = grouped(rows[0].reasons)[0]
        if not is_not_expected(group.kind):
            yield f"{scorer} has no score{f' on {axes}' if axes else ''}: {group}"


def named_by_panel(job: Job, model: Callable[[Job], FoundModel | None]) -> str:
    """`nano@4f3a…`; of several models each with its judges: `nano@4f3a… (a, b), tiny@9c1e… (c)`."""
    judges = dict[str, list[str]]()
    for panel in job.panels:
        named = str(required(model(panel)).identity)
        judges.setdefault(named, []).extend(judge.name for judge in panel.judges)
    if len(judges) < 2:
        return next(iter(judges), "none")
    return ", ".join(f"{named} ({', '.join(names)})" for named, names in judges.items())


def corpus_notes(output: Output, judged: Sequence[str] = ()) -> Iterator[str]:
    listing = output.listing() or {}
    bad = listing.get("skipped_rows", 0), listing.get("absent_ratings", 0)
    yield from notes_on(*bad, listing.get("skipped", ()))
    apart = unmatched(judged, listing.get("rated", ()))
    yield from (f"corpus: {note}" for note in (*listing.get("unread", []), *apart))


def _scoring(job: Job, output: Output, shards: Sequence[Shard], ratings: FurtherRatings) -> Scoring:
    return Scoring(
        output=output,
        judges=job.judges,
        collecting=job.collecting(),
        metrics=job.metric_signatures(corpus_digest(output)),
        mixes={name: mix for name, mix in job.mixes.items() if name not in job.weighted},
        scorers={name: axes for name, axes in job.scorers.items() if name not in job.weighted},
        signatures=job.judge_signatures(),
        learnt={},
        ratings=ratings.texts,
        panels={judge.name: panel.panel for panel in job.panels for judge in panel.judges},
        candidates=sum(shard.candidates for shard in shards),
        whole={scale for scale, _ in selection.top_scales(job.config.select)},
    )


def write_files(job: Job, output: Output, shown: Sequence[Shard], findings: Findings) -> None:
    """`shown`: the shards of the texts that the page shows."""
    files = [name for plugin in plugins().values() for name in plugin.files]
    write_report(output.place, findings, "report/", files)
    wanted, rules = set(findings.telling), [rule.name for rule in findings.selections]
    ratings = further_ratings(job, output)
    keep_ratings(output.place, ratings)
    judging = judging_of(job)
    keep_judging(output.place, judging)
    prompts = RunPrompts(output, judging)
    selected = {name: set(selected_of(output, name, wanted)) for name in rules}
    given = wanted, selected, ratings.texts, prompts
    texts = [text for shard in shown for text in shown_in(output, shard, *given)]
    output.place.write("report/index.html", page(findings, texts))


def accounts_of(job: Job, output: Output, but_shards: Iterable[Shard] = ()) -> Accounts:
    but = {shard.number for shard in but_shards}
    receipts = chain(output.receipts("prepare", but), output.receipts("judge", but))
    of_draw = output.kept(FILE).get("receipts", []) if job.config.cascade else []
    return Accounts(chain(receipts, of_draw), job.price)


def write_run(
    job: Job,
    output: Output,
    accounts: Accounts,
    findings: Findings | None = None,
    *,
    is_whole: bool = True,
) -> None:
    bound, listing = output.run() or {}, output.listing() or {}
    is_whole = is_whole and not (job.judges and missing(job, output, BOTH))
    state = "damaged" if was_finished(bound) and not is_whole else "begun"
    shards, engine = output.shards(), {"engine": job.engine} if job.judges else {}
    bound["fingerprint"] = job.fingerprint(listing["corpus"])
    bound["config"], bound["meanings"] = job.config.as_given(), job.meanings
    bound |= {
        "briefs": job.config.briefs,
        "state": "done" if is_whole and findings else state,
        "ended": findings.ended if findings else utc_now(),
        "versions": {"evaljudge": evaljudge.__version__, **engine}
        | {name: metadata.version(name) for name in LIBRARIES if find_spec(name)},
        "counts": {
            "cases": sum(shard.cases for shard in shards),
            "candidates": sum(shard.candidates for shard in shards),
            "shards": len(shards),
            "prepared": len(output.committed("prepare")),
            "judged": len(output.committed("judge")),
            **{name: listing[name] for name in ("skipped_rows", "absent_ratings")},
        },
        "asked": accounts.tokens,
        "total": accounts.total,
        "mass": accounts.mass,
        "seconds": round(bound.get("seconds", 0.0) + time.monotonic() - job.since, 1),
        "cost": accounts.cost,
    }
    if findings:
        bound |= {"coverage": findings.share, "warnings": list(findings.warnings)}
        bound |= {DERIVED: digests(output, [rule.name for rule in job.config.select])}
    output.write_run(bound)
