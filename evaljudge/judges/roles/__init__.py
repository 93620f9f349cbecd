"""Role-players that vote: is the candidate better than a reference, in whose eyes, and why."""

from evaljudge.judges.plugin import Plugin, made_by, pictured_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.roles.judge:Roles"),
    files=["roles"],
    show=shown_by("evaljudge.judges.roles.evidence:shown_evidence"),
    needs="a model; a reference, or `reference: written`; an encoder, or `clustering: false`",
    without_references={"reference": "written"},
    verdict_columns="evaljudge.judges.roles.evidence:read_polled",
    brief_columns="evaljudge.judges.roles.evidence:read_brief",
    picture=pictured_by("evaljudge.judges.roles.evidence:pictured_evidence"),
)
