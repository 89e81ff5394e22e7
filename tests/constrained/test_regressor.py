"""Constrained trees: exact splits, every variant, the guarantee, and the scikit-learn contract."""

from fractions import Fraction

import numpy as np
import pytest
from constrained import reference
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from odtbook.published import paper_model
from odtlib.constrained import (
    ConstrainedTreeRegressor,
    OptimalConstrainedTreeRegressor,
    builder,
    sets,
)
from odtlib.constrained.builder import make_loss
from odtlib.report import Clock
from odtlib.tolerance import PROOF

RNG = np.random.default_rng(61)


def table(n=40, p=3, k=3, low=0.0, high=100.0):
    """Rows with ties, a constant feature, duplicate rows with different targets."""
    X = RNG.normal(size=(n, p))
    X[:, 0] = np.round(X[:, 0])
    X[:, -1] = 3.0
    X[n // 2:n // 2 + 3] = X[0]
    centre = RNG.uniform(low, high, (3, k))
    Y = centre[np.digitize(X[:, 1 % p], [-0.5, 0.5])] + RNG.normal(0, 0.2 * (high - low), (n, k))
    return X, np.clip(Y, low, high)


def ball(radius):
    def nearest(y, w):
        assert np.ptp(w) == 0
        return y * min(1.0, radius / max(np.linalg.norm(y), 1e-300))
    return sets.Custom(nearest, n_targets=3, name="ball")


SETS = {
    "free": sets.Box(),
    "box": sets.Box(20, [60, 50, 40]),
    "one": sets.AtMostKNonzero(1, 0, 90),
    "two of three": sets.AtMostKNonzero(2, 10, 80),
    "none": sets.AtMostKNonzero(0),
    "simplex": sets.Simplex(100.0),
    "sparse": sets.SparseSimplex(2, 100.0),
    "integer": sets.SparseSimplex(2, 100, integer=True),
    "plane": sets.Affine([[1, -1, 0]], 5.0),
    "hierarchy": sets.Hierarchy([[1, 1], [1, 0], [0, 1]]),
    "indicator": sets.Indicator(0, 1, 1, 80, n_targets=3),
    "scores": paper_model("scores"),
    "printed": paper_model("scores", "printed"),
    "polyhedron": sets.Polyhedron([[1, 1, 1], [-1, 2, 0]], [90, 10], lower=0),
    "ball": ball(60.0),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_exact_splits_equal_brute_force(name, weighted):
    feasible = SETS[name]
    for n in (2, 7, 40):
        X, Y = table(n) if n > 6 else (RNG.normal(size=(n, 2)), RNG.uniform(0, 100, (n, 3)))
        w = RNG.integers(1, 4, n).astype(float) if weighted else np.ones(n)
        model = ConstrainedTreeRegressor(feasible, split="exact", max_depth=3, min_samples_leaf=2,
                                         on_infeasible_targets="keep")
        model.fit(X, Y, w if weighted else None)
        reference.check_splits(model.tree_, X, Y, w,
                               lambda Y, w: reference.squared_cost(feasible, Y, w), 2)
        assert feasible.contains(model.predict(RNG.normal(size=(50, X.shape[1])) * 3)).all()
        assert model.verify(X, Y, w) == pytest.approx(model.report_.objective)


@pytest.mark.parametrize("name", ["one", "simplex", "scores", "polyhedron", "plane"])
def test_exact_splits_with_target_weights(name):
    X, Y = table()
    weights = np.array([1.0, 0.01, 4.0])
    feasible = SETS[name]
    model = ConstrainedTreeRegressor(feasible, split="exact", max_depth=3, target_weights=weights,
                                     on_infeasible_targets="keep").fit(X, Y)
    reference.check_splits(model.tree_, X, Y, np.ones(len(X)),
                           lambda Y, w: reference.squared_cost(feasible, Y, w, weights), 1)


@pytest.mark.parametrize("name", ["free", "box", "one", "scores", "polyhedron", "simplex"])
def test_exact_splits_for_absolute_error(name):
    feasible = SETS[name]
    X, Y = table(16)
    w = RNG.integers(1, 4, len(X)).astype(float)
    model = ConstrainedTreeRegressor(feasible, split="exact", criterion="absolute_error",
                                     max_depth=2, on_infeasible_targets="keep").fit(X, Y, w)
    if feasible.pieces(3) is not None:
        reference.check_splits(model.tree_, X, Y, w,
                               lambda Y, w: reference.absolute_cost(feasible, Y, w), 1, 1e-7)
    best = [reference.absolute_cost(feasible, Y[rows], w[rows]) for rows in
            (model.apply(X) == leaf for leaf in np.unique(model.apply(X)))]
    assert model.report_.objective == pytest.approx(sum(best), rel=1e-7)


@pytest.mark.parametrize("feasible", [sets.Box(), sets.Box(20, 60), sets.Simplex(100.0),
                                      sets.Polyhedron([[1, 1, 1]], [120], lower=1.0),
                                      sets.Affine([[1, -1, 0]], 0.0)],
                         ids=["free", "box", "simplex", "polyhedron", "plane"])
def test_exact_splits_for_poisson(feasible):
    X, Y = table(9)
    Y = np.round(Y)
    model = ConstrainedTreeRegressor(feasible, split="exact", criterion="poisson", max_depth=2,
                                     on_infeasible_targets="keep").fit(X, Y)
    reference.check_splits(model.tree_, X, Y, np.ones(len(X)),
                           lambda Y, w: reference.poisson_cost(feasible, Y, w), 1, 1e-5,
                           first=False)
    assert feasible.contains(model.predict(X)).all()


def test_poisson_leaves_satisfy_the_variational_inequality():
    from scipy.optimize import linprog
    for seed in range(60):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 6))
        centre = 10.0 ** rng.uniform(-1, 2, k)                 # a point that every row allows
        rows = rng.normal(size=(int(rng.integers(1, 4)), k)).round(2)
        equal = rng.normal(size=(int(rng.integers(0, 2)), k)).round(2)
        feasible = sets.Polyhedron(rows, rows @ centre + rng.uniform(0, 1, len(rows)), equal,
                                   equal @ centre, lower=0.0, upper=3 * centre.max())
        Y = rng.poisson(10.0 ** rng.uniform(-1, 3, k), (8, k)).astype(float)
        w = rng.integers(1, 4, 8).astype(float)
        y = make_loss("poisson", np.ones(k)).best(Y, w, feasible)
        mean = w @ Y / w.sum()
        assert feasible.contains(y[None]).all() and np.all(y[mean > 0] > 0), seed
        slope = 1 - np.divide(mean, y, out=np.zeros(k), where=mean > 0)
        piece, = feasible.pieces(k)
        floor = np.where(mean > 0, 1e-6 * max(1, abs(piece.rhs).max(initial=0)), 0)
        least = linprog(slope, piece.rows, piece.rhs, piece.equal if len(equal) else None,
                        piece.equal_rhs if len(equal) else None,
                        bounds=[*zip(np.maximum(piece.lower, floor), piece.upper, strict=True)])
        assert least.status == 0, seed
        assert least.fun - slope @ y > -1e-5 * max(1.0, mean.max()), seed


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_medoid_splits_and_leaves(criterion):
    X, Y = table(30)
    Y = np.round(Y) + 1
    loss = make_loss(criterion, np.ones(3))
    w = RNG.integers(1, 3, len(X)).astype(float)
    model = ConstrainedTreeRegressor(sets.Box(0, 200), split="medoid", leaf="medoid",
                                     criterion=criterion, max_depth=2).fit(X, Y, w)
    reference.check_splits(model.tree_, X, Y, w,
                           lambda Y, w: reference.medoid_cost(loss, Y, w), 1, 1e-9, first=False)
    rows = {tuple(y) for y in Y}
    assert all(tuple(y) in rows for y in model.predict(X))
    best = sum(reference.medoid_cost(loss, Y[m], w[m]) for m in
               (model.apply(X) == leaf for leaf in np.unique(model.apply(X))))
    assert model.report_.objective == pytest.approx(best)


def test_penalty_sweeps_from_the_mean_to_the_exact_prediction():
    """The least penalised cost is the Huber function of the distance, for any set."""
    X, Y = table(60)
    for name in ("one", "scores", "simplex"):
        feasible = SETS[name]
        options = dict(max_depth=3, on_infeasible_targets="keep")

        def fit(feasible=feasible, options=options, **changes):
            return ConstrainedTreeRegressor(feasible, **options, **changes).fit(X, Y)

        mean, exact = fit(split="mean", leaf="mean"), fit(split="exact", leaf="project")
        none = fit(split="penalty", leaf="penalty", penalty_strength=0.0)
        full = fit(split="penalty", leaf="penalty", penalty_strength=1e4)
        for a, b in ((mean, none), (exact, full)):
            np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
            np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-9)
        last = np.inf
        for strength in (1.0, 10.0, 30.0, 100.0):
            one = fit(split="mean", leaf="penalty", penalty_strength=strength)
            away = feasible.distance(one.predict(X)).sum()
            assert away <= last + 1e-9
            last = away

            def cost(Y, w, strength=strength, feasible=feasible):
                d = feasible.distance(Y.mean(0))
                grid = np.linspace(0, d, 2001)   # distance moved towards the set
                return ((Y - Y.mean(0)) ** 2).sum() + len(Y) * (grid**2 + strength * (d - grid)
                                                                ).min()
            model = fit(split="penalty", leaf="project", penalty_strength=strength)
            reference.check_splits(model.tree_, X, Y, np.ones(len(X)), cost, 1, 1e-5, first=False)


def test_mean_splits_are_those_of_cart():
    X, Y = RNG.normal(size=(300, 4)).astype(np.float32), RNG.normal(size=(300, 3))
    ours = ConstrainedTreeRegressor(max_depth=6, min_samples_leaf=3).fit(X, Y)
    theirs = DecisionTreeRegressor(max_depth=6, min_samples_leaf=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(ours.tree_.feature, np.maximum(theirs.tree_.feature, -1))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-12)


def test_lazy_search_projects_few_candidates():
    """At most 15 % of the candidates for sets with eight binaries."""
    rng = np.random.default_rng(3)
    n, k = 400, 4
    X = rng.normal(size=(n, 4))
    Y = np.clip(40 + 20 * X[:, :k] + rng.normal(0, 10, (n, k)), 0, 100)
    eye = np.eye(k)
    feasible = sets.MixedBinary(   # each target off, low or high; few binaries; a common budget
        np.vstack([eye, -eye, np.zeros((1, k)), np.ones((1, k))]),
        np.vstack([np.hstack([-50 * eye, -50 * eye]), np.hstack([10 * eye, 20 * eye]),
                   np.ones((1, 2 * k)), np.zeros((1, 2 * k))]),
        np.append(np.zeros(2 * k), [5.0, 150.0]))
    assert feasible.n_binaries == 8
    model = ConstrainedTreeRegressor(feasible, split="exact", max_depth=8, min_samples_leaf=5,
                                     on_infeasible_targets="keep").fit(X, Y)
    counters = model.report_.counters
    assert counters["children_evaluated"] <= 2 * 0.15 * counters["candidates"]
    reference.check_splits(ConstrainedTreeRegressor(
        feasible, split="exact", max_depth=1, on_infeasible_targets="keep").fit(X, Y).tree_,
        X, Y, np.ones(n), lambda Y, w: reference.squared_cost(feasible, Y, w), 1)


def random_set(k=3):
    """A set of a random kind with random numbers in it."""
    kind = int(RNG.integers(9))
    low = RNG.uniform(-20, 20, k)
    bounds = (low, low + RNG.uniform(0, 80, k))
    point = RNG.uniform(0, 60, k)
    A = RNG.normal(size=(4, k))
    plane = sets.Polyhedron(A, A @ point + RNG.uniform(0, 20, 4))
    if kind == 0:
        return sets.Box(*bounds)
    if kind == 1:
        return sets.AtMostKNonzero(int(RNG.integers(0, k + 1)), *bounds)
    if kind == 2:
        return sets.SparseSimplex(int(RNG.integers(1, k + 1)), int(RNG.integers(0, 100)),
                                  bool(RNG.integers(2)))
    if kind == 3:
        return sets.Affine(A[:2], A[:2] @ point)
    if kind == 4:
        return plane
    if kind == 5:
        return sets.UnionOf([plane, sets.Box(*bounds), sets.Simplex(50.0)])
    if kind == 6:
        return sets.MixedBinary(A, 30 * RNG.normal(size=(4, 3)), np.abs(A @ point), lower=-99,
                                upper=99)
    if kind == 7:
        return sets.AtMostKNonzero(2, 0, 100, n_targets=k) & sets.Polyhedron([np.ones(k)], [70.0])
    return sets.Hierarchy(RNG.integers(0, 2, (k, 2)) * RNG.uniform(0.1, 9, (k, 1)))


def test_no_infeasible_prediction_over_random_sets_data_and_queries():
    checked = 0
    for trial in range(1500):
        feasible = random_set()
        X, Y = table(int(RNG.integers(4, 30)), low=-20.0, high=120.0)
        model = ConstrainedTreeRegressor(
            feasible, split=["mean", "exact", "medoid", "penalty"][trial % 4],
            leaf=["project", "medoid"][(trial // 4) % 2], penalty_strength=20.0,
            max_depth=int(RNG.integers(0, 6)), on_infeasible_targets=["keep", "project"][trial % 2],
            random_state=trial, max_features=[None, 1][(trial // 8) % 2]).fit(X, Y)
        queries = RNG.normal(size=(20, X.shape[1])) * 10
        inside = feasible.contains(model.predict(queries))
        assert inside.all(), (feasible, model)
        checked += len(queries)
    assert checked == 30_000


def test_exact_splits_below_the_root_equal_brute_force_for_random_sets():
    """Deep trees: a node takes over its distance to the set from the split of its parent."""
    for _ in range(60):
        feasible, min_leaf = random_set(), int(RNG.integers(1, 4))
        X, Y = table(int(RNG.integers(12, 26)), low=-20.0, high=120.0)
        w = RNG.choice([0.25, 1.0, 7.0], len(X))
        model = ConstrainedTreeRegressor(
            feasible, split="exact", max_depth=5, min_samples_leaf=min_leaf,
            on_infeasible_targets="keep").fit(X, Y, w)
        reference.check_splits(model.tree_, X, Y, w,
                               lambda Y, w, feasible=feasible:
                               reference.squared_cost(feasible, Y, w), min_leaf, first=False)
        if isinstance(feasible, sets.MixedBinary):
            off = [np.max([*(p.lower - Y).T, *(Y - p.upper).T, *(p.rows @ Y.T - p.rhs[:, None])], 0)
                   for p in feasible._pieces(Y.shape[1])]
            np.testing.assert_allclose(feasible.violation(Y), np.maximum(0, np.min(off, 0)))


def test_a_set_projected_on_by_a_solver_grows_the_same_tree():
    k = 13
    few = sets.AtMostKNonzero(2, 0, 9)
    by_scip = sets.Custom(lambda y, w: reference.project_by_scip(few, y, w), n_targets=k)
    X, Y = RNG.normal(size=(12, 1)), RNG.uniform(0, 9, (12, k))
    options = dict(split="exact", max_depth=1, on_infeasible_targets="keep")
    slow = ConstrainedTreeRegressor(by_scip, tol=1e-2, **options).fit(X, Y)
    fast = ConstrainedTreeRegressor(few, **options).fit(X, Y)
    assert slow.tree_.threshold[0] == fast.tree_.threshold[0]
    np.testing.assert_allclose(slow.predict(X), fast.predict(X), atol=1e-2)


def test_targets_outside_the_set():
    X, Y = table(30)
    feasible = sets.AtMostKNonzero(1, 0, 100)
    Y = feasible.project(Y)
    model = ConstrainedTreeRegressor(feasible, max_depth=2).fit(X, Y)
    Y[4] = [50.0, 60.0, 0.0]
    Y[7] = [10.0, 10.0, 0.0]
    with pytest.raises(ValueError, match=r"2 of 30 .* worst is row 4: 2 targets are nonzero, at "
                                         r"most 1 may be"):
        model.fit(X, Y)
    projected = clone(model).set_params(on_infeasible_targets="project").fit(X, Y)
    by_hand = clone(model).set_params(on_infeasible_targets="raise").fit(X, feasible.project(Y))
    np.testing.assert_array_equal(projected.predict(X), by_hand.predict(X))
    assert projected.verify(X, Y) == pytest.approx(     # against the given targets
        projected.report_.objective, rel=1e-13)


def test_a_medoid_leaf_without_feasible_rows_is_projected():
    X, Y = np.arange(4.0).reshape(-1, 1), np.full((4, 2), 3.0)
    feasible = sets.AtMostKNonzero(1, 0, 10)
    model = ConstrainedTreeRegressor(feasible, leaf="medoid", on_infeasible_targets="keep")
    assert feasible.contains(model.fit(X, Y).predict(X)).all()


@pytest.mark.parametrize("options, message", [
    (dict(constraints=sets.AtMostKNonzero(1), criterion="poisson"), "forces targets to zero"),
    (dict(constraints=sets.Box(0, [5, 0, 5]), criterion="poisson"), "forces targets to zero"),
    (dict(constraints=sets.SparseSimplex(1, 5, integer=True), criterion="absolute_error"),
     "absolute error needs"),
    (dict(split="penalty", criterion="absolute_error"), "'penalty' needs"),
    (dict(constraints=sets.Box(0, 1, 2)), "set for 2 targets"),
    (dict(constraints="box"), "constraints"),
    (dict(criterion="poisson", target_weights="standardize"), "target_weights"),
    (dict(target_weights=[1.0, 2.0]), "3 positive numbers"),
])
def test_what_cannot_be_done_is_refused(options, message):
    X, Y = table()
    with pytest.raises(ValueError, match=message):
        ConstrainedTreeRegressor(**{"on_infeasible_targets": "keep", **options}).fit(X, Y)


@pytest.mark.parametrize("leaf", ["project", "medoid"])
def test_no_rate_is_negative_where_a_set_would_allow_it(leaf):
    """Counts of zero once were predicted as -1, whose deviance counted as a gain."""
    feasible = sets.UnionOf([sets.Box([-2, -9], [-1, 9]), sets.Box([1, -9], [2, 9])])
    Y = np.array([[0, 2], [0, 3], [0, 2], [1, 5], [2, 6], [1, 5]])
    model = ConstrainedTreeRegressor(feasible, criterion="poisson", split="exact", leaf=leaf,
                                     max_depth=1, on_infeasible_targets="keep")
    X = np.arange(6.0)[:, None]
    assert model.fit(X, Y).predict(X).min() == 1.0
    assert model.verify(X, Y) == pytest.approx(model.report_.objective)


def test_an_infinite_deviance_is_verified():
    """A medoid of counts may have a zero where others have none."""
    X, Y = np.zeros((2, 1)), np.eye(2)
    model = ConstrainedTreeRegressor(criterion="poisson", leaf="medoid").fit(X, Y)
    assert model.report_.objective == model.verify(X, Y) == np.inf
    with pytest.raises(ValueError, match="the tree scores 2 on these rows, the report says inf"):
        model.verify(X, np.zeros((2, 2)))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_the_first_of_equal_medoids_is_taken_in_any_unit_of_the_weights(criterion):
    rng = np.random.default_rng(0)
    for Y in rng.uniform(0.1, 3.0, (200, 2, 3)):
        for unit in (1.0, 3.0, 1e-9, 1e9):
            model = ConstrainedTreeRegressor(criterion=criterion, leaf="medoid", max_depth=0)
            predicted = model.fit(np.zeros((2, 1)), Y, np.full(2, unit)).predict([[0.0]])[0]
            if criterion == "poisson":      # the two differ, and by the weights alone they do not
                expected = Y[np.argmin((Y - Y.mean(axis=0) * np.log(Y)).sum(axis=1))]
                assert np.array_equal(predicted, expected)
            else:
                assert np.array_equal(predicted, Y[np.lexsort(Y.T[::-1])[0]])


def test_poisson_refuses_negative_targets():
    X, Y = table()
    Y[3, 1] = -1.0
    for options in {}, {"constraints": sets.Box(0.0), "on_infeasible_targets": "project"}:
        with pytest.raises(ValueError, match="row 3 has -1"):
            ConstrainedTreeRegressor(criterion="poisson", **options).fit(X, Y)


def test_pruning_minimises_loss_plus_price():
    X, Y = table(60)
    full = ConstrainedTreeRegressor(SETS["scores"], split="exact", max_depth=4,
                                    on_infeasible_targets="keep").fit(X, Y)
    for alpha in (1.0, 50.0, 1e6):
        pruned = clone(full).set_params(ccp_alpha=alpha).fit(X, Y)
        price = alpha * len(X) * Y.shape[1]
        value = pruned.report_.objective + price * pruned.tree_.n_leaves
        assert value <= full.report_.objective + price * full.tree_.n_leaves + 1e-6
        assert pruned.tree_.n_leaves <= full.tree_.n_leaves
    assert pruned.tree_.n_leaves == 1


@pytest.mark.parametrize("k", [1, 3])
def test_pruning_is_that_of_scikit_learn(k):
    X, Y = RNG.normal(size=(80, 3)), RNG.normal(size=(80, k))
    path = DecisionTreeRegressor(random_state=0, max_depth=5).cost_complexity_pruning_path(X, Y)
    for alpha in 0.5 * (path.ccp_alphas[1:] + path.ccp_alphas[:-1]):
        theirs = DecisionTreeRegressor(random_state=0, max_depth=5, ccp_alpha=alpha).fit(X, Y)
        ours = ConstrainedTreeRegressor(max_depth=5, ccp_alpha=alpha).fit(X, Y)
        assert ours.tree_.n_leaves == theirs.tree_.n_leaves
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)


def test_time_limit_and_determinism():
    X, Y = RNG.normal(size=(3000, 5)), np.abs(RNG.normal(size=(3000, 3)))
    slow = ConstrainedTreeRegressor(ball(1.0), split="exact", time_limit=0.3,
                                    on_infeasible_targets="keep").fit(X, Y)
    assert slow.report_.status == "time_limit" and slow.leaf_feasible_.all()
    a, b = (ConstrainedTreeRegressor(SETS["one"], split="exact", max_depth=5, max_features=2,
                                     random_state=7, on_infeasible_targets="keep").fit(X, Y)
            for _ in range(2))
    np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)


def test_one_dimensional_targets_and_grid_search():
    X, Y = table(60)
    model = ConstrainedTreeRegressor(sets.Box(0, 50), on_infeasible_targets="project", max_depth=3)
    assert model.fit(X, Y[:, 0]).predict(X).shape == (60,)
    search = GridSearchCV(model, {"max_depth": [1, 2], "split": ["mean", "exact"]}, cv=2)
    assert search.fit(X, Y).best_estimator_.tree_.depth <= 2


def test_standardised_targets_do_not_depend_on_units():
    X, Y = table(60)
    factors = np.array([1.0, 1e-4, 1e3])
    # the sets of this name for targets in other units
    scaled_sets = {
        "one": sets.AtMostKNonzero(1, 0, 90 * factors),
        "scores": (sets.Box(0, 100 * factors)
                   & sets.Implication(({1: 1 / factors[1]}, 50.0), [2], 3)
                   & sets.Implication(({1: 1 / factors[1], 2: 1 / factors[2]}, 110.0), [0], 3)),
        "polyhedron": sets.Polyhedron([[1, 1, 1], [-1, 2, 0]] / factors, [90, 10], lower=0)}
    for name, scaled_set in scaled_sets.items():
        options = dict(split="exact", max_depth=3, target_weights="standardize",
                       on_infeasible_targets="keep")
        plain = ConstrainedTreeRegressor(SETS[name], **options).fit(X, Y)
        scaled = ConstrainedTreeRegressor(scaled_set, **options).fit(X, Y * factors)
        np.testing.assert_allclose(plain.predict(X) * factors, scaled.predict(X), rtol=1e-6,
                                   atol=1e-9)


@parametrize_with_checks([
    ConstrainedTreeRegressor(sets.Box(-1e9, 1e9), split="exact", max_depth=3),
])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ weights of any size

def _exact_cost(name, Y, w):
    """Least cost of one prediction, in rational numbers."""
    total = sum(w)
    columns = list(zip(*Y, strict=True))
    mean = [sum(a * y for a, y in zip(w, column, strict=True)) / total for column in columns]
    squares = sum(a * (y - m) ** 2 for column, m in zip(columns, mean, strict=True)
                  for a, y in zip(w, column, strict=True))
    if name == "at most one":
        saved = [m**2 - (m - min(max(m, 0), 5)) ** 2 for m in mean]
        distance = sum(m**2 for m in mean) - max(0, *saved)
    elif name == "box":
        distance = sum((m - min(max(m, 0), 3)) ** 2 for m in mean)
    elif name == "half-plane":
        distance = Fraction(max(0, sum(mean) - 4)) ** 2 / len(mean)
    else:
        distance = 0
    return squares + total * distance


@pytest.mark.parametrize("name, feasible", [
    ("free", None), ("box", sets.Box(0, 3)), ("at most one", sets.AtMostKNonzero(1, 0, 5)),
    ("half-plane", sets.Polyhedron([[1, 1]], [4])),
])
@pytest.mark.parametrize("seed", range(30))
def test_splits_are_exact_for_weights_from_1e_minus_12_to_1e12(name, feasible, seed):
    """To a share of the root's cost, in which a heavy row that fits well has no part."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    X, Y = rng.integers(0, 5, (n, 2)).astype(float), rng.integers(0, 6, (n, 2)).astype(float)
    w = 10.0 ** rng.uniform(-12, 12, n)
    rows = [[Fraction(v) for v in y] for y in Y.tolist()]
    weights = [Fraction(v) for v in w.tolist()]

    def cost(*parts):
        return sum(_exact_cost(name, [rows[i] for i in np.flatnonzero(part)],
                               [weights[i] for i in np.flatnonzero(part)]) for part in parts)

    root = cost(np.ones(n, bool))
    best = min([root, *(cost(X[:, f] <= cut, X[:, f] > cut)
                        for f in range(2) for cut in np.unique(X[:, f])[:-1])])
    for model in (
            ConstrainedTreeRegressor(feasible, split="exact", max_depth=1,
                                     on_infeasible_targets="keep"),
            OptimalConstrainedTreeRegressor(feasible, max_depth=1, on_infeasible_targets="keep")):
        leaf = model.fit(X, Y, w).apply(X)
        found = cost(*(leaf == node for node in np.unique(leaf)))
        assert found - best <= PROOF * root
        assert abs(model.verify(X, Y, w) - found) <= PROOF * root


def test_a_weight_that_rounding_loses_is_no_division_by_zero():
    model = ConstrainedTreeRegressor(sets.AtMostKNonzero(1, 0, 5), split="exact",
                                     on_infeasible_targets="keep")
    assert model.fit([[0], [1]], [[1, 0], [0, 4]], [1e9, 1e-9]).report_.objective == 0.0


@pytest.mark.parametrize("depth", [10**9, None, np.int8(100)])
@pytest.mark.parametrize("feasible", [None, sets.Polyhedron([[1, 1]], [1])])
def test_depth_is_what_the_rows_can_reach(depth, feasible):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    fitted = [ConstrainedTreeRegressor(feasible, split="exact", max_depth=one,
                                       on_infeasible_targets="keep").fit(X, Y).tree_
              for one in (depth, 49)]
    np.testing.assert_array_equal(fitted[0].feature, fitted[1].feature)


def test_verify_names_lengths_that_differ():
    X, Y = np.arange(6.0).reshape(-1, 1), np.eye(6)
    model = ConstrainedTreeRegressor(max_depth=1).fit(X, Y)
    with pytest.raises(ValueError, match=r"y has shape \(3, 6\) and X has 6 rows"):
        model.verify(X, Y[:3])


@pytest.mark.parametrize("options", [
    {"split": "mean"}, {"constraints": sets.Simplex(1.0), "split": "exact"},
    {"constraints": sets.Box(0, 1), "split": "exact", "criterion": "absolute_error"},
])
def test_an_expired_clock_splits_the_node_in_work_and_no_other(options, monkeypatch):
    monkeypatch.setattr(Clock, "expired", True)
    monkeypatch.setattr(builder, "FIRST_SLICE", 1 / builder.AT_LEAST)
    rng = np.random.default_rng(0)
    model = ConstrainedTreeRegressor(time_limit=1, on_infeasible_targets="keep", **options)
    model.fit(rng.normal(size=(40, 3)), rng.normal(size=(40, 2)))
    assert model.report_.status == "time_limit" and model.tree_.n_leaves == 2


@pytest.mark.parametrize("max_features", [None, 2])
def test_growth_in_slices_gives_the_same_tree(max_features, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    model = ConstrainedTreeRegressor(sets.Simplex(1.0), split="exact", random_state=0,
                                     max_features=max_features, on_infeasible_targets="keep")
    whole = model.fit(X, Y).tree_
    monkeypatch.setattr(builder, "FIRST_SLICE", 1e-2)
    monkeypatch.setattr("odtlib.fit.LONGEST_SLICE", 1e-9)
    assert model.fit(X, Y).tree_ == whole
