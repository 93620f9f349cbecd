"""What tests of storage share: a folder on a disk or on S3, a shard's records, and refusals."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaljudge.records import Brief, Candidate, Case, Document, Score, Tokens, Verdict
from evaljudge.runs.job import BOTH
from evaljudge.storage import Output, Place, Shard, claim
from evaljudge.storage import failures as waiting


class Disk:
    """Where a test's folder lies, and a look at it that goes past what is tested."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.uri = folder, str(folder)

    def files(self) -> set[str]:
        found = self._folder.rglob("*")
        return {str(file.relative_to(self._folder)) for file in found if file.is_file()}

    def read(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def put(self, name: str, content: bytes) -> None:
        (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self._folder / name).write_bytes(content)


class S3:
    def __init__(self, bucket: Any, folder: str = "runs/first") -> None:
        self._bucket, self._folder, self.uri = bucket, folder, f"{bucket.uri}/{folder}"

    def files(self) -> set[str]:
        """Without the empty objects that stand for folders: they are no files."""
        keys = self._bucket.keys(f"{self._folder}/")
        return {key.removeprefix(f"{self._folder}/") for key in keys if not key.endswith("/")}

    def read(self, name: str) -> bytes:
        return self._bucket.read(f"{self._folder}/{name}")

    def put(self, name: str, content: bytes) -> None:
        self._bucket.put(f"{self._folder}/{name}", content)


GROUNDS = ["disk", *(pytest.param(name, marks=pytest.mark.service) for name in ("s3", "gs", "az"))]


@pytest.fixture(params=GROUNDS)
def ground(request, tmp_path):
    if request.param == "disk":
        return Disk(tmp_path / "runs/first")
    return S3(request.getfixturevalue(request.param))


@pytest.fixture
def place(ground):
    return Place(ground.uri)


@pytest.fixture
def patience(monkeypatch):
    return lambda seconds: monkeypatch.setenv("EVALJUDGE_STORAGE_PATIENCE", f"{seconds:g}")


@pytest.fixture
def hasty(monkeypatch):
    """A clock that runs ten times as fast: claims are renewed and looked at, and storage is tried
    again, after a tenth of the time."""
    for module, name in (
        (claim, "BEAT"),
        (claim, "LOOK"),
        (waiting, "FIRST_WAIT"),
        (waiting, "LONGEST_WAIT"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name) / 10)


@pytest.fixture
def refused():
    return _refused


@pytest.fixture
def shards():
    """Writes and reads all the records of a shard."""
    return SimpleNamespace(write=_write_shard, read=_read_shard)


def _refused(work: Callable[[], object], error: type[Exception], *words: str) -> None:
    """With this error, in one line that has these words."""
    with pytest.raises(error) as caught:
        work()
    said = str(caught.value)
    assert said and "\n" not in said and len(said) < 600, said
    for word in words:
        assert word in said, said


def _write_shard(output: Output, shard: Shard) -> dict[str, Any]:
    """All the records of a shard, and its commit."""
    case = Case(Document("d", "source ü"), (Candidate("A", "a", {"fluency": 2.0}),))
    brief = Brief("d", "k", "synthetic", "fluency", "1", {"text": "t"}, "ok", "", "s", Tokens(1))
    verdict = Verdict("d", "A", "synthetic", "fluency", {"p": [0.5]}, "ok", "", Tokens(2))
    score = Score("d", "A", "synthetic", "fluency", 0.25, "", "s")
    output.write_run({"id": "z1f0c"})
    output.write_listing({"shards": [[shard.number, shard.cases, shard.candidates]]})
    output.write_cases(shard, [case])
    output.write_briefs("synthetic", shard, [brief])
    output.write_verdicts("synthetic", shard, [verdict])
    output.write_scores({shard: [score]})
    for stage in BOTH:
        output.commit(stage, shard, {"shard": shard.number, "files": []})
    return {"cases": [case], "briefs": [brief], "verdicts": [verdict], "scores": [score]}


def _read_shard(output: Output, shard: Shard) -> dict[str, Any]:
    files = output.brief_files("synthetic")
    return {
        "cases": output.cases(shard),
        "briefs": list(output.briefs("synthetic", files)),
        "verdicts": list(output.verdicts("synthetic", shard)),
        "scores": list(output.scores(shard)),
    }
