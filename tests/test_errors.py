"""What a library's error says, in one line."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from evaljudge.errors import first_words


class Arguments(BaseModel):
    max_model_len: int


def test_a_field_that_is_refused_is_named() -> None:
    with pytest.raises(ValidationError) as refused:
        Arguments.model_validate({"max_model_len": "lots"})
    assert first_words(refused.value) == "max_model_len: should be a whole number"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("one line", "one line"),
        ("\n the first \n the second", "the first"),
        ("By `heads`:\n\n 130 is odd\n more", "By `heads`: 130 is odd"),
        ("", "ValueError('')"),
    ],
)  # fmt: skip
def test_what_announces_a_cause_is_followed_by_it(said: str, words: str) -> None:
    assert first_words(ValueError(said)) == words
