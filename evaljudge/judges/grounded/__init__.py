"""Grounded: whether each sentence of the text is supported by the source, by a fact-checking
model."""

from evaljudge.judges.plugin import Plugin, made_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.grounded.judge:Grounded"),
    needs="a model trained to tell what a text supports",
    show=shown_by("evaljudge.judges.grounded.judge:shown_evidence"),
    verdict_columns="evaljudge.judges.grounded.judge:GroundedEvidence",
)
