"""How the search over 0/1 columns looks for the lines of a certificate.

One solver answers for all sets of rows, so that its cache serves them all.
"""

from __future__ import annotations

import numpy as np

from odtlib.certificate import CertifiedMixin, unit_of

from . import _search as S
from .preparation import prepare
from .solver import Solver


class CertifiedColumns(CertifiedMixin):
    """The certificate of an estimator over 0/1 columns."""

    def _certified_columns(self, X):
        return X if self.binarizer_ is None else self.binarizer_.transform(X)

    def _proof_solver(self, data, columns, weight, options):
        """Return the solver over some columns, what a cost of one is, and its rounding."""
        factor = unit_of(data.item_weight, 0.0)     # small numbers make a fast search
        weight = weight / factor
        problem = prepare(columns, data.label, data.rule[1],
                          None if np.all(weight == 1) else weight, min_samples_leaf=data.least)
        return Solver(problem, *options, split_penalty=data.price / factor,
                      min_samples_leaf=data.least), factor, 0.0

    def _proof_search(self, data, depth, nodes, clock):
        columns = np.ascontiguousarray(data.x[data.member], np.uint8)
        if columns.size == 0:
            return None
        solver, factor, margin = self._proof_solver(
            data, columns, data.item_weight, (depth, nodes))
        problem = solver.problem
        place = {row.tobytes(): number for number, row in enumerate(
            np.packbits(data.x[:, problem.columns], axis=1))}
        member = np.array([place[row.tobytes()] for row in np.packbits(problem.rows, axis=1)])
        within = data.within()

        def best(mask, depth, sizes, upper):
            rows = np.flatnonzero(mask[member]).astype(np.int32)
            above, lost = np.zeros(solver.cost.shape[2]), within[mask].sum() - margin
            for n, most in zip(sizes.tolist(), upper.tolist(), strict=True):
                above[n] = max(above[n], (most - lost) / factor)
            if not solver.solve(depth, int(sizes.max()), smallest=int(sizes.min()), upper=above,
                                rows=rows, clock=clock):
                return np.zeros(len(sizes)), None
            bound = np.array([solver.value(n) for n in sizes.tolist()])
            bound = np.floor(bound * factor + lost)
            n, low, high = (int(solver.state[0, name]) for name in (
                S.N_ACTIVE, S.CHILD_LOW, S.CHILD_HIGH))
            if depth <= 2 or n == 0 or solver.state[0, S.POSITION] == 0:
                return bound, None
            # What the search found of both sides of each split, for each size.
            space, at = solver.space, problem.columns[solver.space.active[1, :n]]
            order = at[space.order[0, :n]]
            one = within[mask] @ data.x[mask][:, at] - margin if data.sums else 0.0
            hints = np.zeros((2, data.x.shape[1], len(sizes) + 1))
            for a in range(1, len(sizes) + 1):
                size = min(a, high) if len(sizes) > 1 else high
                if size >= low and (a <= high or high >= 2 ** (depth - 1) - 1):
                    for side, cost, least in ((0, space.bound_0, lost - one - margin),
                                              (1, space.bound_1, one)):
                        hints[side, at, a] = np.maximum(0, np.floor(
                            cost[0, size, :n] * factor + least))
            others = np.ones(data.x.shape[1], bool)
            others[at] = False
            return bound, (np.concatenate([order, np.flatnonzero(others)]), hints)

        return best
