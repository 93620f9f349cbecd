"""What makes two runs, two briefs or two numbers the same: fingerprints, keys, signatures."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import evaljudge
from evaljudge.engines.source import Identity
from evaljudge.judges.protocol import Judge, Part
from evaljudge.metrics import CorpusMetric, Metric
from evaljudge.model.asks import Prompt, Writing
from evaljudge.records import Document

Fingerprint = Mapping[str, Any]
_ORDER = "model writer judges task seed corpus engine"
"""What a configuration says itself comes first where two runs differ."""
_DIGESTS = re.compile('is ("([0-9a-f]{32}|[0-9a-f]{38}…)" (there, |here)){2}')


def fingerprint(
    corpus: str,
    task: Mapping[str, Any],
    judges: Sequence[Judge],
    model: Identity | None,
    writer: Identity | None,
    engine: str,
    seed: int,
    own_models: Mapping[str, Identity] = MappingProxyType({}),
) -> Fingerprint:
    """Everything that changes an ask, and only that. `own_models`: of judges that do not have the
    model for all."""
    asked = {judge.name: asking(judge) for judge in judges}
    for name, identity in own_models.items():
        asked[name] |= {"model": identity.as_fingerprint()}
    made = {
        "corpus": corpus,
        "task": task,
        "judges": asked,
        "model": model.as_fingerprint() if model else None,
        "writer": writer.as_fingerprint() if writer else None,
        "engine": engine,
        "seed": seed,
    }
    plain: Fingerprint = json.loads(json.dumps(made))
    return plain


def short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def differences(bound: Fingerprint, now: Fingerprint) -> list[str]:
    """`model.source is A there, B here`, for all that differs; of digests, `is not the same`."""
    there, here = dict(_leaves(bound)), dict(_leaves(now))
    keys = sorted(there.keys() | here.keys(), key=lambda key: (_ORDER.find(key.split(".")[0]), key))
    said = (
        f"{key} is {_shown(there, key)} there, {_shown(here, key)} here"
        for key in keys
        if there.get(key) != here.get(key)
    )
    return [_DIGESTS.sub("is not the same", each) for each in said]


def _leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _shown(leaves: Mapping[str, Any], key: str) -> str:
    if key not in leaves:
        return "absent"
    text = json.dumps(leaves[key], ensure_ascii=False)
    return text if len(text) <= 42 else text[:39] + ('…"' if text[0] == '"' else "…")


def brief_key(judge: Judge, part: Part, document: Document, writer: Identity) -> str:
    """Briefs with equal keys are equal: same document, same instructions, same writer."""
    context = document.context if part.shows_context else None
    made_of = [judge.kind, judge.version, part.inputs, document.source, context, writer.as_key()]
    made_of += [dict(writer.thinking)] if part.chooses and writer.thinking else []
    return short([*made_of, document.references] if part.shows_references else made_of)


def common_key(prompt: Prompt, how: Writing, writer: Identity) -> str:
    """The key of a question that holds no text of a document."""
    return short([prompt.text, repr(how), writer.as_key()])


def score_signature(judge: Judge, model: Identity, writer: Identity, engine: str, seed: int) -> str:
    asked = asking(judge)
    del asked["version"]
    if examples := judge.examples:
        asked["examples"] = {"n": examples.n, "chosen": short(asked["examples"])[:12]}
    settings = json.dumps(asked | dict(judge.reading), sort_keys=True)
    by = f"{model}" if model == writer else f"{model} writer {writer}"
    if model.way:
        by = f"{by} | {model.way}"
    elif model.exactness is not None:
        by = f"{by} | exact to {model.exactness:g}" + (f" in {model.dtype}" if model.dtype else "")
    return (
        f"{judge.name}@{judge.version} | {by} | {settings} | seed {seed} | "
        f"{'' if model.endpoint else f'{engine} | '}evaljudge {evaljudge.__version__}"
    )


def asking(judge: Judge) -> dict[str, Any]:
    kind = {} if judge.kind == judge.name else {"judge": judge.kind}
    shown = {"examples": judge.examples.model_dump(mode="json")} if judge.examples else {}
    return {"version": judge.version} | kind | dict(judge.asking) | shown


def metric_signature(metric: Metric, kind: str, corpus: str, seed: int) -> str:
    """`corpus`: the digest of all documents, which some metrics' numbers depend on."""
    settings = ({} if kind == metric.name else {"metric": kind}) | dict(metric.facts)
    if isinstance(metric, CorpusMetric):
        settings |= {"corpus": corpus[:12], "seed": seed}
    line = json.dumps(settings, sort_keys=True)
    return f"{metric.name}@{metric.version} | {line} | evaljudge {evaljudge.__version__}"
