"""Everything on stderr as one JSON object a line, where EVALJUDGE_LOG=json is set.

    {"time": "2026-11-23T20:31:07.112Z", "level": "error", "event": "error", "message": "out: …"}

It is no key of the configuration, whose own mistakes are written in this form, too. This module
imports little: the process that watches a command needs it as well (commands/supervised.py).
"""

import io
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from evaljudge.errors import UserError

LOG, JSON = "EVALJUDGE_LOG", "json"
ERROR, WARNING = "evaljudge: ", "warning: "
"""How the lines begin that say an error, and a warning, where they are for people."""
OURS = '{"time": '


def json_is_wanted() -> bool:
    return os.environ.get(LOG) == JSON


def say(text: str, stream: TextIO | None = None) -> None:
    """Print. Where nobody reads any more, the work goes on, and ends with its own exit code."""
    stream = stream or sys.stdout
    try:
        print(text, end="", file=stream, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:
        name = getattr(stream, "name", "stderr").strip("<>")
        raise UserError(f"{name} cannot be written: {error.strerror}") from None


def json_line(level: str, event: str, **fields: Any) -> str:
    now = time.time()
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
    return json.dumps({"time": stamp, "level": level, "event": event} | fields, ensure_ascii=False)


def message_line(text: str) -> str:
    if text.startswith(ERROR):
        return json_line("error", "error", message=text.removeprefix(ERROR))
    if text.startswith(WARNING):
        return json_line("warning", "warning", message=text.removeprefix(WARNING))
    return json_line("info", "message", message=text)


class JsonLines(io.TextIOBase):
    """A stream in place of stderr: lines of text become objects; those that are objects stay."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._by_thread = stream, threading.local()

    def write(self, text: str) -> int:
        """A line is written when it is whole: `print` writes its end apart, threads in between."""
        *lines, rest = (getattr(self._by_thread, "begun", "") + text).split("\n")
        self._by_thread.begun = rest
        for line in lines:
            shown = line.rpartition("\r")[2].strip()
            if shown:
                self._stream.write(f"{shown if shown.startswith(OURS) else message_line(shown)}\n")
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()


@contextmanager
def logging_json() -> Iterator[None]:
    """Log this block as JSON, if that is wanted; the last line has the exit code."""
    if (wanted := os.environ.get(LOG, "")) not in ("", JSON):
        raise UserError(f"{LOG} is {wanted!r}: write `{JSON}`, or leave it out for lines of text")
    if not wanted:
        yield
        return
    plain, code = sys.stderr, 0
    sys.stderr = JsonLines(plain)
    try:
        yield
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    except Exception as error:
        code, last = 1, traceback.format_exception_only(error)[-1].strip()
        fields = {"message": last, "traceback": traceback.format_exc()}
        say(json_line("error", "bug", **fields) + "\n", plain)
        raise SystemExit(code) from error
    finally:
        say(json_line("warning" if code else "info", "ended", exit_code=code) + "\n", plain)
        sys.stderr = plain
