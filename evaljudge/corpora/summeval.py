"""SummEval's human annotations (Fabbri et al. 2021): model_annotations.aligned.jsonl, or .paired.

{"id": "dm-test-1a2b", "model_id": "M0", "decoded": "a flood came .", "references": ["…", …],
 "expert_annotations": [{"coherence": 4, "consistency": 5, "fluency": 5, "relevance": 3}, …],
 "turker_annotations": [{"coherence": 3, …}, …],
 "filepath": "cnndm/dailymail/stories/1a2b.story", "text": "The river …"}

Only the paired file has `text`, the article. For the other, `sources` names the folder in which
`filepath` leads to the story files; without it each source stays empty. SumAutoEval does not say
how it measured on which summary experts differ least; here it is by the sum of the axes' variances.
Of equal summaries the earlier line is kept.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from statistics import fmean, pvariance
from typing import Any

from evaljudge.corpora.files import Readers
from evaljudge.corpora.published import Fields, rating, read_turned
from evaljudge.corpora.readers import read_jsonl
from evaljudge.corpora.rows import NOT_UTF8, BadRow, Format, KnownFormat, RefusedError, Row, Rows
from evaljudge.errors import UserError
from evaljudge.storage import open_to_read

AXES = ("coherence", "consistency", "fluency", "relevance")
EXPERTS, TURKERS = "expert_annotations", "turker_annotations"
NUMBER_OF_EXPERTS = 3
AVERAGE = "average"
AT_EACH_END = 2
Keep = Callable[[Sequence[Row]], Iterable[Row]]
"""Picks those of one document's summaries that are read."""
LINES: Readers = dict.fromkeys((".jsonl", ".jsonl.gz"), read_jsonl)


def read_summeval(
    paths: tuple[str, ...],
    sources: str | None = None,
    raters: str = EXPERTS,
    rater: int | None = None,
) -> Rows:
    """`rater`: only the ratings of this one, counted from 1."""
    story = cache(partial(_story, sources)) if sources else None
    return read_turned(partial(_summary, raters, rater, story), LINES, paths)


def read_kept(keep: Keep, paths: tuple[str, ...], sources: str | None = None) -> Rows:
    """Some of each document's summaries. All are held in memory, since they may be anywhere."""
    documents: dict[str, list[Row]] = {}
    for row in read_summeval(paths, sources):
        if isinstance(row, BadRow):
            yield row
        elif all(_present(ratings) for ratings in row.fields["ratings"].values()):
            documents.setdefault(str(row.fields["doc_id"]), []).append(row)
    for rows in documents.values():
        yield from keep(rows)


def extremes(rows: Sequence[Row]) -> Iterable[Row]:
    averaged = [(_average(row), row) for row in rows]
    ranked = sorted(range(len(rows)), key=lambda place: averaged[place][0])
    highest = sorted(range(len(rows)), key=lambda place: -averaged[place][0])
    for place in sorted({*ranked[:AT_EACH_END], *highest[:AT_EACH_END]}):
        average, row = averaged[place]
        yield row._replace(
            fields={**row.fields, "ratings": {**row.fields["ratings"], AVERAGE: average}}
        )


def consistent(rows: Sequence[Row]) -> Iterable[Row]:
    return [min(rows, key=_disagreement)]


def _average(row: Row) -> float:
    return fmean(fmean(_present(ratings)) for ratings in row.fields["ratings"].values())


def _disagreement(row: Row) -> float:
    return sum(pvariance(_present(ratings)) for ratings in row.fields["ratings"].values())


def _present(ratings: Sequence[float | None]) -> list[float]:
    return [rating for rating in ratings if rating is not None]


def _summary(
    raters: str, rater: int | None, story: Callable[[str], str] | None, fields: Fields
) -> dict[str, Any]:
    source = fields.get("text")
    if source is None and story:
        source = story(fields["filepath"])
    annotations = fields[raters] if rater is None else fields[raters][rater - 1 : rater]
    if rater is not None and not annotations:
        raise RefusedError(f"no rater {rater} in `{raters}`")
    return {
        "doc_id": fields["id"],
        "source": source,
        "references": fields["references"],
        "system": fields["model_id"],
        "text": fields["decoded"],
        "ratings": {axis: [rating(by[axis]) for by in annotations] for axis in AXES},
    }


def _story(folder: str, filepath: str) -> str:
    """The article in a story file: its lines joined, without the highlights."""
    file = f"{folder.rstrip('/')}/{filepath}"
    with open_to_read(file) as stream:
        try:
            article, _, _ = stream.read().decode().partition("@highlight")
        except UnicodeDecodeError:
            raise UserError(f"{file}: {NOT_UTF8}") from None
    return " ".join(line.strip() for line in article.split("\n") if line.strip())


NEEDS = "SummEval's model_annotations.aligned file, and `sources` if it is not the paired one"
_FORMATS: dict[str, tuple[Format, str]] = {
    "summeval": (read_summeval, "rated by three experts"),
    "summeval-turkers": (partial(read_summeval, raters=TURKERS), "rated by five crowd workers"),
    "summeval-extremes": (
        partial(read_kept, extremes),
        "the two best and the two worst of each document",
    ),
    "summeval-consistent": (
        partial(read_kept, consistent),
        "the one of each document on which the experts differ least",
    ),
    **{
        f"summeval-expert-{n}": (partial(read_summeval, rater=n), f"rated by expert {n} alone")
        for n in range(1, NUMBER_OF_EXPERTS + 1)
    },
}
FORMATS = {
    name: KnownFormat(read, f"Summaries of news, {about} (SummEval).", NEEDS, takes_sources=True)
    for name, (read, about) in _FORMATS.items()
}
