"""Each line of the page *How do I ...?* runs, in the order of the page."""

import importlib
import pickle
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.tree import plot_tree

import odtlib
from odtlib.constrained import sets
from odtlib.objectives import LinearLeaves, SquaredError

PAGE = Path(__file__).parents[2] / "chapters" / "appendices" / "how_do_i.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in row.strip("|").split(" | ")]
        for row in re.findall(r"^\| .*\|$", TEXT, re.MULTILINE)]
LINES = {task: line.strip("`") for task, line, _ in ROWS if line.startswith("`")}
OPTIONAL = {"SHAP": "shap", "skops": "skops.io", "ONNX": "skl2onnx"}    # test-interoperation


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the lines use: the page's own example, and further targets for the same rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 70, 80), "income": rng.normal(40, 9, 80).round(1),
                          "town": rng.choice(["Ulm", "Bonn", "Kiel"], 80)})
    frame["class"] = np.where((frame.age > 45) ^ (rng.random(80) < 0.1), "yes", "no")
    names = {"np": np, "pickle": pickle, "Path": Path, "plot_tree": plot_tree, "sets": sets,
             "roc_auc_score": roc_auc_score, "GridSearchCV": GridSearchCV,
             "GroupKFold": GroupKFold, "cross_val_score": cross_val_score,
             "LinearLeaves": LinearLeaves, "mine": SquaredError()}
    names |= {name: getattr(odtlib, name) for name in odtlib.__all__}
    with pytest.MonkeyPatch.context() as patch, mpl.rc_context({"backend": "agg"}):
        patch.chdir(tmp_path_factory.mktemp("reader"))
        frame.to_csv("table.csv", index=False)
        exec(re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1], names)
        amount = frame.age + rng.random(80)
        times = np.array([*zip(rng.random(80) < 0.7, 1 + rng.random(80))],
                         [("event", bool), ("time", float)])
        parts = rng.random((80, 3))
        names |= {"amount": amount, "count": rng.poisson(frame.age / 20), "times": times,
                  "weight": rng.random(80), "group": rng.integers(0, 2, 80),
                  "shares": parts / parts.sum(axis=1, keepdims=True)}
        yield names


def test_there_are_at_least_thirty_tasks():
    assert len(LINES) >= 30 and len(LINES) == len(ROWS) - TEXT.count("|---|---|---|")


@pytest.mark.parametrize("word", [
    "pickle", "serve", "deploy", "export", "SQL", "exclude", "ROC", "imbalance", "cost", "weights",
    "group", "warm start", "proof", "own objective"])
def test_tasks_have_the_words_that_people_search(word):
    assert any(re.search(rf"\b{word}", task) for task in LINES)


@pytest.mark.parametrize("task", LINES)
def test_a_line_runs(task, names):
    used = dict(names)
    if task in OPTIONAL:
        used[OPTIONAL[task].split(".")[0]] = pytest.importorskip(OPTIONAL[task].split(".")[0])
        importlib.import_module(OPTIONAL[task])
        used["columns"] = pd.DataFrame(names["model"].to_sklearn()[:-1].transform(names["X"]))
    used["model"] = odtlib.MurTreeClassifier(max_depth=3).fit(names["X"], names["y"])
    eval(LINES[task], used)
