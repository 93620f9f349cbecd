"""`evaljudge export`: a part of a run as a file, for another run, for people or for other tools.

scores.parquet    with people's ratings; verdicts.parquet with the judge's own columns
scores.jsonl      the same, a row each line
scores.csv        the columns that hold one value
references.jsonl  for another run, and what each judge exports
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from evaljudge.commands.options import ExportOptions, ImportOptions
from evaljudge.errors import UserError, unknown
from evaljudge.judges import plugins
from evaljudge.runs.batches import export_asks, import_replies
from evaljudge.runs.outcome import open_run
from evaljudge.runs.references import export_references
from evaljudge.storage import to_write
from evaljudge.text import counted

if TYPE_CHECKING:
    import pyarrow as pa

REFERENCES, ASKS = "references", "asks"
TABLES = ("scores", "verdicts")


def imported(wanted: ImportOptions) -> str:
    return import_replies(wanted.run, wanted.replies)


def exported(wanted: ExportOptions) -> str:
    run, what, to = wanted.run, wanted.what, wanted.to
    if what == REFERENCES:
        if wanted.judge:
            raise UserError("--judge: the references of all judges are written, so leave it out")
        made = export_references(run, to, wanted.briefs)
        missing = f"; {made.unscored:,} could not be written by that run" if made.unscored else ""
        return f"{made.references:,} references of {made.documents:,} documents: {to}{missing}\n"
    if what in TABLES:
        return _table(run, what, to, wanted.judge)
    if what == ASKS:
        return export_asks(run, to, wanted.samples)
    exports = {name: write for kind in plugins().values() for name, write in kind.exports.items()}
    if what not in exports:
        raise UserError(unknown("export", what, [REFERENCES, ASKS, *TABLES, *exports]))
    if wanted.briefs:
        raise UserError("--briefs: only references are read from briefs, so leave it out")
    return exports[what](run, to, wanted.judge) + "\n"


def _table(run: str, what: str, to: str, judge: str | None) -> str:
    """What was written, as a line; read and written shard by shard."""
    ending = to.rpartition(".")[2].lower()
    if ending not in WRITERS:
        raise UserError(f"{to}: should end in .parquet, .jsonl or .csv")
    if what == "scores" and judge:
        raise UserError("--judge: the scores of all scorers are written, so leave it out")
    outcome, (place, name) = open_run(run), to_write(to)
    tables = outcome.iter_scores() if what == "scores" else outcome.iter_verdicts(judge)
    if (first := next(tables, None)) is None:
        raise UserError(f"{run}: holds no {what}")
    rows = 0
    with place.writing(name) as stream:
        for each in WRITERS[ending](stream, chain([first], tables)):
            rows += each
    return f"{counted(rows, 'row', 'rows')}: {to}\n"


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


WRITERS: Mapping[str, Callable[[IO[bytes], Iterator[Any]], Iterator[int]]] = {
    "parquet": _as_parquet,
    "jsonl": _as_jsonl,
    "csv": _as_csv,
}
