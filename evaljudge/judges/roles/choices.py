"""What the part of one role says: its choice and its reason, or why there is no choice.

    I do not like Summary 1 and prefer Summary 2: it is clear.     1
    Is Summary 1 better? Some prefer it.                           no choice in “…”
    Both are equally good.                                         undecided: “…”
    Vote: Summary 1. In the end I prefer Summary 2.                more than one choice in “…”
    Vote: Summary 1, because only experts prefer Summary 2.        0

A tie by name (`Choice: both`) goes before any choice, `equally good` behind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from evaljudge.judges.roles.names import A_NAME, FIRST, SECOND, Choice, Names, in_ascii
from evaljudge.judges.roles.phrases import (
    CHOSEN,
    COMMA,
    LABEL,
    LEADING,
    TURNED_DOWN,
    any_of,
    labelled,
    leading_bare,
)
from evaljudge.judges.roles.types import Types
from evaljudge.judges.shared.wording import one_line, quoted
from evaljudge.model.asks import Failed

NO_CHOICE = "no choice"
"""So begins the reason of a failure where nothing is said of either text."""


class Choices:
    """Hears what roles of these types say of the two texts, and of one another."""

    def __init__(self, names: Names, types: Types) -> None:
        self._names, self._types = names, types
        self._labelled = labelled(names.bare)
        self._chosen = (*CHOSEN, self._labelled)
        self._leading_bare = leading_bare(names.bare)

    def choice_in(self, text: str, role: int, is_cut: bool) -> Choice | Failed:
        """`is_cut`: the part may lack its rest, so that a name at its very end is no choice."""
        body, shown = self._names.marked(text), quoted(text.strip(" \t\n:：*|–—-"))
        said = {
            choice
            for found, choice in self._said(body, role)
            if not (is_cut and _is_at_the_end(found))
        }
        if any(tie.search(body) for tie in _TIES) or (not said and _ALIKE.search(body)):
            return Failed(f"undecided: {shown}")
        if not said:
            return Failed(f"{NO_CHOICE}{' before the cut' if is_cut else ''} in {shown}")
        if len(said) > 1:
            return Failed(f"more than one choice in {shown}")
        return said.pop()

    def _said(self, body: str, role: int) -> Iterator[tuple[re.Match[str], Choice]]:
        opening = self._opening(body)
        if opening:
            yield opening, self._names.place(opening["n"])
        why = _own_reason(opening or self._labelled_opening(body))
        for found in self._meant(self._chosen, body, role):
            if found.start() not in why or _has_label(found):
                yield found, self._names.place(found["n"])
        for found in self._meant(TURNED_DOWN, body, role):
            if found.start() not in why:
                yield found, _other(self._names.place(found["n"]))

    def _opening(self, body: str) -> re.Match[str] | None:
        """`Summary 1, because …`"""
        found = LEADING.match(body) or self._leading_bare.match(body)
        return None if found and _is_analysis(found) else found

    def _labelled_opening(self, body: str) -> re.Match[str] | None:
        """`Choice: Summary 1, because …`"""
        found = self._labelled.search(body)
        return found if found and not re.search(r"\w", body[: found.start()]) else None

    def _meant(
        self, phrases: Iterable[re.Pattern[str]], body: str, role: int
    ) -> Iterator[re.Match[str]]:
        for phrase in phrases:
            for found in phrase.finditer(body):
                if not _is_denied(found) and not _is_asked(found) and self._is_own(found, role):
                    yield found

    def _is_own(self, found: re.Match[str], role: int) -> bool:
        """Where a critic speaks, not `The author prefers A` nor `A is preferred by the author`."""
        body = found.string
        sentence = max(body.rfind(sign, 0, found.start()) for sign in ".!?\n") + 1
        named = [who.role for who in self._types.among(body, sentence, found.start())]
        by = _BY.match(body, found.end())
        voter = self._types.right_at(body, by.end()) if by else None
        return (not named or named[-1] == role) and (not voter or voter.role == role)


def _other(choice: Choice) -> Choice:
    return 0 if choice else 1


# a phrase that does not say what it seems to

_BY = re.compile(r"\s*by\s+(?:(?:a|an|the)\s+)?")
"""A is preferred [by the] author"""

_DENIAL = re.compile(
    r"\b"
    + any_of("""
    not | never | no | hardly | neither | nor | without | unlikely | doubt | if | whether | unless
    | why | who | than | initially | at first | some | others? | someone | few | fewer | less
    | instead of | cannot
""")
    + r"\b|n['’]t\b"
)
"""I would [not] choose A; [some] prefer A"""

_CLAUSE = re.compile(
    r"[.!?;:,\n()|–—]"
    r"|\b(?:and|but|while|whereas|so|although|though|however|because|since|yet)\b"
)
"""I do not like A [and] prefer B: what comes before is no denial of what follows"""


def _is_denied(found: re.Match[str]) -> bool:
    """Or only supposed: by what stands before it in its clause."""
    ends = (end.end() for end in _CLAUSE.finditer(found.string, 0, found.start()))
    clause = found.string[max(ends, default=0) : found.start()]
    return _DENIAL.search(clause) is not None


def _is_asked(found: re.Match[str]) -> bool:
    end = re.compile(r"[.!?\n]").search(found.string, found.end())
    return end is not None and end[0] == "?"


def _is_at_the_end(found: re.Match[str]) -> bool:
    """With no word and no line after the name; nor after a comma alone an end of its sentence."""
    rest = r"[.!?\n]|\bbecause\b" if found[0].endswith(",") else r"[\w\n]"
    return not re.search(rest, found.string[found.end("n") :])


def _is_analysis(opening: re.Match[str]) -> bool:
    """`Summary 1: too long. Summary 2: clear.` goes through both and chooses none."""
    other = SECOND if opening["n"] == FIRST else FIRST
    ends = rf"\s*(?:[:.–—-]|\n){f'|{COMMA}' if opening[0].endswith(',') else ''}"
    follows = rf"(?:^|[.;\n])[^\w\n.;]*+{other}(?:{ends})"
    return re.search(follows, opening.string) is not None


_OWN_REASON = re.compile(
    r"(?!\s*+(?:\([^()]*\)\s*+)?[:;|–—-]++\s*+(?!because|since))"  # not: A: too long, B is better
    r"(?:(?!\b(?:but|however)\b)[^.!?\n])*+"  # not: A, which is clear, but I prefer B
)


def _own_reason(opening: re.Match[str] | None) -> range:
    """Where its sentence goes on with its reason, in which no choice is said: `A, because B …`"""
    found = opening and _OWN_REASON.match(opening.string, opening.end("n"))
    return range(*found.span()) if found else range(0)


def _has_label(found: re.Match[str]) -> bool:
    """`A, because it is clear, vote: B` says two, although in one sentence."""
    return re.search(r"[:=|>–—-]", found[0]) is not None


# a tie

_TIE = any_of("""
    a tie | tied? | a draw | draw | neither | none | both | either | equal | undecided
    | no (?:preference|choice)
""")
_TIES = (
    # It's a tie because …
    re.compile(rf"\A\W*(?:it\s+is\s+|it['’]s\s+)?{_TIE}\s*(?:\Z|[.!;|,(\n–—-]|because|since)"),
    # Choice: both
    re.compile(rf"{LABEL}\s*[:=|]\W*{_TIE}\b"),
    # I have no clear preference
    re.compile(r"\b(?:no\s+(?:clear\s+|strong\s+|real\s+)?preference|undecided|indifferent)\b"),
    # I cannot decide
    re.compile(r"\b(?:cannot|can['’]t|could\s+not)\s+(?:choose|decide)\b"),
    # A draw: both are clear
    re.compile(r"\A\W*a\s+(?:tie|draw)\s*:"),
    # This is a draw
    re.compile(r"\b(?:is|be|['’]s)\s+a\s+(?:tie|draw)\b"),
)
_ALIKE = re.compile(
    r"\b(?:equally|equal|neither|tied|no\s+(?:clear\s+)?(?:winner|difference)|same\s+quality"
    r"|as\s+good\s+as\s+(?:each\s+other|one\s+another)"
    rf"|{A_NAME}\s+is\s+(?:just\s+)?as\s+good\s+as\s+{A_NAME})\b"
)
"""Both are equally good: a tie unless a choice is said."""


# the reason

_REASON = re.compile(
    r"\b(?:reason(?:ing|s)?|explanation|rationale|justification|why)\W*?:\W*(?P<why>.*?)"
    rf"(?=\n[^\w\n]*(?:{LABEL})\W*?[:=]|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def reason_in(part: str, body: str) -> str:
    """In one line: what is called the reason, else all that the role said after its heading."""
    told = _reason_of_object(part)
    if told is not None:
        return one_line(told)
    found = _REASON.search(in_ascii(body))
    said = body[slice(*found.span("why"))] if found else body
    return one_line(said).strip(' :：–—-=,，"“”{}[]\\')


def _reason_of_object(part: str) -> str | None:
    """`{"role": "Critic", "choice": …, "reason": …}`"""
    try:
        told: dict[str, object] = json.loads(part[: part.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    texts = {key.lower(): value for key, value in told.items() if isinstance(value, str)}
    return next((texts[key] for key in texts if key.startswith(("reason", "expl"))), None)
