"""The findings of a run as JSON files, and back from them.

    report/findings.json    the run, its counts, coverage, selections and warnings
    report/agreement.json   and a file for each other statistic that there is

What the judges say of a run is in findings.json, but for the rows of their own files, which are not
read back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from types import MappingProxyType
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from evaljudge.analysis.findings import Findings
from evaljudge.errors import first_words
from evaljudge.storage import Place

FINDINGS, AGREEMENT = "findings", "agreement"
FILES: Mapping[str, str] = MappingProxyType({
    "significance": "standings",
    "systems": "rankings",
    "axes": "axes",
    "ceiling": "ceilings",
    "labels": "labels",
    "length": "lengths",
    "replacing": "replacing",
    "people_scale": "people_scale",
    "costs": "costs",
    "without_outliers": "without_outliers",
    "labelled": "labelled",
    "intervals": "intervals",
    "jury": "jury",
    "among_judges": "among_judges",
    "families": "families",
})  # fmt: skip
"""By file, the statistic that it holds, if there is any of it."""
ELSEWHERE = {AGREEMENT, *FILES.values()}
"""The fields that findings.json leaves out: they have files of their own."""


def write_findings(
    place: Place, findings: Findings, folder: str = "", others: Sequence[str] = ()
) -> None:
    """`others`: names of files that a judge may have written for an earlier report."""
    whole = {one.name: getattr(findings, one.name) for one in fields(findings)}
    files: dict[str, Sequence[Any]] = {
        **{name: whole[field] for name, field in FILES.items()},
        **dict.fromkeys(others, ()),
        **findings.judged.files,
    }
    place.write_json(f"{folder}agreement.json", [asdict(row) for row in findings.agreement])
    for name, rows in files.items():
        if rows:
            place.write_json(f"{folder}{name}.json", [asdict(row) for row in rows])
        else:
            place.remove(f"{folder}{name}.json")
    without: dict[str, Any] = dict.fromkeys(ELSEWHERE, ())
    judged = replace(findings.judged, files={})
    rest = asdict(replace(findings, judged=judged, **without))
    summary = {name: value for name, value in rest.items() if name not in ELSEWHERE}
    place.write_json(f"{folder}{FINDINGS}.json", summary)


def read_findings(read: Callable[[str], bytes | None]) -> Findings:
    """`read`: the content of `NAME.json`, or None. Raises a ValueError that names the file."""
    types = get_type_hints(Findings)
    found = dict(_typed(read(f"{FINDINGS}.json"), FINDINGS, types))
    for name, field in {AGREEMENT: AGREEMENT, **FILES}.items():
        content = read(f"{name}.json") or b"[]"
        found |= _typed(b'{"%s": %s}' % (field.encode(), content), name, types)
    return Findings(**found)


def _typed(content: bytes | None, name: str, types: Mapping[str, Any]) -> dict[str, Any]:
    try:
        given = json.loads(content or b"")
        return {key: TypeAdapter(types[key]).validate_python(given[key]) for key in given}
    except (ValueError, ValidationError, KeyError, TypeError) as error:
        raise ValueError(f"{name}.json: {first_words(error)}") from None
