"""How differently two scorers rank: (1 - r) / 2 (Gigant et al. 2024, figure 3).

python -m jobs.papers.complementarity --cases summeval.jsonl --metrics importance,rouge1,chrf

0 is the same order, 1 the reverse. `--level document` ranks documents by their means over systems,
as the authors' code does.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaljudge.errors import UserError
from jobs.papers.scored import arguments, correlation, read, scored, show


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(__doc__, given)
    scores = scored(read(asked), asked)
    if len(scores) < 2:
        raise UserError("complementarity is of two scorers or more: name more --metrics")
    if asked.level == "document":
        scores, asked.level = {name: found.T for name, found in scores.items()}, "system"
    cells = [
        [f"{place} {name}", *(
            0.0 if other is own else
            (1.0 - correlation(own, other, asked.level, asked.coefficient)) / 2.0
            for other in scores.values()
        )]
        for place, (name, own) in enumerate(scores.items(), 1)
    ]  # fmt: skip
    show(["scorer", *(str(place) for place in range(1, len(scores) + 1))], cells)


if __name__ == "__main__":
    main()
