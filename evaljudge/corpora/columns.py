"""Renames the columns and keys of a user's own corpus, and notes those that nothing reads.

ColumnNames({"human": "ratings.tone"}).fields({"human": 4, "url": "…"})
->  {"ratings.tone": 4, "url": "…"}

unread = Unread(); unread.see({"doc_id": "d1", "system": "A", "tone": 4}); unread.notes()
->  ["not read, but these look like ratings: `tone`. If so, give `… tone: ratings.AXIS …`, …"]

Several columns may be the raters of one axis: {"tone_r1": "ratings.tone", "tone_r2": …}; a name may
be that of a key inside another: {"meta.id": "doc_id"}.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from itertools import chain, islice
from shlex import quote
from typing import Any

from evaljudge.corpora.rows import (
    DOTTED,
    KNOWN_FIELDS,
    LEFT_OUT,
    OF_RATER,
    RATER,
    RefusedError,
    in_candidates,
    is_absent,
    is_number,
    json_or_text,
    plain,
    with_ratings,
)
from evaljudge.errors import UserError, unknown
from evaljudge.prompts import BUILT_IN, load_task
from evaljudge.text import shown

AXIS = f"{DOTTED}AXIS"
MOST = 100  # the most names that are kept, and the largest number that may be a rating
MOST_NAMED = 10
LONGEST_NAME = 30  # of a newspaper
FEWEST_WORDS = 9  # of what is no name of a document
WIDE = "a column for each system, or nested keys? `evaljudge init` makes a CSV or JSON file longer"
A_ROW_EACH = (
    "give each text a row, with columns such as `source`, `system` and `text`, or, in CSV or JSON, "
    "each system a column, such as `gpt4_text` and `llama_text`"
)
OF_DOCUMENT, OF_CANDIDATE = KNOWN_FIELDS[:5], KNOWN_FIELDS[5:]
ODD_AMONG = 5  # cells of ratings, one may be none, as a slip: its row is bad then
MOST_RATERS = 20  # a longer list of numbers is a vector, not one rating for each rater
_WORDS = {
    word: ours
    for ours, words in {
        "doc_id": "doc docid example sample item instance row case topic uid qid pid",
        "source": "source src document article input dialogue dialog conversation prompt question "
        "query instruction passage post transcript history messages premise original artikel "
        "quelltext frage",
        "references": "reference references ref refs gold golden target highlights truth expected "
        "ideal human",
        "context": "context contexts",
        "system": "system sys model bot chatbot agent engine llm generator policy modell système "
        "modèle",
        "text": "summary summaries output outputs response responses resp resps answer candidate "
        "prediction pred hypothesis hyp generated generation completion continuation reply story "
        "decoded zusammenfassung antwort résumé réponse",
        RATER: "rater annotator worker coder reviewer",
    }.items()
    for word in words.split()
}
"""Words in what others call our fields."""
_NUMBERING = r"(^|.*[\W_])(id|idx|no|nr|number|year|seed|fold)\W*|(row_?)?index|session|unnamed.*|"
_NO_RATING = re.compile(
    r"(^|.*[\W_])(n|index|len|length|count|words|tokens|rank|errors|mistakes|rater|annotator|worker"
    r"|coder|reviewer|conv|turns?|temperature|seconds)\W*|.*(rouge|bleu|chrf|meteor|bertscore|perplexity|logprob|latency).*"
    r"|(importance|estime|gruen|mover|bartscore|synthetic|geval|direct|checklist|entities|roles"
    r"|likelihood|extract|grounded|reward|pairs|cascade)([._].*)?",
    re.IGNORECASE,
)
"""Counts, ids of raters, and scores, such as those that `evaljudge export` puts beside texts."""
_TURNED = re.compile(r"\b1 ?= ?(best|highest|excellent|very good)", re.IGNORECASE)
_RATER = r"(r|a|ann|rater|annotator|judge|expert|worker|coder|reviewer)[ _.-]?\d+"
_OF_RATER = re.compile(
    rf"^{_RATER}([ _.:/-]+|$)|(?<=.)([ _.:/-]+({_RATER}|\d+)|[ _]*[([]({_RATER}|\d+)[])])$",
    re.IGNORECASE,
)
"""What says whose rating it is: `_r1` in `fluency_r1`, ` (Rater 1)` in `Fluency (Rater 1)`."""
_NO_PERSON = re.compile(
    r"(?<![a-z])(chat)?(gpt|llm|llama|claude|gemini|gemma|mistral|mixtral|qwen|deepseek|grok|vicuna"
    r"|prometheus|ai|auto|metrics?|model|std|sd|stdev|var|variance|se|sem|min|max|low|high|range|sum"
    r"|total|count|conf|confidence|time|norm|z|rank)(?![a-z])|^judge[_ .:-]+[a-z]+$|[_ .:-]judge$",
    re.IGNORECASE,
)
"""In the name of a column that is probably no rater's, but a model's or a statistic."""
_MEANS = "mean|avg|average|median"
_BESIDE = f"ratings{OF_RATER}"
"""Where that in `ratings` is kept which nothing reads, as `columns` names raters' ratings in it."""
_AROUND = re.compile(
    rf"^((human|expert|{_MEANS}|ratings?|scores?)[_ ./:-]+)+"
    rf"|([_ ./:-]+(human|expert|{_MEANS}|ratings?|scores?|\(.*\)))+$",
    re.IGNORECASE,
)
_VIEWS = re.compile(r"\s*\d{2,3},\d{3}\s*")  # 92,510: no decimal comma
_BARE = r"[A-Za-z_][\w.-]*"  # what YAML needs no quotes for
_GRADES = {
    *("excellent", "very good", "good", "fair", "average", "poor", "very poor", "bad", "terrible"),
    *("strongly agree", "agree", "neutral", "disagree", "strongly disagree", "yes", "no"),
    *("high", "medium", "low", "true", "false", "pass", "fail", "ok", "okay"),
}
OVERALL = ("rating", "ratings", "score", "scores", "human", "")


@dataclass(frozen=True, slots=True)
class Advice:
    """What messages say is to be done, and what they call one pair of `columns`."""

    as_options: bool
    skip: str  # what to do so that bad rows are counted and left out
    in_memory: bool = False
    shapes: str = WIDE  # what to do with a table of another shape
    given: Mapping[str, str] = field(default_factory=dict)  # columns that are named already

    def columns(self, columns: Mapping[str, str]) -> str:
        """What to write so that each of these columns, too, is read as one of our fields."""
        if self.as_options:
            options = (f"--column {quote(f'{theirs}={ours}')}" for theirs, ours in columns.items())
            return f"`{' '.join(options)}`"
        columns = {**self.given, **columns}
        if self.in_memory:
            return (
                f"`columns={columns!r}` (in a configuration, `corpus: {{'path': …, 'columns': …}}`)"
            )
        pairs = ", ".join(
            f"{theirs if re.fullmatch(_BARE, theirs) else repr(theirs)}: {ours or repr(ours)}"
            for theirs, ours in columns.items()
        )
        return f"`corpus: {{path: …, columns: {{{pairs}}}}}`"

    def column(self, theirs: str, ours: str) -> str:
        return f"--column {theirs}={ours}" if self.as_options else f"corpus.columns.{theirs}"


CONFIGURATION = Advice(False, "set `bad_rows: skip`")
OPTIONS = Advice(True, "give `--skip-bad-rows`")
IN_INIT = replace(OPTIONS, shapes=A_ROW_EACH)
MELT = (
    "each text needs a row: where systems have columns of texts, `frame.melt([...], "
    "var_name='system', value_name='text')` makes rows, with the other columns in the list"
)
IN_MEMORY = Advice(False, "set `bad_rows` to 'skip'", in_memory=True, shapes=MELT)


def named_columns(pairs: Iterable[str] | None) -> dict[str, str]:
    """A command line's THEIRS=OURS, split at the last `=`, since THEIRS may contain one."""
    named = {}
    for pair in pairs or ():
        theirs, equals, ours = pair.rpartition("=")
        if not equals or not theirs:
            raise UserError(f"--column {pair}: write it as THEIRS=OURS")
        named[theirs] = ours
    return named


class ColumnNames:
    def __init__(
        self, names: Mapping[str, str], advice: Advice = CONFIGURATION,
        numbers: Collection[str] = ("value",),
    ) -> None:  # fmt: skip
        """`numbers`: columns besides ratings in which a decimal comma is read."""
        self.numbers = numbers
        for theirs, ours in names.items():
            if ours == AXIS:
                raise UserError(f"{advice.column(theirs, ours)}: put an axis in place of AXIS")
            is_one = ours.startswith(DOTTED) and ours != DOTTED
            if not is_one and ours not in ("", *KNOWN_FIELDS):
                is_axis = (axis := ours.rpartition(".")[2]) in known_axes()
                fields = [f"{DOTTED}{axis}"] if is_axis else [*KNOWN_FIELDS, AXIS]
                said = unknown("field", ours, fields)
                if theirs in KNOWN_FIELDS and "did you mean" not in said:
                    said += f"; the other way round: {advice.columns({ours: theirs})}"
                raise UserError(f"{advice.column(theirs, ours)}: {said}")
            if axis := _axis_of_dotted(ours.removeprefix(DOTTED)):
                said = f"give each rater's column as `{DOTTED}{axis}`: several may have one axis"
                raise UserError(f"{advice.column(theirs, ours)}: {said}")
        self.advice = replace(advice, given=names)
        self._names = names
        self._fields = {theirs: ours or LEFT_OUT for theirs, ours in names.items()}
        for theirs, ours in names.items():
            if raters := self.raters_of(ours.removeprefix(DOTTED)):
                self._fields[theirs] = f"{ours}{OF_RATER}{raters.index(theirs)}"
        self._unseen, self.seen = dict.fromkeys(names), dict[str, None]()
        self._inner = [name for name in names if "." in name]

    def theirs(self, ours: str) -> str:
        """The user's name of a column, by ours."""
        return next((name for name, field in self._fields.items() if field == ours), ours)

    def raters_of(self, axis: str) -> list[str]:
        """The columns of an axis that has one for each rater, in their order."""
        columns = sorted(name for name, ours in self._names.items() if ours == f"{DOTTED}{axis}")
        return columns if len(columns) > 1 else []

    def has_part_of(self, name: str) -> bool:
        return any(inner.startswith(f"{name}.") for inner in self._inner)

    def header(self, names: Iterable[str], file: str) -> list[str]:
        """A table's columns renamed. Two of the same name are refused: one would hide the other;
        but several may be raters of one axis (see `with_ratings`)."""
        own = list(names)
        renamed = list(map(self._name, own))
        for name in renamed:
            if name not in ("", LEFT_OUT) and renamed.count(name) > 1:
                twice = f"two columns are read as {shown(name)}: "
                if (theirs := self.theirs(name)) != name and name in own:
                    twice += f"to read `{theirs}` alone, give {self.advice.columns({name: ''})}"
                else:
                    twice += "give one of them another name in the file"
                raise UserError(f"{file}: {twice}")
        return renamed

    def fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """An object's keys renamed, and those of the candidates in it."""
        names = [(name, ours) for name in fields if (ours := self._name(name)) != LEFT_OUT]
        renamed = {ours: fields[name] for name, ours in names}
        if len(renamed) < len(names):
            _refuse_twice(ours for _, ours in names)
        return in_candidates(renamed, self.fields)

    def parts(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """With the keys inside others that have names, also in candidates."""
        if not self._inner:
            return dict(fields)
        inner, whole = list[tuple[str, Any]](), fields
        for name in self._inner:
            value, whole = _apart(whole, name)
            if value is not None and (ours := self._name(name)) != LEFT_OUT:
                inner.append((ours, value))
        if whole is not fields:  # what stands at the row itself is in `ratings` by now
            whole = {n: value for n, value in whole.items() if not n.startswith(DOTTED)}
        _refuse_twice([*whole, *(name for name, _ in inner)])
        read = {**whole, **dict(inner)}
        if isinstance(rated := read.get("ratings"), Mapping) and self.has_part_of("ratings"):
            axes = {name.partition(OF_RATER)[0].removeprefix(DOTTED) for name, _ in inner}
            axes |= {n for n, v in rated.items() if isinstance(v, Mapping)} - known_axes()
            read["ratings"] = {n: v for n, v in rated.items() if n not in axes and v is not None}
            if beside := {n: v for n, v in rated.items() if n in axes and v is not None}:
                read[_BESIDE] = beside
        return in_candidates(with_ratings(read) if inner else read, self.parts)

    def refuse_unseen(self) -> None:
        for name in self._unseen:
            message = unknown("column", name, self.seen)
            raise UserError(f"{self.advice.column(name, self._names[name])}: {message}")

    def _name(self, name: str) -> str:
        self._unseen.pop(name, None)
        if len(self.seen) < MOST:
            self.seen[name] = None
        return self._fields.get(name, name)


def _refuse_twice(ours: Iterable[str]) -> None:
    if twice := [name for name, times in Counter(ours).items() if times > 1]:
        raise RefusedError(f"two keys are read as {shown(twice[0])}: take one of them")


def _apart(fields: Mapping[str, Any], name: str) -> tuple[Any, Mapping[str, Any]]:
    """What a name such as `people.dr. b.tone` stands for, and the fields without it."""
    if name in fields:
        return fields[name], {n: value for n, value in fields.items() if n != name}
    for key, value in fields.items():
        if isinstance(value, Mapping) and name.startswith(f"{key}."):
            found, rest = _apart(value, name.removeprefix(f"{key}."))
            if rest is not value:
                kept = {n: rest if n == key else v for n, v in fields.items()}
                return found, kept if rest else {n: v for n, v in kept.items() if n != key}
    return None, fields


AS_THEY_ARE = ColumnNames({})


class Unread:
    """Names in rows that nothing reads, and what they probably stand for."""

    def __init__(self, advice: Advice = CONFIGURATION) -> None:
        self.advice = advice
        self._ratings = dict[str, str | None]()
        """The field that each name would be, `ratings.tone`; None if no value is a rating."""
        self._odd = Counter[str]()  # at most 0 where few of the values are no ratings
        self.by_rater = dict[str, str]()
        """The field of each name of a rater's rating on an axis, `people.anna.fluency`."""
        self.no_numbers = dict[str, str]()  # such a text under each name
        self._longest = Counter[str]()  # text under each name
        self.known = set[str]()  # our fields that have a value in some row
        self._axes = set[str]()  # the axes on which ratings are read, `ratings.tone`

    def see(self, fields: Mapping[str, Any]) -> None:
        nested = fields.get("candidates")
        self._see(fields, KNOWN_FIELDS if nested is None else OF_DOCUMENT)
        for candidate in nested if isinstance(nested, list) else ():
            if isinstance(candidate, Mapping):
                self._see(candidate, OF_CANDIDATE)

    def _see(self, fields: Mapping[str, Any], known: Collection[str]) -> None:
        for name, value, axis in _by_rater_apart(fields):
            is_rating = axis in known_axes()
            if not axis and (name in known or name.startswith(DOTTED)):
                if value is not None:
                    self.known.add(name.partition(".")[0])
                    self._axes.add(name.partition(OF_RATER)[0])
                    self._note_length(name, value)
            elif name in self._ratings or len(self.by_rater if is_rating else self._ratings) < MOST:
                if is_rating:
                    self.by_rater[name] = f"{DOTTED}{axis}"
                self._ratings.setdefault(name, None)
                if not is_absent(value):
                    field = _rating_field(name, value)
                    self._ratings[name] = field or self._ratings[name]
                    may_slip = not field_called(name)  # an answer may be a number, too
                    self._odd[name] += -1 if field else ODD_AMONG - 1 if may_slip else 1 << 60
                    if isinstance(value, str | bool) and not field:
                        self.no_numbers.setdefault(name, f"{value}")
                self._note_length(name, value)

    def _note_length(self, name: str, value: Any) -> None:
        length = len(value) if isinstance(value, str) else 0
        self._longest[name] = max(self._longest[name], length)

    def notes(self) -> list[str]:
        ratings = {  # a mean beside the ratings that it is of is none
            name: to
            for name, to in self.rated.items()
            if not _NO_PERSON.search(name)
            and (to not in self._axes or not re.search(_MEANS, name, re.IGNORECASE))
        }
        axes = {name for name in self.no_numbers if name and axis_called(name) in known_axes()}
        in_words = [n for n, cell in self.no_numbers.items() if cell.casefold() in _GRADES]
        said = {*ratings, *(no_axes := [n for n in in_words if n not in axes]), *self._fields()}
        rest = [name for name in self._ratings if name not in said]
        return [
            *(
                f"`{name}` is an axis, but "
                + (
                    "1 is best there: turn it round, as the largest rating is taken for the best"
                    if _TURNED.search(name)
                    else f"its cells such as {shown(cell)} are no numbers"
                )
                for name, cell in self.no_numbers.items()
                if name in axes - {*ratings}
            ),
            *self._note("these look like ratings", ratings, {}),
            *(
                f"`source` is short, and `{name}` looks like the documents: "
                f"give {self.advice.columns(self._in_place_of_source())}"
                for name in self._in_place_of_source()
                if name != "source"
            ),
            *(
                f"`{name}` is not read: it has words such as {shown(self.no_numbers[name])}: if "
                "they are ratings, write numbers in their place"
                for name in no_axes
            ),
            *self.hints({}),
            *([f"not read: {named(rest)}"] if rest else []),
        ]

    def hints(self, unknown: Mapping[str, str], with_ratings: bool = False) -> list[str]:
        """What our fields may have been called, where a row lacks one. `unknown`: those that only
        the user can name."""
        texts = [name for name in self._ratings if field_called(name) == "text"]
        if texts and "source" in unknown.values() and "text" not in self.advice.given.values():
            unknown = {"text": "source", texts[0]: "text"} if "text" in self.known else unknown
        elif unknown.get("THEIR_SOURCE") and "context" in self.known:
            theirs = next((n for n, to in self.advice.given.items() if to == "context"), "context")
            unknown = {n: to for n, to in unknown.items() if to != "source"} | {theirs: "source"}
        if unknown and (self.advice.as_options or not self._fields()):
            return [f"name the column: {self.advice.columns(unknown)}"]
        axes = {f"{DOTTED}{axis}" for axis in known_axes() if with_ratings}
        rated = {name: to for name, to in self.likely().items() if to in axes}
        return self._note("these have likely names", {**self._fields(), **rated}, unknown)

    def likely(self) -> dict[str, str]:
        """Which of our fields each name probably stands for; of two for one field, the first, of
        two for the source the one with longer texts, but all columns of single raters."""
        fields, length = self._fields(), self._longest
        longest = sorted(fields, key=lambda n: -length[n] if fields[n] == "source" else 0)
        found = _first_for_each({name: fields[name] for name in longest})
        found |= _of_raters(self.rated, self._axes, self.by_rater)
        outer = {name for name in found for g in self.advice.given if g.startswith(f"{name}.")}
        known = {name: found[name] for name in self._ratings if name in found.keys() - outer}
        return {**known, **self._in_place_of_source(), **self._text_as_source(known)}

    def _text_as_source(self, likely: Mapping[str, str]) -> dict[str, str]:
        """Of `text` and `summary` the longer is the source."""
        text = next((name for name in self._longest if name.casefold() == "text"), "")
        made = [name for name in self._ratings if field_called(name) == "text"]
        has_source = "source" in {*self.known, *likely.values()} or len(made) != 1
        is_longer = text and not has_source and self._longest[text] > 2 * self._longest[made[0]]
        return {text: "source", made[0]: "text"} if is_longer else {}

    def _in_place_of_source(self) -> dict[str, str]:
        """Where `source` names a newspaper, what probably is the source."""
        texts = [name for name in self._ratings if field_called(name) == "source"]
        longest = max(texts, key=self._longest.__getitem__, default="")
        length = self._longest["source"]
        is_name = "source" in self.known and length <= LONGEST_NAME < self._longest[longest] / 2
        return {longest: "source", "source": ""} if is_name else {}

    def lacks_texts(self, given: Mapping[str, str]) -> bool:
        """Whether no column is known or likely for what is judged, or the likely one has none."""
        columns = {to: name for name, to in self.changed(self.likely(), given).items()}
        return any(not self._longest[columns.get(field, field)] for field in ("source", "text"))

    def changed(self, columns: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
        """A field other than ratings has one column; without a field, a column is not read; nor is
        one as a whole of which a part is."""
        outer = {name.partition(".")[0] for name in changes if name not in self._ratings}
        taken = {to for to in changes.values() if not to.startswith(DOTTED)}
        kept = {name: to for name, to in columns.items() if to not in taken and name not in outer}
        both = {**kept, **changes}.items()
        return {name: to for name, to in both if to or name in KNOWN_FIELDS or "." in name}

    def taken(self, given: Mapping[str, str], axes: Iterable[str]) -> dict[str, str]:
        """The columns that are given, and likely ones for what is lacking; ratings only on axes
        that a task has, or that are named here."""
        rated = {f"{DOTTED}{axis}" for axis in (*known_axes(), *axes)} - {*given.values()}
        likely = {n: to for n, to in self.likely().items() if to in rated or to in KNOWN_FIELDS}
        lacking = {n: to for n, to in likely.items() if to.partition(".")[0] not in self.known}
        return self.changed(lacking, given)

    def shape(self) -> list[str]:
        """What to do where no column, or several, may be the texts."""
        if any(name.count(" ") >= FEWEST_WORDS for name in self._longest):
            return ["is the header missing? The first line looks like texts, not like names"]
        if max(self._longest.values(), default=0) <= LONGEST_NAME:
            return ["no column holds texts: add them from the table that they were rated in"]
        return [self.advice.shapes]

    def refuse_wide(self, path: str, given: Mapping[str, str], advice: Advice = OPTIONS) -> None:
        """Of columns of several systems' texts one would be read, and the others dropped."""
        fields = self._fields()
        texts = [name for name, field in fields.items() if field == "text"]
        is_long = "system" in {*self.known, *fields.values(), *given.values()}
        if len(texts) > 1 and not is_long and "text" not in given.values():
            one = f"to judge one alone, give {OPTIONS.columns({texts[0]: 'text'})}"
            raise UserError(
                f"{path}: several columns look like texts ({named(texts)}): {advice.shapes}; {one}"
            )

    @property
    def rated(self) -> dict[str, str]:
        """The field of each name whose values look like ratings."""
        return {n: to for n, to in self._ratings.items() if to and self._odd[n] <= 0}

    @property
    def names(self) -> list[str]:
        return list(self._ratings)

    def _note(self, about: str, names: Collection[str], unknown: Mapping[str, str]) -> list[str]:
        likely = {name: field for name, field in self.likely().items() if name in names}
        advised = self.advice.columns({**self.advised(likely), **unknown})
        where = ", where AXIS is the name that your judges or scores use" if AXIS in advised else ""
        said = f"not read, but {about}: {named(names)}. If so, give {advised}{where}"
        return [said] if names else []

    def unread_ratings(self, seen: Collection[str]) -> dict[str, str]:
        """The fields of columns that look like people's ratings and are not among these."""
        rated = {n: to for n, to in self.rated.items() if not _NO_PERSON.search(n)}
        return self.advised(
            {n: to for n, to in (rated | self.likely()).items() if n in rated.keys() - seen}
        )

    def advised(self, likely: Mapping[str, str]) -> dict[str, str]:
        """The field of each name, with AXIS where only the user can name the axis."""
        return {
            n: to if re.fullmatch(r"(ratings\.)?[^\W\d][\w-]*", to) else AXIS
            for n, to in likely.items()
        }

    def _fields(self) -> dict[str, str]:
        """The field other than ratings that each name probably stands for."""
        lacking = [f for f in KNOWN_FIELDS if f not in self.known and f != "ratings"]
        texts = [f for f in lacking if f != RATER]
        found, rated = dict[str, str](), self.rated
        for name in (name for name in self._ratings if name not in rated):
            alike = [f for f in texts if f[0] == name[:1].casefold()]  # not `preference`
            near = get_close_matches(name.casefold(), alike, n=1, cutoff=0.8)
            field = field_called(name) or "".join(near)
            if field == "doc_id" and self.no_numbers.get(name, "").count(" ") >= FEWEST_WORDS:
                field = "source"
            if field in lacking and field != name:
                found[name] = field
        return found


def named(names: Collection[str]) -> str:
    first = ", ".join(f"`{name}`" for name in islice(names, MOST_NAMED))
    return f"{first} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else first


def field_called(name: str) -> str:
    """`generated_text` -> text, `articleId` -> doc_id, `gold_answer` -> references, `source_url` ->
    nothing: what the last word says. An id of texts or of raters is no id of documents."""
    apart = re.sub("(?<=[a-z])(?=[A-Z])", " ", name).casefold()
    words = [word for word in re.findall(r"[^\W\d_]+", apart) if word not in ("text", "name")]
    known = [_WORDS.get(word, "") for word in words if word not in ("id", "nr")]
    last = known[-1] if known else "doc_id"
    if words and words[-1] in ("id", "nr"):
        is_of_document = last in ("doc_id", "source") or "story" in words  # several texts have it
        return last if last in ("system", RATER) else "doc_id" if is_of_document else ""
    return "references" if last and "references" in known else last if words else ""


def _by_rater_apart(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Each name and value; {"people": {"dr. b": {"fluency": 2}, "tone": 3}} is those of
    `people.dr. b.fluency` and `people.tone`, each with its axis."""
    for name, value in fields.items():
        inner = value if isinstance(value, Mapping) else {}
        outer, rest, raters = name.removesuffix(OF_RATER), dict(inner), list[str]()
        for rater, axes in inner.items():
            is_rater = isinstance(axes, Mapping) and rater not in known_axes()
            if is_rater and (name == _BESIDE or not known_axes().isdisjoint(axes)):
                raters.append(rater)
                rest.pop(rater)
                yield from ((f"{outer}.{rater}.{axis}", n, axis) for axis, n in axes.items())
        for other in list(rest):
            axis = other if raters and name != "ratings" else _axis_of_dotted(other)
            if name == _BESIDE or any(other in inner[rater] for rater in raters):
                axis = f"{outer}.{other}"  # their mean
            if axis and rest[other] is not None:
                yield f"{outer}.{other}", rest.pop(other), axis
        if rest or not inner:
            yield name, rest or value, ""


def _axis_of_dotted(name: str) -> str:
    """`fluency` of `dr. b.fluency` or of `fluency.dr. b`."""
    parts = name.split(".")
    return next((p for p in (parts[-1], parts[0]) if len(parts) > 1 and p in known_axes()), "")


def _rating_field(name: str, value: Any) -> str:
    """The field of ours that a column of ratings would be; empty where the value is no rating."""
    each = value if isinstance(value, list) else [value]
    if (
        each
        and all(isinstance(one, Mapping) for one in each)
        and name.casefold() not in known_axes()
    ):
        numbers = [inner for one in each for inner in one.values() if not is_absent(inner)]
        are_scores = _NO_PERSON.search(name) or all(map(_NO_RATING.fullmatch, each[0]))
        are_scores = are_scores or (
            each is value and known_axes().isdisjoint(map(str.casefold, each[0]))
        )
        is_one = not are_scores and numbers and all(map(_may_be_rating, numbers))
        return "ratings" if is_one and name != "ratings" else ""
    axis = axis_called(name)
    is_id = (
        _NO_RATING.fullmatch(name) or _TURNED.search(name) or axis.isdecimal() or is_numbering(name)
    )
    return f"{DOTTED}{axis}" if _may_be_rating(value) and not is_id else ""


def is_numbering(name: str) -> bool:
    """Whether a column's numbers only tell rows, documents or raters apart."""
    return bool(re.fullmatch(_NUMBERING, name, re.IGNORECASE)) or field_called(name) == "doc_id"


def axis_called(name: str) -> str:
    """`human_fluency` -> fluency, `Fluency (1-5)` -> fluency, `score` -> overall, and of keys in
    keys the last: `scores.tone.rating` -> tone."""
    axis = re.split(r"(?<=\S)\.(?=\S)", _AROUND.sub("", name))[-1]
    axis = "overall" if {name.casefold(), axis.casefold()} & {*OVERALL} else axis
    axis = axis.casefold() if axis.casefold() in known_axes() else axis
    return axis_called(_OF_RATER.sub("", name)) if axis.isdecimal() and axis != name else axis


def _of_raters(
    ratings: Mapping[str, str], read: Iterable[str], by_rater: Mapping[str, str]
) -> dict[str, str]:
    """The axis of each column, in which columns of single raters share one (`fluency_r1`,
    `fluency_r2`, or `anna_fluency`, `ben_fluency`), also with a column that is read; one of
    their means is left out beside them, but `fluency` beside `fluency_r2` alone is a rater's."""
    bare = {name: _OF_RATER.sub("", name) for name in ratings}
    no_means = [name for name in ratings if not re.search(_MEANS, name, re.IGNORECASE)]
    taken = {*(ratings[name] for name in no_means), *read, *by_rater.values()}
    for name in ratings:
        *first, last = re.split(r"_|\.| - |: ", name.casefold())
        if "_".join(first) in known_axes():
            bare[name] = "_".join(first)
        elif last in known_axes() and f"{DOTTED}{last}" not in taken:  # not `gpt4_fluency` there
            bare[name] = last
    by_people = [name for name in ratings if not _NO_PERSON.search(name)]
    axes = {name: f"{DOTTED}{axis_called(bare[name])}" for name in by_people if bare[name] != name}
    axes = {n: a for n, a in axes.items() if a != ratings[n] or _OF_RATER.search(n)}
    shared = Counter(chain(read, axes.values()))
    numbered = {a for name, a in axes.items() if shared[a] == 1 and _OF_RATER.search(name)}
    alone = [n for n in by_people if n in no_means and ratings[n] in numbered]
    whole = _first_for_each({name: ratings[name] for name in alone})
    shared.update(whole.values())
    raters = {n: a for n, a in axes.items() if shared[a] > 1} | whole
    raters |= {name: by_rater[name] for name in by_people if name in by_rater}
    others = {n: a for n, a in ratings.items() if n not in raters and a not in raters.values()}
    return raters | _first_for_each(others)


@cache
def known_axes() -> Set[str]:
    return {axis.name for task in BUILT_IN for axis in load_task(task).axes}


def _may_be_rating(value: Any) -> bool:
    if isinstance(value, list | Mapping):
        each = value.values() if isinstance(value, Mapping) else value
        numbers = [number for number in each if not is_absent(number)]
        if isinstance(value, list) and any(isinstance(number, Mapping) for number in numbers):
            return False
        return 0 < len(numbers) <= MOST_RATERS and all(map(_may_be_rating, numbers))
    if isinstance(value, str):
        value, _ = plain(value)
        if value.startswith("[") and isinstance(each := json_or_text(value), list):
            return _may_be_rating(each)
        if is_absent(value):  # `0 - n/a`
            return True
    try:
        is_one = is_number(value) or (isinstance(value, str) and not _VIEWS.fullmatch(value))
        return is_one and abs(float(str(value).replace(",", "."))) <= MOST
    except (ValueError, OverflowError):
        return False


def _first_for_each(ours: Mapping[str, str]) -> dict[str, str]:
    """The first of several names that stand for one field: a field can have only one."""
    chosen = {to: theirs for theirs, to in reversed(list(ours.items()))}
    return {theirs: to for theirs, to in ours.items() if chosen[to] == theirs}
