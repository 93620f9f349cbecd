"""Replies that any judge of the package can read."""

from __future__ import annotations

import json

from evaljudge.engines.scripted import any_text
from evaljudge.model.asks import Prompt, Writing
from evaljudge.model.imagining import imagined_value


def any_reply(prompt: Prompt, how: Writing) -> str:
    if how.schema:
        return json.dumps(imagined_value(json.loads(how.schema), "said by nobody " * 30))
    return "4" if prompt.template.endswith(".rate") else any_text(prompt, how)
