"""Extract, then evaluate: a rating of the text beside the source's sentences that it is about."""

from __future__ import annotations

from evaljudge.judges.plugin import Plugin, made_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.extract.judge:ExtractThenRate"),
    verdict_columns="evaljudge.judges.extract.columns:verdict_columns",
)
