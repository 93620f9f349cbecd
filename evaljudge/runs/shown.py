"""Single texts of a run with all that is known of them, as the page shows them.

shown_in(output, shard, [("d1", "A")], {"good": set()}, ratings, prompts)  ->  PageText(…), …
"""

import io
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache

from evaljudge.agreement.rated import Text
from evaljudge.analysis.ratings import ByText, with_ratings
from evaljudge.errors import Damaged, UserError
from evaljudge.judges import plugin
from evaljudge.judges.checked import shown_answer, shown_section, shown_thoughts
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.plugins import kinds
from evaljudge.records import Brief, Candidate, Case, Critique, Score, Verdict
from evaljudge.report.page import Evidence, PageText
from evaljudge.runs.asked import RunPrompts
from evaljudge.sections import Section
from evaljudge.storage import PIECE, Output, Panel, Shard, judge_kinds, panels_of


def shown_in(
    output: Output,
    shard: Shard,
    wanted: Collection[Text],
    selected: Mapping[str, Collection[Text]],
    ratings: ByText,
    prompts: RunPrompts,
) -> Iterator[PageText]:
    run = output.known_run()
    scores, verdicts = defaultdict[Text, list[Score]](list), defaultdict[Text, list[Verdict]](list)
    judges, panels = judge_kinds(run), panels_of(run)
    for score in output.scores(shard):
        scores[score.doc_id, score.system].append(score)
    for name in judges:
        for verdict in output.verdicts(name, shard, with_tokens=False):
            verdicts[verdict.doc_id, verdict.system].append(verdict)

    critiques = defaultdict[Text, list[Critique]](list)
    for why in output.critiques(score for text in wanted for score in scores.get(text, ())):
        critiques[why.doc_id, why.system].append(why)

    @cache
    def briefs_of(kind: str, panel: Panel) -> list[Brief] | Damaged:
        try:
            return output.of(panel).own_briefs(kind, shard)
        except Damaged as error:  # scores do not need them, and the page says so
            return error

    def evidence_on(verdict: Verdict, case: Case, candidate: Candidate) -> Evidence:
        kind = judges[verdict.judge]
        briefs = briefs_of(kind, panels.get(verdict.judge, Panel()))
        if isinstance(briefs, Damaged):
            section = replace(shown_answer(verdict), about=[str(briefs)])
            return Evidence(verdict.judge, verdict.axis, verdict.reason, section=section)
        mine = [brief for brief in briefs if brief.doc_id == verdict.doc_id]
        made = evidence_of(kind, JudgedCandidate(candidate, verdict, mine))
        try:
            key = verdict.judge, verdict.axis
            return replace(made, asked=prompts.about(*key, case, candidate.system, mine))
        except UserError as error:
            return replace(made, unasked=str(error))

    for case in output.cases(shard):
        for candidate in with_ratings(case, ratings).candidates:
            text = case.document.doc_id, candidate.system
            if text in wanted:
                names = frozenset(name for name, some in selected.items() if text in some)
                evidence = [evidence_on(verdict, case, candidate) for verdict in verdicts[text]]
                more = names, evidence, critiques[text]
                yield PageText(case.document, candidate, scores[text], *more)


def evidence_of(kind: str, judged: JudgedCandidate) -> Evidence:
    verdict = judged.verdict
    if verdict.status == "unscored":
        return Evidence(verdict.judge, verdict.axis, verdict.reason, section=shown_answer(verdict))
    mine = plugin(kind) if kind in kinds() else None
    if mine and mine.picture:
        thoughts = Section("", [], [], list(shown_thoughts(verdict.evidence)))
        return Evidence(verdict.judge, verdict.axis, "", mine.picture(judged), thoughts)
    section = shown_section(mine.show if mine else None, judged)
    return Evidence(verdict.judge, verdict.axis, section=section)


def selected_of(output: Output, name: str, wanted: Collection[Text]) -> Iterator[Text]:
    stream = output.place.open(f"selected/{name}.jsonl")
    with stream, io.BufferedReader(stream, PIECE) as lines:  # type: ignore[type-var]
        for line in lines:
            row = json.loads(line)
            if (row["doc_id"], row["system"]) in wanted:
                yield row["doc_id"], row["system"]
