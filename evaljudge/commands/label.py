"""`evaljudge label`: a sheet of a run's texts for people to rate, and a key of what they are.

label_texts(LabelOptions("runs/first", "sheet.csv", n=200, by="stratified"))
"""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from shlex import quote
from typing import Any

import numpy as np

from evaljudge.agreement.documents import means
from evaljudge.agreement.rated import Key, codes, is_repetition
from evaljudge.analysis.labelling import draw, inclusion, sized
from evaljudge.analysis.ratings import beginning
from evaljudge.analysis.run_scores import RunScores
from evaljudge.commands.given import refuse_unknown
from evaljudge.commands.options import LabelOptions, Shown
from evaljudge.corpora import sheets
from evaljudge.corpora.rows import LABEL, NOTE, RATER
from evaljudge.corpora.sheets import JSON, JSONL, ending_of, sheet
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS, Candidate, Document
from evaljudge.settings import as_path, is_temporary
from evaljudge.storage import Output, claimed, to_write
from evaljudge.text import counted, listed

LETTERS = "bcdfghjkmnpqrstvwxz"
"""The letters of labels. Without vowels no label is a word, or a number in a spreadsheet."""
LONG = 10
PAGE = ".xml"
UNEVEN = (
    "some texts were more probable to be drawn than others, so thresholds with `confidence` cannot "
    "be certified by this sheet: for that, use --by random"
)
THERE = "is there already, and may hold ratings: take another name"
Texts = Mapping[str, tuple[Document, Candidate]]  # by label


@dataclass(frozen=True, repr=False)
class WrittenSheet(Shown):
    run: str
    to: str
    by: str
    key: str
    axes: Sequence[str]
    drawn: int
    documents: int
    texts: int
    scorer: str
    is_even: bool  # whether all texts were equally probable to be drawn

    @property
    def text(self) -> str:
        by = f"{self.by}, by {self.scorer}" if self.scorer else self.by
        documents = counted(self.documents, "document", "documents")
        return (
            f"sheet      {self.to}: {self.drawn:,} of {counted(self.texts, 'text', 'texts')}, of "
            f"{documents} ({by}); to be rated: {', '.join(self.axes)}\n"
            f"key        {self.key}: who wrote what; keep it from raters\n"
            f"next       1. {self._how_to_rate}; a part is enough\n"
            f"           2. evaljudge report {quote(self.run)} --set 'ratings=[{self.to}]'\n"
            f"              in Python: evaljudge.make_report({self.run!r}, ratings=[{self.to!r}])\n"
            + ("" if self.is_even else f"note       {UNEVEN}\n")
        )

    @property
    def _how_to_rate(self) -> str:
        if ending_of(self.to) == JSONL:
            run, to = quote(self.run), quote(self.to)
            return f"people rate on a page: evaljudge view {run} --label {to} --rater NAME"
        if ending_of(self.to) == JSON:
            page = self.to.removesuffix(JSON) + PAGE
            return f"import it into Label Studio, with {page} as labeling interface; export JSON"
        return "people fill in the columns of axes and `rater`, in one file or in copies"


def label_texts(wanted: LabelOptions) -> WrittenSheet:
    out, to = as_path(wanted.run, "run"), as_path(wanted.to, "to")
    if is_temporary(out):
        raise UserError(
            "run: this outcome's folder is temporary, and the key of who wrote what would go with "
            "it: give `out=` where the texts are scored"
        )
    ending, (place, name) = _checked(wanted, to), to_write(to)
    if place.kind(name) != "NotFound":
        raise UserError(f"{to}: {THERE}")
    run = Output(out).known_run()
    output = Output(out, None, run["id"])
    with claimed(out):
        key = _new_key(output, name.removesuffix(ending))
        axes = _axes(wanted, run)
        population = _Population(wanted, output, run, axes)
        # sheets of other names are drawn independently, so that several can be put together
        drawing = int.from_bytes(blake2b(key.encode()).digest())
        rng = np.random.default_rng([wanted.seed, drawing])
        texts = population.drawn(rng)
        output.create_label_key(key, population.key(wanted, texts, axes))
        try:
            if not place.create(name, sheet(_columns(texts, axes), _rows(texts), ending)):
                raise UserError(f"{to}: {THERE}")
            if ending == JSON:
                page = sheets.interface(_columns(texts, axes)[1:], axes)
                place.write(name.removesuffix(ending) + PAGE, page.encode())
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
        len(population.texts),
        population.scorer,
        bool(np.ptp(population.probabilities) == 0),
    )


def _checked(wanted: LabelOptions, to: str) -> str:
    """The ending of the sheet."""
    if wanted.scorer is not None and wanted.by != "stratified":
        raise UserError("--scorer goes with --by stratified")
    ending = ending_of(to)
    if (ending == JSON) != bool(wanted.form):
        raise UserError(f"{to}: --as label-studio goes with a file that ends in {JSON}")
    return ending


def _new_key(output: Output, name: str) -> str:
    key = re.sub(r"[^A-Za-z0-9_.-]", "-", name).lstrip(".") or "sheet"
    if key in output.label_keys():
        raise UserError(
            f"{output.place.at(f'labels/{key}.json')}: a sheet of this name was drawn before: give "
            "this one another name"
        )
    return key


def _axes(wanted: LabelOptions, run: Mapping[str, Any]) -> list[str]:
    all_axes, axes = list(run["fingerprint"]["task"]["axes"]), listed(wanted.axis)
    refuse_unknown("--axis", "axis", axes, all_axes)
    return [axis for axis in all_axes if axis in axes or not axes]


class _Population:
    """Every text that is not empty, and how probable it is to be drawn."""

    def __init__(
        self, wanted: LabelOptions, output: Output, run: Mapping[str, Any], axes: Sequence[str]
    ) -> None:
        self._output, shards = output, output.shards()
        if missing := len(shards) - len(output.scored(shards)):
            # texts of others could not be drawn, and nothing would be known of them
            raise UserError(
                f"{output.uri}: {missing} of {len(shards)} shards have no scores: finish the run "
                "with `evaljudge run` first"
            )
        read = RunScores(output, shards)
        rows = np.flatnonzero(~read.is_blank)
        if not rows.size:
            raise UserError(f"{output.uri}: holds no text that people could rate")
        self.texts = [read.texts[row] for row in rows]
        self._shards = [read.shard_of(row) for row in rows.tolist()]
        scales = [key for key in read.scales if key[1] in (*axes, ANY_AXIS)]
        scales = [key for key in scales if not is_repetition(key[0])]
        self.scorer = _scorer(wanted, scales) if wanted.by == "stratified" else ""
        doubts = np.array([read.doubts[key][rows] for key in scales]).reshape(-1, rows.size)
        sizes, self._strata = sized(
            wanted.by,
            codes(system for _, system in self.texts),
            {key: read.scores[key][rows] for key in scales if self.scorer in ("", key[0])},
            means(doubts.T),
        )
        self.probabilities = inclusion(sizes, wanted.n)

    def drawn(self, rng: np.random.Generator) -> Texts:
        """In the order of the sheet."""
        documents = codes(doc_id for doc_id, _ in self.texts)
        drawn = draw(self.probabilities, documents, rng, self._strata).tolist()
        chosen = [self.texts[place] for place in drawn]
        is_drawn = set(chosen).__contains__
        shards = dict.fromkeys(self._shards[place] for place in sorted(drawn))
        by_text = {
            (case.document.doc_id, candidate.system): (case.document, candidate)
            for cases in self._output.ahead(self._output.cases, shards)
            for case in cases
            for candidate in case.candidates
            if is_drawn((case.document.doc_id, candidate.system))
        }
        return dict(zip(_labels(len(drawn)), (by_text[text] for text in chosen), strict=True))

    def key(self, wanted: LabelOptions, texts: Texts, axes: Sequence[str]) -> dict[str, Any]:
        """What the labels stand for, and how probable each text of the run was to be drawn."""
        by_label = {
            label: {
                "doc_id": document.doc_id,
                "system": candidate.system,
                "begins": beginning(candidate.text),
            }
            for label, (document, candidate) in texts.items()
        }
        by_document: dict[str, dict[str, float]] = {}
        for (doc_id, system), p in zip(self.texts, self.probabilities.tolist(), strict=True):
            by_document.setdefault(doc_id, {})[system] = p
        about = {"by": wanted.by, "scorer": self.scorer, "seed": wanted.seed, "axes": list(axes)}
        return {**about, "texts": by_label, "probabilities": by_document}


def _scorer(wanted: LabelOptions, matched: Sequence[Key]) -> str:
    scorers = list(dict.fromkeys(scorer for scorer, _ in matched))
    if not scorers:
        raise UserError(f"--by {wanted.by}: the run has no scores on these axes: take --by random")
    refuse_unknown("--scorer", "scorer", [wanted.scorer], scorers)
    return wanted.scorer or scorers[0]


def _labels(number: int) -> list[str]:
    """Drawn without the seed: nobody can tell from a label which text it is of."""
    labels: dict[str, None] = {}
    while len(labels) < number:
        labels["".join(secrets.choice(LETTERS) for _ in range(LONG))] = None
    return list(labels)


def _columns(texts: Texts, axes: Sequence[str]) -> list[str]:
    has_context = any(document.context for document, _ in texts.values())
    return [LABEL, "source", *(["context"] if has_context else []), "text", *axes, RATER, NOTE]


def _rows(texts: Texts) -> Iterator[dict[str, str | None]]:
    for label, (document, candidate) in texts.items():
        shown = {"source": document.source, "context": document.context, "text": candidate.text}
        yield {LABEL: label, **shown}
