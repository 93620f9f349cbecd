"""The bundled judge: a very small Llama that knows the world of `bundled.world`.

`model: nano` with `prompts: nano` is this one.

It answers what the judge `synthetic` asks about texts of that world; of anything else it knows
nothing. `jobs/nano/train.py` makes it from nothing: its weights are random at first, its tokenizer
and its lessons are made of the words of that invented world (bundled/world/words.yaml), and no
other model or data set is used. So it is under the licence of evaljudge itself, like the rest.
"""

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "checkpoint"
