"""`evaljudge label`: a sheet of a run's texts for people to rate, and a key of what they are.

    label_texts(LabelOptions("runs/first", "sheet.csv", n=200, by="stratified"))

Raters see neither systems nor scores. The key, OUT/labels/sheet.json, has the document and the
system of each label, and how probable it was that each text of the run was drawn.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from shlex import quote
from typing import Any, cast

import numpy as np

from evaljudge.agreement.rated import Floats, Key, is_repetition
from evaljudge.analysis.labelling import (
    METHODS,
    Method,
    Population,
    read_population,
    sized,
)
from evaljudge.analysis.ratings import beginning
from evaljudge.commands.given import refuse_unknown
from evaljudge.commands.options import LabelOptions
from evaljudge.corpora.sheets import JSONL, LABEL, RATER, ending_of, sheet
from evaljudge.decisions.sampling import Codes, draw, inclusion
from evaljudge.errors import UserError, unknown
from evaljudge.records import ANY_AXIS, Candidate, Document
from evaljudge.settings import as_path
from evaljudge.storage import Output, Shard, claimed, to_write
from evaljudge.text import listed

LETTERS = "bcdfghjkmnpqrstvwxz"
"""Of labels. Without vowels they are no words, and no spreadsheet takes them for numbers."""
LONG = 10
UNEVEN = (
    "some texts were more probable to be drawn than others, so thresholds with `confidence` cannot "
    "be certified by this sheet: for that, use --by random"
)
THERE = "is there already, and may hold ratings: take another name"
GONE = {"neyman": "stratified", "near-threshold": "random"}
"""Methods of earlier versions, and what is used in place of each."""
Text = tuple[Document, Candidate]
Texts = Mapping[str, Text]
"""By label."""


@dataclass(frozen=True, repr=False)
class WrittenSheet:
    run: str
    to: str
    by: str
    key: str
    axes: Sequence[str]
    drawn: int
    documents: int
    texts: int
    scorer: str
    is_even: bool
    """Whether all texts were equally probable to be drawn."""

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    @property
    def text(self) -> str:
        by = f"{self.by}, by {self.scorer}" if self.scorer else self.by
        return (
            f"sheet      {self.to}: {self.drawn:,} of {self.texts:,} texts, of "
            f"{self.documents:,} documents ({by}); to be rated: {', '.join(self.axes)}\n"
            f"key        {self.key}: who wrote what; keep it from raters\n"
            f"next       1. {self._how_to_rate}; a part is enough\n"
            f"           2. evaljudge report CONFIG --set 'ratings=[{self.to}]'\n"
            + ("" if self.is_even else f"note       {UNEVEN}\n")
        )

    @property
    def _how_to_rate(self) -> str:
        if ending_of(self.to) == JSONL:
            run, to = quote(self.run), quote(self.to)
            return f"people rate on a page: evaljudge view {run} --label {to} --rater NAME"
        return "people fill in the columns of axes and `rater`, in one file or in copies"


def label_texts(wanted: LabelOptions) -> WrittenSheet:
    out, to = as_path(wanted.run, "run"), as_path(wanted.to, "to")
    ending, (place, name) = _checked(wanted, to), to_write(to)
    if place.kind(name) != "NotFound":
        raise UserError(f"{to}: {THERE}")
    output, run = _opened(out)
    with claimed(out):
        key = _new_key(output, name.removesuffix(ending))
        axes = _axes(wanted, run)
        sizes = _sizes(wanted, output, run, axes)
        texts, content = _drawn(wanted, output, sizes, axes, _rng(wanted.seed, key))
        output.create_label_key(key, content)
        try:
            if not place.create(name, sheet(_columns(texts, axes), _rows(texts), ending)):
                raise UserError(f"{to}: {THERE}")
        except BaseException:
            output.forget_label_key(key)  # so that the same command can be given again
            raise
    return WrittenSheet(
        out,
        to,
        wanted.by,
        output.place.at(f"labels/{key}.json"),
        axes,
        len(texts),
        len({document.doc_id for document, _ in texts.values()}),
        len(sizes.population.at),
        sizes.scorer,
        bool(np.ptp(sizes.probabilities) == 0),
    )


# what is asked for


def _checked(wanted: LabelOptions, to: str) -> str:
    """The ending of the sheet."""
    if wanted.by in GONE:
        raise UserError(f"--by {wanted.by}: is no longer offered: use --by {GONE[wanted.by]}")
    if wanted.by not in METHODS:
        raise UserError(f"--by: {unknown('method', wanted.by, METHODS)}")
    if wanted.n < 1:
        raise UserError(f"--n {wanted.n}: at least one text")
    if wanted.scorer is not None and wanted.by != "stratified":
        raise UserError("--scorer goes with --by stratified")
    return ending_of(to)


def _opened(out: str) -> tuple[Output, Mapping[str, Any]]:
    run = Output(out).known_run()
    return Output(out, run.get("briefs"), run["id"]), run


def _new_key(output: Output, name: str) -> str:
    """The key's name, from that of the sheet."""
    key = re.sub(r"[^A-Za-z0-9_.-]", "-", name).lstrip(".") or "sheet"
    if key in output.label_keys():
        raise UserError(
            f"{output.place.at(f'labels/{key}.json')}: a sheet of this name was drawn before: give "
            "this one another name"
        )
    return key


def _axes(wanted: LabelOptions, run: Mapping[str, Any]) -> list[str]:
    known, axes = list(run["fingerprint"]["task"]["axes"]), listed(wanted.axis)
    refuse_unknown("--axis", "axis", axes, known)
    return [axis for axis in known if axis in axes or not axes]


def _rng(seed: int, key: str) -> np.random.Generator:
    """Sheets of other names are drawn independently, so that several can be put together."""
    return np.random.default_rng([seed, int.from_bytes(blake2b(key.encode()).digest())])


# the sizes


@dataclass(frozen=True)
class _Sized:
    population: Population
    probabilities: Floats
    strata: Codes | None
    scorer: str


def _sizes(
    wanted: LabelOptions, output: Output, run: Mapping[str, Any], axes: Sequence[str]
) -> _Sized:
    by, shards = cast("Method", wanted.by), _scored_shards(output)
    known = _scales(output, shards)
    meeting = [key for key in known if key[1] in (*axes, ANY_AXIS) and not is_repetition(key[0])]
    scales, scorer = list[Key](), ""
    judges = list[str]()
    match by:
        case "stratified":
            scorer = _scorer(wanted, meeting)
            scales = [key for key in meeting if key[0] == scorer]
        case "doubt":
            judges, scales = list(run["fingerprint"]["judges"]), meeting
    population = read_population(output, shards, scales, judges, axes)
    if not population.at:
        raise UserError(f"{output.uri}: holds no text that people could rate")
    sizes, strata = sized(population, by)
    return _Sized(population, inclusion(sizes, wanted.n), strata, scorer)


def _scored_shards(output: Output) -> list[Shard]:
    """All of the run's: texts of others could not be drawn, and nothing would be known of them."""
    shards, there = output.shards(), set(output.place.names("scores"))
    if missing := sum(shard.file not in there for shard in shards):
        raise UserError(
            f"{output.uri}: {missing} of {len(shards)} shards have no scores: finish the run with "
            "`evaljudge run` first"
        )
    return shards


def _scales(output: Output, shards: Sequence[Shard]) -> list[Key]:
    """Every scorer of the run with its axes, the first judge's headline first."""
    for shard in shards:
        if found := dict.fromkeys((row.scorer, row.axis) for row in output.scores(shard)):
            return list(found)
    return []


def _scorer(wanted: LabelOptions, meeting: Sequence[Key]) -> str:
    known = list(dict.fromkeys(scorer for scorer, _ in meeting))
    if not known:
        raise UserError(f"--by {wanted.by}: the run has no scores on these axes: take --by random")
    if wanted.scorer is not None and wanted.scorer not in known:
        raise UserError(f"--scorer: {unknown('scorer', wanted.scorer, known)}")
    return wanted.scorer or known[0]


# what is drawn


def _drawn(
    wanted: LabelOptions, output: Output, sized: _Sized, axes: Sequence[str],
    rng: np.random.Generator,
) -> tuple[Texts, dict[str, Any]]:  # fmt: skip
    """The texts by label, in the order of the sheet, and the content of the key."""
    population, probabilities = sized.population, sized.probabilities
    drawn = draw(probabilities, population.documents, rng, sized.strata).tolist()
    texts = dict(zip(_labels(len(drawn)), _texts(output, population, drawn), strict=True))
    known = {
        label: {
            "doc_id": document.doc_id,
            "system": candidate.system,
            "begins": beginning(candidate.text),
        }
        for label, (document, candidate) in texts.items()
    }
    about = {"by": wanted.by, "scorer": sized.scorer, "seed": wanted.seed, "axes": list(axes)}
    by_document: dict[str, dict[str, float]] = {}
    for (doc_id, system), probability in zip(population.at, probabilities.tolist(), strict=True):
        by_document.setdefault(doc_id, {})[system] = probability
    return texts, {**about, "texts": known, "probabilities": by_document}


def _texts(output: Output, population: Population, drawn: Sequence[int]) -> list[Text]:
    wanted = {population.at[place] for place in drawn}
    shards = dict.fromkeys(population.shards[place] for place in sorted(drawn))
    found = {
        (case.document.doc_id, one.system): (case.document, one)
        for cases in output.ahead(output.cases, shards)
        for case in cases
        for one in case.candidates
        if (case.document.doc_id, one.system) in wanted
    }
    return [found[population.at[place]] for place in drawn]


def _labels(number: int) -> list[str]:
    """Drawn without the seed: nobody can tell from a label which text it is of."""
    found: dict[str, None] = {}
    while len(found) < number:
        found["".join(secrets.choice(LETTERS) for _ in range(LONG))] = None
    return list(found)


def _columns(texts: Texts, axes: Sequence[str]) -> list[str]:
    has_context = any(document.context for document, _ in texts.values())
    return [LABEL, "source", *(["context"] if has_context else []), "text", *axes, RATER]


def _rows(texts: Texts) -> Iterator[dict[str, str | None]]:
    for label, (document, candidate) in texts.items():
        shown = {"source": document.source, "context": document.context, "text": candidate.text}
        yield {LABEL: label, **shown}
