"""Nested JSON of other tools as flat rows, in which columns can be found by their names.

{"id": 1, "data": {"article": …}, "responses": [{"model": "A", "text": …}, {"model": "B", …}]}
-> {"id": 1, "data.article": …, "model": "A", "text": …}, {"id": 1, "data.article": …, …}
{"d1": {"article": …, "outputs": {"A": …, "B": …}}}
-> {"id": "d1", "article": …, "outputs.A": …, "outputs.B": …}
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]}
-> {"messages": "Hi", "response": "Hello!"}
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evaljudge.corpora.columns import field_called
from evaljudge.corpora.memory import CorpusFile, file_of
from evaljudge.corpora.rows import clean

ANSWER = "response"


def flat(path: str) -> CorpusFile | None:
    """None where the file is no JSON, or has nothing nested."""
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
        try:
            whole = json.loads(content)
        except ValueError:
            whole = [json.loads(line) for line in content.split("\n") if line.strip()]
    except (OSError, ValueError, RecursionError):
        return None
    lists = [v for v in whole.values() if v and _are(v)] if isinstance(whole, dict) else []
    if len(lists) == 1:  # {"data": [{…}, …]}
        (whole,) = lists
    is_keyed = isinstance(whole, dict) and all(isinstance(v, dict) for v in whole.values())
    items = [{"id": name, **row} for name, row in whole.items()] if is_keyed else whole
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return None
    rows = [row for item in items for row in _rows(item)]
    return None if rows == items and not (is_keyed or lists) else file_of(rows, path)


def _rows(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    fields = dict(_leaves(item))
    talks = [name for name, value in fields.items() if _are(value, "role", "content")]
    lists = [
        n for n, value in fields.items() if n not in talks and _are(value) and _has_text(value)
    ]
    if len(talks) == 1:
        fields |= _turns(talks[0], fields[talks[0]])
    for text in fields.pop(lists[0]) if len(lists) == 1 else [{}]:
        inner = dict(_leaves(text))
        yield {**{n: v for n, v in fields.items() if n not in inner}, **inner}


def _has_text(each: list[Mapping[str, Any]]) -> bool:
    return any("text" in (key, field_called(key)) for key in each[0])


def _leaves(fields: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list | str):
            (value,) = value
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", clean(value) if isinstance(value, str) else value


def _are(value: Any, *keys: str) -> bool:
    """Whether it is a list of objects with these keys."""
    each = value if isinstance(value, list) else []
    return bool(each) and all(isinstance(one, dict) and {*keys} <= {*one} for one in each)


def _turns(name: str, turns: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A conversation as lines, but for the assistant's last turn, which is to be judged."""
    *before, last = turns
    is_answer = last["role"] == "assistant" and bool(before)
    said = before if is_answer else turns
    lines = [f"{turn['role']}: {turn['content']}" for turn in said]
    source = str(said[0]["content"]) if len(said) == 1 else "\n".join(lines)
    return {name: source} | ({ANSWER: last["content"]} if is_answer else {})
