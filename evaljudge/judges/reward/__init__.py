"""Reward: the number that a model trained on preferences gives a text as the reply to a request."""

from evaljudge.judges.plugin import Plugin, made_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.reward.judge:Reward"),
    needs="a model trained to rate texts",
    verdict_columns="evaljudge.judges.reward.judge:RewardEvidence",
)
