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


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("gaps", [True, False])
def test_onnx_of_words_answers_as_the_tree(tool, gaps, task, tmp_path):
    """Also rows with words that no row had, with gaps elsewhere, and beyond 32 bits."""
    tool("onnx")
    runtime, rng = tool("onnxruntime"), np.random.default_rng(5)
    X = pd.DataFrame({"a b": 2.0**24 + rng.normal(size=400).round(1), "____0": rng.choice(
        ["it's", 'x"y', "名"], 400), "e": rng.choice(["p", "q"], 400)})
    score = X["a b"] - 2.0**24 + 2 * (X["____0"] == "名") - (X["e"] == "p")
    X = X.mask(rng.random(X.shape) < 0.2) if gaps else X
    found, files, refused = answered(read_table(X.assign(y=score if task == "regression" else (
        score > 0).astype(int)), "y"))
    assert not refused and found.model.get_n_leaves() > 3
    table, rows = found.question.table, found.question.table.X.copy()
    if gaps:
        rows = rows.mask(rng.random(rows.shape) < 0.3)
    for name in table.categories:
        rows.loc[rng.random(400) < 0.3, name] = "never seen"
    session = runtime.InferenceSession(files[".onnx"], providers=["CPUExecutionProvider"])
    assert [given.name for given in session.get_inputs()] == trying.used(found.model, table)
    found_by_onnx = session.run(None, {
        name: rows[[name]].astype(object).fillna("").to_numpy() if name in table.categories else
        rows[[name]].to_numpy(float) for name in trying.used(found.model, table)})[0].ravel()
    np.testing.assert_allclose(found_by_onnx, found.model.predict(rows), rtol=1e-12)
    said = str(trying.hand_over(found, trying.judge(found.question), "t.csv", str(tmp_path / "t")))
    assert "words, of which the empty one is a gap" in said
