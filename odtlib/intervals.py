"""The search over all thresholds for regression trees: it halves intervals of thresholds."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np


class Solution(NamedTuple):
    """The answer to a subproblem.

    ``cost`` is the optimum if it is below the cap that was asked for, else a lower bound of at
    least the cap; ``relaxed`` bounds the cost without a minimum of rows per leaf.  ``plan`` is
    None, a leaf, or (feature, threshold, left plan, right plan); ``known`` is what the same
    threshold can use on more rows.
    """

    cost: float
    relaxed: float
    plan: tuple | None = None
    known: tuple | None = None


class IntervalSearch:
    """Find the tree of the least cost among all thresholds, where a leaf costs what it may.

    The least cost of a tree is monotone in its rows: the same tree does no better on more rows.  As
    a threshold moves right the left child grows and the right child shrinks.  So thresholds between
    a and b cost at least ``L_a + R_b``, the least costs on the left of a and on the right of b.
    The interval with the least bound comes first; a threshold within it is evaluated, and divides
    it.  Where the budget of nodes binds, each way to share it between the children has intervals of
    its own.

    A minimum of rows per leaf breaks the monotony: a tree that more rows allow may have too small a
    leaf on fewer.  Then the bounds are those of the *relaxed* problem, without this minimum.

    A subclass has ``horizon``, the depth that it solves by other means, and

    - ``solve_shallow(node, depth, max_nodes, cap, watch)``: the `Solution` of a node with at most
      ``depth`` levels, which are within the horizon;
    - ``child(node, inside, n, known)``: the node of those ``n`` rows of a node that are
      ``inside``, a mask of all rows; ``known`` is that of a solution with fewer rows, or None;
    - ``threshold(node, f, k)``: threshold ``k`` of a feature in a node as a number.

    A node has ``leaf``, its cost as a leaf; ``n_rows``; ``orders``, (at least 1, n_features,
    n_rows), its rows sorted by every feature; ``n_cuts``, the number of thresholds of every
    feature, and ``cuts``, how many rows each has on the left; ``promise``, (n_features,), the
    least first; and ``hints``, the threshold of every feature to begin with.
    """

    horizon = 1

    def __init__(self, n_rows, penalty, least, tolerance, clock):
        self.n_rows, self.penalty, self.least = n_rows, penalty, least
        self.tolerance, self.clock = tolerance, clock
        self.counters, self.n_root_splits = {"subproblems": 0, "splits_evaluated": 0}, 0

    def solve(self, node, depth, max_nodes, cap, watch=None):
        """Return the solution of a node with at most so many levels and splits.

        ``watch(plan, cost, lower)`` hears of the best plan so far and a lower bound.
        """
        if min(depth, max_nodes) <= self.horizon:
            return self.solve_shallow(node, min(depth, max_nodes), max_nodes, cap, watch)

        def hear(plan, cost, _):        # a bound of shallow trees is none of deeper ones
            watch(plan, cost, 0.0)

        shallow = self.solve_shallow(node, self.horizon, max_nodes, cap, watch and hear)
        if min(shallow.cost, node.leaf) <= self.penalty:
            return shallow
        return self.split(node, depth, max_nodes, shallow, cap, watch)

    def split(self, node, depth, max_nodes, shallow, cap, watch):
        """Return the solution of a node by splitting it at the thresholds that may be best."""
        penalty = self.penalty
        best, plan = min(shallow.cost, cap), shallow.plan
        relaxed, proved = node.leaf, np.inf         # bounds, the second of what is closed
        number = count()
        queue = [(penalty, next(number), int(f), shares, -1, int(node.n_cuts[f]), 0.0, 0.0, None,
                  None) for f in np.argsort(node.promise, kind="stable") if node.n_cuts[f] > 0
                 for shares in share_budget(node.n_rows, depth, max_nodes)]
        self.counters["subproblems"] += 1
        while queue:
            self.clock.check()
            bound, _, f, shares, a, b, *known = heappop(queue)
            limit = best - self.tolerance
            if bound >= limit:
                relaxed, proved = min(relaxed, bound), min(proved, bound)
                break
            cuts = node.cuts[f][:node.n_cuts[f]]
            first, last = np.searchsorted(cuts, (self.least, node.n_rows - self.least + 1))
            first, last = max(first, a + 1), min(last, b) - 1
            if first > last:        # each leaves a side too few rows
                relaxed = min(relaxed, bound)
                continue
            if a < 0 and b == len(cuts):
                t = min(max(int(node.hints[f]), first), last)
            else:
                middle = (cuts[first] + cuts[last]) // 2
                t = first + int(np.searchsorted(cuts[first:last], middle))
            self.counters["splits_evaluated"] += 1
            inside = np.zeros(self.n_rows, bool)
            inside[node.orders[0, f, :cuts[t]]] = True
            sizes = int(cuts[t]), node.n_rows - int(cuts[t])
            children, lowest = [None, None], known[:2]
            # beyond what closes the threshold: what closes the half on the other side of it
            caps = limit - penalty - known[1], limit - penalty - known[0]
            for side in (0, 1) if sizes[0] >= sizes[1] else (1, 0):      # the larger one first
                child = self.child(node, inside if side == 0 else ~inside, sizes[side],
                                   known[2 + side])
                children[side] = self.solve(child, depth - 1, shares[side], caps[side])
                lowest[side] = max(lowest[side], children[side].relaxed)
            cost = penalty + sum(max(low, child.cost)
                                 for child, low in zip(children, lowest, strict=True))
            relaxed, proved = min(relaxed, sum(lowest) + penalty), min(proved, cost)
            # rounding may put the sum below the limit though one side is a bound without a plan
            if cost < limit and all(child.cost < cap
                                    for child, cap in zip(children, caps, strict=True)):
                best = cost
                plan = f, self.threshold(node, f, t), *(child.plan for child in children)
            below, above = (child.known for child in children)
            for interval in ((a, t, known[0], lowest[1], known[2], above),
                             (t, b, lowest[0], known[1], below, known[3])):
                if interval[1] - interval[0] > 1:
                    heappush(queue, (interval[2] + interval[3] + penalty, next(number), f, shares,
                                     *interval))
            if watch:
                self.n_root_splits += 1
                watch(plan, best, min((proved, *(interval[0] for interval in queue[:1]))))
        cost = best if best < cap else max(cap, min(proved, relaxed))
        return Solution(cost, relaxed, plan, shallow.known)


def share_budget(n_rows, depth, max_nodes):
    """List the budgets of splits that both children of a split can have."""
    most = 2 ** (depth - 1) - 1
    if max_nodes >= min(2 * most + 1, n_rows - 1):      # it does not bind
        return [(min(most, max_nodes),) * 2]
    return [(k, max_nodes - 1 - k)
            for k in range(max(0, max_nodes - 1 - most), min(max_nodes - 1, most) + 1)]
