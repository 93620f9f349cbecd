"""The world's words: a few hundred, each meaning one thing.

People are called by two syllables (`Bal` + `wick`), so that the names of the test half of the
world are made of known syllables and are yet names that the training half never held.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal
from zlib import crc32

Half = Literal["train", "test"]

_FIRST = (
    "Bal Bren Cor Cal Dan Del El Er Fen Far Gar Gil Hol Har Jor Jan Kel Kir Lam Lor Mar Mel Nor "
    "Nev Per Pol Ros Ral Sal Sten Tor Tal Ver Val Wil Wen Yan Yor Zan Zel"
).split()
_SECOND = (
    "a en ia o is us ette wick dor mund ra lin ton by man sen ley ric wyn ard bert gard mir nald"
).split()
TITLES = {"Mr": "he", "Ms": "she"}
VERBS = (
    "bought sold painted found lost counted cleaned moved repaired shipped stored borrowed "
    "rented stole hid washed packed ordered tested burned"
).split()
NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
).split()
OBJECTS = (
    "boats lamps doors cups chairs tables clocks wheels ropes boxes books maps bells keys coats "
    "hats shoes gloves plates forks knives spoons bottles jars pots pans brushes ladders hammers "
    "nails bricks tiles windows mirrors carpets curtains pillows blankets candles baskets barrels "
    "sacks carts wagons saddles bridles flags drums flutes violins paintings statues coins stamps "
    "letters parcels umbrellas kites toys dolls tents lanterns stoves benches gates fences pumps "
    "pipes radios cameras"
).split()
PLACES = (
    "Oldby Farhill Marsden Kettle Eastport Longford Millbrook Stonegate Redwater Ashdown Fairhaven "
    "Northwold Southmere Westcliff Greenford Highcross Lowfield Summerton Winterbourne Springvale "
    "Clearwater Blackwood Whitechurch Silverdale Goldhurst Ironbridge Coppergate Riverton Lakeside "
    "Seaview"
).split()
FICTIONS = ("Erewhon", "Utopia", "Arcadia", "Camelot")
"""Places that no report mentions."""
ORDER = ("First", "Then", "Next", "Finally")
"""The word that a text's first, second, third and fourth sentence begins with."""
FILLERS = ("um", "er", "hmm", "well", "uh")
MAIN, OTHER = "Main news:", "Other news:"


@cache
def names(half: Half) -> list[str]:
    """The people of one half of the world; no name lives in both.

    A fifth of all names, as chance has it: if it were a rule that a network could learn, it would
    learn never to say them.
    """
    everybody = (first + second for first in _FIRST for second in _SECOND)
    return [name for name in everybody if (crc32(name.encode()) % 5 == 0) == (half == "test")]


def vocabulary() -> list[str]:
    """Every word of the world but the names."""
    said = [*TITLES, *TITLES.values(), *VERBS, *NUMBERS, *OBJECTS, *PLACES, *FICTIONS, *ORDER,
            *FILLERS]  # fmt: skip
    return [*said, "In", "in", *dict.fromkeys(re.findall(r"\w+", f"{MAIN} {OTHER}"))]


def syllables() -> tuple[list[str], list[str]]:
    return _FIRST, _SECOND


def garbled(word: str) -> str:
    """The word without its vowels behind the first letter: `painted` is `pntd`; no word at all."""
    return word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou")
