"""What a judge of entities found in a run, shard by shard and then in the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from evaljudge.judges.collector import CollectorOptions, Found, JudgeFindings, SeenShard
from evaljudge.judges.entities.evidence import JudgedText, read_judged
from evaljudge.judges.entities.label_files import LABELS
from evaljudge.judges.entities.labels import Answered, LabelMatching, Labels, answered, read_labels
from evaljudge.judges.entities.section import entities, entity_agreement
from evaljudge.judges.entities.sums import EntitySums, entity_row, shard_sums
from evaljudge.judges.entities.view import ShownText, shown_text
from evaljudge.records import Verdict
from evaljudge.sections import View

TEMPLATE = Path(__file__).with_name("view.html.j2")


class EntityFindings:
    """Counts of the verdicts; the first candidates' entities, for the page; and single verdicts
    where people labelled the entity."""

    def __init__(self, judge: str, wanted: CollectorOptions, labels: Labels | None) -> None:
        self._judge, self._wanted, self._labels = judge, wanted, labels
        self._sums, self._shown, self._answered = EntitySums(), list[ShownText](), list[Answered]()

    def see(self, shard: SeenShard) -> None:
        self._sums += shard_sums(shard.verdicts)
        wanted = shard.verdicts if self._labels else shard.verdicts[: shard.shown]
        for number, text in enumerate(judged_texts(wanted, shard.texts)):
            if number < shard.shown:
                self._shown.append(shown_text(text))
            if self._labels:
                self._answered += answered(text, self._labels)

    def __getstate__(self) -> dict[str, Any]:
        """Without the labels: the total, which a worker's share is added to, has them."""
        return self.__dict__ | {"_labels": None}

    def __iadd__(self, other: EntityFindings) -> Self:
        self._sums += other._sums
        self._shown += other._shown
        self._answered += other._answered
        return self

    def findings(self, found: Found) -> JudgeFindings:
        row = entity_row(self._judge, self._sums)
        agreement = []
        if self._labels:
            matching = LabelMatching(self._judge, self._labels)
            for one in self._answered:
                matching.see(one)
            agreement = matching.rows(self._wanted.resamples, self._wanted.seed)
        title = f"Texts and their entities: {self._judge}"
        views = [View(title, TEMPLATE, self._shown, row.candidates)] if self._shown else []
        sections = [entities(row, with_texts=bool(views)), entity_agreement(agreement)]
        return JudgeFindings(
            sections, {"entities": [row], "entity_agreement": agreement}, views=views
        )


def labels_of(wanted: CollectorOptions) -> Labels | None:
    file = wanted.keys.get(LABELS)
    return read_labels(file) if file else None


def judged_texts(
    verdicts: Iterable[Verdict], texts: Mapping[tuple[str, str], str]
) -> Iterator[JudgedText]:
    for one in verdicts:
        at = (one.doc_id, one.system)
        yield JudgedText(*at, texts[at], read_judged(one))
