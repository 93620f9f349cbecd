"""`evaljudge probe`: what is printed, what is written, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evaljudge.cli import main
from evaljudge.errors import UserError
from evaljudge.probes.commands import studies_app

STUDIES = ["mixes", "robustness", "complementarity", "sizes", "ranges", "spurious"]
OF_AXIS = ["mixes", "robustness", "sizes", "spurious"]
TEXTS = ["one", "one two", "a b c d", "one two three"]


def case(name: str, systems: int = 4) -> dict[str, Any]:
    return {
        "doc_id": name,
        "source": f"One {name}. Two three. Four a b. Five c.",
        "references": ["one two four"],
        "candidates": [
            {"system": f"s{s}", "text": f"{name} {TEXTS[s]}", "ratings": {"relevance": (s * 7) % 5}}
            for s in range(systems)
        ],
    }


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    cases = [case("d"), case("e"), case("f")]
    scores = [
        {"doc_id": c["doc_id"], "system": f"s{s}", "scorer": "mine", "value": (s * 3) % 4 + len(c)}
        for c in cases
        for s in range(4)
    ]
    for name, rows in (("cases", cases), ("scores", scores)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return str(tmp_path / "cases.jsonl"), str(tmp_path / "scores.jsonl")


def probe(*arguments: str) -> str:
    done = CliRunner().invoke(studies_app, arguments)
    if done.exception:
        raise done.exception
    return done.output


@pytest.mark.parametrize("name", ["robustness", "complementarity", "sizes"])
def test_coefficients_of_few_systems_are_said_to_mean_nothing(
    name: str, files: tuple[str, str]
) -> None:
    said = probe(name, "--cases", files[0], "--scores", files[1], "--metrics", "words")
    assert "These coefficients rest on only 4 systems: even perfect agreement can be chance" in said


@pytest.mark.parametrize("name", STUDIES)
def test_a_table_is_printed_and_three_files_are_written(
    name: str, files: tuple[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    asked = (name, "--cases", files[0], "--scores", files[1], "--metrics", "words")
    said = probe(*asked, "--out", str(out))
    assert "words" in said and "mine" in said and "3 documents, 4 systems" in said
    file = f"{name}-relevance" if name in OF_AXIS else name
    assert sorted(one.name for one in out.iterdir()) == [
        f"{file}.{k}" for k in ("json", "md", "svg")
    ]
    assert json.loads((out / f"{file}.json").read_text())
    assert (out / f"{file}.md").read_text().startswith("# ")
    assert f"({file}.svg)" in (out / f"{file}.md").read_text()
    before = [file.read_bytes() for file in sorted(out.iterdir())]
    probe(*asked, "--out", str(out))
    assert [file.read_bytes() for file in sorted(out.iterdir())] == before
    assert probe(*asked) + f"\nwritten    {out}/{file}.md, .json, .svg\n" == said


@pytest.mark.parametrize("name", OF_AXIS)
def test_files_of_another_axis_are_left_alone(name: str, tmp_path: Path) -> None:
    axes = ("fluency", "in/out", "in_out")
    rows = [case(doc) for doc in "def"]
    for row in rows:
        for candidate in row["candidates"]:
            candidate["ratings"] = dict.fromkeys(axes, candidate["ratings"]["relevance"])
    file, out = tmp_path / "cases.jsonl", tmp_path / "out"
    file.write_text("\n".join(map(json.dumps, rows)))
    contents: dict[str, bytes] = {}
    for number, axis in enumerate(axes, 1):
        asked = ("--cases", str(file), "--metrics", "words", "--axis", axis, "--out", str(out))
        probe(name, *asked)
        assert len(list(out.iterdir())) == 3 * number
        assert contents.items() <= {f.name: f.read_bytes() for f in out.iterdir()}.items()
        contents = {f.name: f.read_bytes() for f in out.iterdir()}
    assert f"{name}-fluency.json" in contents


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mixes", "--axis", "relevanse"], "--axis: unknown human axis 'relevanse': did you mean"),
        (["mixes", "--mix", "words+mein"], "unknown scorer 'mein': did you mean 'mine'"),
        (["mixes", "--level", "sytem"], "did you mean 'system'"),
        (["sizes", "--coefficient", "speerman"], "did you mean 'spearman'"),
        (["ranges", "--metrics", "wordz"], "unknown metric 'wordz': did you mean 'words'"),
        (["ranges", "--format", "generik"], "did you mean 'generic'"),
        (["mixes", "--sources", "folder"], "format 'generic' takes no `sources`"),
        (["spurious", "--scores", "SCORES"], "scorer 'mine' is in another --scores file already"),
    ],
)
def test_mistakes(arguments: list[str], words: str, files: tuple[str, str]) -> None:
    told = [files[1] if argument == "SCORES" else argument for argument in arguments]
    given = ["--cases", files[0], "--scores", files[1]]
    metrics = [] if "--metrics" in told else ["--metrics", "words"]
    with pytest.raises(UserError, match=words):
        probe(told[0], *given, *metrics, *told[1:])


def test_what_is_missing(files: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="name --metrics, or --scores"):
        probe("mixes", "--cases", files[0])
    with pytest.raises(UserError, match="robustness measures texts anew: name --metrics"):
        probe("robustness", "--cases", files[0], "--scores", files[1])
    two = tmp_path / "two.jsonl"
    two.write_text(json.dumps(case("d", systems=2)))
    with pytest.raises(UserError, match="needs 3 systems"):
        probe("mixes", "--cases", str(two), "--metrics", "words")
    unrated = tmp_path / "unrated.jsonl"
    unrated.write_text(json.dumps(case("d")).replace("ratings", "rated"))
    with pytest.raises(UserError, match="no candidate of the cases has human ratings"):
        probe("spurious", "--cases", str(unrated), "--metrics", "words")


def test_columns_of_other_names_are_named_and_may_be_mapped(tmp_path: Path) -> None:
    table = tmp_path / "cases.csv"
    rows = [(f"d{d}", s, f"{'a ' * (s + d)}b", (s * 3 + d) % 5) for d in range(6) for s in range(5)]
    lines = [f"{d},The source of {d}.,s{s},{text},{rating}" for d, s, text, rating in rows]
    table.write_text("\n".join(["doc_id,source,system,text,human", *lines]))
    asked = ("sizes", "--cases", str(table), "--metrics", "words", "--axis", "relevance")
    refused = CliRunner().invoke(studies_app, asked)
    assert isinstance(refused.exception, UserError)
    assert "`human` looks like a rating and is not read" in str(refused.exception)
    said = probe(*asked, "--column", "human=ratings.relevance")
    assert "6 documents, 5 systems" in said
    assert "not read" not in said


@pytest.mark.parametrize("name", STUDIES)
def test_a_benchmark_that_leaves_its_documents_out(name: str, tmp_path: Path) -> None:
    """As SummEval's aligned file does: the same is said where the documents lie apart."""
    (tmp_path / "d.story").write_text("One d. Two three. Four a b.\n\n@highlight\n\nTwo")
    aligned = [
        {
            "id": "d", "model_id": f"M{s}", "decoded": text, "references": ["one two four"],
            "filepath": "d.story",
            "expert_annotations": [
                dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), (s * 7) % 5)
            ],
        }
        for s, text in enumerate(TEXTS)
    ]  # fmt: skip
    paired = [row | {"text": "One d. Two three. Four a b."} for row in aligned]
    said = {}
    for form, rows, more in (
        ("aligned", aligned, ["--sources", str(tmp_path)]),
        ("paired", paired, []),
    ):
        file = tmp_path / f"{form}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)))
        asked = ["--cases", str(file), "--format", "summeval", "--metrics", "words,rouge1"]
        said[form] = probe(name, *asked, *more).replace(f"{form}.jsonl", "")
    assert said["aligned"] == said["paired"]


def rows_of(tmp_path: Path, axis: str = "tone") -> str:
    file = tmp_path / "cases.jsonl"
    rows = [
        {"doc_id": f"d{n}", "source": f"Rain {n} fell on the town.", "references": [f"Rain {n}."],
         "system": system, "text": f"{'Rain' if system == 'A' else 'Sun'} {n}.",
         "ratings": {axis: float("nan") if (n, system) == (0, "C") else n + len(system)}}
        for n in range(4) for system in ("A", "B", "C")
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def test_what_is_left_out_is_said_and_the_only_axis_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["probe", "mixes", "--cases", rows_of(tmp_path)]
    with pytest.raises(SystemExit) as end:
        main([*command, "--metrics", "rouge1,words"])
    assert end.value.code == 0
    said = capsys.readouterr()
    assert "tone, system level" in said.out
    assert (
        "warning: rouge1: 4 of 12 candidates have no score and are left out "
        "(is the reference × 4)\n"
    ) in said.err
    assert "1 rating is null or not finite: absent" in said.err


def test_of_several_axes_one_must_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(rows_of(tmp_path))
    file.write_text(file.read_text().replace('"ratings": {', '"ratings": {"ease": 1, '))
    with pytest.raises(SystemExit):
        main(["probe", "spurious", "--cases", str(file), "--metrics", "words"])
    assert "--axis: name one of those that people rated: ease, tone" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["probe", "position"], ["probe", "injection"], ["calibrate"]])
def test_a_slip_of_a_few_digits_is_refused(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--resamples", "10000000"])
    said = capsys.readouterr().err
    assert "'--resamples'" in said and " 1000000 " in said, said
