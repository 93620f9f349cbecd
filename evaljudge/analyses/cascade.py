"""What did a cascade keep from its second judge, and what did that save?"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evaljudge.analyses import Analysis, Findings, Rank, Rows, RunFrame, Section, Warned
from evaljudge.sections.figures import NONE, count, percent, short, tabled

TITLE = "Cascade"
ABOUT = (
    "Where the first judge's doubt is at most the bound, its answer stands; the second judge is "
    "asked about all other texts. With the confidence, the two agree on at least the agreement "
    "asked for of the texts that the first one keeps."
)
DRAWN = (
    "Drawn: the texts that both judges were asked about, to find the bound; agree: those of them "
    "up to the bound where the judges agree, an estimate that is too high on average. Saved: what "
    "the second judge would have been asked about the texts kept that were not drawn."
)


@dataclass(frozen=True, slots=True)
class Cascaded:
    first: str
    then: str
    agreement: float
    confidence: float
    bound: float | None  # the largest doubt of a text that is kept; None: none is certified
    texts: int
    kept: int
    passed_on: int
    drawn: int
    agree: float | None  # the share of the drawn texts up to the bound
    saved: int  # asks of the second judge
    needed: int | None  # about so many drawn texts would certify a bound


def rows(run: RunFrame) -> Iterator[Cascaded]:
    wanted, known = run.config and run.config.cascade, run.cascade
    if not wanted or not known:
        return
    found, kept = known.get("found", {}), known["texts"] - known["passed_on"]
    unsaved = known["drawn"] - known.get("taken_over", 0)
    yield Cascaded(
        wanted.first,
        wanted.then,
        wanted.agreement,
        wanted.confidence,
        known["bound"],
        known["texts"],
        kept,
        known["passed_on"],
        known["drawn"],
        found.get("precision"),
        round(known["asks"] / known["drawn"] * (kept - unsaved)),
        found.get("needed"),
    )


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    columns = {
        "first": "first",
        "then": "then",
        "bound on doubt": lambda row: NONE if row.bound is None else f"{row.bound:.3f}",
        "texts": "texts",
        "kept": lambda row: f"{count(row.kept)} ({percent(row.kept / row.texts)})",
        "passed on": "passed_on",
        "drawn": "drawn",
        "agree": lambda row: percent(row.agree),
        "asks saved": "saved",
    }
    yield Section(TITLE, [ABOUT], [tabled("", findings["cascade"], 2, columns)], [DRAWN])


def warnings(run: RunFrame, rows: Rows) -> Iterable[Warned]:
    for row in rows["cascade"]:
        if row.bound is None:
            more = "more may not help"
            if row.needed:
                there = "" if row.needed <= row.texts else ", more than there are"
                more = f"about {count(row.needed)} would do{there}"
            sure = f"{short(row.confidence * 100)}% confidence"
            yield Warned(
                "cascade.none",
                Rank.COST,
                f"cascade: {row.then} judged all texts: the {count(row.drawn)} drawn ones certify "
                f"no doubt up to which {row.first} agrees with it on {percent(row.agreement)} with "
                f"{sure}; {more} (`draw`)",
            )


ANALYSIS = Analysis(Cascaded, rows, section, place=65, warnings=warnings)
