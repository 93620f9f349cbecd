"""The judge of entities over a scripted model: every step, every aspect, every number by hand."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges import plugin
from evaljudge.judges.checked import shown_section
from evaljudge.judges.entities import extraction
from evaljudge.judges.entities.equations import SHARES
from evaljudge.judges.entities.judge import Entities
from evaljudge.judges.entities.voting import PROMPTS, TEMPLATES
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.model.asks import Failed, Options, Prompt, Sample, Writing
from evaljudge.prompts import Pack, Task
from evaljudge.records import Axis, Brief, Candidate, Case, Document, Verdict

AXES = ("coherence", "consistency", "fluency", "relevance")
VOTE = "{{ mode }}|%s|<source>{{ source }}</source><truth>{{ truth }}</truth>" \
       "<target>{{ target }}</target><heading>{{ heading }}</heading>" \
       "<definition>{{ definition }}</definition><subject>{{ %s }}</subject>"  # fmt: skip
PACK = Pack(
    {name: VOTE % (name, "sentence" if "readability" in name else "entity") for name in TEMPLATES}
    | {
        name: f"{name.partition('.')[2]}|"
        + "".join(f"<{slot}>{{{{ {slot} }}}}</{slot}>" for slot in slots)
        for name, slots in extraction.TEMPLATES.items()
    }
)
"""Templates that say their names, so that the scripted model knows what it is asked."""
NOUNS = {"source": "article", "target": "summary"}
TASK = Task("summary", tuple(Axis(name, "…") for name in AXES), PACK, NOUNS)
SOURCE = "The river rose on Monday. The old bridge was closed. Nobody was hurt."
TRUTH = "The river rose. The bridge was closed."
SUMMARY = "The river rose. The bridge collapsed!"
DOCUMENT = Document("d1", SOURCE, (TRUTH,))
Answers = Callable[[str, str, Mapping[str, str]], str | Failed]
"""To a template (`presence`), a subject and the prompt's texts."""


def judge(task: Task = TASK, **settings: Any) -> Entities:
    return Entities(settings, task)


def texts_in(prompt: Prompt) -> dict[str, str]:
    return {m[1]: m[2] for m in re.finditer(r"<(\w+)>(.*?)</\1>", prompt.text, re.DOTALL)}


def lines(text: str) -> list[str]:
    return [line.partition(". ")[2] for line in text.splitlines()]


def sentence_entities(text: str) -> list[str]:
    """What the scripted writer takes for the entities of a text: its sentences."""
    return [part.strip() for part in re.split(r"[.!?]", text) if part.strip()]


def writer(prompt: Prompt, how: Writing) -> str:
    """Entities are the sentences; each stands in the sentence that holds its words, or nowhere."""
    told, name = texts_in(prompt), prompt.text.partition("|")[0]
    if name == "extract":
        return json.dumps({"entities": sentence_entities(told["text"])})
    if name == "verify":
        return json.dumps({"entities": lines(told["entities"])})
    assert name == "locate"
    numbered, found = lines(told["sentences"]), {}
    for at, entity in enumerate(lines(told["entities"]), 1):
        place = next((n for n, sentence in enumerate(numbered, 1) if entity in sentence), 0)
        found[str(at)] = {"sentence": place, "words": entity}
    return json.dumps(found)


def scripted(answers: Answers, writes: Any = writer, asked: Counter[str] | None = None) -> Scripted:
    """`asked` counts the questions by template."""
    count = Counter[str]() if asked is None else asked

    def noted_writes(prompt: Prompt, how: Writing) -> str | Failed:
        count[prompt.text.partition("|")[0]] += 1
        return writes(prompt, how)

    def chooses(prompt: Prompt, options: Options) -> Mapping[str, float] | Failed:
        told = texts_in(prompt)
        mode, _, rest = prompt.text.partition("|")
        template = rest.partition("|")[0] if mode == "choose" else mode
        count[template] += 1
        subject = told.get("subject", told.get("entity", ""))
        said = answers(template.rpartition(".")[2], subject, told)
        if isinstance(said, Failed):
            return said
        return {name: 0.0 if name.lower() == said else -inf for name in options.names}

    return Scripted(writes=noted_writes, chooses=chooses)


def says(**answers: Any) -> Answers:
    """To a prompt by its name one answer, or a function of subject and texts; to all others, that
    nothing is wrong."""

    def answer(template: str, subject: str, told: Mapping[str, str]) -> str | Failed:
        fine = "no" if template in PROMPTS["readability"] else "yes"
        said: Any = answers.get(template, fine)
        return said(subject, told) if callable(said) else said

    return answer


def of(word: str, said: str, otherwise: str) -> Callable[[str, Mapping[str, str]], str]:
    """One answer about subjects with this word, another about all others."""
    return lambda subject, told: said if word in subject else otherwise


all_well = says()


def rubric(
    document: Document = DOCUMENT, model: Scripted | None = None, one: Entities | None = None
) -> list[Brief]:
    return asyncio.run((one or judge()).brief(document, [], model or scripted(all_well)))


def verdict(
    text: str = SUMMARY,
    answers: Answers = all_well,
    one: Entities | None = None,
    document: Document = DOCUMENT,
    writes: Any = writer,
    rubric_writes: Any = writer,
    of_rubric: Answers | None = None,
) -> Verdict:
    one = one or judge()
    case = Case(document, (Candidate("A", text),))
    briefs = rubric(document, scripted(of_rubric or all_well, rubric_writes), one)
    (found,) = asyncio.run(one.verdicts(case, briefs, scripted(answers, writes))).verdicts
    return found


def values(found: Verdict, one: Entities | None = None) -> dict[tuple[str, str], float | str]:
    """A score's value, or why it has none."""
    return {
        (score.scorer.removeprefix("entities").removeprefix("."), score.axis):
            score.reason if score.value is None else pytest.approx(score.value)
        for score in (one or judge()).score(found)
    }  # fmt: skip


def test_what_is_missing_wrong_misplaced_and_badly_written():
    answers = says(
        presence=of("bridge", "no", "yes"),
        coverage=of("bridge", "no", "partially"),
        support=of("bridge", "contradict", "partially"),
        facts=of("collapsed", "no", "yes"),
        details=of("collapsed", "partially", "yes"),
        evidence=of("collapsed", "no", "unknown"),
        section=of("collapsed", "no", "yes"),
        flow=of("collapsed", "yes", "no"),
        spelling=of("collapsed", "yes", "no"),
    )
    found = verdict(answers=answers)

    assert values(found) == {
        ("completeness", "*"): 0.5,   # yes+partially+partially is yes; no+no+contradict is no
        ("correctness", "*"): 0.5,    # yes+yes+unknown is yes; no+partially+no is no
        ("unknown", "*"): 0.0,
        ("consistency", "*"): 0.5,
        ("supported", "*"): 0.5,
        ("denied", "*"): 0.5,
        ("divided", "*"): 0.0,
        ("alignment", "*"): 0.5,      # yes+yes; yes+no do not agree
        ("readability", "*"): 0.5,
        ("", "consistency"): 3.0,     # 1 + 4 * (2 - 1) / 2
        ("", "relevance"): 3.0,       # 1 + 4 * (1/2 + 1/2) / 2
        ("", "coherence"): 3.0,
        ("", "fluency"): 3.0,
    }  # fmt: skip
    assert found.evidence["rubric"][1]["entity"] == "The bridge was closed"
    assert found.evidence["rubric"][1]["votes"]["support"]["answer"] == "contradict"
    collapsed = found.evidence["entities"][1]
    assert SUMMARY[slice(*collapsed["span"])] == "The bridge collapsed"
    assert collapsed["alignment"]["section"] == {
        "answer": "no", "p": {"yes": 0.0, "no": 1.0}, "mass": 1.0,
    }  # fmt: skip
    assert [SUMMARY[slice(*s["span"])] for s in found.evidence["sentences"]] == [
        "The river rose.", "The bridge collapsed!",
    ]  # fmt: skip


# what is shown of the ground truth and the source


def test_each_aspect_is_shown_its_material_and_no_more():
    shown: dict[str, dict[str, str]] = {}

    def answers(template: str, subject: str, told: Mapping[str, str]) -> str | Failed:
        shown.setdefault(template, {k: v for k, v in told.items() if v and k != "subject"})
        return all_well(template, subject, told)

    verdict(answers=answers)
    assert shown == {
        **{prompt: {"target": SUMMARY} for prompt in PROMPTS["completeness"]},
        **{prompt: {"source": SOURCE, "truth": TRUTH} for prompt in PROMPTS["correctness"]},
        "definition": {"source": SOURCE},
        "section": {"truth": TRUTH},
        **{prompt: {"target": SUMMARY} for prompt in PROMPTS["readability"]},
    }


def test_without_a_reference_the_source_is_the_rubric_and_one_prompt_places():
    document, asked = Document("d1", SOURCE), Counter[str]()
    one = judge()
    briefs = rubric(document, scripted(all_well, asked=asked), one)
    assert briefs[0].content["from"] == "source"
    assert [e["entity"] for e in briefs[0].content["entities"]] == [
        "The river rose on Monday", "The old bridge was closed", "Nobody was hurt",
    ]  # fmt: skip
    case = Case(document, (Candidate("A", SUMMARY),))
    (found,) = asyncio.run(one.verdicts(case, briefs, scripted(all_well, asked=asked))).verdicts
    assert list(found.evidence["entities"][0]["alignment"]) == ["definition"]
    assert values(found)["alignment", "*"] == 1.0
    assert asked["entities.alignment.section"] == 0
    assert asked["entities.completeness.presence"] == 3


NUMBERS = ("One", "Two", "Three", "Four", "Five")
NOTE = """Medications:
- Lisinopril 10 mg daily
- Chest X-ray shows a small shadow

Imaging:
- Ultrasound of the liver was normal
"""
TRUE_NOTE = """Medications:
- Lisinopril 10 mg daily

Imaging:
- Chest X-ray shows a small shadow
- Ultrasound of the liver was normal
"""


def test_an_imaging_result_under_the_wrong_heading_is_caught():
    """An invented note: an X-ray stands under Medications, in the ground truth under Imaging."""
    document = Document("n1", "Doctor: Your X-ray shows a small shadow. …", (TRUE_NOTE,))

    def defined(subject: str, told: Mapping[str, str]) -> str:
        under, is_scan = told["heading"], any(scan in subject for scan in ("X-ray", "Ultrasound"))
        assert told["source"] == ""
        assert told["definition"] == ("what scans have shown" if under == "Imaging" else "")
        return "yes" if is_scan == (under == "Imaging") else "no"

    def in_section(subject: str, told: Mapping[str, str]) -> str:
        _, _, after = told["truth"].partition(f"{told['heading']}:")
        return "yes" if subject in after.partition("\n\n")[0] else "no"

    answers = says(definition=defined, section=in_section)
    one = judge(sections={"imaging": "what scans have shown"})
    found = verdict(NOTE, answers, one, document, by_lines, by_lines)

    placed = {
        entity["entity"]: (entity["heading"], [v["answer"] for v in entity["alignment"].values()])
        for entity in found.evidence["entities"]
    }
    assert placed == {
        "Lisinopril 10 mg daily": ("Medications", ["yes", "yes"]),
        "Chest X-ray shows a small shadow": ("Medications", ["no", "no"]),
        "Ultrasound of the liver was normal": ("Imaging", ["yes", "yes"]),
    }
    assert values(found)["alignment", "*"] == pytest.approx(2 / 3)
    assert values(found)["correctness", "*"] == 1.0
    assert values(found)["completeness", "*"] == 1.0


def test_a_single_unknown_heading_is_an_opening_and_no_section():
    headings = set[str]()

    def defined(subject: str, told: Mapping[str, str]) -> str:
        headings.add(told.get("heading", ""))
        return "yes"

    for text in ("Here is the summary:\n- The river rose\n", NOTE):
        verdict(text, says(definition=defined), writes=by_lines)
        assert headings == ({""} if text != NOTE else {"", "Medications", "Imaging"})


def by_lines(prompt: Prompt, how: Writing) -> str:
    """Entities are the lines of a note."""
    told = texts_in(prompt)
    if prompt.text.startswith("extract"):
        found = [line[2:] for line in told["text"].splitlines() if line.startswith("- ")]
        return json.dumps({"entities": found or sentence_entities(told["text"])})
    return writer(prompt, how)


# the rubric of many references

REFERENCES = (
    "The river rose. The bridge was closed.",
    "The river rose. Two hikers were saved.",
    "The bridge was closed. The river rose.",
    "A cat sat.",
)


def is_stated(subject: str, told: Mapping[str, str]) -> str:
    return "yes" if subject in told["reference"] else "no"


answers_of_rubric = says(covered="no", stated=is_stated)


def test_of_many_references_what_enough_of_them_have():
    asked = Counter[str]()
    document = Document("d1", SOURCE, REFERENCES)
    (brief,) = rubric(document, scripted(answers_of_rubric, asked=asked))
    assert {e["entity"]: e["in"] for e in brief.content["entities"]} == {
        "The river rose": [0, 1, 2],
        "The bridge was closed": [0, 2],
        "Two hikers were saved": [1],
        "A cat sat": [3],
    }
    assert asked == {
        "extract": 4, "verify": 4, "locate": 4,
        "covered": 2,  # what is in the pool word for word is not asked about, nor the first text
        "stated": 16 - 7,
    }  # fmt: skip


def test_what_is_said_in_other_words_joins_the_pool_once_and_partially_is_not_stated():
    """The third reference's first entity is covered by the pool; the fourth is stated in part."""

    def stated(subject: str, told: Mapping[str, str]) -> str:
        is_same = "rose" in subject and "rose" in told["reference"]
        return "yes" if is_same else "partially" if "sat" in subject else "no"

    answers = says(covered=of("The water rose", "yes", "no"), stated=stated)
    texts = ("The river rose.", "The bridge was closed.", "The water rose.", "A cat sat.")
    (brief,) = rubric(Document("d1", SOURCE, texts), scripted(answers))
    assert {e["entity"]: e["in"] for e in brief.content["entities"]} == {
        "The river rose": [0, 2],
        "The bridge was closed": [1],
        "A cat sat": [3],
    }
    assert "after" not in brief.content

    class Thinking(Scripted):
        def _chosen(self, prompt: Prompt, options: Options, samples: int) -> Any:
            thought = Sample(f"Of {prompt.text.partition('|')[0]}.", "stop")
            return replace(super()._chosen(prompt, options, samples), thoughts=(thought,))

    document = replace(DOCUMENT, references=texts[:2])
    (brief,) = rubric(document, Thinking(writer, scripted(answers)._chooses))
    assert {each["thoughts"][0] for each in brief.content["after"]} == {"Of covered.", "Of stated."}
    judged = JudgedCandidate(Candidate("A", SUMMARY), verdict(document=document), [brief])
    notes = shown_section(plugin("entities").show, judged).notes
    assert "The model thought: “Of covered.”" in notes


@pytest.mark.parametrize(
    ("at_least", "entities"),
    [
        (None, ["The river rose", "The bridge was closed"]),  # ceil(4 * 5 / 11) = 2
        (1, ["The river rose", "The bridge was closed", "Two hikers were saved", "A cat sat"]),
        (3, ["The river rose"]),
        (4, "no entity is in at least 4 of 4 references"),
    ],
)
def test_how_many_references_must_agree(at_least, entities):
    settings = {"at_least": at_least} if at_least else {}
    one, document = judge(**settings), Document("d1", SOURCE, REFERENCES)
    found = verdict(
        answers=answers_of_rubric, one=one, document=document, of_rubric=answers_of_rubric
    )
    if isinstance(entities, str):
        assert found.evidence["failed"] == {"rubric": entities}
        assert values(found, one)["completeness", "*"] == entities
        assert values(found, one)["", "relevance"] == entities
        assert values(found, one)["correctness", "*"] == 1.0  # what needs no rubric is scored
    else:
        assert [e["entity"] for e in found.evidence["rubric"]] == entities


def test_entities_are_matched_by_their_vectors_where_that_is_wanted():
    near = {"The river rose": (1.0, 0.0), "The bridge was closed": (0.0, 1.0),
            "The water rose": (0.8, 0.6), "A flood": (0.6, 0.8)}  # fmt: skip
    model = scripted(all_well)
    model._embeds = lambda text: near[text]
    document = Document("d1", SOURCE, ("The river rose. The bridge was closed.",
                                       "The water rose. A flood."))  # fmt: skip
    one = judge(match="embedding", encoder="an encoder", similar=0.8)
    (brief,) = rubric(document, model, one)
    assert {e["entity"]: e["in"] for e in brief.content["entities"]} == {
        "The river rose": [0, 1],
        "The bridge was closed": [0, 1],
    }
    assert all(options.names != ("Yes", "No", "Partially") for options in one.options)


# malformed replies


def reply(step: str, said: str) -> Any:
    def writes(prompt: Prompt, how: Writing) -> str:
        return said if prompt.text.startswith(f"{step}|") else writer(prompt, how)

    return writes


@pytest.mark.parametrize(
    ("step", "said", "reason"),
    [
        ("extract", '{"entities": ["The ri',
         'the reply is not the JSON asked for: “{"entities": ["The ri”'),
        ("verify", "[]", "“[]” where an object was asked for"),
        ("extract", '{"entities": []}', "the text has no entities"),
        ("extract", '{"entities": [" ", ""]}', "the text has no entities"),
        ("verify", '{"entities": []}', "the text has no entities"),
        ("locate", '{"1": {"sentence": 1, "words": ""}}', "2 is missing in the reply"),
        ("locate", '{"1": {"sentence": 0, "words": "x"}, "2": {"sentence": 0, "words": "y"}}',
         "the text has no entities"),
    ],
)  # fmt: skip
def test_entities_that_cannot_be_had_leave_their_scores_unscored(step, said, reason):
    found = values(verdict(writes=reply(step, said)))
    shares = [found[share, "*"] for share in ("correctness", "alignment", "unknown")]
    assert [*shares, found["", "consistency"], found["", "relevance"]] == [reason] * 5
    assert found["completeness", "*"] == 1.0  # what needs none of them is scored
    assert found["", "fluency"] == 5.0


def test_what_is_not_in_the_text_is_dropped_and_failed_votes_are_no_ballots():
    said = '{"1": {"sentence": 0, "words": "Boats"}, "2": {"sentence": 2, "words": "the  BRIDGE"}}'
    found = verdict(writes=reply("locate", said))
    assert found.evidence["dropped"] == ["The river rose"]
    (kept,) = found.evidence["entities"]
    assert SUMMARY[slice(*kept["span"])] == "The bridge"
    lost = Failed("too long")
    of_correctness = dict.fromkeys(PROMPTS["correctness"], lost)
    answers = says(presence=lost, coverage=lost, support="partially", **of_correctness)
    found = verdict(answers=answers)
    assert found.evidence["rubric"][0]["votes"]["presence"] == {"failed": "too long"}
    assert values(found)["completeness", "*"] == 0.5
    assert values(found)["correctness", "*"] == "no verdict on any entity or sentence"


# reasons, and many at once


def written_votes(asked: list[tuple[str, list[str]]], said: Callable[[int], Any]) -> Any:
    def writes(prompt: Prompt, how: Writing) -> str:
        mode, _, rest = prompt.text.partition("|")
        if mode not in ("answer", "reason"):
            return writer(prompt, how)
        subjects = lines(texts_in(prompt)["subject"])
        asked.append((rest.partition("|")[0], subjects))
        form = json.loads(how.schema or "")["properties"]
        assert list(form) == [str(n) for n, _ in enumerate(subjects, 1)]
        assert all(list(one["properties"]) == list(said(1)) for one in form.values())
        return json.dumps({str(n): said(n) for n, _ in enumerate(subjects, 1)})

    return writes


def test_reasons_are_written_first_and_kept():
    asked: list[tuple[str, list[str]]] = []
    writes = written_votes(asked, lambda n: {"reason": "It says so.", "answer": "Yes"})
    one = judge(reasoning=True)
    found = verdict(one=one, writes=writes)
    assert one.options == [Options(("Yes", "No")), Options(("Yes", "No", "Partially"))]
    assert found.evidence["rubric"][0]["votes"]["presence"] == {
        "answer": "yes", "reason": "It says so.",
    }  # fmt: skip
    assert all(len(subjects) == 1 for _, subjects in asked)
    assert len(asked) == 2 * 3 + 2 * (3 + 2) + 2 * 4
    assert found.evidence["replies"] == {"structured": 3 + 24, "cut": 0, "malformed": 0}
    assert values(found)["completeness", "*"] == 1.0
    assert values(found)["readability", "*"] == 0.0  # yes: it has such an issue


def test_several_are_asked_about_at_once():
    asked: list[tuple[str, list[str]]] = []
    writes = written_votes(asked, lambda n: {"answer": "Yes" if n == 1 else "No"})
    text = "".join(f"{n} things happened here today. " for n in NUMBERS)
    found = verdict(text, one=judge(batch=4), writes=writes)
    assert [s for t, s in asked if t == "entities.correctness.facts"] == [
        [f"{n} things happened here today" for n in NUMBERS[:4]],
        ["Five things happened here today"],
    ]  # fmt: skip
    assert [e["correctness"]["facts"]["answer"] for e in found.evidence["entities"]] == [
        "yes", "no", "no", "no", "yes",
    ]  # fmt: skip
    assert values(found)["correctness", "*"] == 0.4


invented = says(
    facts=of("river", "unknown", "yes"),
    details=of("river", "unknown", "partially"),
    evidence="unknown",
)
"""Nothing confirms the first entity; on the second the prompts are divided."""


def test_what_nothing_confirms_costs_consistency_where_the_setting_says_so():
    found = verdict(answers=invented)
    by_paper = values(found)
    assert by_paper["", "consistency"] == 3.0  # equation 3: unknown is not incorrect
    assert by_paper["consistency", "*"] == by_paper["unknown", "*"] == 0.5
    assert (by_paper["denied", "*"], by_paper["divided", "*"]) == (0.0, 0.5)
    one = judge(consistency="supported")
    by_support = values(found, one)
    assert by_support["", "consistency"] == 1.0
    assert by_support["supported", "*"] == 0.0
    assert {k: v for k, v in by_paper.items() if k != ("", "consistency")} == {
        k: v for k, v in by_support.items() if k != ("", "consistency")
    }


def test_modelled_votes_stand_beside_the_majority():
    one = judge(votes="modelled")
    assert one.scorers == [
        "entities", *(f"entities.{s}" for s in SHARES),
        "entities.modelled", "entities.completeness.modelled", "entities.correctness.modelled",
    ]  # fmt: skip
    assert one.axes_of("entities.modelled") == ["consistency", "relevance"]
    assert judge().fit(iter([]), dict) is None

    # `facts` always contradicts the other two, who agree
    right, wrong = of("river", "yes", "no"), of("river", "no", "yes")
    answers = says(facts=wrong, details=right, evidence=right)
    found = verdict(answers=answers, one=one)
    learnt = one.fit([found] * 50, dict)
    scores = {(s.scorer, s.axis): s.value for s in one.score_by(learnt, found)}
    assert list(scores) == [(s, a) for s in one.scorers for a in one.axes_of(s)]
    assert (
        scores["entities.correctness", "*"] == scores["entities.correctness.modelled", "*"] == 0.5
    )
    assert learnt["correctness"]["identified"]
    confused = learnt["correctness"]["confusions"]["facts"]
    assert confused["yes"]["no"] > 0.9


# settings


def test_tasks_without_summevals_axes_have_the_shares_alone():
    task = Task("notes", (Axis("clarity", "…"),), PACK)
    one = judge(task)
    assert one.scorers == [f"entities.{s}" for s in SHARES]
    assert [s.scorer for s in one.score(verdict(one=one))] == one.scorers
