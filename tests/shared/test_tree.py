"""The array tree: every method against a slow walk over nested tuples."""

import datetime
import json
import pickle
import time

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtlib import DecisionTree
from odtlib.tree import midpoint


def walk(nested, row):
    """Follow one row through nested tuples (the obvious reference)."""
    while isinstance(nested, tuple):
        feature, threshold, left, right = nested
        nested = left if row[feature] <= threshold else right
    return nested


def random_nested(rng, depth, n_features, n_classes, values):
    if depth == 0 or rng.random() < 0.25:
        return int(rng.integers(n_classes))
    return (int(rng.integers(n_features)), float(rng.choice(values)),
            random_nested(rng, depth - 1, n_features, n_classes, values),
            random_nested(rng, depth - 1, n_features, n_classes, values))


SCALES = (1.0, 1e8, 1e-12, 1e300)


def random_case(seed):
    rng = np.random.default_rng(seed)
    scale = SCALES[seed % len(SCALES)]
    values = rng.integers(-3, 4, size=6) * scale
    n_classes, n_features = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    nested = random_nested(rng, int(rng.integers(0, 6)), n_features, n_classes, values)
    X = rng.choice(values, size=(int(rng.integers(1, 30)), n_features))
    tree = DecisionTree.from_nested(nested, n_classes, n_features=n_features)
    return rng, nested, tree, X


@pytest.mark.parametrize("seed", range(200))
def test_prediction_follows_the_nested_tree(seed):
    _, nested, tree, X = random_case(seed)
    expected = [walk(nested, row) for row in X]
    assert tree.predict_codes(X).tolist() == expected
    assert tree.to_nested() == nested
    path = tree.decision_path(X).toarray()
    assert np.array_equal(path.sum(axis=1) - 1, tree.node_depth[tree.apply(X)])
    assert path[np.arange(len(X)), tree.apply(X)].all()
    assert tree.n_nodes == tree.n_splits + tree.n_leaves == 2 * tree.n_leaves - 1


@pytest.mark.parametrize("seed", range(200))
def test_pruned_predicts_the_same_and_keeps_nothing_useless(seed):
    _, _, tree, X = random_case(seed)
    small = tree.pruned()
    thresholds = tree.threshold[~np.isnan(tree.threshold)]
    probe = np.array(np.meshgrid(*[np.r_[thresholds, np.nextafter(thresholds, np.inf), 0.0]]
                                 * tree.n_features)).reshape(tree.n_features, -1).T
    for rows in (X, probe[:2000]):
        assert np.array_equal(small.predict(rows), tree.predict(rows))
    assert small.n_splits <= tree.n_splits
    inner = np.flatnonzero(small.feature >= 0)
    for node in inner:
        left, right = small.left[node], small.right[node]
        both_leaves = small.feature[left] < 0 and small.feature[right] < 0
        assert not (both_leaves and small.label[left] == small.label[right])
    assert small.pruned() == small


@pytest.mark.parametrize("seed", range(100))
def test_counts_are_the_weights_of_the_rows_that_pass(seed):
    rng, _, tree, X = random_case(seed)
    n_classes = tree.value.shape[1]
    y = rng.integers(n_classes, size=len(X))
    weight = rng.integers(0, 4, size=len(X)).astype(float)
    counted = tree.with_counts(X, y, sample_weight=weight)
    passed = counted.decision_path(X).toarray().astype(bool)
    for node in range(counted.n_nodes):
        rows = passed[:, node]
        expected = np.bincount(y[rows], weight[rows], minlength=n_classes)
        assert np.array_equal(counted.value[node], expected)
        if expected.any():
            assert counted.label[node] == np.argmax(expected)
    kept = tree.with_counts(X, y, relabel=False)
    assert np.array_equal(kept.label, tree.label)
    share = counted.predict_proba(X)
    np.testing.assert_allclose(share.sum(axis=1), 1.0)


def test_a_leaf_that_no_row_reaches_takes_its_parents_class():
    tree = DecisionTree.from_nested((0, 1.0, 0, (0, 5.0, 0, 0)), n_classes=2)
    counted = tree.with_counts([[0.0], [2.0], [3.0]], [0, 1, 1])
    assert counted.predict([[9.0]]) == 1
    assert counted.predict_proba([[9.0]]).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("seed", range(60))
def test_json_pickle_and_equality_round_trip(seed):
    _, _, tree, X = random_case(seed)
    tree = tree.replace(classes=np.array(list("abcd"))[: len(tree.classes)],
                        feature_names=[f"f {i}" for i in range(tree.n_features)])
    for copy in (DecisionTree.from_json(tree.to_json()), pickle.loads(pickle.dumps(tree))):
        assert copy == tree and hash(copy) == hash(tree)
        assert copy.classes.dtype == tree.classes.dtype
        assert np.array_equal(copy.threshold, tree.threshold, equal_nan=True)
        assert np.array_equal(copy.predict(X), tree.predict(X))
    assert tree.replace(label=tree.label[::-1].copy()) != tree or tree.n_nodes == 1 or \
        np.array_equal(tree.label, tree.label[::-1])


@pytest.mark.parametrize("labels", [
    np.array(["2020-01-01", "2021-06-30"], "datetime64[D]"),
    np.array(["2020-01-01T00:00:00.000000001", "NaT"], "datetime64[ns]"),
    np.array([3, 5], "timedelta64[h]"), np.array([b"\xe9", b"ab"]), np.array(["é", "ab"]),
    np.array([True, False]), np.array([1, 200], np.uint8), np.array([0.1, 1e300]),
    np.array([0.1, 2.0], np.float32), np.array(["a", 1], object)], ids=lambda a: str(a.dtype))
def test_labels_of_every_type_survive_pickle_and_json(labels):
    tree = DecisionTree.from_nested((0, 0.5, 0, 1), classes=labels)
    for copy in (DecisionTree.from_json(tree.to_json()), pickle.loads(pickle.dumps(tree))):
        assert copy == tree and hash(copy) == hash(tree)
        assert copy.classes.dtype == labels.dtype
        assert copy.predict([[0.0]])[0] == labels[0]


def test_labels_that_json_cannot_hold_survive_pickle():
    labels = np.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], object)
    tree = DecisionTree.from_nested((0, 0.5, 0, 1), classes=labels)
    assert pickle.loads(pickle.dumps(tree)) == tree != tree.replace(classes=labels[::-1])
    with pytest.raises(ValueError, match="labels of type date cannot be written as JSON"):
        tree.to_json()


def regression_case(outputs, weighted, seed):
    """Return scikit-learn's tree, the same as a DecisionTree, and its rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (60, 3)).astype(float)
    y = 10 + X[:, :1] + rng.normal(size=(60, outputs))
    weight = rng.integers(0, 4, 60) / 2 if weighted else None
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y, weight)
    t = model.tree_
    tree = DecisionTree(t.feature, t.threshold, t.children_left, t.children_right,
                        t.value[:, :, 0], n_features=3, kind="regression")
    return model, tree.with_weights(X, y, weight), X


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_exported_regression_tree_weighs_features_as_scikit_learn_does(outputs, weighted, seed):
    model, tree, X = regression_case(outputs, weighted, seed)
    exported = tree.to_sklearn()
    np.testing.assert_allclose(exported.feature_importances_, model.feature_importances_,
                               rtol=1e-9)
    np.testing.assert_allclose(exported.tree_.weighted_n_node_samples,
                               model.tree_.weighted_n_node_samples)
    np.testing.assert_allclose(exported.tree_.impurity, model.tree_.impurity, atol=1e-9)
    np.testing.assert_allclose(exported.predict(X), model.predict(X))


def test_node_weights_stay_with_their_nodes():
    _, tree, _ = regression_case(1, True, 0)
    for copy in (DecisionTree.from_json(tree.to_json()), pickle.loads(pickle.dumps(tree)),
                 tree.replace()):
        assert copy == tree
        assert np.array_equal(copy.weight, tree.weight)
    assert tree.replace(weight=None, impurity=None) != tree
    swapped = tree.remap(np.arange(3), np.zeros(3), np.ones(3, bool), 3)
    assert np.array_equal(np.sort(swapped.weight), np.sort(tree.weight))
    assert np.array_equal(swapped.weight[swapped.left[0]], tree.weight[tree.right[0]])
    split = DecisionTree.from_nested((0, 0.5, 1.0, (0, 0.2, 7.0, 2.0)), kind="regression")
    split = split.with_weights([[0.0], [1.0], [2.0]], [1.0, 2.0, 2.0])
    assert split.pruned().weight.tolist() == [3.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="one number per node"):
        tree.replace(weight=[1.0])


def test_json_from_before_node_weights_is_read():
    tree = DecisionTree.from_nested((0, 0.5, 1.0, 2.0), kind="regression")
    data = json.loads(tree.to_json())
    assert "weight" not in data
    assert DecisionTree.from_json(json.dumps(data)).weight is None


def test_weights_make_shapley_values_additive():
    # the expected value of SHAP is the mean of the leaves by node weights, from any node down
    for tree in (regression_case(2, True, 1)[1],
                 DecisionTree.from_nested((0, 1.0, 1.0, (0, 2.0, 2.0, 6.0)), kind="regression")):
        t = tree.to_sklearn().tree_
        inner = np.flatnonzero(t.children_left >= 0)
        np.testing.assert_allclose(
            t.weighted_n_node_samples[inner],
            t.weighted_n_node_samples[t.children_left[inner]]
            + t.weighted_n_node_samples[t.children_right[inner]])
    model, tree, X = regression_case(1, False, 2)
    t, leaves = tree.to_sklearn().tree_, tree.feature < 0
    expected = np.average(t.value[leaves, 0, 0], weights=t.weighted_n_node_samples[leaves])
    assert expected == pytest.approx(model.predict(X).mean())


@pytest.mark.parametrize("seed", range(40))
def test_scikit_learn_tree_agrees_on_float32_values(seed):
    rng, _, tree, _ = random_case(4 * seed)   # scale 1: thresholds that float32 holds
    X = rng.integers(-4, 5, size=(50, tree.n_features)).astype(np.float64)
    counted = tree.with_counts(X, rng.integers(tree.value.shape[1], size=50))
    model = counted.to_sklearn(X)
    assert np.array_equal(model.predict(X), counted.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), counted.predict_proba(X))
    assert model.get_depth() == counted.depth and model.get_n_leaves() == counted.n_leaves
    assert np.array_equal(model.apply(X), counted.apply(X))


def test_scikit_learn_regression_tree_with_two_outputs():
    tree = DecisionTree.from_nested((1, 0.5, [1.0, 2.0], (0, 3.0, [3.0, 4.0], [5.0, 6.5])),
                                    kind="regression")
    X = np.array([[0, 0], [0, 1], [9, 1.0]])
    assert np.array_equal(tree.to_sklearn().predict(X), tree.predict(X))
    one = DecisionTree.from_nested((0, 0.5, 1.5, 2.5), kind="regression")
    assert one.predict([[0.0], [1.0]]).tolist() == [1.5, 2.5]
    assert np.array_equal(one.to_sklearn().predict([[0.0], [1.0]]), [1.5, 2.5])


def test_scikit_learn_export_warns_where_float32_cannot_follow():
    tree = DecisionTree.from_nested((0, 1.0 + 1e-12, 0, 1))
    X = np.array([[1.0], [1.0 + 1e-11]])
    with pytest.warns(UserWarning, match="1 of the 2 rows reach another leaf"):
        tree.to_sklearn(X)
    with pytest.warns(UserWarning, match="outside the range of float32"):
        DecisionTree.from_nested((0, 1e200, 0, 1)).to_sklearn()


def test_scikit_learn_export_keeps_labels_that_are_not_majorities():
    tree = DecisionTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1],
                        [[3, 5], [2, 3], [1, 2]], label=[1, 0, 1])
    X = [[0.0], [1.0]]
    assert tree.to_sklearn().predict(X).tolist() == tree.predict(X).tolist() == [0, 1]


def test_remap_swaps_children_of_reversed_columns():
    over_columns = DecisionTree.from_nested((0, 0.5, (1, 0.5, 0, 1), 2))
    tree = over_columns.remap([3, 1], [2.5, 7.5], np.array([True, False]), 4)
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(100, 4))
    columns = np.c_[X[:, 3] <= 2.5, X[:, 1] > 7.5].astype(float)
    assert np.array_equal(tree.predict(X), over_columns.predict(columns))
    assert tree.feature.tolist() == [3, -1, 1, -1, -1]


def test_a_column_named_by_a_condition_is_asked_for_as_a_question():
    tree = DecisionTree.from_nested((0, 0.5, 0, (1, 0.5, 0, 1)), n_classes=2,
                                    feature_names=["colour = red", "open"])
    assert str(tree) == ("colour = red?\n├─ yes: open <= 0.5\n│       ├─ yes: 0  [1 0]\n"
                         "│       └─ no:  1  [0 1]\n└─ no:  0  [1 0]")
    assert tree.rules() == ["if colour = red and open <= 0.5 then 0  [1 0]",
                            "if colour = red and open > 0.5 then 1  [0 1]",
                            "if not colour = red then 0  [1 0]"]
    assert '0 [label="colour = red?"]' in tree.to_dot()
    assert '0 -> 1 [label="no"]' in tree.to_dot()
    assert tree.is_condition(0) and not tree.is_condition(2)


def test_text_rules_and_dot_name_every_node():
    tree = DecisionTree.from_nested((1, 0.1 + 0.2, 0, 1), feature_names=["a", 'b "wide"'],
                                    classes=["no", "yes"])
    assert str(tree).splitlines() == ['b "wide" <= 0.30000000000000004',
                                      "├─ yes: no  [1 0]", "└─ no:  yes  [0 1]"]
    assert tree.rules() == ['if b "wide" <= 0.30000000000000004 then no  [1 0]',
                            'if b "wide" > 0.30000000000000004 then yes  [0 1]']
    dot = tree.to_dot()
    assert dot.count("->") == 2 and '\\"wide\\"' in dot
    assert DecisionTree.from_nested(1).rules() == ["if always then 1  [0 1]"]


def test_the_tree_cannot_be_changed():
    tree = DecisionTree.from_nested((0, 1.0, 0, 1))
    with pytest.raises(AttributeError, match="immutable"):
        tree.label = None
    with pytest.raises(ValueError, match="read-only"):
        tree.threshold[0] = 2.0


@pytest.mark.parametrize("arguments, message", [
    (dict(left=[1, -1, -1], right=[1, -1, -1]), "exactly one earlier node"),
    (dict(left=[0, -1, -1]), "exactly one earlier node"),
    (dict(threshold=[np.inf, 0, 0]), "finite threshold"),
    (dict(value=[[1, 0]]), "one entry per node"),
    (dict(label=[0, 0, 7]), "one class index per node"),
    (dict(feature_names=["only"], feature=[3, -1, -1]), "n_features is 1"),
    (dict(kind="clustering"), "'classification' or 'regression'"),
    (dict(classes=["a", "b", "c"]), "2 columns for 3 classes"),
])
def test_arrays_that_are_no_tree_are_refused(arguments, message):
    good = dict(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
                value=[[1, 1], [1, 0], [0, 1]])
    DecisionTree(**good)
    with pytest.raises(ValueError, match=message):
        DecisionTree(**{**good, **arguments})


def test_bad_rows_and_bad_json_are_refused():
    tree = DecisionTree.from_nested((0, 1.0, 0, 1))
    with pytest.raises(ValueError, match="expects"):
        tree.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        tree.predict([[np.nan]])
    with pytest.raises(ValueError, match="not a tree"):
        DecisionTree.from_json(json.dumps({"format": "other"}))
    with pytest.raises(ValueError, match="needs a regression|needs a classification"):
        DecisionTree.from_nested([1.0], kind="regression").predict_proba([[0.0]])


@pytest.mark.parametrize("low, high", [
    (0.0, 1.0), (1.0, np.nextafter(1.0, 2)), (-np.nextafter(1.0, 2), -1.0), (1e308, 1.7e308),
    (-1.7e308, 1.7e308), (0.0, 5e-324), (-5e-324, 0.0), (5e-324, 1e-323), (1e8, 1e8 + 1e-8),
])
def test_midpoint_separates_even_neighbouring_floats(low, high):
    middle = midpoint(low, high)
    assert low <= middle < high
    assert midpoint(np.array([low]), np.array([high])).shape == (1,)


def test_a_chain_of_ten_thousand_nodes_needs_no_recursion():
    n = 10_000
    nested = 0
    for k in range(n):
        nested = (0, float(k), nested, k % 2)
    tree = DecisionTree.from_nested(nested)
    assert tree.depth == n == tree.n_splits
    whole = tree.pruned()
    assert whole.n_splits == n - 1      # the last split has the class 0 on both sides
    X = np.linspace(-1, n, 500)[:, None]
    assert np.array_equal(whole.predict(X), tree.predict(X))
    swapped = tree.remap([0], [0.5], [True], 1)
    assert swapped.left[0] == 1 and swapped.feature[1] == -1
    nodes = tree.to_nested()
    for _ in range(n):
        nodes = nodes[2]
    assert nodes == 0
    deep = DecisionTree.from_nested(nested).to_json()
    assert DecisionTree.from_json(deep) == tree


def test_rules_and_text_of_a_deep_tree():
    nested = 0
    for k in range(1500):
        nested = (0, float(k), nested, k % 2)
    tree = DecisionTree.from_nested(nested)
    assert len(tree.rules()) == 1501 == tree.n_leaves
    assert tree.to_text().count("\n") == 3000


def chain(depth):
    """A tree of one long path, whose features take turns."""
    nodes, leaves = np.arange(depth), np.arange(depth, 2 * depth + 1)
    left = np.r_[nodes + 1, np.full(depth + 1, -1)]
    left[depth - 1] = leaves[-1]
    return DecisionTree(feature=np.r_[nodes % 3, np.full(depth + 1, -1)],
                        threshold=-np.arange(2 * depth + 1.0), left=left,
                        right=np.r_[leaves[:-1], np.full(depth + 1, -1)],
                        value=np.tile([[1.0, 2.0], [2.0, 1.0]], (depth, 1)).tolist() + [[3, 1]])


def test_a_chain_of_twenty_thousand_nodes_takes_no_time():
    began = time.process_time()
    tree = chain(10_000)
    copy = DecisionTree.from_json(tree.to_json())
    assert copy == tree and copy.depth == 10_000 and copy.n_nodes == 20_001
    lines = str(copy).splitlines()
    assert len(lines) == 4003 and lines[2001].endswith("... 15999 nodes, not shown")
    assert copy.decision_path([[-3.5, 0.0, 0.0]]).sum() == 3
    assert copy.to_dot().count("\n") == 1 + 20_001 + 20_000 + 1
    with pytest.raises(ValueError, match="10000 splits on a path, too many for a rule"):
        copy.rules()
    assert time.process_time() - began < 5      # it took more than twenty for the text alone
    assert len(chain(2000).rules()) == 2001
    assert "not shown" not in str(chain(2000))


def json_case(seed):
    """The JSON of a random tree of any kind, with and without all that is optional."""
    rng, _, tree, X = random_case(seed)
    if seed % 3 == 0:
        values = rng.integers(-5, 6, (tree.n_nodes, 1 + seed % 2)) * SCALES[seed % 4]
        tree = DecisionTree(tree.feature, tree.threshold, tree.left, tree.right, values,
                            kind="regression", n_features=tree.n_features)
        tree = tree.with_weights(X, rng.normal(size=len(X))) if seed % 2 else tree
    elif seed % 3 == 1:
        labels = [["a", "bc", "", "\x00é"], [1, 2, 3, -9], [0.5, 1e300, -0.25, 7.0], [
            "x", 1, 2.5, None]][seed % 4][:len(tree.classes)]
        tree = tree.replace(classes=np.array(labels, object if seed % 4 == 3 else None))
    if seed % 5 < 2:
        tree = tree.replace(feature_names=[f"f {j}" for j in range(tree.n_features)])
    if seed % 4 == 1:
        tree = tree.replace(missing_left=rng.integers(-1, 2, tree.n_nodes))
    return rng, tree.to_json()


STRANGE = [None, True, False, -1, 0, 1, 1.5, 2**31, 2**63, 10**400, -7, 1e400, -0.5, 2**53 + 1,
           float("nan"), "", "inf", "nan", "1", "<U1", "|O", "<i8", "<U99999999", "V9", "O,O", [],
           [[]], [1], [1.5], {}, {"a": 1}, [None], [["x"]]]


def places(data, path=()):
    """Every place of nested lists and dictionaries, as the keys that lead to it."""
    yield path
    for key, part in (data.items() if isinstance(data, dict) else
                      enumerate(data) if isinstance(data, list) else ()):
        yield from places(part, (*path, key))


def mutated(data, rng):
    """Change one place: another value, one entry less or more, two exchanged, one scaled."""
    path = [*places(data)][1:]
    path = path[rng.integers(len(path))]
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    key, way = path[-1], rng.integers(4)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder.insert(key, holder[rng.integers(len(holder))])
    elif way == 2 and isinstance(holder[key], int | float):
        holder[key] = holder[key] * 2 + 1
    else:
        holder[key] = STRANGE[rng.integers(len(STRANGE))]
    if rng.random() < 0.05:
        data["more"] = 1


def same(a, b):
    """Whether two parsed texts say the same: 1 is 1.0, but neither is True."""
    if isinstance(a, dict) and isinstance(b, dict):
        return all(same(a.get(key), b.get(key)) for key in a.keys() | b.keys())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b and isinstance(a, bool) == isinstance(b, bool)


@pytest.mark.parametrize("seed", range(600))
def test_changed_json_is_read_as_it_stands_or_refused_in_one_sentence(seed):
    rng, text = json_case(seed)
    assert DecisionTree.from_json(text).to_json() == text
    for _ in range(10):
        if rng.random() < 0.6:
            data = json.loads(text)
            mutated(data, rng)
            changed = json.dumps(data)
        else:
            raw = bytearray(text.encode())
            at = int(rng.integers(len(raw)))
            if rng.random() < 0.5:
                raw[at] = rng.integers(256)
            else:
                del raw[at:at + int(rng.integers(1, 40)) if rng.random() < 0.5 else None]
            changed = bytes(raw)
        try:
            tree = DecisionTree.from_json(changed)
        except ValueError as error:
            assert len(str(error)) < 400 and "\n" not in str(error), changed
        else:
            assert same(json.loads(tree.to_json()), json.loads(changed)), changed


@pytest.mark.parametrize(("changes", "says"), [
    ({"left": [1.5, -1, -1]}, r"left\[0\] = 1.5 is not a whole number"),
    ({"left": [1.0, -1, -1]}, "1.0 is not a whole number"),
    ({"n_features": 1.7}, "n_features = 1.7 is not a whole number"),
    ({"n_features": True}, "True is not a whole number"),
    ({"n_features": 10**12}, "n_features holds something"),
    ({"feature": [-2, -1, -1]}, "one tree"),
    ({"feature": [0, -7, -1]}, "feature of the tree is not as to_json writes it"),
    ({"left": [0, -1, -1]}, "one tree"), ({"left": [2, -1, -1]}, "one tree"),
    ({"classes": ["a", "a"]}, "the same label twice"),
    ({"classes": ["b", "abc"]}, "classes of the tree is not as"),
    ({"classes": ["a", 1]}, r"classes\[1\] = 1 is not text"),
    ({"classes_dtype": "<U99999999"}, "bytes"), ({"classes_dtype": "V9"}, "no type of labels"),
    ({"value": [[1, 1], [1, 0], [0, -1]]}, "negative"),
    ({"value": [[1, 1], [1, 0], [0]]}, "."),
    ({"value": [[1, 1], [1, 0], [0, float("nan")]]}, "NaN is not a number"),
    ({"value": [[1, 1], [1, 0], [0, 2**53 + 1]]}, "value of the tree is not as"),
    ({"threshold": [0.5, 1.0, None]}, "threshold of the tree is not as"),
    ({"threshold": ["inf", None, None]}, "infinite"),
    ({"weight": [1.0, 1.0, -1.0]}, "weight and impurity"),
    ({"extra": 1}, "holds 'extra', which is none of format, kind"),
    ({"left": ...}, "it has no left"), ({"classes_dtype": ...}, "no type of labels"),
    ({"format": "odtlib.DecisionTree/2"}, "update odtlib"), ({"format": 1}, "not a tree"),
    ({"kind": "Regression"}, "'Regression' is not 'classification' or 'regression'"),
])
def test_what_is_wrong_with_json_is_said(changes, says):
    data = json.loads(DecisionTree.from_nested((0, 0.5, 0, 1), classes=["a", "b"]).to_json())
    data = {name: value for name, value in {**data, **changes}.items() if value is not ...}
    with pytest.raises(ValueError, match=says):
        DecisionTree.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"a": 1, "a": 2}', b"\xff\xfe", None, 5,
                                  "[1]", "null", "1e400", "9" * 5000, "\x00" * 50])
def test_what_is_no_json_of_a_tree_is_refused(text):
    with pytest.raises(ValueError, match="text of the tree is not valid JSON|not a tree written"):
        DecisionTree.from_json(text)


@pytest.mark.parametrize("arguments", [
    {"feature": [0.5, -1, -1]}, {"left": [1.5, -1, -1]}, {"right": ["2", "-1", "-1"]},
    {"left": [2**70, -1, -1]}, {"label": [0, 0.5, 1]}, {"missing_left": [257, -1, -1]},
    {"value": [[1, 1], [1, 0], [np.nan, 1]]}, {"value": [[1, 1], [1, 0], [-1, 1]]},
    {"classes": ["a", "a"]}, {"n_features": 1.5}, {"feature": [[0], [-1], [-1]]}])
def test_no_argument_is_rounded(arguments):
    good = dict(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
                value=[[1, 1], [1, 0], [0, 1]])
    with pytest.raises(ValueError):
        DecisionTree(**{**good, **arguments})


@pytest.mark.parametrize("leaf", [1.5, -1, 2, "a", None, float("nan"), 10**30])
def test_a_leaf_that_is_no_class_index_is_refused(leaf):
    with pytest.raises(ValueError, match="a leaf holds"):
        DecisionTree.from_nested((0, 0.5, 0, leaf), n_classes=2)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_attributes_under_the_names_of_scikit_learn(kind):
    random = np.random.default_rng(0)
    X, y = random.integers(0, 5, (60, 3)).astype(float), random.integers(0, 3, 60)
    model = (DecisionTreeClassifier if kind == "classification" else DecisionTreeRegressor)(
        max_depth=3, random_state=0).fit(X, y)
    theirs, ours = model.tree_, DecisionTree.from_sklearn(model)
    for name in ("node_count", "max_depth", "n_leaves", "n_features", "n_outputs"):
        assert getattr(ours, name) == getattr(theirs, name), name
    for name in ("children_left", "children_right", "n_node_samples", "weighted_n_node_samples",
                 "n_classes"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    inner = ours.feature >= 0
    assert np.array_equal(ours.feature[inner], theirs.feature[inner])
    assert np.array_equal(ours.threshold[inner], theirs.threshold[inner])


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_every_type_reach_the_leaf_of_their_numbers(seed):
    rng = np.random.default_rng(seed)
    exact = rng.integers(0, 2, (50, 3)).astype(float)
    nested = (0, 0.5, (1, 0.25, 0, 1), (2, 0.75, 1, (1, 0.5, 0, 1)))
    labels = exact[:, 0].astype(int)
    tree = DecisionTree.from_nested(nested, 2, n_features=3).with_counts(exact, labels)
    leaf = [leaf_of(tree, row) for row in exact]
    for kind in "? u1 i1 u2 i4 i8 f2 f4 f8".split():
        rows = exact.astype(kind)
        assert tree.apply(rows).tolist() == leaf
        assert tree.apply(np.asfortranarray(rows)).tolist() == leaf
    sided = tree.replace(missing_left=rng.integers(-1, 2, tree.n_nodes))
    holed = np.where(rng.random(exact.shape) < 0.3, np.nan, exact)
    for kind in "f4 f8".split():
        assert sided.apply(holed.astype(kind)).tolist() == [leaf_of(sided, row) for row in holed]
        with pytest.raises(ValueError, match="NaN"):
            tree.apply(holed.astype(kind))


def leaf_of(tree, row):
    """Return the leaf of a row, by one question after the other."""
    node = 0
    while tree.feature[node] >= 0:
        value = row[tree.feature[node]]
        left = bool(tree._missing_goes_left()[node]) if np.isnan(value) \
            else value <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return node


def test_sparse_rows_are_read_like_dense_ones():
    tree = DecisionTree.from_nested((0, 0.5, 0, 1))
    dense = np.array([[0.0], [1.0]])
    for method in (tree.predict, tree.apply, tree.predict_proba):
        assert np.array_equal(method(csr_array(dense)), method(dense))
    assert np.array_equal(tree.decision_path(csr_array(dense)).toarray(),
                          tree.decision_path(dense).toarray())
    for wrong in (np.eye(3), np.eye(3, dtype=np.uint8)):
        with pytest.raises(ValueError, match="the tree expects"):
            tree.apply(csr_array(wrong))


@pytest.mark.parametrize("value", [[[1.0], [1.0, 2.0], [1.0]], [["a"]] * 3, [[10 ** 400]] * 3])
def test_values_that_are_no_table_of_numbers(value):
    with pytest.raises(ValueError, match="value needs one row of finite numbers per node"):
        DecisionTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], value)


def test_impurities_that_scikit_learn_rounds_to_nan_are_numbers():
    X, y = np.array([[1.0], [0.0], [0.0]]), np.array([1, 0, 2])
    theirs = DecisionTreeRegressor().fit(X, y, [2.72e-3, 2.93e14, 1.6e8])
    assert np.isnan(theirs.tree_.impurity).any()
    impurity = DecisionTree.from_sklearn(theirs).impurity
    assert np.isfinite(impurity).all() and (impurity >= 0).all()


def test_midpoints_of_short_numbers_are_short():
    assert midpoint(15.3, 15.4) == 15.35 and midpoint(-0.1, 0.3) == 0.1
    rng = np.random.default_rng(0)
    for digits in range(1, 5):
        values = np.unique(np.round(rng.normal(size=4000) * 100, digits))
        middles = midpoint(values[:-1], values[1:])
        assert ((values[:-1] <= middles) & (middles < values[1:])).all()
        assert all(len(repr(t).partition(".")[2]) <= digits + 1 for t in middles.tolist())
    values = np.unique(rng.normal(size=999) * 10.0 ** rng.integers(-300, 300, 999))
    middles = midpoint(values[:-1], values[1:])
    assert ((values[:-1] <= middles) & (middles < values[1:])).all()
