"""The grid of settings: the same values as setting by setting, its table by hand, the paper's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from typer.testing import CliRunner

from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics
from evaljudge.metrics.importance import ImportanceSettings
from evaljudge.metrics.measuring import measure_here
from evaljudge.probes.commands import studies_app
from evaljudge.probes.matrix import measured_columns, score_matrix
from evaljudge.probes.results import as_text
from evaljudge.probes.settings import (
    OPTIONS,
    SettingRow,
    grid,
    left_out,
    measuring,
    name_of,
    setting_rows,
    settings_study,
)
from evaljudge.records import Candidate, Case, Document

SHARED = Path(__file__).parents[3] / "shared" / "data"
SOURCES = (
    "the river rose and flooded the old town and the river rose",
    "a bridge was closed and the town was flooded by the river",
    "snow fell on the old bridge and the road was closed",
    "short",
)
TEXTS = ("the river rose", "the town was flooded by a river", "", "snow fell on the road", "short")


def cases(ratings: Sequence[float] = (1, 4, 2, 3, 5)) -> list[Case]:
    return [
        Case(
            Document(f"d{number}", source),
            tuple(
                Candidate(f"s{at}", f"{text} {source[:12]}" if text else "", {"relevance": rating})
                for at, (text, rating) in enumerate(zip(TEXTS, ratings, strict=True))
            ),
        )
        for number, source in enumerate(SOURCES)
    ]


def test_the_grid_is_the_papers() -> None:
    assert (len(grid("gpt2", None)), len(grid(None, None))) == (240, 180)
    assert len({name_of(one) for one in grid("gpt2", None)}) == 240
    assert grid(None, None).count(ImportanceSettings()) == 1
    assert {one.model for one in grid("gpt2", "main")} == {None, "gpt2"}
    assert left_out(grid("gpt2", None)) == []
    assert left_out(grid(None, None))[0].startswith("Left out: 60 settings with the tokenizer of a")


def test_the_same_values_as_setting_by_setting() -> None:
    settings = grid(None, None)
    given = {
        name_of(one): {"metric": "importance", **one.model_dump(exclude_none=True)}
        for one in settings
    }
    alone = {
        name: values
        for number, (name, spec) in enumerate(given.items())
        for values in measure_here(make_metrics({f"m{number}": spec}), cases()).values()
    }
    found = measuring(settings, seed=0)(cases())
    assert found == alone
    assert len({str(values) for values in found.values()}) > 90  # and they do differ


def saved_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = {word: i for i, word in enumerate(["[UNK]", *dict.fromkeys(" ".join(SOURCES).split())])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(folder)
    (folder / "config.json").write_text("{}")


def test_the_tokenizer_of_a_model_that_is_named(tmp_path: Path) -> None:
    saved_tokenizer(tmp_path)
    settings = [one for one in grid(str(tmp_path), None) if one.tokenizer == "model" and one.n == 2]
    assert len(settings) == 20
    found = measuring(settings, seed=0)(cases())
    words = measuring([one for one in grid(None, None) if one.tokenizer == "words"], 0)(cases())
    assert found["model 2 tf-idf tanh yes"][0][0] == words["words 2 tf-idf tanh yes"][0][0] != 0


def test_rows_are_correlations_with_people_on_what_all_score() -> None:
    settings = [one for one in grid(None, None) if (one.n, one.by) == (2, "tf-idf")]
    matrix = score_matrix(cases(), {}, measured_columns(measuring(settings, 0), cases()))
    rows = setting_rows(matrix, settings, "relevance", "system", "spearman")
    assert [(row.tokenizer, row.weight, row.length_penalty) for row in rows] == [
        (one.tokenizer, one.weight, one.length_penalty) for one in settings
    ]
    (row,) = [r for r in rows if (r.tokenizer, r.weight) == ("words", "constant")
              and not r.length_penalty]  # fmt: skip
    scores = matrix.scores["words 2 tf-idf constant no"].reshape(4, 5)
    assert np.isnan(scores[3]).all()  # a source of one word has no pair of words
    means = scores[:3, [0, 1, 3, 4]].mean(axis=0)  # of the systems that wrote something
    ratings = np.array([1, 4, 3, 5])
    ranks = [np.argsort(np.argsort(column)) for column in (means, ratings)]
    assert row.value == pytest.approx(1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum() / (4 * 15))


def row(tokenizer: str, n: int, value: float | None, default: bool = False) -> SettingRow:
    return SettingRow(tokenizer, n, "tf-idf", "tanh", True, value, default)


def test_the_tables_by_hand() -> None:
    rows = [
        row("bpe", 2, 0.1), row("bpe", 3, 0.5, default=True), row("bpe", 4, 0.3),
        row("words", 2, 0.7), row("words", 3, None), row("words", 4, -0.1),
        *(row("characters", 2, 0.9) for _ in range(9)),
    ]  # fmt: skip
    said = as_text(
        settings_study(rows, "spearman with relevance (system level)", "cases", ["Note"])
    )
    lines = [line.split() for line in said.splitlines()]
    assert ["tokenizer", "bpe", "3", "0.300", "0.100", "0.200", "0.300", "0.400", "0.500"] in lines
    assert ["tokenizer", "words", "2", f"{fmean([0.7, -0.1]):.3f}", "-0.100", "0.100", "0.300",
            "0.500", "0.700"] in lines  # fmt: skip
    assert ["n", "3", "1", *["0.500"] * 6] in lines
    assert "The highest of 14: spearman with relevance (system level)" in said
    assert ["10", "words", "2", "tf-idf", "tanh", "yes", "0.700"] in lines
    assert ["11", "bpe", "3", "tf-idf", "tanh", "yes", "0.500*"] in lines  # the default, always
    assert not any(line[:1] == ["12"] for line in lines)
    assert "Note" in said


def test_a_setting_without_any_value_has_none() -> None:
    study = settings_study([row("bpe", 2, 0.5), row("bpe", 3, None)], "title", "cases", [])
    assert ["n", "3", "0", *["–"] * 6] in [line.split() for line in as_text(study).splitlines()]
    assert "title" in study.draw()


def written(tmp_path: Path) -> str:
    file = tmp_path / "cases.jsonl"
    rows = [
        {"doc_id": case.document.doc_id, "source": case.document.source,
         "candidates": [{"system": c.system, "text": c.text, "ratings": dict(c.ratings)}
                        for c in case.candidates]}
        for case in cases()
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def test_the_command(tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["settings", "--cases", written(tmp_path), "--out", str(out)]
    done = CliRunner().invoke(studies_app, asked)
    assert "Left out: 60 settings" in done.output and "The highest of 180" in done.output
    rows = json.loads((out / "settings-relevance.json").read_text())
    assert len(rows) == 180
    assert [set(one) for one in rows if one["default"]] == [
        {"tokenizer", "n", "by", "weight", "length_penalty", "value", "default"}
    ]
    assert sorted(file.suffix for file in out.iterdir()) == [".json", ".md", ".svg"]
    warned = [line for line in done.stderr.splitlines() if line.startswith("warning")]
    assert 0 < len(warned) < 10  # those that lack the same texts stand together
    assert " and " in warned[0] and " more: " in warned[0]
    refused = CliRunner().invoke(studies_app, [*asked, "--model", str(tmp_path / "none")])
    assert isinstance(refused.exception, UserError)
    assert str(refused.exception).startswith(f"--model: model {tmp_path}/none: no such folder")


def test_a_protocol_of_rose(tmp_path: Path) -> None:
    """As in the paper: reference-free ratings of RoSE, in the form that it is published in."""
    rows = [
        {
            "example_id": case.document.doc_id, "source": case.document.source, "reference": "A.",
            "system_outputs": {c.system: c.text for c in case.candidates},
            "annotations": {
                c.system: {"ref_free": c.ratings["relevance"], "ref_based": 1.0, "acu": 0.5}
                for c in case.candidates
            },
        }
        for case in cases()
    ]  # fmt: skip
    (tmp_path / "cnndm_protocol.json").write_text(json.dumps(rows))
    said = {
        name: CliRunner().invoke(studies_app, ["settings", *asked]).output
        for name, asked in {
            "rose": ["--cases", f"{tmp_path}/cnndm_protocol.json", "--format", "rose",
                     "--axis", "ref_free"],
            "generic": ["--cases", written(tmp_path)],
        }.items()
    }  # fmt: skip
    options, others = ([line for line in one.splitlines() if line.startswith(OPTIONS)]
                       for one in said.values())  # fmt: skip
    assert len(options) == 15 and options == others
    assert "spearman with ref_free (system level)" in said["rose"]


@pytest.mark.skipif(not SHARED.exists(), reason="the shared human judgements are not here")
def test_the_default_has_the_papers_value() -> None:
    with open_corpus(CorpusSource(str(SHARED / "summeval.jsonl"))) as corpus:
        rated = list(corpus)
    settings = [one for one in grid(None, None) if one.tokenizer == "bpe" and one.n == 3]
    matrix = score_matrix(rated, {}, measured_columns(measuring(settings, 0), rated))
    rows = setting_rows(matrix, settings, "relevance", "system", "spearman")
    assert [row.value for row in rows if row.default] == [pytest.approx(0.676, abs=0.01)]
