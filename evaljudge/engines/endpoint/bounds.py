"""How well options' probabilities are known where a server shows only some tokens, or only answers.

    rows: [{"Better": -0.2, "W": -1.9, "Sim": -4.1, …}]         the top k where the answer begins
    ->  Better 0.82; of the rest, 0.15 ("W" may become Worse) and 0.03 (unseen) are left out

What is held by a spelling that is one token, or that lies on the way that was generated, is known.
A token that only begins a spelling may become that option or not; and a spelling that was not shown
may hold as much as the least that was. Both are left out: with e known, and L left out, an option's
share lies between e / (Σe + L) and (e + L) / (Σe + L), so it is known to within L / (Σe + L). As
elsewhere (labels.py), only whole spellings count, not a word spelt letter by letter.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import exp, fsum, inf, log, sqrt
from typing import NamedTuple

from evaljudge.engines.endpoint.texts import LIKE_SPECIAL
from evaljudge.model.asks import Chosen, Failed, Options, Spent

OVER_ONE = 1.01


class TopTokens(NamedTuple):
    """A place of a reply: the token that was generated there, and the probabilities shown."""

    token: str
    shown: Sequence[tuple[str, float]]
    """Each token shown, with its log-probability; two tokens may be spelt alike."""


@dataclass(frozen=True)
class Known:
    held: Mapping[str, float]  # what each option holds for certain
    left_out: float  # what any of the options may hold besides
    goes_on: bool = False
    """The most probable token only begins an answer: more of the reply would tell."""

    @property
    def within(self) -> float:
        whole = fsum(self.held.values()) + self.left_out
        return self.left_out / whole if whole else 0.0

    def chosen(self, key: object, spent: tuple[Spent, ...]) -> Chosen:
        """Options that were not seen have the middle of what they may hold, on average."""
        unseen = [name for name, p in self.held.items() if not p]
        share = self.left_out / 2 / max(1, len(unseen))
        values = {name: p or share for name, p in self.held.items()}
        logprobs = {name: log(p) if p else -inf for name, p in values.items()}
        return Chosen(logprobs, (), spent, key, self.left_out, self.within)


def read_shown(options: Options, rows: Sequence[TopTokens], top: int) -> Known | Failed:
    """`top`: how many tokens a row shows at least, where the server keeps to what it is asked."""
    spelt = {form: name for name in options.names for form in options.forms(name)}
    held, left_out, goes_on = dict.fromkeys(options.names, 0.0), 0.0, False
    path, before, ended = "", 1.0, ""
    if not rows:
        return Failed("the reply shows no log-probabilities")
    for number, row in enumerate(rows):
        p_of = [(text, exp(value)) for text, value in row.shown]
        total = fsum(p for _, p in p_of)
        if not 0 < total < OVER_ONE:
            return Failed("the model's probabilities of the answers are not numbers")
        on, following = path, 0.0
        for text, p in p_of:
            whole = on + text
            longer = text and any(f.startswith(whole) and f != whole for f in spelt)
            if ended and (not text or LIKE_SPECIAL.fullmatch(text)):
                held[ended] += before * p
            elif longer and text == row.token and path == on and number + 1 < len(rows):
                path, following = whole, following + p  # the next row tells
            elif longer:
                left_out += before * p
                goes_on = goes_on or (not number and p == max(p for _, p in p_of))
            elif whole in spelt:
                held[spelt[whole]] += before * p
        there = {on + text for text, _ in row.shown}
        hidden = sum(form.startswith(on) and form not in there for form in spelt)
        rest = max(0.0, 1 - total)
        if len(row.shown) >= top:  # else some may be missing that hold more than the least shown
            rest = min(rest, hidden * nlargest(top, (p for _, p in p_of))[-1])
        left_out += before * rest
        if not following:
            break
        before, ended = before * following, spelt.get(path, "")
    return Known(held, left_out, goes_on)


def read_samples(options: Options, replies: Sequence[str]) -> Known | Failed:
    """The answers counted, with half an answer more of each, so that a few equal answers are not
    certainty; `left_out` is such that `within` is the largest standard error."""
    spelt = {form: name for name in options.names for form in options.forms(name)}
    counts = Counter(name for reply in replies if (name := _begun_with(spelt, reply.strip())))
    n = counts.total()
    if not n:
        return Failed(f"none of {len(replies)} sampled answers is one of those offered")
    most = n + len(options.names) / 2
    shares = {name: (counts[name] + 0.5) / most for name in options.names}
    error, mass = max(sqrt(p * (1 - p) / n) for p in shares.values()), n / len(replies)
    held = {name: mass * p for name, p in shares.items()}
    return Known(held, mass * error / (1 - error))


def _begun_with(spelt: Mapping[str, str], reply: str) -> str:
    """The option with the longest spelling that the reply begins with, as a word of its own."""
    begun = (f for f in spelt if reply.startswith(f) and not reply[len(f) : len(f) + 1].isalnum())
    return spelt.get(max(begun, key=len, default=""), "")
