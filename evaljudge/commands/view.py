"""`evaljudge view`: a run's page over all of its texts, in a browser on this machine.

    with viewing(ViewOptions("runs/first")) as link:           the page
    viewing(ViewOptions("runs/first", beside="runs/next"))     the same, beside another run
    viewing(ViewOptions("runs/first", label="sheet.jsonl", rater="anna"))   texts to rate

The server listens on this machine alone; the link has the token that it asks for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evaljudge.analysis.two_runs import scored_run
from evaljudge.errors import UserError
from evaljudge.runs.outcome import open_run
from evaljudge.viewer.labels import LabelSheet
from evaljudge.viewer.server import Site, serving
from evaljudge.viewer.site import LabelSite, RunSite


@dataclass(frozen=True)
class ViewOptions:
    out: str
    beside: str | None = None
    """Another run, with which this one is compared."""
    label: str | None = None
    """A sheet of `evaljudge label` that is filled in; nothing else of the run is shown."""
    rater: str = ""
    port: int = 0
    """0: any that is free."""


@contextmanager
def viewing(options: ViewOptions) -> Iterator[str]:
    """The link of a page that is served until the block ends."""
    site = made_site(options)
    try:
        server = serving(site, options.port)
    except OSError as error:
        raise UserError(
            f"--port {options.port}: nothing can be served there ({error.strerror}): name another "
            "port, or none"
        ) from None
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/?token={site.token}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def made_site(options: ViewOptions) -> Site:
    if options.label is None:
        if options.rater:
            raise UserError("--rater is for a sheet of texts to rate: name it with --label")
        other = scored_run(options.beside) if options.beside else None
        return RunSite(scored_run(options.out), open_run(options.out).findings, other).site
    if options.beside:
        raise UserError("--label shows texts without systems and scores: leave --beside out")
    if not options.rater:
        raise UserError("--label: name the person who rates with --rater")
    axes = scored_run(options.out).about["fingerprint"]["task"]["axes"]
    described = {axis: words for axis, (words, *_) in axes.items()}
    return LabelSite(LabelSheet.open(options.label, options.rater), described).site
