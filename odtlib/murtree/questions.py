"""Further questions to the classifier: fronts, the regularisation path, all optimal trees."""

from __future__ import annotations

from collections import namedtuple

from odtlib._tolerance import ROUNDING

from .all_trees import AllTreesRun, OptimalTrees
from .fronts import FairRun, FrontEntry, ParetoRun
from .levels import LevelRun

RegularisedTree = namedtuple("RegularisedTree", "low high errors n_splits optimal tree")


def other_run(model, columns, y, sample_weight, clock, protected):
    """Return the run that a model or a question needs; None for the search of MurTree alone."""
    data = (model, columns, y, sample_weight, clock)
    front = model._question == "front"
    kinds = {"objective='f1'": model.objective == "f1", "pareto_front": front,
             "max_disparity": protected is not None,
             "sparsity for each level": getattr(model.sparsity, "__len__", None) is not None,
             "optimal_trees": model._question == "all",
             "path": model._question == "path",
             "objective='balanced-accuracy'": model.objective == "balanced-accuracy"}
    asked = [name for name, wanted in kinds.items() if wanted]
    allowed = (["path", "objective='balanced-accuracy'"], ["objective='f1'", "pareto_front"])
    if len(asked) > 1 and sorted(asked) not in map(sorted, allowed):
        raise ValueError(f"{asked[0]} cannot be combined with {asked[1]}; ask for one of them.")
    if front or model.objective == "f1":
        return ParetoRun(*data, asked[0])
    if protected is not None:
        return FairRun(*data, "max_disparity", protected)
    if "sparsity for each level" in asked:
        return LevelRun(*data, "sparsity for each level")
    if model._question == "all":
        return AllTreesRun(*data, "optimal_trees")
    return None


class Questions:
    """Methods of the classifier that answer more than ``fit``."""

    def pareto_front(self, X, y, sample_weight=None):
        """Find the trees that are best for some trade-off between the errors of two classes.

        No tree within the limits has fewer errors of one class and not more of the other than one
        of these (Section 4.8.6).  The estimator is fitted too: ``tree_`` is the tree of fewest
        errors, or of best F1 with ``objective="f1"``.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of two classes.
        sample_weight : array of whole numbers, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).

        Returns
        -------
        list of FrontEntry
            ``(errors, optimal, tree)`` with ``errors = (of class 0, of class 1)``, the fewest
            errors of class 0 first.  With ``optimal=False`` a limit ended the search: the front is
            that of a smaller depth.
        """
        _, entries = self._ask("front", X, y, sample_weight)
        return [FrontEntry(errors, optimal, self._finished(tree))
                for errors, optimal, tree in entries]

    def regularisation_path(self, X, y, sample_weight=None):
        """Find the optimal tree for every ``sparsity``, in one search.

        The trees are the lower convex hull of errors against feature nodes, from :meth:`path`
        (Section 4.8.3).  The estimator is fitted too, without sparsity.

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
        list of RegularisedTree
            ``(low, high, errors, n_splits, optimal, tree)``, the largest penalty first: the tree
            minimises ``errors + sparsity * n_splits`` for every sparsity from ``low`` to ``high``.
        """
        if getattr(self.sparsity, "__len__", None) is not None or self.sparsity != 0:
            raise ValueError("regularisation_path goes through all penalties; leave sparsity at 0.")
        hull = []
        for entry in self.path(X, y, sample_weight):
            size = entry.tree.n_splits
            if hull and entry.objective >= hull[-1].objective:
                continue
            while hull and size <= hull[-1].tree.n_splits:
                hull.pop()
            while len(hull) > 1 and (saving(hull[-2], hull[-1])
                                     <= saving(hull[-2], entry) * (1 + ROUNDING)):
                hull.pop()
            hull.append(entry)
        breaks = [float("inf"), *(saving(a, b) for a, b in zip(hull, hull[1:], strict=False)), 0.0]
        return [RegularisedTree(breaks[k + 1], breaks[k], entry.objective, entry.tree.n_splits,
                                entry.optimal, entry.tree) for k, entry in enumerate(hull)]

    def optimal_trees(self, X, y, sample_weight=None, *, limit=1000):
        """Count and list all trees with the fewest errors.

        Two trees differ if they are written differently: another column, another order, another
        class in a leaf where classes tie.  Splits that lead to two leaves of one class, and empty
        leaves, are not counted.  ``max_nodes`` keeps splits out that save nothing: give the
        ``n_splits`` of a fit with ``minimise_nodes=True`` for the smallest trees only.  The
        estimator is fitted too: ``tree_`` is the first of the trees.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        limit : int, default=1000
            Most trees that are listed; all are counted.

        Returns
        -------
        OptimalTrees
            ``(count, trees, errors, complete)``; with ``complete=False`` a limit ended the
            search and there may be more.
        """
        if limit < 1:
            raise ValueError(f"limit is {limit}; ask for at least one tree.")
        _, (count, trees, complete) = self._ask("all", X, y, sample_weight)
        listed = []
        for tree in trees:
            if len(listed) == limit:
                break
            listed.append(self._finished(tree))
        return OptimalTrees(count, listed, self.report_.objective, complete)


def saving(larger, smaller):
    """Return the errors that each further feature node saves between two entries of a path."""
    return ((larger.objective - smaller.objective)
            / max(1e-300, smaller.tree.n_splits - larger.tree.n_splits))
