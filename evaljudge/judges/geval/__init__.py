"""G-Eval: steps of evaluation, then the model's distribution of ratings."""

from evaljudge.judges.plugin import Plugin, made_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.geval.judge:Geval"),
    show=shown_by("evaljudge.judges.geval.judge:shown_evidence"),
    verdict_columns="evaljudge.judges.geval.judge:read_evidence",
    brief_columns="evaljudge.judges.shared.steps:brief_columns",
)
