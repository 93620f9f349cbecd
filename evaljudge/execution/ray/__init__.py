"""Shards done by Ray's workers; the only importers of Ray."""
