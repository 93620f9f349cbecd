"""Studies: a grid of judges over one corpus, compared in one table."""
