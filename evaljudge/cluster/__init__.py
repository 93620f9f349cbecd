"""The only importers of Ray: where the work runs, its two stages, and how it is resumed."""
