"""Feasible sets of target vectors: state one, project on it, check against it.

Every node problem of an output-constrained tree is a projection, because

$$\\sum_i \\|y - y_i\\|^2 = n\\,\\|y - \\bar y\\|^2 + \\sum_i \\|\\bar y - y_i\\|^2 ,$$

so a set needs little: ``project``, ``contains`` and ``violation``.  Sets combine: ``a & b`` is the
intersection, ``set * factors`` rescales the targets, ``UnionOf([a, b])`` allows either.  Targets
are counted from zero.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import comb

import numpy as np

from odtlib.constrained import _mathopt, _projections

MAX_PIECES = 4096


@dataclass
class Piece:
    """One polyhedron: equations, inequalities ``rows y <= rhs``, and bounds.

    Parameters
    ----------
    equal, equal_rhs : array, shape (n_equal, n_targets) and (n_equal,)
        Equations.
    rows, rhs : array, shape (n_rows, n_targets) and (n_rows,)
        Inequalities.
    lower, upper : array, shape (n_targets,)
        Bounds; infinite where there is none.
    """

    equal: np.ndarray
    equal_rhs: np.ndarray
    rows: np.ndarray
    rhs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def make(cls, n_targets, rows=None, rhs=None, equal=None, equal_rhs=None, lower=-np.inf,
             upper=np.inf):
        """Fill in what is not given: no rows, no bounds."""
        def matrix(a):
            return np.zeros((0, n_targets)) if a is None else np.array(a, float, ndmin=2)

        def vector(a):
            return np.zeros(0) if a is None else np.array(a, float, ndmin=1)

        return cls(matrix(equal), vector(equal_rhs), matrix(rows), vector(rhs),
                   np.broadcast_to(np.array(lower, float), n_targets).copy(),
                   np.broadcast_to(np.array(upper, float), n_targets).copy())

    def __and__(self, other):
        return Piece(np.vstack([self.equal, other.equal]),
                     np.concatenate([self.equal_rhs, other.equal_rhs]),
                     np.vstack([self.rows, other.rows]), np.concatenate([self.rhs, other.rhs]),
                     np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))

    def scaled(self, factors):
        """The same polyhedron in targets multiplied by ``factors``."""
        return Piece(self.equal / factors, self.equal_rhs, self.rows / factors, self.rhs,
                     self.lower * factors, self.upper * factors)

    def violation(self, Y):
        """Largest violation of a constraint in each row of ``Y``."""
        worst = np.maximum(self.lower - Y, Y - self.upper).max(axis=1, initial=0.0)
        if len(self.rhs):
            worst = np.maximum(worst, (Y @ self.rows.T - self.rhs).max(axis=1))
        if len(self.equal_rhs):
            worst = np.maximum(worst, np.abs(Y @ self.equal.T - self.equal_rhs).max(axis=1))
        return np.maximum(worst, 0.0)

    def tightened(self):
        """Turn rows of one target into bounds and propagate bounds; None if that shows emptiness.

        Propagation is what makes a piece's bounds a good first test of how far away it is.
        """
        lower, upper = self.lower.copy(), self.upper.copy()
        both = np.vstack([self.rows, self.equal, -self.equal])
        limit = np.concatenate([self.rhs, self.equal_rhs, -self.equal_rhs])
        for _ in range(5):
            before = np.concatenate([lower, upper])
            for row, b in zip(both, limit, strict=True):
                used = np.flatnonzero(row)
                smallest = np.where(row[used] > 0, row[used] * lower[used], row[used] * upper[used])
                for t, j in enumerate(used):
                    slack = b - np.delete(smallest, t).sum()
                    if not np.isfinite(slack):
                        continue
                    if row[j] > 0:
                        upper[j] = min(upper[j], slack / row[j])
                    else:
                        lower[j] = max(lower[j], slack / row[j])
            if np.array_equal(before, np.concatenate([lower, upper])):
                break
        close = lower > upper
        if np.any(lower - upper > 1e-9 * np.maximum(1.0, np.abs(lower, where=close,
                                                              out=np.ones_like(lower)))):
            return None
        lower[close] = upper[close]
        single = np.count_nonzero(self.rows, axis=1) <= 1
        if np.any(self.rhs[~self.rows.any(axis=1)] < -1e-12):
            return None
        single_equal = np.count_nonzero(self.equal, axis=1) <= 1
        if np.any(np.abs(self.equal_rhs[~self.equal.any(axis=1)]) > 1e-12):
            return None
        return Piece(self.equal[~single_equal], self.equal_rhs[~single_equal], self.rows[~single],
                     self.rhs[~single], lower, upper)

    def is_box(self):
        """Whether only bounds are left."""
        return len(self.rhs) == 0 and len(self.equal_rhs) == 0

    def kernel_rows(self, weights):
        """Rows of length one over the scaled targets, equalities first, bounds as rows."""
        root = np.sqrt(weights)
        unit = np.eye(len(weights))
        fixed = self.lower == self.upper
        low = np.isfinite(self.lower) & ~fixed
        high = np.isfinite(self.upper) & ~fixed
        equal = np.vstack([unit[fixed], self.equal / root])
        equal_rhs = np.concatenate([(self.upper * root)[fixed], self.equal_rhs])
        rows = np.vstack([self.rows / root, unit[high], -unit[low]])
        rhs = np.concatenate([self.rhs, (self.upper * root)[high], -(self.lower * root)[low]])
        rows = np.vstack([equal, rows])
        rhs = np.concatenate([equal_rhs, rhs])
        length = np.linalg.norm(rows, axis=1)
        length[length == 0] = 1.0
        return (np.ascontiguousarray(rows / length[:, None]), rhs / length, len(equal_rhs))

    def is_empty(self):
        """Whether no point satisfies all rows, decided by a projection."""
        start = np.clip(np.zeros(len(self.lower)), self.lower, self.upper)
        rows, rhs, n_equal = self.kernel_rows(np.ones(len(start)))
        return _projections.polyhedron(rows, rhs, n_equal, start, np.inf,
                                       np.empty(len(start))) == np.inf


class FeasibleSet:
    """Base class of all feasible sets.

    A subclass defines ``_violation(Y)`` and either ``_pieces(n_targets)`` or ``_encode`` or
    ``_project_slowly``; everything else is here.

    Attributes
    ----------
    n_targets : int or None
        Number of targets, None where the set fits any number.
    signed_relaxation : tuple of three arrays, or None
        Coefficients, lower and upper bounds of the released code's penalty; only the models of
        the paper have it.
    """

    n_targets = None
    is_convex = True
    signed_relaxation = None

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_cache"}

    def __repr__(self):
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._shown().items())
        return f"{type(self).__name__}({arguments})"

    def _shown(self):
        return {name: value.tolist() if isinstance(value, np.ndarray) else value
                for name, value in self.__dict__.items() if not name.startswith("_")
                and name != "signed_relaxation"}

    def _latex(self):
        return rf"\text{{{type(self).__name__}}}"

    def _repr_latex_(self):
        return rf"$\left\{{y : {self._latex()}\right\}}$"

    def __and__(self, other):
        if not isinstance(other, FeasibleSet):
            return NotImplemented
        if isinstance(self, Box) and isinstance(other, Box):
            n = self.n_targets or other.n_targets
            return Box(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper), n)
        return Intersection([self, other])

    def __mul__(self, factors):
        return Scaled(self, factors)

    __rmul__ = __mul__

    def bind(self, n_targets):
        """Check that the set fits ``n_targets`` targets.

        Parameters
        ----------
        n_targets : int
            Number of targets of the data.

        Raises
        ------
        ValueError
            If the set is for another number.
        """
        if self.n_targets not in (None, n_targets):
            raise ValueError(f"{self} is a set for {self.n_targets} targets, but there are "
                             f"{n_targets}; state the set for as many targets as y has columns.")

    def _rows(self, y):
        y = np.array(y, dtype=np.float64, order="C")   # writable: one signature of the kernels
        Y = np.atleast_2d(y)
        if y.ndim > 2 or Y.shape[1] == 0:
            raise ValueError(f"target vectors must have shape (n_targets,) or (n_rows, n_targets), "
                             f"got {y.shape}.")
        if not np.isfinite(Y).all():
            raise ValueError("target vectors contain NaN or infinity; remove those rows first.")
        self.bind(Y.shape[1])
        return Y, y.ndim == 1

    def _weights(self, weights, n_targets):
        if weights is None:
            return np.ones(n_targets)
        weights = np.array(weights, dtype=np.float64, order="C")
        if weights.shape != (n_targets,) or not np.all(weights > 0) or np.isinf(weights).any():
            raise ValueError(f"weights must be {n_targets} positive numbers, one a target, got "
                             f"{weights!r}.")
        return weights

    def project(self, y, weights=None):
        """Return the nearest feasible vector of each row.

        Parameters
        ----------
        y : array, shape (n_targets,) or (n_rows, n_targets)
            Points.
        weights : array, shape (n_targets,), optional
            Positive weight of each target in the squared distance (default: one each).

        Returns
        -------
        array, same shape as ``y``
            Where several points are equally near, always the same one of them.

        Raises
        ------
        ValueError
            If shapes do not fit, a value is not finite, or the set is empty.
        """
        Y, single = self._rows(y)
        weights = self._weights(weights, Y.shape[1])
        code = self.encode(Y.shape[1], weights)
        if code is None:
            out = self._project_slowly(Y, weights)
        else:
            out = np.empty_like(Y)
            kernel = _projections.project_rows_closed if _projections.is_closed(code, weights) \
                else _projections.project_rows
            distances = kernel(*code, Y, weights, out)
            if not np.all((distances >= 0) & np.isfinite(distances)):
                raise RuntimeError(f"the projection on {self} did not converge; rescale the "
                                   "constraints so that their coefficients are of similar size.")
        return out[0] if single else out

    def contains(self, y, tol=1e-6):
        """Return whether each row is feasible.

        Parameters
        ----------
        y : array, shape (n_targets,) or (n_rows, n_targets)
            Points.
        tol : float, default=1e-6
            Largest violation to forgive, relative to the largest entry of the row (at least one).

        Returns
        -------
        bool or array of bool, shape (n_rows,)
        """
        Y, single = self._rows(y)
        inside = self._violation(Y) <= tol * np.maximum(1.0, np.abs(Y).max(axis=1))
        return bool(inside[0]) if single else inside

    def violation(self, y):
        """Return by how much each row violates the constraints, zero exactly for feasible rows.

        Parameters
        ----------
        y : array, shape (n_targets,) or (n_rows, n_targets)
            Points.

        Returns
        -------
        float or array, shape (n_rows,)
            The largest violation of one constraint, in its own units; for alternatives, of the
            one that is violated least.
        """
        Y, single = self._rows(y)
        violation = self._violation(Y)
        return float(violation[0]) if single else violation

    def explain(self, y):
        """Say in one clause which constraint a vector violates.

        Parameters
        ----------
        y : array, shape (n_targets,)
            A point.

        Returns
        -------
        str
            Empty if the point is feasible.
        """
        return "" if self.contains(y) else self._explain(np.asarray(y, dtype=np.float64))

    def _explain(self, y):
        return f"{self} is violated by {self.violation(y):.4g}"

    def distance(self, y, weights=None):
        """Return the (weighted) Euclidean distance of each row to the set.

        Parameters
        ----------
        y : array, shape (n_targets,) or (n_rows, n_targets)
            Points.
        weights : array, shape (n_targets,), optional
            Positive weight of each target.

        Returns
        -------
        float or array, shape (n_rows,)
        """
        Y, single = self._rows(y)
        gap = (Y - self.project(Y, weights)) ** 2 * self._weights(weights, Y.shape[1])
        distance = np.sqrt(gap.sum(axis=1))
        return float(distance[0]) if single else distance

    # -------------------------------------------------------- what kernels and solvers see

    def encode(self, n_targets, weights):
        """Return ``(kind, ints, floats)`` for the kernels, or None if there is no such form.

        Parameters
        ----------
        n_targets : int
            Number of targets.
        weights : array, shape (n_targets,)
            Metric of the projection.

        Returns
        -------
        tuple or None
            See :mod:`odtlib.constrained._projections`.
        """
        cache = self.__dict__.setdefault("_cache", {})
        key = (n_targets, weights.tobytes())
        if key not in cache:
            code = self._encode(n_targets, weights)
            if code is not None:
                kind, ints, floats = code
                code = (kind, np.array(ints, np.int64, ndmin=1),
                        np.concatenate([np.ravel(np.asarray(f, np.float64)) for f in floats]))
            cache[key] = code
        return cache[key]

    def pieces(self, n_targets):
        """Return the set as a union of polyhedra, empty ones left out.

        Parameters
        ----------
        n_targets : int
            Number of targets.

        Returns
        -------
        list of Piece, or None
            None where the set is no such union or has more than 4096 pieces.

        Raises
        ------
        ValueError
            If the set is empty.
        """
        cache = self.__dict__.setdefault("_cache", {})
        if ("pieces", n_targets) not in cache:
            pieces = self._pieces(n_targets)
            if pieces is not None:
                pieces = [p.tightened() for p in pieces]
                pieces = [p for p in pieces if p is not None
                          and (p.is_box() or not p.is_empty())]
                if not pieces:
                    raise ValueError(f"{self} is empty: no target vector satisfies its "
                                     "constraints.")
            cache["pieces", n_targets] = pieces
        return cache["pieces", n_targets]

    def _pieces(self, n_targets):
        return None

    def _encode(self, n_targets, weights):
        pieces = self.pieces(n_targets)
        if pieces is None:
            return None
        if all(p.is_box() for p in pieces):
            if len(pieces) == 1:
                return (_projections.SEPARABLE, [n_targets, 0],
                        [pieces[0].lower, pieces[0].upper])
            return (_projections.BOXES, [len(pieces)],
                    [[p.lower for p in pieces], [p.upper for p in pieces]])
        if len(pieces) == 1 and not len(pieces[0].rhs) and np.isinf(pieces[0].lower).all() \
                and np.isinf(pieces[0].upper).all():
            return _linear_code(pieces[0].equal, pieces[0].equal_rhs, weights)
        parts = [p.kernel_rows(weights) for p in pieces]
        offsets = np.concatenate([[0], np.cumsum([len(b) for _, b, _ in parts])])
        return (_projections.POLYHEDRA,
                np.concatenate([[len(pieces)], offsets, [e for _, _, e in parts]]),
                [[p.lower for p in pieces], [p.upper for p in pieces],
                 np.vstack([r for r, _, _ in parts]), np.concatenate([b for _, b, _ in parts])])

    def _project_slowly(self, Y, weights):
        return np.array([self._polish(y, *_mathopt.project(self, y, weights), weights)
                         for y in Y])

    def _polish(self, point, nearest, binaries, weights):
        """Make exact what SCIP found to its tolerance."""
        return nearest

    def _formulate(self, model, y):
        """Add the constraints to a MathOpt model over the variables ``y``."""
        pieces = self._pieces(len(y))
        if pieces is None:
            raise ValueError(f"{self} cannot be written as a mixed-integer program.")
        flags = [model.add_binary_variable() for _ in pieces] if len(pieces) > 1 else [None]
        if len(pieces) > 1:
            model.add_linear_constraint(sum(flags) == 1)
        unit = np.eye(len(y))
        for piece, flag in zip(pieces, flags, strict=True):
            for row, rhs in itertools.chain(
                    zip(piece.rows, piece.rhs, strict=True),
                    zip(piece.equal, piece.equal_rhs, strict=True),
                    zip(-piece.equal, -piece.equal_rhs, strict=True),
                    zip(unit, piece.upper, strict=True), zip(-unit, -piece.lower, strict=True)):
                if rhs == np.inf:
                    continue
                if flag is None:
                    model.add_linear_constraint(
                        sum(a * v for a, v in zip(row, y, strict=True) if a != 0) <= rhs)
                else:
                    _mathopt.indicator(model, row, rhs, y, flag)


def _linear_code(equal, rhs, weights):
    """Orthonormalise equations in the metric of the weights; refuse contradictory ones."""
    scaled = equal / np.sqrt(weights)
    u, s, vt = np.linalg.svd(scaled, full_matrices=False)
    keep = s > 1e-12 * max(s.max(initial=0.0), 1e-300)
    vt, right = vt[keep], (u.T @ rhs)[keep] / s[keep]
    if not np.allclose(scaled @ (vt.T @ right), rhs, rtol=1e-9,
                       atol=1e-9 * max(1.0, np.abs(rhs).max(initial=0.0))):
        raise ValueError("the equations contradict each other: no target vector satisfies them.")
    return _projections.LINEAR, [len(right)], [vt * np.sqrt(weights), right]


def _vector(value, name, n_targets=None):
    value = np.asarray(value, dtype=np.float64)
    if value.ndim > 1 or np.isnan(value).any():
        raise ValueError(f"{name} must be a number or a vector with one number a target, got "
                         f"{value!r}.")
    if value.ndim == 1 and n_targets not in (None, len(value)):
        raise ValueError(f"{name} has {len(value)} entries for {n_targets} targets.")
    return value


def _bounds(lower, upper, n_targets):
    lower, upper = _vector(lower, "lower", n_targets), _vector(upper, "upper", n_targets)
    for bound in (lower, upper):
        if bound.ndim == 1:
            n_targets = len(bound)
    lower, upper = (b if b.ndim == 0 else _vector(b, "bounds", n_targets) for b in (lower, upper))
    crossed = np.flatnonzero(np.atleast_1d(lower > upper))
    if len(crossed):
        raise ValueError(f"the set is empty: lower exceeds upper for target {crossed[0]}.")
    if np.any(lower == np.inf) or np.any(upper == -np.inf):
        raise ValueError("the set is empty: lower is +inf or upper is -inf.")
    return lower, upper, n_targets


def _number(value):
    return f"{value:g}" if np.isfinite(value) else (r"\infty" if value > 0 else r"-\infty")


def _describe(value):
    return _number(float(value)) if value.ndim == 0 else \
        "(" + ", ".join(_number(v) for v in value) + ")"


class Box(FeasibleSet):
    """Bound each target: lower <= y <= upper.

    Parameters
    ----------
    lower, upper : float or array, shape (n_targets,), default=-inf and inf
        Bounds; a number holds for every target.
    n_targets : int, optional
        Number of targets where both bounds are numbers (default: any).
    """

    def __init__(self, lower=-np.inf, upper=np.inf, n_targets=None):
        self.lower, self.upper, self.n_targets = _bounds(lower, upper, n_targets)

    def _latex(self):
        return rf"{_describe(self.lower)} \le y \le {_describe(self.upper)}"

    def _violation(self, Y):
        return np.maximum(np.maximum(self.lower - Y, Y - self.upper), 0.0).max(axis=1)

    def _pieces(self, n_targets):
        return [Piece.make(n_targets, lower=self.lower, upper=self.upper)]

    def _explain(self, y):
        low, high = (np.broadcast_to(b, y.shape) for b in (self.lower, self.upper))
        j = int(np.argmax(np.maximum(low - y, y - high)))
        return f"target {j} is {y[j]:.6g}, outside [{low[j]:g}, {high[j]:g}]"


class AtMostKNonzero(FeasibleSet):
    """Allow at most so many nonzero targets, each of them within bounds.

    With binaries: ``sum z <= max_nonzero``, ``lower z <= y <= upper z`` (equation 2 of Birbil et
    al.).  The projection keeps the targets whose clipped value gains most over zero.

    Parameters
    ----------
    max_nonzero : int
        Largest number of nonzero targets.
    lower, upper : float or array, shape (n_targets,), default=0 and inf
        Bounds of a target that is not zero; a positive ``lower`` makes it semi-continuous.
    n_targets : int, optional
        Number of targets (default: any).
    """

    is_convex = False

    def __init__(self, max_nonzero, lower=0.0, upper=np.inf, n_targets=None):
        if not isinstance(max_nonzero, (int, np.integer)) or max_nonzero < 0:
            raise ValueError(f"max_nonzero must be a whole number >= 0, got {max_nonzero!r}.")
        self.max_nonzero = int(max_nonzero)
        self.lower, self.upper, self.n_targets = _bounds(lower, upper, n_targets)

    def _latex(self):
        return (rf"\|y\|_0 \le {self.max_nonzero},\; y_j \in \{{0\}} \cup "
                rf"[{_describe(self.lower)}, {_describe(self.upper)}]")

    def _violation(self, Y):
        used = Y != 0
        violation = np.zeros(len(Y))
        check = (used.sum(axis=1) > self.max_nonzero) | (
            used & ((Y < self.lower) | (Y > self.upper))).any(axis=1)
        if check.any():   # most rows of most data are feasible
            zero = np.abs(Y[check])
            outside = np.maximum(np.maximum(self.lower - Y[check], Y[check] - self.upper), 0.0)
            within = np.minimum(outside, zero)
            order = np.argsort(within - zero, axis=1, kind="stable")[:, :self.max_nonzero]
            np.put_along_axis(zero, order, np.take_along_axis(within, order, 1), 1)
            violation[check] = zero.max(axis=1)
        return violation

    def _encode(self, n_targets, weights):
        return (_projections.SEPARABLE, [min(self.max_nonzero, n_targets), 1],
                [np.broadcast_to(b, n_targets) for b in (self.lower, self.upper)])

    def _pieces(self, n_targets):
        lower, upper = (np.broadcast_to(b, n_targets) for b in (self.lower, self.upper))
        with_zero = np.all((lower <= 0) & (upper >= 0))
        count = min(self.max_nonzero, n_targets)
        sizes = [count] if with_zero else range(count + 1)
        if sum(comb(n_targets, size) for size in sizes) > MAX_PIECES:
            return None
        pieces = []
        for size in sizes:
            for support in itertools.combinations(range(n_targets), size):
                on = np.isin(np.arange(n_targets), support)
                pieces.append(Piece.make(n_targets, lower=np.where(on, lower, 0.0),
                                         upper=np.where(on, upper, 0.0)))
        return pieces

    def _formulate(self, model, y):
        flags = [model.add_binary_variable() for _ in y]
        model.add_linear_constraint(sum(flags) <= self.max_nonzero)
        for v, z, low, high in zip(y, flags, *(np.broadcast_to(b, len(y)) for b in
                                               (self.lower, self.upper)), strict=True):
            for sign, bound in ((1.0, high), (-1.0, -low)):
                if np.isfinite(bound):
                    model.add_linear_constraint(sign * v <= bound * z)
                else:
                    model.add_indicator_constraint(indicator=z, activate_on_zero=True,
                                                   implied_constraint=sign * v <= 0.0)

    def _explain(self, y):
        count = int(np.sum(np.abs(y) > 1e-6 * max(1.0, np.abs(y).max())))
        if count > self.max_nonzero:
            return f"{count} targets are nonzero, at most {self.max_nonzero} may be"
        low, high = (np.broadcast_to(b, y.shape) for b in (self.lower, self.upper))
        j = int(np.argmax(np.where(y == 0, -np.inf, np.maximum(low - y, y - high))))
        return f"target {j} is {y[j]:.6g}, neither 0 nor within [{low[j]:g}, {high[j]:g}]"


class Simplex(FeasibleSet):
    """Nonnegative targets with a fixed sum.

    Parameters
    ----------
    total : float, default=1.0
        The sum, >= 0.
    n_targets : int, optional
        Number of targets (default: any).
    """

    def __init__(self, total=1.0, n_targets=None):
        if not (np.isfinite(total) and total >= 0):
            raise ValueError(f"total must be a number >= 0, got {total!r}; nonnegative targets "
                             "have no other sum.")
        self.total, self.n_targets = float(total), n_targets

    def _latex(self):
        return rf"\textstyle\sum_j y_j = {self.total:g},\; y \ge 0"

    def _violation(self, Y):
        return np.maximum(np.abs(Y.sum(axis=1) - self.total), np.maximum(-Y, 0.0).max(axis=1))

    def _encode(self, n_targets, weights):
        return _projections.SIMPLEX, [0], [self.total]

    def _pieces(self, n_targets):
        return [Piece.make(n_targets, equal=np.ones(n_targets), equal_rhs=self.total, lower=0.0)]

    def _explain(self, y):
        if abs(y.sum() - self.total) >= -y.min():
            return f"the targets sum to {y.sum():.6g}, not to {self.total:g}"
        return f"target {int(np.argmin(y))} is {y.min():.6g}, below 0"


class SparseSimplex(FeasibleSet):
    """Nonnegative targets with a fixed sum, only some of them nonzero, whole numbers if wished.

    Parameters
    ----------
    max_nonzero : int
        Largest number of nonzero targets, >= 1.
    total : float, default=1.0
        The sum, >= 0; a whole number where ``integer``.
    integer : bool, default=False
        Whether the targets are whole numbers.
    n_targets : int, optional
        Number of targets (default: any).
    """

    is_convex = False

    def __init__(self, max_nonzero, total=1.0, integer=False, n_targets=None):
        if not isinstance(max_nonzero, (int, np.integer)) or max_nonzero < 1:
            raise ValueError(f"max_nonzero must be a whole number >= 1, got {max_nonzero!r}.")
        if not (np.isfinite(total) and total >= 0):
            raise ValueError(f"total must be a number >= 0, got {total!r}.")
        if integer and total != int(total):
            raise ValueError(f"the set is empty: whole numbers cannot sum to {total!r}.")
        self.max_nonzero, self.total = int(max_nonzero), float(total)
        self.integer, self.n_targets = bool(integer), n_targets

    def _latex(self):
        whole = r",\; y_j \in \mathbb{Z}" if self.integer else ""
        return (rf"\textstyle\sum_j y_j = {self.total:g},\; y \ge 0,\; "
                rf"\|y\|_0 \le {self.max_nonzero}{whole}")

    def _violation(self, Y):
        worst = np.maximum(np.abs(Y.sum(axis=1) - self.total), np.maximum(-Y, 0.0).max(axis=1))
        if self.max_nonzero < Y.shape[1]:
            worst = np.maximum(worst, np.sort(np.abs(Y), axis=1)[:, -self.max_nonzero - 1])
        if self.integer:
            worst = np.maximum(worst, np.abs(Y - np.round(Y)).max(axis=1))
        return worst

    def _supports(self, n_targets):
        return comb(n_targets, min(self.max_nonzero, n_targets))

    def _encode(self, n_targets, weights):
        if not self.integer and np.ptp(weights) > 0 and self._supports(n_targets) > MAX_PIECES:
            return None
        return (_projections.SPARSE_SIMPLEX, [min(self.max_nonzero, n_targets), self.integer],
                [self.total])

    def _pieces(self, n_targets):
        if self.integer or self._supports(n_targets) > MAX_PIECES:
            return None
        simplex = Simplex(self.total)._pieces(n_targets)[0]
        at_most = AtMostKNonzero(self.max_nonzero)._pieces(n_targets)
        return [simplex & piece for piece in at_most]

    def _formulate(self, model, y):
        flags = [model.add_binary_variable() for _ in y]
        model.add_linear_constraint(sum(flags) <= self.max_nonzero)
        model.add_linear_constraint(sum(y) == self.total)
        for v, z in zip(y, flags, strict=True):
            model.add_linear_constraint(v <= self.total * z)
            model.add_linear_constraint(v >= 0)
            if self.integer:
                unit = model.add_integer_variable(lb=0, ub=self.total)
                model.add_linear_constraint(v == unit)

    def _explain(self, y):
        count = int(np.sum(np.abs(y) > 1e-6))
        if count > self.max_nonzero:
            return f"{count} targets are nonzero, at most {self.max_nonzero} may be"
        if abs(y.sum() - self.total) > 1e-6 or y.min() < 0:
            return Simplex(self.total)._explain(y)
        return "a target is not a whole number"


class Affine(FeasibleSet):
    """Linear equations ``A y = b``.

    Parameters
    ----------
    A : array, shape (n_equations, n_targets)
        Coefficients.
    b : float or array, shape (n_equations,)
        Right sides.
    """

    def __init__(self, A, b):
        self.A, self.b = _system(A, b)
        self.n_targets = self.A.shape[1]
        _linear_code(self.A, self.b, np.ones(self.n_targets))   # refuses contradictions

    def _latex(self):
        return r",\; ".join(_row_latex(row, "=", b) for row, b in zip(self.A, self.b, strict=True))

    def _violation(self, Y):
        return np.abs(Y @ self.A.T - self.b).max(axis=1)

    def _pieces(self, n_targets):
        return [Piece.make(n_targets, equal=self.A, equal_rhs=self.b)]

    def _encode(self, n_targets, weights):
        return _linear_code(self.A, self.b, weights)

    def _explain(self, y):
        residual = self.A @ y - self.b
        i = int(np.argmax(np.abs(residual)))
        return f"equation {i} has left side {residual[i] + self.b[i]:.6g}, not {self.b[i]:g}"


def _system(A, b):
    A = np.array(A, dtype=np.float64, ndmin=2)
    b = np.broadcast_to(np.asarray(b, dtype=np.float64), len(A)).copy() if np.ndim(b) < 2 else b
    if A.ndim != 2 or np.shape(b) != (len(A),) or not np.isfinite(A).all() or np.isnan(b).any():
        raise ValueError(f"A must be a finite matrix with one column a target and b one number a "
                         f"row, got shapes {A.shape} and {np.shape(b)}.")
    return A, b


def _row_latex(row, relation, rhs, names=None):
    terms = []
    for j in np.flatnonzero(row):
        size = "" if abs(row[j]) == 1 else f"{abs(row[j]):g}\\,"
        sign = "-" if row[j] < 0 else ("+" if terms else "")
        terms.append(f"{sign} {size}{names[j] if names else f'y_{{{j}}}'}".strip())
    return f"{' '.join(terms) or '0'} {relation} {rhs:g}"


class Hierarchy(FeasibleSet):
    """Coherent totals: ``y = S b`` for some bottom level ``b``.

    Parameters
    ----------
    S : array, shape (n_targets, n_bottom)
        Aggregation matrix: row i says which bottom series target i adds up.
    nonnegative : bool, default=False
        Whether no target may be negative; the set is then a polyhedron, no longer a plane.
    """

    def __init__(self, S, nonnegative=False):
        self.S = np.array(S, dtype=np.float64, ndmin=2)
        if self.S.ndim != 2 or not np.isfinite(self.S).all():
            raise ValueError("S must be a finite matrix, one row a target and one column a bottom "
                             "series.")
        self.nonnegative = bool(nonnegative)
        self.n_targets = len(self.S)
        u, s, _ = np.linalg.svd(self.S)
        rank = int(np.sum(s > 1e-12 * s.max(initial=0.0)))
        self._normal = u[:, rank:].T   # the plane is where these vanish

    def _latex(self):
        return r"y = S b" + (r",\; y \ge 0" if self.nonnegative else "")

    def _violation(self, Y):
        worst = np.abs(Y - Y @ (np.eye(self.n_targets) - self._normal.T @ self._normal)).max(axis=1)
        if self.nonnegative:
            worst = np.maximum(worst, np.maximum(-Y, 0.0).max(axis=1))
        return worst

    def _pieces(self, n_targets):
        return [Piece.make(n_targets, equal=self._normal, equal_rhs=np.zeros(len(self._normal)),
                           lower=0.0 if self.nonnegative else -np.inf)]

    def _explain(self, y):
        return f"the totals differ from the sums of their parts by {self.violation(y):.4g}"


class Polyhedron(FeasibleSet):
    """Linear inequalities ``A y <= b``, equations ``A_eq y = b_eq`` and bounds.

    Parameters
    ----------
    A : array, shape (n_rows, n_targets), optional
        Coefficients of the inequalities.
    b : float or array, shape (n_rows,), optional
        Their right sides.
    A_eq, b_eq : array, optional
        Equations in the same form.
    lower, upper : float or array, shape (n_targets,), default=-inf and inf
        Bounds.

    Raises
    ------
    ValueError
        If no vector satisfies all of them.
    """

    def __init__(self, A=None, b=None, A_eq=None, b_eq=None, lower=-np.inf, upper=np.inf):
        if A is None and A_eq is None:
            raise ValueError("a Polyhedron needs A and b, or A_eq and b_eq; for bounds alone use "
                             "Box.")
        self.n_targets = np.array(A_eq if A is None else A, ndmin=2).shape[1]
        self.A, self.b = _system(np.zeros((0, self.n_targets)) if A is None else A,
                                 0.0 if A is None else b)
        self.A_eq, self.b_eq = _system(np.zeros((0, self.n_targets)) if A_eq is None else A_eq,
                                       0.0 if A_eq is None else b_eq)
        if self.A.shape[1] != self.A_eq.shape[1]:
            raise ValueError("A and A_eq must have the same number of columns, one a target.")
        self.lower, self.upper, _ = _bounds(lower, upper, self.n_targets)
        self.pieces(self.n_targets)   # refuses an empty set

    def _latex(self):
        rows = [_row_latex(r, r"\le", v) for r, v in zip(self.A, self.b, strict=True)]
        rows += [_row_latex(r, "=", v) for r, v in zip(self.A_eq, self.b_eq, strict=True)]
        if np.any(np.isfinite(self.lower)) or np.any(np.isfinite(self.upper)):
            rows.append(Box._latex(self))
        return r",\; ".join(rows)

    def _piece(self):
        return Piece.make(self.n_targets, self.A, self.b, self.A_eq, self.b_eq, self.lower,
                          self.upper)

    def _violation(self, Y):
        return self._piece().violation(Y)

    def _pieces(self, n_targets):
        return [self._piece()]

    def _explain(self, y):
        found = [(v, f"inequality {i} has left side {v + b:.6g}, above {b:g}")
                 for i, (v, b) in enumerate(zip(self.A @ y - self.b, self.b, strict=True))]
        found += [(abs(v), f"equation {i} has left side {v + b:.6g}, not {b:g}")
                  for i, (v, b) in enumerate(zip(self.A_eq @ y - self.b_eq, self.b_eq,
                                                 strict=True))]
        box = Box(self.lower, self.upper)
        found.append((box.violation(y), box.explain(y)))
        return max(found)[1]


class UnionOf(FeasibleSet):
    """Allow a vector that satisfies any one of several sets.

    Parameters
    ----------
    members : sequence of FeasibleSet
        The alternatives.
    """

    is_convex = False

    def __init__(self, members):
        self.members = _members(members)
        self.n_targets = _common_targets(self.members)

    def _shown(self):
        return {"members": list(self.members)}

    def _latex(self):
        return r" \;\text{or}\; ".join(f"({m._latex()})" for m in self.members)

    def _violation(self, Y):
        return np.min([m._violation(Y) for m in self.members], axis=0)

    def _pieces(self, n_targets):
        parts = [m._pieces(n_targets) for m in self.members]
        if any(p is None for p in parts) or sum(map(len, parts)) > MAX_PIECES:
            return None
        return [piece for part in parts for piece in part]

    def _project_slowly(self, Y, weights):
        options = np.array([m.project(Y, weights) for m in self.members])
        nearest = np.argmin((weights * (options - Y) ** 2).sum(axis=2), axis=0)
        return options[nearest, np.arange(len(Y))]

    def _explain(self, y):
        nearest = min(self.members, key=lambda m: m.violation(y))
        return f"none of {len(self.members)} alternatives holds; in the nearest, " \
               f"{nearest.explain(y)}"


class Intersection(FeasibleSet):
    """Ask for several sets at once; written ``a & b``.

    Where every member is a union of polyhedra the intersection is one too, and its projection is
    exact; otherwise SCIP projects.

    Parameters
    ----------
    members : sequence of FeasibleSet
        The sets.
    """

    def __init__(self, members):
        flat = []
        for member in members:
            flat += member.members if isinstance(member, Intersection) else [member]
        self.members = _members(flat)
        self.n_targets = _common_targets(self.members)
        self.is_convex = all(m.is_convex for m in self.members)
        if self.n_targets is not None:
            self.pieces(self.n_targets)   # refuses an empty set

    def _shown(self):
        return {"members": list(self.members)}

    def _latex(self):
        return r",\; ".join(m._latex() if not isinstance(m, UnionOf) else f"({m._latex()})"
                            for m in self.members)

    def _violation(self, Y):
        return np.max([m._violation(Y) for m in self.members], axis=0)

    def _pieces(self, n_targets):
        parts = [m._pieces(n_targets) for m in self.members]
        if any(p is None for p in parts):
            return None
        pieces = parts[0]
        for part in parts[1:]:
            if len(pieces) * len(part) > MAX_PIECES:
                return None
            pieces = [p for a in pieces for b in part if (p := (a & b).tightened()) is not None]
        return pieces

    def _formulate(self, model, y):
        for member in self.members:
            member._formulate(model, y)

    def _polish(self, point, nearest, binaries, weights):
        whole = any(getattr(member, "integer", False) for member in self.members)
        return np.round(nearest) if whole else nearest

    def _explain(self, y):
        return next(m.explain(y) for m in self.members if not m.contains(y))


def _members(members):
    members = list(members)
    if not members or not all(isinstance(m, FeasibleSet) for m in members):
        raise ValueError("members must be a non-empty list of sets from odtlib.constrained.sets.")
    return members


def _common_targets(members):
    known = {m.n_targets for m in members} - {None}
    if len(known) > 1:
        raise ValueError(f"the sets are for different numbers of targets: {sorted(known)}.")
    return known.pop() if known else None


class Indicator(UnionOf):
    """Tie an amount to a 0/1 flag: either both are zero, or the flag is one and the amount bounded.

    Parameters
    ----------
    flag, amount : int
        Which targets they are.
    lower, upper : float, default=0 and inf
        Bounds of the amount where the flag is one.
    n_targets : int, default=2
        Number of targets; the others are free.
    """

    def __init__(self, flag, amount, lower=0.0, upper=np.inf, n_targets=2):
        if not (0 <= flag < n_targets and 0 <= amount < n_targets and flag != amount):
            raise ValueError(f"flag and amount must be two different targets among "
                             f"0..{n_targets - 1}, got {flag!r} and {amount!r}.")
        self.flag, self.amount, self.lower, self.upper = flag, amount, float(lower), float(upper)
        off_low, off_high = np.full(n_targets, -np.inf), np.full(n_targets, np.inf)
        on_low, on_high = off_low.copy(), off_high.copy()
        off_low[[flag, amount]] = off_high[[flag, amount]] = 0.0
        on_low[[flag, amount]], on_high[[flag, amount]] = (1.0, lower), (1.0, upper)
        super().__init__([Box(off_low, off_high), Box(on_low, on_high)])

    def _shown(self):
        return {"flag": self.flag, "amount": self.amount, "lower": self.lower,
                "upper": self.upper, "n_targets": self.n_targets}

    def _latex(self):
        f, a = f"y_{{{self.flag}}}", f"y_{{{self.amount}}}"
        return (rf"{f} \in \{{0, 1\}},\; {_number(self.lower)}\,{f} \le {a} \le "
                rf"{_number(self.upper)}\,{f}")

    def _formulate(self, model, y):
        z = model.add_binary_variable()
        model.add_linear_constraint(y[self.flag] == z)
        for sign, bound in ((1.0, self.upper), (-1.0, -self.lower)):
            if np.isfinite(bound):
                model.add_linear_constraint(sign * y[self.amount] <= bound * z)
            else:
                model.add_indicator_constraint(indicator=z, activate_on_zero=True,
                                               implied_constraint=sign * y[self.amount] <= 0.0)

    def _explain(self, y):
        return (f"flag {y[self.flag]:.6g} (target {self.flag}) does not go with amount "
                f"{y[self.amount]:.6g} (target {self.amount})")


class Implication(UnionOf):
    """If a weighted sum of targets is below a threshold, other targets must be zero.

    Parameters
    ----------
    below : tuple (dict, float)
        Coefficients by target, and the threshold: ``({1: 1.0, 2: 1.0}, 110)`` reads "if
        y_1 + y_2 < 110".  The set is closed: at the threshold nothing is asked.
    then_zero : sequence of int
        Targets that must then be zero.
    n_targets : int
        Number of targets.
    """

    def __init__(self, below, then_zero, n_targets):
        coefficients, self.threshold = dict(below[0]), float(below[1])
        self.coefficients, self.then_zero = coefficients, sorted(then_zero)
        named = [*coefficients, *self.then_zero]
        if not coefficients or not self.then_zero or not all(0 <= j < n_targets for j in named):
            raise ValueError(f"below and then_zero must name targets among 0..{n_targets - 1}.")
        row = np.zeros(n_targets)
        for j, a in coefficients.items():
            row[j] = a
        zero = np.isin(np.arange(n_targets), self.then_zero)
        super().__init__([Polyhedron(-row, -self.threshold),
                          Box(np.where(zero, 0.0, -np.inf), np.where(zero, 0.0, np.inf))])

    def _shown(self):
        return {"below": (self.coefficients, self.threshold), "then_zero": self.then_zero,
                "n_targets": self.n_targets}

    def _latex(self):
        zeros = ", ".join(f"y_{{{j}}}" for j in self.then_zero)
        row = np.zeros(self.n_targets)
        row[list(self.coefficients)] = list(self.coefficients.values())
        return rf"{_row_latex(row, '<', self.threshold)} \Rightarrow {zeros} = 0"

    def _explain(self, y):
        left = sum(a * y[j] for j, a in self.coefficients.items())
        nonzero = [j for j in self.then_zero if y[j] != 0]
        return (f"the sum over targets {sorted(self.coefficients)} is {left:.6g}, below "
                f"{self.threshold:g}, but target {nonzero[0]} is {y[nonzero[0]]:.6g}, not 0")


class MixedBinary(FeasibleSet):
    """Linear constraints over targets and binaries: some z in {0, 1} with ``A y + B z <= b``.

    Every pattern of the binaries leaves a polyhedron; up to 4096 patterns are enumerated, empty and
    contained ones dropped, and each projection is exact.  With more, SCIP projects.

    Parameters
    ----------
    A : array, shape (n_rows, n_targets)
        Coefficients of the targets.
    B : array, shape (n_rows, n_binaries)
        Coefficients of the binaries.
    b : float or array, shape (n_rows,)
        Right sides.
    A_eq, B_eq, b_eq : array, optional
        Equations in the same form.
    lower, upper : float or array, shape (n_targets,), default=-inf and inf
        Bounds of the targets.
    """

    is_convex = False

    def __init__(self, A, B, b, A_eq=None, B_eq=None, b_eq=None, lower=-np.inf, upper=np.inf):
        self.A, self.b = _system(A, b)
        self.B = np.array(B, dtype=np.float64, ndmin=2)
        self.n_targets = self.A.shape[1]
        if len(self.B) != len(self.A) or self.B.shape[1] == 0:
            raise ValueError(f"B must have one row for each of the {len(self.A)} rows of A and one "
                             f"column a binary, got shape {self.B.shape}.")
        if A_eq is None:
            self.A_eq, self.b_eq = np.zeros((0, self.n_targets)), np.zeros(0)
            self.B_eq = np.zeros((0, self.B.shape[1]))
        else:
            self.A_eq, self.b_eq = _system(A_eq, b_eq)
            self.B_eq = np.array(B_eq, dtype=np.float64, ndmin=2)
        if self.B_eq.shape != (len(self.A_eq), self.B.shape[1]):
            raise ValueError("A_eq, B_eq and b_eq must have one row an equation, and B_eq one "
                             "column a binary.")
        self.lower, self.upper, _ = _bounds(lower, upper, self.n_targets)
        self.pieces(self.n_targets)   # refuses an empty set

    @property
    def n_binaries(self):
        """Number of binaries."""
        return self.B.shape[1]

    def _latex(self):
        names = [f"y_{{{j}}}" for j in range(self.n_targets)]
        names += [f"z_{{{j}}}" for j in range(self.n_binaries)]
        parts = [_row_latex(row, relation, right, names)
                 for A, B, b, relation in ((self.A, self.B, self.b, r"\le"),
                                           (self.A_eq, self.B_eq, self.b_eq, "="))
                 for row, right in zip(np.hstack([A, B]), b, strict=True)]
        return r",\; ".join(parts) + rf",\; z \in \{{0,1\}}^{{{self.n_binaries}}}"

    def _pieces(self, n_targets):
        if 2 ** self.n_binaries > MAX_PIECES:
            return None
        patterns = np.array(list(itertools.product((0.0, 1.0), repeat=self.n_binaries)))
        rhs, equal_rhs = self.b - patterns @ self.B.T, self.b_eq - patterns @ self.B_eq.T
        both = np.unique(np.hstack([equal_rhs, rhs]), axis=0)
        n_equal = len(self.b_eq)
        keep = np.ones(len(both), bool)
        if len(both) <= 1024:   # a pattern whose right sides are all smaller is contained
            for i, one in enumerate(both):
                larger = np.all(both >= one, axis=1) & keep
                larger &= np.all(both[:, :n_equal] == one[:n_equal], axis=1)
                larger[i] = False
                keep[i] = not larger.any()
        return [Piece.make(n_targets, self.A, row[n_equal:], self.A_eq, row[:n_equal], self.lower,
                           self.upper) for row in both[keep]]

    def _violation(self, Y):
        pieces = self._pieces(self.n_targets)
        if pieces is not None:
            return np.min([p.violation(Y) for p in pieces], axis=0)
        return np.array([self._least_violation(y) for y in Y])

    def _least_violation(self, y):
        """The pattern of least violation, by a mixed-integer linear program."""
        from scipy.optimize import LinearConstraint, milp
        m, inner, equal = self.n_binaries, self.b - self.A @ y, self.b_eq - self.A_eq @ y
        rows = np.vstack([np.hstack([self.B, -np.ones((len(inner), 1))]),
                          np.hstack([self.B_eq, -np.ones((len(equal), 1))]),
                          np.hstack([-self.B_eq, -np.ones((len(equal), 1))])])
        result = milp(np.append(np.zeros(m), 1.0), integrality=np.append(np.ones(m), 0),
                      bounds=(0, np.append(np.ones(m), np.inf)),
                      constraints=LinearConstraint(rows, -np.inf,
                                                   np.concatenate([inner, equal, -equal])))
        z = np.round(result.x[:m])
        return self._pattern(z).violation(y[None])[0]

    def _pattern(self, z):
        return Piece.make(self.n_targets, self.A, self.b - self.B @ z, self.A_eq,
                          self.b_eq - self.B_eq @ z, self.lower, self.upper)

    def _polish(self, point, nearest, binaries, weights):
        piece = self._pattern(np.round(binaries)).tightened()
        rows, rhs, n_equal = piece.kernel_rows(weights)
        root, out = np.sqrt(weights), np.empty(len(point))
        _projections.polyhedron(rows, rhs, n_equal, point * root, np.inf, out)
        return np.clip(out / root, piece.lower, piece.upper)

    def _formulate(self, model, y):
        z = [model.add_binary_variable() for _ in range(self.n_binaries)]
        for A, B, b, equal in ((self.A, self.B, self.b, False),
                               (self.A_eq, self.B_eq, self.b_eq, True)):
            for y_row, z_row, right in zip(A, B, b, strict=True):
                left = sum(a * v for a, v in zip(y_row, y, strict=True) if a) \
                    + sum(a * v for a, v in zip(z_row, z, strict=True) if a)
                model.add_linear_constraint(left == right if equal else left <= right)
        for v, low, high in zip(y, *(np.broadcast_to(x, len(y)) for x in (self.lower, self.upper)),
                                strict=True):
            if np.isfinite(low):
                model.add_linear_constraint(v >= low)
            if np.isfinite(high):
                model.add_linear_constraint(v <= high)
        return z


class Scaled(FeasibleSet):
    """A set in rescaled targets: ``y`` is feasible when ``y / factors`` is in the inner set.

    Written ``set * factors``; used to standardise targets of different units.

    Parameters
    ----------
    inner : FeasibleSet
        The set before scaling.
    factors : float or array, shape (n_targets,)
        Positive factors.
    """

    def __init__(self, inner, factors):
        factors = _vector(factors, "factors", inner.n_targets)
        if not np.all((factors > 0) & np.isfinite(factors)):
            raise ValueError("factors must be positive numbers.")
        self.inner, self.factors = inner, factors
        self.n_targets = inner.n_targets or (len(factors) if factors.ndim else None)
        self.is_convex = inner.is_convex

    def _latex(self):
        return rf"y / {_describe(self.factors)} : {self.inner._latex()}"

    def _violation(self, Y):
        return self.inner._violation(Y / self.factors) * np.max(self.factors)

    def _pieces(self, n_targets):
        pieces = self.inner._pieces(n_targets)
        factors = np.broadcast_to(self.factors, n_targets)
        return None if pieces is None else [p.scaled(factors) for p in pieces]

    def _encode(self, n_targets, weights):
        f = np.broadcast_to(self.factors, n_targets)
        code = self.inner.encode(n_targets, weights * f**2)
        if code is None:
            return None
        kind, ints, floats = code
        if kind in (_projections.SEPARABLE, _projections.BOXES):
            return kind, ints, [floats.reshape(-1, n_targets) * f]
        if kind == _projections.POLYHEDRA:
            size = 2 * ints[0] * n_targets
            return kind, ints, [floats[:size].reshape(-1, n_targets) * f, floats[size:]]
        if kind == _projections.LINEAR:
            size = ints[0] * n_targets
            return kind, ints, [floats[:size].reshape(-1, n_targets) / f, floats[size:]]
        if np.ptp(f) == 0 and not (kind == _projections.SPARSE_SIMPLEX and ints[1]):
            return kind, ints, [floats * f[0]]
        return super()._encode(n_targets, weights)

    def _project_slowly(self, Y, weights):
        return self.inner.project(Y / self.factors, weights * self.factors**2) * self.factors

    def _explain(self, y):
        return self.inner.explain(y / self.factors) + " (in unscaled targets)"


class Custom(FeasibleSet):
    """A set of the reader's own, given by callables.

    Parameters
    ----------
    project : callable
        ``project(y, weights) -> array``, the nearest feasible vector of one vector ``y`` in the
        metric of ``weights``; both have shape (n_targets,).  Trees are exact only if it is exact.
    contains : callable, optional
        ``contains(y) -> bool`` for one vector (default: whether ``project`` leaves it in place).
    n_targets : int, optional
        Number of targets (default: any).
    is_convex : bool, default=False
        Whether the mean of feasible vectors is feasible.
    name : str, default="custom set"
        For messages.
    """

    def __init__(self, project, contains=None, n_targets=None, is_convex=False, name="custom set"):
        if not callable(project) or not (contains is None or callable(contains)):
            raise ValueError("project and contains must be callables.")
        self._project_one, self._contains_one = project, contains
        self.n_targets, self.is_convex, self.name = n_targets, bool(is_convex), str(name)

    def _latex(self):
        return rf"\text{{{self.name}}}"

    def _encode(self, n_targets, weights):
        return None

    def _project_slowly(self, Y, weights):
        out = np.empty_like(Y)
        for i, y in enumerate(Y):
            point = np.asarray(self._project_one(y.copy(), weights), dtype=np.float64)
            if point.shape != y.shape or not np.isfinite(point).all():
                raise ValueError(f"project of {self.name} must return {len(y)} finite numbers, "
                                 f"got {point!r}.")
            out[i] = point
        return out

    def _violation(self, Y):
        gap = np.abs(Y - self._project_slowly(Y, np.ones(Y.shape[1]))).max(axis=1)
        if self._contains_one is None:
            return gap
        inside = np.array([bool(self._contains_one(y)) for y in Y])
        return np.where(inside, 0.0, np.maximum(gap, 1e-3 * np.maximum(1, np.abs(Y).max(axis=1))))


def paper_model(name, version="corrected", max_courses=None, n_targets=None):
    """Return one of the three models of Birbil et al. (2024), as printed or as corrected.

    Parameters
    ----------
    name : {"class", "scores", "cars"}
        Data set.
    version : {"corrected", "printed"}, default="corrected"
        The printed scores model swaps targets in its third line, the printed cars model has one
        target only, and the printed class model allows one course although the data has two.
    max_courses : int, optional
        For class: how many courses (default: 2 corrected, 1 printed).
    n_targets : int, optional
        For class: number of courses on offer (default: any).

    Returns
    -------
    FeasibleSet
        With ``signed_relaxation`` set, the penalty that the released code minimises (equation 5
        with signed residuals).
    """
    if version not in ("corrected", "printed"):
        raise ValueError(f"version must be 'corrected' or 'printed', got {version!r}.")
    printed = version == "printed"
    if name == "class":
        model = AtMostKNonzero(max_courses or (1 if printed else 2), 0.0,
                               110.0 if printed else 100.0, n_targets)
        model.signed_relaxation = (1.0, 0.0, 100.0)
    elif name == "scores" and printed:
        # y_j <= 110 b_j, y_2 >= 50 b_3, y_1 + y_2 >= 110 b_1 (the paper counts from one)
        A = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0], [-1, -1, 0]]
        B = [[-110, 0, 0], [0, -110, 0], [0, 0, -110], [0, 0, 50], [110, 0, 0]]
        model = MixedBinary(A, B, np.zeros(5), lower=0.0, upper=110.0)
        model.signed_relaxation = ([1.0, -1.0, 0.0], 0.0, 100.0)
    elif name == "scores":
        model = (Box(0.0, 100.0, 3) & Implication(({1: 1.0}, 50.0), [2], 3)
                 & Implication(({1: 1.0, 2: 1.0}, 110.0), [0], 3))
        model.signed_relaxation = ([1.0, -1.0, 0.0], 0.0, 100.0)
    elif name == "cars" and printed:
        model = AtMostKNonzero(1, 1.0, 100_000.0, n_targets=1)
    elif name == "cars":
        model = Indicator(0, 1, 1.0, 110_000.0)
        model.signed_relaxation = (0.0, 0.0, [0.0, np.inf])
    else:
        raise ValueError(f"name must be 'class', 'scores' or 'cars', got {name!r}.")
    return model
