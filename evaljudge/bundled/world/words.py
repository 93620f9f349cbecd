"""The world's words: a few hundred, each meaning one thing.

People's names have two syllables (`Bal` + `wick`), so that the names of the test half of the world
are made of known syllables, though none of them is in the training half.
"""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal
from zlib import crc32

import yaml

Half = Literal["train", "test"]

_FILE = Path(__file__).parent / "words.yaml"
_WORDS = {kind: said.split() for kind, said in yaml.safe_load(_FILE.read_text("utf-8")).items()}
SYLLABLES = _WORDS["first_syllables"], _WORDS["second_syllables"]
VERBS, NUMBERS = _WORDS["verbs"], _WORDS["numbers"]
OBJECTS, PLACES = _WORDS["objects"], _WORDS["places"]
TITLES = {"Mr": "he", "Ms": "she"}
FICTIONS = ("Erewhon", "Utopia", "Arcadia", "Camelot")
"""Places that no report mentions."""
ORDER = ("First", "Then", "Next", "Finally")
"""The word that a text's first, second, third and fourth sentence begins with."""
FILLERS = ("um", "er", "hmm", "well", "uh")
MAIN, OTHER = "Main news:", "Other news:"


@cache
def names(half: Half) -> list[str]:
    """The people of one half of the world; no name lives in both.

    The test half has a fifth of all names, by a hash: a network could learn any simpler rule, and
    would learn never to write these names.
    """
    everybody = map("".join, product(*SYLLABLES))
    return [name for name in everybody if (crc32(name.encode()) % 5 == 0) == (half == "test")]


def garbled(word: str) -> str:
    """The word without its vowels behind the first letter: `painted` is `pntd`; no word at all."""
    return word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou")
