"""What a run found: `Findings` in; agreement.md, a terminal's text, one HTML page and JSON out.
Nothing here asks a model or computes a statistic, and a report of the same findings is the same to
the byte. Text of the corpus is shown as text, never as markup, a command or a table's border.

    report/findings.json    the run, its counts, coverage, selections and warnings
    report/agreement.json   and a file of this kind for each other analysis that has rows
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from evaljudge.analyses import analyses
from evaljudge.analysis.findings import Findings
from evaljudge.errors import first_words
from evaljudge.report.lines import agreement_markdown
from evaljudge.storage import Place

FINDINGS = "findings"


def write_report(
    place: Place, findings: Findings, folder: str = "", others: Sequence[str] = ()
) -> None:
    """`others`: names of files that a judge may have written for an earlier report."""
    files: dict[str, Sequence[Any]] = {
        **{name: findings[name] for name in analyses()},
        **dict.fromkeys(others, ()),
        **findings.judged.files,
    }
    always = {name for name, analysis in analyses().items() if analysis.is_always_written}
    there = place.names(folder.rstrip("/"))
    for name, rows in files.items():
        if rows or name in always:
            place.write_json(f"{folder}{name}.json", [asdict(row) for row in rows])
        elif f"{name}.json" in there:
            place.remove(f"{folder}{name}.json")
    facts = asdict(replace(findings, rows={}, judged=replace(findings.judged, files={})))
    facts.pop("rows")
    place.write_json(f"{folder}{FINDINGS}.json", facts)
    place.write(f"{folder}agreement.md", agreement_markdown(findings))


def read_findings(read: Callable[[str], bytes | None]) -> Findings:
    """`read`: the content of `NAME.json`, or None. Raises a ValueError that names the file."""
    types = get_type_hints(Findings)
    with _naming(FINDINGS):
        fields = json.loads(read(f"{FINDINGS}.json") or b"")
        facts = {key: TypeAdapter(types[key]).validate_python(fields[key]) for key in fields}
    rows = dict[str, Sequence[Any]]()
    for name, analysis in analyses().items():
        with _naming(name):
            fields = json.loads(read(f"{name}.json") or b"[]")
            rows[name] = TypeAdapter(list[analysis.row]).validate_python(fields)  # type: ignore[name-defined]
    return Findings(**facts, rows=rows)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, ValidationError, KeyError, TypeError) as error:
        raise ValueError(f"{name}.json: {first_words(error)}") from None
