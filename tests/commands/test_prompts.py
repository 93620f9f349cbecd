"""`evaljudge prompts`: what would be asked is what a run asks."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.cli import main
from evaljudge.commands import prompts
from evaljudge.commands.prompts import SAID, PromptsOptions, prompts_text
from evaljudge.engines import ModelSource
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.engines.token_counter import text_around
from evaljudge.model.asks import Options, Prompt, Writing
from tests.build import refusal

JUDGES = ["synthetic", "geval", "direct", "entities", "roles", "likelihood", "extract", "pairs",
          "checklist"]  # fmt: skip


@pytest.fixture
def config(tmp_path):
    rows = [
        {"doc_id": f"d{n}", "source": f"The \x1b[2Jriver {n} rose.", "references": ["A flood."],
         "candidates": [{"system": s, "text": f"Text {n} of {s}."} for s in "AB"]}
        for n in range(2)
    ]  # fmt: skip
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return {
        "corpus": str(tmp_path / "cases.jsonl"), "out": str(tmp_path / "run"), "model": "no/model",
        "axes": ["fluency", "coherence"], "judges": JUDGES, "metrics": ["words"],
        "workers": {"executor": "local"}, "view": 1, "coverage_floor": 0,
        "select": [{"name": "x", "all": [{"scorer": "words", "axis": "*", "at_least": 1}]}],
        "agreement": {"resamples": 0},
    }  # fmt: skip


def said(config: dict[str, Any], **options: str) -> str:
    return prompts_text(PromptsOptions(config, **options))  # type: ignore[arg-type]


def blocks_of(text: str) -> dict[str, str]:
    """Each block by its head: `synthetic 1 of 3: prompt synthetic.extreme`."""
    found = re.split(r"^── (.+?) ─+$\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_every_judge_s_kinds_of_questions_in_their_order(config):
    text = said(config, axis="fluency")
    heads = list(blocks_of(text))
    assert heads[:3] == [
        "synthetic 1 of 3: prompt synthetic.extreme",
        "synthetic 2 of 3: prompt synthetic.between",
        "synthetic 3 of 3: prompt synthetic.compare",
    ]
    assert {head.split()[0] for head in heads} == set(JUDGES)
    assert text.startswith("document   d0 (2 texts: A, B)\n")
    assert "The tokenizer of no/model is not on this machine" in text
    assert "coherence" not in text
    assert "\x1b" not in text
    assert not Path(config["out"]).exists()


def test_the_prompts_and_their_numbers_are_those_of_a_run(config):
    """Of a run over one document; the replies differ, and nothing else."""
    asked: list[str] = []

    class Noting(Scripted):
        def _written(self, prompt: Prompt, reply: Any, how: Writing) -> Any:
            asked.append(prompt.text)
            return super()._written(prompt, reply, how)

        def _chosen(self, prompt: Prompt, options: Options, samples: int) -> Any:
            asked.append(prompt.text)
            return super()._chosen(prompt, options, samples)

    rows = Path(config["corpus"]).read_text().splitlines()
    Path(config["corpus"]).write_text(rows[0])
    wanted = config | {"judges": ["synthetic", "geval"]}
    shown = blocks_of(said(wanted))
    evaljudge.run(wanted, engines=ScriptedEngines(Noting))
    written = {re.sub(r"text \d+", SAID, text) for text in asked}
    times = 0
    for block in shown.values():
        about, _, words = block.partition("\n\n")
        found = re.search(r"([\d,]+) times", about)
        times += int(found[1]) if found else 1
        plain = re.sub(rf"({SAID}) \w{{6}}", r"\1", words).strip().replace("␛", "\x1b")
        assert plain in written
    assert times == len(asked)


def test_the_tokens_of_thoughts_are_said_where_the_model_thinks(config):
    model = {"source": "no/model", "thinking": {"tokens": 1200}}
    wanted = config | {"model": model, "judges": ["direct", "geval"]}
    thinks = {"Before that, the model thinks, in at most 1,200 tokens." in shown
              for shown in blocks_of(said(wanted, judge="direct")).values()}  # fmt: skip
    assert thinks == {False}
    assert sum("in at most 1,200" in shown for shown in blocks_of(said(wanted)).values()) == 1


def test_where_a_prompt_depends_on_a_reply(config):
    shown = blocks_of(said(config, judge="synthetic", axis="fluency"))
    extreme, between, compare = shown.values()
    assert SAID not in extreme
    assert f"{SAID} stands for what the model will have written to synthetic.extreme." in between
    assert SAID in between.partition("\n\n")[2]
    assert "written to synthetic.extreme." in compare
    assert extreme.startswith("Asked about the document alone, 2 times; this is the first.")


def test_one_text_no_judge_and_given_references(config):
    assert "2 times" in said(config, doc_id="d1", judge="direct", axis="fluency")
    one = said(config, doc_id="d1", system="B", judge="direct", axis="fluency")
    assert "Text 1 of B." in one
    assert "Text 1 of A." not in one
    assert "Asked about a text, once." in one
    evaljudge.run(config | {"judges": ["synthetic"]}, engines=ScriptedEngines())
    file = str(Path(config["out"]).parent / "references.jsonl")
    with pytest.raises(SystemExit):
        main(["export", config["out"], "references", "--to", file])
    given = config | {"judges": {"synthetic": {"references": file}}}
    shown = blocks_of(said(given))
    assert list(shown) == ["synthetic 1 of 1: prompt synthetic.compare"]
    assert SAID not in "".join(shown.values())
    assert "names no judge" in refusal(said, config | {"judges": {}, "select": []})


def test_the_chat_template_stands_around_the_words(config, monkeypatch):
    monkeypatch.setattr(prompts, "text_around", lambda source: ("<|user|>", "<|assistant|>"))
    text = said(config, judge="direct", axis="fluency")
    assert "The words of each prompt stand in the chat template of no/model." in text
    for block in blocks_of(text).values():
        words = block.partition("\n\n")[2]
        assert words.startswith("<|user|>")
        assert words.strip().endswith("<|assistant|>")


def test_a_tokenizer_that_is_here_is_read_and_none_is_downloaded():
    assert text_around(ModelSource("nano")) == ("<s><|user|>\n", "\n<|assistant|>\n")
    assert text_around(ModelSource("no/such-model")) is None
    assert text_around(ModelSource("s3://no/such-model")) is None
    assert text_around(ModelSource("/no such folder/")) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"doc_id": "d7"}, "--doc: unknown document 'd7': known: d0, d1"),
        ({"system": "C"}, "--system: unknown system 'C': known: A, B"),
        ({"judge": "gevl"}, "--judge: unknown judge 'gevl': did you mean 'geval'?"),
        ({"axis": "fluent"}, "--axis: unknown axis 'fluent': did you mean 'fluency'?"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(config, options, words):
    assert words in refusal(said, config, **options)
