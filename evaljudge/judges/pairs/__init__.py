"""Ranking by comparing the candidates of a document with each other (PairS, round robin)."""

from evaljudge.judges.plugin import Plugin, made_by, pictured_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.pairs.judge:PairsJudge"),
    files=["pairs"],
    show=shown_by("evaljudge.judges.pairs.view:shown_evidence"),
    verdict_columns="evaljudge.judges.pairs.view:verdict_columns",
    picture=pictured_by("evaljudge.judges.pairs.view:pictured_evidence"),
)
