"""Chat switches reach the template; those it does not know are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from evaljudge.engines.template import read_template
from evaljudge.engines.tokens import Tokeniser
from evaljudge.errors import UserError
from evaljudge.model.asks import Prompt

THINKING = (
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>\n{% endif %}"
    "{% endif %}"
)


@pytest.fixture
def thinker(tiny: Callable[..., Path]) -> Tokeniser:
    hf = AutoTokenizer.from_pretrained(tiny("bytes"))
    hf.chat_template = THINKING
    return Tokeniser(hf)


def test_a_switch_changes_where_the_reply_begins(thinker: Tokeniser) -> None:
    plain = read_template(thinker, {}, frozenset())
    silent = read_template(thinker, {"enable_thinking": False}, frozenset())
    assert thinker.hf.decode(plain.tail) == "</s>\n<|assistant|>\n"
    assert thinker.hf.decode(silent.tail) == "</s>\n<|assistant|>\n<think></think>\n"
    assert thinker.hf.eos_token_id in plain.ends


def test_an_unknown_switch_is_refused(thinker: Tokeniser) -> None:
    with pytest.raises(UserError, match=r"model\.chat\.enable_thinkin: .* does not use it"):
        read_template(thinker, {"enable_thinkin": False}, frozenset())


def test_a_template_that_drops_the_message_is_refused(thinker: Tokeniser) -> None:
    thinker.hf.chat_template = "{{ bos_token }}hello"
    with pytest.raises(UserError, match="leaves out the message"):
        read_template(thinker, {}, frozenset())


def test_a_model_without_a_template_completes(tiny: Callable[..., Path]) -> None:
    tokeniser = Tokeniser(AutoTokenizer.from_pretrained(tiny("bytes", False)))
    template = read_template(tokeniser, None, frozenset())
    ids, _ = template.around(Prompt(("Which is better?",)), tokeniser)
    assert tokeniser.hf.decode(ids) == "Which is better?\n\nAnswer:"
