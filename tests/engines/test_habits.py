"""What is read in a chat template, on small templates that have one habit each."""

import json
import shutil
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from evaljudge.config import ModelConfig, load_config
from evaljudge.engines import Identity, ModelSource, VllmEngines, identity_bound
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.engines.template import (
    DATE,
    ChatTemplate,
    find_template,
    read_template,
    settled,
)
from evaljudge.engines.thinking import thought_form
from evaljudge.engines.tokens import Tokeniser
from evaljudge.errors import UserError
from evaljudge.identity import brief_key
from evaljudge.judges import make_judges
from evaljudge.model.asks import Prompt
from evaljudge.prompts import load_task
from evaljudge.records import Document
from evaljudge.runs.job import make_job
from tests.build import config, document, jsonl, planned_text, refusal
from tests.engines.habitual import EMPTY, FINAL, HABITS
from tests.lazily import Lazily

transformers = Lazily("transformers")

BOS = {"bos_token": "<s>"}
PLAIN = (
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
SPACED = (  # as Mistral's
    "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
)
STRFTIME = "{{ bos_token }}Today is {{ strftime_now('%d %b %Y') }}.\n" + PLAIN
LLAMA = (
    "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
    "{{ bos_token }}Today is {{ date_string }}.\n" + PLAIN
)
NO_THINK = (  # as GLM-4.5's
    "{% for m in messages %}{% if m.role == 'user' %}<|user|>\n{{ m.content }}"
    "{{ '/nothink' if (enable_thinking is defined and not enable_thinking) else '' }}"
    "{% else %}<|assistant|>\n<think></think>\n{{ m.content }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>"
    "{{ '\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' }}"
    "{% endif %}"
)
OFF_BY_ITSELF = (  # as DeepSeek-V3.1's
    "{% if not thinking is defined %}"
    "{% set thinking = enable_thinking if enable_thinking is defined else false %}{% endif %}"
    "{% for m in messages %}{% if m.role == 'user' %}<U>{{ m.content }}"
    "{% else %}<A></think>{{ m.content }}</s>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<A>{{ '<think>' if thinking else '</think>' }}{% endif %}"
)


def found(text: str, chat: dict[str, Any] | None = None, reply: str | None = None) -> Any:
    asked = settled(ModelSource("m", chat=chat or {}, reply=reply), ChatTemplate(text, BOS))
    return asked.chat, asked.reply


@pytest.mark.parametrize("name", HABITS)
def test_each_habit_is_recognised(name):
    assert found(HABITS[name].template) == (HABITS[name].chat, HABITS[name].reply)


@pytest.mark.parametrize(
    ("template", "chat", "reply"),
    [
        (PLAIN, {}, ""),
        (SPACED, {}, ""),
        (OFF_BY_ITSELF, {}, ""),
        (NO_THINK, {"enable_thinking": False}, "\n"),
        (STRFTIME, {"strftime_now": DATE}, ""),
        (LLAMA, {"strftime_now": DATE}, ""),
    ],
)
def test_other_templates(template, chat, reply):
    assert found(template) == (chat, reply)


GPT_OSS = (
    "{% for m in messages %}{% if m.role == 'user' %}<|start|>user<|message|>{{ m.content }}<|end|>"
    "{% else %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|return|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
OF_GPT_OSS = ("<|channel|>analysis<|message|>", "<|end|>", f"<|end|><|start|>assistant{FINAL}")


@pytest.mark.parametrize(
    ("template", "opens", "tag", "closes"),
    [
        (HABITS["open block"].template, "", "</think>", "</think>\n\n"),
        (HABITS["open block, shown"].template, "", "</think>", "</think>\n\n"),
        (HABITS["own block"].template, "<think>\n", "</think>", "</think>\n\n"),
        (HABITS["switch"].template, "<think>\n", "</think>", "</think>\n\n"),
        (NO_THINK, "\n<think>\n", "</think>", "</think>\n"),
        (OFF_BY_ITSELF, "", "</think>", "</think>"),
        (GPT_OSS, *OF_GPT_OSS),
    ],
)
def test_where_a_thought_begins_and_ends(template, opens, tag, closes):
    silent, _ = found(template)
    form = thought_form(ChatTemplate(template, BOS), silent)
    assert (form.opens, form.tag, form.closes) == (opens, tag, closes)


@pytest.mark.parametrize("template", [PLAIN, SPACED, STRFTIME])
def test_a_template_that_has_no_place_for_a_thought(template):
    with pytest.raises(UserError, match=r"^model\.thinking: .* opens no block of thoughts"):
        thought_form(ChatTemplate(template, BOS), {})


@pytest.mark.parametrize(
    ("name", "chat", "reply"),
    [
        ("switch", {"enable_thinking": True}, None),
        ("switch", {"enable_thinking": False}, None),
        ("switch", {}, "Sure: "),
        ("open block", {}, ""),
        ("channel", {}, "<|channel|>analysis<|message|>"),
    ],
)
def test_what_is_given_is_taken_as_it_is(name, chat, reply):
    assert found(HABITS[name].template, chat, reply) == (chat, reply or "")


def test_a_day_may_be_named():
    assert found(STRFTIME, {"strftime_now": "2025-01-31"}) == ({"strftime_now": "2025-01-31"}, "")
    assert found(LLAMA, {"date_string": "31 Jan 2025"}) == ({"date_string": "31 Jan 2025"}, "")


@pytest.fixture
def with_habit(tiny, tmp_path):
    def make(template: str) -> Path:
        folder = shutil.copytree(tiny(), tmp_path / "model")
        file = folder / "tokenizer_config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"chat_template": template}))
        return folder

    return make


@pytest.mark.parametrize("text", [h.template for h in HABITS.values()] + [LLAMA, NO_THINK])
def test_the_engine_s_template_has_what_was_recognised(with_habit, text):
    folder = with_habit(text)
    template = find_template(ModelSource(str(folder)))
    assert template is not None and template.text == text
    asked = settled(ModelSource(str(folder)), template)
    assert asked.chat is not None and asked.reply is not None
    tokeniser = Tokeniser(transformers.AutoTokenizer.from_pretrained(folder))
    read = read_template(tokeniser, asked.chat, frozenset(), asked.reply)
    assert read.tail_text == template.around(asked.chat)[1] + asked.reply
    assert "Today" not in text or "Today is 26 Jul 2024." in read.head_text


def test_a_reply_s_special_tokens_are_special(tiny):
    tokeniser = Tokeniser(transformers.AutoTokenizer.from_pretrained(tiny()))
    template = read_template(tokeniser, {}, frozenset(), "<|user|>so")
    assert "<|user|>" in tokeniser.hf.convert_ids_to_tokens(template.tail)


def test_a_template_in_a_file_of_its_own_comes_first(with_habit):
    folder = with_habit(PLAIN)
    (folder / "chat_template.jinja").write_text(LLAMA)
    template = find_template(ModelSource(str(folder)))
    assert template and template.text == LLAMA
    assert find_template(ModelSource("/no/such/folder")) is None
    assert find_template(ModelSource("no/such-model")) is None


def identity(source: ModelSource) -> Identity:
    return VllmEngines().describe(source).identity


def test_the_identity_has_it_and_the_signature_says_so(with_habit):
    source = ModelSource(str(with_habit(HABITS["channel"].template)))
    found = identity(source)
    assert found.as_key()["reply"] == FINAL
    assert str(found).endswith(f' with reply "{FINAL}" (by its template)')
    same, plain = (identity(replace(source, reply=reply)) for reply in (FINAL, ""))
    assert same == found
    assert str(same).endswith(f' with reply "{FINAL}"')
    assert "reply" not in plain.as_key()
    known = found.as_fingerprint()
    assert identity_bound(known, source) == found
    assert identity_bound(known, replace(source, reply="")) == plain


def test_a_switch_that_is_set_by_itself_is_as_one_that_is_given(with_habit):
    source = ModelSource(str(with_habit(HABITS["switch"].template)))
    found, chat = identity(source), {"enable_thinking": False}
    assert found.as_key() == {"revision": found.revision, "chat": chat, "engine": {}}
    assert str(found).endswith(" with enable_thinking false (by its template)")
    assert identity_bound(found.as_fingerprint(), source) == found


def test_runs_begun_before_this_are_known(tiny):
    """Models without a habit, and base models, have the identity that they had."""
    for chat, made in (({}, tiny()), (None, tiny("bytes", False))):
        source = ModelSource(str(made), chat=chat)
        found = identity(source)
        before = {"name": made.name, "revision": found.revision, "chat": {}, "engine": {}}
        assert replace(found, exactness=None, dtype=None).as_fingerprint() == before
        assert str(found) == f"{made.name}@{found.revision[:12]}"
        assert identity_bound(before, source).as_fingerprint() == before


def test_a_model_without_a_template_is_refused_before_it_is_loaded(tiny):
    with pytest.raises(UserError, match=r"^model \S+ has no chat template: .* `chat: none`"):
        identity(ModelSource(str(tiny("bytes", False))))
    completing = identity(ModelSource(str(tiny()), chat=None))
    assert completing.as_key()["chat"] is None, "its template is there, and not used"
    assert completing != identity(ModelSource(str(tiny())))


def test_none_is_what_a_base_model_s_chat_is_called():
    assert ModelConfig(source="m", chat="none").as_source().chat is None
    assert ModelConfig(source="m").as_source().chat == {}


def test_where_both_speak_the_reply_wins_and_the_plan_says_so(with_habit, tmp_path):
    folder = with_habit(HABITS["switch"].template)
    model = {"source": str(folder), "reply": EMPTY, "chat": {"enable_thinking": True}}
    assert ModelConfig(**model).as_source().chat == {}
    jsonl(tmp_path / "cases.jsonl", [document(0)])
    said = f"model {folder}: `reply` is given, so `chat.enable_thinking` is not used"
    assert f"warning: settings: {said}\n" in planned_text(config(tmp_path, model=model))
    model = ModelConfig(**model, thinking={"tokens": 8})
    assert (model.as_source().chat, model.as_source().reply) == ({}, None)
    said = "`thinking` is given, so `reply` and `chat.enable_thinking` is not used"
    assert model.caution == f"model {folder}: {said}"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"chat": "none", "thinking": {"tokens": 8}}, "has `thinking` and `chat: none`"),
        ({"thinking": {"tokens": 8, "temperature": 0, "samples": 2}}, "equal at temperature 0"),
        ({"thinking": {"tokens": 0}}, "thinking.tokens"),
        ({"thinking": {}}, "thinking.tokens"),
    ],
)
def test_thinking_that_cannot_be(model, said):
    words = refusal(load_config, {"corpus": "c", "out": "o", "model": {"source": "m"} | model})
    assert said in words


def test_what_is_written_is_known_by_the_model_without_its_thoughts():
    """So judges with and without thoughts share their briefs, and are two models nevertheless."""
    plain = Identity("m", "r", {}, {})
    thinks = replace(plain, thinking={"tokens": 8})
    assert thinks.as_key() == plain.as_key()
    (entities,) = make_judges({"entities": {}}, load_task("summary"))
    (rubric,) = entities.parts()
    document = Document("d", "Rain.")
    keys = {brief_key(entities, replace(rubric, chooses=chooses), document, identity)
            for chooses in (False, True) for identity in (plain, thinks)}  # fmt: skip
    assert len(keys) == 2 and rubric.chooses, "the model chooses for the rubric"
    assert thinks.as_fingerprint() != plain.as_fingerprint()
    said = json.loads(json.dumps(thinks.as_fingerprint()))
    assert Identity.known(said) == thinks


def test_a_judge_s_own_model_may_drop_the_thoughts_that_the_common_one_keeps():
    kept, dropped = ({"source": "m", "thinking": {"tokens": 8, "keep": k}} for k in (True, False))
    judges = {"geval": {}, "silent": {"judge": "geval", "model": dropped}}
    job = make_job(
        load_config({"corpus": "c", "out": "o", "model": kept, "judges": judges}), ScriptedEngines()
    )
    keeps = {p.judges[0].name: p.model.source.thinking.keep for p in job.panels}
    assert keeps == {"geval": True, "silent": False}
    assert "keep" not in job.model.identity.thinking


def test_a_writer_may_think_where_it_chooses_or_judges_too():
    thinks = {"source": "w", "thinking": {"tokens": 8}}

    def made(**judges: Any) -> Any:
        spec = {"corpus": "c", "out": "o", "model": "m", "writer": thinks, "judges": judges}
        return make_job(load_config(spec), ScriptedEngines())

    assert made(entities={}).writer.source.thinking.tokens == 8, "it chooses for the rubric"
    assert len(made(geval={"model": thinks}).passes) == 1, "it judges, too"


def test_least_mass_does_not_bind_a_run():
    one = Identity("m", "r", {}, {}).as_key()
    assert "least_mass" not in one
    assert ModelConfig(source="m").as_source().least_mass == 0.5


# switches


@pytest.fixture
def thinker(tiny):
    hf = transformers.AutoTokenizer.from_pretrained(tiny("bytes"))
    hf.chat_template = NO_THINK
    return Tokeniser(hf)


def test_a_switch_changes_where_the_reply_begins(thinker):
    plain = read_template(thinker, {}, frozenset())
    silent = read_template(thinker, {"enable_thinking": False}, frozenset())
    assert thinker.hf.decode(plain.tail) == "<|assistant|>"
    assert thinker.hf.decode(silent.tail) == "/nothink<|assistant|>\n<think></think>"
    assert thinker.hf.eos_token_id in plain.ends


def test_an_unknown_switch_is_refused(thinker):
    with pytest.raises(UserError, match=r"model\.chat\.enable_thinkin: .* does not use it"):
        read_template(thinker, {"enable_thinkin": False}, frozenset())


def test_a_template_that_drops_the_message_is_refused(thinker):
    thinker.hf.chat_template = "{{ bos_token }}hello"
    assert "leaves out the message" in refusal(read_template, thinker, {}, frozenset())


def test_a_model_without_a_template_completes(tiny):
    tokeniser = Tokeniser(transformers.AutoTokenizer.from_pretrained(tiny("bytes", False)))
    template = read_template(tokeniser, None, frozenset())
    rendered = template.render(Prompt(("Which is better?",)), tokeniser, 0, inf)
    assert tokeniser.hf.decode(rendered.ids) == "Which is better?\n\nAnswer:"
