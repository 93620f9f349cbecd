"""Paraphrased instructions: how they are written, and that the fairest one is kept."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping
from math import exp, log
from typing import Any

import pytest

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.judges.pairs.instructions import document_fairness, fairest, fairness, first_place
from evaljudge.judges.pairs.judge import PairsJudge
from evaljudge.judges.pairs.view import verdict_columns
from evaljudge.judges.shared.counting import Sums, add
from evaljudge.model.asks import Failed, Options, Prompt, Writing
from evaljudge.records import Brief, Candidate, Case, Document, Verdict
from tests.judges.pairs.builders import config, judge

PULL = {"version 1": 0.4, "version 2": -1.0, "version 3": 3.0}
"""The log-odds that each paraphrase gives the first place; ours gives 2."""
CASE = Case(Document("d1", "S"), tuple(Candidate(s, f"text {n}") for n, s in enumerate("ABC")))


class Biased(Scripted):
    """Prefers the greater number by log-odds of 1, and a place by the words of the instruction."""

    def __init__(self) -> None:
        super().__init__(writes=self._write, chooses=self._compare)
        self.written = Counter[str]()

    def _write(self, prompt: Prompt, how: Writing) -> str | Failed:
        (number,) = re.findall(r"This is version (\d)", prompt.text)
        self.written[prompt.text] += 1
        return Failed("cut") if number == "4" else f" Compare them: version {number}.\n"

    def _compare(self, prompt: Prompt, options: Options) -> Mapping[str, float] | Failed:
        first, second = (int(n) for n in re.findall(r"text (\d+)\n</", prompt.text))
        named = [pull for words, pull in PULL.items() if f"Compare them: {words}." in prompt.text]
        is_ours = "Compare the following two texts" in prompt.text
        assert len(named) + is_ours == 1
        odds = (1 if first > second else -1) + (2.0 if is_ours else named[0])
        return {"First": -log(1 + exp(-odds)), "Second": -log(1 + exp(odds))}


def done(judge: PairsJudge, model: Scripted) -> tuple[list[Brief], dict[str, Verdict]]:
    briefs = asyncio.run(judge.brief(CASE.document, [], model))
    return briefs, {v.system: v for v in asyncio.run(judge.verdicts(CASE, briefs, model)).verdicts}


def tried_on(ranked: int, answered: int = 0, first: float = 0.0) -> Sums:
    return {"ranked": ranked, "answered": answered, "first": first}


def test_fairness_by_hand():
    """The example of the module."""
    tried = {n: tried_on(600, 100, 100 * p) for n, p in (("0", 0.62), ("1", 0.53), ("2", 0.41))}
    tried["3"] = tried_on(580, 97, 97 * 0.5)
    assert list(map(fairness, tried.values())) == pytest.approx([0.76, 0.94, 0.82, 1])
    assert fairest(tried) == "1"
    assert fairest({"10": tried_on(1, 1, 0.6), "9": tried_on(1, 1, 0.4)}) == "9"
    assert fairest({"0": tried_on(2)}) == "0"
    # the first instruction decides every pair by quality, though the first place adds to it; the
    # second one always says First, and is hardly sure of it
    decided = document_fairness([{"comparisons": [comparison("B", 1.3, -0.7)]}])
    undecided = document_fairness([{"comparisons": [comparison("B", 0.08, 0.08)]}])
    assert (first_place(decided), first_place(undecided)) == (0.5, 1)
    assert fairest({"0": decided, "1": undecided}) == "0"
    # answers for the first text: 1, 0 and a half; each document counts alike
    one = document_fairness([{"comparisons": [comparison("B", 2), comparison("C", -1)]},
                             {"comparisons": [comparison("A", 0)]}])  # fmt: skip
    add(one, document_fairness([{"comparisons": [comparison("B", 1)]}]))
    assert (one["ranked"], one["answered"], first_place(one)) == (3, 2, 0.75)
    assert document_fairness([{"comparisons": []}]) == tried_on(1)


def comparison(other: str, first: float, second: float | None = None) -> dict[str, Any]:
    """By the log-odds of the first place, when the text stood there and when the other did."""
    shown = {"first": first} | ({} if second is None else {"second": second})
    answers = {place: {"First": -log(1 + exp(-odds)), "Second": -log(1 + exp(odds))}
               for place, odds in shown.items()}  # fmt: skip
    return {"other": other, **answers}


def test_every_instruction_is_asked_and_the_fairest_is_kept():
    asker = judge(optimise="fairness", paraphrases=3, method="round_robin")
    briefs, verdicts = done(asker, Biased())
    assert [(b.part, b.content["text"]) for b in briefs] == [
        (f"instruction-{n}", f"Compare them: version {n}.") for n in (1, 2, 3)
    ]
    tried = verdicts["A"].evidence["instructions"]
    assert list(tried) == ["0", "1", "2", "3"]
    kept = asker.fit(verdicts.values(), dict)
    found = kept["fluency"]
    assert found["kept"] == "1"
    # ours: 2 ± 1, always the first; .4 ± 1 never by the place; −1 ± 1, a tie and the second; 3 ± 1
    assert list(found["first_place"].values()) == [1, 0.5, 0.25, 1]
    assert found["texts"] == {"0": 3, "1": 3, "2": 3, "3": 3}
    assert [asker.score_by(kept, verdicts[s])[0].value for s in "ABC"] == [0, 0.5, 1]


def test_no_text_is_given_up_for_fairness():
    """Half of the texts cannot be compared with the fairest instruction, which is longer."""

    class Long(Biased):
        def _compare(self, prompt: Prompt, options: Options) -> Mapping[str, float] | Failed:
            is_long = "version 1." in prompt.text and "text 2" in prompt.text
            return Failed("prompt too long") if is_long else super()._compare(prompt, options)

    asker = judge(optimise="fairness", paraphrases=2, method="round_robin")
    _, verdicts = done(asker, Long())
    kept = asker.fit(verdicts.values(), dict)
    assert kept["fluency"] == {
        "kept": "2", "texts": {"0": 3, "1": 2, "2": 3},
        "first_place": {"0": 1, "1": 0.5, "2": 0.25},
    }  # fmt: skip
    assert all(asker.score_by(kept, verdict)[0].value is not None for verdict in verdicts.values())


def test_a_paraphrase_that_failed():
    _, verdicts = done(judge(instruction=4), Biased())
    reason = "no instruction 4 on fluency: cut"
    assert {(v.status, v.reason) for v in verdicts.values()} == {("unscored", reason)}
    asker = judge(optimise="fairness", paraphrases=4)
    _, verdicts = done(asker, Biased())
    assert verdicts["A"].evidence["instructions"]["4"] == {"failed": reason}
    fitted = asker.fit(verdicts.values(), dict)
    assert fitted["fluency"]["kept"] == "1"
    (row,) = verdict_columns([verdicts["A"].evidence])
    assert not {"rank", "comparisons"} & row.keys()
    assert row["instructions"] is not None
    assert [one.get("failed") for one in row["instructions"]] == [None] * 4 + [reason]


def test_a_run_says_what_was_tried(tmp_path):
    how = {"optimise": "fairness", "paraphrases": 3, "method": "round_robin"}
    spec = config(tmp_path, "ABCD", judges={"pairs": how})
    model = Biased()
    engines = ScriptedEngines(lambda: model)
    planned = evaljudge.plan(spec, engines=engines).total.asks
    outcome = evaljudge.run(spec, engines=engines)
    assert outcome.coverage == 1.0
    assert set(model.written.values()) == {1}  # once for all documents
    comparisons = 3 * 6 * 2 * 4
    assert planned == comparisons + 3
    assert sum(v["tokens"]["asks"] for v in outcome.verdicts("pairs").to_pylist()) == comparisons
    fitted = json.loads((tmp_path / "out/report/fitted.json").read_text())
    assert fitted["pairs"]["fluency"]["kept"] == "1"
    tried = json.loads((tmp_path / "out/report/pairs.json").read_text())
    assert [(row["instruction"], row["kept"], row["text"]) for row in tried] == [
        ("0", False, ""), ("1", True, "Compare them: version 1."),
        ("2", False, "Compare them: version 2."), ("3", False, "Compare them: version 3."),
    ]  # fmt: skip
    page = (tmp_path / "out/report/agreement.md").read_text()
    assert "Instructions that were tried" in page
    assert "| 1 (kept)" in page
    signatures = set(outcome.scores().column("signature").to_pylist())
    assert all("fitted" in one and "optimise" in one for one in signatures)

    others = (tmp_path / "cases.jsonl").read_text().replace(': "d', ': "e').replace("river", "lake")
    (tmp_path / "others.jsonl").write_text(others)
    spec |= {
        "corpus": str(tmp_path / "others.jsonl"), "out": str(tmp_path / "rest"),
        "briefs": str(tmp_path / "out/briefs"), "judges": {"pairs": {"instruction": 1}},
    }  # fmt: skip
    rest = evaljudge.run(spec, engines=engines)
    assert rest.coverage == 1.0
    assert set(model.written.values()) == {1}  # the same words, although for other documents
