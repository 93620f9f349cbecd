"""Entity-level checking: which facts are missing, wrong, misplaced or badly written."""
