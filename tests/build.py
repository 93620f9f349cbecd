"""What many tests make: cases, files of rows, and what `calibrate` writes and prints."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evaljudge.commands.calibrate import CalibratedScores, CalibrateOptions, calibrated
from evaljudge.records import Candidate, Case, Document


def case(*texts: str, source: str = "source", references: tuple[str, ...] = ()) -> Case:
    """One document, and a candidate of a system of its own for each text: s0, s1, …"""
    candidates = (Candidate(f"s{number}", text) for number, text in enumerate(texts))
    return Case(Document("d", source, references), tuple(candidates))


def jsonl(file: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write the rows, a line each, and return the file's name."""
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def calibrate_with(wanted: CalibrateOptions, out: str | None, as_json: bool) -> str:
    made = CalibratedScores(calibrated(wanted))
    if out:
        made.write(out)
    return made.json if as_json else made.text
