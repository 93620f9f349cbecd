"""CSV and Parquet."""

import csv
import json
from math import nan

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.errors import UserError
from evaljudge.records import Candidate, Case, Document


@pytest.fixture
def table(tmp_path):
    def write(content):
        path = tmp_path / "cases.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def parquet(tmp_path):
    def write(columns, **options):
        path = tmp_path / "cases.parquet"
        pq.write_table(pa.table(columns), path, **options)
        return path

    return write


def test_csv(read, table):
    path = table(
        "\ufeffdoc_id, source,references,context,system,text,"
        "ratings,ratings.coherence,ratings.fluency,note\r\n"
        '1,"The river\r\nrose.","[""A flood."", ""Rain.""]",valley,A,"a ""b"", c",,4,nan,x\r\n'
        "\r\n"
        '1,,,,B,,"{""tone"": 3, ""ease"": null}",,2.5,x\r\n'
        "2,Sun.,It shone [1].,,A,Sun,,,,x"
    )
    got = read(path)
    assert got.cases == [
        Case(
            Document("1", "The river\r\nrose.", ("A flood.", "Rain."), "valley"),
            (
                Candidate("A", 'a "b", c', {"coherence": 4.0}),
                Candidate("B", "", {"tone": 3.0, "fluency": 2.5}),
            ),
        ),
        Case(Document("2", "Sun.", ("It shone [1].",)), (Candidate("A", "Sun"),)),
    ]
    assert (got.absent_ratings, got.rated) == (2, 2)


@pytest.mark.parametrize(
    ("cell", "references"),
    [
        ("plain", ("plain",)),
        ("[1] see there", ("[1] see there",)),
        ('"quoted"', ('"quoted"',)),
        ('["a", "b"]', ("a", "b")),
        ("['a', 'b']", ("a", "b")),  # as pandas writes it
        ("['a' 'b']", ("['a' 'b']",)),  # as NumPy writes it: Python would join them
        ("[]", ()),
    ],
)
def test_csv_references_are_a_list_or_one_plain_text(read, tmp_path, cell, references):
    """A source that is such a list is one text."""
    path = tmp_path / "c.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [["doc_id", "source", "references", "system", "text"], ["d", cell, cell, "A", "t"]]
        )
    document = read(path).cases[0].document
    assert document.references == references
    assert document.source == ("\n\n".join(references) or "[]")


HEAD = "doc_id,source,system,text,ratings,ratings.x\n"
GOOD = "g,s,A,t,,\n"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'd,"s\n",A,t,,good\n', "ratings.x: 'good' is no number"),
        (b"d,s,A,t,good,\n", "ratings: must be an object, not str"),
        (b'd,s,A,t,"{""x"": ""x4""}",\n', "ratings: 'x' must be a number"),
        (b",s,A,t,,\n", "doc_id: is empty"),
        (b"d,s,,t,,\n", "system: is empty"),
        (b"d,s\n", "2 cells under a header of 6"),
        (b"d,s,A,t,\n", "5 cells under a header of 6"),
        (b"d,s,A,t,,,more\n", "7 cells under a header of 6"),
        (b"d,s\xff,A,t,,\n", "not UTF-8"),
        *(
            (f"d,s,A,t,,{cell}\n".encode(), "ratings: 'x' must be a number")
            for cell in ('"[""x4""]"', "[[4]]")
        ),
        *(
            (f'd,s,A,t,,"{cell}"\n'.encode(), f"ratings.x: '{cell}' is no number")
            for cell in ("[4, 5", "{4}", "1_0", "٤", "1,000,000")
        ),
        (
            b'd,s,A,t,,"4,5"\n',
            "ratings.x: '4,5' has a comma: write 4.5, or separate the table by semicolons",
        ),
        (
            b'd,s,A,t,,"1,000"\n',
            "ratings.x: '1,000' has a comma: write 1.000, or 1000 if the comma marks thousands",
        ),
        (b'd,s,"A"B,t,,\n', "not valid CSV (',' expected after '\"')"),
    ],
)
def test_bad_csv_rows_are_named_by_the_line_they_begin_on(read, table, line, problem):
    path = table(HEAD.encode() + b"\n" + line + GOOD.encode())
    with pytest.raises(UserError) as raised:
        read(path)
    # a blank line is no record, so the record after it is the one that begins on line 3
    assert f"1 bad row in the corpus: cases.csv:3: {problem}" in str(raised.value)
    assert read(path, "skip").texts == {"g": [("A", "t")]}


def test_separators_and_open_quotes(read, table):
    assert read(table(f"\ufeffsep=,\r\n{HEAD}{GOOD}")).texts == {"g": [("A", "t")]}
    assert read(table(f"sep=;\n{HEAD}{GOOD}".replace(",", ";"))).texts == {"g": [("A", "t")]}
    with pytest.raises(UserError, match=r"cases\.csv:3: not valid CSV \(unexpected end of data\)"):
        read(table(HEAD + GOOD + 'd,"s,A,t,,\n' + GOOD))


def test_csv_cells_of_a_megabyte_and_strange_characters(read, tmp_path):
    long, strange = "x" * 1_500_000, "\x00\x1b\r 👩‍👩‍👧 \u2028 שלום"
    path = tmp_path / "c.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [["doc_id", "source", "system", "text"], ["d", long, strange, strange]]
        )
    assert read(path).cases == [Case(Document("d", long), (Candidate(strange, strange),))]


@pytest.mark.parametrize("content", ["", HEAD, HEAD + ",,,,,\n"])
def test_csv_without_rows(read, table, content):
    assert read(table(content)).cases == []


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("first", ["doc_id", '"doc_id"', "\n\ndoc_id"])
def test_other_separators_with_decimal_commas(read, table, separator, first):
    """A comma in a name or a text separates nothing, nor does one between digits of a text."""
    names = [first, "source", "system", "text", "ratings.tone", "ratings.a, b", "references"]
    rows = [
        names,
        ["d", "1,5", "A", "a, b", "4,5", "[3, 4]", "2,5"],
        ["d", "", "B", "t", "", " -1,25", ""],
    ]
    found = read(table("\n".join(separator.join(row) for row in rows)))
    (case,) = found.cases
    assert (case.document.source, case.document.references) == ("1,5", ("2,5",))
    assert [(one.text, one.ratings) for one in case.candidates] == [
        ("a, b", {"tone": 4.5, "a, b": 3.5}),
        ("t", {"a, b": -1.25}),
    ]


@pytest.mark.parametrize(
    ("cells", "read_as", "refused"),
    [
        (["4,5", "1.100", "3,5"], [4.5, 3.5], "'1.100' beside '4,5'"),
        (["1.100", "4,5"], [1.1], "'4,5' beside '1.100'"),
        (["1.101", "0.912", "4"], [1.101, 0.912, 4.0], ""),
        (["4,5", "0.912", "1.5"], [4.5, 0.912, 1.5], ""),
    ],
)
def test_a_mark_for_thousands_is_never_read_as_a_point(read, table, cells, read_as, refused):
    rows = [f"d{n};s;A;t;{cell}" for n, cell in enumerate(cells)]
    found = read(table("\n".join(["doc_id;source;system;text;ratings.x", *rows])), "skip")
    assert [case.candidates[0].ratings["x"] for case in found.cases] == read_as
    assert len(found.skipped) == bool(refused)
    assert all(
        f"ratings.x: {refused}: write thousands without a mark" in one for one in found.skipped
    )


NESTED = {"doc_id": [7], "source": ["s"], "references": [["r", "q"]], "context": [None]}
MAP, LIST = pa.map_(pa.string(), pa.float64()), pa.list_(pa.float64())
ONE = Candidate("A", "a", {"x": 4.0})
SEVERAL = Candidate("A", "a", {"x": 3.0}, {"x": (4.0, nan, 2.0)})


@pytest.mark.parametrize(
    ("ratings", "kind", "expected"),
    [
        ({"x": 4.0, "y": None}, pa.struct({"x": pa.float64(), "y": pa.float64()}), ONE),
        ({"x": 4, "y": None}, MAP, ONE),
        (json.dumps({"x": 4, "y": float("nan")}), pa.string(), ONE),
        ({"x": [4, None, 2]}, pa.struct({"x": LIST}), SEVERAL),
        ({"x": [4, None, 2]}, pa.map_(pa.string(), LIST), SEVERAL),
        ('{"x": [4, null, 2]}', pa.string(), SEVERAL),
    ],
)
def test_parquet_ratings_as_struct_map_or_json(read, parquet, ratings, kind, expected):
    candidate = pa.struct({"system": pa.string(), "text": pa.string(), "ratings": kind})
    candidates = [
        {"system": "A", "text": "a", "ratings": ratings},
        {"system": "B", "text": None, "ratings": None},
    ]
    nested = {**NESTED, "candidates": pa.array([candidates], pa.list_(candidate))}
    flat = {name: values * 2 for name, values in NESTED.items()}
    flat |= {"system": ["A", "B"], "text": ["a", None], "ratings": pa.array([ratings, None], kind)}
    for columns in (nested, flat):
        got = read(parquet(columns))
        assert got.cases == [Case(Document("7", "s", ("r", "q")), (expected, Candidate("B", "")))]
        assert (got.absent_ratings, got.rated) == (1, 1)


def test_parquet_rows_are_numbered_across_batches(read, parquet):
    ids = [f"d{n}" for n in range(1000)]
    ids[998] = None
    columns = {"doc_id": ids, "source": ["s"] * 1000, "system": ["A"] * 1000, "text": ["t"] * 1000}
    path = parquet(columns, row_group_size=300)
    with pytest.raises(UserError, match=r": cases\.parquet: row 999: doc_id: must"):
        read(path)
    assert len(read(path, "skip").cases) == 999


def test_parquet_that_cannot_be_rows_is_refused(read, parquet):
    columns = {"doc_id": ["a", "b"], "source": ["s", "s"], "system": ["A", "A"]}
    texts = pa.array([b"t", b"\xff"], pa.binary()).view(pa.string())
    ratings = pa.array([[("x", 1), ("x", 5)], []], pa.map_(pa.string(), pa.int64()))
    for bad in ({"text": texts}, {"text": ["t", "t"], "ratings": ratings}):
        with pytest.raises(UserError, match=r"cases\.parquet: not readable as Parquet \("):
            read(parquet(columns | bad), "skip")
    with pytest.raises(UserError, match="no row of the corpus has a field `text`"):
        read(parquet({"doc_id": ["a"], "source": ["s"], "system": ["A"]}))
    with pytest.raises(UserError, match="source: must be a string, not bytes"):
        read(parquet({"doc_id": ["a"], "source": [b"s"], "system": ["A"], "text": ["t"]}))


def test_a_parquet_page_that_does_not_match_its_checksum_is_refused(read, tmp_path):
    """As in the scores of a run that a disk has damaged, which `agree` may be given."""
    row = {"doc_id": ["d"], "source": ["s"], "system": ["A"], "text": ["a summary"]}
    how = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pa.table(row), tmp_path / "c.parquet", **how, write_statistics=False)
    content = (tmp_path / "c.parquet").read_bytes()
    (tmp_path / "c.parquet").write_bytes(content.replace(b"summary", b"summery"))
    with pytest.raises(UserError, match=r"c\.parquet"):
        read(tmp_path / "c.parquet")


@pytest.mark.parametrize("cell", ["", "null", "{}"])
def test_cells_that_hold_no_ratings(read, parquet, table, cell):
    columns = {name: ["a"] for name in ("doc_id", "source", "system", "text")}
    assert read(parquet({**columns, "ratings": [cell]})).rated == 0
    assert read(table(f"doc_id,source,system,text,ratings\na,s,A,t,{cell}\n")).rated == 0


@pytest.mark.parametrize("cell", ["NA", "N/A", "n/a", "-", "null", "nan"])
def test_a_cell_that_says_that_there_is_no_rating(read, table, cell):
    got = read(table(f"{HEAD}\nd,s,A,t,,{cell}\n".encode()))
    assert (got.absent_ratings, got.rated, got.texts) == (1, 0, {"d": [("A", "t")]})
