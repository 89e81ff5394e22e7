"""Sets with alternatives: unions, indicators, implications, constraints with binaries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from odtlib.arrays import distinct_rows, given_numbers
from odtlib.constrained.sets.base import MAX_PIECES, FeasibleSet, Piece, checked_members
from odtlib.constrained.sets.shapes import Box, Polyhedron, bounds, system


def _are_targets(named, n_targets):
    return all(isinstance(j, Integral) and 0 <= j < n_targets for j in named)


class UnionOf(FeasibleSet):
    """Allow a vector that satisfies any one of several sets.

    Parameters
    ----------
    members : sequence of FeasibleSet
        The alternatives.
    """

    def __init__(self, members: Sequence[FeasibleSet]) -> None:
        self.members, self.n_targets = checked_members(members)

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

    def __init__(self, flag: int, amount: int, lower: float = 0.0, upper: float = np.inf,
                 n_targets: int = 2) -> None:
        if not _are_targets([flag, amount], n_targets) or flag == amount:
            raise ValueError(f"flag and amount must be two different targets among "
                             f"0..{n_targets - 1}, got {flag!r} and {amount!r}.")
        self.flag, self.amount, self.lower, self.upper = flag, amount, float(lower), float(upper)
        off_low, off_high = np.full(n_targets, -np.inf), np.full(n_targets, np.inf)
        on_low, on_high = off_low.copy(), off_high.copy()
        off_low[[flag, amount]] = off_high[[flag, amount]] = 0.0
        on_low[[flag, amount]], on_high[[flag, amount]] = (1.0, lower), (1.0, upper)
        super().__init__([Box(off_low, off_high), Box(on_low, on_high)])

    def _explain(self, y):
        return (f"flag {y[self.flag]:.6g} (target {self.flag}) does not go with amount "
                f"{y[self.amount]:.6g} (target {self.amount})")


class Implication(UnionOf):
    """If a weighted sum of targets is below a threshold, other targets must be zero.

    Parameters
    ----------
    below : tuple (dict, float)
        Coefficients by target, and the threshold: ``({1: 1.0, 2: 1.0}, 110)`` reads "if
        y_1 + y_2 < 110".  The set is closed: at the threshold itself nothing is required.
    then_zero : sequence of int
        Targets that must then be zero.
    n_targets : int
        Number of targets.
    """

    def __init__(self, below: tuple[dict[int, float], float], then_zero: Sequence[int],
                 n_targets: int) -> None:
        named = dict(below[0])
        *numbers, threshold = given_numbers("below", [*named.values(), below[1]]).tolist()
        coefficients = dict(zip(named, numbers))
        self.below, self.then_zero = (coefficients, threshold), sorted(then_zero)
        named = [*coefficients, *self.then_zero]
        if not coefficients or not self.then_zero or not _are_targets(named, n_targets):
            raise ValueError(f"below and then_zero must name targets among 0..{n_targets - 1}.")
        row = np.array([coefficients.get(j, 0.0) for j in range(n_targets)])
        zero = np.isin(np.arange(n_targets), self.then_zero)
        super().__init__([Polyhedron(-row, -threshold),
                          Box(np.where(zero, 0.0, -np.inf), np.where(zero, 0.0, np.inf))])

    def _explain(self, y):
        coefficients, threshold = self.below
        left = sum(a * y[j] for j, a in coefficients.items())
        nonzero = [j for j in self.then_zero if y[j] != 0]
        return (f"the sum over targets {sorted(coefficients)} is {left:.6g}, below "
                f"{threshold:g}, but target {nonzero[0]} is {y[nonzero[0]]:.6g}, not 0")


class MixedBinary(FeasibleSet):
    """Linear constraints over targets and binaries: some z in {0, 1} with ``A y + B z <= b``.

    Every pattern of the binaries leaves a polyhedron.  All are enumerated, empty and contained ones
    dropped, and each projection is exact.  For more than 12 binaries, see :class:`Custom`.

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

    def __init__(self, A: ArrayLike, B: ArrayLike, b: float | ArrayLike,
                 A_eq: ArrayLike | None = None, B_eq: ArrayLike | None = None,
                 b_eq: float | ArrayLike | None = None, lower: float | ArrayLike = -np.inf,
                 upper: float | ArrayLike = np.inf) -> None:
        self.A, self.b = system(A, b)
        self.B = np.atleast_2d(given_numbers("B", B))
        self.n_targets = self.A.shape[1]
        if self.B.ndim != 2 or len(self.B) != len(self.A) or self.B.shape[1] == 0:
            raise ValueError(f"B must have one row for each of the {len(self.A)} rows of A and one "
                             f"column per binary, got shape {self.B.shape}.")
        self.A_eq, self.b_eq = system(A_eq, b_eq, self.n_targets)
        self.B_eq, _ = system(B_eq, 0.0, self.B.shape[1])
        if self.B_eq.shape != (len(self.A_eq), self.B.shape[1]):
            raise ValueError("A_eq, B_eq and b_eq must have one row per equation, and B_eq one "
                             "column per binary.")
        if 2 ** self.n_binaries > MAX_PIECES:
            raise ValueError(f"{self.n_binaries} binaries have more than {MAX_PIECES} patterns; "
                             "state the set with at most 12, or give the projection yourself: "
                             "sets.Custom.")
        self.lower, self.upper, _ = bounds(lower, upper, self.n_targets)
        self.pieces(self.n_targets)   # refuses an empty set

    @property
    def n_binaries(self) -> int:
        """Number of binaries."""
        return self.B.shape[1]

    def _pieces(self, n_targets):
        patterns = np.array(list(itertools.product((0.0, 1.0), repeat=self.n_binaries)))
        rhs, equal_rhs = self.b - patterns @ self.B.T, self.b_eq - patterns @ self.B_eq.T
        both = distinct_rows(np.hstack([equal_rhs, rhs]))[0]
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
