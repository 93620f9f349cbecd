"""Reading and writing files, on this machine and on object storage; every path named once."""

from evaljudge.storage.checking import DERIVED, Fault, Inspected, digests, inspect, was_finished
from evaljudge.storage.claim import Claim, claimed, holder
from evaljudge.storage.failures import Index, expect_answers, index_on_disk
from evaljudge.storage.files import BUNDLED, GONE, RUN, SHARDS, SPENT, Panel, panels_of
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
from evaljudge.storage.place import Place, is_a_file
from evaljudge.storage.streams import PIECE
from evaljudge.storage.tables import as_stored

__all__ = ["DERIVED", "Fault", "Inspected", "digests", "inspect", "was_finished"]
__all__ += ["Claim", "claimed", "holder"]
__all__ += ["Index", "expect_answers", "index_on_disk"]
__all__ += ["BUNDLED", "GONE", "RUN", "SHARDS", "SPENT", "Panel", "panels_of"]
__all__ += ["expand", "fetch_folder", "listing", "open_to_read", "to_write"]
__all__ += ["BATCH", "Output", "Shard", "Stage", "ahead", "common_file", "judge_kinds", "marker"]
__all__ += ["PIECE", "Place", "as_stored", "is_a_file"]
