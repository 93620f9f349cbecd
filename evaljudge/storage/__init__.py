"""Reading and writing files, on this machine and on object storage; every path named once."""

from evaljudge.storage.checking import DERIVED, Fault, Inspected, digests, inspect, was_finished
from evaljudge.storage.claim import Claim, claimed, holder
from evaljudge.storage.failures import Index, expect_answers, index_on_disk
from evaljudge.storage.files import BUNDLED, GONE, LAYOUTS, RUN, SHARDS, SPENT, Panel, panels_of
from evaljudge.storage.finding import expand, fetch_folder, listing, open_to_read, to_write
from evaljudge.storage.output import (
    BATCH,
    Output,
    Shard,
    Stage,
    ahead,
    common_file,
    judge_kinds,
    marker,
)
from evaljudge.storage.place import Place
from evaljudge.storage.streams import PIECE
from evaljudge.storage.tables import as_stored

__all__ = [
    "BATCH",
    "BUNDLED",
    "DERIVED",
    "GONE",
    "LAYOUTS",
    "PIECE",
    "RUN",
    "SHARDS",
    "SPENT",
    "Claim",
    "Fault",
    "Index",
    "Inspected",
    "Output",
    "Panel",
    "Place",
    "Shard",
    "Stage",
    "ahead",
    "as_stored",
    "claimed",
    "common_file",
    "digests",
    "expand",
    "expect_answers",
    "fetch_folder",
    "holder",
    "index_on_disk",
    "inspect",
    "judge_kinds",
    "listing",
    "marker",
    "open_to_read",
    "panels_of",
    "to_write",
    "was_finished",
]
