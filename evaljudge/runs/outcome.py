"""A run that is done, as Python has it: what it found, and its tables.

>>> outcome = open_run("runs/first")
>>> outcome.scores(["system", "axis", "value"]).to_pandas()

`run` gives the same Outcome as `open_run` does afterwards, but that `findings.judged`, what the
judges say on the report's page, is only known to the process that made the report.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from evaljudge.agreement import Agreement
from evaljudge.analysis.findings import Findings, Selected
from evaljudge.analysis.run_tables import RunTables
from evaljudge.corpora import CorpusSource, open_corpus, unread_columns
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.memory import LONGER, Input, as_inputs
from evaljudge.corpora.rows import Row, clean
from evaljudge.errors import UserError, naming, unknown
from evaljudge.report import read_findings
from evaljudge.report.summary import outcome_html, outcome_text
from evaljudge.runs.shown import selected_of
from evaljudge.sections.figures import Rows
from evaljudge.settings import AnyPath, as_path
from evaljudge.storage import DERIVED, GONE, Output, judge_kinds
from evaljudge.text import listed

DONE, UNDER_FLOOR = 0, 3
ANEW = "`evaljudge report CONFIG` writes the report anew"


@dataclass(frozen=True, repr=False)
class Outcome:
    """A run's folder, findings and tables. Notebooks show its summary and a table.

    `findings["systems"]` has the rows of an analysis, and `list(findings)` the names of all. The
    tables are read from the run's files when they are asked for (docs/columns.md lists their
    columns). `columns`: only these are read. The `iter_` methods give a table for each shard, at
    most 256 documents, for runs that are larger than the memory.
    """

    out: str
    findings: Findings

    def __repr__(self) -> str:
        return outcome_text(self.findings, self.out)

    def _repr_html_(self) -> str:
        return outcome_html(self.findings, self.out)

    def __fspath__(self) -> str:
        """The run's folder, where a path is taken: `evaljudge.check(outcome)`."""
        return self.out

    @property
    def coverage(self) -> float:
        """The share of the expected scores that there are."""
        return self.findings.share

    @property
    def agreement(self) -> Rows[Agreement]:
        return self.findings.agreement

    @property
    def selections(self) -> Rows[Selected]:
        return Rows(self.findings.selections)

    def selected(self, name: str | None = None) -> pa.Table:
        """The rows of `texts()` that are in a selection; of the only one without its name."""
        names = [selection.name for selection in self.selections]
        if name not in names and (name is not None or len(names) != 1):
            raise UserError(f"selected: {unknown('selection', name or '', names)}")
        whole = self.texts()
        columns = (whole[column].to_pylist() for column in ("doc_id", "system"))
        texts = [*zip(*columns, strict=True)]
        chosen = {*selected_of(Output(self.out), name or names[0], {*texts})}
        return whole.filter([text in chosen for text in texts])

    def show(self, doc_id: str | None = None, system: str | None = None, **options: Any) -> Any:
        """One text with its scores and the evidence of each judge, as `evaljudge show` has it;
        without a system, all systems with their scores. By default of the first document."""
        import evaljudge

        doc_id = self.first_document if doc_id is None else doc_id
        return evaljudge.show(self, doc_id, system, **options)

    @property
    def judge_tables(self) -> dict[str, pa.Table]:
        """The report's tables about the judges themselves (`Position and length`), by title."""
        sections = self.findings.judged.sections
        tables = (table for section in sections for table in section.tables if table.rows)
        made = dict[str, pa.Table]()
        for table in tables:
            each = enumerate(table.heads)
            heads = [f"{head} {n}" if head in table.heads[:n] else head for n, head in each]
            made[table.title] = pa.table([*zip(*table.rows, strict=True)], heads)
        return made

    @property
    def warnings(self) -> Sequence[str]:
        return self.findings.warnings

    @property
    def exit_code(self) -> int:
        return DONE if self.findings.floor_passed else UNDER_FLOOR

    @property
    def judges(self) -> list[str]:
        return list(self._tables.judges)

    def scores(
        self, columns: Sequence[str] | None = None, *, scorer: str = "", axis: str = "",
        wide: bool = False,
    ) -> pa.Table:  # fmt: skip
        """One row for each candidate, scorer and axis, or those of one scorer or axis alone;
        `wide`: one for each candidate, with a column for each scorer and axis, and for people's
        ratings."""
        only = {name: value for name, value in {"scorer": scorer, "axis": axis}.items() if value}
        if wide and (only or columns is not None):
            why = "`wide` has a column for each scorer and axis: leave `columns` out, and these"
            raise UserError(f"scores: {why}")
        if wide:
            return _wide(self._tables.wide_scores(with_texts=False))
        wanted = None if columns is None else listed(columns)
        read = None if wanted is None else [*dict.fromkeys([*wanted, *only])]
        table = _joined(*self._tables.scores(read))
        for name, value in only.items():
            if value not in (there := table[name].to_pylist()):
                raise UserError(f"scores: {unknown(name, value, {*there})}")
            table = table.filter([each == value for each in there])
        return table.select(wanted or table.schema.names)

    def iter_scores(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        return self._tables.scores(columns)[1]

    def texts(self, *, beside: Any = None) -> pa.Table:
        """As `scores(wide=True)`, with the reasons for missing scores, the text and its source.
        `beside`: a table that the run read, as a file or in memory: the scores for each of its
        rows, in their order; null where a row is not a text of the run. Of rows with the texts of
        several systems, each system has its columns (`BART: words`)."""
        whole = _wide(self.iter_texts())
        if beside is None:
            return whole
        scores = self._beside(whole, as_inputs(beside, "beside"))
        if not hasattr(beside, "iloc"):
            return scores
        return pa.Table.from_pandas(scores.to_pandas().set_index(beside.index))

    def _beside(self, whole: pa.Table, mine: tuple[Input, ...]) -> pa.Table:
        read = Output(self.out).known_run()["config"]["corpus"]
        met = defaultdict[str, dict[str, tuple[str, int | None]]](dict)
        """Each system's text, and the row of its scores."""
        at = enumerate(whole.select(["text", "doc_id", "system"]).to_pylist())
        numbers = {tuple(row.values()): n for n, row in at}
        tables = listed(read["path"])
        other = f"{mine[0]}: {self.out} has read another table ({', '.join(tables)})"
        longer = f"{PurePath(str(mine[0])).stem}{LONGER}"
        made = tuple(table for table in tables if PurePath(table).name == longer)
        theirs = unread_columns(*mine)  # the run may have read rows, as with --limit
        likely = {} if made or {"source", "text"} <= theirs.known else theirs.taken({}, ())
        source = CorpusSource(made or mine, columns=read["columns"] or likely)
        with naming(other), open_corpus(source, "skip") as corpus:
            for text, place, doc_id, system in corpus.each_text():
                met[place][system] = text.strip(), numbers.get((text, doc_id, system))
            if all(row is None for texts in met.values() for _, row in texts.values()):
                raise UserError("; ".join(["no row is a text of the run", *corpus.skipped[:1]]))
        rows = list(read_generic(mine))
        places = [row.place for row in read_generic(made or mine)]
        if len(places) != len(rows):
            raise UserError(f"{other}, which `evaljudge init` made of it: give that one")
        own = {name for row in rows if isinstance(row, Row) for name in row.fields}
        scores = whole.drop_columns(["text", "doc_id", "system", "source"])
        is_wide = any(len(texts) > 1 for texts in met.values())
        cells = [
            {
                clean(f"{cell}").strip()
                for cell in (row.fields if isinstance(row, Row) else {}).values()
            }
            for row in rows
        ]
        columns = dict[str, Any]()
        for system in dict.fromkeys(chain.from_iterable(met.values())) if is_wide else [""]:
            at_rows = [
                [n for s, (text, n) in met[place].items()
                 if system in ("", s) and (text in cells[at] or not made)]
                for at, place in enumerate(places)
            ]  # fmt: skip
            taken = scores.take(pa.array([row[0] if row else None for row in at_rows], "int64"))
            before = f"{system}: " if system else ""
            names = [f"{before}{name}" for name in taken.schema.names]
            named = (f"{name} (evaljudge)" if name in own else name for name in names)
            columns |= dict(zip(named, taken.columns, strict=True))
        return pa.table(columns)

    def iter_texts(self) -> Iterator[pa.Table]:
        return self._tables.wide_scores(with_texts=True)

    @property
    def first_document(self) -> str | None:
        """The first document with a score; None where there is no score."""
        tables = (table for table in self.iter_scores(["doc_id"]) if table.num_rows)
        return next((str(table["doc_id"][0].as_py()) for table in tables), None)

    def verdicts(self, judge: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """The evidence of one judge; its name may be left out where the run has only one."""
        return _joined(*self._tables.verdicts(self._judge(judge), columns))

    def iter_verdicts(
        self, judge: str | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        return self._tables.verdicts(self._judge(judge), columns)[1]

    def briefs(self, judge: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """What judges of this judge's kind prepared from each document."""
        return _joined(*self._tables.briefs(self._judge(judge), columns))

    def iter_briefs(
        self, judge: str | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        return self._tables.briefs(self._judge(judge), columns)[1]

    def _judge(self, name: str | None) -> str:
        if name is not None:
            return name
        if len(self.judges) == 1:
            return self.judges[0]
        if not self.judges:
            raise UserError(f"{self.out}: the run has no judge, so no verdicts and no briefs")
        there = ", ".join(map(repr, self.judges))
        one = "name one of the run's judges, whose columns differ, with `--judge NAME`"
        raise UserError(f"{self.out}: {one} (Python: `judge=NAME`): {there}")

    @cached_property
    def _tables(self) -> RunTables:
        about = Output(self.out).known_run()
        output = Output(self.out, about.get("briefs"), about["id"])
        return RunTables(output, judge_kinds(about))


def open_run(out: AnyPath) -> Outcome:
    """A finished run in a folder or at `s3://…`: nothing is asked, and nothing is computed."""
    out = as_path(out, "out")
    about = Output(out).known_run()
    if "coverage" not in about:
        raise UserError(f"{out}: the run is not finished: `evaljudge run CONFIG` resumes it")
    output = Output(out, about.get("briefs"), about["id"])
    if about["state"] != "done":
        warnings.warn(
            f"{out}: the run is not finished: this is its last report; `evaljudge run CONFIG` "
            "resumes it",
            stacklevel=2,
        )
    return Outcome(output.uri, _findings(output, about.get(DERIVED, {})))


def _findings(output: Output, digests: dict[str, str]) -> Findings:
    """`digests`: of the report's files, as they were written."""

    def read(name: str) -> bytes | None:
        file = f"report/{name}"
        if file not in digests:
            return None
        try:
            content = output.place.read(file)
        except FileNotFoundError:
            raise output.damaged(file, GONE) from None
        if sha256(content).hexdigest() != digests[file]:
            raise output.damaged(file, "is not as the last report wrote it")
        return content

    try:
        return read_findings(read)
    except ValueError as error:
        raise UserError(f"{output.uri}: its report cannot be read ({error}): {ANEW}") from None


def _wide(tables: Iterator[pa.Table]) -> pa.Table:
    """Shards may differ in their scorers and axes."""
    no_rows = pa.table({"doc_id": pa.array([], "string"), "system": pa.array([], "string")})
    return pa.concat_tables([no_rows, *tables], promote_options="default")


def _joined(schema: pa.Schema, tables: Iterator[pa.Table]) -> pa.Table:
    listed = list(tables)
    return pa.concat_tables(listed).unify_dictionaries() if listed else schema.empty_table()
