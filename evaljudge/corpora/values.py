"""One value of a row: what it is, how it is shown in a message, and refusing it.

is_number(4.5), is_number(True) -> True, False
clean("a\ud800b") -> "a\ufffdb"
shown("The river rose in the night, and …") -> "'The river rose in the night, and …'"
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, TypeGuard

_SURROGATE = re.compile("[\ud800-\udfff]")


class RefusedError(Exception):
    """What is wrong with a row; never leaves this folder."""


def is_number(value: Any) -> TypeGuard[int | float | Decimal]:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def clean(text: str) -> str:
    """Without lone surrogates, which neither Parquet nor a tokenizer can carry."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def shown(text: str) -> str:
    """Short, quoted and on one line, for a message."""
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def kind(value: Any) -> str:
    return type(value).__name__
