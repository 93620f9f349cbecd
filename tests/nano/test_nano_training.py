"""Training: the same each time, resumable, and its lessons are fresh and of one half."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from evaljudge.bundled.world import names
from jobs.nano.checkpoint import make_tokenizer, save_checkpoint
from jobs.nano.lessons import NOWHERE, Teacher
from jobs.nano.network import collate
from jobs.nano.training import Recipe, Training
from tests.lazily import Lazily

torch = Lazily("torch")

ROOT = Path(__file__).parents[2]
SHORT = Recipe(steps=4, comparisons=2, ladders=1, extremes=1, betweens=1,
               checklists=1, ratings=1, writings=1, strangers=1)  # fmt: skip
TOKENIZER = make_tokenizer()


def trained(folder: Path, recipe: Recipe) -> Training:
    training = Training(recipe, folder)
    training.resume()
    training.run(lambda line: None)
    return training


def weights(training: Training) -> list[float]:
    return [float(p.detach().abs().sum()) for p in training.network.parameters()]


@pytest.mark.engine
@pytest.mark.long
def test_a_training_that_was_cut_ends_like_one_that_was_not(tmp_path):
    whole = trained(tmp_path / "whole", SHORT)
    cut = Training(SHORT, tmp_path / "cut")
    cut.take_step()
    cut.take_step()
    cut.save()
    resumed = trained(tmp_path / "cut", SHORT)
    assert resumed.step == whole.step == 4
    assert weights(resumed) == weights(whole)
    assert weights(trained(tmp_path / "other", replace(SHORT, seed=1))) != weights(whole)


@pytest.mark.long
@pytest.mark.engine
def test_another_recipes_state_is_not_taken_up(tmp_path):
    trained(tmp_path, SHORT)
    with pytest.raises(SystemExit, match="of another recipe"):
        Training(replace(SHORT, seed=1), tmp_path).resume()


@pytest.mark.long
@pytest.mark.engine
def test_a_checkpoint_can_learn_on(tmp_path):
    """It begins with the weights that were saved, words of its tokenizer wherever they stand."""
    first = trained(tmp_path / "first", SHORT)
    save_checkpoint(first.network, tmp_path / "first")
    second = Training(SHORT, tmp_path / "second", start=tmp_path / "first")
    batch = collate([Teacher(TOKENIZER).ladder(Random(0))])
    was, now = (
        one.network(batch.ids, batch.positions, batch.sees.float()).hidden
        for one in (first, second)
    )
    assert torch.allclose(was, now, atol=0.05)  # they were saved in bfloat16
    assert not torch.allclose(was, Training(SHORT, tmp_path).network(
        batch.ids, batch.positions, batch.sees.float()).hidden, atol=0.05)  # fmt: skip


@pytest.mark.parametrize("half", ["train", "test"])
def test_lessons_are_of_their_half_alone(half):
    others = set(names("test" if half == "train" else "train"))
    teacher = Teacher(TOKENIZER, half)
    for seed in range(20):
        for teach in (teacher.comparison, teacher.ladder, teacher.between, teacher.checklist,
                      teacher.rating):  # fmt: skip
            lesson = teach(Random(seed))
            said = TOKENIZER.decode([t.id for t in lesson.stem], skip_special_tokens=False)
            assert not others & set(re.findall(r"\w+", said))


def test_a_question_sees_the_stem_and_itself_alone():
    lesson = Teacher(TOKENIZER).comparison(Random(0))
    batch = collate([lesson])
    stem, first, second = len(lesson.stem), *map(len, lesson.questions[:2])
    sees = batch.sees[0, 0] == 0
    asking = stem + first + second - 1  # the second question's last token
    assert sees[asking].nonzero().flatten().tolist() == [
        *range(stem), *range(stem + first, stem + first + second)
    ]  # fmt: skip
    assert batch.positions[0, stem + first] == batch.positions[0, stem] == stem


def test_what_is_sought_in_the_report_is_found_there():
    """The report has the same word where a text's is sought, or it is sought at the start."""
    lesson = Teacher(TOKENIZER).comparison(Random(3))
    stem = lesson.stem
    sought = [(token.id, stem[token.looks].id if token.looks else None) for token in stem
              if token.looks != NOWHERE]  # fmt: skip
    assert len(sought) >= 2 * 4 * 3
    assert all(there in (token, None) for token, there in sought)
    assert any(there is not None for _, there in sought)


@pytest.mark.engine
@pytest.mark.long
def test_the_script_trains_resumes_and_says_what_it_has_learnt(tmp_path):
    command = [sys.executable, "-m", "jobs.nano.train", str(tmp_path), "--steps", "2"]
    first, second = (
        subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300
        ).stdout
        for _ in range(2)
    )
    assert "step 2 of 2" in first
    assert "resumed at step 2" in second
    assert first.splitlines()[-1] == second.splitlines()[-1]
    assert re.match(
        r"held out: compares rightly: coherence \d\.\d{3}, .*in-betweens", first.splitlines()[-1]
    )
    assert (tmp_path / "model.safetensors").exists()
