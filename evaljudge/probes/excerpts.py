"""Three sentences of the source in place of a summary: at random, the first, or the last.

    "A. B. C. D. E."  ->  RAND-3 "B. C. E."   LEAD-3 "A. B. C."   TAIL-3 "C. D. E."

They keep the source's order. A source of fewer sentences gives all of them. Sentences are found by
a rule that needs no model:

    "He won (2-1). Mr. Smith left. ' go ! ' it said . so did she ."
    -> ["He won (2-1).", "Mr. Smith left.", "' go !", "' it said .", "so did she ."]

A sentence ends
- at `.`, `!`, `?` or `…`, with the quotes and brackets that close behind it, before white space,
  unless a lower-case letter follows, or the stop belongs to a title (`Mr.`), a well-known
  abbreviation or an initial (`J.`, `U.S.`);
- at a stop between spaces, whatever follows: such texts were tokenised;
- at `。`, `！` or `？`, at a Devanagari danda, and at a blank line.

The rule is wrong at abbreviations that it does not know and at sentences that end in one it knows.
For drawing sentences of a source at random that does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from evaljudge.records import Case

Alteration = Literal["RAND-3", "LEAD-3", "TAIL-3"]
ALTERATIONS: tuple[Alteration, ...] = get_args(Alteration)
TAKEN = 3
ABBREVIATIONS = re.compile(
    r"mrs?|ms|dr|prof|st|sen|rep|gov|gen|lt|col|sgt|capt|maj|rev|hon|jr|sr|vs|etc|no|fig|eq|al|inc|"
    r"ltd|co|corp|dept|univ|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|cf|approx",
    re.IGNORECASE,
)
# It begins only at the first of several stops and takes them all, so that a long run is read once.
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？।]+[」』”’）]*|\n\s*\n")
_ALWAYS = re.compile(r"[。！？।\n]")
_WORD_BEFORE = re.compile(r"[^\W_](?:[\w.]*\w)?$")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_FOLLOWING = re.compile(r"\s+[\"'“‘«(\[]*(\w)")
_LONGEST_ABBREVIATION = 12


def excerpt(source: str, how: Alteration, stream: np.random.Generator) -> str:
    found = sentences(source)
    if how == "LEAD-3":
        taken = found[:TAKEN]
    elif how == "TAIL-3":
        taken = found[-TAKEN:]
    else:
        drawn = stream.choice(len(found), min(TAKEN, len(found)), replace=False)
        taken = [found[index] for index in np.sort(drawn)]
    return " ".join(taken)


def with_altered_references(
    cases: Sequence[Case], how: Alteration, stream: np.random.Generator
) -> list[Case]:
    """In every document that has references, one excerpt replaces them all."""
    return [_altered(case, how, stream) if case.document.references else case for case in cases]


def _altered(case: Case, how: Alteration, stream: np.random.Generator) -> Case:
    reference = excerpt(case.document.source, how, stream)
    return replace(case, document=replace(case.document, references=(reference,)))


def sentences(text: str) -> list[str]:
    found, start = [], 0
    for stop in _STOP.finditer(text):
        if _ends(text, stop):
            found.append(text[start : stop.end()])
            start = stop.end()
    found.append(text[start:])
    return [sentence for part in found if (sentence := " ".join(part.split()))]


def _ends(text: str, stop: re.Match[str]) -> bool:
    start = stop.start()
    if _ALWAYS.match(stop[0]) or start == 0 or text[start - 1].isspace():
        return True
    follows = _FOLLOWING.match(text, stop.end())
    if follows and follows[1].islower():
        return False
    before = text[max(0, start - _LONGEST_ABBREVIATION) : start]
    return stop[0] != "." or not _is_abbreviation(before)


def _is_abbreviation(before: str) -> bool:
    word = _WORD_BEFORE.search(before)
    return word is not None and any(kind.fullmatch(word[0]) for kind in (ABBREVIATIONS, _INITIALS))
