"""Why texts are unscored, grouped: a reason's kind, what its cases have in common, what to do.

    grouped({"prompt too long: at 2025 tokens it leaves no room for 80 more in the model's context "
             "of 2048": 1, "no steps for tone: prompt too long: …": 56})
    ->  [Group("prompt too long", 57, "longest 2,025 and 80 for the reply of 2,048 tokens",
               "shorten these texts, lower the judge's max_tokens or thinking.tokens, or …")]

A reason is one text in the files of verdicts and scores. Where it stood (`compared with level 3: `)
and what was said (`'Rating: …'`) differ from case to case: they are details, and the rest is kind.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DAMAGED_FILE = "damaged file"
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Kind:
    """One entry of reasons.yaml."""

    name: str
    pattern: str
    remedy: str
    foreseeable: bool = False


@cache
def _kinds() -> list[Kind]:
    import yaml

    text = (Path(__file__).parent / "reasons.yaml").read_text(encoding="utf-8")
    return [Kind(**entry) for entry in yaml.safe_load(text)]


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
    if not room:
        return f"prompt too long: {tokens} tokens are more than the model's context of {context}"
    return (
        f"prompt too long: at {tokens} tokens it leaves no room for {room} more in the model's "
        f"context of {context}"
    )


def grouped(reasons: Mapping[str, int]) -> list[Group]:
    """The most frequent first."""
    by_name: dict[str, dict[str, int]] = {}
    for reason, times in reasons.items():
        name = next((kind.name for kind in _kinds() if re.search(kind.pattern, reason)), None)
        name = name or _QUOTED.sub("…", _WHERE.sub("", reason))
        by_name.setdefault(name, {})[reason] = times
    for name, (reason, *others) in list(by_name.items()):
        if "…" in name and not others and reasons[reason] > 1:  # what is quoted is always the same
            by_name[_WHERE.sub("", reason)] = by_name.pop(name)
    groups = [_group(name, those) for name, those in by_name.items()]
    return sorted(groups, key=lambda group: (-group.times, group.kind))


def by_kind(reasons: Iterable[str]) -> dict[str, int]:
    """How often there is a reason of each known kind; all others are of the kind `other`."""
    groups = grouped(Counter(reasons))
    return dict(sum((Counter({g.kind if g.remedy else OTHER: g.times}) for g in groups), Counter()))


def _group(name: str, reasons: Mapping[str, int]) -> Group:
    times = sum(reasons.values())
    kind = next((kind for kind in _kinds() if kind.name == name), None)
    if kind is None:
        return Group(name, times)
    sizes = [
        [int(match[size] or 0) for size in ("tokens", "room", "context")]
        for match in (re.search(kind.pattern, reason) for reason in reasons)
        if match and "context" in match.groupdict()
    ]
    longest = ""
    if sizes:  # of prompts that were too long
        tokens, room, context = max(sizes)
        more = f" and {room:,} for the reply" if room else ""
        longest = f"longest {tokens:,}{more} of {context:,} tokens"
    return Group(name, times, longest, kind.remedy, kind.foreseeable)


_WHERE = re.compile(
    r"^((compared with level [\d.]+|no reference of level [\d.]+ on [^:]+|no steps for [^:]+"
    r"|no reference's entities could be had|nobody voted): )+"
)
_QUOTED = re.compile(r"“.*”|'(?:[^'\\]|\\.)*'(?=$|[\s,;.)])|\"(?:[^\"\\]|\\.)*\"")
