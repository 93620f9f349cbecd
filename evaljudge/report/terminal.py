"""What a terminal shows of a run: how much was scored, and what agrees with people.

coverage   99.8% scored; 1,600 of 1,600 candidates rated by people
unscored   importance: 3 of 1,600 (empty text × 2; empty source × 1)
skipped    6 of 60 documents at sample level, for unieval on groundedness: nothing to rank

Spearman's correlation at each level
scorer     axis     sample                system                summary
synthetic  fluency  0.441 [0.312, 0.553]  0.802 [0.671, 0.913]  0.401 [0.273, 0.514]†
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from evaljudge.agreement import Agreement
from evaljudge.analyses import sections
from evaljudge.analyses.agreement import INTERVALS, Level, levels, nothing, spearman_table
from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.records import ANY_AXIS
from evaljudge.report.lines import reasons
from evaljudge.report.screen import counts_on, on_screen, wrapped
from evaljudge.sections import Section
from evaljudge.sections.figures import FEW, SAMPLED, SAMPLED_NOTE, count, percent
from evaljudge.text import one_line

COUNTED_ON = "+2: two more names; a wider terminal shows them."


def coverage_text(findings: Findings) -> str:
    return "".join(f"{line}\n" for line in _coverage(findings))


def _coverage(findings: Findings) -> Iterator[str]:
    rated = f"{count(findings.rated)} of {count(findings.candidates)} candidates rated by"
    scored = f"{percent(findings.share)} scored; " if findings.coverage else ""
    yield f"coverage   {scored}{rated} {one_line(findings.rated_by)}"
    for row in findings.coverage:
        if row.unscored:
            yield f"unscored   {one_line(_unscored(row))}"
    yield from (f"skipped    {one_line(line)}" for line in _skipped(findings.agreement))


def _skipped(agreement: Iterable[Agreement]) -> Iterator[str]:
    """Where people gave all texts one rating, it is the same for every scorer: one line."""
    scorers = defaultdict[tuple[str, int, int], list[str]](list)
    for row in agreement:
        if (row.level, row.coefficient) == ("sample", "spearman") and row.skipped:
            scorers[row.axis, row.skipped, row.n + row.skipped].append(row.scorer)
    for (axis, skipped, documents), names in scorers.items():
        of = f"{count(skipped)} of {count(documents)} documents"
        which = names[0] if len(names) == 1 else f"{count(len(names))} scorers"
        yield f"{of} at sample level, for {which} on {axis}: nothing to rank"


def _unscored(row: Coverage) -> str:
    name = row.scorer if row.axis == ANY_AXIS else f"{row.scorer} on {row.axis}"
    why = "; ".join(f"{reason} × {count(times)}" for reason, times in reasons(row))
    return f"{name}: {count(row.unscored)} of {count(row.expected)} ({why})"


def agreement_text(findings: Findings) -> str:
    """Spearman's at each level; then what else was found, in short."""
    found = levels(findings)
    blocks = [*_spearman(found), wrapped(INTERVALS)] if found else [nothing(findings)]
    for section in sections(findings, in_short=True):
        blocks += _section(section)
    return "\n\n".join(blocks) + "\n"


def _spearman(found: Sequence[Level]) -> Iterator[str]:
    yield f"Spearman's correlation at each level\n{on_screen(spearman_table('', found))}"
    if any("spearman" in level.sampled for level in found):
        yield f"{SAMPLED} {SAMPLED_NOTE}"
    if any(level.is_few for level in found):
        yield wrapped(FEW)


def _section(section: Section) -> Iterator[str]:
    first, *others = map(on_screen, section.tables)
    yield f"{section.title}\n{first}"
    yield from others
    notes = [COUNTED_ON] if any(map(counts_on, section.tables)) else []
    yield "\n".join(map(wrapped, [*section.about, *notes, *section.notes]))
