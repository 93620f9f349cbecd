"""Judges by name: what each calls itself, what they share, and which names are refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evaljudge.engines import Identity
from evaljudge.engines.scripted import Scripted
from evaljudge.errors import UserError
from evaljudge.identity import brief_key, fingerprint
from evaljudge.judges import kinds, make_judges
from evaljudge.judges.protocol import Judge
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document

TASK = load_task("summary", ["fluency"])
DOCUMENT = Document("d1", "The river rose.")
WRITER = Identity("model", "r1", {}, {})


def made(chosen: dict[str, dict[str, Any]]) -> dict[str, Judge]:
    return {judge.name: judge for judge in make_judges(chosen, TASK)}


def keys(judge: Judge) -> dict[str, str]:
    return {part.name: brief_key(judge, part, DOCUMENT, WRITER) for part in judge.parts()}


@pytest.mark.parametrize("kind", kinds())
def test_a_judge_of_every_kind_may_go_by_another_name(kind: str) -> None:
    usual, other = made({kind: {}})[kind], made({"other_1": {"judge": kind}})["other_1"]
    assert (usual.name, usual.kind, other.name, other.kind) == (kind, kind, "other_1", kind)
    assert [scorer.replace(kind, "other_1", 1) for scorer in usual.scorers] == list(other.scorers)
    assert usual.asking == other.asking
    assert keys(usual) == keys(other)
    assert made({kind: {"judge": kind}})[kind].scorers == usual.scorers


@pytest.mark.parametrize("kind", kinds())
def test_everything_that_a_named_judge_says_bears_its_name(kind: str) -> None:
    """Its briefs alone are its kind's, as others of the kind may use them."""
    (judge,) = make_judges({"mine": {"judge": kind}}, TASK)
    case = Case(DOCUMENT, (Candidate("A", "A flood."),))
    model = Scripted(writes=lambda prompt, how: f"4 {len(prompt.text)}")

    async def all_of_it() -> None:
        briefs = await judge.brief(DOCUMENT, [], model)
        assert {brief.judge for brief in briefs} <= {kind}
        verdicts, checks = await judge.verdicts(case, briefs, model)
        assert bool(checks) == judge.has_checks
        assert {verdict.judge for verdict in [*verdicts, *checks]} == {"mine"}
        scores = [score for verdict in verdicts for score in judge.score(verdict)]
        assert [score.scorer for score in scores] == list(judge.scorers)

    asyncio.run(all_of_it())


def test_judges_of_one_kind_share_the_keys_of_equal_parts() -> None:
    judges = made({
        "synthetic": {},
        "coarse": {"judge": "synthetic", "levels": 3},
        "finer": {"judge": "synthetic", "levels": 9},
        "asked": {"judge": "synthetic", "predict": "yes-no", "swap": "both"},
        "warm": {"judge": "synthetic", "temperature": 0.7},
    })  # fmt: skip
    five = keys(judges["synthetic"])
    assert list(five) == ["1", "2", "3", "4", "5"]
    assert keys(judges["asked"]) == five
    assert keys(judges["coarse"]) == {name: five[name] for name in ("1", "3", "5")}
    finer = keys(judges["finer"])
    assert {name: finer[name] for name in five} == five
    assert len(set(finer.values())) == 9
    assert not set(keys(judges["warm"]).values()) & set(five.values())


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"finer": {}}, "judges: unknown judge 'finer'"),
        ({"sintetic": {}}, "unknown judge 'sintetic': did you mean 'synthetic'?"),
        ({"finer": {"judge": "sinthetic"}}, "did you mean 'synthetic'?"),
        ({"finer": {"judge": "brevity"}}, "(a class of your own is named module:Class)"),
        ({"geval": {"judge": "synthetic"}}, "judges.geval: a judge of this kind goes by the name"),
        ({"a.b": {"judge": "synthetic"}}, "judges.a.b: a name may hold letters"),
        ({"../a": {"judge": "synthetic"}}, "judges.../a: a name may hold letters"),
        ({"a" * 101: {"judge": "synthetic"}}, "a name may hold letters"),
        ({"human": {"judge": "synthetic"}}, "and not be `human`"),
        ({"finer": {"judge": "synthetic", "levels": 4}}, "judges.finer.levels"),
        ({"finer": {"judge": "synthetic", "level": 5}}, "judges.finer: unknown key 'level'"),
    ],
)
def test_names_and_kinds_that_are_refused(chosen: dict[str, dict[str, Any]], said: str) -> None:
    with pytest.raises(UserError) as refused:
        make_judges(chosen, TASK)
    assert said in str(refused.value)


def bound(chosen: dict[str, dict[str, Any]]) -> Any:
    return fingerprint("c", {}, make_judges(chosen, TASK), WRITER, None, "e 1", 0)["judges"]


def test_a_run_is_bound_to_names_kinds_and_settings() -> None:
    usual, named = bound({"synthetic": {}}), bound({"mine": {"judge": "synthetic"}})
    assert list(usual) == ["synthetic"] and list(named) == ["mine"]
    assert "judge" not in usual["synthetic"]
    assert named["mine"] == usual["synthetic"] | {"judge": "synthetic"}
    told = [
        bound({"mine": {"judge": "synthetic", **settings}})["mine"]
        for settings in (
            {},
            {"levels": 9},
            {"predict": "yes-no"},
            {"predict": "sampled"},
            {"predict": "sampled", "samples": 10},
            {"swap": "both"},
            {"checks": {"exchanged": 1}},
        )
    ]
    assert all(one != other for at, one in enumerate(told) for other in told[:at])


@pytest.mark.parametrize(
    ("template", "settings", "said"),
    [
        (
            "synthetic.yes-no",
            {"predict": "yes-no"},
            "prompt synthetic.yes-no: needs a place for {{ relation }}",
        ),
        ("synthetic.extreme", {}, "prompt synthetic.extreme: needs a place for {{ extreme }}"),
    ],
)
def test_a_template_that_asks_its_questions_alike_is_refused(
    tmp_path: Path, template: str, settings: dict[str, Any], said: str
) -> None:
    """Else two questions would be one, and every candidate's sum 0."""
    text = "{{ source }} {{ target }} {{ reference }} better in {{ axis }}?"
    if template == "synthetic.extreme":
        text = "{{ source }}: write one that is best in {{ axis }}."
    (tmp_path / f"{template}.j2").write_text(text)
    with pytest.raises(UserError) as refused:
        make_judges({"mine": settings | {"judge": "synthetic"}}, load_task(
            "summary", ["fluency"], prompts=str(tmp_path)
        ))  # fmt: skip
    assert str(refused.value) == said


def test_every_judge_says_what_each_of_its_scores_means() -> None:
    settings = {"geval": {"samples": 4}, "roles": {"exact": True, "plain": True},
                "entities": {"votes": "modelled"}}  # fmt: skip
    for kind in ("synthetic", "direct", "geval", "extract", "likelihood", "roles", "entities"):
        (judge,) = made({kind: settings.get(kind, {})}).values()
        assert {judge.name + suffix for suffix in judge.meanings} >= set(judge.scorers)
