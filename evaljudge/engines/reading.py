"""A model's tokenizer and chat template, read without torch.

transformers chooses the tokenizer's class and reads it, as it does for the engine. With it comes
torch, which takes four seconds to load and has no part in a tokenizer. So a process of its own,
from which torch is hidden, reads the two, and hands back all that is needed to count tokens.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from evaljudge.engines.loading import load_marked
from evaljudge.engines.template import Template, read_template

Found = tuple[str, Template]
"""What tokenizer.json holds, as transformers reads it, and the template."""


class Wanted(NamedTuple):
    path: str
    name: str
    """What the user calls the model."""
    revision: str | None
    chat: str
    """The template's switches, as JSON."""
    trusts_code: bool = False
    reply: str = ""
    """What stands behind the generation prompt."""


def read_here(wanted: Wanted) -> Found:
    marked = load_marked(wanted.path, wanted.name, wanted.revision, wanted.trusts_code)
    switches = json.loads(wanted.chat)
    return marked.backend.to_str(), read_template(marked, switches, frozenset(), wanted.reply)


def read_apart(wanted: Wanted) -> Found | None:
    """The same, by a process without torch; None where it fails: `read_here` then says why."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",  # it would advise to install torch
    }
    with TemporaryDirectory() as folder:
        file = Path(folder, "found")
        command = [sys.executable, "-P", "-m", __name__, str(file), json.dumps(wanted)]
        if subprocess.run(command, env=environment, check=False).returncode:
            return None
        found: Found = pickle.loads(file.read_bytes())
        return found


def _write_found(file: str, wanted: str) -> int:
    """What the process apart does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the process that started it reports an interrupt
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        found = read_here(Wanted(*json.loads(wanted)))
    except Exception:
        return 1
    Path(file).write_bytes(pickle.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(_write_found(*sys.argv[1:]))
