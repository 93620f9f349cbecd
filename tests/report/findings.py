"""Findings to report: an ordinary run's, and those of a corpus that means harm."""

from itertools import pairwise
from typing import Any

from evaljudge.agreement import Agreement, AxisPair, Ceiling, LabelAgreement, Rival, Standing
from evaljudge.analysis.findings import Coverage, Findings, Selected
from tests.frames import findings, replaced

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
    lists: dict[str, Any] = {"indistinguishable": (), "undefined": ()}
    return Standing(level=level, best=best, rivals=rivals, **ordinary | lists | more)


def pair(of: str, level: str, axis: str, other: str, value: float | None) -> AxisPair:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    found = axis, other, level, "spearman", value, low, high, 100, level == "summary"
    return AxisPair(*found, of=of)


def made_with_statistics() -> Findings:
    """An ordinary run with every statistic, among them what is undefined."""
    words = Rival("words", 0.402, 0.438, 0.206, 0.412, 100, False)
    chrf = Rival("chrf", 0.127, 0.441, 0.000999, 0.003996, 100, False)
    bleu = Rival("bleu", 0.3, 0.4, 0.0249, 0.04996, 1597, True)
    few = Rival("few", None, None, None, None, 1, False)
    close: dict[str, Any] = {"indistinguishable": ["words"], "undefined": ["flat"]}
    close |= {"low": 0.2989, "high": 0.566, "chosen": 4}
    often: dict[str, Any] = {"axis": "fluency", "agreed": 0.81, "base_rate": 0.7204}
    return made(
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


def hostile_statistics() -> dict[str, Any]:
    """Every statistic of axes and scorers named so."""
    words = list(HOSTILE.values())
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
            LabelAgreement(0.2, 0.1, 0.3, 9, 2, of=of, axis=word, coefficient=name)
            for word in words
            for of, name in (("human", "alpha_ordinal"), (word, "kappa"))
        ],
    }


def made_hostile() -> Findings:
    """Every word that can come from outside holds every attack."""
    words = list(HOSTILE.values())
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
    )


def hostile_with_statistics() -> Findings:
    return replaced(made_hostile(), **hostile_statistics())
