"""The binary linear program of BinOCT, in its published form and three others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from odtlib.milp.thresholds import heap_of, tree_of
from odtlib.mip.model import Model
from odtlib.mip.units import SECONDS_A_NONZERO
from odtlib.report import Clock, TimeUp

FORMS = ("summed", "per_row", "chained", "ordered")
LARGEST = 60_000_000    # nonzeros; building them takes some 2 GB


@dataclass
class Conditions:
    """Hold one kind of condition that a node's feature and threshold put on rows.

    Parameters
    ----------
    name : str
        ``upper`` (B4), ``lower`` (B5) or ``outside`` (B6).
    feature : array of int, shape (n_conditions,)
        Feature that must be chosen for the condition to hold.
    bits : array of bool, shape (n_conditions, n_bits)
        Threshold bits that switch it off: by being 1 in ``upper``, by being 0 in ``lower``.
    row, number, right : arrays, shape (n_members,)
        Rows that it concerns, its number, and whether the right branch is closed to them.
    """

    name: str
    feature: np.ndarray
    bits: np.ndarray
    row: np.ndarray
    number: np.ndarray
    right: np.ndarray

    def by_row(self):
        """Return one condition for every row that one concerns."""
        return Conditions(self.name, self.feature[self.number], self.bits[self.number], self.row,
                          np.arange(len(self.row)), self.right)


class BinOCTModel:
    """Hold the model of Verwer & Zhang (2019) for some rows, cuts and a depth.

    Nodes are numbered level by level, node ``n`` with the children ``2 n + 1`` and ``2 n + 2``;
    leaves from left to right.  The extended abstract gives the idea; the formulation follows the
    authors' scripts.

    Parameters
    ----------
    rows : RankedRows
        Training rows; their weights are the costs of misclassifying them.
    cuts : list of array of int
        Candidate cuts of every feature; at least one in all.
    depth : int
        Depth of the full tree, at least 1.
    form : {"summed", "per_row", "chained", "ordered"}, default="summed"
        How a split keeps rows out of leaves.  "summed": one constraint for all rows in a range of
        values, with their number as big M (published).  "per_row": one for each of these rows.
        "chained": sums over ranges are differences of cumulative variables, so that a row appears
        once for a node and a feature.  "ordered" gives up the bits: a variable ``o`` for every
        threshold says whether the node's threshold is this one or a lower one of the same feature,
        and two constraints a row and node take the place of all others.
    groups : array of int, shape (n_rows,), optional
        0 or 1 for every row: the objective gains a price for predicting the last class more often
        in one group than in the other.
    price : float, default=0.0
        That price for a difference of 1 between the two shares.
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
        (row, leaf) and ``e`` (leaf, class); "chained" adds ``reach`` and ``sum``, "ordered" has
        ``o`` (node, threshold) in place of ``t``.
    bins : list of (int, tuple, (int, int), (int, int))
        What the rows ``upper`` and ``lower`` are about: feature, path in its search tree (0: to
        the lower half), and positions of the first and last threshold of the lower and of the
        upper half.
    complete : bool
        Whether building was finished in time.
    """

    def __init__(self, rows, cuts, depth, form="summed", *, groups=None, price=0.0, free=None,
                 possible=None, features=None, clock=None):
        self.rows, self.cuts, self.depth, self.form = rows, cuts, depth, form
        self.groups, self.price = groups, price
        self.n_nodes, self.n_leaves = 2**depth - 1, 2**depth
        self.free = np.arange(self.n_nodes) if free is None else np.asarray(free)
        self.n_cuts = np.array([len(own) for own in cuts])
        if features is not None:
            self.n_cuts = np.where(features, self.n_cuts, 0)
        self.n_bits = 1 + int(np.log2(self.n_cuts.max()))
        # the number of cuts below a row's value: it goes left at cut s when this is at most s
        self.place = np.array([np.searchsorted(own, ranks) for own, ranks
                               in zip(cuts, rows.ranks, strict=True)])
        self.model = Model("BinOCT")
        self.clock = clock or Clock()
        self.complete = False
        try:
            self.bins = []
            for feature, n in enumerate(self.n_cuts):
                self.clock.check()
                self.bins += [(feature, *one) for one in bins(0, n - 1)]
            conditions = None if form == "ordered" else self._conditions()
        except TimeUp:
            return
        needed = self._nonzeros(conditions)
        if needed > LARGEST:
            raise ValueError(f"the form rows={self.form!r} needs {needed / 1e6:.0f} million "
                             "nonzeros for these rows, thresholds and this depth; use fewer "
                             "thresholds or another form (see rows).")
        self.complete = needed * SECONDS_A_NONZERO < self.clock.remaining
        if not self.complete:
            return
        self._add_choices(possible)
        if form == "ordered":
            self.complete = self._add_order()
        elif form == "chained":
            self.complete = self._add_chains(conditions)
        else:
            self.complete = self._add_routing(conditions)
        if groups is not None:
            self._add_groups()

    # ---------------------------------------------------------------- building

    def _nonzeros(self, conditions):
        """Return about how many nonzeros the model will have."""
        n_rows, n_free = self.rows.n_rows, len(self.free)
        if self.form == "ordered":
            return n_free * n_rows * (2 * len(self.cuts) + self.n_leaves)
        members = sum(len(c.row) for c in conditions) * n_free
        if self.form == "chained":
            return n_free * 2 * (n_rows + 2) * len(self.cuts) + 3 * n_rows * self.n_nodes
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
        model.add_rows("feature", n, np.repeat(np.arange(n), len(usable)), self.f[:, usable], 1.0,
                       lower=1, upper=1)
        model.add_rows("class", self.n_leaves, np.repeat(np.arange(self.n_leaves), n_classes),
                       self.p, 1.0, lower=1, upper=1)
        row, leaf = np.nonzero(possible)
        model.add_rows("leaf", rows.n_rows, row, self.l[row, leaf], 1.0, lower=1, upper=1)
        each = np.arange(self.n_leaves * n_classes)
        model.add_rows(
            "error", (self.n_leaves, n_classes),
            np.concatenate([leaf * n_classes + rows.labels[row], each, each]),
            np.concatenate([self.l[row, leaf], self.p.ravel(), self.e.ravel()]),
            np.concatenate([rows.weights[row], -np.tile(of_class, self.n_leaves),
                            np.full(len(each), -1.0)]), upper=0)

    def _conditions(self):
        """Return (B4), (B5) and (B6) for one node, whichever it is."""
        order = [np.argsort(place, kind="stable").astype(np.int32) for place in self.place]
        # rows with place i of a feature are order[begin[i]:begin[i + 1]]
        begin = [np.searchsorted(np.sort(place), np.arange(n + 2))
                 for place, n in zip(self.place, self.n_cuts, strict=True)]
        feature = np.array([one[0] for one in self.bins], np.int32)
        found = []
        for name, half in (("upper", 0), ("lower", 1)):
            bits = np.zeros((len(self.bins), self.n_bits), bool)
            members = []
            for number, (f, path, low, high) in enumerate(self.bins):
                if number % 1024 == 0:
                    self.clock.check()
                bits[number, len(path)] = True
                bits[number, :len(path)] = np.array(path, bool) == (half == 0)
                members.append(order[f][begin[f][low[half] + 1]:begin[f][high[half] + 1]])
            number = np.repeat(np.arange(len(self.bins)), [len(m) for m in members])
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
        """Return the leaves below one branch of a node.

        Parameters
        ----------
        node : int
            The node.
        right : bool
            Which branch.

        Returns
        -------
        array of int
        """
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
                              columns[there], np.ones(int(there.sum()))))
                big = np.bincount(c.number[there.any(axis=1)], minlength=n).astype(float)
                parts += self._switches(c, k, big)
                upper[k] = self._side(c, big)
            self._add_block(c.name, upper.shape, parts, upper)
        return True

    def _switches(self, c, k, big):
        """Return the entries of f and t at a node, the conditions having the big Ms ``big``."""
        base = k * len(c.feature)
        number, bit = np.nonzero(c.bits)
        return [(np.arange(len(big)) + base, self.f[k, c.feature], big),
                (number + base, self.t[k, bit], big[number] * (-1 if c.name == "upper" else 1))]

    @staticmethod
    def _side(c, big):
        return big * (1 + (c.bits.sum(axis=1) if c.name == "lower" else 0))

    def _add_block(self, name, shape, parts, upper, lower=-np.inf):
        row, column, value = map(np.concatenate, zip(*parts, strict=True))
        parts.clear()
        self.model.add_rows(name, shape, row, column, value, upper=upper, lower=lower)

    def _add_chains(self, conditions):
        """Add the conditions with sums over ranges taken from cumulative variables."""
        n_rows, n, model = self.rows.n_rows, len(self.free), self.model
        # reach(row, node - 1): whether a row comes to a node; leaves are the variables l
        inner = model.add_variables("reach", (n_rows, self.n_nodes - 1), kind="implied")
        reach = np.concatenate([np.zeros((n_rows, 1), int), inner, self.l], axis=1)
        number = np.arange(inner.size)
        node = np.arange(1, self.n_nodes)
        model.add_rows("reach", inner.shape, np.tile(number, 3),
                       np.concatenate([inner.ravel(), reach[:, 2 * node + 1].ravel(),
                                       reach[:, 2 * node + 2].ravel()]),
                       np.repeat([1.0, -1.0, -1.0], inner.size), lower=0, upper=0)
        # sum(node, side, j): rows that take a branch and whose place at a feature is at most i
        first = np.concatenate([[0], np.cumsum(self.n_cuts + 1)])
        n_sums = int(first[-1])
        sums = model.add_variables("sum", (n, 2, n_sums), upper=n_rows, kind="implied")
        place = (self.place + first[:-1, None]).ravel()
        follows = np.setdiff1d(np.arange(n_sums), first[:-1])
        parts = []
        for k, node in enumerate(self.free):
            for side in (0, 1):
                if self.clock.expired:
                    return False
                base = (2 * k + side) * n_sums
                parts += [(place + base, np.tile(reach[:, 2 * node + 1 + side],
                                                 len(self.n_cuts)), np.full(len(place), -1.0)),
                          (np.arange(n_sums) + base, sums[k, side], np.ones(n_sums)),
                          (follows + base, sums[k, side, follows - 1],
                           np.full(len(follows), -1.0))]
        self._add_block("sum", sums.shape, parts, 0.0, 0.0)
        low, high = (np.array([one[part] for one in self.bins], int).reshape(-1, 2)
                     for part in (2, 3))
        for c in conditions:
            size, parts = len(c.feature), []
            upper, number = np.empty((n, size)), np.arange(size)
            big = np.bincount(c.number, minlength=size).astype(float)
            for k in range(n):
                at, one = number + k * size, np.ones(size)
                if c.name == "outside":
                    last = first[c.feature] + self.n_cuts[c.feature]
                    parts += [(at, sums[k, 0, last], one), (at, sums[k, 0, last - 1], -one),
                              (at, sums[k, 1, first[c.feature]], one)]
                else:
                    half, side = (0, 1) if c.name == "upper" else (1, 0)
                    parts += [(at, sums[k, side, first[c.feature] + high[:, half]], one),
                              (at, sums[k, side, first[c.feature] + low[:, half]], -one)]
                parts += self._switches(c, k, big)
                upper[k] = self._side(c, big)
            self._add_block(c.name, upper.shape, parts, upper)
        return True

    def _add_order(self):
        """Add order variables, and what a row's values say of its branch at every node."""
        model, n, n_rows = self.model, len(self.free), self.rows.n_rows
        last = np.cumsum(self.n_cuts)
        size, first = int(last[-1]), last - self.n_cuts
        self.o = model.add_variables("o", (n, size), kind="integer")
        follows = np.setdiff1d(np.arange(size), first[self.n_cuts > 0])
        number = np.arange(n * len(follows))
        model.add_rows("order", (n, len(follows)), np.tile(number, 2),
                       np.concatenate([self.o[:, follows - 1].ravel(), self.o[:, follows].ravel()]),
                       np.repeat([1.0, -1.0], len(number)), upper=0)
        usable = np.flatnonzero(self.n_cuts)
        number = np.arange(n * len(usable))
        model.add_rows("last", (n, len(usable)), np.tile(number, 2),
                       np.concatenate([self.o[:, last[usable] - 1].ravel(),
                                       self.f[:, usable].ravel()]),
                       np.repeat([1.0, -1.0], len(number)), lower=0, upper=0)
        # the variables that say "right" to a row: one for every feature where its place is not 0
        feature, row = np.nonzero((self.place > 0) & (self.n_cuts > 0)[:, None])
        says = first[feature] + self.place[feature, row] - 1
        for name, right, sign, upper in (("left", False, 1.0, 1.0), ("right", True, -1.0, 0.0)):
            parts = []
            for k, node in enumerate(self.free):
                if self.clock.expired:
                    return False
                columns = self.l[:, self.leaves(node, right)]
                there = columns >= 0
                kept = there.any(axis=1)[row]
                parts += [(np.nonzero(there)[0] + k * n_rows, columns[there],
                           np.ones(int(there.sum()))),
                          (row[kept] + k * n_rows, self.o[k, says[kept]],
                           np.full(int(kept.sum()), sign))]
            self._add_block(name, (n, n_rows), parts, upper)
        return True

    def _add_groups(self):
        """Add the difference between the shares of the last class that two groups are given."""
        model, size = self.model, np.bincount(self.groups, minlength=2)
        # q(leaf, group): rows of the group in the leaf if it predicts the last class, else 0
        self.q = model.add_variables("q", (self.n_leaves, 2), upper=size, kind="implied")
        self.d = model.add_variables("d", upper=float(size.prod()), kind="implied",
                                     cost=self.price / size.prod())
        row, leaf = np.nonzero(self.l >= 0)
        number = leaf * 2 + self.groups[row]
        each, last = np.arange(2 * self.n_leaves), np.repeat(self.p[:, -1], 2)
        big = np.tile(size, self.n_leaves).astype(float)
        there = (number, self.l[row, leaf], np.ones(len(row)))
        own = (each, self.q.ravel(), np.full(len(each), -1.0))
        self._add_block("positive", self.q.shape, [there, own, (each, last, big)],
                        np.tile(size, (self.n_leaves, 1)))
        self._add_block("negative", self.q.shape, [
            (each, self.q.ravel(), np.ones(len(each))), (each, last, -big)], 0.0)
        self._add_block("within", self.q.shape, [
            (each, self.q.ravel(), np.ones(len(each))), (there[0], there[1], -there[2])], 0.0)
        difference = np.tile([size[1], -size[0]], self.n_leaves).astype(float)
        self._add_block("difference", 2, [
            (np.zeros(len(each), int), self.q.ravel(), difference),
            (np.ones(len(each), int), self.q.ravel(), -difference),
            (np.arange(2), np.repeat(self.d, 2), np.full(2, -1.0))], 0.0)

    # ---------------------------------------------------------------- reading and writing trees

    def route(self, heap):
        """Return the leaf that every row reaches.

        Parameters
        ----------
        heap : array of int, shape (n_nodes, 2)
            Feature and position in its list of cuts at every node.

        Returns
        -------
        array of int, shape (n_rows,)
        """
        return route(heap, self.place)

    def heap(self, tree):
        """Write a tree as a full one over the candidate cuts.

        Parameters
        ----------
        tree : DecisionTree
            At most as deep as the model; a threshold that is no candidate moves to the nearest.

        Returns
        -------
        heap : array of int, shape (n_nodes, 2)
            Feature and position in its list of cuts at every node.
        label : array of int, shape (n_leaves,)
            Class of every leaf.
        """
        return heap_of(tree, self.rows, self.cuts, self.depth)

    def best_labels(self, heap, label=None):
        """Return the class that costs least in every leaf.

        Parameters
        ----------
        heap : array of int, shape (n_nodes, 2)
            The splits.
        label : array of int, shape (n_leaves,), optional
            Kept where no row comes (default: class 0).

        Returns
        -------
        array of int, shape (n_leaves,)
        """
        value = np.zeros((self.n_leaves, self.rows.n_classes))
        np.add.at(value, (self.route(heap), self.rows.labels), self.rows.weights)
        found = value.argmax(axis=1)
        if label is not None:
            found = np.where(value.any(axis=1), found, label)
        return found

    def objective(self, heap, label):
        """Return the objective of a full tree.

        Parameters
        ----------
        heap, label : array
            Splits and classes of leaves.

        Returns
        -------
        float
        """
        return cost_of(self.rows, label[self.route(heap)], self.groups, self.price)

    def encode(self, heap, label):
        """Return the solution that stands for a tree.

        Parameters
        ----------
        heap, label : array
            Splits and classes of leaves.

        Returns
        -------
        array, shape (n_columns,)
        """
        rows, x = self.rows, np.zeros(self.model.n_columns)
        place = np.arange(len(self.free))
        feature, position = heap[self.free].T
        x[self.f[place, feature]] = 1
        for k, (f, s) in enumerate(zip(feature, position, strict=True)):
            if self.form == "ordered":
                before = int(self.n_cuts[:f].sum())
                x[self.o[k, before + s:before + self.n_cuts[f]]] = 1
            else:
                code = threshold_bits(s, self.n_cuts[f])
                x[self.t[k, :len(code)]] = code
        x[self.p[np.arange(self.n_leaves), label]] = 1
        leaf = self.route(heap)
        x[self.l[np.arange(rows.n_rows), leaf]] = 1
        wrong = label[leaf] != rows.labels
        np.add.at(x, self.e[leaf[wrong], rows.labels[wrong]], rows.weights[wrong])
        if self.form == "chained":
            self._encode_sums(x, leaf)
        if self.groups is not None:
            last = label[leaf] == rows.n_classes - 1
            np.add.at(x, self.q[leaf[last], self.groups[last]], 1)
            x[self.d] = difference(last, self.groups) * np.bincount(self.groups,
                                                                     minlength=2).prod()
        return x

    def _encode_sums(self, x, leaf):
        model, node = self.model, leaf + self.n_nodes
        block, sums = model.variables["reach"], model.variables["sum"]
        first = np.concatenate([[0], np.cumsum(self.n_cuts + 1)])
        found = np.zeros(sums.shape)
        every = np.arange(self.rows.n_rows)
        for _ in range(self.depth):
            parent = (node - 1) // 2
            for f in range(len(self.n_cuts)):
                np.add.at(found, (parent, (node % 2 == 0).astype(int), first[f] + self.place[f]),
                          1)
            inner = (node > 0) & (node < self.n_nodes)
            x[block.first + every[inner] * block.shape[1] + node[inner] - 1] = 1
            node = parent
        for f in range(len(self.n_cuts)):
            part = slice(first[f], first[f + 1])
            found[:, :, part] = np.cumsum(found[:, :, part], axis=2)
        x[sums.first:sums.first + sums.size] = found.ravel()

    def decode(self, values, heap=None):
        """Read splits and classes from a solution; binaries are rounded first.

        Parameters
        ----------
        values : array, shape (n_columns,)
            A solution.
        heap : array of int, shape (n_nodes, 2), optional
            The splits of nodes that are not free.

        Returns
        -------
        heap, label : array
        """
        heap = np.zeros((self.n_nodes, 2), int) if heap is None else heap.copy()
        for k, node in enumerate(self.free):
            feature = int(np.argmax(values[self.f[k]]))
            if self.form == "ordered":
                before = int(self.n_cuts[:feature].sum())
                own = values[self.o[k, before:before + self.n_cuts[feature]]] > 0.5
                heap[node] = feature, int(np.argmax(own))
            else:
                heap[node] = feature, read_bits(values[self.t[k]] > 0.5, self.n_cuts[feature])
        return heap, values[self.p].argmax(axis=1)

    def tree(self, heap, label):
        """Return the tree of splits and classes, with midpoints as thresholds.

        Parameters
        ----------
        heap, label : array
            Splits and classes of leaves.

        Returns
        -------
        DecisionTree
        """
        return tree_of(heap, label, self.rows, self.cuts)

    def priorities(self):
        """Return the branching priorities of the scripts.

        Returns
        -------
        array of int, shape (n_columns,)
            Features before threshold bits of a node, upper nodes first, then the classes.
        """
        found = np.zeros(self.model.n_columns, int)
        level = np.log2(self.free + 1).astype(int)[:, None]
        found[self.f], found[self.p] = 101 - 2 * level, 10
        found[self.o if self.form == "ordered" else self.t] = 100 - 2 * level
        return found


def bins(low, high):
    """Return the inner nodes of the search tree over thresholds ``low`` to ``high``.

    Parameters
    ----------
    low, high : int
        First and last threshold.

    Returns
    -------
    list of (tuple of int, (int, int), (int, int))
        Path from the root (0: lower half), first and last threshold of the lower half, and of the
        upper half; one entry fewer than there are thresholds.
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
    """Return the bits that stand for one of ``n`` thresholds; 1 leads to the lower half.

    Parameters
    ----------
    position : int
        Its place in the list.
    n : int
        Length of the list.

    Returns
    -------
    list of int
    """
    low, high, code = 0, n - 1, []
    while low < high:
        middle = low + (high - low) // 2
        lower = position <= middle
        code.append(int(lower))
        low, high = (low, middle) if lower else (middle + 1, high)
    return code


def read_bits(bits, n):
    """Return the place in a list of ``n`` thresholds that bits stand for.

    Parameters
    ----------
    bits : sequence of bool
        At least as many as it takes.
    n : int
        Length of the list.

    Returns
    -------
    int
    """
    low, high = 0, n - 1
    for lower in bits:
        if low >= high:
            break
        middle = low + (high - low) // 2
        low, high = (low, middle) if lower else (middle + 1, high)
    return low


def route(heap, place):
    """Return the leaf that every row reaches.

    Parameters
    ----------
    heap : array of int, shape (n_nodes, 2)
        Feature and position in its list of cuts at every node.
    place : array of int, shape (n_features, n_rows)
        Number of cuts below the value of every row.

    Returns
    -------
    array of int, shape (n_rows,)
    """
    n_nodes, row = len(heap), np.arange(place.shape[1])
    node = np.zeros(len(row), int)
    while node.size and node[0] < n_nodes:
        feature, position = heap[node].T
        node = 2 * node + 1 + (place[feature, row] > position)
    return node - n_nodes


def cost_of(rows, given, groups=None, price=0.0):
    """Return the weight of the errors, plus the price of treating two groups differently.

    Parameters
    ----------
    rows : RankedRows
        Training rows; their weights are the costs of misclassifying them.
    given : array of int, shape (n_rows,)
        Class that each row is given.
    groups, price
        As for :class:`BinOCTModel`.

    Returns
    -------
    float
    """
    value = float(rows.weights[given != rows.labels].sum())
    if groups is not None:
        value += price * difference(given == rows.n_classes - 1, groups)
    return value


def difference(positive, groups):
    """Return by how much the shares of two groups that are predicted positive differ.

    Parameters
    ----------
    positive : array of bool, shape (n_rows,)
        Predictions.
    groups : array of int, shape (n_rows,)
        0 or 1.

    Returns
    -------
    float
    """
    return abs(float(positive[groups == 0].mean() - positive[groups == 1].mean()))
