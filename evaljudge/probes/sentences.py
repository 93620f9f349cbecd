"""Sentences without a model: a rule of ours that needs no download.

    "He won (2-1). Mr. Smith left. ' go ! ' it said . so did she ."
    -> ["He won (2-1).", "Mr. Smith left.", "' go !", "' it said .", "so did she ."]

A sentence ends
- at `.`, `!`, `?` or `…`, with the quotes and brackets that close behind it, before white space,
  unless a lower-case letter follows, or the stop belongs to a title (`Mr.`), a well-known
  abbreviation or an initial (`J.`, `U.S.`);
- at a stop that stands alone between spaces, whatever follows: texts that were tokenised;
- at `。`, `！` or `？`, at a Devanagari danda, and at a blank line.

The rule errs at abbreviations that it does not know and at sentences that end in one it does. For
drawing sentences of a source at random that does not matter.
"""

from __future__ import annotations

import re

ABBREVIATIONS = re.compile(
    r"mrs?|ms|dr|prof|st|sen|rep|gov|gen|lt|col|sgt|capt|maj|rev|hon|jr|sr|vs|etc|no|fig|eq|al|inc|"
    r"ltd|co|corp|dept|univ|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|cf|approx",
    re.IGNORECASE,
)
# Begun at the head of a run alone, and never tried shorter: a run of any length is read once.
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？।]+[」』”’）]*|\n\s*\n")
_ALWAYS = re.compile(r"[。！？।\n]")
_WORD_BEFORE = re.compile(r"[^\W_](?:[\w.]*\w)?$")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_FOLLOWING = re.compile(r"\s+[\"'“‘«(\[]*(\w)")
_LONGEST_ABBREVIATION = 12


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
    return stop[0] != "." or not _is_abbreviation(
        text[max(0, start - _LONGEST_ABBREVIATION) : start]
    )


def _is_abbreviation(before: str) -> bool:
    word = _WORD_BEFORE.search(before)
    if not word:
        return False
    return any(kind.fullmatch(word[0]) for kind in (ABBREVIATIONS, _INITIALS))
