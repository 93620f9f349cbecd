"""What a terminal and a notebook show of a run: what matters most, or every table.

scored     1,600 texts of 100 documents on 4 axes, by synthetic with Qwen/Qwen3-8B
coverage   99.8% scored: reaches the floor of 95%

A summary has at most thirty lines: parts with many rows give way, the longest first, and say how
many rows they leave out. Names are never cut: lists of names become counts instead.
"""

import os
import re
import shlex
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from evaljudge.analyses import sections
from evaljudge.analyses.agreement import INTERVALS, levels, nothing, spearman_table
from evaljudge.analysis.findings import Findings, Selected
from evaljudge.reasons import grouped
from evaljudge.records import ANY_AXIS
from evaljudge.report.first import NOT_RANKED, answers, headlines, over_axes, why_none
from evaljudge.report.lines import asked_line, certified_together, floor_line, on_axis, reasons
from evaljudge.report.screen import COUNTED_ON, on_screen, wrapped
from evaljudge.sections import Section
from evaljudge.sections.figures import (
    NONE,
    axis_name,
    count,
    estimate,
    html_table,
    notes_on,
    percent,
)
from evaljudge.settings import is_temporary
from evaljudge.text import LONG, columns, counted, fitted, one_line

MOST_LINES = 30
MOST_REASONS, MOST_WARNINGS = 3, 6
TITLE = "Systems, and how far to trust what the scorer says of them"
MEANING = "Agreement: 0 is chance, 1 is the ratings' own order, with the same ties."
MORE = "more       with --full, all tables are printed here"
COUNTED = "+2: two more names; a wider terminal shows them."
_OUTER_LINES = 10
"""What was scored; coverage; when; an empty line; where the report and scores lie; `show` twice;
`--full`; coverage again, if it is under the floor."""


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
    rows: Sequence[str] = ()
    end: Callable[[int], str] = lambda _: ""
    most: int | None = None

    def __post_init__(self) -> None:
        self.kept = len(self.rows[: self.most])

    @property
    def lines(self) -> list[str]:
        end = self.end(len(self.rows) - self.kept)
        rows = (line for row in self.rows[: self.kept] for line in row.splitlines())
        return [*self.head, *rows, *([end] if end else [])]


def summary(findings: Findings, out: str, doc_id: str | None = None) -> Summary:
    """`doc_id`: a document of the run, for an example of `evaljudge show`."""
    parts = [_unscored(findings), _Part([f"asked      {asked_line(findings)}"])]
    parts += _answers(findings, out)
    warnings, selected = _warnings(findings), _selected(findings, out)
    all_parts = [*parts, warnings, selected]
    while sum(len(part.lines) for part in all_parts) > MOST_LINES - _OUTER_LINES:
        max(all_parts, key=lambda part: part.kept).kept -= 1
    return Summary(
        _ended([*_scored(findings), *(line for part in parts for line in part.lines), ""]),
        warnings.lines,
        _ended([*selected.lines, *_places(out, doc_id), MORE]),
    )


def full_summary(findings: Findings, out: str, doc_id: str | None = None) -> Summary:
    unscored = _unscored(findings)
    unscored.kept = len(unscored.rows)
    before = [*_scored(findings), *unscored.lines, f"asked      {asked_line(findings)}"]
    return Summary(
        f"{_ended(before)}\n{agreement_text(findings)}",
        _warnings(findings).rows,
        _ended([*_selected(findings, out).lines, *_places(out, doc_id)]),
    )


def unscored_text(findings: Findings) -> str:
    return _ended(_unscored(findings).lines)


def coverage_text(findings: Findings) -> str:
    return _ended(_coverage(findings))


def agreement_text(findings: Findings) -> str:
    shown = levels(findings)
    blocks = [nothing(findings)]
    if shown:
        rows = [row for row in findings.agreement if row.coefficient == "spearman"]
        table = on_screen(spearman_table("", shown))
        notes = map(wrapped, [*notes_on(rows, value="value"), INTERVALS])
        blocks = [f"Spearman's correlation at each level\n{table}", *notes]
    for section in sections(findings, in_short=True):
        blocks += _section(section)
    return "\n\n".join(blocks) + "\n"


def outcome_text(findings: Findings, out: str) -> str:
    """The summary, for those who call it from Python: without the line on `--full`."""
    said = summary(findings, one_line(out))
    return said.text + "\n".join([*said.warnings, *said.places.splitlines()[:-1]])


def outcome_html(findings: Findings, out: str) -> str:
    """With a row for each scorer on a judged axis; of a judge its first scorer, as in `show`."""
    others = tuple(f"{row['judge']}{sign}" for row in findings.tokens for sign in ".#")
    judged = {row.axis for row in findings.coverage} - {ANY_AXIS}
    rows = [
        (row.scorer, row.axis, estimate(row) if row.value is not None else why_none(findings, row))
        for row in findings.agreement
        if (row.level, row.coefficient) == ("sample", "spearman")
        and row.axis in (judged or {row.axis})
        and not row.scorer.startswith(others)
    ]
    table = html_table(["scorer", "axis", "Spearman within documents"], rows) if rows else ""
    if not is_temporary(out) and "://" not in out:
        table += f'<p><a href="{escape(out)}/report/index.html">The report as a page</a></p>'
    return f'<pre style="white-space: pre-wrap">{escape(outcome_text(findings, out))}</pre>{table}'


def _coverage(findings: Findings) -> Iterator[str]:
    rated = f"{count(findings.rated)} of {count(findings.candidates)} texts rated by"
    scored = f"{percent(findings.share)} scored; " if findings.coverage else ""
    yield f"coverage   {scored}{rated} {one_line(findings.rated_by)}"
    for row in findings.coverage:
        if row.unscored:
            why = "; ".join(f"{reason} × {count(times)}" for reason, times in reasons(row))
            line = f"{on_axis(row.scorer, row.axis)}: {count(row.unscored)}"
            line += f" of {count(row.expected)} ({why})"
            if row.not_expected:
                line += f", {count(row.not_expected)} as it should be"
            yield f"unscored   {one_line(line)}"
    # where people gave all texts one rating, it is the same for every scorer
    scorers = defaultdict[tuple[str, int, int], list[str]](list)
    for agreed in findings.agreement:
        if (agreed.level, agreed.coefficient) == ("sample", "spearman") and agreed.skipped:
            of_axis = agreed.axis, agreed.skipped, agreed.n + agreed.skipped
            scorers[of_axis].append(agreed.scorer)
    for (axis, skipped, documents), names in scorers.items():
        which = names[0] if len(names) == 1 else f"{count(len(names))} scorers"
        number = f"{count(skipped)} of {count(documents)} documents at sample level"
        yield f"skipped    {one_line(f'{number}, for {which} on {axis}: nothing to rank')}"


def _section(section: Section) -> Iterator[str]:
    first, *others = tables = list(map(on_screen, section.tables))
    yield f"{section.title}\n{first}"
    yield from others
    notes = [COUNTED] if any(map(COUNTED_ON.search, tables)) else []
    yield "\n".join(map(wrapped, [*section.about, *notes, *section.notes]))


def _scored(findings: Findings) -> Iterator[str]:
    """What was scored, by whom, and how much of it: judges with their model, then metrics and
    mixes."""
    judges = dict.fromkeys(str(row["judge"]) for row in findings.tokens)
    scorers = dict.fromkeys(row.scorer for row in findings.coverage)
    others = [name for name in scorers if re.split("[.#]", name)[0] not in judges]
    if findings.model.endswith(")"):  # several, each with its judges
        asked = re.sub(r"@\S+", "", findings.model)
    else:
        model = findings.model.rpartition("@")[0] or findings.model
        asked = f"{', '.join(judges)} with {model}" if judges else ""
    whom = "; ".join(filter(None, [asked, ", ".join(others)])) or NONE
    axes = {row.axis for row in findings.coverage} - {ANY_AXIS}
    texts = counted(findings.candidates, "text", "texts")
    documents = counted(findings.cases, "document", "documents")
    on = f" on {counted(len(axes), 'axis', 'axes')}" if axes else ""
    yield f"scored     {texts} of {documents}{on}, by {one_line(whom)}"
    yield f"coverage   {floor_line(findings)}"
    if findings.when:
        yield f"time       {one_line(findings.when)}"


def _places(out: str, doc_id: str | None) -> Iterator[str]:
    yield f"report     {out}/report/index.html"
    yield f"scores     {out}/scores/"
    if doc_id is not None:
        run, doc = map(shlex.quote, (out, doc_id))
        yield f"texts      {one_line(f'{program()} show {run}', LONG)}"
        yield f"why        {one_line(f'{program()} show {run} --doc {doc}', LONG)}"


def program() -> str:
    """What a command to copy begins with: the path of this process, if a shell would not find it
    by its name, as after `make demo`."""
    path, name = sys.argv[0], "evaljudge"
    is_found = os.path.basename(path) != name or shutil.which(name) == path
    return name if is_found else shlex.quote(path)


def _ended(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _and_more(what: str) -> Callable[[int], str]:
    return lambda hidden: f"and {count(hidden)} more of the {what}" if hidden else ""


def _unscored(findings: Findings) -> _Part:
    by_reason = Counter[str]()
    for row in findings.coverage:
        by_reason.update(row.reasons)
    expected = sum(row.expected for row in findings.coverage)

    def end(hidden: int) -> str:
        more = f"and {counted(hidden, 'more reason', 'more reasons')}; " if hidden else ""
        numbers = f"{count(by_reason.total())} of {count(expected)} scores in all"
        return f"           {more}{numbers}; in scores/ each has its text and reason"

    rows = [f"unscored   {one_line(str(group), LONG)}" for group in grouped(by_reason)]
    return _Part([], rows, end, MOST_REASONS) if rows else _Part([])


def _answers(findings: Findings, out: str) -> Iterator[_Part]:
    shown = answers(findings)
    wide = max([10, *(columns(one_line(answer.axis)) for answer in shown)])
    rows = list[str]()
    for answer in shown:
        lacking = [f"{d['system']}: {d['figure']}." for d in answer.dots if d["at"] is None]
        by = f"by {answer.scorer}" + (f"; {answer.people}" if answer.people else "")
        said = f"{answer.sentence} ({by})"
        rows.append(f"{fitted(one_line(axis_name(answer.axis)), wide)} {one_line(said, LONG)}")
        trust = one_line(" ".join([answer.trust, *answer.notes, *lacking]), LONG)
        rows[-1] += f"\n{'':<{wide}} {trust}"
    head = TITLE if rows else NOT_RANKED if headlines(findings) else nothing(findings)
    over = one_line(over_axes(findings), LONG)
    yield _Part(["", head, *[over] * bool(over)], rows, _and_more("axes"))
    hint = f"`{program()} label {shlex.quote(out)} --to sheet.csv` draws texts for people to rate."
    last = [] if findings.rated or is_temporary(out) else [hint]
    if any(answer.is_trusted is not None for answer in shown):
        last = [MEANING]
    yield _Part(last)


def _selected(findings: Findings, out: str) -> _Part:
    rows = [
        f"selected   {count(selected.selected)} of {count(selected.considered)}: "
        + (_why_none(findings, selected) or f"{out}/selected/{selected.name}.jsonl")
        for selected in findings.selections
    ]
    if together := certified_together(findings.selections):
        rows.append(f"           {together}")
    return _Part([], rows, _and_more(f"selections: {out}/selected/"))


def _why_none(findings: Findings, rule: Selected) -> str:
    lines = [line for line in findings.warnings if line.startswith(f"select.{rule.name}: ")]
    return one_line(lines[0].removeprefix("select."), LONG) if lines and not rule.selected else ""


def _warnings(findings: Findings) -> _Part:
    """They come in the order of how serious they are (see `findings_of` in runs/reporting.py); what
    a selection that is empty says for itself is left out."""
    said = {_why_none(findings, selected) for selected in findings.selections}
    left = (one_line(w, LONG) for w in findings.warnings if w.removeprefix("select.") not in said)
    rows = [f"warning: {warning}" for warning in left]
    return _Part(
        [], rows, lambda n: f"warning: the report lists {count(n)} more" if n else "", MOST_WARNINGS
    )
