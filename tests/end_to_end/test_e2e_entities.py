"""The judge of entities on the real engine, over three SummEval documents: a run, and by itself.

The model is tiny and random: what it says means nothing, but it says it under a schema, and votes.
"""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evaljudge import run
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.engines import Engine, ModelSource
from evaljudge.judges import make_judges
from evaljudge.judges.shared.structured import CUT
from evaljudge.prompts import load_task
from evaljudge.records import Case, Verdict
from tests.tiny import make_tiny_model

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "summeval.jsonl"
SETTINGS = {"at_least": 1, "most_entities": 3, "max_tokens": 1024, "votes": "modelled"}
ENGINE = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 28, "block_size": 32}
SYSTEMS = 3
LEAST_SHARE = 0.9
"""Of what is prefilled, that which no cache could have saved."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not CORPUS.exists():
        pytest.skip("the shared human judgements are not here")
    folder = tmp_path_factory.mktemp("entities")
    lines = CORPUS.read_text().splitlines()
    rows = [json.loads(line) for line in lines[:3]]
    cut = (row | {"candidates": row["candidates"][:SYSTEMS]} for row in rows)
    (folder / "three.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in cut))
    answers = "Yes No Contradict Partially Unknown " * 500  # a token each, as of any real model
    texts = [answers, *(json.loads(line)["source"] for line in lines[:40])]
    make_tiny_model(folder / "tiny", texts)
    return folder


def model_of(folder: Path) -> dict[str, Any]:
    return {"source": str(folder / "tiny"), "engine": ENGINE, "least_mass": 0}


@pytest.fixture(scope="module")
def finished(folder: Path, shared_engines: Any) -> Path:
    config = {
        "corpus": str(folder / "three.jsonl"),
        "out": str(folder / "out"),
        "model": model_of(folder),
        "judges": {"entities": SETTINGS},
        "coverage_floor": 0.5,
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    assert run(config, engines=shared_engines).exit_code == 0
    return folder / "out"


def told(table: Path, column: str) -> list[dict[str, Any]]:
    return [json.loads(row[column]) for row in pq.read_table(table).to_pylist()]


@pytest.mark.engine
def test_every_reply_that_ended_parses_and_the_share_of_cut_ones_is_said(finished: Path) -> None:
    replies: Counter[str] = Counter()
    for one in (*told(finished / "briefs", "content"), *told(finished / "verdicts", "evidence")):
        replies.update(one["replies"])
    print(f"structured replies: {dict(replies)}, {replies['cut'] / replies['structured']:.1%} cut")
    assert replies["structured"] > 3 * 11 + 3 * SYSTEMS
    assert replies["malformed"] == 0


@pytest.mark.engine
def test_what_has_a_verdict_has_a_score_and_all_else_its_reason(finished: Path) -> None:
    rows = pq.read_table(finished / "scores").to_pylist()
    counts = Counter((row["scorer"], row["axis"]) for row in rows)
    assert set(counts.values()) == {3 * SYSTEMS}
    assert all((row["value"] is None) == bool(row["reason"]) for row in rows)
    scored = Counter(row["scorer"] for row in rows if row["status"] == "ok")
    assert (
        scored["entities.completeness"] == 3 * SYSTEMS
    )  # `at_least: 1`: every document has a rubric
    assert scored["entities.readability"] == 3 * SYSTEMS
    assert scored["entities.correctness"] == scored["entities.correctness.modelled"] > 0
    fitted = json.loads((finished / "report/fitted.json").read_text())
    assert fitted["entities"]["completeness"]["identified"]


@pytest.mark.engine
def test_prompts_of_one_document_share_their_prefixes(finished: Path) -> None:
    rows = json.loads((finished / "run.json").read_text())["asked"]
    prompt, prefilled, floor = (
        sum(row[what] for row in rows) for what in ("prompt", "prefilled", "floor")
    )
    print(f"prefilled/prompt {prefilled / prompt:.3f}, floor/prefilled {floor / prefilled:.3f}")
    assert floor / prefilled >= LEAST_SHARE
    assert prefilled < prompt / 2


# the judge by itself


@pytest.fixture(scope="module")
def engine(folder: Path, shared_engines: Any) -> Engine:
    source = model_of(folder)
    return shared_engines.open(ModelSource(source["source"], engine=source["engine"]), 0)  # type: ignore[no-any-return]


@pytest.fixture
def case(folder: Path) -> Case:
    with open_corpus(CorpusSource(str(folder / "three.jsonl"))) as corpus:
        first = next(iter(corpus))
    return replace(first, candidates=first.candidates[:2])


def judged(case: Case, engine: Engine, **settings: Any) -> list[Verdict]:
    (judge,) = make_judges({"entities": SETTINGS | settings}, load_task("summary"))

    async def both_stages() -> list[Verdict]:
        briefs = await judge.brief(case.document, [], engine)
        return (await judge.verdicts(case, briefs, engine)).verdicts

    return asyncio.run(both_stages())


@pytest.mark.engine
def test_by_itself_its_verdicts_are_the_same(case: Case, engine: Engine, finished: Path) -> None:
    there = {
        (row["doc_id"], row["system"]): json.loads(row["evidence"])
        for row in pq.read_table(finished / "verdicts").to_pylist()
    }
    for verdict in judged(case, engine):
        assert rounded(verdict.evidence) == rounded(there[verdict.doc_id, verdict.system])


def rounded(evidence: Any) -> Any:
    """A batch's company moves the last digits of a probability."""
    if isinstance(evidence, dict):
        return {key: rounded(value) for key, value in evidence.items()}
    if isinstance(evidence, list):
        return [rounded(value) for value in evidence]
    return round(evidence, 3) if isinstance(evidence, float) else evidence


@pytest.mark.engine
def test_a_reply_cut_by_its_limit_is_unscored_for_that_reason(case: Case, engine: Engine) -> None:
    for verdict in judged(case, engine, max_tokens=8):
        assert verdict.evidence["failed"] == {
            "rubric": f"no reference's entities could be had: {CUT}",
            "entities": CUT,
        }
        assert verdict.evidence["replies"] == {"structured": 1, "cut": 1, "malformed": 0}


@pytest.mark.engine
def test_reasons_are_written_under_the_schema(case: Case, engine: Engine) -> None:
    one = replace(case, candidates=case.candidates[:1])
    (verdict,) = judged(one, engine, reasoning=True, batch=4, rubric="source", max_tokens=3000)
    votes = [
        vote for sentence in verdict.evidence["sentences"] for vote in sentence["votes"].values()
    ]
    assert votes
    assert all(vote["answer"] in ("yes", "no") or vote == {"failed": CUT} for vote in votes)
    assert verdict.evidence["replies"]["malformed"] == 0


# the rubric is a brief
