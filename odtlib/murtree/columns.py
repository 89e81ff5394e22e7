"""Node budgets and the path of optimal trees, for the classifier and the regressor."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numpy.typing import ArrayLike

from odtlib.estimator import Outcome
from odtlib.report import status_of
from odtlib.tree import LEAF, DecisionTree

from ._search import MAX_FULL_DEPTH
from .options import limits_splits

MAX_NODES = 2 ** MAX_FULL_DEPTH - 1
SMALL_DEPTHS = 2, 3, 4      # solved before trees of any depth
BINNED_COPIES = 4       # of all rows, as often as their weights say, that a binariser sees
LARGE_DEPTH = 8         # from here on a search without a depth takes less time, if splits cost
ROWS_AT_A_TIME = 2 ** 16        # that go down a tree together: more need memory, not less time

PathEntry = namedtuple("PathEntry", "max_nodes objective optimal tree")


def tree_over_columns(nested, columns, y, n_classes, weight=None, names=None, *, relabel=True):
    """Turn nested tuples (column, child 0, child 1) into a tree with the class weights of the rows.

    ``names`` is the position among ``columns`` of each column of the tuples.  Leaves predict the
    class of largest weight or, with ``relabel=False``, the one that they are.
    """
    feature, left, right, label = [], [], [], []     # a leaf leads to itself
    depth, twice = 0, False                          # whether a path tests a column twice

    def add(subtree, above):
        nonlocal depth, twice
        index = len(feature)
        if not isinstance(subtree, tuple):
            column, depth = LEAF, max(depth, len(above))
        else:
            column, twice = subtree[0], twice or subtree[0] in above
        for nodes, value in ((feature, column), (left, index), (right, index), (label, subtree)):
            nodes.append(value)
        if column != LEAF:
            label[index] = LEAF
            left[index] = add(subtree[1], (*above, column))
            right[index] = add(subtree[2], (*above, column))
        return index

    add(nested, ())
    tested, zero, one = np.array(feature), np.array(left), np.array(right)
    leaf = tested < 0
    if names is not None:
        tested[~leaf] = names[tested[~leaf]]
    value = np.zeros((len(feature), n_classes))
    for first in range(0, len(y), ROWS_AT_A_TIME):
        block = slice(first, first + ROWS_AT_A_TIME)
        block_columns, labels = columns[block], y[block]
        rows, node = np.arange(len(labels)), np.zeros(len(labels), np.int64)
        for _ in range(depth):
            node = np.where(block_columns[rows, tested[node]] == 1, one[node], zero[node])
        value += np.bincount(node * n_classes + labels, None if weight is None else weight[block],
                             value.size).reshape(value.shape)
    inner = [index for index, child in enumerate(left) if child != index]
    for index in reversed(inner):
        np.add(value[left[index]], value[right[index]], value[index])
    majority_class = value.argmax(axis=1)
    predicted = majority_class if relabel else np.where(leaf, label, majority_class)
    zero[leaf] = one[leaf] = LEAF
    tree = DecisionTree._of_parts(
        feature=tested, threshold=np.where(leaf, np.nan, 0.5), left=zero, right=one, value=value,
        label=predicted, classes=np.arange(n_classes), n_features=columns.shape[1],
        kind="classification")
    alike = any(left[k] not in inner and right[k] not in inner
                and predicted[left[k]] == predicted[right[k]] for k in inner)
    return tree.pruned() if twice or alike else tree


class BudgetPathMixin:
    """Node budgets, the path over them, and trees as ``fit`` leaves them."""

    _accepts_missing = True

    def _most_copies(self, n_rows):
        return BINNED_COPIES * n_rows + 1024

    def _finished(self, tree):
        """Return a tree over the columns as ``fit`` leaves it in ``tree_``."""
        return self._completed(self._in_features(tree))

    def _nodes(self, n_rows, *, most=False):
        """Return the node budget that all limits leave; with ``most`` what a search can keep."""
        nodes, limit = 2 ** self._depth_within(n_rows) - 1, self._split_limit
        if limit is not None:
            nodes = min(nodes, limit)
        if nodes > MAX_NODES:
            nodes = min(nodes, n_rows - 1)           # more leaves than rows are of no use
        if nodes > MAX_NODES and most:
            return MAX_NODES
        if nodes > MAX_NODES:
            raise ValueError(f"max_depth={self.max_depth} allows {nodes} feature nodes, more than "
                             f"the {MAX_NODES} that a search can keep; give max_nodes or a "
                             "max_depth of 12 or less.")
        return nodes

    def _price_ends_search(self, search):
        """Tell whether the price of a split can end a search whose subproblems have no depth."""
        return (np.ndim(self.split_penalty) == 0 and self.split_penalty > 0
                and self._split_limit is None
                and not search.minimise_nodes and not search.deepening
                and search.discrepancy_search is None and not limits_splits(search))

    def _begins_with_small_depths(self, n_rows, search):
        """Tell whether a fit at any depth, or at a large one, solves small depths first."""
        depth = self._depth_within(n_rows)
        large = self.max_depth is None or (depth >= LARGE_DEPTH and self._price_ends_search(search))
        return (large and depth > SMALL_DEPTHS[-1] and not search.lookahead
                and self._start_word() in (None, "cart"))

    def _limits(self, n_rows, *, any_depth=False):
        """Return the limits that a proof holds for, in words."""
        nodes = self._nodes(n_rows, most=True)
        limits = "any depth" if any_depth else self._depth_in_words()
        given = self._split_limit is not None
        # more leaves than rows are of no use
        if (given or not any_depth) and nodes < min(2 ** self._depth_within(n_rows), n_rows) - 1:
            limits += f" and {nodes} feature nodes"
        if self.min_samples_leaf > 1:
            limits += f", at least {self.min_samples_leaf} samples per leaf"
        return limits

    def path(self, X: ArrayLike, y: ArrayLike,
             sample_weight: ArrayLike | None = None) -> list[PathEntry]:
        """Find the optimal tree for every node budget from 0 to the limit, in one search.

        All budgets share one pass over the splits and one cache (Section 4.5.5).  The estimator is
        fitted too: ``tree_`` is the tree for the largest budget.  The limits, ``split_penalty`` and
        ``time_limit`` hold; ``start``, ``deepening``, ``discrepancy_search`` and ``lookahead`` are
        refused.  Each tree has the fewest feature nodes for its objective, as with
        ``minimise_nodes``.

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
        list of PathEntry
            ``(max_nodes, objective, optimal, tree)`` for each budget, the smallest first.  Where a
            limit ended the search, a tree is optimal if it costs no more than the lower bound.
        """
        if self.start is not None:
            raise ValueError("path searches the trees of all budgets from nothing; leave start at "
                             "None.")
        for option in ("deepening", "discrepancy_search", "lookahead"):
            if value := getattr(self.search, option, None):
                raise ValueError(f"search has {option}={value}, which path does not have: it "
                                 "answers for all budgets at once; leave it at its default.")
        ended, entries = self._fit(X, y, sample_weight, task="path")

        def proved(cost):
            whole = ended == "optimal" and self._has_all_columns
            bound = cost if whole else self.report_.lower_bound
            return status_of("time_limit", cost, bound, self.report_.scale) == "optimal"

        path = [PathEntry(nodes, cost, proved(cost), self._finished(tree))
                for nodes, cost, tree in entries]
        if path[-1].optimal:        # the search may have found a larger tree of the same cost
            self.tree_ = self.report_.tree = path[-1].tree
        return path

    def _outcome(self, run, task):
        """Search; return tree and report, and the answer to a task."""
        tree, report = run.run()
        return Outcome(self._in_features(tree), report, None if task is None else run.answer())
