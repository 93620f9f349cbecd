"""Options as paths of token ids: what to ask so that each option's probability is known.

`Better` / `Worse` / `Similar` are often a token each; `very good` / `very bad` share a first one,
and `Good` begins `Good enough`. The options' spellings are compiled once, for one tokenizer and
one template tail, into a trie. The root is read first. A spelling that goes on is followed, by a
further request, only where all those that are not followed could together change a probability by
more than `exactness`. An option none of whose spellings was followed to its end has the most that
it could hold as its probability. Only canonical tokenisations of a spelling are counted: the model
could also spell `Better` letter by letter, and that (tiny) probability is not in the mass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import NamedTuple

from evaljudge.engines.template import Template
from evaljudge.engines.tokens import Ids, Texts
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, add_in_logs

MOST_IDS = 128  # the most ids of one request (vLLM's MAX_LOGPROB_TOKEN_IDS)


@dataclass(frozen=True, slots=True)
class Node:
    """One request: after the prompt and `path`, the log-probabilities of `ids` are read."""

    path: Ids
    ids: Ids


Found = Mapping[Ids, Mapping[int, float]]
"""What each node of the trie that was read gave: the log-probability of each of its ids."""


class Step(NamedTuple):
    """A way on from a node: to the end of an option's spelling, or to a further node."""

    tokens: Ids
    """One id, or all that end a reply, where only the end tells the option from a longer one."""
    option: str
    further: Node | None = None
    options: tuple[str, ...] = ()
    """The options with a spelling that goes through the further node."""


class Reading(NamedTuple):
    logprobs: dict[str, float]
    left_out: float  # the most probability that spellings which were not followed may hold
    further: Sequence[Node]  # what must be asked before `logprobs` are as exact as is wanted


@dataclass(frozen=True)
class CompiledOptions:
    names: tuple[str, ...]
    root: Node
    steps: Mapping[Ids, Sequence[Step]]  # the ways on from each node of the trie

    @cached_property
    def deepest(self) -> int:
        return max(map(len, self.steps))

    def read(self, found: Found, exactness: float) -> Reading:
        exact = {name: list[float]() for name in self.names}
        ahead: list[tuple[float, Step]] = []
        paths = [(self.root.path, 0.0)]
        for path, before in paths:
            row = found[path]
            for step in self.steps[path]:
                value = before + add_in_logs([row[token] for token in step.tokens])
                if step.further is None:
                    exact[step.option].append(value)
                elif step.further.path in found:
                    paths.append((step.further.path, value))
                else:
                    ahead.append((value, step))
        further = _beyond(ahead, exact, exactness)
        logprobs = {
            name: add_in_logs(values or [value for value, step in ahead if name in step.options])
            for name, values in exact.items()
        }
        left_out = sum(exp(value) * len(step.options) for value, step in ahead)
        return Reading(logprobs, left_out, further)


def _beyond(
    ahead: Sequence[tuple[float, Step]], exact: Mapping[str, Sequence[float]], exactness: float
) -> list[Node]:
    """All but the smallest, which together hold at most this share of all options' probability.

    If an option's probability lies anywhere between what is known of it and that with all ahead of
    it, its share of all options' lies within the share of all that is ahead (each counted for every
    option that it is ahead of). So nothing that is reported is off by more.
    """
    if not ahead:
        return []
    held = [(exp(value) * len(step.options), step) for value, step in ahead]
    read = sum(exp(value) for values in exact.values() for value in values)
    spare = exactness * (read + sum(most for most, _ in held))
    further = []
    for most, step in sorted(held, key=lambda pair: pair[0]):
        spare -= most
        if spare < 0 and step.further:
            further.append(step.further)
    return further


def compile_options(options: Options, tokeniser: Texts, template: Template) -> CompiledOptions:
    paths = {name: _paths(name, options, tokeniser, template) for name in options.names}
    _refuse_equal(paths)
    ended = frozenset(
        path
        for mine in paths.values()
        for path in mine
        if any(_begins(path, other) for theirs in paths.values() for other in theirs)
    )
    if ended and not template.ends:
        short = next(name for name, mine in paths.items() if ended.intersection(mine))
        raise UserError(
            f"options {', '.join(options.names)}: {short!r} begins another option, and the model "
            "has no end-of-turn token that would tell them apart"
        )
    return _compiled(paths, ended, template.ends)


def _paths(name: str, options: Options, tokeniser: Texts, template: Template) -> tuple[Ids, ...]:
    """The spellings' ids after the tail; of two where one begins the other, the shorter."""
    spelt = (template.spelt_after(form, tokeniser) for form in options.forms(name))
    spellings = {ids for ids in spelt if ids}
    kept = {ids for ids in spellings if not any(_begins(other, ids) for other in spellings)}
    if not kept:
        raise UserError(
            f"option {name!r}: after this model's prompt every spelling of it grows together with "
            "the prompt's last token; its probability cannot be read"
        )
    return tuple(sorted(kept))


def _begins(short: Ids, long: Ids) -> bool:
    return len(short) < len(long) and long[: len(short)] == short


def _refuse_equal(paths: Mapping[str, tuple[Ids, ...]]) -> None:
    owner: dict[Ids, str] = {}
    for name, mine in paths.items():
        for path in mine:
            if owner.setdefault(path, name) != name:
                raise UserError(
                    f"options {owner[path]!r} and {name!r} cannot be distinguished: this model's "
                    "tokenizer reads them alike"
                )


def _compiled(
    paths: Mapping[str, tuple[Ids, ...]], ended: frozenset[Ids], ends: frozenset[int]
) -> CompiledOptions:
    """`ended`: the paths that count only if the reply ends there, by one of `ends`."""
    ways: dict[Ids, dict[Ids, str]] = {}
    through: dict[Ids, dict[str, None]] = {}
    for name, path in ((name, path) for name, mine in paths.items() for path in mine):
        for depth, token in enumerate(path):
            ways.setdefault(path[:depth], {}).setdefault((token,), "")
            through.setdefault(path[:depth], {})[name] = None
        if path in ended:
            ways.setdefault(path, {})[tuple(sorted(ends))] = name
            through.setdefault(path, {})[name] = None
        else:
            ways[path[:-1]][path[-1:]] = name
    ids = {path: tuple(sorted({i for ids in own for i in ids})) for path, own in ways.items()}
    if max(map(len, ids.values())) > MOST_IDS:
        raise UserError(
            f"options {', '.join(paths)}: more than {MOST_IDS} tokens to tell apart at once"
        )

    def steps(path: Ids, own: Mapping[Ids, str]) -> list[Step]:
        further = (path + tokens for tokens in own if path + tokens in ways)
        return [
            *(Step(tokens, name) for tokens, name in own.items() if name),
            *(Step(to[-1:], "", Node(to, ids[to]), tuple(through[to])) for to in further),
        ]

    return CompiledOptions(
        tuple(paths), Node((), ids[()]), {path: steps(path, on) for path, on in ways.items()}
    )
