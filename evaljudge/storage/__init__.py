"""Where things lie, every path named once; reading and writing them."""

from evaljudge.storage.output import Output, Shard, Stage
from evaljudge.storage.place import Place, expand, fetch_folder, listing, locate, open_to_read

__all__ = [
    "Output",
    "Place",
    "Shard",
    "Stage",
    "expand",
    "fetch_folder",
    "listing",
    "locate",
    "open_to_read",
]
