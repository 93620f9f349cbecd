"""A corpus named by the options of a command."""

from __future__ import annotations

from collections.abc import Sequence

from evaljudge.corpora import CorpusSource
from evaljudge.corpora.advice import OPTIONS, Advice
from evaljudge.errors import UserError


def source_by_options(
    cases: str,
    form: str,
    sources: str | None,
    column: Sequence[str] | None,
    advice: Advice = OPTIONS,
) -> CorpusSource:
    return CorpusSource(cases, form, sources, named_columns(column), advice)


def named_columns(pairs: Sequence[str] | None) -> dict[str, str]:
    """Of a command line's THEIRS=OURS: by the last `=`, since a name of theirs may hold any."""
    named = {}
    for pair in pairs or ():
        theirs, equals, ours = pair.rpartition("=")
        if not equals or not theirs:
            raise UserError(f"--column {pair}: write it as THEIRS=OURS")
        named[theirs] = ours
    return named
