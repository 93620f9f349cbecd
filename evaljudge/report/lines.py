"""What the report says of a run: single lines, the same in every medium; and all of agreement.md.

rule(selected) ->  ["synthetic.ordinal on fluency: at least 3.5, in the top 10% (at least 4.2)"]
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from evaljudge.analyses import sections
from evaljudge.analyses.agreement import INTERVALS, levels, nothing
from evaljudge.analysis.findings import Coverage, Findings, Selected
from evaljudge.reasons import grouped
from evaljudge.records import ANY_AXIS
from evaljudge.sections import Cell, Named, Place, Placed, Section, Table, figures
from evaljudge.sections.figures import bracketed, correlation, count, percent, short
from evaljudge.text import LONG, columns, fitted, markdown

MOST_REASONS = 5


def reasons(coverage: Coverage) -> list[tuple[str, int]]:
    ranked = [(group.kind, group.times) for group in grouped(coverage.reasons)]
    others = sum(times for _, times in ranked[MOST_REASONS:])
    return ranked[:MOST_REASONS] + ([("other reasons", others)] if others else [])


def asked_line(findings: Findings) -> str:
    """`1,133 times; 88.0% of 1,232,692 prompt tokens came from the prefix cache`, and the cost of
    the workers' time where a price is given."""
    names = "asks", "prompt", "prefilled"
    asks, prompt, prefilled = (sum(row[name] for row in findings.tokens) for name in names)
    if not prompt:
        return "nothing"
    share = percent(1 - prefilled / prompt)
    cached = f"{share} of {count(prompt)} prompt tokens came from the prefix cache"
    line, price, costs = f"{count(asks)} times; {cached}", findings.price, findings["costs"]
    if not price or not costs:
        return line
    of_time = "the time of workers that finished a shard cost"
    what = "which cost" if price.per_million else of_time
    return f"{line}; {what} {price.money(sum(map(price.of_row, costs)))}"


def floor_line(findings: Findings) -> str:
    if findings.coverage and not findings.expected:
        return "nothing to score: no text has anything to be compared with but itself"
    share = f"{percent(findings.share, findings.coverage_floor)} scored"
    if not findings.coverage_floor:
        return share
    standing = "reaches" if findings.floor_passed else "is under"
    if not findings.floor_passed and findings.share >= findings.coverage_floor:
        least = min(findings.coverage, key=lambda row: row.share)
        its = percent(least.share, findings.coverage_floor)
        share += f", but {on_axis(least.scorer, least.axis)} {its}"
    return f"{share}: {standing} the floor of {short(findings.coverage_floor * 100)}%"


def facts(findings: Findings) -> dict[str, str]:
    facts = {
        "Time": findings.when,
        "Task": findings.task,
        "Corpus": findings.corpus,
        "Judge model": findings.model,
        "Writer model": findings.writer,
        "Documents": count(findings.cases),
        "Texts": f"{count(findings.candidates)} ({count(findings.rated)} rated by "
        f"{findings.rated_by})",
    }
    return {name: value for name, value in facts.items() if value}


def on_axis(scorer: str, axis: str) -> str:
    return scorer if axis == ANY_AXIS else f"{scorer} on {axis}"


def rule(selected: Selected) -> list[str]:
    return [_condition(condition, selected.thresholds) for condition in selected.rule["all"]]


def certified_together(selections: Sequence[Selected]) -> str:
    asked = {
        tuple(threshold[key] for key in ("scorer", "axis", "precision", "good", "confidence"))
        for selection in selections
        for threshold in selection.thresholds
        if threshold.get("kind") == "certified"
    }
    return at_once([confidence for *_, confidence in asked])


def at_once(confidences: Sequence[float]) -> str:
    """What several thresholds promise together (Bonferroni's correction); empty for one."""
    number = len(confidences)
    if number < 2:
        return ""
    divided = 1 - (1 - min(confidences)) / number
    upwards = ceil(divided * 10**6 - 1e-3) / 10**6
    return (
        f"The confidence is that of each of the {count(number)} thresholds by itself. For all "
        f"{count(number)} at once, ask for confidence {short(upwards)}."
    )


def _condition(condition: Mapping[str, Any], thresholds: Sequence[Mapping[str, Any]]) -> str:
    ends = {"at_least": "at least", "at_most": "at most"}
    asked = [f"{ends[key]} {short(condition[key])}" for key in ends if key in condition]
    if "top_fraction" in condition:
        least = _threshold(condition, thresholds, "top_fraction").get("value")
        reached = "" if least is None else f" (at least {short(least)})"
        asked.append(f"in the top {short(condition['top_fraction'] * 100)}%{reached}")
    if "precision" in condition:
        target = f"{short(condition['precision'])} of ratings ≥ {short(condition['good'])}"
        row = _threshold(condition, thresholds, "precision", "good", "confidence")
        reached = _certified(row) if "confidence" in condition else _reached(row)
        asked.append(f"precision {target} ({reached})")
    return f"{on_axis(condition['scorer'], condition['axis'])}: {', '.join(asked)}"


def _certified(row: Mapping[str, Any]) -> str:
    if row.get("documents") is None:
        return "too few ratings to certify a threshold"
    documents = f"{count(row['documents'])} documents"
    sure = f"with {short(row['confidence'] * 100)}% confidence on {documents}"
    if row["value"] is None:
        needed = f"; about {count(row['needed'])} would do" if row["needed"] else ""
        return f"nothing is certified {sure}{needed}"
    shares = (f"{name} {correlation(row['estimated'][name])}" for name in ("precision", "recall"))
    return (
        f"at least {short(row['value'])}: certified {sure}; estimates: {', '.join(shares)}; "
        f"{percent(row['coverage'])} of all texts"
    )


def _reached(row: Mapping[str, Any]) -> str:
    if row.get("cross_fitted") is None:
        return "too few ratings to find a threshold"
    if row["value"] is None:
        return f"no threshold reaches it; the best is {correlation(row['best'])}"
    share = row["cross_fitted"]["precision"]
    tried = bracketed(share["value"], share["low"], share["high"])
    return f"at least {short(row['value'])}: an estimate; cross-fitted {tried}"


def _threshold(
    condition: Mapping[str, Any], thresholds: Sequence[Mapping[str, Any]], *asked: str
) -> Mapping[str, Any]:
    """What was found for the condition by these of its keys; empty where that is unknown."""
    keys = ("scorer", "axis", *asked)
    same = (t for t in thresholds if all(t.get(key) == condition.get(key) for key in keys))
    return next(same, {})


# Markdown has no underlining; GitHub lets through `ins`, which it underlines, but not `u`.
_PLACES: dict[Place, tuple[str, str]] = {"best": ("**", "**"), "second": ("<ins>", "</ins>")}


def agreement_markdown(findings: Findings) -> str:
    blocks = [
        f"# Agreement with human ratings: {markdown(findings.run)}",
        "\n".join(f"- {name}: {markdown(value)}" for name, value in facts(findings).items()),
        "## Coverage",
        f"**{floor_line(findings)}.**",
        *([table_markdown(coverage(findings))] if findings.coverage else []),
    ]
    if findings.warnings:
        listed = (f"- {markdown(warning, LONG)}" for warning in findings.warnings)
        blocks += ["## Warnings", "\n".join(listed)]
    blocks += _agreement(findings)
    blocks += (block for section in sections(findings) for block in section_blocks(section))
    if findings.signatures:
        made = findings.signatures.items()
        listed = (f"- {markdown(scorer)}: {markdown(line, LONG)}" for scorer, line in made)
        blocks += ["## How the numbers were made", "\n".join(listed)]
    return "\n\n".join(blocks) + "\n"


def coverage(findings: Findings) -> Table:
    names = ("scorer", "axis", "scored", "unscored")
    columns: figures.Columns = {name: name for name in names} | {
        "share": lambda row: figures.ratio(row.scored, row.expected),
        "reasons": lambda row: [Named(f"{why} × {count(n)}") for why, n in reasons(row)] or "",
    }
    table = figures.tabled("Scored texts", findings.coverage, 2, columns)
    return replace(table, sides="llrrrl")


def _agreement(findings: Findings) -> Iterator[str]:
    shown = levels(findings)
    if not shown:
        yield "## Agreement"
        yield nothing(findings)
        return
    for level in shown:
        yield f"## {level.title}"
        yield table_markdown(level.table())
        yield from level.notes
    yield "## What the levels mean"
    for level in shown:
        yield f"**{level.title}.** {level.meaning[0]}\n{level.meaning[1]}"
    yield INTERVALS


def section_blocks(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    yield from section.about
    for table in section.tables:
        yield f"### {markdown(table.title)}"
        yield table_markdown(table)
    yield from section.notes


def table_markdown(table: Table) -> str:
    rows = [list(map(_shown, row, table.sides)) for row in table.rows]
    return _table(list(map(markdown, table.heads)), rows, table.sides)


def _shown(cell: Cell, side: str) -> str:
    """Words made harmless; our own figures as they are, the best bold, the second underlined."""
    if isinstance(cell, Placed):
        opening, closing = _PLACES[cell.place]
        return f"{opening}{cell.figure}{closing}{cell.beside}"
    if isinstance(cell, str):
        return markdown(cell) if side == "l" else cell
    return "; ".join(named.shown(markdown(named.name)) for named in cell)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Cells are padded, so that the table reads as well without being rendered."""
    table = [heads, *rows]
    widths = [max(3, *map(columns, column)) for column in zip(*table, strict=True)]
    rule = ["-" * (w - 1) + (":" if s == "r" else "-") for w, s in zip(widths, sides, strict=True)]
    lines = [[_cell(*cell) for cell in zip(row, widths, sides, strict=True)] for row in table]
    lines.insert(1, rule)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str, width: int, side: str) -> str:
    return " " * (width - columns(text)) + text if side == "r" else fitted(text, width)
