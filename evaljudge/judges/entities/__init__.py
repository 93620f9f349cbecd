"""Entity-level checking: which facts are missing, wrong, misplaced or badly written."""

from collections.abc import Mapping
from typing import Any

from evaljudge.judges.plugin import Plugin, exported_by, made_by, pictured_by, shown_by

LABELS = "entity_labels"


def files_of_labels(value: Any, judges: Mapping[str, Any]) -> dict[str, str]:
    """Read the key `entity_labels`: one file, or one for each of the judges that it names."""
    if isinstance(value, str) and value:
        if len(judges) != 1:
            there = ", ".join(judges) or "none"
            raise ValueError(
                f"one file is for one judge of entities; name the file of each (here: {there})"
            )
        return dict.fromkeys(judges, value)
    if not isinstance(value, Mapping) or not all(isinstance(path, str) for path in value.values()):
        raise ValueError("should be a file, or a file for each judge of entities")
    return dict(value)


PLUGIN = Plugin(
    made_by("evaljudge.judges.entities.judge:Entities"),
    keys={LABELS: files_of_labels},
    files=["entities", "entity_agreement"],
    needs="a model; references are used where there are some, else the source",
    exports={"entities": exported_by("evaljudge.judges.entities.labels:export_entities")},
    show=shown_by("evaljudge.judges.entities.view:shown_evidence"),
    verdict_columns="evaljudge.judges.entities.evidence:read_evidence",
    brief_columns="evaljudge.judges.entities.evidence:read_brief",
    picture=pictured_by("evaljudge.judges.entities.view:pictured_evidence"),
)
