"""What judges collect of shards adds up to what one pass over all of them would say."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.analysis.scoring import by_document
from evaljudge.analysis.tables import Tables
from evaljudge.engines.scripted import Scripted, any_option, noise
from evaljudge.judges import kinds, make_judges
from evaljudge.judges.collector import (
    CollectorOptions,
    Found,
    JudgeFindings,
    SeenShard,
    all_judges,
)
from evaljudge.judges.entities import LABELS
from evaljudge.judges.entities.labels import question_rows
from evaljudge.judges.protocol import Judge
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.model.asks import Failed, Prompt
from evaljudge.prompts import load_task
from evaljudge.records import ANY_AXIS, Brief, Candidate, Case, Document, Score, Verdict
from evaljudge.report.lines import agreement_markdown
from evaljudge.report.page import page
from evaljudge.report.summary import agreement_text
from evaljudge.sections import Section, Table, merged
from tests.judges.builders import any_reply

AXES = ["fluency", "coherence"]
SYSTEMS = ["A", "B", "C", "D", "E"]
COLLECTING = ["synthetic", "entities", "roles", "pairs"]
Kept = tuple[list[Verdict], list[Verdict], list[Brief]]
"""Of a judge's shard: verdicts, checks and briefs."""


def judge_of(kind: str) -> Judge:
    settings = {"synthetic": {"levels": 3}, "roles": {"order": "both"}}.get(kind, {})
    (judge,) = make_judges({"mine": {"judge": kind, **settings}}, load_task("summary", AXES))
    return judge


# evidence that is drawn


def drawn_cases(draw: Random, shard: int) -> list[Case]:
    """Of three documents; most candidates are rated, and systems differ from one to the next."""

    def candidate(system: str) -> Candidate:
        ratings = {axis: float(draw.randint(1, 5)) for axis in AXES if draw.random() < 0.8}
        return Candidate(system, f"The river rose. {system}" * draw.randint(1, 4), ratings)

    def document(number: int) -> Document:
        return Document(f"d{shard}{number}", f"A flood of {number}.", ("The bridge closed.",))

    return [Case(document(n), tuple(map(candidate, draw.sample(SYSTEMS, 4)))) for n in range(3)]


async def asked(judge: Judge, cases: Sequence[Case], seed: int) -> Kept:
    """By a model whose replies depend on the prompt alone, and of which every tenth fails."""

    def fails(prompt: Prompt) -> Failed | None:
        return Failed("cut") if noise(str(seed), prompt.text) < 0.1 else None

    model = Scripted(
        writes=lambda prompt, how: fails(prompt) or any_reply(prompt, how),
        chooses=lambda prompt, options: fails(prompt) or any_option(prompt, options),
    )
    verdicts, checks, briefs = list[Verdict](), list[Verdict](), list[Brief]()
    for case in cases:
        mine = await judge.brief(case.document, [], model)
        found = await judge.verdicts(case, mine, model)
        verdicts, checks, briefs = verdicts + found.verdicts, checks + found.checks, briefs + mine
    return verdicts, checks, briefs


def shards_of(kind: str, seed: int, count: int = 2) -> list[SeenShard]:
    draw, judge, shards = Random(seed), judge_of(kind), list[SeenShard]()
    for number in range(count):
        cases = drawn_cases(draw, number)
        verdicts, checks, briefs = asyncio.run(asked(judge, cases, seed))
        scores = [score for verdict in verdicts for score in judge.score(verdict)]
        shards.append(
            SeenShard(cases, verdicts, checks, scores, lambda briefs=briefs: briefs)  # type: ignore[misc]
        )
    return shards


def found_of(judge: Judge, shards: Sequence[SeenShard]) -> Found:
    """With an agreement, so that every section has what it may show."""
    tables = Tables((scorer, axis) for scorer in judge.scorers for axis in judge.axes_of(scorer))
    for shard in shards:
        by = by_document(shard.scores)
        for case in shard.cases:
            tables.add(case, by[case.document.doc_id])
    rated = tables.as_rated()
    return Found(rated, rated.code_of)


def seen(make: Callable[[], SumCollector], shards: Sequence[SeenShard]) -> SumCollector:
    collector = make()
    for shard in shards:
        collector.see(shard)
    return collector


def added(make: Callable[[], SumCollector], shards: Sequence[SeenShard]) -> SumCollector:
    """A collector for each shard, as workers make them."""
    total = make()
    for shard in shards:
        total += seen(make, [shard])
    return total


def labelled(folder: Path, shards: Sequence[SeenShard], draw: Random) -> CollectorOptions:
    """People's labels of every third question that a judge of entities asked."""
    rows = [
        row
        for shard in shards
        for one in shard.verdicts
        for row in question_rows(one, shard.texts[one.doc_id, one.system])
    ][::3]
    told = [json.dumps(row | {"label": draw.choice(["yes", "no", None])}) for row in rows]
    (folder / "labels.jsonl").write_text("\n".join(told))
    return CollectorOptions(resamples=20, keys={LABELS: str(folder / "labels.jsonl")})


# each judge's


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", COLLECTING)
def test_collectors_of_shards_add_up_to_one_of_them_all(kind, seed, tmp_path):
    judge, shards = judge_of(kind), shards_of(kind, seed, 3)
    is_labelled = kind == "entities"
    wanted = (
        labelled(tmp_path, shards, Random(seed)) if is_labelled else CollectorOptions(resamples=20)
    )
    make, found = judge.collecting(wanted), found_of(judge, shards)
    at_once, together = (way(make, shards).findings(found) for way in (seen, added))
    assert together == at_once
    assert all(table.rows for section in at_once.sections for table in section.tables)
    assert all(at_once.files.values())


@pytest.mark.usefixtures("hundred_columns")
def test_sections_are_in_every_report_that_has_them(findings):
    told = []
    for kind in COLLECTING:
        judge, shards = judge_of(kind), shards_of(kind, 0)
        collected = added(judge.collecting(CollectorOptions()), shards)
        told.append(collected.findings(found_of(judge, shards)))
    sections = [section for one in told for section in one.sections]
    titles = [one.title for one in sections if any(table.rows for table in one.tables)]
    assert len(titles) == 2 + 1 + 1 + 1
    given = replace(findings, judged=all_judges(told))
    for write in (page, agreement_markdown, agreement_text):
        said, without = write(given), write(findings)
        assert not [t for t in titles if (t in said) == (t in without)], write
    assert max(map(len, agreement_text(given).splitlines())) <= 100


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind not in COLLECTING])
def test_other_judges_say_nothing_beyond_their_scores(kind):
    make = judge_of(kind).collecting(CollectorOptions())
    cases = drawn_cases(Random(0), 0)
    shard = SeenShard(cases, [Verdict("d00", "A", "mine", "fluency", {}, "unscored", "x")])
    found = Found(Tables([]).as_rated(), {})
    assert added(make, [shard, shard]).findings(found) == JudgeFindings()


# tables

KEYS = [("mine", "fluency"), ("words", ANY_AXIS)]
RATINGS = st.dictionaries(st.sampled_from([*AXES, "late"]), st.floats(1, 5), max_size=2)
RATERS = st.dictionaries(
    st.sampled_from(AXES), st.lists(st.floats(1, 5), max_size=2).map(tuple), max_size=2
)
VALUE = st.none() | st.floats(-1e3, 1e3)
CANDIDATE = st.tuples(st.sampled_from(SYSTEMS), RATINGS, RATERS, VALUE, VALUE)
CASE = st.tuples(
    st.sampled_from(["d2", "d0", "d1"]), st.lists(CANDIDATE, max_size=3, unique_by=lambda c: c[0])
)


def filled(rows: Sequence[tuple[str, Sequence[Any]]]) -> Tables:
    tables = Tables(KEYS)
    for doc_id, told in rows:
        candidates = tuple(Candidate(s, "text", ratings, raters) for s, ratings, raters, *_ in told)
        scores = {
            (system, *key): Score(doc_id, system, *key, value, "" if value else "empty text")
            for system, _, _, *values in told
            for key, value in zip(KEYS, values, strict=True)
        }
        tables.add(Case(Document(doc_id, "source"), candidates), scores)
    return tables


@given(st.lists(st.lists(CASE, max_size=3), max_size=4))
def test_tables_of_shards_add_up_to_one_of_all_cases(shards):
    whole, total = filled([case for shard in shards for case in shard]), Tables(KEYS)
    for shard in shards:
        total += filled(shard)
    assert (total.cases, total.candidates, total.rated) == (
        (whole.cases, whole.candidates, whole.rated)
    )
    assert total.coverage() == whole.coverage()
    means, expected = total.systems(), whole.systems()
    assert {key: n for key, (_, n) in means.items()} == {key: n for key, (_, n) in expected.items()}
    assert [mean for mean, _ in means.values()] == pytest.approx([m for m, _ in expected.values()])
    mine, others = total.as_rated(), whole.as_rated()
    assert mine.texts == others.texts
    np.testing.assert_array_equal(mine.documents, others.documents)
    np.testing.assert_array_equal(mine.systems, others.systems)
    for arrays, known in ((mine.scores, others.scores), (mine.human, others.human)):
        assert list(arrays) == list(known)
        for key in known:
            np.testing.assert_array_equal(arrays[key], known[key])
    assert list(mine.raters.items()) == list(others.raters.items())


# sections of several judges


def table(title: str, heads: Sequence[str], *rows: Sequence[str]) -> Table:
    return Table(title, heads, list(rows), "l" + "r" * (len(heads) - 1))


def test_tables_of_one_title_and_the_same_columns_become_one():
    heads = ["judge", "n"]
    found = merged(
        [
            Section("S", ["about"], [table("T", heads, ["a", "1"])], ["first", "both"]),
            Section("other", [], [table("T", heads, ["z", "9"])]),
            Section("S", ["about"], [table("T", heads, ["b", "1"])], ["both", "second"]),
        ]
    )
    assert found == [
        Section(
            "S", ["about"], [table("T", heads, ["a", "1"], ["b", "1"])], ["first", "both", "second"]
        ),
        Section("other", [], [table("T", heads, ["z", "9"])]),
    ]


def test_identical_rows_stand_once():
    """As two judges say them that read the same references."""
    same, own = ["fluency", "40"], ["fluency", "38"]
    (found,) = merged(
        Section("S", [], [table("T", ["axis", "n"], *rows)]) for rows in ([same], [own, same])
    )
    assert found.tables == [table("T", ["axis", "n"], same, own)]
