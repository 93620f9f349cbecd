"""Probes of judges, each a command: a table, its rows as JSON and a plot.

    position         whether a pairwise judge prefers a position
    injection        whether judges obey instructions planted in candidates

The scripts in jobs/papers/ make the figures of one paper on metrics again.
"""
