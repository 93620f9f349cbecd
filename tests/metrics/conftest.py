"""A BERT made on the spot, for metrics over masked language models."""

from pathlib import Path
from typing import Any

import pytest

from tests.metrics.tiny_models import bert


@pytest.fixture(scope="session")
def make_bert(tmp_path_factory):
    """A folder with a tiny BERT of an architecture; 64 positions, so that a long text is read in
    several windows."""

    def make(architecture: str = "BertForMaskedLM", **config: Any) -> Path:
        return bert(tmp_path_factory.mktemp("bert"), architecture, **config)

    return make


@pytest.fixture(scope="session")
def tiny_bert(make_bert):
    return make_bert()
