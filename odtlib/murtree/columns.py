"""Node budgets and the path of optimal trees, for the classifier and the regressor."""

from __future__ import annotations

from collections import defaultdict, namedtuple
from contextlib import suppress
from copy import copy
from threading import TIMEOUT_MAX, Thread

import numpy as np
from numpy.typing import ArrayLike

from odtlib.binarize import _GivenCuts, _WordColumns
from odtlib.estimator import Outcome, _zeros_and_ones
from odtlib.fit import FINISHING
from odtlib.heuristics.cart import FEW_CELLS
from odtlib.heuristics.start import cart_tree
from odtlib.report import Clock, status_of
from odtlib.tree import LEAF, DecisionTree

from ._search import MAX_FULL_DEPTH
from .options import limits_splits

MAX_NODES = 2 ** MAX_FULL_DEPTH - 1
SMALL_DEPTHS = 2, 3, 4      # solved before trees of any depth
BINNED_COPIES = 4       # of all rows, as often as their weights say, that a binariser sees
LARGE_DEPTH = 8         # from here on a search without a depth takes less time, if splits cost
ROWS_AT_A_TIME = 2 ** 16        # that go down a tree together: more need memory, not less time

CUTS_OF_ANY_KIND = "auto", "quantile", "all"     # whoever asks for MDLP wants its cuts
DEPTH_OF_CART = 8       # of trees without a depth; it has 2**8 leaves at the most

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

    def _solve(self, X, y, sample_weight, task=None, **given):
        """Search over the columns; under a time limit no tree is worse than CART's of the table.

        ``_solve_over`` searches, and answers a task.  Where CART's tree is better, the columns are
        those that it tests, and a search that has time left looks for a better tree over them.
        """
        clock = Clock(self.time_limit)
        cart = self._growing_cart(X, y, sample_weight) if task is None else None
        columns = self._columns(X, y, sample_weight, clock)
        outcome = self._solve_over(columns, X, y, sample_weight, clock, task, **given)
        report = outcome.report
        if cart is None or report.objective <= report._floor or report.ended == "interrupted" \
                or (report.status == "optimal" and self._has_all_columns
                    and self.binarizer_.has_all_cuts_):
            return outcome
        with suppress(KeyboardInterrupt):               # what was found is there
            tree = cart(max(clock.remaining, FINISHING))
            if tree is not None and tree.n_splits > 0:
                return self._better_over_tests(tree, outcome, X, y, sample_weight, clock, given)
        return outcome

    def _better_over_tests(self, tree, outcome, X, y, sample_weight, clock, given):
        """Return the outcome over the tests of a tree, and make them the columns, if it is better.
        """
        cuts, rival, now = defaultdict(list), copy(self), copy(clock)
        for asked in tree.questions().values():
            if asked.members is None:
                cuts[asked.column].append(asked.high)
        maker = rival.binarizer_ = _GivenCuts(dict(cuts), handle_unknown="warn").fit(X)
        rival.start, rival.verbose, columns = maker.to_columns(tree), 0, maker._encode(X)
        if hasattr(self, "feature_names_in_"):      # which X has no more
            maker.feature_names_in_ = self.feature_names_in_
        rival.max_depth, now.time_limit = self._depth_of_cart, 0.0
        if np.ndim(self.split_penalty):
            rival.split_penalty = self.split_penalty[:rival.max_depth]
        for until in (now, clock):
            other = rival._solve_over(columns, X, y, sample_weight, until, **given)
            if other.report.objective >= outcome.report.objective:
                return outcome
            if clock.expired or other.report.ended == "interrupted":
                break
        # What is optimal over the tests of CART is not so over the columns that were not searched.
        maker.complete_ = self._has_all_columns and outcome.report.status == "optimal"
        if not maker.complete_:
            other.report.ended = outcome.report.ended
        self.binarizer_, other.report.start = maker, "cart"
        return other

    @property
    def _depth_of_cart(self):
        """The depth of CART's tree of the table."""
        deep = self.max_depth is None or self.max_depth > MAX_FULL_DEPTH
        return DEPTH_OF_CART if deep else self.max_depth

    def _growing_cart(self, X, y, sample_weight):
        """Begin to grow CART's tree of the table; return a function that waits for it.

        It takes the seconds to wait, and returns None where they do not suffice.  There is none
        without a time limit, where the columns are given, and where splits or trees are limited.
        """
        if self.time_limit is None or self.binarizer not in CUTS_OF_ANY_KIND \
                or self._split_limit == 0 or hasattr(self.search, "run_of") \
                or limits_splits(self.search) \
                or getattr(self, "max_disparity", None) is not None:
            return None
        frame = hasattr(X, "columns")
        if not frame and _zeros_and_ones(X) is not None:
            return None                     # the search begins with trees like it
        leaves, trees = 2 ** DEPTH_OF_CART, []
        if self._split_limit is not None:
            leaves = min(self._split_limit + 1, leaves)

        def grow():
            with suppress(MemoryError, TypeError, ValueError):      # the columns meet them too
                words = _WordColumns(handle_unknown="warn").fit(X) if frame else None
                rows = words._encode(X) if frame else X.astype(np.float64, copy=False)
                tree = cart_tree(
                    rows, y, len(getattr(self, "classes_", ())), sample_weight,
                    max_depth=self._depth_of_cart, max_leaf_nodes=leaves,
                    min_samples_leaf=self.min_samples_leaf)
                trees.append(tree.replace(columns=words.columns_) if frame else tree)

        def wait(seconds):
            if thread.ident is None:
                thread.start()
            thread.join(min(seconds, TIMEOUT_MAX))
            return next(iter(trees), None)

        thread = Thread(target=grow, daemon=True)
        if X.size > FEW_CELLS:      # a smaller tree grows in a moment, and only if it is asked for
            thread.start()
        return wait

    def _outcome(self, run, task):
        """Search; return tree and report, and the answer to a task."""
        tree, report = run.run()
        return Outcome(self._in_features(tree), report, None if task is None else run.answer())
