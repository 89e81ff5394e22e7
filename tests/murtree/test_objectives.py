"""Additive objectives: each against brute force, a reader's own, and what a cost must satisfy."""

from functools import partial

import numpy as np
import pytest
from numba import njit

from odtlib import MurTreeClassifier, MurTreeRegressor, MurTreeSearch, SurvivalTree
from odtlib.murtree.objectives.additive import FittedObjective
from odtlib.objectives import AdditiveObjective, LinearLeaves, SquaredError, log_ratio
from tests import naive
from tests.scale import SCALE

CASES = 15 * SCALE


def counts(rng, n):
    return rng.poisson(rng.choice([0.3, 2.0, 40.0]), n).astype(float)


def labels(rng, n):
    return rng.integers(0, rng.integers(2, 4), n)


def known(rng, n):
    """Return times, some of them equal, of events and of censoring; at least one event."""
    y = np.zeros(n, [("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(n) < 0.6, rng.integers(1, 6, n)
    y["event"][0] = True
    return y


# Name: what fits it, how targets are drawn, and what each set of rows costs as a leaf.
OBJECTIVES = {
    "squared error": (MurTreeRegressor, {}, lambda rng, n: rng.normal(size=n), naive.square_leaves),
    "two targets": (MurTreeRegressor, {"loss": SquaredError()},
                    lambda rng, n: rng.normal(size=(n, 2)) * [1.0, 30.0], naive.square_leaves),
    "poisson": (MurTreeRegressor, {"loss": "poisson"}, counts,
                lambda y, weight: naive.poisson_leaves(y, weight, np.ones(len(y)))),
    "entropy": (MurTreeClassifier, {"objective": "entropy"}, labels, naive.entropy_leaves),
    "gini": (MurTreeClassifier, {"objective": "gini"}, labels, naive.gini_leaves),
    "survival": (SurvivalTree, {}, known, lambda y, weight: naive.survival_leaves(
        y["event"], y["time"], weight)),
    "a line": (MurTreeRegressor, {"loss": LinearLeaves([1], 0.1), "binarizer": "all"},
               lambda rng, n: rng.normal(size=n),
               partial(naive.line_leaves, features=[1], alpha=0.1)),
    "a plane": (MurTreeRegressor, {"loss": LinearLeaves([0, 1], 0.02), "binarizer": "all"},
                lambda rng, n: rng.normal(size=n),
                partial(naive.line_leaves, features=[0, 1], alpha=0.02)),
    "the best line": (MurTreeRegressor, {"loss": LinearLeaves([0, 1], single=True),
                                         "binarizer": "all"}, lambda rng, n: rng.normal(size=n),
                      lambda X, y, weight: np.minimum(*(
                          naive.line_leaves(X, y, weight, [j], 0.0) for j in (0, 1)))),
}


# Three objectives of a reader, each below fifteen lines ------------------------------------------


class Stock(AdditiveObjective):
    """Asymmetric squared loss of an order: too little costs ``factor`` times as much as too much.

    The best order of a leaf is not a sum, so the orders come from a grid: a number for each.
    """

    def __init__(self, orders, factor=3.0):
        super().__init__()
        self.orders, self.factor = np.asarray(orders, float), factor

    def statistics(self, X, y, weight):
        missing = y[:, None] - self.orders
        return weight[:, None] * np.where(missing > 0, self.factor, 1.0) * missing ** 2

    @staticmethod
    def leaf_cost(sums):
        return sums.min()

    def leaf_value(self, sums):
        return self.orders[np.argmin(sums)]


def capped_statistics(X, y, weight):
    """Capped loss of a claim to be paid out or refused: what a refused one costs ends at 2."""
    return weight[:, None] * np.column_stack([np.minimum(np.abs(y), 2.0), np.ones(len(y))])


def capped_cost(sums):
    return min(sums[0], sums[1])


def capped_value(sums):
    return 0.0 if sums[0] <= sums[1] else 1.0


class QuantileGrid(AdditiveObjective):
    """Pinball loss at the best of some values; a row costs at most what its worst value does."""

    def __init__(self, level, values):
        super().__init__()
        self.level, self.values = level, np.asarray(values, float)

    def statistics(self, X, y, weight):
        above = y[:, None] - self.values
        return weight[:, None] * np.maximum(self.level * above, (self.level - 1) * above)

    @staticmethod
    def leaf_cost(sums):
        return np.min(sums)

    def leaf_value(self, sums):
        return self.values[np.argmin(sums)]

    @staticmethod
    def row_bound(row, low, high):
        return np.max(row)


GRID = np.linspace(-2, 2, 5)
CAPPED = AdditiveObjective(capped_statistics, capped_cost, capped_value)
OWN = {"stock": (Stock(GRID), lambda y: Stock(GRID).statistics(None, y, np.ones(len(y)))),
       "capped": (CAPPED, lambda y: capped_statistics(None, y, np.ones(len(y)))),
       "quantile": (QuantileGrid(0.8, GRID),
                    lambda y: QuantileGrid(0.8, GRID).statistics(None, y, np.ones(len(y))))}
OBJECTIVES.update({
    name: (MurTreeRegressor, {"loss": objective}, lambda rng, n: 2 * rng.normal(size=n),
           lambda y, weight, numbers=numbers: naive.least_of_sums(
               weight[:, None] * numbers(y)))
    for name, (objective, numbers) in OWN.items()})


def limits(rng):
    """Return depth, node budget, minimum leaf size, price of a split, and options of the search."""
    depth = int(rng.integers(1, 5))
    return (depth, int(rng.integers(0, min(2 ** depth, 8))), int(rng.choice([1, 1, 1, 2, 3])),
            float(rng.choice([0.0, 0.0, 0.01, 0.1])), MurTreeSearch(
                similarity_bound=bool(rng.integers(2)), minimise_nodes=bool(rng.integers(2)),
                cache=[None, "dataset", "branch"][rng.integers(3)],
                specialised_depth_two=bool(rng.random() < 0.8)))


def columns(rng, n_rows):
    """Return 0/1 columns with equal and complementary ones among them."""
    X = (rng.random((n_rows, int(rng.integers(1, 6)))) < rng.choice([0.2, 0.5, 0.9]))
    if X.shape[1] > 1 and rng.random() < 0.3:
        X[:, 1] = ~X[:, 0]
    return X.astype(np.uint8)


def weights(rng, n_rows):
    return [None, rng.integers(1, 4, n_rows).astype(float), 10.0 ** rng.uniform(-3, 3, n_rows)][
        rng.integers(3)]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_optimum_equals_brute_force(name):
    estimator, options, draw, leaves = OBJECTIVES[name]
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(1, 9))
        X, y, weight = columns(rng, n_rows), draw(rng, n_rows), weights(rng, n_rows)
        given = np.ones(n_rows) if weight is None else weight
        if "binarizer" in options:               # two regressors, to be split too
            X = np.column_stack([rng.integers(0, 3, n_rows), rng.normal(size=n_rows).round(1), X])
        leaf = leaves(y, given) if "binarizer" not in options else leaves(X, y, given)
        leaf = np.maximum(leaf.astype(float), 0.0)
        whole = float(leaf[-1])
        depth, nodes, min_leaf, price, search = limits(rng)
        expected = naive.least_costs(leaf, naive.sides(X, missing=False), n_rows, depth, [nodes],
                                     min_leaf, price * whole)[0]
        model = estimator(depth, nodes, min_samples_leaf=min_leaf, split_penalty=price * whole,
                          search=search, **options).fit(X, y, weight)
        report = model.report_
        assert report.status == "optimal"
        assert report.objective == pytest.approx(
            expected, rel=1e-9, abs=1e-10 * whole + 1e-12 * given.sum())
        assert model.verify(X, y, weight) == pytest.approx(
            report.objective, abs=1e-9 * whole + 1e-12 * given.sum())
        assert model.tree_.n_splits <= nodes and model.tree_.depth <= depth
        assert min_leaf == 1 or model.tree_.n_splits == 0 or min_leaf <= np.unique(
            model.apply(X), return_counts=True)[1].min()


@pytest.mark.parametrize("objective", ["entropy", "gini"])
@pytest.mark.parametrize("seed", range(40 * SCALE))
def test_a_light_class_beside_heavy_rows_keeps_its_cost(objective, seed):
    """Differences of what heavy rows cost left rounding: other optima, and an error of ours."""
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 2, (12, 4)), (random.random(12) < 0.3).astype(int)
    y[:2] = 0, 1
    weight = 10.0 ** random.uniform(-8, 8, 12)

    def leaf(rows):
        light, heavy = sorted(weight[rows] @ np.eye(2)[y[rows]] if len(rows) else (0, 0))
        if light == 0:
            return 0.0
        if objective == "gini":
            return 2 * light * heavy / (light + heavy)
        return light * np.log(1 + heavy / light) + heavy * np.log1p(light / heavy)

    model = MurTreeClassifier(3, objective=objective).fit(X, y, weight)
    assert model.report_.status == "optimal"
    assert model.report_.objective == pytest.approx(naive.best_cost(X, leaf, 3), rel=1e-9,
                                                    abs=1e-9 * leaf(np.arange(12)))


@pytest.mark.parametrize("seed", range(60))
def test_counts_beside_very_uneven_weights_are_fitted_within_rounding(seed):
    """A nearly constant rate once ended in an error of ours: logarithms leave rounding."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (12, 3))
    y = np.where(random.random(12) < 0.8, 3.0, random.integers(0, 3))
    weight = 10.0 ** random.uniform(-5, 4, 12)
    rounding = 1e-14 * (weight * y).sum()

    def leaf(rows):
        w, counts = weight[rows], y[rows]
        rate = (w @ counts) / w.sum() if len(rows) else 0.0
        return sum(a * (c * np.log(c / rate) - c + rate if c else rate) for a, c in zip(w, counts))

    for start in (None, "cart"):
        model = MurTreeRegressor(3, loss="poisson", start=start).fit(X, y, weight)
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(naive.best_cost(X, leaf, 3), rel=1e-9,
                                                        abs=rounding)


def test_targets_of_two_columns_are_verified_where_a_leaf_predicts_one_number():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (40, 4))
    known = np.column_stack([random.random(40) < 0.6, random.integers(1, 9, 40)]).astype(float)
    model = SurvivalTree(2).fit(X, known)
    assert model.verify(X, known) == pytest.approx(model.report_.objective)
    mine = AdditiveObjective(lambda X, y, w: np.column_stack([w * y[:, 0], w * y[:, 1]]),
                             least_of_two, lambda sums: sums[1])
    model = MurTreeRegressor(2, loss=mine).fit(X, known)
    assert model.verify(X, known) == pytest.approx(model.report_.objective)


def small_squares(X, y, weight):
    return np.column_stack([weight, weight * y, weight * y ** 2]), 3.5


def squares_about_the_mean(sums):
    return sums[2] - (sums[1] ** 2 / sums[0] if sums[0] > 0 else 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_what_every_tree_costs_may_take_the_digits_of_what_differs(seed):
    """It once ended in an error of ours, or not, by the last digit."""
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 2, (8, 3)), 1e-8 * random.normal(size=8)
    mine = AdditiveObjective(small_squares, squares_about_the_mean, lambda sums: sums[1])
    model = MurTreeRegressor(2, loss=mine)
    path = model.path(X, y)
    assert path[-1].optimal and path[-1].objective == pytest.approx(3.5, rel=1e-15)
    assert model.good_trees(X, y, tolerance=1.0).optimum == pytest.approx(3.5, rel=1e-15)


def least_of_two(sums):
    return min(sums[0], sums[1])


def test_the_compiled_logarithm_is_the_logarithm():
    @njit
    def compiled(a, b, result):
        for k in range(len(a)):
            result[k] = log_ratio(a[k], b[k])

    rng, n = np.random.default_rng(0), 20_000
    b = np.exp(rng.uniform(-30, 30, n))
    for a in (b * np.exp(rng.uniform(-0.5, 0.5, n)), np.exp(rng.uniform(-600, 600, n)),
              b * 2.0 ** rng.integers(-3, 4, n), b * np.nextafter(1.0, rng.choice([0.0, 2.0], n))):
        result, exact = np.empty(n), np.log(a.astype(np.longdouble) / b)
        compiled(a, b, result)
        error = np.abs(result - exact) / np.maximum(1, np.abs(exact))
        assert error.max() < 2 * np.finfo(float).eps
        assert [log_ratio(*pair) for pair in zip(a[:9], b[:9], strict=True)] == pytest.approx(
            result[:9], rel=1e-15, abs=1e-15)
    nothing = np.empty(3)
    compiled(np.zeros(3), np.array([1e-300, 1.0, 5.0]), nothing)
    assert np.isfinite(nothing).all() and log_ratio(0.0, 1.0) == 0.0


def test_a_line_through_nearly_all_rows_is_verified():
    """The squares that cancel out leave more rounding than a share of the small cost."""
    X = np.array([[1, -0.2, 0, 0], [2, 1.2, 0, 0], [2, 0.1, 0, 0]])
    rng = np.random.default_rng(657)
    n_rows = int(rng.integers(1, 9))
    columns(rng, n_rows)
    y, weight = rng.normal(size=n_rows), weights(rng, n_rows)
    model = MurTreeRegressor(1, 0, loss=LinearLeaves([0, 1], single=True), binarizer="all")
    report = model.fit(X, y, weight).report_
    rest = np.polynomial.Polynomial.fit(X[:, 0], y, 1, w=np.sqrt(weight))(X[:, 0]) - y
    assert report.objective == pytest.approx(weight @ rest ** 2, rel=1e-4)
    assert report.objective < 1e-6
    assert model.verify(X, y, weight) == pytest.approx(report.objective, rel=1e-4)


def test_rounding_is_of_what_cancels_out_and_steps_are_none():
    y = np.random.default_rng(0).normal(size=50)
    far, near = (FittedObjective(AdditiveObjective(
        lambda X, y, w: np.column_stack([w, w * y, w * y * y]), square_cost), None, values,
        None).scale for values in (y + 1e6, y))
    assert near == pytest.approx(((y - y.mean()) ** 2).sum()) and far > 1e3 * near
    steps = AdditiveObjective(lambda X, y, w: w[:, None], lambda s: np.floor(s[0]))
    for weight in (None, np.full(50, 0.5)):         # sums are exact, and a step ends at the whole
        assert FittedObjective(steps, None, y, weight).scale == (50 if weight is None else 25)


def test_a_step_at_the_sum_of_all_rows_does_not_loosen_the_conditions():
    half = np.full((40, 1), 0.5)
    for cost in (lambda s: np.ceil(s[0]), lambda s: 0.9 + np.floor(s[0])):
        mine = AdditiveObjective(lambda X, y, w: half, cost, lambda s: 0.0)
        with pytest.raises(ValueError, match="as much as its parts|sums of zero"):
            MurTreeRegressor(2, loss=mine).fit(half > 0, half[:, 0])


def test_sums_in_a_small_unit_do_not_loosen_the_conditions():
    """The slack was a share of the largest sum, and a number that no cost used counted there."""
    unit = np.full(40, 1e12)
    for cost in (lambda s: np.sqrt(s[1]), lambda s: np.sqrt(s[0] / 1e12), lambda s: -s[1]):
        mine = AdditiveObjective(lambda X, y, w: np.column_stack([unit, w]), cost, lambda s: 0.0)
        with pytest.raises(ValueError, match="as much as its parts|must not be negative"):
            MurTreeRegressor(2, loss=mine).fit(unit[:, None] > 0, unit)


def test_a_cost_that_is_not_finite_for_all_rows_together_is_refused():
    X = np.random.default_rng(0).integers(0, 2, (600, 3))
    for most in (100.0, 599.0):
        mine = AdditiveObjective(lambda X, y, w, most=most: np.column_stack([w, w * most]),
                                 partial_to_most, lambda s: 0.0)
        with pytest.raises(ValueError, match="must be finite for all sums of rows"):
            MurTreeRegressor(2, loss=mine).fit(X, X[:, 0])


def partial_to_most(sums):
    return sums[0] if sums[0] * sums[0] <= sums[1] else np.nan


def test_large_counts_that_hardly_differ_are_verified():
    """Their sums are exact, and the logarithm of their ratio is not."""
    X, y = [[1], [1]], [1000000002.0, 1000000004.0]
    model = MurTreeRegressor(1, loss="poisson").fit(X, y)
    assert model.verify(X, y) == pytest.approx(1e-9, abs=1e-14 * sum(y))


def test_the_entropy_of_a_share_close_to_one_is_verified():
    """One minus a small share once lost the digits of that in each heavy row."""
    X, y = [[0], [0], [1], [1]], [0, 1, 0, 1]
    weight = np.array([1e12, 1.0, 1.0, 1e11])
    model = MurTreeClassifier(1, objective="entropy").fit(X, y, weight)
    expected = sum(light * np.log(1 + heavy) + heavy * np.log1p(light / heavy)
                   for light, heavy in [(1.0, 1e12), (1.0, 1e11)])
    assert model.report_.objective == pytest.approx(expected, rel=1e-12)
    assert model.verify(X, y, weight) == pytest.approx(expected, rel=1e-12)


def narrow_square_cost(sums):
    weight, first, second = np.float32(sums[0]), np.float32(sums[1]), np.float32(sums[2])
    return second - first * first / max(weight, np.float32(1e-30))


def test_a_cost_in_float32_is_told_why_it_is_refused():
    """Numbers in float32 are exact once they are there, and costs of whole numbers may be."""
    X, y = np.arange(60)[:, None] % 4 == [0, 1, 2], np.arange(60) % 7 + 0.1

    def numbers(X, y, w):
        return np.column_stack([w, w * y, w * y * y])
    mine = AdditiveObjective(numbers, narrow_square_cost, lambda s: s[1] / s[0])
    with pytest.raises(ValueError, match=r"a cost must not be negative.* Its values are of float32"
                       "|at least as much as its parts.* Its values are of float32"):
        MurTreeRegressor(2, loss=mine).fit(X, y)
    wide = AdditiveObjective(lambda X, y, w: numbers(X, y, w).astype(np.float32), square_cost,
                             lambda s: s[1] / s[0])
    assert MurTreeRegressor(2, loss=wide).fit(X, y).report_.status == "optimal"
    with pytest.raises(ValueError, match="must not be negative") as refused:
        MurTreeRegressor(2, loss=AdditiveObjective(
            numbers, lambda s: -s[1], lambda s: 0.0)).fit(X, y)
    assert "float32" not in str(refused.value)


def square_cost(sums):
    return max(sums[2] - sums[1] * sums[1] / max(sums[0], 1e-300), 0.0)
