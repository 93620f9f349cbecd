"""The bundled judge: what it is, where it is not meant, and that it was taught what is asked."""

import json
import re
from math import inf
from random import Random
from typing import Any

import pytest

from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.bundled.world import make_report
from evaljudge.config import load_config
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.labels import compile_options
from evaljudge.engines.template import read_template
from evaljudge.engines.tokens import Tokeniser
from evaljudge.judges import make_judges
from evaljudge.prompts import load_task
from evaljudge.runs.job import make_job
from jobs.nano.checkpoint import make_tokenizer, save_tokenizer
from jobs.nano.grading import checklist
from jobs.nano.lessons import Lesson, Teacher

MOST_BYTES = 8_000_000


def job(**more: Any) -> Any:
    spec = {"corpus": "c.jsonl", "out": "/tmp/o", "model": "nano", "judges": ["synthetic"]}
    return make_job(load_config(spec | more))


def test_the_checkpoint_is_small_and_its_name_its_identity():
    sizes = {file.name: file.stat().st_size for file in CHECKPOINT.iterdir()}
    assert {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"} == set(
        sizes
    )
    assert sum(sizes.values()) <= MOST_BYTES
    found = VllmEngines().describe(ModelSource("nano")).identity
    assert found.name == "nano"
    assert found.revision == VllmEngines().describe(ModelSource(str(CHECKPOINT))).identity.revision


def test_the_checkpoint_has_the_tokenizer_that_the_code_makes(tmp_path):
    """Words of the world cannot change without a new training."""
    save_tokenizer(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert json.loads((tmp_path / name).read_text()) == json.loads(
            (CHECKPOINT / name).read_text()
        )


def test_a_folder_of_the_same_name_is_named_with_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_tokenizer(tmp_path / "nano")
    (tmp_path / "nano/config.json").write_text("{}")
    bundled, folder = (
        VllmEngines().describe(ModelSource(name)).identity for name in ("nano", "./nano")
    )
    assert bundled.revision != folder.revision != ""


def test_its_users_are_told_what_it_knows():
    (told,) = job(prompts="nano").cautions
    assert "nothing else" in told
    _, prompts = job().cautions
    assert "prompts: nano" in prompts
    pack = load_task("summary", prompts="nano").pack
    names = [f"synthetic.{name}" for name in ("extreme", "between", "compare", "ladder")]
    taught = " ".join(pack.templates[name] for name in [*names, "checklist.ask"])
    for word in re.findall(r"</?\w+>|\w+", re.sub(r"{[{%].*?[%}]}", " ", taught)):
        assert len(ids(word)) == 1, word


# what it was taught


TOKENIZER = make_tokenizer()


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """The tokenizer and template as an engine reads them from the files."""
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("nano")
    save_tokenizer(folder)
    tokeniser = Tokeniser(PreTrainedTokenizerFast.from_pretrained(folder))
    return tokeniser, read_template(tokeniser, {}, frozenset())


@pytest.fixture(scope="module")
def read(engine):
    tokeniser, template = engine
    return lambda prompt: list(template.render(prompt, tokeniser, 0, inf).ids)


def test_a_lesson_is_the_prompt_that_the_engine_asks(read):
    """Token for token: what the judge renders and the engine encodes, and what is taught."""
    pack = load_task("summary", prompts="nano").pack
    random = Random(1)
    lesson, report = Teacher(TOKENIZER).extreme(random, count=1), make_report(Random(1), "train")
    rendered = [
        pack.render("synthetic.extreme", {"source": report.text, "context": None},
                    axis=axis, description="d", extreme=extreme)
        for axis in ("coherence", "consistency", "fluency", "relevance")
        for extreme in ("best", "worst")
    ]  # fmt: skip
    assert taught_prompt(lesson) in map(read, rendered)


@pytest.mark.parametrize("kind", ["comparison", "ladder"])
def test_questions_are_taught_as_they_are_asked(kind, read):
    taught = taught_prompt(getattr(Teacher(TOKENIZER), kind)(Random(2)))
    asked = TOKENIZER.decode(taught, skip_special_tokens=False)
    report, target = (
        asked.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()
        for tag in ("report", "target")
    )
    found = re.findall(r"(?s)<reference>(?: \d)?(.*?)</reference>", asked)
    references = [text.strip() for text in found]
    assert len(references) >= (2 if kind == "ladder" else 1)
    (axis,) = re.findall(r"in (\w+)\?", asked)
    given = {"source": report, "target": target, "reference": references[0]}
    name = "synthetic.ladder" if kind == "ladder" else "synthetic.compare"
    words = {"axis": axis, "description": "d", "number": "1", "exchanged": ""}
    pack = load_task("summary", prompts="nano").pack
    prompt = pack.render(name, given | {"references": references}, **words)
    assert taught == read(prompt)


def test_a_checklist_is_taught_as_it_is_asked_and_written(read):
    pack, teacher = load_task("summary", prompts="nano").pack, Teacher(TOKENIZER)
    lesson = teacher.checklist(Random(2))
    asked = TOKENIZER.decode(taught_prompt(lesson), skip_special_tokens=False)
    report, target, question = re.findall(
        r"(?s)<report>\s(.*?)\s</report>.*<target>\s(.*?)\s</target>\s(.*\?) Yes or No", asked
    )[0]
    given = {"source": report.strip(), "target": target.strip(), "question": question.strip()}
    prompt = pack.render("checklist.ask", given)
    assert taught_prompt(lesson) == read(prompt)
    numbered = [token.number for token in lesson.stem if token.number]
    assert numbered == sorted(numbered) and set(numbered) == {1, 2, 3, 4}
    for seed in range(4):
        lesson, report = teacher.writing(Random(seed)), make_report(Random(seed), "train")
        written = TOKENIZER.decode([t.id for t in lesson.questions[0] if t.learnt])
        (axis,) = set(re.findall(r"in (\w+)\?", written))
        assert json.loads(written) == {"questions": [f" {one}" for one in checklist(axis)]}
        prompts = [pack.render("checklist.write", {"source": source}, axis=axis)
                   for source in (report.text, None)]  # fmt: skip
        assert taught_prompt(lesson) in map(read, prompts)


def test_a_rating_is_taught_as_it_is_asked_with_steps_and_without(read):
    task, teacher, seen = load_task("summary", prompts="nano"), Teacher(TOKENIZER), set()
    for seed in range(4):
        taught = taught_prompt(teacher.rating(Random(seed)))
        asked = TOKENIZER.decode(taught, skip_special_tokens=False)
        given = dict(re.findall(r"(?s)<(report|steps|target)>\s(.*?)\s</", asked))
        given["source"] = given.pop("report")
        name = "geval.rate" if "steps" in given else "direct.rate"
        (axis,) = re.findall(r"in (\w+)\.", asked)
        prompt = task.pack.render(name, {key: text.strip() for key, text in given.items()},
                                  axis=axis, description="d")  # fmt: skip
        assert taught == read(prompt)
        seen.add(name)
    assert len(seen) == 2
    prompts = [task.pack.render("geval.steps", {}, **axis.words) for axis in task.axes]
    taught = taught_prompt(teacher.steps(Random(1)))
    assert taught in map(read, prompts)


def test_a_ladders_tokens_say_which_reference_they_belong_to():
    lesson = Teacher(TOKENIZER).ladder(Random(2))
    said = TOKENIZER.decode([t.id for t in lesson.stem], skip_special_tokens=False)
    texts = re.findall(r"(?s)<reference> (\d)(.*?)</reference>", said)
    for number, text in texts:
        own = [token.id for token in lesson.stem if token.number == int(number)]
        assert own == ids(text.strip())
    asked = [token.asks for question in lesson.questions for token in question if token.asks]
    assert asked == [number for number in range(1, len(texts) + 1) for _ in ("plain", "exchanged")]


def test_the_answers_are_told_apart(engine):
    (judge,) = make_judges({"synthetic": {}}, load_task("summary", prompts="nano"))
    labels = compile_options(judge.options[0], *engine)
    for name in ("Better", "Worse", "Similar"):
        *before, last = ids(name)
        steps = labels.steps[tuple(before)]
        assert name in [step.option for step in steps if last in step.tokens]


def taught_prompt(lesson: Lesson) -> list[int]:
    """The first question's prompt: the stem and what of the question is not the answer."""
    question = lesson.questions[0]
    unlearnt = [token.learnt for token in question].index(1.0)
    return [token.id for token in [*lesson.stem, *question[:unlearnt]]]


def ids(text: str) -> list[int]:
    return TOKENIZER.encode(text, add_special_tokens=False).ids
