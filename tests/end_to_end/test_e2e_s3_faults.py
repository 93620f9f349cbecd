"""Runs whose corpus, briefs and output lie on an S3 that fails: they end as if it had not.

What every fault is, and how often it strikes, is the proxy's to say (tests/s3/proxy.py).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.service


CASES, LEVELS = 8, 3
NONE = {"neighbours": 0, "exchanged": 0}
"""No checks: asks are easily counted."""
PATIENCE = 200
"""Seconds that a run is waited for."""
Faults = Mapping[str, float]


@pytest.fixture(scope="module", autouse=True)
def adopting(killing: ModuleType) -> Iterator[None]:
    with killing.adopting():
        yield


@dataclass(frozen=True)
class Ended:
    code: int
    said: str
    complained: str


class Run:
    """A folder with the configuration of a run, the log of its asks, and its process."""

    def __init__(self, folder: Path, base: str, corpus: str, e2e: SimpleNamespace) -> None:
        folder.mkdir()
        self.folder, self._e2e = folder, e2e
        best = {"scorer": "synthetic.level", "axis": "coherence", "top_fraction": 0.25}
        config = {
            "corpus": corpus,
            "out": f"{base}/out",
            "briefs": f"{base}/briefs",
            "axes": ["coherence"],
            "model": "scripted",
            "judges": {"synthetic": {"levels": LEVELS, "checks": NONE}},
            "metrics": ["words"],
            "select": [{"name": "best", "all": [best]}],
            "workers": {"cpus": 0.5},
        }
        (folder / "config.json").write_text(json.dumps(config))

    def start(self, pause: float = 0.02, **environment: str) -> None:
        script, said = self._e2e.script, (self.folder / "said").open("w")
        with said, (self.folder / "complained").open("w") as complained:
            self._process = subprocess.Popen(
                [sys.executable, script, "config.json", "asks", str(pause)],
                cwd=self.folder, env=os.environ | environment, start_new_session=True,
                stdout=said, stderr=complained,
            )  # fmt: skip

    def end(self) -> Ended:
        code = self._process.wait(PATIENCE)
        return Ended(
            code,
            (self.folder / "said").read_text(),
            (self.folder / "complained").read_text(),
        )

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def ends_well(self) -> None:
        ended = self.end()
        assert ended.code == 0, ended.complained
        assert "Traceback" not in ended.complained

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def asks(self) -> Counter[Any]:
        return Counter(self._e2e.asks(self.folder / "asks"))


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, e2e: SimpleNamespace
) -> tuple[dict[str, Any], Counter[Any]]:
    """What the run comes to on a disk, and what it asks."""
    folder = tmp_path_factory.mktemp("local")
    corpus = e2e.write_cases(folder / "cases.jsonl", e2e.cases(CASES))
    run = Run(folder / "run", str(folder), corpus, e2e)
    run.start()
    run.ends_well()
    assert set(run.asks.values()) == {1}
    return e2e.tables(folder / "out", folder / "briefs"), run.asks


@pytest.fixture
def run(tmp_path: Path, s3: Any, s3_proxy: Any, e2e: SimpleNamespace) -> Iterator[Run]:
    corpus = Path(e2e.write_cases(tmp_path / "cases.jsonl", e2e.cases(CASES)))
    s3.put("in/cases.jsonl", corpus.read_bytes())
    run = Run(tmp_path / "run", f"{s3.uri}/first", f"{s3.uri}/in/cases.jsonl", e2e)
    yield run
    run.stop()


@pytest.fixture
def is_whole(tmp_path: Path, s3: Any, e2e: SimpleNamespace, undisturbed: Any) -> Callable[[], None]:
    """All that the undisturbed run has, in exactly its files, and nothing beside them."""

    def check() -> None:
        out = s3.download("first/out", tmp_path / "came")
        s3.download("first/briefs", out / "briefs")
        assert not e2e.differences(e2e.tables(out), undisturbed[0])
        assert e2e.files(out) == e2e.contract(out, ("best",))
        prefixes = ("first/out/", "first/briefs/", "in/cases.jsonl")
        assert all(key.startswith(prefixes) and key[-1] != "/" for key in s3.keys(""))

    return check


@pytest.mark.parametrize(
    "faults",
    [
        {"error": 0.1, "slow down": 0.1},
        {"reset before": 0.05, "reset after": 0.05, "delay": 0.02},
        {"torn upload": 0.1, "torn answer": 0.1},
    ],
    ids=lambda faults: " and ".join(faults),
)
def test_a_run_ends_as_if_nothing_had_happened(
    faults: Faults, run: Run, s3_proxy: Any, undisturbed: Any, is_whole: Callable[[], None]
) -> None:
    rules = [
        s3_proxy.add(fault, share=share, when=meets(fault), seconds=2, seed=1)
        for fault, share in faults.items()
    ]
    since = time.monotonic()

    run.start()
    run.ends_well()

    print(f"{faults}: {dict(s3_proxy.counts)} of {len(s3_proxy.seen)} requests, "
          f"{time.monotonic() - since:.1f} s")  # fmt: skip
    assert all(rule.applied for rule in rules), "the faults never struck"
    assert run.asks == undisturbed[1], "asked more than it had to, or less"
    is_whole()


@pytest.mark.long
def test_an_outage_of_a_minute_is_waited_out(
    run: Run, s3: Any, s3_proxy: Any, undisturbed: Any, is_whole: Callable[[], None]
) -> None:
    run.start(pause=0.1)
    wait_for_commits(run, s3)
    s3_proxy.outage(60)
    run.ends_well()
    assert s3_proxy.counts["outage"] and not s3_proxy.is_out
    assert run.asks == undisturbed[1]
    is_whole()


def test_an_outage_that_outlasts_patience_ends_in_one_line_and_is_resumed(
    run: Run, s3: Any, s3_proxy: Any, undisturbed: Any, is_whole: Callable[[], None]
) -> None:
    run.start(pause=0.1, EVALJUDGE_STORAGE_PATIENCE="3")
    wait_for_commits(run, s3)
    s3_proxy.outage(3600)
    since = time.monotonic()

    ended = run.end()

    assert ended.code == 1
    assert ended.complained.startswith(f"evaljudge: {s3.uri}/first/"), ended.complained
    assert len(ended.complained.splitlines()) == 1, ended.complained
    assert time.monotonic() - since < 60
    committed, asked = s3.keys("first/out/commits/"), run.asks
    s3_proxy.heal()
    run.start()
    run.ends_well()
    assert committed <= s3.keys("first/out/commits/")
    assert set(run.asks) == set(undisturbed[1])
    again = sum((run.asks - asked).values()) + sum(asked.values()) - sum(undisturbed[1].values())
    print(f"{len(committed)} commits stood; {again} asked again")
    is_whole()


@pytest.mark.long
def test_storage_that_never_answers_ends_in_one_line(run: Run, s3: Any, s3_proxy: Any) -> None:
    s3_proxy.outage(3600)
    run.start(EVALJUDGE_STORAGE_PATIENCE="1")
    ended = run.end()
    assert ended.code == 1 and len(ended.complained.splitlines()) == 1, ended.complained
    assert ended.complained.startswith(f"evaljudge: {s3.uri}/"), ended.complained
    assert not run.asks and s3.keys() == {"in/cases.jsonl"}


def test_denied_in_the_midst_ends_in_one_line_and_is_resumed(
    run: Run, s3: Any, s3_proxy: Any, undisturbed: Any, is_whole: Callable[[], None]
) -> None:
    """Credentials may expire while a run goes on: the user's to mend, and nothing is lost."""
    run.start(pause=0.1)
    wait_for_commits(run, s3)
    s3_proxy.add("denied")
    ended = run.end()
    assert ended.code == 2 and len(ended.complained.splitlines()) == 1, ended.complained
    assert ended.complained.startswith(f"evaljudge: {s3.uri}/"), ended.complained
    assert "denied" in ended.complained
    s3_proxy.heal()
    run.start()
    run.ends_well()
    assert set(run.asks) == set(undisturbed[1])
    is_whole()


def meets(fault: str) -> Callable[[str, str], bool]:
    """The requests that a fault can strike."""
    methods = {"torn upload": {"PUT", "POST"}, "torn answer": {"GET"}}.get(fault)
    return lambda method, path: methods is None or method in methods


def wait_for_commits(run: Run, s3: Any) -> None:
    """Until some shards are committed, but not all."""
    give_up = time.monotonic() + PATIENCE
    while not s3.keys("first/out/commits/prepare/"):
        assert run.runs and time.monotonic() < give_up, "nothing was committed"
        time.sleep(0.05)
    assert run.runs, "ended before its moment"
