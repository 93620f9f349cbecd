"""Columns and keys of a user's own corpus: what is not read is named, and a mapping reads it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.corpora import CorpusSource, open_corpus, unread_columns
from evaljudge.corpora.columns import OPTIONS, named_columns
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.runs.watching import Watcher
from tests.build import command, planned_text, tabled

Row = dict[str, Any]
FLAT: Row = {"doc_id": "d1", "source": "Rain fell.", "system": "A", "text": "Rain."}


def written(folder: Path, form: str, rows: list[Row]) -> str:
    return tabled(folder / f"cases.{form}", rows)


def opened(path: str, columns: Mapping[str, str] | None = None) -> tuple[tuple[str, ...], Row]:
    """What is said of its columns, and the first candidate's ratings."""
    with open_corpus(CorpusSource(path, columns=columns or {})) as corpus:
        return corpus.unread, dict(next(iter(corpus)).candidates[0].ratings)


SPELT = ["coherence", "ratings_coherence", "coherence score", "Rating: coherence"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", SPELT)
def test_what_looks_like_a_rating_is_named_and_can_be_mapped(tmp_path, form, name):
    path = written(tmp_path, form, [FLAT | {name: 4}, FLAT | {"doc_id": "d2", name: 2}])
    (note,), ratings = opened(path)
    assert not ratings
    yaml = repr(name) if " " in name else name
    assert "look like ratings" in note
    assert note.endswith(f"`corpus: {{path: …, columns: {{{yaml}: ratings.coherence}}}}`")
    assert opened(path, {name: "ratings.coherence"}) == ((), {"coherence": 4.0})


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", ["rating", "ratigns"])
def test_an_object_of_ratings(tmp_path, name, inside):
    rated = {"system": "A", "text": "Rain.", name: {"tone": [4, None, 5]}}
    row = {"doc_id": "d1", "source": "Rain fell."}
    path = written(tmp_path, "jsonl", [row | ({"candidates": [rated]} if inside else rated)])
    (note,), ratings = opened(path)
    assert not ratings
    assert note.endswith(f"columns: {{{name}: ratings}}}}`")
    assert opened(path, {name: "ratings"}) == ((), {"tone": 4.5})


@pytest.mark.parametrize(("theirs", "ours"), [("contxt", "context"), ("gold", "references")])
def test_a_likely_name(tmp_path, theirs, ours):
    path = written(tmp_path, "csv", [FLAT | {theirs: "It rained."}])
    (note,), _ = opened(path)
    assert "have likely names" in note
    assert note.endswith(f"`corpus: {{path: …, columns: {{{theirs}: {ours}}}}}`")
    with open_corpus(CorpusSource(path, columns={theirs: ours})) as corpus:
        document = next(iter(corpus)).document
    assert (document.references or (document.context,)) == ("It rained.",)


def test_likely_and_dotted_names_are_found(tmp_path):
    row = {"id": "d1", "article": "Rain fell.", "model_name": "A", "summary": "Rain."}
    path = written(tmp_path, "csv", [row])
    columns = {"id": "doc_id", "article": "source", "model_name": "system", "summary": "text"}
    assert unread_columns(path).likely() == columns
    with pytest.raises(UserError, match="`id`, `article`, `model_name`, `summary`"):
        opened(path)
    assert opened(path, columns) == ((), {})
    path = written(tmp_path, "jsonl", [FLAT | {"ratings.tone": 4, "ratings": {"ease": 2}}])
    assert opened(path) == ((), {"ease": 2.0, "tone": 4.0})


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_key_inside_another_is_mapped(tmp_path, form):
    row = {"source": "Rain fell.", "system": "A", "text": "Rain.", "meta": {"id": "d1", "tone": 4}}
    columns = {"meta.id": "doc_id", "meta.tone": "ratings.tone"}
    assert opened(written(tmp_path, form, [row]), columns) == ((), {"tone": 4.0})
    with pytest.raises(UserError, match="unknown column 'meta.ids'"):
        opened(written(tmp_path, form, [row]), {"meta.ids": "doc_id"})


def test_of_two_for_the_source_the_longer_is_proposed(tmp_path):
    row = {"document": "doc-17", "article": "Rain fell for days.", "system": "A", "text": "Rain."}
    assert unread_columns(written(tmp_path, "csv", [row])).likely() == {"article": "source"}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"coherance": "ratings.coherence"},
         "corpus.columns.coherance: unknown column 'coherance': did you mean 'coherence'?"),
        ({"coherence": "rating"}, "corpus.columns.coherence: unknown field 'rating'"),
        ({"coherence": "text"},
         "two columns are read as 'text': to read `coherence` alone, give .*: ''"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_slip_in_the_mapping(tmp_path, form, columns, said):
    path = written(tmp_path, form, [FLAT | {"coherence": 4}])
    with pytest.raises(UserError, match=said.replace("?", r"\?")):
        opened(path, columns)


def test_a_published_form_takes_no_mapping(tmp_path):
    source = CorpusSource(str(tmp_path), "hanna", columns={"a": "text"})
    with (
        pytest.raises(UserError, match="knows its own columns: leave out `corpus: "),
        open_corpus(source),
    ):
        pass


def test_a_run_a_plan_and_agree_say_what_is_not_read(tmp_path, capsys):
    rows = [FLAT | {"doc_id": f"d{n}", "system": s, "fluency": rating}
            for n, rating in enumerate([1, 2, 3, 4, 55]) for s in "AB"]  # fmt: skip
    path = written(tmp_path, "csv", rows)
    config: Row = {
        "corpus": path, "out": str(tmp_path / "out"), "model": "m", "axes": ["fluency"],
        "judges": {"synthetic": {"levels": 2}}, "workers": {"executor": "local"}, "view": 1,
    }  # fmt: skip
    said = "corpus: not read, but these look like ratings: `fluency`"
    before = evaljudge.run(config, engines=ScriptedEngines()).findings
    assert before.rated == 0
    assert any(warning.startswith(said) for warning in before.warnings)
    assert f"warning: {said}" in planned_text(config, engines=ScriptedEngines())
    config["corpus"] = {"path": path, "columns": {"fluency": "ratings.fluency"}}
    said = "fluency 55 (in 2 cells) lies beyond all other ratings (1 to 4): a slip, or a"
    slip = f"cases.csv:10: `fluency`, system 'A' of document 'd4': {said}"
    planned = planned_text(config, engines=ScriptedEngines())
    assert "rated by people: fluency 10\n" in planned and f"warning: corpus: {slip} " in planned
    after = evaljudge.run(config | {"out": f"{tmp_path}/2"}, engines=ScriptedEngines()).findings
    assert any(warning.startswith(f"corpus: {slip} ") for warning in after.warnings[:3])
    terminal = {"corpus": path, "out": f"{tmp_path}/3", "judges": {}, "metrics": ["words"]}
    (tmp_path / "config.yaml").write_text(json.dumps(terminal))
    capsys.readouterr()
    assert command(capsys, "run", f"{tmp_path}/config.yaml")[1].count("look like ratings") == 1
    shown = command(capsys, "agree", "--cases", path, "--metrics", "words")[0]
    assert "warning    columns taken by their names: fluency = ratings.fluency (" in shown
    renamed = [{("id" if key == "doc_id" else key): value for key, value in row.items()}
               for row in rows]  # fmt: skip
    path = written(tmp_path, "csv", renamed)
    given = ["--column", "fluency=ratings.tone", "--column", "id=doc_id"]
    shown = command(capsys, "agree", "--cases", path, "--metrics", "words", *given)[0]
    assert "taken by their names" not in shown and "tone 55" in shown and "fluency 55" not in shown


def test_axes_that_are_rated_but_not_judged_are_said_before_anything_is_asked(tmp_path):
    rows = [FLAT | {"doc_id": f"d{n}", "system": s, "ratings.overall": n, "ratings.ease": "4"}
            for n in range(4) for s in "AB"]  # fmt: skip
    rows[3]["ratings.ease"] = "four"
    config: Row = {
        "corpus": written(tmp_path, "csv", rows), "out": f"{tmp_path}/out", "model": "m",
        "judges": {"direct": {}}, "axes": ["fluency"], "bad_rows": "skip",
        "workers": {"executor": "local"}, "view": 1,
    }  # fmt: skip
    said = "corpus: rated but not judged: ease, overall; judged but not rated: fluency; if two"
    bad = "1 bad row of the corpus was skipped; cases.csv:5: ratings.ease: 'four' is no number"
    planned = planned_text(config, engines=ScriptedEngines())
    assert said in planned and bad.partition("; ")[2] in planned
    heard = list[str]()

    class Listening(Watcher):
        def warning(self, line: str) -> None:
            heard.append(line)

        def starting(self, todo: object) -> None:
            heard.append("asks")

    findings = evaljudge.run(config, engines=ScriptedEngines(), watcher=Listening()).findings
    before = heard[: heard.index("asks")]
    assert bad in before and any(line.startswith(said) for line in before)
    assert bad in findings.warnings and any(line.startswith(said) for line in findings.warnings)
    rated = [{**row, "ratings.fluency": 3, "ratings.ease": 4} for row in rows]
    config["corpus"] = written(tmp_path, "csv", rated)  # nothing that is judged lacks ratings
    assert "judged but not rated" not in planned_text(config, engines=ScriptedEngines())


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_axis_that_is_rated_twice_is_refused(tmp_path, form):
    """Which of the two was meant, nobody can know."""
    object_of = {"coherence": 3} if form == "jsonl" else '{"coherence": 3}'
    if form == "csv":
        object_of = '"{""coherence"": 3}"'
    row = FLAT | {"ratings": object_of, "theirs": 5}
    path = written(tmp_path, form, [row, row | {"doc_id": "d2"}])
    assert opened(path)[1] == {"coherence": 3}
    with pytest.raises(UserError) as refused:
        opened(path, {"theirs": "ratings.coherence"})
    assert "'coherence' is rated twice: in `ratings` and as `ratings.coherence`" in str(
        refused.value
    )


def test_of_several_names_for_one_field_the_proposal_has_one(tmp_path):
    rows = [FLAT | {"scores": {"ease": 1}, "human_scores": {"ease": 4}}]
    path = written(tmp_path, "jsonl", rows)
    (note,), _ = opened(path)
    assert "`scores`, `human_scores`" in note
    assert note.endswith("give `corpus: {path: …, columns: {scores: ratings}}`")


def test_a_rater_beside_one_that_is_read_shares_its_axis(tmp_path):
    path = written(tmp_path, "csv", [FLAT | {"ease_r1": 4, "ease_r2": 5}])
    (note,), _ = opened(path, {"ease_r1": "ratings.ease"})
    assert note.endswith("columns: {ease_r1: ratings.ease, ease_r2: ratings.ease}}`")


def test_a_command_advises_its_own_options(tmp_path):
    path = written(tmp_path, "csv", [FLAT | {"gold": "It rained.", "human tone": 4}])
    with open_corpus(CorpusSource(path, advice=OPTIONS)) as corpus:
        rating, likely = corpus.unread
    assert rating.endswith("give `--column 'human tone=ratings.tone'`")
    assert likely.endswith("give `--column gold=references`")
    twice = written(tmp_path, "jsonl", [FLAT, FLAT])
    for file, given, said in (
        (path, ["txt=text"], r"--column txt=text: unknown column 'txt'"),
        (path, ["text=txet"], r"--column text=txet: unknown field 'txet'"),
        (twice, None, r"\. Correct this, or give `--skip-bad-rows`$"),
    ):
        source = CorpusSource(file, columns=named_columns(given), advice=OPTIONS)
        with pytest.raises(UserError, match=said), open_corpus(source):
            pass


MANY = {f"ratings.axis {n % 26:c}{n // 26:c}": 4 for n in range(97, 97 + 31)}
BESIDE = {"doc_id": "d", "source": "s", "ratings": {"tone": 4},
          "candidates": [{"system": "A", "text": "t"}]}  # fmt: skip
RATED, REST = "not read, but these look like ratings: ", "not read: "
WORDS = "`tone` is not read: it has words such as "
NOTES: list[tuple[str, list[Row], list[str]]] = [
    ("csv jsonl parquet", [FLAT | {"coherence": 4, "overall": 3.5, "url": "x.org"}],
     [f"{RATED}`coherence`, `overall`. If so, give ", f"{REST}`url`"]),
    *(("csv", [FLAT | {name: 12}], [f"{REST}`{name}`"])
      for name in ("doc_len", "year", "word_count", "idx")),
    *(("jsonl", [FLAT | {"tone": absent}, FLAT | {"doc_id": "d2", "tone": 4}], [f"{RATED}`tone`"])
      for absent in ("n/a", " NaN ", "-")),
    *(("jsonl", [FLAT | {"tone": first}, FLAT | {"doc_id": "d2", "tone": second}],
       [note])
      for first, second, note in ((4, "good", WORDS), ("good", 4, WORDS), (4, True, WORDS),
                                  (4, 1000, f"{REST}`tone`"))),
    ("jsonl", [FLAT | {"tone": [4, 5, None], "vector": [0.5] * 64}],
     [f"{RATED}`tone`", f"{REST}`vector`"]),
    ("jsonl", [BESIDE], [f"{REST}`ratings`"]),
    ("jsonl", [FLAT | MANY | {"doc_id": f"d{n}", "system": f"id{n}"} for n in range(201)],
     ["every text has a document of its own, though 1 sources serve 201",
      "201 systems: the 200 with the most", "31 axes are rated: statistics cover 30"]),
    ("csv", [FLAT | dict.fromkeys(["rating_1", "rating_2"], 4)],
     [f"{RATED}`rating_1`, `rating_2`"]),
    ("csv", [FLAT | {"rouge_1": 0.4, "worker": 7, "rater": 7}], [f"{REST}`rouge_1`, `worker`"]),
    ("csv", [FLAT | {"num_errors": 0}], [f"{REST}`num_errors`"]),
    ("csv", [FLAT | {"synthetic.tone": 0.4, "geval": 4}], [f"{REST}`synthetic.tone`, `geval`"]),
    ("jsonl", [FLAT | {"tone": "4,5"}], [f"{RATED}`tone`"]),
]  # fmt: skip


@pytest.mark.parametrize(("forms", "rows", "notes"), NOTES)
def test_what_is_said_of_columns(tmp_path, forms, rows, notes):
    for form in forms.split():
        found = opened(written(tmp_path, form, rows))[0]
        assert len(found) == len(notes)
        assert all(said.startswith(note) for said, note in zip(found, notes, strict=True))


def test_texts_without_a_system_are_numbered_wherever_they_lie(tmp_path):
    texts = [("a", 0), ("a", "2"), ("b", "1"), ("a", "3"), ("b", "2")]  # 0: a bad row
    rows: list[Row] = [{"doc_id": doc, "source": f"Of {doc}.", "text": text} for doc, text in texts]
    with open_corpus(CorpusSource(written(tmp_path, "jsonl", rows)), "skip") as corpus:
        assert all(
            text.system == f"text {text.text}" for case in corpus for text in case.candidates
        )
        assert "no row has a `system`" in corpus.unread[0]


def test_a_published_form_is_not_said_to_lack_what_the_generic_one_has(tmp_path):
    extremes = {"d1": {"article": "Rain.", "annotators": [], "A": {"text": "Rain fell."}}}
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(extremes))
    with open_corpus(CorpusSource(str(path), "choices")) as corpus:
        assert corpus.unread == ()
