"""A question of one's own, asked about each text; the answers are numbers."""

from evaljudge.judges.plugin import Plugin, made_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.question.judge:OwnQuestion"),
    verdict_columns="evaljudge.judges.question.judge:OwnAnswerColumns",
)
