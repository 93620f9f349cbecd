"""`evaljudge export`: a part of a run as a file, for another run, for people or for other tools.

Records of Every Eval Ever are by version 0.3.0 of its schema, each about the system that wrote the
texts, with judges named in its results. What evaljudge does not know (who made a system, which
values a scorer can take) is `unknown` or left out. The same run gives the same files.
"""

import io
import json
import os
import re
from calendar import timegm
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import PurePath
from time import strptime
from typing import IO, TYPE_CHECKING, Any
from uuid import UUID

import evaljudge
from evaljudge.commands.options import ExportOptions, ImportOptions
from evaljudge.corpora.readers import csv_records, read_jsonl
from evaljudge.corpora.rows import accepted, refuse_other_forms
from evaljudge.corpora.sheets import csv_of, spreadsheet
from evaljudge.decisions.systems import RankedSystem, SystemRanking
from evaljudge.errors import UserError, unknown
from evaljudge.judges import plugins
from evaljudge.records import HUMAN
from evaljudge.runs.batches import export_asks, import_replies
from evaljudge.runs.outcome import Outcome, open_run
from evaljudge.runs.references import export_references
from evaljudge.sections.figures import axis_name
from evaljudge.settings import as_path
from evaljudge.storage import Output, open_to_read, to_write
from evaljudge.text import counted

if TYPE_CHECKING:
    import pyarrow as pa


def imported(wanted: ImportOptions) -> str:
    return import_replies(wanted.run, wanted.replies)


def exported(wanted: ExportOptions) -> str:
    run, to = as_path(wanted.run, "run"), as_path(wanted.to, "to")
    judges = {name: write for kind in plugins().values() for name, write in kind.exports.items()}
    if run in {**EXPORTS, **judges} and not os.path.isdir(run):
        raise UserError(f"the run comes first: `evaljudge export {wanted.what} {run}`")
    if wanted.what not in {**EXPORTS, **judges}:
        raise UserError(unknown("export", wanted.what, [*EXPORTS, *judges]))
    write, judged = EXPORTS.get(wanted.what), (*judges, "verdicts")
    if wanted.judge and wanted.what not in judged:
        raise UserError(f"--judge: goes with {' or '.join(judged)}, so leave it out")
    if wanted.briefs and wanted.what != "references":
        raise UserError("--briefs: only references are read from briefs, so leave it out")
    beside = "" if wanted.beside is None else f"{wanted.beside}".lower()
    if beside and not (wanted.what == "csv" and beside.endswith((".csv", ".tsv", ".jsonl"))):
        others = (
            "takes a file that ends in .csv, .tsv or .jsonl, with csv (of nested JSON, the "
            ".long.jsonl that `init` made); of rows in Python: `outcome.texts(beside=TABLE)`"
        )
        raise UserError(f"--beside: {others}")
    if wanted.what != "eee":  # whose files are in a folder
        to_write(to, wanted.force)
    return write(wanted, run, to) if write else judges[wanted.what](run, to, wanted.judge) + "\n"


def _references(wanted: ExportOptions, run: str, to: str) -> str:
    moved = as_path(wanted.briefs, "briefs") if wanted.briefs else None
    made = export_references(run, to, moved)
    missing = f"; {made.unscored:,} could not be written by that run" if made.unscored else ""
    return f"{made.references:,} references of {made.documents:,} documents: {to}{missing}\n"


def _table(wanted: ExportOptions, run: str, to: str) -> str:
    """Scores or verdicts, read and written shard by shard."""
    ending = to.rpartition(".")[2].lower()
    if ending not in WRITERS:
        raise UserError(f"{to}: should end in .parquet, .jsonl or .csv")
    outcome, is_scores = open_run(run), wanted.what == "scores"
    tables = outcome.iter_scores() if is_scores else outcome.iter_verdicts(wanted.judge)
    return _written(f"{run}: holds no {wanted.what}", to, tables, WRITERS[ending])


def _spreadsheet(wanted: ExportOptions, run: str, to: str) -> str:
    table = as_path(wanted.beside, "beside") if wanted.beside else ""
    if not to.lower().endswith(ending := PurePath(table).suffix.lower() or ".csv"):
        raise UserError(f"{to}: should end in {ending}{f', as {table} does' if table else ''}")
    outcome, empty = open_run(run), f"{run}: holds no csv"
    if not table:
        return _written(empty, to, outcome.iter_texts(), _as_spreadsheet)
    scores = outcome.texts(beside=table)
    none = sum(all(cell is None for cell in row.values()) for row in scores.to_pylist())
    said = _written(empty, to, iter([scores]), partial(_beside, table))
    lost = f"; {counted(none, 'is no text', 'are no texts')} of the run, and without scores"
    return f"{said.rstrip()}{lost if none else ''}\n"


def _written(empty: str, to: str, tables: "Iterator[pa.Table]", write: "Writer") -> str:
    if (first := next(tables, None)) is None:
        raise UserError(empty)
    place, name = to_write(to)
    with place.writing(name) as stream:
        rows = sum(write(stream, chain([first], tables)))
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


def _as_spreadsheet(stream: IO[bytes], tables: "Iterator[pa.Table]") -> Iterator[int]:
    rows = [row for table in tables for row in table.to_pylist()]
    last = dict.fromkeys(["unscored", "text", "source"])
    columns = [name for name in dict.fromkeys(chain.from_iterable(rows)) if name not in last]
    stream.write(spreadsheet([*columns, *last], rows))
    yield len(rows)


def _beside(file: str, stream: IO[bytes], tables: "Iterator[pa.Table]") -> Iterator[int]:
    """The user's table as it is, and scores where the run read the same text from a row."""
    rows = (scores := next(tables)).to_pylist()
    with open_to_read(file) as stored:
        content = stored.read()
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        content = content.decode("utf-16").encode()
    refuse_other_forms(file, content)
    if file.lower().endswith(".jsonl"):
        lines = content.removeprefix(BOM_UTF8).split(b"\n")
        objects = [line.strip() for line in lines if line and not line.isspace()]
        each = zip(objects, read_jsonl(lines, file.rpartition("/")[2]), rows, strict=True)
        for line, read, row in each:
            between = b", " if accepted(read).fields else b""
            more = json.dumps(row, ensure_ascii=False).encode()[1:]
            stream.write(line.removesuffix(b"}") + between + more + b"\n")
        yield len(rows)
        return
    table = io.StringIO(content.decode("utf-8-sig", "surrogateescape"), newline="")
    separator, records = csv_records(table, file.rpartition("/")[2])
    heads, own = next(records)[1], list[list[Any]]()
    for place, cells in records:
        if isinstance(cells, str):
            raise UserError(f"{place}: {cells}")
        own.append([*cells[: len(heads)], *[None] * (len(heads) - len(cells))])
    mark = "," if separator != "," and any(map(_has_decimal_comma, own)) else "."
    added = (
        [f"{v}".replace(".", mark) if isinstance(v, float) else v for v in row.values()]
        for row in rows
    )
    written = ([*cells, *more] for cells, more in zip(own, added, strict=True))
    stream.write(csv_of([[*heads, *scores.column_names], *written], separator))
    yield len(own)


def _has_decimal_comma(cells: Sequence[Any]) -> bool:
    return any(re.fullmatch(r"-?\d+,\d+", cell or "") for cell in cells)


Writer = Callable[[IO[bytes], Iterator[Any]], Iterator[int]]
WRITERS: Mapping[str, Writer] = {"parquet": _as_parquet, "jsonl": _as_jsonl, "csv": _as_csv}
EXPORTS: Mapping[str, Callable[[ExportOptions, str, str], str]] = {
    "scores": _table,
    "verdicts": _table,
    "csv": _spreadsheet,
    "eee": lambda wanted, run, to: export_records(run, to, wanted.force),
    "references": _references,
    "asks": lambda wanted, run, to: export_asks(run, to, wanted.samples, wanted.force),
}


SCHEMA = "0.3.0"
Record = dict[str, Any]


def export_records(run: str, to: str, force: bool) -> str:
    outcome = open_run(run)
    results: dict[str, list[Record]] = {}
    for row in outcome.findings["systems"]:
        for system in row.systems:
            results.setdefault(system.system, []).append(_result(outcome, row, system))
    if not results:
        raise UserError(f"{run}: holds no scores")
    corpus = PurePath(outcome.findings.corpus).stem
    ended = strptime(Output(run).known_run()["ended"], "%Y-%m-%dT%H:%M:%SZ")
    since_1970 = str(timegm(ended))
    for system, of_system in results.items():
        developer, _, model = system.rpartition("/")
        path = [_plain(part) for part in (corpus, developer or "unknown", model)]
        key = "/".join([*path, since_1970])
        record = {
            "schema_version": SCHEMA,
            "evaluation_id": key,
            "evaluation_timestamp": since_1970,
            "retrieved_timestamp": since_1970,
            "source_metadata": {
                "source_name": "evaljudge",
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": "evaljudge", "version": evaljudge.__version__},
            "model_info": _model("/".join(path[1:]), system),
            "evaluation_results": of_system,
        }
        own = blake2b(f"{key} {system}".encode(), digest_size=16).digest()
        file = "/".join([to.rstrip("/"), *path, f"{UUID(bytes=own, version=4)}.json"])
        place, name = to_write(file, force)
        place.write(name, json.dumps(record, ensure_ascii=False, indent=1).encode())
    return f"{counted(len(results), 'record', 'records')} of Every Eval Ever {SCHEMA}: {to}\n"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "unknown"


def _model(key: str, name: str) -> Record:
    unknown = dict.fromkeys(("deployment_type", "model_availability"), "unknown")
    return {"name": name, "id": key, "additional_details": unknown}


def _result(outcome: Outcome, row: SystemRanking, system: RankedSystem) -> Record:
    findings, axis = outcome.findings, axis_name(row.axis)
    scorer = findings.rated_by if row.scorer == HUMAN else row.scorer
    metric: Record = {"metric_id": f"evaljudge/{scorer}", "metric_name": scorer}
    metric["lower_is_better"] = False
    if meaning := findings.meanings.get(row.scorer):
        metric["evaluation_description"] = meaning
    if signature := findings.signatures.get(row.scorer):
        metric["additional_details"] = {"signature": signature}
        if (judge := re.split("[.#]", row.scorer)[0]) in outcome.judges:
            model = signature.split(" | ")[1]
            prompts = f"the prompts of evaljudge's judge {judge}: see the signature"
            judges = [{"model_info": _model(model, model)}]
            metric["llm_scoring"] = {"judges": judges, "input_prompt": prompts}
    uncertainty: Record = {"num_samples": system.n}
    if system.low is not None and system.high is not None:
        ends = {"lower": system.low, "upper": system.high, "confidence_level": 0.95}
        uncertainty["confidence_interval"] = ends | {"method": "Student's t over documents"}
    return {
        "evaluation_result_id": f"{axis}/{scorer}",
        "evaluation_name": axis,
        "source_data": {"dataset_name": PurePath(findings.corpus).stem, "source_type": "other"},
        "metric_config": metric,
        "score_details": {"score": system.mean, "uncertainty": uncertainty},
    }
