"""`evaljudge init`: a configuration that runs, made from four answers and a look at the corpus.

    wrote config.yaml: 12 documents with 72 texts of 6 systems; people rated fluency 72

The corpus is read once with the columns that its names suggest. What the configuration leaves out,
such as an axis that needs a context where the corpus has none, is what could not be judged.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from evaljudge.commands.options import InitOptions
from evaljudge.corpora import Corpus, CorpusSource, likely_columns, open_corpus
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
NEXT = ("plan", "run")
FIFTH = 0.2
QUESTIONS = {
    "corpus": "Where are the texts to judge (a file, folder, glob or URI)?",
    "task": f"What are they ({', '.join(BUILT_IN)}, or a path to a task file)?",
    "model": "Which model judges (a hub name such as Qwen/Qwen3-8B, a folder, a URI, or nano, the "
    "small one for trying things out)?",
    "judge": "By which judges ({}; several with commas)?",
}


@dataclass(frozen=True)
class Started:
    """What was written, and what of the corpus its user should know."""

    file: Path
    summary: str
    warnings: Sequence[str]

    @property
    def text(self) -> str:
        file = shlex.quote(str(self.file))
        commands = "".join(f"  evaljudge {name} {file}\n" for name in NEXT)
        return f"wrote {self.file}: {self.summary}\nnext:\n{commands}"


@dataclass(frozen=True)
class _Seen:
    """What a corpus holds."""

    path: str
    columns: Mapping[str, str]
    documents: int
    texts: int
    systems: int
    rated: Mapping[str, int]
    with_references: int
    has_context: bool
    sources: int
    bad: Sequence[str]
    bad_rows: int

    @property
    def summary(self) -> str:
        by_people = ", ".join(f"{one_line(axis)} {n:,}" for axis, n in self.rated.items())
        return (
            f"{counted(self.documents, 'document', 'documents')} with "
            f"{counted(self.texts, 'text', 'texts')} of "
            f"{counted(self.systems, 'system', 'systems')}; people rated {by_people or 'nothing'}"
        )


def init(wanted: InitOptions, ask: Ask | None) -> Started:
    """`ask`: None where nobody is there to answer."""
    if wanted.to.exists() and not wanted.force:
        raise UserError(f"{wanted.to}: is there already: choose another file by --to, or --force")
    look = likely_columns if ask is None else _checked_columns
    path, likely = _answer("corpus", wanted.corpus, "", ask, lambda one: (one, look(one)))
    name, task = _answer("task", wanted.task, _likely_task(likely), ask, _task)
    columns = {theirs: to for theirs, to in likely.items() if _is_wanted(to, task)}
    seen = _seen(path, columns)
    model = _answer("model", wanted.model, "", ask, _named)
    given = ",".join(wanted.judges or ()) or None
    judges = _answer("judge", given, "synthetic", ask, _judges)
    text = "\n".join(_lines(seen, name, task, model, judges, wanted.out))
    wanted.to.parent.mkdir(parents=True, exist_ok=True)
    wanted.to.write_text(text + "\n", encoding="utf-8")
    return Started(wanted.to, seen.summary, list(_warnings(seen, likely)))


def _answer(
    option: str, given: str | None, default: str, ask: Ask | None, read: Callable[[str], T]
) -> T:
    """What was given, or the answer to the question; a wrong answer is asked for again."""
    if given is not None:
        return read(given)
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


def _task(answer: str) -> tuple[str, Task]:
    return answer, load_task(answer)


def _judges(answer: str) -> list[str]:
    names = [name.strip() for name in answer.split(",") if name.strip()]
    for name in names:
        kind_of(name, {})
    if not names:
        raise UserError("name at least one judge")
    return list(dict.fromkeys(names))


def _likely_task(likely: Mapping[str, str]) -> str:
    """By the names of the columns: `response` is one of a dialogue."""
    names = " ".join(likely).casefold()
    words = {"dialogue": ("dialog", "response", "conversation"), "story": ("story", "stories")}
    found = (task for task, some in words.items() if any(word in names for word in some))
    return next(found, BUILT_IN[0])


def _is_wanted(field: str, task: Task) -> bool:
    """A column of numbers is read as ratings only if the task has its axis."""
    axes = {f"{DOTTED}{axis.name}" for axis in task.axes}
    return not field.startswith(DOTTED) or field in axes


def _checked_columns(path: str) -> dict[str, str]:
    """The likely columns of a corpus that has a text to judge: refused before more is asked."""
    likely = likely_columns(path)
    _seen(path, {theirs: to for theirs, to in likely.items() if not to.startswith(DOTTED)})
    return likely


def _seen(path: str, columns: Mapping[str, str]) -> _Seen:
    with open_corpus(CorpusSource(path, columns=columns), "skip") as corpus:
        return _seen_in(corpus, path, columns)


def _seen_in(corpus: Corpus, path: str, columns: Mapping[str, str]) -> _Seen:
    systems, sources = set[str](), set[int]()
    with_references, has_context = 0, False
    for case in corpus:
        systems.update(one.system for one in case.candidates)
        sources.add(hash(case.document.source))
        with_references += bool(case.document.references)
        has_context = has_context or bool(case.document.context)
    if not corpus.candidates:
        bad = f"; the first of its bad rows: {corpus.skipped[0]}" if corpus.skipped else ""
        raise UserError(f"{path}: no text to judge is in it{bad}")
    return _Seen(
        path, columns, corpus.cases, corpus.candidates, len(systems), corpus.rated_on(),
        with_references, has_context, len(sources), corpus.skipped, corpus.skipped_rows,
    )  # fmt: skip


def _warnings(seen: _Seen, likely: Mapping[str, str]) -> Iterator[str]:
    if seen.bad:
        rows = counted(seen.bad_rows, "row is bad and is", "rows are bad and are")
        yield f"{seen.path}: {rows} left out (`bad_rows: skip`), the first: {seen.bad[0]}"
    if seen.sources < seen.documents == seen.texts:
        yield (
            f"{seen.path}: every text has a document of its own, though {seen.sources:,} sources "
            f"serve {seen.documents:,} documents: `doc_id` should name the source, not the text"
        )
    for theirs, to in likely.items():
        if theirs not in seen.columns:
            yield (
                f"`{theirs}` looks like a rating on an axis that the task lacks: to read it, add "
                f"`{theirs}: {to}` to `columns`"
            )


def _lines(
    seen: _Seen, name: str, task: Task, model: str, judges: Sequence[str], out: str
) -> Iterator[str]:
    """The configuration; every comment is a sentence for its reader."""
    yield f"# Written by `evaljudge init`. The corpus has {seen.summary}."
    yield from _corpus_lines(seen)
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
    yield from _model_lines(model)
    yield "# Each judge is a method; `evaljudge list judges` shows what each of them needs."
    is_bare = not seen.with_references
    settings = {kind: dict(plugin(kind).without_references) if is_bare else {} for kind in judges}
    yield "judges:"
    yield from (f"  {kind}: {_flow(own)}" for kind, own in settings.items())
    yield "# Metrics ask no model; a good judge agrees better with people than the number of words."
    yield f"metrics: {_flow(list(_metrics(seen)))}"
    yield "# The best fifth of the texts by this scorer and axis is written to selected/."
    scorer, axis = _selected(
        judges[0], settings, load_task(name, axes or None, NANO if model == NANO else None)
    )
    rule = {"scorer": scorer, "axis": axis, "top_fraction": FIFTH}
    yield f"select: {_flow([{'name': 'best-fifth', 'all': [rule]}])}"


def _corpus_lines(seen: _Seen) -> Iterator[str]:
    if not seen.columns:
        yield f"corpus: {_flow(seen.path)}"
    else:
        yield "corpus:"
        yield f"  path: {_flow(seen.path)}"
        yield "  # These columns were recognised by their names; correct what is wrong."
        yield f"  columns: {_flow(dict(seen.columns))}"
    if seen.bad:
        yield f"# Bad rows are left out and counted, such as {one_line(seen.bad[0])}."
        yield "bad_rows: skip"


def _model_lines(model: str) -> Iterator[str]:
    if model == NANO:
        yield "# This small model is for trying things out; its scores of real texts say nothing."
        yield "model: nano"
        yield "# It knows these prompts only; for another model, remove this line."
        yield "prompts: nano"
    else:
        yield f"model: {_flow(model)}"


def _metrics(seen: _Seen) -> Iterator[str]:
    yield "words"
    if seen.documents > 1:
        yield "importance"
    if seen.with_references:
        yield "rouge1"


def _selected(name: str, settings: Mapping[str, Mapping[str, Any]], task: Task) -> tuple[str, str]:
    """The judge's scorer that is best for choosing texts, and its first axis."""
    (judge,) = make_judges({name: settings[name]}, task)
    undecided = judge.undecided
    scorer = min(undecided, key=lambda one: round(undecided[one], 6), default=judge.scorers[0])
    axis = next(iter(judge.axes_of(scorer)), ANY_AXIS)
    return scorer, axis


def _flow(value: Any) -> str:
    """A value as YAML writes it, in one line."""
    said = yaml.safe_dump(value, default_flow_style=True, width=1_000_000, sort_keys=False,
                          allow_unicode=True)  # fmt: skip
    return said.removesuffix("\n").removesuffix("\n...")
