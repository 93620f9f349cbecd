"""`evaljudge view`: a run's page over all of its texts, beside another, or a sheet to be rated."""

import threading
from contextlib import AbstractContextManager, suppress

from evaljudge.analysis.run_scores import scored_run
from evaljudge.commands.options import ViewOptions
from evaljudge.errors import UserError
from evaljudge.runs.outcome import open_run
from evaljudge.sections import merged
from evaljudge.storage import open_to_read
from evaljudge.text import listed
from evaljudge.viewer.labels import LabelSheet, label_site
from evaljudge.viewer.server import Site, served
from evaljudge.viewer.site import RunSite, trend


def view(options: ViewOptions) -> None:
    with viewing(options) as link:
        print(f"page       {link}", flush=True)
        print("           Open the whole link in a browser. Ctrl-C ends it.", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def viewing(options: ViewOptions) -> AbstractContextManager[str]:
    return served(made_site(options), options.port)


def made_site(options: ViewOptions) -> Site:
    if options.label is not None:
        return _label_site(options, options.label)
    if options.rater:
        raise UserError("--rater is for a sheet of texts to rate: name it with --label")
    outs = [options.out, *listed(options.beside or ())]
    runs = [(scored_run(out), open_run(out).findings) for out in outs]
    others = [run for run, _ in runs[1:]]
    run_site = RunSite(*runs[0], others, merged(trend(runs)) if len(runs) > 2 else ())
    if others and not any(other["texts"] for other in run_site.compared):
        raise UserError(
            f"{others[0].out}: it has no text of {options.out} (by document and system), so there "
            "is nothing to compare"
        )
    return run_site.site


def _label_site(options: ViewOptions, sheet: str) -> Site:
    if options.beside:
        raise UserError("--label shows texts without systems and scores: leave --beside out")
    if not options.rater:
        raise UserError("--rater: name the person who rates")
    open_to_read(sheet).close()
    axes = scored_run(options.out).about["fingerprint"]["task"]["axes"]
    described = {axis: words for axis, (words, *_) in axes.items()}
    return label_site(LabelSheet.open(sheet, options.rater), described)
