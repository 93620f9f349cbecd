"""Runs that were cut short or put together from others, against those that went in one go.

What a rerun asks and refuses is tested in tests/runs/test_journey.py; here is what it comes to.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from tests.end_to_end import shared
from tests.end_to_end.scripted_run import noting_engines

AXES = ("coherence", "fluency")
Row = dict[str, Any]


class Desk:
    """A folder with a corpus, a configuration over it, and a model that notes what it is asked."""

    def __init__(self, folder: Path, executor: str = "local") -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.out = folder, folder / "out"
        self._workers = {"executor": executor}
        self.write(shared.cases(6, axes=AXES))

    def write(self, rows: list[Row]) -> None:
        self._rows = rows

    def run(
        self, *, work: Callable[..., Any] = evaljudge.run, most: int = sys.maxsize,
        extend: bool = False, **changes: Any,
    ) -> Any:  # fmt: skip
        best = {"scorer": "synthetic.level", "axis": "coherence", "top_fraction": 0.25}
        mine = {"axes": list(AXES), "workers": self._workers, "out": str(self.out)}
        mine["select"] = [{"name": "best", "all": [best]}]
        config = shared.config(self.folder, self._rows, **mine)
        engines = noting_engines(self.folder / "asks", most=most)
        more = {"extend": True} if extend else {}
        return work(config | changes, engines=engines, **more)

    def cut_short(self, most: int, **how: Any) -> None:
        with pytest.raises(evaljudge.UserError, match="asked enough"):
            self.run(most=most, **how)

    def tables(self) -> dict[str, Any]:
        return shared.tables(self.out)

    def is_whole(self) -> bool:
        """Exactly the files of a finished run."""
        return shared.files(self.out) == shared.contract(self.out, ("best",))

    def state(self) -> str:
        return str(json.loads((self.out / "run.json").read_text())["state"])


@pytest.fixture
def desk(tmp_path, executor):
    return Desk(tmp_path / "desk", executor)


@pytest.fixture
def another(tmp_path):
    return Desk(tmp_path / "another")


def test_a_report_that_was_killed_leaves_nothing_half_written(desk):
    desk.run()
    (desk.out / "report/.agreement.md.5f76c15a.part").write_text("half")
    desk.run()
    assert desk.is_whole()


def test_a_corpus_that_was_cut_otherwise_leaves_nothing_behind(desk):
    """Killed while it was cut, and of more documents: more shards than there will be."""
    desk.write(shared.cases(24, axes=AXES))
    desk.cut_short(0)
    (desk.out / "shards.json").unlink()
    assert len(list((desk.out / "cases").iterdir())) == 24
    desk.write(shared.cases(8, axes=AXES))
    desk.run()
    assert len(list((desk.out / "cases").iterdir())) == 8
    assert desk.is_whole()


def test_a_run_that_grew_comes_to_the_same_as_one_that_began_so(desk, another):
    grown = shared.cases(6, "ABCD", AXES)[:2] + shared.cases(8, axes=AXES)[2:]
    desk.run()
    desk.write(grown)
    desk.run(extend=True)
    another.write(grown)
    another.run()
    assert desk.is_whole()
    assert values(desk) == values(another)
    assert agreement(desk) == agreement(another)


def test_an_extension_that_was_cut_short_is_resumed(desk, another):
    desk.run()
    for out in (desk, another):
        out.write(shared.cases(10, axes=AXES))
    desk.cut_short(30, extend=True)
    assert desk.state() == "begun"
    desk.run()
    another.run()
    assert desk.is_whole()
    assert values(desk) == values(another)
    assert desk.state() == "done"


def values(desk: Desk) -> dict[tuple[str, ...], float]:
    keys = ("doc_id", "system", "scorer", "axis")
    rows = map(json.loads, desk.tables()["scores"])
    return {tuple(row[key] for key in keys): row["value"] for row in rows}


def agreement(desk: Desk) -> dict[tuple[str, ...], Any]:
    """Each coefficient; but for the order of documents, on which an interval's draws depend."""
    keys = ("scorer", "axis", "level", "coefficient")
    rows = desk.tables()["agreement"]
    return {tuple(row[key] for key in keys): pytest.approx(row["value"]) for row in rows}


def test_other_prompts_are_refused(desk):
    desk.run(work=evaljudge.prepare)
    (desk.folder / "synthetic.compare.j2").write_text("{{ source }} {{ reference }} {{ target }}")
    with pytest.raises(evaljudge.UserError, match=r"judges\.synthetic\.prompts\.comparing is"):
        desk.run(prompts=str(desk.folder))
