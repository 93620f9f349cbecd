"""What a run ends with on a terminal: what matters most, in at most thirty lines.

scored     1,600 texts of 100 documents on 4 axes, by synthetic with Qwen/Qwen3-8B
coverage   99.8% scored: reaches the floor of 95%
unscored   empty text × 3: fill in the text, or leave the row out
           3 of 4,800 scores in all; in scores/ each has its text and reason
asked      1,133 times; 88.0% of 1,232,692 prompt tokens came from the prefix cache

Agreement with people within documents (sample level): the highest of each axis
axis     scorer     cannot be told from it  Spearman [95%]
fluency  synthetic  words                   0.441 [0.299, 0.566]
0 is chance, 1 is people's own order. All intervals lie above 0.
Each interval is widened for the choice among 3 scorers.

Parts with many rows give way, the longest first, and say how many rows they leave out: `--full`
and the report have them all. Names are never cut: where a table is wider than the terminal, lists
of names become counts.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from evaljudge.agreement import Agreement
from evaljudge.analyses.agreement import COEFFICIENTS, LEVELS, nothing
from evaljudge.analyses.systems import close, leader
from evaljudge.analysis.findings import Findings, Selected
from evaljudge.reasons import grouped
from evaljudge.records import ANY_AXIS, HUMAN
from evaljudge.report.first import best_by, best_of, stand_in
from evaljudge.report.headlines import leading
from evaljudge.report.lines import asked_line, certified_together, floor_line
from evaljudge.report.screen import fits, whole
from evaljudge.report.terminal import agreement_text
from evaljudge.sections import Cell, Named, Table
from evaljudge.sections.figures import NONE, count, estimate, only
from evaljudge.text import LONG, counted, one_line

MOST_LINES = 30
MOST_REASONS = 3
MOST_WARNINGS = 6
SYSTEMS = "Systems: the best of each axis, by means on the scorer's own scale"
ONE_SYSTEM = "systems    there is only one, so there is none to compare it with"
_LEVELS = {
    "sample": "within documents (sample level)",
    "system": "on systems' means (system level)",
    "summary": "on all texts pooled (summary level)",
}
_OUTER_LINES = 8
"""What was scored; coverage; an empty line; where the report and the scores lie; `show`; `--full`;
coverage again, if it is under the floor."""


@dataclass(frozen=True)
class Summary:
    """What goes to the standard output, before and after the warnings, which do not."""

    text: str
    warnings: Sequence[str]
    places: str


@dataclass
class _Part:
    """Some lines; `end` says what follows where so many rows are left out."""

    head: Sequence[str]
    rows: Sequence[str]
    end: Callable[[int], Sequence[str]]
    kept: int

    @property
    def lines(self) -> list[str]:
        return [*self.head, *self.rows[: self.kept], *self.end(len(self.rows) - self.kept)]


def summary(findings: Findings, out: str, doc_id: str | None = None) -> Summary:
    """`doc_id`: a document of the run, for an example of `evaljudge show`."""
    parts = [_unscored(findings), _asked(findings)]
    parts += [*_agreement(findings, out), *_systems(findings)]
    warnings, selected = _warnings(findings), _selected(findings, out)
    all_parts = [*parts, warnings, selected]
    while sum(len(part.lines) for part in all_parts) > MOST_LINES - _OUTER_LINES:
        max(all_parts, key=lambda part: part.kept).kept -= 1
    more = "more       with --full, all tables are printed here"
    return Summary(
        _ended([*_scored(findings), *(line for part in parts for line in part.lines), ""]),
        warnings.lines,
        _ended([*selected.lines, *_places(out, doc_id), more]),
    )


def full_summary(findings: Findings, out: str, doc_id: str | None = None) -> Summary:
    """All that a terminal can show of a run."""
    unscored = _unscored(findings)
    unscored.kept = len(unscored.rows)
    before = [*_scored(findings), *unscored.lines, *_asked(findings).lines]
    return Summary(
        f"{_ended(before)}\n{agreement_text(findings)}",
        _warnings(findings).rows,
        _ended([*_selected(findings, out).lines, *_places(out, doc_id)]),
    )


def unscored_text(findings: Findings) -> str:
    """The most frequent reasons over all scorers, and what can be done about each."""
    return _ended(_unscored(findings).lines)


def _scored(findings: Findings) -> Iterator[str]:
    """What was scored, by whom, and how much of it."""
    axes = {row.axis for row in findings.coverage} - {ANY_AXIS}
    texts = counted(findings.candidates, "text", "texts")
    documents = counted(findings.cases, "document", "documents")
    on = f" on {counted(len(axes), 'axis', 'axes')}" if axes else ""
    yield f"scored     {texts} of {documents}{on}, by {one_line(_scorers(findings))}"
    yield f"coverage   {floor_line(findings)}"


def _scorers(findings: Findings) -> str:
    """Judges with their model, then metrics and mixes."""
    judges = dict.fromkeys(str(row["judge"]) for row in findings.tokens)
    scorers = dict.fromkeys(row.scorer for row in findings.coverage)
    others = [name for name in scorers if re.split("[.#]", name)[0] not in judges]
    if findings.model.endswith(")"):  # several, each with its judges
        asked = re.sub(r"@\S+", "", findings.model)
    else:
        model = findings.model.rpartition("@")[0] or findings.model
        asked = f"{', '.join(judges)} with {model}" if judges else ""
    return "; ".join(filter(None, [asked, ", ".join(others)])) or NONE


def _places(out: str, doc_id: str | None) -> Iterator[str]:
    yield f"report     {out}/report/index.html"
    yield f"scores     {out}/scores/"
    if doc_id is not None:
        run, doc = map(shlex.quote, (out, doc_id))
        yield f"why        {one_line(f'evaljudge show {run} --doc {doc}', LONG)}"


def _ended(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _part(head: Sequence[str], rows: Sequence[str], what: str) -> _Part:
    """`what`: the rows that are left out, in words."""
    return _Part(head, rows, lambda n: [f"and {count(n)} more {what}"] if n else [], len(rows))


def _unscored(findings: Findings) -> _Part:
    reasons = Counter[str]()
    for row in findings.coverage:
        reasons.update(row.reasons)
    groups = grouped(reasons)
    expected = sum(row.expected for row in findings.coverage)
    whole = f"{count(reasons.total())} of {count(expected)} scores in all"

    def end(hidden: int) -> list[str]:
        more = f"and {counted(hidden, 'more reason', 'more reasons')}; " if hidden else ""
        return [f"           {more}{whole}; in scores/ each has its text and reason"]

    rows = [f"unscored   {one_line(str(group), LONG)}" for group in groups]
    return _Part([], rows, end if rows else lambda _: [], min(len(rows), MOST_REASONS))


def _asked(findings: Findings) -> _Part:
    return _part([f"asked      {asked_line(findings)}"], [], "")


def _agreement(findings: Findings, out: str) -> Iterator[_Part]:
    """The scorer with the highest agreement on each axis, at the first level that there is."""
    known = [row for row in findings.agreement if row.value is not None]
    level = next((name for name in LEVELS if any(row.level == name for row in known)), None)
    if level is None:
        yield _part(["", *_no_agreement(findings, out)], [], "")
        return
    best = list(_best(findings, [row for row in known if row.level == level]))
    title = f"Agreement with people {_LEVELS[level]}: the highest of each axis"
    names = " / ".join(dict.fromkeys(COEFFICIENTS[row.coefficient] for row, _ in best))
    rows: list[list[Cell]] = [
        [row.axis, row.scorer, [*map(Named, others)] or NONE, estimate(row)] for row, others in best
    ]
    heads = ["axis", "scorer", "cannot be told from it", f"{names} [95%]"]
    yield _table(title, Table("", heads, rows, "lllr"), "axes")
    chosen = [row.chosen for row in findings["significance"] if row.level == level]
    said = [*_in_words([row for row, _ in best], max(chosen, default=1)), stand_in(findings)]
    yield _part([*filter(None, said)], [], "")


def _in_words(rows: Sequence[Agreement], chosen: int) -> Iterator[str]:
    """What the intervals of these rows say, each the best of so many scorers at most."""
    yield f"0 is chance, 1 is people's own order. {_of_intervals(rows)}"
    if chosen > 1:
        yield f"Each interval is widened for the choice among {chosen} scorers."


def _of_intervals(rows: Sequence[Agreement]) -> str:
    shown = [row for row in rows if row.low is not None and not only(row.level, row.n)]
    if not shown:
        return "There is too little for intervals."
    unsure = [row.axis for row in shown if row.low is not None and row.low <= 0]
    if not unsure:
        return "All intervals lie above 0."
    where = "No agreement is shown where the interval does not lie above 0"
    return f"{where}: {one_line(', '.join(unsure))}."


def _no_agreement(findings: Findings, out: str) -> Iterator[str]:
    yield nothing(findings)
    if not findings.rated:
        yield f"`evaljudge label {out} --to sheet.csv` draws texts for people to rate."


def _best(
    findings: Findings, rows: Sequence[Agreement]
) -> Iterator[tuple[Agreement, Sequence[str]]]:
    """As tested, with those that cannot be told from it, and its interval for the choice among all;
    untested, the highest of Spearman's."""
    by_scale = {(row.scorer, row.axis, row.coefficient): row for row in rows}
    level = rows[0].level
    standings = {row.axis: row for row in findings["significance"] if row.level == level}
    for axis in dict.fromkeys(row.axis for row in rows):
        if standing := standings.get(axis):
            best = by_scale[standing.best, axis, standing.coefficient]
            yield replace(best, low=standing.low, high=standing.high), standing.indistinguishable
        elif of_axis := [r for r in rows if (r.axis, r.coefficient) == (axis, "spearman")]:
            yield max(of_axis, key=lambda row: row.value or 0.0), ()


def _systems(findings: Findings) -> Iterator[_Part]:
    """Of each axis, the first system by the headline scorer, and by people."""
    compared = [row for row in findings["systems"] if len(row.systems) > 1]
    if not compared:
        yield _part([ONE_SYSTEM] if findings["systems"] else [], [], "")
        return
    by_people = {row.axis: "; ".join(best_of(row)) for row in compared if row.scorer == HUMAN}
    rows: list[list[Cell]] = [
        [row.axis, row.scorer, leader(row), close(row) or NONE, by_people.get(row.axis, NONE)]
        for row in leading(findings, compared)
    ]
    heads = ["axis", "scorer", "best (mean)", "cannot be told from it", best_by(findings)]
    shown = len(heads) if any(row[-1] != NONE for row in rows) else len(heads) - 1
    table = Table("", heads[:shown], [row[:shown] for row in rows], "l" * shown)
    yield _table(SYSTEMS, table, "rows")


def _table(title: str, table: Table, what: str) -> _Part:
    head, *rows = whole(table if fits(table) else _with_counts(table)).splitlines()
    return _part(["", title, head], rows, what)


def _with_counts(table: Table) -> Table:
    """Lists of several names become their number."""
    rows = [
        [cell if isinstance(cell, str) or len(cell) == 1 else f"{count(len(cell))} others"
         for cell in row]
        for row in table.rows
    ]  # fmt: skip
    return replace(table, rows=rows)


def _selected(findings: Findings, out: str) -> _Part:
    rows = [
        f"selected   {count(one.selected)} of {count(one.considered)}: "
        + (_why_none(findings, one) or f"{out}/selected/{one.name}.jsonl")
        for one in findings.selections
    ]
    if together := certified_together(findings.selections):
        rows.append(f"           {together}")
    return _part([], rows, f"selections: {out}/selected/")


def _why_none(findings: Findings, one: Selected) -> str:
    """The warning that says why nothing is selected, which may have no room among the warnings."""
    place = f"select.{one.name}: "
    found = [warning for warning in findings.warnings if warning.startswith(place)]
    return one_line(found[0].removeprefix("select."), LONG) if found and not one.selected else ""


def _warnings(findings: Findings) -> _Part:
    """They come in the order of how serious they are (see `findings_of` in runs/reporting.py)."""
    rows = [f"warning: {one_line(warning, LONG)}" for warning in findings.warnings]

    def end(hidden: int) -> list[str]:
        return [f"warning: the report lists {count(hidden)} more"] if hidden else []

    return _Part([], rows, end, min(len(rows), MOST_WARNINGS))
