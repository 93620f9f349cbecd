"""Texts in memory scored from Python: once, or again and again by one engine that stays loaded."""

import asyncio
import gc
import json
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import evaljudge
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.config import load_config
from evaljudge.engines import ModelSource
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import EngineDead, UserError
from evaljudge.model.asks import Prompt
from evaljudge.runs import job, scorer
from tests.build import Counted as Engines
from tests.build import numbered as texts
from tests.build import refusal, stored

SYNTHETIC = {"synthetic": {"levels": 2, "checks": {"neighbours": 0, "exchanged": 0}}}
PAGE = Path(__file__).parents[1] / "docs/python.md"
USUAL: dict[str, Any] = {"judges": SYNTHETIC, "model": "scripted", "axes": ["fluency"]}


def values(out: str) -> dict[tuple[str, ...], float | None]:
    rows = stored(Path(out) / "scores")
    return {(r["doc_id"], r["system"], r["axis"], r["scorer"]): r["value"] for r in rows}


def as_run(folder: Path, cases: Any, engines: Any, **settings: Any) -> dict[Any, Any]:
    given = {
        "corpus": cases, "out": str(folder / "as-run"), "workers": {"executor": "local"}, "view": 1,
    }  # fmt: skip
    return values(evaljudge.run(given | settings, engines=engines, progress=False).out)


# once


def test_a_score_is_that_of_a_run_and_lives_as_long_as_its_outcome(tmp_path):
    outcome = evaljudge.score(texts(1, 2), **USUAL, engines=ScriptedEngines())
    assert outcome.coverage == 1
    assert values(outcome.out) == as_run(tmp_path, texts(1, 2), ScriptedEngines(), **USUAL)
    folder = Path(outcome.out)
    assert (folder / "report/index.html").is_file()
    del outcome
    gc.collect()
    assert not folder.parent.exists()


@pytest.mark.parametrize(
    ("judges", "scorers"),
    [
        ("geval", {"geval"}),
        (["geval", "direct"], {"geval", "direct"}),
        ({"mine": {"judge": "geval"}}, {"mine"}),
        ((), set()),
        (None, {"synthetic"}),
    ],
)
def test_judges_are_a_name_names_or_settings(judges, scorers):
    given = USUAL | {"judges": judges}
    outcome = evaljudge.score(texts(1), **given, metrics="words", engines=ScriptedEngines())
    assert {key[3].partition(".")[0] for key in values(outcome.out)} == {*scorers, "words"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": None}, "model: judges need one"),
        ({"judges": "synthetik"}, "did you mean 'synthetic'"),
        ({"axes": ["fluencey"]}, "did you mean 'fluency'"),
        ({"sede": 1}, "did you mean 'seed'"),
        ({"corpus": "c.jsonl"}, "corpus: the texts are the first argument of `score`"),
        ({"study": {"judges": ["geval"]}}, "study: `score` has no grid"),
        ({"workers": {"executor": "ray"}}, "workers: `score` works in this process alone"),
    ],
)
def test_a_mistake_shows_before_anything_is_loaded(given, said):
    engines = Engines()
    assert said in refusal(evaljudge.score, texts(1), **USUAL | given, engines=engines)
    assert said in refusal(evaljudge.Scorer, **USUAL | given, engines=engines)
    assert engines.opened == []


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (texts(1)[0], "cases: is one row: give a list of rows, [row]"),
        ([], "cases: holds no row"),
        (pa.table({"doc_id": []}), "cases: holds no row"),
        *(
            (
                texts_alone,
                "cases: 'Is it 3/4?': no such file or folder; a row is a dict such as "
                "{'source': 'It rained all day.', 'text': 'Rain.'}",
            )
            for texts_alone in ("Is it 3/4?", ["Is it 3/4?"])
        ),
    ],
)
def test_cases_that_are_no_rows(cases, said):
    with pytest.raises(UserError, match=f"^{re.escape(said)}$"):
        evaljudge.score(cases, **USUAL, engines=ScriptedEngines())


def test_what_is_said_to_do_can_be_done_in_python():
    frame = pd.DataFrame([{"article": "It rained.", "summary": "Rain."}])
    scorer: Any = evaljudge.Scorer(judges=[], metrics=["words"])
    columns = {"article": "source", "summary": "text"}
    advised = (
        f"give `columns={columns}` (in a configuration, `corpus: {{'path': …, 'columns': …}}`)"
    )
    assert refusal(scorer.score, frame).endswith(advised)
    assert scorer.score({"path": frame, "columns": columns}).coverage == 1
    named = evaljudge.score(frame, judges=[], metrics=["words"], columns=columns)
    assert named.coverage == 1
    rows = [{"id": 1, "source": "s", "text": "t", "by": "A"}]
    made = scorer.score({"path": rows, "columns": {"by": "system"}})
    # the columns that were named stay in the advice
    advised = "`columns={'by': 'system', 'id': 'doc_id'}`"
    assert [warning for warning in made.warnings if advised in warning]
    with pytest.raises(UserError, match=r"^seed: give it to the Scorer, Scorer\(seed=…\), not to"):
        scorer.score(frame, seed=3)


# again and again


def test_one_engine_answers_all_calls_and_is_closed_at_last(tmp_path):
    engines = Engines()
    with evaljudge.Scorer(**USUAL, engines=engines) as scorer:
        assert engines.opened == []
        first, second = scorer.score(texts(1, 2)), scorer.score(texts(3), out=str(tmp_path / "3"))
        assert (engines.identified, len(engines.opened), engines.closed) == (1, 1, 0)
    assert engines.closed == 1
    assert values(first.out) == as_run(tmp_path, texts(1, 2), ScriptedEngines(), **USUAL)
    assert second.out == str(tmp_path / "3")
    assert {key[0] for key in values(second.out)} == {"d3"}


@pytest.mark.parametrize("more", [{}, {"geval": {"model": "other"}}])
def test_a_writer_stays_open_beside_the_judge(more):
    engines, given = Engines(), USUAL | {"judges": SYNTHETIC | more, "writer": "other"}
    with evaljudge.Scorer(**given, engines=engines) as scorer:
        for n in range(3):
            assert scorer.score(texts(n)).coverage == 1
        assert sorted(engines.opened) == ["other", "scripted"]
    assert engines.closed == 2


def test_a_scorer_that_is_dropped_frees_its_engine():
    engines = Engines()
    for _ in range(3):  # a notebook's cell, run again and again
        scorer = evaljudge.Scorer(**USUAL, engines=engines)
        scorer.score(texts(1))
    assert (len(engines.opened), engines.closed) == (3, 2)
    del scorer
    assert engines.closed == 3


def test_people_rate_no_texts_whose_key_would_be_gone(tmp_path):
    outcome = evaljudge.score(texts(1), **USUAL, engines=Engines())
    with pytest.raises(UserError, match="run: this outcome's folder is temporary"):
        evaljudge.label(outcome, tmp_path / "sheet.csv")
    assert "label" not in repr(outcome)


def test_a_scorer_says_what_it_is():
    scorer = evaljudge.Scorer(**USUAL, metrics="words", engines=Engines())
    assert repr(scorer) == "Scorer(synthetic, words with scripted; not loaded)"
    outcome = scorer.score(texts(1))
    assert repr(scorer) == "Scorer(synthetic, words with scripted; loaded)"
    shown = f"Findings({outcome.out}: 1 document, 2 texts, 100.0% scored)"
    assert repr(outcome.findings) == shown
    for _ in range(2):
        scorer.close()
    assert repr(scorer) == "Scorer(synthetic, words with scripted; closed)"
    with pytest.raises(UserError, match="this Scorer is closed.*make another"):
        scorer.score(texts(1))
    with pytest.raises(UserError, match="out: a Scorer has no folder of its own"):
        evaljudge.Scorer(**USUAL, out="somewhere", engines=Engines())


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), UserError("no"), RuntimeError("ours")], ids=repr
)
def test_an_error_leaves_the_scorer_as_it_was_and_no_temporary_folder(error, tmp_path, monkeypatch):
    def answers(prompt: Prompt) -> None:
        if "number 1." in prompt.text:
            raise error

    engines = Engines(answers=answers)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with evaljudge.Scorer(**USUAL, engines=engines) as scorer:
        with pytest.raises(type(error)):
            scorer.score(texts(0, 1, 2))
        assert "no row of the corpus has a field `text`" in refusal(scorer.score, [{"source": "a"}])
        assert os.listdir(tmp_path) == []
        assert scorer.score(texts(2, 3)).coverage == 1
        assert (len(engines.opened), engines.closed) == (1, 0)
    assert engines.closed == 1


def test_an_engine_that_died_is_loaded_again(capsys):
    times = iter([True, False])

    def answers(prompt: Prompt) -> None:
        if "number 1." in prompt.text and next(times, False):
            raise EngineDead("it was too much")

    engines = Engines(answers=answers)
    with evaljudge.Scorer(**USUAL, engines=engines) as scorer:
        assert scorer.score(texts(0, 1)).coverage == 1
        assert (len(engines.opened), engines.closed) == (2, 1)
        assert scorer.score(texts(2)).coverage == 1
        assert len(engines.opened) == 2
    assert engines.closed == 2
    assert "the engine died and is loaded again" in capsys.readouterr().err


def test_threads_take_turns():
    at_work, most, changing = 0, 0, threading.Lock()

    def answers(prompt: Prompt) -> None:
        nonlocal at_work, most
        with changing:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.001)
        with changing:
            at_work -= 1

    given = USUAL | {"engines": Engines(answers=answers)}
    with (
        evaljudge.Scorer(**given) as scorer,
        evaljudge.Scorer(**given) as other,
        ThreadPoolExecutor(4) as threads,
    ):
        once = partial(evaljudge.score, **given)
        calls = enumerate([scorer.score, other.score, once, scorer.score])
        outcomes = list(threads.map(lambda call: call[1](texts(call[0])), calls))
    assert [{key[0] for key in values(one.out)} for one in outcomes] == [
        {f"d{n}"} for n in range(4)
    ]
    assert (most, len(given["engines"].opened)) == (1, 3)


# in a loop, in a thread


def everything(folder: Path) -> list[float]:
    """All of the Python API that asks or plans."""
    given = USUAL | {"corpus": texts(1), "out": str(folder / "all")}
    engines, found = ScriptedEngines(), list[float]()
    assert evaljudge.plan(given, engines=engines).cases == 1
    for work in (evaljudge.prepare, evaljudge.judge):
        work(given, engines=engines)
    reports = (evaljudge.make_report, evaljudge.run)
    found += [report(given, engines=engines).coverage for report in reports]
    found.append(evaljudge.score(texts(1), **USUAL, engines=engines).coverage)
    with evaljudge.Scorer(**USUAL, engines=engines) as scorer:
        found.extend(scorer.score(texts(n)).coverage for n in range(2))
    return found


@pytest.mark.parametrize("where", ["a loop that runs", "another thread"])
def test_everything_works_wherever_it_is_called(where, tmp_path):
    async def cell() -> list[float]:
        return everything(tmp_path)

    if where == "another thread":
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(everything, tmp_path).result() == [1.0] * 5
    else:
        assert asyncio.run(cell()) == [1.0] * 5


# what is shown meanwhile


def test_a_score_of_a_moment_shows_nothing_and_a_longer_one_what_it_does(capsys, monkeypatch):
    evaljudge.score(texts(1), **USUAL, engines=ScriptedEngines())
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(scorer, "A_MOMENT", 0.05)
    slow = ScriptedEngines(lambda: Scripted(delay=0.1))
    evaljudge.score(texts(1), **USUAL, engines=slow)
    printed = capsys.readouterr()
    assert len(printed.err.splitlines()) > 1 and printed.out == ""
    evaljudge.score(texts(1), **USUAL, engines=slow, progress=False)
    assert capsys.readouterr() == ("", "")


# runs of a corpus in memory


def test_a_run_of_rows_is_resumed_refused_and_whole(tmp_path):
    given, engines = USUAL | {"out": str(tmp_path / "out")}, Engines()
    for _ in range(2):
        evaljudge.run(given | {"corpus": texts(1, 2)}, engines=engines, progress=False)
    assert len(engines.opened) == 1
    with pytest.raises(UserError, match=r"run: corpus is not the same\. Take another"):
        evaljudge.run(given | {"corpus": texts(1, 3)}, engines=engines, progress=False)
    grown = given | {"corpus": texts(1, 2, 3)}
    outcome = evaljudge.run(grown, engines=engines, extend=True, progress=False)
    assert {key[0] for key in values(outcome.out)} == {"d1", "d2", "d3"}
    name = load_config(grown).corpus_name
    assert outcome.findings.corpus == name
    assert [json.loads(line) for line in Path(name).read_text().splitlines()] == texts(1, 2, 3)


# with the judge in the box

NANO: dict[str, Any] = {
    "judges": {"synthetic": {"levels": 2, "max_tokens": 96}},
    "model": {"source": "nano", "engine": {"kv_cache_memory_bytes": 1 << 28}},
    "prompts": "nano",
    "axes": ["fluency"],
}


def of_the_world(seed: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in as_jsonl(make_cases(2, seed=seed)).splitlines()]


@pytest.mark.long
@pytest.mark.engine
def test_a_warm_engine_answers_as_a_new_run_does(tmp_path, shared_engines):
    cold = as_run(tmp_path, of_the_world(2), shared_engines, **NANO)

    async def cell() -> dict[Any, Any]:
        with evaljudge.Scorer(**NANO, engines=shared_engines) as scorer:
            scorer.score(of_the_world(1))
            outcome = scorer.score(of_the_world(2))  # its folder lives as long as it does
            return values(outcome.out)

    assert asyncio.run(cell()) == pytest.approx(cold, abs=1e-3)
    assert any(value is not None for value in cold.values())


@pytest.mark.engine
def test_the_examples_of_the_page_do_what_they_say(shared_engines, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small, opened = ModelSource(**NANO["model"]), shared_engines.open
    monkeypatch.setattr(shared_engines, "open", lambda _, seed: opened(small, seed))
    for module in (job, scorer):
        monkeypatch.setattr(module, "VllmEngines", lambda: shared_engines)
    _, _, after = PAGE.read_text().partition("## Score a few texts")
    mine, _, _ = after.partition("## Open a finished run")
    said: dict[str, Any] = {}
    for example in re.findall(r"^```python\n(.*?)^```$", mine, re.MULTILINE | re.DOTALL):
        exec(example, said)
    assert said["second"].coverage == 1
    assert {row[3] for row in values("runs/rows")} == {"words"}
