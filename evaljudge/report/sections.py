"""The report's sections beside the agreement itself, in their order; those without rows are left
out. A terminal has them in short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaljudge.analysis.findings import Findings, WithoutOutliers
from evaljudge.report.best import best
from evaljudge.report.cost import cost
from evaljudge.report.intervals import intervals
from evaljudge.report.jury import jury
from evaljudge.report.labelled import labelled
from evaljudge.report.length import length_held_fixed
from evaljudge.report.levels import level_table, levels, sampled_note, spearman_table
from evaljudge.report.people import axes, people, scorers_labels
from evaljudge.report.people_scale import people_scale
from evaljudge.report.replacing import replacing
from evaljudge.report.systems import systems
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import count

OUTLIERS = (
    "All other tables are on every rating. Which ratings are wrong is a person's decision; taken "
    "after the scores were seen, it favours agreement: report these figures beside the others, "
    "never alone. No rating: rows of the file that name none of this run."
)


def sections(findings: Findings, in_short: bool = False) -> list[Section]:
    made = [
        *(without_outliers(findings, in_short), best(findings, in_short)),
        systems(findings, in_short),
        people_scale(findings, in_short),
        intervals(findings, in_short),
        *jury(findings, in_short),
        *findings.judged.sections,
        labelled(findings, in_short),
        *(axes(findings, in_short), people(findings), scorers_labels(findings)),
        *(replacing(findings, in_short), length_held_fixed(findings, in_short), cost(findings)),
    ]
    return [section for section in made if any(table.rows for table in section.tables)]


def without_outliers(findings: Findings, in_short: bool = False) -> Section:
    """A table for each level and file; in short, Spearman's of all levels."""
    given, tables = findings.without_outliers, list[Table]()
    for one in given:
        found = levels(replace(findings, agreement=one.agreement))
        if in_short:
            tables.append(spearman_table("Spearman's", found))
        else:
            title = f"Without {_ratings(one.set_aside)} that {one.file} sets aside"
            tables += [level_table(f"{title}: {level.name} level", level) for level in found]
    title = f"Without {_ratings(sum(one.set_aside for one in given))} that a file sets aside"
    notes = sampled_note(row for one in given for row in one.agreement)
    return Section(title, [OUTLIERS], [_files(given), *(t for t in tables if t.rows)], notes)


def _ratings(number: int) -> str:
    return f"{count(number)} rating{'' if number == 1 else 's'}"


def _files(found: Sequence[WithoutOutliers]) -> Table:
    heads = ["file", "rows", "no rating", "set aside", "of ratings"]
    cells = [
        [one.file, *map(count, (one.rows, one.unmet, one.set_aside, one.ratings))] for one in found
    ]
    return Table("What is set aside", heads, cells, "lrrrr")
