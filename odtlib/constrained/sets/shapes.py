"""Sets of one shape: boxes, few nonzeros, simplexes, equations, polyhedra, and the user's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import comb
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from odtlib.arrays import given_numbers
from odtlib.constrained import _projections
from odtlib.constrained.sets.base import (
    MAX_PIECES,
    FeasibleSet,
    Piece,
    checked_members,
    linear_code,
    vector,
)


def bounds(lower, upper, n_targets):
    lower, upper = vector(lower, "lower", n_targets), vector(upper, "upper", n_targets)
    for bound in (lower, upper):
        if bound.ndim == 1:
            n_targets = len(bound)
    lower, upper = (b if b.ndim == 0 else vector(b, "bounds", n_targets) for b in (lower, upper))
    crossed = np.flatnonzero(np.atleast_1d(lower > upper))
    if len(crossed):
        raise ValueError(f"the set is empty: lower exceeds upper for target {crossed[0]}.")
    if np.any(lower == np.inf) or np.any(upper == -np.inf):
        raise ValueError("the set is empty: lower is +inf or upper is -inf.")
    return lower, upper, n_targets


def system(A, b, n_columns=0):
    """Return a matrix and its right sides as arrays; without ``A``, with no row."""
    A, b = (np.zeros((0, n_columns)), 0.0) if A is None else \
        (np.atleast_2d(given_numbers("A", A)), b)
    b = np.broadcast_to(given_numbers("b", b), len(A)).copy() if np.ndim(b) < 2 else b
    if A.ndim != 2 or np.shape(b) != (len(A),) or not np.isfinite(A).all() or np.isnan(b).any():
        raise ValueError(f"A must be a finite matrix with one column per target and b one number "
                         f"per row, got shapes {A.shape} and {np.shape(b)}.")
    return A, b


class Box(FeasibleSet):
    """Bound each target: lower <= y <= upper.

    Parameters
    ----------
    lower, upper : float or array, shape (n_targets,), default=-inf and inf
        Bounds; a number holds for every target.
    n_targets : int, optional
        Number of targets where both bounds are numbers (default: any).
    """

    def __init__(self, lower: float | ArrayLike = -np.inf, upper: float | ArrayLike = np.inf,
                 n_targets: int | None = None) -> None:
        self.lower, self.upper, self.n_targets = bounds(lower, upper, n_targets)

    def __and__(self, other):
        if isinstance(other, Box):
            n_targets = checked_members([self, other])[1]
            return Box(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper),
                       n_targets)
        return super().__and__(other)

    def _pieces(self, n_targets):
        return [Piece.make(n_targets, lower=self.lower, upper=self.upper)]

    def _explain(self, y):
        low, high = (np.broadcast_to(b, y.shape) for b in (self.lower, self.upper))
        j = int(np.argmax(np.maximum(low - y, y - high)))
        return f"target {j} is {y[j]:.6g}, outside [{low[j]:g}, {high[j]:g}]"


class AtMostKNonzero(FeasibleSet):
    """Allow a limited number of nonzero targets, each of them within bounds.

    With binaries: ``sum z <= max_nonzero``, ``lower z <= y <= upper z`` (equation 2 of Birbil et
    al.).  The projection keeps the targets whose clipped value gains most over zero.

    Parameters
    ----------
    max_nonzero : int
        Maximum number of nonzero targets.
    lower, upper : float or array, shape (n_targets,), default=0 and inf
        Bounds of a target that is not zero; a positive ``lower`` makes it semi-continuous.
    n_targets : int, optional
        Number of targets (default: any).
    """

    def __init__(self, max_nonzero: int, lower: float | ArrayLike = 0.0,
                 upper: float | ArrayLike = np.inf, n_targets: int | None = None) -> None:
        if not isinstance(max_nonzero, (int, np.integer)) or max_nonzero < 0:
            raise ValueError(f"max_nonzero must be a whole number >= 0, got {max_nonzero!r}.")
        self.max_nonzero = int(max_nonzero)
        self.lower, self.upper, self.n_targets = bounds(lower, upper, n_targets)

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

    def __init__(self, total: float = 1.0, n_targets: int | None = None) -> None:
        if not (isinstance(total, Real) and np.isfinite(total) and total >= 0):
            raise ValueError(f"total must be a number >= 0, got {total!r}; nonnegative targets "
                             "have no other sum.")
        self.total, self.n_targets = float(total), n_targets

    def _encode(self, n_targets, weights):
        return _projections.SIMPLEX, [0], [self.total]

    def _pieces(self, n_targets):
        return [Piece.make(n_targets, equal=np.ones(n_targets), equal_rhs=self.total, lower=0.0)]

    def _explain(self, y):
        if abs(y.sum() - self.total) >= -y.min():
            return f"the targets sum to {y.sum():.6g}, not to {self.total:g}"
        return f"target {int(np.argmin(y))} is {y.min():.6g}, below 0"


class SparseSimplex(FeasibleSet):
    """Nonnegative targets with a fixed sum, only some of them nonzero, optionally integers.

    Parameters
    ----------
    max_nonzero : int
        Maximum number of nonzero targets, >= 1.
    total : float, default=1.0
        The sum, >= 0; a whole number where ``integer``.
    integer : bool, default=False
        Whether the targets are whole numbers.
    n_targets : int, optional
        Number of targets (default: any).
    """

    def __init__(self, max_nonzero: int, total: float = 1.0, integer: bool = False,
                 n_targets: int | None = None) -> None:
        if not isinstance(max_nonzero, (int, np.integer)) or max_nonzero < 1:
            raise ValueError(f"max_nonzero must be a whole number >= 1, got {max_nonzero!r}.")
        self.max_nonzero, self.total = int(max_nonzero), Simplex(total).total
        if integer and total != int(total):
            raise ValueError(f"the set is empty: whole numbers cannot sum to {total!r}.")
        self.integer, self.n_targets = bool(integer), n_targets

    def _violation(self, Y):
        worst = np.maximum(np.abs(Y.sum(axis=1) - self.total), np.maximum(-Y, 0.0).max(axis=1))
        if self.max_nonzero < Y.shape[1]:
            worst = np.maximum(worst, np.sort(np.abs(Y), axis=1)[:, -self.max_nonzero - 1])
        if self.integer:
            worst = np.maximum(worst, np.abs(Y - np.round(Y)).max(axis=1))
        return worst

    def _encode(self, n_targets, weights):
        if not self.integer and np.ptp(weights) > 0:
            return super()._encode(n_targets, weights)
        return (_projections.SPARSE_SIMPLEX, [min(self.max_nonzero, n_targets), self.integer],
                [self.total])

    def _pieces(self, n_targets):
        at_most = None if self.integer else AtMostKNonzero(self.max_nonzero)._pieces(n_targets)
        simplex = Simplex(self.total)._pieces(n_targets)[0]
        return None if at_most is None else [simplex & piece for piece in at_most]

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

    def __init__(self, A: ArrayLike, b: float | ArrayLike) -> None:
        self.A, self.b = system(A, b)
        self.n_targets = self.A.shape[1]
        linear_code(self.A, self.b, np.ones(self.n_targets))   # refuses contradictions

    def _pieces(self, n_targets):
        return [Piece.make(n_targets, equal=self.A, equal_rhs=self.b)]

    def _encode(self, n_targets, weights):
        return linear_code(self.A, self.b, weights)

    def _explain(self, y):
        residual = self.A @ y - self.b
        i = int(np.argmax(np.abs(residual)))
        return f"equation {i} has left side {residual[i] + self.b[i]:.6g}, not {self.b[i]:g}"


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

    def __init__(self, A: ArrayLike | None = None, b: float | ArrayLike | None = None,
                 A_eq: ArrayLike | None = None, b_eq: float | ArrayLike | None = None,
                 lower: float | ArrayLike = -np.inf, upper: float | ArrayLike = np.inf) -> None:
        if A is None and A_eq is None:
            raise ValueError("a Polyhedron needs A and b, or A_eq and b_eq; for bounds alone use "
                             "Box.")
        self.n_targets = np.atleast_2d(given_numbers("A", A_eq if A is None else A)).shape[1]
        self.A, self.b = system(A, b, self.n_targets)
        self.A_eq, self.b_eq = system(A_eq, b_eq, self.n_targets)
        if self.A.shape[1] != self.A_eq.shape[1]:
            raise ValueError("A and A_eq must have the same number of columns, one per target.")
        self.lower, self.upper, _ = bounds(lower, upper, self.n_targets)
        self.pieces(self.n_targets)   # refuses an empty set

    def _pieces(self, n_targets):
        return [Piece.make(n_targets, self.A, self.b, self.A_eq, self.b_eq, self.lower,
                           self.upper)]

    def _explain(self, y):
        found = [(v, f"inequality {i} has left side {v + b:.6g}, above {b:g}")
                 for i, (v, b) in enumerate(zip(self.A @ y - self.b, self.b, strict=True))]
        found += [(abs(v), f"equation {i} has left side {v + b:.6g}, not {b:g}")
                  for i, (v, b) in enumerate(zip(self.A_eq @ y - self.b_eq, self.b_eq,
                                                 strict=True))]
        box = Box(self.lower, self.upper)
        found.append((box.violation(y), box.explain(y)))
        return max(found)[1]


class Hierarchy(Polyhedron):
    """Coherent totals: ``y = S b`` for some bottom level ``b``.

    Parameters
    ----------
    S : array, shape (n_targets, n_bottom)
        Aggregation matrix: row i says which bottom series target i adds up.
    nonnegative : bool, default=False
        Whether no target may be negative; the set is then a polyhedron, no longer a plane.
    """

    def __init__(self, S: ArrayLike, nonnegative: bool = False) -> None:
        self.S = np.atleast_2d(given_numbers("S", S))
        if self.S.ndim != 2 or not np.isfinite(self.S).all():
            raise ValueError("S must be a finite matrix, one row per target and one column per "
                             "bottom series.")
        self.nonnegative = bool(nonnegative)
        u, s, _ = np.linalg.svd(self.S)
        rank = int(np.sum(s > 1e-12 * s.max(initial=0.0)))
        # the plane is where the rest of the basis vanishes
        super().__init__(A_eq=u[:, rank:].T, b_eq=0.0, lower=0.0 if nonnegative else -np.inf)

    def _explain(self, y):
        return f"the totals differ from the sums of their parts by {self.violation(y):.4g}"


class Custom(FeasibleSet):
    """A set given by callables, such as a projection computed by a solver, where no class fits.

    Parameters
    ----------
    project : callable
        ``project(y, weights) -> array``, the nearest feasible vector of one vector ``y`` in the
        metric of ``weights``; both have shape (n_targets,).  Trees are exact only if it is exact.
    n_targets : int, optional
        Number of targets (default: any).
    name : str, default="custom set"
        For messages.
    """

    def __init__(self, project: Callable[[np.ndarray, np.ndarray], ArrayLike],
                 n_targets: int | None = None, name: str = "custom set") -> None:
        if not callable(project):
            raise ValueError("project must be a callable.")
        self._project_one, self.n_targets, self.name = project, n_targets, str(name)

    def _shown(self):
        return {"n_targets": self.n_targets, "name": self.name}

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
        return np.abs(Y - self._project_slowly(Y, np.ones(Y.shape[1]))).max(axis=1)
