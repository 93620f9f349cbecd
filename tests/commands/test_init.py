"""`evaljudge init`: what it writes loads, passes `check`, and says what was recognised."""

import csv
import io
import json
import re
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.commands.init import Ask, Started, init
from evaljudge.commands.options import InitOptions
from evaljudge.commands.plan import planned
from evaljudge.config import load_config
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.plugins import kinds
from evaljudge.runs.job import corpus_of
from tests.build import command, lines

THEIRS = ("id", "article", "model", "summary", "human_fluency")
OURS = ("doc_id", "source", "system", "text", "ratings.fluency")
FLAT = [(f"d{n}", f"article {n}", s, f"{s} of {n}", 1 + n) for n in range(3) for s in "AB"]
COLUMNS = dict(zip(THEIRS, OURS, strict=True))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_rows(names: Sequence[str]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in FLAT]


def write(form: str, rows: list[dict[str, Any]]) -> str:
    file = f"texts.{form}"
    if form == "jsonl":
        Path(file).write_text("\n".join(map(json.dumps, rows)))
    elif form == "csv":
        with open(file, "w", newline="") as stream:
            table = csv.DictWriter(stream, rows[0])
            table.writeheader()
            table.writerows(rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), file)
    return file


def nested() -> list[dict[str, Any]]:
    return [
        {"doc_id": f"d{n}", "source": f"article {n}", "references": ["a reference"],
         "candidates": [{"system": s, "text": f"{s} of {n}", "ratings": {"fluency": 1 + n}}
                        for s in "AB"]}
        for n in range(3)
    ]  # fmt: skip


def made(corpus: str, ask: Ask | None = None, **given: Any) -> Started:
    usual = {"task": "summary", "model": "my/m", "judges": ["direct"], "to": Path("config.yaml"),
             "out": "runs/first"}  # fmt: skip
    return init(InitOptions(corpus=corpus, **(usual | given)), ask)


def passes() -> None:
    assert planned("config.yaml", engines=ScriptedEngines()).exit_code == 0


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_row_for_each_candidate_with_other_names(form):
    started = made(write(form, as_rows(THEIRS)))
    assert started.summary == "3 documents with 6 texts of 2 systems; people rated fluency 6"
    config = load_config("config.yaml")
    assert (config.corpus.columns, config.axes) == (COLUMNS, ["fluency"])
    assert "axis: fluency" in Path("config.yaml").read_text()
    passes()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_row_for_each_document(form):
    started = made(write(form, nested()))
    assert started.summary == "3 documents with 6 texts of 2 systems; people rated fluency 6"
    config = load_config("config.yaml")
    assert config.corpus.columns == {}
    assert list(config.metrics) == ["words", "importance", "rouge1"]
    passes()


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_judge_can_be_begun_with(kind):
    made(write("csv", as_rows(THEIRS)), judges=[kind])
    assert list(load_config("config.yaml").judges) == [kind]
    passes()


def test_every_judge_can_be_begun_with_in_sentences():
    made(write("csv", as_rows(THEIRS)), judges=["roles"])
    assert load_config("config.yaml").judges == {"roles": {"reference": "written"}}
    made(write("jsonl", nested()), judges=["roles"], force=True)
    assert load_config("config.yaml").judges == {"roles": {}}
    made(write("csv", as_rows(THEIRS)), model="nano", task="dialogue", force=True)
    lines = Path("config.yaml").read_text().splitlines()
    comments = [line.strip() for line in lines if line.strip().startswith("#")]
    assert len(comments) > 8
    assert all(one[2].isupper() and one.endswith(".") for one in comments)


def test_contexts_and_ratings_that_the_task_lacks_are_told():
    made(write("csv", as_rows(THEIRS)), task="dialogue")
    assert "groundedness" not in (load_config("config.yaml").axes or [])
    with_fact = [row | {"context": "a fact"} for row in as_rows(OURS)]
    made(write("csv", with_fact), task="dialogue", force=True)
    assert "groundedness" in (load_config("config.yaml").axes or [])
    rows = [row | {"tone": 3} for row in as_rows(THEIRS)]
    (warning,) = made(write("csv", rows), force=True).warnings
    assert warning.startswith("not read, but these look like ratings: `tone`; ")
    again = "evaljudge init --corpus texts.csv --task summary --model my/m --judge direct --force"
    assert f"give `{again} --column tone=ratings.tone`, with other axes if you like (" in warning
    assert "tone" not in load_config("config.yaml").corpus.columns


def test_bad_rows_and_ids_are_named():
    file = write("jsonl", nested())
    Path(file).write_text(Path(file).read_text() + "\n{")
    (warning,) = made(file).warnings
    assert "texts.jsonl:4: not valid JSON" in warning
    assert load_config("config.yaml").bad_rows == "skip"
    passes()
    rows = [row | {"human_fluency": f"{row['human_fluency']},5"} for row in as_rows(THEIRS)]
    with pytest.raises(UserError, match=r"6 of 6 rows are bad: .* human_fluency: '1,5' has a"):
        made(write("csv", rows), force=True)
    rows = [row | {"id": f"t{n}"} for n, row in enumerate(as_rows(THEIRS))]
    file = write("csv", rows)
    (warning,) = made(file, force=True, columns=["id=doc_id"]).warnings
    assert "`doc_id` should name the source, not the text" in warning
    (warning,) = made(file, force=True).warnings
    assert "rows with the same `source` are taken for one document" in warning
    assert load_config("config.yaml").corpus.columns["id"] == ""  # so that no run advises it
    assert "`id`" not in planned("config.yaml", engines=ScriptedEngines()).text


def test_names_and_servers_are_written_as_yaml_reads_them():
    Path("a: b #c").mkdir()
    rows = [row | {"yes": 3} for row in as_rows(THEIRS)]
    Path(write("csv", rows)).rename("a: b #c/1.csv")
    made("a: b #c/1.csv", out="no")
    config = load_config("config.yaml")
    assert (config.corpus.path, config.out) == ("a: b #c/1.csv", "no")
    made(write("csv", as_rows(THEIRS)), model="http://localhost:1/v1", force=True)
    model = load_config("config.yaml").model
    assert model and model.endpoint and model.endpoint.url == "http://localhost:1/v1"


def test_it_asks_for_what_was_not_given_and_again_after_a_mistake(capsys):
    given = write("csv", [row | {"url": "x.org"} for row in as_rows(THEIRS)])
    answers = iter([
        *(given, "sumary", "summary", "n", "a=b", "--column url=context", "m", "direct, geval")
    ])  # fmt: skip
    asked = list[tuple[str, str]]()

    def ask(question: str, default: str) -> str:
        asked.append((question, default))
        return next(answers)

    init(InitOptions(), ask)
    assert [default for _, default in asked] == [
        *("", "summary", "summary", "ok", "ok", "ok", "", "synthetic")
    ]
    said = capsys.readouterr().out
    assert "n: write it as THEIRS=OURS\nunknown column 'a'" in said and "--column" not in said
    assert "did you mean 'summary'?" in said
    pairs = "".join(f"  {theirs} = {ours}\n" for theirs, ours in COLUMNS.items())
    assert asked[3][0].startswith(
        f"Its columns:\n{pairs}  not read: `url`\nPress Enter if this is "
    )
    config = load_config("config.yaml")
    assert list(config.judges) == ["direct", "geval"]
    assert config.corpus.columns == COLUMNS | {"url": "context"}


@pytest.mark.parametrize(
    ("names", "lacking"),
    [(("a", "b", "c", "d", "e"), "source"), (("doc_id", "article", "c", "d", "e"), "text")],
)
def test_columns_that_are_not_known_are_asked_for_until_they_are_said(names, lacking, capsys):
    file, asked = write("csv", as_rows(names)), list[tuple[str, str]]()
    others = ", ".join(f"{a}={b}" for a, b in zip(names, OURS, strict=True) if a != b)
    answers = iter(["ok", others])

    def ask(question: str, default: str) -> str:
        asked.append((question, default))
        return next(answers)

    made(file, ask)
    assert [default for _, default in asked] == ["", ""]
    needed = f"needed: `{lacking}`"
    assert needed in capsys.readouterr().out and needed in asked[0][0]
    assert f"={lacking}`" in asked[0][0] and "Press Enter" not in asked[0][0]
    assert asked[1][0] == asked[0][0].splitlines()[-1]  # the list of columns is shown once
    said = f"no .*field `{lacking}` .*; seen: .*`--column .*THEIR_{lacking.upper()}={lacking}"
    with pytest.raises(UserError, match=said):
        made(file, force=True)
    made(
        file,
        columns=[
            f"{theirs}={ours}" for theirs, ours in zip(names, OURS, strict=True) if theirs != ours
        ],
        force=True,
    )
    passes()


HEADERS = """
article_id=doc_id article=source bot=system generated_text=text fluency_r1=ratings.fluency \
fluency_r2=ratings.fluency
id=doc_id question=source model=system answer=text gold=references rater_1 rater_2
prompt=source completion=text
article=source summary=text fluency=ratings.fluency gpt4_fluency llama_fluency
article=source summary=text gpt4_fluency fluency_llama
article=source summary=text rating_fluency=ratings.fluency fluency_r2=ratings.fluency fluency_std
article=source summary=text q1_fluency fluency_sd judge_fluency
article=source summary=text fluency_median=ratings.fluency fluency_max llm_fluency fluency_count
article=source summary=text fluency_mean fluency_r1=ratings.fluency fluency_r2=ratings.fluency
article=source summary=text judge1_fluency=ratings.fluency judge2_fluency=ratings.fluency
story_id=doc_id prompt=source story=text Agent=system
Artikel-Nr.=doc_id Artikel=source Modell=system Zusammenfassung=text
premise=source hypothesis=text
messages=source completion=text
article=source summary=text ratings.ann.b.fluency=ratings.fluency \
ratings.fluency.dr._ben_=ratings.fluency
prompt_id=doc_id prompt=source model_name=system model_output=text human_fluency=ratings.fluency url
article=source summary=text anna_fluency=ratings.fluency ben_fluency=ratings.fluency
docId=doc_id sourceText=source systemName=system modelResponse=text source_url response_tokens
example_id=doc_id conversation=source chatbot=system reply=text context coherence_anna=\
ratings.coherence coherence_ben=ratings.coherence coherence_mean
document=source summary=text Fluency_(Rater_1)=ratings.fluency Fluency_[Rater_2]=ratings.fluency
document=source summary=text Anna_-_Fluency=ratings.fluency ben_-_fluency=ratings.fluency
document=source summary=text Ann:_Fluency=ratings.fluency Ben:_Fluency=ratings.fluency Fluency_(avg)
document=source reference_summary=references system system_summary=text annotator_id=rater
uid=doc_id input=source output=text expected_output=references rouge_1 rater1 rater2
user_input=source response=text retrieved_contexts=context
doc=doc_id source llm=system prediction=text Fluency_(1-5)=ratings.fluency
Quelltext=source Modell=system Zusammenfassung=text Bewertung
article=source sys=system résumé=text
"""


@pytest.mark.parametrize("header", HEADERS.replace("\\\n", "").strip().splitlines())
def test_plausible_headers_are_understood(header):
    """Documents and texts without names get some; columns of raters share an axis."""
    columns = {theirs: ours for theirs, _, ours in (c.partition("=") for c in header.split())}
    rated = re.compile(r"[Ff]luency|coherence|rater|annotator|rouge")
    columns = {
        re.sub("(?<=:)_|_(?=-)|(?<=-)_", " ", theirs): ours for theirs, ours in columns.items()
    }
    rows = [{c: 1 + n % 4 if rated.search(c) else f"{c} {n}" for c in columns} for n in range(6)]
    made(write("csv", rows))
    config = load_config("config.yaml")
    assert config.corpus.columns == {theirs: ours for theirs, ours in columns.items() if ours}
    with open_corpus(corpus_of(config)) as corpus:
        case = next(iter(corpus))
    assert (corpus.cases, len(case.candidates), bool(case.document.source)) == (6, 1, True)
    axes = [axis for axis, *_ in case.candidates[0].raters]
    assert len(axes) == any(
        rater in header for rater in ("_r2", "_ben", "ben_", "judge2", "Rater_2", "Ben:")
    )
    passes()


@pytest.mark.parametrize("missing", ["corpus", "task", "model", "judge"])
def test_without_a_terminal_a_missing_flag_is_named(missing, capsys, monkeypatch):
    file = write("csv", as_rows(THEIRS))
    flags = {"corpus": file, "task": "summary", "model": "nano", "judge": "direct"}
    del flags[missing]
    monkeypatch.setattr("sys.stdin", io.StringIO())
    words = ("init", *(f"--{name}={value}" for name, value in flags.items()))
    said = command(capsys, *words, code=2)[1]
    assert f"--{missing} is missing" in said and "?" in said
    assert "dialogue, story" in said or missing != "task"
    assert said.count("\n") == 1
    assert not Path("config.yaml").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_command_ends_with_the_next_commands(capsys):
    file = write("csv", as_rows(THEIRS))
    flags = [f"--corpus={file}", "--task=summary", "--model=nano", "--judge=direct"]
    assert command(capsys, "init", *flags, "--to", "new/c.yaml")[0].splitlines()[-2:] == [
        f"  evaljudge {name} new/c.yaml" for name in ("plan", "run")
    ]


def test_nothing_is_overwritten_unless_forced():
    file = write("csv", as_rows(THEIRS))
    Path("config.yaml").write_text("mine")
    with pytest.raises(UserError, match=r"config\.yaml: is there already: .*--force"):
        made(file)
    assert Path("config.yaml").read_text() == "mine"
    made(file, force=True)
    passes()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"task": "sumary"}, "did you mean 'summary'?"),
        ({"judges": ["direkt"]}, "did you mean 'direct'?"),
        ({"model": " "}, "a model needs a name"),
        ({"columns": ["source=article"]}, "the other way round: `--column article=source`"),
        (
            {"columns": ["article=fluency"]},
            "unknown field 'fluency': did you mean 'ratings.fluency'",
        ),
        ({"corpus": "none.csv"}, "none.csv: no such file or folder"),
    ],
)
def test_wrong_flags(given, words):
    with pytest.raises(UserError, match=words.replace("?", r"\?")):
        made(**({"corpus": write("csv", as_rows(THEIRS))} | given))


def test_a_row_for_each_rater_needs_their_names():
    rows = [row | {"human_fluency": rating} for row in as_rows(THEIRS) for rating in (4, 2)]
    said = r"texts\.csv:3: the text of texts\.csv:2 again. Several rows for one text: .*`rater`"
    with pytest.raises(UserError, match=said):
        made(write("csv", rows))
    named = [row | {"worker_id": f"w{n % 2}"} for n, row in enumerate(rows)]
    assert "worker_id = rater" in made(write("csv", named)).columns
    samples = [row | {"summary": f"A reply {n}"} for n, row in enumerate(rows)]
    with pytest.raises(UserError, match=r"csv:2\)\. Several texts of one system"):
        made(write("csv", samples), force=True)


WIDE = {
    "words last": ("{}_summary", "{}_fluency", "{}_tone"),
    "words first": ("summary: {}", "fluency {}", "tone/{}"),
    "systems alone": ("{}", "{}_fluency", "{}.tone"),
    "ratings of the texts": ("{}-output", "{}-output-fluency", "{}-tone"),
}


@pytest.mark.parametrize("form", ["csv", "jsonl", "semicolons"])
@pytest.mark.parametrize("shape", WIDE)
def test_a_column_for_each_system_becomes_a_text_for_each(shape, form, capsys):
    """An empty text is one, as in a table of texts, and the same file is made again."""
    rows = []
    for n in range(3):
        row = {"item": f"d{n}", "document": f"Of {n}", "url": "x.org"}
        for system in ("gpt-4", "gpt-4-turbo"):
            values: tuple[Any, ...] = (f"{system} of {n}", n + 1.5, 4)
            if n == 2 and system == "gpt-4":
                none = nan if shape == "words last" else None
                values = (none, nan, 4) if form == "jsonl" else ("", "nan", 4)
            row |= dict(zip((name.format(system) for name in WIDE[shape]), values, strict=True))
        rows.append(row)
    file = write("jsonl" if form == "jsonl" else "csv", rows)
    if form == "semicolons":
        table = [[str(cell) for cell in row.values()] for row in rows]
        lines = [";".join(rows[0]), *(";".join(row).replace(".5", ",5") for row in table)]
        Path(file).write_text("\n".join(lines))
    for _ in range(2):
        started = made(file, to=Path("new/c.yaml"), force=True)
    assert started.summary == "3 documents with 6 texts of 2 systems; people rated fluency 5"
    assert "NaN" not in Path("new/texts.long.jsonl").read_text()
    assert f", {WIDE[shape][1].format('gpt-4-turbo')} is " in capsys.readouterr().out
    assert any("look like ratings: `tone`; " in warning for warning in started.warnings)
    config = load_config("new/c.yaml")
    assert config.corpus.path == "new/texts.long.jsonl"
    with open_corpus(corpus_of(config)) as corpus:
        read = [
            (case.document.doc_id, case.document.source, text.system, text.text, text.ratings)
            for case in corpus for text in case.candidates
        ]  # fmt: skip
    assert planned("new/c.yaml", engines=ScriptedEngines()).exit_code == 0
    assert read == [
        (f"d{n}", f"Of {n}", system, "" if is_empty else f"{system} of {n}",
         {} if is_empty else {"fluency": n + 1.5})
        for n in range(3) for system in ("gpt-4", "gpt-4-turbo")
        for is_empty in [(n, system) == (2, "gpt-4")]
    ]  # fmt: skip


def test_a_longer_table_overwrites_nothing_and_keeps_given_columns():
    rows = [{"nr": n, "body": f"Of {n}", "a_story": f"a {n}", "b_story": f"b {n}"} for n in (1, 2)]
    file = write("csv", rows)
    made(file, columns=["body=source", "nr=doc_id"])
    assert lines("texts.long.jsonl")[0] == {
        "doc_id": "1", "source": "Of 1", "candidates": [
            {"system": "a", "text": "a 1"}, {"system": "b", "text": "b 1"}]}  # fmt: skip
    with pytest.raises(UserError, match="unknown column 'a_story'"):
        made(file, columns=["body=source", "nr=doc_id", "a_story=ratings.fluency"], force=True)
    Path("texts.long.jsonl").write_text("mine")
    with pytest.raises(UserError, match=r"texts\.long\.jsonl: is there, and is not what texts"):
        made(file, columns=["body=source", "nr=doc_id"], to=Path("another.yaml"))
    with pytest.raises(UserError, match="a model needs a name"):
        made(file, columns=["body=source", "nr=doc_id"], force=True, model=" ")
    assert Path("texts.long.jsonl").read_text() == "mine"
    made(file, columns=["body=source", "nr=doc_id"], force=True)
    assert len(lines("texts.long.jsonl")) == 2
    started = made(file, columns=["body=source", "b_story=text"], force=True)  # of one system alone
    assert started.summary == "2 documents with 2 texts; people rated nothing"


def test_ratings_of_each_system_and_raters_of_a_wide_table():
    """A row of one rater is of one text; what is not to be read is left out."""
    rows = [
        {"id": "d", "article": "Of", "annotator": rater, "A_output": "a", "A_ratings": 4,
         "B_output": "b", "B_ratings": "", "B_tone": 2}
        for rater in ("anna", "ben")
    ]  # fmt: skip
    started = made(write("csv", rows), columns=["B_tone=", "rating=ratings.fluency"])
    assert started.summary.endswith("2 texts of 2 systems; people rated fluency 1")
    about = {"doc_id": "d", "source": "Of"}
    texts = {"system": "A", "text": "a", "rating": 4.0}, {"system": "B", "text": "b"}
    assert lines("texts.long.jsonl") == [
        {**about, "rater": rater, **text} for rater in ("anna", "ben") for text in texts
    ]
    bare = [{n: cell for n, cell in rows[0].items() if n != "annotator"}]
    bare[0] |= {"B_ratings": '{"fluency": 3}'}
    given = ["B_tone=", "rating=ratings.tone"]
    assert made(write("csv", bare), columns=given, force=True).summary.endswith("tone 1, fluency 1")


@pytest.mark.parametrize(
    "more",
    [
        {"summary": "bare"},  # whose is it?
        {"llama_answer": "of another kind"},
        {"gpt4 fluency": 2},  # twice
        {"model_gpt4": "which?"},
    ],
)
def test_a_doubtful_table_of_systems_is_not_read_as_one_system(more):
    row = {"article": "Of", "gpt4_summary": "a", "llama_summary": "b", "fluency_gpt4": 2}
    said = r"several columns look like texts \(`gpt4_summary`, .*\): give each text a row"
    with pytest.raises(UserError, match=said):
        made(write("csv", [row | more | {"id": n} for n in range(3)]))
    with pytest.raises(UserError, match="or, in CSV or JSON, each system a column"):
        made(write("parquet", [row | {"id": n} for n in range(3)]))
    assert not Path("texts.long.jsonl").exists()


TEXT = "The council closed the old bridge on Monday."
NO_SHAPE: dict[str, tuple[dict[str, Any], str]] = {
    "no header": ({"d0": "d1", TEXT + " Traffic goes over it.": TEXT, "A": "B"}, "is the header"),
    "no texts": ({"article_id": "d1", "bot": "A", "fluency": 4}, "no column holds texts: add"),
}


@pytest.mark.parametrize("why", NO_SHAPE)
def test_what_is_the_matter_with_a_table_that_no_shape_fits(why):
    row, said = NO_SHAPE[why]
    with pytest.raises(UserError, match=said) as raised:
        made(write("csv", [row, row]))
    assert "`evaljudge init`" not in str(raised.value)


def test_a_hint_names_the_column_as_it_is_called():
    row = {"title": "T", "content": TEXT, "output": "t", "model": "A", "fluency": 4}
    with pytest.raises(UserError, match="`--column content=source`"):
        made(write("csv", [row]))


def test_raters_of_systems_that_letters_name_are_found():
    row = {"article": TEXT, "A": "one text", "B": "another", "A_rater1": 4, "A_rater2": 5}
    rows = [row | {"id": n, "B_rater1": 2, "B_rater2": 1} for n in range(3)]
    (warning,) = made(write("csv", rows)).warnings
    assert "look like ratings: `rater1`, `rater2`" in warning
    advised = [f"rater{n}=ratings.fluency" for n in (1, 2)]
    given = made(write("csv", rows), columns=advised, force=True)
    assert given.summary.endswith("6 texts of 2 systems; people rated fluency 6")


@pytest.mark.parametrize("raters", [(), ("anna", "ben")])
def test_a_row_for_each_axis_becomes_one_for_each_text(raters, capsys):
    """Without a name of the rater, a second score of a text on an axis has no place."""
    rows = [
        {"id": f"d{n}", "article": f"Of {n}", "summary": f"Text {n}", "criterion": axis,
         "score": "n/a" if n == 0 else n + len(rater), "comment": "so"}
        | ({"worker_id": rater} if rater else {})
        for n in range(3) for rater in raters or ("",) for axis in ("Fluency", "coherence")
    ]  # fmt: skip
    started = made(write("csv", rows))
    assert started.summary == "3 documents with 3 texts; people rated fluency 2, coherence 2"
    said = capsys.readouterr().out
    assert said.startswith(
        "texts.csv has a row for each axis, so texts.long.jsonl is made of it: id is doc_id, "
    )
    assert "criterion is the axes fluency, coherence, score is the ratings, comment" in said
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        (text,) = corpus.find("d2").candidates
    if raters:
        assert text.raters == {"fluency": (6.0, 5.0), "coherence": (6.0, 5.0)}
    else:
        assert (text.ratings, text.raters) == ({"fluency": 2.0, "coherence": 2.0}, {})
    whose = "by 'ben' for one text$" if raters else "for one text: name the `rater`"
    with pytest.raises(UserError, match=rf"texts\.csv:\d+: a second score of 'coherence' {whose}"):
        made(write("csv", [*rows, rows[-1]]), force=True)


@pytest.mark.parametrize("at", [0, 3])
@pytest.mark.parametrize(
    ("empty", "said"),
    [
        ("worker_id", r":\d: some scores of this text have a `rater`, and some none"),
        ("criterion", r":\d: needs `criterion`"),
    ],
)
def test_a_score_that_lacks_its_rater_or_axis_is_refused(empty, said, at):
    """In a table whose aspect is none of a rating it may be empty, and so may a text's rater."""
    rows = [
        {"id": "d", "article": "Of", "model": "A", "summary": "It", "criterion": axis,
         "score": 3, "worker_id": worker}
        for worker in ("anna", "ben") for axis in ("fluency", "coherence")
    ]  # fmt: skip
    lacking = [row | ({empty: ""} if n == at else {}) for n, row in enumerate(rows)]
    for form in ("csv", "jsonl"):
        kept = [{n: cell for n, cell in row.items() if form == "csv" or cell} for row in lacking]
        with pytest.raises(UserError, match=said):
            made(write(form, kept))
    assert not Path("texts.long.jsonl").exists()
    alone = rows[at] | {"id": "e", "article": "Other", empty: ""}
    made(write("csv", [*rows, alone] if empty == "worker_id" else [rows[0], alone]))
    read = load_config("config.yaml").corpus.path
    assert read == ("texts.long.jsonl" if empty == "worker_id" else "texts.csv")


def test_the_columns_of_a_wide_table_say_its_task():
    asked = list[str]()

    def ask(question: str, default: str) -> str:
        asked.append(default)
        return default

    made(
        write("csv", [{"question": "Why?", "a_response": "So", "b_response": "No"}]), ask, task=None
    )
    assert asked[0] == "dialogue"


def test_an_aspect_of_the_document_is_no_axis():
    rows = [row | {"aspect": f"of {row['model']}", "score": 3} for row in as_rows(THEIRS)]
    made(write("csv", rows))
    assert load_config("config.yaml").corpus.path == "texts.csv"


def test_one_bad_cell_among_ratings_drops_its_row_and_no_column():
    names = ("id", "article", "model", "summary", "fluency_r1")
    rows = [row | {"fluency_r2": 3} for row in as_rows(names)]
    rows[4]["fluency_r1"] = "four"
    started = made(write("csv", rows))
    assert started.summary.endswith("with 5 texts of 2 systems; people rated fluency 5")
    (warning,) = started.warnings
    said = "1 bad row of the corpus was skipped; texts.csv:6: fluency_r1: 'four' is no number"
    assert warning == said
    rows[5]["fluency_r1"] = "two"  # too many for slips
    assert "look like ratings: `fluency_r2`; " in made(write("csv", rows), force=True).warnings[-1]


def test_a_given_axis_is_not_extended_by_a_guess(capsys):
    """`human_fluency` rates another text, which a person wrote."""
    rows = [{"article": f"a {n}", "gpt4_output": f"g {n}", "gpt4_fluency": 1 + n % 4,
             "human_output": f"h {n}", "human_fluency": 5 - n % 4, "coherence": 2}
            for n in range(6)]  # fmt: skip
    given = {"article": "source", "gpt4_output": "text", "gpt4_fluency": "ratings.fluency"}
    file = write("csv", rows)
    *_, warning = made(file, columns=[f"{n}={to}" for n, to in given.items()]).warnings
    assert "`human_fluency`; if people gave them, give" in warning
    columns = load_config("config.yaml").corpus.columns
    assert [n for n, to in columns.items() if to == "ratings.fluency"] == ["gpt4_fluency"]
    assert columns["coherence"] == "ratings.coherence"
    options = [word for n, to in given.items() for word in ("--column", f"{n}={to}")]
    said, _ = command(capsys, "agree", "--cases", file, *options, "--metrics", "words")
    assert "coherence = ratings.coherence" in said and "human_fluency =" not in said


def test_a_slip_in_an_axis_is_said():
    file = write("csv", as_rows(THEIRS))
    said = "the task has no axis 'flency' that people rated: did you mean 'fluency'?"
    assert said in made(file, columns=["human_fluency=ratings.flency"]).warnings
    with pytest.raises(UserError, match=r"human_fluency=ratings\.fluency\.r1: .*`ratings.fluency`"):
        made(file, columns=["human_fluency=ratings.fluency.r1"], force=True)


def test_tables_of_other_headers_are_refused():
    for name, names in {"a": THEIRS, "b": ("id", "text_of", "bot", "output", "fluency")}.items():
        Path(write("csv", as_rows(names))).rename(f"{name}.csv")
    with pytest.raises(
        UserError, match=r"b\.csv: only one of it and .*a\.csv has `article`, `bot`"
    ):
        made("[ab].csv")
    assert not Path("config.yaml").exists()
    for name, more in {"a": {}, "b": {"note": "so"}}.items():  # keys are no header
        bad = as_rows(THEIRS)[0] | {"model": ""}
        rows = [row | {"id": name + row["id"]} | more for row in (*as_rows(THEIRS), bad)]
        Path(write("jsonl", rows)).rename(f"{name}.jsonl")
    assert made("[ab].jsonl").summary.startswith("6 documents with 12 texts")


def test_what_looks_like_a_rating_and_is_not_taken_is_named():
    rows = [row | {"fluency_std": 0.3, "judge_fluency": 4, "n": 2} for row in as_rows(THEIRS)]
    rows = [row | {"views": "92,510", "Overall Score": 3} for row in rows]
    (warning,) = made(write("csv", rows), columns=["n="]).warnings
    assert "these look like ratings: `Overall Score`; " in warning  # no statistic, no model's
    assert "--column 'Overall Score=ratings.overall'`, with" in warning
    unread = ["Overall Score="]
    assert not made(write("csv", rows), columns=unread, force=True).warnings


def test_a_scale_whose_best_is_one_is_asked_about_and_lists_in_cells_are_ratings():
    rows = [row | {"Fluency (1=best)": 2, "coherence": "[4, 5]"} for row in as_rows(THEIRS)]
    started = made(write("csv", rows), columns=["human_fluency="])
    assert started.summary.endswith("people rated coherence 6")
    assert started.warnings[0].startswith(
        "`Fluency (1=best)` is an axis, but 1 is best there: turn"
    )


def test_ratings_on_no_axis_of_the_task_are_said():
    file = write("csv", as_rows(THEIRS))
    (said,) = made(file, columns=["human_fluency=ratings.overall"]).warnings
    assert said.startswith("rated but not judged: overall; judged but not rated: coherence, consis")
    given: dict[str, Any] = {
        "columns": ["human_fluency=ratings.overall"],
        "model": "none",
        "judges": [],
    }
    assert not made(file, force=True, **given).warnings


def test_a_model_that_only_an_endpoint_can_serve_is_told_now():
    rows = [row | {"coherence": 3} for row in as_rows(("doc_id", "source", "system", "text", "n"))]
    file = write("jsonl", rows)
    usual = {"columns": ["n="], "force": True}
    behind = " (a model behind a URL is `{endpoint: URL, name: gpt-4o}`)"
    said = made(file, **usual, model="gpt-4o").warnings
    assert f"model gpt-4o: no such folder{behind}" in said
    Path("judge").mkdir()
    for model in ("judge", "nano", "https://here/v1"):
        assert len(made(file, **usual, model=model).warnings) == len(said) - 1


def test_text_and_summary_are_both_named():
    """Where the one is much longer, it is the source."""
    rows = [{"text": "It rained.", "summary": "Rain fell."}]
    with pytest.raises(UserError, match="`--column text=source --column summary=text`$"):
        made(write("csv", rows))
    made(write("csv", rows), columns=["text=source", "summary=text"])
    rows = [{"text": "It rained all day.", "summary": "Rain."}]
    assert made(write("csv", rows), force=True).columns == "text = source, summary = text"


def test_mostly_bad_rows_are_refused():
    rows = [row | {"model": ""} for row in as_rows(THEIRS)[1:]]
    with pytest.raises(UserError, match=r"5 of 6 rows are bad: texts\.csv:3: system: is empty"):
        made(write("csv", [*as_rows(THEIRS)[:1], *rows]))


@pytest.mark.parametrize("outer", ["annotations", "ratings"])
def test_ratings_by_rater_then_axis(outer):
    people = {rater: {"fluency": n, "coherence": 1} for n, rater in enumerate(("anna", "ben"), 1)}
    rows = [row | {outer: people} for row in as_rows(("doc_id", "source", "system", "text", "n"))]
    late = {"doc_id": "z", "source": "z", outer: {"zoe": {"fluency": 5, "coherence": 1}}}
    rows += [late | {"system": f"s{n}", "text": f"t{n}"} for n in range(200)]
    file = write("jsonl", rows)
    for given in (), [f"{outer}.{rater}.fluency=ratings.fluency" for rater in people]:
        made(file, columns=given, force=True)
        with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
            assert next(iter(corpus)).candidates[0].raters["fluency"] == (1, 2)
            fluent = 6 if given else 206  # zoe's are a guess
            assert corpus.rated_on() == {"fluency": fluent, "coherence": 206}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("outer", ["people", "ratings"])
def test_what_lies_beside_raters_is_read_or_named(outer, form):
    """A rater may have dots in the name, and be the only one."""
    by_rater = {"coherence": 3, "fluency": 5, "dr. smith": {"fluency": 4, "tone": 1}}
    rows = [row | {outer: by_rater} for row in as_rows(("doc_id", "source", "system", "text", "n"))]
    (warning,) = made(write(form, rows), columns=["n="]).warnings
    assert f"`{outer}.dr. smith.tone`" in warning and "; if people gave them, give" in warning
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        assert next(iter(corpus)).candidates[0].ratings == {"coherence": 3, "fluency": 4}
        assert any(f"`{outer}" in note for note in corpus.unread)
    made(write("csv", [row | {"ratings": json.dumps(by_rater)} for row in rows]), force=True)
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        assert corpus.rated_on() == {"coherence": 6, "fluency": 6}


def test_only_raters_are_too_many_raters():
    rows = as_rows(("doc_id", "source", "system", "text", "n"))
    wide = {f"c{n}": "x" for n in range(120)}
    made(write("csv", [row | {"a.b.fluency": 3, "a.c.fluency": 3} | wide for row in rows]))
    raters = {f"r{n}": {"fluency": 3} for n in range(120)}
    with pytest.raises(UserError, match="too many raters: give ratings by axis, then rater"):
        made(write("jsonl", [row | {"ratings": raters} for row in rows]), force=True)


def test_axes_without_numbers_and_without_a_name():
    rows = [row | {"fluency": "two"} for row in as_rows(("id", "article", "model", "summary", "n"))]
    file = write("csv", rows)
    (warning,) = made(file, columns=["n="]).warnings
    assert warning == "`fluency` is an axis, but its cells such as 'two' are no numbers"
    with pytest.raises(UserError, match="put an axis in place of AXIS"):
        made(file, columns=["n=ratings.AXIS"], force=True)


def test_a_given_part_of_a_column_takes_the_place_of_its_guess():
    rows = as_rows(("doc_id", "source", "system", "text", "n"))
    file = write("jsonl", [row | {"people": {"anna": 1, "ben": 2}} for row in rows])
    made(file, columns=[f"people.{rater}=ratings.fluency" for rater in ("anna", "ben")])
    assert set(load_config("config.yaml").corpus.columns) == {"people.anna", "people.ben"}


def test_what_is_missing_is_said_before_the_file_that_is_there():
    Path("config.yaml").write_text("")
    with pytest.raises(UserError, match=r"text\.csv: no such file"):
        made("text.csv")
    with pytest.raises(UserError, match="is there already"):
        made(write("csv", as_rows(THEIRS)))


def test_a_judge_without_a_model_is_refused():
    with pytest.raises(UserError, match="--model none: a judge asks a model"):
        made(write("csv", as_rows(THEIRS)), model="none", judges=["geval"])
    assert not Path("config.yaml").exists()


def test_the_question_about_columns_names_the_axes_and_likely_ratings():
    asked = list[str]()

    def ask(question: str, default: str) -> str:
        asked.append(question)
        return default

    made(write("csv", [row | {"tone": 3, "mood": 1} for row in as_rows(THEIRS)]), ask)
    assert "these look like ratings: `tone`, `mood`; " in asked[0]
    assert "give `tone=ratings.tone, mood=ratings.mood`, with" in asked[0]  # no --column here
    assert (
        "where AXIS is one of coherence, consistency, fluency, relevance, or your own; THEIRS="
        in asked[0]
    )


EACH = [
    (n, f"Article {n}: {'the river rose, ' * 9}", {s: (f"{s} of article {n}", 1 + n) for s in "AB"})
    for n in range(3)
]
NESTED: dict[str, Any] = {
    "keys by system": [
        {"id": n, "article": article, "outputs": {s: text for s, (text, _) in texts.items()},
         "scores": {s: {"fluency": number} for s, (_, number) in texts.items()}}
        for n, article, texts in EACH
    ],
    "a list of texts": [
        {"id": n, "data": {"article": article}, "models": ["A", "B"],
         "responses": [{"model": s, "text": text, "fluency": number}
                       for s, (text, number) in texts.items()]}
        for n, article, texts in EACH
    ],
    "objects by id": {
        f"{n}{s}": {"post": article, "policy": s, "reply": {"text": text}, "fluency": number}
        for n, article, texts in EACH for s, (text, number) in texts.items()
    },
    "turns": [
        {"ID": f"{n}{s}", "model": s, "fluency": number,
         "messages": [{"role": "user", "content": article}, {"role": "assistant", "content": text}]}
        for n, article, texts in EACH for s, (text, number) in texts.items()
    ],
    "a newspaper": [
        {"doc_id": n, "source": "CNN", "document": article, "system": s, "text": text,
         "fluency": number}
        for n, article, texts in EACH for s, (text, number) in texts.items()
    ],
}  # fmt: skip


NESTED["in an object"] = {"name": "eval", "data": NESTED["a newspaper"]}
NESTED["numbered"] = [
    {"doc": article, "fluency_1": n + 1, "fluency_2": n + 1, "metrics": {"rouge": 0.1},
     "response_1": texts["A"][0], "response_2": texts["B"][0]}
    for n, article, texts in EACH
]  # fmt: skip
NESTED["text and summary"] = [
    {"TEXT": article, "summary": text, "model": s, "metrics": {"rouge": 0.1},
     "human_scores": {"fluency": number}}
    for _, article, texts in EACH for s, (text, number) in texts.items()
]  # fmt: skip

NESTED["turns in parts"] = [
    {"ID": f"{n}{s}", "model": s, "fluency": number,
     "messages": [{"role": "user", "content": [{"type": "text", "text": article}]},
                  {"role": "assistant", "content": [{"type": "text", "text": text}]}]}
    for n, article, texts in EACH for s, (text, number) in texts.items()
]  # fmt: skip
NESTED["names of the document and of its texts"] = [
    {"id": n, "text": article,
     "responses": [{"id": at, "model": s, "text": text, "fluency": number}
                   for at, (s, (text, number)) in enumerate(texts.items())]}
    for n, article, texts in EACH
]  # fmt: skip
NESTED["by columns, as pandas writes"] = {
    name: {f"{n}": row[at] for n, row in enumerate(
        (article, text, s, number)
        for _, article, texts in EACH for s, (text, number) in texts.items()
    )} for at, name in enumerate(("article", "summary", "model", "fluency"))
}  # fmt: skip
NESTED["split, as pandas writes"] = {
    "columns": ["source", "text", "system", "fluency"],
    "index": [*range(6)],
    "data": [[article, text, s, number]
             for _, article, texts in EACH for s, (text, number) in texts.items()],
}  # fmt: skip
NESTED["by columns with our names"] = {
    name: {f"{n}": row[at] for n, row in enumerate(NESTED["split, as pandas writes"]["data"])}
    for at, name in enumerate(NESTED["split, as pandas writes"]["columns"])
}
NESTED["ratings beside an object"] = [
    {"id": n, "data": {"article": article}, "summary": text, "model": s,
     "ratings": {"fluency": number}}
    for n, article, texts in EACH for s, (text, number) in texts.items()
]  # fmt: skip


NESTED["whose they are in cells"] = [
    {"prompt": article, **{f"output_{at}": texts[s][0] for at, s in enumerate("AB")},
     **{f"generator_{at}": s for at, s in enumerate("AB")}, "preference": 1,
     **{f"fluency_{at}_r{r}": texts[s][1] for at, s in enumerate("AB") for r in (1, 2)}}
    for n, article, texts in EACH
]  # fmt: skip
NESTED["conversations of two models"] = [
    {"question_id": n, **{f"model_{at}": s for at, s in zip("ab", "AB", strict=True)},
     **{f"conversation_{at}": [{"role": "user", "content": article},
                               {"role": "assistant", "content": texts[s][0]}]
        for at, s in zip("ab", "AB", strict=True)},
     **{f"fluency_{at}": texts[s][1] for at, s in zip("ab", "AB", strict=True)}}
    for n, article, texts in EACH
]  # fmt: skip


def test_a_conversation_that_is_there_twice_is_no_third_system():
    """`messages` is the chosen one again, and lists of a document's own are not dealt out."""
    rows = []
    for _, article, texts in EACH:
        asked = {"role": "user", "content": article}
        chosen, rejected = ([asked, {"role": "assistant", "content": texts[s][0]}] for s in "AB")
        rows.append({"prompt": article, "chosen": chosen, "rejected": rejected, "messages": chosen})
    assert made(write("jsonl", rows)).summary.startswith("3 documents with 6 texts of 2 systems")
    rows = [
        {"id": n, "article": f"Of {n}", "summaries": [f"a {n}", "b"], "references": ["r", f"s {n}"]}
        for n in range(3)
    ]
    assert made(write("jsonl", rows), force=True).summary.startswith("3 documents with 6 texts;")
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        assert [case.document.references for case in corpus] == [("r", f"s {n}") for n in range(3)]


def test_lists_side_by_side_are_texts_and_their_ratings():
    rows = [
        {"id": n, "text": f"The river {n} rose. " * 9, "human_summaries": ["It rose."],
         "machine_summaries": [f"It rose {n}.", "It fell."], "fluency": [n, 5.0]}
        for n in range(3)
    ]  # fmt: skip
    assert made(write("jsonl", rows)).summary == "3 documents with 6 texts; people rated fluency 6"
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        for n, case in enumerate(corpus):
            assert case.document.references == ("It rose.",)
            rated = {text.text: text.ratings["fluency"] for text in case.candidates}
            assert rated == {f"It rose {n}.": n, "It fell.": 5}


@pytest.mark.parametrize("shape", NESTED)
def test_nested_json_is_made_flat(shape):
    Path("texts.json").write_text(json.dumps(NESTED[shape]))
    assert made("texts.json").summary.startswith("3 documents with 6 texts of 2 systems")
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        read = {
            (case.document.source, text.system, text.text, text.ratings["fluency"])
            for case in corpus for text in case.candidates
        }  # fmt: skip
    names = dict(zip("AB", "12" if shape == "numbered" else "AB", strict=True))
    expected = [(a, names[s], text, n) for _, a, texts in EACH for s, (text, n) in texts.items()]
    assert read == {*expected}


def test_a_conversation_before_an_answer_is_whole():
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    made(write("jsonl", [{"messages": turns, "response": "Good night", "model": "A"}]))
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        (case,) = corpus
    assert case.document.source == "user: Hi\nassistant: Hello"
    assert case.candidates[0].text == "Good night"


@pytest.mark.parametrize("say", [json.dumps, repr])
def test_a_conversation_in_a_tables_cell_is_unfolded(say):
    rows = [
        {"messages": say([{"role": "user", "content": f"Hi {n}"},
                          {"role": "assistant", "content": s}]),
         "model": s, "fluency": n}
        for n in range(3) for s in "AB"
    ]  # fmt: skip
    started = made(write("csv", rows))
    assert started.summary == "3 documents with 6 texts of 2 systems; people rated fluency 6"
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        sources = {case.document.source: case.candidates[0].text for case in corpus}
    assert sources == {"Hi 0": "A", "Hi 1": "A", "Hi 2": "A"}


def by_label_studio(n: int) -> dict[str, Any]:
    result = {"from_name": "fluency", "type": "rating", "value": {"rating": n}}
    comment = {"from_name": "why", "type": "textarea", "value": {"text": ["so"]}}
    each = [{"completed_by": who, "result": [result, comment]} for who in ("ann", {"id": "ben"})]
    wrong = {"from_name": "fluency", "type": "rating", "value": {"rating": 9}}
    left = {"completed_by": "cy", "was_cancelled": True, "result": [wrong]}
    relation = {"completed_by": "ann", "result": [{"type": "relation"}]}
    return {"annotations": [*each, left, relation], "predictions": [{"result": [wrong]}]}


TOOLS = {
    "Label Studio": by_label_studio,
    "Argilla": lambda n: {
        "responses": [
            {"user_id": who, "values": {"fluency": {"value": n}, "why": {"value": "so"}}}
            for who in ("ann", "ben")
        ]
    },
    "Argilla 2": lambda n: {
        "responses": {"fluency": [{"user_id": who, "value": n} for who in ("ann", "ben")]}
    },
}


@pytest.mark.parametrize("tool", TOOLS)
def test_annotations_of_other_tools_are_ratings(tool):
    rows = [
        {"data": {"article": f"article {n}", "answer": f"{s} of {n}"}, "meta": {"model": s}}
        | TOOLS[tool](1 + n)
        for n in range(3) for s in "AB"
    ]  # fmt: skip
    Path("texts.json").write_text(json.dumps(rows))
    assert made("texts.json").summary.endswith("people rated fluency 6")
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        assert {text.raters["fluency"] for case in corpus for text in case.candidates} == {
            (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)
        }  # fmt: skip
        assert corpus.raters == {"fluency": ["ann", "ben"]}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_list_has_a_rating_of_each_person(form):
    """Of numbers, or of objects, as SummEval's `expert_annotations`."""
    for name, each in {
        "fluency": [4.0, 5.0],
        "human_fluency": [4, 5],
        "expert_annotations": [{"fluency": 4, "tone": 1}, {"fluency": 5, "tone": 2}],
    }.items():
        rows = [{n: v for n, v in row.items() if n != "human_fluency"} for row in as_rows(THEIRS)]
        started = made(write(form, [row | {name: each} for row in rows]), force=True)
        assert "people rated fluency 6" in started.summary
        with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
            assert next(iter(corpus)).candidates[0].raters["fluency"] == (4, 5)


@pytest.mark.parametrize("words", [("ok", "very bad"), ("yes", "no"), (True, False)])
def test_words_in_place_of_ratings_are_named(words):
    rows = [row | {"is it good": words[n % 2]} for n, row in enumerate(as_rows(THEIRS))]
    (warning,) = made(write("jsonl", rows)).warnings
    assert f"`is it good` is not read: it has words such as '{words[0]}'" in warning


def test_a_system_may_have_two_texts_of_one_source():
    rows = [row | {"id": n} for n, row in enumerate(as_rows(THEIRS))]
    again = {**rows[0], "id": 9, "summary": "Another of its texts."}
    started = made(write("csv", [*rows, again]))
    assert started.summary.startswith("7 documents with 7 texts")
    assert "`doc_id` should name the source" in started.warnings[0]


def test_summevals_own_file_is_named():
    rows = [row | {"expert_annotations": [], "turker_annotations": []} for row in as_rows(THEIRS)]
    with pytest.raises(UserError, match="format: summeval"):
        made(write("jsonl", rows))


def test_cells_with_the_scale_or_a_word_beside_the_number_are_ratings():
    forms = {
        "a": "{}/5",
        "b": "{} - Good",
        "c": "{}%",
        "d": '[{{"rating":{}}}]',
        "e": "{} out of 5",
    }
    for n, form in enumerate(forms.values()):
        rows = [row | {"human_fluency": form.format(2)} for row in as_rows(THEIRS)]
        assert "fluency 6" in made(write("csv", rows), force=n > 0).summary, form
        made(write("jsonl", rows), force=True)
        with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
            assert {text.ratings["fluency"] for case in corpus for text in case.candidates} == {2}
    for date in ("3-May", "3. Mai", "12-Mär", "2-févr"):
        dates = [row | {"human_fluency": date} for row in as_rows(THEIRS)]
        assert "rated nothing" in made(write("csv", dates), force=True).summary
    unsure = [row | {"human_fluency": "4 - Good"} for row in as_rows(THEIRS)]
    unsure[0]["human_fluency"], unsure[1]["human_fluency"] = "0 - n/a", "9 - Don't know"
    assert "fluency 4" in made(write("csv", unsure), force=True).summary
    stars = [row | {"human_fluency": "★★★☆"} for row in as_rows(THEIRS)]
    assert "fluency 6" in made(write("csv", stars), force=True).summary
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        assert {text.ratings["fluency"] for case in corpus for text in case.candidates} == {3}
    stars[2]["human_fluency"] = "2/3"
    for form in ("csv", "jsonl"):
        made(write(form, stars), force=True)
        assert "'2/3' is on another scale than '★★★☆' before it" in Path("config.yaml").read_text()


def test_a_column_may_be_left_out():
    rows = [row | {"source": f"Of {row['doc_id']}", "note": 1} for row in as_rows(OURS)]
    file = write("csv", [row | {"passage": "A text"} for row in rows])
    started = made(file, columns=["source=", "passage=source", "note="])
    assert "not read: `source`, `note`" in started.columns
    for form in ("csv", "jsonl", "parquet"):
        write(form, [row | {"passage": "A text"} for row in rows])
        source = CorpusSource(f"texts.{form}", columns={"source": "", "passage": "source"})
        with open_corpus(source) as corpus:
            assert {case.document.source for case in corpus} == {"A text"}
    with pytest.raises(UserError, match="--column: unknown column 'nte': did you mean 'note'"):
        made(file, columns=["nte="], force=True)


def test_each_system_may_have_raters_of_its_own():
    rows = [
        {"article": f"Of {n}", "A": "a text", "B": "b text", "A_fluency": n + 1, "B_fluency": 3,
         "A_annotator": "anna", "B_annotator": "ben"}
        for n in range(3)
    ]  # fmt: skip
    assert made(write("csv", rows)).summary.endswith("2 systems; people rated fluency 6")
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        assert corpus.raters == {"fluency": ["anna", "ben"]}


@pytest.mark.parametrize(
    ("above", "below", "said"),
    [
        ("Of March,,,,", "", r"one name alone \('Of March'\): delete what stands above"),
        ("", """{"ImportId":"Q1"},,,,\n""", "texts.csv:2: Qualtrics has two more lines"),
    ],
)
def test_what_stands_around_a_header_is_named(above, below, said):
    file = Path(write("csv", as_rows(THEIRS)))
    header, rest = file.read_text().split("\n", 1)
    file.write_text("\n".join([*filter(None, [above]), header, below + rest]))
    with pytest.raises(UserError, match=said):
        made(str(file))


def test_an_axis_with_a_capital_has_raters():
    rows = [
        {"article": f"Of {n}", "reply": f"text {n}", "Fluency": {"anna": 4, "ben ": 5}}
        for n in range(3)
    ]
    assert made(write("jsonl", rows)).summary.endswith("people rated fluency 3")
    with open_corpus(corpus_of(load_config("config.yaml"))) as corpus:
        assert corpus.raters == {"fluency": ["anna", "ben"]}
