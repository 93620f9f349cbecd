"""What benches share: the machine, processor seconds of a command, where figures are kept."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

HERE = Path(__file__).parent
MACHINE = f"{os.cpu_count()} cores of {platform.machine()}"


def keep(bench: str, figures: Mapping[str, Any]) -> None:
    """Writes BENCH.json beside the bench."""
    text = json.dumps({"machine": MACHINE} | dict(figures), indent=1, ensure_ascii=False)
    (HERE / bench).with_suffix(".json").write_text(f"{text}\n")


def in_a_process(command: Sequence[str], **how: Any) -> tuple[float, str]:
    """The command's processor seconds, and what it printed."""
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **how)
    after = getrusage(RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(used, 2), done.stdout
