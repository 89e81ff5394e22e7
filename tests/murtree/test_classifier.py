"""The estimator: scikit-learn's checks, limits, starts, binarisers, reports, known optima."""

import numpy as np
import pandas as pd
import pytest
from estimators import in_small_slices
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from odtbook.datasets import load
from odtbook.published import dl85_search
from odtlib import DecisionTree, MurTreeClassifier, MurTreeSearch
from odtlib._validation import encoded
from odtlib.binarize import QuantileBinarizer
from odtlib.murtree.preparation import MANY_ROWS
from odtlib.murtree.run import Run
from odtlib.murtree.solver import Solver
from tests.murtree.building import build
from tests.murtree.test_search import blobs, stairs
from tests.naive import best_tree_cost

# Depth, optimum; the first two also at depth 3 (MurTree's C++ and STreeD agree on them).
KNOWN = [("anneal", 3, 112), ("anneal", 4, 91), ("yeast", 4, 366), ("german-credit", 4, 204),
         ("hypothyroid", 4, 53), ("kr-vs-kp", 4, 144), ("heart-cleveland", 4, 25),
         ("australian-credit", 4, 56), ("diabetes", 4, 137), ("vehicle", 4, 12)]


@pytest.mark.parametrize("name, depth, errors", KNOWN)
def test_known_optima(name, depth, errors):
    data = load(f"murtree/{name}")
    X, y = data.X, data.y
    model = MurTreeClassifier(max_depth=depth).fit(X, y)
    assert model.report_.status == "optimal"
    assert model.report_.objective == errors == (model.predict(X) != y).sum()
    assert model.report_.lower_bound == errors
    assert model.tree_.depth <= depth


def test_a_grid_search_over_labels_of_text():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    search = GridSearchCV(MurTreeClassifier(), {"max_depth": [1, 2]}, cv=3).fit(X, names)
    assert search.best_params_ == {"max_depth": 2}


def test_data_frames_keep_their_names_and_categories():
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "blue", "green"], 80)
    frame = pd.DataFrame({"size": rng.random(80), "colour": colours})
    y = np.where((frame["colour"] == "red") & (frame["size"] > 0.5), "yes", "no")
    model = MurTreeClassifier(max_depth=2).fit(frame, y)
    assert model.report_.objective == 0
    assert (model.predict(frame) == y).all()
    assert "colour" in str(model.tree_) and "size" in str(model.tree_)
    numbers = MurTreeClassifier(max_depth=1).fit(frame[["size"]], frame["size"] > 0.5)
    assert "size <= " in str(numbers.tree_)


def test_weights_equal_repeated_rows():
    rng = np.random.default_rng(1)
    X, y = blobs(n_rows=60, n_columns=8, n_classes=3)
    weight = rng.integers(0, 4, 60)
    weighted = MurTreeClassifier(max_depth=3).fit(X, y, sample_weight=weight)
    repeated = MurTreeClassifier(max_depth=3).fit(np.repeat(X, weight, axis=0),
                                                  np.repeat(y, weight))
    assert weighted.report_.objective == repeated.report_.objective
    huge = MurTreeClassifier(max_depth=3).fit(X, y, sample_weight=weight * 1e6)
    assert huge.report_.objective == weighted.report_.objective * 1e6


@pytest.mark.parametrize("nodes", [0, 1, 2, 4, 5])
@pytest.mark.parametrize("split_penalty", [0.0, 1.5])
def test_limits_on_size_and_split_penalty(nodes, split_penalty):
    X, y = blobs(n_rows=40, n_columns=5)
    model = MurTreeClassifier(3, nodes, split_penalty=split_penalty, min_samples_leaf=2).fit(X, y)
    expected = best_tree_cost(X, y, np.ones(40), 2, 3, nodes, 2, split_penalty)
    assert model.report_.objective == pytest.approx(expected)
    assert model.verify(X, y) == pytest.approx(expected)
    assert model.tree_.n_splits <= nodes
    assert np.bincount(model.apply(X)).max() >= 2


def test_deepening_finds_trees_on_the_way():
    X, y = blobs(n_rows=150)
    plain = MurTreeClassifier(max_depth=5).fit(X, y)
    deepened = MurTreeClassifier(5, search=MurTreeSearch(deepening=True)).fit(X, y)
    assert deepened.report_.objective == plain.report_.objective
    assert deepened.report_.status == "optimal"
    assert deepened.report_.trace["event"].tolist()[:1] == ["depth 3"]
    assert len(deepened.report_.trace) > len(plain.report_.trace)


def test_a_start_with_too_many_nodes_is_refused():
    X, y = blobs()
    start = MurTreeClassifier(max_depth=3).fit(X, y).tree_
    with pytest.raises(ValueError, match="feature nodes and max_nodes is 2"):
        MurTreeClassifier(max_depth=3, max_nodes=2, start=start).fit(X, y)


def test_every_slice_that_finds_something_is_a_line_of_the_trace(monkeypatch):
    in_small_slices(monkeypatch)
    X, y = blobs(n_rows=200, n_columns=12)
    report = MurTreeClassifier(max_depth=3).fit(X, y).report_
    lines = list(zip(report.trace["incumbent"], report.trace["bound"], strict=True))
    assert lines[-1] == (report.objective, report.lower_bound)
    assert len(set(lines)) > 3 and (report.trace["event"] == "search").sum() > 2
    assert len(lines) <= len(set(lines)) + 1             # two events may share one state


@pytest.mark.parametrize("slices", [0, 1, 4])
def test_an_interruption_returns_the_incumbent(monkeypatch, slices):
    X, y = blobs(n_rows=500, n_columns=30)
    run_slice, done = Solver._slice, []

    def interrupted(self):
        if self.nodes == 63 and len(done) == slices:
            done.append("interrupt")
            raise KeyboardInterrupt
        done.append("slice")
        self.pace.work = min(self.pace.work, 1e4)
        run_slice(self)

    monkeypatch.setattr(Solver, "_slice", interrupted)
    model = MurTreeClassifier(max_depth=6).fit(X, y)
    assert "interrupt" in done
    assert model.report_.status == "interrupted"
    assert model.verify(X, y) == model.report_.objective >= model.report_.lower_bound


def test_binarisers():
    X, y = load_iris(return_X_y=True)
    errors = {}
    for binarizer in ("mdlp", "quantile", "all", QuantileBinarizer(3)):
        model = MurTreeClassifier(2, binarizer=binarizer).fit(X, y)
        assert model.verify(X, y) == model.report_.objective
        errors[str(binarizer)] = model.report_.objective
    assert errors["all"] == min(errors.values())
    with pytest.raises(ValueError, match="binarizer=None needs features that are 0 or 1"):
        MurTreeClassifier(binarizer=None).fit(X, y)


def test_no_column_gives_a_leaf():
    X, y = np.zeros((5, 2)), np.array([0, 1, 1, 1, 0])
    model = MurTreeClassifier().fit(X, y)
    assert model.tree_.n_nodes == 1
    assert model.report_.objective == 2
    assert (model.predict(X) == 1).all()


def test_memory_limit_and_report():
    X, y = blobs(n_rows=300, n_columns=24)
    model = MurTreeClassifier(max_depth=5, search=MurTreeSearch(memory_limit=0.004)).fit(X, y)
    free = MurTreeClassifier(max_depth=5).fit(X, y)
    assert model.report_.status == "optimal"
    assert model.report_.objective == free.report_.objective
    assert model.report_.counters["cache_bytes"] <= 4000
    assert "24 predicates at depth 5" in free.report_.proof


def test_the_same_tree_every_time():
    X, y = blobs(n_rows=200)
    first, second = (MurTreeClassifier(max_depth=4).fit(X, y).tree_ for _ in range(2))
    assert isinstance(first, DecisionTree)
    assert first.to_json() == second.to_json()


def test_the_path_holds_the_optimum_of_every_budget():
    X, y = blobs(n_rows=80, n_columns=9, n_classes=3)
    model = MurTreeClassifier(max_depth=3, max_nodes=6)
    path = model.path(X, y + 5)
    assert [entry.max_nodes for entry in path] == list(range(7))
    for entry in path:
        single = MurTreeClassifier(max_depth=3, max_nodes=entry.max_nodes).fit(X, y + 5)
        assert entry.optimal
        assert entry.objective == single.report_.objective
        assert (entry.tree.predict(X) != y + 5).sum() == entry.objective
        assert entry.tree.n_splits <= entry.max_nodes
    assert model.report_.objective == path[-1].objective
    assert model.tree_.to_json() == path[-1].tree.to_json()


def test_the_path_in_original_features():
    X, y = load_iris(return_X_y=True)
    names = ["a", "b", "c", "d"]
    path = MurTreeClassifier(max_depth=2).path(pd.DataFrame(X, columns=names), y)
    assert [entry.objective for entry in path] == [100, 50, 6, 6]
    assert path[2].tree.feature_names == tuple(names)
    assert (path[2].tree.predict(X) != y).sum() == 6


@pytest.mark.parametrize("split_penalty", [0.0, 0.25])
def test_fewest_nodes_among_the_best_trees(split_penalty):
    rng = np.random.default_rng(3)
    saved = 0
    for _ in range(25):
        n_rows, n_columns = int(rng.integers(5, 40)), int(rng.integers(2, 6))
        X = rng.integers(0, 2, (n_rows, n_columns))
        y = (X[:, 0] & X[:, 1]) ^ (rng.random(n_rows) < 0.1)
        if len(np.unique(y)) < 2:
            continue
        model = build(
            MurTreeClassifier, 3, split_penalty=split_penalty, minimise_nodes=True).fit(X, y)
        plain = MurTreeClassifier(3, split_penalty=split_penalty).fit(X, y)
        assert model.report_.objective == plain.report_.objective
        saved += plain.tree_.n_splits - model.tree_.n_splits
        size, ones = model.tree_.n_splits, np.ones(n_rows)
        if size:
            fewer = best_tree_cost(X, y.astype(int), ones, 2, 3, size - 1, 1, split_penalty)
            assert fewer > model.report_.objective
    assert split_penalty or saved > 0


@pytest.mark.parametrize("ending", [False, KeyboardInterrupt])
def test_a_search_for_fewest_nodes_that_is_cut_short_keeps_the_tree(monkeypatch, ending):
    X, y = blobs()
    solve = Solver.solve

    def cut(self, depth, nodes, *, smallest=None, **options):
        if smallest != 0:
            return solve(self, depth, nodes, smallest=smallest, **options)
        if ending:
            raise ending
        return ending

    monkeypatch.setattr(Solver, "solve", cut)
    model = MurTreeClassifier(max_depth=3, search=MurTreeSearch(minimise_nodes=True)).fit(X, y)
    plain = MurTreeClassifier(max_depth=3).fit(X, y)
    assert model.report_.status == "optimal" and model.report_.gap == 0
    assert "fewest" not in model.report_.proof
    assert model.verify(X, y) == plain.report_.objective


def test_leaves_and_nodes_are_the_same_limit():
    X, y = blobs()
    leaves = MurTreeClassifier(max_depth=3, max_leaf_nodes=4).fit(X, y)
    nodes = MurTreeClassifier(max_depth=3, max_nodes=3).fit(X, y)
    assert leaves.report_.objective == nodes.report_.objective
    assert leaves.tree_.n_leaves <= 4


def test_dl85_finds_the_same_optimum_with_more_work():
    X, y = blobs(n_columns=8)
    murtree = MurTreeClassifier(max_depth=3).fit(X, y)
    dl85 = MurTreeClassifier(3, search=dl85_search()).fit(X, y)
    assert dl85.report_.objective == murtree.report_.objective
    assert dl85.report_.counters["nodes"] > 10 * murtree.report_.counters["nodes"]
    assert dl85.report_.counters["depth_two_pairs"] == 0
    assert dl85_search(cache="closure").cache == "closure"


def test_deep_limits():
    X, y = blobs(n_rows=30, n_columns=6)
    deep = MurTreeClassifier(max_depth=40, time_limit=5).fit(X, y)
    assert deep.report_.objective == MurTreeClassifier(max_depth=6).fit(X, y).report_.objective
    X, y = blobs(n_rows=5000, n_columns=6)         # of at most 64 rows each
    assert MurTreeClassifier(max_depth=13).fit(X, y).report_.status == "optimal"
    X, y = blobs(n_rows=5000, n_columns=16)
    with pytest.raises(ValueError, match="give max_nodes or a max_depth of 12 or less"):
        MurTreeClassifier(max_depth=13).fit(X, y)


def test_random_order_takes_any_seed():
    X, y = blobs()
    for seed in (0, np.random.RandomState(1)):
        model = build(MurTreeClassifier, 3, feature_order="random", random_state=seed).fit(X, y)
        assert model.report_.objective == MurTreeClassifier(3).fit(X, y).report_.objective


@pytest.mark.parametrize("switch, counter", [("merge_rows", "rows_cancelled"),
                                             ("merge_columns", "columns_merged")])
def test_reductions_change_the_counters_and_not_the_optimum(switch, counter):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (90, 5)), rng.integers(0, 2, 90)
    X = np.hstack([X, 1 - X[:, :1], np.ones((90, 1), int)])
    reduced = MurTreeClassifier(3).fit(X, y)
    whole = build(MurTreeClassifier, 3, **{switch: False}).fit(X, y)
    assert reduced.report_.objective == whole.report_.objective
    assert reduced.report_.counters[counter] > whole.report_.counters[counter]


EVERY_SWITCH = [
    ({"cache": None}, "cache_entries cache_hits"),
    ({"cache": "branch"}, "cache_entries"),
    ({"cache": "closure"}, "cache_entries columns_dropped"),
    ({"similarity_bound": False}, "similarity_updates pruned_by_bound"),
    ({"similarity_bound": "siblings"}, "earlier_nodes_used depth_two_pairs"),
    ({"n_exact_children": 0}, "children_probed"),
    ({"refined_bound": False}, "bounds_refined"),
    ({"incremental_counts": False}, "data_sets_counted"),
    ({"specialised_depth_two": False}, "depth_two_pairs"),
    ({"feature_order": "in-order"}, "similarity_updates depth_two_pairs"),
    ({"feature_order": "gini"}, "similarity_updates"),
    ({"feature_order": "random", "random_state": 3}, "similarity_updates cache_hits"),
    ({"child_order": "post-order"}, "nodes"),
    ({"child_order": "gap"}, "nodes"),
    ({"merge_rows": False}, "rows_cancelled"),
    ({"merge_columns": False}, "columns_merged columns_dropped"),
    ({"deepening": True}, "nodes"),
    ({"minimise_nodes": True}, "nodes cache_entries"),
    ({"memory_limit": 0.002}, "cache_bytes"),
]


@pytest.fixture(scope="module")
def plain_fit():
    X, y = stairs(n_rows=250)
    return MurTreeClassifier(5, 20).fit(X, y).report_


def test_a_start_saves_work(plain_fit):
    X, y = stairs(n_rows=250)
    best = MurTreeClassifier(5, 20).fit(X, y).tree_
    report = MurTreeClassifier(5, 20, start=best).fit(X, y).report_
    assert report.objective == plain_fit.objective
    assert report.counters["depth_two_pairs"] != plain_fit.counters["depth_two_pairs"]


@pytest.mark.parametrize("switch, counters", EVERY_SWITCH)
def test_every_switch_changes_its_counters_and_not_the_optimum(plain_fit, switch, counters):
    X, y = stairs(n_rows=250)
    model = build(MurTreeClassifier, 5, 20, **switch).fit(X, y)
    report = model.report_
    assert report.status == plain_fit.status == "optimal"
    assert report.objective == plain_fit.objective == model.verify(X, y)
    for counter in counters.split():
        assert report.counters[counter] != plain_fit.counters[counter]


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_give_the_same_tree_and_an_honest_trace(monkeypatch, n_jobs):
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 3000)
    monkeypatch.setattr("odtlib.fit.LONGEST_SLICE", 0.002)
    for seed in range(3):
        X, y = blobs(seed, n_rows=150)
        alone = MurTreeClassifier(5).fit(X, y)
        together = MurTreeClassifier(5, n_jobs=n_jobs).fit(X, y)
        assert together.report_.status == "optimal"
        assert together.tree_.to_json() == alone.tree_.to_json()
        trace = together.report_.trace
        assert (np.diff(trace["incumbent"]) <= 0).all()
        assert (trace["bound"] <= alone.report_.objective).all()
    with pytest.raises(ValueError, match="n_jobs"):
        MurTreeClassifier(n_jobs=0).fit(X, y)


def test_limited_discrepancy_finds_trees_on_the_way():
    X, y = blobs(n_rows=150)
    plain = MurTreeClassifier(max_depth=5).fit(X, y)
    other = build(MurTreeClassifier, 5, discrepancy_search=True).fit(X, y)
    assert other.report_.status == "optimal"
    assert other.report_.objective == plain.report_.objective
    assert other.report_.trace["event"].tolist()[0] == "0 discrepancies"
    with pytest.raises(ValueError, match="discrepancy_search needs the full node budget"):
        build(MurTreeClassifier, 5, 20, discrepancy_search=True).fit(X, y)


def test_a_long_run_is_predicted(monkeypatch, capsys):
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 3000)
    X, y = blobs(n_rows=300, n_columns=24)
    report = MurTreeClassifier(5, verbose=1).fit(X, y).report_
    assert report.counters["predicted_seconds"] > 0
    assert report.trace["event"][0].startswith("predicted ")
    assert "predicted" in capsys.readouterr().out


@pytest.mark.parametrize("kind", "? u1 i1 i2 i4 i8 f4 f8".split())
def test_rows_of_every_type_make_the_same_tree(kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (80, 6)), rng.integers(0, 3, 80)
    given = X.astype(kind)
    model = MurTreeClassifier(3).fit(given, y)
    assert model.tree_ == MurTreeClassifier(3).fit(X.astype(float), y).tree_
    assert np.array_equal(given, X.astype(kind))
    assert np.array_equal(model.predict(given), model.predict(X.astype(float)))
    assert model.verify(given, y) == model.report_.objective


@pytest.mark.parametrize("kind", "u1 i8 f4 f8".split())
def test_features_that_are_not_binary_make_the_same_columns_in_every_type(kind):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 9, (80, 3)), rng.integers(0, 2, 80)
    model = MurTreeClassifier(2).fit(X.astype(kind), y)
    assert model.tree_ == MurTreeClassifier(2).fit(X.astype(float), y).tree_


def test_good_trees_stay_when_the_rows_change():
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, (60, 5)).astype(np.uint8), rng.integers(0, 2, 60)
    good = MurTreeClassifier(2, split_penalty=1.0).good_trees(X, y, tolerance=3)
    kept = MurTreeClassifier(2, split_penalty=1.0).good_trees(X.copy(), y, tolerance=3)
    X[:] = 0
    assert len(good) == len(kept) > 1
    assert all(a == b for a, b in zip(good, kept, strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_equal_rows_count_as_often_as_they_stand_there(seed):
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(20, 60)), int(rng.integers(2, 4))
    X, y = rng.integers(0, 2, (n, 5)), rng.integers(0, classes, n)
    times = rng.integers(1, 4, n) * 60
    penalty = float(rng.choice([0, 30]))
    rows = rng.permutation(np.repeat(np.arange(n), times))
    assert len(rows) >= MANY_ROWS
    depth = int(rng.integers(1, 4))
    few = MurTreeClassifier(depth, split_penalty=penalty / 60).fit(X, y, times / 60)
    for data, weight in (((X[rows], y[rows]), None), ((X, y), times),
                         ((X[rows], y[rows]), np.full(len(rows), 7))):
        unit = 7.0 if weight is not None and len(weight) == len(rows) else 1.0
        model = MurTreeClassifier(depth, split_penalty=penalty * unit).fit(*data, weight)
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(60 * unit * few.report_.objective)
        assert model.verify(*data, weight) == pytest.approx(model.report_.objective)
        assert model.tree_.value[0].sum() == unit * len(rows)
        if not penalty:
            path = model.path(*data, weight)
            assert [entry.objective for entry in path] == pytest.approx(
                [60 * unit * entry.objective for entry in few.path(X, y, times / 60)])
            assert all(entry.tree.value[0].sum() == unit * len(rows) for entry in path)


def test_labels_are_encoded_as_by_sorting():
    rng = np.random.default_rng(0)
    for kind, low, high in (("i1", -128, 128), ("i8", -3, 4), ("i8", -2**62, 2**62), ("?", 0, 2),
                            ("i4", 10**6, 10**6 + 2), ("u1", 0, 256), ("f8", 0, 5)):
        y = rng.integers(low, high, 50).astype(kind)
        labels, codes = encoded(y)
        expected = np.unique(y, return_inverse=True)
        assert labels.dtype == y.dtype
        assert np.array_equal(labels, expected[0])
        assert np.array_equal(codes, expected[1])


@pytest.mark.parametrize("predicted, shares", [(2000.0, [0.2, 0.1]), (4000.0, [0.5, 0.5])])
def test_a_search_that_may_end_in_time_leaves_less_to_discrepancies(monkeypatch, predicted, shares):
    given, turn = [], Run.turn

    def predicting(run, *arguments):
        run.predicted = predicted
        return turn(run, *arguments)

    monkeypatch.setattr(Run, "turn", predicting)
    for look in ("try_lookahead", "explore"):
        monkeypatch.setattr(Run, look, lambda run, share: given.append(share))
    monkeypatch.setattr("odtlib.murtree.run.TURNS", (0.0, 0.0))
    MurTreeClassifier(4, time_limit=600).fit(*blobs())
    assert given == shares


def test_a_time_limit_takes_turns_with_the_looks_for_good_trees(monkeypatch):
    asked, look = [], Solver.discrepancy_tree
    horizons, ahead = [], Solver.lookahead_tree
    monkeypatch.setattr(Solver, "discrepancy_tree",
                        lambda *given: asked.append(given[2]) or look(*given))
    monkeypatch.setattr(Solver, "lookahead_tree",
                        lambda *given: horizons.append(given[2]) or ahead(*given))
    X, y = blobs(n_rows=800, n_columns=60)
    y = np.where(np.random.default_rng(0).random(800) < 0.5, y, 1 - y)
    long = MurTreeClassifier(6, time_limit=3.0).fit(X, y)
    report = long.report_
    assert horizons[0] == 2 and asked[0] == 0
    assert report.lower_bound <= report.objective == long.verify(X, y)
    incumbents = report.trace["incumbent"].replace(np.inf, np.nan).dropna()
    assert (np.diff(incumbents) <= 0).all()
    # a search that ends within its first turn looks at nothing else
    asked.clear()
    horizons.clear()
    quick = MurTreeClassifier(4, time_limit=600).fit(X[:60, :6], y[:60]).report_
    assert quick.status == "optimal" and not asked + horizons
    assert not any("look" in event for event in quick.trace["event"])
    assert MurTreeClassifier(4).fit(X[:60, :6], y[:60]).report_.objective == quick.objective


@pytest.mark.parametrize("depth", range(6))
def test_a_tree_is_stored_as_its_constructor_stores_it(depth):
    X, y = blobs(n_rows=300, n_columns=12)
    for labels in (y, y.astype(str)):
        tree = MurTreeClassifier(depth).fit(X, labels).tree_
        again = DecisionTree(**tree._arguments())
        assert again == tree and again.pruned() is again
        assert not any(part.flags.writeable for part in (tree.feature, tree.value, tree.classes))
