"""Slow, obvious references for the constrained package."""

import itertools

import numpy as np
import pytest

from odtlib.constrained import sets


def project_on_rows(A, b, A_eq, b_eq, point, weights):
    """Nearest point of a polyhedron: try every set of active rows, keep the best feasible one."""
    k = len(point)
    best, nearest = np.inf, None
    for size in range(min(k, len(A)) + 1):
        for active in itertools.combinations(range(len(A)), size):
            rows = np.vstack([A_eq, A[list(active)]])
            rhs = np.concatenate([b_eq, b[list(active)]])
            inverse = 1.0 / weights
            gram = (rows * inverse) @ rows.T
            multipliers = np.linalg.pinv(gram, rcond=1e-11) @ (rows @ point - rhs)
            y = point - inverse * (rows.T @ multipliers)
            feasible = np.all(A @ y <= b + 1e-8) and np.allclose(A_eq @ y, b_eq, atol=1e-8)
            if feasible and (weights * (y - point) ** 2).sum() < best - 1e-13:
                best, nearest = (weights * (y - point) ** 2).sum(), y
    return nearest


def project_at_most(count, lower, upper, point, weights):
    """Try every support."""
    options = []
    for size in range(count + 1):
        for support in itertools.combinations(range(len(point)), size):
            y = np.zeros(len(point))
            on = list(support)
            y[on] = np.clip(point[on], lower, upper)
            options.append(y)
    return min(options, key=lambda y: (weights * (y - point) ** 2).sum())


def project_sparse_simplex(count, total, integer, point, weights):
    """Try every support, and on each every active set (or every vector of whole numbers)."""
    k = len(point)
    best, nearest = np.inf, None
    for support in itertools.combinations(range(k), min(count, k)):
        if integer:
            options = [np.bincount(np.array(support)[list(units)], minlength=k).astype(float)
                       for units in itertools.combinations_with_replacement(
                           range(len(support)), int(total))]
        else:
            off = np.array([j not in support for j in range(k)])
            y = project_on_rows(-np.eye(k), np.zeros(k),
                                np.vstack([np.ones(k), np.eye(k)[off]]),
                                np.concatenate([[total], np.zeros(off.sum())]), point, weights)
            options = [y]
        for y in options:
            cost = (weights * (y - point) ** 2).sum()
            if cost < best - 1e-13:
                best, nearest = cost, y
    return nearest


def project_by_scip(feasible, point, weights):
    """Solve the projection as a mixed-integer program, as the paper does; exact to about 1e-3."""
    from ortools.math_opt.python import mathopt
    model = mathopt.Model()
    y = [model.add_variable() for _ in point]
    formulate(feasible, model, y)
    model.minimize_quadratic_objective(
        sum(w * (v - p) * (v - p) for v, p, w in zip(y, point, weights, strict=True)))
    parameters = mathopt.SolveParameters(relative_gap_tolerance=1e-9, absolute_gap_tolerance=1e-9)
    result = mathopt.solve(model, mathopt.SolverType.GSCIP, params=parameters)
    assert result.termination.reason == mathopt.TerminationReason.OPTIMAL
    return np.array(result.variable_values(y))


def formulate(feasible, model, y):
    """State a set with binaries, from its definition where it has one, else from its pieces."""
    if isinstance(feasible, sets.Intersection):
        for member in feasible.members:
            formulate(member, model, y)
    elif isinstance(feasible, sets.AtMostKNonzero):
        nonzero(model, y, feasible.max_nonzero, feasible.lower, feasible.upper)
    elif isinstance(feasible, sets.SparseSimplex):
        nonzero(model, y, feasible.max_nonzero, 0.0, feasible.total)
        model.add_linear_constraint(sum(y) == feasible.total)
        if feasible.integer:
            for v in y:
                unit = model.add_integer_variable(lb=0, ub=feasible.total)
                model.add_linear_constraint(v == unit)
    elif isinstance(feasible, sets.MixedBinary):
        z = [model.add_binary_variable() for _ in range(feasible.n_binaries)]
        for A, B, b, equal in ((feasible.A, feasible.B, feasible.b, False),
                               (feasible.A_eq, feasible.B_eq, feasible.b_eq, True)):
            for row, right in zip(np.hstack([A, B]), b, strict=True):
                left = total(row, y + z)
                model.add_linear_constraint(left == right if equal else left <= right)
        for v, low, high in zip(y, *(np.broadcast_to(x, len(y)) for x in
                                     (feasible.lower, feasible.upper)), strict=True):
            if np.isfinite(low):
                model.add_linear_constraint(v >= low)
            if np.isfinite(high):
                model.add_linear_constraint(v <= high)
    else:
        if not hasattr(model, "add_indicator_constraint"):
            pytest.skip("indicator constraints need a newer OR-Tools than the oldest for odtlib")
        pieces = feasible._pieces(len(y))
        flags = [model.add_binary_variable() for _ in pieces]
        model.add_linear_constraint(sum(flags) == 1)
        unit = np.eye(len(y))
        for piece, flag in zip(pieces, flags, strict=True):
            rows = np.vstack([piece.rows, piece.equal, -piece.equal, unit, -unit])
            rhs = np.concatenate([piece.rhs, piece.equal_rhs, -piece.equal_rhs, piece.upper,
                                  -piece.lower])
            for row, right in zip(rows[rhs < np.inf], rhs[rhs < np.inf], strict=True):
                model.add_indicator_constraint(
                    indicator=flag, implied_constraint=total(row, y) <= right)


def nonzero(model, y, count, lower, upper):
    """At most so many targets are not zero, and those are within finite bounds."""
    flags = [model.add_binary_variable() for _ in y]
    model.add_linear_constraint(sum(flags) <= count)
    for v, z, low, high in zip(y, flags, *(np.broadcast_to(b, len(y)) for b in (lower, upper)),
                               strict=True):
        model.add_linear_constraint(v <= high * z)
        model.add_linear_constraint(v >= low * z)


def total(row, variables):
    """A linear expression."""
    return sum(a * v for a, v in zip(row, variables, strict=True) if a != 0)


def squared_cost(feasible_set, Y, sample_weight=None, weights=None):
    """Squared error of the best feasible prediction for some rows."""
    w = np.ones(len(Y)) if sample_weight is None else sample_weight
    weights = np.ones(Y.shape[1]) if weights is None else weights
    mean = (w[:, None] * Y).sum(0) / w.sum()
    y = feasible_set.project(mean, weights)
    return float((w[:, None] * weights * (Y - y) ** 2).sum())


def splits(X, min_leaf=1):
    """Every split of the rows: feature, threshold (midpoint), mask of the left rows."""
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for a, b in itertools.pairwise(values):
            left = X[:, j] <= a
            if min_leaf <= left.sum() <= len(X) - min_leaf:
                yield j, a + (b - a) / 2, left


def absolute_cost(feasible_set, Y, sample_weight=None):
    """Least absolute error of a feasible prediction: one linear program a piece."""
    from scipy.optimize import linprog
    n, k = Y.shape
    w = np.ones(n) if sample_weight is None else sample_weight
    best = np.inf
    for p in feasible_set.pieces(k):
        # variables y (k), e (n k): e >= y - y_i, e >= y_i - y
        E = -np.eye(n * k)
        tile = np.tile(np.eye(k), (n, 1))
        A = np.vstack([np.hstack([tile, E]), np.hstack([-tile, E]),
                       np.hstack([p.rows, np.zeros((len(p.rhs), n * k))])])
        b = np.concatenate([Y.ravel(), -Y.ravel(), p.rhs])
        equal = np.hstack([p.equal, np.zeros((len(p.equal_rhs), n * k))])
        result = linprog(np.concatenate([np.zeros(k), np.repeat(w, k)]), A_ub=A, b_ub=b,
                         A_eq=equal if len(equal) else None,
                         b_eq=p.equal_rhs if len(equal) else None,
                         bounds=[*zip(p.lower, p.upper, strict=True)] + [(0, None)] * (n * k))
        if result.status == 0:
            best = min(best, result.fun)
    return best


def poisson_cost(feasible_set, Y, sample_weight=None):
    """Least half Poisson deviance of a feasible prediction, by a general solver on each piece."""
    from scipy.optimize import LinearConstraint, minimize
    n, k = Y.shape
    w = np.ones(n) if sample_weight is None else sample_weight
    s, total = w @ Y, w.sum()
    constant = w @ (np.where(Y > 0, Y * np.log(np.maximum(Y, 1e-300)), 0) - Y).sum(1)
    best = np.inf
    for p in feasible_set.pieces(k):
        low = np.maximum(p.lower, np.where(s > 0, 1e-6, 0.0))
        if np.any(low > p.upper):
            continue
        constraints = [LinearConstraint(p.rows, -np.inf, p.rhs)] if len(p.rhs) else []
        if len(p.equal_rhs):
            constraints.append(LinearConstraint(p.equal, p.equal_rhs, p.equal_rhs))
        def deviance(y, s=s, total=total):
            return (y - np.where(s > 0, s / total * np.log(np.maximum(y, 1e-12)), 0)).sum()

        # SLSQP often stops short without saying success: several starts, feasible ends count.
        for start in (s / total, np.full(k, s.sum() / total / k), np.ones(k), s / total + 5):
            y = np.clip(feasible_set.project(np.maximum(start, 0.01)), low, p.upper)
            for _ in range(3):
                y = minimize(deviance, y, bounds=[*zip(low, p.upper, strict=True)],
                             constraints=constraints, method="SLSQP",
                             options={"ftol": 1e-14, "maxiter": 500}).x
                y = np.clip(y, low, p.upper)
            if p.violation(y[None])[0] < 1e-7:
                best = min(best, total * deviance(y) + constant)
    return best


def medoid_cost(loss, Y, w):
    """Least loss of predicting one of the rows."""
    return min(loss.cost(Y, w, y) for y in Y)


def check_splits(tree, X, Y, w, cost, min_leaf, tolerance=1e-9, first=True):
    """Assert that every split of a tree is the best one for its rows (and the first of equals)."""
    path = tree.decision_path(X).toarray().astype(bool)
    for node in np.flatnonzero(tree.feature >= 0):
        rows = np.flatnonzero(path[:, node])
        options = [(cost(Y[rows[left]], w[rows[left]]) + cost(Y[rows[~left]], w[rows[~left]]),
                    j, t) for j, t, left in splits(X[rows], min_leaf)]
        values = np.array([o[0] for o in options])
        best = values.min()
        mine = [o for o in options if o[1] == tree.feature[node]
                and np.isclose(o[2], tree.threshold[node], rtol=1e-12, atol=0)]
        assert len(mine) == 1, "the threshold is not a midpoint"
        slack = tolerance * max(1.0, np.abs(values[np.isfinite(values)]).max())
        assert mine[0][0] <= best + slack
        if first:
            chosen = options.index(mine[0])
            assert not np.any(values[:chosen] < values[chosen] - slack)
            assert np.flatnonzero(values <= best + slack)[0] == chosen
