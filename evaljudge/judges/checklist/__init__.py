"""Checklists: yes/no questions that the model writes, and how probable Yes is to each."""

from evaljudge.judges.plugin import Plugin, made_by, shown_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.checklist.judge:Checklist"),
    show=shown_by("evaljudge.judges.checklist.judge:shown_evidence"),
    verdict_columns="evaljudge.judges.checklist.judge:ChecklistEvidence",
    brief_columns="evaljudge.judges.checklist.judge:ChecklistColumns",
)
