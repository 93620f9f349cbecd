"""Expected texts of many lines, in files beside the tests; `pytest --renew` writes them anew.

    snapshot(printed)                   # tests/commands/expected/test_show/test_name.txt
    snapshot(rows, "rows-of-a-pair")    # …/rows-of-a-pair.json

A string is kept as it is; the rest is JSON, with floats at 12 significant digits.
"""

import json
import re
from typing import Any

import pytest


@pytest.fixture
def snapshot(request):
    def compare(value: Any, name: str = re.sub(r"[^\w.-]+", "-", request.node.name)) -> None:
        file = request.path.parent / "expected" / request.path.stem / name
        if isinstance(value, str):
            file, text = file.with_name(f"{name}.txt"), value
        else:
            file, text = file.with_name(f"{name}.json"), _as_json(value)
        if request.config.getoption("--renew"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        assert file.exists(), f"missing, and made by pytest --renew: {file}"
        assert text == file.read_bytes().decode(), f"if this is meant, pytest --renew: {file}"

    return compare


def _as_json(value: Any) -> str:
    rounded = json.loads(json.dumps(value), parse_float=lambda text: float(f"{float(text):.12g}"))
    return json.dumps(rounded, indent=1, ensure_ascii=False) + "\n"
