"""What the estimators of the package share, over the 0/1 columns of :mod:`odtlib.estimator`."""

from __future__ import annotations

from collections import namedtuple

from odtlib.estimator import OverBinaryColumns

from ._search import DEEPEST_FULL
from .preparation import MOST_COPIES

MOST_NODES = 2 ** DEEPEST_FULL - 1

PathEntry = namedtuple("PathEntry", "max_nodes objective optimal tree")


class OverColumns(OverBinaryColumns):
    """What the estimators share: limits, questions besides the fit, and finished trees."""

    _accepts_categories = True
    _question = None

    def _most_copies(self, n_rows):
        return MOST_COPIES * n_rows + 1024

    def _finished(self, tree):
        """Return a tree over the columns as ``fit`` leaves it in ``tree_``."""
        changes = {} if tree.kind == "regression" else {"classes": self.classes_}
        if not self._tree_over_columns and self.tree_.feature_names is not None:
            changes["feature_names"] = self.tree_.feature_names
        return self._in_features(tree).replace(**changes)

    def _nodes(self, n_rows):
        """Return the node budget that all limits leave."""
        nodes = 2 ** self._depth_within(n_rows) - 1
        if self.max_nodes is not None:
            nodes = min(nodes, int(self.max_nodes))
        if self.max_leaf_nodes is not None:
            nodes = min(nodes, int(self.max_leaf_nodes) - 1)
        if nodes > MOST_NODES:
            nodes = min(nodes, n_rows - 1)           # more leaves than rows are of no use
        if nodes > MOST_NODES:
            raise ValueError(f"max_depth={self.max_depth} allows {nodes} feature nodes, more than "
                             f"the {MOST_NODES} that a search can keep; give max_nodes or a "
                             "max_depth of 12 or less.")
        return nodes

    def path(self, X, y, sample_weight=None):
        """Find the optimal tree for every node budget from 0 to the limit, in one search.

        All budgets share one pass over the splits and one cache (Section 4.5.5).  The estimator is
        fitted too: ``tree_`` is the tree for the largest budget.  The limits, ``sparsity`` and
        ``time_limit`` hold; ``start`` and ``minimise_nodes`` are not used.

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
            ``(max_nodes, objective, optimal, tree)`` for each budget, the smallest first.
        """
        optimal, entries = self._ask("path", X, y, sample_weight)
        return [PathEntry(nodes, cost, optimal, self._finished(tree))
                for nodes, cost, tree in entries]

    def _ask(self, question, *data):
        """Fit with a question that ``_solve`` answers too; return if proved, and the answer."""
        self._question = question
        try:
            self.fit(*data)
        finally:
            del self._question
        return self.report_.status == "optimal", self.__dict__.pop("_answer")
