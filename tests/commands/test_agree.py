"""`evaljudge agree`: scores from anywhere, in every form, against the shared numbers."""

import json
import re
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evaljudge
from evaljudge.analyses.ceiling import section as ceiling_section
from evaljudge.analyses.labels import section as labels_section
from evaljudge.analysis.findings import Findings
from evaljudge.commands.agree import agreement_of
from evaljudge.commands.options import AgreeOptions
from evaljudge.errors import UserError
from evaljudge.sections.figures import percent
from evaljudge.text import IS_THE_REFERENCE
from tests.build import SHARED, agreed_text, command, document, jsonl, needs_shared, refusal, tabled

BARE = ("doc_id", "system", "scorer", "value")

RATED = {"d1": {"A": 1, "B": 2, "C": 3}, "d2": {"A": 3, "B": 1, "C": 2}}
CASES = [
    document(d) | {"doc_id": doc_id, "candidates": [
        {"system": system, "text": "t", "ratings": {"fluency": rating}}
        for system, rating in rated.items()]}
    for d, (doc_id, rated) in enumerate(RATED.items())
]  # fmt: skip
SCORES = [
    {"doc_id": d, "system": s, "scorer": "mine", "axis": "fluency", "value": v}
    for d, values in (("d1", [10.0, 20.0, 30.0]), ("d2", [0.3, 0.1, 0.2]))
    for s, v in zip("ABC", values, strict=True)
]


def bare(rows: list[dict[str, Any]] = SCORES) -> list[dict[str, Any]]:
    """Without their axis."""
    return [{key: row[key] for key in BARE} for row in rows]


@pytest.fixture
def cases(tmp_path):
    return jsonl(tmp_path / "cases.jsonl", CASES)


def written(folder: Path, rows: list[dict[str, Any]], kind: str) -> str:
    return tabled(folder / f"scores.{kind}", rows)


def agreed(cases: str, *scores: str, **more: Any) -> Findings:
    return agreement_of(AgreeOptions(cases, scores, **more))


@pytest.mark.parametrize("kind", ["jsonl", "csv", "semicolons", "parquet", "by axis"])
def test_forms_agree(cases, tmp_path, kind):
    rows: list[dict[str, Any]] = [row | {"value": row["value"] / 2} for row in SCORES]
    if kind == "by axis":
        rows = [row | {"scores": {row.pop("axis"): row.pop("value")}} for row in rows]
    suffix = {"semicolons": "csv", "by axis": "jsonl"}.get(kind, kind)
    file = Path(written(tmp_path, rows, suffix))
    if kind == "semicolons":
        file.write_text(file.read_text().replace(",", ";").replace(".", ","))
    findings = agreed(cases, str(file))
    found = {(r.level, r.coefficient): r.value for r in findings.agreement}
    assert found["sample", "spearman"] == pytest.approx(1.0)
    assert found["sample", "kendall"] == pytest.approx(1.0)
    assert findings["systems"][1].systems[0].mean == pytest.approx(7.55)
    assert findings.share == 1.0


def test_a_run_is_an_input_and_so_are_rows_in_memory(tmp_path):
    """With the ratings that it was given in sheets, it agrees as its own report says."""
    rated = [[1, 2, 3], [3, 1, 2], [4, 5, 1]]
    corpus = [
        {"doc_id": f"d{d}", "source": "s", "system": system, "text": "word " * (d + rating),
         "ratings": {"ease": [rating, 6 - rating], "tone": 4}}
        for d, ratings in enumerate(rated) for system, rating in zip("ABC", ratings, strict=True)
    ]  # fmt: skip
    sheet = pd.DataFrame([{"doc_id": f"d{d}", "system": system, "ratings.fluency": rating}
                          for d, ratings in enumerate(rated)
                          for system, rating in zip("ABC", ratings, strict=True)])  # fmt: skip
    config = {"corpus": corpus, "ratings": sheet, "out": str(tmp_path / "run"), "judges": {},
              "metrics": ["words"], "agreement": {"resamples": 10}}  # fmt: skip
    outcome = evaljudge.run(config, progress=False)
    assert {row.axis for row in outcome.agreement} == {"ease", "tone", "fluency"}
    for found in (evaljudge.agree(outcome), evaljudge.agree(run=outcome.out, scores=outcome)):
        assert found.agreement == outcome.agreement
        assert found.findings["ceiling"] == outcome.findings["ceiling"]
    calibrated = evaljudge.calibrate(outcome, axis="fluency", resamples=10)
    assert calibrated.rows.to_pandas()["fit.axis"].tolist() == ["fluency"]
    frames = evaljudge.agree(pd.DataFrame(corpus), outcome.scores(), axis="ease")
    ease = [row for row in outcome.agreement if row.axis == "ease"]
    assert frames.agreement == ease
    frame = outcome.scores().to_pandas()  # in which `ratings` are lists of pairs
    assert evaljudge.agree(outcome, frame).agreement == outcome.agreement
    evaljudge.export(outcome, "csv", tmp_path / "wide.csv")
    for wide in (outcome.scores(wide=True), outcome.texts().to_pandas(), tmp_path / "wide.csv"):
        assert evaljudge.agree(outcome, wide).agreement == outcome.agreement
    other = outcome.scores(wide=True).to_pandas()[["doc_id", "system", "words"]]
    other.columns = ["article_id", "key", "words"]
    with pytest.raises(UserError, match="needs `system`"):
        evaljudge.agree(outcome, other)
    agreed = evaljudge.agree(outcome, other, columns={"key": "system"})
    assert agreed.agreement == outcome.agreement
    assert "<td>words</td><td>ease</td>" in frames.agreement._repr_html_()
    assert "folds_of" not in calibrated.rows._repr_html_()  # a column for each document
    assert "words   *        1.000  –" in repr(outcome.show("d0", "A"))
    again = sheet.rename(columns={"ratings.fluency": "ratings.ease"})
    warned = evaljudge.make_report(outcome, ratings=again, progress=False).warnings
    assert "ratings: 9 texts are rated on ease, in place of the corpus' own ratings there" in warned
    assert "name a run's folder, or cases by cases" in refusal(evaljudge.agree)
    unread = [{"id": row["doc_id"], "source": "s", "reply text": "t"} for row in corpus]
    with pytest.raises(UserError, match="cases: no text has human ratings to agree with"):
        evaljudge.agree(unread, metrics=["words"])
    with pytest.raises(UserError, match="scores: row 2 is str: each row is a dict"):
        evaljudge.agree(corpus, ({"a": 1}, "b"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"system": "A", "scorer": "m", "value": 1}, "scores.jsonl:7: needs `doc_id`"),
        ({"doc_id": "d1", "system": "A", "value": 1}, "needs `scorer`"),
        ({"doc_id": "d1", "system": "A", "scorer": "m"}, "needs `scorer` and `value`, `scores`"),
        ({"id": "d1", "system": "A"}, "needs `doc_id`; its keys are 'id', 'system'"),
        ({"doc_id": "d1", "system": "A", "gpt4_ease": 1}, "or columns of numbers; its keys are"),
        ({"doc_id": "d1", "system": "A", "scorer": "m", "value": "x"}, "'x' is not a number"),
        (SCORES[0], "a second score of 'A' for 'd1'"),
        (SCORES[0] | {"scorer": "human"}, "people go by it"),
    ],
)
def test_rows_that_are_no_scores(cases, tmp_path, row, said):
    with pytest.raises(UserError, match=said):
        agreed(cases, written(tmp_path, [*SCORES, row], "jsonl"))


@pytest.mark.parametrize("kind", ["jsonl", "csv", "semicolons", "parquet"])
def test_a_column_for_each_score(tmp_path, kind):
    """One table may hold texts, ratings and scores, and `column` renames the columns of all. What
    numbers the rows is no score."""
    rows = [
        {"": n, "Unnamed: 0": n, "year": 2020, "prompt_id": n, "idx": d, "document": "s",
         "model": s, "output": "t", "Human": n + 1, "human.tone": 4 - n,
         "smog_index": n / 2, "t5.tone": n / 2 if s != "B" else None, "my.own": 1.5 * n, "url": "u"}
        for d in ("d1", "d2") for n, s in enumerate("ABC")
    ]  # fmt: skip
    table = written(tmp_path, rows, "csv" if kind == "semicolons" else kind)
    if kind == "semicolons":
        Path(table).write_text(Path(table).read_text().replace(",", ";").replace(".5", ",5"))
    columns = {"idx": "doc_id", "document": "source", "Human": "ratings.mood"}
    findings = agreed(table, table, columns=columns)
    scored = {(r.scorer, r.axis): (r.scored, r.unscored) for r in findings.coverage}
    assert scored == {("smog_index", "*"): (6, 0), ("t5", "tone"): (4, 2), ("my.own", "*"): (6, 0)}
    assert not any("not read" in warning for warning in findings.warnings)
    if kind == "csv":
        quoted = tmp_path / "quoted.csv"
        quoted.write_text(Path(table).read_text().replace("0.5", '"0,5"'))
        assert "'0,5' is not a number" in refusal(agreed, table, str(quoted), columns=columns)
    bad = written(tmp_path, [*rows, rows[0] | {"model": "D", "smog_index": "x"}], "jsonl")
    assert "'x' is not a number" in refusal(agreed, table, bad, columns=columns)
    texts = written(tmp_path, [{"doc_id": "d1", "system": "A", "url": "u"}], "jsonl")
    words = refusal(agreed, table, texts, columns=columns)
    assert "or columns of numbers; its keys are 'doc_id', 'system', 'u" in words


def test_nothing_to_agree_with(cases, tmp_path):
    unrated = tmp_path / "unrated.jsonl"
    unrated.write_text(json.dumps(document(0)))
    scores = written(tmp_path, SCORES, "jsonl")
    assert "no text has human ratings" in refusal(agreed, str(unrated), scores)
    strangers = written(tmp_path, [SCORES[0] | {"doc_id": "x"}], "jsonl")
    assert "no score belongs to a text" in refusal(agreed, cases, strangers)


def test_what_is_unscored_strange_or_elsewhere(cases, tmp_path):
    rows = [*SCORES[1:], SCORES[0] | {"value": inf}, SCORES[0] | {"doc_id": "stranger"}]
    said = agreed_text(agreed(cases, written(tmp_path, rows, "jsonl")))
    assert said.splitlines()[:3] == [
        "coverage   83.3% scored; 6 of 6 texts rated by people",
        "unscored   mine on fluency: 1 of 6 (null or not finite × 1)",
        "warning    1 score belongs to no text of the corpus: left out",
    ]
    rows = [*SCORES, SCORES[0] | {"axis": "tone"}, SCORES[0] | {"axis": "*", "scorer": "words"}]
    scores = written(tmp_path, rows, "jsonl")
    of = {axes: agreed(cases, scores, axis=axes).coverage for axes in ((), ("fluency",))}
    assert [row.axis for row in of[()]] == ["fluency", "tone", "*"]
    assert [row.axis for row in of["fluency",]] == ["fluency", "*"]


def test_scores_without_a_scorer_are_scorers_without_axes(cases, tmp_path):
    rows = [
        {"doc_id": r["doc_id"], "system": r["system"], "scores": {"m1": r["value"], "m2": 1.0}}
        for r in SCORES
    ]
    findings = agreed(cases, written(tmp_path, rows, "jsonl"))
    assert {(row.scorer, row.axis) for row in findings.agreement} == {
        ("m1", "fluency"),
        ("m2", "fluency"),
    }


def test_several_files_metrics_and_mixes(cases, tmp_path):
    scores = written(tmp_path, bare(), "jsonl")
    more = written(tmp_path, [row | {"scorer": "other"} for row in bare()[:-1]], "csv")
    findings = agreed(cases, scores, more, metrics={"words": {}}, mix=["mine+words", "mine+other"])
    covered = {row.scorer: (row.scored, row.unscored) for row in findings.coverage}
    assert covered == {"mine": (6, 0), "other": (5, 1), "words": (6, 0), "mine+words": (6, 0),
                       "mine+other": (5, 1)}  # fmt: skip
    assert "words@1 | {}" in findings.signatures["words"]
    by_scorer = {r.scorer: r.value for r in findings.agreement
                 if (r.level, r.coefficient) == ("sample", "spearman")}  # fmt: skip
    assert by_scorer["mine"] == by_scorer["mine+words"] == pytest.approx(1.0)


def test_mixes_with_weights_and_of_scorers_with_axes(cases, tmp_path):
    rows = [*SCORES[1:], *({**row, "scorer": "other", "axis": "wit"} for row in SCORES)]
    scores = written(tmp_path, rows, "jsonl")
    text = "0.2 * mine - 10*words"
    findings = agreed(cases, scores, metrics={"words": {}}, mix=[text])
    covered = {(row.scorer, row.axis): row for row in findings.coverage}
    mixed = covered["0.2*mine-10*words", "fluency"]
    assert (mixed.scored, mixed.reasons) == (5, {"mine: no score given": 1})
    assert "mix 0.2*mine - 10*words" in findings.signatures["0.2*mine-10*words"]
    (ranking,) = [row for row in findings["systems"] if row.scorer == mixed.scorer]
    means = {one.system: one.mean for one in ranking.systems}
    assert means == pytest.approx(
        {"A": 0.2 * 0.3 - 10, "B": 0.2 * 10.05 - 10, "C": 0.2 * 15.1 - 10}
    )
    with pytest.raises(UserError, match="--mix mine.other: its scorers share no axis"):
        agreed(cases, scores, mix=["mine+other"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"mix": ["mine"]}, "--mix mine: name at least two scorers"),
        ({"mix": ["mine+yours"]}, "--mix mine.yours: unknown scorer 'yours'"),
        ({"axis": ["fluencey"]}, "--axis: unknown human axis 'fluencey': did you mean 'fluency'"),
    ],
)
def test_what_is_refused(cases, tmp_path, more, said):
    with pytest.raises(UserError, match=said):
        agreed(cases, written(tmp_path, bare(), "jsonl"), **more)
    again = written(tmp_path, [row | {"scorer": "words"} for row in bare()], "jsonl")
    assert "scorer 'words' is there twice" in refusal(agreed, cases, again, metrics={"words": {}})


def test_the_reference_itself_is_not_scored_by_what_compares_with_it(tmp_path):
    texts = {"Human": "it said hello .", "A": "it said", "B": "hello", "C": "it ran ."}
    candidates = [
        {"system": system, "text": text, "ratings": {"fluency": len(text)}}
        for system, text in texts.items()
    ]
    case = {"doc_id": "d", "source": "a river", "references": [texts["Human"]]}
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(case | {"candidates": candidates}))
    metrics: dict[str, Any] = {"rouge1": {}, "words": {}}
    wanted = AgreeOptions(str(file), metrics=metrics)
    covered = {row.scorer: (row.scored, row.reasons) for row in agreement_of(wanted).coverage}
    assert covered == {"rouge1": (3, {"is the reference": 1}), "words": (4, {})}
    said = agreed_text(agreement_of(wanted))
    assert "unscored   rouge1: 1 of 4 (is the reference × 1), 1 as it should be" in said
    rows = [
        {"doc_id": "d", "system": name, "scorer": "x", "value": 0.5} for name in ("Human", *"ABC")
    ]
    rows[0] |= {"value": None, "reason": IS_THE_REFERENCE}
    for kind in ("jsonl", "parquet"):  # a run's own scores are Parquet
        options = AgreeOptions(str(file), [written(tmp_path, rows, kind)])
        given = agreement_of(options)
        (of_theirs,) = given.coverage
        assert of_theirs.reasons == {IS_THE_REFERENCE: 1}
        assert given.share == 1  # as in the run that these scores may come from


@needs_shared
def test_the_human_stories_of_hanna_are_not_compared_with_themselves():
    """Scored, they lifted ROUGE-1 with coherence from 0.357 to 0.494."""
    wanted = AgreeOptions(str(SHARED / "hanna.jsonl"), metrics={"rouge1": {}})
    findings = agreement_of(replace(wanted, resamples=0))
    assert [row.reasons for row in findings.coverage] == [{"is the reference": 48}]
    (found,) = [row for row in findings.agreement if (row.axis, row.level, row.coefficient)
                == ("coherence", "sample", "spearman")]  # fmt: skip
    assert found.value == pytest.approx(0.357, abs=5e-4)


def test_scores_with_and_without_axis_are_told_apart_or_refused(cases, tmp_path):
    with pytest.raises(UserError, match="scorer 'mine' has scores of axis 'fluency' and"):
        agreed(cases, written(tmp_path, [*SCORES, *bare()], "jsonl"))


def test_bad_rows_can_be_skipped(cases, tmp_path):
    with Path(cases).open("a") as file:
        file.write("\n{")
    given = written(tmp_path, SCORES, "jsonl")
    assert "1 bad row" in refusal(agreed, cases, given)
    findings = agreed(cases, given, skip_bad_rows=True)
    assert findings.warnings == [
        "1 bad row of the corpus was skipped; cases.jsonl:3: not valid JSON (one object a line)"
    ]


def test_raters_labels_and_axes_are_told(tmp_path):
    """Two raters and two axes, a scorer in labels: each statistic is there, on what it rests."""
    texts = [
        {"system": s, "text": "t",
         "ratings": {"fluency": [1 + i % 3, 1 + (i + d) % 3], "ease": 1 + (i * d) % 3}}
        for d in range(1) for i, s in enumerate("ABCDEF")
    ]  # fmt: skip
    rows = [{"doc_id": f"d{d}", "source": "s", "candidates": texts} for d in range(4)]
    file = tmp_path / "rated.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    mine = [{"ease": 1, "fluency": 1 + i % 3} for i in range(6)]
    given = [
        {"doc_id": f"d{d}", "system": s, "scorer": "mine", "scores": scores}
        for d in range(4) for s, scores in zip("ABCDEF", mine, strict=True)
    ]  # fmt: skip
    findings = agreed(str(file), written(tmp_path, given, "jsonl"))
    assert {row.of for row in findings["axes"]} == {"human", "mine"}
    assert {row.axis for row in findings["ceiling"]} == {"fluency"}
    perfect = [r.value for r in findings["ceiling"] if r.coefficient == "spearman"]
    assert perfect == pytest.approx([1.0, 1.0, 1.0])  # both raters always say the same
    labels = {(row.of, row.axis, row.coefficient): row.value for row in findings["labels"]}
    assert labels["human", "fluency", "alpha_ordinal"] == pytest.approx(1.0)
    assert labels["mine", "fluency", "kappa_quadratic"] == pytest.approx(1.0)
    assert labels["mine", "ease", "kappa"] is None
    shown = [cell for part in labels_section(findings, False) for row in part.tables[0].rows
             for cell in row if "1.000" in cell]  # fmt: skip
    assert "1.000 (only 4 documents)" in shown and not any("[" in cell for cell in shown)


NAMES = ("anna", "ben", "cy", "dee")


def rated_by_four(form: str) -> list[dict[str, Any]]:
    """Anna, Ben and Cy nearly agree; Dee rates at random. `form`: where their names are."""
    rows, stream = [], np.random.default_rng(0)
    for d, s in product(range(8), range(5)):
        three = s + 1, s + 1 + (d + s) % 2, s + 1 - (d * s) % 2
        given = dict(zip(NAMES, [*three, int(stream.integers(1, 6))], strict=True))
        row: dict[str, Any] = {"doc_id": f"d{d}", "system": f"s{s}", "source": f"of {d}"}
        row["text"] = "word " * (s + 1)
        if form == "columns":
            row |= {f"fluency_{name}": rating for name, rating in given.items()}
        elif form == "cells":
            order = sorted(given, reverse=bool((d + s) % 2))
            row["ratings"] = {"fluency": {name: given[name] for name in order}}
        rows.append(row)
    return rows


def alone(findings: Findings) -> list[str]:
    """The raters, by their agreement with the others, and the first of the report's table."""
    rows = [row for row in findings["ceiling"]
            if (row.level, row.coefficient) == ("summary", "spearman") and row.rater]  # fmt: skip
    (section,) = ceiling_section(findings, True)
    cells = [row for table in section.tables[1:] for row in table.rows]
    shown = [f"{rater}" for _, level, rater, *_ in cells if level == "summary"]
    assert {row.rater for row in rows} == {*shown}
    return shown


def test_ids_of_texts_are_not_taken_for_ids_of_documents(tmp_path):
    rows = [
        {"id": f"t{n}{s}", "article": f"article {n}", "model": s, "answer": "t", "fluency": n}
        for n in range(3) for s in "AB"
    ]  # fmt: skip
    file = tabled(tmp_path / "texts.csv", rows)
    findings = evaljudge.agree(file).findings
    assert (findings.cases, findings.candidates) == (3, 6)
    assert "id = not read" in findings.warnings[0]
    given = evaljudge.agree(file, columns={"id": "doc_id"}).findings
    assert given.cases == 6
    assert any("though 3 sources serve 6 documents" in warning for warning in given.warnings)


@pytest.mark.parametrize("by", ["id", "article"])
def test_white_space_at_the_ends_of_names_and_sources_is_none_of_theirs(tmp_path, by):
    """Also where scores and raters name them."""
    rows = [
        {by: f"article {n}", "model": s, "answer": f"t{n}{s}", "who": who, "fluency": n}
        for n in range(3) for s in "AB" for who in ("ann", "ben")
    ]  # fmt: skip
    if by == "id":
        rows = [row | {"article": f"source {row[by]}"} for row in rows]
    blank = [{name: f"{cell} " for name, cell in row.items()} for row in rows[1::3]]
    odd = [blank[n // 3] if n % 3 == 1 else row for n, row in enumerate(rows)]
    columns = {"article": "source", "model": "system", "answer": "text", "who": "rater"}
    columns |= {"id": "doc_id"} if by == "id" else {}
    found = []
    for number, written in enumerate((rows, odd)):
        file = tabled(tmp_path / f"{number}.csv", written)
        scores = (
            [{**row, "scorer": "mine", "value": 1} for row in written[::2]] if by == "id" else []
        )
        found += [evaljudge.agree(file, scores or (), columns=columns).findings]
    assert found[0].cases == 3
    assert found[0].coverage == found[1].coverage
    assert found[0].rows == found[1].rows


def test_each_named_rater_is_compared_with_the_others(tmp_path):
    """From columns, from names in cells, of a run, and from the files that a run was given."""
    columns = {f"fluency_{name}": "ratings.fluency" for name in NAMES}
    file = tabled(tmp_path / "columns.csv", rated_by_four("columns"))
    assert alone(evaljudge.agree(file, columns=columns).findings)[0] == "fluency_dee"
    guessed = evaljudge.agree(file).findings  # the columns as `init` takes them
    assert alone(guessed)[0] == "fluency_dee"
    taken = ", ".join(f"{theirs} = {ours}" for theirs, ours in columns.items())
    assert guessed.warnings == [
        f"columns taken by their names: {taken} (`--column`, in Python `columns`, names others)"
    ]
    cells = rated_by_four("cells")
    found = evaljudge.agree(cells)
    named = alone(found.findings)
    assert named[0] == "dee" and set(named) == {*NAMES}
    assert re.search(r"^fluency  sample +dee +-?0\.[012]", found.text, re.MULTILINE)
    found.write(tmp_path / "out")
    assert '"rater": "dee"' in (tmp_path / "out/ceiling.json").read_text()

    bare = {"judges": {}, "metrics": ["words"], "workers": {"executor": "local"}}
    of_run = bare | {"corpus": cells, "out": str(tmp_path / "run")}
    outcome = evaljudge.run(of_run, progress=False)
    assert alone(outcome.findings) == alone(evaljudge.agree(outcome).findings) == named

    sheet = [{key: row[key] for key in ("doc_id", "system")} | {"rater": name, "fluency": rating}
             for row in cells for name, rating in row["ratings"]["fluency"].items()]  # fmt: skip
    given = {"corpus": rated_by_four("none"), "ratings": sheet, "out": str(tmp_path / "sheet")}
    outcome = evaljudge.run(bare | given, progress=False)
    assert outcome.findings["ceiling"] == evaljudge.agree(cells).findings["ceiling"]
    assert alone(evaljudge.agree(outcome).findings) == named
    # two texts have other raters than the corpus', who then have no one name for a place
    mixed = of_run | {"ratings": sheet[:8], "out": str(tmp_path / "mixed")}
    assert alone(evaljudge.run(mixed, progress=False).findings) == []


@needs_shared
def test_unieval_on_topicalchat(capsys):
    pair = (SHARED / "topicalchat.jsonl", SHARED / "topicalchat_unieval.jsonl")
    given = ("--cases", str(pair[0]), "--scores", str(pair[1]), "--resamples", "10")
    rows = json.loads(command(capsys, "agree", "--json", *given)[0])
    found = {(r["axis"], r["level"]): r for r in rows if r["coefficient"] == "spearman"}
    published = {"naturalness": (0.514, 0.515), "coherence": (0.613, 0.560),
                 "engagingness": (0.605, 0.573), "groundedness": (0.574, 0.621)}  # fmt: skip
    for axis, (summary, sample) in published.items():
        assert found[axis, "summary"]["value"] == pytest.approx(summary, abs=1e-3)
        assert found[axis, "sample"]["value"] == pytest.approx(sample, abs=1e-3)
    assert found["groundedness", "sample"]["skipped"] == 6


RELEVANCE = {
    "rouge-1/f1": (0.624, 0.256),
    "rouge-2/f1": (0.603, 0.188),
    "rouge-l/f1": (0.476, 0.185),
    "bertscore/f1": (0.397, 0.281),
    "METEOR": (0.718, 0.294),
    "MoverScore": (0.538, 0.240),
}
"""Of published scores on SummEval: Spearman at system and at sample level."""
MEASURED = {
    "importance": 0.676,
    "no-stops": 0.694,
    "rouge1": 0.594,
    "rouge2": 0.618,
    "chrf": 0.735,
    "importance+rouge1": 0.794,
    "importance+chrf": 0.750,
}
"""Of metrics measured here, at system level."""


@pytest.mark.long
@needs_shared
def test_published_and_measured_metrics_on_summeval(capsys):
    no_stops = "no-stops: {metric: importance, drop_stop_words: true}"
    said, _ = command(
        capsys,
        *("agree", "--json", "--cases", str(SHARED / "summeval.jsonl")),
        *("--scores", str(SHARED / "summeval_metrics.jsonl"), "--axis", "relevance"),
        *("--metrics", f"{{importance: , rouge1: , rouge2: , chrf: , {no_stops}}}"),
        *("--mix", "importance+rouge1", "--mix", "importance+chrf"),
        *("--resamples", "10"),
    )
    rows = json.loads(said)
    found = {(r["scorer"], r["level"]): r["value"] for r in rows if r["coefficient"] == "spearman"}
    for scorer, (system, sample) in RELEVANCE.items():
        assert found[scorer, "system"] == pytest.approx(system, abs=1e-3)
        assert found[scorer, "sample"] == pytest.approx(sample, abs=1e-3)
    for scorer, system in MEASURED.items():
        assert found[scorer, "system"] == pytest.approx(system, abs=1e-2)


@needs_shared
def test_newsrooms_axes_among_themselves():
    findings = agreed(str(SHARED / "newsroom.jsonl"), resamples=10)
    (row,) = (
        row for row in findings["axes"]
        if (row.axis, row.other, row.level, row.coefficient)
        == ("informativeness", "relevance", "summary", "spearman")
    )  # fmt: skip
    assert row.value == pytest.approx(0.787, abs=1e-3)


def test_too_few_scores_end_with_exit_code_3(cases, tmp_path, capsys):
    scores = written(tmp_path, [row for row in SCORES if row is not SCORES[0]], "jsonl")
    given = ("agree", "--cases", cases, "--scores", scores, "--metrics", "words", "--resamples=0")
    out, err = command(capsys, *given, code=3)
    total = len(SCORES)
    assert err.splitlines()[-1] == (
        f"coverage: {percent((2 * total - 1) / (2 * total))} scored: is under the floor of 95%: "
        f"mine on fluency lacks 1 of {total} (add the missing scores, or lower --coverage-floor)"
    )
    assert "is under" not in out
    assert "under the floor" not in command(capsys, *given, "--coverage-floor", "0.5")[1]
