"""`evaljudge export`: a part of a run as a file, for another run or for people."""

from __future__ import annotations

from evaljudge.commands.options import ExportOptions, ImportOptions
from evaljudge.commands.tables import TABLES, export_table
from evaljudge.errors import UserError, unknown
from evaljudge.judges import plugins
from evaljudge.runs.batches import export_asks, import_replies
from evaljudge.runs.references import export_references

REFERENCES, ASKS = "references", "asks"


def imported(wanted: ImportOptions) -> str:
    return import_replies(wanted.run, wanted.replies)


def exported(wanted: ExportOptions) -> str:
    run, what, to = wanted.run, wanted.what, wanted.to
    if what == REFERENCES:
        if wanted.judge:
            raise UserError("--judge: the references of all judges are written, so leave it out")
        made = export_references(run, to, wanted.briefs)
        missing = f"; {made.unscored:,} could not be written by that run" if made.unscored else ""
        return f"{made.references:,} references of {made.documents:,} documents: {to}{missing}\n"
    if what in TABLES:
        return export_table(run, what, to, wanted.judge)
    if what == ASKS:
        return export_asks(run, to, wanted.samples)
    exports = {name: write for kind in plugins().values() for name, write in kind.exports.items()}
    if what not in exports:
        raise UserError(unknown("export", what, [REFERENCES, ASKS, *TABLES, *exports]))
    if wanted.briefs:
        raise UserError("--briefs: only references are read from briefs, so leave it out")
    return exports[what](run, to, wanted.judge) + "\n"
