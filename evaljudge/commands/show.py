"""`evaljudge show`: one text of a run with the evidence behind its scores.

    show_text(ShowOptions("runs/first", "d17", system="A")).text

Only the shard that holds the document is read, besides the ids of the documents before it. What a
verdict rests on is shown by its judge (`Plugin.show`); of a judge that does not say how, the
evidence is shown as it is stored. Texts of the corpus and replies of the model are data: characters
that control a terminal or the reading direction are shown as harmless ones.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from evaljudge.commands.given import unknown_document
from evaljudge.commands.options import ShowOptions
from evaljudge.errors import UserError, unknown
from evaljudge.judges import plugin
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.answers import shown_answer, shown_section
from evaljudge.plugins import kinds
from evaljudge.records import ANY_AXIS, Brief, Candidate, Case, Score, Verdict
from evaljudge.report.screen import WIDEST_PROSE, on_screen
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, bracketed, correlation
from evaljudge.storage import Output, Shard, judge_kinds
from evaljudge.text import counted, harmless, one_line

FOLDED = 6
"""Lines of a source, a reference or a note that are shown; `--full` shows all."""
LABEL = 11
"""The columns of the words that lines begin with."""
PEOPLE = "people"
NOT_SCORED = "No scores of this document yet: `evaljudge run CONFIG` computes them."


@dataclass(frozen=True)
class ShownDocument:
    """What a run holds of one document."""

    wanted: ShowOptions
    case: Case
    kinds: Mapping[str, str]
    """Of each judge that is shown, its kind."""
    scores: Sequence[Score]
    verdicts: Sequence[Verdict]
    briefs: Mapping[str, Sequence[Brief]]
    """By kind of judge, those of the document; read only where a system is named."""

    @property
    def text(self) -> str:
        blocks = self._of_candidate() if self.wanted.system else self._of_systems()
        return "\n\n".join(filter(None, [*self._of_document(), *blocks])) + "\n"

    @property
    def json(self) -> str:
        document = asdict(self.case.document)
        systems = [self._as_row(candidate) for candidate in self._candidates]
        found = {"out": self.wanted.out, "document": document, "candidates": systems}
        return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @cached_property
    def _candidates(self) -> Sequence[Candidate]:
        wanted = self.wanted.system
        return [one for one in self.case.candidates if wanted in (None, one.system)]

    def _as_row(self, candidate: Candidate) -> dict[str, Any]:
        about = ("system", "doc_id")
        raters = {axis: [None if n != n else n for n in each]
                  for axis, each in candidate.raters.items()}  # fmt: skip
        return {
            **asdict(candidate),
            "raters": raters,
            "scores": [_without(asdict(one), about) for one in self._scores_of(candidate)],
            "verdicts": [_without(asdict(one), about) for one in self._verdicts_of(candidate)],
        }

    def _scores_of(self, candidate: Candidate) -> list[Score]:
        return [score for score in self.scores if score.system == candidate.system]

    def _verdicts_of(self, candidate: Candidate) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.system == candidate.system]

    # the document

    def _of_document(self) -> Iterator[str]:
        document, most = self.case.document, self._most_lines
        yield f"{'document':{LABEL}}{one_line(document.doc_id)}"
        yield _labelled("source", document.source, most)
        if document.context:
            yield _labelled("context", document.context, most)

    @property
    def _most_lines(self) -> int | None:
        return None if self.wanted.is_full else FOLDED

    # every system of it

    def _of_systems(self) -> Iterator[str]:
        shown = [score for score in self.scores if self.wanted.is_full or self._is_main(score)]
        keys = list(dict.fromkeys((score.scorer, score.axis) for score in shown))
        values = {(score.system, score.scorer, score.axis): score.value for score in shown}
        rated = self._rated_axes
        rows = [
            [
                candidate.system,
                *(correlation(values.get((candidate.system, *key))) for key in keys),
                *(correlation(candidate.ratings.get(axis)) for axis in rated),
            ]
            for candidate in self.case.candidates
        ]
        heads = [*(_scale(*key) for key in keys), *(_scale(PEOPLE, axis) for axis in rated)]
        table = Table("", ["system", *heads], rows, "l" + "r" * len(heads))
        yield on_screen(table)
        if hidden := {one.scorer for one in self.scores} - {one.scorer for one in shown}:
            names = ", ".join(sorted(hidden))
            yield _wrapped(f"Left out are {names}, which read the same evidence in another way; "
                           "`--full` shows them.")  # fmt: skip
        if not self.scores:
            yield NOT_SCORED
        yield _wrapped("Add `--system NAME` to see the text of a system and the evidence.")

    def _is_main(self, score: Score) -> bool:
        """Whether it is a judge's first scorer, a metric or a mix."""
        return not any(score.scorer.startswith((f"{name}.", f"{name}#")) for name in self.kinds)

    @property
    def _rated_axes(self) -> list[str]:
        axes = dict.fromkeys(axis for one in self._candidates for axis in one.ratings)
        return [axis for axis in axes if self.wanted.axis in (None, axis)]

    # one system

    def _of_candidate(self) -> Iterator[str]:
        (candidate,) = self._candidates
        yield _labelled("system", one_line(candidate.system), None)
        yield _labelled("text", candidate.text, None)
        yield self._scores_table(candidate)
        if candidate.raters:
            yield on_screen(self._raters_table(candidate))
        verdicts = self._verdicts_of(candidate)
        yield from (self._evidence(candidate, verdict) for verdict in verdicts)
        signatures = dict.fromkeys(one.signature for one in self._scores_of(candidate))
        yield "\n".join(_labelled("signature", line, None) for line in signatures if line)

    def _scores_table(self, candidate: Candidate) -> str:
        rows = [_score_row(score) for score in self._scores_of(candidate)]
        rows += [[PEOPLE, axis, correlation(candidate.ratings[axis]), NONE, ""]
                 for axis in self._rated_axes]  # fmt: skip
        unscored = "" if self.scores else f"{NOT_SCORED}\n\n"
        if not rows:
            return unscored.strip()
        heads = ["scorer", "axis", "score", "doubt", "unscored because"]
        shown = len(heads) if any(row[-1] for row in rows) else len(heads) - 1
        kept = [row[:shown] for row in rows]
        return unscored + on_screen(Table("", heads[:shown], kept, "llrrl"[:shown]))

    def _raters_table(self, candidate: Candidate) -> Table:
        rows = [
            [axis, ", ".join(NONE if n != n else f"{n:g}" for n in each)]
            for axis, each in candidate.raters.items()
            if self.wanted.axis in (None, axis)
        ]
        return Table("", ["axis", "rating by each rater"], rows, "ll")

    def _evidence(self, candidate: Candidate, verdict: Verdict) -> str:
        on = "" if verdict.axis == ANY_AXIS else f" on {one_line(verdict.axis)}"
        head = f"── {one_line(verdict.judge)}{on} "
        head += "─" * max(0, WIDEST_PROSE - len(head))
        if verdict.status == "unscored":
            reason, stored = f"Unscored: {verdict.reason}", shown_answer(verdict)
            said = _section(stored, self._most_lines)
            return "\n".join(filter(None, (head, _wrapped(reason), said)))
        kind = self.kinds[verdict.judge]
        show = plugin(kind).show if kind in kinds() else None
        judged = JudgedCandidate(candidate, verdict, self.briefs.get(verdict.judge, ()))
        section = shown_section(show, judged)
        return f"{head}\n{_section(section, self._most_lines)}"


def show_text(wanted: ShowOptions) -> ShownDocument:
    run = Output(wanted.out).known_run()
    output = Output(wanted.out, wanted.briefs or run.get("briefs"), run["id"])
    judges = _judges(wanted, run)
    shard, case = _found(output, wanted.doc_id)
    if wanted.system is not None and wanted.system not in (c.system for c in case.candidates):
        systems = [candidate.system for candidate in case.candidates]
        raise UserError(f"--system: {unknown('system', wanted.system, systems)}")
    scores, verdicts = _scores(output, shard, wanted), _verdicts(output, shard, wanted, judges)
    briefs = dict[str, list[Brief]]()
    for name, kind in judges.items() if wanted.system else ():
        written = output.of_judge(name).own_briefs(kind, shard)
        briefs[name] = [brief for brief in written if brief.doc_id == wanted.doc_id]
    return ShownDocument(wanted, case, judges, scores, verdicts, briefs)


def _judges(wanted: ShowOptions, run: Mapping[str, Any]) -> dict[str, str]:
    """The kind of each judge that is wanted, by its name."""
    known, axes = judge_kinds(run), list(run["fingerprint"]["task"]["axes"])
    if wanted.judge is not None and wanted.judge not in known:
        raise UserError(f"--judge: {unknown('judge', wanted.judge, known)}")
    if wanted.axis is not None and wanted.axis not in axes:
        raise UserError(f"--axis: {unknown('axis', wanted.axis, axes)}")
    return {name: kind for name, kind in known.items() if wanted.judge in (None, name)}


def _found(output: Output, doc_id: str) -> tuple[Shard, Case]:
    ids, shards = list[str](), output.shards()
    for shard, there in zip(shards, output.ahead(output.documents, shards), strict=True):
        if doc_id in there:
            (case,) = (one for one in output.cases(shard) if one.document.doc_id == doc_id)
            return shard, case
        ids += there
    raise UserError(f"--doc: {unknown_document(doc_id, ids)}")


def _scores(output: Output, shard: Shard, wanted: ShowOptions) -> list[Score]:
    if shard.file not in output.place.names("scores"):
        return []
    return [
        score
        for score in output.scores(shard)
        if score.doc_id == wanted.doc_id
        and wanted.system in (None, score.system)
        and (wanted.axis is None or score.axis in (wanted.axis, ANY_AXIS))
        and (wanted.judge is None or _is_of(score.scorer, wanted.judge))
    ]


def _is_of(scorer: str, judge: str) -> bool:
    return scorer == judge or scorer.startswith((f"{judge}.", f"{judge}#"))


def _verdicts(
    output: Output, shard: Shard, wanted: ShowOptions, judges: Mapping[str, str]
) -> list[Verdict]:
    if shard.number not in output.committed("judge"):
        return []
    return [
        verdict
        for judge in judges
        for verdict in output.verdicts(judge, shard, with_tokens=False)
        if verdict.doc_id == wanted.doc_id
        and wanted.system in (None, verdict.system)
        and (wanted.axis is None or verdict.axis in (wanted.axis, ANY_AXIS))
    ]


def _without(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in (*names, "tokens")}


# words and tables


def _score_row(score: Score) -> list[str]:
    value = bracketed(score.value, score.low, score.high)
    return [score.scorer, score.axis, value, correlation(score.doubt), score.reason]


def _scale(scorer: str, axis: str) -> str:
    return scorer if axis == ANY_AXIS else f"{scorer} {axis}"


def _section(section: Section, most: int | None) -> str:
    """Tables have their titles where there are several."""
    is_one = len(section.tables) == 1
    tables = [
        on_screen(table) if is_one else f"{harmless(table.title)}\n{on_screen(table)}"
        for table in section.tables
    ]
    notes = "\n".join(_folded(_wrapped(note), most) for note in section.notes)
    return "\n\n".join(filter(None, [*map(_wrapped, section.about), *tables, notes]))


def _labelled(label: str, text: str, most: int | None) -> str:
    """A text after its label, in lines that a terminal holds."""
    lines = _folded(_wrapped(text, WIDEST_PROSE - LABEL), most).split("\n")
    return f"{label:{LABEL}}" + f"\n{' ' * LABEL}".join(lines)


def _wrapped(text: str, width: int = WIDEST_PROSE) -> str:
    lines = (textwrap.fill(line, width) for line in harmless(text).split("\n"))
    return "\n".join(lines)


def _folded(text: str, most: int | None) -> str:
    lines = text.split("\n")
    if most is None or len(lines) <= most + 1:  # a line that says so would take as much room
        return text
    more = counted(len(lines) - most, "more line", "more lines")
    return "\n".join([*lines[:most], f"… {more}: --full shows all"])
