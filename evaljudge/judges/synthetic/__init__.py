"""Direct scoring by comparison with synthetic references of graded quality."""

from evaljudge.judges.plugin import Plugin, made_by, pictured_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.synthetic.judge:Synthetic"),
    files=["validity", "reliability"],
    show=shown_by("evaljudge.judges.synthetic.view:shown_evidence"),
    verdict_columns="evaljudge.judges.synthetic.evidence:verdict_columns",
    brief_columns="evaljudge.judges.synthetic.evidence:ReferenceColumns",
    picture=pictured_by("evaljudge.judges.synthetic.view:pictured_evidence"),
)
