"""Which settings and versions are not the same in two runs.

    settings_differences(first, second)
    -> [{"key": "judges.direct.temperature", "first": 0.0, "second": 0.7},
        {"key": "metrics.rouge1.stem", "first": False, "second": True}]

Most are in the fingerprint, which binds a run; those of metrics are in the configuration, and their
versions in the signatures of their scores. A setting that one run does not have is left out of its
row.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evaljudge.analysis.run_scores import ScoredRun, signatures
from evaljudge.engines.trust import SECRET_NAME
from evaljudge.text import without_secrets

Row = Mapping[str, Any]
SIDES = ("first", "second")


def settings_differences(first: ScoredRun, second: ScoredRun) -> list[Row]:
    """What binds the runs, and their metrics; where all of it is the same, the signatures of scores
    that are not."""
    rows = list(_changed(_bound(first), _bound(second)))
    if not rows:
        left, right = (
            {f"{name}.signature": line for name, line in signatures(run).items()}
            for run in (first, second)
        )
        rows = [row for row in _changed(left, right) if len(row) == 3]  # of scorers that both have
    return [  # nothing secret is shown: a judge of one's own may have such a setting
        {"key": row["key"]}
        | {side: _harmless(row[side], row["key"]) for side in SIDES if side in row}
        for row in rows
    ]


def values_of(row: Row) -> list[str]:
    """In the first run and in the second, as JSON; of axes only whether they are there."""
    is_axis = row["key"].startswith("task.axes.") and len(row) == 2  # of the key and one side
    there = ("there" if is_axis else json.dumps(row.get(s), ensure_ascii=False) for s in SIDES)
    return [said if s in row else "absent" for s, said in zip(SIDES, there, strict=True)]


def _bound(run: ScoredRun) -> dict[str, Any]:
    about, lines = run.about, signatures(run)
    bound = {key: value for key, value in about["fingerprint"].items() if key != "corpus"}
    versions = {name: v for name, v in about.get("versions", {}).items() if name != "engine"}
    metrics = dict[str, Any]()
    for name, how in about.get("config", {}).get("metrics", {}).items():
        version, _, rest = lines.get(name, "").partition(" | ")
        facts = json.loads(rest.rpartition(" | ")[0] or "{}")  # of its model and libraries, too
        facts = {key: fact for key, fact in facts.items() if key not in ("corpus", "seed")}
        metrics[name] = how | facts | {"version": version}
    return bound | {"versions": versions, "metrics": metrics}


def _changed(first: Row, second: Row, path: str = "") -> Iterator[dict[str, Any]]:
    """What only one has is a single row, such as a judge with all of its settings."""
    for key in sorted(first.keys() | second.keys()):
        there = {
            side: run[key] for side, run in zip(SIDES, (first, second), strict=True) if key in run
        }
        left, right = (there.get(side) for side in SIDES)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            yield from _changed(left, right, f"{path}{key}.")
        elif len(there) == 1 or left != right:
            yield {"key": f"{path}{key}"} | there


def _harmless(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return "(hidden)" if SECRET_NAME.search(key) else without_secrets(value)
    if isinstance(value, Mapping):
        return {name: _harmless(item, name) for name, item in value.items()}
    return [_harmless(item, key) for item in value] if isinstance(value, list) else value
