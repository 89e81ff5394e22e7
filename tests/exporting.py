"""Tables with words, gaps and hostile names, and the programs that their trees are written as."""

import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest

from odtlib import (
    CARTClassifier,
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    LocalSearchTreeClassifier,
    MurTreeClassifier,
    MurTreeRegressor,
)
from odtlib.binarize import MDLPBinarizer, QuantileBinarizer, ThresholdBinarizer

HOSTILE = [
    "a'b", 'a"b', 'a"""; __import__("os").abort(); """b', "'''", "back\\slash\\", "\\N\\l", "\n",
    "a\r\nb", "[x]", "{y}", "@NAME@", "%s", "</script><script>alert(1)</script>", "<!--", "&lt;",
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "nul\0nul", "\u202eright to left\u202c", "\u2028",
    "$\\frac{", "_hidden", "größe", "x <= 1", "y is missing", "__proto__", "constructor", "#", "--",
    "/* */", "`${1}`", " blank ", "", "None", "NaN", "\ud800"]


def drawn_table(seed):
    """Return a table of numbers, dates as days, words and categories, with gaps, and its labels."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(30, 90))
    words = [str(word) for word in rng.choice(HOSTILE[:-1], 5, replace=False)]
    columns = {
        "size": np.round(rng.normal(15, 2, n_rows), 1), "count": rng.integers(0, 5, n_rows),
        "bought": rng.integers(0, 800, n_rows) + rng.choice([0.0, 0.25], n_rows),
        "flag": rng.random(n_rows) < 0.5, "colour": rng.choice(["red", "blue", "grün"], n_rows),
        "odd": rng.choice(words, n_rows), "code": pd.Categorical(rng.choice([3, 7, 11], n_rows)),
        "both": pd.Categorical(rng.choice(["m", "w"], n_rows)),
        "truth": pd.Categorical(rng.choice([True, False], n_rows)),
        "exact": rng.normal(size=n_rows)}
    X = pd.DataFrame(columns)[list(rng.permutation(list(columns))[:int(rng.integers(3, 9))])]
    with_gaps = rng.random() < 0.7
    for name in X.columns:
        if with_gaps and name not in ("flag", "count") and rng.random() < 0.6:
            X[name] = X[name].mask(rng.random(n_rows) < 0.2)
    score = sum(rng.normal() * (pd.factorize(X[name])[0] % 3) for name in X.columns)
    score = score + 0.3 * rng.normal(size=n_rows)
    return X, np.asarray(score, float), rng


def fitted(X, score, rng):
    """Return a model of a kind that is drawn."""
    n_classes = int(rng.integers(2, 4))
    labels = [["no", "yes", "perhaps"], [0, 1, 2], [HOSTILE[2], HOSTILE[12], HOSTILE[17]],
              [0.0, 1.0, 2.0]][int(rng.integers(4))]
    y = np.array(labels, object)[np.searchsorted(np.quantile(score, [0.5, 0.8][:n_classes - 1]),
                                                 score)]
    y = np.array(y.tolist())
    binarizer = [
        "auto", MDLPBinarizer(handle_unknown="ignore"),
        QuantileBinarizer(4, handle_unknown="warn", ordered_categories=True),
        ThresholdBinarizer(max_thresholds_per_feature=9, handle_unknown="ignore")]
    models = [
        (MurTreeClassifier(3, binarizer=binarizer[int(rng.integers(4))]), y),
        (MurTreeClassifier(2, objective="balanced-accuracy"), y),
        (MurTreeRegressor(3, binarizer=["quantile", *binarizer[2:]][int(rng.integers(3))]), score),
        (CARTClassifier(int(rng.integers(1, 9)), criterion="entropy"), y),
        (ContinuousTreeClassifier(2), y), (ContinuousTreeRegressor(2), score),
        (LocalSearchTreeClassifier(3, max_restarts=1, random_state=0), y)]
    model, targets = models[int(rng.integers(len(models)))]
    return model.fit(X, targets)


def probes(X, tree):
    """Return rows with every threshold and its neighbours, gaps, and categories that are new."""
    rows = [X]
    for question in tree.questions().values():
        name = X.columns[question.column]
        cells = [None, np.nan, "new"] if question.members is not None else [
            np.nan, *(np.nextafter(question.high, [-np.inf, np.inf]).tolist()), question.high]
        cells = [np.nan] if question.high == -np.inf and question.members is None else cells
        for cell in cells:
            some = X.iloc[:7].astype({name: object})
            some[name] = [cell] * len(some)
            rows.append(some)
    emptied = X.iloc[:7].astype(object)
    emptied[:] = np.nan
    table = pd.concat([one.astype(object) for one in [*rows, emptied]], ignore_index=True)
    for name in X.columns:
        if X[name].dtype.kind in "biuf":
            table[name] = table[name].astype(float)
    return table


def records(table):
    """Return rows as dicts, of plain values."""
    return [{name: cell.item() if isinstance(cell, np.generic) else cell
             for name, cell in row.items()} for row in table.to_dict("records")]


def by_python(tree, table):
    space = {}
    exec(compile(tree.to_python(), "tree", "exec"), space)
    rows = records(table)
    predicted = [space["predict"](row) for row in rows]
    if tree.kind == "classification":
        shares = [list(space["predict_proba"](row).values()) for row in rows]
        np.testing.assert_array_equal(shares, tree.predict_proba(table))
    return predicted


def by_sql(tree, table):
    base = sqlite3.connect(":memory:")
    names = ['"' + name.replace('"', '""') + '"' for name in table.columns]
    base.execute(f"CREATE TABLE t ({', '.join(names)})")
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", [
        [None if cell != cell else cell for cell in row.values()] for row in records(table)])
    found = [row[0] for row in base.execute(f"SELECT {tree.to_sql()} FROM t ORDER BY rowid")]
    if tree.kind == "classification":
        label = tree.classes[-1].item()
        shares = base.execute(f"SELECT {tree.to_sql(label)} FROM t ORDER BY rowid")
        np.testing.assert_array_equal([row[0] for row in shares], tree.predict_proba(table)[:, -1])
    return found


def by_javascript(tree, table, folder):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    (folder / "tree.js").write_text(tree.to_javascript(), encoding="utf-8")
    rows = [{name: None if cell != cell else cell for name, cell in row.items()}
            for row in records(table)]
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "run.js").write_text(
        'const tree = require("./tree.js");'
        'const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));'
        'const shares = tree.predictProba ? rows.map(tree.predictProba) : null;'
        'console.log(JSON.stringify([rows.map(tree.predict), shares]));', encoding="utf-8")
    answer = subprocess.run([node, "run.js"], cwd=folder, capture_output=True, check=True)
    predicted, shares = json.loads(answer.stdout)
    if shares is not None:
        np.testing.assert_array_equal(shares, tree.predict_proba(table))
    return predicted
