"""Entity-level checking: which facts are missing, wrong, misplaced or badly written, and where.

After "Evaluate Summarization in Fine-Granularity" (SumAutoEval). The README says what is asked and
how it is scored. The rubric is a brief of the document; it and a candidate's entities are extracted
(extraction.py); several prompts vote on each of them (voting.py), and the votes become verdicts and
shares by equations.py, or by the model of modelled.py.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from evaljudge.judges.collector import CollectorOptions
from evaljudge.judges.entities import LABELS, equations, extraction
from evaljudge.judges.entities.equations import Decide, majority
from evaljudge.judges.entities.extraction import Extraction, RubricEntry
from evaljudge.judges.entities.findings import counted, report
from evaljudge.judges.entities.labels import read_labels
from evaljudge.judges.entities.modelled import by_model, model_votes, patterns
from evaljudge.judges.entities.voting import CHOICES, TEMPLATES, Sheet, Voting
from evaljudge.judges.protocol import Judge, Judged, Learnt, Part, Ratings
from evaljudge.judges.shared.asking import reason_unscorable, scored
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.judges.shared.structured import Bill
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Options, Writing
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Brief, Case, Document, Score, Verdict
from evaljudge.settings import Settings, read_settings

MODELLED = ".modelled"
MODELLED_SHARES = ("completeness", "correctness")
MODELLED_AXES = ("consistency", "relevance")
"""The shares and axes that rest on more than two prompts."""
RUBRIC = "rubric"
Count = Annotated[int, Field(ge=1)]


class EntitiesSettings(Settings):
    rubric: Literal["auto", "references", "reference", "source"] = "auto"
    at_least: Count | None = None
    """How many of several references must have an entity; None: the same share as 5 of 11."""
    match: Literal["model", "embedding"] = "model"
    encoder: str | None = None
    similar: Annotated[float, Field(gt=0, le=1)] = 0.75
    reasoning: bool = False
    batch: Annotated[int, Field(ge=0, le=50)] = 0
    votes: Literal["majority", "modelled"] = "majority"
    axes: Sequence[Literal["consistency", "relevance", "coherence", "fluency"]] | None = None
    """The axes of the task that `entities` scores; None: all of SummEval's, of a summary."""
    consistency: Literal["equation-3", "supported"] = "equation-3"
    sections: Mapping[str, str] = {}
    """What belongs under a heading, where its name does not say enough."""
    most_entities: Annotated[int, Field(ge=1, le=200)] = 40
    max_tokens: Count = 2048

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.match == "embedding" and not self.encoder:
            raise ValueError("match: embedding needs an encoder: a hub name or a folder")
        if self.match == "model" and {"encoder", "similar"} & self.model_fields_set:
            raise ValueError("encoder and similar need `match: embedding`")
        return self


class Entities(Judge):
    kind = "entities"
    version = "2"
    estimated = "It is assumed that a text has half as many entities as are allowed."
    axes = (ANY_AXIS,)

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self.name = name
        self._settings = chosen = read_settings(EntitiesSettings, settings, f"judges.{name}")
        of_task = equations.AXES if task.name == "summary" else ()
        wanted = of_task if chosen.axes is None else chosen.axes
        self._human = [axis.name for axis in task.axes if axis.name in wanted]
        how = Writing(chosen.max_tokens)
        self.encoders: Sequence[str] = [chosen.encoder] if chosen.encoder else []
        origin_and_match = (chosen.rubric, chosen.encoder, chosen.similar)
        self._extraction = Extraction(task, how, chosen.most_entities, *origin_and_match)
        self._voting = Voting(task, how, chosen.reasoning, chosen.batch)
        by_choice = list(CHOICES.values()) if self._voting.by_choice else []
        by_model = [extraction.COVERED, extraction.STATED] if chosen.match == "model" else []
        self.options: Sequence[Options] = list(dict.fromkeys(by_choice + by_model))
        self._writing_hash = task.pack.hash(extraction.TEMPLATES)
        self._voting_hash = task.pack.hash(TEMPLATES)
        self._nouns = dict(task.nouns)

    @property
    def asking(self) -> Mapping[str, Any]:
        prompts = {"writing": self._writing_hash, "voting": self._voting_hash}
        unused = set() if self._settings.match == "embedding" else {"encoder", "similar"}
        used = self._settings.model_dump(exclude={"votes", "axes", "consistency"} | unused)
        return used | {"prompts": prompts, "nouns": self._nouns}

    @property
    def reading(self) -> Mapping[str, Any]:
        return self._settings.model_dump(include={"consistency"})

    @property
    def _readings(self) -> Mapping[str, tuple[str, Sequence[str], bool]]:
        """What each scorer reads of a verdict: a share, or the numbers on human axes (""); on
        which axes; and whether by the model of the votes."""
        readings = {"": ("", self._human, False)}
        readings |= {f".{share}": (share, list(self.axes), False) for share in equations.SHARES}
        if self._settings.votes == "modelled":
            readings[MODELLED] = ("", [a for a in self._human if a in MODELLED_AXES], True)
            readings |= {f".{s}{MODELLED}": (s, list(self.axes), True) for s in MODELLED_SHARES}
        return {f"{self.name}{suffix}": how for suffix, how in readings.items() if how[1]}

    @property
    def meanings(self) -> Mapping[str, str]:
        rating = "A share of entities on the scale of ratings, from 1 (none) to 5 (all)."
        shares = {f".{name}": f"{about}, from 0 to 1." for name, about in equations.SHARES.items()}
        modelled = {f".{name}{MODELLED}": shares[f".{name}"] for name in MODELLED_SHARES}
        return {"": rating, MODELLED: rating} | shares | modelled

    @property
    def scorers(self) -> Sequence[str]:
        return list(self._readings)

    def axes_of(self, scorer: str) -> Sequence[str]:
        return self._readings[scorer][1]

    def parts(self) -> list[Part]:
        chosen = self._settings
        used = {"rubric", "match", "most_entities", "max_tokens"}
        used |= {"encoder", "similar"} if chosen.match == "embedding" else set()
        depends_on = {"prompts": self._writing_hash, "nouns": self._nouns}
        depends_on |= chosen.model_dump(include=used)
        shows, chooses = chosen.rubric != "source", chosen.match == "model"
        return [Part(ANY_AXIS, RUBRIC, depends_on, shows_references=shows, chooses=chooses)]

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        if known:
            return []
        bill = Bill()
        content: dict[str, Any] | Failed = Failed("empty source")
        if document.source.strip():
            content = await self._extraction.rubric(document, model, bill)
        named = (document.doc_id, "", self.kind, ANY_AXIS, RUBRIC)
        if isinstance(content, Failed):
            return [Brief(*named, {}, "unscored", content.reason, tokens=bill.tokens)]
        more = {"replies": bill.replies} | ({"after": bill.after} if bill.after else {})
        return [Brief(*named, content | more, tokens=bill.tokens)]

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        entries = self._rubric_of(briefs)
        truth = self._truth(case.document, entries)
        wanted = entries if isinstance(entries, Failed) else [entry["entity"] for entry in entries]
        readable = [c for c in case.candidates if not reason_unscorable(case.document, c)]
        extracted = await self._extraction.extract([c.text for c in readable], model)
        sheets = {
            candidate.system:
                Sheet(case.document, candidate, wanted, truth, its, self._settings.sections)
            for candidate, its in zip(readable, extracted, strict=True)
        }  # fmt: skip
        await self._voting.ask([q for sheet in sheets.values() for q in sheet.questions], model)
        verdicts = []
        for candidate in case.candidates:
            key = (case.document.doc_id, candidate.system, self.name, ANY_AXIS)
            if sheet := sheets.get(candidate.system):
                verdicts.append(Verdict(*key, sheet.evidence, tokens=sheet.bill.tokens))
            else:
                reason = reason_unscorable(case.document, candidate)
                verdicts.append(Verdict(*key, {}, "unscored", reason))
        return Judged(verdicts)

    def _rubric_of(self, briefs: Sequence[Brief]) -> Sequence[RubricEntry] | Failed:
        if not briefs:
            return Failed("the rubric was never written")
        if briefs[0].status != "ok":
            return Failed(briefs[0].reason)
        return extraction.rubric_of(briefs[0].content, self._settings.at_least)

    def _truth(self, document: Document, entries: Sequence[RubricEntry] | Failed) -> str | None:
        """The ground truth beside the source: the one reference, or what many have in common."""
        match extraction.origin_of(document, self._settings.rubric):
            case "reference":
                return next((text for text in document.references if text.strip()), None)
            case "references" if not isinstance(entries, Failed):
                return extraction.outline(entries)
        return None

    def score(self, verdict: Verdict) -> list[Score]:
        return self._scores(verdict, majority)

    def fit(self, verdicts: Iterable[Verdict], ratings: Callable[[], Ratings]) -> Learnt | None:
        if self._settings.votes == "majority":
            return None
        models = model_votes(patterns(verdicts))
        return {aspect: asdict(model) for aspect, model in models.items()}

    def score_by(self, learnt: Learnt, verdict: Verdict) -> list[Score]:
        return self._scores(verdict, by_model(learnt))

    def collecting(self, wanted: CollectorOptions) -> Callable[[], SumCollector]:
        file = wanted.keys.get(LABELS)
        labels = read_labels(file) if file else None
        reported = partial(report, self.name, wanted, labels)
        return partial(SumCollector, partial(counted, labels), reported)

    def _scores(self, verdict: Verdict, modelled: Decide) -> list[Score]:
        is_paper = self._settings.consistency == "equation-3"
        consistent = "consistency" if is_paper else "supported"
        voted, weighed = (
            equations.shares_of(verdict, decide, consistent) for decide in (majority, modelled)
        )
        return [
            scored(verdict, scorer, axis, (weighed if is_modelled else voted)[share, axis])
            for scorer, (share, axes, is_modelled) in self._readings.items()
            for axis in axes
        ]
