"""The bundled judge: a very small Llama that knows the world of `bundled.world`.

`model: nano` with `prompts: nano` is this one.

It answers what the judge `synthetic` asks about texts of that world; of anything else it knows
nothing. `jobs/train_nano.py` makes it from nothing.
"""

from pathlib import Path

CHECKPOINT = Path(__file__).parent / "checkpoint"
