"""How often a cascade keeps its promise: where only the first judge answered, it agrees with the
second one on the stated share of the texts.

    {"promise": "agreement where a cascade asks once", "world": "…", "nominal": 0.9, "kept": 975,
     "worlds": 1000, "certified": 941, "coverage": 0.62, "plug_in_kept": 498}

A world is a run's texts, six of each document: both judges have a score, with an effect of the
document in each, and agree where both are on the same side of the threshold. Doubt is how near the
first judge's score is to the threshold, with noise. The truth is counted on all texts of the run.
The plug-in rule takes the largest doubt up to which the drawn texts agree often enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from promises import Row, row

from evaljudge.agreement.calibration import lowest_threshold
from evaljudge.agreement.pairs import Floats
from evaljudge.decisions.certified import kept

CONFIDENCE = 0.9


@dataclass(frozen=True)
class World:
    name: str
    documents: int = 500
    drawn: int = 500
    texts: int = 6
    alike: float = 0.9
    """The correlation of the judges' scores."""
    within: float = 0.5
    """The correlation of two texts of a document, in both judges' scores."""
    noise: float = 0.3
    """Of the doubt; infinite: it says nothing."""
    wrong: float = 0.0
    """The share of documents about whose texts the first judge is certain, and wrong."""
    agreement: float = 0.95

    def made(self, stream: np.random.Generator) -> tuple[Floats, Floats]:
        """Doubts, and whether the judges agree, of all texts."""
        shape = self.documents, self.texts

        def clustered() -> Floats:
            shared, alone = stream.normal(size=(self.documents, 1)), stream.normal(size=shape)
            both: Floats = np.sqrt(self.within) * shared + np.sqrt(1 - self.within) * alone
            return both

        second = clustered()
        first = self.alike * second + np.sqrt(1 - self.alike**2) * clustered()
        doubts = stream.random(shape)
        if np.isfinite(self.noise):
            doubts = np.exp(-np.abs(first + self.noise * stream.normal(size=shape)))
        agrees = ((first > 0) == (second > 0)).astype(float)
        odd = stream.random(self.documents) < self.wrong
        agrees[odd], doubts[odd] = 0.0, doubts[odd] / 100
        return doubts.ravel(), agrees.ravel()


WORLDS = (
    World("3,000 texts, 500 of them drawn"),
    World("60 drawn", drawn=60),
    World("200 drawn", drawn=200),
    World("strong document effects", within=0.9),
    World("judges that seldom differ", alike=0.99),
    World("judges that often differ, agreement of 0.8", alike=0.6, agreement=0.8),
    World("a doubt that says nothing, just under the target", noise=np.inf, alike=0.985),
    World("the same with strong document effects", noise=np.inf, alike=0.985, within=0.9),
    World("5% of the documents certain and wrong", wrong=0.05),
    World("600 texts, 500 of them drawn", documents=100),
)


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for number, world in enumerate(WORLDS):
        held, plug_in, coverages = list[bool](), list[bool](), list[float]()
        for turn in range(worlds):
            stream = np.random.default_rng((seed, number, turn))
            doubts, agrees = world.made(stream)
            drawn = stream.choice(doubts.size, world.drawn, replace=False)
            seen = np.full(doubts.size, np.nan)
            seen[drawn] = agrees[drawn]
            found = kept(doubts, seen, agreement=world.agreement, confidence=CONFIDENCE)
            bound = found and found.threshold
            other = lowest_threshold(-doubts[drawn], agrees[drawn] > 0, world.agreement)
            for least, outcomes in ((bound, held), (other, plug_in)):
                chosen = agrees[-doubts >= least] if least is not None else agrees[:0]
                outcomes.append(not chosen.size or bool(chosen.mean() >= world.agreement))
            coverages.append(0.0 if bound is None else float(np.mean(-doubts >= bound)))
        yield row(
            "agreement where a cascade asks once",
            world.name,
            sum(held),
            worlds,
            CONFIDENCE,
            "at least",
            certified=sum(share > 0 for share in coverages),
            coverage=round(float(np.mean(coverages)), 3),
            plug_in_kept=sum(plug_in),
        )
