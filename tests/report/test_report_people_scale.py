"""The section of means on people's scale: short on a terminal, whole in Markdown, harmless."""

from dataclasses import replace

import numpy as np
import pytest

from evaljudge.analyses.people_scale import section
from evaljudge.analysis.findings import Findings
from evaljudge.decisions.people import PeopleScale, pass_rate, people_scale
from evaljudge.decisions.powered import NOTHING
from evaljudge.report import agreement_markdown, agreement_text
from tests.frames import replaced
from tests.report.findings import made


def scale(systems: list[str], scorer: str = "judge", axis: str = "tone") -> PeopleScale:
    rng = np.random.default_rng(2)
    scores = rng.normal(0, 1, (60, len(systems))) + np.arange(len(systems)) % 3
    human = np.where(np.arange(60)[:, None] < 12, scores + 3, np.nan)
    human += rng.normal(0, 0.3, human.shape)
    found = people_scale(systems, scores, human)
    rate = pass_rate(scores, human, threshold=0.5, good=4)
    assert found is not None
    assert rate is not None
    return replace(found, scorer=scorer, axis=axis, pass_rates=[rate])


@pytest.fixture
def findings() -> Findings:
    weak = replace(scale(["A", "B", "C"], "weak"), effective=1.0)
    return made(people_scale=[weak, scale(["A", "B", "C"])])


def test_in_short_it_names_the_highest_and_what_is_lower(findings: Findings) -> None:
    (table,) = next(iter(section(findings, True))).tables
    ((axis, scorer, highest, lower, texts, counts_as),) = table.rows
    assert (axis, scorer, texts) == ("tone", "judge", "36 of 180")
    assert [one.name for one in highest] == ["C"]  # type: ignore[union-attr]
    assert [one.name for one in lower] == ["A", "B"]  # type: ignore[union-attr]
    assert float(str(counts_as)) > 2
    assert "drawn at random" in agreement_text(findings)


def test_every_scorer_every_system_and_the_pass_rates(findings: Findings) -> None:
    (found,) = section(findings, False)
    _, gains, systems, rates = found.tables
    assert [row[1] for row in gains.rows] == ["weak", "judge"]
    assert [row[0] for row in systems.rows] == ["C", "B", "A"]
    apart = findings["people_scale"][1].differences[0].corrected  # of A less B
    assert systems.rows[0][-1] == "–"
    assert str(systems.rows[2][5]).startswith("-") and apart.value is not None
    assert len(rates.rows) == 2
    assert rates.rows[0][2:4] == ["4", "0.5"]


def test_without_such_means_there_is_no_section(findings: Findings) -> None:
    none = replaced(findings, people_scale=[])
    few = replaced(findings, people_scale=[replace(scale(["A"]), slope=None, together=NOTHING)])
    assert agreement_markdown(few) == agreement_markdown(none)
    assert "people's scale" not in agreement_markdown(none)


def test_where_only_the_mean_of_all_texts_is_known_it_is_shown(findings: Findings) -> None:
    sparse = replace(scale(["A"]), slope=None, effective=None)
    (found,) = section(replaced(findings, people_scale=[sparse]), False)
    tables = found.tables
    assert [table.title for table in tables] == [
        "What each scorer's scores add", "What share of the texts is good"
    ]  # fmt: skip
