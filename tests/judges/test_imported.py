"""Judges by their names and by import paths: made, bound to their source, refused in one line."""

import asyncio
import json
import re
import sys
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.commands.listing import listing
from evaljudge.commands.options import ListOptions
from evaljudge.config import load_config
from evaljudge.engines import Identity
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.identity import asking, brief_key, fingerprint
from evaljudge.judges import kinds, make_judges
from evaljudge.judges.plugin import _class_at
from evaljudge.judges.protocol import Judge
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document
from evaljudge.runs.job import make_job
from evaljudge.studies.study import expand
from tests import build
from tests.build import refusal

TASK = load_task("summary", ["fluency"])
WHOLE = '''
from evaljudge.judges.geval.judge import Geval
from evaljudge.judges.protocol import Judge
from evaljudge.judges.shared.one_question import OneQuestion

class Brief(OneQuestion):
    version = "2"
    question = "Is this brief? {{ target }}"
    answers = ("Yes", "No")

    def value(self, reply):
        return reply.p["Yes"]

class Stepped(Geval):
    """With briefs of its own kind."""

class Short(Brief):
    def __init__(self, settings):
        pass

class Said(Brief):
    meanings = "From 0 to 1"

class Half(Judge):
    version = "1"

other = 3
'''


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a module and has it imported anew."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str, name: str = "my_own_judges") -> None:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        _class_at.cache_clear()

    return write


def made_at(place: str) -> Any:
    (judge,) = make_judges({"mine": {"judge": place}}, TASK)
    return judge


def test_its_kind_is_its_path_and_its_version_has_a_digest_of_its_source(write):
    write(WHOLE)
    first = made_at("my_own_judges:Stepped")
    assert (first.name, first.kind) == ("mine", "my_own_judges:Stepped")
    assert re.fullmatch(r"\d+\+[0-9a-f]{12}", first.version) and not first.reading
    write(WHOLE + "\n")
    assert made_at("my_own_judges:Stepped").version != first.version
    write(WHOLE)
    assert made_at("my_own_judges:Stepped").version == first.version


@pytest.mark.parametrize(
    ("name", "more"),
    [("Brief", ""), ("Asking", "    def _questions(self, axis, briefs):\n        return [{}]\n")],
)
def test_of_a_class_that_only_reads_the_digest_changes_no_question(write, name, more):
    write(f"{WHOLE}\nclass Asking(Brief):\n    each_axis = False\n{more}")
    first = made_at(f"my_own_judges:{name}")
    assert first.version == ("2" if not more else f"2+{first.version[2:]}")
    write(f"{WHOLE}\nclass Asking(Brief):\n    each_axis = False\n{more}\n# mended\n")
    other = made_at(f"my_own_judges:{name}")
    assert (asking(other) == asking(first)) == (not more)
    assert (other.reading == first.reading) == bool(more)


def test_after_an_edit_of_what_reads_stored_replies_are_read_anew(write, config, tmp_path):
    write(WHOLE)
    config["judges"] = {"mine": config["judges"]["mine"]}
    before = evaljudge.run(config, engines=ScriptedEngines()).scores().to_pandas()
    (tmp_path / "my_own_judges.py").write_text(WHOLE.replace('p["Yes"]', 'p["No"]'))
    after = evaljudge.make_report(config, engines=ScriptedEngines()).scores().to_pandas()
    assert (before["value"] + after["value"]).to_list() == pytest.approx([1.0] * len(before))
    assert set(before["signature"]) != set(after["signature"])


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("my_own:Brief", "there is no module my_own: install its package, or put the folder that"),
        ("my_own_judges.more:Brief", "there is no module my_own_judges.more: install its package"),
        ("broken_judges:Brief", "broken_judges cannot be imported: SyntaxError: "),
        ("failing_judges:Brief", "failing_judges cannot be imported: RuntimeError: no key"),
        ("needy_judges:Brief", "needy_judges cannot be imported: No module named 'no_such_package"),
        ("my_own_judges:Breif", "my_own_judges: unknown class 'Breif': did you mean 'Brief'?"),
        ("my_own_judges:other", "my_own_judges:other is not a judge: it must be a class that inh"),
        ("os:system", "os:system is not a judge"),
        ("my_own_judges:Half", "my_own_judges:Half lacks what every judge has: asking, axes, sco"),
        (
            "my_own_judges:Short",
            "its `__init__`, which is given the settings, the task"
            " and the name, fails: TypeError: ",
        ),
        ("my_own_judges:Said", "of Said it is expected that its `name` is set, as by `super()._"),
        ("my_own_judges:", "'my_own_judges:' is not an import path: write it as package.module:C"),
        ("a/b.py:Brief", "'a/b.py:Brief' is not an import path"),
    ],
)
def test_what_cannot_be_a_judge_is_refused_in_one_line(write, place, said):
    write(WHOLE)
    write("class Brief(:", "broken_judges")
    write("raise RuntimeError('no key')", "failing_judges")
    write("import no_such_package", "needy_judges")
    assert refusal(made_at, place).startswith(f"judges.mine: {said}")


def test_it_is_listed_by_its_path(write):
    write(f'"""Is it brief?\n\nAnd more."""\n{WHOLE}')
    (row,) = listing(ListOptions("my_own_judges:Brief")).rows
    assert row["about"] == "Is it brief?"
    with pytest.raises(UserError, match="unknown class 'Breif': did you mean 'Brief'"):
        listing(ListOptions("my_own_judges:Breif"))


def test_a_name_cannot_be_a_path():
    words = refusal(make_judges, {"my_own_judges:Brief": {}}, TASK)
    assert 'below a name of its own: {NAME: {judge: "my_own_judges:Brief"}}' in words


def test_a_study_names_it_by_its_class():
    judges = expand([{"judge": "my_own_judges:Brief", "limit": [1, 2]}, "my_own_judges:Half"])
    assert list(judges) == ["Brief-1", "Brief-2", "Half"]
    assert {own["judge"] for own in judges.values()} == {
        "my_own_judges:Brief",
        "my_own_judges:Half",
    }


@pytest.fixture
def config(tmp_path):
    (tmp_path / "cases.jsonl").write_text(as_jsonl(make_cases(3, 0)))
    return {
        "corpus": str(tmp_path / "cases.jsonl"), "out": str(tmp_path / "out"), "model": "m",
        "axes": ["fluency"], "workers": {"executor": "local"}, "view": 1,
        "judges": {"mine": {"judge": "my_own_judges:Brief"},
                   "stepped": {"judge": "my_own_judges:Stepped"}},
    }  # fmt: skip


def test_a_run_is_bound_to_its_source(write, config, tmp_path):
    write(WHOLE)
    assert evaljudge.run(config, engines=ScriptedEngines()).coverage == 1.0
    run = json.loads((tmp_path / "out/run.json").read_text())
    bound = run["fingerprint"]["judges"]["mine"]
    assert bound["judge"] == "my_own_judges:Brief"
    signature = make_job(load_config(config), ScriptedEngines()).judge_signatures()["mine"]
    assert signature.startswith(f"mine@{bound['version']} | m@scripted | ")
    assert '"judge": "my_own_judges:Brief"' in signature
    assert build.tables(tmp_path / "out/briefs/my_own_judges:Stepped")
    page = (tmp_path / "out/report/index.html").read_text()
    assert "How probable the model finds each answer, among those offered." in page

    assert evaljudge.run(config, engines=ScriptedEngines()).coverage == 1.0
    write(WHOLE + "# edited\n")
    with pytest.raises(UserError, match=r"judges\.stepped\.version is .* there, .* here"):
        evaljudge.run(config, engines=ScriptedEngines())
    with pytest.raises(UserError, match="is bound to another run"):
        evaljudge.make_report(config, engines=ScriptedEngines())


@pytest.mark.long
@pytest.mark.ray
def test_a_module_that_ray_s_workers_lack_is_named(write, config, local_ray):
    """They search what they were started with: this process alone has the folder."""
    write(WHOLE, "left_at_home")
    config |= {"workers": {"executor": "ray"}, "judges": {"m": {"judge": "left_at_home:Brief"}}}
    with pytest.raises(UserError, match=r"No module named 'left_at_home': a judge's module must"):
        evaljudge.run(config, engines=ScriptedEngines())


DOCUMENT = Document("d1", "The river rose.")
WRITER = Identity("model", "r1", {}, {})


def made(chosen: dict[str, dict[str, Any]]) -> dict[str, Judge]:
    return {judge.name: judge for judge in make_judges(chosen, TASK)}


def keys(judge: Judge) -> dict[str, str]:
    return {part.name: brief_key(judge, part, DOCUMENT, WRITER) for part in judge.parts()}


@pytest.mark.parametrize("kind", kinds())
def test_a_judge_of_every_kind_may_go_by_another_name(kind):
    usual, other = made({kind: {}})[kind], made({"other_1": {"judge": kind}})["other_1"]
    assert (usual.name, usual.kind, other.name, other.kind) == (kind, kind, "other_1", kind)
    assert [scorer.replace(kind, "other_1", 1) for scorer in usual.scorers] == list(other.scorers)
    assert usual.asking == other.asking
    assert keys(usual) == keys(other)
    assert made({kind: {"judge": kind}})[kind].scorers == usual.scorers


@pytest.mark.parametrize("kind", kinds())
def test_everything_that_a_named_judge_says_bears_its_name(kind):
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


def test_judges_of_one_kind_share_the_keys_of_equal_parts():
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


def bound(chosen: dict[str, dict[str, Any]]) -> Any:
    return fingerprint("c", {}, make_judges(chosen, TASK), WRITER, None, "e 1", 0)["judges"]


def test_a_run_is_bound_to_names_kinds_and_settings():
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


def test_every_judge_says_what_each_of_its_scores_means():
    settings = {"geval": {"samples": 4}, "roles": {"exact": True, "plain": True},
                "entities": {"votes": "modelled"}}  # fmt: skip
    for kind in ("synthetic", "direct", "geval", "extract", "likelihood", "roles", "entities"):
        (judge,) = made({kind: settings.get(kind, {})}).values()
        assert {judge.name + suffix for suffix in judge.meanings} >= set(judge.scorers)
