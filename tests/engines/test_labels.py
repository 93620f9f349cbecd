"""Options as paths: compiled on a tokenizer made for the purpose, added up by hand."""

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
    Reading,
    _compiled,
    _paths,
    compile_options,
)
from evaljudge.engines.template import Template, read_template
from evaljudge.engines.tokens import Ids, Tokeniser
from evaljudge.errors import UserError
from evaljudge.model.asks import Chosen, Options, add_in_logs
from tests.build import refusal


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


def test_whole_words_need_one_request():
    spelt = [lead + w for lead in (" ", "") for w in ("Yes", "yes", "YES", "No", "no", "NO")]
    hf = FakeHf(*prefixes(*spelt))
    labels = compiled(Options(("Yes", "No")), hf)
    assert len(labels.steps) == 1
    assert len(labels.root.ids) == 12


def test_of_two_spellings_where_one_begins_the_other_the_shorter_counts():
    labels = compiled(Options(("a", "b")), FakeHf())  # letters only: `a`, `A` after `` and ` `
    assert [step.option for step in labels.steps[()] if step.option] == ["a", "a", "b", "b"]
    assert [(len(s.further.path), s.options) for s in labels.steps[()] if s.further] == [
        (1, ("a", "b"))
    ]


def test_options_read_alike_are_refused():
    with pytest.raises(UserError, match="'yes' and 'Yes' cannot be distinguished"):
        compiled(Options(("yes", "Yes")), FakeHf())


def test_one_option_beginning_another_needs_an_end_of_turn():
    with pytest.raises(UserError, match="'Good' begins another option"):
        compiled(Options(("Good", "Good enough")), FakeHf())
    labels = compiled(Options(("Good", "Good enough")), FakeHf(), frozenset({7}))
    ends = [step for own in labels.steps.values() for step in own if step.tokens == (7,)]
    assert {step.option for step in ends} == {"Good"}
    assert len(ends) == len({"Good", "good", "GOOD"}) * len(("", " "))


def test_a_spelling_that_grows_into_the_tail_is_refused():
    hf = FakeHf(*prefixes(":Yes", ":yes", ":YES", ": "))
    with pytest.raises(UserError, match="option 'Yes': after this model's prompt every spelling"):
        compiled(Options(("Yes", "No")), hf)


def test_a_form_that_another_begins_is_left_out():
    spelt = {"A": (1,), "a": (1, 2), " A": (3, 4), " a": ()}
    template: Any = SimpleNamespace(spelt_after=lambda form, tokeniser: spelt[form])
    options: Any = SimpleNamespace(forms=lambda name: list(spelt))
    assert _paths("A", options, Tokeniser(FakeHf()), template) == ((1,), (3, 4))


def test_as_many_tokens_as_the_engine_gives_can_be_told_apart():
    def root(count: int) -> Node:
        paths = {"A": tuple((n,) for n in range(count))}
        return _compiled(paths, frozenset(), frozenset()).root

    assert len(root(MOST_IDS).ids) == 128
    assert "more than 128 tokens" in refusal(root, MOST_IDS + 1)


TRIE = _compiled(
    {"A": ((1,),), "B": ((1, 3),), "C": ((2,), (1, 4))},
    ended=frozenset({(1,), (1, 3)}),
    ends=frozenset({9}),
)
FOUND = {
    (): {1: log(0.6), 2: log(0.3)},
    (1,): {3: log(0.5), 4: log(0.2), 9: log(0.25)},
    (1, 3): {9: log(0.9)},
}


def test_paths_add_up_by_hand():
    logprobs, left_out, further = TRIE.read(FOUND, 0.0)
    assert exp(logprobs["A"]) == pytest.approx(0.6 * 0.25)
    assert exp(logprobs["B"]) == pytest.approx(0.6 * 0.5 * 0.9)
    assert exp(logprobs["C"]) == pytest.approx(0.3 + 0.6 * 0.2)
    assert (left_out, further) == (0, [])


def test_nodes_are_asked_from_the_root_down():
    assert TRIE.root == Node((), (1, 2))
    assert TRIE.read({(): FOUND[()]}, 0.0).further == [Node((1,), (3, 4, 9))]
    assert TRIE.read({(): FOUND[()], (1,): FOUND[1,]}, 0.0).further == [Node((1, 3), (9,))]


LONG = {"A": ((1,), (2, 5)), "B": ((3,), (4, 6))}


@pytest.mark.parametrize(
    ("rows", "asked", "left_out"),
    [
        ({1: 0.9, 2: 1e-6, 3: 1e-5, 4: 1e-6}, [], 2e-6),
        ({1: 0.9, 2: 1e-3, 3: 1e-5, 4: 1e-6}, [(2,)], 1.001e-3),
        # each alone would be little enough, and both are not
        ({1: 0.5, 2: 4e-5, 3: 0.0, 4: 4e-5}, [(4,)], 8e-5),
        # of options that hold next to nothing together, little is much
        ({1: 1e-4, 2: 1e-6, 3: 1e-5, 4: 1e-10}, [(2,)], 1e-6 + 1e-10),
    ],
)
def test_a_spelling_is_followed_where_it_could_move_a_reported_probability(rows, asked, left_out):
    labels = _compiled(LONG, frozenset(), frozenset())
    reading = labels.read({(): {token: _log(p) for token, p in rows.items()}}, 1e-4)
    assert [node.path for node in reading.further] == asked
    assert reading.left_out == pytest.approx(left_out)


def test_an_option_that_was_not_followed_keeps_its_bound():
    paths = {"A": ((1,),), "B": ((2, 3),), "C": ((4, 5),)}
    labels = _compiled(paths, frozenset(), frozenset())
    reading = labels.read({(): {1: log(0.9), 2: log(1e-7), 4: log(1e-8)}}, 1e-4)
    assert reading.logprobs["B"] == pytest.approx(log(1e-7))
    assert reading.logprobs["C"] == pytest.approx(log(1e-8))
    assert not reading.further


@st.composite
def tries(draw: st.DrawFn) -> tuple[CompiledOptions, dict[Ids, dict[int, float]]]:
    """Options of up to three tokens each, with the model's row at every node."""
    path = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
    spelt = draw(st.lists(path, min_size=2, max_size=7, unique=True))
    kept = [p for p in spelt if not any(q != p and p[: len(q)] == q for q in spelt)]
    names = {name: tuple(kept[n::3]) for n, name in enumerate("ABC")}
    labels = _compiled({n: own for n, own in names.items() if own}, frozenset(), frozenset())
    rows = dict[Ids, dict[int, float]]()
    for node, own in labels.steps.items():
        heights = [draw(st.floats(-14, 0)) for _ in own]
        total = add_in_logs([*heights, 0.0])
        rows[node] = {s.tokens[0]: h - total for s, h in zip(own, heights, strict=True)}
    return labels, rows


def followed(
    labels: CompiledOptions, rows: Mapping[Ids, dict[int, float]], exactness: float
) -> Reading:
    found: dict[Ids, Mapping[int, float]] = {(): rows[()]}
    while further := (reading := labels.read(found, exactness)).further:
        for node in further:
            found[node.path] = rows[node.path]
    return reading


@given(tries(), st.sampled_from([0.05, 1e-2, 1e-4]))
def test_no_probability_is_off_by_more_than_the_exactness(made, exactness):
    labels, rows = made
    every, some = followed(labels, rows, 0.0), followed(labels, rows, exactness)
    wanted, given_ = Chosen(every.logprobs), Chosen(some.logprobs)
    assert every.left_out == 0
    for name in wanted.p:
        assert abs(wanted.p[name] - given_.p[name]) <= exactness + 1e-12
        off = exp(wanted.logprobs[name]) - exp(given_.logprobs[name])
        assert -some.left_out - 1e-12 <= off <= some.left_out + 1e-12


def _log(p: float) -> float:
    return log(p) if p else -inf


@given(st.lists(st.floats(-50, 0), min_size=2, max_size=5), st.floats(-30, 0))
def test_scaling_all_probabilities_changes_no_choice(values, shift):
    names = [str(n) for n in range(len(values))]
    one = Chosen(dict(zip(names, values, strict=True)))
    two = Chosen({name: value + shift for name, value in one.logprobs.items()})
    assert two.p == pytest.approx(one.p)
    assert sum(one.p.values()) == pytest.approx(1)


def test_draws_follow_p_and_are_prefixes_of_each_other():
    chosen = Chosen({"a": log(0.7), "b": log(0.2), "c": log(0.05)}, key="key")
    many = chosen.drawn(4000).samples
    assert chosen.drawn(10).samples == many[:10]
    assert replace(chosen, key="other").drawn(10).samples != many[:10]
    for name, share in chosen.p.items():
        assert many.count(name) / 4000 == pytest.approx(share, abs=0.03)


def test_adding_in_logs():
    assert add_in_logs([log(0.2), log(0.3)]) == pytest.approx(log(0.5))
    assert add_in_logs([-1000.0, -1000.0]) == pytest.approx(-1000 + log(2))
    assert add_in_logs([]) == -inf
    assert add_in_logs([-inf]) == -inf


@pytest.mark.parametrize("chat", [{}, {"enable_thinking": False}])
def test_a_model_without_a_template_must_be_called_a_base_model(chat):
    with pytest.raises(UserError, match=r"the model has no chat template: .*write `chat: none`"):
        read_template(Tokeniser(FakeHf()), chat, frozenset())
    assert isinstance(read_template(Tokeniser(FakeHf()), None, frozenset()), Template)
