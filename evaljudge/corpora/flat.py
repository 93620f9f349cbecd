"""Nested JSON of other tools as flat rows, in which columns can be found by their names.

{"id": 1, "data": {"article": …}, "responses": [{"model": "A", "text": …}, {"model": "B", …}]}
-> {"id": 1, "data.article": …, "model": "A", "text": …}, {"id": 1, "data.article": …, …}
{"d1": {"article": …, "outputs": {"A": …, "B": …}}}
-> {"id": "d1", "article": …, "outputs.A": …, "outputs.B": …}
{"article": {"0": …, "1": …}, "fluency": {"0": 4, "1": 5}}
-> {"article": …, "fluency": 4}, {"article": …, "fluency": 5}
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]}
-> {"messages": "Hi", "response": "Hello!"}

Also of a table in whose cells such messages are written.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from evaljudge.corpora.columns import field_called
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.memory import CorpusFile, file_of
from evaljudge.corpora.readers import list_in
from evaljudge.corpora.rows import Row, accepted, clean, is_number

ANSWER = "response"
_OF_NOBODY = re.compile("(predictions|drafts|suggestions)$")  # beside people's annotations


def has_talk(path: str) -> bool:
    """Whether one of a file's first rows has a conversation that is written as a text."""
    rows = (row.fields for row in islice(read_generic((path,)), 9) if isinstance(row, Row))
    return any(_talk_in(value) is not value for row in rows for value in row.values())


def flat(path: str) -> CorpusFile | None:
    """None where nothing is nested in the file."""
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
        try:
            whole = json.loads(content)
        except ValueError:
            whole = [json.loads(line) for line in content.split("\n") if line.strip()]
    except (OSError, ValueError, RecursionError):
        if not has_talk(path):
            return None
        whole = [dict(row.fields) for row in map(accepted, read_generic((path,)))]
    if isinstance(whole, dict) and path.endswith(".jsonl"):  # of one row
        whole = [whole]
    if isinstance(whole, dict) and {*whole} == {"columns", "index", "data"}:  # pandas' `split`
        whole = [dict(zip(whole["columns"], row, strict=True)) for row in whole["data"]]
        return file_of(whole, path)
    lists = [v for v in whole.values() if v and _are(v)] if isinstance(whole, dict) else []
    if len(lists) == 1:  # {"data": [{…}, …]}
        (whole,) = lists
    is_keyed = isinstance(whole, dict) and all(isinstance(v, dict) for v in whole.values())
    items: Any = [{"id": name, **row} for name, row in whole.items()] if is_keyed else whole
    names = [list(v) for v in whole.values()] if is_keyed else []
    if names and names[0][:1] == ["0"] and all(one == names[0] for one in names):  # by columns
        items = [{name: cells[n] for name, cells in whole.items()} for n in names[0]]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    rows = [row for item in items for row in _rows(item)]
    return None if rows == items and not (is_keyed or lists) else file_of(rows, path)


def _rows(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    fields = {name: _talk_in(value) for name, value in _leaves(item)}
    people = {name: rated for name, value in fields.items() if (rated := _by_people(name, value))}
    if people and "ratings" not in fields:
        ratings = dict[str, dict[str, Any]]()
        for axis, each in chain.from_iterable(rated.items() for rated in people.values()):
            ratings.setdefault(axis, {}).update(each)
        fields = {n: v for n, v in fields.items() if n not in people} | {"ratings": ratings}
    fields = _side_by_side(fields)
    talks = [name for name, value in fields.items() if _are(value, "role", "content")]
    talks = [n for n in talks if all(_said(turn["content"]) is not None for turn in fields[n])]
    lists = [
        n for n, value in fields.items() if n not in talks and _are(value) and _has_text(value)
    ]
    has_answer = any("text" in (name, field_called(name)) for name in fields)
    replied = [n for n in talks if len(fields[n]) > 1 and fields[n][-1]["role"] == "assistant"]
    if len(replied) > 1:  # `messages` beside `chosen` is the chosen one again
        again = [name for name in replied if _reply(name) == ANSWER]
        fields = {name: value for name, value in fields.items() if name not in again}
        talks, replied = ([n for n in names if n not in again] for names in (talks, replied))
    asked = [fields[name][:-1] for name in replied]
    if len(asked) > 1 and all(one == asked[0] for one in asked):  # `chosen` and `rejected`
        fields |= {_reply(name): _said(fields[name][-1]["content"]) for name in replied}
        fields = {n: v for n, v in fields.items() if n not in replied or n == _reply(n)}
        fields["conversation"], talks = asked[0], [*({*talks} - {*replied}), "conversation"]
    for name in talks:
        fields |= _turns(name, fields[name], replied == [name] and not has_answer)
    for text in fields.pop(lists[0]) if len(lists) == 1 else [{}]:
        inner = dict(_leaves(text))
        outer = {f"document.{name}" if name in inner else name: v for name, v in fields.items()}
        yield {**outer, **inner}


def _reply(name: str) -> str:
    """`conversation_a` -> `response_a`"""
    return re.sub("conversation|messages", ANSWER, name)


def _has_text(each: list[Mapping[str, Any]]) -> bool:
    return any("text" in (key, field_called(key)) for key in each[0])


def _leaves(fields: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list | str):
            (value,) = value
        if isinstance(value, dict) and value and name != "ratings":
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", clean(value) if isinstance(value, str) else value


def _talk_in(value: Any) -> Any:
    """The turns in a table's cell, which is in JSON or as Python prints them; else what it is."""
    turns = list_in(value) if isinstance(value, str) and "role" in value else None
    return turns if _are(turns, "role", "content") else value


def _by_people(name: str, value: Any) -> dict[str, dict[str, Any]]:
    """The ratings in annotations as Label Studio and Argilla write them, by axis and person."""
    ratings = dict[str, dict[str, Any]]()
    is_people = _are(value) and not _has_text(value) and not _OF_NOBODY.search(name)
    for number, each in enumerate(value if is_people else (), 1):
        if each.get("was_cancelled") or each.get("status", "submitted") != "submitted":
            continue
        who = each.get("completed_by", each.get("user_id")) or number
        results = each["result"] if _are(each.get("result")) else []
        said = {
            one["from_name"]: one["value"] for one in results if {"from_name", "value"} <= {*one}
        }
        alone = {name.rpartition(".")[2]: each} if "user_id" in each else {}
        for axis, rated in (said or _dict(each.get("values")) or alone).items():
            found = [_dict(rated).get(kind) for kind in ("rating", "number", "value")]
            for rating in filter(is_number, found):
                ratings.setdefault(axis, {})[f"{_dict(who).get('id', who)}"] = rating
    return ratings


def _side_by_side(fields: dict[str, Any]) -> dict[str, Any]:
    """A list of texts and lists of their ratings as one list of objects."""
    lists = {name: value for name, value in fields.items() if isinstance(value, list)}
    texts = [n for n, of in lists.items() if field_called(n) == "text" and len(of) > 1]
    if len(texts) != 1 or not all(isinstance(text, str) for text in lists[texts[0]]):
        return fields
    own = ("source", "references", "context")  # of the document, whatever their number
    beside = {
        n: of for n, of in lists.items()
        if len(of) == len(lists[texts[0]]) and field_called(n) not in own
    }  # fmt: skip
    each = [dict(zip(beside, cells, strict=True)) for cells in zip(*beside.values(), strict=True)]
    return {n: v for n, v in fields.items() if n not in beside} | {texts[0]: each}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _are(value: Any, *keys: str) -> bool:
    """Whether it is a list of objects with these keys."""
    each = value if isinstance(value, list) else []
    return bool(each) and all(isinstance(one, dict) and {*keys} <= {*one} for one in each)


def _turns(name: str, turns: list[Mapping[str, Any]], has_answer: bool) -> dict[str, Any]:
    """A conversation as lines, but for the assistant's last turn if that is to be judged."""
    each = [(turn["role"], _said(turn["content"]) or "") for turn in turns]
    *before, (last, answer) = each
    is_answer = has_answer and last == "assistant" and bool(before)
    said = before if is_answer else each
    source = said[0][1] if len(said) == 1 else "\n".join(f"{who}: {text}" for who, text in said)
    return {name: source} | ({ANSWER: answer} if is_answer else {})


def _said(content: Any) -> str | None:
    """The text of a turn, also where it is in parts; None where it is not text alone."""
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    said = [text for text in texts if isinstance(text, str)]
    return "\n".join(said) if len(said) == len(texts) else None
