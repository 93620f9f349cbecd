"""A run's files as Arrow tables with typed columns, read shard by shard.

    RunTables(output, {"synthetic": "synthetic"}).verdicts("synthetic", ["system", "levels"])
    ->  one table for each shard, with the columns that docs/columns.md lists

What a judge keeps as JSON becomes columns by its own schema (`Plugin.verdict_columns`), which says
their types; keys that it does not name are left out. A shard whose file is damaged is left out,
with a warning at the end.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np
import pyarrow as pa
from pydantic_core import from_json

from evaljudge.analysis.ratings import ByText, RatedText, kept_ratings
from evaljudge.analysis.run_scores import ShardScores, scale_name
from evaljudge.errors import Damaged, UserError, unknown
from evaljudge.judges import plugin
from evaljudge.model.asks import Failed
from evaljudge.plugins import kinds
from evaljudge.records import HUMAN, Brief, Score, Verdict
from evaljudge.storage import Output, Shard, Stage
from evaljudge.storage.tables import schema_of
from evaljudge.text import counted, listed

RATINGS, DETAIL = "ratings", "detail"
EVIDENCE, CONTENT = "evidence", "content"
NAMED = 3
ReadJson = Callable[[Sequence[Any]], Sequence[Mapping[str, Any]]]
"""Reads the JSON that a judge keeps: a row each."""
ShardTables: TypeAlias = tuple[pa.Schema, Iterator[pa.Table]]
"""The columns, and a table with them for each shard."""


@dataclass(frozen=True)
class Details:
    read: ReadJson | None  # None: the JSON text itself is the one column
    types: Mapping[str, pa.DataType]


@dataclass(frozen=True)
class RunTables:
    """A run's tables; `judges`: the kind of each judge by its name."""

    output: Output
    judges: Mapping[str, str]

    def scores(self, columns: Sequence[str] | None) -> ShardTables:
        ends = [pa.field(name, pa.float64()) for name in ("low", "high")]
        ratings = pa.field(RATINGS, pa.map_(pa.string(), pa.float64()))
        whole = _signed(pa.schema([*schema_of(Score), *ends, ratings]))
        schema = _chosen(whole, columns)
        return schema, self._each(partial(self._scores, schema), self._scored)

    def wide_scores(self, *, with_texts: bool) -> Iterator[pa.Table]:
        """A row for each candidate, with a column for each scorer and axis and for people's;
        `with_texts`: with the reasons for missing scores, the text and its source, too."""
        further = kept_ratings(self.output).texts
        return self._each(partial(self._wide, with_texts, further), self._scored)

    def verdicts(self, judge: str, columns: Sequence[str] | None) -> ShardTables:
        details = details_of(self._kind(judge), "verdict_columns")
        schema = _chosen(_with_details(schema_of(Verdict), EVIDENCE, details), columns)

        def read(shard: Shard) -> pa.Table:
            return self._detailed(f"verdicts/{judge}/{shard.file}", EVIDENCE, schema, details)

        return schema, self._each(read, self._committed("judge", self.output.of_judge(judge)))

    def briefs(self, judge: str, columns: Sequence[str] | None) -> ShardTables:
        kind, mine = self._kind(judge), self.output.of_judge(judge)
        details = details_of(kind, "brief_columns")
        schema = _chosen(_signed(_with_details(schema_of(Brief), CONTENT, details)), columns)

        def read(shard: Shard) -> pa.Table:
            file = f"briefs/{kind}/{mine.brief_file(shard)}"
            return self._detailed(file, CONTENT, schema, details)

        return schema, self._each(read, self._committed("prepare", mine))

    def _kind(self, judge: str) -> str:
        if judge not in self.judges:
            raise UserError(f"{self.output.uri}: {unknown('judge', judge, self.judges)}")
        return self.judges[judge]

    @cached_property
    def _is_done(self) -> bool:
        """Whether the run is done: then a file that is gone is damage."""
        return (self.output.run() or {}).get("state") == "done"

    @property
    def _scored(self) -> list[Shard]:
        shards = self.output.shards()
        return shards if self._is_done else self.output.scored(shards)

    def _committed(self, stage: Stage, output: Output) -> list[Shard]:
        there = output.committed(stage)
        return [s for s in self.output.shards() if self._is_done or s.number in there]

    def _each(
        self, read: Callable[[Shard], pa.Table], shards: Sequence[Shard]
    ) -> Iterator[pa.Table]:
        damaged = list[Damaged]()

        def tried(shard: Shard) -> pa.Table | Damaged:
            try:
                return read(shard)
            except Damaged as error:
                return error

        for table in self.output.ahead(tried, shards):
            if isinstance(table, Damaged):
                damaged.append(table)
            else:
                yield table
        if damaged:
            warnings.warn(_left_out(self.output, damaged), stacklevel=2)

    def _scores(self, schema: pa.Schema, shard: Shard) -> pa.Table:
        needed = {*schema.names, "doc_id", "system"} - {RATINGS}
        table = self.output.score_table(shard, list(needed))
        if RATINGS in schema.names:
            ratings = {(d, s): rated or [] for d, s, rated in self.output.texts(shard, RATINGS)}
            texts = zip(table["doc_id"].to_pylist(), table["system"].to_pylist(), strict=True)
            human = pa.array([ratings.get(text) for text in texts], schema.field(RATINGS).type)
            table = table.append_column(RATINGS, human)
        return _shaped(table, schema)

    def _wide(self, with_texts: bool, further: ByText, shard: Shard) -> pa.Table:
        read = ShardScores(self.output, shard, with_bodies=with_texts)
        columns = {scale_name(*key): values for key, values in read.scores.items()}
        columns |= {f"{HUMAN}.{axis}": values.copy() for axis, values in read.human.items()}
        for row, text in enumerate(read.texts):
            for axis, rating in further.get(text, RatedText({}, {})).ratings.items():
                empty = np.full(len(read.texts), np.nan)
                columns.setdefault(f"{HUMAN}.{axis}", empty)[row] = rating
        numbers = {name: pa.array(column, from_pandas=True) for name, column in columns.items()}
        doc_ids, systems = ([text[side] for text in read.texts] for side in (0, 1))
        names = {"doc_id": pa.array(doc_ids, "string"), "system": pa.array(systems, "string")}
        table = pa.table(names | numbers)
        if with_texts:
            whys: list[list[str]] = [[] for _ in read.texts]
            for key, reasons in read.reasons.items():
                for row, why in reasons.items():
                    whys[row].append(f"{scale_name(*key)}: {why}")
            cases = self.output.case_table(shard, ["doc_id", "source"]).to_pylist()
            sources = {case["doc_id"]: case["source"] for case in cases}
            table = table.append_column("unscored", pa.array(map("; ".join, whys), "string"))
            table = table.append_column("text", read.bodies)
            table = table.append_column("source", [[sources[doc_id] for doc_id in doc_ids]])
        return table

    def _detailed(
        self, file: str, json_column: str, schema: pa.Schema, details: Details
    ) -> pa.Table:
        wanted = [name for name in schema.names if name in details.types]
        plain = [name for name in schema.names if name not in details.types]
        table = self.output.table(file, [*plain, *([json_column] if wanted or not plain else [])])
        rows = _rows(table[json_column].to_pylist(), details.read) if wanted else []
        for name in wanted:
            values = [None if row is None else row.get(name) for row in rows]
            table = table.append_column(name, pa.array(values, details.types[name]))
        return _shaped(table, schema)


def _left_out(output: Output, damaged: Sequence[Damaged]) -> str:
    some = ", ".join(f"{output.name_of(file)} {file.problem}" for file in damaged[:NAMED])
    more = f" (and {len(damaged) - NAMED} more)" if len(damaged) > NAMED else ""
    are = counted(len(damaged), "shard is", "shards are")
    return f"{output.uri}: {are} left out of this table: {some}{more}; {damaged[0].remedy}"


def _signed(schema: pa.Schema) -> pa.Schema:
    """Signatures are long, and few: each is kept once."""
    at = schema.get_field_index("signature")
    return schema.set(at, pa.field("signature", pa.dictionary(pa.int32(), pa.string())))


def _with_details(schema: pa.Schema, json_column: str, details: Details) -> pa.Schema:
    """The judge's own columns stand in place of the one with JSON."""
    details_fields = [pa.field(name, type_) for name, type_ in details.types.items()]
    at = schema.get_field_index(json_column)
    fields = list(schema)
    return pa.schema([*fields[:at], *details_fields, *fields[at + 1 :]])


def _chosen(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    names = schema.names if columns is None else listed(columns)
    for name in names:
        if name not in schema.names:
            raise UserError(f"columns: {unknown('column', name, schema.names)}")
    return pa.schema([schema.field(name) for name in names])


def details_of(kind: str, columns: str) -> Details:
    if kind not in kinds() and columns == "verdict_columns":
        return OWN
    return _details(getattr(plugin(kind), columns) if kind in kinds() else "")


@cache
def _details(place: str) -> Details:
    """The reader named by `module:function`, or `module:TypedDict` where the columns are the JSON's
    keys (some may be missing). Without one the column `detail` has the JSON text. A function that
    reads one verdict's evidence as a dataclass has the dataclass's fields as columns."""
    if not place:
        return Details(None, {DETAIL: pa.string()})
    module, _, name = place.partition(":")
    reader = getattr(import_module(module), name)
    read: Any = list
    row = reader
    if not is_typeddict(reader):
        returned = get_type_hints(reader).get("return")
        row, read = next(iter(get_args(returned)), None), reader
        if is_dataclass(returned):
            row, read = returned, lambda kept: [_column(reader(evidence)) for evidence in kept]
        elif not is_typeddict(row):
            raise UserError(f"{place}: what it returns should be annotated as a list of a "
                            "TypedDict, whose fields are the columns: `-> list[Row]`")  # fmt: skip
    return Details(read, {name: arrow_type(hint) for name, hint in get_type_hints(row).items()})


def _own(evidence: Mapping[str, Any]) -> Mapping[str, Any]:
    reply, logprobs = evidence.get("reply"), evidence.get("logprobs")
    each = list(logprobs.values()) if isinstance(logprobs, Mapping) else [None]
    return {
        "reply": reply if isinstance(reply, str) else None,
        "logprobs": logprobs if all(isinstance(p, int | float) for p in each) else None,
        DETAIL: json.dumps(evidence),
    }


OWN = Details(
    lambda kept: [_own(evidence) for evidence in kept],
    {"reply": pa.string(), "logprobs": pa.map_(pa.string(), pa.float64()), DETAIL: pa.string()},
)
"""Of a judge without a plugin: what a question of one's own has, and all as JSON text."""


def _column(value: Any) -> Any:
    """Dataclasses as mappings; what failed is null."""
    if isinstance(value, Failed):
        return None
    if is_dataclass(value):
        return {field.name: _column(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _column(inner) for key, inner in value.items()}
    return [_column(item) for item in value] if isinstance(value, list | tuple) else value


def arrow_type(hint: Any) -> pa.DataType:
    """list[str] -> list<string>; Mapping[str, float] -> map<string, double>; a TypedDict or a
    dataclass -> a struct; float | None, or float | Failed -> double."""
    plain = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    if hint in plain:
        return plain[hint]
    if is_typeddict(hint) or is_dataclass(hint):
        return pa.struct([(name, arrow_type(own)) for name, own in get_type_hints(hint).items()])
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return pa.string()
    if origin in (Union, UnionType):
        (only,) = (option for option in inner if option not in (NoneType, Failed))
        return arrow_type(only)
    if origin is not None and issubclass(origin, Mapping):
        return pa.map_(arrow_type(inner[0]), arrow_type(inner[1]))
    if origin is not None and issubclass(origin, Sequence):
        return pa.list_(arrow_type(inner[0]))
    raise UserError(f"{hint}: a judge's column cannot be of this type")


def _rows(texts: Sequence[str], read: ReadJson | None) -> Sequence[Mapping[str, Any] | None]:
    """The rows as a judge wrote them; None where it kept nothing."""
    if read is None:
        return [{DETAIL: text} for text in texts]
    kept = from_json(f"[{','.join(texts)}]")
    rows = iter(read([json_text for json_text in kept if json_text]))
    return [next(rows) if json_text else None for json_text in kept]


def _shaped(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly these columns; what is not stored is null."""

    def column(field: pa.Field) -> pa.ChunkedArray:
        if field.name not in table.column_names:
            return pa.nulls(table.num_rows, field.type)
        stored = table[field.name]
        if pa.types.is_dictionary(field.type):
            return stored.dictionary_encode()
        return stored.cast(field.type)

    return pa.table([column(field) for field in schema], schema=schema)
