"""`evaljudge diff`: what changed from one run to another, and what stops a pipeline."""

import json
import os
import random
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr, ttest_1samp, ttest_rel

import evaljudge
from evaljudge.cli import main
from evaljudge.commands.diff import Diffed, compare_runs
from evaljudge.commands.options import DiffOptions
from evaljudge.decisions.differences import p_lower, paired_difference
from evaljudge.engines.scripted import Scripted, ScriptedEngines, noise
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, Prompt
from evaljudge.storage import Output, claimed
from tests.build import refusal

DOCUMENTS, SYSTEMS = 8, "ABCD"
GOOD = {"scorer": "geval", "axis": "fluency", "at_least": 3.0}
Rows = list[dict[str, Any]]


def rows() -> Rows:
    draw = random.Random(0)
    return [
        {"doc_id": f"d{n}", "source": f"source {n}", "candidates": [
            {"system": one, "text": " ".join([one, *["says"] * draw.randint(1, 9)]),
             "ratings": {"fluency": float(draw.randint(1, 5))}}
            for one in SYSTEMS]}
        for n in range(DOCUMENTS)
    ]  # fmt: skip


class Bench:
    """Scripted runs, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, name: str, salt: str = "", corpus: Rows | None = None, **changes: Any) -> Path:
        """`salt`: what else the model's answers depend on."""

        def chooses(prompt: Prompt, options: Options) -> Mapping[str, float]:
            weights = {one: noise(salt, prompt.text, one) for one in options.names}
            return {one: log(weight / sum(weights.values())) for one, weight in weights.items()}

        cases, out = self.folder / f"{name}.jsonl", self.folder / name
        cases.write_text("\n".join(map(json.dumps, rows() if corpus is None else corpus)))
        usual = {"corpus": str(cases), "out": str(out), "model": "m", "axes": ["fluency"],
                 "judges": {"geval": {}}, "metrics": ["words"], "workers": {"executor": "local"},
                 "coverage_floor": 0, "view": 1,
                 "select": [{"name": "good", "all": [GOOD]}]}  # fmt: skip
        evaljudge.run(usual | changes, engines=ScriptedEngines(lambda: Scripted(chooses=chooses)))
        return out

    def diff(self, first: str, second: str, *names: str, tolerance: float = 0.0) -> Diffed:
        runs = (str(self.folder / name) for name in (first, second))
        return compare_runs(DiffOptions(*runs, fail_if_lower=names, tolerance=tolerance))


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    made = Bench(tmp_path_factory.mktemp("diff"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        made.run("a")
        patch.setattr("evaljudge.runs.binding.LEAST_SHARDS", 3)
        made.run("b", "other", rows()[::-1])
    return made


pytestmark = pytest.mark.usefixtures("no_fsync")


def table(out: Path, scorer: str = "geval") -> np.ndarray[Any, Any]:
    """Its scores (documents, systems), read in another way."""
    found = np.full((DOCUMENTS, len(SYSTEMS)), np.nan)
    for file in (out / "scores").glob("*.parquet"):
        for row in pq.read_table(file).to_pylist():
            if row["scorer"] == scorer and row["value"] is not None:
                found[int(row["doc_id"][1:]), SYSTEMS.index(row["system"])] = row["value"]
    return found


def test_means_are_paired_by_name_whatever_the_shards_are(bench):
    first, second = (table(bench.folder / name) for name in "ab")
    files = [next((bench.folder / name / "scores").iterdir()) for name in "ab"]
    shards = [pq.read_metadata(file).num_row_groups for file in files]
    assert shards == [DOCUMENTS, 4]
    diffed = bench.diff("a", "b")
    assert "</p><table><tr><th>scorer</th>" in diffed._repr_html_()
    means = diffed.differences.means
    (overall,) = [one.found for one in means if (one.scorer, one.system) == ("geval", None)]
    test = ttest_rel(second.mean(axis=1), first.mean(axis=1))
    interval = test.confidence_interval()
    assert (overall.n, overall.texts, overall.changed) == (DOCUMENTS, first.size, first.size)
    assert overall.difference == pytest.approx((second - first).mean())
    assert (overall.first, overall.second) == pytest.approx((first.mean(), second.mean()))
    assert (overall.low, overall.high) == pytest.approx((interval.low, interval.high))
    assert overall.p == pytest.approx(test.pvalue)
    for place, system in enumerate(SYSTEMS):
        (one,) = [one.found for one in means if (one.scorer, one.system) == ("geval", system)]
        assert one.difference == pytest.approx((second - first)[:, place].mean())
    words = [one.found for one in means if one.scorer == "words"]
    assert {(one.difference, one.low, one.p, one.changed) for one in words} == {(0.0, 0.0, 1.0, 0)}


def test_agreement_is_of_the_ratings_that_both_have(bench):
    human = [[one["ratings"]["fluency"] for one in case["candidates"]] for case in rows()]
    first, second = (
        np.array([spearmanr(a, b).statistic for a, b in zip(of, human, strict=True)])
        for of in (table(bench.folder / name) for name in "ab")
    )
    defined = np.isfinite(first) & np.isfinite(second)
    found = bench.diff("a", "b").differences.agreement
    (sample,) = [one for one in found if (one.scorer, one.level) == ("geval", "sample")]
    assert sample.n == defined.sum() > 3
    assert sample.difference == pytest.approx((second - first)[defined].mean())
    assert sample.low is not None and sample.high is not None
    assert sample.low < sample.difference < sample.high
    levels = {one.level for one in found if one.scorer == "geval" and one.low is not None}
    assert levels == {"sample", "system", "summary"}


def test_selections_say_who_flipped(bench):
    first, second = (
        {(row["doc_id"], row["system"]): row["values"]["geval"]["fluency"] for row in map(
            json.loads, (bench.folder / name / "selected/good.jsonl").read_text().splitlines())}
        for name in "ab"
    )  # fmt: skip
    found = bench.diff("a", "b")
    (good,) = found.differences.selections
    assert (good.both, good.first, good.second) == (
        len(first.keys() & second.keys()), len(first.keys() - second.keys()),
        len(second.keys() - first.keys()),
    )  # fmt: skip
    assert good.first and good.second and not good.rule_changed
    assert good.flipped == (good.first + good.second) / len(first.keys() | second.keys())
    assert len(good.flips) == good.first + good.second
    for flip in good.flips:
        at = flip["doc_id"], flip["system"]
        old, new = flip["values"]["geval.fluency"]
        assert (old if flip["selected"] == "first" else new) == (first | second)[at]
        assert (old >= 3) == (flip["selected"] == "first") == (new < 3)
    shown = good.flips[0]
    assert f"only in A: {shown['doc_id']} by {shown['system']}, geval.fluency" in found.text


def test_the_same_run_and_runs_of_nothing_in_common(bench):
    found = bench.diff("a", "a", "geval", "words")
    assert found.text.splitlines()[2:] == ["nothing changed"]
    assert found.exit_code == 0
    told = json.loads(found.json)
    assert told["settings"] == told["not_compared"] == []
    assert told["corpus"]["texts"] == DOCUMENTS * len(SYSTEMS)
    assert {row["difference"] for row in told["agreement"]} <= {0.0, None}
    bench.run("strange", corpus=[row | {"doc_id": f"x{row['doc_id']}"} for row in rows()])
    found = bench.diff("a", "strange")
    renamed = [
        row | {"candidates": [c | {"system": f"x{c['system']}"} for c in row["candidates"]]}
        for row in rows()
    ]
    bench.run("renamed", corpus=renamed)
    assert "; give both systems one name to compare their" in bench.diff("a", "renamed").text
    apart = "not compared, as no text is in both runs: scores, agreement, selections"
    assert found.text.splitlines()[-1] == apart and "unchanged" not in found.text
    assert json.loads(found.json)["not_compared"] == ["scores", "agreement", "selections"]
    with pytest.raises(UserError, match=r"geval\.fluency: fewer than 6 documents have scores in"):
        bench.diff("a", "strange", "geval.fluency")
    bench.run("direct", judges={"direct": {"steps": False}}, metrics={}, select=[])
    *_, same, apart = bench.diff("a", "direct").text.splitlines()
    assert same.startswith("unchanged: corpus") and "scores" not in same
    assert apart == "not compared, as the runs have none in common: coverage, scores, agreement"
    bench.run("five", corpus=rows()[:5])  # of these the table shows no p
    with pytest.raises(UserError, match=r"geval\.fluency: fewer than 6 documents have scores in"):
        bench.diff("a", "five", "geval.fluency")


def test_settings_are_said_once_by_their_keys(bench):
    bench.run("c", model="n", seed=3, judges={"geval": {}, "direct": {"max_tokens": 9}},
              metrics={"words": {}, "chars": {"metric": "chrf", "against": "best"}})  # fmt: skip
    bench.run("d", judges={"geval": {}, "direct": {"max_tokens": 12}},
              metrics={"words": {}, "chars": {"metric": "chrf", "against": "mean"}})  # fmt: skip
    found = bench.diff("c", "d").differences
    assert {row["key"]: (row["first"], row["second"]) for row in found.settings} == {
        "judges.direct.max_tokens": (9, 12),
        "model.name": ("n", "m"),
        "seed": (3, 0),
        "metrics.chars.against": ("best", "mean"),
    }
    whole = bench.diff("a", "c")
    judges = [row for row in whole.differences.settings if row["key"].startswith("judges.")]
    assert [(row["key"], "first" in row) for row in judges] == [("judges.direct", False)]
    assert judges[0]["second"]["max_tokens"] == 9
    assert "scorers only in B: chars, direct on fluency" in whole.text
    assert re.search(r'^model.name +"m" +"n"$', whole.text, re.MULTILINE)
    assert re.search(r'^metrics.chars +absent +{"metric": "chrf"', whole.text, re.MULTILINE)
    assert "metrics.words" not in whole.text
    bench.run("e", axes=["fluency", "coherence"], model="m" * 300)
    text = bench.diff("a", "e").text
    assert re.search(r"^task.axes.coherence +absent +there$", text, re.MULTILINE)
    assert "m" * 300 in text, "in a pipe, nothing is cut"


def test_secrets_are_not_shown(bench):
    for name in ("one", "two"):
        secrets = {"hf_token": f"token-{name}", "from": f"https://{name}:pw@host", "x": {"y": 1}}
        output = Output(str(bench.run(name, model={"source": "m", "chat": {"x": {"y": 1}}})))
        written = output.run() or {}
        written["fingerprint"]["model"]["chat"] = secrets
        output.write_run(written)
    assert bench.diff("one", "two").differences.settings[1] == {
        "key": "model.chat.hf_token", "first": "(hidden)", "second": "(hidden)"
    }  # fmt: skip
    for found in (bench.diff("one", "two"), bench.diff("a", "two")):
        for secret in ("token-one", "token-two", ":pw@"):
            assert secret not in found.text and secret not in found.json


def test_another_corpus(bench):
    changed = [*rows()[1:], rows()[2] | {"doc_id": "new"}]
    changed[0]["source"] = "another source"
    changed[1]["candidates"][0]["text"] = "another text"
    changed[2]["candidates"][0]["ratings"]["fluency"] += 1
    bench.run("other", corpus=changed)
    found = bench.diff("a", "other")
    corpus = found.differences.corpus
    assert (corpus.documents, corpus.documents_first, corpus.documents_second) == (7, 1, 1)
    assert (corpus.texts, corpus.texts_first, corpus.texts_second) == (28, 4, 4)
    assert (corpus.sources_changed, corpus.texts_changed, corpus.ratings_changed) == (1, 1, 1)
    assert corpus.changed == [{"doc_id": "d1"}, {"doc_id": "d2", "system": "A"}]
    warnings = found.differences.warnings
    assert warnings[0].startswith(
        "documents with another source, context or reference: 1, candidates with another text: 1; "
    )
    assert warnings[1].startswith("texts with other ratings: 1;")
    # of the other documents, the scripted model says the same
    (means,) = {one.found.texts for one in found.differences.means
                if (one.scorer, one.system) == ("geval", None)}  # fmt: skip
    assert means == 28
    (good,) = found.differences.selections
    chosen = (bench.folder / "other/selected/good.jsonl").read_text()
    assert good.unpaired[1] == chosen.count('"doc_id": "new"') > 0


def test_what_is_unscored_is_counted_with_its_reason(bench):
    emptied = rows()
    for case in emptied[:2]:
        case["candidates"][0]["text"] = ""
    bench.run("emptied", corpus=emptied)
    found = bench.diff("a", "emptied")
    (geval,) = [one for one in found.differences.coverage if one.scorer == "geval"]
    assert (geval.scored, geval.expected) == ((32, 30), (32, 32))
    assert geval.reasons == {"empty text": (0, 2)}
    assert "geval   fluency  100.0% of 32  93.8% of 32  empty text (0 → 2)" in found.text


def test_no_score_is_expected_of_a_reference(bench):
    corpus = [row | {"references": [row["candidates"][0]["text"]]} for row in rows()]
    one = {"system": "A", "text": "A"}
    lone = [row | {"candidates": [one, *row["candidates"][1:]], "references": ["A"]}
            for row in rows()]  # fmt: skip
    bench.run("references", corpus=corpus, metrics={"words": {}, "chars": {"metric": "chrf"}})
    bench.run("lone", corpus=lone, metrics={"words": {}, "chars": {"metric": "chrf"}})
    (chars,) = [one for one in bench.diff("references", "lone").differences.coverage
                if one.scorer == "chars"]  # fmt: skip
    is_reference = sum(
        candidate["text"].split() == row["references"][0].split()
        for row in corpus for candidate in row["candidates"]
    )  # fmt: skip
    assert is_reference >= DOCUMENTS
    assert chars.expected == (32 - is_reference, 24)
    assert chars.shares == (1.0, 1.0)


def test_a_rule_that_changed_is_said(bench):
    bad = {"scorer": "geval", "axis": "fluency", "at_most": 2.0}
    strict = [GOOD | {"at_least": 4.9}]
    bench.run("strict", select=[{"name": "good", "all": strict}, {"name": "bad", "all": [bad]}])
    found = bench.diff("a", "strict")
    assert found.differences.selections[0].rule_changed
    assert "its rule is another" in found.text
    assert "selections only in B: bad" in found.text


def test_systems_are_told_apart_by_adjusted_p(bench):
    found = bench.diff("a", "b")
    (model,) = [one for one in found.differences.means if one.scorer == "geval" and not one.system]

    def shown(*ps: float) -> int:
        means = [replace(model, system=f"system-{p}", found=replace(model.found, p=p)) for p in ps]
        text = Diffed(replace(found.differences, means=means), ()).text
        return len(re.findall("^system-", text, re.MULTILINE))

    assert (shown(0.03, 0.04, 0.5), shown(0.01, 0.03), shown(0.001, 0.03, 0.5)) == (0, 2, 1)


# --fail-if-lower


def looked(first: Any, second: Any, tolerance: float = 0.0) -> float:
    """The p by definition, by documents."""
    gaps = (second - first).mean(axis=1)
    return float(ttest_1samp(gaps, -tolerance, alternative="less").pvalue)


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_a_mean_is_lower_by_more_than_chance_and_the_tolerance(bench, tolerance):
    first, second = (table(bench.folder / name) for name in "ab")
    for a, b, tables in (("a", "b", (first, second)), ("b", "a", (second, first))):
        (found,) = bench.diff(a, b, "geval.fluency", tolerance=tolerance).looked
        assert found.p == pytest.approx(looked(*tables, tolerance))
        assert (found.p_holm, found.failed) == (found.p, found.p < 0.05)


def test_all_that_are_looked_at_are_corrected_for(bench):
    both = bench.diff("a", "b", "geval", "words", "geval.fluency").looked
    assert [one.scale for one in both] == ["geval on fluency", "words"]
    geval, words = both
    assert words.p == 1.0 and not words.failed  # it did not change at all
    assert geval.p_holm == pytest.approx(min(1.0, 2 * geval.p))
    gap = paired_difference(np.ones((5, 2)), np.zeros((5, 2)))
    assert (p_lower(gap, 0.0), p_lower(gap, 0.5), p_lower(gap, 1.0)) == (0.5**5, 0.5**5, 1.0)
    assert p_lower(paired_difference(np.ones((1, 2)), np.zeros((1, 2))), 0.0) is None


@pytest.mark.parametrize(
    ("name", "tolerance", "words"),
    [
        ("zzz", 0, "unknown scorer 'zzz': known: geval, geval.fluency, words"),
        ("geval.fluencey", 0, "did you mean 'geval.fluency'?"),
        ("words.*", 0, "unknown scorer 'words.*'"),
        ("geval", -1, "--tolerance -1: give a number of 0 or more"),
        ("geval", float("nan"), "--tolerance nan"),
    ],
)
def test_mistakes_in_what_is_looked_at(bench, name, tolerance, words):
    assert words in refusal(bench.diff, "a", "b", name, tolerance=tolerance)


def test_a_scorer_that_only_one_run_has_is_a_mistake(bench):
    bench.run("half", judges={"geval": {}, "direct": {}})  # nothing that direct can read
    for name in ("direct.fluency", "direct"):
        assert "only B has scores of direct.fluency" in refusal(bench.diff, "a", "half", name)


def test_means_on_two_scales_are_not_compared(bench):
    def scorers(found: Diffed) -> set[str]:
        return {row.scorer for row in found.differences.means}

    for levels in (3, 9):
        bench.run(f"levels-{levels}", judges={"synthetic": {"levels": levels}, "geval": {}},
                  combine={"jury": {"of": ["synthetic", "geval"]}}, select=[])  # fmt: skip
    found = bench.diff("levels-3", "levels-9", "synthetic.ordinal", "geval")
    assert {"synthetic", "jury"} & scorers(found) == set()
    assert {"synthetic.ordinal", "geval"} <= scorers(found)
    assert {"synthetic", "jury"} <= scorers(bench.diff("levels-3", "levels-3"))
    why = "the scale differs (`levels` 3 and 9): compare synthetic.ordinal instead"
    assert f"warning    synthetic: {why}\nwarning    jury: the scale of synthetic" in found.text
    for name in ("synthetic", "synthetic.fluency"):
        assert refusal(bench.diff, "levels-3", "levels-9", name) == f"--fail-if-lower {name}: {why}"


def test_the_command(bench, capsys):
    a, b = (str(bench.folder / name) for name in "ab")
    first, second = (table(bench.folder / name) for name in "ab")
    if first.mean() < second.mean():
        a, b = b, a

    def code(*given: str) -> Any:
        with pytest.raises(SystemExit) as left:
            main(["diff", a, b, *given])
        return left.value.code

    failed = bench.diff(Path(a).name, Path(b).name, "geval").looked[0].failed
    assert code("--fail-if-lower", "geval") == 4 * failed
    printed = capsys.readouterr()
    change = f"failed: geval on fluency: {abs(first.mean() - second.mean()):.3f} lower, p "
    assert printed.err.startswith(change) is failed
    assert printed.out.startswith(f"A          {a}\nB          {b}\n")
    assert code("--json", "--fail-if-lower", "words") == 0
    assert json.loads(capsys.readouterr().out)["looked"][0]["failed"] is False
    assert code("--markdown", "--fail-if-lower", "geval") == 4 * failed
    said = capsys.readouterr().out
    assert "### Mean scores of the texts that both runs scored\n\n| scorer " in said
    assert said.startswith("- failed: geval on fluency") is failed


# runs that are not whole


def test_an_unfinished_run_is_compared_on_what_it_has(bench, tmp_path):
    shutil.copytree(bench.folder / "a", tmp_path / "cut")
    output = Output(str(tmp_path / "cut"))
    output.write_run((output.run() or {}) | {"state": "begun"})
    shards = output.shards()
    output.write_scores({shard: list(output.scores(shard)) for shard in shards[1:]})
    found = evaljudge.diff(str(bench.folder / "a"), str(tmp_path / "cut"))
    (warning,) = found.differences.warnings
    assert f"1 of {len(shards)} shards have no scores: only the others are compared" in warning
    texts = {one.found.texts for one in found.differences.means if one.system is None}
    (left,) = texts
    assert 0 < left < DOCUMENTS * len(SYSTEMS)
    shutil.rmtree(tmp_path / "cut/scores")
    for mend in ("report CONFIG` writes scores", "run CONFIG` resumes it"):
        with pytest.raises(UserError, match=f"nothing is scored yet: `evaljudge {mend}"):
            evaljudge.diff(str(tmp_path / "cut"), str(bench.folder / "a"))
        next((tmp_path / "cut/commits/judge").iterdir()).unlink()


@pytest.mark.parametrize(
    "name", ["run.json", "shards.json", "cases/00000.parquet", "scores/00000-00007.parquet",
             "selected/good.json", "selected/good.jsonl"],
)  # fmt: skip
@pytest.mark.parametrize("damage", ["gone", "junk", "another"])
def test_damaged_files_are_refused_in_one_line(bench, tmp_path, name, damage):
    shutil.copytree(bench.folder / "a", tmp_path / "hurt")
    file = tmp_path / "hurt" / name
    if damage == "gone":
        file.unlink()
    else:
        other = bench.folder / "b" / name
        file.write_bytes(b"junk" if damage == "junk" else other.read_bytes())
    said = refusal(evaljudge.diff, str(bench.folder / "a"), str(tmp_path / "hurt"))
    assert said.startswith(str(tmp_path / "hurt")), said
    if damage != "another":  # another's run.json makes all other files another's
        assert said.startswith(f"{file}: "), said


def test_what_is_no_run_is_refused_and_a_job_at_work_is_named(bench, tmp_path):
    assert "no run lies here" in refusal(evaljudge.diff, str(tmp_path), str(bench.folder / "a"))
    with claimed(str(bench.folder / "a")):
        assert evaljudge.diff(*[str(bench.folder / "a")] * 2).text.count("at work is") == 1
