"""What every question needs: texts for its prompt, reasons not to ask it, and quoted replies."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from evaljudge.errors import UserError
from evaljudge.model.asks import Failed
from evaljudge.prompts import Given, Pack
from evaljudge.records import Axis, Brief, Candidate, Document, Score, Verdict

Text = str | Failed
ANY_WORDS = {"axis": "axis", "description": "what it is"}
"""Words of an axis, to try templates with."""
MOST_SHOWN = 60  # characters of a reply that a reason quotes


def reason_unscorable(document: Document, candidate: Candidate) -> str:
    """Why nothing can be asked about this candidate; empty if it can be asked about."""
    if not document.source.strip():
        return "empty source"
    return "" if candidate.text.strip() else "empty text"


def document_texts(document: Document, axis: Axis) -> dict[str, str | None]:
    context = document.context if axis.context else None
    return {"source": document.source, "context": context}


def text_of(brief: Brief) -> Text:
    return str(brief.content["text"]) if brief.status == "ok" else Failed(brief.reason)


def scored(verdict: Verdict, scorer: str, axis: str, value: float | Failed) -> Score:
    key = (verdict.doc_id, verdict.system, scorer, axis)
    return Score(*key, None, value.reason) if isinstance(value, Failed) else Score(*key, value)


def check_place(
    pack: Pack, template: str, word: str, choices: Sequence[str], **others: str
) -> None:
    """Refuse a template that says the same whichever of these words it is given."""
    slots = ("source", "context", "reference", "target")
    filled: dict[str, Given] = {slot: f"the {slot}" for slot in slots}
    filled["references"] = ["the first reference", "the second reference"]
    words = ANY_WORDS | others
    prompts = {pack.render(template, filled, **{**words, word: choice}) for choice in choices}
    if len(prompts) < len(choices):
        raise UserError(f"prompt {template}: needs a place for {{{{ {word} }}}}")


def drawn(*words: object) -> bytes:
    """A draw that depends on these words alone, so that it is the same in every run."""
    return hashlib.blake2b(repr(words).encode(), digest_size=8).digest()


def fold(text: str) -> str:
    """The name without case, punctuation and spacing: names that fold alike count as the same."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(" " if unicodedata.category(c)[0] in "PZSC" else c for c in plain)
    return " ".join(kept.split())


def one_line(text: str) -> str:
    """One printable line, without marks of emphasis, code, fences and headings."""
    bare = re.sub(r"[*`]+|(?<!\w)[_#]+|_+(?!\w)", "", printable(text))
    return " ".join(re.sub(r"[<>|]+", " ", bare).split())


def quoted(text: str) -> str:
    """A reply in one line of a reason, shortened."""
    line = " ".join(printable(text).split())
    return f"“{line}”" if len(line) <= MOST_SHOWN else f"“{line[: MOST_SHOWN - 1]}…”"


def printable(text: str) -> str:
    """The text with spaces in place of control characters and lone surrogates."""
    return "".join(c if c.isprintable() else " " for c in text)
