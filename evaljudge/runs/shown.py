"""Single texts of a run with all that is known of them, as the page shows them.

shown_texts(output, shards, [("d1", "A")], ["good"], ratings)  ->  [PageText(…)]
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from evaljudge.analysis.ratings import ByText, with_ratings
from evaljudge.errors import Damaged, UserError
from evaljudge.judges import plugin
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.answers import shown_answer, shown_section
from evaljudge.plugins import kinds
from evaljudge.records import Brief, Candidate, Case, Score, Verdict
from evaljudge.report.texts import Evidence, PageText
from evaljudge.runs.asked import RunPrompts
from evaljudge.storage import Output, Panel, Shard, judge_kinds, panels_of

Text = tuple[str, str]
"""Its document and its system."""


def shown_texts(
    output: Output,
    shards: Sequence[Shard],
    chosen: Collection[Text],
    selections: Sequence[str],
    ratings: ByText,
    prompts: RunPrompts,
) -> list[PageText]:
    """In the order of the corpus."""
    wanted, found = set(chosen), list[PageText]()
    selected = {name: set(_selected(output, name, wanted)) for name in selections}
    for shard in shards:
        if len(found) == len(wanted):
            break
        mine = {text[:2] for text in output.texts(shard)} & wanted
        if mine:
            found += shown_in(output, shard, mine, selected, ratings, prompts)
    return found


def shown_in(
    output: Output,
    shard: Shard,
    wanted: Collection[Text],
    selected: Mapping[str, Collection[Text]],
    ratings: ByText,
    prompts: RunPrompts,
) -> Iterator[PageText]:
    """Those of one shard."""
    scores: dict[Text, list[Score]] = {text: [] for text in wanted}
    for score in output.scores(shard):
        if (score.doc_id, score.system) in scores:
            scores[score.doc_id, score.system].append(score)
    judged = _ShardEvidence(output, shard, wanted, prompts)
    for case in output.cases(shard):
        rated = with_ratings(case, ratings)
        for candidate in rated.candidates:
            text = case.document.doc_id, candidate.system
            if text in scores:
                names = frozenset(name for name, some in selected.items() if text in some)
                evidence = list(judged.of(case, candidate))
                yield PageText(case.document, candidate, scores[text], names, evidence)


class _ShardEvidence:
    """The verdicts on some texts of a shard, and the briefs of their documents."""

    def __init__(
        self, output: Output, shard: Shard, wanted: Collection[Text], prompts: RunPrompts
    ) -> None:
        self._prompts = prompts
        run = output.known_run()
        judges, panels = judge_kinds(run), panels_of(run)
        documents = {doc_id for doc_id, _ in wanted}
        self._verdicts: dict[Text, list[tuple[str, Verdict]]] = {text: [] for text in wanted}
        for name, kind in judges.items():
            for verdict in output.verdicts(name, shard, with_tokens=False):
                if (verdict.doc_id, verdict.system) in self._verdicts:
                    self._verdicts[verdict.doc_id, verdict.system].append((kind, verdict))
        self._file: dict[str, tuple[str, str]] = {}
        """For each judge, where its briefs are: those of its kind by its writer."""
        self._briefs: dict[tuple[tuple[str, str], str], list[Brief]] = {}
        self._unread: dict[tuple[str, str], str] = {}
        """Of briefs that are damaged: scores do not need them, and the page says so."""
        readers = dict[tuple[str, str], Output]()
        for name, kind in judges.items():
            mine = output.of(panels.get(name, Panel()))
            self._file[name] = kind, mine.brief_file(shard)
            readers[self._file[name]] = mine
        for file, mine in readers.items():
            try:
                briefs = mine.own_briefs(file[0], shard)
            except Damaged as error:
                self._unread[file] = str(error)
                continue
            for brief in briefs:
                if brief.doc_id in documents:
                    self._briefs.setdefault((file, brief.doc_id), []).append(brief)

    def of(self, case: Case, candidate: Candidate) -> Iterator[Evidence]:
        for kind, verdict in self._verdicts[case.document.doc_id, candidate.system]:
            file = self._file[verdict.judge]
            if file in self._unread:
                section = replace(shown_answer(verdict), about=[self._unread[file]])
                yield Evidence(verdict.judge, verdict.axis, verdict.reason, section=section)
                continue
            briefs = self._briefs.get((file, verdict.doc_id), ())
            made = evidence_of(kind, JudgedCandidate(candidate, verdict, briefs))
            try:
                asked = self._prompts.about(
                    verdict.judge, verdict.axis, case, candidate.system, briefs
                )
            except UserError as error:
                yield replace(made, unasked=str(error))
            else:
                yield replace(made, asked=asked)


def evidence_of(kind: str, judged: JudgedCandidate) -> Evidence:
    verdict = judged.verdict
    made = Evidence(verdict.judge, verdict.axis)
    if verdict.status == "unscored":
        return Evidence(verdict.judge, verdict.axis, verdict.reason, section=shown_answer(verdict))
    own = plugin(kind) if kind in kinds() else None
    if own and own.picture:
        return Evidence(made.judge, made.axis, view=own.picture(judged))
    return Evidence(made.judge, made.axis, section=shown_section(own.show if own else None, judged))


def _selected(output: Output, name: str, wanted: Collection[Text]) -> Iterator[Text]:
    stream = output.place.open(f"selected/{name}.jsonl")
    with stream, io.BufferedReader(stream) as lines:  # type: ignore[type-var]
        for line in lines:
            row = json.loads(line)
            if (row["doc_id"], row["system"]) in wanted:
                yield row["doc_id"], row["system"]
