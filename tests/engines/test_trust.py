"""Checkpoints that need unpickling or code of their own are refused, unless they are allowed."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaljudge.config import load_config
from evaljudge.engines import Identity, ModelSource, VllmEngines, identity_bound
from evaljudge.engines.internals import engine_arguments
from evaljudge.engines.trust import secret_in
from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics
from tests.build import refusal

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"


@pytest.fixture
def checkpoint(tmp_path):
    """A folder with these files; nothing of it is loaded."""

    def make(*files: str, **config: Any) -> str:
        (tmp_path / "config.json").write_text(json.dumps(config))
        for file in files:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_bytes(b"")
        return str(tmp_path)

    return make


def identify(folder: str, *allow: Any, **engine: Any) -> Identity:
    return VllmEngines().describe(ModelSource(folder, engine=engine, allow=allow)).identity


NEW = {"auto_map": {"AutoModelForCausalLM": "new.NewForCausalLM"}, "model_type": "of-nobody"}
QWEN, PICKLES, CODE = {"model_type": "qwen3"}, "its weights are pickled", "Python code of its own"


@pytest.mark.parametrize(
    ("files", "engine"),
    [
        ((SAFE,), {}),
        ((SAFE, PICKLED), {}),
        ((SAFE, "optimizer.pt"), {}),
        ((SAFE, "original/consolidated.00.pth"), {}),
        ((), {}),
        ((PICKLED,), {"load_format": "dummy"}),
    ],
)
def test_safetensors_need_no_trust(checkpoint, files, engine):
    folder = checkpoint(*files)
    plain, trusting = identify(folder, **engine), identify(folder, "pickle", **engine)
    assert plain == trusting == identify(folder, "remote-code", **engine)
    assert "allow" not in plain.as_key()
    assert str(plain) == f"{plain.name}@{plain.revision[:12]}"


@pytest.mark.parametrize(
    ("files", "config", "engine", "need", "said"),
    [
        ((PICKLED,), {}, {}, "pickle", PICKLES),
        (("model.pt",), {}, {}, "pickle", PICKLES),
        (("consolidated.00.pth",), {}, {}, "pickle", PICKLES),
        (("1_Dense/" + PICKLED,), {}, {}, "pickle", PICKLES),
        ((SAFE, "a.pt"), {}, {"load_format": "pt"}, "pickle", "`load_format: pt` reads pickled"),
        ((SAFE, "a.pt"), {}, {"load_format": "PT"}, "pickle", "`load_format: PT` reads pickled"),
        ((SAFE, "new.py"), NEW, {}, "remote-code", CODE),
        ((SAFE,), QWEN, {"hf_overrides": NEW}, "remote-code", CODE),
        ((SAFE,), QWEN, {"hf_overrides": {"text_config": NEW}}, "remote-code", CODE),
        ((SAFE,), {"model_type": "llava", "text_config": NEW}, {}, "remote-code", CODE),
    ],
)
def test_the_rest_is_refused_unless_allowed(checkpoint, files, config, engine, need, said):
    folder = checkpoint(*files, **config)
    for other in {"pickle", "remote-code", None} - {need}:
        with pytest.raises(UserError, match=rf"{said}.*`allow: \[{need}\]`"):
            identify(folder, *filter(None, [other]), **engine)
    allowed = identify(folder, need, **engine)
    assert allowed.as_key()["allow"] == [need]
    assert str(allowed).endswith(f" with {need}")


@pytest.mark.parametrize("kind", ["qwen3", "chatglm"])
def test_code_that_nobody_needs_is_not_run(checkpoint, kind):
    """transformers knows the first, vLLM the second."""
    folder = checkpoint(SAFE, **NEW | {"model_type": kind})
    assert identify(folder).allow == ()
    assert identify(folder, "remote-code").allow == ("remote-code",)


def test_a_config_that_is_no_json(checkpoint):
    folder = checkpoint(SAFE)
    Path(folder, "config.json").write_text("{")
    assert "config.json is not JSON" in refusal(identify, folder)


@pytest.mark.parametrize(
    ("engine", "allow"),
    [
        ({"speculative_config": {"model": "OTHER", "num_speculative_tokens": 3}}, "pickle"),
        ({"tokenizer": "OTHER"}, "remote-code"),
        ({"hf_config_path": "OTHER"}, "remote-code"),
    ],
)
def test_other_checkpoints_that_the_engine_loads(checkpoint, tmp_path_factory, engine, allow):
    folder, other = checkpoint(SAFE, model_type="qwen3"), tmp_path_factory.mktemp("other")
    (other / PICKLED).write_bytes(b"")
    for file in ("config.json", "tokenizer_config.json"):
        (other / file).write_text(json.dumps(NEW if allow == "remote-code" else {}))
    engine = json.loads(json.dumps(engine).replace("OTHER", str(other)))
    (argument,) = engine
    with pytest.raises(UserError, match=rf": {argument} {other}: .*`allow: \[{allow}\]`"):
        identify(folder, **engine)
    assert identify(folder, allow, **engine).allow == (allow,)
    assert identify(folder, speculative_config={"model": "[ngram]"}).allow == ()


def test_a_checkpoint_at_a_uri(checkpoint):
    uri = f"file://{checkpoint(SAFE, **NEW)}"
    assert "Python code of its own" in refusal(identify, uri)
    assert identify(uri, "remote-code").allow == ("remote-code",)


def test_a_report_of_a_finished_run_says_it_too():
    known = Identity("m", "r", {}, {}, allow=("pickle",)).as_fingerprint()
    assert str(identity_bound(known, ModelSource("m"))) == "m@r with pickle"


def test_the_key_in_a_configuration():
    base = {"corpus": "c", "out": "o"}
    allow = ["remote-code", "pickle", "pickle"]
    config = load_config(base | {"model": {"source": "m", "allow": allow}})
    assert config.model.as_source().allow == ("pickle", "remote-code")
    for model, said in (
        ({"source": "m", "allow": ["pickles"]}, "model.allow.0: should be 'pickle' or"),
        ({"source": "m", "engine": {"trust_remote_code": True}}, r"write `allow: \[remote-code\]`"),
    ):
        with pytest.raises(UserError, match=said):
            load_config(base | {"model": model})


def test_an_encoder_with_pickled_layers_is_refused(checkpoint):
    VllmEngines().find_encoder(checkpoint(SAFE, "openvino/openvino_model.bin"))
    folder = checkpoint(SAFE, "2_Dense/" + PICKLED)
    for name in (folder, f"vllm:{folder}"):
        with pytest.raises(UserError, match="pickled files only.*safetensors$"):
            VllmEngines().find_encoder(name)


def test_a_metric_s_encoder_is_allowed_in_its_own_settings(checkpoint):
    settings = {"model": checkpoint(PICKLED)}
    (refused,) = make_metrics({"mover": settings})
    with pytest.raises(UserError, match=r"metrics\.mover\.model: .*`allow: \[pickle\]`"):
        _ = refused.facts
    (allowed,) = make_metrics({"mover": settings | {"allow": ["pickle"]}})
    assert allowed.facts["model"].endswith(" with pickle")
    assert "allow" not in allowed.facts


# secrets


SECRETS = {
    "s3://b/x?secret_key=SECRET&region=eu": "s3://b/x?…&region=eu",
    "s3://b/x?region=eu&access_key=SECRET": "s3://b/x?region=eu&…",
    "abfs://b/x?Authorization=SECRET": "abfs://b/x?…",
    "https://b/x?X-Amz-Signature=SECRET": "https://b/x?…",
    "https://b/x?sig=SECRET": "https://b/x?…",
    "https://someone:SECRET@b/x": "https://…@b/x",
    "abfs://container:SECRET@account/x": "abfs://…@account/x",
    "hf_SECRETabcdefghijkl": "…",
    "AKIASECRETABCDEFGHIJ": "…",
}
"""What holds a secret, and what a message shows of it."""
PLACES = (
    "corpus", "ratings", "model", "writer", "briefs", "task", "model.revision", "model.reply",
    "model.engine.tokenizer", "model.engine.hf_overrides.a.pad_token", "model.chat.x",
    "model.adapter", "judges.direct.model.source", "metrics.bertscore.model", "mixes.m",
)  # fmt: skip


def with_value(at: str, value: Any) -> dict[str, Any]:
    """A configuration that has the value at this place."""
    spec: dict[str, Any] = {"corpus": "c", "out": "o", "model": {"source": "m"}}
    *path, last = at.split(".")
    inner = spec
    for key in path:
        inner = inner.setdefault(key, {})
    inner[last] = value
    return spec


@pytest.mark.parametrize("at", PLACES)
def test_a_secret_is_refused_wherever_it_stands(at):
    for value, masked in SECRETS.items():
        assert refusal(load_config, with_value(at, value)) == (
            f"{at}: holds credentials: they belong in the environment (got {masked!r})"
        )


@pytest.mark.parametrize("at", [
    "engine.hf_token", "engine.load.s3_secret_access_key", "engine.hf_overrides.api_key",
    "engine.authorization", "engine.headers.Bearer", "engine.auth", "engine.list.0.auth",
    "chat.api_key", "chat.x.secret",
])  # fmt: skip
@pytest.mark.parametrize("value", ["SECRET", True])
def test_a_setting_of_a_model_that_is_named_like_a_secret_is_refused(at, value):
    spec = with_value(f"model.{at}", value)
    if "list" in spec["model"].get("engine", {}):
        spec["model"]["engine"]["list"] = list(spec["model"]["engine"]["list"].values())
    key, _, name = at.partition(".")
    words = refusal(load_config, spec)
    assert words.startswith(f"model.{key}: {name} is a secret, and would be stored")
    assert "HF_TOKEN" in words and "SECRET" not in words


@pytest.mark.parametrize("kind", ["judges", "metrics"])
def test_secrets_of_a_judge_or_metric_of_ones_own_are_refused(kind):
    spec = {"corpus": "c.jsonl", "out": "o", "model": "m"}
    said = f"{kind}.token: api_key is a secret, and would be stored in run.json"
    with pytest.raises(UserError, match=said) as refused:
        load_config(spec | {kind: {"token": {"judge": "mine:Mine", "api_key": "x"}}})
    assert str(refused.value).endswith("set an environment variable that its code reads")
    load_config(spec | {kind: {"token": {"judge": "mine:Mine", "max_tokens": 9}}})


@pytest.mark.parametrize("value", [
    "abfs://container@account.dfs.core.windows.net/x", "abfss://c@a/x", "gs://anonymous@b/x",
    "s3://b/x?region=eu&scheme=http", "https://b/x?author=me&design=2", "data/me@home.jsonl",
])  # fmt: skip
def test_a_place_without_a_secret_is_accepted(value):
    assert load_config(with_value("corpus", value)).corpus.path == value


def test_what_only_sounds_like_a_secret_is_not_refused():
    known: dict[str, Any] = {name: None for name in engine_arguments() if name != "hf_token"}
    assert len(known) > 100
    tokens = {"eos_token": "</s>", "t": {"pad_token": "x", "bos_token_id": 1}}
    assert secret_in(known | {"hf_overrides": tokens, "chat": {"author": "x"}}) is None
