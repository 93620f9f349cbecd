"""What benches/chaos.py draws from a seed: a world, and what befalls a run in it.

A world is a corpus, judges, workers, an executor and a storage. A life is one start of the command,
with one or two faults that act at the same time; the next life resumes what it left. Whoever adds a
kind of fault adds it to `KINDS`, and to `Harm` in chaos_harm.py how it is done.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

NO_CHECKS = {"neighbours": 0, "exchanged": 0}
JUDGES: tuple[Mapping[str, Any], ...] = (
    {"synthetic": {"levels": 2, "checks": NO_CHECKS}},
    {"synthetic": {"levels": 3, "checks": NO_CHECKS}},
    {"synthetic": {"levels": 3}},
    {"synthetic": {"levels": 5, "checks": NO_CHECKS}, "direct": {}},
    {"direct": {}, "geval": {}},
    {"geval": {}},
)
ODDITIES = ("no text", "no source", "hostile", "long", "no ratings", "one candidate", "alike")
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
DISK = ("ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "EFBIG", "EACCES")
FLEETING = ("error", "slow down", "reset before", "reset after", "torn upload", "torn answer",
            "delay")  # fmt: skip
"""What S3 does now and then; a run goes on."""
REFUSING = ("denied", "expired", "full", "quota")
"""What S3 answers from some moment on; a run ends."""
DAMAGES = ("emptied", "cut in half", "one bit flipped", "zeroed", "made junk", "removed")
"""What becomes of a file of the run between two lives."""
ANYWHERE = ("SIGKILL", "SIGKILL", "SIGTERM", "SIGINT")
KINDS: Mapping[str, tuple[str, ...]] = {
    "disk": (*DISK, "SIGKILL before", "SIGKILL after", "SIGKILL before", "SIGKILL after"),
    "s3": (*FLEETING, *REFUSING, "outage", "outage", "short outage"),
    "local": ANYWHERE,
    "ray": (*ANYWHERE, "worker", "worker", "all", "raylet", "gcs"),
    "second node": (*ANYWHERE, "worker", "node", "node"),
    "damage": DAMAGES,
}
"""The faults that are drawn, by storage and by executor; one that is named twice is drawn twice as
often."""


@dataclass(frozen=True)
class World:
    cases: int
    systems: str
    axes: tuple[str, ...]
    oddities: tuple[str, ...]
    judges: int
    writer: str | None
    metrics: tuple[str, ...]
    selects: bool
    briefs_elsewhere: bool
    workers: int
    executor: str
    storage: str

    @property
    def undisturbed(self) -> World:
        """The world in which the same run is not harmed: its tables are the same."""
        return replace(self, executor="local", storage="disk")

    def __str__(self) -> str:
        judges = "+".join(JUDGES[self.judges])
        odd = f", {', '.join(self.oddities)}" if self.oddities else ""
        return f"{self.cases} cases, {judges}, {self.executor}, {self.storage}{odd}"


@dataclass(frozen=True)
class Fault:
    kind: str
    moment: float
    """Between 0 and 1: of all that an undisturbed run asks, writes or takes."""
    by: str
    """What the moment is a share of: `asks`, `seconds`, `operations` of the storage, or `files`."""
    share: float = 0.0
    """The share of S3's requests that fail, for what happens now and then."""

    def __str__(self) -> str:
        return f"{self.kind} at {self.moment:.2f} of the {self.by}"


Life = tuple[Fault, ...]


def draw_world(draw: random.Random, executor: str | None = None) -> World:
    """`executor`: a wanted one in place of one that is drawn."""
    executors, storages = (("local", "ray", "second node"), (20, 2, 1)), (("disk", "s3"), (2, 1))
    drawn = _one(draw, *executors)
    executor = executor or drawn
    storage = _one(draw, *storages)
    judges = draw.randrange(len(JUDGES))
    cases = (1, 2, 3, 4) if storage == "s3" else (1, 2, 3, 5, 8, 12, 20)
    if executor != "local":
        cases = cases[3:]  # else nearly all of its time is Ray's start
    return World(
        cases=draw.choice(cases),
        systems="ABC"[: draw.randint(1, 3)],
        axes=("coherence", "fluency")[: draw.randint(1, 2)],
        oddities=tuple(odd for odd in ODDITIES if draw.random() < 0.2),
        judges=judges,
        writer="another" if draw.random() < 0.2 and "synthetic" in JUDGES[judges] else None,
        metrics=draw.choice(((), ("words",), ("words", "rouge1"))),
        selects=draw.random() < 0.5,
        briefs_elsewhere=draw.random() < 0.25,
        workers=draw.randint(1, 2),
        executor=executor,
        storage=storage,
    )


def draw_lives(draw: random.Random, world: World) -> list[Life]:
    """One to four faults, in as many lives or fewer."""
    lives: list[Life] = []
    for _ in range(draw.randint(1, 4)):
        families = [world.storage, world.executor, *(["damage"] if lives else [])]
        fault = _fault(draw, draw.choice(KINDS[draw.choice(families)]))
        if lives and len(lives[-1]) == 1 and draw.random() < 0.4:
            lives[-1] = (*lives[-1], fault)
        else:
            lives.append((fault,))
    return lives


def _fault(draw: random.Random, kind: str) -> Fault:
    if kind in (*DISK, "SIGKILL before", "SIGKILL after", *REFUSING):
        by = "operations"
    elif kind in DAMAGES:
        by = "files"
    else:
        by = draw.choice(("asks", "asks", "seconds"))
    share = draw.uniform(0.01, 0.1) if kind in FLEETING else 0.0
    return Fault(kind, draw.uniform(0, 1.05), by, share)


def _one(draw: random.Random, names: tuple[str, ...], weights: tuple[int, ...]) -> str:
    return draw.choices(names, weights)[0]
