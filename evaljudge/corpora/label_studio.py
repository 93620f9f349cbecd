"""Label Studio's files: tasks, the interface in which people rate them, and its export as JSON.

[{"data": {"label": "bkqvzt", "source": "The river …", "text": "A flood …"}}]          tasks
<View>… <Rating name="fluency" toName="text" maxRating="5"/> …</View>                  interface
[{"id": 1, "data": {"label": "bkqvzt", …}, "annotations": [{"completed_by": 7, "result": [
    {"from_name": "fluency", "value": {"rating": 4}},
    {"from_name": "note", "value": {"text": ["Too long."]}}]}]}]                       exported
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from evaljudge.errors import UserError

HIGHEST = 5
Exported = Iterator[tuple[str, str, dict[str, Any]]]


def tasks(rows: Iterable[Mapping[str, Any]]) -> bytes:
    data = [{"data": {c: v for c, v in row.items() if v is not None}} for row in rows]
    return json.dumps(data, ensure_ascii=False, indent=1).encode()


def interface(columns: Sequence[str], axes: Sequence[str]) -> str:
    """Its XML; `columns`: of the sheet, of which the texts are shown."""
    shown = columns[: columns.index("text") + 1]
    lines = [f'<Text name="{part}" value="${part}"/>' for part in shown]
    lines += [
        f'<Rating name={a} toName="text" maxRating="{HIGHEST}"/>' for a in map(quoteattr, axes)
    ]
    lines += ['<TextArea name="note" toName="text"/>']
    heads = [f"<Header value={quoteattr(name)}/>" for name in (*shown, *axes, "note")]
    parts = (f"  {head}\n  {line}\n" for head, line in zip(heads, lines, strict=True))
    return f"<View>\n{''.join(parts)}</View>\n"


def exported(content: bytes, file: str) -> Exported:
    """Where each annotation is, by whom, and its fields as a sheet has them."""
    try:
        for number, task in enumerate(json.loads(content), start=1):
            for annotation in task["annotations"]:
                if not annotation.get("was_cancelled"):
                    by = annotation.get("completed_by", "")
                    rater = str(by.get("email", by.get("id")) if isinstance(by, dict) else by)
                    values = {one["from_name"]: one["value"] for one in annotation["result"]}
                    given = {name: _plain(value) for name, value in values.items()}
                    yield f"{file}: task {task.get('id', number)}", rater, task["data"] | given
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__} {error}"
        raise UserError(
            f"{file}: no export of Label Studio as JSON, with `data` and `annotations` ({reason})"
        ) from None


def _plain(value: Mapping[str, Any]) -> Any:
    """A rating, the one choice, or the lines of a note."""
    plain = next(iter(value.values()))
    return " ".join(map(str, plain)) if isinstance(plain, list) else plain
