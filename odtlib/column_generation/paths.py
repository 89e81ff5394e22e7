"""The restricted problem: rows, candidate splits of every node, and the paths they make."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation._bits import pack
from odtlib.heuristics.threshold_sampling import tree_of_splits

MOST_PATHS = 2e7   # 16 bytes each


class RestrictedProblem:
    """Hold the depth-k tree construction problem with a set of candidate splits at every node.

    This is the k-CTCP of Firat et al. (2020): choose one split from each node's set and a class
    for each leaf so that the weight of correctly predicted rows is largest.

    Parameters
    ----------
    X : array of float64, shape (n_rows, n_features)
        Training rows.
    y : array of int, shape (n_rows,)
        Class indices.
    n_classes : int
        Number of classes.
    splits : list of list of (int, float)
        Candidate splits (feature, threshold) of every feature node in heap order; a row goes left
        when its value is at most the threshold.
    sample_weight : array of float, shape (n_rows,), optional
        Weight of every row (default: one); rows of weight zero are left out.

    Attributes
    ----------
    depth, n_nodes, n_leaves : int
        Of the full tree; ``n_nodes`` counts feature nodes.
    start : array of int, shape (n_nodes + 1,)
        The splits of node ``j`` are numbers ``start[j]`` to ``start[j + 1] - 1``.
    feature, threshold : arrays, shape (n_splits,)
        Of every split.
    goes_left : array of bool, shape (n_splits, n_rows)
        Which rows every split sends left.
    """

    def __init__(self, X, y, n_classes, splits, sample_weight=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        used = weights > 0
        self.X, self.y, self.weights = X[used], y[used], weights[used]
        self.n_classes = n_classes
        self.n_nodes = len(splits)
        self.n_leaves = self.n_nodes + 1
        self.depth = self.n_leaves.bit_length() - 1
        if self.n_nodes < 1 or 2 ** self.depth != self.n_leaves or not all(map(len, splits)):
            raise ValueError("splits needs a list of candidate splits, not empty, for each of the "
                             f"2**k - 1 feature nodes; it has {self.n_nodes} lists.")
        self.start = np.concatenate([[0], np.cumsum([len(s) for s in splits])]).astype(np.int64)
        flat = [split for node in splits for split in node]
        self.feature = np.array([f for f, _ in flat], np.int64)
        self.threshold = np.array([t for _, t in flat], np.float64)
        if self.feature.min() < 0 or self.feature.max() >= X.shape[1]:
            raise ValueError(f"splits tests feature {self.feature.max()}; X has {X.shape[1]}.")
        self.node_of = np.repeat(np.arange(self.n_nodes), np.diff(self.start))
        self.goes_left = self.branches(self.X)
        # whole weights are exact as floats; others are rounded to 2**-50 of their sum
        whole = np.all(self.weights == np.rint(self.weights)) and self.weights.sum() < 2 ** 53
        self.unit = 1.0 if whole else self.weights.sum() * 2.0 ** -50
        self.units = np.maximum(1.0, np.rint(self.weights / self.unit))

    @property
    def n_splits(self):
        """Number of candidate splits of all nodes."""
        return len(self.feature)

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.y)

    @property
    def total(self):
        """Weight of all rows."""
        return float(self.weights.sum())

    def branches(self, X):
        """Tell which rows every split sends left.

        Parameters
        ----------
        X : array of float64, shape (n_rows, n_features)
            Any rows.

        Returns
        -------
        array of bool, shape (n_splits, n_rows)
        """
        return X[:, self.feature].T <= self.threshold[:, None]

    def path_nodes(self, leaf):
        """Return the feature nodes above a leaf and the side taken at each.

        Parameters
        ----------
        leaf : int
            Leaves are counted from the left.

        Returns
        -------
        nodes : array of int, shape (depth,)
            Root first.
        to_left : array of bool, shape (depth,)
        """
        nodes, to_left, node = [], [], self.n_nodes + leaf
        while node:
            to_left.append(node % 2 == 1)
            node = (node - 1) // 2
            nodes.append(node)
        return np.array(nodes[::-1], np.int64), np.array(to_left[::-1])

    @cached_property
    def signature(self):
        """Group of every row: rows of one group take the same way through every tree.

        Two rows are in a group when they branch alike on all candidates of the nodes that they
        can reach (Patel et al. 2023, Section 4.2).
        """
        reach = np.zeros((2 * self.n_nodes + 1, self.n_rows), bool)
        reach[0] = True
        for node in range(self.n_nodes):
            left = self.goes_left[self.start[node]:self.start[node + 1]]
            reach[2 * node + 1] = reach[node] & left.any(axis=0)
            reach[2 * node + 2] = reach[node] & ~left.all(axis=0)
        words = pack((self.goes_left & reach[self.node_of]).T)
        seen = {}
        return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in words], np.int64)

    @cached_property
    def representatives(self):
        """The first row of every group of :attr:`signature`."""
        return np.unique(self.signature, return_index=True)[1]

    @cached_property
    def packed(self):
        """The rows as bit sets: a dict of the arrays that the kernels read.

        ``left`` (n_splits, n_words), ``whole`` and ``twins`` (n_words,), and class and weight, in
        units of :attr:`unit`, of the rows in every word.  Rows of one group and class are merged
        where that makes fewer words.
        """
        merged = np.unique(self.signature * self.n_classes + self.y, return_index=True,
                           return_inverse=True)
        candidates = [(np.arange(self.n_rows), self.units),
                      (merged[1], np.bincount(merged[2], self.units))]
        n_words = [sum(-(-np.unique(np.column_stack([self.y[r], u]), axis=0,
                                    return_counts=True)[1] // 64)) for r, u in candidates]
        rows, units = candidates[int(np.argmin(n_words))]
        # neighbours in the first tree of candidates share words, which empties others early
        leaf = np.zeros(len(rows), np.int64)
        for _ in range(self.depth):
            leaf = 2 * leaf + np.where(self.goes_left[self.start[leaf], rows], 1, 2)
        order = np.lexsort((leaf, units, self.y[rows]))
        rows, units = rows[order], units[order]
        kind = np.ones(len(rows), bool)
        kind[1:] = (np.diff(self.y[rows]) != 0) | (np.diff(units) != 0)
        block = np.cumsum(kind) - 1
        first = np.flatnonzero(kind)
        words_of = -(-np.bincount(block) // 64)
        word_start = np.concatenate([[0], np.cumsum(words_of)])
        place = 64 * word_start[block] + np.arange(len(rows)) - first[block]
        flags = np.zeros((self.n_splits + 2, 64 * word_start[-1]), bool)
        flags[:-2, place] = self.goes_left[:, rows]
        flags[-2, place] = True
        flags[-1, place] = self._twins[rows]
        words = pack(flags)
        return {"left": words[:-2], "whole": words[-2], "twins": words[-1],
                "word_class": self.y[rows][first].repeat(words_of),
                "word_weight": units[first].repeat(words_of)}

    @property
    def _twins(self):
        weight = np.zeros((self.signature.max() + 1, self.n_classes))
        np.add.at(weight, (self.signature, self.y), self.units)
        return self.y != weight.argmax(axis=1)[self.signature]

    @cached_property
    def paths(self):
        """Weight and target of every path: two lists with one array a leaf.

        A path to a leaf is numbered by its choices like the digits of a number, the root's first.
        Only the target that is best for its rows is kept; any other makes a dominated column.

        Raises
        ------
        ValueError
            If there are more than twenty million.
        """
        n_paths = sum(float(np.prod(np.diff(self.start)[self.path_nodes(leaf)[0]]))
                      for leaf in range(self.n_leaves))
        if n_paths > MOST_PATHS:
            raise ValueError(f"the candidate splits make {n_paths:.3g} paths, more than column "
                             "generation can enumerate; lower root_candidates, node_candidates or "
                             "max_depth, or use RestrictedTreeClassifier.")
        value, target = [], []
        packed = self.packed
        for leaf in range(self.n_leaves):
            nodes, to_left = self.path_nodes(leaf)
            n_paths = int(np.prod(np.diff(self.start)[nodes]))
            value.append(np.empty(n_paths))
            target.append(np.empty(n_paths, np.int64))
            kernels.path_values(nodes, to_left, self.start, packed["left"], packed["whole"],
                                packed["word_class"], packed["word_weight"], self.n_classes,
                                value[-1], target[-1])
            value[-1] *= self.unit
        return value, target

    def choices(self, leaf, path):
        """Return the choices that make up paths to a leaf.

        Parameters
        ----------
        leaf : int
            The leaf.
        path : array of int, shape (n_paths,)
            Their numbers.

        Returns
        -------
        array of int, shape (n_paths, depth)
            At every level the position in the node's list of splits.
        """
        sizes = np.diff(self.start)[self.path_nodes(leaf)[0]]
        return np.column_stack(np.unravel_index(path, sizes))

    def path_number(self, leaf, choices):
        """Return the number of the path to a leaf that a choice at every node makes.

        Parameters
        ----------
        leaf : int
            The leaf.
        choices : array of int, shape (n_nodes,)
            For every node of a tree the position in its list of splits.

        Returns
        -------
        int
        """
        nodes, _ = self.path_nodes(leaf)
        return int(np.ravel_multi_index(choices[nodes], np.diff(self.start)[nodes]))

    def path_contains(self, leaf, path, branches):
        """Tell which rows follow a path.

        Parameters
        ----------
        leaf, path : int
            The path.
        branches : array of bool, shape (n_splits, n_rows)
            From :meth:`branches`.

        Returns
        -------
        array of bool, shape (n_rows,)
        """
        nodes, to_left = self.path_nodes(leaf)
        splits = self.start[nodes] + self.choices(leaf, [path])[0]
        return np.all(branches[splits] == to_left[:, None], axis=0)

    def tree(self, choices):
        """Build the tree of a choice at every node, with the best labels.

        Parameters
        ----------
        choices : array of int, shape (n_nodes,)
            For every node the position in its list of splits.

        Returns
        -------
        DecisionTree
            Without splits that change no prediction.
        """
        split = self.start[:-1] + choices
        splits = list(zip(self.feature[split].tolist(), self.threshold[split].tolist(),
                          strict=True))
        return tree_of_splits(splits, self.X, self.y, self.n_classes, self.weights)

    def errors(self, choices):
        """Return the weight of the rows that the tree of these choices misclassifies.

        Parameters
        ----------
        choices : array of int, shape (n_nodes,)
            For every node the position in its list of splits.

        Returns
        -------
        float
        """
        leaf = np.zeros(self.n_rows, np.int64)
        for _ in range(self.depth):
            split = self.start[leaf] + choices[leaf]
            leaf = 2 * leaf + np.where(self.goes_left[split, np.arange(self.n_rows)], 1, 2)
        weight = np.zeros((self.n_leaves, self.n_classes))
        np.add.at(weight, (leaf - self.n_nodes, self.y), self.weights)
        return float(weight.sum() - weight.max(axis=1).sum())

    def choose(self, splits):
        """Find given splits among the candidates.

        Parameters
        ----------
        splits : list of (int, float) or None
            The split of every node in heap order.

        Returns
        -------
        array of int, shape (n_nodes,)
            Positions in the lists of splits; 0 where a split is None or no candidate.
        """
        choices = np.zeros(self.n_nodes, np.int64)
        for node, split in enumerate(splits):
            span = slice(self.start[node], self.start[node + 1])
            if split is not None:
                same = (self.feature[span] == split[0]) & (self.threshold[span] == split[1])
                choices[node] = int(same.argmax())
        return choices
