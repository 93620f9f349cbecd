"""A corpus in memory: rows, Arrow tables and data frames come to what their file comes to."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from evaljudge.config import load_config
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.errors import UserError
from evaljudge.records import Case

ROWS: list[dict[str, Any]] = [
    {"doc_id": "d1", "source": "The rivér rose.", "system": "A", "text": "A flood."},
    {"doc_id": "d1", "source": "The rivér rose.", "system": "B", "text": "It rained."},
    {"doc_id": "d2", "source": "It snowed.", "system": "A", "text": "Snow\nfell."},
]
RATED = [row | {"ratings.fluency": n + 1.0} for n, row in enumerate(ROWS)]


class Stream:
    """What knows Arrow's C interface and nothing else, as a frame of polars does."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class OldFrame:
    """A frame from before that interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        return self._table


def nested(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    documents: dict[str, dict[str, Any]] = {}
    for row in rows:
        named = {"system": row["system"], "text": row["text"]}
        one = named | {"ratings": {"fluency": row["ratings.fluency"]}}
        document = {"doc_id": row["doc_id"], "source": row["source"], "candidates": []}
        documents.setdefault(row["doc_id"], document)["candidates"].append(one)
    return list(documents.values())


def of(folder: Path, corpus: Any, **more: Any) -> CorpusSource:
    given = {"corpus": corpus, "out": str(folder / "out"), "judges": {}, "metrics": ["words"]}
    config = load_config(given | more).corpus
    assert isinstance(config.path, str)
    return CorpusSource(config.path, columns=config.columns)


def read(source: CorpusSource) -> tuple[str, str, list[Case]]:
    with open_corpus(source) as corpus:
        return corpus.digest, corpus.ratings_digest, list(corpus)


def from_a_file(folder: Path) -> tuple[str, str, list[Case]]:
    file = folder / "cases.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in RATED))
    return read(CorpusSource(str(file)))


@pytest.mark.parametrize(
    "corpus",
    [
        RATED,
        tuple(RATED),
        nested(RATED),
        pa.Table.from_pylist(RATED),
        pa.Table.from_pylist(RATED).to_reader(),
        pa.Table.from_pylist(nested(RATED)),
        Stream(pa.Table.from_pylist(RATED)),
        OldFrame(pa.Table.from_pylist(RATED)),
        pd.DataFrame(RATED),
        pd.DataFrame(nested(RATED)),
        pd.DataFrame(RATED).set_index("doc_id"),
        pd.DataFrame([*RATED, *RATED]).drop_duplicates().sort_index(ascending=False),
        pd.DataFrame(RATED).astype({"system": "category"}),
    ],
    ids=lambda corpus: type(corpus).__name__,
)
def test_it_is_the_corpus_that_its_file_is(corpus, tmp_path):
    digest, ratings, cases = read(of(tmp_path, corpus))
    assert (digest, ratings) == from_a_file(tmp_path)[:2]
    assert sorted(case.document.doc_id for case in cases) == ["d1", "d2"]


def test_values_of_numpy_and_frames_are_read_as_in_a_file(tmp_path):
    assert read(of(tmp_path, (row for row in RATED))) == from_a_file(tmp_path)
    rows = [row | {"ratings.fluency": np.float32(n + 1)} for n, row in enumerate(ROWS)]
    assert read(of(tmp_path, rows)) == from_a_file(tmp_path)
    raters = [ROWS[0] | {"ratings": {"fluency": np.array([3, 5])}}]
    ((case,), *_) = read(of(tmp_path, raters))[::-1]
    assert case.candidates[0].raters == {"fluency": (3.0, 5.0)}
    rows = [ROWS[0] | {"context": None}, ROWS[2] | {"context": "Winter."}]
    frame = pd.DataFrame(rows)
    records = [row | {"context": float("nan")} if not row["context"] else row for row in rows]
    assert read(of(tmp_path, frame)) == read(of(tmp_path, rows)) == read(of(tmp_path, records))
    ((_, case), *_) = read(of(tmp_path, [*ROWS[1:2], ROWS[2] | {"text": "a\udc80b"}]))[::-1]
    assert case.candidates[0].text == "a\ufffdb"


@pytest.mark.parametrize("form", [list, pd.DataFrame, pa.Table.from_pylist])
def test_references_and_context_are_a_text_or_a_list_of_them(tmp_path, form):
    """deepeval has one `expected_output`, and a list as `retrieval_context`."""
    given = [("r", ["a", "b"]), ("", []), (None, [None]), (["r", None], "a")]
    rows = [
        {"doc_id": str(n), "source": "s", "text": "t", "references": r, "context": c}
        for n, (r, c) in enumerate(given)
        if form is list or n < 3  # a column of Arrow has one type
    ]
    documents = [case.document for case in read(of(tmp_path, form(rows)))[2]]
    assert [(about.references, about.context) for about in documents] == [
        (("r",), "a\n\nb"),
        ((), None),
        ((), None),
        (("r",), "a"),
    ][: len(rows)]


def test_mistakes_write_nothing_and_columns_have_other_names(tmp_path):
    with pytest.raises(UserError, match="unknown key 'tusk'"):
        of(tmp_path, ROWS, tusk="summary")
    assert not (tmp_path / "out").exists()
    frame = pd.DataFrame(RATED).rename(columns={"source": "article"})
    corpus = {"path": frame, "columns": {"article": "source"}}
    assert read(of(tmp_path, corpus))[:2] == from_a_file(tmp_path)[:2]


def test_the_same_rows_are_one_file(tmp_path):
    first, again, other = (of(tmp_path, rows).path for rows in (ROWS, list(ROWS), RATED))
    assert first == again != other
    assert len(list((tmp_path / "out/corpus").iterdir())) == 2
    given = {"corpus": ROWS, "out": "elsewhere", "judges": {}, "metrics": ["words"]}
    config = load_config(given, [f"out={tmp_path / 'there'}"])
    assert config.corpus_name.startswith(f"{tmp_path}/there/corpus/rows-")
    assert Path(config.corpus_name).is_file()


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        ([*ROWS, "d3"], "corpus: row 4 is str: each row is a dict"),
        (pd.DataFrame(ROWS)["text"], "corpus: row 1 is str: each row is a dict"),
        (
            [ROWS[0], ROWS[1] | {"source": Path("a.txt")}],
            r"corpus: row 2 cannot be written as JSON \(it holds PosixPath\): give texts",
        ),
        (
            pd.DataFrame({"doc_id": ["d1", "d2"], "source": ["a", 3]}),
            "corpus: this DataFrame cannot be written as Parquet .*source.*: leave that column out",
        ),
    ],
    ids=["row", "series", "cell", "column"],
)
def test_what_no_file_can_hold_is_refused_with_its_place(corpus, said, tmp_path):
    with pytest.raises(UserError, match=said):
        of(tmp_path, corpus)


@pytest.mark.parametrize(
    ("form", "place"),
    [
        (list, r"row 4 of the list: doc_id: "),
        (pd.DataFrame, r"row 4 of the frame: doc_id: "),
    ],
    ids=["rows", "frame"],
)
def test_a_bad_row_is_named_with_its_number(form, place, tmp_path):
    with pytest.raises(UserError, match=place):
        read(of(tmp_path, form([*ROWS, ROWS[0] | {"doc_id": None}])))
