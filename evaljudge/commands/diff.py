"""`evaljudge diff A B`: what changed from one run to another, and whether a scorer's mean fell.

compare_runs(DiffOptions("runs/first", "runs/second", fail_if_lower="synthetic.relevance"))
-> Diffed(differences=RunDifferences(…), looked=[Looked(…)])
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

from evaljudge.agreement import LEVELS
from evaljudge.agreement.significance import holm
from evaljudge.analysis.run_differences import (
    CorpusChange,
    MeanChange,
    RunDifferences,
    run_differences,
)
from evaljudge.analysis.run_scores import scale_name, scored_run
from evaljudge.analysis.settings_differences import SIDES, values_of
from evaljudge.commands.options import DiffOptions, Shown
from evaljudge.decisions.differences import AgreementDifference, p_lower
from evaljudge.errors import UserError, unknown
from evaljudge.report.lines import on_axis, table_markdown
from evaljudge.report.screen import on_screen
from evaljudge.sections import Table
from evaljudge.sections.figures import (
    FEWEST,
    NONE,
    correlation,
    count,
    estimate,
    measured,
    only,
    percent,
    probability,
    short,
)
from evaljudge.settings import as_path
from evaljudge.text import LONG, listed, markdown, one_line

LOWER = 4  # the exit code where a mean that `--fail-if-lower` looks at is lower
ALPHA = 0.05
MOST_ROWS, MOST_FLIPS = 16, 2
OF_TEXTS = ("scores", "agreement", "selections")  # compared on the texts of both runs


@dataclass(frozen=True)
class Looked:
    scale: str
    difference: float
    p: float
    p_holm: float
    failed: bool

    def __str__(self) -> str:
        which = "lower" if self.difference < 0 else "higher"
        change = f"{correlation(abs(self.difference))} {which}"
        return f"{self.scale}: {change}, p {probability(self.p_holm)}"


@dataclass(frozen=True, repr=False)
class Diffed(Shown):
    differences: RunDifferences
    looked: Sequence[Looked]
    is_markdown: bool = False

    @property
    def failed(self) -> list[str]:
        """Which of the means that were looked at are lower, and by how much."""
        return [one_line(str(scale), LONG) for scale in self.looked if scale.failed]

    @property
    def complaints(self) -> Sequence[str]:
        return [f"failed: {lower}" for lower in self.failed]

    @property
    def exit_code(self) -> int:
        return LOWER if self.failed else 0

    @property
    def text(self) -> str:
        said = [_shown(block, self.is_markdown) for block in self._blocks()]
        if not self.is_markdown:
            return "\n".join(said) + "\n"
        heads = [f"- {markdown(f'failed: {lower}', LONG)}" for lower in self.failed]
        return "\n\n".join([*heads, *said]) + "\n"

    def _blocks(self) -> Iterator[str | Table]:
        return _blocks(self.differences)

    @property
    def json(self) -> str:
        changes = self.differences
        rows = asdict(changes) | {
            "coverage": [asdict(row) | {"shares": row.shares} for row in changes.coverage],
            "means": [
                {"scorer": row.scorer, "axis": row.axis, "system": row.system} | asdict(row.found)
                for row in changes.means
            ],
            "selections": [asdict(row) | {"flipped": row.flipped} for row in changes.selections],
            "not_compared": [] if changes.corpus.texts else OF_TEXTS,
            "looked": [asdict(row) for row in self.looked],
        }
        return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def compare_runs(wanted: DiffOptions) -> Diffed:
    first, second = as_path(wanted.a, "a"), as_path(wanted.b, "b")
    differences = run_differences(scored_run(first), scored_run(second))
    looked = lower(listed(wanted.fail_if_lower), wanted.tolerance, differences)
    return Diffed(differences, looked, wanted.markdown)


def lower(names: Sequence[str], tolerance: float, differences: RunDifferences) -> list[Looked]:
    """Each scale once; a name that is not known, or a mean that cannot be tested, is a mistake."""
    if not 0 <= tolerance < float("inf"):
        raise UserError(f"--tolerance {tolerance:g}: give a number of 0 or more")
    if tolerance and not names:
        raise UserError("--tolerance is that of --fail-if-lower: name a scorer with it")
    rows = list(dict.fromkeys(row for name in names for row in _scales(name, differences)))
    ps = list[float]()
    for row in rows:
        if only("sample", row.found.n) or (p := p_lower(row.found, tolerance)) is None:
            raise UserError(
                f"--fail-if-lower {scale_name(row.scorer, row.axis)}: fewer than "
                f"{FEWEST['sample']} documents have scores in both runs, so nothing can be tested"
            )
        ps.append(p)
    return [
        Looked(
            on_axis(row.scorer, row.axis), row.found.difference or 0.0, p, p_holm, p_holm < ALPHA
        )
        for row, p, p_holm in zip(rows, ps, holm(ps), strict=True)
    ]


def _scales(name: str, differences: RunDifferences) -> list[MeanChange]:
    """One axis of a scorer, or all that it has, in both runs."""
    for run, keys in zip("AB", differences.scorers, strict=True):
        for key in keys:
            if name in (key[0], scale_name(*key)):
                scale = scale_name(*key)
                raise UserError(f"--fail-if-lower {name}: only {run} has scores of {scale}")
    names = {
        row: (row.scorer, scale_name(row.scorer, row.axis))
        for row in differences.means
        if row.system is None
    }
    if wanted := [row for row, both in names.items() if name in both]:
        return wanted
    for scorer, why in differences.rescaled.items():
        if re.match(rf"{re.escape(scorer)}([.#]|$)", name):
            raise UserError(f"--fail-if-lower {name}: {why}")
    scales = {scale for both in names.values() for scale in both}
    raise UserError(f"--fail-if-lower {name}: {unknown('scorer', name, scales)}")


Block = str | Table  # a line, or a table with its title


def _shown(block: Block, is_markdown: bool) -> str:
    if isinstance(block, str):
        return markdown(block, LONG) if is_markdown else block
    first, more = replace(block, rows=block.rows[:MOST_ROWS]), len(block.rows) - MOST_ROWS
    left_out = f"\n… and {count(more)} more: --json" if more > 0 else ""
    if is_markdown:
        return f"### {markdown(block.title)}\n\n{table_markdown(first)}{left_out}"
    return f"\n{block.title}\n{on_screen(first)}{left_out}"


def _blocks(differences: RunDifferences) -> Iterator[Block]:
    yield f"A          {one_line(differences.first)}"
    yield f"B          {one_line(differences.second)}"
    for warning in differences.warnings:
        yield f"warning    {one_line(warning, LONG)}"
    scorers = [[on_axis(*key) for key in keys] for keys in differences.scorers]
    found: dict[str, Iterable[Block]] = {
        "settings": _settings(differences.settings),
        "corpus": _corpus(differences.corpus),
        "scorers": _only("scorers", scorers),
        "coverage": _coverage(differences),
        "scores": _means(differences),
        "agreement": _agreement(differences),
        "selections": _selections(differences),
        "cost": _cost(differences.cost),
    }
    parts = {
        name: [block for block in blocks if isinstance(block, str) or block.rows]
        for name, blocks in found.items()
    }
    yield from chain.from_iterable(parts.values())
    same = [name for name, blocks in parts.items() if not blocks]
    if len(same) == len(parts):
        yield "nothing changed"
    elif differences.corpus.texts:
        compared = {
            "coverage": any(all(change.expected) for change in differences.coverage),
            "scores": differences.means,
            "agreement": differences.agreement,
            "selections": differences.selections,
        }
        apart = [name for name in same if not compared.get(name, True)]
        yield f"\nunchanged: {', '.join(n for n in same if n not in apart) or 'nothing'}"
        if apart:
            yield f"not compared, as the runs have none in common: {', '.join(apart)}"
    else:
        yield f"\nnot compared, as no text is in both runs: {', '.join(OF_TEXTS)}"


def _settings(rows: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    shown = [[row["key"], *values_of(row)] for row in rows]
    yield Table("Settings", ["key", "A", "B"], shown, "lll")


def _corpus(corpus: CorpusChange) -> Iterator[Block]:
    if corpus.is_none:
        return
    heads = ["", "only in A", "only in B", "in both", "not the same"]
    documents = corpus.documents_first, corpus.documents_second, corpus.documents
    texts = corpus.texts_first, corpus.texts_second, corpus.texts
    rows = [
        ["documents", *map(count, (*documents, corpus.sources_changed))],
        ["texts", *map(count, (*texts, corpus.texts_changed))],
    ]
    yield Table("Corpus", heads, rows, "lrrrr")
    if corpus.changed:
        named = ", ".join(" by ".join(text.values()) for text in corpus.changed)
        yield f"not the same: {one_line(named, LONG)}"


def _only(what: str, sides: Sequence[Sequence[str]]) -> Iterator[str]:
    for side, names in zip("AB", sides, strict=True):
        if names:
            yield f"\n{what} only in {side}: {one_line(', '.join(names), LONG)}"


def _coverage(differences: RunDifferences) -> Iterator[Table]:
    rows = []
    for change in differences.coverage:
        if not all(change.expected) or change.is_none:
            continue
        shares = (
            f"{percent(scored / expected)} of {count(expected)}"
            for scored, expected in zip(change.scored, change.expected, strict=True)
        )
        reasons = (f"{kind} ({count(a)} → {count(b)})" for kind, (a, b) in change.reasons.items())
        rows.append([change.scorer, change.axis, *shares, "; ".join(reasons)])
    heads = ["scorer", "axis", "A", "B", "unscored (A → B)"]
    yield Table("Scored", heads, rows, "llrrl")


def _means(differences: RunDifferences) -> Iterator[Table]:
    changed = [row for row in differences.means if row.system is None and row.found.changed]
    overall = sorted(changed, key=lambda row: 1.0 if row.found.p is None else row.found.p)
    heads = ["scorer", "axis", "A", "B", "B - A", "p", "documents"]
    rows = [_mean_cells(row) for row in overall]
    yield Table("Mean scores of the texts that both runs scored", heads, rows, "llrrrrr")
    by_scale = dict[tuple[str, str], list[MeanChange]]()
    for row in differences.means:
        if row.system is not None and row.found.p is not None and not only("sample", row.found.n):
            by_scale.setdefault((row.scorer, row.axis), []).append(row)
    rows = [
        [row.system or "", *_mean_cells(row)]
        for of_scale in by_scale.values()
        for row, p in zip(of_scale, holm([row.found.p or 0.0 for row in of_scale]), strict=True)
        if p < ALPHA
    ]
    title = "Systems whose mean changed (p below 0.05, by Holm's method)"
    yield Table(title, ["system", *heads], rows, "lllrrrrr")


def _mean_cells(row: MeanChange) -> list[str]:
    paired = row.found
    means = correlation(paired.first), correlation(paired.second)
    change = measured(paired, "sample", paired.n, paired.difference)
    p = NONE if only("sample", paired.n) else probability(paired.p)
    return [row.scorer, row.axis, *means, change, p, count(paired.n)]


def _agreement(differences: RunDifferences) -> Iterator[Table]:
    """The differences alone, a column for each level."""
    by_scale = dict[tuple[str, str], dict[str, AgreementDifference]]()
    for change in differences.agreement:
        by_scale.setdefault((change.scorer, change.axis), {})[change.level] = change
    rows = [
        [*scale, *(estimate(by_level[level], "difference") for level in LEVELS)]
        for scale, by_level in by_scale.items()
        if any(change.difference for change in by_level.values())
    ]
    title = "Spearman's correlation with people: B - A at each level"
    yield Table(title, ["scorer", "axis", *LEVELS], rows, "llrrr")


def _selections(differences: RunDifferences) -> Iterator[str]:
    yield from _only("selections", differences.selection_names)
    for pick in differences.selections:
        if pick.is_none:
            continue
        rule = "; its rule is another" if pick.rule_changed else ""
        unpaired = f"; {count(sum(pick.unpaired))} texts that the other run does not have"
        yield (
            f"\nselected   {pick.name}: {count(pick.both)} in both, {count(pick.first)} only in A, "
            f"{count(pick.second)} only in B{unpaired if any(pick.unpaired) else ''}{rule}"
        )
        for side, name in zip(SIDES, "AB", strict=True):
            for flip in [row for row in pick.flips if row["selected"] == side][:MOST_FLIPS]:
                values = (
                    f"{scale} {' → '.join(NONE if x is None else short(x) for x in two)}"
                    for scale, two in flip["values"].items()
                )
                text = f"{flip['doc_id']} by {flip['system']}, {'; '.join(values)}"
                yield f"           only in {name}: {one_line(text, LONG)}"


def _cost(cost: Mapping[str, tuple[float | None, float | None]]) -> Iterator[Table]:
    rows = [
        [name, *(NONE if side is None else f"{side:,}" for side in two)]
        for name, two in cost.items()
        if two[0] != two[1]
    ]
    yield Table("Cost", ["", "A", "B"], rows, "lrr")
