"""Texts of other documents that people rated, shown to a judge before each question.

    judges: {geval: {examples: {n: 4}}}
    chosen["fluency"][1]    [("The river rose …", "A flood came.", 4.5), …]     n of them

Documents are in two folds by a digest of the source, so those with the same source are in one.
A fold is shown texts of the other fold alone: no document is asked about with its own ratings.
Of an axis' rated texts, those are chosen whose ratings lie nearest to n even steps from the lowest
to the highest. They stand first, alike for a whole fold, so that an engine reads them once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import product
from math import isfinite
from typing import Annotated

from pydantic import Field

from evaljudge.errors import UserError
from evaljudge.model.asks import Prompt
from evaljudge.prompts.pack import Pack, fenced
from evaljudge.records import Axis, Case, Document
from evaljudge.settings import Settings

FOLDS = 2
SHOW = "examples.show"
SLOTS = "example_sources", "example_targets", "example_ratings"
Example = tuple[str, str, float]  # a document's source, the text, and its mean rating


class Examples(Settings):
    n: Annotated[int, Field(ge=1, le=32)] = 4
    chosen: Mapping[str, Sequence[Sequence[Example]]] = {}
    """By axis, for the documents of each fold; a run fills it in once, when it is begun."""

    def before(self, prompt: Prompt, document: Document, axis: Axis, pack: Pack) -> Prompt:
        shown = self.chosen[axis.name][fold_of(document)]
        markers = pack.markers_of(prompt.template)
        columns = zip(*((s, t, f"{rating:.4g}") for s, t, rating in shown), strict=True)
        texts = {slot: [fenced(one, markers) for one in column]
                 for slot, column in zip(SLOTS, columns, strict=True)}  # fmt: skip
        first = pack.render(SHOW, texts, **axis.words)
        return replace(prompt, parts=(*first.parts, "\n\n", *prompt.parts), head=first.head)


def fold_of(document: Document) -> int:
    return sha256(document.source.encode(errors="surrogatepass")).digest()[0] % FOLDS


def choose(cases: Iterable[Case], n: int, axes: Sequence[str], where: str) -> Examples:
    """Refuses axes on which fewer than n texts of the other fold are rated."""
    kept: dict[tuple[str, int], dict[float, list[tuple[str, str, Example]]]] = {}
    for case in cases:
        for candidate in case.candidates if case.document.source.strip() else ():
            order = sha256(repr((case.document.source, candidate.text)).encode()).hexdigest()
            for axis in axes if candidate.text.strip() else ():
                rating = candidate.ratings.get(axis)
                if rating is not None and isfinite(rating):
                    example = case.document.source, candidate.text, rating
                    of_fold = kept.setdefault((axis, fold_of(case.document)), {})
                    alike = of_fold.setdefault(rating, [])
                    one = order, case.document.doc_id, example
                    alike[:] = sorted({*alike, one})[:n]  # no more of these can be chosen
    chosen: dict[str, list[list[Example]]] = {axis: [] for axis in axes}
    for axis, fold in product(axes, range(FOLDS)):
        rated = [one for other in _shown_to(fold) for alike in kept.get((axis, other), {}).values()
                 for one in alike]  # fmt: skip
        if len(rated) < n:
            raise UserError(f"{where}: n is {n}, but for half of the documents, others have only "
                            f"{len(rated)} texts that are rated on {axis}")  # fmt: skip
        chosen[axis].append(_spread(rated, n))
    return Examples(n=n, chosen=chosen)


def _shown_to(fold: int) -> list[int]:
    return [other for other in range(FOLDS) if other != fold]


def _spread(rated: list[tuple[str, str, Example]], n: int) -> list[Example]:
    ratings = [rating for _, _, (*_, rating) in rated]
    low, width = min(ratings), max(ratings) - min(ratings)
    chosen: list[tuple[str, str, Example]] = []
    for number in range(n):
        step = low + width * (number / (n - 1) if n > 1 else 0.5)
        taken = {doc_id for _, doc_id, _ in chosen}
        near = min((one for one in rated if one not in chosen),
                   key=lambda one: (abs(one[2][2] - step), one[1] in taken, one[0]))  # fmt: skip
        chosen.append(near)
    return [example for *_, example in sorted(chosen)]
