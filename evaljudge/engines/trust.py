"""What a checkpoint asks of those who load it: to unpickle its weights, or to run code of its own;
and which arguments of an engine would be secrets.

needs_of(ModelSource("models/old"), ["config.json", "pytorch_model.bin"], {})  ->  "pickle"
needs_of(ModelSource("models/new"), ["config.json", "model.safetensors"], {})  ->  nothing

Both can do anything that the user can do, so both are refused unless the configuration allows them
beside the model's name: `model: {source: …, allow: [pickle, remote-code]}`.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaljudge.engines.checkpoint import CONFIG, read_json
from evaljudge.engines.internals import known_model_types
from evaljudge.engines.source import PICKLE, REMOTE_CODE, ModelSource, Need
from evaljudge.errors import UserError, first_line
from evaljudge.text import without_secrets

PICKLED, SAFE = (".bin", ".pt", ".pth", ".ckpt"), (".safetensors", ".gguf")
DRAFT = "speculative_config"
NAMING = {"tokenizer": "tokenizer_config.json", "hf_config_path": CONFIG, DRAFT: CONFIG}
"""vLLM's arguments that name another checkpoint, and its file that may ask for code."""
PICKLED_FORMATS = ("pt", "npcache")
"""vLLM's `load_format`s that read pickled files though there are others."""
SECRET_NAME = re.compile(
    r"secret|passw|credential|(?:api|access|account)[_-]?key|authori[sz]ation|bearer"
    r"|(?:^|[._-])auth$|(?<!(?:bos|eos|pad|unk|sep|cls)_)(?<!mask_)token$",
    re.IGNORECASE,
)
"""Settings with such names are secrets: `hf_token`, `aws_secret_access_key`. Tokens of the model's
vocabulary (`eos_token`) are none."""
WHY = {
    PICKLE: "its weights are pickled files only, which can run code as they are loaded: use a "
    "checkpoint with safetensors",
    REMOTE_CODE: "it comes with Python code of its own, which loading it would run: use a model "
    "that vLLM knows",
}


def refuse_untrusted(
    source: ModelSource, commit: str | None, *, can_allow: bool = True
) -> tuple[Need, ...]:
    """What loading it needs, all of which the configuration allows; `commit`: of one on the hub.

    Its engine's arguments may name further checkpoints, which are loaded with it.
    """
    needs = dict.fromkeys(needs_of(source, *_files_and_config(source, commit)), "")
    for argument, other in _others(source):
        is_here = os.path.exists(other.path) or "://" in other.path
        at = None if is_here else other.revision or "main"
        files, config = _files_and_config(other, at, NAMING[argument])
        for need in needs_of(other, files if argument == DRAFT else (), config):
            needs.setdefault(need, f" {argument} {other.source}:")
    for need, whose in needs.items():
        if need not in source.allow:
            trust = f", or trust this one by `allow: [{need}]` beside its name" if can_allow else ""
            raise UserError(f"model {source.source}:{whose} {_why(source, need)}{trust}")
    return tuple(sorted(needs))


def secret_in(settings: Mapping[str, Any]) -> str | None:
    """The path of the first of some settings that is a secret, by its name or its value.

    secret_in({"hf_token": "hf_…"})  ->  "hf_token"
    """
    for name, value in settings.items():
        if SECRET_NAME.search(str(name)):
            return str(name)
        if isinstance(value, list):
            value = dict(enumerate(value))
        if isinstance(value, str) and without_secrets(value) != value:
            return str(name)
        if isinstance(value, Mapping) and (inner := secret_in(value)):
            return f"{name}.{inner}"
    return None


def _others(source: ModelSource) -> Iterator[tuple[str, ModelSource]]:
    arguments = dict(source.engine)
    draft = arguments.get(DRAFT)
    if isinstance(draft, Mapping):
        arguments |= {DRAFT: draft.get("model"), f"{DRAFT}_revision": draft.get("revision")}
    form = {name: value for name, value in arguments.items() if name == "load_format"}
    for argument in NAMING:
        name, revision = arguments.get(argument), arguments.get(f"{argument}_revision")
        if isinstance(name, str) and name.strip("[]") != "ngram":  # which drafts without a model
            yield argument, replace(source, source=name, revision=revision, engine=form)


def _why(source: ModelSource, need: Need) -> str:
    form = source.engine.get("load_format")
    if need == PICKLE and str(form).lower() in PICKLED_FORMATS:
        return f"`load_format: {form}` reads pickled weights, which can run code: leave it out"
    return WHY[need]


def needs_of(
    source: ModelSource, files: Collection[str], config: Mapping[str, Any]
) -> Iterator[Need]:
    """`files`: of the checkpoint's folder and those in it; `config`: its config.json."""
    form = str(source.engine.get("load_format", "auto")).lower()  # as vLLM reads it
    if form in PICKLED_FORMATS or (form != "dummy" and _has_only_pickled(files)):
        yield PICKLE
    overrides = source.engine.get("hf_overrides")
    if isinstance(overrides, Mapping):
        config = {**config, **overrides}
    if _has_code(config, is_allowed=REMOTE_CODE in source.allow):
        yield REMOTE_CODE


def _has_code(config: Mapping[str, Any], *, is_allowed: bool) -> bool:
    """Whether it or a part of it (`text_config`) runs code. A model that transformers or vLLM
    knows uses its own code only if that is allowed."""
    if "auto_map" in config:
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

        kind = str(config.get("model_type"))
        if is_allowed or not (kind in CONFIG_MAPPING_NAMES or kind in known_model_types()):
            return True
    parts = (part for part in config.values() if isinstance(part, Mapping))
    return any(_has_code(part, is_allowed=is_allowed) for part in parts)


def _has_only_pickled(files: Collection[str]) -> bool:
    """Whether some folder has no other weights. In an encoder's inner folders are its further
    layers; in others, the same weights for other programs."""
    folders = defaultdict[str, list[str]](list)
    for file in files:
        folder, _, name = file.rpartition("/")
        folders[folder].append(name)
    return any(
        any(n.endswith(PICKLED) for n in names if not folder or n.startswith("pytorch_model"))
        and not any(name.endswith(SAFE) for name in names)
        for folder, names in folders.items()
    )


def _files_and_config(
    source: ModelSource, commit: str | None, config: str = CONFIG
) -> tuple[Collection[str], Mapping[str, Any]]:
    """What is at hand of the checkpoint. A file that is not there is not loaded either."""
    from evaljudge.storage import listing

    if "://" in source.path:
        return [name for name, _ in listing(source.path)], read_json(source, config) or {}
    folder, names = Path(source.path), list[str]()
    if commit is not None:
        from huggingface_hub import HfApi, constants, snapshot_download

        try:
            folder = Path(snapshot_download(source.path, revision=commit, allow_patterns=[config]))
            if not constants.HF_HUB_OFFLINE:
                names = HfApi().list_repo_files(source.path, revision=commit)
        except Exception as error:  # many kinds, as in `_hub_commit`
            raise UserError(f"model {source.source}: the hub says: {first_line(error)}") from None
    names = names or [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()]
    return names, read_json(replace(source, source=str(folder)), config) or {}
