"""Studies of scorers, each a command: a table, its rows as JSON and a plot.

    evaljudge probe mixes --cases summeval.jsonl --metrics importance,rouge1,chrf

    mixes            sums and differences of scorers against people      Gigant et al. 2024, table 1
    robustness       references replaced by sentences of the source      figures 2 and 6 to 8
    complementarity  how differently two scorers rank                    figure 3
    sizes            agreement against the number of documents           figure 1
    ranges           values for references, sentences, whole documents   figures 9 and 10
    spurious         correlation with length, coverage and the like      table 2
    settings         the importance metric with all its settings         figure 5
    position         whether a pairwise judge prefers a position
    injection        whether judges obey instructions planted in candidates

A probe is a pure function from a `ScoreMatrix` (and a `Measure`, if texts must be measured
again) to frozen rows. Its `…_study` turns them into a `ProbeResult`. A new probe is one file and
one command in commands.py. `injection` alone runs the judges of a configuration, on a model.
"""
