"""Which settings and versions are not the same in two runs.

    settings_differences(first, second)
    -> [{"key": "judges.direct.temperature", "first": 0.0, "second": 0.7},
        {"key": "rouge1.stem", "first": False, "second": True}]

Most are in the fingerprint, which binds a run; those of metrics are only in the signatures of their
scores, and which metrics there are in the configuration. A setting that one run does not have is
left out of its row.
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
    """What binds the runs, and the versions; the metrics that only one has; then what the
    signatures of scores alone say."""
    bound = list(_changed(_bound(first.about), _bound(second.about)))
    metrics = [run.about.get("config", {}).get("metrics", {}) for run in (first, second)]
    alone = metrics[0].keys() ^ metrics[1].keys()
    left, right = ({name: how[name] for name in how if name in alone} for how in metrics)
    seen, made = {_change(row) for row in bound}, list[Row](_changed(left, right, "metrics."))
    both = signatures(first), signatures(second)
    for scorer in sorted(both[0].keys() & both[1].keys()):
        lines = [by_scorer[scorer] for by_scorer in both]
        rows = list(_changed(_of_signature(lines[0]), _of_signature(lines[1])))
        if lines[0] != lines[1] and not rows and not bound:
            rows = [{"key": f"{scorer}.signature"} | dict(zip(SIDES, lines, strict=True))]
        made += [row for row in rows if _change(row) not in seen and row not in made]
    return [  # nothing secret is shown: a judge of one's own may have such a setting
        {"key": row["key"]}
        | {side: _harmless(row[side], row["key"]) for side in SIDES if side in row}
        for row in [*bound, *made]
    ]


def values_of(row: Row) -> list[str]:
    """In the first run and in the second, as JSON; of axes only whether they are there."""
    is_axis = row["key"].startswith("task.axes.") and len(row) == 2  # of the key and one side
    there = ("there" if is_axis else json.dumps(row.get(s), ensure_ascii=False) for s in SIDES)
    return [said if s in row else "absent" for s, said in zip(SIDES, there, strict=True)]


def _bound(about: Mapping[str, Any]) -> dict[str, Any]:
    bound = {key: value for key, value in about["fingerprint"].items() if key != "corpus"}
    versions = {name: v for name, v in about.get("versions", {}).items() if name != "engine"}
    return bound | {"versions": versions}


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


def _of_signature(line: str) -> dict[str, Any]:
    """`rouge1@2 | {"stem": true} | …` -> {"rouge1": {"version": "2", "stem": True}}"""
    name, _, rest = line.partition("@")
    version, _, rest = rest.partition(" | ")
    at = rest.find("{")
    settings = json.JSONDecoder().raw_decode(rest[at:])[0] if at >= 0 else {}
    return {name: {"version": version} | settings}


def _change(row: Row) -> str:
    """What a row says, whether the fingerprint says it or a signature, which has shorter keys."""
    *_, last = row["key"].split(".")
    return json.dumps([last, f"{row.get('first')}", f"{row.get('second')}"])


def _harmless(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return "(hidden)" if SECRET_NAME.search(key) else without_secrets(value)
    if isinstance(value, Mapping):
        return {name: _harmless(item, name) for name, item in value.items()}
    return [_harmless(item, key) for item in value] if isinstance(value, list) else value
