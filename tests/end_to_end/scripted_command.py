"""`evaljudge run` on the scripted model, again and again, in processes that may be killed.

    python scripted_command.py < requests > replies
    {"folder": "/tmp/x", "seconds": 0.01, "environment": {…}}   ->   123   (the process), then -9

A process is forked from this one, which has imported what a run needs, so that it begins at once;
it goes through the command's own entry point. Its asks are noted in `asks`, and what it says in
`said` and `complained` of the folder, where `config.json` lies too.
"""

import json
import os
import sys
from functools import partial
from importlib import import_module
from typing import Any

from scripted_run import noting_engines

NEEDED = (
    "evaljudge.__main__", "evaljudge.runs.pipeline", "evaljudge.runs.progress", "pyarrow.parquet",
    "pyarrow.fs", "scipy.stats", "sklearn.linear_model", "sacrebleu", "boto3",
    "evaljudge.judges.synthetic.judge", "evaljudge.judges.direct.judge",
    "evaljudge.judges.geval.judge", "evaljudge.metrics.lexical", "evaljudge.metrics.length",
    "jinja2.sandbox", "pyarrow.pandas_compat",
)  # fmt: skip


def main() -> None:
    for name in NEEDED:
        import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        if not (process := os.fork()):
            work(**request)
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


def work(folder: str, seconds: float, environment: dict[str, str], **more: Any) -> None:
    from evaljudge.__main__ import main
    from evaljudge.runs import pipeline

    os.setsid()
    os.chdir(folder)
    os.environ.update(environment)
    for number, name in ((0, os.devnull), (1, "said"), (2, "complained")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644), number)
    engines = noting_engines(f"{folder}/asks", seconds)
    pipeline.run = partial(pipeline.run, engines=engines)
    main(["run", "config.json"])
    sys.exit()


if __name__ == "__main__":
    main()
