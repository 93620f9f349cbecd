"""The entry point of `evaljudge` and `python -m evaljudge`.

What it imports at the start is little, so that a signal is answered from the first moment.
"""

from functools import partial

from evaljudge.commands.supervised import supervised


def main(arguments: list[str] | None = None) -> None:
    supervised(partial(_command, arguments))


def _command(arguments: list[str] | None) -> None:
    from evaljudge.cli import main as command

    command(arguments)


if __name__ == "__main__":
    main()
