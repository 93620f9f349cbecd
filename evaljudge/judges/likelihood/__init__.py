"""GPTScore: how probable the model finds the text itself, after an instruction and the source."""

from evaljudge.judges.plugin import Plugin, made_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.likelihood.judge:Likelihood"),
    show=shown_by("evaljudge.judges.likelihood.judge:shown_evidence"),
    verdict_columns="evaljudge.judges.likelihood.judge:LikelihoodEvidence",
)
