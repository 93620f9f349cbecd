"""The probes as functions: `evaljudge.probe.position` and `evaljudge.probe.injection`.

The commands print what these give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaljudge.agreement import Preference
from evaljudge.config import Config, load_config
from evaljudge.engines import Engines
from evaljudge.probes import injection as injections
from evaljudge.probes import position as positions
from evaljudge.probes.results import ProbeResult
from evaljudge.runs.pipeline import Watcher
from evaljudge.settings import AnyPath, as_path


def position(votes: AnyPath, *, resamples: int = 1000, seed: int = 0) -> ProbeResult[Preference]:
    """Whether a judge of pairs prefers a place: how often the first wins, how often order flips."""
    path = as_path(votes, "votes")
    rows = positions.position(path, resamples=resamples, seed=seed)
    return positions.position_study(rows, path)


def injection(
    config: AnyPath | Mapping[str, Any] | Config, changes: Sequence[str] = (), *,
    documents: int = 50, resamples: int = 1000, seed: int = 0, out: AnyPath = "runs/injection",
    watcher: Watcher | None = None, engines: Engines | None = None,
) -> ProbeResult[injections.InjectionRow]:  # fmt: skip
    """How far instructions planted in candidates move the scores of a configuration's judges.

    `out`: where its run goes; it is resumed from there.
    """
    given = config.as_given() if isinstance(config, Config) else config
    found = injections.injection(
        load_config(given, changes), as_path(out, "out"), documents=documents,
        resamples=resamples, seed=seed, watcher=watcher, engines=engines,
    )  # fmt: skip
    return injections.injection_study(found)
