"""What is settled as a model is loaded: arguments, and what vLLM would look up for each request."""

from __future__ import annotations

import hashlib

from evaljudge.engines import ModelSource
from evaljudge.engines.loading import _arguments, _remember_end
from evaljudge.engines.vllm import _Key


class Looking:
    """As transformers' tokenizers, it finds its special ids only when they are wanted."""

    def __init__(self) -> None:
        self.looked = 0

    def __getattr__(self, name: str) -> int:
        self.looked += 1
        return 7


def test_the_end_of_a_text_is_looked_up_once() -> None:
    tokenizer = Looking()
    _remember_end(tokenizer)
    assert [tokenizer.eos_token_id for _ in range(3)] == [7, 7, 7]
    assert tokenizer.looked == 1


def test_whether_prefixes_are_kept_is_for_vllm_to_say_and_for_the_user() -> None:
    assert "enable_prefix_caching" not in _arguments(ModelSource("m"), "m", 0)
    off = ModelSource("m", engine={"enable_prefix_caching": False})
    assert _arguments(off, "m", 0)["enable_prefix_caching"] is False


def test_a_draw_s_key_is_that_of_the_whole_prompt() -> None:
    key = _Key(3, [(1, 2), (), (3,)])
    assert str(key) == hashlib.sha256(b"3 (1, 2, 3)").hexdigest()
    assert str(key) == str(_Key(3, [(1,), (2, 3)]))
