"""Binding an output folder to one run, and cutting the corpus into its numbered shards.

The folder is bound by `run.json` before anything else is written; the shards are listed when all
their cases are there. Once a model has answered for a committed shard, the run must stay the same
(until then the folder is free for another run), except that `--extend` appends shards of new cases.
Human ratings change no ask: they are refreshed in place.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import islice
from operator import attrgetter
from typing import Any

from evaljudge.corpora import Corpus, open_corpus, refuse_empty
from evaljudge.errors import UserError
from evaljudge.identity import Fingerprint, differences, short
from evaljudge.records import Candidate, Case
from evaljudge.runs.asked import tokens_of
from evaljudge.runs.job import Job
from evaljudge.runs.references import check_references
from evaljudge.storage import BUNDLED, Claim, Fault, Output, Shard, ahead
from evaljudge.text import counted

MOST_TOKENS, MOST_CASES = 1_000_000, 256
"""Of a shard: a large card computes so many tokens in half a minute, a small one in minutes."""
LEAST_SHARDS = 64  # small corpora are cut into smaller shards, so that every worker gets some
SAMPLED = 64  # of so many documents that of middling length says what a byte costs
Listing = dict[str, Any]


def refuse_lone_texts(corpus: Corpus, job: Job) -> None:
    """A judge that compares the texts of a document would score nothing."""
    whole = [judge.name for judge in job.judges if judge.whole_documents]
    if whole and not any(len(case.candidates) > 1 for case in corpus):
        raise UserError(
            f"judges.{whole[0]} compares the texts of a document with each other, and no document "
            f"of {job.config.corpus_name} has two: give each document the texts of several "
            "systems, or leave this judge out"
        )


def bind_and_cut(job: Job, claim: Claim, *, extend: bool = False) -> Output:
    config = job.config
    with open_corpus(job.corpus, config.bad_rows) as corpus:
        refuse_empty(corpus, config.corpus_name, "judge")
        refuse_lone_texts(corpus, job)
        if job.references:
            documents = (case.document for case in corpus)
            check_references(job.references, job.judges, documents)
        now, output = job.fingerprint(corpus.digest), Output(config.out, config.briefs)
        _release_untouched(output, now)
        bound, listing = _bound_and_listed(output)
        if bound is None:
            _refuse_foreign(output)
            bound = _bind(output, job, now)
        output = Output(config.out, config.briefs, bound["id"])
        if listing is None:
            refuse_other_run(output, differences(bound["fingerprint"], now))
            _cut(output, corpus, job, {}, corpus, claim)
        else:
            there = _fingerprint(bound, listing)
            if extend and there["corpus"] != now["corpus"]:
                refuse_other_run(output, differences({**there, "corpus": now["corpus"]}, now))
                _refuse_unfinished(job, output)
            else:
                refuse_other_run(output, differences(there, now))
            _take_over(output, corpus, job, listing, claim)
    return output


def _release_untouched(output: Output, now: Fingerprint) -> None:
    if bound := output.run():
        there = _fingerprint(bound, output.listing() or bound["fingerprint"])
        if differences(there, now) and output.holds_no_answer:
            output.release()


def _fingerprint(bound: Mapping[str, Any], listing: Mapping[str, Any]) -> Fingerprint:
    """What a run is bound to; its corpus may have grown since it was bound."""
    return {**bound["fingerprint"], "corpus": listing["corpus"]}


def differs_from_run(job: Job, output: Output, corpus: str) -> list[str] | None:
    """How this job differs from the run that lies there; None where the folder is free for it."""
    bound = output.run()
    listing = output.listing() if bound else None
    if not bound or not listing:
        return None
    differs = differences(_fingerprint(bound, listing), job.fingerprint(corpus))
    return None if differs and output.holds_no_answer else differs


def _take_over(output: Output, corpus: Corpus, job: Job, listing: Listing, claim: Claim) -> None:
    known, grown = output.shards(), listing["corpus"] != corpus.digest
    if grown:
        _mark_known(output, known, corpus, job)  # refuses before anything is written
    if listing["ratings"] != corpus.ratings_digest:
        known = _refresh_ratings(output, known, corpus)
    elif not grown and listing == listing | {"raters": corpus.raters, "unread": [*corpus.unread]}:
        return
    if grown:
        output.write_run((output.run() or {}) | {"state": "begun"})
    _cut(output, corpus, job, listing, corpus.unmarked() if grown else (), claim, known)


def _bound_and_listed(output: Output) -> tuple[dict[str, Any] | None, Listing | None]:
    """What run.json and shards.json say; refused where one of them is gone from a run's folder."""
    bound = output.run()
    listing = output.listing() if bound else None
    if listing is None and (output.committed("prepare") if bound else output.has_listing):
        raise UserError(
            f"{output.uri}: {'shards' if bound else 'run'}.json is gone, and shards of a run lie "
            "there: put it back, or take another `out`"
        )
    return bound, listing


def _refuse_foreign(output: Output) -> None:
    """A report that is not ours would be overwritten; in ours `findings.json` comes first."""
    names = set(output.place.names("report"))
    if "findings.json" not in names and (theirs := names & {"index.html", "agreement.md"}):
        raise UserError(
            f"{output.uri}/report/{min(theirs)}: not of a run, which would overwrite it: move it, "
            "or take another `out`"
        )


def open_bound(job: Job) -> Output:
    """The folder of a run that was begun before, its corpus untouched."""
    output = Output(job.config.out, job.config.briefs)
    bound, listing = _bound_and_listed(output)
    if bound is None or listing is None:
        raise UserError(f"{job.config.out}: no run lies here yet; begin one with `evaljudge run`")
    now = job.fingerprint(listing["corpus"])
    refuse_other_run(output, differences(_fingerprint(bound, listing), now))
    return output


def utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _bind(output: Output, job: Job, now: Fingerprint) -> dict[str, Any]:
    name = BUNDLED + uuid.uuid4().hex[:8]  # never that of a run whose briefs are still there
    bound: dict[str, Any] = {"id": name, "state": "begun"}
    bound |= {"fingerprint": now, "briefs": job.config.briefs, "config": job.config.as_given()}
    if job.panel_ends:
        bound["panels"] = job.panel_ends
    output.try_briefs()
    output.bind(bound | {"begun": utc_now()})
    return bound


def refuse_other_run(output: Output, differs: list[str]) -> None:
    if not differs:
        return
    only_corpus = len(differs) == 1 and differs[0].startswith("corpus ")
    adding = (
        "add what is new to a finished run with `evaljudge run --extend` (in Python, "
        "`evaljudge.run(…, extend=True)`)"
    )
    mend = adding if only_corpus else "undo the change"
    more = f" (and {len(differs) - 3} more)" if len(differs) > 3 else ""
    raise UserError(
        f"{output.uri} is bound to another run: {'; '.join(differs[:3])}{more}. "
        f"Take another `out`, or {mend}"
    )


def _refuse_unfinished(job: Job, output: Output) -> None:
    if not job.judges:  # metrics measure what they lack, whatever was there before
        return
    if missing := {shard.number for shard in output.shards()} - output.committed("judge"):
        raise UserError(
            f"{output.uri}: {counted(len(missing), 'shard is', 'shards are')} not judged yet; "
            "finish the run as it was before you extend it"
        )


def _cut(
    output: Output,
    corpus: Corpus,
    job: Job,
    listing: Listing,
    cases: Iterable[Case],
    claim: Claim,
    known: Sequence[Shard] = (),
) -> None:
    a_byte = _tokens_a_byte(job, corpus)
    most = min(MOST_CASES, max(1, corpus.cases // LEAST_SHARDS))
    first = max((shard.number for shard in known), default=-1) + 1
    documents: dict[str, str] = dict(listing.get("documents", {}))
    largest: dict[str, int] = dict(listing.get("largest", {}))

    def write(numbered: tuple[int, list[Case]]) -> Shard:
        number, piece = numbered
        documents[f"{number}"] = _documents(piece)
        largest[f"{number}"] = max(case.size for case in piece)
        candidates = sum(len(case.candidates) for case in piece)
        return output.write_cases(Shard(number, len(piece), candidates), piece)

    pieces = cut_by_cost(cases, lambda case: a_byte * case.whole_size, most)
    new = list(ahead(write, enumerate(pieces, start=first)))
    claim.check()
    shards = [*known, *new]
    output.keep_cases(shards)  # a cut that was killed may have cut otherwise
    cuts = listing.get("cuts", [0])
    output.write_listing(
        {
            "corpus": corpus.digest,
            "ratings": corpus.ratings_digest,
            "rated": list(corpus.rated_on()),
            "skipped_rows": corpus.skipped_rows,
            "skipped": list(corpus.skipped),
            "absent_ratings": corpus.absent_ratings,
            "raters": corpus.raters,
            "unread": list(corpus.unread),
            "cuts": [*cuts, first] if new and known else cuts,
            "shards": list(map(astuple, shards)),
            "documents": documents,
            "largest": largest,
        }
    )


def cut_by_cost(
    cases: Iterable[Case], tokens: Callable[[Case], float], most: int
) -> Iterator[list[Case]]:
    """Pieces of at most so many cases and MOST_TOKENS; a case that costs more is one of its own.
    They never depend on who will do them, so a run may go on with other workers."""
    piece, total = list[Case](), 0.0
    for case in cases:
        cost = tokens(case)
        if piece and (len(piece) == most or total + cost > MOST_TOKENS):
            yield piece
            piece, total = [], 0.0
        piece.append(case)
        total += cost
    if piece:
        yield piece


def _tokens_a_byte(job: Job, corpus: Corpus) -> float:
    """By what the judges would ask of one case."""
    sample = sorted(islice(corpus, SAMPLED), key=attrgetter("whole_size"))
    middle = sample[len(sample) // 2]
    return tokens_of(job, middle) / max(1, middle.whole_size)


def _documents(cases: Sequence[Case]) -> str:
    """A digest of which documents and candidates a shard has: a corpus by which the run was
    extended has more. What they say is in the digest of the corpus."""
    named = [[case.document.doc_id, *(c.system for c in case.candidates)] for case in cases]
    return short(named)[:16]


def cases_again(job: Job, output: Output, faults: Sequence[Fault]) -> dict[Shard, list[Case]]:
    """The cases of shards whose files are damaged, from the corpus; refused where it has changed
    since it was cut, be it in the order of its rows."""
    if not faults:
        return {}
    wanted, cases = {fault.shard for fault in faults}, dict[Shard, list[Case]]()
    listing, error = output.listing() or {}, faults[0].error
    with open_corpus(job.corpus, job.config.bad_rows) as corpus:
        rest = iter(corpus)
        for shard in output.shards():
            piece = list(islice(rest, shard.cases))
            if shard in wanted and _documents(piece) == listing["documents"][f"{shard.number}"]:
                cases[shard] = piece
        if len(cases) < len(wanted) or corpus.digest != listing["corpus"]:
            changed = f"{job.config.corpus_name} is no longer as it was when it was cut"
            if corpus.digest == listing["corpus"] and len(listing["cuts"]) > 1:
                changed = f"{changed} (`--extend` has added texts to it since)"
            remedy = "put it back from a copy, or take another `out`"
            raise UserError(f"{error.file}: {error.problem}, and {changed}: {remedy}")
    return cases


def _mark_known(output: Output, old: list[Shard], corpus: Corpus, job: Job) -> None:
    """An extension does not ask about these candidates again."""
    whole = [judge.name for judge in job.judges if judge.whole_documents]
    for cases in ahead(output.cases, map(_at_any_time, old)):
        for case in cases:
            now = corpus.find(case.document.doc_id)
            if now is not None:
                _refuse_other_texts(case, now)
                if whole and len(now.candidates) > len(case.candidates):
                    raise UserError(
                        f"--extend: document {case.document.doc_id!r} has new texts, and "
                        f"judges.{whole[0]} compares the texts of a document with each "
                        "other: take another `out`"
                    )
                corpus.mark(case)


def _refuse_other_texts(old: Case, now: Case) -> None:
    doc_id = old.document.doc_id
    if old.document != now.document:
        differs = f"document {doc_id!r} differs from the one already judged"
        raise UserError(f"--extend: {differs}: take another `out`")
    texts = {candidate.system: candidate.text for candidate in now.candidates}
    for candidate in old.candidates:
        if texts.get(candidate.system, candidate.text) != candidate.text:
            raise UserError(
                f"--extend: the text of {candidate.system!r} for document {doc_id!r} differs from "
                "the one already judged: take another `out`"
            )


def _refresh_ratings(output: Output, shards: list[Shard], corpus: Corpus) -> list[Shard]:
    """A candidate that this corpus does not hold keeps the ratings it had."""

    def corrected() -> Iterator[tuple[Shard, list[Case]]]:
        read = ahead(output.cases, map(_at_any_time, shards))
        for shard, cases in zip(shards, read, strict=True):
            yield shard, [_rated(case, corpus.find(case.document.doc_id)) for case in cases]

    return list(ahead(lambda written: output.write_cases(*written), corrected()))


def _at_any_time(shard: Shard) -> Shard:
    """The shard without its seal, so that its cases are read whatever ratings they have: an earlier
    job that took over ratings may have been killed before it listed the files it had written."""
    return replace(shard, seal="")


def _rated(old: Case, now: Case | None) -> Case:
    rated = {candidate.system: candidate for candidate in now.candidates} if now else {}
    sources = ((c, rated.get(c.system, c)) for c in old.candidates)
    candidates = (Candidate(c.system, c.text, s.ratings, s.raters) for c, s in sources)
    return Case(old.document, tuple(candidates))
