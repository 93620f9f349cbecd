"""Two jobs started at once on one folder: one works, the other is refused in one line."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.service


NONE = {"neighbours": 0, "exchanged": 0}
"""No checks: asks are easily counted."""


@pytest.mark.parametrize("where", ["s3", pytest.param("local", marks=pytest.mark.long)])
def test_one_works_and_the_other_is_refused(
    where: str, e2e: SimpleNamespace, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out = str(tmp_path / "out")
    bucket = request.getfixturevalue("s3") if where == "s3" else None
    config = {
        "corpus": e2e.write_cases(tmp_path / "cases.jsonl", e2e.cases(6)),
        "out": f"{bucket.uri}/out" if bucket else out,
        "axes": ["coherence"],
        "model": "scripted",
        "judges": {"synthetic": {"levels": 2, "checks": NONE}},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    command = [sys.executable, e2e.script, "config.json", "asks", "1"]

    jobs = [
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in "ab"
    ]
    said = [job.communicate()[1] for job in jobs]

    (worked,) = [job for job in jobs if job.returncode == 0]
    (refused,) = [line for job, line in zip(jobs, said, strict=True) if job is not worked]
    assert sorted(job.returncode for job in jobs) == [0, 2]
    assert refused.startswith(f"evaljudge: {config['out']}: another job is at work there (")
    assert refused.count("\n") == 1
    if bucket:
        bucket.download("out", Path(out))
    assert e2e.files(Path(out)) == e2e.contract(Path(out))
    prompts = [ask.prompt for ask in e2e.asks(tmp_path / "asks")]
    assert len(prompts) == len(set(prompts)) == 6 * (2 + 3 * 2)
