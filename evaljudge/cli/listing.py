"""`evaljudge list`, in a file of its own because it has the name of Python's `list`."""

from __future__ import annotations

from typing import Annotated

import typer


def list(
    what: Annotated[str | None, typer.Argument(
        metavar="[WHAT]", show_default=False,
        help="judges, metrics, formats or tasks; without it, what each of these is.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:  # fmt: skip
    """The judges, metrics, corpus formats and tasks there are, and what each needs."""
    from evaljudge.commands.listing import list_text

    print(list_text(what, as_json), end="")
