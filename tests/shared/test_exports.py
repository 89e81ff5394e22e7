"""Every form that a tree is handed over in predicts what the tree predicts, whatever its names."""

import io
import json
import sqlite3
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
from exporting import (
    HOSTILE,
    by_javascript,
    by_python,
    by_sql,
    drawn_table,
    fitted,
    probes,
    records,
)

from odtlib import (
    CARTClassifier,
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    DecisionTree,
    LocalSearchTreeClassifier,
    MurTreeClassifier,
    MurTreeRegressor,
)


@pytest.mark.parametrize("number", range(40))
def test_forty_tables_predict_the_same_in_every_form(number, tmp_path):
    X, score, rng = drawn_table(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(X, score, rng)
        tree, table = model.tree_, probes(X, model.tree_)
        expected = model.predict(table)
        read = DecisionTree.from_json(tree.to_json())
        assert read == tree and read.to_json() == tree.to_json()
        for frame in (X, table):
            for one in (tree, read):
                np.testing.assert_array_equal(one.predict(frame), model.predict(frame))
        np.testing.assert_array_equal(read.predict(records(table)), expected)
        np.testing.assert_array_equal(read.predict(table[table.columns[::-1]]), expected)
        assert by_python(read, table) == expected.tolist()
        assert by_sql(read, table) == expected.tolist()
        assert by_javascript(read, table, tmp_path) == expected.tolist()
        theirs = model.to_sklearn()
        rounded = table.copy()
        for name in X.columns[[kind.kind in "biuf" for kind in X.dtypes]]:
            rounded[name] = rounded[name].astype(np.float32).astype(float)
        np.testing.assert_array_equal(theirs.predict(rounded), model.predict(rounded))


def named(names, labels):
    """Return a tree with a split for each name, and as many leaves, labelled in turn."""
    nested = 0
    for j in range(len(names)):
        nested = (j, 0.5, nested, (j + 1) % len(labels))
    return DecisionTree.from_nested(nested, len(labels), feature_names=names, classes=labels,
                                    missing_left=[-1] * (2 * len(names) + 1))


def test_names_and_labels_are_never_code_or_signs_of_control(tmp_path):
    names = HOSTILE[:-1]            # pandas takes no half of a sign
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (200, len(names))).astype(float), columns=names)
    table = table.mask(rng.random(table.shape) < 0.02)
    tree = named(names, np.array(names))
    expected = tree.predict(table).tolist()
    assert by_python(tree, table) == by_javascript(tree, table, tmp_path) == expected
    with pytest.raises(ValueError, match="SQL has no form for the column name"):
        tree.to_sql()
    without = [name for name in names if "\0" not in name]
    assert by_sql(named(without, np.array(names)), table[without]) == \
        named(without, np.array(names)).predict(table[without]).tolist()
    tree = named(HOSTILE, np.array(HOSTILE))
    for text in (tree.to_json(), tree.to_javascript()):     # which may stand in a page
        assert text.isascii() and "</script" not in text and "<!--" not in text
    assert tree.to_python().isascii()
    assert DecisionTree.from_json(tree.to_json()) == tree
    for text in (tree.to_text(), tree.to_dot(), *tree.rules()):
        assert all(line.isprintable() for line in text.split("\n"))
    assert len(tree.rules()) == tree.n_leaves
    assert tree.to_text().count("\n") == tree.n_nodes - 1
    labels = [line.split("label=")[1] for line in tree.to_dot().split("\n") if "label=" in line]
    assert all(line.removesuffix(";").removesuffix("]").replace("\\\\", "").replace('\\"', "")
               .count('"') == 2 for line in labels)


def test_every_name_is_drawn_as_it_is():
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot as plt
    for k in range(0, len(HOSTILE) - 1, 4):
        some = HOSTILE[k:k + 4]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ax = named(some, np.array(some)).plot()
            ax.figure.canvas.draw()
        shown = [text.get_text() for text in ax.get_legend().get_texts()]
        assert len(shown) == len(some) and all(text.isprintable() for text in [*shown, ax.alt])
        plt.close(ax.figure)


@pytest.mark.parametrize("turned", [False, True])
def test_a_deep_tree_is_written_whole(turned, tmp_path):
    nested = 0
    for level in range(300, 0, -1):
        leaf = level % 2
        nested = (0, float(level), leaf, nested) if turned else (0, -float(level), nested, leaf)
    tree = DecisionTree.from_nested(nested, 2, feature_names=["x"], missing_left=[1] * 601)
    table = pd.DataFrame({"x": [*np.arange(-305, 305, 0.5), np.nan]})
    expected = tree.predict(table).tolist()
    assert by_python(tree, table) == by_sql(tree, table) == expected
    assert by_javascript(tree, table, tmp_path) == expected


def test_a_tree_that_refuses_missing_values_refuses_them_in_every_form(tmp_path):
    tree = DecisionTree.from_nested((0, 0.5, 0, (1, 0.5, 1, 0)), feature_names=["a", "b"])
    table = pd.DataFrame({"a": [0.0, 1.0, 1.0], "b": [1.0, 0.0, 1.0]})
    assert by_python(tree, table) == by_sql(tree, table) == tree.predict(table).tolist()
    assert by_javascript(tree, table, tmp_path) == tree.predict(table).tolist()
    gap = table.assign(b=np.nan)
    with pytest.raises(ValueError, match="NaN"):
        tree.predict(gap)
    with pytest.raises(ValueError, match="a value is missing that the tree needs"):
        by_python(tree, gap)
    with pytest.raises(subprocess.CalledProcessError):
        by_javascript(tree, gap, tmp_path)
    base = sqlite3.connect(":memory:")
    assert base.execute(f"SELECT {tree.to_sql()} FROM (SELECT 0 AS a, NULL AS b)").fetchone()[0] \
        is None


def test_rows_without_names_are_asked_by_position(tmp_path):
    tree = DecisionTree.from_nested((1, 0.5, 0, 1), n_features=2)
    space = {}
    exec(tree.to_python(), space)
    assert [space["predict"]([9, x]) for x in (0, 1)] == [0, 1]
    assert tree.replace(missing_left=[0, 0, 0]).to_sql() == \
        'CASE\n  WHEN "x1" <= 0.5 THEN 0\n  ELSE 1\nEND'


def test_units_and_short_numbers_are_written():
    X = pd.DataFrame({"size": [15.3, 15.4] * 9, "colour": ["red", "blue", "blue"] * 6})
    text = CARTClassifier(1).fit(X, X["size"] > 15.35).tree_.to_python(units={"size": "cm"})
    assert " 15.35:" in text and "'size': 'a number: cm'" in text


@pytest.mark.parametrize("labels", [
    np.array(["2020-01-01", "2021-05-01"], "datetime64[D]"), np.array([True, False]),
    np.array([b"a", b"\xff"]), np.array([1, 2], np.uint8), np.array([0.1, 1e300])])
def test_labels_of_every_type_that_json_has_are_written(labels, tmp_path):
    tree = DecisionTree.from_nested((0, 0.5, 0, 1), feature_names=["x"], classes=labels)
    space, written = {}, tree._written_labels()
    exec(tree.to_python(), space)
    assert [space["predict"]({"x": x}) for x in (0, 1)] == written
    base = sqlite3.connect(":memory:")
    assert [row[0] for row in base.execute(
        f"SELECT {tree.to_sql()} FROM (SELECT 0 AS x UNION SELECT 1) ORDER BY x")] == written


@pytest.mark.parametrize("number", [2 ** 53 + 1, -2 ** 53 - 1])
def test_whole_numbers_that_javascript_rounds_are_refused(number, tmp_path):
    X = pd.DataFrame({"id": pd.Categorical([number, 3, 5] * 9)})
    for tree in (MurTreeClassifier(1).fit(X, [0, 1, 1] * 9).tree_,
                 named(["x"], np.array([0, number])), named(["x"], np.array([number, number + 2]))):
        with pytest.raises(ValueError, match="JavaScript rounds the number"):
            tree.to_javascript()
        assert DecisionTree.from_json(tree.to_json()) == tree
    table = pd.DataFrame({"x": [0.0, 1.0]})
    tree = named(["x"], np.array([0, number]))
    assert by_python(tree, table) == by_sql(tree, table) == [0, number]
    safe = named(["x"], np.array([-2 ** 53, 2 ** 53]))
    assert by_javascript(safe, table, tmp_path) == [-2 ** 53, 2 ** 53]


@pytest.mark.parametrize("form", ["to_json", "to_python", "to_javascript", "to_sql"])
def test_categories_that_cannot_be_written_are_refused(form):
    X = pd.DataFrame({"age": pd.cut([1, 2, 8, 9] * 5, [0, 5, 10])})
    tree = MurTreeClassifier(1).fit(X, [0, 0, 1, 1] * 5).tree_
    assert tree.predict(X).tolist() == [0, 0, 1, 1] * 5
    with pytest.raises(ValueError, match="categories of type Interval in column 'age' cannot"):
        getattr(tree, form)()


def mutations(data):
    """Yield what the columns of a tree are with one thing changed."""
    for name, value in data.items():
        for other in (None, -1, 10**6, "x", [], [None] * 3, {}, 1e300, [0.5] * 3, True):
            yield {**data, name: other}
        if isinstance(value, list) and value:
            for other in (None, -2, 10**9, 10**400, "inf", "x", [], [None], ["a", "a"], 0.5):
                yield {**data, name: [other, *value[1:]]}
            yield {**data, name: value[1:]}


def test_columns_that_are_no_columns_are_refused():
    X = pd.DataFrame({"size": [1.0, 2.0, 3.0, np.nan] * 5, "colour": ["red", "blue", "x", "y"] * 5})
    tree = MurTreeClassifier(2).fit(X, [0, 1, 1, 0] * 5).tree_
    data, refused = json.loads(tree.to_json()), 0
    for columns in mutations(data["columns"]):
        try:
            read = DecisionTree.from_json(json.dumps({**data, "columns": columns}))
        except ValueError as error:
            assert len(str(error)) < 500
            refused += 1
            continue
        try:        # what is read says another thing, and can be written and asked all the same
            read.to_python(), read.predict(np.zeros((2, tree.n_features)))
        except ValueError:
            pass
        assert columns is None or json.loads(read.to_json())["columns"] == columns
    assert refused > 50


WITH_WORDS = [MurTreeClassifier(2), MurTreeRegressor(2), CARTClassifier(2),
              ContinuousTreeClassifier(2), ContinuousTreeRegressor(2),
              LocalSearchTreeClassifier(2, random_state=0)]


@pytest.mark.parametrize("model", WITH_WORDS, ids=lambda model: type(model).__name__)
def test_a_missing_category_is_missing_in_any_frame(model):
    X = pd.DataFrame({"animal": pd.Categorical(["cat", "dog", None] * 20), "w": range(60),
                      "code": pd.Categorical([1, 2, None] * 20)})
    model.fit(X, (X.animal == "dog").astype(int))
    expected = model.predict(X)
    assert expected.tolist() == [0, 1, 0] * 20
    for none in (None, np.nan, pd.NA, pd.NaT):
        row = pd.DataFrame([{"animal": none, "w": 2, "code": none}])
        for frame in (row, row.astype(object), row.astype({"animal": object, "w": "Float64"})):
            assert model.predict(frame).tolist() == [0]
            assert model.tree_.predict(frame).tolist() == [0]
            assert model.apply(frame).tolist() == [model.apply(X)[2]]
    text = X.to_csv(index=False)
    assert model.predict(pd.read_csv(io.StringIO(text))).tolist() == expected.tolist()
    whole = X[X.animal.notna()].astype({"code": int})
    assert model.predict(whole).tolist() == [0, 1] * 20
    with pytest.raises(ValueError, match="fitted on a data frame with categories"):
        model.predict(np.zeros((2, 3)))


@pytest.mark.parametrize("model", WITH_WORDS, ids=lambda model: type(model).__name__)
def test_names_are_the_same_in_any_normal_form(model):
    composed, parts = "gr\u00f6\u00dfe", "gro\u0308\u00dfe"
    for words in (["a", "b"], [0.5, 1.5]):
        X = pd.DataFrame({parts: words * 10, "b": range(20)})
        model.fit(X, [0, 1] * 10)
        assert list(model.feature_names_in_) == [composed, "b"]
        for frame in (X, X.rename(columns={parts: composed})):
            assert model.predict(frame).tolist() == [0, 1] * 10
            assert model.tree_.predict(frame).tolist() == [0, 1] * 10
    with pytest.raises(ValueError, match="two columns named"):
        model.fit(X.assign(**{composed: 1.0}), [0, 1] * 10)


def test_words_are_searched_like_columns_of_zeros_and_ones():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame({"c": rng.choice(list("abcd"), 60), "x": rng.integers(0, 6, 60),
                          "d": pd.Categorical(rng.choice(["u", "v"], 60))})
        y = rng.integers(0, 2, 60)
        numbers = np.column_stack([*(X.c == one for one in "abcd"), X.x, X.d == "u"]).astype(float)
        with_words = ContinuousTreeClassifier(2).fit(X, y)
        assert with_words.report_.objective == \
            ContinuousTreeClassifier(2).fit(numbers, y).report_.objective
        assert with_words.verify(X, y) == with_words.report_.objective
        assert len(with_words.feature_importances_) == 3
        theirs = MurTreeClassifier(2, binarizer="all").fit(X, y)
        assert theirs.report_.objective == with_words.report_.objective


@pytest.mark.parametrize("gaps", [False, True])
def test_a_tree_over_words_starts_a_search_over_the_same_words(gaps):
    X = pd.DataFrame({"c": list("abcb") * 9, "x": np.arange(36.0) % 7})
    X = X[np.arange(36) % 11 != 3].reindex(range(36)) if gaps else X
    y = np.arange(36) % 5 % 2
    start = CARTClassifier(2).fit(X, y)
    model = ContinuousTreeClassifier(2, start=start).fit(X, y)
    assert model.report_.objective == ContinuousTreeClassifier(2).fit(X, y).report_.objective
    assert model.report_.objective <= start.report_.objective
    with pytest.raises(ValueError, match="whose tree tests columns that its binariser made"):
        ContinuousTreeClassifier(2, start=start).fit(X.assign(c=np.arange(36) % 3), y)
    with pytest.raises(ValueError, match="for which the binariser made no threshold"):
        ContinuousTreeClassifier(1, start=CARTClassifier(1).fit(X, X["c"] == "a")).fit(
            X.replace("a", "z"), y)


def test_a_certificate_is_written_for_a_table_with_words(tmp_path):
    from odtbook.check_certificate import check as check_certificate
    X = pd.DataFrame({"c": list("abcb") * 9, "x": np.arange(36) % 7})
    y = np.arange(36) % 5 % 2
    model = ContinuousTreeClassifier(2).fit(X, y)
    path = tmp_path / "proof.npz"
    model.certificate(X, y).save(path)
    assert str(int(model.report_.objective)) in str(
        check_certificate(path, model.binarizer_.transform(X), y))


def test_impurities_are_those_of_the_criterion():
    from odtlib.objectives import Entropy, Gini
    X, y = np.arange(30.0)[:, None] % 7, np.arange(30) % 3 % 2
    for model in (CARTClassifier(2, criterion="log_loss"), CARTClassifier(2),
                  MurTreeClassifier(2, objective="entropy"), MurTreeClassifier(2, objective="gini"),
                  MurTreeClassifier(2, objective=Entropy()), MurTreeClassifier(2, objective=Gini()),
                  MurTreeClassifier(2)):
        tree = model.fit(X, y).tree_
        bits = any(word in repr(model).lower() for word in ("entropy", "log_loss"))
        share = tree.predict_proba(X)[:, 1]
        leaf = tree.apply(X)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = np.nan_to_num(-share * np.log2(share) - (1 - share) * np.log2(1 - share)) \
                if bits else 2 * share * (1 - share)
        np.testing.assert_allclose(tree.impurity[leaf], expected, atol=1e-12)
        assert DecisionTree.from_json(tree.to_json()).criterion == tree.criterion
        np.testing.assert_allclose(model.to_sklearn().tree_.impurity, tree.impurity)


def test_the_frame_of_nodes_says_what_the_tree_says():
    X = pd.DataFrame({"c": list("abcb") * 9, "x": [0.0, 1, 2, np.nan, 4, 5] * 6})
    y = np.where(X.c == "b", "no", np.where(X.x > 1, "yes", "maybe"))
    for model in (MurTreeClassifier(3), CARTClassifier(3, criterion="entropy"),
                  MurTreeRegressor(2)):
        tree = model.fit(X, y if isinstance(model, CARTClassifier | MurTreeClassifier)
                         else (y == "no") * 1.0).tree_
        frame = tree.to_frame()
        assert len(frame) == tree.n_nodes and frame.index.name == "node"
        inner = frame[frame.test.notna()]
        assert (frame.loc[inner.yes, "parent"] == inner.index).all()
        assert (frame.loc[inner.no, "parent"] == inner.index).all()
        assert frame.impurity.tolist() == tree.impurity.tolist()
        assert frame.loc[model.apply(X), "prediction"].tolist() == model.predict(X).tolist()
        for node, question in tree.questions().items():
            assert (inner.yes[node], inner.no[node]) == (question.yes, question.no)
        if tree.kind == "classification":
            shares = frame.loc[model.apply(X), [f"share of {label}" for label in model.classes_]]
            np.testing.assert_array_equal(shares, model.predict_proba(X))


def test_notebooks_show_trees_and_reports_with_names_as_text():
    names = HOSTILE[:-1]
    tree = named(names, np.array(names))
    shown = [tree._repr_html_(), named(names[:9], np.array(names[:9]))._repr_html_()]
    model = MurTreeClassifier(2).fit(pd.DataFrame({name: [0, 1] * 9 for name in names}), [0, 1] * 9)
    shown += [model.tree_._repr_html_(), model.report_._repr_html_(), MurTreeClassifier(1).fit(
        pd.DataFrame({"c": ["</td><script>", "\x1b[31m"] * 9}), [0, 1] * 9).tree_._repr_html_()]
    for page in shown:
        assert "<script" not in page and "<table" in page
        assert all(line.isprintable() for line in page.split("\n"))
    assert "<svg" in shown[1] and 'aria-label="Decision tree of depth 9' in shown[1]
    assert "optimal" in shown[3]
