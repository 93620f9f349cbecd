"""`evaljudge show`: one text of a run with the evidence behind its scores.

Only the shard that holds the document is read, besides the ids of the documents before it.
"""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from shlex import quote
from typing import Any

from evaljudge.analysis.ratings import kept_ratings, names_of, with_ratings
from evaljudge.analysis.run_tables import RunTables
from evaljudge.commands.given import refuse_unknown
from evaljudge.commands.options import Shown, ShowOptions
from evaljudge.errors import UserError, unknown
from evaljudge.judges import plugin
from evaljudge.judges.checked import shown_answer, shown_section
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.plugins import kinds
from evaljudge.records import ANY_AXIS, HUMAN, Brief, Candidate, Case, Critique, Score, Verdict
from evaljudge.report.screen import WIDEST_PROSE, on_screen
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, bounded, cell, correlation, tabled
from evaljudge.settings import as_path
from evaljudge.storage import Output, Shard, judge_kinds
from evaljudge.text import counted, harmless, one_line, shown

FOLDED = 6  # lines of a source, a reference or a note that are shown; `--full` shows all
MOST_TEXTS = 20  # in a list, where no document is named
MOST_SCORERS = 2  # beside each other, without `--full`
LABEL = 11  # the columns of the words that lines begin with
NOT_SCORED = "No scores of this document yet: `evaljudge run CONFIG` computes them."


@dataclass(frozen=True, repr=False)
class ShownDocument(Shown):
    wanted: ShowOptions
    case: Case
    kinds: Mapping[str, str]  # the kind of each judge that is shown
    scores: Sequence[Score]
    verdicts: Sequence[Verdict]
    briefs: Mapping[str, Sequence[Brief]]
    """The document's briefs by kind of judge; read only where a system is named."""
    critiques: Sequence[Critique]  # of the scores
    run: Mapping[str, Any]  # run.json
    raters: Mapping[str, Sequence[str]]  # their names, by axis

    @property
    def text(self) -> str:
        shown = (on_screen(b) if isinstance(b, Table) else b for b in self._blocks())
        return "\n\n".join(filter(None, shown)) + "\n"

    def _blocks(self) -> Iterator[str | Table]:
        document, most = self.case.document, self._most_lines
        yield f"{'document':{LABEL}}{one_line(document.doc_id)}"
        yield _labelled("source", document.source, most)
        if document.context:
            yield _labelled("context", document.context, most)
        yield from (
            self._of_candidate(*self._candidates) if self.wanted.system else self._of_systems()
        )

    @property
    def json(self) -> str:
        rows = []
        for candidate in self._candidates:
            raters = {
                axis: [None if n != n else n for n in each]
                for axis, each in candidate.raters.items()
            }
            rows_by_name = {"scores": self.scores, "verdicts": self.verdicts}
            rows_by_name |= {"critiques": self.critiques} if self.critiques else {}
            parts = {name: _rows_of(every, candidate) for name, every in rows_by_name.items()}
            rows.append(asdict(candidate) | {"raters": raters} | parts)
        document = asdict(self.case.document)
        shown = {"out": as_path(self.wanted.run, "run"), "document": document, "candidates": rows}
        return json.dumps(shown, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @property
    def _candidates(self) -> Sequence[Candidate]:
        wanted = self.wanted.system
        return [c for c in self.case.candidates if wanted in (None, c.system)]

    @property
    def _most_lines(self) -> int | None:
        return None if self.wanted.full else FOLDED

    @property
    def _people(self) -> str:
        return "people" if self.run["config"]["rated_by"] == "people" else "rated"

    def _by_rater(self, axis: str, each: Sequence[float]) -> str:
        names = [f"{name} " for name in self.raters.get(axis, ())] or [""] * len(each)
        shown = (NONE if n != n else f"{n:g}" for n in each)
        return ", ".join(map("".join, zip(names, shown, strict=False)))

    @property
    def _rated_axes(self) -> list[str]:
        axes = dict.fromkeys(axis for candidate in self._candidates for axis in candidate.ratings)
        return [axis for axis in axes if self.wanted.axis in (None, axis)]

    def _meanings(self, scores: Iterable[Score]) -> str:
        return _meanings(self.run, (score.scorer for score in scores))

    def _of_systems(self) -> Iterator[str | Table]:
        """Every system of the document; of the judges, or else the metrics, two first scorers."""
        names = list(dict.fromkeys(score.scorer for score in self.scores))
        first = ([name for name in names if name in self.kinds] or names)[:MOST_SCORERS]
        shown = [score for score in self.scores if self.wanted.full or score.scorer in first]
        keys = dict.fromkeys((score.scorer, score.axis) for score in shown)
        values = {(score.system, score.scorer, score.axis): score.value for score in shown}
        rows = []
        for candidate in self.case.candidates:
            cells = [values.get((candidate.system, *key)) for key in keys]
            cells += [candidate.ratings.get(axis) for axis in self._rated_axes]
            rows.append([candidate.system, *map(cell, cells)])
        columns = [*keys, *((self._people, axis) for axis in self._rated_axes)]
        only = {scorer for scorer, _ in keys}
        heads = [s if a == ANY_AXIS else a if only == {s} else f"{s} {a}" for s, a in columns]
        yield Table("", ["system", *heads], rows, "l" + "r" * len(heads))
        yield self._meanings(shown)
        if hidden := sorted({*names} - {score.scorer for score in shown}):
            yield _wrapped(f"Left out: {', '.join(hidden)}; `--full` shows all.")
        if not self.scores:
            yield NOT_SCORED
        yield _wrapped("Add `--system NAME` (Python: `system=NAME`) to see its text and evidence.")

    def _of_candidate(self, candidate: Candidate) -> Iterator[str | Table]:
        yield _labelled("system", one_line(candidate.system), None)
        yield _labelled("text", candidate.text, None)
        if not self.scores:
            yield NOT_SCORED
        scores = [score for score in self.scores if score.system == candidate.system]
        rows = [
            [score.scorer, score.axis, bounded(score), cell(score.doubt), score.reason]
            for score in scores
        ]
        rows += [
            [self._people, axis, cell(candidate.ratings[axis]), NONE, ""]
            for axis in self._rated_axes
        ]
        if rows:
            heads = ["scorer", "axis", "score", "doubt", "unscored because"]
            shown = len(heads) if any(row[-1] for row in rows) else len(heads) - 1
            kept = [row[:shown] for row in rows]
            yield Table("", heads[:shown], kept, "llrrl"[:shown])
            yield self._meanings(scores)
        if candidate.raters:
            raters = {
                axis: self._by_rater(axis, each)
                for axis, each in candidate.raters.items()
                if self.wanted.axis in (None, axis)
            }
            columns = {"axis": lambda item: item[0], "rating by each rater": lambda item: item[1]}
            yield tabled("", raters.items(), 2, columns, lead=1)
        verdicts = (verdict for verdict in self.verdicts if verdict.system == candidate.system)
        yield from (self._evidence(candidate, verdict) for verdict in verdicts)
        for why in (why for why in self.critiques if why.system == candidate.system):
            yield shown_critique(_ruled(one_line(why.about)), why)
        signatures = dict.fromkeys(score.signature for score in scores)
        yield "\n".join(_labelled("signature", line, None) for line in signatures if line)

    def _evidence(self, candidate: Candidate, verdict: Verdict) -> str:
        on = "" if verdict.axis == ANY_AXIS else f" on {one_line(verdict.axis)}"
        head = _ruled(f"{one_line(verdict.judge)}{on}")
        if verdict.status == "unscored":
            stored = _section(shown_answer(verdict), self._most_lines)
            return "\n".join(filter(None, (head, _wrapped(f"Unscored: {verdict.reason}"), stored)))
        kind = self.kinds[verdict.judge]
        show = plugin(kind).show if kind in kinds() else None
        judged = JudgedCandidate(candidate, verdict, self.briefs.get(verdict.judge, ()))
        return f"{head}\n{_section(shown_section(show, judged), self._most_lines)}"


@dataclass(frozen=True, repr=False)
class ShownTexts(Shown):
    """The first texts of a run, where none is named."""

    wanted: ShowOptions
    run: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]

    @property
    def text(self) -> str:
        wanted, run = self.wanted, quote(as_path(self.wanted.run, "run"))
        named = dict.fromkeys(name for row in self.rows for name in row)
        keys = [name for name in named if name not in ("doc_id", "system", "text", "source")]
        keys = [key for key in keys if wanted.full or key.count(".") < 2]  # a judge's first scorer
        judges = (wanted.judge, HUMAN, "unscored")
        keys = [key for key in keys if not wanted.judge or key.partition(".")[0] in judges]
        others = ("unscored", f".{wanted.axis}")
        keys = [key for key in keys if not wanted.axis or "." not in key or key.endswith(others)]
        heads = ["document", "system", *keys, "text"]
        rows = [
            [row["doc_id"], row["system"], *(_figure(row.get(key)) for key in keys), row["text"]]
            for row in self.rows[:MOST_TEXTS]
        ]
        cells = [[one_line(cell or "", longest=40) for cell in row] for row in rows]
        sides = "ll" + "".join("l" if key == "unscored" else "r" for key in keys) + "l"
        more = f"`evaljudge export {run} csv --to texts.csv` writes all texts"
        lines = [
            on_screen(Table("", heads, cells, sides, lead=2)) if rows else "No text has scores."
        ]
        scorers = chain.from_iterable((key, key.rpartition(".")[0]) for key in keys)
        lines += filter(None, [_meanings(self.run, scorers)])
        lines += [f"These are the first; {more}."] * (len(self.rows) > MOST_TEXTS)
        lines.append("With `--doc ID --system NAME`, one text is shown with the evidence.")
        return "\n\n".join(lines) + "\n"

    @property
    def json(self) -> str:
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in self.rows[:MOST_TEXTS])


def _meanings(run: Mapping[str, Any], scorers: Iterable[str]) -> str:
    known, names = run.get("meanings", {}), dict.fromkeys(scorers)
    return "\n".join(_wrapped(f"{name}: {known[name]}") for name in names if name in known)


def _figure(value: str | float | None) -> str:
    return value if isinstance(value, str) else correlation(value)


def _first_texts(wanted: ShowOptions, output: Output, run: Mapping[str, Any]) -> ShownTexts:
    rows = list[Mapping[str, Any]]()
    for table in RunTables(output, judge_kinds(run)).wide_scores(with_texts=True):
        each = table.to_pylist()
        rows += [row for row in each if wanted.system in (None, row["system"])]
        if len(rows) > MOST_TEXTS:
            break
    if wanted.system and not rows:
        raise UserError(f"--system: no text of the run with scores is by {shown(wanted.system)}")
    return ShownTexts(wanted, run, rows[: MOST_TEXTS + 1])


def show_text(wanted: ShowOptions) -> ShownDocument | ShownTexts:
    out = as_path(wanted.run, "run")
    moved = wanted.briefs and as_path(wanted.briefs, "briefs")
    run = Output(out).known_run()
    output = Output(out, moved or run.get("briefs"), run["id"])
    judges, axes = judge_kinds(run), list(run["fingerprint"]["task"]["axes"])
    refuse_unknown("--judge", "judge", [wanted.judge], judges)
    refuse_unknown("--axis", "axis", [wanted.axis], axes)
    judges = {name: kind for name, kind in judges.items() if wanted.judge in (None, name)}
    if not wanted.doc_id:
        return _first_texts(wanted, output, run)
    shard, case = place_of(output, wanted.doc_id)
    ratings = kept_ratings(output)
    case, raters = with_ratings(case, ratings.texts), names_of(output, ratings)
    systems = [candidate.system for candidate in case.candidates]
    refuse_unknown("--system", "system", [wanted.system], systems)

    def is_wanted(row: Score | Verdict) -> bool:
        is_text = row.doc_id == wanted.doc_id and wanted.system in (None, row.system)
        return is_text and (wanted.axis is None or row.axis in (wanted.axis, ANY_AXIS))

    scores, verdicts = list[Score](), list[Verdict]()
    if output.scored([shard]):
        scored = filter(is_wanted, output.scores(shard))
        scores = [s for s in scored if wanted.judge in (None, re.split("[.#]", s.scorer)[0])]
    if shard.number in output.committed("judge"):
        for judge in judges:
            verdicts += filter(is_wanted, output.verdicts(judge, shard, with_tokens=False))
    briefs = dict[str, list[Brief]]()
    for name, kind in judges.items() if wanted.system else ():
        written = output.of_judge(name).own_briefs(kind, shard)
        briefs[name] = [brief for brief in written if brief.doc_id == wanted.doc_id]
    critiques = output.critiques(scores)
    return ShownDocument(wanted, case, judges, scores, verdicts, briefs, critiques, run, raters)


def shown_critique(head: str, why: Critique) -> str:
    return "\n".join((head, _wrapped(why.text), _wrapped(why.caution)))


def place_of(output: Output, doc_id: str) -> tuple[Shard, Case]:
    ids, shards = list[str](), output.shards()
    for shard, there in zip(shards, output.ahead(output.documents, shards), strict=True):
        if doc_id in there:
            (case,) = (case for case in output.cases(shard) if case.document.doc_id == doc_id)
            return shard, case
        ids += there
    raise UserError(f"--doc: {unknown('document', doc_id, ids)}")


def _rows_of(rows: Sequence[Any], candidate: Candidate) -> list[dict[str, Any]]:
    mine = (asdict(row) for row in rows if row.system == candidate.system)
    left_out = ("system", "doc_id", "tokens")
    return [{key: value for key, value in row.items() if key not in left_out} for row in mine]


def _section(section: Section, most: int | None) -> str:
    tables = [on_screen(table) for table in section.tables]
    if len(tables) > 1:
        titles = (harmless(table.title) for table in section.tables)
        tables = [f"{title}\n{text}" for title, text in zip(titles, tables, strict=True)]
    notes = "\n".join(_folded(_wrapped(note), most) for note in section.notes)
    return "\n\n".join(filter(None, [*map(_wrapped, section.about), *tables, notes]))


def _ruled(title: str) -> str:
    return f"── {title} ".ljust(WIDEST_PROSE, "─")


def _labelled(label: str, text: str, most: int | None) -> str:
    lines = _folded(_wrapped(text, WIDEST_PROSE - LABEL), most).split("\n")
    return f"{label:{LABEL}}" + f"\n{' ' * LABEL}".join(lines)


def _wrapped(text: str, width: int = WIDEST_PROSE) -> str:
    return "\n".join(textwrap.fill(line, width) for line in harmless(text).split("\n"))


def _folded(text: str, most: int | None) -> str:
    lines = text.split("\n")
    if most is None or len(lines) <= most + 1:  # a line that says so would take as much room
        return text
    more = counted(len(lines) - most, "more line", "more lines")
    return "\n".join([*lines[:most], f"… {more}: --full shows all"])
