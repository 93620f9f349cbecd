"""How messages give advice: with a configuration's keys, or with a command's options.

CONFIGURATION.columns({"human": "ratings.tone"})
->  "`corpus: {path: …, columns: {human: ratings.tone}}`"
OPTIONS.columns({"human": "ratings.tone"})  ->  "`--column human=ratings.tone`"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from evaljudge.errors import UserError


@dataclass(frozen=True, slots=True)
class Advice:
    columns: Callable[[Mapping[str, str]], str]
    """What to write so that each of these columns is read as one of our fields."""
    column: Callable[[str, str], str]
    """The name of one such pair, for a message that it is wrong."""
    skip: str
    """What to do so that bad rows are counted and left out."""


def _as_configuration(columns: Mapping[str, str]) -> str:
    pairs = ", ".join(f"{_yaml(theirs)}: {ours}" for theirs, ours in columns.items())
    return f"`corpus: {{path: …, columns: {{{pairs}}}}}`"


def _as_options(columns: Mapping[str, str]) -> str:
    pairs = (f"--column {quote(f'{theirs}={ours}')}" for theirs, ours in columns.items())
    return f"`{' '.join(pairs)}`"


def named_columns(pairs: Sequence[str] | None) -> dict[str, str]:
    """A command line's THEIRS=OURS, split at the last `=`, since THEIRS may contain one."""
    named = {}
    for pair in pairs or ():
        theirs, equals, ours = pair.rpartition("=")
        if not equals or not theirs:
            raise UserError(f"--column {pair}: write it as THEIRS=OURS")
        named[theirs] = ours
    return named


def _yaml(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][\w.-]*", name) else repr(name)


CONFIGURATION = Advice(
    _as_configuration, lambda theirs, ours: f"corpus.columns.{theirs}", "set `bad_rows: skip`"
)
OPTIONS = Advice(
    _as_options, lambda theirs, ours: f"--column {theirs}={ours}", "give `--skip-bad-rows`"
)
