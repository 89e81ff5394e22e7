"""What all feasible sets share: one polyhedron, the base class, intersection and rescaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature

import numpy as np
from numpy.typing import ArrayLike

from odtlib.arrays import LARGEST, SMALLEST, given_numbers
from odtlib.constrained import _projections

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
    def make(cls, n_targets: int, rows: ArrayLike | None = None, rhs: ArrayLike | None = None,
             equal: ArrayLike | None = None, equal_rhs: ArrayLike | None = None,
             lower: float | ArrayLike = -np.inf, upper: float | ArrayLike = np.inf) -> Piece:
        """Make a polyhedron; what is left out stands for no rows and no bounds."""
        none = np.zeros((0, n_targets))
        equal, rows = (none if a is None else np.atleast_2d(given_numbers(name, a))
                       for name, a in (("equal", equal), ("rows", rows)))
        equal_rhs, rhs = (np.atleast_1d(given_numbers(name, [] if b is None else b))
                          for name, b in (("equal_rhs", equal_rhs), ("rhs", rhs)))
        lower, upper = (np.broadcast_to(given_numbers(name, bound), n_targets).copy()
                        for name, bound in (("lower", lower), ("upper", upper)))
        return cls(equal, equal_rhs, rows, rhs, lower, upper)

    def __and__(self, other):
        return Piece(np.vstack([self.equal, other.equal]),
                     np.concatenate([self.equal_rhs, other.equal_rhs]),
                     np.vstack([self.rows, other.rows]), np.concatenate([self.rhs, other.rhs]),
                     np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))

    def violation(self, Y: np.ndarray) -> np.ndarray:
        """Return the largest violation of a constraint in each row of ``Y``."""
        targets = np.ascontiguousarray(Y.T)      # maxima over few rows of many numbers are fast
        lower, upper = self.lower[:, None], self.upper[:, None]
        worst = np.maximum(lower - targets, targets - upper).max(axis=0, initial=0.0)
        if len(self.rhs):
            worst = np.maximum(worst, (self.rows @ targets - self.rhs[:, None]).max(axis=0))
        if len(self.equal_rhs):
            off = self.equal @ targets - self.equal_rhs[:, None]
            worst = np.maximum(worst, np.abs(off).max(axis=0))
        return worst

    def tightened(self) -> Piece | None:
        """Turn rows of one target into bounds and propagate bounds; None if the piece is empty."""
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
        if np.any(limit[~both.any(axis=1)] < -1e-12) or np.any(
                lower[close] - upper[close] > 1e-9 * np.maximum(1.0, np.abs(lower[close]))):
            return None
        lower[close] = upper[close]
        equal, rows = (np.count_nonzero(part, axis=1) > 1 for part in (self.equal, self.rows))
        return Piece(self.equal[equal], self.equal_rhs[equal], self.rows[rows], self.rhs[rows],
                     lower, upper)

    def is_box(self) -> bool:
        """Return whether only bounds are left."""
        return len(self.rhs) == 0 and len(self.equal_rhs) == 0

    def kernel_rows(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Return rows of length one over the scaled targets, equalities first, bounds as rows."""
        root = np.sqrt(weights)
        unit = np.eye(len(weights))
        fixed = self.lower == self.upper
        low = np.isfinite(self.lower) & ~fixed
        high = np.isfinite(self.upper) & ~fixed
        upper, lower = self.upper * root, self.lower * root
        rows = np.concatenate([unit[fixed], self.equal / root, self.rows / root, unit[high],
                               -unit[low]])
        rhs = np.concatenate([upper[fixed], self.equal_rhs, self.rhs, upper[high], -lower[low]])
        length = np.linalg.norm(rows, axis=1)
        length[length == 0] = 1.0
        return rows / length[:, None], rhs / length, int(fixed.sum()) + len(self.equal_rhs)

    def is_empty(self) -> bool:
        """Return whether no point satisfies all rows, decided by a projection."""
        start = np.clip(np.zeros(len(self.lower)), self.lower, self.upper)
        rows, rhs, n_equal = self.kernel_rows(np.ones(len(start)))
        room = _projections.make_room(len(start), len(rhs))
        return _projections.polyhedron(rows.ravel(), rhs, n_equal, start, np.inf, room,
                                       np.empty(len(start))) == np.inf


class FeasibleSet:
    """Base class of all feasible sets.

    A subclass defines ``_pieces(n_targets)``, or ``_violation(Y)`` and one of ``_encode`` and
    ``_project_slowly``; everything else is here.

    Attributes
    ----------
    n_targets : int or None
        Number of targets, None where the set fits any number.
    """

    n_targets: int | None = None

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_cache"}

    def __repr__(self):
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._shown().items())
        return f"{type(self).__name__}({arguments})"

    def _shown(self):
        """Return the arguments that make such a set."""
        values = {name: getattr(self, name) for name in signature(type(self)).parameters}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value
                for name, value in values.items() if np.size(value)}    # no rows is the default

    def _once(self, key, make):
        """Return what was made under a key before, or make it now."""
        cache = self.__dict__.setdefault("_cache", {})
        if key not in cache:
            cache[key] = make()
        return cache[key]

    def __and__(self, other):
        if not isinstance(other, FeasibleSet):
            return NotImplemented
        return Intersection([self, other])

    def bind(self, n_targets: int) -> None:
        """Raise ValueError unless the set fits ``n_targets`` targets."""
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

    def project(self, y: ArrayLike, weights: ArrayLike | None = None) -> np.ndarray:
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
        weights = target_weights(weights, Y.shape[1])
        code = self.encode(Y.shape[1], weights)
        if code is None:
            out = self._project_slowly(Y, weights)
        else:
            out, distances = np.empty_like(Y), np.empty(len(Y))
            kernel = _projections.project_rows_closed if _projections.is_closed(code, weights) \
                else _projections.project_rows
            kernel(*code, Y, weights, _projections.room_for(code, weights), out, distances)
            if not np.all((distances >= 0) & np.isfinite(distances)):
                raise RuntimeError(f"the projection on {self} did not converge; rescale the "
                                   "constraints so that their coefficients are of similar size.")
        return out[0] if single else out

    def contains(self, y: ArrayLike, tol: float = 1e-6) -> bool | np.ndarray:
        """Return whether each row is feasible.

        Parameters
        ----------
        y : array, shape (n_targets,) or (n_rows, n_targets)
            Points.
        tol : float, default=1e-6
            Largest violation that is tolerated, relative to the largest entry of the row (at least
            one).

        Returns
        -------
        bool or array of bool, shape (n_rows,)
        """
        Y, single = self._rows(y)
        inside = self._violation(Y) <= tol * np.maximum(1.0, np.abs(Y).max(axis=1))
        return bool(inside[0]) if single else inside

    def violation(self, y: ArrayLike) -> float | np.ndarray:
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

    def explain(self, y: ArrayLike) -> str:
        """State in one clause which constraint a vector violates.

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

    def distance(self, y: ArrayLike, weights: ArrayLike | None = None) -> float | np.ndarray:
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
        gap = (Y - self.project(Y, weights)) ** 2 * target_weights(weights, Y.shape[1])
        distance = np.sqrt(gap.sum(axis=1))
        return float(distance[0]) if single else distance

    # -------------------------------------------------------- what kernels and solvers see

    def encode(self, n_targets: int,
               weights: np.ndarray) -> tuple[int, np.ndarray, np.ndarray] | None:
        """Return ``(kind, ints, floats)`` as the kernels of ``_projections`` take it, or None."""
        def make():
            code = self._encode(n_targets, weights)
            if code is None:
                return None
            kind, ints, floats = code
            return (kind, np.array(ints, np.int64, ndmin=1),
                    np.concatenate([np.ravel(np.asarray(f, np.float64)) for f in floats]))

        return self._once((n_targets, weights.tobytes()), make)

    def pieces(self, n_targets: int) -> list[Piece] | None:
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
        def make():
            pieces = self._stated(n_targets)
            if pieces is None:
                return None
            pieces = [p.tightened() for p in pieces]
            pieces = [p for p in pieces if p is not None and (p.is_box() or not p.is_empty())]
            if not pieces:
                raise ValueError(f"{self} is empty: no target vector satisfies its constraints.")
            return pieces

        return self._once(("pieces", n_targets), make)

    def _pieces(self, n_targets):
        return None

    def _stated(self, n_targets):
        """Return the pieces as they are stated, made once."""
        return self._once(("stated", n_targets), lambda: self._pieces(n_targets))

    def _violation(self, Y):
        least, outside = np.full(len(Y), np.inf), np.arange(len(Y))
        for piece in self._stated(Y.shape[1]):
            if not len(outside):
                break
            least[outside] = np.minimum(least[outside], piece.violation(Y[outside]))
            outside = outside[least[outside] > 0]
        return least

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
            return linear_code(pieces[0].equal, pieces[0].equal_rhs, weights)
        parts = [p.kernel_rows(weights) for p in pieces]
        offsets = np.concatenate([[0], np.cumsum([len(b) for _, b, _ in parts])])
        return (_projections.POLYHEDRA,
                np.concatenate([[len(pieces)], offsets, [e for _, _, e in parts]]),
                [[p.lower for p in pieces], [p.upper for p in pieces],
                 np.vstack([r for r, _, _ in parts]), np.concatenate([b for _, b, _ in parts])])

    def _project_slowly(self, Y, weights):
        raise ValueError(f"{self} is no union of at most {MAX_PIECES} polyhedra; state it with "
                         "fewer alternatives, or give the projection yourself: sets.Custom.")


def target_weights(weights, n_targets, name="weights"):
    """Return the weight of each target in squared distances; ones by default."""
    if weights is None:
        return np.ones(n_targets)
    weights = given_numbers(name, weights)
    if weights.shape != (n_targets,) or not np.all((weights >= SMALLEST) & (weights <= LARGEST)):
        numbers = "a positive number" if n_targets == 1 else f"{n_targets} positive numbers"
        raise ValueError(f"{name} must be {numbers}, one per target, from {SMALLEST:g} to "
                         f"{LARGEST:g}, got {weights.tolist()}.")
    return weights


def vector(value, name, n_targets=None):
    value = given_numbers(name, value)
    if value.ndim > 1 or np.isnan(value).any():
        raise ValueError(f"{name} must be a number or a vector with one number per target, got "
                         f"{value!r}.")
    if value.ndim == 1 and n_targets not in (None, len(value)):
        raise ValueError(f"{name} has {len(value)} entries for {n_targets} targets.")
    return value


def linear_code(equal, rhs, weights):
    """Orthonormalise equations in the metric of the weights; refuse contradictory ones."""
    scaled = equal / np.sqrt(weights)
    u, s, vt = np.linalg.svd(scaled, full_matrices=False)
    keep = s > 1e-12 * max(s.max(initial=0.0), 1e-300)
    vt, right = vt[keep], (u.T @ rhs)[keep] / s[keep]
    if not np.allclose(scaled @ (vt.T @ right), rhs, rtol=1e-9,
                       atol=1e-9 * max(1.0, np.abs(rhs).max(initial=0.0))):
        raise ValueError("the equations contradict each other: no target vector satisfies them.")
    return _projections.LINEAR, [len(right)], [vt * np.sqrt(weights), right]


def checked_members(members) -> tuple[list[FeasibleSet], int | None]:
    """Return sets as a list, and the number of targets that they have in common."""
    members = list(members)
    if not members or not all(isinstance(m, FeasibleSet) for m in members):
        raise ValueError("members must be a non-empty list of sets from odtlib.constrained.sets.")
    sizes = {m.n_targets for m in members} - {None}
    if len(sizes) > 1:
        raise ValueError(f"the sets are for different numbers of targets: {sorted(sizes)}.")
    return members, sizes.pop() if sizes else None


class Intersection(FeasibleSet):
    """Ask for several sets at once; written ``a & b``.

    Every member is a union of polyhedra, so that the intersection is one too; it may have at most
    4096 of them.

    Parameters
    ----------
    members : sequence of FeasibleSet
        The sets.
    """

    members: list[FeasibleSet]

    def __init__(self, members: Sequence[FeasibleSet]) -> None:
        flat: list[FeasibleSet] = []
        for member in members:
            flat += member.members if isinstance(member, Intersection) else [member]
        self.members, self.n_targets = checked_members(flat)
        if self.n_targets is not None:
            self.pieces(self.n_targets)   # refuses an empty set

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

    def _explain(self, y):
        return next(m.explain(y) for m in self.members if not m.contains(y))
