"""What `evaljudge view` serves of a run: the page over all its texts, and their numbers as columns
that a browser filters and sorts; and several runs beside each other.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial, reduce
from itertools import chain
from pathlib import PurePath
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from evaljudge.agreement.rated import Key, Text
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.ratings import kept_ratings
from evaljudge.analysis.run_differences import apart
from evaljudge.analysis.run_scores import (
    RunScores,
    ScoredRun,
    about_selection,
    aligned,
    selected_texts,
    selections,
    signatures,
)
from evaljudge.analysis.settings_differences import settings_differences, values_of
from evaljudge.analysis.telling import disagreement
from evaljudge.decisions.systems import RankedSystem, SystemRanking
from evaljudge.records import ANY_AXIS, HUMAN, Case
from evaljudge.report.first import headlines, lead
from evaljudge.report.page import beginning, page, spread_data, text_html
from evaljudge.runs.asked import RunPrompts
from evaljudge.runs.shown import shown_in
from evaljudge.sections import BarRow, Bars, Section, Table
from evaljudge.sections.figures import NONE, axis_name, bracketed
from evaljudge.storage import Shard
from evaljudge.text import one_line
from evaljudge.viewer.server import BYTES, HTML, TEXT, Given, Refused, Response, Site, as_json

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SETTINGS = 3  # that are named
KEPT = 64  # shards whose cases stay in memory
MOST_ROWS = 500  # in one request


def judge_of(scorer: str) -> str:
    return re.split("[.#]", scorer.removeprefix("judges.").removeprefix("metrics."))[0]


class RunIndex(RunScores):
    """A run, on its own or beside others, on the texts of the first."""

    def __init__(self, run: ScoredRun, *others: "RunIndex") -> None:
        super().__init__(run.output, run.scored, np.float32)
        self.run, self.others = run, others
        self.systems = sorted({system for _, system in self.texts})
        self.further = kept_ratings(run.output).texts
        """What people rated besides the corpus."""
        self.rate({text: rated.ratings for text, rated in self.further.items()})
        self.axes = sorted(self.human)
        self.selections = selections(run)
        self._rows = [other.rows_of(self.texts) for other in others]
        """The place of each text in each other run; -1: it has no such text."""

    def column(self, name: str) -> bytes:
        """`score:3`, `reason:3`, `doubt:3`, `disagreement:3:0` (of a scorer, on an axis of people),
        `rating:0`, `system`, `selected:1`, each by its place in what the page was given; beside
        other runs also `other:3:0`, the first one's scores on this scale, and `flipped:1:0`:
        whether only one of the two selects the text."""
        kind, *numbers = name.split(":")
        number, second = [*map(int, numbers), 0, 0][:2]
        column: NDArray[Any]
        match kind:
            case _ if number < 0 or second < 0:
                raise LookupError(name)
            case "rating":
                column = self.human[self.axes[number]]
            case "score" | "reason" | "doubt":
                columns = {"score": self.scores, "doubt": self.doubts}.get(kind, self.unscored)
                column = columns[self.scales[number]]
            case "disagreement":
                scale, on = self.scales[number], self.axes[second]
                if scale[1] not in (on, ANY_AXIS):  # the scorer's own, unless it has none
                    raise LookupError(on)
                column = disagreement(self.scores[scale], self.human[on]).astype(np.float32)
            case "system":
                code_of = {system: code for code, system in enumerate(self.systems)}
                column = np.array([code_of[system] for _, system in self.texts], np.int16)
            case "selected":
                column = self.selected[self.selections[number]]
            case "other":
                column = self._theirs(second, self.scales[number])
            case "flipped":
                selection, rows = self.selections[number], self._rows[second]
                theirs = aligned(self.others[second].selected.get(selection), rows, np.uint8(0))
                column = (self.selected[selection] != theirs) & (rows >= 0)
            case _:
                raise LookupError(name)
        return column.tobytes()

    @cached_property
    def selected(self) -> Mapping[str, NDArray[np.uint8]]:
        made = {name: np.zeros(len(self.texts), np.uint8) for name in self.selections}
        for name, column in made.items():
            for text in selected_texts(self.run, name):
                if text in self.row_of:
                    column[self.row_of[text]] = 1
        return made

    @cached_property
    def bodies(self) -> Mapping[Text, int]:
        """A hash of each text itself, since two runs may have judged two texts of one system."""
        run = self.run
        each = chain.from_iterable(run.output.ahead(run.output.texts, run.scored))
        return {(doc_id, system): hash(body) for doc_id, system, body in each}

    @cached_property
    def prompts(self) -> RunPrompts:
        return RunPrompts(self.run.output)

    def comparison(self, at: int = 0) -> dict[str, Any]:
        """With the other run at this place: how many texts both have; for each scorer and axis, on
        how many of them the scores differ, None where the other lacks it; the selections of both,
        by their rules; and the scorers whose signatures differ, with the settings that do."""
        other, names = self.others[at], [PurePath(one.run.out).name for one in self.others]
        shared = sorted(set(self.selections) & set(other.selections))
        both = ([about_selection(r, n)["rule"] for r in (self.run, other.run)] for n in shared)
        rules = {name: mine == theirs for name, (mine, theirs) in zip(shared, both, strict=True)}
        mine, theirs = signatures(self.run), signatures(other.run)
        settings = settings_differences(self.run, other.run)
        more = f"see `evaljudge diff {quote(self.run.out)} {quote(other.run.out)}`"
        mine_of, theirs_of = self.bodies, other.bodies
        rows = enumerate(self.texts)
        edited = [n for n, at in rows if at in theirs_of and mine_of.get(at) != theirs_of[at]]

        def changed(scorer: str) -> str:
            apart = {judge_of(name) for name in (*mine, *theirs)} - {judge_of(scorer)}
            own = [row for row in settings if judge_of(row["key"]) not in apart]
            said = (f"{row['key']} ({' → '.join(values_of(row))})" for row in own[:MOST_SETTINGS])
            return "; ".join([*map(one_line, said), more])

        return {
            "out": other.run.out,
            "name": names[at] if names.count(names[at]) == 1 else other.run.out,
            "texts": int((self._rows[at] >= 0).sum()),
            "edited": edited,
            "differ": [self._differing(at, k) if k in other.scores else None for k in self.scales],
            "shared": [name for name, is_same in rules.items() if is_same],
            "changed": [name for name, is_same in rules.items() if not is_same],
            "otherwise": {n: changed(n) for n in mine if n in theirs and mine[n] != theirs[n]},
        }

    def _theirs(self, at: int, key: Key) -> NDArray[Any]:
        return aligned(self.others[at].scores.get(key), self._rows[at], np.float32(np.nan))

    def _differing(self, at: int, key: Key) -> int:
        mine, theirs = self.scores[key], self._theirs(at, key)
        differ = (mine != theirs) & ~(np.isnan(mine) & np.isnan(theirs))
        return int((differ & (self._rows[at] >= 0)).sum())


class RunSite:
    def __init__(
        self,
        run: ScoredRun,
        findings: Findings,
        others: Sequence[ScoredRun] = (),
        more: Sequence[Section] = (),
    ) -> None:
        """`others`: runs compared with it; `more`: what else the page says of the runs."""
        self.findings, self.more = findings, more
        self.index = RunIndex(run, *map(RunIndex, others))
        self.compared = [self.index.comparison(at) for at in range(len(others))]
        routes = (self.names, self.column, self.begins, self.text, self.search)
        self.site = Site({"/": self.page, **{f"/{route.__name__}": route for route in routes}})
        self._cases = lru_cache(KEPT)(self._read_cases)

    def page(self, given: Given) -> Response:
        index = self.index
        data = spread_data(self.findings) | {
            "token": self.site.token,
            "scorers": [{"scorer": scorer, "axis": axis} for scorer, axis in index.scales],
            "systems": index.systems,
            "human": index.axes,
            "reasons": index.reasons,
            "selections": index.selections,
            "others": self.compared,
            "lead": self._lead(),
        }
        return Response(page(self.findings, data=data, more=self.more).encode(), HTML)

    def _lead(self) -> dict[str, str]:
        """The scale with which lists begin: one on which the runs differ, if there is any."""
        scales = [{"scorer": scorer, "axis": axis} for scorer, axis in self.index.scales]
        counts = zip(*(other["differ"] for other in self.compared), strict=True)
        differing = [scale for scale, of in zip(scales, counts, strict=False) if any(of)]
        first = lead(self.findings)
        return first if first in differing or not differing else differing[0]

    def names(self, given: Given) -> Response:
        return as_json([doc_id for doc_id, _ in self.index.texts])

    def column(self, given: Given) -> Response:
        try:
            return Response(self.index.column(given["name"]), BYTES)
        except (LookupError, ValueError):
            raise Refused(f"there is no column {given['name']!r}") from None

    def begins(self, given: Given) -> Response:
        rows = [self._row(row) for row in given["rows"].split(",") if row]
        if len(rows) > MOST_ROWS:
            raise Refused(f"at most {MOST_ROWS} rows at a time")
        return as_json([beginning(self._candidate_text(row)) for row in rows])

    def _row(self, row: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", row) or int(row) >= len(self.index.texts):
            raise Refused(f"there is no row {row}")
        return int(row)

    def _candidate_text(self, row: int) -> str:
        doc_id, system = self.index.texts[row]
        case = self._cases(self.index.shard_of(row))[doc_id]
        return next(candidate.text for candidate in case.candidates if candidate.system == system)

    def _read_cases(self, shard: Shard) -> Mapping[str, Case]:
        return {case.document.doc_id: case for case in self.index.run.output.cases(shard)}

    def text(self, given: Given) -> Response:
        row, index = self._row(given["row"]), self.index
        text = index.texts[row]
        selected = {name: [text] for name, column in index.selected.items() if column[row]}
        html = _shown(index, row, selected)
        for other in index.others:
            if (there := other.row_of.get(text)) is not None:
                is_same = other.bodies.get(text) == index.bodies.get(text)
                beside = Markup('<section class="beside{}"><h3>In {}{}</h3>{}</section>')
                said = ("", "") if is_same else (" edited", ", of another text")
                where = f"{said[0]}", one_line(other.run.out), said[1]
                html += beside.format(*where, _shown(other, there, {}))
        # Not as HTML: a page of its own, without the content policy, it must never be.
        return Response(html.encode(), TEXT)

    def search(self, given: Given) -> Response:
        import pyarrow.compute as pc

        has = [pc.match_substring(self._words, word) for word in given["words"].lower().split()]
        if not has:
            raise Refused("no word to look for")
        matches = reduce(pc.and_, has)
        return Response(matches.to_numpy(zero_copy_only=False).astype(np.uint8).tobytes(), BYTES)

    @cached_property
    def _words(self) -> "pa.ChunkedArray":
        import pyarrow as pa
        import pyarrow.compute as pc

        def words_of(shard: Shard) -> "pa.Array":
            texts = (" ".join(text) for text in self.index.run.output.texts(shard))
            return pc.utf8_lower(pa.array(texts, pa.large_string()))

        run = self.index.run
        return pa.chunked_array(list(run.output.ahead(words_of, run.scored)), pa.large_string())


def _shown(index: RunIndex, row: int, selected: Mapping[str, Collection[Text]]) -> Markup:
    output, shard, text = index.run.output, index.shard_of(row), index.texts[row]
    (shown,) = shown_in(output, shard, [text], selected, index.further, index.prompts)
    return text_html(shown, "all prompts")


ABOUT = (
    "Mean scores with 95% t intervals over each run's documents. Runs are compared document by "
    "document by `evaljudge diff`."
)
Means = dict[str, dict[str, RankedSystem]]
"""Of each system by the run's name."""
READING = (
    "A dot is a system's mean in one run, the line its interval; the open dot is the mean in the "
    "first of the runs, which are in the given order."
)


def trend(given: Sequence[tuple[ScoredRun, Findings]]) -> Iterator[Section]:
    """For the scorers of the first run's first screen; where these are alike in all runs, for those
    that are not, too. Runs whose scale or documents are not those of the first are marked, and no
    line joins them to it."""
    runs = {run.out: findings for run, findings in given}
    rankings = [headline.ranking for headline in headlines(given[0][1])]
    scales = {(row.scorer, row.axis): _means(runs, row) for row in rankings}
    if not any(map(_differ, scales.values())):
        others = [row for row in given[0][1]["systems"] if row.scorer != HUMAN]
        means_of = {(row.scorer, row.axis): _means(runs, row) for row in others}
        scales |= {scale: means for scale, means in means_of.items() if _differ(means)}
    reasons = {run.out: apart(given[0][0], run) for run, _ in given[1:]}
    for scale, means in scales.items():
        keys = "", scale[0].partition("#")[0]
        why = {n: [of[key] for key in keys if key in of] for n, of in reasons.items()}
        marks = {n: f", {texts[-1].partition(' (')[0]}" for n, texts in why.items() if texts}
        notes = [f"No line joins {n} to the first run: {'; '.join(why[n])}." for n in marks]
        title = f"{scale[0]}, {axis_name(scale[1])}"
        figure = partial(_figure, marks)
        cells = [[system, *(figure(n, of.get(n)) for n in runs)] for system, of in means.items()]
        table = Table(title, ["system", *runs], cells, "l" + "r" * len(runs))
        all_means = [mean for of in means.values() for mean in of.values()]
        least = min(s.mean if s.low is None else s.low for s in all_means)
        most = max(s.mean if s.high is None else s.high for s in all_means)
        edge = (most - least) * 0.1 or 0.5
        pictures = []
        for system, of in means.items():
            base = next((s.mean for n, s in of.items() if n not in marks), None)
            dots = [
                BarRow(n, s.mean, figure(n, s), s.low, s.high, None if n in marks else base)
                for n, s in of.items()
            ]
            reading, ends = " ".join([READING, *notes]), (least - edge, most + edge)
            pictures.append(Bars("Trend", f"{system}: {title}", reading, dots, *ends, True))
        yield Section("Trend", [ABOUT], [table], notes, pictures)


def _means(runs: Mapping[str, Findings], scale: SystemRanking) -> Means:
    means: Means = {}
    for name, findings in runs.items():
        rows = (r for r in findings["systems"] if (r.scorer, r.axis) == (scale.scorer, scale.axis))
        for system in (system for row in rows for system in row.systems):
            means.setdefault(system.system, {})[name] = system
    return means


def _differ(means: Means) -> bool:
    return any(len({system.mean for system in of.values()}) > 1 for of in means.values())


def _figure(marks: Mapping[str, str], run: str, mean: RankedSystem | None) -> str:
    return f"{bracketed(mean.mean, mean.low, mean.high)}{marks.get(run, '')}" if mean else NONE
