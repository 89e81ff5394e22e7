"""The binary linear program of BinOCT, in its published form and two others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from odtbook.formulations.model import Model
from odtbook.formulations.program import (
    MAX_NONZEROS,
    SECONDS_PER_NONZERO,
    add_terms,
    disparity,
)
from odtbook.formulations.thresholds import from_full_tree, to_full_tree
from odtlib.report import Clock, TimeUp
from odtlib.tolerance import ROUNDING

FORMS = ("summed", "per_row", "ordered")


@dataclass
class Conditions:
    """Hold one kind of condition that a node's feature and threshold put on rows.

    ``name`` is ``upper`` (B4), ``lower`` (B5) or ``outside`` (B6).  For each condition: the
    ``feature`` that must be chosen for it to hold, and the threshold ``bits`` that switch it off
    (by being 1 in ``upper``, by being 0 in ``lower``).  For each member: its ``row``, the
    ``number`` of its condition, and whether the ``right`` branch is closed to it.
    """

    name: str
    feature: np.ndarray
    bits: np.ndarray
    row: np.ndarray
    number: np.ndarray
    right: np.ndarray

    def by_row(self):
        """Return the same conditions, one for each row that they concern."""
        return Conditions(self.name, self.feature[self.number], self.bits[self.number], self.row,
                          np.arange(len(self.row)), self.right)


class BinOCTModel:
    """Build the program of Verwer & Zhang (2019) for some rows, cuts and a depth.

    Nodes are numbered level by level, node ``n`` with the children ``2 n + 1`` and ``2 n + 2``;
    leaves from left to right.  The extended abstract gives the idea; the formulation follows the
    authors' scripts.  A limit on splits, a penalty or a smallest leaf adds one variable per node:
    a node without a split sends its rows left.

    Parameters
    ----------
    rows : RankedRows
        Training rows; their weights are the costs of misclassifying them.
    cuts : list of array of int
        Candidate cuts of each feature; at least one in all.
    depth : int
        Depth of the full tree, at least 1.
    form : {"summed", "per_row", "ordered"}, default="summed"
        How a split keeps rows out of leaves.  "summed": one constraint for all rows in a range of
        values, with their number as big M (published).  "per_row": one for each of these rows.
        "ordered" gives up the bits: a variable ``o`` per threshold says whether the node's
        threshold is this one or a lower one of the same feature, and two constraints per row and
        node take the place of all others.
    split_penalty : float, default=0.0
        Cost of one split.
    max_splits : int, optional
        Maximum number of splits.
    min_samples_leaf : int, default=1
        Minimum number of rows per leaf.
    groups : array of int, shape (n_rows,), optional
        0 or 1 for each row.
    max_disparity : float, optional
        Limit on the difference of the groups' weighted shares of rows given the last class.
    free : sequence of int, optional
        Nodes that may change (default: all); how the others send rows is in ``possible``.
    possible : array of bool, shape (n_rows, n_leaves), optional
        Leaves that a row can still reach.
    features : array of bool, shape (n_features,), optional
        Features that nodes may test (default: all).
    clock : Clock, optional
        Building stops soon after it has expired, and leaves ``complete`` False.

    Attributes
    ----------
    model : Model
        With the variables ``f`` (node, feature), ``t`` (node, bit), ``p`` (leaf, class), ``l``
        (row, leaf) and ``e`` (leaf, class); "ordered" has ``o`` (node, threshold) in place of
        ``t``; limits add ``s`` (node is split) and ``u`` (leaf is used).
    complete : bool
        Whether building was finished in time.

    Raises
    ------
    ValueError
        If the program would have too many nonzeros.
    """

    def __init__(self, rows, cuts, depth, form="summed", *, split_penalty=0.0, max_splits=None,
                 min_samples_leaf=1, groups=None, max_disparity=None, free=None,
                 possible=None, features=None, clock=None):
        self.rows, self.cuts, self.depth, self.form = rows, cuts, depth, form
        self.split_penalty, self.groups = split_penalty, groups
        self.optional = split_penalty > 0 or max_splits is not None or min_samples_leaf > 1
        self.n_nodes, self.n_leaves = 2**depth - 1, 2**depth
        self.free = np.arange(self.n_nodes) if free is None else np.asarray(free)
        self.n_cuts = np.array([len(own) for own in cuts])
        if features is not None:
            self.n_cuts = np.where(features, self.n_cuts, 0)
        self.n_bits = (int(self.n_cuts.max()) - 1).bit_length()
        self.positions = cut_positions(rows, cuts)
        self.model = Model("BinOCT")
        self.clock = clock or Clock()
        self.complete = False
        try:
            conditions = None if form == "ordered" else self._conditions()
        except TimeUp:
            return
        needed = self._nonzeros(conditions)
        if needed > MAX_NONZEROS:
            raise ValueError(f"constraint_form={self.form!r} needs {needed / 1e6:.0f} million "
                             "nonzeros for these rows, thresholds and this depth; use fewer "
                             "thresholds or constraint_form='ordered'.")
        if needed * SECONDS_PER_NONZERO >= self.clock.remaining:
            return
        self._add_choices(possible)
        self.complete = self._add_order() if form == "ordered" else self._add_routing(conditions)
        if self.optional:
            self._add_limits(max_splits, min_samples_leaf)
        if groups is not None:
            self._add_groups(max_disparity)

    # ---------------------------------------------------------------- building

    def _nonzeros(self, conditions):
        """Return about how many nonzeros the model will have."""
        n_rows, n_free = self.rows.n_rows, len(self.free)
        if self.form == "ordered":
            return n_free * n_rows * (2 * len(self.cuts) + self.n_leaves)
        members = sum(len(c.row) for c in conditions) * n_free
        return (members * self.n_leaves * self.depth // (2 * self.n_nodes)
                + (3 * members if self.form == "per_row" else 0))

    def _add_choices(self, possible):
        """Add variables, and what does not depend on thresholds: (B1), (B2), (B3), (B7)."""
        rows, n_classes, model, n = self.rows, self.rows.n_classes, self.model, len(self.free)
        self.f = model.add_variables("f", (n, len(self.n_cuts)), upper=self.n_cuts > 0,
                                     kind="integer")
        if self.form != "ordered":
            self.t = model.add_variables("t", (n, self.n_bits), kind="integer")
        self.p = model.add_variables("p", (self.n_leaves, n_classes), kind="integer")
        if possible is None:
            possible = np.ones((rows.n_rows, self.n_leaves), bool)
        count = int(possible.sum())
        self.l = np.full(possible.shape, -1, np.int32)
        self.l[possible] = model.add_variables(
            "l", possible.shape if possible.all() else count, kind="implied").ravel()
        of_class = np.bincount(rows.labels, rows.weights, n_classes)
        # whole costs make e whole; declared so, because HiGHS 1.14 presolves continuous e wrongly
        whole = np.all(rows.weights == np.rint(rows.weights))
        self.e = model.add_variables("e", (self.n_leaves, n_classes), cost=1.0, upper=of_class,
                                     kind="integer" if whole else "continuous")
        usable = np.flatnonzero(self.n_cuts)
        terms = [(np.arange(n)[:, None], self.f[:, usable], 1.0)]
        if self.optional:
            self.s = model.add_variables("s", n, kind="integer", cost=self.split_penalty)
            terms.append((np.arange(n), self.s, -1.0))
        side = 0 if self.optional else 1
        add_terms(model, "feature", n, *terms, lower=side, upper=side)
        add_terms(model, "class", self.n_leaves, (np.arange(self.n_leaves)[:, None], self.p, 1.0),
                  lower=1, upper=1)
        row, leaf = np.nonzero(possible)
        add_terms(model, "leaf", rows.n_rows, (row, self.l[row, leaf], 1.0), lower=1, upper=1)
        each = np.arange(self.n_leaves * n_classes).reshape(self.n_leaves, n_classes)
        add_terms(model, "error", each.shape,
                  (each[leaf, rows.labels[row]], self.l[row, leaf], rows.weights[row]),
                  (each, self.p, -of_class), (each, self.e, -1.0), upper=0)

    def _conditions(self):
        """Return (B4), (B5) and (B6) for one node, whichever it is."""
        nodes = []      # feature, path, and thresholds of the lower and of the upper half
        for feature, n in enumerate(self.n_cuts):
            self.clock.check()
            nodes += [(feature, *node) for node in threshold_tree_nodes(0, n - 1)]
        order = [np.argsort(own, kind="stable").astype(np.int32) for own in self.positions]
        # rows with position i of a feature are order[begin[i]:begin[i + 1]]
        begin = [np.searchsorted(np.sort(own), np.arange(n + 2))
                 for own, n in zip(self.positions, self.n_cuts, strict=True)]
        feature = np.array([node[0] for node in nodes], np.int32)
        found = []
        for name, half in (("upper", 0), ("lower", 1)):
            bits = np.zeros((len(nodes), self.n_bits), bool)
            members = []
            for number, (f, path, low, high) in enumerate(nodes):
                if number % 1024 == 0:
                    self.clock.check()
                bits[number, len(path)] = True
                bits[number, :len(path)] = np.array(path, bool) == (half == 0)
                members.append(order[f][begin[f][low[half] + 1]:begin[f][high[half] + 1]])
            number = np.repeat(np.arange(len(nodes)), [len(m) for m in members])
            row = np.concatenate(members) if members else np.zeros(0, np.int32)
            found.append(Conditions(name, feature, bits, row, number,
                                    np.full(len(row), half == 0)))
        members, number, right = [], [], []
        usable = np.flatnonzero(self.n_cuts)
        for i, f in enumerate(usable):
            above, below = order[f][begin[f][self.n_cuts[f]]:], order[f][:begin[f][1]]
            members += [above, below]
            number.append(np.full(len(above) + len(below), i))
            right += [np.zeros(len(above), bool), np.ones(len(below), bool)]
        found.append(Conditions("outside", usable, np.zeros((len(usable), self.n_bits), bool),
                                *map(np.concatenate, (members, number, right))))
        return found

    def leaves(self, node, right):
        """Return the leaves below the left or the right branch of a node."""
        level = int(np.log2(node + 1))
        width = self.n_leaves >> (level + 1)
        return (2 * (node + 1 - 2**level) + int(right)) * width + np.arange(width)

    def _add_routing(self, conditions):
        for c in conditions:
            if self.form == "per_row":
                c = c.by_row()
            parts, n = [], len(c.feature)
            upper = np.empty((len(self.free), n))
            for k, node in enumerate(self.free):
                if self.clock.expired:
                    return False
                columns = np.where(c.right[:, None], self.l[c.row][:, self.leaves(node, True)],
                                   self.l[c.row][:, self.leaves(node, False)])
                there = columns >= 0
                parts.append(((c.number[np.nonzero(there)[0]] + k * n).astype(np.int32),
                              columns[there], 1.0))
                big = np.bincount(c.number[there.any(axis=1)], minlength=n).astype(float)
                number, bit = np.nonzero(c.bits)
                parts += [(np.arange(n) + k * n, self.f[k, c.feature], big),
                          (number + k * n, self.t[k, bit],
                           big[number] * (-1 if c.name == "upper" else 1))]
                upper[k] = big * (1 + (c.bits.sum(axis=1) if c.name == "lower" else 0))
            add_terms(self.model, c.name, upper.shape, *parts, upper=upper)
        return True

    def _add_limits(self, max_splits, min_samples_leaf):
        """Add what a node without a split does, the maximum number of splits, and leaf sizes."""
        model, leaf, n_rows = self.model, np.arange(self.n_leaves), self.rows.n_rows
        if self.form != "ordered":      # there a row without a split cannot go right anyhow
            columns = [self.l[:, self.leaves(node, True)].ravel() for node in self.free]
            columns = [own[own >= 0] for own in columns]
            terms = [(np.full(len(own), k), own, 1.0) for k, own in enumerate(columns)]
            add_terms(model, "unsplit", len(self.free), *terms,
                      (np.arange(len(self.free)), self.s,
                       [-float(min(n_rows, len(own))) for own in columns]), upper=0)
        if max_splits is not None:
            add_terms(model, "budget", 1, (0, self.s, 1.0), upper=max_splits)
        if min_samples_leaf > 1:
            self.u = model.add_variables("u", self.n_leaves, kind="integer")
            row, of_row = np.nonzero(self.l >= 0)
            held = (of_row, self.l[row, of_row], 1.0)
            add_terms(model, "open_leaf", self.n_leaves, held, (leaf, self.u, -float(n_rows)),
                      upper=0)
            add_terms(model, "leaf_size", self.n_leaves, held,
                      (leaf, self.u, -float(min_samples_leaf)), lower=0)

    def _add_order(self):
        """Add order variables, and what a row's values say of its branch at every node."""
        model, n, n_rows = self.model, len(self.free), self.rows.n_rows
        last = np.cumsum(self.n_cuts)
        size, first = int(last[-1]), last - self.n_cuts
        self.o = model.add_variables("o", (n, size), kind="integer")
        follows = np.setdiff1d(np.arange(size), first[self.n_cuts > 0])
        number = np.arange(n * len(follows)).reshape(n, -1)
        add_terms(model, "order", number.shape, (number, self.o[:, follows - 1], 1.0),
                  (number, self.o[:, follows], -1.0), upper=0)
        usable = np.flatnonzero(self.n_cuts)
        number = np.arange(n * len(usable)).reshape(n, -1)
        add_terms(model, "last", number.shape, (number, self.o[:, last[usable] - 1], 1.0),
                  (number, self.f[:, usable], -1.0), lower=0, upper=0)
        # the variables that say "right" to a row: one for every feature where its position is not 0
        feature, row = np.nonzero((self.positions > 0) & (self.n_cuts > 0)[:, None])
        says = first[feature] + self.positions[feature, row] - 1
        for name, right, sign, upper in (("left", False, 1.0, 1.0), ("right", True, -1.0, 0.0)):
            parts = []
            for k, node in enumerate(self.free):
                if self.clock.expired:
                    return False
                columns = self.l[:, self.leaves(node, right)]
                there = columns >= 0
                kept = there.any(axis=1)[row]
                parts += [(np.nonzero(there)[0] + k * n_rows, columns[there], 1.0),
                          (row[kept] + k * n_rows, self.o[k, says[kept]], sign)]
            add_terms(model, name, (n, n_rows), *parts, upper=upper)
        return True

    def _add_groups(self, max_disparity):
        """Add the difference between the groups' shares of rows given the last class."""
        model, weight = self.model, self.rows.weights
        size = np.bincount(self.groups, weight, 2)
        # q(leaf, group): weight of the group in the leaf if it predicts the last class, else 0
        self.q = model.add_variables("q", (self.n_leaves, 2), upper=size, kind="implied")
        largest = size.prod()
        if max_disparity is not None:
            largest *= max_disparity + ROUNDING
            if np.all(weight == np.rint(weight)):
                largest = np.floor(largest)
        self.d = model.add_variables("d", upper=largest, kind="implied")
        row, leaf = np.nonzero(self.l >= 0)
        each, last = np.arange(2 * self.n_leaves).reshape(-1, 2), self.p[:, -1:]
        there = each[leaf, self.groups[row]], self.l[row, leaf]
        add_terms(model, "positive", each.shape, (*there, weight[row]), (each, self.q, -1.0),
                  (each, last, size), upper=size)
        add_terms(model, "negative", each.shape, (each, self.q, 1.0), (each, last, -size), upper=0)
        add_terms(model, "within", each.shape, (each, self.q, 1.0), (*there, -weight[row]), upper=0)
        difference = np.array([size[1], -size[0]])
        add_terms(model, "difference", 2, (0, self.q, difference), (1, self.q, -difference),
                  (np.arange(2), self.d, -1.0), upper=0)

    # ---------------------------------------------------------------- reading and writing trees

    def start(self, tree):
        """Write a tree over the features as a solution."""
        return self.encode(*to_full_tree(tree, self.rows, self.cuts, self.depth))

    def tree(self, values):
        """Read a tree over the features, with midpoints as thresholds, from a solution."""
        return from_full_tree(*self.decode(values), self.rows, self.cuts)

    def encode(self, splits, label):
        """Write a full tree as a solution.

        ``splits`` has the shape (n_nodes, 2): feature, or -1 for none, and position in its list of
        cuts; ``label`` has the shape (n_leaves,).
        """
        rows, x, weight = self.rows, np.zeros(self.model.n_columns), self.rows.weights
        if not self.optional:           # each free node has a split; below a leaf any will do
            splits = splits.copy()
            unsplit = self.free[splits[self.free, 0] < 0]
            splits[unsplit] = np.flatnonzero(self.n_cuts)[0], 0
        for k, (f, s) in enumerate(splits[self.free]):
            if f < 0:
                continue
            x[self.f[k, f]] = 1
            if self.optional:
                x[self.s[k]] = 1
            if self.form == "ordered":
                before = int(self.n_cuts[:f].sum())
                x[self.o[k, before + s:before + self.n_cuts[f]]] = 1
            else:
                code = threshold_bits(s, self.n_cuts[f])
                x[self.t[k, :len(code)]] = code
        x[self.p[np.arange(self.n_leaves), label]] = 1
        leaf = route(splits, self.positions)
        x[self.l[np.arange(rows.n_rows), leaf]] = 1
        wrong = label[leaf] != rows.labels
        np.add.at(x, self.e[leaf[wrong], rows.labels[wrong]], weight[wrong])
        if hasattr(self, "u"):
            x[self.u[leaf]] = 1
        if self.groups is not None:
            last = label[leaf] == rows.n_classes - 1
            np.add.at(x, self.q[leaf[last], self.groups[last]], weight[last])
            x[self.d] = (disparity(last, self.groups, weight)
                         * np.bincount(self.groups, weight, 2).prod())
            if np.all(weight == np.rint(weight)):
                x[self.d] = np.rint(x[self.d])
        return x

    def decode(self, values, splits=None):
        """Read splits and labels from a solution; ``splits`` holds those of nodes not free."""
        splits = np.full((self.n_nodes, 2), -1) if splits is None else splits.copy()
        for k, node in enumerate(self.free):
            feature = int(np.argmax(values[self.f[k]]))
            if values[self.f[k, feature]] < 0.5:
                splits[node] = -1
            elif self.form == "ordered":
                before = int(self.n_cuts[:feature].sum())
                own = values[self.o[k, before:before + self.n_cuts[feature]]] > 0.5
                splits[node] = feature, int(np.argmax(own))
            else:
                splits[node] = feature, read_bits(values[self.t[k]] > 0.5, self.n_cuts[feature])
        return splits, values[self.p].argmax(axis=1)

    def priorities(self):
        """Return a priority per column: features before bits, upper nodes first, then classes."""
        found = np.zeros(self.model.n_columns, int)
        level = np.log2(self.free + 1).astype(int)[:, None]
        found[self.f], found[self.p] = 101 - 2 * level, 10
        found[self.o if self.form == "ordered" else self.t] = 100 - 2 * level
        return found


def threshold_tree_nodes(low, high):
    """Return the inner nodes of the search tree over thresholds ``low`` to ``high``.

    Each is the path from the root (0: lower half), and the first and last threshold of the lower
    and of the upper half; there is one fewer than there are thresholds.
    """
    found, stack = [], [((), low, high)]
    while stack:
        path, low, high = stack.pop()
        if high <= low:
            continue
        middle = low + (high - low) // 2
        found.append((path, (low, middle), (middle + 1, high)))
        stack += [((*path, 1), middle + 1, high), ((*path, 0), low, middle)]
    return found


def threshold_bits(position, n):
    """Return the bits that stand for one of ``n`` thresholds; 1 leads to the lower half."""
    low, high, code = 0, n - 1, []
    while low < high:
        middle = low + (high - low) // 2
        lower = position <= middle
        code.append(int(lower))
        low, high = (low, middle) if lower else (middle + 1, high)
    return code


def read_bits(bits, n):
    """Return the position in a list of ``n`` thresholds that bits stand for."""
    low, high = 0, n - 1
    for lower in bits:
        if low >= high:
            break
        middle = low + (high - low) // 2
        low, high = (low, middle) if lower else (middle + 1, high)
    return low


def cut_positions(rows, cuts):
    """Return, for each feature and row, the number of cuts below the row's value.

    A row goes left at cut ``s`` when this number is at most ``s``.
    """
    return np.array([np.searchsorted(own, ranks) for own, ranks
                     in zip(cuts, rows.ranks, strict=True)])


def route(splits, positions):
    """Return the leaf that each row reaches in a full tree."""
    n_nodes, row = len(splits), np.arange(positions.shape[1])
    node = np.zeros(len(row), int)
    while node.size and node[0] < n_nodes:
        feature, cut = splits[node].T
        node = 2 * node + 1 + ((feature >= 0) & (positions[feature, row] > cut))
    return node - n_nodes


def cost_of(rows, splits, label, positions, split_penalty=0.0):
    """Return the objective of a full tree over rows whose weights are costs."""
    given = label[route(splits, positions)]
    value = float(rows.weights[given != rows.labels].sum())
    if split_penalty:
        value += split_penalty * np.count_nonzero(splits[:, 0] >= 0)
    return value
