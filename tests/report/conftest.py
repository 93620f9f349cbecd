"""Findings to report: an ordinary run's, and those of a corpus that means harm."""

from __future__ import annotations

from typing import Any

import pytest

from evaljudge.report import AgreementRow, Coverage, Findings, Selected, SystemMean

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
    level: str,
    coefficient: str,
    value: float | None,
    n: int = 100,
    scorer: str = "synthetic",
    axis: str = "fluency",
    sampled: bool = False,
) -> AgreementRow:
    low, high = (None, None) if value is None else (value - 0.13, value + 0.11)
    return AgreementRow(scorer, axis, level, coefficient, value, low, high, n, 2, sampled)


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
            agreement("system", "spearman", 0.8, n=16),
            agreement("system", "kendall", 0.7, n=16),
            agreement("system", "pearson", 0.85, n=16),
            agreement("summary", "spearman", 0.401, n=1597, sampled=True),
            agreement("summary", "kendall", 0.3, n=1597, sampled=True),
            agreement("summary", "pearson", -0.001, n=1597, sampled=True),
        ],
        "systems": [
            SystemMean("synthetic", "fluency", "BART", 3.917, 100),
            SystemMean("synthetic", "fluency", "LEAD-3", 3.2, 99),
            SystemMean("synthetic", "coherence", "BART", 4.1, 100),
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
                thresholds=[
                    {"scorer": "rouge1", "axis": "*", "top_fraction": 0.1, "value": 0.41},
                ],
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
    return Findings(**ordinary | more)


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
        systems=[SystemMean(word, everything, word, 1.0, 1) for word in words],
        selections=[Selected("a.b", {"name": "a.b", "all": [condition]}, 2, 1, 1)],
        signatures=dict.fromkeys(words, everything),
        tokens=[dict(made().tokens[0]) | {"stage": everything, "judge": everything}],
        warnings=words,
    )


@pytest.fixture
def findings() -> Findings:
    return made()


@pytest.fixture
def hostile() -> Findings:
    return made_hostile()
