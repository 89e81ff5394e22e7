"""Certificates of optimal trees over 0/1 columns: the proof of a search, line by line.

The search is repeated with the bound to prove as its incumbent, so it only has to close splits.  It
leaves a bound on each child of each split; the writer lists those children that bound all others by
similarity, and asks the search, whose cache is full by then, for the proof of each in turn.
Children of depth two are counted by whoever checks the certificate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from odtlib._numba.warm import warm_up
from odtlib.certificate import (
    ANY_DEPTH,
    COUNTED,
    NOTHING,
    VERSION,
    OptimalityCertificate,
    fingerprint,
    unit_of,
    words,
)
from odtlib.report import Clock

from . import _search as S
from ._certificate_kernels import choose_children
from ._objectives import ELEMENT
from .preparation import prepare
from .solver import Solver

MOST_NODES = 64         # of a limit on feature nodes: a line has a bound for each number
COUNTS = {2: np.uint16, 4: np.uint32, 8: np.float64}


class CertifiedMixin:
    """The certificate of a classifier over 0/1 columns."""

    def certificate(self, X: ArrayLike, y: ArrayLike,
                    sample_weight: ArrayLike | None = None) -> OptimalityCertificate:
        """Write down a proof that no tree within the limits is better.

        A program of a page, ``odtbook.check_certificate``, checks it without odtlib.  It proves the
        lower bound of the report, over the 0/1 columns that the fit saw: those of ``X``, or
        ``binarizer_.transform(X)``.  Weights that are no multiples of one power of two are rounded
        down by parts in 1e14 of their sum, and the bound with them.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            The training rows.
        y : array, shape (n_rows,)
            Their labels.
        sample_weight : array, shape (n_rows,), optional
            Their weights.

        Returns
        -------
        OptimalityCertificate
            With ``save(path)``.  Where ``time_limit`` ends the search for the proof, its bound is
            lower than that of the report.

        Raises
        ------
        ValueError
            If these are not the rows of the fit, or the objective has no certificate.
        """
        check_is_fitted(self, "tree_")
        refuse(self)
        self.verify(X, y, sample_weight)
        copied, X, y, weight = self._plain_data(X, y, sample_weight)
        columns = X if copied.binarizer_ is None else copied.binarizer_.transform(X)
        columns = np.ascontiguousarray(columns, dtype=np.uint8)
        wrong = copied.tree_.predict(copied._to_tree_columns(X)) != copied.classes_[y]
        codes = np.unique(y, return_inverse=True)[1].ravel()
        copied._warm_up(X, y, weight)
        warm_up("certificates", choose_children, warm_up_writer)
        return Writer(copied, columns, codes, weight, wrong).certificate()


def refuse(model):
    """Refuse what a certificate does not say yet."""
    given = model.get_params(deep=False)
    for name, kept, instead in (("objective", "errors", "leave it at 'errors'"),
                                ("class_weight", None, "give these weights as sample_weight"),
                                ("max_disparity", None, "leave it at None")):
        if given[name] != kept:
            raise ValueError(f"certificate proves a number of errors, and {name} is "
                             f"{given[name]!r}; {instead}.")
    if model.report_.evaluate.costs is not None:
        raise ValueError("certificate proves a number of errors; fit without costs.")
    if np.ndim(model.split_penalty):
        raise ValueError("certificate needs one split_penalty for all levels; give a number.")


class Writer:
    """Search for a proof, and keep its lines."""

    def __init__(self, model, columns, codes, weight, wrong):
        self.model, self.columns, self.codes = model, columns, codes
        self.given = np.ones(len(codes)) if weight is None else weight
        self.clock = Clock(model.time_limit)
        self.nodes, depth = model._nodes(len(codes)), model._depth_within(len(codes))
        self.limited = self.nodes < 2 ** min(depth, 62) - 1
        self.depth, self.least = min(depth, self.nodes, 62), int(model.min_samples_leaf)
        if self.limited and self.nodes > MOST_NODES:
            raise ValueError(f"certificate writes a bound for each number of feature nodes, and "
                             f"the limits leave {self.nodes}; it takes at most {MOST_NODES}, or "
                             "all of a smaller max_depth.")
        penalty = float(model.split_penalty)
        self.unit, self.row_unit = unit_of(self.given, penalty), unit_of(self.given, 0.0)
        self.row_unit = max(self.unit, self.row_unit)
        self.factor = self.row_unit / self.unit         # of what the search counts in
        self.price = np.floor(penalty / self.unit) / self.factor
        whole = np.floor(self.given / self.row_unit)
        self.problem = prepare(columns, codes, codes.max() + 1,
                               None if np.all(whole == 1) else whole,
                               min_samples_leaf=self.least)
        if codes.max() == 0 and self.least == 1:        # one class: no row matters
            self.problem.rows, self.problem.columns = columns[:0, :0], np.zeros(0, np.int64)
        cost = whole[wrong].sum() + self.price * model.tree_.n_splits
        if model.report_.status != "optimal":
            cost = min(cost, np.floor(model.report_.lower_bound / self.unit) / self.factor)
        self.target = max(0.0, cost - self.problem.offset)
        # Of each line: its tests, the depth that is left, its bounds, its reason, and by how much
        # it falls short of what was wanted, where the time was over.
        self.lines, self.tables, self.known, self.late = [], [], {}, False
        self.n_sizes = max(1, self.nodes) if self.limited else 1

    def certificate(self):
        """Return the certificate."""
        problem, sums = self.problem, np.zeros(int(self.codes.max()) + 1)
        if problem.rows.size and self.depth:
            self.solver = Solver(problem, self.depth, self.nodes, split_penalty=self.price,
                                 min_samples_leaf=self.least)
            self.prove(np.arange(len(problem.rows), dtype=np.int32), (), self.depth,
                       np.full(self.solver.cost.shape[2], self.target), self.nodes, self.nodes)
        else:
            np.add.at(sums, np.repeat(np.arange(len(sums)), problem.class_sizes),
                      problem.weights[:, 0])
            if self.depth:              # nothing to split
                self.tables.append(np.full((len(problem.columns), 2), NOTHING))
            self.add((), self.depth, [sums.sum() - sums.max()] * self.n_sizes,
                     len(self.tables) - 1)      # 0, or COUNTED
        return self.assembled()

    def add(self, path, depth, values, reason, short=0.0):
        """Add a line; return its number."""
        self.lines.append((path, depth, values, reason, short))
        return len(self.lines) - 1

    def listed(self, value, depth, low, high):
        """Return the bounds of lines, given those for the node budgets from low to high."""
        if not self.limited:
            return value[..., high:high + 1].tolist()
        sizes = np.arange(1, self.n_sizes + 1)
        known = (sizes <= high) | (high >= 2**depth - 1)        # there are no larger trees
        return np.where(known, value[..., sizes.clip(low, high)], 0.0).tolist()

    def is_counted(self, value, depth, high):
        """Tell whether bounds follow from depth two and the price of three splits."""
        return depth <= 2 or max(value[3:high + 1], default=0.0) <= 3 * self.price

    def prove(self, rows, path, depth, target, low, high):
        """Prove bounds for the node budgets from ``low`` to ``high``; return the line."""
        high, value, short = min(high, 2**depth - 1), target, 0.0
        if not path or not self.is_counted(target, depth, high):
            value, upper = np.zeros((2, self.solver.cost.shape[2]))
            upper[low:high + 1] = target[low:high + 1]
            if self.solver.solve(depth, high, smallest=low, upper=upper, rows=rows,
                                 clock=self.clock):
                for n in range(low, high + 1):
                    value[n] = min(target[n], self.solver.value(n))
            else:               # nothing is proved when the time is over
                self.late = True
                short = float(target[low:high + 1].max())
        if self.is_counted(value, depth, high):
            return self.add(path, depth, self.listed(value, depth, low, high), COUNTED, short)
        table = self.children(rows, path, depth, value, low, high)
        if self.late:
            fallen = np.array([*(line[4] for line in self.lines), 0.0])
            short = float(fallen[table].sum(axis=1).max(initial=0.0))
        self.tables.append(table)
        return self.add(path, depth, self.listed(np.maximum(value - short, 0.0), depth, low, high),
                        len(self.tables) - 1, short)

    def children(self, rows, path, depth, value, low, high):
        """Prove what the last search found of the children; return which lines bound each."""
        space, state = self.solver.space, self.solver.state[0]
        n, width, first, last = (int(state[name]) for name in (
            S.N_ACTIVE, S.WIDTH, S.CHILD_LOW, S.CHILD_HIGH))
        table = np.full((len(self.problem.columns), 2), NOTHING, np.int32)
        if n == 0:
            return table
        columns, order = space.active[1, :n].copy(), space.order[0, :n].copy()
        counts = space.totals[0].view(COUNTS[ELEMENT[self.problem.kernel]])
        totals = np.zeros((n + 1, n + 1))
        totals[:, :n] = counts[:(n + 1) * width].reshape(n + 1, width)[:, :n]
        totals[n, n] = counts[(n + 1) * width]
        bound = np.stack([space.bound_0[0, :last + 1, :n], space.bound_1[0, :last + 1, :n]])
        leaf = space.leaf_cost[0, :, :n]
        free = np.repeat(np.minimum(leaf, self.price)[:, None], last + 1, axis=1)
        free[:, 0] = leaf
        keys, whole = space.column_keys[0, :len(table)].copy(), space.column_keys[
            0, space.active.shape[1]]
        child_keys = np.stack([whole - keys[columns], keys[columns]]).tolist()
        known, source = self.known.setdefault(depth - 1, {}), np.full((2, n), NOTHING)
        wanted = self.listed(np.moveaxis(bound, 1, 2), depth - 1, max(1, first), last)
        listed = self.recalled(known, child_keys, wanted, depth - 1)
        choose_children(order, totals, low, high, first, last, self.least == 1, self.price, value,
                        bound, free, free.copy(), source, listed)
        lines = np.full((2, n), NOTHING)
        for side, k in np.argwhere(listed).tolist():
            column, key, values = int(columns[k]), child_keys[side][k], wanted[side][k]
            line = known.get(key)
            if line is None or not (depth == 3 or self.covers(line, values)):
                tests = (*path, 2 * column + side)
                if depth == 3:
                    line = self.add(tests, 2, values, COUNTED)
                else:
                    child = rows[self.problem.rows[rows, column] == side]
                    line = self.prove(child, tests, depth - 1, bound[side, :, k], max(1, first),
                                      last)
                known[key] = line
            lines[side, k] = line
        # Of columns that split these rows alike the search had one; the other may have its sides
        # the other way round.
        order = np.argsort(np.minimum(keys[columns], whole - keys[columns]))
        sorted_keys = np.minimum(keys, whole - keys)[columns[order]]
        place = np.searchsorted(sorted_keys, np.minimum(keys, whole - keys)).clip(max=n - 1)
        alike = np.flatnonzero(sorted_keys[place] == np.minimum(keys, whole - keys))
        k = order[place[alike]]
        turned = keys[alike] != keys[columns[k]]
        for side in range(2):
            refers = source[np.where(turned, 1 - side, side), k]
            table[alike, side] = np.where(refers < 0, NOTHING, lines[refers % 2, refers // 2])
        return table

    def covers(self, line, values):
        """Tell whether a line has such bounds."""
        return all(has >= want for has, want in zip(self.lines[line][2], values))

    def recalled(self, known, keys, wanted, depth):
        """Return which children are lines already; of depth two they get the better bounds."""
        listed = np.zeros((2, len(keys[0])), bool)
        for side in range(2) if known else ():
            for k, key in enumerate(keys[side]):
                line = known.get(key)
                if line is None:
                    continue
                if depth == 2:
                    self.lines[line][2][:] = map(max, self.lines[line][2], wanted[side][k])
                    listed[side, k] = True
                else:
                    listed[side, k] = self.covers(line, wanted[side][k])
        return listed

    def assembled(self):
        """Return the certificate, of the lines as they are now."""
        problem, model = self.problem, self.model
        paths, depths, bounds, reasons, _ = zip(*self.lines)
        bound = np.rint(np.array(bounds) * self.factor).astype(np.int64)
        tests = np.fromiter((test for path in paths for test in path), np.int64)
        value = self.unit * float(self.factor * problem.offset + bound[-1, -1])
        max_depth = ANY_DEPTH if model.max_depth is None else min(int(model.max_depth), ANY_DEPTH)
        penalty = float(model.split_penalty)
        claim = words(max_depth, self.nodes if self.limited else None, self.least, penalty,
                      self.columns, self.given, value)
        return OptimalityCertificate({
            "version": np.array(VERSION), "claim": np.array(claim), "unit": np.array(self.unit),
            "fingerprint": fingerprint(self.columns, self.codes, self.given),
            "split_penalty": np.array(penalty),
            "limits": np.array([max_depth, self.nodes, self.least]),
            "start": np.cumsum([0, *map(len, paths)]),
            "tests": (2 * problem.columns[tests // 2] + tests % 2).astype(np.int32),
            "depth": np.array(depths, np.int16), "bound": bound,
            "table": np.array(reasons, np.int32),
            "reference": np.array(self.tables, np.int32).reshape(
                len(self.tables), len(problem.columns), 2),
        }, value)


def warm_up_writer():
    """Compile the kernel of the writer."""
    two, numbers = np.zeros((2, 1, 1)), np.zeros((2, 1), np.int64)
    choose_children(np.zeros(1, np.int64), np.zeros((2, 2)), 0, 0, 0, 0, True, 0.0, np.zeros(1),
                    two, two, two, numbers, np.zeros((2, 1), bool))
