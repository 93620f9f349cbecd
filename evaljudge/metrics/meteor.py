"""METEOR (Banerjee and Lavie 2005): the words that two texts share, and in how many chunks.

    meteor: {}                                  equal words, then equal stems
    meteor: {synonyms: /data/wordnet}           then synonyms: a folder with WordNet's files
    reference "the cat sat on the mat"   text "the cat was sat on the mat"
      ->  6 words in 2 chunks: F 0.984, penalty 0.019, value 0.965

Words of the text are aligned with words of the other text, each with at most one, in stages: equal
words; then, of the words still free, those with the same Porter stem; then those that share a
synset of WordNet. Each stage makes as many links as it can, with the fewest crossings among all
links so far; where those are equal, with the fewest chunks. A chunk is a longest run of linked
words that follow each other in both texts. For m links, all in all:

    P = m / words of the text            R = m / words of the other
    F = P R / (alpha P + (1 - alpha) R)  penalty = gamma (chunks / m)^beta
    value = F (1 - penalty)

alpha 0.9, beta 3 and gamma 0.5 make the paper's own F = 10 P R / (R + 9 P) and 0.5 (chunks / m)^3.

Words are those of ROUGE (see lexical.py), so punctuation is no word. The paper counts the crossings
of each stage by themselves; counting those with earlier links too decides more ties. To find the
fewest crossings of long texts exactly takes too long: the search keeps the `KEPT` best partial
alignments after each word. What later versions of METEOR add is not here: paraphrases, weights of
function words, other languages. Stems and WordNet are for English.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from heapq import nsmallest
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from evaljudge.errors import UserError
from evaljudge.metrics.lexical import NO_WORDS, Lexical, library, porter, words
from evaljudge.metrics.protocol import Value
from evaljudge.metrics.references import Comparison, ReferenceSettings
from evaljudge.settings import read_settings

KEPT = 500
REMEMBERED = 100_000
KINDS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
"""WordNet's files by part of speech, with nltk's letters for them."""
Keys = Callable[[str], frozenset[str]]
"""What a word is known by in a stage: two words match if they have a key in common."""
Links = Sequence[int | None]
"""For each word of a text, the place of the other text's word that it is aligned with."""


class MeteorSettings(ReferenceSettings):
    stems: bool = True
    synonyms: str | None = None
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.9
    beta: Annotated[float, Field(ge=0)] = 3.0
    gamma: Annotated[float, Field(ge=0, le=1)] = 0.5


def meteor(name: str, given: Mapping[str, Any]) -> Lexical:
    where = f"metrics.{name}"
    settings = read_settings(MeteorSettings, given, where)
    made_by = {"library": library("nltk")} if settings.stems or settings.synonyms else {}
    if settings.synonyms:
        made_by["synonyms"] = _version(_wordnet_files(settings.synonyms, where))
    return Lexical(name, settings, made_by, partial(compared, where, settings), version="1")


def compared(where: str, settings: MeteorSettings, other: str) -> Comparison:
    theirs, stages = words(other), _stages(where, settings)

    def value(text: str) -> Value:
        mine = words(text)
        if not mine or not theirs:
            return NO_WORDS
        links = aligned(mine, theirs, stages)
        return score(settings, matches_in(links), chunks_in(links), len(mine), len(theirs))

    return value


def score(settings: MeteorSettings, matches: int, chunks: int, mine: int, theirs: int) -> float:
    if not matches:
        return 0.0
    precision, recall = matches / mine, matches / theirs
    f = precision * recall / (settings.alpha * precision + (1 - settings.alpha) * recall)
    penalty: float = settings.gamma * (chunks / matches) ** settings.beta
    return f * (1 - penalty)


def matches_in(links: Links) -> int:
    return sum(place is not None for place in links)


def chunks_in(links: Links) -> int:
    """A linked word begins a chunk unless it follows the word before it in the other text, too."""
    return sum(b is not None and a != b - 1 for a, b in pairwise([None, *links]))


def aligned(mine: Sequence[str], theirs: Sequence[str], stages: Sequence[Keys]) -> Links:
    links: Links = [None] * len(mine)
    for keys in stages:
        places = defaultdict(set)
        for place in set(range(len(theirs))).difference(p for p in links if p is not None):
            for key in keys(theirs[place]):
                places[key].add(place)
        options = [
            set().union(*(places.get(key, ()) for key in keys(word))) if link is None else {link}
            for word, link in zip(mine, links, strict=True)
        ]
        links = fewest_crossings(options, len(theirs))
    return links


@dataclass(frozen=True, slots=True)
class _Partial:
    """An alignment of a text's first words."""

    used: int = 0
    """The other text's places that are taken, as bits."""
    last: int | None = None
    cost: tuple[int, int, int] = (0, 0, 0)
    """Words left without a place that a largest alignment gives one; crossings, but for those
    among sure links; chunks."""
    links: Any = ()
    """The link of the last word, and the same of the words before it."""

    def linked(self, place: int, crossings: int) -> _Partial:
        chunks = self.last is None or place != self.last + 1
        cost = (self.cost[0], self.cost[1] + crossings, self.cost[2] + chunks)
        return _Partial(self.used | 1 << place, place, cost, (place, self.links))

    def skipped(self, missed: bool) -> _Partial:
        cost = (self.cost[0] + missed, *self.cost[1:])
        return _Partial(self.used, None, cost, (None, self.links))


@dataclass
class _Rivals:
    """Words that compete for the same places, some of which cannot all have one."""

    words: int = 0
    spare: int = 0
    """How many of them are without a place in a largest alignment."""
    places: int = 0
    are_alike: bool = True
    """Whether each of them may take all of the places."""
    seen: int = 0
    """How many of them the search has passed."""

    @property
    def is_sure(self) -> bool:
        return self.words == 1 == self.places.bit_count()

    def join(self, places: int, is_spare: bool) -> None:
        self.are_alike &= self.places in (0, places)
        self.words, self.spare = self.words + 1, self.spare + is_spare
        self.places |= places

    def free(self, used: int, allowed: Set[int]) -> Iterator[int]:
        """The places that the next word may take. Words that are alike need never cross each other,
        and leave enough places to those of them that follow."""
        taken = used & self.places
        due = self.words - self.spare - taken.bit_count() - 1
        for place in allowed:
            if self.are_alike:
                if not taken >> place and (self.places >> place + 1).bit_count() >= due:
                    yield place
            elif not taken >> place & 1:
                yield place


def fewest_crossings(options: Sequence[Set[int]], places: int) -> Links:
    """A largest alignment with the fewest crossings, given the places that each word may take.

    What an alignment of the first words can still become depends on the places that it uses and on
    its last link. Of those equal in both, only the best is kept. Crossings with sure later links,
    as most are, count at once.
    """
    kept, rivals = [_Partial()], _rivals(options, places)
    sure = sum(one.places for one in rivals.values() if one.is_sure)
    for word, allowed in enumerate(options):
        best: dict[tuple[int, int | None], _Partial] = {}
        for one in kept:
            for further in _further(one, allowed, rivals.get(word), sure):
                known = best.setdefault((further.used, further.last), further)
                if further.cost < known.cost:
                    best[further.used, further.last] = further
        kept = nsmallest(KEPT, best.values(), key=lambda one: one.cost)
        if word in rivals:
            rivals[word].seen += 1
    return list(_unwound(kept[0].links))[::-1]


def _further(
    one: _Partial, allowed: Set[int], rivals: _Rivals | None, sure: int
) -> Iterator[_Partial]:
    if rivals is None:
        yield one.skipped(missed=False)
        return
    if rivals.is_sure:
        yield from (one.linked(place, crossings=0) for place in allowed)
        return
    free = list(rivals.free(one.used, allowed))
    for place in free:
        later = sure & ~one.used & (1 << place) - 1
        yield one.linked(place, (one.used >> place).bit_count() + later.bit_count())
    skipped = rivals.seen - (one.used & rivals.places).bit_count()
    if skipped < rivals.spare or not free:
        yield one.skipped(missed=skipped >= rivals.spare)


def _unwound(links: Any) -> Iterator[int | None]:
    while links:
        link, links = links
        yield link


def _rivals(options: Sequence[Set[int]], places: int) -> dict[int, _Rivals]:
    """By word, those that compete with it; none for words without options."""
    from scipy.sparse import bmat, csr_array
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    rows = [word for word, allowed in enumerate(options) for _ in allowed]
    columns = [place for allowed in options for place in allowed]
    if not rows:
        return {}
    may = csr_array((np.ones(len(rows), np.int8), (rows, columns)), (len(options), places))
    matched: NDArray[Any] = maximum_bipartite_matching(may, perm_type="column")
    _, groups = connected_components(bmat([[None, may], [may.T, None]]), directed=False)
    found: dict[int, _Rivals] = defaultdict(_Rivals)
    for word, allowed in enumerate(options):
        if allowed:
            found[groups[word]].join(sum(1 << place for place in allowed), bool(matched[word] < 0))
    return {word: found[groups[word]] for word, allowed in enumerate(options) if allowed}


def _stages(where: str, settings: MeteorSettings) -> Sequence[Keys]:
    stages: list[Keys] = [lambda word: frozenset([word])]
    if settings.stems:
        stages.append(_stem)
    if settings.synonyms:
        stages.append(_wordnet(settings.synonyms, where))
    return stages


@lru_cache(REMEMBERED)
def _stem(word: str) -> frozenset[str]:
    return frozenset([porter()(word)])


@cache
def _wordnet(folder: str, where: str) -> Keys:
    return lru_cache(REMEMBERED)(WordNet(_wordnet_files(folder, where)).synsets)


class WordNet:
    """The synsets of English words and of their base forms, from WordNet's own files.

        WordNet({…}).synsets("cars")  ->  {"noun 02961779", …}

    nltk's reader is not used: it compares the files with another WordNet, from nltk's downloads.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        from nltk.corpus.reader.wordnet import (  # type: ignore[import-untyped, unused-ignore]
            WordNetCorpusReader,
        )

        endings = WordNetCorpusReader.MORPHOLOGICAL_SUBSTITUTIONS
        self._endings = {kind: endings[letter] for kind, letter in KINDS.items()}
        self._senses = {kind: dict(_senses(files[f"index.{kind}"])) for kind in KINDS}
        self._irregular = {kind: dict(_irregular(files[f"{kind}.exc"])) for kind in KINDS}

    def synsets(self, word: str) -> frozenset[str]:
        return frozenset(
            f"{kind} {offset}"
            for kind in KINDS
            for form in self._forms(kind, word)
            for offset in self._senses[kind].get(form, ())
        )

    def _forms(self, kind: str, word: str) -> Iterable[str]:
        regular = [
            word.removesuffix(old) + new for old, new in self._endings[kind] if word.endswith(old)
        ]
        return [word, *self._irregular[kind].get(word, regular)]


def _senses(index: Path) -> Iterator[tuple[str, list[str]]]:
    """A line is a word, its part of speech, how many synsets, …, and at its end their offsets."""
    for line in index.read_text("utf-8").splitlines():
        if not line.startswith(" "):  # the licence
            fields = line.split()
            yield fields[0], fields[-int(fields[2]) :]


def _irregular(exceptions: Path) -> Iterator[tuple[str, list[str]]]:
    for line in exceptions.read_text("utf-8").splitlines():
        form, *bases = line.split()
        yield form, bases


def _wordnet_files(folder: str, where: str) -> Mapping[str, Path]:
    names = [name for kind in KINDS for name in (f"index.{kind}", f"{kind}.exc")]
    files = {name: Path(folder, name) for name in names}
    if lacking := [name for name, path in files.items() if not path.is_file()]:
        raise UserError(
            f"{where}.synonyms: {folder} has no {lacking[0]}: name a folder of this machine with "
            "WordNet's files (`dict` in Princeton's WordNet, or `corpora/wordnet` in nltk's data)"
        )
    return files


def _version(files: Mapping[str, Path]) -> str:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files.values()))
    return f"wordnet@{digest.hexdigest()[:12]}"
