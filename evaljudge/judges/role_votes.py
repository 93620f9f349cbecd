"""One reply in which every role says which of two texts is better: a vote of each, or why none.

    1. General Public: Summary 2, because it is easy to read.      1, e^-.3 = .74
    2. **Critic** – The critic would prefer Summary 1 over         0, e^-.2 = .82
       Summary 2; critics like short sentences.
    3. News Author: Both are equally good.                         undecided: “Both are …”
    (nothing of the fourth role)                                   no vote of this role in the reply

The confidence is exp of the mean log-probability of the role's own part (equations 2 to 4 of the
paper: r is per role), which goes from its heading to the next: a token is of the part in which its
middle lies. A part begins where a line or an item does with a role's type (the longest that fits)
or number; a role that is named elsewhere is mentioned, no more.

A choice is said by a name right after the heading (`Critic: Summary 1, because …`), after a word
such as `choice` or `vote`, as what is preferred or chosen, or by a plain `is better`. `Better
written`, `clearer` and the like praise one side of a text and choose none. What is denied, asked,
conditional or said of another role is no choice, and all that are said must agree. In a reply cut
by its limit, a choice at the very end may lack its rest (`Summary 1 … is too long`): it is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, fsum, isfinite
from sys import float_info
from typing import Literal

from evaljudge.asks import Failed, Sample, Token
from evaljudge.judges.role_lists import Role, one_line, quoted

NO_VOTE = Failed("no vote of this role in the reply")


@dataclass(frozen=True, slots=True)
class Vote:
    """`choice`: which of the two names; `span`: where the role's own part stands in the reply."""

    choice: Literal[0, 1]
    reason: str
    confidence: float | None
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """What stands between two headings; `body`: where its own ends. None: of no role asked."""

    role: int | None
    start: int
    body: int
    end: int


def votes_in(reply: Sample, roles: Sequence[Role], names: tuple[str, str]) -> list[Vote | Failed]:
    """In the order of `roles`. Of one role that was asked alone, the whole reply is its part."""
    reading = _Reading(reply, tuple(roles), _Names(names))
    parts = reading.parts
    return [
        _agreed([reading.vote(part) for part in parts if part.role == role])
        for role in range(len(roles))
    ]


def _agreed(votes: Sequence[Vote | Failed]) -> Vote | Failed:
    """A role that comes twice must not contradict itself; where it says nothing is passed over."""
    cast = [vote for vote in votes if isinstance(vote, Vote)]
    open_ = [v for v in votes if isinstance(v, Failed) and not v.reason.startswith("no choice")]
    if not cast:
        return next(iter(open_ or votes), NO_VOTE)
    if len({vote.choice for vote in cast}) > 1 or open_:
        return Failed("two votes of this role that disagree in the reply")
    return cast[0]


def confidence(tokens: Sequence[Token] | None, start: int, end: int) -> float | None:
    """None without log-probabilities, or where one of them is no number."""
    own = [t.logprob for t in tokens or () if start <= (t.start + t.end) / 2 < end]
    if not own or not all(map(isfinite, own)):
        return None
    return max(exp(min(fsum(own) / len(own), 0.0)), float_info.min)


# the two names: each mention of them becomes one letter that stands in no reply

_ONE, _TWO = "ʘ", "ǂ"
_N = f"[{_ONE}{_TWO}]"
_WORDS = {"1": r"(?:1|one|i)", "2": r"(?:2|two|ii)"}
_ORDINALS = {"1": "first|1st", "a": "first|1st", "2": "second|2nd", "b": "second|2nd"}


class _Names:
    def __init__(self, names: tuple[str, str]) -> None:
        nouns, self.labels = zip(*(_noun_and_label(name) for name in names), strict=True)
        shared = nouns[0] if nouns[0] and nouns[0].casefold() == nouns[1].casefold() else ""
        self._patterns = [
            _mention(name, shared, label) for name, label in zip(names, self.labels, strict=True)
        ]
        self.has_labels = bool(shared)

    def marked(self, text: str) -> str:
        """In lower case and without emphasis and quotation marks."""
        plain = re.sub(f'{_N}|[*_`"“”]', " ", text)
        for letter, pattern in zip((_ONE, _TWO), self._patterns, strict=True):
            plain = pattern.sub(letter, plain)
        return re.sub(rf"[\[<]\s*({_N})\s*[\]>]", r"\1", plain.lower())

    @property
    def bare(self) -> str:
        """What may stand for a name where nothing else can be meant."""
        if not self.has_labels:
            return "(?!)"
        return "|".join(re.escape(label.lower()) for label in self.labels)

    def place(self, said: str) -> Literal[0, 1]:
        return 0 if said in (_ONE, self.labels[0].lower()) else 1


def _noun_and_label(name: str) -> tuple[str, str]:
    noun, _, label = name.strip().rpartition(" ")
    return noun, label


def _mention(name: str, noun: str, label: str) -> re.Pattern[str]:
    spaced = r"\s+".join(map(re.escape, name.split())) or "(?!)"
    if not noun:
        return re.compile(rf"(?<!\w){spaced}(?!\w)", re.IGNORECASE if len(name) > 1 else 0)
    said = _WORDS.get(label, re.escape(label))
    ordinal = _ORDINALS.get(label.lower(), "(?!)")
    plain = rf"{re.escape(noun)}(?: |\s?[-#(\[]|\sno\.?\s|\snumber\s|\s#)?{said}(?!\w)[)\]]?"
    return re.compile(
        rf"(?<!\w)(?:{spaced}(?!\w)|{plain}|(?:the\s+)?(?:{ordinal})\s+(?:{re.escape(noun)}|one)\b)",
        re.IGNORECASE,
    )


# the roles' own types, wherever they are named


def _types(roles: Sequence[Role]) -> re.Pattern[str]:
    """As they are first, then with another number; the longest first."""
    order = sorted(range(len(roles)), key=lambda i: -len(roles[i].type))
    words = {i: _type_pattern(roles[i].type) for i in order}
    exact = [rf"(?P<e{i}>{words[i]}){_END}" for i in order]
    other = [rf"(?P<o{i}>{re.sub('s$', 's?', words[i])}(?:e?s)?){_END}" for i in order]
    return re.compile(rf"(?<!\w)(?:{'|'.join([*exact, *other]) or '(?!)'})", re.IGNORECASE)


_END = r"(?![\w]|-\w)"


def _type_pattern(type_: str) -> str:
    plain = re.sub(r"^(?:a|an|the)\s+(?=\w)", "", type_.strip(), flags=re.IGNORECASE)
    words = [
        re.sub("['’]", "['’]", re.escape(word)) for word in re.split(r"[\s_/–-]+", plain) if word
    ]
    return r"[\s_/–-]+".join(words) or "(?!)"


def _role_of(match: re.Match[str]) -> int:
    return int(str(match.lastgroup)[1:])


# where a part begins

_WHO = r"(?:role|judger?|reader|voter|persona|user|type|name)"
_LEAD = re.compile(
    r"[^\w\n]*+(?:\d{1,3}\b[^\w\n]+)?"
    rf"(?:{_WHO}\b[^\w\n]*(?:\d{{1,3}}\b[^\w\n]*)?(?:(?:type|name)\b[^\w\n]*)?)?"
    r"(?:(?:votes?|choice|opinion|preference)\s+(?:of|by|from)\s+)?"
    r"(?:i\b[^\w\n]+)?(?:(?:for|as|from|to|in|(?:speaking|acting)\s+as|according\s+to)\s+)?"
    r"(?:the\s+(?:perspective|viewpoint|point\s+of\s+view|view|eyes|standpoint)\s+of\s+)?"
    r"(?:(?:a|an|the)\s+)?[^\w\n]*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"[^\w\n]*(?:\d{1,3}[.)]\s*)?(?:role|judger?|reader|voter|persona|user)"
    r"\s*[#(\[]?\s*(?P<n>\d{1,3})\b[)\]]?",
    re.IGNORECASE,
)
_BARE = re.compile(r"[ \t]*(?:[*_#>|-]+[ \t]*)?\(?(?P<n>\d{1,3})(?:[.):]|[ \t]*\|)(?!\d)")
_TITLED = re.compile(r"[ \t]+(?!I\b|(?:User|Reader|Role|Judge|Perspective|View)s?\b)[A-Z]\w")
_SUFFIX = re.compile(r"[ \t]+(?:user|reader|role|judge|perspective|view)s?\b", re.IGNORECASE)
_JOINED = re.compile(r"\s+(?:and|or|of)\b|\s*&", re.IGNORECASE)
_CLOSING = re.compile(
    r"\n[ \t]*\n[^\w\n]*(?:overall|in (?:conclusion|summary|short|total)|conclusion|therefore|thus"
    r"|to (?:conclude|sum up|summari[sz]e)|final (?:verdict|votes?|results?|tally|decision|score)"
    r"|(?:vote )?(?:tally|totals?)|votes?:|results?|i hope|let me know|note)\b"
    r"|\n[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*\n(?=.*\w)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int
    number: int | None = None
    indent: int = 0


def _lines(text: str) -> list[_Line]:
    found, start = [], 0
    for line in text.split("\n"):
        bare = _BARE.match(line)
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        found.append(_Line(line, start, int(bare["n"]) if bare else None, indent))
        start += len(line) + 1
    return found


@dataclass(frozen=True)
class _Reading:
    reply: Sample
    roles: tuple[Role, ...]
    names: _Names

    @cached_property
    def types(self) -> re.Pattern[str]:
        return _types(self.roles)

    @cached_property
    def parts(self) -> list[Part]:
        text = self.reply.text
        if len(self.roles) == 1:
            named = self._named(_Line(text.partition("\n")[0], 0))
            return [Part(0, 0, named.body if named else 0, len(text))]
        heads = self._objects() or self._keys() or self._heads()
        if not heads:
            return []
        ends = [*(head.start for head in heads[1:]), len(text)]
        return self._closed([replace(h, end=e) for h, e in zip(heads, ends, strict=True)])

    def _closed(self, parts: list[Part]) -> list[Part]:
        """What follows the last vote and sums up is of no role, unless every role sums up."""
        closings = [_CLOSING.search(self.reply.text, p.body, p.end) for p in parts]
        if len(parts) < 2 or not closings[-1] or any(closings[:-1]):
            return parts
        at, last = closings[-1].start(), parts[-1]
        return [*parts[:-1], replace(last, end=at), Part(None, at, at, last.end)]

    def _objects(self) -> list[Part]:
        """`{"role": "Critic", "choice": …}`; the last may lack its end."""
        key = rf"\"(?:{_WHO}|\w+[ _](?:type|name))\"\s*:\s*(?:\"(?P<type>[^\"\n]*)\"|(?P<n>\d+))"
        found = []
        for item in re.finditer(r"\{[^{}]*(?:\}|\Z)", self.reply.text):
            if who := re.search(key, item[0], re.IGNORECASE):
                start = item.start()
                found.append(Part(self._whose(who), start, start, start))
        return found

    def _whose(self, who: re.Match[str]) -> int | None:
        said = (who["type"] or "").strip()
        numbered = re.fullmatch(r"(?:\w+ )?(\d{1,3})", who["n"] or said)
        if numbered:
            return self._at(int(numbered[1]))
        lead = _LEAD.match(said)
        named = next(
            (m for m in self.types.finditer(said) if lead and m.start() <= lead.end()), None
        )
        return _role_of(named) if named and named.end() == len(said) else None

    def _keys(self) -> list[Part]:
        """`{"Critic": "Summary 1", …}` or `{"Critic": {"choice": …}, …}`."""
        if "{" not in self.reply.text:
            return []
        keys = re.finditer(r"(?<!\\)\"(?P<type>[^\"\n]{1,120})\"\s*:", self.reply.text)
        found = []
        for key in keys:
            whole = self.types.fullmatch(key["type"].strip())
            numbered = re.fullmatch(r"(?:role )?(\d{1,3})", key["type"].strip(), re.IGNORECASE)
            if whole or numbered:
                role = _role_of(whole) if whole else self._at(int(numbered[1] if numbered else 0))
                found.append(Part(role, key.start(), key.end(), key.end()))
        return found

    def _at(self, number: int) -> int | None:
        return number - 1 if 0 < number <= len(self.roles) else None

    def _heads(self) -> list[Part]:
        lines = _lines(self.reply.text)
        named = {at: head for at, line in enumerate(lines) if (head := self._named(line))}
        numbered = {
            at: Part(self._at(int(m["n"])), line.start, line.start + m.end(), 0)
            for at, line in enumerate(lines)
            if at not in named and (m := _NUMBERED.match(line.text))
        }
        heads = numbered | named
        heads |= self._strangers(lines, named) | self._counted(lines, heads)
        return [heads[at] for at in sorted(heads)]

    def _named(self, line: _Line) -> Part | None:
        for match in self.types.finditer(line.text):
            if not _LEAD.fullmatch(line.text, 0, match.start()):
                return None
            rest = line.text[match.end() :]
            other = re.match(r"\s*[,/]\s*", rest)
            if _JOINED.match(rest) or (other and self.types.match(rest, other.end())):
                return None
            if _TITLED.match(rest) and not re.match(rf"\s*{_N}", self.names.marked(rest)):
                return None
            kind = _SUFFIX.match(rest)
            body = match.end() + (kind.end() if kind else 0)
            return Part(_role_of(match), line.start, line.start + body, 0)
        return None

    def _counted(self, lines: Sequence[_Line], heads: dict[int, Part]) -> dict[int, Part]:
        """Items of the list in which the roles stand, by their numbers alone."""
        bare = {at: n for at, line in enumerate(lines) if (n := line.number) is not None}
        if not heads:
            outer = min((lines[at].indent for at in bare), default=0)
            own = [at for at in bare if lines[at].indent == outer]
            count = len(own) if self.reply.finish == "length" else len(self.roles)
            if [bare[at] for at in own] != list(range(1, count + 1)) or count > len(self.roles):
                return {}
            return {at: self._item(lines[at], bare[at] - 1) for at in own}
        if any(at not in bare for at in heads):
            return {}
        indents = {lines[at].indent for at in heads}
        agree = all(head.role == bare[at] - 1 for at, head in heads.items())
        taken = {head.role for head in heads.values()}
        return {
            at: self._item(lines[at], role if agree and role not in taken else None)
            for at in bare
            if at not in heads and lines[at].indent in indents
            for role in [self._at(bare[at])]
        }

    def _item(self, line: _Line, role: int | None) -> Part:
        bare = _BARE.match(line.text)
        return Part(role, line.start, line.start + (bare.end() if bare else 0), 0)

    def _strangers(self, lines: Sequence[_Line], named: dict[int, Part]) -> dict[int, Part]:
        """Lines in which someone who was not asked votes as those do who were."""
        voting = re.compile(rf"[^\w\n]*(?:\d+\W+)?(?P<who>[^\n:|–—]{{1,60}})[:|–—]\W*{_N}")
        marked = {at: voting.match(self.names.marked(line.text)) for at, line in enumerate(lines)}
        if not any(marked[at] for at in named):
            return {}
        return {
            at: Part(None, lines[at].start, lines[at].start, 0)
            for at, found in marked.items()
            if found and at not in named and not re.search(rf"{_FIELD}|{_N}", found["who"])
        }

    # what a part says

    def vote(self, part: Part) -> Vote | Failed:
        text = self.reply.text[part.body : part.end]
        body, shown = self.names.marked(text), quoted(text.strip(" \t\n:*|–—-"))
        is_cut = self.reply.finish == "length" and part.end == len(self.reply.text)
        said = set(self._choices(body, part.role, is_cut))
        if None in said or (not said and _WEAK_TIE.search(body)):
            return Failed(f"undecided: {shown}")
        if len(said) > 1:
            return Failed(f"more than one choice in {shown}")
        if not said:
            return Failed(
                f"no choice before the cut in {shown}" if is_cut else f"no choice in {shown}"
            )
        [choice] = said
        sure = confidence(self.reply.tokens, part.start, part.end)
        reason = _reason(self.reply.text[part.start : part.end], text)
        return Vote(choice or 0, reason, sure, (part.start, part.end))

    def _choices(self, body: str, role: int | None, is_cut: bool) -> Iterator[Literal[0, 1] | None]:
        """Each choice that is said; None for a tie."""
        bare = self.names.bare
        for pattern in (*_PLAIN, _labelled(bare), *_TURNED):
            for m in pattern.finditer(body):
                if _is_said(body, m) and self._is_own(body, m, role) and not _lost(m, is_cut):
                    place = self.names.place(m["n"])
                    yield _turned(place) if pattern in _TURNED else place
        lead = _LEADING.match(body) or re.match(_BARE_LEADING.format(bare), body)
        if lead and not _lost(lead, is_cut) and not _is_analysis(body, lead["n"]):
            yield self.names.place(lead["n"])
        if _STRONG_TIE.search(body) or _LEADING_TIE.match(body):
            yield None

    def _is_own(self, body: str, found: re.Match[str], role: int | None) -> bool:
        """Whether nobody else is whom the sentence speaks of."""
        start = max(body.rfind(sign, 0, found.start()) for sign in ".!?\n") + 1
        before = [_role_of(m) for m in self.types.finditer(body, start, found.start())]
        after = re.match(r"\s*by\s+(?:(?:a|an|the)\s+)?", body[found.end() :])
        by = self.types.match(body, found.end() + after.end()) if after else None
        return (not before or before[-1] == role) and (not by or _role_of(by) == role)


def _turned(place: Literal[0, 1]) -> Literal[0, 1]:
    return 0 if place else 1


_NOT_BOTH = rf"(?!\s*(?:/|&|,?\s*(?:and|or|nor|vs\.?|versus)\b)\s*(?:{_N}|\d\b))(?!['’]s\b)"
_NOT_IF = r"(?!\s*,?\s*(?:(?:only\s+)?if|unless|were|had|less|least)\b)"
_NAME = rf"(?P<n>{_N}){_NOT_BOTH}{_NOT_IF}"
_OPENS = r"(?:(?:^|(?<=[\n.;|{(,/]))[^\w\n]{0,8}|\b(?:the|my|our|its|their|overall)\s+)"
_LABEL = (
    r"(?:\b(?:choices?|votes?|voted|verdict|decision|preference|prefers|selection|pick|answer|winner"
    r"|favou?rite|judge?ment|conclusion)"
    rf"|{_OPENS}(?:preferred|selected|winning|chosen|better|best|favou?red))"
    r"(?:\s+(?:summary|text|version|option|one|candidate|response|story|choice|vote|is|of\s+the\s+two"
    r"|for\s+(?:me|this\s+role|them)))*"
)
_IS = (
    r"(?:\s*(?:\([^()]*\))?\s*[:=–—|>-]+\W*?|\s+(?:is|are|goes\s+to|would\s+be|would\s+go\s+to"
    r"|will\s+be|for|remains)\s+(?:for\s+|given\s+to\s+|to\s+)?)"
)
_FIELD = (
    rf"{_LABEL}|\b(?:reason|explanation|why|because|rationale|justification|analysis|comments?"
    r"|overall|choose|chose|prefer|vote|pick|select|favou?r)"
)
_SUBJECT = rf"(?<!and )(?<!or )(?<!nor )(?<!& )(?<!/)(?P<n>{_N})"
_FOLLOWS = (
    rf"(?=\s*(?:\Z|[.,;:!)|\n–—}}]|because\b|since\b|as\s+(?:it|they|this)\b|due\b"
    r"|for\s+(?:me|us|them|him|her|some|others?|this\s+(?:role|reader)|these\s+readers)\b"
    rf"|overall\b|and\b|but\b|by\b|here\b|of\s+the\s+two\b|(?:over|to|than)\s+{_N}"
    r"(?!\s+(?:in|at|on|with|when|regarding)\b)))(?!\s*,?\s*(?:in\s+terms|with\s+regard|if)\b)"
)
_HOW = (
    r"(?:\s+(?:clearly|slightly|much|far|overall|generally|therefore|thus|definitely|still|also"
    r"|probably|simply|by\s+far|a\s+bit|somewhat|marginally|significantly|ultimately|likely|the|a"
    r"|to\s+be|considered|judged))*"
)
_BE = r"\s+(?:is|was|seems|appears|looks|feels|would\s+be|will\s+be)"
_THING = (
    r"(?:\s+(?:summary|text|version|option|one|candidate|response|story|choice|overall|suited))*"
)
_VERB = re.compile(
    r"\b(?:prefer(?:s|red)?|choos(?:e|es)|chose|picks?|picked|select(?:s|ed)?|favou?r(?:s|ed)?"
    r"|(?:vot(?:e|es|ed|ing)|opt(?:s|ed)?|go(?:es)?|went|root(?:s)?)(?:\s+(?:for|with|in\s+favou?r\s+of))?"
    r"|leans?\s+towards?|sides?\s+with|in\s+favou?r\s+of)"
    rf"\s+(?:to\s+(?:read|see|have)\s+)?(?:the\s+)?{_NAME}"
)
_FINDS = re.compile(
    rf"\b(?:finds?|considers?|rates?|deems?|likes?|ranks?|judges?)\s+(?P<n>{_N})"
    rf"\s+(?:to\s+be\s+|as\s+)?(?:the\s+)?(?:better|superior|preferable|best){_THING}{_FOLLOWS}"
)
_BETTER = re.compile(
    rf"{_SUBJECT}{_BE}{_HOW}\s+(?:better|superior|preferable|preferred|stronger|best|winner"
    rf"|favou?red|favou?rite|chosen){_THING}{_FOLLOWS}"
)
_WORSE = re.compile(rf"{_SUBJECT}{_BE}{_HOW}\s+(?:worse|inferior|weaker|worst){_THING}{_FOLLOWS}")
_NOT_AS_GOOD = re.compile(
    rf"{_SUBJECT}\s+(?:(?:is|was)(?:\s+not|n['’]t)\s+(?:quite\s+|nearly\s+)?(?:as|so)\s+good\s+as"
    rf"|is\s+less\s+good\s+than)\s+{_N}(?!\s+(?:in|at|on|with)\b)"
)
_CHOICE = re.compile(
    rf"{_SUBJECT}(?:\s+wins\b(?!\s+(?:on|in))|\s+(?:has|gets|receives|earns)\s+(?:my|the|their|our)"
    rf"\s+(?:\w+\s+)?vote\b|{_BE}\s+(?:my|our|their|the)\s+(?:(?:clear|preferred|better)\s+)?"
    r"(?:choice|pick|vote|preference|winner|selection)\b)"
)
_PLAIN = (_VERB, _FINDS, _BETTER, _CHOICE)
_TURNED = (_WORSE, _NOT_AS_GOOD)
"""What names the text that was not chosen."""
_LEADING = re.compile(
    rf"\W*(?P<n>{_N}){_NOT_BOTH}(?:\s*(?:\Z|\n|[.;:|!)}}\]>–—-])"
    r"|\s*\([^()]*\)\s*(?:\Z|[.:;|\n–—-])|\s*\(?\s*,?\s*(?:because|since|due\s+to)\b"
    rf"|\s*,?\s*as\s+(?:it|they|this)\b(?!\s+stands)|\s+for\s+(?:its|being)\b|\s*,\s*(?:it\b|\Z|\n)|\s+over\s+{_N})"
)
_BARE_LEADING = r"[^\w\n]*(?P<n>{})(?!\w)[^\w\n.)]*(?:\n|\Z|\||(?:because|since)\b)"
_DENIED = re.compile(
    r"\b(?:not|never|no|hardly|neither|nor|without|unlikely|doubt|if|whether|unless|why|who|than"
    r"|initially|at\s+first|some|others?|someone|few|fewer|less|instead\s+of|cannot)\b|n['’]t\b"
)
_CLAUSE = re.compile(
    r"[.!?;:,\n()|–—]|\b(?:and|but|while|whereas|so|although|though|however|because|since|yet)\b"
)
_TIE = r"(?:a\s+tie|tied?|draw|neither|none|both|either|equal|undecided|no\s+(?:preference|choice))"
_LEADING_TIE = re.compile(
    rf"\W*(?:it\s+is\s+|it['’]s\s+)?{_TIE}\s*(?:\Z|[.;|,(\n–—-]|because|since)"
)
_STRONG_TIE = re.compile(
    rf"{_LABEL}\s*[:=|]\W*{_TIE}\b|\b(?:no\s+(?:clear\s+|strong\s+|real\s+)?preference|undecided"
    r"|(?:cannot|can['’]t|could\s+not)\s+(?:choose|decide)|indifferent|(?:is|be|['’]s)\s+a\s+(?:tie|draw))\b"
)
_WEAK_TIE = re.compile(
    rf"\b(?:equally|equal|neither|tied|no\s+(?:clear\s+)?(?:winner|difference)|same\s+quality"
    rf"|as\s+good\s+as\s+(?:each\s+other|one\s+another)|{_N}\s+is\s+(?:just\s+)?as\s+good\s+as\s+{_N})\b"
)


_ENDS = r"(?=\s*(?:\Z|[\n,;|}\].)(:!>/–—-]|(?:because|since|as|for|over|due|with|by|in|and)\b))"


def _labelled(bare: str) -> re.Pattern[str]:
    """`Choice: Summary 1`, `my vote goes to Summary 1`, `Choice: 1`."""
    return re.compile(
        rf"{_LABEL}{_IS}(?P<n>{_N}{_ENDS}|(?<=[:=|\s])(?:{bare})"
        rf"(?=\s*(?:\Z|[\n,;|}}\].)]|because))){_NOT_BOTH}{_NOT_IF}",
        re.MULTILINE,
    )


def _is_said(body: str, found: re.Match[str]) -> bool:
    """Not denied, not a question, not only supposed."""
    clause = [m.end() for m in _CLAUSE.finditer(body, 0, found.start())]
    end = re.compile(r"[.!?\n]").search(body, found.end())
    return not _DENIED.search(body[clause[-1] if clause else 0 : found.start()]) and not (
        end and end[0] == "?"
    )


def _lost(found: re.Match[str], is_cut: bool) -> bool:
    return is_cut and not re.search(r"[\w\n]", found.string[found.end("n") :])


def _is_analysis(body: str, name: str) -> bool:
    """`Summary 1: too long. Summary 2: clear.` goes through both and chooses none."""
    other = _TWO if name == _ONE else _ONE
    return re.search(rf"(?:^|[.;\n])[^\w\n]*{other}\s*(?:[:.–—-]|\n)", body) is not None


_REASON = re.compile(
    r"\b(?:reason(?:ing|s)?|explanation|rationale|justification|why)\W*?:\W*(?P<why>.*?)"
    rf"(?=\n\W*(?:{_LABEL})\W*?[:=]|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def _reason(part: str, body: str) -> str:
    """In one line: what is called the reason, else all that the role said."""
    try:
        told = json.loads(part[: part.rfind("}") + 1])
        texts = {key.lower(): value for key, value in told.items() if isinstance(value, str)}
        return one_line(next(texts[key] for key in texts if key.startswith(("reason", "expl"))))
    except (ValueError, AttributeError, StopIteration):
        found = _REASON.search(body)
        said = found["why"] if found else body
        return one_line(said).strip(' :–—-=,"“”{}[]\\')
