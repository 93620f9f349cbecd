"""Structured replies: read as they were asked for, or Failed with a reason in words."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.shared.structured import (
    CUT,
    Bill,
    ask,
    list_of,
    object_of,
    one_of,
    parsed,
    string,
)
from evaljudge.model.asks import Failed, Prompt, Sample, Spent, Writing, Written
from evaljudge.model.imagining import imagined_value
from evaljudge.records import Tokens

ENTITIES = object_of({"entities": list_of(string(10), 3)})
ANSWERS = object_of({"1": object_of({"answer": one_of(["Yes", "No"])})})
PLACES = object_of({"1": object_of({"sentence": one_of([0, 1, 2]), "words": string(20)})})


def written(text: str, finish: str = "stop") -> Written:
    return Written((Sample(text, finish),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (ENTITIES, '{"entities": ["a", "b"]}', {"entities": ["a", "b"]}),
        (ENTITIES, ' {"entities": []} ', {"entities": []}),
        (ANSWERS, '{"1": {"answer": "No"}}', {"1": {"answer": "No"}}),
        (ANSWERS, '{"1": {"answer": "No"}, "2": 3}', {"1": {"answer": "No"}, "2": 3}),
        (PLACES, '{"1": {"sentence": 2, "words": ""}}', {"1": {"sentence": 2, "words": ""}}),
        (ENTITIES, '{"entities": ["a\tb\x17", "\\ud800 c"]}', {"entities": ["a b ", "  c"]}),
    ],
)
def test_what_was_asked_for_is_read(schema, text, value):
    assert parsed(written(text), schema) == value


@pytest.mark.parametrize(
    ("schema", "text", "reason"),
    [
        (ENTITIES, "", "the reply is not the JSON asked for: “”"),
        (ENTITIES, '{"entities": ["a', 'the reply is not the JSON asked for: “{"entities": ["a”'),
        (ENTITIES, "Sure!\nHere:", "the reply is not the JSON asked for: “Sure! Here:”"),
        (ENTITIES, "[" * 100_000, "the reply is not the JSON asked for: “" + "[" * 59 + "…”"),
        (ENTITIES, "[]", "“[]” where an object was asked for"),
        (ENTITIES, "{}", "entities is missing in the reply"),
        (ENTITIES, '{"entities": "a"}', "entities: “a” where a list was asked for"),
        (ENTITIES, '{"entities": [1]}', "entities.1: “1” where a text was asked for"),
        (ENTITIES, '{"entities": ["abcdefghijk"]}', "entities.1: longer than 10 letters"),
        (ENTITIES, json.dumps({"entities": ["a"] * 50}),
         "entities: 50 where at most 3 were asked for"),
        (ANSWERS, '{"1": {"answer": "Maybe"}}',
         "1.answer: “Maybe” is not among the answers offered"),
        (ANSWERS, '{"1": "Yes"}', "1: “Yes” where an object was asked for"),
        (ANSWERS, '{"2": {"answer": "Yes"}}', "1 is missing in the reply"),
        (PLACES, '{"1": {"sentence": 3, "words": ""}}',
         "1.sentence: “3” is not among the answers offered"),
        (PLACES, '{"1": {"sentence": true, "words": ""}}',
         "1.sentence: “true” is not among the answers offered"),
        (PLACES, '{"1": {"sentence": 1.0, "words": ""}}',
         "1.sentence: “1.0” is not among the answers offered"),
    ],
)  # fmt: skip
def test_anything_else_is_failed_with_its_reason(schema, text, reason):
    assert parsed(written(text), schema) == Failed(reason)


def test_a_reply_that_was_cut_is_none_even_if_it_can_be_read():
    assert parsed(written('{"entities": []}', "length"), ENTITIES) == Failed(CUT)


def test_the_bill_has_every_reply_and_what_became_of_it():
    replies = iter(['{"entities": ["a"]}', "no JSON", Failed("too long", (Spent(5, 0, 0),))])
    model = Scripted(writes=lambda prompt, how: next(replies))
    bill = Bill()

    async def thrice() -> list[Any]:
        how = Writing(100)
        return [await ask(Prompt(("two words",)), ENTITIES, how, model, bill) for _ in range(3)]

    read, malformed, failed = asyncio.run(thrice())

    assert read == {"entities": ["a"]}
    assert isinstance(malformed, Failed)
    assert failed == Failed("too long")
    assert bill.replies == {"structured": 2, "cut": 0, "malformed": 1}
    assert bill.tokens == Tokens(asks=3, requests=3, prompt=9, cached=0, generated=2)


@pytest.mark.parametrize("schema", [ENTITIES, ANSWERS, PLACES])
def test_what_is_imagined_is_what_was_asked_for(schema):
    said = imagined_value(schema, "some words of a text that is not known yet")
    assert parsed(written(json.dumps(said)), schema) == said
