"""The driver's arithmetic: coverage, means, which columns of ratings a scorer is compared with, and
judges that are fitted to the whole run before any of it is scored."""

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evaljudge
from evaljudge.agreement import rated as rated_module
from evaljudge.agreement.rated import Rated
from evaljudge.analyses.agreement import agreement_of
from evaljudge.analysis import tables as tables_module
from evaljudge.analysis.scoring import FILE, Scored, Scoring, added_up, fit
from evaljudge.analysis.tables import Tables
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.identity import short
from evaljudge.judges import make_judges
from evaljudge.judges.direct.judge import Direct
from evaljudge.judges.protocol import Judge, Learnt
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Candidate, Case, Document, Score, Verdict
from evaljudge.runs.job import Job
from evaljudge.storage import Output, Shard
from tests.build import config, jsonl
from tests.frames import judged_run, unfitted


def score(system: str, scorer: str, axis: str, value: float | None, reason: str = "") -> Score:
    return Score("d", system, scorer, axis, value, reason)


def filled() -> Tables:
    tables = Tables([("judge", "fluency"), ("words", ANY_AXIS)])
    for number in range(3):
        case = Case(
            Document(f"d{number}", "s"),
            (
                Candidate("A", "a", {"fluency": 1.0, "relevance": 3.0}),
                Candidate("B", "b", {"fluency": 2.0}),
                Candidate("C", "c"),
            ),
        )
        values = {"A": 1.0, "B": 2.0 + number, "C": 9.0}
        found = {
            (s, "judge", "fluency"): score(s, "judge", "fluency", v) for s, v in values.items()
        }
        if number == 2:
            found["A", "judge", "fluency"] = score("A", "judge", "fluency", None, "empty text")
        found |= {(s, "words", ANY_AXIS): score(s, "words", ANY_AXIS, 5.0) for s in values}
        tables.add(case, found)
    return tables


def test_coverage_means_and_grids_are_of_all_candidates():
    tables = filled()
    assert (tables.candidates, tables.rated) == (9, 6)
    judged, words = tables.coverage()
    assert (judged.scored, judged.unscored, judged.reasons) == (8, 1, {"empty text": 1})
    assert (words.scored, words.unscored) == (9, 0)
    means = {key[2]: of for key, of in tables.systems().items() if key[0] == "judge"}
    assert means == {"A": (1.0, 2), "B": (3.0, 3), "C": (9.0, 3)}
    grid = filled().as_grid()
    assert (grid.documents, grid.systems) == (("d0", "d1", "d2"), ("A", "B", "C"))
    expected = [[1.0, 2.0, 9.0], [1.0, 3.0, 9.0], [nan, 4.0, 9.0]]
    np.testing.assert_equal(grid.scores["judge", "fluency"], np.array(expected))
    np.testing.assert_equal(grid.human["relevance"], np.array([[3.0, nan, nan]] * 3))
    assert list(grid.meeting("fluency")) == [("judge", "fluency"), ("words", ANY_AXIS)]
    assert not grid.is_sample


LATER = ("later", ANY_AXIS)


def of_one_system(number: int, rating: float | None = None, of: int = 0) -> Tables:
    tables = Tables([("words", ANY_AXIS)], of)
    ratings = {} if rating is None else {"fluency": rating}
    case = Case(Document(f"d{number}", "s"), (Candidate("A", "a", ratings),))
    value = None if number % 9 == 8 else number / 10
    reason = f"reason {number}" if value is None else ""
    tables.add(case, {("A", "words", ANY_AXIS): score("A", "words", ANY_AXIS, value, reason)})
    return tables


def test_a_grid_of_many_systems_has_those_with_the_most_texts(monkeypatch):
    monkeypatch.setattr(tables_module, "MOST_CELLS", 8)
    tables = Tables([("words", ANY_AXIS)])
    for number in range(4):
        names = ["A", f"id{number}"]
        case = Case(Document(f"d{number}", "s"), tuple(Candidate(name, "a") for name in names))
        tables.add(case, {(n, "words", ANY_AXIS): score(n, "words", ANY_AXIS, 1.0) for n in names})
    grid = tables.as_grid()
    assert (grid.systems, len(grid.documents), grid.is_sample) == (("A", "id0"), 4, True)
    assert len(tables.systems()) == 5


def test_of_many_axes_the_scorers_own_and_the_most_rated_are_looked_at(monkeypatch):
    monkeypatch.setattr(rated_module, "MOST_AXES", 2)
    rows, nothing = np.arange(3), np.full(3, nan)
    human = {"b": np.array([1.0, 2.0, 3.0]), "c": np.array([1.0, 2.0, nan]), "own": nothing}
    rated = Rated(rows, rows, {("judge", "own"): nothing, ("judge", "unrated"): nothing}, human, {})
    assert list(rated.with_few_axes().human) == ["b", "own"]


def test_of_many_unrated_documents_a_sample_is_kept(monkeypatch):
    monkeypatch.setattr(tables_module, "MOST_KEPT", 20)
    whole, tables = Tables([("words", ANY_AXIS)]), Tables([("words", ANY_AXIS)])
    for number in range(40):
        rating = 3.0 if number == 7 else None
        whole += of_one_system(number, rating)
        tables += of_one_system(number, rating, of=40)
    grid, every = tables.as_grid(), whole.as_grid()
    assert (tables.cases, tables.rated, len(tables.as_rated().documents)) == (40, 1, 1)
    assert sorted(tables.as_kept().texts) == [(d, "A") for d in grid.documents]
    assert (grid.is_sample, every.is_sample, len(every.documents)) == (True, False, 40)
    assert "d7" in grid.documents, "rated"
    assert 10 < len(tables.columns["words", ANY_AXIS].kept) == len(grid.documents) < 31
    places = [every.documents.index(name) for name in grid.documents]
    column = every.scores["words", ANY_AXIS][places]
    np.testing.assert_equal(grid.scores["words", ANY_AXIS], column)
    assert tables.systems() == whole.systems()


def test_a_column_that_comes_later_is_of_the_same_documents(monkeypatch):
    monkeypatch.setattr(tables_module, "MOST_KEPT", 5)
    tables, later = Tables([("words", ANY_AXIS)]), Tables([LATER], 40)
    for number in range(40):
        tables += of_one_system(number, of=40)
        case = Case(Document(f"d{number}", "s"), (Candidate("A", "a"),))
        value = tables.columns["words", ANY_AXIS].counts.total() and number / 10
        later.add_scores(case, {("A", *LATER): score("A", *LATER, value)})
    tables.columns |= later.columns
    grid = tables.as_grid()
    words, added = grid.scores["words", ANY_AXIS], grid.scores[LATER]
    np.testing.assert_equal(added[np.isfinite(words)], words[np.isfinite(words)])
    assert tables.columns[LATER].scored == 40


@pytest.mark.parametrize("parts", [1, 2, 7, 8, 37])
def test_what_comes_in_any_order_adds_up_to_the_same(parts):
    """To the last digit; a sum in floating point would differ between orders."""

    def all_of(tables: Tables) -> list[object]:
        column = tables.columns["words", ANY_AXIS]
        reasons, kept = list(column.reasons.items()), tables.as_kept()
        return [tables.cases, tables.systems(), reasons, kept.texts, kept.scores]

    in_order, expected = list(range(parts)), None
    for seed in range(20):
        come = in_order if seed == 0 else random.Random(seed).sample(in_order, parts)
        added = added_up(((n, of_one_system(n)) for n in come), Tables([("words", ANY_AXIS)]))
        expected = expected or all_of(added)
        np.testing.assert_equal(all_of(added), expected)
    values = [number / 10 for number in in_order if number % 9 != 8]
    ((mean, _),) = added.systems().values()
    assert mean == pytest.approx(fsum(values) / len(values))


def test_axes_of_one_name_are_compared_and_no_axis_with_all():
    rated = filled().as_rated()
    rows = list(agreement_of(rated, seed=0))
    assert {(r.scorer, r.axis) for r in rows} == {
        ("judge", "fluency"), ("words", "fluency"), ("words", "relevance"),
    }  # fmt: skip
    found = {(r.scorer, r.axis, r.level): r for r in rows if r.coefficient == "spearman"}
    row = found["judge", "fluency", "sample"]
    assert (row.value, row.n, row.skipped) == (pytest.approx(1.0), 2, 1)
    assert found["words", "fluency", "sample"].value is None


# judges whose arithmetic needs the whole run

VALUES: Mapping[str, Mapping[str, float | None]] = {
    "d1": {"A": 1.0, "B": 2.0},
    "d2": {"A": 4.0, "B": None},
    "d3": {"A": 5.0, "B": 3.0},
}


class Centred(Direct):
    """Fits its mean, unless it is told not to."""

    wanted = True

    def fit(self, verdicts: Iterable[Verdict], ratings: Any) -> Learnt | None:
        if not self.wanted:
            return None
        told = [v.evidence["rating"] for v in verdicts if v.status == "ok"]
        return {"mean": sum(told) / len(told)}

    def score_by(self, learnt: Learnt, verdict: Verdict) -> list[Score]:
        """Every rating less the mean of the run."""
        own, mean = self.score(verdict), learnt["mean"]
        return [replace(s, value=None if s.value is None else s.value - mean) for s in own]


class Unneeding(Centred):
    wanted = False


def judged(folder: Path, **kinds: type[Direct]) -> tuple[Job, Output]:
    """A run of such judges by their names."""

    def made(task: Task) -> list[Judge]:
        return [kind({}, task, name) for name, kind in kinds.items()]

    return stored(folder, ["fluency"], made, verdict)


def stored(
    folder: Path,
    axes: list[str],
    judges: Callable[[Task], list[Judge]],
    verdict: Callable[[str, str, str], Verdict],
) -> tuple[Job, Output]:
    """A run whose every text is judged, a shard for each document of VALUES."""
    cases = [
        {"doc_id": doc_id, "source": doc_id, "candidates": [
            {"system": system, "text": system} for system in systems]}
        for doc_id, systems in VALUES.items()
    ]  # fmt: skip
    jsonl(folder / "cases.jsonl", cases)
    given = config(folder, axes=axes, judges=["direct"])
    return judged_run(given, lambda *at: [verdict(*at)], judges)


def score_shards(job: Job, output: Output, shards: Sequence[Shard]) -> tuple[Scoring, Scored]:
    """What scored them, and what came of it."""
    scoring = fit(unfitted(job, output), output, shards)
    parts = enumerate(map(scoring, output.scored_together(shards)))
    return scoring, added_up(parts, scoring.nothing())


def verdict(doc_id: str, system: str, judge: str) -> Verdict:
    at, rating = (doc_id, system, judge, "fluency"), VALUES[doc_id][system]
    if rating is None:
        return Verdict(*at, {}, "unscored", "no rating in the reply")
    return Verdict(*at, {"reply": "", "rating": rating})


def written(output: Output, scorer: str) -> dict[tuple[str, str], Score]:
    output.reread()  # another has scored since
    found = (score for shard in output.shards() for score in output.scores(shard))
    return {(s.doc_id, s.system): s for s in found if s.scorer == scorer}


def values(scores: Mapping[tuple[str, str], Score]) -> list[float | None]:
    return [score.value for score in scores.values()]


AS_RATED = [1.0, 2.0, 4.0, None, 5.0, 3.0]
LESS_MEAN = [-2.0, -1.0, 1.0, None, 2.0, 0.0]


def test_all_shards_are_fitted_before_the_first_is_scored(tmp_path):
    job, output = judged(tmp_path, centred=Centred, plain=Direct)
    _, scored = score_shards(job, output, output.shards())
    centred, plain = written(output, "centred"), written(output, "plain")
    assert values(centred) == LESS_MEAN  # the mean is 3
    assert values(plain) == AS_RATED
    assert centred["d2", "B"].reason == plain["d2", "B"].reason == "no rating in the reply"
    assert json.loads(output.place.read(FILE)) == {"centred": {"mean": 3.0}}
    means = scored.tables.systems().items()
    assert [(scorer, system, mean) for (scorer, _, system), (mean, _) in means] == [
        ("centred", "A", pytest.approx(1 / 3)), ("centred", "B", -0.5),
        ("plain", "A", pytest.approx(10 / 3)), ("plain", "B", 2.5),
    ]  # fmt: skip


def test_signatures_end_with_what_was_fitted(tmp_path):
    job, output = judged(tmp_path, centred=Centred, plain=Direct)
    scoring, _ = score_shards(job, output, output.shards())
    as_asked = job.judge_signatures()
    end = " | fitted " + hashlib.sha256(b'{"mean": 3.0}').hexdigest()[:12]
    assert scoring.signatures == {"centred": as_asked["centred"] + end, "plain": as_asked["plain"]}
    for scorer, line in scoring.signatures.items():
        assert {score.signature for score in written(output, scorer).values()} == {line}


def test_where_nothing_is_fitted_the_judge_itself_scores(tmp_path):
    job, output = judged(tmp_path, direct=Centred)
    score_shards(job, output, output.shards())
    assert output.place.kind(FILE) == "File"
    assert values(written(output, "direct")) == LESS_MEAN
    plain = replace(job, judges=[Unneeding({}, job.task, "direct")])
    scoring, _ = score_shards(plain, output, output.shards())
    assert values(written(output, "direct")) == AS_RATED
    assert scoring.signatures == plain.judge_signatures()
    assert output.place.kind(FILE) == "NotFound"  # an earlier report's is gone


def test_only_the_shards_that_are_scored_are_fitted(tmp_path):
    job, output = judged(tmp_path, centred=Centred)
    first, *_ = output.shards()
    _, scored = score_shards(job, output, [first])
    assert json.loads(output.place.read(FILE)) == {"centred": {"mean": 1.5}}
    assert [s.value for s in output.scores(first)] == [-0.5, 0.5]
    assert scored.tables.cases == 1


def with_votes(doc_id: str, system: str, judge: str) -> Verdict:
    """Of ten entities two are there for each point of the rating, and the others in part.

    `support` finds all of them there, and `presence` one too few.
    """
    there = int(2 * (VALUES[doc_id][system] or 0))
    right = ["yes"] * there + ["partially"] * (10 - there)
    rubric = [
        {"entity": "e", "votes": {
            "presence": {"answer": "no" if number == there - 1 else answer},
            "coverage": {"answer": answer},
            "support": {"answer": "yes"},
        }}
        for number, answer in enumerate(right)
    ]  # fmt: skip
    evidence = {"rubric": rubric, "entities": [], "sentences": [], "dropped": [], "failed": {}}
    return Verdict(doc_id, system, judge, ANY_AXIS, evidence)


def of_entities(task: Task) -> list[Judge]:
    return make_judges({"entities": {"votes": "modelled"}}, task)


def test_a_report_says_what_was_fitted_while_it_is_wanted(tmp_path):
    """Two of three that say `partially` make a whole for the ballots, because `support` says yes;
    not for the model of all votes."""
    _, output = stored(tmp_path, ["relevance"], of_entities, with_votes)

    def reported(votes: str) -> Mapping[str, str]:
        how = {"judges": {"entities": {"votes": votes}}, "agreement": {"resamples": 5}}
        given = config(tmp_path, out=output.uri, axes=["relevance"], **how)
        return evaljudge.make_report(given, engines=ScriptedEngines()).findings.signatures

    scorer, files = "entities.completeness", []
    for _ in range(2):  # a second report repeats the first
        lines = reported("modelled")
        fitted = json.loads(output.place.read(FILE))
        assert fitted["entities"]["completeness"]["entities"] == 60
        assert len(lines) == 13  # entities, nine shares, three modelled
        end = f" | fitted {short(fitted['entities'])[:12]}"
        assert all(line.endswith(end) for line in lines.values())
        modelled = values(written(output, f"{scorer}.modelled"))
        assert modelled == pytest.approx([0.6, 0.7, 0.9, 0.5, 1.0, 0.8])
        assert values(written(output, scorer)) == [1.0] * 6
        files.append([output.place.read(output.scores_file(shard)) for shard in output.shards()])
    assert files[0] == files[1]
    lines = reported("majority")
    assert len(lines) == 10
    assert not any(" | fitted " in line for line in lines.values())
    assert output.place.kind(FILE) == "NotFound"
