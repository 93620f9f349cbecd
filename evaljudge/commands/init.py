"""`evaljudge init`: a configuration that runs, made from four answers and a look at the corpus.

What it leaves out, such as an axis that needs a context where the corpus has none, is what could
not be judged.
"""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer
import yaml

from evaljudge.commands.options import InitOptions, Shown
from evaljudge.corpora import CorpusSource, likely_columns, open_corpus
from evaljudge.corpora.rows import DOTTED
from evaljudge.errors import UserError
from evaljudge.judges import kind_of, make_judges, plugin
from evaljudge.plugins import kinds
from evaljudge.prompts import BUILT_IN, NANO, Task, load_task
from evaljudge.records import ANY_AXIS
from evaljudge.text import counted, one_line

T = TypeVar("T")
Ask = Callable[[str, str], str]
"""Asks a question on a terminal; the second text is the answer of who only presses Enter."""
FIFTH = 0.2
QUESTIONS = {
    "corpus": "Where are the texts to judge (a file, folder, glob or URI)?",
    "task": f"What are they ({', '.join(BUILT_IN)}, or a path to a task file)?",
    "model": "Which model judges (a hub name such as Qwen/Qwen3-8B, a folder, a URI, or nano, the "
    "small one for trying things out)?",
    "judge": "By which judges ({}; several with commas)?",
}


@dataclass(frozen=True)
class Started(Shown):
    file: Path
    summary: str
    warnings: Sequence[str]

    @property
    def complaints(self) -> Sequence[str]:
        return [f"warning: {warning}" for warning in self.warnings]

    @property
    def text(self) -> str:
        file = shlex.quote(str(self.file))
        commands = "".join(f"  evaljudge {name} {file}\n" for name in ("plan", "run"))
        return f"wrote {self.file}: {self.summary}\nnext:\n{commands}"


class _Seen:
    def __init__(self, path: str, columns: Mapping[str, str]) -> None:
        self.path, self.columns = path, columns
        systems, sources = set[str](), set[int]()
        self.has_references = self.has_context = False
        with open_corpus(CorpusSource(path, columns=columns), "skip") as corpus:
            for case in corpus:
                systems.update(candidate.system for candidate in case.candidates)
                sources.add(hash(case.document.source))
                self.has_references |= bool(case.document.references)
                self.has_context |= bool(case.document.context)
            self.bad, self.bad_rows = corpus.skipped, corpus.skipped_rows
            self.documents, self.texts = corpus.cases, corpus.candidates
            rated = corpus.rated_on().items()
        if not self.texts:
            bad = f"; the first of its bad rows: {self.bad[0]}" if self.bad else ""
            raise UserError(f"{path}: no text to judge is in it{bad}")
        self.sources = len(sources)
        by_people = ", ".join(f"{one_line(axis)} {n:,}" for axis, n in rated)
        self.summary = (
            f"{counted(self.documents, 'document', 'documents')} with "
            f"{counted(self.texts, 'text', 'texts')} of "
            f"{counted(len(systems), 'system', 'systems')}; people rated {by_people or 'nothing'}"
        )


def initialised(wanted: InitOptions) -> Started:
    return init(wanted, _ask if sys.stdin.isatty() else None)


def _ask(question: str, default: str) -> str:
    try:
        return str(typer.prompt(question, default=default or None, prompt_suffix=" "))
    except typer.Abort:  # Ctrl-D
        print()  # ends the line of the question
        raise UserError("nothing was written") from None


def init(wanted: InitOptions, ask: Ask | None) -> Started:
    """`ask`: None where nobody is there to answer."""
    if wanted.to.exists() and not wanted.force:
        raise UserError(f"{wanted.to}: is there already: choose another file by --to, or --force")

    def corpus(path: str) -> tuple[str, Mapping[str, str]]:
        likely = likely_columns(path)
        if ask is not None:  # one without a text to judge is refused before more is asked
            _Seen(path, {name: to for name, to in likely.items() if not to.startswith(DOTTED)})
        return path, likely

    path, likely = _answer("corpus", wanted.corpus, "", ask, corpus)
    task_asked = wanted.task, _likely_task(likely)
    name, task = _answer("task", *task_asked, ask, lambda name: (name, load_task(name)))
    axes = {f"{DOTTED}{axis.name}" for axis in task.axes}  # other numbers are no ratings
    columns = {name: to for name, to in likely.items() if to in axes or not to.startswith(DOTTED)}
    seen = _Seen(path, columns)
    model = _answer("model", wanted.model, "", ask, _named)
    chosen = ",".join(wanted.judges or ()) or None
    judges = _answer("judge", chosen, "synthetic", ask, _judges)
    lines = _lines(seen, name, task, model, judges, wanted.out)
    wanted.to.parent.mkdir(parents=True, exist_ok=True)
    wanted.to.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Started(wanted.to, seen.summary, list(_warnings(seen, likely)))


def _answer(
    option: str, value: str | None, default: str, ask: Ask | None, read: Callable[[str], T]
) -> T:
    """What was given, or the answer to the question; a wrong answer is asked for again."""
    if value is not None:
        return read(value)
    if ask is None:
        raise UserError(f"--{option} is missing, and nobody is at a terminal to ask: give it")
    while True:
        answer = ask(QUESTIONS[option].format(", ".join(kinds())), default)
        try:
            return read(answer)
        except UserError as error:
            print(error)


def _named(answer: str) -> str:
    if not answer.strip():
        raise UserError("a model needs a name")
    return answer.strip()


def _judges(answer: str) -> list[str]:
    names = [name.strip() for name in answer.split(",") if name.strip()]
    for name in names:
        kind_of(name, {})
    if not names:
        raise UserError("name at least one judge")
    return list(dict.fromkeys(names))


def _likely_task(likely: Mapping[str, str]) -> str:
    """The task that the columns' names suggest: `response` is one of a dialogue."""
    names = " ".join(likely).casefold()
    words = {"dialogue": ("dialog", "response", "conversation"), "story": ("story", "stories")}
    likely_tasks = (task for task, some in words.items() if any(word in names for word in some))
    return next(likely_tasks, BUILT_IN[0])


def _warnings(seen: _Seen, likely: Mapping[str, str]) -> Iterator[str]:
    if seen.bad:
        rows = counted(seen.bad_rows, "row is bad and is", "rows are bad and are")
        yield f"{seen.path}: {rows} left out (`bad_rows: skip`), the first: {seen.bad[0]}"
    if seen.sources < seen.documents == seen.texts:
        yield (
            f"{seen.path}: every text has a document of its own, though {seen.sources:,} sources "
            f"serve {seen.documents:,} documents: `doc_id` should name the source, not the text"
        )
    for theirs in (name for name in likely if name not in seen.columns):
        advice = f"to read it, add `{theirs}: {likely[theirs]}` to `columns`"
        yield f"`{theirs}` looks like a rating on an axis that the task lacks: {advice}"


def _lines(
    seen: _Seen, name: str, task: Task, model: str, judges: Sequence[str], out: str
) -> Iterator[str]:
    yield f"# Written by `evaljudge init`. The corpus has {seen.summary}."
    if not seen.columns:
        yield f"corpus: {_flow(seen.path)}"
    else:
        yield f"corpus:\n  path: {_flow(seen.path)}"
        yield "  # These columns were recognised by their names; correct what is wrong."
        yield f"  columns: {_flow(dict(seen.columns))}"
    if seen.bad:
        yield f"# Bad rows are left out and counted, such as {one_line(seen.bad[0])}."
        yield "bad_rows: skip"
    yield "# Everything that a run makes goes here: a folder, or a URI such as s3://bucket/first."
    yield f"out: {_flow(out)}"
    yield "# The task says what the texts are; `evaljudge list tasks` shows the tasks there are."
    yield f"task: {_flow(name)}"
    axes = [axis.name for axis in task.axes if seen.has_context or not axis.context]
    if len(axes) < len(task.axes):
        left_out = ", ".join(axis.name for axis in task.axes if axis.name not in axes)
        yield f"# The corpus has no context, which the task needs for {left_out}: left out here."
    yield "# The texts are judged on these axes; fewer axes cost less."
    yield f"axes: {_flow(axes or [axis.name for axis in task.axes])}"
    if model == NANO:
        yield "# This small model is for trying things out; its scores of real texts say nothing."
        yield "model: nano"
        yield "# It knows these prompts only; for another model, remove this line."
        yield "prompts: nano"
    else:
        yield f"model: {_flow(model)}"
    yield "# Each judge is a method; `evaljudge list judges` shows what each of them needs."
    settings = {
        kind: {} if seen.has_references else dict(plugin(kind).without_references)
        for kind in judges
    }
    yield "judges:"
    yield from (f"  {kind}: {_flow(options)}" for kind, options in settings.items())
    yield "# Metrics ask no model; a good judge agrees better with people than the number of words."
    metrics = ["words"] + ["importance"] * (seen.documents > 1) + ["rouge1"] * seen.has_references
    yield f"metrics: {_flow(metrics)}"
    yield "# The best fifth of the texts by this scorer and axis is written to selected/."
    task = load_task(name, axes or None, NANO if model == NANO else None)
    (judge,) = make_judges({judges[0]: settings[judges[0]]}, task)
    undecided = judge.undecided  # the scorer that is best for choosing texts, and its first axis
    scorer = min(undecided, key=lambda name: round(undecided[name], 6), default=judge.scorers[0])
    axis = next(iter(judge.axes_of(scorer)), ANY_AXIS)
    rule = {"scorer": scorer, "axis": axis, "top_fraction": FIFTH}
    yield f"select: {_flow([{'name': 'best-fifth', 'all': [rule]}])}"


def _flow(value: Any) -> str:
    how: dict[str, Any] = {"default_flow_style": True, "width": 1_000_000, "sort_keys": False}
    text: str = yaml.safe_dump(value, allow_unicode=True, **how)
    return text.removesuffix("\n").removesuffix("\n...")
