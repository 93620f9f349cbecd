"""index.html: the whole report in one file that loads nothing from elsewhere.

Names and texts of a corpus come from outside. The templates escape all of them, `line` makes each
one line, and the script shows them as text only. The page's content policy allows this one script
and this one style sheet, by their hashes, and no request.

Its texts are columns for its list, which the page's script filters and sorts, and each text with
its evidence, as HTML from a template that escapes every word of the corpus.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup, escape

from evaljudge.analyses import agreement, sections
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.telling import BINS
from evaljudge.records import ANY_AXIS, Candidate, Critique, Document, Score
from evaljudge.report import first, lines, pictures
from evaljudge.sections import Section, View, figures
from evaljudge.text import LONG, direction, harmless, one_line

BEGINNING = 100  # characters of a text in the list


@dataclass(frozen=True)
class AskedPrompt:
    template: str
    how: str  # how the reply is read, in a sentence
    words: str
    reply: str = ""  # the reply that is given to the model, where only its probability is asked for
    times: int = 1  # how often it asked in this way; this prompt is the first
    is_guessed: bool = False  # A placeholder stands in it for an earlier reply


@dataclass(frozen=True)
class Evidence:
    """What one judge says of a text on one axis: in its own form, or as a section."""

    judge: str
    axis: str
    reason: str = ""  # why it is unscored
    view: View | None = None
    section: Section | None = None
    asked: Sequence[AskedPrompt] = ()
    unasked: str = ""  # why the prompts are not shown


@dataclass(frozen=True)
class PageText:
    document: Document
    candidate: Candidate
    scores: Sequence[Score]
    selected: frozenset[str] = frozenset()  # the selections that it is in
    evidence: Sequence[Evidence] = ()
    critiques: Sequence[Critique] = ()


def spread_data(findings: Findings) -> dict[str, Any]:
    """What the page's script needs of all texts: for the threshold, and what scores mean."""
    names = ("scorer", "axis", "low", "high", "counts")
    spreads = [
        {name: getattr(row, name) for name in names} | {"people": list(map(asdict, row.people))}
        for row in findings.spreads
    ]
    common = {"bins": BINS, "spreads": spreads, "candidates": findings.candidates}
    return common | {"meanings": findings.meanings}


def text_data(findings: Findings, texts: Sequence[PageText]) -> dict[str, Any]:
    """The columns of the list; a page without texts has none."""
    if not texts:
        return {}
    scales = [(row.scorer, row.axis) for row in findings.coverage]
    systems = sorted({text.candidate.system for text in texts})
    axes = sorted({axis for text in texts for axis in text.candidate.ratings})
    selections = [rule.name for rule in findings.selections]
    by_scale = [{(s.scorer, s.axis): s for s in text.scores} for text in texts]
    reasons = sorted({s.reason for text in texts for s in text.scores if s.value is None})
    scores = [[found.get(scale) for found in by_scale] for scale in scales]
    # over the whole run, each scorer's disagreement with people on each axis that they rated
    places = {text: at for at, text in enumerate(findings.telling)}
    rows = [places.get((text.document.doc_id, text.candidate.system)) for text in texts]
    apart = {(row.scorer, row.axis): row.apart for row in findings.disagreements}

    def disagreement(scorer: str, scorer_axis: str, axis: str) -> list[float | None] | None:
        column = apart.get((scorer, axis)) if scorer_axis in (axis, ANY_AXIS) else None
        if column is None:
            return None
        return [None if row is None else _rounded(column[row]) for row in rows]

    return {
        "scorers": [{"scorer": scorer, "axis": axis} for scorer, axis in scales],
        "systems": systems,
        "human": axes,
        "reasons": reasons,
        "selections": selections,
        "texts": {
            "doc": [text.document.doc_id for text in texts],
            "system": [systems.index(text.candidate.system) for text in texts],
            "begins": [beginning(text.candidate.text) for text in texts],
            "score": [[_rounded(s.value if s else None) for s in column] for column in scores],
            "reason": [
                [reasons.index(s.reason) if s and s.value is None else -1 for s in column]
                for column in scores
            ],
            "doubt": [[_rounded(s.doubt if s else None) for s in column] for column in scores],
            "rating": [[text.candidate.ratings.get(axis) for text in texts] for axis in axes],
            "disagreement": [[disagreement(*scale, axis) for axis in axes] for scale in scales],
            "selected": [[int(name in text.selected) for text in texts] for name in selections],
        },
    }


def beginning(text: str) -> str:
    if not text.strip():
        return "(empty)"
    return text if len(text) <= BEGINNING else f"{text[:BEGINNING]}…"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def first_of_each(asked: Sequence[AskedPrompt]) -> list[AskedPrompt]:
    first: dict[tuple[str, str], AskedPrompt] = {}
    for ask in asked:
        asked_before = first.setdefault((ask.template, ask.how), replace(ask, times=0))
        first[ask.template, ask.how] = replace(asked_before, times=asked_before.times + ask.times)
    return list(first.values())


_HERE = Path(__file__).parent
NO_DATA = {"bins": 0, "spreads": []}  # for a page without texts
LARGEST = 5_000_000
"""Bytes of a page. To stay below it, prompts are left out, and then the least telling texts."""
Prompts = Literal["all prompts", "first prompts", "no prompts"]
"""How many an opened text holds: all, the first of each kind, or none."""


def page(
    findings: Findings,
    texts: Sequence[PageText] = (),
    data: Mapping[str, Any] | None = None,
    more: Sequence[Section] = (),
) -> str:
    """`data`: what the server that shows all texts gives in place of a few; `more`: sections that
    come before those of the report."""
    if data:
        return _page(findings, [], data, more)
    drawn = ((t, text_html(t, "first prompts")) for t in texts)
    shown = {(t.document.doc_id, t.candidate.system): (t, html) for t, html in drawn}
    places = {name: at for at, name in enumerate(findings.telling)}

    def made_with() -> str:
        kept, bodies = [text for text, _ in shown.values()], [body for _, body in shown.values()]
        return _page(findings, bodies, spread_data(findings) | text_data(findings, kept))

    made = made_with()
    if len(made.encode()) > LARGEST:
        shown = {name: (text, text_html(text, "no prompts")) for name, (text, _) in shown.items()}
        made = made_with()
    while shown and (excess := len(made.encode()) - LARGEST) > 0:
        for name in sorted(shown, key=lambda name: places.get(name, 0), reverse=True):
            if excess > 0:
                excess -= len(shown.pop(name)[1].encode())
        made = made_with()
    return made


def _page(
    findings: Findings,
    bodies: Sequence[Markup],
    data: Mapping[str, Any],
    more: Sequence[Section] = (),
) -> str:
    short = list(first.short_names(data.get("systems", ())).values())
    data = {"others": (), "lead": first.lead(findings), **data, "short": short}
    shown = [*more, *sections(findings)]
    template = environment().get_template("page.html.j2")
    made = template.render(
        findings=findings,
        first=first,
        drawings=pictures,
        texts=bodies,
        more=more,
        sections=shown,
        drawn=pictures.of_sections(shown),
        words=agreement,
        lines=lines,
        figures=figures,
        **frame(data),
    )
    return str(made)


def frame(data: Any = NO_DATA) -> dict[str, Any]:
    return parts(file_text("page.css"), file_text("page.js"), data)


def parts(style: str, script: str, data: Any) -> dict[str, Any]:
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return {
        "data": data,
        "style": Markup(style),
        "style_hash": _hash(style),
        "script": Markup(script),
        "script_hash": _hash(script),
        "data_json": Markup(written.replace("<", "\\u003c")),  # ends no element
        "connect": "connect-src 'self'; " if "token" in data else "",
    }


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def file_text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def text_html(text: PageText, prompts: Prompts) -> Markup:
    axes = list(dict.fromkeys([*(s.axis for s in text.scores), *text.candidate.ratings]))
    by_scorer: dict[str, dict[str, Score]] = {}
    for score in text.scores:
        by_scorer.setdefault(score.scorer, {})[score.axis] = score
    signatures = {score.scorer: score.signature for score in text.scores if score.signature}
    chosen = {"all prompts": list, "first prompts": first_of_each}.get(prompts, lambda _: ())
    body = environment().get_template("text.html.j2").module.body
    return Markup(body(text, axes, by_scorer, signatures, figures, _view_html, chosen))


def _view_html(view: View) -> Markup:
    macros = _macros(view.template)
    return Markup(macros.legend() + macros.text(view.text))


@cache
def environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "line": one_line,
        "direction": direction,
        "long_line": lambda text: one_line(text, LONG),
        "harmless": harmless,
        "axis_name": figures.axis_name,
        "prose": _prose,
        "count": figures.count,
        "rating": _rating,
        "px": lambda number: f"{number:.1f}".removesuffix(".0"),
        "share": lambda part: f"{part * 100:.2f}%",
    }
    return made


def _rating(value: float | None) -> str:
    """A whole number as such: people's ratings mostly are."""
    return figures.NONE if value is None else f"{value:.2f}".removesuffix(".00")


def _prose(line: str) -> Markup:
    """A sentence of a warning: parts in backticks are code, and it begins with a capital letter,
    except for a name with its colon (`synthetic: …`, `geval on fluency: …`)."""
    if not re.match(r"\S+( on \S+)?: ", line):
        line = line[:1].upper() + line[1:]
    parts = [escape(part) for part in re.split("`([^`]+)`", line)]
    parts[1::2] = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
    return Markup("").join(parts)


@cache
def _macros(view: Path) -> Any:
    shared = environment().get_template("words.html.j2").module
    text = view.read_text(encoding="utf-8")
    return environment().from_string(text, {"shared": shared}).module
