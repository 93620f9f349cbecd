"""What a prompt will cost, counted by the model's tokenizer alone: for `plan`.

transformers chooses the tokenizer's class and reads it, as it does for the engine. With it comes
torch, which takes four seconds to load and has no part in a tokenizer. So a process of its own,
from which torch is hidden, reads the tokenizer and the chat template, and hands back all that is
needed to count tokens.
"""

import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from sys import maxsize
from typing import Any

from evaljudge.engines.checkpoint import labels_of, local_folder
from evaljudge.engines.loading import load_tokeniser, local_path
from evaljudge.engines.source import ModelSource
from evaljudge.engines.template import Template, find_template, read_template, settled
from evaljudge.engines.tokens import Beginning, Ids, Texts
from evaljudge.model.asks import Options, Prompt, Spent
from evaljudge.model.imagining import TokenCounter

REMEMBERED_BEGINNINGS = 1024
TOKENIZER = "tokenizer_config.json"


def text_around(source: ModelSource) -> tuple[str, str] | None:
    """What the model reads before and after a prompt, by its chat template.

    None where its tokenizer is not on this machine: nothing is downloaded.
    """
    if local_folder(source, TOKENIZER) is None:
        return None
    template = _tokenizer_of(settled(source, find_template(source)))[1]
    return template.head_text, template.tail_text


def make_token_counter(source: ModelSource, block: int) -> TokenCounter:
    """Counts tokens and cache blocks as the engine would, if answers are spelt as they are asked
    for."""
    texts, template = _tokenizer_of(source)
    size = block or maxsize

    @lru_cache(REMEMBERED_BEGINNINGS)
    def beginning(parts: tuple[str, ...]) -> Beginning:
        if not parts:
            return Beginning(size).followed_by(template.head)
        return beginning(parts[:-1]).followed_by(part(parts, len(parts) - 1))

    def part(parts: tuple[str, ...], number: int) -> Ids:
        return template.part(number, parts[number], texts)

    @cache
    def spelt(options: Options) -> range:
        """The lengths of the parts of the longest answer, after each of which is asked again."""
        paths = [template.spelt_after(name, texts) or () for name in options.names]
        return range(1, max(map(len, paths)))

    def token_counter(prompt: Prompt, options: Options | None = None) -> tuple[Spent, ...]:
        parts = prompt.parts
        first, rest = max(len(parts) - 2, 0), Ids()  # few prompts share their last text
        for number in range(first, len(parts)):
            rest += part(parts, number)
        whole = beginning(parts[:first]).followed_by(rest + template.tail)
        head = beginning(parts[: prompt.head]).tokens if prompt.head else 0
        spent = Spent(whole.tokens, 0, 1, whole.blocks, head // size, block)
        further = spelt(options) if options else ()
        return spent, *(replace(spent, prompt=spent.prompt + more) for more in further)

    return token_counter


def _tokenizer_of(source: ModelSource) -> tuple[Texts, Template]:
    folder = Path(local_path(source.path))
    changed_at = max((file.stat().st_mtime_ns for file in folder.glob("*")), default=0)
    return _read(pickle.dumps(source), changed_at)


@lru_cache(2)
def _read(pickled: bytes, changed_at: int) -> tuple[Texts, Template]:
    """Cached because plans of several runs count the same texts."""
    source: ModelSource = pickle.loads(pickled)
    is_loaded = "transformers.models.auto.tokenization_auto" in sys.modules
    tokenizer, template = (not is_loaded and read_apart(source)) or read_here(source)
    return Texts(tokenizer), template


def read_here(source: ModelSource) -> tuple[Any, Template]:
    tokeniser = load_tokeniser(source)
    rates, reply = bool(labels_of(source)), source.reply or ""
    template = read_template(tokeniser, source.chat, frozenset(), reply, rates=rates)
    return tokeniser.backend, replace(template, tail=template.tail + template.after)


def read_apart(source: ModelSource) -> tuple[Any, Template] | None:
    """The same, by a process without torch; None where it fails: `read_here` then says why."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",  # it would advise to install torch
    }
    command = [sys.executable, "-P", "-m", __name__]
    asked, pipe = pickle.dumps(source), subprocess.PIPE
    done = subprocess.run(command, env=environment, input=asked, stdout=pipe, check=False)
    found: tuple[Any, Template] | None = pickle.loads(done.stdout) if not done.returncode else None
    return found


def _answer() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the process that started it reports an interrupt
    sys.modules["torch"] = None  # type: ignore[assignment]
    answer, sys.stdout = sys.stdout.buffer, sys.stderr
    try:
        found = read_here(pickle.load(sys.stdin.buffer))
    except Exception:
        return 1
    answer.write(pickle.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(_answer())
