"""Options as paths: compiled on a tokenizer made for the purpose, added up by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import exp, inf, log
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.engines.labels import (
    MOST_IDS,
    CompiledOptions,
    Node,
    _nodes,
    _paths,
    compile_options,
)
from evaljudge.engines.template import Template, read_template
from evaljudge.engines.tokens import Tokeniser
from evaljudge.errors import UserError
from evaljudge.model.asks import Chosen, Options, add_in_logs


class FakeHf:
    """A tokenizer of whole pieces: longest match first."""

    chat_template = None
    bos_token_id = eos_token_id = None
    all_special_tokens: tuple[str, ...] = ()
    all_special_ids: tuple[int, ...] = ()

    def __init__(self, *pieces: str, **more: Any) -> None:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        letters = [chr(c) for c in range(32, 127)] + ["\n"]
        vocabulary = {p: n for n, p in enumerate(dict.fromkeys([*letters, *pieces]))}
        merges = [(a, b) for word in pieces for a, b in [(word[:-1], word[-1])]]
        self.backend_tokenizer = Tokenizer(models.BPE(vocabulary, merges))
        self.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split("\n", "isolated")
        self.backend_tokenizer.decoder = decoders.Fuse()
        self.__dict__.update(more)

    def __call__(self, text: str) -> Mapping[str, list[int]]:
        return {"input_ids": self.backend_tokenizer.encode(text).ids}


def compiled(options: Options, hf: FakeHf, ends: frozenset[int] = frozenset()) -> CompiledOptions:
    tokeniser = Tokeniser(hf)
    return compile_options(options, tokeniser, read_template(tokeniser, None, ends))


def prefixes(*words: str) -> list[str]:
    """A word's beginnings, so that merges can build it."""
    return list(dict.fromkeys(w[:n] for w in words for n in range(2, len(w) + 1)))


def test_whole_words_need_one_request() -> None:
    spelt = [lead + w for lead in (" ", "") for w in ("Yes", "yes", "YES", "No", "no", "NO")]
    hf = FakeHf(*prefixes(*spelt))
    labels = compiled(Options(("Yes", "No")), hf)
    assert [node.path for node in labels.nodes] == [()]
    assert len(labels.nodes[0].ids) == 12
    assert not labels.ended


def test_of_two_spellings_where_one_begins_the_other_the_shorter_counts() -> None:
    labels = CompiledOptions((), {"A": ((1,),)}, frozenset(), frozenset())
    assert labels.paths["A"] == ((1,),)
    hf = FakeHf()  # letters only: `a` and `A` after `` and ` `
    assert len(compiled(Options(("a", "b")), hf).paths["a"]) == 4


def test_options_read_alike_are_refused() -> None:
    with pytest.raises(UserError, match="'yes' and 'Yes' cannot be told apart"):
        compiled(Options(("yes", "Yes")), FakeHf())


def test_of_many_options_six_are_named() -> None:
    names = ("Good", "Good enough", "c", "d", "e", "f")
    for more, told in (((), "'e', 'f': "), (("g",), "'e', 'f', …: ")):
        with pytest.raises(UserError) as error:
            compiled(Options((*names, *more)), FakeHf())
        assert f"options 'Good', 'Good enough', 'c', 'd', {told}" in str(error.value)


def test_one_option_beginning_another_needs_an_end_of_turn() -> None:
    with pytest.raises(UserError, match="'Good' begins another option"):
        compiled(Options(("Good", "Good enough")), FakeHf())
    labels = compiled(Options(("Good", "Good enough")), FakeHf(), frozenset({7}))
    assert labels.ended
    assert all(path in labels.ended for path in labels.paths["Good"])


def test_a_spelling_that_grows_into_the_tail_is_refused() -> None:
    hf = FakeHf(*prefixes(":Yes", ":yes", ":YES", ": "))
    with pytest.raises(UserError, match="option 'Yes': after this model's prompt every spelling"):
        compiled(Options(("Yes", "No")), hf)


def test_a_form_that_another_begins_is_left_out() -> None:
    spelt = {"A": (1,), "a": (1, 2), " A": (3, 4), " a": ()}
    template: Any = SimpleNamespace(spelt_after=lambda form, tokeniser: spelt[form])
    options: Any = SimpleNamespace(forms=lambda name: list(spelt))
    assert _paths("A", options, Tokeniser(FakeHf()), template) == ((1,), (3, 4))


def test_as_many_tokens_as_the_engine_gives_can_be_told_apart() -> None:
    def nodes(count: int) -> tuple[Node, ...]:
        paths = {"A": tuple((n,) for n in range(count))}
        return _nodes(paths, frozenset(), frozenset(), Options(("A", "B")))

    assert [len(node.ids) for node in nodes(MOST_IDS)] == [128]
    with pytest.raises(UserError, match="more than 128 tokens"):
        nodes(MOST_IDS + 1)


def test_too_many_tokens_to_tell_apart() -> None:
    names = tuple(f"{chr(c)}{n}" for c in range(65, 91) for n in range(1))
    assert compiled(Options(names), FakeHf()).nodes
    labels = [f"w{n}" for n in range(70)]
    hf = FakeHf(*labels, *(f"W{n}" for n in range(70)))
    with pytest.raises(UserError, match="more than 128 tokens"):
        compiled(Options(tuple(labels)), hf)


TRIE = CompiledOptions(
    nodes=(Node((), (1, 2)), Node((1,), (3, 4, 9)), Node((1, 3), (9,))),
    paths={"A": ((1,),), "B": ((1, 3),), "C": ((2,), (1, 4))},
    ended=frozenset({(1,), (1, 3)}),
    ends=frozenset({9}),
)
FOUND = {
    (): {1: log(0.6), 2: log(0.3)},
    (1,): {3: log(0.5), 4: log(0.2), 9: log(0.25)},
    (1, 3): {9: log(0.9)},
}


def test_paths_add_up_by_hand() -> None:
    found = {name: exp(v) for name, v in TRIE.logprobs(FOUND).items()}
    assert found["A"] == pytest.approx(0.6 * 0.25)
    assert found["B"] == pytest.approx(0.6 * 0.5 * 0.9)
    assert found["C"] == pytest.approx(0.3 + 0.6 * 0.2)


def test_nodes_are_asked_from_the_root_down() -> None:
    assert TRIE.wanted({}) == [TRIE.nodes[0]]
    assert TRIE.wanted({(): FOUND[()]}) == [TRIE.nodes[1]]
    assert TRIE.wanted({(): FOUND[()], (1,): FOUND[1,]}) == [TRIE.nodes[2]]
    assert TRIE.wanted(FOUND) == []


def test_what_could_add_next_to_nothing_is_not_asked() -> None:
    labels = CompiledOptions(
        nodes=(Node((), (1, 2, 3)), Node((2,), (5,))),
        paths={"A": ((1,), (2, 5)), "B": ((3,),)},
        ended=frozenset(),
        ends=frozenset(),
    )
    rare = {(): {1: log(0.9), 2: log(1e-7), 3: log(1e-8)}}
    common = {(): {1: log(0.9), 2: log(1e-3), 3: log(1e-8)}}
    assert labels.wanted(rare) == []
    assert labels.wanted(common) == [labels.nodes[1]]
    assert labels.logprobs(rare)["A"] == pytest.approx(log(0.9), abs=1e-6)


@given(st.lists(st.floats(-50, 0), min_size=2, max_size=5), st.floats(-30, 0))
def test_scaling_all_probabilities_changes_no_choice(values: list[float], shift: float) -> None:
    names = [str(n) for n in range(len(values))]
    one = Chosen(dict(zip(names, values, strict=True)))
    two = Chosen({name: value + shift for name, value in one.logprobs.items()})
    assert two.p == pytest.approx(one.p)
    assert sum(one.p.values()) == pytest.approx(1)


def test_draws_follow_p_and_are_prefixes_of_each_other() -> None:
    chosen = Chosen({"a": log(0.7), "b": log(0.2), "c": log(0.05)}, key="key")
    many = chosen.drawn(4000).samples
    assert chosen.drawn(10).samples == many[:10]
    assert replace(chosen, key="other").drawn(10).samples != many[:10]
    for name, share in chosen.p.items():
        assert many.count(name) / 4000 == pytest.approx(share, abs=0.03)


def test_adding_in_logs() -> None:
    assert add_in_logs([log(0.2), log(0.3)]) == pytest.approx(log(0.5))
    assert add_in_logs([-1000.0, -1000.0]) == pytest.approx(-1000 + log(2))
    assert add_in_logs([]) == -inf
    assert add_in_logs([-inf]) == -inf


@pytest.mark.parametrize("chat", [{}, {"enable_thinking": False}])
def test_a_model_without_a_template_must_be_called_a_base_model(chat: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"the model has no chat template: .*write `chat: none`"):
        read_template(Tokeniser(FakeHf()), chat, frozenset())
    assert isinstance(read_template(Tokeniser(FakeHf()), None, frozenset()), Template)
