"""`evaljudge list`: the judges, metrics, corpus formats, tasks and analyses that there are.

words        The number of words: a baseline. Needs: nothing else.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module

from evaljudge.analyses import analyses
from evaljudge.commands.options import ListOptions, Shown
from evaljudge.corpora import known_formats
from evaljudge.errors import UserError, unknown
from evaljudge.judges import plugins
from evaljudge.metrics import known_metrics
from evaljudge.plugins import kinds
from evaljudge.prompts import BUILT_IN, load_task
from evaljudge.text import one_line

WHAT = {
    "judges": "Methods that ask a model about a text; `judges` in a configuration names them.",
    "metrics": "Scorers that ask no model; `metrics` in a configuration names them.",
    "formats": "Forms of corpora that are read; `corpus: {format: NAME, path: FILE}` names one.",
    "tasks": "Kinds of texts with their axes; `task` in a configuration names one, or a file.",
    "analyses": "Questions that each report answers, if there is anything to answer.",
}
"""What can be listed."""


@dataclass(frozen=True)
class Entry:
    name: str
    about: str
    needs: str = ""


@dataclass(frozen=True, repr=False)
class Listing(Shown):
    """A line for each of what is named; where nothing is, for each word that can be."""

    entries: Sequence[Entry]

    @property
    def text(self) -> str:
        width = max(len(row.name) for row in self.entries)
        return "".join(
            f"{row.name:{width}}  {row.about}" + f" Needs: {row.needs}." * bool(row.needs) + "\n"
            for row in self.entries
        )

    @property
    def json(self) -> str:
        rows = [asdict(row) for row in self.entries]
        return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def listing(wanted: ListOptions) -> Listing:
    return Listing(list(_entries(wanted.what)))


def _entries(what: str | None) -> Iterable[Entry]:
    if what is None:
        return [Entry(name, about) for name, about in WHAT.items()]
    if what not in WHAT:
        raise UserError(unknown("list", what, WHAT))
    if what in ("metrics", "formats"):
        registered = known_metrics() if what == "metrics" else known_formats()
        return [Entry(name, listed.about, listed.needs) for name, listed in registered.items()]
    if what == "judges":
        homes = {kind: kinds()[kind].partition(":")[0] for kind in plugins()}
        return [Entry(kind, _about(home), plugins()[kind].needs) for kind, home in homes.items()]
    if what == "analyses":
        return [Entry(name, _about(each.rows.__module__)) for name, each in analyses().items()]
    return _tasks()


def _about(module: str) -> str:
    """What the first paragraph of its docstring says."""
    about = import_module(module).__doc__ or ""
    return one_line(about.strip().partition("\n\n")[0])


def _tasks() -> Iterator[Entry]:
    for name in BUILT_IN:
        task = load_task(name)
        texts = f"`source` (the {task.nouns['source']}) and `text` (the {task.nouns['target']})"
        of_context = ", ".join(axis.name for axis in task.axes if axis.context)
        context = f", and `context` for {of_context}" if of_context else ""
        axes = ", ".join(axis.name for axis in task.axes)
        yield Entry(name, f"{task.about} Axes: {axes}.", texts + context)
