"""A real server of vLLM: what is read through it is what the engine in this process reads."""

import asyncio
import threading
import time
from dataclasses import replace
from itertools import chain
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from evaljudge import run
from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.bundled.world import make_cases
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.endpoint.client import Client
from evaljudge.engines.endpoint.model import EndpointModel
from evaljudge.engines.endpoint.served import _by_text
from evaljudge.engines.endpoint.settings import Endpoint
from evaljudge.judges import make_judges
from evaljudge.model.asks import Chosen, Options, Prompt, Writing
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document
from evaljudge.runs.asked import Recording, dry_run
from tests.build import config, document, jsonl, stored
from tests.engines.conftest import SMALL
from tests.engines.test_exact import CASES, PROMPTS
from tests.engines.vllm_server import VllmServer, serving

pytestmark = pytest.mark.engine
CLOSE = 1e-3


@pytest.fixture(scope="module")
def server(tiny, tmp_path_factory):
    with serving(tiny(), tmp_path_factory.mktemp("served") / "log") as one:
        yield one


def source(server: VllmServer, **settings: Any) -> ModelSource:
    return ModelSource("m", endpoint=Endpoint(url=server.url, **settings))


def partly(server: VllmServer, top: int) -> EndpointModel:
    """The model as on a server that shows its most probable tokens and no more."""
    meant = source(server, widest=1.0)
    client = Client(meant.endpoint)
    served = replace(_by_text(client, meant, "m"), top=top)
    return EndpointModel(client, served, meant, seed=0)


def test_it_answers_as_the_engine_here(server, engine):
    here, there = engine(), VllmEngines().open(source(server), seed=0)

    async def replies(model: Any) -> list[Any]:
        chosen = [await model.choose(PROMPTS, Options(names), 5) for names in CASES.values()]
        texts = ["A flood closed the bridge." * n for n in (1, 3, 20)]
        return [chosen, await model.weigh(PROMPTS, texts), await model.write(PROMPTS, Writing(20))]

    ours, theirs = (asyncio.run(replies(model)) for model in (here, there))
    there.close()
    for one, other in zip(*(chain.from_iterable(all_[0]) for all_ in (ours, theirs)), strict=True):
        assert one.p == pytest.approx(other.p, abs=CLOSE)
        assert one.samples == other.samples
    for one, other in zip(ours[1], theirs[1], strict=True):
        assert [(t.start, t.end) for t in one.tokens] == [(t.start, t.end) for t in other.tokens]
        assert one.logprobs == pytest.approx(other.logprobs, abs=CLOSE)
    assert [reply.samples for reply in ours[2]] == [reply.samples for reply in theirs[2]]


def test_a_special_token_in_a_document_stays_text(server, engine):
    odd = [Prompt(("Read.\n", text, "\nAnswer"), 1) for text in ("a <pad> b", "a </s>", "<|user|>")]
    there = VllmEngines().open(source(server), seed=0)
    options = Options(CASES["a token or so each"])
    ours, theirs = (asyncio.run(model.choose(odd, options)) for model in (engine(), there))
    there.close()
    for one, other in zip(ours, theirs, strict=True):
        assert one.p == pytest.approx(other.p, abs=CLOSE)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """The demo's, which knows what it is asked."""
    with serving(CHECKPOINT, tmp_path_factory.mktemp("judge") / "log") as one:
        yield one


def comparisons(asks: int) -> list[Prompt]:
    task, made = load_task("summary", None, "nano", "paper"), list[Prompt]()
    (synthetic,) = make_judges({"synthetic": {"levels": 5}}, task)
    for row in make_cases(1 + asks // 50, seed=5):
        candidates = tuple(Candidate(c["system"], c["text"]) for c in row["candidates"])
        asked = Case(Document(row["doc_id"], row["source"]), candidates)
        made += [a.prompt for a in dry_run(synthetic, asked, [], Recording()) if a.options]
    return made[:asks]


LONGER = [("First", "Finally", "Then"), ("Mr Zelley moved", "Mr Fenwick"), ("Similar", "Similarly")]


@pytest.mark.long
@pytest.mark.parametrize("asks", [100, 1000], ids=["100", "1,000"])
@pytest.mark.parametrize("top", [5, 20])
def test_the_exact_probability_lies_within_every_stated_bound(judge, top, asks):
    exact, bounded = VllmEngines().open(source(judge), seed=0), partly(judge, top)
    wide = list[float]()
    for names in (("Better", "Worse", "Similar"), *LONGER):
        # as one text: a server does not tokenise its parts apart
        prompts = [Prompt((p.text,)) for p in comparisons(asks if not wide else asks // 5)]
        wanted, found = (
            asyncio.run(model.choose(prompts, Options(names))) for model in (exact, bounded)
        )
        for one, other in zip(wanted, found, strict=True):
            assert isinstance(one, Chosen) and isinstance(other, Chosen)
            wide.append(other.within)
            for name, p in one.p.items():
                assert abs(other.p[name] - p) <= other.within + 1e-4, (names, one, other)
    for model in (exact, bounded):
        model.close()
    assert sorted(wide[:asks])[asks // 2] < 0.1


def scored(folder: Path, model: Any, documents: int = 40) -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    jsonl(folder / "cases.jsonl", [document(n, "ABC", fluency=3) for n in range(documents)])
    judges = {"synthetic": {"levels": 3, "max_tokens": 24}, "direct": {"steps": False}}
    run(config(folder, model=model, judges=judges, axes=["fluency", "relevance"]))
    return sorted(stored(folder / "out/scores"), key=lambda row: f"{sorted(row.items())[1:4]}")


def same(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    keys = ("doc_id", "system", "scorer", "axis", "status", "reason")
    by_key = [{tuple(r[k] for k in keys): r["value"] for r in rows} for rows in (ours, theirs)]
    assert by_key[0].keys() == by_key[1].keys()
    for key, value in by_key[0].items():
        other = by_key[1][key]
        assert value == other or isclose(value, other, abs_tol=5 * CLOSE), (key, value, other)


@pytest.mark.long
def test_a_run_through_it_has_the_tables_of_a_run_here(server, tiny, tmp_path):
    least = {"least_mass": 0}
    here = scored(tmp_path / "here", {"source": str(tiny()), "engine": SMALL} | least, 4)
    there = scored(tmp_path / "there", {"endpoint": server.url, "name": "m"} | least, 4)
    assert any(row["status"] == "ok" for row in here)
    same(here, there)


@pytest.mark.long
def test_a_jury_has_an_engine_and_a_server(server, tiny, tmp_path):
    jsonl(tmp_path / "cases.jsonl", [document(n, "AB") for n in range(3)])
    least, asked = {"least_mass": 0}, {"judge": "geval", "max_tokens": 16}
    here = {"source": str(tiny()), "engine": SMALL} | least
    served = {"endpoint": server.url, "name": "m"} | least
    judges = {"here": asked, "there": asked | {"model": served}}
    jury = {"jury": {"of": ["here", "there"], "by": "mean"}}
    run(config(tmp_path, model=here, judges=judges, combine=jury))
    rows = stored(tmp_path / "out/scores")
    assert len(rows) == 3 * 2 * 3
    by_text: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        by_text.setdefault((row["doc_id"], row["system"]), {})[row["scorer"]] = row["value"]
    for text in by_text.values():
        assert text["here"] == pytest.approx(text["there"], abs=5 * CLOSE)
        assert text["jury"] == pytest.approx((text["here"] + text["there"]) / 2)


@pytest.mark.long
def test_a_server_that_is_killed_and_started_again_is_resumed_alike(tiny, tmp_path):
    with serving(tiny(), tmp_path / "log") as first:
        model = {"endpoint": {"url": first.url, "wait": 300}, "least_mass": 0}
        whole = scored(tmp_path / "whole", model)
        port = int(first.url.split(":")[2].partition("/")[0])
        found = list[list[dict[str, Any]]]()
        thread = threading.Thread(target=lambda: found.append(scored(tmp_path / "cut", model)))
        thread.start()
        time.sleep(6)
        first.kill()
        assert not found  # it was in the middle
        again = VllmServer(tiny(), tmp_path / "log", port)
        try:
            thread.join(timeout=500)
            same(whole, found[0])
        finally:
            again.kill()
