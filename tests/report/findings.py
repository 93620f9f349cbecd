"""Findings to report: an ordinary run's, and those of a corpus that means harm."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from evaljudge.agreement import (
    Agreement,
    AxisPair,
    Ceiling,
    LabelAgreement,
    LengthHeld,
    Rival,
    Standing,
)
from evaljudge.analyses.replacing import OFF_SCALE, ReplacingRow
from evaljudge.analysis.costs import CostRow
from evaljudge.analysis.findings import Coverage, Findings, Selected
from evaljudge.analysis.labelling import WeightedMean
from evaljudge.decisions.people import PeopleScale, pass_rate, people_scale
from evaljudge.decisions.replacing import BesideRater, Replacing
from evaljudge.decisions.systems import RankedSystem, SystemPair, SystemRanking
from evaljudge.records import ANY_SYSTEM
from tests.frames import findings

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(2)>',
    "table": "a | b \\| c\n| d | e |\r\n\u2028|---|",
    "marks": "`code` *bold* _em_ [link](javascript:alert(3)) ~~gone~~ &lt;",
    "hebrew": "\u05e9\u05dc\u05d5\u05dd \u202egnp.exe",
    "controls": "\x00\x1b[2J\x07\x9b31m\x7f\t",
    "template": "{{ 7 * 7 }} {% raw %} </style></title></textarea>",
    "heading": "# heading",
    "number": "1. first",
}


def agreement(
    level: str, coefficient: str, value: float | None, n: int = 100, scorer: str = "synthetic",
    axis: str = "fluency", sampled: bool = False,
) -> Agreement:  # fmt: skip
    low, high = (None, None) if value is None else (value - 0.13, value + 0.11)
    found = level, coefficient, value, low, high, n, 2, sampled
    return Agreement(*found, scorer=scorer, axis=axis)


def made(**more: Any) -> Findings:
    ordinary: dict[str, Any] = {
        "run": "first",
        "task": "summary",
        "corpus": "data/cases.jsonl",
        "begun": "2026-11-27T22:36:37Z",
        "ended": "2026-11-28T02:54:24Z",
        "model": "Qwen/Qwen3-8B@9c925d64",
        "writer": "Qwen/Qwen3-8B@9c925d64",
        "cases": 100,
        "candidates": 1600,
        "rated": 1600,
        "coverage": [
            Coverage("synthetic", "fluency", 1597, 3, {"empty text": 2, "reply truncated": 1}),
            Coverage("synthetic.level", "fluency", 1597, 3, {"empty text": 3}),
            Coverage("rouge1", "*", 1600, 0, {}),
        ],
        "coverage_floor": 0.95,
        "agreement": [
            agreement("sample", "spearman", 0.44),
            agreement("sample", "kendall", 0.38),
            agreement("sample", "pearson", None),
            agreement("sample", "kendall_c", 0.391),
            agreement("sample", "accuracy", 0.6125),
            agreement("system", "spearman", 0.8, n=16),
            agreement("system", "kendall", 0.7, n=16),
            agreement("system", "pearson", 0.85, n=16),
            agreement("summary", "spearman", 0.401, n=1597, sampled=True),
            agreement("summary", "kendall", 0.3, n=1597, sampled=True),
            agreement("summary", "pearson", -0.001, n=1597, sampled=True),
        ],
        "selections": [
            Selected(
                "good",
                {
                    "name": "good",
                    "all": [
                        {"scorer": "synthetic.level", "axis": "fluency", "at_least": 3.5},
                        {"scorer": "rouge1", "axis": "*", "at_most": 0.9, "top_fraction": 0.1},
                    ],
                },
                considered=1600,
                selected=154,
                unscored=3,
                thresholds=[{"scorer": "rouge1", "axis": "*", "top_fraction": 0.1, "value": 0.41}],
            )
        ],
        "signatures": {
            "synthetic": 'synthetic@1 | Qwen/Qwen3-8B@9c925d64 | {"levels": 5} | seed 0'
        },
        "tokens": [
            {
                "stage": "prepare",
                "judge": "synthetic",
                "asks": 500,
                "prompt": 400000,
                "prefilled": 100000,
                "generated": 60000,
                "floor": 90000,
            }
        ],
        "warnings": ["synthetic: the answers offered hold only 41.0% of the probability"],
    }
    return findings(**ordinary | more)


def standing(level: str, best: str, rivals: list[Rival], **more: Any) -> Standing:
    ordinary: dict[str, Any] = {"axis": "fluency", "coefficient": "spearman", "value": 0.441}
    ordinary |= {"low": None, "high": None, "chosen": 1}
    lists: dict[str, Any] = {"indistinguishable": (), "undefined": ()}
    return Standing(level=level, best=best, rivals=rivals, **ordinary | lists | more)


def pair(of: str, level: str, axis: str, other: str, value: float | None) -> AxisPair:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    found = axis, other, level, "spearman", value, low, high, 100, level == "summary"
    return AxisPair(*found, of=of)


def ranking(names: Sequence[str] = ("BART", "T5", "LEAD-3"), **more: Any) -> SystemRanking:
    """Means a tenth apart, of which neighbours cannot be told apart."""
    systems = [
        RankedSystem(name, 4.1 - place / 10, 4.0 - place / 10, 4.2 - place / 10, 100 - place, mark)
        for place, (name, mark) in enumerate(zip(names, ("a", "ab", "b"), strict=False))
    ]
    pairs = [
        SystemPair(one, other, 0.1, -0.04, 0.25, 0.1, 0.2, 99, 1120, 2300)
        for one, other in combinations(names, 2)
    ]
    if len(pairs) == 3:
        pairs[1] = replace(pairs[1], p=0.01, p_holm=0.03)
    ordinary: dict[str, Any] = {
        "scorer": "synthetic", "axis": "fluency", "documents": 100, "test": "permutation",
        "told_apart": 1, "spread": 0.9, "detectable": 0.25, "detectable_among_all": None,
        "alpha": 0.05, "power": 0.8,
    }  # fmt: skip
    return SystemRanking(systems=systems, pairs=pairs, **ordinary | more)


def beside_raters(winning_rate: float | None = 2 / 3, advantage: float = 0.71) -> Replacing:
    beside = BesideRater(0, 90, 30, 0.8, 0.7, 0.001, 0.005, 0.01, 0.055)
    raters = beside, replace(beside, rater=1), replace(beside, rater=2)
    return Replacing(0.1, winning_rate, 1.0, advantage, 0.62, 0.8, raters, left_out=1)


def may_replace(scorer: str, axis: str, verdict: str, rate: float | None = 2 / 3) -> ReplacingRow:
    found = beside_raters(rate), beside_raters(1 / 3, 0.6)
    return ReplacingRow(scorer, axis, 2 if rate == 1.0 else 3, 90, 30, *found, verdict)


def length_held(level: Any, scorer: str = "rouge1", axis: str = "fluency") -> LengthHeld:
    return LengthHeld(level, 0.03, -0.04, 0.1, 88, 0.41, 0.7, 0.5, 7, scorer=scorer, axis=axis)


def on_peoples_scale(
    systems: Sequence[str], scorer: str = "judge", axis: str = "tone"
) -> PeopleScale:
    rng = np.random.default_rng(2)
    scores = rng.normal(0, 1, (60, len(systems))) + np.arange(len(systems)) % 3
    human = np.where(np.arange(60)[:, None] < 12, scores + 3, np.nan)
    human += rng.normal(0, 0.3, human.shape)
    found, rate = (
        people_scale(systems, scores, human),
        pass_rate(scores, human, threshold=0.5, good=4.0),
    )
    assert found is not None and rate is not None
    return replace(found, scorer=scorer, axis=axis, pass_rates=[rate])


COSTS = [
    CostRow("judge", "direct", "fluency", 0, 0, 0, 0, 0, 0, 0.0, 0.0, 40, 0),
    CostRow("judge", "synthetic", "fluency", 8000, 8000, 9_600_000, 900_000, 8000, 1200, 45.4, 0.0,
            40, 1600),
    CostRow("prepare", "synthetic", "fluency", 200, 200, 160_000, 100_000, 12_000, 0, 5.6, 0.0,
            40, 1600),
    CostRow("judge", "synthetic", "relevance", 7900, 7900, 9_500_000, 700_000, 7900, 0, 35.4, 0.0,
            40, 1500),
]  # fmt: skip


def decisions() -> dict[str, Any]:
    """What is decided by scores and what they cost; some of it a sample, or undefined."""
    nothing = replace(length_held("summary"), value=None, low=None, high=None, n=0, in_order=1)
    sampled = replace(length_held("sample", "words"), sampled=True)
    systems = ("A", "B", "C")
    return {
        "systems": [
            ranking(scorer="human", test="exact"),
            ranking(),
            ranking(("T5", "BART"), scorer="synthetic.level", sampled=True),
            ranking(("T5",), scorer="rouge1", axis="*", sampled=True),
        ],
        "replacing": [
            may_replace("direct", "fluency", "yes"),
            may_replace("geval", "fluency", "no", 0.0),
            may_replace("direct", "relevance", "no better than a constant", 1.0),
            ReplacingRow("rouge1", "fluency", 3, reason=OFF_SCALE),
            ReplacingRow("chrf", "fluency", 3, reason=OFF_SCALE),
        ],
        "length": [length_held("sample"), nothing, sampled],
        "people_scale": [
            replace(on_peoples_scale(systems, "weak"), effective=1.0),
            on_peoples_scale(systems),
            replace(on_peoples_scale(["A"], "sparse"), slope=None, effective=None),
        ],
        "labelled": [
            WeightedMean(3.4201, 3.21, 3.6304, 1200, 87, 141.6, axis="fluency", system=ANY_SYSTEM),
            WeightedMean(3.9, None, None, 5, 5, 4.8, axis="fluency", system="BART"),
        ],
        "costs": COSTS,
    }


def made_with_statistics() -> Findings:
    """An ordinary run with every statistic, among them what is undefined."""
    words = Rival("words", 0.402, 0.438, 0.206, 0.412, 100, False)
    chrf = Rival("chrf", 0.127, 0.441, 0.000999, 0.003996, 100, False)
    bleu = Rival("bleu", 0.3, 0.4, 0.0249, 0.04996, 1597, True)
    few = Rival("few", None, None, None, None, 1, False)
    close: dict[str, Any] = {"indistinguishable": ["words"], "undefined": ["flat"]}
    close |= {"low": 0.2989, "high": 0.566, "chosen": 4}
    often: dict[str, Any] = {
        "axis": "fluency",
        "agreed": 0.81,
        "base_rate": 0.7204,
        "documents": 100,
    }
    return made(
        **decisions(),
        significance=[
            standing("sample", "synthetic", [words, chrf, few], **close),
            standing("summary", "synthetic", [bleu]),
            standing("sample", "words", [], axis="coherence", value=0.2),
        ],
        axes=[
            pair("synthetic", "summary", "relevance", "coherence", 0.95),
            pair("human", "sample", "coherence", "fluency", 0.5),
            pair("human", "summary", "coherence", "fluency", 0.4),
            pair("human", "summary", "coherence", "relevance", None),
            pair("human", "summary", "fluency", "relevance", -0.0001),
            AxisPair("coherence", "fluency", "summary", "pearson", 0.9, 0, 1, 9, False, of="human"),
        ],
        ceiling=[
            Ceiling("sample", "spearman", 0.612, 0.5531, 0.664, 100, 2, 3, False, axis="fluency"),
            Ceiling("summary", "spearman", 0.5, 0.4, 0.6, 1598, 2, 3, True, axis="fluency"),
            Ceiling("summary", "pearson", 0.77, 0.7, 0.8, 1598, 2, 3, False, axis="fluency"),
            Ceiling("sample", "spearman", None, None, None, 0, 9, 0, False, axis="coherence"),
        ],
        labels=[
            LabelAgreement(
                0.2, 0.1, 0.3, 1598, 2, of="human", coefficient="alpha_nominal", **often
            ),
            LabelAgreement(
                0.55, 0.4, 0.65, 1598, 2, of="human", coefficient="alpha_interval", **often
            ),
            LabelAgreement(0.25, 0.15, 0.3501, 1000, 600, of="geval", coefficient="kappa", **often),
            LabelAgreement(
                None, None, None, 1000, 600, of="geval", axis="fluency", coefficient="kappa_linear"
            ),
        ],
    )


def named_statistics(words: Sequence[str]) -> dict[str, Any]:
    """Every statistic, of axes, scorers and systems named so."""
    rivals = [Rival(word, 0.1, 0.4, 0.001, 0.002, 9, True) for word in words]
    return {
        "significance": [
            standing("sample", word, rivals, axis=word, indistinguishable=words[:4])
            for word in words
        ]
        + [standing("sample", words[0], [], axis=words[1], undefined=words)],
        "axes": [
            pair(of, "summary", axis, other, 0.4)
            for of in ["human", *words]
            for axis, other in pairwise(words)
        ],
        "ceiling": [
            Ceiling("sample", "spearman", 0.6, 0.5, 0.7, 9, 2, 3, False, axis=word)
            for word in words
        ],
        "labels": [
            LabelAgreement(0.2, 0.1, 0.3, 9, 2, documents=9, of=of, axis=word, coefficient=name)
            for word in words
            for of, name in (("human", "alpha_ordinal"), (word, "kappa"))
        ],
        "systems": [ranking(words[:3], scorer=word, axis=word) for word in words],
        "replacing": [may_replace(word, word, "yes") for word in words],
        "length": [length_held("sample", word, word) for word in words],
        "people_scale": [on_peoples_scale(words[:3], word, word) for word in words],
        "labelled": [
            WeightedMean(3.9, None, None, 5, 5, 4.8, axis=word, system=word) for word in words
        ],
        "costs": [replace(COSTS[1], judge=word, axis=word) for word in words],
    }


def made_of(words: Sequence[str]) -> Findings:
    """Every word that can come from outside is one of these, or holds all of them."""
    everything = " ".join(words)
    condition = {"scorer": everything, "axis": everything, "at_least": 1.0}
    return made(
        run=everything,
        task=everything,
        corpus=everything,
        model=everything,
        writer=everything,
        coverage=[Coverage(word, everything, 1, 1, {word: 1}) for word in words],
        agreement=[
            agreement("sample", "spearman", 0.4, scorer=word, axis=everything) for word in words
        ],
        selections=[Selected("a.b", {"name": "a.b", "all": [condition]}, 2, 1, 1)],
        signatures=dict.fromkeys(words, everything),
        tokens=[dict(made().tokens[0]) | {"stage": everything, "judge": everything}],
        warnings=words,
        **named_statistics(words),
    )


WORDS = list(HOSTILE.values())
PLAIN = [f"word {n}" for n in range(len(WORDS))]
