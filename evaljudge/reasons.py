"""Why texts are unscored, grouped: a reason's kind, what its cases have in common, what to do.

    grouped({"prompt too long: at 2025 tokens it leaves no room for 80 more in the model's context "
             "of 2048": 1, "no steps for tone: prompt too long: …": 56})
    ->  [Group("prompt too long", 57, "longest 2,025 of 2,048 tokens",
               "shorten these texts, lower max_tokens, or take a model with more context")]

A reason is one text in the files of verdicts and scores. Where it stood (`compared with level 3: `)
and what was said (`'Rating: …'`) differ from case to case: they are details, and the rest is kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Details = Callable[[Sequence[re.Match[str]]], str]


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    pattern: re.Pattern[str]
    remedy: str
    details: Details = lambda found: ""
    foreseeable: bool = False
    """It depends on the corpus and the configuration alone, not on what a model replies."""


@dataclass(frozen=True, slots=True)
class Group:
    kind: str
    times: int
    details: str = ""
    remedy: str = ""
    foreseeable: bool = False

    def __str__(self) -> str:
        more = "; ".join(filter(None, [self.details, self.remedy]))
        return f"{self.kind} × {self.times:,}" + (f": {more}" if more else "")


def too_long(tokens: int, room: int, context: int) -> str:
    return (
        f"prompt too long: at {tokens} tokens it leaves no room for {room} more in the model's "
        f"context of {context}"
    )


def grouped(reasons: Mapping[str, int]) -> list[Group]:
    """The most frequent first."""
    by_kind: dict[str, dict[str, int]] = {}
    for reason, times in reasons.items():
        by_kind.setdefault(_kind_of(reason), {})[reason] = times
    groups = [_group(name, those) for name, those in by_kind.items()]
    return sorted(groups, key=lambda group: (-group.times, group.kind))


def _group(name: str, reasons: Mapping[str, int]) -> Group:
    times = sum(reasons.values())
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None:
        return Group(name, times)
    found = [match for reason in reasons if (match := kind.pattern.search(reason))]
    return Group(name, times, kind.details(found), kind.remedy, kind.foreseeable)


def _kind_of(reason: str) -> str:
    known = next((kind.name for kind in KINDS if kind.pattern.search(reason)), None)
    return known or _QUOTED.sub("…", _WHERE.sub("", reason))


def _longest(found: Sequence[re.Match[str]]) -> str:
    tokens, context = max((int(match[1]), int(match[2])) for match in found)
    return f"longest {tokens:,} of {context:,} tokens"


_WHERE = re.compile(
    r"^((compared with level [\d.]+|no reference of level [\d.]+ on [^:]+|no steps for [^:]+"
    r"|no reference's entities could be had|nobody voted): )+"
)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'(?=$|[\s,;.)])|\"(?:[^\"\\]|\\.)*\"")
KINDS = (
    Kind(
        "prompt too long",
        re.compile(
            r"(\d+) tokens (?:it )?leaves no room for \d+ more in the model's context of (\d+)"
        ),
        "shorten these texts, lower max_tokens, or take a model with more context",
        _longest,
        foreseeable=True,
    ),
    Kind(
        "no reference",
        re.compile(r"^no reference( to take entities from)?$"),
        "give the documents `references`, or compare with the source where that can be set",
        foreseeable=True,
    ),
    Kind(
        "empty text",
        re.compile(r"^empty text$"),
        "the system wrote nothing: correct the corpus, or leave these candidates out",
        foreseeable=True,
    ),
    Kind(
        "empty source",
        re.compile(r"(^|: )empty source$"),
        "give the documents their `source`",
        foreseeable=True,
    ),
    Kind(
        "the reply was cut at its token limit",
        re.compile(r"the reply was cut at its token limit"),
        "raise the judge's max_tokens (in another `out`), and switch off thinking if the model "
        "does that",
    ),
    Kind(
        "engine died",
        re.compile(r"^(engine|worker) died$"),
        "the log says why; a model that needs less memory is the first thing to try",
    ),
    Kind(
        "the model's probabilities are not numbers",
        re.compile(r"probabilities (of the answers )?are not numbers"),
        "try another data type: `model: {engine: {dtype: float32}}`",
    ),
)
