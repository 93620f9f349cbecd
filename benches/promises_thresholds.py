"""How often certified thresholds keep their promise, the plug-in rule's failures beside them.

    {"promise": "precision of a certified threshold", "world": "20 documents, 6 candidates each",
     "nominal": 0.95, "kept": 1000, "worlds": 1000, "certified": 402, "coverage": 0.31,
     "plug_in_kept": 548, "plug_in_selected": 1000, "plug_in_coverage": 0.74}

The candidates of a document share an effect of it in their quality, and another in their scores.
A promise is kept where nothing is selected or the selected share of good candidates in the
population is at least the target. The plug-in rule takes the lowest threshold that has the target
precision among the rated candidates.

Where a world has a sheet, candidates are rated that a method of `evaljudge label` drew. Sheets with
unequal probabilities are refused; their rows (`bound` is `none`) show why. Several thresholds at
once keep their promise only if each of them does; `certified` counts them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from promises import Row, row
from scipy.stats import norm

from evaljudge.agreement.calibration import lowest_threshold
from evaljudge.agreement.pairs import Floats
from evaljudge.analysis.labelling import bands, doubtful, draw, inclusion
from evaljudge.decisions.certified import certified

CONFIDENCE = 0.95
POPULATION = 20_000
"""Documents that a world's true precision is counted on."""


@dataclass(frozen=True)
class World:
    name: str
    documents: int
    candidates: int = 6
    target: float = 0.7
    base: float = 0.5
    """The share of good candidates."""
    judge: float = 0.6
    """The correlation of scores with quality."""
    within: float = 0.4
    """The correlation of two candidates of a document, in quality and in the scores' errors."""
    step: float = 0.0
    """What scores are rounded to."""
    rated: float = 1.0
    """The share of candidates that people rated."""
    rare: float = 0.0
    """The share of documents whose candidates all have the highest score, and are all bad."""
    sheet: str = ""
    """The method of `evaljudge label` by which the rated candidates are drawn."""
    together: int = 1
    """Thresholds on as many axes, each with a judge and ratings of its own."""
    confidence: float = CONFIDENCE
    """The confidence that each threshold needs."""
    promised: bool = True

    def drawn(self, documents: int, seed: int | tuple[int, ...]) -> tuple[Floats, Floats]:
        """Scores and quality: good above 0."""
        stream, shape = np.random.default_rng(seed), (documents, self.candidates)

        def clustered() -> Floats:
            shared, alone = stream.normal(size=(documents, 1)), stream.normal(size=shape)
            both: Floats = np.sqrt(self.within) * shared + np.sqrt(1 - self.within) * alone
            return both

        quality = clustered()
        scores = self.judge * quality + np.sqrt(1 - self.judge**2) * clustered()
        if self.step:
            scores = np.round(scores / self.step) * self.step
        quality += norm.ppf(self.base)
        odd = stream.random(documents) < self.rare
        scores[odd], quality[odd] = 9.0, -9.0
        return scores, quality

    def rated_of(self, scores: Floats, quality: Floats, stream: np.random.Generator) -> Floats:
        """The quality of the candidates that people rate."""
        if not self.sheet:
            return np.where(stream.random(scores.shape) < self.rated, quality, np.nan)
        documents, systems = (at.ravel() for at in np.indices(scores.shape))
        strata = bands(systems, scores.ravel()) if self.sheet == "stratified" else None
        # a judge is more in doubt of better texts
        sizes = (
            doubtful(norm.cdf(quality.ravel())) if self.sheet == "doubt" else np.ones(scores.size)
        )
        probabilities = inclusion(sizes, round(self.rated * scores.size))
        drawn = draw(probabilities, documents, stream, strata)
        ratings = np.full(scores.size, np.nan)
        ratings[drawn] = quality.ravel()[drawn]
        return ratings.reshape(scores.shape)


UNDER = World("200 documents, 1 candidate each, a useless judge just under the target", 200, 1,
              judge=0.0, base=0.695)  # fmt: skip
SHEET = replace(UNDER, documents=600, rated=1 / 3)
WORLDS = (
    World("100 documents, 6 candidates each", 100),
    World("300 documents, 1 candidate each", 300, candidates=1),
    World("300 documents, 16 candidates each, target 0.9", 300, 16, 0.9, base=0.8, judge=0.8),
    World("20 documents, 6 candidates each", 20, base=0.7),
    World("10 documents, 6 candidates each", 10, base=0.7),
    World("10 documents, 6 candidates each, target 0.5", 10, base=0.6, judge=0.8, target=0.5),
    World("60 documents, strong document effects", 60, within=0.8, base=0.6),
    World("60 documents, scores of 5 levels", 60, step=1.0),
    World("60 documents, scores of 2 levels", 60, step=3.0, base=0.65),
    World("60 documents, a third of the candidates rated", 60, rated=0.33, base=0.65),
    World("60 documents, a useless judge just under the target", 60, judge=0.0, base=0.695),
    UNDER,
    World("20 documents, a useless judge just under the target", 20, judge=0.0, base=0.695),
    World("60 documents, an inverted judge", 60, judge=-0.6, base=0.695),
    World("40 documents, 5% of them all selected and all bad", 40, 6, 0.9, base=0.93, rare=0.05),
    *(replace(SHEET, name=f"200 of 600 texts, drawn by {sheet}", sheet=sheet,
              promised=sheet != "doubt")
      for sheet in ("random", "stratified", "doubt")),
    replace(UNDER, name="ten useless judges just under the target", together=10, promised=False),
    replace(UNDER, name="the same, each asked with a confidence of 0.995", together=10,
            confidence=0.995),
)  # fmt: skip


def rows(worlds: int, seed: int = 0) -> Iterator[Row]:
    for number, world in enumerate(WORLDS):
        true = _true_precision(world, seed)
        kept, plug_in_kept = list[bool](), list[bool]()
        coverages, plug_in_coverages = [], []
        for turn in range(worlds * world.together):
            scores, quality = world.drawn(world.documents, (seed, number, turn))
            ratings = world.rated_of(
                scores, quality, np.random.default_rng((seed, number, turn, 1))
            )
            documents = np.repeat(np.arange(world.documents), world.candidates)
            columns = documents, scores.ravel(), ratings.ravel()
            rule = certified(
                *columns, good=0, target=world.target, confidence=world.confidence, seed=turn
            )
            threshold = None if rule is None else rule.threshold
            pairs = np.isfinite(columns[2])
            plug_in = lowest_threshold(columns[1][pairs], columns[2][pairs] >= 0, world.target)
            for value, outcomes, shares in (
                (threshold, kept, coverages),
                (plug_in, plug_in_kept, plug_in_coverages),
            ):
                outcomes.append(value is None or true(value) >= world.target)
                shares.append(0.0 if value is None else float(np.mean(scores >= value)))

        def together(kept: list[bool], each: int = world.together) -> int:
            return int(np.reshape(kept, (-1, each)).all(axis=1).sum())

        yield row(
            "precision of a certified threshold",
            world.name,
            together(kept),
            worlds,
            CONFIDENCE,
            "at least" if world.promised else "none",
            certified=sum(share > 0 for share in coverages),
            coverage=round(float(np.mean(coverages)), 3),
            plug_in_kept=together(plug_in_kept),
            plug_in_selected=sum(share > 0 for share in plug_in_coverages),
            plug_in_coverage=round(float(np.mean(plug_in_coverages)), 3),
        )


class _true_precision:
    """The precision of a threshold in a large sample of a world."""

    def __init__(self, world: World, seed: int) -> None:
        scores, quality = (part.ravel() for part in world.drawn(POPULATION, (seed, 10**6)))
        order = np.argsort(scores)
        self.scores = scores[order]
        self.good = np.append((quality[order] >= 0)[::-1].cumsum()[::-1], 0)

    def __call__(self, threshold: float) -> float:
        below = int(np.searchsorted(self.scores, threshold))
        return float(self.good[below] / max(1, self.scores.size - below))
