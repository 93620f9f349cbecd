"""Direct scoring: the model is asked for a rating from 1 to 5."""

from evaljudge.judges.plugin import Plugin, made_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.direct.judge:Direct"),
    show=shown_by("evaljudge.judges.direct.judge:shown_evidence"),
    verdict_columns="evaljudge.judges.direct.judge:DirectEvidence",
    brief_columns="evaljudge.judges.shared.steps:brief_columns",
)
