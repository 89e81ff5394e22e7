"""The quick start runs on any table, as a reader would run it, and says what it did."""

import json
from pathlib import Path

import pytest
from tables.ugly import tables

NOTEBOOK = Path(__file__).parents[2] / "chapters" / "quick_start.ipynb"
FIRST = ("gaps", "a numeric target", "one class")       # the others take minutes
UGLY = [table for table in tables() if isinstance(table.content, bytes)]


@pytest.mark.parametrize("table", [
    pytest.param(table, id=table.name, marks=[] if table.name in FIRST else pytest.mark.slow)
    for table in UGLY])
def test_quick_start_on_an_ugly_table(table, tmp_path):
    papermill = pytest.importorskip("papermill")
    path = tmp_path / f"table{table.ending}"
    path.write_bytes(table.content)
    page = tmp_path / "page.ipynb"
    papermill.execute_notebook(
        NOTEBOOK, page, {"csv": str(path), "target": table.target, "time_limit": 2.0},
        kernel_name="python3", progress_bar=False, cwd=NOTEBOOK.parent)
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    made = next(cell for cell in cells if cell["id"] == "table-made")
    shown = "".join("".join(output.get("text", "")) for output in made["outputs"])
    for words in table.words:
        assert words in shown
    assert ("a table of its own" in shown) != table.usable
    drawn = next(cell for cell in cells if cell["id"] == "draw")
    assert any("image/png" in output.get("data", {}) for output in drawn["outputs"])
