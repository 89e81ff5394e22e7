"""The restricted problem: rows, candidate splits of every node, and the paths they make."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation._bits import pack
from odtlib.heuristics.threshold_sampling import tree_of_splits

MOST_PATHS = 2e7   # 16 bytes each
NO_SPLIT = (0, np.inf)


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
    min_samples_leaf : int, default=1
        Fewest rows that a path may have, unless it has none.
    leaf_penalty : float, default=0.0
        What every active leaf, one with rows, costs beside its errors.  With a penalty or more
        than one row a leaf, every node can also do without a split: it gets the candidate
        (0, infinity), and all its rows go left.

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

    def __init__(self, X, y, n_classes, splits, sample_weight=None, *, min_samples_leaf=1,
                 leaf_penalty=0.0):
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
        self.limited = min_samples_leaf > 1 or leaf_penalty > 0
        if min_samples_leaf > len(self.y):
            raise ValueError(f"min_samples_leaf is {min_samples_leaf}, but only {len(self.y)} rows "
                             "have weight; choose at most that many.")
        if self.limited:
            splits = [[*(s for s in node if s != NO_SPLIT), NO_SPLIT] for node in splits]
        self.start = np.concatenate([[0], np.cumsum([len(s) for s in splits])]).astype(np.int64)
        flat = [split for node in splits for split in node]
        self.feature = np.array([f for f, _ in flat], np.int64)
        self.threshold = np.array([t for _, t in flat], np.float64)
        if self.feature.min() < 0 or self.feature.max() >= X.shape[1]:
            raise ValueError(f"splits tests feature {self.feature.max()}; X has {X.shape[1]}.")
        self.node_of = np.repeat(np.arange(self.n_nodes), np.diff(self.start))
        self.goes_left = self.branches(self.X)
        # whole weights are exact as floats; others are rounded to 2**-50 of their sum
        whole = (np.all(self.weights == np.rint(self.weights)) and self.weights.sum() < 2 ** 53
                 and leaf_penalty == np.rint(leaf_penalty))
        self.unit = 1.0 if whole else self.weights.sum() * 2.0 ** -50
        self.units = np.maximum(1.0, np.rint(self.weights / self.unit))
        # fewest rows of an active leaf, its penalty, and a cost that no tree without a leaf of
        # fewer rows can have
        self.limits = np.array([min_samples_leaf, leaf_penalty,
                                self.total + leaf_penalty * self.n_leaves + 1.0])

    @property
    def n_splits(self):
        """Number of candidate splits of all nodes."""
        return len(self.feature)

    @property
    def splits(self):
        """The candidate splits of every feature node, as they were given."""
        pairs = list(zip(self.feature.tolist(), self.threshold.tolist(), strict=True))
        return [pairs[a:b] for a, b in zip(self.start[:-1], self.start[1:], strict=True)]

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

        ``left`` (n_splits, n_words), ``whole`` and ``twins`` (n_words,), and for every word the
        class of its rows, the weight of each in units of :attr:`unit`, and how many training rows
        each stands for.  Rows of one group and class are merged where that makes fewer words.
        """
        merged = np.unique(self.signature * self.n_classes + self.y, return_index=True,
                           return_inverse=True)
        candidates = [(np.arange(self.n_rows), self.units, np.ones(self.n_rows, np.int64)),
                      (merged[1], np.bincount(merged[2], self.units), np.bincount(merged[2]))]
        n_words = [sum(-(-np.unique(np.column_stack([self.y[r], u, n]), axis=0,
                                    return_counts=True)[1] // 64)) for r, u, n in candidates]
        rows, units, count = candidates[int(np.argmin(n_words))]
        # neighbours in the first tree of candidates share words, which empties others early
        leaf = np.zeros(len(rows), np.int64)
        for _ in range(self.depth):
            leaf = 2 * leaf + np.where(self.goes_left[self.start[leaf], rows], 1, 2)
        order = np.lexsort((leaf, count, units, self.y[rows]))
        rows, units, count = rows[order], units[order], count[order]
        kind = np.ones(len(rows), bool)
        kind[1:] = (np.diff(self.y[rows]) != 0) | (np.diff(units) != 0) | (np.diff(count) != 0)
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
                "word_weight": units[first].repeat(words_of),
                "word_count": count[first].repeat(words_of)}

    @property
    def _twins(self):
        weight = np.zeros((self.signature.max() + 1, self.n_classes))
        np.add.at(weight, (self.signature, self.y), self.units)
        return self.y != weight.argmax(axis=1)[self.signature]

    @cached_property
    def paths(self):
        """Value and target of every path: two lists with one array a leaf.

        The value is the weight of correct rows, less what an active leaf costs.
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
                             "max_depth, set pricing='sweep', or use RestrictedTreeClassifier.")
        value, target = [], []
        packed = self.packed
        for leaf in range(self.n_leaves):
            nodes, to_left = self.path_nodes(leaf)
            n_paths = int(np.prod(np.diff(self.start)[nodes]))
            value.append(np.empty(n_paths))
            target.append(np.empty(n_paths, np.int64))
            kernels.path_values(nodes, to_left, self.start, packed["left"], packed["whole"],
                                packed["word_class"], packed["word_weight"],
                                packed["word_count"], self.n_classes, self.unit_limits, value[-1],
                                target[-1])
            value[-1] *= self.unit
        return value, target

    @property
    def unit_limits(self):
        """The limits with their costs in units of :attr:`unit`."""
        return np.array([self.limits[0], *(self.limits[1:] / self.unit)])

    def values(self, leaf, path):
        """Return the values of some paths to a leaf, without those of all others.

        Parameters
        ----------
        leaf : int
            The leaf.
        path : array of int, shape (n_paths,)
            Their numbers.

        Returns
        -------
        array, shape (n_paths,)
        """
        if "paths" in self.__dict__:
            return self.paths[0][leaf][path]
        nodes, to_left = self.path_nodes(leaf)
        weight = np.zeros((self.n_rows, self.n_classes))
        weight[np.arange(self.n_rows), self.y] = self.weights
        answer = np.empty(len(path))
        for i, choice in enumerate(self.choices(leaf, path)):
            rows = np.all(self.goes_left[self.start[nodes] + choice] == to_left[:, None], axis=0)
            answer[i] = weight[rows].sum(axis=0).max() - self._leaf_cost(rows.sum())
        return answer

    def _leaf_cost(self, n_rows):
        fewest, penalty, forbidden = self.limits
        return np.where(n_rows == 0, 0.0, penalty + np.where(n_rows < fewest, forbidden, 0.0))

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
            Without splits that change no prediction and, where leaves have limits, without leaves
            that are empty.
        """
        split = self.start[:-1] + choices
        splits = list(zip(self.feature[split].tolist(), self.threshold[split].tolist(),
                          strict=True))
        if self.limited:
            splits = self._without_empty(split, splits)
        return tree_of_splits(splits, self.X, self.y, self.n_classes, self.weights)

    def _without_empty(self, split, splits):
        """Move the one subtree that gets rows in the place of a node that divides none."""
        moved = [None] * self.n_nodes

        def place(node, target, rows):
            while node < self.n_nodes:
                left = rows & self.goes_left[split[node]]
                if left.any() and left.sum() < rows.sum():
                    moved[target] = splits[node]
                    place(2 * node + 1, 2 * target + 1, left)
                    place(2 * node + 2, 2 * target + 2, rows & ~left)
                    return
                node = 2 * node + (1 if left.any() else 2)

        place(0, 0, np.ones(self.n_rows, bool))
        return moved

    def cost(self, choices):
        """Return the weight of the rows that a tree misclassifies, and what its leaves cost.

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
        leaf -= self.n_nodes
        weight = np.zeros((self.n_leaves, self.n_classes))
        np.add.at(weight, (leaf, self.y), self.weights)
        errors = float(weight.sum() - weight.max(axis=1).sum())
        return errors + float(self._leaf_cost(np.bincount(leaf, minlength=self.n_leaves)).sum())

    def choose(self, splits):
        """Find given splits among the candidates.

        Parameters
        ----------
        splits : list of (int, float) or None
            The split of every node in heap order.

        Returns
        -------
        array of int, shape (n_nodes,)
            Positions in the lists of splits: of the split, else of the nearest threshold of its
            feature, else the first.  Where leaves have limits, a node without a split, and one
            whose split leaves too few rows on a side, gets none, and nothing below it does.
        """
        choices = np.zeros(self.n_nodes, np.int64)
        rows = {0: np.ones(self.n_rows, bool)}
        closed = set()
        for node, split in enumerate(splits):
            span = slice(self.start[node], self.start[node + 1])
            if split is not None:
                apart = np.where(self.feature[span] == split[0],
                                 np.abs(self.threshold[span] - split[1]), np.inf)
                choices[node] = int(apart.argmin())
            if not self.limited:
                continue
            left = rows[node] & self.goes_left[span.start + choices[node]]
            held = np.array([left.sum(), rows[node].sum() - left.sum()])
            few = np.any((held > 0) & (held < self.limits[0]))
            if split is None or few or (node - 1) // 2 in closed:
                closed.add(node)
                choices[node] = span.stop - span.start - 1
                left = rows[node]
            rows[2 * node + 1], rows[2 * node + 2] = left, rows[node] & ~left
        return choices
