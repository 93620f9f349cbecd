"""Options as paths of token ids: what to ask so that each option's probability is exact.

`Better` / `Worse` / `Similar` are often a token each; `very good` / `very bad` share a first one,
and `Good` begins `Good enough`. The options' spellings are compiled once, for one tokenizer and
one template tail, into a trie; each inner node of it is one engine request, asked from the root
down as far as it can change an option by more than a hundred-thousandth. Only canonical
tokenisations of a spelling are counted: the model could also spell `Better` letter by letter, and
that (tiny) probability is not in the mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log

from evaljudge.engines.template import Template
from evaljudge.engines.tokens import Ids, Tokeniser
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, add_in_logs

NEGLIGIBLE = log(1e-5)
"""A spelling that could add less than this share to an option's probability is not asked for."""
MOST_IDS = 128
"""The most ids of one request (vLLM's MAX_LOGPROB_TOKEN_IDS)."""


@dataclass(frozen=True, slots=True)
class Node:
    """After this path, the log-probabilities of these ids are needed."""

    path: Ids
    ids: Ids


Found = Mapping[Ids, Mapping[int, float]]
"""What each node asked so far gave: the log-probability of each of its ids."""
Spelling = tuple[tuple[Ids, Ids], ...]
"""The nodes along a spelling and, at each, the ids that count as its next step."""


@dataclass(frozen=True)
class CompiledOptions:
    """The compiled options: nodes to ask, and how their answers add up."""

    nodes: tuple[Node, ...]
    paths: Mapping[str, tuple[Ids, ...]]
    ended: frozenset[Ids]
    ends: frozenset[int]

    @cached_property
    def first(self) -> Node:
        """The node that is always asked: what comes right after the prompt."""
        return next(node for node in self.nodes if not node.path)

    @cached_property
    def deepest(self) -> int:
        return max(len(node.path) for node in self.nodes)

    def wanted(self, found: Found) -> list[Node]:
        """The nodes to ask next: those whose path is known, and can still change an option."""
        known = self.logprobs(found)
        return [n for n in self.nodes if n.path not in found and self._matters(n, found, known)]

    def logprobs(self, found: Found) -> dict[str, float]:
        """Each option's log-probability, by the nodes found."""
        if not found:
            return dict.fromkeys(self.paths, -inf)
        row = found[()]
        return {
            name: add_in_logs(
                [*(row[token] for token in tokens), *(_along(steps, found) for steps in longer)]
            )
            for name, (tokens, longer) in self._steps.items()
        }

    @cached_property
    def _steps(self) -> dict[str, tuple[Ids, list[Spelling]]]:
        """Of each option, the spellings of one token, and the steps of the others."""
        spelt = {name: [self._spelt(path) for path in mine] for name, mine in self.paths.items()}
        return {
            name: (
                tuple(steps[0][1][0] for steps in spellings if len(steps) == 1),
                [steps for steps in spellings if len(steps) > 1],
            )
            for name, spellings in spelt.items()
        }

    def _spelt(self, path: Ids) -> Spelling:
        steps: list[tuple[Ids, Ids]]
        steps = [(path[:depth], (token,)) for depth, token in enumerate(path)]
        if path in self.ended:
            steps.append((path, tuple(self.ends)))
        return tuple(steps)

    def _matters(self, node: Node, found: Found, known: Mapping[str, float]) -> bool:
        most = _along(tuple((node.path[:d], (t,)) for d, t in enumerate(node.path)), found)
        below = (
            name
            for name, paths in self.paths.items()
            if any(path[: len(node.path)] == node.path for path in paths)
        )
        return any(most > known[name] + NEGLIGIBLE for name in below)


def _along(steps: Spelling, found: Found) -> float:
    """The log-probability of these steps; that of nothing where a node on the way was not asked."""
    value = 0.0
    for path, tokens in steps:
        row = found.get(path)
        if row is None:
            return -inf
        value += row[tokens[0]] if len(tokens) == 1 else add_in_logs(row[t] for t in tokens)
    return value


def compile_options(options: Options, tokeniser: Tokeniser, template: Template) -> CompiledOptions:
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
            f"options {_listed(options.names)}: {short!r} begins another option, and the model "
            "has no end-of-turn token that would tell them apart"
        )
    return CompiledOptions(
        _nodes(paths, ended, template.ends, options), paths, ended, template.ends
    )


def _paths(
    name: str, options: Options, tokeniser: Tokeniser, template: Template
) -> tuple[Ids, ...]:
    """The spellings' ids after the tail; of two where one begins the other, the shorter."""
    spelt = (template.spelt_after(form, tokeniser) for form in options.forms(name))
    found = {ids for ids in spelt if ids}
    kept = {ids for ids in found if not any(_begins(other, ids) for other in found)}
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
                    f"options {owner[path]!r} and {name!r} cannot be told apart: this model's "
                    "tokenizer reads them alike"
                )


def _nodes(
    paths: Mapping[str, tuple[Ids, ...]],
    ended: frozenset[Ids],
    ends: frozenset[int],
    options: Options,
) -> tuple[Node, ...]:
    wanted: dict[Ids, set[int]] = {}
    for path in (path for mine in paths.values() for path in mine):
        for depth, token in enumerate(path):
            wanted.setdefault(path[:depth], set()).add(token)
    for path in ended:
        wanted[path] |= ends
    if max(map(len, wanted.values())) > MOST_IDS:
        raise UserError(
            f"options {_listed(options.names)}: more than {MOST_IDS} tokens to tell apart at once"
        )
    return tuple(Node(path, tuple(sorted(ids))) for path, ids in sorted(wanted.items()))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:6]))
    return shown + (", …" if len(names) > 6 else "")
