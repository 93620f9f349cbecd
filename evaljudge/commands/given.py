"""What commands are given: cases that people rated, scores from anywhere, names to look up."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaljudge.agreement.rated import Rated, codes
from evaljudge.analysis.ratings import FurtherRatings, kept_ratings, names_of, with_ratings
from evaljudge.analysis.tables import rating_columns
from evaljudge.commands.options import RatedOptions
from evaljudge.corpora import (
    Corpus,
    CorpusSource,
    notes_on,
    of_sources,
    open_corpus,
    refuse_empty,
    unread_columns,
)
from evaljudge.corpora.columns import OPTIONS, named_columns
from evaljudge.corpora.files import Given, Reasons, read_all_given, run_in
from evaljudge.corpora.memory import as_inputs
from evaljudge.errors import UserError, unknown
from evaljudge.records import Case
from evaljudge.settings import as_path
from evaljudge.storage import Output
from evaljudge.text import counted


@dataclass(frozen=True)
class RatedCases:
    name: str
    cases: Sequence[Case]
    corpus: Corpus
    given: Given
    reasons: Reasons
    fitted: Collection[str]  # scorers that are combinations by agreement
    left_out: Sequence[str]  # a warning, where scores belong to no candidate
    notes: Sequence[str]  # warnings of what was not read
    raters: Mapping[str, Sequence[str]]  # their names, by axis

    @property
    def frame(self) -> Rated:
        """A row for each candidate, rated or not."""
        every = [(case.document.doc_id, text) for case in self.cases for text in case.candidates]
        texts = [(doc_id, text.system) for doc_id, text in every]
        return Rated(
            codes(doc_id for doc_id, _ in texts),
            codes(system for _, system in texts),
            {key: np.array(list(map(of.get, texts)), float) for key, of in self.given.items()},
            rating_columns([text.ratings for _, text in every]),
            {},
            texts=texts,
        )


def read_rated(wanted: RatedOptions, purpose: str) -> RatedCases:
    """`purpose`: what ratings are needed for, as in "agree with". A run stands for its cases, its
    ratings from sheets among them, and for its scores where no others are named."""
    if (given := wanted.cases if wanted.run is None else wanted.run) is None:
        raise UserError("name a run's folder, or cases by --cases")
    named = wanted.columns if isinstance(wanted.columns, Mapping) else named_columns(wanted.columns)
    where = None if wanted.sources is None else as_path(wanted.sources, "sources")
    scores, inputs = as_inputs(wanted.scores, "scores"), as_inputs(given, "cases")
    run = run_in(inputs[0]) if len(inputs) == 1 else None
    of_cases = {} if run and scores else named
    source = CorpusSource(inputs, wanted.format, where, of_cases, OPTIONS)
    scores = scores or (source.inputs if run else ())
    name = ", ".join(map(str, source.inputs))
    theirs = unread_columns(*source.inputs) if wanted.format == "generic" and not run else None
    scored, reasons, fitted = read_all_given(scores, theirs.taken(named, ()) if theirs else named)
    if theirs:
        theirs.refuse_wide(name, named)
        source = replace(source, columns=theirs.taken(named, [axis for _, axis in scored]))
        if not scored and "doc_id" not in named.values():  # scores may name it
            source = of_sources(source)
    further = kept_ratings(Output(run)) if run else FurtherRatings()
    with open_corpus(source, "skip" if wanted.skip_bad_rows else "fail") as corpus:
        cases = [with_ratings(case, further.texts) for case in corpus]
    refuse_empty(corpus, name, purpose)
    if not any(text.ratings for case in cases for text in case.candidates):
        # columns that nothing reads may have been meant as ratings
        unread = "".join(f"; {note}" for note in corpus.unread)
        raise UserError(f"{name}: no text has human ratings to {purpose}{unread}")
    known = {(case.document.doc_id, c.system) for case in cases for c in case.candidates}
    unmet = sum(at not in known for values in scored.values() for at in values)
    if scored and unmet == sum(map(len, scored.values())):
        raise UserError(f"{', '.join(map(str, scores))}: no score belongs to a text of {name}")
    belong = counted(unmet, "score belongs", "scores belong")
    taken = ", ".join(
        f"{n} = {to or 'not read'}" for n, to in source.columns.items() if n not in named
    )
    notes = (
        [f"columns taken by their names: {taken} (`--column`, in Python `columns`, names others)"]
        if taken
        else []
    )
    notes += notes_on(corpus.skipped_rows, corpus.absent_ratings, corpus.skipped)
    mine, theirs_too = ([getattr(one, "name", one) for one in of] for of in (scores, source.inputs))
    is_read = mine == theirs_too  # as scores, what is not read as ratings
    notes += [f"corpus: {n}" for n in corpus.unread if not (is_read and n.startswith("not read"))]
    warnings = [f"{belong} to no text of the corpus: left out"] if unmet else []
    raters = names_of(Output(run), further) if run else corpus.raters
    return RatedCases(name, cases, corpus, scored, reasons, fitted, warnings, notes, raters)


def refuse_unknown(
    option: str, what: str, names: Iterable[str | None], known: Collection[str]
) -> None:
    """None: the option was not given."""
    for name in names:
        if name is not None and name not in known:
            raise UserError(f"{option}: {unknown(what, name, known)}")
