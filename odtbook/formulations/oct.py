"""Optimal classification trees (OCT) of Bertsimas and Dunn (2017), univariate."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from odtbook.formulations.model import Model
from odtbook.formulations.program import Formulation, ProgramClassifier, add_terms
from odtlib.column_generation.units import MAX_WHOLE_SUM
from odtlib.tree import DecisionTree, midpoint
from odtlib.trees import lower_hull

BudgetEntry = namedtuple("BudgetEntry", "max_nodes objective status tree")


class OCTModel:
    """Build OCT as a mixed-integer program.

    Nodes are numbered level by level from 0, leaves from left to right.  Features enter as ranks,
    spread over the whole numbers 0 ... S, where S + 1 is the largest number of values of a
    feature: no two values of a feature then share a number, neighbours lie at least 1 apart, and
    thresholds can be whole.

    Parameters
    ----------
    X : array of float, shape (n_rows, n_features)
        Rows.
    y : array of int, shape (n_rows,)
        Class indices.
    n_classes : int
        Number of classes.
    weight : array of float, shape (n_rows,)
        Weight of every row.
    depth : int
        Depth of the tree, at least 1.
    min_samples_leaf : int, default=1
        Minimum number of rows in a leaf that is used.
    split_penalty : float, default=0.0
        Cost of a split, in units of misclassified weight.
    max_splits : int, optional
        Maximum number of splits.
    constraint_form : {"per_node", "per_leaf"}, default="per_node"
        As for :class:`OCTClassifier`.
    repaired : bool, default=True
        Whether nodes without a split send their rows right; the usual form leaves this out.

    Attributes
    ----------
    model : Model
        The program: ``a`` (feature of a node), ``d`` (node is split), ``b`` (threshold), ``z``
        (row in leaf), ``l`` (leaf used), ``c`` (class of leaf), ``N`` (weight of a class in a
        leaf), ``L`` (weight of errors in a leaf).
    """

    def __init__(self, X, y, n_classes, weight, depth, *, min_samples_leaf=1, split_penalty=0.0,
                 max_splits=None, constraint_form="per_node", repaired=True):
        self.X, self.y, self.weight, self.depth = X, y, weight, depth
        self.n_classes = n_classes
        self.values = [np.unique(column) for column in X.T]
        self.top = max(1, max(len(values) for values in self.values) - 1)        # S
        # number of every distinct value, and of the next larger one
        self.numbers = [np.append(np.arange(len(values)) * self.top // max(1, len(values) - 1),
                                  self.top + 1) for values in self.values]
        n, p = X.shape
        here, after = np.empty((n, p)), np.empty((n, p))
        for j, (values, numbers) in enumerate(zip(self.values, self.numbers, strict=True)):
            rank = np.searchsorted(values, X[:, j])
            here[:, j], after[:, j] = numbers[rank], numbers[rank + 1]
        self._build(here, after, min_samples_leaf, split_penalty, max_splits,
                    constraint_form == "per_node", repaired)

    def _build(self, here, after, min_samples_leaf, split_penalty, max_splits, per_node,
               repaired):
        (n, p), n_classes, top = here.shape, self.n_classes, self.top
        n_nodes, n_leaves = 2 ** self.depth - 1, 2 ** self.depth
        total = float(self.weight.sum())
        model = self.model = Model("OCT")
        separable = [float(len(values) > 1) for values in self.values]
        a = self.a = model.add_variables("a", (n_nodes, p), kind="integer",
                                         upper=np.tile(separable, (n_nodes, 1)))
        d = self.d = model.add_variables("d", n_nodes, kind="integer", cost=split_penalty)
        b = self.b = model.add_variables("b", n_nodes, kind="implied", upper=top)
        z = self.z = model.add_variables("z", (n, n_leaves), kind="integer")
        used = self.used = model.add_variables("l", n_leaves, kind="integer")
        c = self.c = model.add_variables("c", (n_leaves, n_classes), kind="integer")
        most = np.ceil(total)
        held = self.held = model.add_variables("N", (n_leaves, n_classes), kind="implied",
                                               upper=most)
        loss = self.loss = model.add_variables("L", n_leaves, kind="implied", upper=most, cost=1.0)

        add = partial(add_terms, model)
        node, leaf, row = np.arange(n_nodes), np.arange(n_leaves), np.arange(n)
        add("one_feature", n_nodes, (node[:, None], a, 1.0), (node, d, -1.0), lower=0, upper=0)
        add("threshold", n_nodes, (node, b, 1.0), (node, d, -top), upper=0)
        if n_nodes > 1:
            add("parent", n_nodes - 1, (node[:-1], d[1:], 1.0),
                (node[:-1], d[(node[1:] - 1) // 2], -1.0), upper=0)
        if max_splits is not None:
            add("budget", 1, (0, d, 1.0), upper=max_splits)
        pair = np.arange(n * n_leaves).reshape(n, n_leaves)
        add("open_leaf", (n, n_leaves), (pair, z, 1.0), (pair, used, -1.0), upper=0)
        add("leaf_size", n_leaves, (leaf, z, 1.0), (leaf, used, -min_samples_leaf), lower=0)
        add("one_leaf", n, (row[:, None], z, 1.0), lower=1, upper=1)
        for m in range(n_nodes):
            low, middle, high = leaves_below(m, self.depth)
            for side, leaves in (("left", np.arange(low, middle)),
                                 ("right", np.arange(middle, high))):
                for group in leaves[None] if per_node else leaves[:, None]:
                    name = f"{side}_{m}" + ("" if per_node else f"_{group[0]}")
                    reach = row[:, None], z[:, group]
                    if side == "right":     # number of the row's value >= threshold
                        add(name, n, (row[:, None], a[m], here), (row, b[m], -1.0),
                            (*reach, -top), lower=-top)
                    elif repaired:          # number of the next larger value <= threshold
                        add(name, n, (row[:, None], a[m], after), (row, b[m], -1.0),
                            (*reach, top + 1), (row, d[m], -top - 1), upper=0)
                    else:
                        add(name, n, (row[:, None], a[m], after), (row, b[m], -1.0),
                            (*reach, top + 1), upper=top + 1)
        add("one_class", n_leaves, (leaf[:, None], c, 1.0), (leaf, used, -1.0), lower=0, upper=0)
        slot = np.arange(n_leaves * n_classes).reshape(n_leaves, n_classes)
        add("held", (n_leaves, n_classes), (slot, held, -1.0),
            (slot[:, self.y].T, z, self.weight[:, None]), lower=0, upper=0)
        others = total - np.bincount(self.y, self.weight, n_classes)
        elsewhere = 1.0 - np.eye(n_classes)
        add("loss", (n_leaves, n_classes), (slot, loss[:, None], 1.0), (slot, c, -others),
            (slot[:, :, None], held[:, None, :], -elsewhere), lower=-others)

    @staticmethod
    def n_nonzeros(n_rows, n_features, n_classes, depth, constraint_form="per_node"):
        """Return about how many nonzeros the model has."""
        n_leaves = 2 ** depth
        groups = n_leaves * depth if constraint_form == "per_leaf" else 2 * (n_leaves - 1)
        return (n_rows * (groups * (n_features + 2) + n_leaves * (depth + 5))
                + n_leaves * n_classes * (n_classes + 4))

    def start(self, tree):
        """Write a tree whose leaves all hold rows as a solution."""
        values = np.zeros(self.model.n_columns)
        n_nodes = len(self.d)
        place, label = np.zeros(len(self.y), np.int64), {}
        nodes = [(0, 0, np.arange(len(self.y)))]
        while nodes:
            at, node, rows = nodes.pop()
            if tree.feature[at] < 0:        # un-split nodes send their rows right
                while node < n_nodes:
                    node = 2 * node + 2
                place[rows] = node - n_nodes
                label[node - n_nodes] = tree.label[at]
                continue
            j, threshold = tree.feature[at], tree.threshold[at]
            values[self.a[node, j]] = values[self.d[node]] = 1.0
            first_right = np.searchsorted(self.values[j], threshold, side="right")
            values[self.b[node]] = self.numbers[j][first_right]
            left = self.X[rows, j] <= threshold
            nodes += [(tree.left[at], 2 * node + 1, rows[left]),
                      (tree.right[at], 2 * node + 2, rows[~left])]
        values[self.z[np.arange(len(place)), place]] = 1.0
        np.add.at(values, self.held[place, self.y], self.weight)
        for leaf, k in label.items():
            values[self.used[leaf]] = values[self.c[leaf, k]] = 1.0
            values[self.loss[leaf]] = (values[self.held[leaf]].sum()
                                       - values[self.held[leaf, k]])
        return values

    def tree(self, values):
        """Read the tree from a solution; it may hold leaves that no row reaches."""
        def read(node):
            if node >= len(self.d):
                return int(np.argmax(values[self.c[node - len(self.d)]]))
            if values[self.d[node]] < 0.5:
                return read(2 * node + 2)
            j = int(np.argmax(values[self.a[node]]))
            # the first value that goes right; b lies above the number of the one before
            first = np.searchsorted(self.numbers[j], values[self.b[node]] - 0.5)
            first = min(max(int(first), 0), len(self.values[j]))
            if first in (0, len(self.values[j])):       # all rows on one side
                return read(2 * node + (2 if first == 0 else 1))
            threshold = midpoint(self.values[j][first - 1], self.values[j][first])
            return j, float(threshold), read(2 * node + 1), read(2 * node + 2)

        return DecisionTree.from_nested(read(0), self.n_classes, n_features=self.X.shape[1])


def leaves_below(node, depth):
    """Return first leaf, first leaf of the right branch, and end, of a node of a full tree."""
    level = int(node + 1).bit_length() - 1
    width = 2 ** (depth - level)
    low = (node + 1 - 2 ** level) * width
    return low, low + width // 2, low + width


@dataclass(eq=False, repr=False)
class OCTClassifier(ProgramClassifier):
    """Find a classification tree by the integer program OCT.

    The univariate model of Bertsimas and Dunn (2017): one binary variable per row and leaf,
    thresholds as numbers, a penalty for splits and a smallest leaf.  Features enter as ranks, so
    that every threshold can be chosen.  Nodes that are not split send their rows right: the usual
    form of the model leaves this out.

    Parameters
    ----------
    max_depth : int or None, default=2
        Maximum depth of the tree.  None for no limit.  Every further level doubles the binary
        variables.
    max_nodes : int or None, default=None
        Maximum number of feature nodes; None for no limit.  :meth:`path` goes through all budgets
        up to it.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  Rows of
        weight zero do not count.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  The paper's alpha (Eq. 24) is
        this cost as a share of the errors of the best single leaf.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    solver : {"highs", "cp-sat"}, default="highs"
        Solver of the program.  CP-SAT counts in whole numbers: weights and penalties without a
        small common denominator are rounded down for it, and its bounds hold.  HiGHS has been
        seen to err where weights lie far apart: where they add up to more than a million times
        the least of them, no bound of it is taken.
    start : {"cart", "local-search"}, DecisionTree, fitted estimator or None, default="cart"
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  With None
        the solver begins from nothing; CART is then returned only if it finds no tree as good
        (``counters["fallback"]`` tells).
    n_jobs : int or None, default=None
        Number of threads; None means 1 and -1 all processors.
    time_limit : float or None, default=None
        Time limit in seconds; None for no limit.  The best tree found so far is then returned; a
        model that cannot be built in that time is not built.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.
    constraint_form : {"per_node", "per_leaf"}, default="per_node"
        Form of the constraints.  "per_node": a row meets each node in one pair of constraints;
        "per_leaf": in one for every leaf below it, as in the paper.  The latter is larger and its
        relaxation is weaker.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found.
    report_ : SolveReport
        Objective: weight of the errors, plus ``split_penalty`` for each split.  Counters:
        ``start_objective`` and ``gain`` over it, size of the model, seconds to build it, what the
        solver counts.
    split_penalty_ : float
        The cost of a split that :meth:`tune` chose; set by it only.

    Examples
    --------
    >>> from odtbook.formulations import OCTClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> OCTClassifier(max_depth=2, start=None).fit(X, y).report_.objective
    0.0
    """

    # beyond, up to one proof of HiGHS in thirty was wrong
    _resolved = MAX_WHOLE_SUM
    _parameter_constraints = {
        **ProgramClassifier._parameter_constraints,
        "constraint_form": [StrOptions({"per_node", "per_leaf"})],
    }

    _: KW_ONLY
    constraint_form: str = "per_node"

    def _space(self, problem):
        return f"all thresholds of {problem.X.shape[1]} features"

    def _formulate(self, problem, trees, clock):
        def build():
            return OCTModel(problem.X, problem.y, problem.n_classes, problem.units, problem.depth,
                            constraint_form=self.constraint_form, **problem.size_limits())

        size = OCTModel.n_nonzeros(*problem.X.shape, problem.n_classes, problem.depth,
                                   self.constraint_form)
        return Formulation(build, size, self._space(problem), {})

    def path(self, X: ArrayLike, y: ArrayLike,
             sample_weight: ArrayLike | None = None) -> list[BudgetEntry]:
        """Find a tree for every budget of splits, each search started from the tree before.

        The trees for all budgets include every tree that is best at some penalty (Section 2.4 of
        the paper).  The estimator is fitted too, with the largest budget.  ``split_penalty`` must
        be 0; ``time_limit`` applies to all budgets together.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).

        Returns
        -------
        list of BudgetEntry
            ``(max_nodes, objective, status, tree)`` for each budget from 0, status as in reports.

        Raises
        ------
        ValueError
            If ``split_penalty`` is not 0.
        """
        return [BudgetEntry(nodes, report.objective, report.status, report.tree)
                for nodes, report in enumerate(self._budgets(X, y, sample_weight))]

    def tune(self, X: ArrayLike, y: ArrayLike, X_validation: ArrayLike, y_validation: ArrayLike,
             sample_weight: ArrayLike | None = None) -> Self:
        """Choose the cost of a split on rows that were held back.

        Of the trees of :meth:`path` only those count that are best at some cost of a split: the
        lower convex hull of errors over splits.  The one with the fewest errors on the validation
        rows is kept, the smallest if several are equal; ``split_penalty_`` is the middle of the
        costs at which it is best.  Where a search was cut short this holds for the trees found.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of any type.
        X_validation : array or data frame, shape (n_other_rows, n_features)
            Rows held back.
        y_validation : array, shape (n_other_rows,)
            Their labels.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every training row (default: one each).

        Returns
        -------
        self
            ``tree_`` and ``report_`` are those of the budget chosen.

        Raises
        ------
        ValueError
            If ``split_penalty`` is not 0.
        """
        reports = self._budgets(X, y, sample_weight)
        points = [(report.tree.n_splits, report.objective) for report in reports]
        hull = lower_hull(points)
        wrong = [float(np.sum(reports[k].tree.predict(self._check_rows(X_validation))
                              != np.asarray(y_validation))) for k in hull]
        chosen = int(np.argmin(wrong))       # the hull goes from small trees to large ones
        # at which costs the neighbours on the hull take over
        slopes = [(points[k][1] - points[m][1]) / (points[m][0] - points[k][0])
                  for k, m in zip(hull[:-1], hull[1:], strict=True)]
        least = slopes[chosen] if chosen < len(slopes) else 0.0
        most = slopes[chosen - 1] if chosen > 0 else 2 * least
        self.report_ = reports[hull[chosen]]
        self.tree_ = self.report_.tree
        self.split_penalty_ = (least + most) / 2
        return self

    def _budgets(self, X, y, sample_weight):
        """Fit, and return the report with the tree of each number of splits from 0."""
        if self.split_penalty:
            raise ValueError("budgets count splits instead of penalising them; set "
                             "split_penalty=0.")
        outcomes = self._fit(X, y, sample_weight, budgets=True)
        for tree, report, _ in outcomes:
            report.evaluate = self.report_.evaluate
            report.tree = tree.replace(classes=self.tree_.classes,
                                       feature_names=self.tree_.feature_names)
        return [outcome.report for outcome in outcomes]
