"""Packs of prompts as a dimension of a study: trials of each method, and what is asked once."""

import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.config import load_config
from evaljudge.engines.scripted import Scripted, ScriptedEngines, noise
from evaljudge.errors import UserError
from evaljudge.model.asks import Prompt, Writing
from evaljudge.plugins import folder_of
from evaljudge.report.study import PooledValue, pooled_section
from evaljudge.studies.study import Study, run_study, study_runs

PACKS = ("brief", "wordy")
FEW = {"resamples": 20, "coefficient": "pearson"}


def config(folder: Path) -> dict[str, Any]:
    """Two packs that say otherwise how `direct` rates, and nothing else."""
    (folder / "cases.jsonl").write_text(as_jsonl(make_cases(8, 0)))
    ours = (folder_of("direct") / "prompts/summary/rate.j2").read_text()
    for pack in PACKS:
        (folder / pack).mkdir()
        (folder / pack / "direct.rate.j2").write_text(f"As {pack} as you can.\n{ours}")
    return {
        "corpus": str(folder / "cases.jsonl"), "out": str(folder / "study"), "model": "m",
        "axes": ["fluency"], "agreement": FEW, "workers": {"executor": "local"}, "view": 1,
        "metrics": ["words"],
        "study": {"judges": [{"judge": "direct", "steps": False}, {"judge": "synthetic"}],
                  "prompts": [None, *(str(folder / pack) for pack in PACKS)]},
    }  # fmt: skip


@pytest.fixture
def given(tmp_path):
    return config(tmp_path)


def rating(prompt: Prompt, how: Writing) -> str:
    return str(1 + int(5 * noise(prompt.text)))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    given = config(tmp_path_factory.mktemp("prompts"))
    return run_study(given, engines=ScriptedEngines(lambda: Scripted(rating)))


def tables(study: Study) -> dict[str, Any]:
    return json.loads(Path(study.out, "study.json").read_text())


def fluency(table: dict[str, Any]) -> dict[str, Any]:
    at = table["axes"].index("fluency")
    return {method["name"]: method["columns"][at] for method in table["methods"]}


def test_every_pack_is_a_run_without_the_judges_that_it_does_not_change(given):
    runs = study_runs(load_config(given))
    assert [(run.label, run.pack, list(run.config.judges)) for run in runs] == [
        ("m--with--own", "own", ["direct", "synthetic"]),
        ("m--with--brief", "brief", ["direct"]),
        ("m--with--wordy", "wordy", ["direct"]),
    ]
    assert [run.config.prompts for run in runs] == given["study"]["prompts"]
    assert [run.methods for run in runs] == ["", "", ""]
    assert [run.config.out for run in runs] == [f"{given['out']}/{run.label}" for run in runs]


def test_packs_stand_beside_models(given):
    given["study"] |= {"models": ["m", "n"], "prompts": given["study"]["prompts"][1:]}
    runs = study_runs(load_config(given))
    assert [(run.methods, run.pack) for run in runs] == [
        ("m", "brief"), ("n", "brief"), ("m", "wordy"), ("n", "wordy")
    ]  # fmt: skip


def test_packs_in_one_folder_are_refused(given, tmp_path):
    given["study"]["prompts"] = [f"{tmp_path}/brief", f"{tmp_path}/./brief"]
    with pytest.raises(UserError, match="packs of prompts would lie in one folder, 'm--with--br"):
        study_runs(load_config(given))


def test_a_pack_that_changes_nothing_is_refused(given, tmp_path):
    given["study"] |= {"judges": ["synthetic"], "prompts": [None, str(tmp_path / "brief")]}
    with pytest.raises(UserError, match="brief: this pack changes no prompt of any judge"):
        study_runs(load_config(given))


def test_a_method_has_the_mean_and_the_deviation_of_its_packs(done):
    found = tables(done)
    method, alone = fluency(found["Methods"]), fluency(found["Each pack of prompts alone"])
    packs = [alone[f"direct · {pack}"]["value"] for pack in ("own", *PACKS)]
    assert len(set(packs)) == 3
    assert method["direct"]["value"] == pytest.approx(fmean(packs))
    assert method["direct"]["spread"] == pytest.approx(stdev(packs))
    trials = {one["name"]: one["trials"] for one in found["Methods"]["methods"]}
    assert trials["direct"] == 3
    assert trials["synthetic"] == trials["words"] == 1  # asked once; and it asks nothing
    assert list(alone) == ["direct · own", "direct · brief", "direct · wordy", "synthetic · own"]


def agreement_of(run: Path) -> list[dict[str, Any]]:
    return json.loads((run / "report/agreement.json").read_text())


def test_all_documents_together_as_in_the_runs_reports(done):
    pooled = {
        (one["method"], one["level"]): one
        for one in tables(done)["All documents together"]
        if one["axis"] == "fluency"
    }
    for level in ("system", "summary"):
        wanted = ("direct", "fluency", level, "pearson")
        values = [
            row["value"]
            for pack in ("own", *PACKS)
            for row in agreement_of(Path(done.out, f"m--with--{pack}"))
            if (row["scorer"], row["axis"], row["level"], row["coefficient"]) == wanted
        ]
        assert len(values) == 3
        assert pooled["direct", level]["value"] == pytest.approx(fmean(values))
        assert pooled["direct", level]["spread"] == pytest.approx(stdev(values))
    assert pooled["words", "summary"]["spread"] is None
    assert "Pearson, summary level" in done.text
    assert "two rated texts" not in done.text
    assert "where ratings tie" not in done.text  # Pearson's correlation rewards no tie
    one = pooled["direct", "system"]
    assert f"{one['value']:.3f} ± {one['spread']:.3f}" in done.text


def test_two_texts_a_document_are_compared_pooled_without_packs(given):
    """At sample level a document of two texts has 1 or -1, whatever the scores are."""
    cases = Path(given["corpus"])
    documents = [json.loads(line) for line in cases.read_text().splitlines()]
    for document in documents:
        document["candidates"] = document["candidates"][:2]
    cases.write_text("\n".join(map(json.dumps, documents)))
    given["study"] = {"judges": [{"judge": "direct", "steps": False}, "synthetic"]}
    given["agreement"] = {"resamples": 20}
    study = run_study(given, engines=ScriptedEngines(lambda: Scripted(rating)))
    assert "have two rated texts or fewer" in study.text
    assert "tie where ratings tie: direct, words. " in " ".join(study.text.split())


def test_how_pooled_values_are_shown():
    found = [
        PooledValue("a", "fluency", "summary", "pearson", 3, 40, 0.25, 0.0125),
        PooledValue("a", "tone", "summary", "pearson", 3, 40, None, None),
        PooledValue("b", "fluency", "summary", "pearson", 1, 4, 0.5, None),
        PooledValue("b", "tone", "summary", "pearson", 1, 40, -0.5, None),
    ]
    section = pooled_section("Title", found)
    (table,) = section.tables
    assert table.title == "Pearson, summary level"
    assert table.heads == ["method", "fluency", "tone"]
    assert table.rows == [
        ["a", "0.250 ± 0.013", "–"], ["b", "0.500 (only 4 texts)", "-0.500"]
    ]  # fmt: skip
    assert len(section.notes) == 1
