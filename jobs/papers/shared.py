"""What the scripts of this folder share: options, cases as rows, scores, correlations."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

import evaljudge
from evaljudge.corpora import CorpusSource, open_corpus

Row = dict[str, Any]
How = Literal["pearson", "spearman", "kendall"]
LEVELS = ("sample", "system", "summary", "document")


def options(doc: str | None, metrics: str = "importance,rouge1") -> argparse.ArgumentParser:
    """`doc`: the script's docstring, of which the first paragraph is its help."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n\n")[0])
    parser.add_argument("--cases", required=True, help="the file or folder of the cases")
    parser.add_argument("--format", default="generic", help="see `evaljudge list formats`")
    parser.add_argument("--sources", help="the documents, where the benchmark lacks them")
    parser.add_argument("--metrics", default=metrics, help="names, such as importance,rouge1")
    parser.add_argument("--axis", default="relevance", help="which ratings are meant")
    parser.add_argument("--seed", type=int, default=0, help="of everything random")
    parser.add_argument("--figure", metavar="FILE", help="also draw it, as .svg, .png or .pdf")
    return parser


def rows_of(how: argparse.Namespace) -> list[Row]:
    """A row for each document, as `evaljudge.run` takes them."""
    with open_corpus(CorpusSource(how.cases, how.format, how.sources)) as corpus:
        return [dict(_row(case)) for case in corpus]


def _row(case: Any) -> Iterator[tuple[str, Any]]:
    yield from {"doc_id": case.document.doc_id, "source": case.document.source}.items()
    yield "references", list(case.document.references)
    yield (
        "candidates",
        [{"system": c.system, "text": c.text, "ratings": dict(c.ratings)} for c in case.candidates],
    )


def scores(rows: Sequence[Row], metrics: str | Mapping[str, Any], seed: int) -> pd.DataFrame:
    """A row for each text; the columns are `doc_id`, `system`, each metric, and `human.AXIS`."""
    names = metrics.split(",") if isinstance(metrics, str) else metrics
    outcome = evaljudge.score(rows, judges=[], metrics=names, seed=seed, progress=False)
    table: pd.DataFrame = outcome.scores(wide=True).to_pandas()
    return table


def rated(table: pd.DataFrame, axis: str) -> str:
    """The column of people's ratings on this axis; ends the script where there is none."""
    human = [name for name in table.columns if name.startswith("human.")]
    if f"human.{axis}" not in human:
        axes = ", ".join(name.removeprefix("human.") for name in human)
        raise SystemExit(f"--axis {axis}: nobody rated it; people rated {axes or 'nothing'}")
    return f"human.{axis}"


def correlations(table: pd.DataFrame, level: str, how: How) -> pd.DataFrame:
    """The correlations of all columns; at `document` level of the documents' means over systems."""
    numbers = table.drop(columns=["doc_id", "system"])
    if level == "summary":
        return numbers.corr(how)
    if level == "sample":
        return numbers.groupby(table["doc_id"]).corr(how).groupby(level=1).mean()
    return numbers.groupby(table["system" if level == "system" else "doc_id"]).mean().corr(how)
