"""What the paper reports: its data, its numbers, its lemma."""

import numpy as np
import pytest
from constrained import reference

from odtbook.datasets import constrained_generators as generators
from odtbook.datasets import load, manifest
from odtbook.datasets.tables import Table
from odtbook.published import paper_model
from odtbook.studies import constrained as study
from odtlib.constrained import ConstrainedTreeRegressor, make_loss, sets


@pytest.mark.parametrize("name", study.CLASS_SETS)
def test_the_class_generator_is_bit_identical_to_the_published_files(name):
    _, n, k = name.split("_")
    made = generators.grades(int(n), int(k))
    measured = manifest.measure(Table(made.X, made.y, made.feature_names, made.target_names))
    assert measured["sha256"] == manifest.facts()[name]["sha256"]   # of the published file
    assert paper_model("class").contains(made.y).all()


@pytest.mark.parametrize("name", ["scores", "scores_generated", "cars", "cars_full",
                                  "cars_generated", "hts_500_0", "hts_generated"])
def test_targets_satisfy_the_corrected_models(name, load_unshipped):
    data = load_unshipped(name)
    model = sets.SparseSimplex(4, 15, True) if name.startswith("hts") else \
        paper_model(name.partition("_")[0])
    assert model.contains(data.y).all()


@pytest.mark.parametrize("name", ["scores", "cars", "hts_500_0", "manifold_500_5_0"])
def test_stand_ins_have_the_form_of_the_published_sets(name):
    facts, made = manifest.facts()[name], load(f"{name.partition('_')[0]}_generated")
    assert (len(made.X), made.X.shape[1]) == (facts["rows"], facts["features"])
    assert list(made.feature_names) == facts["feature_names"]
    assert list(made.target_names) == facts["target_names"]
    assert "not the paper's data" in made.description
    assert (made.y.max(axis=0) > 0).all()


def test_our_generators_satisfy_their_sets():
    assert sets.SparseSimplex(4, 15, True).contains(generators.allocation().y).all()
    plane = sets.Affine(*generators.manifold_equations(7))
    assert plane.contains(generators.manifold(n_targets=7, noise=0.0).y).all()
    assert not plane.contains(generators.manifold(n_targets=7).y).any()
    for make in (generators.grades, generators.allocation, generators.manifold):
        np.testing.assert_array_equal(make(seed=3).y, make(seed=3).y)
        assert not np.array_equal(make(seed=3).y, make(seed=4).y)


@pytest.mark.parametrize("name, depths, mse, count", [
    ("class", [15], 1184.16, 130.93),
    ("scores", [3, 6, 9, 12, 15], 499.83, 17.04),
    ("cars", [3, 6, 9, 12, 15], 1.500151e7, None),
])
def test_the_published_scikit_learn_rows_are_reproduced_exactly(name, depths, mse, count,
                                                                   load_unshipped):
    if name != "class":
        load_unshipped(name)
    found = [study.compare_variants(member, depth, 1, ["S(A):L(A)"])["S(A):L(A)"]
             for member in (study.CLASS_SETS if name == "class" else [name]) for depth in depths]
    errors = [one["mse"] for one in found]
    counts = [one["infeasible"] for one in found]
    assert np.mean(errors) == pytest.approx(mse, rel=1e-5, abs=0.0051 if mse < 1e5 else 5)
    if count is not None:
        assert np.mean(counts) == pytest.approx(count, abs=0.0051)


def test_the_published_relaxation_row_is_the_mean_square_of_the_targets():
    """S(R):L(R) on class predicts zero: 1587.567371, and 2363.568, 1417.401, 1012.9999 (n=1000)."""
    by_file = {name: np.mean(study.compare_variants(name, 15, 1, ["S(R):L(R)"])["S(R):L(R)"]["mse"])
               for name in study.CLASS_SETS}
    squares = list(by_file.values())
    assert np.mean(squares) == pytest.approx(1587.567371, abs=1e-6)
    for name, value in (("class_1000_3", 2363.568), ("class_1000_5", 1417.401),
                        ("class_1000_7", 1012.9999)):
        assert by_file[name] == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("name", ["cars", "cars_generated"])
def test_on_cars_exact_splits_are_mean_splits(name, load_unshipped):
    """The projection of a node's mean is the mean: S(O) gains nothing over S(A) on cars."""
    data = load_unshipped(name)
    feasible = sets.AtMostKNonzero(1, 1.0, 110_000.0)   # the paper's model of the amount
    mean, exact = (ConstrainedTreeRegressor(feasible, split=split, max_depth=6,
                                            min_samples_leaf=5).fit(data.X, data.y[:, 1])
                   for split in ("mean", "exact"))
    np.testing.assert_array_equal(mean.tree_.feature, exact.tree_.feature)
    np.testing.assert_allclose(mean.predict(data.X), exact.predict(data.X), rtol=1e-9)


# ------------------------------------------------------------------ lemma 2.1

def test_lemma_part_one_the_mean_of_feasible_targets_is_feasible_for_convex_sets():
    rng = np.random.default_rng(0)
    convex = [sets.Simplex(1.0), sets.Affine([[1, 1, 1]], 2.0),
              sets.Polyhedron([[1, 2, 3]], [4], lower=0), sets.Box(0, [1, 2, 3])]
    for feasible in convex:
        for _ in range(50):
            Y = feasible.project(rng.normal(0, 3, (int(rng.integers(1, 9)), 3)))
            assert feasible.contains(Y.mean(axis=0), 1e-9)


def test_lemma_part_two_is_false():
    """Simplex, e1, e2, e3: the median is 0, of loss 3 and infeasible; the optimum is 4."""
    Y, simplex = np.eye(3), sets.Simplex(1.0)
    median = np.median(Y, axis=0)
    assert not median.any() and not simplex.contains(median)
    loss = make_loss("absolute_error", np.ones(3))
    one = np.ones(3)
    assert loss.cost(Y, one, median) == 3.0
    best = loss.best(Y, one, simplex)
    assert simplex.contains(best, 1e-9)
    assert loss.cost(Y, one, best) == pytest.approx(4.0)
    assert reference.absolute_cost(simplex, Y) == pytest.approx(4.0)
    plane = sets.Affine([[1, 1, 1]], 1.0)   # one equation is enough
    assert not plane.contains(median) and plane.contains(Y).all()


def test_what_remains_true_of_part_two():
    """Convex constraints on two targets each: the midpoint median of feasible rows is feasible."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        k = 4
        rows, rhs = [], []
        inside = rng.normal(size=k)
        for _ in range(6):
            i, j = rng.choice(k, 2, replace=False)
            row = np.zeros(k)
            row[[i, j]] = rng.normal(size=2)
            rows.append(row)
            rhs.append(row @ inside + abs(rng.normal()))
        feasible = sets.Polyhedron(np.array(rows), rhs)
        Y = feasible.project(rng.normal(0, 2, (int(rng.integers(1, 8)), k)))
        assert feasible.contains(np.median(Y, axis=0), 1e-9)


def test_projected_leaves_never_hurt_for_convex_sets_and_may_for_others():
    """P4: |P(m) - y| <= |m - y| for y in a convex set; up to twice for other sets."""
    rng = np.random.default_rng(2)
    convex, other = sets.Simplex(100.0), sets.AtMostKNonzero(1, 0, 100)
    for feasible, factor in ((convex, 1.0), (other, 2.0)):
        Y = feasible.project(rng.uniform(0, 100, (200, 3)))
        means = rng.uniform(0, 100, (200, 3))
        before = np.linalg.norm(means - Y, axis=1)
        after = np.linalg.norm(feasible.project(means) - Y, axis=1)
        assert np.all(after <= factor * before + 1e-9)
    assert np.any(after > 1.2 * before)
