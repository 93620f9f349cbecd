"""What people see of a judge of entities: single texts, and the section, from evidence by hand."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.judges.collector import SeenShard
from evaljudge.judges.entities.evidence import EntitiesEvidence, read_evidence
from evaljudge.judges.entities.findings import counted, entities, entity_row
from evaljudge.judges.entities.view import TEMPLATE, pieces, shown_evidence, shown_text
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.counting import Sums, add
from evaljudge.records import Candidate, Verdict
from evaljudge.sections import View
from tests.judges.entities.evidence import entity, sentence, verdict, wanted
from tests.judges.reading import HOSTILE, Reader, assert_nothing_is_added, opened

TEXT = "The river rose and fell. It rain."


def judged_text(text: str = TEXT, **evidence: Any) -> tuple[EntitiesEvidence, str]:
    return read_evidence(verdict(**evidence).evidence), text


SAMPLE: dict[str, Any] = {
    "rubric": [
        wanted("The bridge closed", "no", "no", "contradict"),
        wanted("Two hikers were found", "contradict", "contradict", "no"),
        wanted("It was in May", "partially", "partially", "no"),
        wanted("The river rose", "partially", "yes", "partially"),
        wanted("Boats were sent", "!cut", "!cut", "!cut"),
    ],
    "entities": [
        entity("A river rose", (0, 14), "yes", "yes", "no", heading="Events"),
        entity("It rose, and it fell", (0, 23), "no", "yes", "partially", placed=["no", "yes"]),
        entity("Elsewhere", (900, 950), "unknown", "unknown"),
    ],
    "sentences": [
        sentence((0, 24), "no", "no", "no", "no"),
        sentence((25, 33), "no", "no", "yes", "yes"),
    ],
    "dropped": ["A moon landing"],
}


def viewed(one: tuple[EntitiesEvidence, str], system: str = "A") -> str:
    return opened("entities", View(TEMPLATE, shown_text(*one)), Candidate(system, one[1]))


# pieces of a text


@pytest.mark.parametrize(
    ("answers", "worst"),
    [
        (["yes", "partially"], "partially"),
        (["partially", "unknown"], "unknown"),
        (["unknown", "no"], "no"),
        (["yes", "!cut"], "none"),
        (["!cut", "partially"], "partially"),
        (["yes", "yes"], "yes"),
    ],
)
def test_the_worst_of_several_is_the_look(answers, worst):
    both = [entity(str(n), (0, 9), answer) for n, answer in enumerate(answers)]
    first, rest = pieces(*judged_text(entities=both))
    assert (first.worst, rest.worst) == (worst, "")


def test_a_sentence_that_cuts_an_entity_names_it_once():
    judged = judged_text(
        entities=[entity("all of it", (0, 33), "yes")],
        sentences=[sentence((0, 24), "yes"), sentence((25, 33), "no")],
    )
    cut = pieces(
        *judged_text(entities=[entity("r", (4, 9), "yes")], sentences=[sentence((0, 24), "yes")])
    )
    assert [one.issues for one in cut] == ["", "", "flow", ""]
    found = pieces(*judged)
    assert [(one.text, one.label, one.issue) for one in found] == [
        ("The river rose and fell.", "", True),
        (" It rain.", "1 yes", False),
    ]


@pytest.mark.parametrize("span", [(5, 5), (9, 2), (-7, 0), (33, 90), (500, 900), (0, 0)])
def test_a_span_without_words_marks_nothing(span):
    text = judged_text(entities=[entity("lost", span, "no")], sentences=[sentence(span, "yes")])
    found = pieces(*text)
    assert "".join(one.text for one in found) == TEXT
    assert not any(one.worst or one.label or one.issue for one in found)
    assert shown_text(*text).lists["Entities whose words are not in the text"] == [
        ("1 no: lost", "")
    ]


SPANS = st.tuples(st.integers(-9, 60), st.integers(-9, 60))


@given(
    st.text(alphabet="ab c\nשé", max_size=40),
    st.lists(SPANS, max_size=8),
    st.lists(SPANS, max_size=4),
)
def test_pieces_join_to_the_text_and_carry_all_that_hold_them(text, spans, bad):
    told = [entity(str(n), span, "yes") for n, span in enumerate(spans)]
    issues = [sentence(span, "yes") for span in bad]
    judged = judged_text(text, entities=told, sentences=issues)
    found = pieces(*judged)
    assert "".join(one.text for one in found) == text
    place = 0
    for one in found:
        letters = range(place, place + len(one.text))
        held = [all(start <= x < end for x in letters) for start, end in spans]
        assert bool(one.worst) == any(held)
        assert one.issue == any(start <= place < end for start, end in bad)
        place += len(one.text)


# one text on the page


def test_what_a_terminal_shows_of_the_sample():
    section = shown_evidence(JudgedCandidate(Candidate("A", TEXT), verdict(**SAMPLE)))
    (table,) = section.tables
    assert table.rows[0] == [
        "1",
        "A river rose",
        "correctness",
        "yes",
        "one: yes; two: yes; three: no",
    ]
    assert len(table.rows) == 13
    text, *found = section.notes
    assert text == (
        "Text: The river rose [1 yes; 2 no, misplaced] and fell [2 no, misplaced]."
        " It rain. [writing: grammar, spelling]"
    )
    assert found == [
        "Of the rubric, missing: The bridge closed (missing)",
        "Of the rubric, missing: Two hikers were found (contradicted)",
        "Of the rubric, found only in part: It was in May",
        "Of the rubric, without a verdict: Boats were sent",
        "Misplaced: 2: It rose, and it fell",
        "Entities whose words are not in the text: 3 unknown: Elsewhere",
        "Dropped, since no words support them: A moon landing",
    ]


def test_answers_with_probabilities_reasons_and_failures():
    told = {
        "facts": {"answer": "yes", "p": {"yes": 0.8, "no": 0.1004}, "mass": 0.97},
        "details": {"answer": "no", "reason": "it was in June"},
        "evidence": {"failed": "the reply was cut"},
        "bare": {"answer": "no", "reason": ""},
    }
    one = entity("e", (0, 3)) | {"correctness": told, "alignment": {}}
    (answers,) = shown_text(*judged_text(entities=[one])).answers
    assert answers.said == [
        "facts: yes (yes 0.800, no 0.100; mass 0.970)",
        "details: no: it was in June",
        "evidence: failed: the reply was cut",
        "bare: no",
    ]


def test_the_page_says_verdicts_in_words():
    text = viewed(judged_text(**SAMPLE))
    reader = Reader(text)
    assert ' class="no">The river rose</mark><sup><bdi> 1 yes; 2 no, misplaced</bdi></sup>' in text
    assert '<mark class=" issue">It rain.</mark>' in text
    assert "writing: grammar, spelling" in reader.words["sup"]
    assert {"The bridge closed (missing)", "It was in May"} <= set(reader.words["li"])
    assert reader.words["summary"][0] == "Every answer (13 verdicts)"
    assert reader.words["h3"][:2] == ["Text", "Source"]
    (_, body) = (words for words in reader.words["p"] if words.startswith("The river rose"))
    assert body == (
        "The river rose 1 yes; 2 no, misplaced and fell 2 no, misplaced. "
        "It rain. writing: grammar, spelling"
    )


ALL_HOSTILE = " ".join(HOSTILE)


def hostile_text() -> tuple[EntitiesEvidence, str]:
    """Every word that can come from outside is an attack."""
    all_of_it = ALL_HOSTILE
    ends = [(n * 7, n * 11 + 5) for n in range(len(HOSTILE))]
    told: Mapping[str, Any] = {
        "entities": [
            entity(word, span, "no", f"!{word}", heading=word, placed=["no"])
            for word, span in zip(HOSTILE, ends, strict=True)
        ],
        "rubric": [
            wanted(word, answer) for word in HOSTILE for answer in ("no", "partially", "!x")
        ],
        "sentences": [sentence((3, 900), "yes", f"!{all_of_it}")],
        "dropped": HOSTILE,
        "failed": dict.fromkeys(("rubric", "sentences"), all_of_it),
    }
    return judged_text(all_of_it, **told)


def test_hostile_texts_stay_texts():
    assert_nothing_is_added(viewed(hostile_text(), ALL_HOSTILE), viewed(judged_text(**SAMPLE)))


# the section


def sums_of(*shards: list[Verdict]) -> Sums:
    total = counted(None, SeenShard([], []))
    for verdicts in shards:
        add(total, counted(None, SeenShard([], verdicts)))
    return total


def sums() -> Sums:
    """Two shards: d1 with two candidates, and d2, which has no rubric."""
    second = [wanted("The bridge closed", "yes", "yes", "no")] * 5
    shards = [
        [
            verdict(**SAMPLE, replies={"structured": 10, "cut": 1, "malformed": 2}),
            verdict(system="B", rubric=second, failed={"entities": "cut"}),
            Verdict("d1", "C", "entities", "*", {}, "unscored", "empty text"),
        ],
        [
            Verdict("d2", "A", "entities", "*", {}, "unscored", "empty text"),
            verdict("d2", "B", failed={"rubric": "too few references"}, dropped=["x", "y"]),
        ],
    ]
    return sums_of(*shards)


def test_tables_of_the_section():
    section = entities(entity_row("entities", sums()))
    sizes, without, verdicts, rules, replies = (table.rows for table in section.tables)
    assert sizes == [["entities", "5", "1.5", "0", "3", "3", "2", "5.0", "5", "5"]]
    assert without == [["entities", "too few references", "1"]]
    assert verdicts == [
        ["entities", "completeness", "9", "66.7%", "11.1%", "11.1%", "11.1%", "–", "1"],
        ["entities", "correctness", "3", "33.3%", "0.0%", "33.3%", "–", "33.3%", "0"],
        ["entities", "alignment", "3", "66.7%", "–", "33.3%", "–", "–", "0"],
        ["entities", "readability", "2", "50.0%", "–", "50.0%", "–", "–", "0"],
    ]
    assert rules == [
        ["entities", "completeness", "88.9%", "11.1%", "0.0%"],
        ["entities", "correctness", "66.7%", "0.0%", "33.3%"],
        ["entities", "alignment", "66.7%", "0.0%", "33.3%"],
    ]
    assert replies == [["entities", "10", "1", "10.0%", "2", "20.0%"]]


def test_a_run_of_nothing_divides_by_nothing():
    told = entities(entity_row("entities", sums_of()))
    sizes, verdicts, _, replies = told.tables
    assert sizes.rows == [["entities", "0", "–", "–", "–", "0", "0", "–", "–", "–"]]
    assert verdicts.rows[0][2:] == ["0", "–", "–", "–", "–", "–", "0"]
    assert replies.rows == [["entities", "0", "0", "–", "0", "–"]]
