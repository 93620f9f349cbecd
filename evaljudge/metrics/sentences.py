"""Sentences, by a rule that needs no model.

    "He won (2-1). Mr. Smith left. ' go ! ' it said . so did she ."
    -> ["He won (2-1).", "Mr. Smith left.", "' go !", "' it said .", "so did she ."]

A sentence ends
- at `.`, `!`, `?` or `…`, with the quotes and brackets that close behind it, before white space,
  unless a lower-case letter follows, or the stop belongs to a title (`Mr.`), a well-known
  abbreviation or an initial (`J.`, `U.S.`);
- at a stop between spaces, whatever follows: such texts were tokenised;
- at `。`, `！` or `？`, at a Devanagari danda, and at a blank line.

The rule is wrong at abbreviations that it does not know and at sentences that end in one it knows.
"""

import re

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


def sentences(text: str) -> list[str]:
    listed, start = [], 0
    for stop in _STOP.finditer(text):
        if _ends(text, stop):
            listed.append(text[start : stop.end()])
            start = stop.end()
    listed.append(text[start:])
    return [sentence for part in listed if (sentence := " ".join(part.split()))]


def _ends(text: str, stop: re.Match[str]) -> bool:
    start = stop.start()
    if _ALWAYS.match(stop[0]) or start == 0 or text[start - 1].isspace():
        return True
    follows = _FOLLOWING.match(text, stop.end())
    if follows and follows[1].islower():
        return False
    word = _WORD_BEFORE.search(text[max(0, start - _LONGEST_ABBREVIATION) : start])
    is_short = word and any(kind.fullmatch(word[0]) for kind in (ABBREVIATIONS, _INITIALS))
    return stop[0] != "." or not is_short
