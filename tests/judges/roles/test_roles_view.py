"""What people see of a judge of role-players: texts, counts, the section; evidence by hand."""

from collections.abc import Mapping
from typing import Any

import pytest

from evaljudge.judges import make_judges
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.roles.evidence import (
    TEMPLATE,
    Ballot,
    Polled,
    read_polled,
    shown_evidence,
)
from evaljudge.judges.roles.findings import RoleRow, counted, role_row
from evaljudge.judges.roles.findings import section as section_of
from evaljudge.judges.shared.counting import LONGEST_KIND, MOST_KINDS, OTHERS, Reasons, Sums, add
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Verdict
from evaljudge.sections import Section, View
from evaljudge.text import one_line
from tests.judges.reading import HOSTILE, Reader, assert_nothing_is_added, opened

TEXT = "The river rose and fell."


def vote(choice: str, confidence: float = 0.5, reason: str = "It is clear.") -> dict[str, Any]:
    """`!…` is a vote that could not be had."""
    if choice.startswith("!"):
        return {"failed": choice[1:]}
    return {"choice": choice, "confidence": confidence, "reason": reason}


def role(type_: str, static: bool = True, **votes: dict[str, Any]) -> dict[str, Any]:
    return {"type": type_, "description": f"What {type_} want.", "static": static, "votes": votes}


def verdict(doc_id: str = "d1", system: str = "A", **evidence: Any) -> Verdict:
    empty: dict[str, Any] = {
        "roles": [],
        "reference": {"from": "human", "text": "A flood."},
        "dropped": [],
        "notes": [],
    }
    return Verdict(doc_id, system, "roles", "*", empty | evidence)


def unscored(doc_id: str, system: str, reason: str) -> Verdict:
    return Verdict(doc_id, system, "roles", "*", {}, "unscored", reason)


def polled_text(**evidence: Any) -> Polled:
    return read_polled(verdict(**evidence).evidence)


SAMPLE: dict[str, Any] = {
    "roles": [
        role("Public", fixed=vote("candidate", 0.8), swapped=vote("candidate", 0.6)),
        role("Critic", fixed=vote("reference", 0.7), swapped=vote("candidate", 0.9))
        | {"exact": {"fixed": 0.71, "swapped": {"failed": "the label was cut"}}},
        role("Author", fixed=vote("candidate", 0.4), swapped=vote("reference", 0.5)),
        role("Fans", False, fixed=vote("!no choice in “I like both”"), swapped=vote("reference")),
        role("Farmers", False, fixed=vote("candidate", 0.3), swapped=vote("reference", 0.1)),
    ],
    "reference": {"from": "written", "text": "A flood.\nNobody was hurt."},
    "plain": {"fixed": 0.64, "swapped": {"failed": "the engine gave no p"}},
    "dropped": [
        ["Readers", "in one cluster with the static role “Public”"],
        ["Locals", "in one cluster with “Farmers”, which is nearer its centre"],
    ],
    "notes": ["the list was cut at the token limit"],
}


def viewed(one: Polled, system: str = "A", text: str = TEXT) -> str:
    return opened("roles", View(TEMPLATE, one), Candidate(system, text))


# one text on the page


def test_what_a_terminal_shows_of_the_sample():
    section = shown_evidence(JudgedCandidate(Candidate("A", TEXT), verdict(**SAMPLE)))
    (table,) = section.tables
    assert section.about[0].startswith("Fixed: of 5 roles, 3 chose the candidate")
    assert table.rows[1:4:2] == [
        [
            "Critic",
            "the reference (confidence 0.700; p 0.710)",
            "the candidate (confidence 0.900; no p: the label was cut)",
        ],
        ["Fans", "no vote: no choice in “I like both”", "the reference (confidence 0.500)"],
    ]
    assert section.notes[0] == "Public (fixed): It is clear."
    assert section.notes[-6:] == [
        "Reference (written by the model): A flood.\nNobody was hurt.",
        "One plain question, without roles: fixed: p 0.640",
        "One plain question, without roles: swapped: no p: the engine gave no p",
        "Role that was not asked: Readers: in one cluster with the static role “Public”",
        "Role that was not asked: Locals: "
        "in one cluster with “Farmers”, which is nearer its centre",
        "the list was cut at the token limit",
    ]


def test_what_was_not_asked_is_said():
    """Of a role, an order may be there without a vote, and a vote without a confidence."""
    bare = {"choice": "candidate", "confidence": None, "reason": ""}
    told = [
        role("Public", fixed=bare),
        role("Critic") | {"exact": {"fixed": 1}},
        role("Author", swapped=bare),
    ]
    polled = polled_text(roles=told)
    assert list(map(polled.ballots, polled.roles)) == [
        [Ballot("the candidate"), Ballot("not asked")],
        [Ballot("not asked to vote", figures="p 1.000"), Ballot("not asked")],
        [Ballot("not asked"), Ballot("the candidate")],
    ]


def test_the_page_says_votes_in_words_and_reasons_on_demand():
    reader = Reader(viewed(polled_text(**SAMPLE)))
    assert "Whom each role chose" in reader.words["caption"]
    cells = reader.words["td"]
    assert "the reference (confidence 0.700; p 0.710) why It is clear." in cells
    assert "no vote: no choice in “I like both”" in cells
    assert "the candidate (confidence 0.800) why It is clear." in cells
    assert reader.elements["details"] == reader.elements["summary"] == 11  # 9 reasons
    assert "Critic What Critic want." in reader.words["th"]
    assert {
        *("A flood. Nobody was hurt.", TEXT, "Reference (written by the model)"),
        "Fixed: of 5 roles, 3 chose the candidate, 1 the reference; 1 gave no vote.",
        "Swapped: of 5 roles, 2 chose the candidate, 3 the reference.",
    } <= set(reader.words["p"])
    assert cells[::3] == ["static, of the task"] * 3 + ["dynamic, a reader of this document"] * 2
    assert reader.words["th"][2:4] == ["fixed: the reference first", "swapped: the candidate first"]
    assert {
        "fixed: p 0.640",
        "Readers (in one cluster with the static role “Public”)",
        "the list was cut at the token limit",
    } <= set(reader.words["li"])


def hostile_text() -> str:
    """Every word that can come from outside is an attack."""
    all_of_it = " ".join(HOSTILE)
    told: Mapping[str, Any] = {
        "roles": [
            {
                "type": word,
                "description": word,
                "static": False,
                "votes": {"fixed": vote("candidate", 0.5, word), "swapped": vote(f"!{word}")},
                "exact": {"fixed": {"failed": word}},
            }
            for word in HOSTILE
        ],
        "reference": {"from": all_of_it, "text": all_of_it},
        "plain": {"fixed": {"failed": all_of_it}},
        "dropped": [[word, word] for word in HOSTILE],
        "notes": HOSTILE,
    }
    return viewed(polled_text(**told), all_of_it, all_of_it)


def test_hostile_texts_stay_texts():
    shown = hostile_text()
    assert_nothing_is_added(shown, viewed(polled_text(**SAMPLE)))
    reader = Reader(shown)
    reasons = [one_line(word) for word in HOSTILE]
    found = [cell.partition(" why ")[2] for cell in reader.words["td"] if " why " in cell]
    assert found == [" ".join(reason.split()) for reason in reasons]


# counts


def shards() -> list[list[Verdict]]:
    """d1 with three candidates; d2, whose readers could not be had; d3, that nobody can vote on."""
    alone = [role("Public", fixed=vote("candidate", 1.0), swapped=vote("!cut"))]
    no_readers = "readers could not be had: no roles in the reply: “I cannot”"
    return [
        [verdict(**SAMPLE), verdict(system="B", **SAMPLE), unscored("d1", "C", "empty text")],
        [
            unscored("d2", "A", "empty text"),
            verdict("d2", "B", roles=alone, notes=[no_readers]),
            unscored("d3", "A", "empty source"),
        ],
    ]


def sums_of(*shards: list[Verdict]) -> Sums:
    total: Sums = {}
    for verdicts in shards:
        add(total, counted(SeenShard([], verdicts)))
    return total


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        ({"notes": ["readers could not be had: never written"]}, "never written"),
        ({"dropped": [["Readers", "the same as “Public”"]]}, "every one was dropped"),
        ({}, "none were asked for"),
        ({"roles": [role("Fans", False)], "notes": ["readers could not be had: one list"]}, ""),
        ({"notes": ["readers could not be had: a", "x", "readers could not be had: b"]}, "a; b"),
    ],
)
def test_why_there_are_no_readers(evidence, why):
    assert polled_text(**{"roles": [role("Public")]} | evidence).no_readers == why


def test_reasons_do_not_grow_with_the_corpus():
    seen = Reasons()
    for number in range(3 * MOST_KINDS):
        seen += {f"reason {number}": 1, f"undecided: “reply {number} and ”more”": 2}
    assert len(seen) == MOST_KINDS + 1
    assert seen["undecided: “…”"] == 6 * MOST_KINDS
    assert seen[OTHERS] == 3 * MOST_KINDS - (MOST_KINDS - 1)
    seen += {"x" * 9999: 1, "reason 0": 1}
    assert seen["reason 0"] == 2 and max(map(len, seen)) <= LONGEST_KIND


def test_scores_of_the_sample():
    """The mean of both orders; where no answer could be had in one order, the other's alone."""
    (judge,) = make_judges({"roles": {"order": "both", "plain": True}}, load_task("summary"))
    scores = {score.scorer: score.value for score in judge.score(verdict(**SAMPLE))}
    assert scores["roles"] == pytest.approx(((0.8 + 0.4 + 0.3) * 5 / 4 + 0.6 + 0.9) / 2)
    assert scores["roles.plain"] == pytest.approx(0.64)


# the section


def section(row: RoleRow | None = None) -> Section:
    return section_of(row or role_row("roles", sums_of(*shards())))


def test_tables_of_the_section():
    tables = {table.title: table.rows for table in section().tables}
    assert tables == {
        "How many roles": [["roles", "3", "6", "3", "3.0", "1", "3", "2.0", "0", "2"]],
        "Where the number of roles differs": [["roles", "2", "1", "50.0%", "1", "5"]],
        "Votes": [
            ["roles", "fixed", "9", "77.8%", "22.2%", "2", "0.600"],
            ["roles", "swapped", "10", "40.0%", "60.0%", "1", "0.520"],
        ],
        "Without a vote": [["roles", "no choice in “…”", "2"], ["roles", "cut", "1"]],
        "Where the two orders disagree": [["roles", "8", "6", "75.0%", "2", "4"]],
        "Documents without readers": [
            ["roles", "empty source", "1"],
            ["roles", "no roles in the reply: “…”", "1"],
        ],
        "Roles that were not asked": [
            ["roles", "in one cluster with the static role “…”", "1"],
            ["roles", "in one cluster with “…”, which is nearer its centre", "1"],
        ],
        "Noted of documents": [
            ["roles", "readers could not be had: no roles in the reply: “…”", "1"],
            ["roles", "the list was cut at the token limit", "1"],
        ],
    }


def test_a_run_of_nothing_divides_by_nothing():
    found = section(row=role_row("roles", counted(SeenShard([], []))))
    (only,) = found.tables
    assert list(found.pictures) == []
    assert only.rows == [["roles", "0", "0", "0", "–", "–", "–", "–", "–", "–"]]
    silent = role_row("r", sums_of([verdict(roles=[role("a", fixed=vote("!x"))])]))
    votes = section(row=silent).tables[1]
    assert votes.rows == [["r", "fixed", "0", "–", "–", "1", "–"]]
