"""Where things lie, every path named once; reading and writing them."""

from evaljudge.storage.ahead import ahead
from evaljudge.storage.claim import Claim, claimed, this_machine
from evaljudge.storage.finding import expand, fetch_folder, listing, open_to_read, to_write
from evaljudge.storage.output import Output, Shard, Stage
from evaljudge.storage.place import Place

__all__ = [
    "Claim",
    "Output",
    "Place",
    "Shard",
    "Stage",
    "ahead",
    "claimed",
    "expand",
    "fetch_folder",
    "listing",
    "open_to_read",
    "this_machine",
    "to_write",
]
