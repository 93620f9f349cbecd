"""`evaljudge list`, in a file of its own because it has the name of Python's `list`."""

from __future__ import annotations

from typing import Annotated

import typer


def list(
    what: Annotated[str | None, typer.Argument(
        metavar="[WHAT]", show_default=False,
        help="What to list: judges, metrics, formats or tasks. Without it, what each of these "
        "is.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:  # fmt: skip
    """List the judges, metrics, corpus formats or tasks that there are, and what each needs.

    Example: evaljudge list metrics
    """
    from evaljudge.commands.listing import list_text

    print(list_text(what, as_json), end="")
