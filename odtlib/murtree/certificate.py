"""How the search over 0/1 columns looks for the lines of a certificate.

One solver answers for all sets of rows, so that its cache serves them all.
"""

from __future__ import annotations

import numpy as np

from odtlib.certificate import CertifiedMixin, unit_of
from odtlib.tolerance import ROUNDING

from . import _search as S
from .additive import AdditiveSolver
from .objectives.additive import FittedObjective
from .objectives.squared_error import SquaredError
from .options import limits_splits
from .preparation import prepare
from .solver import Solver


class CertifiedColumns(CertifiedMixin):
    """The certificate of an estimator over 0/1 columns."""

    def _certified_columns(self, X):
        if limits_splits(self.search):
            raise ValueError("certificate has no proof for limits on splits; it proves what holds "
                             "for all trees.")
        return X if self.binarizer_ is None else self.binarizer_.transform(self._named(X))

    def _certified_objective(self, X, y, weight):
        chosen = self._certified_loss(y)
        return chosen and FittedObjective(chosen, X, y, weight,
                                          getattr(self, "feature_names_in_", None))

    def _proof_solver(self, data, columns, options):
        """Return the solver over some columns, what a cost of one is, and its rounding."""
        if data.fitted or data.sums:
            fitted, unit = data.fitted, data.unit
            if data.sums:
                fitted, unit = FittedObjective(SquaredError(), columns, data.label,
                                               data.item_weight), 1.0
            solver = AdditiveSolver(fitted.prepared(columns, min_samples_leaf=data.least), *options,
                                    split_penalty=data.price * unit, min_samples_leaf=data.least)
            return solver, 1 / unit, 4 * ROUNDING * fitted.scale / unit + 8 * data.slop + 8
        factor = unit_of(data.item_weight, 0.0)     # small numbers make a fast search
        weight = data.item_weight / factor
        problem = prepare(columns, data.label, data.n_sums,
                          None if np.all(weight == 1) else weight, min_samples_leaf=data.least)
        return Solver(problem, *options, split_penalty=data.price / factor,
                      min_samples_leaf=data.least), factor, -data.spare

    def _proof_search(self, data, depth, nodes, clock):
        columns = np.ascontiguousarray(data.x[data.member], np.uint8)
        if columns.size == 0:
            return None
        solver, factor, margin = self._proof_solver(data, columns, (depth, nodes))
        problem = solver.problem
        index_of_row = {row.tobytes(): index for index, row in enumerate(
            np.packbits(data.x[:, problem.columns], axis=1))}
        member = np.array([index_of_row[row.tobytes()]
                           for row in np.packbits(problem.rows, axis=1)])

        def best(mask, depth, sizes, upper):
            rows = np.flatnonzero(mask[member]).astype(np.int32)
            above, lost = np.zeros(solver.cost.shape[2]), data.within[mask].sum() - margin
            np.maximum.at(above, sizes, (upper - lost) / factor)
            if not solver.solve(depth, int(sizes[-1]), smallest=int(sizes[0]), upper=above,
                                rows=rows, clock=clock):
                return np.zeros(len(sizes)), None
            bound, state = np.floor(solver.cost[0, S.VALUE, sizes] * factor + lost), solver.state[0]
            n, low, high = state[S.N_ACTIVE], state[S.CHILD_LOW], state[S.CHILD_HIGH]
            if depth <= 2 or n == 0 or state[S.POSITION] == 0:
                return bound, None
            # What the search found of both sides of each split, for each size.
            levels, active_columns = solver.levels, problem.columns[solver.levels.active[1, :n]]
            least, hints = (0.0, 0.0), np.zeros((2, data.x.shape[1], len(sizes) + 1))
            if data.sums or data.fitted:
                one = data.within[mask] @ data.x[mask][:, active_columns] - margin
                least = lost - one - margin, one
            for a in range(1, len(sizes) + 1):
                size = min(a, high) if len(sizes) > 1 else high
                if size >= low and (a <= high or high >= 2 ** (depth - 1) - 1):
                    for side, cost in enumerate(levels.bound[0]):
                        hints[side, active_columns, a] = np.maximum(0, np.floor(
                            cost[size, :n] * factor + least[side]))
            others = np.ones(data.x.shape[1], bool)
            others[active_columns] = False
            order = np.append(active_columns[levels.order[0, :n]], np.flatnonzero(others))
            return bound, (order, hints)

        return best
