"""`evaljudge agree`: scores from anywhere against the human ratings of a corpus.

{"doc_id": "d1", "system": "A", "scorer": "unieval", "axis": "coherence", "value": 0.91}
{"doc_id": "d1", "system": "A", "scorer": "unieval", "scores": {"coherence": 0.91}}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.corpora.generic import read_generic
from evaljudge.corpora.rows import BadRow, Row, json_or_text
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS, Score
from evaljudge.report import Findings, agreement_markdown, agreement_text
from evaljudge.scoring import Tables
from evaljudge.storage import Place

Given = dict[tuple[str, str], dict[tuple[str, str], float | None]]
"""By (scorer, axis): the value of each (doc_id, system)."""


def agree_with(cases: str, scores: str, out: str | None, as_json: bool) -> str:
    findings = agreement_of(cases, scores)
    rows = json.dumps([asdict(row) for row in findings.agreement], indent=1) + "\n"
    if out:
        place = Place(out)
        place.write("agreement.json", rows)
        place.write("agreement.md", agreement_markdown(findings))
    return rows if as_json else agreement_text(findings)


def agreement_of(cases: str, scores: str, seed: int = 0) -> Findings:
    given = read_given_scores(scores)
    if not given:
        raise UserError(f"{scores}: holds no score")
    tables, seen = Tables(given), 0
    with open_corpus(CorpusSource(cases)) as corpus:
        for case in corpus:
            doc_id, found = case.document.doc_id, {}
            for candidate in case.candidates:
                at = (doc_id, candidate.system)
                for (scorer, axis), values in given.items():
                    seen += at in values
                    reason = "" if at in values else "no score given"
                    key = (candidate.system, scorer, axis)
                    found[key] = Score(*at, scorer, axis, values.get(at), reason or "null")
            tables.add(case, found)
        strangers = sum(map(len, given.values())) - seen
        if not corpus.rated:
            raise UserError(f"{cases}: no candidate has human ratings to agree with")
        if not seen:
            raise UserError(f"{scores}: no score belongs to a candidate of {cases}")
        return _findings(cases, corpus.cases, tables, strangers, seed)


def _findings(cases: str, count: int, tables: Tables, strangers: int, seed: int) -> Findings:
    warning = f"{strangers} scores belong to no candidate of the corpus and were left out"
    return Findings(
        run="given scores",
        task="",
        corpus=cases,
        model="",
        writer="",
        cases=count,
        candidates=tables.candidates,
        rated=tables.rated,
        coverage=tables.coverage(),
        coverage_floor=0.0,
        agreement=tables.agreement(seed),
        systems=tables.systems(),
        selections=(),
        signatures={},
        tokens=(),
        warnings=[warning] if strangers else [],
    )


def read_given_scores(path: str) -> Given:
    """Either form, in JSONL, Parquet or CSV."""
    given: Given = {}
    for row in read_generic((path,)):
        if isinstance(row, BadRow):
            raise UserError(f"{row.place}: {row.problem}")
        at = (_text(row, "doc_id"), _text(row, "system"))
        for axis, value in _values(row):
            column = given.setdefault((_text(row, "scorer"), axis), {})
            if at in column:
                raise UserError(f"{row.place}: a second score of {at[1]!r} for {at[0]!r}")
            column[at] = value
    return given


def _values(row: Row) -> Iterator[tuple[str, float | None]]:
    scores = row.fields.get("scores")
    if isinstance(scores, str):
        scores = json_or_text(scores)
    if isinstance(scores, Mapping):
        for axis, value in scores.items():
            yield str(axis), _number(row, value)
    elif "value" in row.fields:
        yield str(row.fields.get("axis") or ANY_AXIS), _number(row, row.fields["value"])
    else:
        raise UserError(f"{row.place}: needs `value` with `axis`, or `scores` by axis")


def _number(row: Row, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UserError(f"{row.place}: {value!r} is not a number") from None
    return number if isfinite(number) else None


def _text(row: Row, name: str) -> str:
    value = row.fields.get(name)
    if value is None or value == "" or isinstance(value, bool | dict | list):
        raise UserError(f"{row.place}: needs `{name}`")
    return str(value)
