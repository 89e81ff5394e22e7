"""Answers that do not depend on the unit of weights and targets, nor on how uneven they are."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from odtlib import MurTreeClassifier, MurTreeRegressor, MurTreeSearch
from odtlib.murtree.preparation import rounded_weights, whole_weights
from odtlib.tolerance import PROOF, ROUNDING
from tests.murtree.building import build
from tests.murtree.test_regressor import best_loss
from tests.naive import best_tree_cost
from tests.scale import SCALE

SCALES = (1e-12, 1e-10, 1e-8, 1e-6, 1.0, 1e6, 1e12)


def rows(rng, n_rows=12, n_columns=4):
    X = rng.integers(0, 2, (n_rows, n_columns)).astype(np.uint8)
    y = (X[:, 0] ^ X[:, 1]) ^ (rng.random(n_rows) < 0.2)
    y[:2] = 0, 1
    return X, y.astype(np.int64)


def check_fewest_nodes(model, X, y, weight, tolerance):
    """The tree is within the tolerance of the optimum, and no smaller tree is equal to it."""
    report, depth = model.report_, model.max_depth
    optimum = best_tree_cost(X, y, weight, 2, depth, 2 ** depth - 1)
    assert report.status == "optimal"
    assert report.objective == pytest.approx(optimum, rel=0, abs=tolerance)
    assert report.lower_bound <= report.objective
    assert model.verify(X, y, weight) == pytest.approx(optimum, rel=0, abs=tolerance)
    nodes = model.tree_.n_splits
    if nodes:
        assert best_tree_cost(X, y, weight, 2, depth, nodes - 1) > optimum + tolerance / 2


@pytest.mark.parametrize("scale", SCALES)
def test_fewest_nodes_at_any_scale(scale):
    rng = np.random.default_rng(3)
    for _ in range(25):
        X, y = rows(rng)
        weight = rng.random(len(y)) * scale
        model = MurTreeClassifier(2, search=MurTreeSearch(minimise_nodes=True)).fit(X, y, weight)
        check_fewest_nodes(model, X, y, weight, ROUNDING * weight.sum())


@pytest.mark.parametrize("min_samples_leaf", [1, 2])
def test_whole_weights_are_exact_however_large(min_samples_leaf):
    """A row of weight one is worth a feature node beside one of 1e15."""
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 0], [0, 1]]), np.array([0, 1, 1, 1, 1])
    weight = np.array([1e15, 1.0, 3.0, 2.0, 5.0])
    model = build(MurTreeClassifier, 2, minimise_nodes=True, min_samples_leaf=min_samples_leaf)
    model.fit(X, y, weight)
    optimum = best_tree_cost(X, y, weight, 2, 2, 3, min_samples_leaf)
    assert model.report_.objective == model.verify(X, y, weight) == optimum


def test_weights_become_whole_numbers():
    for given, whole in (
            ([0.5, 1.5, 1.0], [1, 3, 2]), ([0.1, 0.2, 0.1 + 0.2], [1, 2, 3]), ([7.0, 21.0], [1, 3]),
            ([1e-9, 3e-9], [1, 3]), ([1e300, 2.5e300], [2, 5]), ([1.0, 1e-9], [10 ** 9, 1]),
            ([500 / 613, 500 / 387], [387, 613])):
        numbers, unit = whole_weights(np.array(given))
        assert numbers.tolist() == whole
        assert numbers * unit == pytest.approx(given, rel=1e-15)
    for given in ([1.0, 2 ** 0.5], [1.0, 1.0 + 1e-12], [1.0, 1e-17], np.sqrt(np.arange(1.0, 30.0))):
        assert whole_weights(np.array(given)) is None


def test_any_weights_of_classes_become_whole_numbers():
    """They are rounded down, by less than a unit; rows of one class that differ stay."""
    rng = np.random.default_rng(3)
    for n_classes in (2, 6, 40):
        y = np.append(rng.integers(0, n_classes, 500), np.arange(n_classes))
        weight = (10.0 ** rng.uniform(-2, 2, n_classes))[y] * 10.0 ** rng.integers(-200, 200)
        numbers, unit = rounded_weights(y, weight, n_classes)
        assert not (numbers % 1).any() and numbers.sum() < 2 ** 53
        for number, one in zip(numbers, weight, strict=True):
            assert 0 <= Fraction(one) / Fraction(unit) - int(number) < 1
        assert unit * 2 ** 52 <= 2 * weight.sum()
        other = np.where(np.arange(len(y)) == 7, 2.0, 1.0)
        assert rounded_weights(y, other * weight, n_classes) is None
    y = np.array([0, 1, 1, 2])
    for least in (1e-13, 1e-307):       # a class that would lose digits, or its weight
        weight = np.array([least, np.pi, np.e])[np.array([0, 1, 2])][y]
        assert rounded_weights(y, weight, 3) is None


@pytest.mark.parametrize("options", [
    {"class_weight": "balanced"}, {"objective": "balanced-accuracy"},
    {"class_weight": {0: np.pi, 1: 0.3, 2: 7 / 9, 3: 1e-5, 4: 3e4, 5: np.sqrt(3)}}])
def test_weights_of_six_classes_are_counted_and_cost_what_their_sums_do(options):
    rng = np.random.default_rng(12)
    for trial in range(20):
        n, sizes = int(rng.integers(20, 90)), [{}, {"min_samples_leaf": 3}, {"max_nodes": 2}]
        X, y = rng.integers(0, 2, (n, 4)), rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
        y[:6] = np.arange(6)
        model = MurTreeClassifier(2, **options, **sizes[trial % 3]).fit(X, y)
        each = compute_sample_weight(options.get("class_weight", "balanced"), y)
        each = each / each.sum() if "objective" in options else each
        best = best_tree_cost(X, y, each, 6, 2, model.max_nodes or 3, model.min_samples_leaf)
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(best, abs=1e-14 * each.sum())
        assert model.verify(X, y) == pytest.approx(best, rel=1e-12)


def test_weights_of_classes_that_add_up_to_others_keep_ties():
    """Rounded, they no longer add up; beside whole weights with the same ties."""
    for seed in range(12 * SCALE):
        rng = np.random.default_rng(seed + 70)
        X, y = rng.integers(0, 2, (40, 4)), rng.integers(0, 4, 40)
        a, b = rng.uniform(0.5, 2, 2)
        ties = dict(enumerate([a, b, a + b, 2 * a]))
        whole = np.array([1000003, i := round(1000003 * b / a), 1000003 + i, 2000006])[y]
        asked, plain = MurTreeClassifier(2, class_weight=ties), MurTreeClassifier(2)
        assert asked.optimal_trees(X, y).count == plain.optimal_trees(X, y, whole).count
        assert asked.good_trees(X, y, tolerance=a).count == \
            plain.good_trees(X, y, whole, tolerance=1000003).count
        fewest = [clone(model).set_params(search=MurTreeSearch(minimise_nodes=True)).fit(
            X, y, weight).tree_.n_splits for model, weight in ((asked, None), (plain, whole))]
        assert fewest[0] == fewest[1]


@pytest.mark.parametrize("options", [
    {"class_weight": "balanced"}, {"objective": "balanced-accuracy"},
    {"class_weight": {c: 2.0 ** 48 * (c + np.pi) for c in range(6)}}])
def test_rounding_weights_of_many_rows_shows_in_no_number(options):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (20_000, 16)).astype(np.uint8)
    y = rng.choice(6, len(X), p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03])
    model = MurTreeClassifier(2, **options).fit(X, y)
    exact, report = model.verify(X, y), model.report_
    assert report.objective == pytest.approx(exact, rel=1e-14)
    assert report.status == "optimal" and report.lower_bound <= exact
    each = compute_sample_weight(options.get("class_weight"), y)
    shares = np.bincount(y, each) / each.sum()
    assert model.tree_.value[0] / model.tree_.value[0].sum() == pytest.approx(shares, rel=1e-14)


@pytest.mark.parametrize("options", [
    {}, {"max_nodes": 2}, {"min_samples_leaf": 3}, {"split_penalty": 0.4}, {"max_leaf_nodes": 3},
    {"split_penalty": 0.4, "min_samples_leaf": 2}, {"split_penalty": [0.5, 0.2]}])
def test_multiples_of_a_number_cost_what_sums_of_weights_do(options):
    rng = np.random.default_rng(11)
    sizes = {name: value for name, value in options.items() if name != "split_penalty"}
    for trial in range(25):
        n_classes = int(rng.integers(2, 4))
        X, y = rng.integers(0, 2, (30, 5)), rng.integers(0, n_classes, 30)
        y[:n_classes] = np.arange(n_classes)
        per_class = trial % 2 == 0
        weight = rng.integers(1, 8, n_classes)[y] if per_class else rng.integers(1, 8, 30)
        weight = weight * rng.choice([1 / 7, 0.3, 1e-3, 12.0])
        penalty = options.get("split_penalty", 0.0) * np.ones(2) * weight.mean()
        model = MurTreeClassifier(2, split_penalty=penalty.tolist() if "split_penalty" in options
                                  else 0.0, **sizes).fit(X, y, weight)
        report = model.report_
        optimum = best_tree_cost(X, y, weight, n_classes, 2,
                                 sizes.get("max_nodes", sizes.get("max_leaf_nodes", 4) - 1),
                                 sizes.get("min_samples_leaf", 1), penalty)
        assert report.status == "optimal"
        assert report.objective == pytest.approx(optimum, rel=1e-12)
        assert report.lower_bound == pytest.approx(optimum, rel=1e-12)
        assert model.verify(X, y, weight) == pytest.approx(optimum, rel=1e-12)
        assert model.tree_.value[0] == pytest.approx(np.bincount(y, weight), rel=1e-12)
        if "split_penalty" not in options:
            path = model.path(X, y, weight)
            assert path[-1].objective == pytest.approx(optimum, rel=1e-12)


def test_small_weights_keep_their_path():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    y = X[:, 0] ^ X[:, 1]
    for scale in SCALES:
        weight = np.full(len(y), scale)
        model = MurTreeClassifier(2, search=MurTreeSearch(minimise_nodes=True)).fit(X, y, weight)
        assert (model.report_.objective, model.tree_.n_splits) == (0.0, 3)
        pieces = MurTreeClassifier(2).regularisation_path(X, y, weight)
        assert [piece.n_splits for piece in pieces] == [0, 3]
        assert pieces[1].high == pytest.approx(2 * scale)
        assert MurTreeClassifier(2).optimal_trees(X, y, weight).count == 2


@pytest.mark.parametrize("minimise", [False, True])
@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 2}, {"cache": None},
                                     {"start": "cart"}, {"objective": "balanced-accuracy"}])
def test_uneven_weights(options, minimise):
    rng = np.random.default_rng(5)
    for _ in range(20):
        X, y = rows(rng)
        weight = 10.0 ** rng.uniform(-12, 12, len(y))
        model = build(MurTreeClassifier, 3, minimise_nodes=minimise, **options).fit(X, y, weight)
        least, total = weight, weight.sum()
        if "objective" in options:
            least, total = weight / np.bincount(y, weight)[y] / 2, 1.0
        optimum = best_tree_cost(X, y, least, 2, 3, 7, options.get("min_samples_leaf", 1))
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(optimum, rel=0, abs=ROUNDING * total)
        model.verify(X, y, weight)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("uneven", ["weights", "targets", "both", "one heavy row"])
def test_uneven_regression(loss, uneven):
    rng = np.random.default_rng(7)
    for trial in range(30):
        X = rng.integers(0, 2, (10, 3)).astype(np.uint8)
        y, weight = rng.normal(size=10), rng.random(10)
        if uneven in ("weights", "both"):
            weight = 10.0 ** rng.uniform(-12, 12, len(y))
        if uneven in ("targets", "both"):
            y = y * 10.0 ** rng.uniform(-5, 5, len(y))
        if uneven == "one heavy row":
            weight[trial % 10] = 1e12
        model = build(MurTreeRegressor, 2, loss=loss, minimise_nodes=bool(trial % 2)).fit(X, y,
                                                                                          weight)
        absolute = loss == "absolute_error"
        optimum, root = (best_loss(X, y, weight, absolute, 2, nodes) for nodes in (3, 0))
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(optimum, rel=0, abs=PROOF * root)
        assert model.report_.lower_bound <= model.report_.objective
        model.verify(X, y, weight)


@pytest.mark.parametrize("factor", [1.0, 1e-6, 1e6])
def test_an_outlier_does_not_hide_the_other_rows(factor):
    X = [[-1, 0, 0, 1], [0, 0, -1, 0], [0, 0, -1, 0], [0, 0, -1, 0], [0, 0, -1, 1], [1, 0, 1, 1],
         [0, 0, -1, 1], [0, 0, -1, 1]]
    y = factor * np.array([1, 1e-4, 10, .01, 1, 1e4, 1, .1])
    least = MurTreeRegressor(3, binarizer="all").fit(X, y).report_
    model = build(MurTreeRegressor, 3, binarizer="all", minimise_nodes=True).fit(X, y)
    assert model.report_.status == "optimal"
    assert model.report_.objective == pytest.approx(67.13939934 * factor ** 2)
    assert model.report_.objective == pytest.approx(least.objective, rel=1e-9)
    assert model.report_.lower_bound <= model.report_.objective
    three = [[0, 3, .63], [0, 2, 2.46], [0, 2, .21]], factor * np.array([100, 1e-4, 1e-3])
    model = build(MurTreeRegressor, start="cart", minimise_nodes=True)
    assert model.fit(*three).report_.gap == 0


def test_a_mean_that_is_rounded_may_cost_a_little_more():
    y, weight = [1000000.9804037646, 1000000.9451390213], np.array([456558812188.2699, 664.6])
    model = MurTreeRegressor(0, binarizer="all").fit([[0], [1]], y, weight)
    noise = weight.sum() * (1e6 * np.finfo(float).eps) ** 2
    assert model.verify([[0], [1]], y, weight) == pytest.approx(model.report_.objective, abs=noise)
    with pytest.raises(ValueError, match="the tree scores"):
        model.verify([[0], [1]], [1000000.98, 1000000.4], weight)


def test_a_weight_that_others_round_to_nothing():
    y = 1e6 + np.array([-.0569120552, -.4019015763, .7766274046, .795746772, -.3459907813])
    weight = np.array([277770.3, 3027.9, 4333618726.1, 4e-7, 42282959008.0])
    X = [[2.0], [4.0], [1.0], [3.0], [0.0]]
    for nodes in (1, 2, 3):
        model = build(MurTreeRegressor, 2, binarizer="all", max_nodes=nodes).fit(X, y, weight)
        best = best_loss(np.array(X) <= [0, 1, 2, 3], y, weight, False, 2, nodes)
        assert model.report_.objective == pytest.approx(best, rel=1e-7, abs=1e-3)


def test_a_row_lighter_than_the_rounding_of_the_others():
    X = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 0, 0],
                  [0, 0, 0, 0], [1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 0, 1], [1, 1, 0, 0],
                  [1, 1, 0, 1], [0, 1, 0, 1]], np.uint8)
    y = np.array([.101430615, -1.06004339, .162298524, 1.04593616, -.052778672, -1.93320521,
                  1.7691844, .0828456278, 1.26059171, .352584044, 1.61345475, 1.74672689])
    weight = np.array([3.90871264e-8, 11.293608, 1268280.3, .0321380472, 70.2096602,
                       9.82307542e-12, 4704.83819, 588395.661, 7.42683585, .00170562376,
                       155109.585, 8036.18267])
    model = MurTreeRegressor(2, search=MurTreeSearch(minimise_nodes=True)).fit(X, y, weight)
    optimum, root = (best_loss(X, y, weight, False, 2, nodes) for nodes in (3, 0))
    assert model.report_.objective == pytest.approx(optimum, rel=0, abs=PROOF * root)
    model.verify(X, y, weight)
