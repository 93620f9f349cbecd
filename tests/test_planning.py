"""What a plan says is what a run asks, as far as replies do not change it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import evaljudge
from evaljudge.commands.plan import planned, throughput_of
from evaljudge.config import load_config
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.runs import planning
from evaljudge.runs.job import make_job
from evaljudge.runs.planning import make_plan
from evaljudge.storage import Output
from tests.build import refusal

OWN = "tests.judges.shared.test_one_question:Brief"
CASE = {"doc_id": "d", "source": "one two", "candidates": [
    {"system": "A", "text": "a"}, {"system": "B", "text": "b"},
    {"system": "C", "text": "a"}, {"system": "D", "text": ""},
]}  # fmt: skip


@pytest.fixture
def config(tmp_path):
    (tmp_path / "c.jsonl").write_text(json.dumps(CASE))
    return {"corpus": str(tmp_path / "c.jsonl"), "out": str(tmp_path / "o"), "model": "m",
            "axes": ["fluency", "relevance"],
            "judges": {"synthetic": {"checks": {"exchanged": 0}}}}  # fmt: skip


def test_asks_by_hand(config, tmp_path):
    """Two axes of five levels; two different texts before each level; the empty one not asked.

    Beside them the four neighbours on each axis.
    """
    plan = evaljudge.plan(config, engines=ScriptedEngines())
    assert (plan.cases, plan.candidates) == (1, 4)
    assert repr(plan).startswith("Plan(documents 1, texts 4; asks 38, tokens of prompts 5,")
    assert {key: t.asks for key, t in plan.asked.items()} == {
        ("prepare", "synthetic"): 10,
        ("judge", "synthetic"): 2 * 5 * 2 + 2 * 4,
    }
    assert plan.asked["judge", "synthetic"].prompt > 0
    assert plan._repr_html_() == f"<pre>{plan!r}</pre>"
    assert not (tmp_path / "o").exists()


def test_a_combination_of_different_scales_is_warned_of(config):
    def cautions(*of: str) -> list[str]:
        yes_no = {"judge": "question", "answers": {"Yes": 0.5, "No": -1}}
        combined = {
            "judges": {"geval": {"samples": 4}, "mine": yes_no, "own": {"judge": OWN}},
            "metrics": ["rouge1", "words"],
        }
        combined |= {"combine": {"jury": {"of": list(of), "by": "mean"}}}
        planned = evaljudge.plan(config | combined, engines=ScriptedEngines())
        return [line for line in planned.warnings if line.startswith("combine.")]

    (line,) = cautions("geval", "rouge1")
    assert line.startswith(
        "combine.jury: its scorers have different scales (geval 1 to 5, rouge1 0"
    )
    assert "(geval 1 to 5, mine -1 to 0.5): " in cautions("geval", "mine")[0]
    assert "scales (geval 1 to 5, own not said by `meanings`)" in cautions("geval", "own")[0]
    assert cautions("geval", "geval.sampled") == cautions("geval", "words") == []


@pytest.mark.parametrize("judges", [{}, {"geval": {}}])
def test_what_cannot_be_scored_is_foreseen_with_and_without_judges(config, judges):
    config |= {"judges": judges, "metrics": ["rouge1", "words"]}
    plan = evaljudge.plan(config, engines=ScriptedEngines())
    assert [line for line in plan.foreseen if line.startswith("rouge1: no reference × 3")]
    assert repr(plan).splitlines()[1:] == [f"foreseen {line}" for line in plan.foreseen]
    said = planned(config, engines=ScriptedEngines()).text.splitlines()
    assert [line for line in said if line.startswith("foreseen")] == [
        f"foreseen   {line}" for line in plan.foreseen
    ]


class Other(ScriptedEngines):
    """Another engine than the scripted one."""

    version = "other"


@pytest.mark.parametrize("prompts", [None, "nano"])
def test_the_prompts_that_nano_was_taught_are_named(config, prompts):
    config |= {"model": "nano", "prompts": prompts, "workers": {"executor": "local"}}
    config["judges"] = {"geval": {}}
    advice = "model nano was taught the prompts of `prompts: nano` alone: set them"
    assert (advice in evaljudge.plan(config, engines=Other()).warnings) == (prompts is None)


def test_a_corpus_without_candidates_is_warned_of(config, tmp_path):
    (tmp_path / "c.jsonl").write_text(json.dumps(CASE | {"candidates": []}))
    said = planned(config, engines=ScriptedEngines()).text
    assert "no document has a text: `evaljudge run` refuses such a corpus" in said
    with pytest.raises(UserError, match="no document has a text"):
        evaljudge.run(config, engines=ScriptedEngines())


def test_the_command_plans_without_torch_and_seldom_looks_for_garbage(config, tmp_path, tiny):
    config |= {"model": str(tiny())}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    code = (
        "import gc, sys; from evaljudge.cli import app; from typer.testing import CliRunner\n"
        "print(CliRunner().invoke(app(), ['plan', sys.argv[1]]).output, end='')\n"
        "print({'torch', 'transformers', 'vllm'} & sys.modules.keys())\n"
        "print(gc.get_freeze_count() > 0, gc.get_threshold()[0])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "config.yaml")]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout == f"{planned(config).text}set()\nTrue 100000\n"


def test_without_a_judge_the_corpus_is_read_and_nothing_asked(config):
    given = config | {"judges": {}, "metrics": ["words"], "model": None}
    plan = evaljudge.plan(given, engines=ScriptedEngines())
    assert (plan.cases, plan.total.asks) == (1, 0)
    said = planned(given, engines=ScriptedEngines()).text
    assert said.startswith("1 document, ")
    assert "\nrated by people: " in said
    assert said.endswith("no model is asked, so there is no cost to plan.\n")


def test_ratings_in_files_are_counted_and_what_is_not_read_is_said(config, tmp_path):
    (tmp_path / "r.csv").write_text("doc_id,system,fluency,relevence\nd,A,4,3\nd,B,2,\n")
    given = config | {"ratings": str(tmp_path / "r.csv")}
    said = planned(given, engines=ScriptedEngines()).text
    assert "\nrated by people: none; in the files of `ratings`: fluency 2\n" in said
    assert "r.csv: column 'relevence' is not read: did you mean 'relevance'?" in said


def test_a_price_is_an_estimate_of_money_and_changes_nothing_else(config):
    """Between a perfect prefix cache and none; no rate, no sum."""
    priced = config | {"workers": {"price_per_gpu_hour": 3600, "currency": "EUR"}}
    job = make_job(load_config(priced), ScriptedEngines())
    assert job.fingerprint("c") == make_job(load_config(config), ScriptedEngines()).fingerprint("c")
    total = make_plan(job).total
    said = planned(priced, throughput=1000, engines=ScriptedEngines()).text
    least, most = (f"{(n + total.generated) / 1000:,.2f}" for n in (total.floor, total.prompt))
    assert f"from {least} EUR with a perfect prefix cache to {most} EUR without any" in said
    assert "An estimate of the cost, at 3600 EUR per GPU-hour" in said
    assert "GPU-hours with" in said
    on_cpus = priced | {"workers": {"gpus": 0}}
    said = planned(on_cpus, throughput=1000, engines=ScriptedEngines()).text
    assert "worker-hours with" in said and "GPU" not in said
    assert "give --throughput TOKENS" in planned(priced, engines=ScriptedEngines()).text
    assert "cost" not in planned(config, engines=ScriptedEngines()).text


def test_the_rate_of_an_earlier_run(config, tmp_path):
    assert "no run lies here" in refusal(throughput_of, str(tmp_path / "o"))
    evaljudge.run(config, engines=ScriptedEngines())
    output = Output(str(tmp_path / "o"))
    run = output.run() or {}
    output.write_run(run | {"cost": {"worker_seconds": 2.5}})  # a scripted model takes none
    computed = run["total"]["prefilled"] + run["total"]["generated"]
    assert throughput_of(str(tmp_path / "o")) == computed / 2.5 > 0


class OpensNone(VllmEngines):
    """vLLM's, but for the engine: which source each is opened with is kept."""

    version = "none"

    def __init__(self) -> None:
        self.opened: list[ModelSource] = []

    def open(self, source: ModelSource, seed: int) -> Scripted:  # type: ignore[override]
        self.opened.append(source)
        return Scripted()


def test_an_engine_is_told_of_the_longest_prompt_which_is_no_part_of_the_identity(
    config, tmp_path, tiny, monkeypatch
):
    config |= {"model": str(tiny()), "workers": {"executor": "local"}}
    unknown = OpensNone()  # nothing is made beforehand where there is room for any prompt
    evaljudge.run(config | {"out": str(tmp_path / "roomy")}, engines=unknown, progress=False)
    assert [source.longest for source in unknown.opened] == [0]
    monkeypatch.setattr(planning, "WORTH_COUNTING", 0)
    rising = [CASE | {"doc_id": f"d{n}", "source": "one two " * 10 * n} for n in range(1, 9)]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rising)))
    engines = OpensNone()
    planned = make_plan(make_job(load_config(config), engines)).longest[str(tiny())]
    evaljudge.run(config, engines=engines, progress=False)
    assert [source.longest for source in engines.opened] == [planned]
    assert f"{planned}" not in json.dumps(Output(str(tmp_path / "o")).run()["fingerprint"])  # type: ignore[index]

    more = CASE | {"doc_id": "last", "source": "one two " * 200}
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, [*rising, more])))
    evaljudge.run(config, extend=True, engines=engines, progress=False)
    assert engines.opened[1].longest > planned + 100
    evaljudge.run(config, engines=engines, progress=False)
    assert len(engines.opened) == 2  # nothing was left to ask


def test_whether_the_model_fits_on_a_card(config, tiny):
    model = {"source": str(tiny()), "engine": {"gpu_memory_utilization": 0.9}}
    text = planned(config | {"model": model}, gpu="l4").text
    longest = make_plan(make_job(load_config(config | {"model": model}))).longest[str(tiny())]
    assert f"memory     {tiny()} on l4 with 22.0 GiB: weights 0.00 GiB, computing about " in text
    assert f"the longest prompt and its reply are {longest:,} tokens, 0.00 GiB: " in text
    assert text.rstrip().endswith(" of them fit at once")
    model["engine"] = {"gpu_memory_utilization": 0.01, "tensor_parallel_size": 2}
    text = planned(config | {"model": model}, gpu="t4").text
    assert " on 2 × t4, each with 14.6 GiB: " in text
    assert "left for the cache nothing (" in text
    assert "this does not fit. Take a smaller or quantised model, or a larger card" in text
    assert (
        "nowhere: its config.json is not here"
        in planned(config | {"model": "nowhere"}, engines=ScriptedEngines(), gpu="t4").text
    )
    assert "--gpu t5: unknown card: known are t4, l4" in refusal(planned, config, gpu="t5")


def test_documents_of_one_source_are_each_prepared_and_counted(config):
    """Judges of one document share what is written; documents of equal texts do not."""
    judges = {"synthetic": {"levels": 3}, "finer": {"judge": "synthetic", "levels": 5}}
    rows = [{"doc_id": f"d{n}", "source": f"s{n % 2}", "text": f"t{n}"} for n in range(6)]
    given = config | {"corpus": rows, "judges": judges, "axes": ["fluency"]}
    planned_asks = evaljudge.plan(given, engines=ScriptedEngines()).total.asks
    evaljudge.run(given, engines=ScriptedEngines(), progress=False)
    run = json.loads((Path(given["out"]) / "run.json").read_text())
    assert planned_asks == run["total"]["asks"]
