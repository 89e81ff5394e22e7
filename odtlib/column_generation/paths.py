"""The restricted problem: rows, candidate splits of each node, and the paths that they make."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from itertools import pairwise

import numpy as np

from odtlib._numba.vector import pack
from odtlib.arrays import distinct_rows
from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation.units import in_units, look
from odtlib.fit import TooLarge
from odtlib.heuristics.threshold_sampling import tree_of_splits

MAX_PATHS = 2e7         # 16 bytes each
PATH_BYTES = 16
MAX_FLAGS = 2**31       # splits times rows, a byte each
MAX_NODES = 2**12       # each a list of splits
FLAGS_PER_LOOK = 2**24  # flags computed between two looks at the clock
PATHS_PER_LOOK = 2**11
NO_SPLIT = (0, np.inf)  # all rows go left


def check_size(n_nodes, n_splits, n_rows, max_bytes=np.inf):
    """Raise TooLarge if a restricted problem of this size needs too much memory."""
    if n_nodes >= MAX_NODES or n_splits * n_rows > min(MAX_FLAGS, max_bytes):
        raise TooLarge(f"{n_splits} candidate splits of {n_nodes} nodes for {n_rows} rows are too "
                       "many; lower max_depth or give fewer splits.")


class RestrictedProblem:
    """Hold the depth-k tree construction problem with a set of candidate splits at each node.

    Choose one split from each node's set and a class for each leaf so that the weight of correctly
    predicted rows is largest.  The k-CTCP of Firat et al. (2020), Definition 2, also demands that
    the splits on a path are distinct, see :attr:`identity`.

    Parameters
    ----------
    X : array of float64, shape (n_rows, n_features)
        Training rows.
    y : array of int, shape (n_rows,)
        Class indices.
    n_classes : int
        Number of classes.
    splits : list of list of (int, float)
        Candidate splits (feature, threshold) of each feature node in level order; a row goes left
        when its value is at most the threshold.
    sample_weight : array of float, shape (n_rows,), optional
        Weight of each row (default: 1); rows of weight zero are left out.
    min_samples_leaf : int, default=1
        Minimum number of rows on a path that has any.
    split_penalty : float, default=0.0
        Cost of one split that divides rows.
    max_leaves : int, optional
        Maximum number of active leaves, which are those with rows (default: no limit).
    feature_costs : array of int, shape (n_features,), optional
        Cost of each feature, paid once however many splits test it.
    feature_of : array of int, shape (n_columns,), optional
        The feature behind each column of ``X`` (default: each is one).
    max_feature_cost : int, optional
        Maximum sum of the costs of the features that the tree tests (default: no limit).
    side : SideConstraints, optional
        Constraints over the classes predicted.  Then a leaf need not take the best class for its
        rows: its class is a choice like the split of a node.
    early_leaves : bool, default=False
        Let nodes have no split even where nothing is limited.  That makes no tree better, unless
        the splits on a path must be distinct.
    max_bytes : float, optional
        Memory in bytes; TooLarge is raised where more is needed.
    clock : Clock, optional
        Preparation ends with TimeUp when it has expired.

    Attributes
    ----------
    depth, n_nodes, n_leaves : int
        Depth, number of feature nodes and number of leaves of the full tree.
    n_rows, total : int, float
        Number of rows with weight, and their weight.
    n_splits, n_choices : int
        Number of candidate splits of all nodes, and of choices that make a tree: splits and, with
        side constraints, classes.
    start : array of int, shape (n_choices + 1,)
        The splits of node ``j`` have the numbers ``start[j]`` to ``start[j + 1] - 1``.  With side
        constraints there are also ``n_leaves`` more choices: that of leaf ``i``, which is node
        ``n_nodes + i`` of the tree, are the classes.
    sizes : array of int, shape (n_choices,)
        Number of candidates for each choice.
    feature, threshold : arrays, shape (n_splits,)
        Feature and threshold of each split.
    goes_left : array of bool, shape (n_splits, n_rows)
        Which rows each split sends left.
    limited : bool
        Whether a penalty, a budget or a minimum number of rows holds, or leaves may be early.
        Then the last candidate of each node, (0, infinity), means no split: all rows go left.  The
        nodes below have none either, so that a limit makes no tree possible that is not one, or
        the beginning of one, without it.
    no_split : array of bool, shape (n_splits,)
        Which of the candidates mean no split.
    signature : array of int, shape (n_rows,)
        Group of each row.  Two rows are in one group when they take the same branch at all
        candidates of the nodes that they can reach (Patel et al. 2023, Section 4.2), so that no
        tree separates them.
    packed : dict
        The rows as bit sets, the arrays that the kernels read: ``left`` (n_splits, n_words),
        ``all_rows`` and ``minority`` (n_words,), and for each word the class of its rows, the
        weight of each in units of ``unit``, and how many training rows each stands for.  Rows of
        one group and class are merged where that makes fewer words.
    """

    def __init__(self, X, y, n_classes, splits, sample_weight=None, *, min_samples_leaf=1,
                 split_penalty=0.0, max_leaves=None, feature_costs=None, max_feature_cost=None,
                 feature_of=None, side=None, early_leaves=False, max_bytes=np.inf, clock=None):
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        used = weights > 0
        self.X, self.y, self.weights = X[used], y[used], weights[used]
        self.n_classes, self.max_bytes, self.side = n_classes, max_bytes, side
        self.n_rows = len(self.y)
        self.n_nodes = len(splits)
        self.n_leaves = self.n_nodes + 1
        self.depth = self.n_leaves.bit_length() - 1
        if self.n_nodes < 1 or 2 ** self.depth != self.n_leaves or not all(map(len, splits)):
            raise ValueError("splits needs a list of candidate splits, not empty, for each of the "
                             f"2**k - 1 feature nodes; it has {self.n_nodes} lists.")
        binding = max_leaves is not None and max_leaves < self.n_leaves
        self.max_leaves = int(max_leaves) if binding else None
        self.max_feature_cost, self.feature_costs = max_feature_cost, None
        if max_feature_cost is not None:
            self.feature_costs = np.ones(X.shape[1], np.int64) if feature_costs is None \
                else np.asarray(feature_costs)
        self.feature_of = np.arange(X.shape[1]) if feature_of is None else feature_of
        self.limited = (min_samples_leaf > 1 or split_penalty > 0 or binding
                        or max_feature_cost is not None or early_leaves)
        if min_samples_leaf > len(self.y):
            raise ValueError(f"min_samples_leaf is {min_samples_leaf}, but only {len(self.y)} rows "
                             "have weight; choose at most that many.")
        if self.limited:
            splits = [[*node, NO_SPLIT] for node in splits]
        sizes = [len(s) for s in splits] + [n_classes] * (0 if side is None else self.n_leaves)
        self.sizes = np.array(sizes, np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.sizes)])
        self.n_choices, self.n_splits = len(sizes), int(self.start[self.n_nodes])
        self.no_split = np.zeros(self.n_splits, bool)
        self.no_split[self.start[1:self.n_nodes + 1] - 1] = self.limited
        # of each leaf, the nodes above it, root first, and whether its path goes left at each
        levels, leaf = np.arange(self.depth, 0, -1), np.arange(self.n_leaves)[:, None]
        self.above = (self.n_leaves + leaf >> levels) - 1
        self.to_left = (leaf >> levels - 1) % 2 == 0
        # which choices a path makes: those at these nodes and, with side constraints, its class;
        # and by how much its number grows with each
        self.choice_nodes = self.above if side is None else np.append(
            self.above, self.n_nodes + leaf, axis=1)
        below = np.append(self.sizes[self.choice_nodes[:, 1:]], np.ones_like(leaf), axis=1)
        self._stride = below[:, ::-1].cumprod(axis=1)[:, ::-1]
        check_size(self.n_nodes, self.n_splits, self.n_rows, max_bytes)
        pairs = {}      # of each list: nodes may share one
        for node in splits:
            if id(node) not in pairs:
                look(clock)
                pairs[id(node)] = (np.array([f for f, _ in node], np.int64),
                                   np.array([t for _, t in node], np.float64))
        self.feature, self.threshold = (
            np.concatenate([pairs[id(node)][column] for node in splits]) for column in (0, 1))
        if self.feature.min() < 0 or self.feature.max() >= X.shape[1]:
            raise ValueError(f"splits tests feature {self.feature.max()}; X has {X.shape[1]}.")
        self.node_of = np.repeat(np.arange(self.n_nodes), self.sizes[:self.n_nodes])
        self.goes_left = np.empty((self.n_splits, self.n_rows), bool)
        for span in self._parts():
            look(clock)
            np.less_equal(self.X[:, self.feature[span]].T, self.threshold[span, None],
                          out=self.goes_left[span])
        self._weigh(self.weights, min_samples_leaf, split_penalty)
        self.signature = self._groups(clock)
        self.packed = self._pack(clock)

    def _weigh(self, weights, min_samples_leaf, split_penalty):
        """Set the weights, and with them the unit in which costs are added up."""
        self.weights, self.total = weights, float(weights.sum())
        # whole weights are exact as floats; others are rounded to 2**-50 of their sum
        whole = (np.all(weights == np.rint(weights)) and self.total < 2 ** 53
                 and split_penalty == np.rint(split_penalty))
        self.unit = 1.0 if whole else self.total * 2.0 ** -50
        self.units = np.maximum(1.0, np.rint(weights / self.unit))
        # minimum number of rows of an active leaf, its penalty, and a cost above that of every
        # tree within the limits, for each leaf that breaks one.  A tree has one active leaf more
        # than splits: paths pay the penalty per leaf, and one of them is given back at the end.
        self.limits = np.array([min_samples_leaf, split_penalty,
                                2.0 * self.total + split_penalty * self.n_leaves])

    def for_solver(self, clock=None):
        """Return the problem in the unit that a linear solver resolves best, and its factor."""
        factor, whole = in_units(self.weights)
        scaled = copy(self)
        scaled.__dict__.pop("paths", None)
        weights = self.weights * factor
        scaled.side = None if self.side is None else self.side.times(factor)
        scaled._weigh(np.rint(weights) if whole else weights, *(self.limits[:2] * [1.0, factor]))
        scaled.packed = scaled._pack(clock)
        return scaled, factor

    def _parts(self):
        """Divide the splits into parts between which a clock is looked at."""
        step = max(64, FLAGS_PER_LOOK // max(1, self.n_rows) // 64 * 64)
        return [slice(first, first + step) for first in range(0, self.n_splits, step)]

    @property
    def splittable(self):
        """Whether subtrees are independent, so that a dynamic program over nodes is exact."""
        return self.max_feature_cost is None and self.side is None

    def span(self, node):
        """Return the slice of the candidates of a choice."""
        return slice(self.start[node], self.start[node + 1])

    @cached_property
    def identity(self):
        """A number for each split, equal where feature and threshold are equal; -1 for no split."""
        identity = distinct_rows(np.column_stack([self.feature, self.threshold]))[2]
        return np.where(self.no_split, -1, identity)

    @property
    def splits(self):
        """The candidate splits of each feature node, as they were given."""
        pairs = list(zip(self.feature.tolist(), self.threshold.tolist(), strict=True))
        return [pairs[first:last - self.limited]
                for first, last in pairwise(self.start[:self.n_nodes + 1])]

    @property
    def penalty(self):
        """Cost of one split."""
        return float(self.limits[1])

    @property
    def unit_limits(self):
        """The limits with their costs in units of :attr:`unit`."""
        return np.array([self.limits[0], *(self.limits[1:] / self.unit)])

    def branches(self, X):
        """Return which rows of ``X`` each split sends left, shape (n_splits, n_rows)."""
        return X[:, self.feature].T <= self.threshold[:, None]

    def path_nodes(self, leaf):
        """Return the nodes above a leaf, root first, and whether the path goes left at each.

        Leaves are counted from the left.
        """
        return self.above[leaf], self.to_left[leaf]

    def _groups(self, clock):
        """Number the groups of rows in the order of their first rows."""
        reach = np.zeros((2 * self.n_nodes + 1, self.n_rows), bool)
        reach[0] = True
        for node in range(self.n_nodes):
            look(clock)
            left = self.goes_left[self.span(node)]
            reach[2 * node + 1] = reach[node] & left.any(axis=0)
            reach[2 * node + 2] = reach[node] & ~left.all(axis=0)
        group = np.zeros(self.n_rows, np.int64)
        for span in self._parts():      # divide the groups further by these splits
            look(clock)
            words = pack((self.goes_left[span] & reach[self.node_of[span]]).T)
            seen = {}
            group = np.array([seen.setdefault((before, row.tobytes()), len(seen))
                              for before, row in zip(group.tolist(), words, strict=True)],
                             np.int64)
        return group

    @cached_property
    def representatives(self):
        """The first row of each group of :attr:`signature`."""
        return np.unique(self.signature, return_index=True)[1]

    @cached_property
    def packed_rows(self):
        """:attr:`goes_left` as bit sets, with the rows in their order."""
        return pack(self.goes_left)

    def _pack(self, clock):
        merged = np.unique(self.signature * self.n_classes + self.y, return_index=True,
                           return_inverse=True)
        candidates = [(np.arange(self.n_rows), self.units, np.ones(self.n_rows, np.int64)),
                      (merged[1], np.bincount(merged[2], self.units), np.bincount(merged[2]))]
        n_words = [sum(-(-np.bincount(distinct_rows(np.column_stack([self.y[r], u, n]))[2]) // 64))
                   for r, u, n in candidates]
        rows, units, count = candidates[int(np.argmin(n_words))]
        # neighbours in the first tree of candidates share words, which empties others early
        leaf = np.zeros(len(rows), np.int64)
        for _ in range(self.depth):
            leaf = 2 * leaf + np.where(self.goes_left[self.start[leaf], rows], 1, 2)
        order = np.lexsort((leaf, count, units, self.y[rows]))
        rows, units, count = rows[order], units[order], count[order]
        is_first = np.ones(len(rows), bool)
        is_first[1:] = (np.diff(self.y[rows]) != 0) | (np.diff(units) != 0) | (np.diff(count) != 0)
        block = np.cumsum(is_first) - 1
        first = np.flatnonzero(is_first)
        words_of = -(-np.bincount(block) // 64)
        word_start = np.concatenate([[0], np.cumsum(words_of)])
        bit = 64 * word_start[block] + np.arange(len(rows)) - first[block]

        def spread(sets):
            flags = np.zeros((len(sets), 64 * word_start[-1]), bool)
            flags[:, bit] = sets
            return pack(flags)

        left = np.empty((self.n_splits, word_start[-1]), np.uint64)
        for span in self._parts():
            look(clock)
            left[span] = spread(self.goes_left[span][:, rows])
        all_rows, minority = spread(np.array([np.ones(len(rows), bool), self._minority()[rows]]))
        return {"left": left, "all_rows": all_rows, "minority": minority,
                "word_class": self.y[rows][first].repeat(words_of),
                "word_weight": units[first].repeat(words_of),
                "word_count": count[first].repeat(words_of)}

    def _minority(self):
        """Return the rows outside the heaviest class of their group: every tree misses them."""
        weight = np.zeros((self.signature.max() + 1, self.n_classes))
        np.add.at(weight, (self.signature, self.y), self.units)
        return self.y != weight.argmax(axis=1)[self.signature]

    @cached_property
    def paths(self):
        """Value and effects of each path: two lists with one array per leaf.

        The value is the weight of correct rows, less the penalty of an active leaf.  The effects,
        shape (n_limits, n_paths), are what the path adds to each limit over all leaves: 1 to the
        number of active leaves, where there is a budget of them, and what its rows add to each side
        constraint.  A path to a leaf is numbered by its choices like the digits of a number, the
        root's first.  Without side constraints only the class that is best for its rows is kept;
        any other makes a dominated column.  With them the class is the last digit.

        Raises
        ------
        ValueError
            If there are more than twenty million paths.
        """
        return self._enumerate(None)

    def enumerate_paths(self, clock):
        """Fill :attr:`paths`; raise TimeUp if a clock expires before."""
        if "paths" not in self.__dict__:
            self.paths = self._enumerate(clock)

    @property
    def n_paths(self):
        """Number of paths to all leaves, as a float: it may be larger than any integer type."""
        return float(np.prod(self.sizes[self.choice_nodes], axis=1, dtype=float).sum())

    def _enumerate(self, clock):
        n_paths = self.n_paths
        if n_paths > MAX_PATHS:
            raise ValueError(f"the candidate splits make {n_paths:.3g} paths, more than column "
                             "generation can enumerate; give fewer splits, lower max_depth, or "
                             "use RestrictedTreeClassifier.")
        if self.goes_left.size + PATH_BYTES * n_paths > self.max_bytes:
            raise TooLarge(f"{n_paths:.3g} paths do not fit into the memory limit.")
        tables = []
        for leaf in range(self.n_leaves):
            look(clock)
            tables.append(self._best_classes(leaf) if self.side is None
                          else self._every_class(leaf, clock))
            value, sizes = tables[-1][0], self.sizes[self.above[leaf]]
            for level in range(self.depth - 1 if self.limited else 0):      # see _reopened
                split_below = value.reshape(np.prod(sizes[:level]), *sizes[level:level + 2], -1)
                split_below[:, -1, :-1] -= self.limits[2]
        return tuple(map(list, zip(*tables, strict=True)))

    def _best_classes(self, leaf):
        """Return value and effects of the paths to a leaf that takes the best class."""
        nodes, to_left = self.path_nodes(leaf)
        n_paths, packed = int(np.prod(self.sizes[nodes])), self.packed
        value, active = np.empty(n_paths), np.empty(n_paths, bool)
        kernels.path_values(
            nodes, to_left, self.start, packed["left"], packed["all_rows"], packed["word_class"],
            packed["word_weight"], packed["word_count"], self.n_classes, self.unit_limits, value,
            active)
        return value * self.unit, active[None][:0 if self.max_leaves is None else 1]

    def _every_class(self, leaf, clock):
        """Return value and effects of the paths to a leaf, for each class that it may take."""
        first = self.n_classes * np.arange(int(np.prod(self.sizes[self.above[leaf]])))
        sums = self._sums(leaf, first, self.side.effect, clock)     # each with its first class
        n_rows, (value, *effects) = sums[:, 0], np.split(
            sums[:, 1:], 1 + len(self.side.effect), axis=1)
        if self.max_leaves is not None:
            effects = [np.repeat(n_rows[:, None] > 0, self.n_classes, axis=1), *effects]
        value = value - self._leaf_cost(n_rows)[:, None]
        return value.ravel(), np.array([effect.ravel() for effect in effects])

    def values(self, leaf, path):
        """Return the values of some paths to a leaf, and their effects, as :attr:`paths` has them.

        Without side constraints it does not need a list of all paths.
        """
        if "paths" in self.__dict__ or self.side is not None:
            return self.paths[0][leaf][path], self.paths[1][leaf][:, path]
        sums = self._sums(leaf, path)
        value = sums[:, 1:].max(axis=1, initial=0.0) - self._leaf_cost(sums[:, 0])
        none = self.no_split[self.path_splits(np.full(len(path), leaf), path)[0]]
        value -= self.limits[2] * np.count_nonzero(none[:, :-1] & ~none[:, 1:], axis=1)
        return value, (sums[:, 0] > 0)[None][:0 if self.max_leaves is None else 1]

    def _sums(self, leaf, path, effects=(), clock=None):
        """Return number of rows, weight of each class and sums of effects of paths to a leaf."""
        weight = np.zeros((self.n_rows, self.n_classes))
        weight[np.arange(self.n_rows), self.y] = self.weights
        added = np.column_stack([np.ones(self.n_rows), weight, *effects])
        sums, every = np.empty((len(path), added.shape[1])), np.arange(self.n_rows)
        for first in range(0, len(path), PATHS_PER_LOOK):
            if clock is not None:
                look(clock)
            span = slice(first, first + PATHS_PER_LOOK)
            splits, to_left = self.path_splits(np.full(len(path[span]), leaf), path[span])
            member = np.empty((len(splits), self.n_rows), bool)
            kernels.path_rows(splits, to_left, self.packed_rows, every, member)
            sums[span] = member.astype(float) @ added
        return sums

    def _leaf_cost(self, n_rows):
        """Return what leaves of so many rows cost besides their errors."""
        min_rows, penalty, forbidden = self.limits
        return np.where(n_rows == 0, 0.0, penalty + np.where(n_rows < min_rows, forbidden, 0.0))

    def choices(self, leaf, path):
        """Return the choice at each level of some paths, shape (n_paths, depth).

        ``leaf`` is the leaf of each path, or of all.  A choice is a position in the node's list of
        splits.  With side constraints there is one more column, the class.
        """
        return np.asarray(path)[:, None] // self._stride[leaf] % self.sizes[self.choice_nodes[leaf]]

    def path_splits(self, leaf, path):
        """Return the numbers of the splits of paths, and whether each path goes left there.

        ``leaf`` is that of each path; both results have the shape (n_paths, depth).
        """
        return (self.start[self.above[leaf]] + self.choices(leaf, path)[:, :self.depth],
                self.to_left[leaf])

    def path_number(self, leaf, choices):
        """Return the number of the path to a leaf, or to each of some, for a choice at each node.
        """
        return (choices[self.choice_nodes[leaf]] * self._stride[leaf]).sum(axis=-1)

    def path_contains(self, leaf, path, branches):
        """Return which rows, given by their :meth:`branches`, follow a path."""
        splits, to_left = self.path_splits([leaf], [path])
        return np.all(branches[splits[0]] == to_left.T, axis=0)

    def tree(self, choices):
        """Return the tree of a choice at each node, with the best classes or those chosen.

        It has no split that changes no prediction, and no empty leaf.
        """
        split = self.start[:self.n_nodes] + choices[:self.n_nodes]
        splits = list(zip(self.feature[split].tolist(), self.threshold[split].tolist(),
                          strict=True))
        if self.side is None:
            return tree_of_splits(splits, self.X, self.y, self.n_classes, self.weights)
        # its leaves predict what the tree says of their rows
        predicted = choices[self.n_nodes + self._leaf_of(choices)[0]]
        tree = tree_of_splits(splits, self.X, predicted, self.n_classes)
        return tree.with_counts(self.X, self.y, self.n_classes, self.weights, relabel=False)

    def excess(self, columns):
        """Return by how much the costs of what some columns hold exceed the budget."""
        if self.max_feature_cost is None:
            return 0
        features = np.unique(self.feature_of[np.array(columns, np.int64)])
        cost = int(self.feature_costs[features].sum())
        return max(0, cost - self.max_feature_cost)

    def has_distinct_splits(self, choices):
        """Return whether a choice at each node uses no split twice on a path."""
        identity = self.identity[self.start[:self.n_nodes] + choices[:self.n_nodes]]
        paths = [identity[self.path_nodes(leaf)[0]] for leaf in range(self.n_leaves)]
        return all(np.unique(path[path >= 0], return_counts=True)[1].max(initial=1) == 1
                   for path in paths)

    def _leaf_of(self, choices):
        """Return the leaf that each row reaches, and the features that are tested on the way."""
        node, features = np.zeros(self.n_rows, np.int64), []
        for _ in range(self.depth):
            split = self.start[node] + choices[node]
            left = self.goes_left[split, np.arange(self.n_rows)]
            features += self.feature[split[~self.no_split[split]]].tolist()
            node = 2 * node + np.where(left, 1, 2)
        return node - self.n_nodes, features

    def _reopened(self, choices):
        """Return how many nodes have a split although the node above has none."""
        none = self.no_split[self.start[:self.n_nodes] + choices[:self.n_nodes]]
        return np.count_nonzero(none[(np.arange(1, self.n_nodes) - 1) // 2] & ~none[1:])

    def cost(self, choices):
        """Return the cost of a choice at each node: weight of errors, and penalty of splits.

        What breaks a limit costs more than any tree that breaks none.
        """
        leaf, features = self._leaf_of(choices)
        weight = np.zeros((self.n_leaves, self.n_classes))
        np.add.at(weight, (leaf, self.y), self.weights)
        correct = (weight.max(axis=1) if self.side is None
                   else weight[np.arange(self.n_leaves), choices[self.n_nodes:]])
        errors = float(weight.sum() - correct.sum())
        n_rows = np.bincount(leaf, minlength=self.n_leaves)
        cost = errors + float(self._leaf_cost(n_rows).sum()) - self.penalty
        cost += self.limits[2] * (self.excess(features) + self._reopened(choices))
        if self.max_leaves is not None:
            cost += self.limits[2] * max(0, np.count_nonzero(n_rows) - self.max_leaves)
        if self.side is not None and self.side.broken_by(choices[self.n_nodes + leaf]):
            cost += self.limits[2]
        return cost

    def with_classes(self, choices):
        """Return the choices with a class for each leaf, where side constraints make it one.

        This is a heuristic: it starts from the best class of each leaf, and from each class for all
        leaves, and changes one leaf at a time, to the change that violates the side constraints
        least and, among these, classifies most rows correctly, as long as that improves the tree.
        """
        if self.side is None:
            return choices
        leaf, _ = self._leaf_of(choices)
        correct = np.zeros((self.n_leaves, self.n_classes))
        np.add.at(correct, (leaf, self.y), self.weights)
        effect = np.zeros((self.n_leaves, self.n_classes, len(self.side.effect)))
        np.add.at(effect, leaf, self.side.effect.transpose(1, 2, 0))
        every = np.arange(self.n_leaves)

        def merit(label):
            broken = self.side.excess(effect[every, label].sum(axis=0))
            return -float(broken), float(correct[every, label].sum())

        starts = [correct.argmax(axis=1), *(np.full(self.n_leaves, c)
                                            for c in range(self.n_classes))]
        best = max(starts, key=merit)
        for label in starts:
            while True:
                changed = [np.where(every == changed_leaf, c, label) for changed_leaf in every
                           for c in range(self.n_classes) if c != label[changed_leaf]]
                other = max(changed, key=merit, default=label)      # one class: none
                if merit(other) <= merit(label):
                    break
                label = other
            best = max(best, label, key=merit)
        return np.concatenate([choices[:self.n_nodes], best])

    def choose(self, splits):
        """Return for each node the position of a given split among the candidates.

        ``splits`` holds (feature, threshold) or None for each node in level order.  Where a split
        is no candidate, the nearest threshold of its feature is taken, else the first candidate.
        Where leaves have limits, a node whose split is None or would break a limit gets no split,
        and neither do the nodes below it.
        """
        choices = np.zeros(self.n_nodes, np.int64)
        closed = set()
        for node, split in enumerate(splits):
            span = slice(self.start[node], self.start[node + 1])
            if split is None:
                closed.add(node)
            else:
                distance = np.where(self.feature[span] == split[0],
                                    np.abs(self.threshold[span] - split[1]), np.inf)
                choices[node] = int(distance.argmin())
        return self.within_limits(choices, closed)

    def within_limits(self, choices, closed=()):
        """Return the choices without the splits that break a limit, from the root down.

        The nodes of ``closed``, those whose split is dropped or that get no rows, and all nodes
        below get no split.
        Where classes are choices, they are those of :meth:`with_classes`.
        """
        if not self.limited:
            return self.with_classes(choices)
        choices, closed = choices.copy(), set(closed)
        rows, n_leaves, features = {0: np.ones(self.n_rows, bool)}, 1, []
        for node in range(self.n_nodes):
            split = self.start[node] + choices[node]
            left = rows[node] & self.goes_left[split]
            counts = np.array([left.sum(), rows[node].sum() - left.sum()])
            few = np.any((counts > 0) & (counts < self.limits[0]))
            divides = bool(np.all(counts > 0))
            if (few or not counts.any() or self.no_split[split] or node in closed
                    or (node - 1) // 2 in closed or (divides and n_leaves == self.max_leaves)
                    or self.excess([*features, self.feature[split]])):
                closed.add(node)
                choices[node] = self.start[node + 1] - self.start[node] - 1
                left = rows[node]
            else:
                n_leaves += divides
                features.append(self.feature[split])
            rows[2 * node + 1], rows[2 * node + 2] = left, rows[node] & ~left
        return self.with_classes(choices)
