"""Checklists: yes/no questions that the model writes, and how probable Yes is to each."""

from evaljudge.judges.plugin import Plugin, made_by

PLUGIN = Plugin(
    made_by("evaljudge.judges.checklist.judge:Checklist"),
    verdict_columns="evaljudge.judges.checklist.judge:ChecklistEvidence",
    brief_columns="evaljudge.judges.checklist.judge:ChecklistColumns",
)
