"""`evaljudge init`: a configuration that runs, made from a few answers and a look at the corpus."""

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

import typer
import yaml

from evaljudge.agreement.rated import unmatched
from evaljudge.commands.given import refuse_unknown
from evaljudge.commands.options import FilesOptions, InitOptions, Shown
from evaljudge.corpora import CorpusSource, notes_on, of_sources, open_corpus, unread_columns
from evaljudge.corpora.columns import (
    AXIS,
    IN_INIT,
    OPTIONS,
    ColumnNames,
    Unread,
    named,
    named_columns,
)
from evaljudge.corpora.corpus import NEEDED
from evaljudge.corpora.grouping import several
from evaljudge.corpora.longer import LEFT_OUT, longer
from evaljudge.corpora.memory import CorpusFile, Input
from evaljudge.corpora.rows import DOTTED, KNOWN_FIELDS
from evaljudge.errors import UserError
from evaljudge.judges import kind_of, make_judges, plugin
from evaljudge.plugins import kinds
from evaljudge.prompts import BUILT_IN, NANO, Task, load_task
from evaljudge.records import ANY_AXIS, NAMELESS
from evaljudge.storage import expand, to_write
from evaljudge.text import counted, one_line

T = TypeVar("T")
Ask = Callable[[str, str], str]
"""Asks a question on a terminal; the second text is the answer of who only presses Enter."""
NO_MODEL, RIGHT = "none", "ok"
QUESTIONS = {
    "corpus": "Where are the texts to judge (a file, folder, glob or URI)?",
    "task": f"What are they ({', '.join(BUILT_IN)}, or a path to a task file)?",
    "column": "Its columns:\n  {}",
    "model": "Which model judges (a hub name such as Qwen/Qwen3-8B, a folder, a URI, nano, the "
    "small one for trying things out, or none, for metrics alone)?",
    "judge": "By which judges (synthetic to begin with; there are {}; several with commas)?",
}


@dataclass(frozen=True)
class Started(Shown):
    file: Path
    columns: str
    summary: str
    warnings: Sequence[str]

    @property
    def complaints(self) -> Sequence[str]:
        return [f"warning: {warning}" for warning in self.warnings]

    @property
    def text(self) -> str:
        file = shlex.quote(str(self.file))
        commands = "".join(f"  evaljudge {name} {file}\n" for name in ("plan", "run"))
        columns = f"columns: {self.columns}\n" if self.columns else ""
        return f"wrote {self.file}: {self.summary}\n{columns}next:\n{commands}"


class _Seen:
    def __init__(self, path: Input, columns: Mapping[str, str]) -> None:
        self.path, self.columns = f"{path}", columns
        systems = set[str]()
        self.has_references = self.has_context = False
        with open_corpus(CorpusSource(path, columns=columns, advice=IN_INIT), "skip") as corpus:
            for case in corpus:
                systems.update(candidate.system for candidate in case.candidates)
                self.has_references |= bool(case.document.references)
                self.has_context |= bool(case.document.context)
            self.bad, self.bad_rows, self.notes = corpus.skipped, corpus.skipped_rows, corpus.unread
            self.documents, self.texts = corpus.cases, corpus.candidates
            self.rated = corpus.rated_on()
        every = self.bad_rows + self.texts
        if 10 * self.bad_rows > every:  # else a row may be there twice
            if repeated := next(filter(several, self.bad), None):
                raise UserError(f"{repeated}. {several(repeated)}")
            found = expand(path) if isinstance(path, str) else ()
            files = [f for f in found if re.search(r"\.[ct]sv(\.gz)?$", f.lower())]
            headers = {f: {*(theirs := unread_columns(f)).names, *theirs.known} for f in files}
            for file, names in headers.items():
                if differing := sorted(names ^ headers[files[0]]):
                    only = f"only one of it and {files[0]} has {named(differing)}"
                    raise UserError(f"{file}: {only}: give them one header; {self.bad[0]}")
        if 5 * self.bad_rows > every:  # a slip is in few rows
            bad = f"{self.bad_rows:,} of {counted(every, 'row is', 'rows are')} bad"
            raise UserError(f"{path}: {bad}: {self.bad[0]}")
        if not self.texts:
            raise UserError(f"{path}: no text to judge is in it")
        by_people = ", ".join(f"{one_line(axis)} {n:,}" for axis, n in self.rated.items())
        called = [system for system in systems if not NAMELESS.fullmatch(system)]
        of = f" of {counted(len(called), 'system', 'systems')}" if called else ""
        self.summary = (
            f"{counted(self.documents, 'document', 'documents')} with "
            f"{counted(self.texts, 'text', 'texts')}{of}; people rated {by_people or 'nothing'}"
        )


def initialised(wanted: InitOptions) -> Started:
    return init(wanted, _ask if sys.stdin.isatty() else None)


def _ask(question: str, default: str) -> str:
    try:
        has_one = bool(default)
        return str(typer.prompt(question, default=default, show_default=has_one, prompt_suffix=" "))
    except typer.Abort:  # Ctrl-D
        print()  # ends the line of the question
        raise UserError("nothing was written") from None


def init(wanted: InitOptions, ask: Ask | None) -> Started:
    """`ask`: None where nobody is there to answer."""
    path, theirs = _answer("corpus", wanted.corpus, "", ask, lambda p: (p, unread_columns(p)))
    if {"expert_annotations", "turker_annotations"} <= {*theirs.names} and not wanted.columns:
        said = f"{path} is SummEval's: a configuration reads it, with its ratings, by"
        raise UserError(f"{said} `corpus: {{path: {path}, format: summeval}}`")
    to_write(str(wanted.to), wanted.force)
    if wanted.model == NO_MODEL and wanted.judges:
        raise UserError("--model none: a judge asks a model: name one, or leave --judge out")
    pairs, became = wanted.columns, dict[str, str]()
    given = dict(pairs) if isinstance(pairs, Mapping) else named_columns(pairs)
    corpus: Input = path
    if made := longer(path, theirs, given, wanted.to.parent, wanted.force):
        corpus, said, became = made
        print(said)
        theirs = unread_columns(corpus)
        given = {n: to for n, to in given.items() if became.get(n) != (to or LEFT_OUT)}
    likely = theirs.likely()
    task_asked = wanted.task, _likely_task([*likely, *given, *became])
    name, task = _answer("task", *task_asked, ask, lambda name: (name, load_task(name)))
    axes = {f"{DOTTED}{axis.name}" for axis in task.axes} - {*given.values()}
    known = {n: to for n, to in likely.items() if to in ("", *KNOWN_FIELDS) or to in axes}
    seen_in = {*given, *(name.partition(".")[0] for name in given)}
    others = theirs.unread_ratings(seen_in)
    rateable = ", ".join(axis.name for axis in task.axes)
    columns = _columns(corpus, theirs, known, given, others, rateable, ask)
    if "doc_id" not in given.values():
        columns = of_sources(CorpusSource(corpus, columns=columns)).columns
    seen = _Seen(corpus, columns)
    model = _answer("model", wanted.model, "", ask, _named)
    judges = list[str]()
    if model != NO_MODEL:
        chosen = ",".join(wanted.judges or ()) or None
        judges = _answer("judge", chosen, "synthetic", ask, _judges)
    lines = _lines(seen, name, task, model, judges, wanted.out)
    wanted.to.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(corpus, CorpusFile):
        Path(f"{corpus}").write_bytes(corpus.content)
    wanted.to.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    read = ", ".join(_as_read(columns, theirs))
    again = _again(wanted, path, name, model, judges, given)
    warnings = [*_warnings(seen, task, judges), *_unread_ratings(others, columns, rateable, again)]
    if "/" not in model and model not in (NANO, NO_MODEL) and not Path(model).exists():
        hint = f"a model behind a URL is `{{endpoint: URL, name: {model}}}`"
        warnings.append(f"model {model}: no such folder ({hint})")
    return Started(wanted.to, read, seen.summary, warnings)


def _columns(
    path: Input, theirs: Unread, likely: Mapping[str, str], given: dict[str, str],
    others: Mapping[str, str], rateable: str, ask: Ask | None,
) -> Mapping[str, str]:  # fmt: skip
    """What the columns stand for, as it was given or is likely; a terminal is asked whether it is
    right, and what it changes is given, too."""
    columns = theirs.changed(likely, given)

    def checked(answer: str) -> Mapping[str, str]:
        nonlocal columns
        pairs = () if answer == RIGHT else re.split("--column|,", answer)
        changes = named_columns(filter(None, (pair.strip(" '`") for pair in pairs)))
        refuse_unseen([*changes])
        ColumnNames(changed := theirs.changed(columns, changes), OPTIONS)
        columns = changed
        given.update(changes)
        if ask and (lacking := needed()):
            raise UserError(lacking)
        theirs.refuse_wide(f"{path}", given, IN_INIT)
        _Seen(path, columns)
        return columns

    def needed() -> str:
        there = {*theirs.known, *columns.values()}
        lacking = [field for field in NEEDED if not {field, "candidates"} & there]
        free = [*(name for name in theirs.names if name not in columns), *repeat("THEIRS", 2)]
        pairs = (f"`{name}={field}`" for name, field in zip(free, lacking, strict=False))
        return f"needed: {named(lacking)}, such as {', '.join(pairs)}" if lacking else ""

    def about() -> str:
        end = "Write" if needed() else "Press Enter if this is right, or write"
        more = [*filter(None, [needed()]), *_unread_ratings(others, columns, rateable)]
        return "\n  ".join([*_as_read(columns, theirs), *more]) + (
            f"\n{end} changes with commas, such as THEIRS=source (or doc_id, system, text, "
            f"references, context, ratings.AXIS, where AXIS is one of {rateable}, or your own; "
            "THEIRS= for one that is not to be read)."
        )

    def refuse_unseen(names: Sequence[str]) -> None:
        inner = [n for n in names if n.partition(".")[0] in (*theirs.names, "ratings")]
        refuse_unknown("--column", "column", names, [*theirs.names, *KNOWN_FIELDS, *inner])

    refuse_unseen([name for name, to in given.items() if not to])
    if ask is None or not theirs.names:
        return checked(RIGHT)
    return _answer("column", None, "" if needed() else RIGHT, ask, checked, about)


def _as_read(columns: Mapping[str, str], theirs: Unread) -> Iterator[str]:
    if own := [f for f in KNOWN_FIELDS if f in theirs.known and f not in columns.values()]:
        yield f"{', '.join(own)} by these names"
    yield from (f"{name} = {to}" for name, to in columns.items() if to)
    left_out = [name for name, to in columns.items() if not to]
    if rest := [*left_out, *(name for name in theirs.names if name not in columns)]:
        yield f"not read: {named(rest)}"


def _answer(
    option: str,
    value: str | None,
    default: str,
    ask: Ask | None,
    read: Callable[[str], T],
    about: Callable[[], str] = lambda: ", ".join(kinds()),
) -> T:
    """What was given, or the answer to the question. After a wrong answer it is asked again."""
    if value is not None:
        return read(value)
    asked = ""
    while True:
        question = QUESTIONS[option].format(about())
        if ask is None:
            raise UserError(f"--{option} is missing, and nobody is there to ask: {question}")
        question = question.replace(" --column ", ", ").replace("--column ", "")
        answer = ask(question.rpartition("\n")[2] if question == asked else question, default)
        try:
            if not answer.strip():
                raise UserError("this needs an answer (Ctrl-C ends)")
            return read(answer)
        except UserError as error:
            print(re.sub("--column:? ", "", str(error)))
        asked = question


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


def _likely_task(columns: Iterable[str]) -> str:
    """The task that the columns' names suggest: `response` is one of a dialogue."""
    names = " ".join(columns).casefold()
    words = {"dialogue": ("dialog", "response", "conversation"), "story": ("story", "stories")}
    return next((t for t, some in words.items() if any(w in names for w in some)), BUILT_IN[0])


def _warnings(seen: _Seen, task: Task, judges: list[str]) -> Iterator[str]:
    yield from notes_on(seen.bad_rows, 0, seen.bad)
    yield from (note for note in seen.notes if not note.startswith("not read"))
    judged = [axis.name for axis in task.axes if judges]  # all, where people rated none of them
    yield from () if seen.rated.keys() & judged else unmatched(judged, seen.rated)
    for axis in seen.rated:
        near = get_close_matches(axis, [axis.name for axis in task.axes], 1, 0.8)
        if near and near != [axis]:
            yield f"the task has no axis {axis!r} that people rated: did you mean {near[0]!r}?"


def _again(
    wanted: InitOptions,
    path: str,
    task: str,
    model: str,
    judges: Sequence[str],
    given: Mapping[str, str],
) -> str:
    """The command that writes the same configuration, as far as it was told what to write."""
    told = {"corpus": path, "task": task, "model": model}
    usual = InitOptions()
    told |= {
        n: f"{getattr(wanted, n)}" for n in ("to", "out") if getattr(wanted, n) != getattr(usual, n)
    }
    words = [word for option, answer in told.items() for word in (f"--{option}", answer)]
    words += [word for judge in judges for word in ("--judge", judge)]
    words += [word for n, to in given.items() for word in ("--column", f"{n}={to}")]
    return shlex.join(["evaljudge", "init", *words, "--force"])


def _unread_ratings(
    others: Mapping[str, str], columns: Mapping[str, str], rateable: str, again: str = ""
) -> Iterator[str]:
    if rest := {name: to for name, to in others.items() if name not in columns}:
        give = f"`{f'{again} '.lstrip()}{OPTIONS.columns(rest)[1:]}"
        other = "an axis in place of AXIS" if AXIS in rest.values() else "other axes if you like"
        yield (
            f"not read, but these look like ratings: {named(rest)}; if people gave them, give "
            f"{give}, with {other} (the task has {rateable})"
        )


def _lines(
    seen: _Seen, name: str, task: Task, model: str, judges: Sequence[str], out: str
) -> Iterator[str]:
    yield f"# Written by `evaljudge init`. The corpus has {seen.summary}."
    if not seen.columns:
        yield f"corpus: {_flow(seen.path)}"
    else:
        yield f"corpus:\n  path: {_flow(seen.path)}"
        yield "  # These columns were given or recognised by their names; correct what is wrong."
        yield f"  columns: {_flow(dict(seen.columns))}"
    if seen.bad:
        yield f"# Bad rows are left out and counted, such as {one_line(seen.bad[0])}."
        yield "bad_rows: skip"
    yield "# Everything that a run makes goes here: a folder, or a URI such as s3://bucket/first."
    yield f"out: {_flow(out)}"
    yield "# The task says what the texts are; `evaljudge list tasks` shows the tasks there are."
    yield f"task: {_flow(name)}"
    asked = [axis for axis in task.axes if axis.name in seen.rated] or task.axes
    axes = [axis.name for axis in asked if seen.has_context or not axis.context]
    if rest := ", ".join(axis.name for axis in task.axes if axis not in asked):
        yield f"# People rated these of the task's axes; it also has {rest}."
    if len(axes) < len(asked):
        left_out = ", ".join(axis.name for axis in asked if axis.name not in axes)
        yield f"# The corpus has no context, which the task needs for {left_out}: left out here."
    yield "# The texts are judged on these axes; fewer axes cost less."
    yield f"axes: {_flow(axes or [axis.name for axis in task.axes])}"
    if model == NANO:
        yield "# This small model is for trying things out; its scores of real texts say nothing."
        yield "model: nano"
        yield "# It knows these prompts only; for another model, remove this line."
        yield "prompts: nano"
    elif judges:
        is_url = model.startswith(("http://", "https://"))
        yield f"model: {_flow({'endpoint': model} if is_url else model)}"
    yield "# Each judge is a method; `evaljudge list judges` shows what each of them needs."
    settings = {
        kind: {} if seen.has_references else dict(plugin(kind).without_references)
        for kind in judges
    }
    yield "judges:" if judges else "judges: {}  # metrics alone, without a model"
    yield from (f"  {kind}: {_flow(options)}" for kind, options in settings.items())
    yield "# Metrics ask no model; a good judge agrees better with people than the number of words."
    metrics = ["words"] + ["importance"] * (seen.documents > 1) + ["rouge1"] * seen.has_references
    yield f"metrics: {_flow(metrics)}"
    if not judges:
        return
    yield "# The best fifth of the texts by this scorer and axis is written to selected/."
    task = load_task(name, axes or None, NANO if model == NANO else None)
    (judge,) = make_judges({judges[0]: settings[judges[0]]}, task)
    undecided = judge.undecided  # the scorer that is best for choosing texts, and its first axis
    scorer = min(undecided, key=lambda name: round(undecided[name], 6), default=judge.scorers[0])
    axis = next(iter(judge.axes_of(scorer)), ANY_AXIS)
    rule = {"scorer": scorer, "axis": axis, "top_fraction": 0.2}
    yield f"select: {_flow([{'name': 'best-fifth', 'all': [rule]}])}"


def _flow(value: Any) -> str:
    how: dict[str, Any] = {"default_flow_style": True, "width": 1_000_000, "sort_keys": False}
    text: str = yaml.safe_dump(value, allow_unicode=True, **how)
    return text.removesuffix("\n").removesuffix("\n...")


PACKAGE = Path(__file__).parents[1]
BROUGHT = PACKAGE / "bundled" / "cluster"


def copied(wanted: FilesOptions) -> str:
    """The folder has what `ray up` and `docker build` read in a clone, the package included."""
    if not BROUGHT.is_dir():
        which = "evaljudge is installed from a clone, which has these files itself"
        raise UserError(f"files {wanted.what}: {which}")
    if wanted.to.exists():
        raise UserError(f"{wanted.to}: exists already: name a new folder")
    left_out = shutil.ignore_patterns("__pycache__", BROUGHT.name)
    shutil.copytree(BROUGHT, wanted.to, ignore=left_out)
    shutil.copytree(PACKAGE, wanted.to / PACKAGE.name, ignore=left_out)
    names = ", ".join(sorted(file.name for file in wanted.to.iterdir()))
    return f"{wanted.to}: {names}\n"
