"""What `odt try` hands over for other tools answers every row of the table as its tree does."""

import json

import numpy as np
import pandas as pd
import pytest

from odtbook import trying
from odtbook.tables import read_table


def answered(table):
    """Return the tree of a table, its files, and why others are missing."""
    found, refused = trying.fit_tree(trying.ask(table, max_depth=3, seconds=5)), []
    return found, trying.exports(found, refused), refused


def numbers(gaps, task):
    """Return a table of numbers."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(300, 3)).round(1), columns=["a", "b b", "c"])
    score = X["a"] + (X["b b"] > 0)
    X = X.mask(rng.random(X.shape) < 0.2) if gaps else X
    return read_table(X.assign(y=score if task == "regression" else np.where(
        score > 0.5, "up", np.where(score < 0, "down", "so so"))), "y")


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("gaps", [True, False])
def test_onnx_answers_as_the_tree_wherever_gaps_go(tool, gaps, task):
    tool("skl2onnx")
    onnx, runtime = tool("onnx"), tool("onnxruntime")
    found, files, refused = answered(numbers(gaps, task))
    assert not refused and found.model.get_n_leaves() > 3
    session = runtime.InferenceSession(files[".onnx"], providers=["CPUExecutionProvider"])
    names = json.loads(onnx.load_from_string(files[".onnx"]).metadata_props[0].value)
    assert names == ["a", "b b", "c"]
    rows = found.question.table.X
    if gaps:        # and those that no row of the table has
        rows = pd.concat([rows, rows.assign(a=np.nan), rows.assign(**{"a": np.nan, "c": np.nan})])
    found_by_onnx = session.run(None, {"X": rows[names].to_numpy(np.float32)})[0].ravel()
    wanted = found.model.predict(rows)
    if task == "classification":
        np.testing.assert_array_equal(found_by_onnx, wanted)
    else:
        np.testing.assert_allclose(found_by_onnx, wanted, rtol=1e-5, atol=1e-6)


def test_no_onnx_file_that_would_answer_otherwise(tool, tmp_path):
    tool("skl2onnx"), tool("onnxruntime")
    n = np.arange(200.0)
    found, files, refused = answered(read_table(pd.DataFrame({
        "a": 2.0**25 + n + (n > 50), "y": np.where(n < 102, "p", "q")}), "y"))
    assert ".onnx" not in files
    assert "rows otherwise, since it compares in 32 bits" in refused[0]
    judged = trying.judge(found.question)
    assert refused[0] in trying.hand_over(found, judged, "t.csv", str(tmp_path / "t"))
    words = pd.DataFrame({"a": n, "w": np.where(n % 2, "u", "v"), "y": np.where(n < 90, "p", "q")})
    found, files, refused = answered(read_table(words, "y"))
    assert ".onnx" not in files and "columns of words" in refused[0]
