"""The referee accuses nobody falsely, reads every package, and proves what it calls optimal."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from certificates.files import saved
from certificates.test_certificates import least_cost, problem_of
from naive import best_tree_cost, cuts
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

from odtbook.check_certificate import check
from odtbook.cli import main
from odtbook.referee import KEPT, Case, referee
from odtlib import DecisionTree, MurTreeClassifier, MurTreeRegressor

VOTES = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
MAJORITY = (VOTES.sum(axis=1) >= 2).astype(int)


def random_tree(X, leaf, depth, rng):
    """Return nested nodes over thresholds of X, of at most some depth; none has an empty side."""
    pairs = [(j, t) for j, column in enumerate(X.T) for t in np.unique(column)[:-1]]
    if depth == 0 or not pairs or rng.random() < 0.25:
        return {"label": leaf(rng)}
    feature, threshold = pairs[rng.integers(len(pairs))]
    low = X[:, feature] <= threshold
    return {"feature": int(feature), "threshold": float(threshold),
            "left": random_tree(X[low], leaf, depth - 1, rng),
            "right": random_tree(X[~low], leaf, depth - 1, rng)}


def told(tree, X, y, weight, squares, depth=0):
    """Return loss, depth, splits and rows of the smallest leaf of nested nodes, one row a time."""
    if "label" in tree:
        away = (y - tree["label"])**2 if squares else y != tree["label"]
        return float((weight * away).sum()), depth, 0, len(y)
    low = X[:, tree["feature"]] <= tree["threshold"]
    a, b = (told(tree[side], X[rows], y[rows], weight[rows], squares, depth + 1)
            for side, rows in (("left", low), ("right", ~low)))
    return a[0] + b[0], max(a[1], b[1]), a[2] + b[2] + 1, min(a[3], b[3])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["columns", "squares", "thresholds", "threshold squares"])
@pytest.mark.parametrize("seed", range(80))
def test_no_false_accusation_and_no_false_praise(kind, seed):
    """Every verdict is that of trying all trees: of a random tree, and of the best one."""
    X, y, weight, limits = problem_of(kind, seed)
    X, squares, rng = X.astype(float), "squares" in kind, np.random.default_rng(seed)
    best, scale = least_cost(kind, X, y, weight, **limits)
    every = np.ones(len(y)) if weight is None else weight
    used = every > 0
    given = random_tree(X[used], lambda rng: float(rng.choice(y)), limits["max_depth"], rng)
    options = dict(limits, sample_weight=weight, objective=("errors", "squared_error")[squares])
    verdict = referee(given, X, y, **options)
    loss, depth, splits, least = told(given, X[used], y[used], every[used], squares)
    cost = loss + limits.get("split_penalty", 0.0) * splits
    near = 1e-6 * scale + 1e-9 * limits.get("split_penalty", 0.0) if squares else 1e-9
    assert verdict.objective == pytest.approx(cost, rel=1e-9, abs=1e-9)
    if splits > limits.get("max_nodes", splits) or least < limits.get("min_samples_leaf", 1) and (
            splits):
        assert verdict.status == "outside"
    elif cost > best + near:
        assert verdict.status == "beaten"
        assert verdict.better_objective < verdict.objective
        assert verdict.better_objective == pytest.approx(best, rel=1e-6, abs=near)
    else:
        assert verdict.status in ("optimal", "beaten" if cost > best else "optimal")
    if verdict.better is not None:      # it is judged as the best one of its limits
        verdict = referee(verdict.better, X, y, **options)
        assert verdict.status == "optimal"
    if verdict.status == "optimal":
        codes = y if squares else np.unique(y, return_inverse=True)[1]
        assert check(saved(verdict.certificate.arrays), X[used], codes[used],
                     every[used]) == verdict.claim


def test_a_better_tree_has_the_names_of_the_columns():
    frame = pd.DataFrame({"width": [0.1, 0.2, 0.3, 0.4], "height": [1.0, 3.0, 2.0, 4.0]})
    y = np.array(["no", "yes", "no", "yes"])
    verdict = referee({"label": "no"}, frame, y, max_depth=1)
    assert verdict.status == "beaten" and "height <= 2.5" in verdict.better.to_text()
    assert verdict.better.feature_names == ("width", "height")


def test_a_label_of_rows_without_weight_is_wrong_and_no_fault():
    verdict = referee({"label": "b"}, [[0], [1], [1]], ["a", "a", "b"], sample_weight=[1, 1, 0])
    assert verdict.status == "beaten" and (verdict.objective, verdict.better_objective) == (2, 0)


def node(**parts):
    """Return an object of another package."""
    return SimpleNamespace(**parts)


def of_streed(feature, zero, one):
    leaf = [node(is_leaf_node=lambda: True, label=label, left_child=None, right_child=None)
            for label in (zero, one)]
    return node(is_leaf_node=lambda: False, feature=feature, left_child=leaf[0],
                right_child=leaf[1])


def of_contree(feature, zero, one):
    leaf = [node(is_leaf_node=lambda: True, get_split_feature=None,
                 get_label=lambda label=label: label) for label in (zero, one)]
    return node(is_leaf_node=lambda: False, get_split_feature=lambda: feature,
                get_split_threshold=lambda: 0.5, get_left=lambda: leaf[0],
                get_right=lambda: leaf[1])


def of_gosdt(feature, zero, one):
    losses = [(VOTES[:, feature] == side)[MAJORITY != label].sum() / 8
              for side, label in ((0, zero), (1, one))]
    root = node(feature=feature, left_child=node(prediction=one, loss=losses[1]),
                right_child=node(prediction=zero, loss=losses[0]))
    return [node(tree=root, classes=np.array([0, 1]))]


def of_dl85(feature, zero, one):
    return {"feat": feature, "left": {"value": one, "error": 1}, "right": {"value": zero}}


def says(zero, one):
    return lambda X: np.where(np.asarray(X)[:, 0] == 1, one, zero)


def packages(zero, one):
    """Return the stump of the first judge as the packages would have it."""
    errors = float(np.sum(says(zero, one)(VOTES) != MAJORITY))
    predict = says(zero, one)
    return {
        "STreeD": node(predict=predict, tree_=of_streed(0, zero, one), classes_=[0, 1],
                       fit_result=node(score=lambda: 1 - errors / 8)),
        "ConTree": node(predict=predict, tree_=of_contree(0, zero, one)),
        "DL8.5": node(predict=predict, tree_=of_dl85(0, zero, one), error_=errors),
        "GOSDT": node(predict=predict, trees_=of_gosdt(0, zero, one)),
        "imodels": node(predict=predict, estimator_=node(tree_=of_streed(0, zero, one))),
        "odtlearn": node(predict=predict),
        "a node of ConTree": of_contree(0, zero, one),
        "a node of STreeD": of_streed(0, zero, one),
        "predictions": predict(VOTES),
    }


@pytest.mark.parametrize("name", packages(0, 1))
def test_the_tree_of_each_package(name):
    verdict = referee(packages(0, 1)[name], VOTES, MAJORITY, max_depth=1)
    assert verdict.status == "optimal" and verdict.objective == 2
    assert "no tree of depth 1" in str(verdict)
    turned = referee(packages(1, 0)[name], VOTES, MAJORITY, max_depth=1)
    assert turned.status == "beaten" and (turned.objective, turned.better_objective) == (6, 2)


def test_fitted_estimators_of_dl85_and_pytrees_are_no_nodes():
    """pydl8.5's has a method of a node, and pytrees has one number of a class for each node."""
    dl85 = packages(0, 1)["DL8.5"]
    dl85.fit, dl85.is_leaf_node = (lambda X, y: None), (lambda tree: False)
    pytrees = node(predict=says(0, 1), classes_=np.array([0, 1]), tree_=node(
        children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1],
        threshold=[0.5, np.nan, np.nan], value=np.array([-1, 0, 1])))
    for model in (dl85, pytrees):
        verdict = referee(model, VOTES, MAJORITY, min_samples_leaf=2)
        assert (verdict.status, verdict.objective, verdict.notes) == ("optimal", 2, ())


@pytest.mark.parametrize("name", ["STreeD", "DL8.5", "GOSDT", "ConTree"])
def test_what_a_package_says_of_itself_is_compared_with_its_tree(name):
    model = packages(0, 1)[name]
    assert referee(model, VOTES, MAJORITY, max_depth=1).notes == ()
    model.predict = says(1, 1)
    assert str(referee(model, VOTES, MAJORITY, max_depth=1)).startswith(
        "predict of the SimpleNamespace differs from its tree on 4 of 8 rows")
    model = packages(0, 1)[name]
    if name == "STreeD":
        model.fit_result = node(score=lambda: 1.0)
    elif name == "DL8.5":
        model.error_ = 0.0
    elif name == "GOSDT":
        model.trees_[0].tree.left_child.loss = -0.125
    else:
        return
    assert str(referee(model, VOTES, MAJORITY, max_depth=1)).startswith(
        "the SimpleNamespace reports 0, and its tree has 2; optimal:")


def test_a_predict_that_fails_is_a_note_where_the_tree_can_be_read():
    model = packages(0, 1)["ConTree"]
    model.predict = lambda X: 1 / 0
    verdict = referee(model, VOTES, MAJORITY, max_depth=1)
    assert verdict.status == "optimal" and "fails: division by zero" in str(verdict)
    with pytest.raises(ValueError, match="give a fitted estimator"):
        referee(node(predict=model.predict), VOTES, MAJORITY, max_depth=1)


TEXTS = {
    "odtlib": DecisionTree.from_nested((0, 0.5, 0, 1)).to_text(),
    "scikit-learn": "|--- x0 <= 0.50\n|   |--- class: 0\n|--- x0 >  0.50\n|   |--- class: 1\n",
    "ConTree": " Split on f0 <= 0.500000\n    Label = 0\n    Label = 1\n",
    "STreeD": "Feature 0 not satisfied\n|   Label: 0\nFeature 0 satisfied\n|   Label: 1\n",
    "DL8.5": json.dumps(of_dl85(0, 0, 1)),
    "GOSDT": json.dumps({"feature": 0, "relation": "==", "reference": "true",
                         "true": {"prediction": 1}, "false": {"prediction": 0}}),
    "to_json": DecisionTree.from_nested((0, 0.5, 0, 1)).to_json(),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_tree_in_writing(name, tmp_path):
    file = tmp_path / "tree"
    file.write_text(TEXTS[name], encoding="utf-8")
    for given in (TEXTS[name], file, str(file)):
        verdict = referee(given, VOTES, MAJORITY)
        assert (verdict.status, verdict.objective) == ("optimal", 2)


def test_scikit_learn_and_our_estimators(recwarn):
    rng = np.random.default_rng(3)
    X, words = rng.random((40, 3)), np.array(["no", "yes"])
    y = words[(X[:, 0] > X[:, 1]).astype(int)]
    cart = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    verdict = referee(cart, X, y)
    assert verdict.notes == () and verdict.objective == np.sum(cart.predict(X) != y)
    if verdict.status == "beaten":
        assert verdict.better_objective == np.sum(verdict.better.predict(X) != y)
    text = referee(export_text(cart, decimals=17), X, y)
    assert (text.status, text.objective) == (verdict.status, verdict.objective)
    single = 1.0 + 1e-9 * np.arange(6)[:, None]     # one value in float32
    labels = np.array([0, 0, 0, 1, 1, 1])
    cart = DecisionTreeClassifier(max_depth=1).fit(single, labels)
    verdict = referee(cart, single, labels, max_depth=1)
    assert verdict.notes == () and (verdict.status, verdict.better_objective) == ("beaten", 0)
    values = X @ [1, 2, 3]
    cart = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, values)
    verdict = referee(cart, X, values)
    assert verdict.notes == () and verdict.objective == pytest.approx(
        np.sum((cart.predict(X) - values)**2))
    for kind in (MurTreeClassifier, MurTreeRegressor):
        model = kind(2).fit(VOTES, MAJORITY)
        verdict = referee(model, VOTES, MAJORITY,
                          objective="errors" if kind is MurTreeClassifier else "squared_error")
        assert verdict.status == "optimal" and verdict.notes == ()


def test_a_frame_is_read_by_the_names_that_the_tree_was_fitted_to():
    """Columns in another order once made an optimal tree one that is beaten."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (40, 3)), columns=["a", "b", "c"])
    y = (frame["a"] & ~frame["b"]).to_numpy()
    ours = MurTreeClassifier(2).fit(frame, y)
    theirs = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame, y)
    for tree in (ours, ours.tree_, theirs):
        verdict = referee(tree, frame[["c", "a", "b"]], y, max_depth=2)
        assert (verdict.status, verdict.objective, verdict.notes) == ("optimal", 0, ())


def test_a_tree_outside_the_limits_is_not_called_optimal():
    model = MurTreeClassifier(3).fit(VOTES, MAJORITY)
    for limits, words in (({"max_depth": 2}, "depth 3 and the limit is 2"),
                          ({"max_nodes": 2}, "feature nodes and the limit is 2"),
                          ({"min_samples_leaf": 3}, "a leaf of the tree has 1 rows")):
        verdict = referee(model, VOTES, MAJORITY, **limits)
        assert verdict.status == "outside" and words in str(verdict)
        assert verdict.better_objective == 2 > verdict.objective == 0
    verdict = referee(MAJORITY, VOTES, MAJORITY, max_depth=2)     # of no tree of that depth
    assert verdict.status == "outside" and "the work of no tree within the limits" in str(verdict)


def test_a_search_without_time_is_open_or_right():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 12)), rng.integers(0, 2, 200)
    verdict = referee({"label": 0}, X, y, max_depth=4, time_limit=1e-6)
    assert verdict.status in ("open", "beaten") and verdict.bound <= verdict.objective
    assert verdict.gap == verdict.objective - verdict.bound


def nodes(label=1, **changes):
    """Return nested nodes with a lie in them."""
    return {"feature": 0, "threshold": 0.5, "left": {"label": label}, "right": {"label": label},
            **changes}


def deep():
    """Return more nested nodes than Python calls functions."""
    tree = {"label": 0}
    for _ in range(5000):
        tree = nodes(right=tree)
    return tree


@pytest.mark.parametrize("changes, words", [
    ({"X": [[np.nan]] * 8}, "missing or infinite"), ({"X": [["a"]] * 8}, "text or gaps"),
    ({"y": MAJORITY[:5]}, "give (n_rows, n_features)"), ({"max_depth": -1}, "at least 0"),
    ({"min_samples_leaf": 0}, "at least 1"), ({"split_penalty": -1.0}, "at least 0"),
    ({"objective": "f1"}, "certificates exist for"), ({"sample_weight": np.zeros(8)}, "not 0"),
    ({"tree": object()}, "no tree that the referee can read"), ({"tree": "Hello"}, "is no tree"),
    ({"tree": "{}"}, "the JSON is no tree"), ({"tree": {"feature": 7, "left": {"label": 0},
                                                        "right": {"label": 1}}},
     "none of the 3 columns of the rows."),
    ({"tree": "a <= b"}, "give its JSON"), ({"tree": "a <= 1"}, "ends where a test"),
    ({"tree": {"label": "maybe"}}, "other labels"), ({"tree": MAJORITY}, "give max_depth"),
    ({"tree": {}}, "the tree is no tree"), ({"tree": {"feature": 0, "left": 1, "right": 0}},
                                            "the tree is no tree"),
    ({"tree": nodes(label=MAJORITY.tolist())}, "the tree is no tree"),      # of each row
    ({"tree": {"feature": 0, "left": {"label": 0}, "label": 1}}, "the tree is no tree"),
    *(({"tree": nodes(feature=odd)}, "none of the 3 columns") for odd in (
        -1, "-1", 0.5, "0.5", True, [0], 10**400, "9" * 5000)),
    *(({"tree": nodes(threshold=odd)}, "the tree is no tree") for odd in (
        "a", "nan", [1], 10**400)),
    *(({"tree": nodes(relation=odd)}, "a test of the tree says") for odd in ("~", None, ["<="])),
    *(({"tree": nodes(label=odd)}, "the tree predicts") for odd in (1e999, 10**400)),
    ({"tree": nodes(label=10**400), "objective": "squared_error"}, "the tree predicts"),
    ({"tree": deep()}, "nested too deep"), ({"tree": "x0 <= 1\n" * 5000}, "nested too deep"),
    ({"tree": MAJORITY, "split_penalty": 1.0}, "give the tree"), ({"time_limit": 0}, "seconds"),
])
def test_bad_input_is_refused_in_one_sentence(changes, words):
    call = {"tree": {"label": 0}, "X": VOTES, "y": MAJORITY} | changes
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        referee(call.pop("tree"), call.pop("X"), call.pop("y"), **call)
    assert "\n" not in str(caught.value)


def test_whole_numbers_of_any_type_are_columns():
    """A column 1.0 was read as the column 0, whose number ends its text."""
    for feature in (1, 1.0, np.int8(1), "1", "x1", "column 1", "f01"):
        verdict = referee({"feature": feature, "threshold": 0.5, "left": {"label": 0},
                           "right": {"label": 1}}, VOTES, VOTES[:, 1])
        assert (verdict.status, verdict.objective) == ("optimal", 0)


def test_the_command(tmp_path, capsys):
    table, tree = tmp_path / "votes.csv", tmp_path / "tree.json"
    rows = np.column_stack([VOTES, MAJORITY]).repeat(3, axis=0)
    table.write_text("a,b,c,label\n" + "\n".join(",".join(map(str, row)) for row in rows))
    tree.write_text(DecisionTree.from_nested((0, 0.5, 0, 1)).to_json())
    proof = tmp_path / "proof.npz"
    call = ["referee", str(tree), str(table), "--target", "label"]
    assert main([*call, "--save", str(proof)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("optimal: the tree has 6 errors, and no tree of depth 1")
    assert check(proof, VOTES.repeat(3, axis=0), MAJORITY.repeat(3)) in said
    better = tmp_path / "better.json"
    assert main([*call, "--depth", "3", "--save", str(better)]) == 1
    assert "another within the limits has 0 errors" in capsys.readouterr().out
    assert main(["referee", str(better), str(table)]) == 0
    assert main(["referee", str(table), str(table)]) == 2
    assert main([*call, "--save", str(proof)]) == 0
    assert f"{proof}: the certificate" in capsys.readouterr().out
    for option, value in (("--depth", "-1"), ("--nodes", "-1"), ("--leaf", "0"), ("--price", "-1"),
                          ("--time", "0")):     # as the command names it, and not Python
        assert main([*call, option, value]) == 2
        assert f"odt: {option} is {value}" in capsys.readouterr().err


def test_the_command_reads_what_other_commands_write(tmp_path, capsys):
    """The tree of `odt try` on words, a byte order mark, and files that hold no tree."""
    rows = pd.DataFrame({"x": np.arange(40) // 2, "word": list("abcd") * 10, "same": 1})
    rows["label"] = np.where((rows["x"] < 10) & (rows["word"] != "b"), "yes", "no")
    rows.to_csv(tmp_path / "t.csv", index=False)
    model = MurTreeClassifier(2).fit(rows[["x", "word"]], rows["label"])
    (tmp_path / "tree.json").write_text(model.tree_.to_json())
    assert main(["referee", str(tmp_path / "tree.json"), str(tmp_path / "t.csv")]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("optimal: the tree has 0 errors")
    assert "'same' is 1 in every row and is dropped" in printed.err
    rows.drop(columns="word").to_csv(tmp_path / "n.csv", index=False)
    (tmp_path / "t.txt").write_text("x <= 0.5\n  class: no\n  class: yes\n", "utf-8-sig")
    assert main(["referee", str(tmp_path / "t.txt"), str(tmp_path / "n.csv")]) == 1
    for content, says in ((b"", "ends where a test or a leaf belongs"), (b"\xff\xfe", "in UTF-8")):
        (tmp_path / "odd.txt").write_bytes(content)
        assert main(["referee", str(tmp_path / "odd.txt"), str(tmp_path / "n.csv")]) == 2
        said = capsys.readouterr().err
        assert says in said and "give its JSON" in said
    assert main(["referee", str(tmp_path / "t.txt"), str(tmp_path / "t.csv")]) == 2
    assert "text or gaps in 'word'" in capsys.readouterr().err
    assert main(["referee", str(tmp_path), str(tmp_path / "n.csv")]) == 2
    assert "give that of a tree" in capsys.readouterr().err


def test_the_reference_of_these_tests():
    assert best_tree_cost(cuts(VOTES), MAJORITY, np.ones(8), 2, 1, 1) == 2


def test_a_printed_number_is_proved_refuted_or_impossible():
    weight = np.ones(8)
    for number, status, words in (
            (0, "optimal", "the number says 0 errors"), (1, "beaten", "another within the limits"),
            (-1, "outside", "the work of no tree")):
        verdict = referee(number, VOTES, MAJORITY, max_depth=3, sample_weight=weight)
        assert (verdict.status, verdict.objective) == (status, number) and words in str(verdict)
    with pytest.raises(ValueError, match="a number alone"):
        referee(2, VOTES, MAJORITY)
    with pytest.raises(ValueError, match="no optimum"):
        referee(float("nan"), VOTES, MAJORITY, max_depth=1)
    limited = referee(np.float64(3), VOTES, MAJORITY, max_depth=3, min_samples_leaf=3,
                      split_penalty=0.5)
    assert limited.status == "beaten" and limited.better_objective < 3


def test_what_is_kept_for_further_trees_is_that_of_their_question(monkeypatch):
    """The same question is searched once; another limit, weight or label is another question."""
    searches = []
    search = Case.search
    monkeypatch.setattr(Case, "search", lambda *a: searches.append(a) or search(*a))
    KEPT.clear()
    first = referee(3, VOTES, MAJORITY, max_depth=2)
    again = referee(MAJORITY, VOTES, MAJORITY, max_depth=2)
    assert len(searches) == 1 and (first.status, again.status) == ("beaten", "outside")
    other = MAJORITY.copy()
    other[0] = 1
    for y, options in ((MAJORITY, {"max_depth": 3}), (other, {"max_depth": 3}), (
            other, {"max_depth": 3, "sample_weight": np.arange(1, 9)}), (
            other, {"max_depth": 3, "min_samples_leaf": 2}), (
            other, {"max_depth": 3, "objective": "squared_error"})):
        before = len(searches)
        kept = referee(5, VOTES, y, **options)
        assert len(searches) == before + 1
        KEPT.clear()
        fresh = referee(5, VOTES, y, **options)
        assert (kept.status, kept.better_objective) == (fresh.status, fresh.better_objective)


def test_a_proof_that_nobody_checked_is_none(monkeypatch):
    """It says what the search alone says, and counts as no bound."""
    monkeypatch.setattr("odtbook.referee.MOST_WORK", 0)
    KEPT.clear()
    verdict = referee(2, VOTES, MAJORITY, max_depth=2)
    assert (verdict.status, verdict.bound, verdict.certificate, verdict.claim) == (
        "open", 0.0, None, "")
    assert "over 3 splits takes too long. The search alone says 2." in str(verdict)
    KEPT.clear()
