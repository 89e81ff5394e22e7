"""Feasible sets: projections against slow references, algebra, messages."""

import copy
import pickle

import numpy as np
import pytest
from constrained import reference

from odtbook.published import paper_model
from odtlib.constrained import sets

RNG = np.random.default_rng(20240606)


def points(n, k, scale=1.0):
    """Random points with ties, zeros and values on and far beyond the bounds."""
    Y = RNG.normal(0, scale, (n, k))
    Y[::3] = np.round(Y[::3] / scale) * scale
    Y[1::5, 0] = 0.0
    Y[2::7] *= 100
    return Y


def metrics(k):
    return [np.ones(k), RNG.uniform(0.1, 5.0, k)]


def same_distance(got, expected, point, weights, relative=1e-9):
    found = (weights * (got - point) ** 2).sum()
    best = (weights * (expected - point) ** 2).sum()
    assert found == pytest.approx(best, rel=relative, abs=relative * max(1.0, best))


@pytest.mark.parametrize("count", [0, 1, 2, 4])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 2.0), (0.5, 2.0), (0.0, np.inf)])
def test_at_most_matches_every_support(count, bounds):
    feasible = sets.AtMostKNonzero(count, *bounds)
    for weights in metrics(4):
        for point in points(60, 4):
            got = feasible.project(point, weights)
            assert feasible.violation(got) == 0.0
            expected = reference.project_at_most(count, *bounds, point, weights)
            same_distance(got, expected, point, weights)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("integer", [False, True])
def test_simplexes_match_enumeration(count, integer):
    feasible = sets.SparseSimplex(count, 4.0, integer)
    for weights in metrics(4):
        for point in points(40, 4, 2.0):
            got = feasible.project(point, weights)
            assert feasible.contains(got, 1e-12)
            expected = reference.project_sparse_simplex(count, 4.0, integer, point, weights)
            same_distance(got, expected, point, weights)
            if count == 4 and not integer:
                np.testing.assert_allclose(sets.Simplex(4.0).project(point, weights), expected,
                                           atol=1e-9 * max(1.0, np.abs(point).max()))


def test_equations_match_the_normal_equations():
    for _ in range(30):
        A, b = RNG.normal(size=(2, 5)), RNG.normal(size=2)
        A = np.vstack([A, A[0] + A[1]])      # a dependent row
        b = np.append(b, b[0] + b[1])
        feasible = sets.Affine(A, b)
        for weights in metrics(5):
            point = RNG.normal(size=5) * 10
            expected = reference.project_on_rows(np.zeros((0, 5)), np.zeros(0), A, b, point,
                                                 weights)
            np.testing.assert_allclose(feasible.project(point, weights), expected, atol=1e-9)


def test_hierarchy_is_the_weighted_least_squares_fit_of_the_bottom_level():
    S = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4)])
    feasible = sets.Hierarchy(S)
    for weights in metrics(7):
        for point in points(20, 7):
            root = np.sqrt(weights)
            bottom = np.linalg.lstsq(S * root[:, None], root * point, rcond=None)[0]
            np.testing.assert_allclose(feasible.project(point, weights), S @ bottom,
                                       atol=1e-9 * max(1, np.abs(point).max()))


def random_polyhedron(k, n_rows, n_equal=0):
    """Rows that a random point satisfies, some parallel, some tight at it."""
    inside = RNG.normal(size=k)
    A = RNG.normal(size=(n_rows, k))
    if n_rows > 2:
        A[1] = A[0] + 1e-5 * RNG.normal(size=k)
        A[2] = np.round(A[2])
    slack = np.abs(RNG.normal(size=n_rows))
    slack[::2] = 0.0
    A_eq = RNG.normal(size=(n_equal, k))
    return A, A @ inside + slack, A_eq, A_eq @ inside


@pytest.mark.parametrize("k, n_rows, n_equal", [(1, 2, 0), (2, 4, 0), (3, 6, 0), (3, 4, 1),
                                                (4, 5, 2), (5, 7, 0)])
def test_polyhedra_match_every_active_set(k, n_rows, n_equal):
    for _ in range(12):
        A, b, A_eq, b_eq = random_polyhedron(k, n_rows, n_equal)
        feasible = sets.Polyhedron(A, b, A_eq, b_eq)
        for weights in metrics(k):
            for point in points(4, k, 3.0):
                got = feasible.project(point, weights)
                assert feasible.violation(got) <= 1e-9 * max(1.0, np.abs(point).max())
                expected = reference.project_on_rows(A, b, A_eq, b_eq, point, weights)
                if expected is not None:
                    same_distance(got, expected, point, weights, 1e-7)


def test_polyhedron_projection_satisfies_the_variational_inequality():
    """(point - nearest) makes no acute angle with any direction into the set: larger instances."""
    for _ in range(20):
        k = int(RNG.integers(5, 15))
        A, b, _, _ = random_polyhedron(k, 30)
        feasible = sets.Polyhedron(A, b, lower=-3.0, upper=3.0) if \
            sets.Piece.make(k, A, b, lower=-3.0, upper=3.0).is_empty() is False else None
        if feasible is None:
            continue
        inside = feasible.project(RNG.normal(size=(50, k)) * 3)
        assert feasible.contains(inside, 1e-9).all()
        for point in points(5, k, 5.0):
            nearest = feasible.project(point)
            gap = (inside - nearest) @ (point - nearest)
            assert gap.max() <= 1e-7 * max(1.0, np.abs(point).max()) ** 2


def mixed_binary(k=3, m=3):
    A, B = RNG.normal(size=(4, k)), RNG.normal(size=(4, m)) * 2
    return sets.MixedBinary(A, B, np.abs(RNG.normal(size=4)), lower=-5.0, upper=5.0)


COMBINED = [
    sets.AtMostKNonzero(2, 0, 100, n_targets=4),
    sets.AtMostKNonzero(2, 10, 100, n_targets=4),
    sets.SparseSimplex(2, 50.0, n_targets=3),
    sets.SparseSimplex(2, 7.0, integer=True, n_targets=3),
    sets.Indicator(0, 1, 1.0, 50.0),
    sets.Indicator(0, 1, 1.0, 50.0, n_targets=3) & sets.Box(0, 60, 3),
    paper_model("scores"),
    paper_model("scores", "printed"),
    sets.UnionOf([sets.Simplex(3.0, 3), sets.Box(50, 60, 3)]),
    sets.AtMostKNonzero(2, 0, 50, n_targets=3) & sets.Polyhedron([[1, 1, 1]], [60]),
    sets.Hierarchy([[1, 1], [1, 0], [0, 1]], nonnegative=True),
    mixed_binary(),
]


@pytest.mark.parametrize("feasible", COMBINED, ids=lambda s: type(s).__name__)
def test_projections_match_scip(feasible):
    k = feasible.n_targets
    for i, point in enumerate(RNG.normal(30, 40, (5, k))):
        weights = metrics(k)[i % 2]
        got = feasible.project(point, weights)
        assert feasible.contains(got, 1e-9)
        expected = reference.project_by_scip(feasible, point, weights)
        same_distance(got, expected, point, weights, 2e-6)


def test_many_random_mixed_binary_sets_never_project_outside():
    for _ in range(40):
        k, m = int(RNG.integers(1, 5)), int(RNG.integers(1, 5))
        feasible = mixed_binary(k, m)
        Y = RNG.normal(0, 10, (50, k))
        got = feasible.project(Y)
        assert feasible.contains(got, 1e-9).all()
        again = feasible.project(got)
        np.testing.assert_allclose(again, got, atol=1e-8)
        one_by_one = [min((sets.UnionOf([sets.Polyhedron(p.rows, p.rhs, lower=p.lower,
                                                         upper=p.upper)]).project(y)
                           if len(p.rhs) else np.clip(y, p.lower, p.upper)
                           for p in feasible.pieces(k)),
                          key=lambda z: ((z - y) ** 2).sum()) for y in Y[:5]]
        for y, a, b in zip(Y, got, one_by_one, strict=False):
            same_distance(a, b, y, np.ones(k))


def test_the_closed_form_of_scores_equals_its_pieces():
    """Three pieces, as worked out by hand: no maths and no writing, no maths, everything."""
    feasible = paper_model("scores")
    by_hand = sets.UnionOf([
        sets.Box([0, 0, 0], [0, 100, 0]),
        sets.Box([0, 50, 0], [0, 100, 100]),
        sets.Polyhedron([[0, -1, -1]], [-110], lower=[0, 50, 0], upper=100.0)])
    assert len(feasible.pieces(3)) == 3
    for point in RNG.uniform(-20, 120, (200, 3)):
        same_distance(feasible.project(point), by_hand.project(point), point, np.ones(3))


def test_sets_of_too_many_pieces_are_refused_and_can_be_projected_on_by_the_user():
    n = 13
    A = np.vstack([np.eye(n), np.zeros(n)])
    B = np.vstack([-5.0 * np.eye(n), np.ones(n)])
    with pytest.raises(ValueError, match=r"13 binaries have more than 4096 .* sets\.Custom"):
        sets.MixedBinary(A, B, np.append(np.zeros(n), 2.0), lower=0.0)
    many = sets.AtMostKNonzero(6, 0, 1, n_targets=16) & sets.Polyhedron([np.ones(16)], [3])
    whole = sets.SparseSimplex(2, 7, integer=True, n_targets=3) & sets.Box(0, 4, 3)
    for feasible in (many, whole):
        with pytest.raises(ValueError, match=r"no union of at most 4096 .* sets\.Custom"):
            feasible.project(np.zeros(feasible.n_targets))
    point = RNG.uniform(0, 1, 16)
    by_scip = sets.Custom(lambda y, w: reference.project_by_scip(many, y, w), n_targets=16)
    assert by_scip.project(point).sum() <= 3 + 1e-6
    assert np.count_nonzero(by_scip.project(point) > 1e-6) <= 6


def test_custom_sets():
    ball = sets.Custom(lambda y, w: y / max(1.0, np.linalg.norm(y)), n_targets=2, name="unit ball")
    np.testing.assert_allclose(ball.project([[3.0, 4.0], [0.1, 0.2]]), [[0.6, 0.8], [0.1, 0.2]])
    assert ball.contains([0.5, 0.5]) and not ball.contains([1.0, 1.0])
    assert ball.violation([0.5, 0.5]) == 0.0
    with pytest.raises(ValueError, match="must return 2 finite numbers"):
        sets.Custom(lambda y, w: y[:1]).project([1.0, 2.0])


@pytest.mark.parametrize("make, message", [
    (lambda: sets.Box(2, 1), "empty"),
    (lambda: sets.Box([0, 1], [1, 2, 3]), "2 entries for 3|3 entries for 2"),
    (lambda: sets.Box(np.nan, 1), "lower must be a number"),
    (lambda: sets.Box(0, 1, 3) & sets.Box(2, 3, 3), "empty"),
    (lambda: sets.Polyhedron([[1, 0], [-1, 0]], [0, -1]), "empty"),
    (lambda: sets.Polyhedron([[1, 1], [-1, -1], [1, -1]], [0, -1, 0]), "empty"),
    (lambda: sets.Affine([[1, 1], [1, 1]], [0, 1]), "contradict"),
    (lambda: sets.Simplex(-1), "total"),
    (lambda: sets.SparseSimplex(2, 1.5, integer=True), "empty"),
    (lambda: sets.AtMostKNonzero(1.5), "whole number"),
    (lambda: sets.MixedBinary([[1.0], [-1.0]], [[1.0], [1.0]], [-1.0, -1.0]), "empty"),
    (lambda: sets.MixedBinary([[1.0]], [[1.0], [2.0]], [1.0]), "one row"),
    (lambda: sets.SparseSimplex(2, "a"), "total"),
    (lambda: sets.Indicator(0, 0), "two different"),
    (lambda: sets.Indicator(0.5, 1), "two different"),
    (lambda: sets.Implication(({0: 1.0}, 1.0), [1.5], 3), "name targets"),
    (lambda: sets.Implication(({0.5: 1.0}, 1.0), [1], 3), "name targets"),
    (lambda: sets.Implication(({5: 1.0}, 1.0), [0], 3), "name targets"),
    (lambda: sets.UnionOf([]), "non-empty"),
    (lambda: sets.Simplex(1, 3) & sets.Box(0, 1, 2), "different numbers"),
    (lambda: sets.Box(0, 1, 3) & sets.Box(0, 1, 2), "different numbers"),
    (lambda: sets.Box([0, 0]) & sets.Box([0, 0, 0]), "different numbers"),
    (lambda: sets.AtMostKNonzero(1, n_targets=3) & sets.Polyhedron([[-1, -1, -1]], [-3])
     & sets.Box(0, 1, 3), "empty"),
    (lambda: sets.Box(0, 1, 2).project([1.0, 2.0, 3.0]), "set for 2 targets"),
    (lambda: sets.Box(0, 1).project([np.nan, 2.0]), "NaN"),
    (lambda: sets.Box(0, 1).project([1.0, 2.0], [1.0, 0.0]), "positive"),
    (lambda: paper_model("grades"), "'class', 'scores' or 'cars'"),
])
def test_bad_input_gets_a_clear_message(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("feasible, bad, clause", [
    (sets.Box(0, 1), [0.0, 3.0], "target 1 is 3"),
    (sets.AtMostKNonzero(1, 0, 100), [4.0, 5.0], "2 targets are nonzero"),
    (sets.AtMostKNonzero(1, 0, 100), [0.0, 500.0], "target 1 is 500"),
    (sets.Simplex(1.0), [1.0, 2.0], "sum to 3"),
    (sets.SparseSimplex(1, 1.0), [0.5, 0.5], "2 targets"),
    (sets.Affine([[1, -1]], 0.0), [1.0, 2.0], "equation 0"),
    (sets.Polyhedron([[1, 1]], [1.0]), [1.0, 2.0], "inequality 0"),
    (sets.Indicator(0, 1), [0.0, 7.0], "flag 0"),
    (paper_model("scores"), [60.0, 40.0, 80.0], "target 2 is 80, not 0"),
    (sets.UnionOf([sets.Box(0, 1), sets.Box(5, 6)]), [2.0, 2.0], "none of 2"),
    (sets.Hierarchy([[1, 1], [1, 0], [0, 1]]), [3.0, 1.0, 1.0], "totals differ"),
])
def test_violations_are_explained(feasible, bad, clause):
    assert not feasible.contains(bad) and feasible.violation(bad) > 0
    assert clause in feasible.explain(bad)
    assert feasible.explain(feasible.project(bad)) == ""


@pytest.mark.parametrize("feasible", COMBINED, ids=lambda s: type(s).__name__)
def test_sets_print_copy_and_pickle(feasible):
    k = feasible.n_targets
    point = RNG.normal(30, 40, k)
    assert repr(feasible).endswith(")")
    assert repr(eval(repr(feasible), {**vars(sets), "inf": np.inf})) == repr(feasible)
    for other in (pickle.loads(pickle.dumps(feasible)), copy.deepcopy(feasible)):
        np.testing.assert_array_equal(other.project(point), feasible.project(point))


def test_distance_is_one_lipschitz():
    for feasible in COMBINED:
        Y = RNG.normal(30, 40, (40, feasible.n_targets))
        d = feasible.distance(Y)
        steps = np.linalg.norm(Y[1:] - Y[:-1], axis=1)
        assert np.all(np.abs(np.diff(d)) <= steps + 1e-7)
