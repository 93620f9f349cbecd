"""Tables of numbers as fields of colour, each number written in its field.

heat_maps({"complementarity": [[0.0, 0.28], [0.28, 0.0]]}, ["importance", "rouge1"],
          ["importance", "rouge1"], "scorer", (0.0, 1.0))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import nan
from typing import TYPE_CHECKING

from evaljudge.probes.canvas import shown, svg
from evaljudge.probes.telling import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_NAME = 24
_DARK = 0.55  # of the way along the colours, beyond which numbers are written in white
Square = Sequence[Sequence[float | None]]


def heat_maps(
    squares: Mapping[str, Square], rows: Sequence[str], columns: Sequence[str], said: str,
    limits: tuple[float, float],
) -> str:  # fmt: skip
    """Tables of numbers side by side, scorers down and what is `said` across."""
    size = (0.6 + 0.46 * len(columns)) * len(squares) + 3.2, 2.4 + 0.3 * len(rows)
    return svg(*size, partial(_heat_maps, squares, rows, columns, said, limits))


def _heat_maps(
    squares: Mapping[str, Square], rows: Sequence[str], columns: Sequence[str], said: str,
    limits: tuple[float, float], figure: Figure,
) -> None:  # fmt: skip
    every = figure.subplots(1, len(squares), sharey=True, squeeze=False)[0]
    colours = "RdBu_r" if limits[0] < 0 else "viridis_r"
    for axes, (title, square) in zip(every, squares.items(), strict=True):
        values = [[nan if value is None else value for value in line] for line in square]
        image = axes.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
        axes.set_title(title)
        axes.set_xlabel(said)
        axes.set_xticks(range(len(columns)), _shown(columns), rotation=90)
        axes.set_yticks(range(len(rows)), _shown(rows))
        _write_numbers(axes, square, limits)
    every[0].set_ylabel("scorer")
    figure.colorbar(image, ax=every.tolist(), shrink=0.8)


def _write_numbers(axes: Axes, square: Square, limits: tuple[float, float]) -> None:
    low, high = limits
    for down, line in enumerate(square):
        for across, value in enumerate(line):
            if value is not None:
                along = abs(value) / high if low < 0 else (value - low) / (high - low)
                colour = "white" if along > _DARK else "black"
                axes.text(across, down, number(value), ha="center", va="center",
                          color=colour, fontsize=7)  # fmt: skip


def _shown(names: Sequence[str]) -> list[str]:
    return [shown(name, LONGEST_NAME) for name in names]
