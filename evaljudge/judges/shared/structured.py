"""Replies that follow a JSON schema: read strictly, or Failed with the reason.

    {"entities": ["The river rose", "A bridge closed"]}     as it was asked for
    {"entities": ["The river rose", "A br                   the reply was cut at its token limit
    Sure! Here they are: …                                  the reply is not the JSON asked for: “…”
    {"1": {"answer": "Maybe"}}                              1.answer: “Maybe” is not among the …

An engine that masks by the schema can only fail at the token limit; other models are not trusted to
follow it. Only a few kinds of schema occur: objects whose keys are all required, lists, strings and
enumerations.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from evaljudge.judges.shared.asking import printable, quoted
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Prompt, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.records import Tokens

CUT = "the reply was cut at its token limit"
Schema = Mapping[str, Any]


def object_of(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(properties), "required": list(properties),
            "additionalProperties": False}  # fmt: skip


def list_of(items: Schema, most: int) -> Schema:
    return {"type": "array", "items": items, "maxItems": most}


def string(most: int) -> Schema:
    return {"type": "string", "maxLength": most}


def one_of(values: Sequence[str | int]) -> Schema:
    return {"enum": list(values)}


@dataclass
class Bill:
    """The tokens that asking about one text took, its structured replies (how many there were, and
    how many of them were cut or malformed), and what a model had thought before it chose."""

    tokens: Tokens = Tokens()
    replies: Counter[str] = field(default_factory=lambda: Counter(structured=0, cut=0, malformed=0))
    after: list[dict[str, Any]] = field(default_factory=list)

    def __iadd__(self, other: Bill) -> Self:
        self.tokens += other.tokens
        self.replies.update(other.replies)
        return self


async def ask(
    prompt: Prompt, schema: Schema, how: Writing, model: Model, bill: Bill
) -> Any | Failed:
    (reply,) = await model.write([prompt], replace(how, schema=json.dumps(schema)))
    bill.tokens += cost([reply])
    if isinstance(reply, Failed):
        return Failed(reply.reason)
    value = parsed(reply, schema)
    bill.replies["structured"] += 1
    if isinstance(value, Failed):
        bill.replies["cut" if value.reason == CUT else "malformed"] += 1
    return value


def parsed(reply: Written, schema: Schema) -> Any | Failed:
    sample = reply.samples[0]
    if sample.finish == "length":
        return Failed(CUT)
    try:
        value = json.loads(sample.text, strict=False)  # masks let raw control characters through
    except (ValueError, RecursionError):
        return Failed(f"the reply is not the JSON asked for: {shown(sample.text)}")
    complaint = _complaint(value, schema, "")
    return Failed(complaint) if complaint else _plain(value)


def _plain(value: Any) -> Any:
    """The same with printable texts."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def _complaint(value: Any, schema: Schema, at: str) -> str:
    """The first difference from the schema; empty if there is none."""
    here, dot = (f"{at}: ", f"{at}.") if at else ("", "")
    if "enum" in schema:
        is_known = any(value == option and type(value) is type(option) for option in schema["enum"])
        return "" if is_known else f"{here}{shown(value)} is not among the answers offered"
    match schema["type"], value:
        case "object", dict():
            for key, inner in schema["properties"].items():
                if key not in value:
                    return f"{dot}{key} is missing in the reply"
                if complaint := _complaint(value[key], inner, f"{dot}{key}"):
                    return complaint
            return ""
        case "array", list():
            if len(value) > schema["maxItems"]:
                return f"{here}{len(value)} where at most {schema['maxItems']} were asked for"
            each = (_complaint(v, schema["items"], f"{at}.{n}") for n, v in enumerate(value, 1))
            return next(filter(None, each), "")
        case "string", str():
            is_long = len(value) > schema["maxLength"]
            return f"{here}longer than {schema['maxLength']} letters" if is_long else ""
    return f"{here}{shown(value)} where {_KINDS[schema['type']]} was asked for"


_KINDS = {"object": "an object", "array": "a list", "string": "a text"}


def shown(value: Any) -> str:
    return quoted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
