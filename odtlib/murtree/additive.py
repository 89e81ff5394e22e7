"""The search on sums, and one fit of any objective that is one."""

from __future__ import annotations

from copy import copy
from math import fsum

import numpy as np

from odtlib.heuristics.start import checked_start
from odtlib.tolerance import ROUNDING
from odtlib.tree import LEAF, DecisionTree, in_preorder
from odtlib.trees import build_plan, class_weights, cut_back, plan_of

from . import _search as S
from ._sums import BOUND
from .options import DEFAULT
from .run import Run
from .solver import Solver


def check_search(search, who):
    """Refuse options of the search that work on counts of classes alone."""
    for name, value in (("cache", "closure"), ("merge_rows", False), ("deepening", True),
                        ("discrepancy_search", True)):
        if getattr(search, name) == value:
            raise ValueError(f"search has {name}={value!r}, which {who} does not have; choose "
                             "another value.")


def splits_of(subtree, columns):
    """Return nested tuples as a plan, over the features that the columns stand for."""
    if not isinstance(subtree, tuple):
        return None
    return int(columns[subtree[0]]), 0.5, *(splits_of(side, columns) for side in subtree[1:])


class AdditiveSolver(Solver):
    """The search of MurTree on sums of numbers; see :class:`odtlib.murtree.solver.Solver`."""

    def __init__(self, problem, max_depth, max_nodes, *, search=None, **options):
        sums, search = problem.sums, DEFAULT if search is None else search
        search = copy(search)
        if sums.uneven or not sums.kernels[2]:      # what rows cost at the most is a plain sum
            search.similarity_bound = False
        if sums.loses:
            search.specialised_depth_two = False
        super().__init__(problem, max_depth, max_nodes, search=search, **options)
        if not self.control[S.SIMILARITY]:
            self.space.shape[BOUND] = self.control[S.SPLITS_PAY] = 0
        self.least = 0.0 if sums.loses else problem.least
        self.rounding = ROUNDING * problem.scale
        self.seconds_per_pair *= 2

    def solve(self, depth, nodes, *, lower=None, rows=None, **options):
        """Find the best trees with cost below ``upper``; see the solver of classification."""
        if lower is None:
            lower = self.rounding + (self.least if rows is None else 0.0)
        return super().solve(depth, nodes, lower=lower, rows=rows, **options)

    def bound(self):
        """Return a lower bound for the largest budget; see the solver of classification."""
        bound = super().bound()          # of an open search perhaps where a tree would end it
        return bound if self.control[S.MODE] == S.DONE else max(0.0, bound - self.rounding)

    @property
    def amounts(self):
        """What the leaves of CART should be pure in: the numbers of the objective."""
        return self.problem.sums.numbers(self.problem.weights)

    @property
    def impurity(self):
        """What leaves cost by the objective, beside what their rows cost anyway."""
        return self.problem.sums.costs

    def _leaf(self, rows):
        return self.problem.sums.leaf(rows)


class AdditiveRun(Run):
    """One fit of an objective; ``fitted`` is the objective on the rows."""

    solver_type = AdditiveSolver

    def __init__(self, fitted, model, rows, clock, search, *, fit=None, **options):
        self.fitted, self.costs = fitted, {}
        if fit is None:
            clock.leave_out(fitted.compile_seconds)
        super().__init__(model, rows, clock, search, fit=fit, **options)
        self.fit.floor = fitted.constant

    def prepared(self):
        """Return the reduced problem."""
        return self.rows.problem or self.fitted.prepared(
            self.columns, min_samples_leaf=self.model.min_samples_leaf,
            merge_columns=self.merges_columns, clock=self.clock)

    def begin_from(self, tree):
        """As in the base class; a search knows the costs of its own trees."""
        super().begin_from(self.refitted(tree))

    def started(self, start):
        """Return the tree that a start gives, with the values of the rows."""
        if not isinstance(start, str):
            return checked_start(start, self.kind, self.columns, self.depth,
                                 self.model.min_samples_leaf, self.refitted)
        if start == "local-search":
            return self.refitted(super().started(start))
        rows = np.arange(len(self.problem.bits))
        return self.checked(self.solver.cart(rows, self.safe_depth, self.nodes, self.clock), np.inf)

    @property
    def kind(self):
        """Of the trees."""
        return "classification" if hasattr(self.model, "classes_") else "regression"

    def refitted(self, tree):
        """Give every node of a tree the value of its rows; drop splits as :meth:`valued` does."""
        return self.valued(plan_of(tree))

    def valued(self, plan):
        """Return the tree of a plan, without splits that none or too little comes from."""
        tree, cost = self.with_values(plan)
        self.costs[tree] = cost
        return tree

    def with_values(self, plan, *, drops=True):
        """Return the same and what it costs; with ``drops=False`` only empty splits are dropped."""
        feature, threshold, *children, members = build_plan(plan, self.columns)
        left, right = np.array(children, int)
        costs, values = self.fitted.leaves(members)
        least, penalty = list(costs), self.split_penalty
        for node in reversed(range(len(members))):       # children stand behind their parent
            if feature[node] >= 0 and drops:
                below = least[left[node]] + least[right[node]] + penalty
                if below < least[node] - self.solver.rounding:
                    least[node] = below
                else:
                    feature[node] = LEAF
        kept, left, right = in_preorder(feature >= 0, left, right)
        options = {"kind": self.kind, "n_features": self.columns.shape[1]}
        values = np.array(values)[kept]
        if self.kind == "classification":
            label = values[:, 0] if self.fitted.predicts else None
            values = class_weights([members[node] for node in kept], self.y,
                                   len(self.model.classes_), self.sample_weight)
            options["label"] = label
        tree = DecisionTree(feature[kept], threshold[kept], left, right, values, **options)
        return tree, fsum([self.fitted.constant, penalty * tree.n_splits,
                           *(costs[node] for node in kept if feature[node] < 0)])

    def within_budget(self, tree):
        """As in the base class; nodes cost what the objective says."""
        if tree.n_splits <= self.most_nodes:
            return tree
        members = build_plan(plan_of(tree), self.columns)[-1]
        return self.refitted(cut_back(tree, self.most_nodes, self.split_penalty,
                                      self.fitted.leaves(members)[0]))

    def cost(self, tree):
        """Return the objective of a tree."""
        return self.costs[tree]

    def over_columns(self, nested):
        """As in the base class."""
        return self.valued(splits_of(nested, self.problem.columns))

    def checked(self, nested, claim):
        """As in the base class; beside what every tree costs the last digits may be lost."""
        return super().checked(nested, claim + 4 * np.finfo(float).eps * abs(self.fitted.constant))

    def as_written(self, nested):
        """As in the base class."""
        return self.with_values(splits_of(nested, self.problem.columns), drops=False)[0]
