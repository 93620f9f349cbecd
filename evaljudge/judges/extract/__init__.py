"""Extract, then evaluate: a rating of the text beside the source's sentences that it is about."""

from evaljudge.judges.plugin import Plugin, made_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.extract.judge:ExtractThenRate"),
    show=shown_by("evaljudge.judges.extract.judge:shown_evidence"),
    verdict_columns="evaljudge.judges.extract.judge:read_evidence",
)
