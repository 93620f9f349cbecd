"""`evaljudge export`: a part of a run as a file, for another run, for people or for other tools.

scores.parquet    with people's ratings; verdicts.parquet with the judge's own columns
scores.jsonl      the same, a row each line
scores.csv        the columns that hold one value
texts.csv         a row for each text with all its scores, for a spreadsheet
data/…/UUID.json  a record of Every Eval Ever for each system
references.jsonl  for another run, and what each judge exports
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from evaljudge.commands.every_eval_ever import export_records
from evaljudge.commands.options import ExportOptions, ImportOptions
from evaljudge.corpora.sheets import spreadsheet
from evaljudge.errors import UserError, unknown
from evaljudge.judges import plugins
from evaljudge.runs.batches import export_asks, import_replies
from evaljudge.runs.outcome import open_run
from evaljudge.runs.references import export_references
from evaljudge.storage import to_write
from evaljudge.text import counted

if TYPE_CHECKING:
    import pyarrow as pa


def imported(wanted: ImportOptions) -> str:
    return import_replies(wanted.run, wanted.replies)


def exported(wanted: ExportOptions) -> str:
    judges = {name: write for kind in plugins().values() for name, write in kind.exports.items()}
    if wanted.what not in {**EXPORTS, **judges}:
        raise UserError(unknown("export", wanted.what, [*EXPORTS, *judges]))
    write, judged = EXPORTS.get(wanted.what), (*judges, "verdicts")
    if wanted.judge and wanted.what not in judged:
        raise UserError(f"--judge: goes with {' or '.join(judged)}, so leave it out")
    if wanted.briefs and wanted.what != "references":
        raise UserError("--briefs: only references are read from briefs, so leave it out")
    if write is None:
        return judges[wanted.what](wanted.run, wanted.to, wanted.judge) + "\n"
    return write(wanted)


def _references(wanted: ExportOptions) -> str:
    made = export_references(wanted.run, wanted.to, wanted.briefs)
    missing = f"; {made.unscored:,} could not be written by that run" if made.unscored else ""
    return f"{made.references:,} references of {made.documents:,} documents: {wanted.to}{missing}\n"


def _table(wanted: ExportOptions) -> str:
    """Scores or verdicts, read and written shard by shard."""
    ending = wanted.to.rpartition(".")[2].lower()
    if ending not in WRITERS:
        raise UserError(f"{wanted.to}: should end in .parquet, .jsonl or .csv")
    outcome = open_run(wanted.run)
    is_scores = wanted.what == "scores"
    tables = outcome.iter_scores() if is_scores else outcome.iter_verdicts(wanted.judge)
    return _written(wanted, tables, WRITERS[ending])


def _spreadsheet(wanted: ExportOptions) -> str:
    """A row for each text, with its scores and ratings."""
    return _written(wanted, open_run(wanted.run).iter_texts(), _as_spreadsheet)


def _written(wanted: ExportOptions, tables: "Iterator[pa.Table]", write: "Writer") -> str:
    if (first := next(tables, None)) is None:
        raise UserError(f"{wanted.run}: holds no {wanted.what}")
    place, name = to_write(wanted.to)
    with place.writing(name) as stream:
        rows = sum(write(stream, chain([first], tables)))
    return f"{counted(rows, 'row', 'rows')}: {wanted.to}\n"


def _as_parquet(stream: IO[bytes], tables: "Iterator[pa.Table]") -> Iterator[int]:
    import pyarrow.parquet as pq

    first = next(tables)
    with pq.ParquetWriter(stream, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
            yield table.num_rows


def _as_jsonl(stream: IO[bytes], tables: "Iterator[pa.Table]") -> Iterator[int]:
    for table in tables:
        for row in table.to_pylist(maps_as_pydicts="lossy"):
            stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        yield table.num_rows


def _as_csv(stream: IO[bytes], tables: "Iterator[pa.Table]") -> Iterator[int]:
    from pyarrow import csv, types

    first = next(tables)
    flat = [field.name for field in first.schema if not types.is_nested(field.type)]
    with csv.CSVWriter(stream, first.select(flat).unify_dictionaries().schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table.select(flat))
            yield table.num_rows


def _as_spreadsheet(stream: IO[bytes], tables: "Iterator[pa.Table]") -> Iterator[int]:
    rows = [row for table in tables for row in table.to_pylist()]
    last = dict.fromkeys(["unscored", "text", "source"])
    columns = [name for name in dict.fromkeys(chain.from_iterable(rows)) if name not in last]
    stream.write(spreadsheet([*columns, *last], rows))
    yield len(rows)


Writer = Callable[[IO[bytes], Iterator[Any]], Iterator[int]]
WRITERS: Mapping[str, Writer] = {"parquet": _as_parquet, "jsonl": _as_jsonl, "csv": _as_csv}
EXPORTS: Mapping[str, Callable[[ExportOptions], str]] = {
    "scores": _table,
    "verdicts": _table,
    "csv": _spreadsheet,
    "eee": lambda wanted: export_records(wanted.run, wanted.to),
    "references": _references,
    "asks": lambda wanted: export_asks(wanted.run, wanted.to, wanted.samples),
}
