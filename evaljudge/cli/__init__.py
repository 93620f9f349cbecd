"""The command line. A command is an entry of the table `COMMANDS` in a file of this folder, of a
folder that the environment variable EVALJUDGE_CLI names, or of an installed package's entry point
in the group `evaljudge.cli`. The exit codes are in the help of `app`.
"""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

import evaljudge
from evaljudge.cli.built_in import Commands, PlainWords
from evaljudge.cli.probe import studies_app
from evaljudge.commands.options import WHAT, Command
from evaljudge.commands.supervised import FINISH_SECONDS
from evaljudge.errors import GivenUp, UserError, plain_words, seconds_in
from evaljudge.plugins import added_code, folders, found_in_files
from evaljudge.runs.json_lines import logging_json, say
from evaljudge.text import without_secrets

__path__ = folders("cli")  # one that the environment names is a part of this package


class _Command(PlainWords, TyperCommand):
    """A wrong value of an option is answered in our words, not in pydantic's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        from pydantic import ValidationError

        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            error.ctx = ctx  # type: ignore[attr-defined]
            if isinstance(error.__cause__, ValidationError):
                error.message = plain_words(error.__cause__.errors()[0])
            raise


@cache
def app() -> typer.Typer:
    made = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        help="Absolute scores for machine-written text, by a language model that compares.",
        epilog="Exit codes: 0 done; 1 given up, run it again to resume; 2 a mistake to correct; 3 "
        "too few texts scored; 4 a mean fell (`diff --fail-if-lower`); 5 a cap of `most` is "
        "reached; 6 another job is at work there; 130 interrupted (Ctrl-C); 143 terminated. "
        "Documentation: docs/ of a clone, or by `evaljudge files cluster DIR`.",
    )
    commands = found_in_files("cli", "COMMANDS", Command)
    for name, command in sorted(commands.items(), key=lambda item: item[1].place):
        if isinstance(command.run, typer.Typer):
            made.add_typer(command.run, name=name, rich_help_panel=command.panel)
        else:
            made.command(name, rich_help_panel=command.panel)(_run_of(name, command))
    for info in (*made.registered_commands, *studies_app.registered_commands):
        paragraphs = (inspect.getdoc(info.callback) or "").split("\n\n")
        info.help = "\n\n".join(" ".join(part.split()) for part in paragraphs)  # no line breaks
        info.cls = _Command
    made.callback()(_common)
    return made


def _run_of(name: str, command: Command) -> Callable[..., None]:
    """The command, whose mistakes are one line where it was added."""

    @wraps(command.run)
    def run(*args: Any, **options: Any) -> None:
        passing = (typer.Exit, typer.Abort, TyperException)
        with added_code(f"the command {name}", command.run.__module__, *passing):
            command.run(*args, **options)

    return run


@contextmanager
def _one_line_each() -> Iterator[None]:
    try:
        yield
    except (UserError, GivenUp, OSError) as error:  # OSError: a full disk, a folder not ours
        text = str(error)
        if isinstance(error, OSError) and error.strerror:  # without its number
            text = ": ".join(map(str, filter(None, [error.filename, error.strerror])))
        message = " ".join(without_secrets(text).split())  # a corpus' own words may be in it
        shown = "".join(c if c.isprintable() else " " for c in message)
        say(f"evaljudge: {shown}\n", sys.stderr)
        sys.exit(getattr(error, "exit_code", UserError.exit_code))


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"evaljudge {evaljudge.__version__}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
)


def _common(version: Annotated[bool, _VERSION] = False) -> None:
    """The options of `evaljudge` itself."""


def main(arguments: list[str] | None = None) -> None:
    """A command in this process: a user's mistake is one line on stderr, never a traceback."""
    with _one_line_each(), logging_json(), _one_line_each():
        seconds_in(FINISH_SECONDS, 0)  # refused now, not at a signal
        try:
            # else a mistake is a drawing
            code = app()(arguments, prog_name="evaljudge", standalone_mode=False)
        except TyperException as error:
            message = error.format_message() or "name a command"
            message = re.sub(r" \(Possible options: (.*)\)", r". Did you mean \1?", message)
            if wrong := re.fullmatch("No such command '(.+)'\\.?", message):
                for near in get_close_matches(wrong[1], WHAT, 1):
                    message = f"{message.rstrip('.')}. Did you mean '{near}'?"
            ctx: Any = getattr(error, "ctx", None)
            path = getattr(ctx, "command_path", "evaljudge")
            if ctx and (wrong := re.match("No such option: --?([\\w-]+)", message)):
                from evaljudge.config import Config  # not at the start, which would take longer

                name, params = wrong[1], {one.name: one.opts for one in ctx.command.params}
                if params.get(name) == [name]:
                    message = f"{wrong[0]}: name {name.upper()} without an option"
                elif len(name) == 1 and (
                    named := [o[0] for o in params.values() if o[0].startswith(f"--{name}")]
                ):
                    message = f"{wrong[0]}. Did you mean {named[0]}?"
                elif name in Config.known_keys():
                    how = "a key of a configuration"
                    if ["--set"] in params.values():
                        how = f"give it as `--set {name}=…`"
                    message = f"{wrong[0]}: {how}"
            if extra := re.search(r"unexpected extra .*\((\S+)\)$", message):
                options = [option.opts[0] for option in ctx.command.params]
                for near in [o for o in ("--corpus", "--doc", "--to") if o in options][:1]:
                    is_run = near == "--doc" and os.path.isdir(extra[1])
                    first = f"{extra[1]} --doc …" if is_run else f"{near} {extra[1]}"
                    message += f". Did you mean `{path} {first}`?"
            raise UserError(f"{message.rstrip('.')} (see `{path} --help`)") from None
        except typer.Abort:
            code = "evaljudge: aborted"
        sys.exit(code or 0)
