"""What tests share: tiny checkpoints (random weights), made once for a session."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from evaljudge.engines.tiny import make_tiny_model

# The same examples every time: a run's outcome must not depend on luck. To look for new ones:
# pytest --hypothesis-profile=search
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile("steady")

SHARED = Path(__file__).parents[2] / "shared" / "data"
PROSE = (
    "The river rose after two days of rain and the town council closed the old bridge. "
    "Better boats were sent from the city; worse weather was forecast, similar to last year. "
    'Article, summary, reference, target: <tags> and </tags>, numbers 1 2 3 4 5, and "quotes".'
)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    made: dict[str, Path] = {}

    def make(pieces: str = "bytes", chat: bool = True, **more: int) -> Path:
        name = "-".join(map(str, [pieces, chat, *more.values()]))
        if name not in made:
            folder = tmp_path_factory.mktemp("tiny") / name
            made[name] = make_tiny_model(folder, _texts(), pieces=pieces, chat=chat, **more)  # type: ignore[arg-type]
        return made[name]

    return make


def _texts() -> list[str]:
    """Prose to train a tokenizer on: the shared articles where they are there, and our own."""
    file = SHARED / "summeval.jsonl"
    lines = file.read_text().splitlines()[:40] if file.exists() else []
    return [json.loads(line)["source"] for line in lines] + [PROSE] * 20
