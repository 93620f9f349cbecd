"""Reading and writing files, on this machine and on object storage; every path named once."""

from evaljudge.storage.claim import Claim, claimed, this_machine
from evaljudge.storage.finding import expand, fetch_folder, listing, open_to_read, to_write
from evaljudge.storage.index import Index, index_on_disk
from evaljudge.storage.output import Output, Shard, Stage, ahead
from evaljudge.storage.place import Place

__all__ = ["Claim", "Index", "Output", "Place", "Shard", "Stage", "ahead", "claimed", "expand",
           "fetch_folder", "index_on_disk", "listing", "open_to_read", "this_machine",
           "to_write"]  # fmt: skip
