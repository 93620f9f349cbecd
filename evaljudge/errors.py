"""The user's mistakes, what had to be given up, ends by a signal, advice on a misspelt name."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from difflib import get_close_matches
from functools import wraps
from signal import SIGTERM
from threading import Event
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_COLUMNS = re.compile("(?<=`)--column [^`]+")
_OPTION = re.compile(r"(?<!\S)(`?)--([a-z][a-z-]*)")

config_folder = ContextVar("config_folder", default="")
"""Where the configuration that was read last lies."""
finishing = Event()
"""Set when a signal has asked this process to end after the shards in hand."""


_PLAIN = {
    "missing": "is needed",
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type"),
        "should be a mapping of keys to values",
    ),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "should be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "should be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "should be true or false"),
    "string_type": "should be a text",
    "string_too_short": "should not be empty",
    "string_pattern_mismatch": "has not the form that is needed here",
    "list_type": "should be a list",
    "too_short": "should have {min_length} or more entries, not {actual_length}",
    "greater_than_equal": "should be {ge:.12g} or more",
    "greater_than": "should be more than {gt:.12g}",
    "less_than_equal": "should be {le:.12g} or less",
    "less_than": "should be less than {lt:.12g}",
}
"""Plain words for those of pydantic's messages that speak of Python or of a schema."""
MOST_NAMED, NEAREST = 20, 5
_PYDANTIC = re.compile(r"^(Value error, |\w+ (?=should))")


class UserError(Exception):
    """Something the user can correct: said in one line, exit code 2, never a traceback."""

    exit_code = 2
    declared: Any = None  # the class of the settings, where one of them is refused

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython, and so a notebook, shows in place of a traceback."""
        return [f"UserError: {self}"]


@contextmanager
def needing(where: str, *extras: str) -> Iterator[None]:
    """For a block that imports or looks up what any of these extras brings: one line, where it is
    missing."""
    try:
        yield
    except ModuleNotFoundError as error:  # PackageNotFoundError is one, too
        named = " or ".join(map(with_extra, extras))
        message = f"{where}: the package {error.name} is missing: install {named}"
        raise UserError(message) from None


def with_extra(extra: str) -> str:
    """What an installer takes: evaljudge is on no index, so what it was installed from."""
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError):
        if text := metadata.distribution("evaljudge").read_text("direct_url.json"):
            origin = json.loads(text)
            url, version = origin["url"], origin.get("vcs_info")
            if version:
                url = f"{version['vcs']}+{url}@{version['commit_id']}"
            return f"'evaljudge[{extra}] @ {url}'"
    return f"'evaljudge[{extra}] @ ITS_WHEEL'"


@contextmanager
def naming(where: str) -> Iterator[None]:
    """A mistake in this block is said with where it is: the judge or the key that it belongs to."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from error.__cause__


class SeveralMistakes(UserError):
    """Mistakes that one message reports together; `evaljudge plan` lists them one by one."""

    def __init__(self, place: str, mistakes: Sequence[str]) -> None:
        super().__init__(place, mistakes)  # all of it, so that a copy of it can be made
        self.place, self.mistakes = place, mistakes

    def __str__(self) -> str:
        return f"{self._counted} {'; '.join(self.mistakes)}"

    def _render_traceback_(self) -> list[str]:
        return [f"UserError: {self._counted}", *self.mistakes]

    @property
    def _counted(self) -> str:
        return f"{self.place}{len(self.mistakes)} mistakes:"


def refused(place: str, mistakes: Sequence[str]) -> UserError:
    """`place`: how the message begins, `config.yaml: `."""
    if len(mistakes) > 1:
        return SeveralMistakes(place, mistakes)
    return UserError(f"{place}{mistakes[0]}")


class Damaged(UserError):
    """A file of a run that is gone or is not as it was written."""

    def __init__(self, file: str, problem: str, remedy: str) -> None:
        super().__init__(file, problem, remedy)  # all of it, so that a copy of it can be made
        self.file, self.problem, self.remedy = file, problem, remedy

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}: {self.remedy}"


class AtWork(UserError):
    """Another job is at work on the folder: nothing is wrong, and nothing is to be done."""

    exit_code = 6


class GivenUp(Exception):
    """A failure that is not the user's, after enough tries: said in one line, exit code 1."""

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class StorageLost(GivenUp):
    """The run's storage could not be reached for too long; nothing can be noted there either."""


class ClaimLost(GivenUp):
    """Another job works on the folder now, so this one must not write there."""


class CapReached(GivenUp):
    """The run has spent all that it may."""

    exit_code = 5


class Crashed(GivenUp):
    """The engine died and this process cannot load another; the next run counts the death."""


class Unasked(BaseException):
    """A question that may not be put to the model now, so its case stays open. Not an Exception:
    code that asks is not to mistake it for a failure."""


class EngineDead(Exception):
    """The engine itself failed, not a reply: another must do its cases."""


TERMINATED = 128 + SIGTERM


KEPT = "what was committed is kept, run it again to resume"
NOTHING_KEPT = "nothing was finished yet: run it again to begin"
"""Notes on the end of a run by a signal; its last line says them."""


class Ended(SystemExit):
    """A signal ends this process now, and with it its engine. Ray's core may make another
    SystemExit of it."""


def first_words(error: Exception) -> str:
    """What a library's error says, in one line."""
    from pydantic import ValidationError  # not at the start: a command begins with this module

    text = str(error)
    if isinstance(error, ValidationError):  # its own first line only counts the errors
        first = error.errors()[0]
        where = "".join(f"{step}: " for step in first["loc"])
        text = where + plain_words(first)
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [repr(error)]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])


def plain_words(mistake: Mapping[str, Any]) -> str:
    """What one of pydantic's errors says, in words for people who write configurations."""
    plain = _PLAIN.get(mistake["type"], "").format(**mistake.get("ctx", {}))
    return plain or re.sub(_PYDANTIC, "", mistake["msg"])


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def seconds_in(variable: str, default: float) -> float:
    text = os.environ.get(variable, f"{default:g}")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise UserError(f"{variable} is {text!r}: write a number of seconds")
    return seconds


def unknown(kind: str, name: str, known: Iterable[str], own: str = "") -> str:
    """`unknown axis 'fluencey': did you mean 'fluency'?` — or the list, when nothing is near; of a
    long one the nearest names. `own`: where one of the user's own is looked for."""
    names = sorted(known)
    near = [one for one in names if name == f"{one}s"] or get_close_matches(name, names, n=1)
    shown = names if len(names) <= MOST_NAMED else get_close_matches(name, names, NEAREST, 0)
    more = f" and {len(names) - NEAREST} more{own}" if len(shown) < len(names) else own
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(shown) or 'none'}{more}"
    return f"unknown {kind} {name!r}: {hint}"


def absent(path: str, said: str, start: str = "") -> UserError:
    """`cases.cvs: no such file: did you mean cases.csv?`, or what lies beside the configuration."""
    other = os.path.join(config_folder.get(), path)
    if os.path.exists(other) and not os.path.exists(path):
        return UserError(f"{start}{path}: {said} in {os.getcwd()}: did you mean {other}?")
    folder, name = os.path.split(path.rstrip("/"))
    there = set[str]()
    with suppress(OSError):
        there = {*os.listdir(folder or ".")} - {name}
    near = [one for one in there if one.lower() == name.lower()]
    near = near or get_close_matches(name, there, 1, 0.75)
    hint = f": did you mean {os.path.join(folder, near[0])}?" if near else ""
    return UserError(f"{start}{path}: {said}{hint}")


class Mistakes(list[str]):
    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note a mistake raised in this block; the code after the block runs all the same."""
        try:
            yield
        except UserError as error:
            self.append(str(error))

    def refuse(self, place: str) -> None:
        if self:
            raise refused(place, self)


def naming_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function for Python: its messages about `--skip-bad-rows` name `skip_bad_rows`, and a
    `dict` in place of `--column THEIRS=OURS`."""

    def as_dict(options: re.Match[str]) -> str:
        pairs = (pair.strip(" '").rpartition("=") for pair in options[0].split("--column ")[1:])
        return f"columns={ {theirs: ours for theirs, _, ours in pairs} }"

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        try:
            return function(*given, **named)
        except (AtWork, Damaged):
            raise
        except UserError as error:
            said = _COLUMNS.sub(as_dict, str(error))
            said = _OPTION.sub(lambda o: o[1] + o[2].replace("-", "_"), said)
            raise UserError(said) from None

    return called
