"""The judge: what it asks, how it ranks on scripted models, and every way to stay unscored."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, exp, inf, log, log2
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.judges.collector import CollectorOptions, Found, SeenShard
from evaljudge.judges.pairs.contest import read_comparison
from evaljudge.judges.pairs.findings import PairsRow
from evaljudge.judges.pairs.judge import PairsJudge
from evaljudge.model.asks import Failed, Options, Prompt
from evaljudge.records import Candidate, Case, Document, Verdict
from tests.judges.pairs.builders import config, judge

METHODS: list[dict[str, Any]] = [{"method": m} for m in ("beam", "greedy", "round_robin")]


def case_of(texts: Mapping[str, str] | Sequence[str]) -> Case:
    """Texts by system; or several, of systems A, B, C, …"""
    named = (
        texts if isinstance(texts, Mapping) else dict(zip("ABCDEFGHIJKLMNOPQ", texts, strict=False))
    )
    candidates = [Candidate(system, text) for system, text in named.items()]
    return Case(Document("d1", "The river rose."), tuple(candidates))


def numbers(*of: int) -> list[str]:
    """Texts of which the greater number is the better one."""
    return [f"text {n}" for n in of]


def shown_in(prompt: Prompt) -> tuple[str, str]:
    first, second = re.findall(r"<(?:first|second)>\n(.*)\n</", prompt.text)
    return first, second


def number_in(text: str) -> int:
    return int(text.split()[-1])


class Sure(Scripted):
    """Prefers the greater number, with this probability; counts what it is asked."""

    def __init__(self, p: float = 1.0, pull: float = 0.0, fails: str = "") -> None:
        super().__init__(chooses=self._compare)
        self.asked: list[tuple[str, str]] = []
        self._odds = log(p / (1 - p)) if p < 1 else inf
        self._pull, self._fails = pull, fails

    def _compare(self, prompt: Prompt, options: Options) -> Mapping[str, float] | Failed:
        shown = shown_in(prompt)
        self.asked.append(shown)
        if self._fails and any(self._fails in text for text in shown):
            return Failed("prompt too long")
        first, second = map(number_in, shown)
        odds = (self._odds if first > second else -self._odds) + self._pull
        return {"First": -log(1 + exp(-odds)) if odds > -inf else -inf,
                "Second": -log(1 + exp(odds)) if odds < inf else -inf}  # fmt: skip


def verdicts_of(judge: PairsJudge, case: Case, model: Scripted) -> dict[str, Verdict]:
    return {v.system: v for v in asyncio.run(judge.verdicts(case, [], model)).verdicts}


def scores_of(judge: PairsJudge, case: Case, model: Scripted) -> dict[str, float | None]:
    """By system, the headline scores."""
    verdicts = verdicts_of(judge, case, model)
    return {system: judge.score(verdict)[0].value for system, verdict in verdicts.items()}


# ranking


@settings(max_examples=15)
@given(
    st.integers(2, 16).flatmap(lambda n: st.permutations(range(n))),
    st.sampled_from(METHODS),
    st.sampled_from(["both", "none", "estimated"]),
)
def test_a_sure_model_ranks_every_list(of, method, swap):
    model, n = Sure(), len(of)
    found = scores_of(judge(**method, swap=swap), case_of(numbers(*of)), model)
    assert list(found.values()) == pytest.approx([number / (n - 1) for number in of])
    most = n * (n - 1) / 2 if method["method"] == "round_robin" else n * ceil(log2(n))
    further = {"both": most, "estimated": n - 1, "none": 0}
    assert len(model.asked) <= most + further[swap]
    assert max(Counter(model.asked).values()) == 1


# both orders


def test_averaging_both_orders_takes_out_the_place():
    """A preference of .6 for the better text, and e² times the odds for the first place."""
    case = case_of(numbers(3, 1, 4, 2))
    verdicts = verdicts_of(judge(method="round_robin"), case, Sure(0.6, pull=2.0))
    assert [judge().score(verdicts[s])[0].value for s in "ABCD"] == pytest.approx(
        [2 / 3, 0, 1, 1 / 3]
    )
    for verdict in verdicts.values():
        for stored in verdict.evidence["comparisons"]:
            one = read_comparison(stored)
            assert abs(one.odds) == pytest.approx(log(1.5))
            assert (one.first, one.second) == pytest.approx((2 + one.odds, 2 - one.odds))


@pytest.mark.parametrize("method", METHODS)
def test_what_the_place_is_worth_is_estimated(method):
    """It is the same in every comparison here, so that taking it off gives the very preference."""
    case, model = case_of(numbers(*range(8))), Sure(0.6, pull=2.0)
    verdicts = verdicts_of(judge(**method, swap="estimated"), case, model)
    compared = [one for v in verdicts.values() for one in v.evidence["comparisons"]]
    once = [one for one in compared if "worth" in one]
    assert {len({"first", "second"} & one.keys()) for one in once} == {1}
    assert [one["worth"] for one in once] == pytest.approx([2.0] * len(once))
    assert {round(abs(read_comparison(one).odds), 9) for one in compared} == {round(log(1.5), 9)}
    both = (len(compared) - len(once)) / 2
    assert both == (7 if method["method"] == "round_robin" else 4)  # neighbours, as first drawn
    assert len(model.asked) == len(compared) / 2 + both
    if method["method"] != "beam":
        found = [judge().score(verdict)[0].value for verdict in verdicts.values()]
        assert found == pytest.approx([n / 7 for n in range(8)])


# what cannot be compared


def test_equal_texts_share_a_place_and_are_not_compared():
    case = case_of(["text 5", "text 1", " text  5\n", "text 7"])
    model = Sure()
    verdicts = verdicts_of(judge(method="round_robin"), case, model)
    found = [judge().score(verdicts[system]) for system in "ABCD"]
    assert [one[0].value for one in found] == [0.5, 0, 0.5, 1]
    assert found[0][1].value == found[2][1].value
    assert len(model.asked) == 3 * 2
    order = verdicts["A"].evidence["order"]
    assert [sorted(same) for same in order] == [["D"], ["A", "C"], ["B"]]


@pytest.mark.parametrize("method", METHODS)
def test_one_comparison_that_fails_costs_one_text(method):
    """Of the two, the longer one; what was learnt of it before is not in the others' evidence."""
    sure = Sure()

    def compare(prompt: Prompt, options: Options) -> Mapping[str, float] | Failed:
        if {"text 3", "text 04"} == set(shown_in(prompt)):
            return Failed("not numbers")
        return sure._compare(prompt, options)

    case = case_of(["text 3", "text 1", "text 04", "text 2"])
    shard = shard_of(case, model=Scripted(chooses=compare), judge=judge(**method))
    verdicts = {verdict.system: verdict for verdict in shard.verdicts}
    assert verdicts["C"].reason == "compared with “A”: not numbers"
    assert [judge().score(verdicts[system])[0].value for system in "ABD"] == [1, 0, 0.5]
    for system in "ABD":
        stored = verdicts[system].evidence["comparisons"]
        assert "C" not in {one["other"] for one in stored}
    assert row_of(shard).texts == 3


# questions and settings


def test_a_template_says_which_answers_it_offers():
    assert judge().options[0].names == ("First", "Second")
    nano = judge(prompts="nano")
    assert set(nano.options[0].names) == {"Better", "Worse", "Similar"}
    asked: list[str] = []

    def compare(prompt: Prompt, options: Options) -> Mapping[str, float]:
        asked.append(prompt.text)
        target = number_in(re.findall(r"<target>\n(.*)\n<", prompt.text)[0])
        reference = number_in(re.findall(r"<reference>\n(.*)\n<", prompt.text)[0])
        sure = "Better" if target > reference else "Worse"
        return {name: log(0.8 if name == sure else 0.1) for name in options.names}

    case = case_of(numbers(3, 1, 2))
    verdicts = verdicts_of(nano, case, Scripted(chooses=compare))
    assert [nano.score(verdicts[system])[0].value for system in "ABC"] == [1, 0, 0.5]
    one = read_comparison(verdicts["A"].evidence["comparisons"][0])
    assert one.preference == pytest.approx(0.85)
    assert asked[0].endswith("Is the target Better, Worse or Similar in fluency?")


# the report


def shard_of(*cases: Case, model: Scripted, judge: PairsJudge) -> SeenShard:
    found = [asyncio.run(judge.verdicts(case, [], model)).verdicts for case in cases]
    return SeenShard(cases, [verdict for verdicts in found for verdict in verdicts])


def row_of(*shards: SeenShard) -> PairsRow:
    total = judge().collecting(CollectorOptions())()
    for shard in shards:
        total.see(shard)
    found = total.findings(Found(rated=None, documents={}))  # type: ignore[arg-type]
    ((row,),) = found.files.values()
    cells = [cell for table in found.sections[0].tables for cell in table.rows[0]]
    assert cells[:2] == ["pairs", "fluency"]
    return row


def test_the_report_s_row_by_hand():
    """Of 4 + 2 distinct texts: each pair once, in both orders; the first place is worth e²."""
    asker = judge(method="round_robin")
    four, two = case_of(["text 5", "text 1", "text 5", "text 7", "text 3"]), case_of(numbers(1, 2))
    two = Case(Document("d2", "S"), two.candidates)
    shards = [shard_of(one, model=Sure(0.6, pull=2.0), judge=asker) for one in (four, two)]
    row = row_of(*shards)
    assert (row.documents, row.texts, row.comparisons, row.questions) == (2, 6, 7, 14)
    assert (row.sorting, row.squares) == (4 * 2 + 2 * 1, 16 + 4)
    assert (row.both, row.flipped, row.against) == (7, 7, 0)
    assert row.place == pytest.approx(1 / (1 + exp(-2)))
    assert row.entropy == pytest.approx(0.971, abs=5e-4)  # of .6 and .4
    once = row_of(shard_of(case_of(numbers(1, 2, 3)), model=Sure(), judge=judge(swap="none")))
    assert (once.both, once.place, once.questions) == (0, None, once.comparisons)


def test_comparisons_against_the_order():
    """A beats B, B beats C and C beats A, but this least surely."""
    p = {("A", "B"): 0.9, ("B", "C"): 0.9, ("C", "A"): 0.6}
    p |= {(other, one): 1 - known for (one, other), known in p.items()}

    def compare(prompt: Prompt, options: Options) -> Mapping[str, float]:
        first = p[shown_in(prompt)]
        return {"First": log(first), "Second": log(1 - first)}

    case, model = case_of(["A", "B", "C"]), Scripted(chooses=compare)
    row = row_of(shard_of(case, model=model, judge=judge(method="round_robin")))
    assert (row.comparisons, row.against) == (3, 1)
    found = scores_of(judge(method="round_robin"), case, model)
    assert found == {"A": 1, "B": 0.5, "C": 0}


# whole runs


@pytest.mark.parametrize("method", METHODS)
def test_a_run_asks_what_was_planned(tmp_path, method):
    """A sort's comparisons depend on the answers, so their number is only near the plan's."""
    spec = config(tmp_path, "ABCDEFGH", judges={"pairs": method})
    engines = ScriptedEngines(Sure)
    planned = evaljudge.plan(spec, engines=engines).total.asks
    outcome = evaljudge.run(spec, engines=engines)
    assert outcome.coverage == 1.0
    asked = sum(row["tokens"]["asks"] for row in outcome.verdicts("pairs").to_pylist())
    is_known = method["method"] == "round_robin"
    assert bool(judge(**method).estimated) != is_known
    assert asked == (planned if is_known else pytest.approx(planned, rel=0.2))
    assert not is_known or asked == 3 * 28 * 2


def test_a_run_that_grows_by_candidates_is_refused(tmp_path):
    engines = ScriptedEngines(Sure)
    evaljudge.run(config(tmp_path, "ABC"), engines=engines)
    more = config(tmp_path, "ABC")
    document = {"doc_id": "new", "source": "S", "candidates": [
        {"system": s, "text": f"text {n}"} for n, s in enumerate("AB")]}  # fmt: skip
    with Path(more["corpus"]).open("a") as file:
        file.write("\n" + json.dumps(document))
    outcome = evaljudge.run(more, engines=engines, extend=True)
    assert outcome.verdicts("pairs").num_rows == 11
    with pytest.raises(UserError, match="judges.pairs compares the texts of a document with"):
        evaljudge.run(config(tmp_path, "ABCD"), engines=engines, extend=True)


def test_the_report_says_where_ranks_are_used_across_documents(tmp_path):
    """Also of what is made of them, and where they select and are calibrated."""
    spec = config(tmp_path, "ABC", judges={"direct": {"steps": False}, "mine": {"judge": "pairs"}})
    spec |= {
        "coverage_floor": 0, "mixes": {"mixed": "mine + 0.5*mine.bradley-terry"},
        "combine": {"jury": {"of": ["mixed", "mine"], "by": "median"}}, "calibrate": ["mine"],
        "select": [{"name": "top", "all": [
            {"scorer": "jury", "axis": "fluency", "at_least": 0.7},
            {"scorer": "direct", "axis": "fluency", "at_least": 3}]}],
    }  # fmt: skip
    found = evaljudge.run(spec, engines=ScriptedEngines(Sure)).findings
    made = ["mine", "mine.bradley-terry", "mixed", "jury", "mine.calibrated"]
    assert found.within_documents == made
    uses = [one for one in found.warnings if "takes the top" in one or "calibrated, it is" in one]
    assert [one.partition(" orders the texts")[0] for one in uses] == [
        "select.top: jury", "calibrate: mine"
    ]  # fmt: skip
    report = (tmp_path / "out/report/agreement.md").read_text()
    note = f"{', '.join(made)}: ordered within each document; "
    mean = f"{note}a system's mean depends on which other systems are in the run."
    assert report.count(mean) == 2  # at system level, and beside the systems' means
    assert report.count(f"{note}those of different documents do not compare") == 1
    sample = report.partition("## Sample level")[2].partition("## System level")[0]
    assert "| mine" in sample
    assert note not in sample
