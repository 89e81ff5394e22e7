"""What `odt try` hands over for other tools answers every row of the table as its tree does."""

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


def by_onnx(files, rows, asked, tool):
    """Return what the file answers, and the shares of the classes where there are any."""
    session = tool("onnxruntime").InferenceSession(
        files[".onnx"], providers=["CPUExecutionProvider"])
    assert [given.name for given in session.get_inputs()] == asked
    first, *shares = session.run(None, {
        name: rows[[name]].to_numpy(float) if rows[name].dtype == float else
        rows[[name]].astype(object).fillna("").to_numpy() for name in asked})
    return first.ravel(), *shares


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("gaps", [True, False])
def test_onnx_answers_as_the_tree_wherever_gaps_go(tool, gaps, task):
    tool("onnx")
    found, files, refused = answered(numbers(gaps, task))
    assert not refused and found.model.get_n_leaves() > 3
    rows = found.question.table.X
    if gaps:        # and those that no row of the table has
        rows = pd.concat([rows, rows.assign(a=np.nan), rows.assign(**{"a": np.nan, "c": np.nan})])
    answers, *shares = by_onnx(files, rows, trying.used(found.model, found.question.table), tool)
    np.testing.assert_array_equal(answers, found.model.predict(rows))
    assert len(shares) == (task == "classification")
    if shares:
        np.testing.assert_allclose(shares[0], found.tree.predict_proba(rows), rtol=1e-12)


def test_onnx_compares_in_64_bits(tool):
    """Where 32 bits would answer rows otherwise, and where no file says why."""
    tool("onnx")
    n = np.arange(200.0)
    found, files, refused = answered(read_table(pd.DataFrame({
        "a": 2.0**25 + n + (n > 50), "y": np.where(n < 102, "p", "q")}), "y"))
    rows = found.question.table.X
    assert not refused and (rows["a"].astype(np.float32) != rows["a"]).any()
    assert (by_onnx(files, rows, ["a"], tool)[0] == found.model.predict(rows)).all()


def test_why_there_is_no_onnx_file(tool, tmp_path):
    tool("onnx"), tool("onnxruntime")
    found, files, refused = answered(read_table(pd.DataFrame({
        "a": np.arange(200) // 2 % 4, "y": ["p", "q"] * 100}), "y"))
    assert found.model.get_n_leaves() == 1 and ".onnx" not in files
    assert refused == ["There is no .onnx file: the tree asks nothing."]
    judged = trying.judge(found.question)
    assert refused[0] in trying.hand_over(found, judged, "t.csv", str(tmp_path / "t"))


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("gaps", [True, False])
def test_onnx_of_words_answers_as_the_tree(tool, gaps, task, tmp_path):
    """Also rows with words that no row had, with gaps elsewhere, and beyond 32 bits."""
    tool("onnx")
    rng = np.random.default_rng(5)
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
    answers, *_ = by_onnx(files, rows, trying.used(found.model, table), tool)
    np.testing.assert_array_equal(answers, found.model.predict(rows))
    said = str(trying.hand_over(found, trying.judge(found.question), "t.csv", str(tmp_path / "t")))
    assert "words, of which the empty one is a gap" in said


def test_onnx_and_skops_take_words_as_the_table_has_them(tool):
    """Other spellings, rare words, and marks of gaps, which the page reads together."""
    tool("onnx")
    skops = tool("skops.io")
    rng = np.random.default_rng(0)
    raw = pd.DataFrame({
        "city": rng.choice(["Bonn", "bonn", " Bonn", "Trier", "?", "n/a"], 300),
        "firm": np.where(rng.random(300) < 0.4, [f"f{k}" for k in range(300)], "large")})
    there = (raw["city"] != "Trier") ^ (raw["firm"] == "large")
    found, files, refused = answered(read_table(raw.assign(y=np.where(there, "up", "down")), "y"))
    wanted, asked = found.model.predict(found.question.table.X), ["city", "firm"]
    assert not refused and sorted(trying.used(found.model, found.question.table)) == asked
    session = tool("onnxruntime").InferenceSession(
        files[".onnx"], providers=["CPUExecutionProvider"])
    answers = session.run(None, {name: raw[[name]].to_numpy(object) for name in asked})[0].ravel()
    np.testing.assert_array_equal(answers, wanted)
    again = skops.loads(files[".skops"], trusted=skops.get_untrusted_types(data=files[".skops"]))
    np.testing.assert_array_equal(again.predict(raw), wanted)
    assert (found.model.predict(raw) != wanted).any()
