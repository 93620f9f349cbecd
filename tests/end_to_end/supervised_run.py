"""scripted_run.py as a command of ours: two processes, of which one watches the other."""

import sys

from evaljudge.commands.supervised import supervised


def work() -> None:
    from scripted_run import main  # not before a signal is answered

    sys.exit(main(*sys.argv[1:]))


if __name__ == "__main__":
    supervised(work)
