"""A run whose questions go to a provider in files, and whose replies come back in files.

    export_asks("runs/first", "asks.jsonl")      ->  412 asks of gpt-x: asks.jsonl …
    import_replies("runs/first", ["replies.jsonl"])

The judges ask a model that answers from the replies there are, and notes what else is asked
(engines/endpoint/batch.py). Shards of which all is answered are committed as in any run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from evaljudge.config import load_config
from evaljudge.engines.endpoint.batch import OF_FILES, BatchEngines
from evaljudge.errors import Unasked, UserError
from evaljudge.execution.local import LocalExecutor
from evaljudge.runs.job import BOTH, make_job
from evaljudge.runs.pipeline import ClaimedJob
from evaljudge.runs.reporting import accounts_of, write_run
from evaljudge.runs.stages import do_pass, lacking
from evaljudge.runs.watching import Watcher
from evaljudge.storage import BATCH, Output, claimed, open_to_read, to_write
from evaljudge.text import counted, one_line

NAMED = 3
OK = 200


@dataclass
class _Batches:
    held: ClaimedJob
    output: Output
    engines: BatchEngines

    def ask(self) -> Mapping[str, Any]:
        """Commits what can be; gives what else is asked now."""
        job, output, engines = self.held.job, self.output, self.engines
        engines.asked.clear()
        output.reread()
        for part in job.passes:
            todo, mine = lacking(part, output, BOTH), output.of(part.job.panel)
            if "prepare" not in part.stages:  # another model's
                ready = mine.committed("prepare")
                todo = {shard: stages for shard, stages in todo.items() if shard.number in ready}
            self.held.take_references(part, output, todo)
            with suppress(Unasked):
                executor = LocalExecutor(job.config.out)
                do_pass(part, output, todo, lambda event: None, executor=executor)
        return engines.asked


@contextmanager
def _opened(run: str, samples: int = 0) -> Iterator[_Batches]:
    config = load_config(run)
    there = Output(config.out)
    engines = BatchEngines(there.kept(BATCH), samples)
    job = make_job(config, engines, (there.run() or {}).get("fingerprint"))
    if others := [source for source in job.sources if not source.way.endswith(OF_FILES)]:
        raise UserError(
            f"{config.out}: the run was begun with another way of reading probabilities of "
            f"{others[0].source}: take another `out` for batch files"
        )
    if config.cascade:
        raise UserError("cascade: its second judge waits for the first one's answers, and batch "
                        "files hold both: leave it out, or ask a server at once")  # fmt: skip
    with claimed(config.out) as claim:
        held = ClaimedJob(job, Watcher(), claim)
        yield _Batches(held, held.bind(BOTH, extend=False), engines)


def export_asks(run: str, to: str, samples: int, force: bool) -> str:
    """A file for each model, as providers want them; gives lines that say what was written."""
    with _opened(run, samples) as batches:
        asked, out = batches.ask(), batches.output.uri
    if not asked:
        return f"nothing is left to ask: `evaljudge report CONFIG` scores {out}\n"
    by_model: dict[str, list[str]] = {}
    for line in asked.values():
        by_model.setdefault(line["body"]["model"], []).append(json.dumps(line) + "\n")
    said, (place, name) = "", to_write(to)
    stem, dot, ending = name.rpartition(".")
    more = (f"{stem}-{number}{dot}{ending}" for number in range(2, len(by_model) + 1))
    files = [name, *more]
    for file in files:
        to_write(place.at(file), force)
    for file, (model, lines) in zip(files, by_model.items(), strict=True):
        place.write(file, "".join(lines).encode())
        said += f"{counted(len(lines), 'ask', 'asks')} of {model}: {place.at(file)}\n"
    return f"{said}next: evaljudge import {out} REPLIES\n"


def import_replies(run: str, files: Sequence[str]) -> str:
    """Gives lines that say what came, what did not belong, and what is open."""
    replies = list(_lines_of(files))
    if replies and not any(key for _, key, _ in replies):
        raise UserError(f"{replies[0][0]}: {replies[0][2]}")
    with _opened(run) as batches:
        asked, engines, output = dict(batches.ask()), batches.engines, batches.output
        new, wrong = dict[str, Any](), dict[str, list[str]]()
        for where, key, reply in replies:
            kind = "unknown" if key not in asked else "error" if isinstance(reply, str) else ""
            kind = "doubled" if key in new or key in engines.replies else kind
            if kind:
                reason = f": {one_line(reply)}" if isinstance(reply, str) else ""
                wrong.setdefault(kind, []).append(f"{where} ({key}{reason})")
            else:
                new[key] = reply
        wrong |= {"missing": missing} if (missing := [k for k in asked if k not in new]) else {}
        engines.replies |= new
        output.keep(BATCH, engines.replies)
        left = len(batches.ask())
        if not left:
            output.forget_saved()
        write_run(batches.held.job, output, accounts_of(batches.held.job, output))
    said = f"{counted(len(new), 'reply', 'replies')} taken, of {len(asked):,} asked\n"
    for kind, places in wrong.items():
        more = f" (and {len(places) - NAMED:,} more)" if len(places) > NAMED else ""
        said += f"{kind:<10} {len(places):,}: {', '.join(places[:NAMED])}{more}\n"
    if left:
        return said + f"next: evaljudge export {run} asks --to FILE ({left:,} are open)\n"
    return said + "all is answered; next: evaljudge report CONFIG\n"


def _lines_of(files: Iterable[str]) -> Iterator[tuple[str, str, Any]]:
    """Where each line is, its id, and the reply, or as a text why there is none."""
    for file in files:
        with open_to_read(file) as stream:
            content = stream.read()
        for number, line in enumerate(content.splitlines(), start=1):
            if line.strip():
                yield f"{file}:{number}", *_read(line)


def _read(line: bytes) -> tuple[str, Any]:
    try:
        said = json.loads(line)
        key, response = str(said["custom_id"]), said.get("response") or {}
        body: Any = response.get("body")
        if said.get("error") or response.get("status_code", OK) != OK or not body["choices"]:
            return key, json.dumps(said.get("error") or body or response)
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", "this line is no reply of a batch, a JSON object with `custom_id` and `response`"
    return key, body
