"""How often the interval of a single text holds its rating.

    {"promise": "interval of a single text", "world": "60 documents, ratings 1 to 5",
     "nominal": 0.95, "kept": 958, "worlds": 1000, "width": 2.61, "cross_validated": 0.957}

Each world is a sample of rated documents and one new document, of which one random text has its
rating in its interval or not. `cross_validated` is the mean coverage that the method reports.
Nothing is promised of the texts with the lowest scores alone: those rows show how far it holds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from promises import Row, row
from scipy.stats import norm

from evaljudge.agreement.pairs import Floats
from evaljudge.decisions.conformal import CONFIDENCE, conformal


@dataclass(frozen=True)
class World:
    name: str
    documents: int
    candidates: int = 6
    step: float = 1.0
    """What ratings are rounded to; 0: not rounded."""
    judge: float = 0.6
    """The correlation of scores with quality."""
    within: float = 0.5
    """The correlation of two candidates of a document, in quality and in the scores' errors."""
    rated: float = 1.0
    """The share of candidates that people rated."""
    odd: float = 0.0
    """How far the ratings of the last system are above what its scores say."""
    uneven: float = 1.0
    """How many times as far from their mean the ratings of the lowest fifth of the scores are."""
    ends: float = 2.0
    """How far ratings can be from 3."""
    is_lowest: bool = False
    """Whether the new text is one of this fifth."""

    def drawn(self, seed: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Scores and ratings, mostly from 1 to 5; the last document is the new one."""
        stream, shape = np.random.default_rng(seed), (self.documents + 1, self.candidates)

        def clustered() -> Floats:
            shared, alone = stream.normal(size=(shape[0], 1)), stream.normal(size=shape)
            both: Floats = np.sqrt(self.within) * shared + np.sqrt(1 - self.within) * alone
            return both

        scores = clustered()
        spread = np.where(scores < LOWEST, self.uneven, 1.0) * np.sqrt(1 - self.judge**2)
        quality = self.judge * scores + spread * clustered()
        quality[:, -1] += self.odd
        ratings = np.clip(3 + quality, 3 - self.ends, 3 + self.ends)
        return scores, np.round(ratings / self.step) * self.step if self.step else ratings


LOWEST = norm.ppf(0.2)
UNEVEN = (
    World("60 documents, low scores say less", 60, uneven=2.0),
    World("60 documents, low scores say less, ratings not rounded", 60, step=0.0, uneven=2.0),
    World("60 documents, low scores say less, ratings without ends", 60, step=0.0, uneven=2.0,
          ends=np.inf),
    World("200 documents, one candidate each, low scores say less", 200, 1, uneven=2.0),
)  # fmt: skip
WORLDS = (
    World("60 documents, ratings 1 to 5", 60),
    World("60 documents, ratings not rounded", 60, step=0.0),
    World("60 documents, strong document effects", 60, within=0.9),
    World("20 documents, ratings not rounded", 20, step=0.0),
    World("10 documents", 10),
    World("200 documents, one candidate each, ratings not rounded", 200, candidates=1, step=0.0),
    World("100 documents, a third of the candidates rated", 100, rated=0.33),
    World("100 documents, a useless judge", 100, judge=0.0, step=0.0),
    World("100 documents, the system that is 1.5 better than its scores", 100, step=0.0, odd=1.5),
    *UNEVEN,
    *(replace(one, name=f"{one.name}: the lowest fifth", is_lowest=True) for one in UNEVEN),
)


ENOUGH = 60
"""The fewest documents; with fewer, intervals are too wide by construction."""


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for number, world in enumerate(WORLDS):
        held, widths, reported = [], [], []
        names = [f"s{draw}" for draw in range(world.candidates)]
        documents = np.repeat(np.arange(world.documents + 1), world.candidates)
        systems = np.array(names * (world.documents + 1), dtype=object)
        for draw in range(worlds):
            scores, ratings = world.drawn((seed, number, draw))
            stream = np.random.default_rng((seed, number, draw, 1))
            rated = np.where(stream.random(ratings.shape) < world.rated, ratings, np.nan)
            rated[-1] = np.nan
            among = np.flatnonzero((scores[-1] < LOWEST) | (not world.is_lowest))
            if not among.size:
                continue
            chosen = int(stream.choice(among)) if not world.odd else -1
            made = conformal(documents, systems, scores.ravel(), rated.ravel(), seed=draw)
            if made is None:
                continue
            low, high = made.intervals([world.documents], [names[chosen]], scores[-1, [chosen]])
            held.append(bool(low[0] <= ratings[-1, chosen] <= high[0]))
            widths.append(float(high[0] - low[0]))
            reported.append(made.covered[0].coverage)
        claimed = "about" if world.documents >= ENOUGH else "at least"
        yield row(
            "interval of a single text",
            world.name,
            sum(held),
            len(held),
            CONFIDENCE,
            "none" if world.is_lowest else claimed,
            width=round(float(np.mean(widths)), 3),
            cross_validated=round(float(np.mean(reported)), 3),
        )
