"""Tables of other shapes, which `evaljudge init` rewrites in the generic form: nested JSON (see
flat.py), and these two, also as keys of nested JSON.

id,article,gpt4_output,gpt4_fluency,llama_output       a column of texts for each system
-> {"doc_id": …, "source": …, "candidates": [{"system": "gpt4", "text": …, "fluency": 4}, …]}
id,article,model,summary,annotator,dimension,score     a row for each rater and axis
-> {"doc_id": …, …, "text": …, "ratings": {"fluency": {"anna": 4, "ben": 5}}}
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaljudge.corpora import flat, unread_columns
from evaljudge.corpora.columns import (
    IN_INIT,
    OF_DOCUMENT,
    OVERALL,
    ColumnNames,
    Unread,
    axis_called,
    field_called,
)
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.memory import LONGER, CorpusFile, Input
from evaljudge.corpora.rows import DOTTED, KNOWN_FIELDS, RATER, accepted, clean, is_absent, name_in
from evaljudge.errors import UserError
from evaljudge.text import one_line, shown

_APART = "[ _.:/-]+"
_WORD_LAST = re.compile(rf"(?P<system>.+?){_APART}(?P<word>[^\W\d_]+)")
_WORD_FIRST = re.compile(rf"(?P<word>[^\W_]+){_APART}(?P<system>.+)")
_MODEL = re.compile(
    r"(?<![a-z])((chat)?gpt|llama|claude|gemini|gemma|mi[sx]tral|qwen|deepseek|phi|vicuna|bart|t5"
    r"|pegasus|bert|baseline|ours|human|lead|system|model|chosen|rejected|[a-z]+-?\d)",
    re.IGNORECASE,
)
"""In the name of a column that is named by the system alone whose texts it has."""
_AXES = ("dimension", "criterion", "criteria", "aspect", "axis", "attribute")
LEFT_OUT = "left out"
_NESTED = {"candidates", "ratings"}
Names = dict[str, str]
Made = tuple[list[dict[str, Any]], Names] | None  # the rows, and what each column became


def longer(
    path: str, theirs: Unread, given: Names, folder: Path, force: bool
) -> tuple[CorpusFile, str, Names] | None:
    """A file with the same texts, to be written; a line about it, and what each column became. None
    where the table has none of these shapes beyond doubt."""
    if not Path(path).is_file() or "candidates" in theirs.known:
        return None
    is_nested = (has_talk := flat.has_talk(path)) or theirs.lacks_texts(given)
    if "ratings" in theirs.known and not is_nested:
        return None
    nested = flat.flat(path) if is_nested else None
    table, theirs = (nested, unread_columns(nested)) if nested else (path, theirs)
    columns = theirs.changed(theirs.likely(), given)
    ours = {n: to for n, to in columns.items() if to in KNOWN_FIELDS and to not in _NESTED}
    there, made, shape = {*theirs.known, *given.values()}, None, "a column for each system"
    has_one = [field_called(name) for name in theirs.names].count("system") == 1
    if "text" not in there and "system" not in there and not has_one:
        known = {n: to for n, to in ours.items() if to in (*OF_DOCUMENT, RATER)}
        made = _by_document(table, theirs, known, given)
    if not made and "text" in {*there, *ours.values()}:
        theirs.refuse_wide(path, given, IN_INIT)
        made, shape = _by_text(table, theirs, ours, given), "a row for each axis"
    if made:
        lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in made[0])
        content, became = clean(lines).encode(), made[1]
    elif nested:
        content, became = nested.content, {}
        shape = "conversations" if has_talk else "nested keys"
    else:
        return None
    file = folder / f"{Path(path).stem}{LONGER}"
    if not force and file.exists() and file.read_bytes() != content:
        raise UserError(f"{file}: is there, and is not what {path} becomes: give --force")
    each = ", ".join(one_line(f"{name} is {now}") for name, now in became.items())
    said = f"{path} has {shape}, so {file} is made of it{f': {each}' if each else ''}"
    return CorpusFile(file.name, content, str(file)), said, became


def _by_document(path: Input, theirs: Unread, ours: Names, given: Names) -> Made:
    """With a column of raters, a row for each text: a row of one rater is of one text."""
    if len([name for name in theirs.names if field_called(name) == RATER]) > 1:  # of each text
        ours = {name: to for name, to in ours.items() if to != RATER}
    names = [name for name in theirs.names if name not in ours]
    if not (cells := _cells(theirs, [name for name in names if given.get(name) != ""])):
        return None
    now, rows = {n: f"{inner} of {system}" for n, (system, inner) in cells.items()}, []
    left_out = {n: LEFT_OUT for n in names if n in {*theirs.rated, *given} - {*cells}}
    by_rater = RATER in {*theirs.known, *ours.values(), *(inner for _, inner in cells.values())}
    rated = {name: f"{n}" for n, name in enumerate(theirs.rated) if name in cells}
    columns = ColumnNames({**ours, **{name: f"{DOTTED}{n}" for name, n in rated.items()}})
    apart = {"ratings", *(f"{DOTTED}{n}" for n in rated.values()), *cells, *left_out}
    for row in map(accepted, read_generic((path,), columns)):
        numbers, texts = row.fields.get("ratings") or {}, dict[str, Any]()
        fields = {**row.fields, **{name: numbers.get(n) for name, n in rated.items()}}
        for name, (system, inner) in cells.items():
            text, value = texts.setdefault(system, {"system": system}), fields.get(name)
            if inner == "text" or not is_absent(str(value)):  # NaN is absent, too
                text[inner] = "" if value is None or value != value else value
        kept = {name: value for name, value in fields.items() if name not in apart}
        each = [*texts.values()]
        rows += [text | kept for text in each] if by_rater else [kept | {"candidates": each}]
    return rows, {**ours, **now, **left_out}


def _cells(theirs: Unread, names: list[str]) -> Mapping[str, tuple[str, str]]:
    """The system of each column, and what the column is called in a row of that system alone; empty
    where it is in doubt which columns are texts, or whose they are."""
    words = [name for name in names if re.search(r"[^\W\d_]", theirs.no_numbers.get(name, ""))]
    likely = {name for name in words if field_called(name) == "text"}
    texts, called = dict[str, str](), set[str]()
    ways = _WORD_LAST if any(map(_WORD_LAST.fullmatch, likely)) else _WORD_FIRST
    for at in filter(None, map(ways.fullmatch, words)):
        is_text = "text" in (word := at["word"].casefold(), field_called(word))
        if is_text and field_called(at["system"]) in ("", "system"):
            texts[at[0]] = at["system"]
            called.add(word)
    if not (texts or likely):  # `A` and `B` beside `A_fluency` and `B_fluency`
        rated = "\n".join(theirs.rated)
        texts = {n: n for n in words if re.search(f"^{re.escape(n)}{_APART}", rated, re.MULTILINE)}
    if not (texts or likely):  # `gpt-4`, `llama-2-7b`, `human`
        texts = {n: n for n in words if _MODEL.search(n) and len(theirs.no_numbers[n].split()) > 3}
    if not len(texts) > 1 >= len(called) or likely - {*texts}:
        return {}
    keys = {system: system for system in texts.values()} | texts
    key = "|".join(map(re.escape, sorted(keys, key=len, reverse=True)))
    cells = {name: (system, "text") for name, system in texts.items()}
    for name in (name for name in names if name not in texts):
        first, last = rf"({key}){_APART}(.+)", rf"(.+){_APART}({key})"
        if found := re.fullmatch(rf"{first}|{last}|([^\W_]+){_APART}{first}", name):
            of = "" if (found[5] or "").casefold() in {*called, *OVERALL} else f"{found[5]}_"
            inner = found[2] or found[3] or f"{of}{found[7]}"
            is_rater = field_called(inner) == RATER and name not in theirs.rated  # not `A_rater1`
            is_number = inner == "ratings" != theirs.rated.get(name, inner)
            inner = "rating" if is_number else RATER if is_rater else inner
            inner = "system" if field_called(inner) == "system" else inner  # whose it is, in a cell
            cells[name] = keys[found[1] or found[4] or found[6]], inner
    named = [inner for _, inner in cells.values()].count("system")
    return {} if len({*cells.values()}) < len(cells) or named not in (0, len(texts)) else cells


def _by_text(path: Input, theirs: Unread, ours: Names, given: Names) -> Made:
    axes = [n for n in theirs.no_numbers if n.casefold() in _AXES and n not in given]
    scores = [n for n, to in theirs.rated.items() if to == f"{DOTTED}overall" and n not in given]
    if not len(axes) == len(scores) == 1:
        return None
    texts, named, odd = dict[str, dict[str, Any]](), dict[str, None](), ""
    columns = ColumnNames({**ours, scores[0]: f"{DOTTED}{scores[0]}"})
    for row in map(accepted, read_generic((path,), columns)):
        of, number = row.fields, (row.fields.get("ratings") or {}).get(scores[0])
        text = {n: of[n] for n in KNOWN_FIELDS if n in of and n not in ("ratings", RATER)}
        key = json.dumps({n: f"{value}".strip() for n, value in text.items()})
        ratings = texts.setdefault(key, text | {"ratings": {}})["ratings"]
        if is_absent(str(number)):
            continue
        if is_absent(of.get(axes[0])):
            odd = odd or f"{row.place}: needs `{axes[0]}`"
            continue
        named[axis := axis_called(name_in(row, axes[0]))] = None
        by = "" if is_absent(of.get(RATER)) else name_in(row, RATER)
        if by in (each := ratings.setdefault(axis, {})):
            whose = f" by {shown(by)} for one text" if by else f" for one text: name the `{RATER}`"
            raise UserError(f"{row.place}: a second score of {shown(axis)}{whose}")
        each[by] = number
        if "" in each and len(each) > 1:
            odd = odd or f"{row.place}: some scores of this text have a `{RATER}`, and some none"
    if not any(len(text["ratings"]) > 1 for text in texts.values()):
        return None
    if odd:
        raise UserError(odd)
    for text in texts.values():
        text["ratings"] = {axis: each.get("", each) for axis, each in text["ratings"].items()}
    now = {axes[0]: f"the axes {', '.join(named)}", scores[0]: "the ratings"}
    left_out = {name: LEFT_OUT for name in theirs.names if name not in {**ours, **now}}
    return [*texts.values()], {**ours, **now, **left_out}
