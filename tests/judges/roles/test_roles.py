"""The judge of role-players over a scripted model: who votes, who is asked, sums by hand."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from typing import Any

import pytest

from evaljudge.engines import Identity
from evaljudge.engines.scripted import Scripted
from evaljudge.errors import UserError
from evaljudge.identity import brief_key
from evaljudge.judges.checked import shown_thoughts
from evaljudge.judges.roles.briefs import needed
from evaljudge.judges.roles.judge import Roles
from evaljudge.judges.roles.polling import CUT
from evaljudge.model.asks import Failed, Options, Prompt, Sample, Token, Weighed, Writing, Written
from evaljudge.prompts import load_task
from evaljudge.records import Brief, Candidate, Case, Document, Verdict

TASK = load_task("summary", ["coherence", "relevance"])
STATIC = ["General Public", "Critic", "News Author"]
DOCUMENT = Document("d1", "The river rose and the bridge was closed.", ("The river rose.",))
CASE = Case(DOCUMENT, (Candidate("A", "A flood closed the bridge."), Candidate("B", "Rain fell.")))
COARSE = "1. Politicians: who is to blame\n2. Commuters: which roads are open"
FINE = "1. Residents: what they have not heard yet\n2. commuters: the bridge\n3. Strangers: where"
UNIT = {"Politicians": 3, "Commuters": 4, "Residents": 5, "Strangers": 4}
"""Where a reader's vector points; strangers are in one place with commuters."""


def vector(text: str) -> tuple[float, ...]:
    kind = text.partition(":")[0]
    place = UNIT.get(kind, STATIC.index(kind) if kind in STATIC else 7)
    return tuple(float(n == place) for n in range(8))


class Voting(Scripted):
    """Writes readers, references and votes; notes what it was asked."""

    def __init__(self, says: Callable[[str, str], str], **lists: str | Failed) -> None:
        super().__init__(
            writes=self._reply, chooses=self._choice, weighs=self._weights, embeds=vector
        )
        self._says, self._lists = says, {"coarse": COARSE, "fine": FINE} | lists
        self.asked: list[str] = []
        self.weighed: list[tuple[str, str]] = []
        self.logprob = log(0.8)
        self.p_second = 0.7

    def _reply(self, prompt: Prompt, how: Writing) -> str | Failed:
        self.asked.append(prompt.text)
        if "by what they do in life" in prompt.text:
            return self._lists["coarse"]
        if "by how much they already know" in prompt.text:
            return self._lists["fine"]
        if "<roles>" not in prompt.text:
            assert how.regex is None
            return f"reference {len(self.asked)}"
        roles = inside(prompt, "roles").splitlines()
        candidate = inside(prompt, "second")
        assert how.regex and how.regex.count(" — ") == len(roles)
        return "\n".join(self._says(role, candidate) for role in roles)

    def _choice(self, prompt: Prompt, options: Options) -> Mapping[str, float]:
        self.asked.append(prompt.text)
        return {"1": log(1 - self.p_second), "2": log(self.p_second)}

    def _weights(self, prompt: Prompt, text: str) -> Sequence[float]:
        """A token for each word: those of the first line's vote have the log-probability, those of
        each further line half of it, and those of the roles' names are all but impossible."""
        self.weighed.append((prompt.text, text))
        found: list[float] = []
        for number, line in enumerate(text.split("\n")):
            name, _, said = line.partition(":")
            found += [-20.0] * len(name.split())
            found += [self.logprob / 2**number] * len(said.split())
        return found


def inside(prompt: Prompt, marker: str) -> str:
    found = re.search(rf"<{marker}>\n(.*?)\n</{marker}>", prompt.text, re.DOTALL)
    return found[1]


def all_for_the_second(role: str, second: str) -> str:
    return f"{role.partition(':')[0]}: Summary 2 — It says more."


def judge(**settings: Any) -> Roles:
    return Roles(settings, TASK)


def verdicts(
    one: Roles, model: Voting, case: Case = CASE, briefs: Sequence[Brief] | None = None
) -> list[Verdict]:
    if briefs is None:
        briefs = asyncio.run(one.brief(case.document, [], model))
    return asyncio.run(one.verdicts(case, briefs, model)).verdicts


def values(one: Roles, found: Verdict) -> dict[str, Any]:
    """Without the mean over roles, which is held against the sum wherever this is asked."""
    told = {s.scorer: s.reason if s.value is None else s.value for s in one.score(found)}
    mean, total = told.pop(f"{one.name}.mean"), told[one.name]
    if isinstance(total, str):
        assert mean == total
    else:
        assert mean == pytest.approx(total / len(found.evidence["roles"]))
    return {name: one if isinstance(one, str) else pytest.approx(one) for name, one in told.items()}


def voters(found: Verdict) -> list[str]:
    return [role["type"] for role in found.evidence["roles"]]


# who votes


@pytest.mark.parametrize(
    ("settings", "types"),
    [
        ({"dynamic": 0}, STATIC),
        ({"dynamic": 2}, [*STATIC, "Politicians", "Residents"]),
        ({"dynamic": 3}, [*STATIC, "Politicians", "Residents", "Commuters"]),
        ({"static": False, "dynamic": 2}, ["Politicians", "Residents"]),
        ({"clustering": False, "dynamic": 4},
         [*STATIC, "Politicians", "Residents", "Commuters", "Strangers"]),
        ({"clustering": False, "dynamic": 1}, [*STATIC, "Politicians"]),
    ],
)  # fmt: skip
def test_static_roles_stay_and_readers_that_are_unlike_join(settings, types):
    found, _ = verdicts(judge(**settings), Voting(all_for_the_second))
    assert voters(found) == types
    assert all(role["static"] == (role["type"] in STATIC) for role in found.evidence["roles"])
    assert found.evidence["notes"] == []


@pytest.mark.parametrize("clustering", [True, False])
def test_a_reader_who_is_a_static_role_over_again_is_dropped(clustering):
    """By its name alone: two of one name would vote under it."""
    model = Voting(all_for_the_second, coarse="1. general public: what happened", fine="no list")
    found, _ = verdicts(judge(clustering=clustering), model)
    assert voters(found) == STATIC
    assert found.evidence["dropped"] == [
        ["general public", "of the same name as the static role “General Public”"]
    ]
    assert found.evidence["notes"] == [
        "fine readers: no readers in the reply: “no list”",
        "0 of 4 dynamic roles: no more of them are distinct",
    ]


def test_readers_that_cannot_be_had_leave_the_static_roles_and_the_reason():
    model = Voting(all_for_the_second, coarse="I cannot say.", fine=Failed("too long"))
    one = judge()
    (brief,) = asyncio.run(one.brief(DOCUMENT, [], model))
    assert (brief.status, brief.reason) == ("unscored", "no readers in the reply: “I cannot say.”")
    found, _ = verdicts(one, model, briefs=[brief])
    assert voters(found) == STATIC
    assert found.evidence["notes"] == [
        "readers could not be had: no readers in the reply: “I cannot say.”"
    ]
    assert values(one, found)["roles"] == pytest.approx(0.8 + exp(log(0.8) / 2) + exp(log(0.8) / 4))


# the vote


def test_one_prompt_for_a_candidate_and_the_sum_of_its_confidences():
    """Three roles; the critic is for the reference: .8 + 0 + e^(log(.8) / 4)."""

    def says(role: str, candidate: str) -> str:
        which = "Summary 1" if "Critic" in role else "Summary 2"
        return f"{role.partition(':')[0]}: {which} — Its sentences."

    model, one = Voting(says), judge(dynamic=0)
    found, _ = verdicts(one, model)
    assert len(model.asked) == 2
    assert [text for text, _ in model.weighed] == model.asked
    assert found.tokens.asks == 2
    assert [v["votes"]["fixed"]["choice"] for v in found.evidence["roles"]] == [
        "candidate", "reference", "candidate",
    ]  # fmt: skip
    assert found.evidence["roles"][1]["votes"]["fixed"]["confidence"] == pytest.approx(0.8**0.5)
    assert values(one, found) == {"roles": 0.8 + 0.8**0.25}
    assert inside(Prompt((model.asked[0],)), "first") == "The river rose."
    assert inside(Prompt((model.asked[1],)), "second") == "Rain fell."
    assert found.evidence["reference"] == {"from": "human", "text": "The river rose."}


def test_both_orders_and_each_alone():
    """Everybody is for the second text, whichever that is."""
    first = 0.8 + 0.8**0.5 + 0.8**0.25
    for order, value, asks in (("fixed", first, 2), ("swapped", 0.0, 2), ("both", first / 2, 4)):
        model, one = Voting(all_for_the_second), judge(dynamic=0, order=order)
        found, _ = verdicts(one, model)
        assert values(one, found) == {"roles": value}
        assert len(model.asked) == asks
    model, one = Voting(all_for_the_second), judge(dynamic=0, batch=False)
    found, _ = verdicts(one, model)
    assert len(model.asked) == len(model.weighed) == 2 * 3
    assert values(one, found) == {"roles": 3 * 0.8}
    assert found.tokens.asks == 2 * 3
    assert not one.estimated
    assert judge(batch=False).estimated
    assert not judge().estimated


def test_a_cut_reply_counts_with_the_votes_that_were_whole():
    class Cut(Voting):
        def _written(self, prompt: Prompt, reply: str | Failed, how: Writing) -> Written | Failed:
            return Written((Sample(reply[: reply.rindex("\n") + 30], "length"),))

    one = judge(dynamic=0)
    found, _ = verdicts(one, Cut(all_for_the_second))
    votes = [role["votes"]["fixed"] for role in found.evidence["roles"]]
    assert [vote.get("confidence") for vote in votes] == [
        pytest.approx(0.8), pytest.approx(0.8**0.5), None,
    ]  # fmt: skip
    assert votes[2] == {"failed": CUT.reason}
    assert values(one, found) == {"roles": (0.8 + 0.8**0.5) * 3 / 2}


SPELLED = "the model's tokens do not spell the reply, so its votes have no confidence"


@pytest.mark.parametrize(
    ("written", "weighed", "reason"),
    [
        (None, Failed("too long"), "too long"),
        (None, Weighed((Token(0, 9, -1.0),)), SPELLED),
        (Failed("too long"), None, "too long"),
    ],
)
def test_votes_that_cannot_be_written_or_weighed_are_none(written, weighed, reason):
    class Silent(Voting):
        def _reply(self, prompt: Prompt, how: Writing) -> str | Failed:
            return written or super()._reply(prompt, how)

        async def weigh(
            self, prompts: Sequence[Prompt], texts: Sequence[str]
        ) -> list[Weighed | Failed]:
            return [weighed or Failed("not reached")] * len(texts)

    one = judge(dynamic=0)
    found, _ = verdicts(one, Silent(all_for_the_second))
    assert {role["votes"]["fixed"]["failed"] for role in found.evidence["roles"]} == {reason}
    assert values(one, found) == {"roles": f"nobody voted: {reason}"}


def test_exact_and_plain_are_asks_of_their_own():
    model, one = Voting(all_for_the_second), judge(dynamic=0, exact=True, plain=True, order="both")
    found, _ = verdicts(one, model)
    assert len(model.asked) == 2 * (2 + 2 * 3 + 2)
    assert found.evidence["roles"][0]["exact"] == {
        "fixed": pytest.approx(0.7), "swapped": pytest.approx(0.3),
    }  # fmt: skip
    assert values(one, found) == {
        "roles": (0.8 + 0.8**0.5 + 0.8**0.25) / 2, "roles.exact": 0.5, "roles.plain": 0.5,
    }  # fmt: skip
    assert one.options == [Options(("1", "2"))]
    assert judge().options == []
    assert "after" not in found.evidence


def test_what_the_model_thought_before_it_chose_is_kept():
    class Thinking(Voting):
        def _chosen(self, prompt: Prompt, options: Options, samples: int) -> Any:
            thought = Sample(f"thought {prompt.template}", "length")
            return replace(super()._chosen(prompt, options, samples), thoughts=(thought,))

    found, _ = verdicts(judge(dynamic=0, exact=True, plain=True), Thinking(all_for_the_second))
    shown = [line.partition("“")[2] for line in shown_thoughts(found.evidence)]
    assert shown == 3 * ["thought roles.choose”"] + ["thought roles.plain”"]
    assert {thought["thoughts_cut"] for thought in found.evidence["after"]} == {1}


# the reference


def test_references_that_the_model_writes():
    model, one = Voting(all_for_the_second), judge(dynamic=0, reference="written")
    briefs = asyncio.run(one.brief(DOCUMENT, [], model))
    assert [(b.part, b.content) for b in briefs] == [("reference", {"text": "reference 1"})]
    found, _ = verdicts(one, model, briefs=briefs)
    assert found.evidence["reference"] == {"from": "written", "text": "reference 1"}
    assert asyncio.run(one.brief(DOCUMENT, briefs, model)) == []
    assert needed(5) == {5}
    assert needed(3) == {1, 3, 5}
    assert needed(2) == {1, 2, 3, 5}
    assert needed(1.5) == {1, 1.5, 2, 3, 5}
    model, one = Voting(all_for_the_second), judge(dynamic=0, reference="level", axis="relevance")
    briefs = asyncio.run(one.brief(DOCUMENT, [], model))
    assert [(b.axis, b.part) for b in briefs] == [
        ("relevance", "1"), ("relevance", "5"), ("relevance", "3"),
    ]  # fmt: skip
    assert len(one.parts()) == 3
    found, _ = verdicts(one, model, briefs=briefs)
    assert found.evidence["reference"]["text"] == "reference 3"


def test_nobody_votes_on_the_reference_itself():
    one, model = judge(dynamic=0), Voting(all_for_the_second)
    itself = Candidate("Human", "The river rose. \n")
    first, second = verdicts(one, model, Case(DOCUMENT, (itself, CASE.candidates[0])))
    assert values(one, first) == {"roles": "is the reference"}
    assert second.status == "ok"
    assert [inside(Prompt(text), "second") for text in model.asked] == [CASE.candidates[0].text]


# what depends on what


def test_other_votes_ask_for_no_other_readers():
    def key(one: Roles) -> str:
        return brief_key(one, one.parts()[0], DOCUMENT, Identity("m", "r", {}, {}))

    usual = key(judge())
    for other in ({"dynamic": 2}, {"static": False}, {"clustering": False}, {"order": "both"},
                  {"batch": False}, {"exact": True}, {"encoder": "another"}):  # fmt: skip
        assert key(judge(**other)) == usual
        assert judge(**other).asking != judge().asking
    assert key(judge(readers=3)) != usual
    assert judge(dynamic=0).parts() == []


def test_a_task_names_its_roles(tmp_path):
    file = tmp_path / "notes.yaml"
    file.write_text("name: notes\naxes: {tone: {description: how it sounds}}\nprompts: summary\n")
    with pytest.raises(UserError, match=r"^judges\.roles: task notes names no `roles`"):
        Roles({}, load_task(str(file)))
    file.write_text(file.read_text() + "roles: {Nurse: what to do next, Doctor: what was found}\n")
    found, _ = verdicts(Roles({"dynamic": 0}, load_task(str(file))), Voting(
        lambda role, second: f"{role.partition(':')[0]}: Text 2 — It says more."))  # fmt: skip
    assert voters(found) == ["Nurse", "Doctor"]
