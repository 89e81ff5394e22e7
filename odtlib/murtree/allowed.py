"""Which splits a tree may have: the features of its root, and those that may share a path.

A path may test the features of one of several sets.  At a node those sets are left that hold all
features above it, and the node may test what is in one of them.  Where every set that is left has
all these columns the node is *free*: the search of MurTree, over these columns, finds its tree.
Elsewhere that search bounds the trees from below, and where its tree keeps to the sets it is the
best.  Else each split is tried, below which fewer sets are left.
"""

from __future__ import annotations

from contextlib import contextmanager
from numbers import Integral
from typing import NamedTuple

import numpy as np

from odtlib.report import Clock, TimeUp

from . import _search as S
from .options import SPLIT_RULES, limits_splits

MOST_BYTES = 2**28      # of the rows of known subproblems
MOST_IN_PAIRS = 500     # features whose pairs are written down
MOST_SETS = 32          # whose trees are looked for alone, so that there is one to beat


class AllowedSplits(NamedTuple):
    """What a tree may test."""

    first: np.ndarray       # (n_columns,) bool: in the root
    sets: np.ndarray        # (n_columns, n_sets) bool: on the paths of each set


class View(NamedTuple):
    """The columns that a node may test."""

    columns: np.ndarray     # in order
    free: bool              # whether nodes below it may test the same
    family: int             # a number for these columns, from one on


class Free(NamedTuple):
    """A tree that the search finds again: that of a free node, by its subproblem and its cost."""

    view: View
    subproblem: tuple       # rows, depth and node budget
    cost: float
    level: int


def allowed_splits(model, search, n_columns, depth):
    """Return what ``search`` allows in the columns of a fit; None where that is everything.

    ``depth`` is that of the deepest tree.
    """
    if not limits_splits(search):
        return None
    if model.max_depth is None and depth > S.MAX_FULL_DEPTH:
        raise ValueError("first_features, not_first_features and interaction_cst need a max_depth; "
                         "give a number.")
    n_features, names = model.n_features_in_, list(getattr(model, "feature_names_in_", ()))
    binarizer = getattr(model, "binarizer_", None)
    feature = (np.arange(n_columns) if binarizer is None
               else np.asarray(getattr(binarizer, "feature_", ())))
    if len(feature) != n_columns:
        raise ValueError("first_features, not_first_features and interaction_cst need a binariser "
                         "that tells which feature a column comes from; give binarizer=\"quantile\""
                         " or another one of odtlib.")

    def member(given, option):
        """Return whether each feature is one of those given."""
        inside = np.zeros(n_features, bool)
        if isinstance(given, str | dict) or not np.iterable(given):
            raise ValueError(f"{option} is a list of sets of features, and {given!r} is no set; "
                             "give lists of names or numbers.")
        for one in given:
            if isinstance(one, str) and one in names:
                one = names.index(one)
            if isinstance(one, bool) or not isinstance(one, Integral) or not 0 <= one < n_features:
                raise ValueError(f"{option} names the feature {one!r}, which X does not have; give "
                                 f"names of its columns, or numbers from 0 to {n_features - 1}.")
            inside[one] = True
        return inside

    first = np.ones(n_features, bool)
    if search.first_features is not None:
        first = member(search.first_features, "first_features")
    if search.not_first_features is not None:
        first &= ~member(search.not_first_features, "not_first_features")
    given, eye = search.interaction_cst, np.eye(n_features, dtype=bool)
    if given is None:
        sets = np.ones((n_features, 1), bool)
    elif given == "no_interactions":
        sets = eye
    elif given == "pairwise":
        if n_features > MOST_IN_PAIRS:
            raise ValueError(f"interaction_cst='pairwise' makes too many sets of {n_features} "
                             f"features; give at most {MOST_IN_PAIRS}, or sets of your own.")
        pairs = np.transpose(np.triu_indices(n_features, min(1, n_features - 1)))
        sets = (eye[:, pairs[:, 0]] | eye[:, pairs[:, 1]])
    else:
        sets = np.column_stack([member(one, "interaction_cst") for one in given])
        sets = np.column_stack([sets, ~sets.any(axis=1)])        # the others together
        inside = sets.T.astype(np.float32) @ ~sets               # of one that another lacks
        larger = (inside == 0) & ((inside.T > 0) | np.tri(len(inside), k=-1, dtype=bool))
        sets = sets[:, sets.any(axis=0) & ~larger.any(axis=1)]   # not those within another
    return AllowedSplits(first[feature], sets[feature])


def keeps_to(allowed, nested, left=True, level=0):
    """Tell whether nested tuples over the columns of ``allowed`` keep to the sets that are left.

    With a threshold behind the column, or without.
    """
    if not isinstance(nested, tuple):
        return True
    column, *children = nested
    left = left & allowed.sets[column]
    return bool((level > 0 or allowed.first[column]) and left.any()) and all(
        keeps_to(allowed, child, left, level + 1) for child in children)


def words_of(search):
    """Return what a proof says of the limits on splits."""
    given = [name for name in SPLIT_RULES if getattr(search, name, None) is not None]
    return f", within {', '.join(given)}" if given else ""


class AllowedSearch:
    """The best trees whose splits are allowed, by a solver for trees of all splits.

    ``clock`` ends it with :class:`~odtlib.report.TimeUp`; ``hear(nested, cost)`` is told of better
    trees over all rows.
    """

    def __init__(self, solver, allowed, clock, hear):
        self.solver, self.clock, self.hear = solver, clock, hear
        self.rows = np.arange(len(solver.problem.bits), dtype=np.int32)
        columns = solver.problem.columns
        self.allowed = AllowedSplits(allowed.first[columns], allowed.sets[columns])
        self.first, self.sets = self.allowed
        self.all_sets = np.ones(self.sets.shape[1], bool)
        self.views, self.families, self.known, self.bytes = {}, {}, {}, 0
        self.bound = 0.0        # what no tree over all rows costs less than

    # Views ------------------------------------------------------------------------------------

    def view(self, left, level):
        """Return the columns that a node may test, given the sets that are left to its path."""
        name = left.tobytes(), level == 0
        if name not in self.views:
            inside = self.sets[:, np.flatnonzero(left)]
            columns = np.flatnonzero(inside.any(axis=1))
            free = bool(inside[columns].all()) and (level > 0 or bool(self.first[columns].all()))
            family = self.families.setdefault(columns.tobytes(), 1 + len(self.families))
            self.views[name] = View(columns, free, family)
        return self.views[name]

    @contextmanager
    def over(self, view):
        """Let the solver see the columns of a view alone."""
        solver = self.solver
        solver.see(view.columns, view.family)
        try:
            yield solver
        finally:
            solver.see(None, 0)

    def splits(self, rows, view, level):
        """Return the columns that may split the rows, the most promising first."""
        with self.over(view) as solver:
            columns = solver.promising_columns(rows, alike=True)
        return columns if level > 0 else columns[self.first[columns]]

    # The best tree ----------------------------------------------------------------------------

    def best(self, rows, depth, nodes, upper, left=None, level=0):
        """Return cost and plan of the best tree below ``upper``; else a bound and None.

        A plan is a leaf, a :class:`Free` tree, or a column and the plans of its sides.
        """
        left = self.all_sets if left is None else left
        depth, nodes = S.limits_of(depth, nodes)
        leaf, label = self.solver._leaf(rows)
        if nodes == 0:
            return leaf, label if leaf < upper else None
        view = self.view(left, level)
        if view.free:
            return self.solved(view, rows, depth, nodes, upper, level)
        name = *self.solver._key(rows).tolist(), depth, nodes, left.tobytes(), level
        bound, plan = self.known.get(name, (0.0, None))
        if plan is not None or bound >= upper:
            return bound, plan if bound < upper else None
        bound, plan = self.solved(view, rows, depth, nodes, upper, level)
        of_splits = self.solver.split_bounds()
        if level == 0 and left.all():
            self.bound = bound
        if plan is not None and not keeps_to(self.allowed, self.built(plan), left, level):
            plan = None
        if plan is None and bound < upper:
            bound, plan = self.best_split(rows, depth, nodes, upper, left, level, of_splits)
            if leaf <= bound and leaf < upper:
                bound, plan = leaf, label
        self.bytes += rows.nbytes + left.nbytes     # which plan and name hold
        if self.bytes > MOST_BYTES:
            self.known, self.bytes = {}, 0
        self.known[name] = bound, plan
        return bound, plan

    def best_split(self, rows, depth, nodes, upper, left, level, of_splits):
        """Return the same of the trees with a split in the root, by trying each; or ``upper``.

        ``of_splits`` is what both sides of each column cost at least.
        """
        cost, plan = upper, None
        if level == 0 and left.sum() > 1:
            for only in np.flatnonzero(left)[:MOST_SETS]:
                alone = self.best(rows, depth, nodes, cost, np.arange(len(left)) == only)
                if alone[1] is not None:
                    cost, plan = alone
                    self.tell(cost, plan)
        penalty, largest = self.solver.penalties[level], 2 ** (depth - 1) - 1
        for column in self.splits(rows, self.view(left, level), level).tolist():
            if penalty + of_splits[column] >= cost:
                continue
            zero, one = self.solver.problem.parts(rows, column)
            below = left & self.sets[column]
            for a in range(max(0, nodes - 1 - largest), min(largest, nodes - 1) + 1):
                self.clock.check()
                cost_1, plan_1 = self.best(one, depth - 1, a, cost - penalty, below, level + 1)
                if plan_1 is None:
                    continue
                cost_0, plan_0 = self.best(zero, depth - 1, nodes - 1 - a, cost - penalty - cost_1,
                                           below, level + 1)
                if plan_0 is not None and penalty + cost_1 + cost_0 < cost:
                    cost, plan = penalty + cost_1 + cost_0, (column, plan_0, plan_1)
                    if level == 0:
                        self.tell(cost, plan)
        return cost, plan

    def solved(self, view, rows, depth, nodes, upper, level):
        """Return cost and plan of the best tree over the columns of a view, or a bound and None."""
        with self.over(view) as solver:
            if not solver.solve(depth, nodes, upper=upper, clock=self.clock, level=level,
                                rows=None if len(rows) == len(self.rows) else rows):
                if view.family == self.view(self.all_sets, 0).family and level == 0:
                    self.bound = max(self.bound, solver.bound())
                raise TimeUp
            value, found = solver.value(), solver.incumbent() < upper
            return value, Free(view, (rows, depth, nodes), value, level) if found else None

    def tell(self, cost, plan):
        """Say that a tree over all rows is better than the ones before."""
        self.hear(self.built(plan), cost)

    def built(self, plan, clock=None):
        """Return the tree of a plan as nested tuples."""
        if isinstance(plan, Free):
            with self.over(plan.view) as solver:
                return solver._subtree(*plan.subproblem, plan.cost, clock or Clock(), None,
                                       plan.level)
        if not isinstance(plan, tuple):
            return plan
        column, *sides = plan
        return column, *(self.built(side, clock) for side in sides)

    def greedy(self, depth, clock, rows=None, left=None, level=0):
        """Grow a tree whose upper splits lead to the best trees of depth two; nested tuples."""
        rows = self.rows if rows is None else rows
        left = self.all_sets if left is None else left
        view, leaf = self.view(left, level), self.solver._leaf(rows)[1]
        if depth == 0 or clock.expired:
            return leaf
        if view.free:
            with self.over(view) as solver:
                return solver.greedy_tree(depth, clock, rows)
        for column in self.splits(rows, view, level)[:1].tolist():
            zero, one = (self.greedy(depth - 1, clock, side, left & self.sets[column], level + 1)
                         for side in self.solver.problem.parts(rows, column))
            return zero if zero == one and not isinstance(zero, tuple) else (column, zero, one)
        return leaf
