"""Train the nano judge from nothing: python -m jobs.nano.train FOLDER --seed 0

Half an hour on two cores, minutes on a GPU. Run it again to go on where it was cut short. The
checkpoint lies in FOLDER when it is done: `model: FOLDER` and `prompts: nano` use it.
"""

from pathlib import Path
from typing import Annotated

import typer


def main(
    folder: Annotated[Path, typer.Argument(help="Where the checkpoint goes, and its state.")],
    seed: Annotated[int, typer.Option(help="Of the lessons and the first weights.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="How long; fewer learn less.")] = 2600,
    start: Annotated[
        Path | None, typer.Option(help="A checkpoint that learns on; without one, from nothing.")
    ] = None,
    share: Annotated[
        float, typer.Option(help="Of the rates, for a checkpoint that learns on.")
    ] = 1,
    layers: Annotated[
        int, typer.Option(min=5, help="5 are a smaller judge; of a checkpoint the first are taken.")
    ] = 6,
) -> None:
    from jobs.nano.checkpoint import save_checkpoint
    from jobs.nano.training import Recipe, Training, examine

    training = Training(Recipe(seed=seed, steps=steps, layers=layers, share=share), folder, start)
    if training.resume():
        print(f"resumed at step {training.step:,}", flush=True)
    training.run(lambda line: print(line, flush=True))
    save_checkpoint(training.network, folder)
    print(examine(training.network), flush=True)


if __name__ == "__main__":
    typer.run(main)
