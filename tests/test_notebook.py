"""The notebook of the documentation runs from start to end, and is kept without its outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs/notebook.ipynb"


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_is_kept_without_outputs():
    """So that no path of anybody's machine is in it, and a change of it can be read."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in code_cells(notebook))
    assert not any(
        place in NOTEBOOK.read_text() for place in ("/home/", "/tmp/", "/root/", "/work/")
    )


@pytest.mark.long
@pytest.mark.engine
def test_it_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    run = NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    run.execute()
    results = [
        output.data
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type in ("execute_result", "display_data")
    ]
    assert "60 texts of 10 documents on 2 axes" in results[1]["text/plain"]
    assert "100.0% scored" in results[1]["text/plain"]
    assert results[1]["text/html"].count("<tr>") > 2
    assert any("image/png" in one for one in results)
    assert results[-1]["text/plain"] == "(True, True)"
