"""Starting trees: how a warm start is handed from one method to another."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from odtlib.heuristics.cart import cart_nodes, patient_clock, single_leaf, warm_up_trees
from odtlib.heuristics.local_search import search_trees, warm_up_search
from odtlib.heuristics.ranks import RankedRows
from odtlib.missing import DoubledColumns
from odtlib.report import MOMENT_CELLS, TimeUp
from odtlib.tree import DecisionTree
from odtlib.trees import classifier_of, plan_of


def starting_tree(start, X, y, n_classes, sample_weight=None, max_depth=3, min_samples_leaf=1,
                  random_state=None, time_limit=None):
    """Return the tree, in class indices, that a solver begins with, or None.

    "cart" grows a CART and "local-search" improves it and nine others (see
    :class:`odtlib.LocalSearchTreeClassifier`), within ``time_limit`` seconds; when they are over,
    the best tree so far is returned, else a CART of some of the rows.  A given tree is checked,
    its leaves are labelled anew from the rows, and splits that send no row to one side, or that
    change no prediction, are dropped; one that is deeper than ``max_depth``, or has a smaller leaf
    than ``min_samples_leaf``, is refused with a ValueError.
    """
    if start is None:
        return None
    if isinstance(start, DecisionTree):
        return checked_start(
            start, "classification", X, max_depth, min_samples_leaf,
            lambda tree: classifier_of(plan_of(tree), X, y, n_classes, sample_weight).pruned())
    if not isinstance(start, str) or start not in ("cart", "local-search"):
        raise ValueError(f"start is {start!r}; use None, 'cart', 'local-search' or a "
                         "DecisionTree.")
    if start == "local-search":
        tree, report = search_trees(
            X, y, n_classes, sample_weight, max_depth=max_depth,
            min_samples_leaf=min_samples_leaf, max_restarts=10, patience=20,
            depth_two=True, time_limit=time_limit, random_state=random_state)
        if report.status == "interrupted":      # Ctrl-C ends the fit, not only its beginning
            raise KeyboardInterrupt
        return tree
    random, few = check_random_state(random_state), max(1, MOMENT_CELLS // max(1, X.shape[1]))
    # where the time does not suffice for all rows, on some of them
    for step, limit in ((1, time_limit), (-(-len(y) // few), 0.0)):
        some, clock = slice(None, None, step), patient_clock(limit)
        try:
            rows = RankedRows(X[some], y[some], n_classes,
                              None if sample_weight is None else sample_weight[some], clock)
            tree = rows.tree(cart_nodes(rows, random, max_depth=int(max_depth), clock=clock,
                                        min_samples_leaf=int(min_samples_leaf)))
        except TimeUp:
            continue
        return (tree if step == 1 else tree.with_counts(X, y, n_classes, sample_weight)).pruned()
    return single_leaf(X, y, n_classes, sample_weight)


def cart_tree(X, y, n_classes, sample_weight, **limits):
    """Return CART's tree over numbers, NaN where they are missing; of targets for no classes.

    Where there are targets, the values of its nodes are weights.
    """
    doubled = DoubledColumns(X) if np.isnan(X).any() else None
    labels, targets = (y, None) if n_classes else (np.zeros(len(y), np.int64), y)
    rows = RankedRows(X if doubled is None else doubled.rows, labels, max(1, n_classes),
                      sample_weight)
    tree = rows.tree(cart_nodes(rows, 0, targets=targets, **limits))
    if targets is not None:
        tree = tree.replace(kind="regression", classes=None, label=None)
    return tree if doubled is None else doubled.folded(tree)


def warm_up_start(start):
    """Compile what :func:`starting_tree` calls for a start; return the seconds that it took."""
    searches = isinstance(start, str) and start == "local-search"
    return warm_up_trees() + (warm_up_search() if searches else 0.0)


def checked_start(tree, kind, X, max_depth, min_samples_leaf, refitted):
    """Return a given tree as ``refitted`` to the rows; refuse what does not suit them."""
    if tree.kind != kind:
        raise ValueError(f"start is a {tree.kind} tree; give a {kind} tree.")
    n_features = X.shape[1]
    if tree.feature.max() >= n_features or (tree.feature_names is not None
                                            and tree.n_features != n_features):
        raise ValueError(f"start is a tree over {tree.n_features} features and X has "
                         f"{n_features}; give a tree fitted on the same columns.")
    tree = refitted(tree.replace(n_features=n_features, feature_names=None, classes=None))
    if tree.depth > max_depth:
        raise ValueError(f"start is a tree of depth {tree.depth} and max_depth is {max_depth}; "
                         "give a shallower tree or raise max_depth.")
    smallest = int(np.unique(tree.apply(X), return_counts=True)[1].min())
    if smallest < min_samples_leaf and tree.depth > 0:      # a fit of few rows is a leaf too
        raise ValueError(f"a leaf of start holds {smallest} rows and min_samples_leaf is "
                         f"{min_samples_leaf}; give a tree with larger leaves.")
    return tree
