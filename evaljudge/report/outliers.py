"""The agreement without the ratings that a file sets aside, beside that on all of them.

| file           | rows | no rating | set aside | of ratings |
| -------------- | ---: | --------: | --------: | ---------: |
| outliers.jsonl |   10 |         1 |        12 |      6,400 |

and a table like the agreement's own for each level; a terminal shows Spearman's of all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaljudge.analysis.findings import Findings, WithoutOutliers
from evaljudge.report.levels import COEFFICIENTS, Level, levels
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, SAMPLED, SAMPLED_NOTE, count, estimate

ABOUT = (
    "All other tables are on every rating. Which ratings are wrong is a person's decision; taken "
    "after the scores were seen, it favours agreement: report these figures beside the others, "
    "never alone. No rating: rows of the file that name none of this run."
)


def without_outliers(findings: Findings) -> Section:
    tables = [
        _by_coefficient(one, level)
        for one in findings.without_outliers
        for level in _levels(findings, one)
    ]
    return _section(findings, tables)


def without_outliers_in_short(findings: Findings) -> Section:
    return _section(
        findings, [_spearman(one, _levels(findings, one)) for one in findings.without_outliers]
    )


def _section(findings: Findings, tables: Sequence[Table]) -> Section:
    found = findings.without_outliers
    title = f"Without {_ratings(sum(one.set_aside for one in found))} that a file sets aside"
    sampled = any(row.sampled for one in found for row in one.agreement)
    notes = [f"{SAMPLED} {SAMPLED_NOTE}"] if sampled else []
    told = [_files(found), *(table for table in tables if table.rows)]
    return Section(title, [ABOUT], told, notes)


def _ratings(number: int) -> str:
    return f"{count(number)} rating{'' if number == 1 else 's'}"


def _files(found: Sequence[WithoutOutliers]) -> Table:
    heads = ["file", "rows", "no rating", "set aside", "of ratings"]
    cells = [
        [one.file, *map(count, (one.rows, one.unmet, one.set_aside, one.ratings))] for one in found
    ]
    return Table("What is set aside", heads, cells, "lrrrr")


def _levels(findings: Findings, one: WithoutOutliers) -> list[Level]:
    return levels(replace(findings, agreement=one.agreement))


def _by_coefficient(one: WithoutOutliers, level: Level) -> Table:
    heads = ["scorer", "axis", *COEFFICIENTS.values(), "n", "skipped"]
    cells = [
        [
            *(row.scorer, row.axis),
            *(estimate(row.estimates.get(name)) for name in COEFFICIENTS),
            *(row.n, row.skipped),
        ]
        for row in level.rows
    ]
    title = f"Without {_ratings(one.set_aside)} that {one.file} sets aside: {level.name} level"
    return Table(title, heads, cells, "ll" + "r" * (len(heads) - 2), lead=2)


def _spearman(one: WithoutOutliers, found: Sequence[Level]) -> Table:
    told = {
        (row.scorer, row.axis, level.name): estimate(row.estimates.get("spearman"))
        for level in found
        for row in level.rows
    }
    names = [level.name for level in found]
    cells = [
        [scorer, axis, *(told.get((scorer, axis, name), NONE) for name in names)]
        for scorer, axis in dict.fromkeys((scorer, axis) for scorer, axis, _ in told)
    ]
    return Table("Spearman's", ["scorer", "axis", *names], cells, "ll" + "r" * len(names), lead=2)
