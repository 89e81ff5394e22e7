"""The best prediction of a group of rows under each loss, with and without constraints.

Squared error needs the projection of the mean alone.  Absolute error and Poisson deviance have
closed forms on boxes (and on ``AtMostKNonzero`` and ``Simplex``); on other unions of polyhedra they
are solved piece by piece: absolute error by a linear program, Poisson deviance by Newton steps,
each of them a weighted projection.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from odtlib.constrained import _projections
from odtlib.constrained.sets import Piece, Simplex
from odtlib.tolerance import ROUNDING


def huber_points(means, feasible, strength, weights):
    """Return the minimisers of squared error plus ``strength`` times the distance, per row."""
    nearest, distance = feasible.project(means, weights), feasible.distance(means, weights)
    near = distance <= 0.5 * strength
    share = 0.5 * strength / np.where(near, 1.0, distance)
    return np.where(near[:, None], nearest, means + share[:, None] * (nearest - means))


class SquaredError:
    """Weighted squared error, summed over targets."""

    name = "squared_error"

    def __init__(self, weights):
        self.weights = weights

    def row_constant(self, Y):
        """What each row adds to the total of squares."""
        return (self.weights * Y**2).sum(axis=1)

    def center(self, Y, w):
        """Best prediction without constraints."""
        return w @ Y / w.sum()

    def best(self, Y, w, feasible):
        """Best feasible prediction."""
        return feasible.project(self.center(Y, w), self.weights)

    def nearest(self, y, feasible):
        """Feasible prediction nearest to one vector."""
        return feasible.project(y, self.weights)

    def cost(self, Y, w, y):
        """Loss of predicting ``y``, one vector for all rows or one for each."""
        return float(w @ (self.weights * (Y - y) ** 2).sum(axis=1))

    def medoid(self, Y, w, candidates):
        """The candidate row that predicts the others best; the first of equals."""
        center = self.center(Y, w)
        return candidates[_first_of_least((self.weights * (candidates - center) ** 2).sum(axis=1))]

    def check(self, Y, given, feasible):
        """Refuse what this loss cannot do; ``given`` are the targets before any was projected."""


class AbsoluteError(SquaredError):
    """Weighted absolute error, summed over targets."""

    name = "absolute_error"

    def row_constant(self, Y):
        return np.zeros(len(Y))

    def center(self, Y, w):
        return np.array([_Curve(y, w, 1.0).median for y in Y.T])

    def cost(self, Y, w, y):
        return float(w @ (self.weights * np.abs(Y - y)).sum(axis=1))

    def medoid(self, Y, w, candidates):
        total = sum(_Curve(y, w, a).value(c) for y, a, c in
                    zip(Y.T, self.weights, candidates.T, strict=True))
        return candidates[_first_of_least(total)]

    def best(self, Y, w, feasible):
        w = w / w.sum()             # the linear program's tolerances are not relative
        curves = [_Curve(y, w, a) for y, a in zip(Y.T, self.weights, strict=True)]
        code = feasible.encode(len(curves), np.ones(len(curves)))
        if code is not None and code[0] == _projections.SEPARABLE:
            return _separable_median(curves, code)
        best, point = np.inf, None
        pieces = feasible.pieces(len(curves))
        medians = np.array([c.median for c in curves])
        clipped = [np.clip(medians, p.lower, p.upper) for p in pieces]
        bounds = [sum(c.value(v) for c, v in zip(curves, y, strict=True)) for y in clipped]
        for r in np.argsort(bounds, kind="stable"):
            if bounds[r] >= best:
                break
            value, y = (bounds[r], clipped[r]) if pieces[r].is_box() else \
                _least_absolute(curves, pieces[r])
            if value < best:
                best, point = value, y
        return point

    def check(self, Y, given, feasible):
        k = Y.shape[1]
        code = feasible.encode(k, np.ones(k))
        if (code is None or code[0] != _projections.SEPARABLE) and feasible.pieces(k) is None:
            raise ValueError(f"absolute error needs a set that is a union of at most 4096 "
                             f"polyhedra, and {feasible} is not; use criterion='squared_error'.")


class PoissonDeviance(SquaredError):
    """Weighted half Poisson deviance, summed over targets; targets must not be negative."""

    name = "poisson"

    def row_constant(self, Y):
        return -_poisson(Y, Y)

    def cost(self, Y, w, y):
        return float(w @ (self.row_constant(Y) + _poisson(Y, y)))

    def medoid(self, Y, w, candidates):
        return candidates[_first_of_least(_poisson(w @ Y / w.sum(), candidates))]

    def nearest(self, y, feasible):
        return self.best(y[None], np.ones(1), feasible)     # a projection may be negative

    def best(self, Y, w, feasible):
        mean = w @ Y / w.sum()
        if isinstance(feasible, Simplex):
            return feasible.total * mean / mean.sum() if mean.sum() > 0 else \
                feasible.project(mean)
        options = []
        for piece in feasible.pieces(len(mean)):
            y = np.clip(mean, piece.lower, piece.upper) if piece.is_box() else \
                _poisson_newton(mean, piece)
            if y is not None:
                options.append((_poisson(mean, y), y))
        return min(options, key=lambda pair: pair[0])[1]

    def check(self, Y, given, feasible):
        k = Y.shape[1]
        least = np.minimum(Y, given).min(axis=1)
        if np.any(least < 0):
            raise ValueError("Poisson deviance needs targets >= 0; "
                             f"row {int(np.argmin(least))} has {least.min():g}.")
        if isinstance(feasible, Simplex):
            if feasible.total == 0 and np.any(Y > 0):
                raise ValueError(f"Poisson deviance is infinite: {feasible} forces zeros where "
                                 "targets are positive; use criterion='squared_error'.")
            return
        pieces = feasible.pieces(k)
        if pieces is None:
            raise ValueError(f"Poisson deviance needs a set that is a union of at most 4096 "
                             f"polyhedra, and {feasible} is not; use criterion='squared_error'.")
        used = Y.max(axis=0) > 0
        if not any(_positive_piece(p, used) is not None for p in pieces):
            raise ValueError(
                f"Poisson deviance is infinite: {feasible} forces targets to zero whose data are "
                "positive, and a zero prediction of a positive count has infinite deviance; use "
                "criterion='squared_error', or a set with a small positive lower bound.")


def _poisson(counts, y):
    """Return the sum over targets of ``y - counts log y``: ``y`` where there are none.

    It is infinite where ``y`` is negative.
    """
    positive = counts > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(positive, counts * np.log(np.where(positive, y, 1.0)), 0.0)
    return np.where(y < 0, np.inf, y - part).sum(axis=-1)


def _first_of_least(costs):
    """Return the position of the least cost, the first of those that rounding alone tells apart."""
    least = costs.min()
    return int(np.argmax(costs <= least + ROUNDING * abs(least)))


class _Curve:
    """The convex piecewise linear function F(v) = a sum_i w_i |y_i - v| of one target."""

    def __init__(self, y, w, a):
        order = np.argsort(y, kind="stable")
        self.y, w = y[order], a * w[order]
        self.weight = np.concatenate([[0.0], np.cumsum(w)])
        self.sum = np.concatenate([[0.0], np.cumsum(w * self.y)])
        half = 0.5 * self.weight[-1]
        tolerance = 1e-12 * half
        low = np.searchsorted(self.weight[1:], half - tolerance)
        high = np.searchsorted(self.weight[1:], half + tolerance)
        self.median = 0.5 * (self.y[low] + self.y[min(high, len(y) - 1)])

    def value(self, v):
        i = np.searchsorted(self.y, v, side="right")
        return v * (2 * self.weight[i] - self.weight[-1]) + self.sum[-1] - 2 * self.sum[i]

    def segments(self):
        """Return lengths and slopes; the first segment goes down from the first breakpoint."""
        last = np.flatnonzero(np.append(np.diff(self.y) > 0, True))   # row at each breakpoint
        slopes = 2 * np.append(0.0, self.weight[last + 1]) - self.weight[-1]
        return np.r_[-np.inf, np.diff(self.y[last]), np.inf], slopes


def _separable_median(curves, code):
    _, ints, floats = code
    k = len(curves)
    y = np.clip([c.median for c in curves], floats[:k], floats[k:])
    if ints[1]:
        gains = np.array([c.value(0.0) - c.value(v) for c, v in zip(curves, y, strict=True)])
        keep = np.argsort(-gains, kind="stable")[:ints[0]]
        y = np.where(np.isin(np.arange(k), keep) & (gains > 0), y, 0.0)
    return y


def _least_absolute(curves, piece):
    """Minimise a sum of curves over a polyhedron by a linear program."""
    # A target is its first breakpoint plus a step per segment; slopes grow, which keeps the order.
    from scipy.optimize import linprog
    k = len(curves)
    first = np.array([c.y[0] for c in curves])
    segments = [c.segments() for c in curves]
    lengths, slopes = (np.concatenate(part) for part in zip(*segments, strict=True))
    owner = np.repeat(np.arange(k), [len(length) for length, _ in segments])
    target = csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))))
    high, low = np.isfinite(piece.upper), np.isfinite(piece.lower)
    rows = np.vstack([piece.rows, np.eye(k)[high], -np.eye(k)[low]])
    rhs = np.concatenate([piece.rhs, piece.upper[high], -piece.lower[low]])
    result = linprog(
        slopes, A_ub=csr_array(rows) @ target, b_ub=rhs - rows @ first,
        A_eq=csr_array(piece.equal) @ target, b_eq=piece.equal_rhs - piece.equal @ first,
        bounds=np.c_[np.minimum(lengths, 0.0), np.maximum(lengths, 0.0)], method="highs")
    if result.status != 0:
        raise RuntimeError(f"HiGHS ended with: {result.message}")
    y = np.clip(first + target @ result.x, piece.lower, piece.upper)
    return sum(c.value(v) for c, v in zip(curves, y, strict=True)), y


def _positive_piece(piece, used):
    """The part of a piece where the used targets are positive, None if there is none."""
    floor = 1e-6 * max(1.0, np.abs(piece.rhs).max(initial=0.0),
                       np.abs(piece.equal_rhs).max(initial=0.0))
    k = len(used)
    part = (piece & Piece.make(k, lower=np.where(used, floor, 0.0))).tightened()
    return part if part is not None and (part.is_box() or not part.is_empty()) else None


def _poisson_newton(mean, piece):
    """Minimise sum y - mean log y over a polyhedron; every step is a weighted projection."""
    used = mean > 0
    piece = _positive_piece(piece, used)
    if piece is None:
        return None
    scale = max(1.0, mean.max())
    room = _projections.make_room(len(mean), len(piece.kernel_rows(np.ones_like(mean))[1]))

    def value(y):
        return np.sum(y) - np.sum(mean[used] * np.log(y[used]))

    def project(y, weights):
        out = np.empty_like(y)
        rows, rhs, n_equal = piece.kernel_rows(weights)
        root = np.sqrt(weights)
        _projections.polyhedron(rows.ravel(), rhs, n_equal, y * root, np.inf, room, out)
        return np.clip(out / root, piece.lower, piece.upper)

    y = project(np.maximum(mean, 1e-3 * scale), np.ones(len(mean)))
    for _ in range(200):
        slope = 1.0 - np.divide(mean, y, out=np.zeros_like(y), where=used)
        curvature = np.divide(mean, y**2, out=np.zeros_like(y), where=used)
        curvature = np.maximum(curvature, 1e-8 * max(curvature.max(), 1.0 / scale))
        step = project(y - slope / curvature, curvature) - y
        decrease = slope @ step
        if decrease > -1e-13 * scale:
            break
        length = 1.0
        while length > 1e-12:
            new = y + length * step
            if np.all(new[used] > 0) and value(new) <= value(y) + 1e-4 * length * decrease:
                break
            length *= 0.5
        y = y + length * step
    return y


LOSSES = {loss.name: loss for loss in (SquaredError, AbsoluteError, PoissonDeviance)}
