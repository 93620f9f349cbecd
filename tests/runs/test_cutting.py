"""How a corpus is cut: by what its cases cost, and by nothing else."""

from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.config import load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.runs import binding
from evaljudge.runs.asked import tokens_of
from evaljudge.runs.binding import MOST_TOKENS, bind_and_cut, cut_by_cost
from evaljudge.runs.job import make_job
from evaljudge.storage import claimed
from tests import build

pytestmark = pytest.mark.usefixtures("no_fsync")
COSTS = st.lists(st.floats(0, 2 * MOST_TOKENS) | st.floats(0, MOST_TOKENS / 50), max_size=400)


@given(COSTS, st.integers(1, 40))
def test_pieces_keep_the_order_are_full_and_are_never_too_large(costs, most):
    cases: Any = list(enumerate(costs))
    pieces = list(cut_by_cost(cases, lambda case: case[1], most))  # type: ignore[index]
    assert list(chain.from_iterable(pieces)) == cases

    def fits(piece: list[Any]) -> bool:
        return len(piece) <= most and sum(cost for _, cost in piece) <= MOST_TOKENS

    assert all(fits(piece) or len(piece) == 1 for piece in pieces)
    assert not any(fits([*piece, after[0]]) for piece, after in pairwise(pieces))


def cases_of(folder: Path, rows: list[dict[str, Any]], **changes: Any) -> list[int]:
    """How many cases each shard has."""
    build.jsonl(folder / "cases.jsonl", rows)
    out = str(folder / f"out{len(list(folder.iterdir()))}")
    made = build.config(folder, out=out, judges={"direct": {}}) | changes
    with claimed(out) as claim:
        job = make_job(load_config(made), ScriptedEngines())
        return [shard.cases for shard in bind_and_cut(job, claim).shards()]


def test_the_cut_depends_on_the_corpus_and_on_what_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(binding, "MOST_TOKENS", 2_000)
    rows = [build.document(n) for n in range(300)]
    rows[150] |= {"source": "long " * 20_000}
    first = cases_of(tmp_path, rows)
    assert sum(first) == 300 and len(first) >= 64 and set(first) == {4, 2, 1}
    assert first.index(1) == 38, "the giant is a shard of its own"
    workers = {"executor": "ray", "min": 3, "max": 8}
    assert cases_of(tmp_path, rows, workers=workers) == first
    more = {"judges": {"direct": {}, "synthetic": {"levels": 9}}, "axes": ["fluency", "coherence"]}
    assert max(cases_of(tmp_path, rows, **more)) < max(first)
    metrics = {"judges": {}, "metrics": ["words"]}
    assert cases_of(tmp_path, rows, **metrics) == [4] * 75


def test_texts_that_stand_alone_are_refused_where_they_are_compared(tmp_path):
    rows, pairs = [build.document(n, "A" * (n < 3)) for n in range(4)], {"judges": {"pairs": {}}}
    with pytest.raises(UserError, match=r"no document of .* has two: give each document"):
        cases_of(tmp_path, rows, **pairs)
    assert cases_of(tmp_path, [build.document(4), *rows], **pairs) == [1] * 5


def test_few_documents_are_a_shard_each_and_many_are_large_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(binding, "MOST_CASES", 8)
    assert cases_of(tmp_path, [build.document(n) for n in range(36)]) == [1] * 36
    assert cases_of(tmp_path, [build.document(n, "A") for n in range(8 * 70)]) == [8] * 70


def test_what_a_cache_holds_costs_nothing_again():
    """So many more texts of a document cost less than so many more documents."""

    def cost(*texts: str, source: str) -> float:
        config = build.config(Path(), judges={"direct": {}})
        job = make_job(load_config(config), ScriptedEngines())
        return tokens_of(job, build.case(*texts, source=source))

    source = "The river rose. " * 500
    one, two = (cost(*texts, source=source) for texts in (["a"], ["a", "b"]))
    assert len(source) / 4 < one < two < 1.1 * one
    assert cost("a", source=2 * source) - one == pytest.approx(len(source) / 4, rel=0.01)
