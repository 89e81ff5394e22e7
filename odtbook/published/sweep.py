"""Exact pricing without a list of all paths: the last node's splits in one pass per feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import njit
from odtlib._numba.warm import SECONDS, warm_up
from odtlib.column_generation.master import Master
from odtlib.column_generation.paths import RestrictedProblem
from odtlib.column_generation.pricing import TOLERANCE, largest
from odtlib.report import Clock

MAX_PREFIXES = 2**16    # splits of all nodes but the last that a sweep returns at a time
SECONDS[METHOD := "pricing by sweeps"] = 2
STEPS = 20_000_000      # of a sweep between two looks at the clock: some 30 ms


class Leaf(NamedTuple):
    """The nodes on the way to a leaf, the sides taken, and the candidate splits.

    With ``early`` the last split of each node is none, and the nodes below have none.
    """

    early: bool
    nodes: np.ndarray
    to_left: np.ndarray
    start: np.ndarray           # of each node's splits
    allowed: np.ndarray
    left: np.ndarray            # (n_splits, n_rows): whether the split sends the row left


class Duals(NamedTuple):
    """Duals of the rows of the master, see ``reduced_costs`` of the column generation."""

    beta: np.ndarray
    gamma: np.ndarray
    level_start: np.ndarray
    paired: bool


class Splits(NamedTuple):
    """A node's splits by feature and rising threshold, and the rows by where they turn left.

    ``sorted_split[group[g]:group[g + 1]]`` are those of one feature; ``order[g]`` lists the rows,
    ordinary ones and those of constraints, by the first of these splits that sends the row left,
    ``enter[g]``.
    """

    group: np.ndarray
    sorted_split: np.ndarray
    order: np.ndarray
    enter: np.ndarray


class Rows(NamedTuple):
    """Class, weight and number of each row; those of constraints weigh nothing."""

    label: np.ndarray
    weight: np.ndarray
    count: np.ndarray


class Position(NamedTuple):
    """Where a sweep stands, level by level; ``choice[-1]`` is the level, -1 at the end."""

    choice: np.ndarray
    number: np.ndarray
    so_far: np.ndarray
    inside: np.ndarray          # (depth, n_rows)


@njit(cache=True, nogil=True)
def closed(leaf, choice, level):
    """Return whether the node above that of a level has no split.

    ``leaf``: `Leaf`; ``choice``: (depth + 1,) int64, that of `Position`; ``level``: 0 for the root.
    """
    above = leaf.nodes[level - 1]
    return (leaf.early and level > 0
            and choice[level - 1] == leaf.start[above + 1] - leaf.start[above] - 1)


@njit(cache=True, nogil=True)
def sweep(leaf, duals, splits, rows, n_classes, limits, tolerance, position, best, path,
          max_steps):
    """Write the best reduced cost, and its path, for each prefix: the splits above the last.

    ``leaf``, ``duals``, ``splits``, ``rows``, ``position``: `Leaf`, `Duals`, `Splits`, `Rows` and
    `Position`; ``n_classes``: number of classes; ``limits``: (3,) float64, the minimum number of
    rows of a leaf that is not empty, what such a leaf pays, and the cost of fewer rows;
    ``max_steps``: row visits, about.  Results: ``best``: float64, and ``path``: int64, of the same
    length.

    The sweep is resumable: it goes on from its ``position``.  It returns how many prefixes were
    done when ``best`` and ``path`` are full or about ``max_steps`` steps were taken.

    The last node's splits are swept feature by feature.  Where no path can cost more than
    ``tolerance``, ``best`` is a bound below it and ``path`` -1.
    """
    _, nodes, to_left, start, allowed, left = leaf
    beta, gamma, level_start, paired = duals
    group, sorted_split, order, enter = splits
    label, weight, count = rows
    choice, number, so_far, inside = position
    depth, n_rows = len(nodes), len(label)
    total, here = np.empty(n_classes), np.empty(n_classes)
    last = nodes[depth - 1]
    n_last = start[last + 1] - start[last]
    cheapest = 0.0
    if not paired:
        cheapest = np.inf
        for i in range(n_last):
            cheapest = min(cheapest, gamma[level_start[depth - 1] + i])
    at, level, work = 0, choice[depth], 0
    while level >= 0 and at < len(best) and work < max_steps:
        if level < depth - 1:
            choice[level] += 1
            size = start[nodes[level] + 1] - start[nodes[level]]
            if choice[level] == size:
                choice[level] = -1
                level -= 1
                continue
            split = start[nodes[level]] + choice[level]
            number[level + 1] = number[level] * size + choice[level]
            index = number[level + 1] if paired else choice[level]
            so_far[level + 1] = so_far[level] - gamma[level_start[level] + index]
            if not allowed[split] or (choice[level] < size - 1 and closed(leaf, choice, level)):
                so_far[level + 1] = -np.inf
            for r in range(n_rows):
                inside[level + 1, r] = inside[level, r] and left[split, r] == to_left[level]
            work += n_rows
            level += 1
            continue
        work += n_rows * n_classes
        total[:] = 0.0
        paid, gained, n_inside = 0.0, 0.0, 0
        for r in range(n_rows):
            if inside[level, r]:
                total[label[r]] += weight[r]
                n_inside += count[r]
                paid += beta[r]
                gained -= min(0.0, beta[r])
        bound = total.sum() - paid if paired else total.max() + gained - cheapest
        best[at], path[at] = so_far[level] + bound, -1
        if best[at] > tolerance:
            best[at] = -np.inf
            work += (len(group) - 1) * n_rows + 4 * n_last * n_classes
            for g in range(len(group) - 1):
                here[:] = 0.0
                n_here, paid_here, r = 0, 0.0, 0
                for i in range(group[g], group[g + 1]):
                    while r < n_rows and enter[g, r] <= i - group[g]:
                        row = order[g, r]
                        if inside[level, row]:
                            here[label[row]] += weight[row]
                            n_here += count[row]
                            paid_here += beta[row]
                        r += 1
                    split = sorted_split[i]
                    if not allowed[start[last] + split] or (
                            split < n_last - 1 and closed(leaf, choice, level)):
                        continue
                    value_left, value_right = 0.0, 0.0
                    for c in range(n_classes):
                        value_left = max(value_left, here[c])
                        value_right = max(value_right, total[c] - here[c])
                    few_left = 0 < n_here < limits[0]
                    few_right = 0 < n_inside - n_here < limits[0]
                    if n_here > 0:
                        value_left -= limits[1]
                    if n_inside > n_here:
                        value_right -= limits[1]
                    if paired:
                        cost = value_left + value_right - paid
                        few = few_left or few_right
                    elif to_left[level]:
                        cost = value_left - paid_here - gamma[level_start[level] + split]
                        few = few_left
                    else:
                        cost = value_right - (paid - paid_here) - gamma[level_start[level] + split]
                        few = few_right
                    if not few and so_far[level] + cost > best[at]:
                        best[at] = so_far[level] + cost
                        path[at] = number[level] * n_last + split
        at += 1
        level -= 1
    choice[depth] = level
    return at


class Sweep:
    """Price exactly without a list of all paths, for candidate sets as large as all thresholds.

    The splits above the last are enumerated.  At the last node the rows are swept in the order of
    each feature, so that its splits are all priced in one pass.  For each choice of the splits
    above, the best path is found.

    Parameters
    ----------
    per_leaf : int, default=10000
        Maximum number of columns returned for a leaf, those of largest reduced cost.
    """

    exact = True

    def __init__(self, per_leaf: int = 10_000) -> None:
        self.per_leaf = per_leaf
        self.tables = {}

    def __repr__(self) -> str:
        return f"Sweep(per_leaf={self.per_leaf})"

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths and upper bounds, with the arguments of :class:`Enumeration`."""
        clock = Clock(None if np.isinf(seconds) else seconds)
        problem = master.problem
        left = np.concatenate([problem.goes_left, master.branches], axis=1)
        none = np.zeros(master.n_cuts)
        label = np.concatenate([problem.y, none.astype(np.int64)])
        weight = np.concatenate([problem.weights, none])
        count = (weight > 0).astype(np.int64)
        beta = np.concatenate([np.zeros(problem.n_rows), relaxation.beta])
        limits = problem.limits + [0.0, relaxation.delta.sum(), 0.0]    # paid by an active leaf
        leaves, paths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        best = np.empty(len(master.ends))
        for at, leaf in enumerate(master.ends):
            nodes = problem.above[leaf]
            depth, table = len(nodes), self._table(problem, nodes[-1], left)
            choice = np.full(depth + 1, -1)
            choice[depth] = 0
            position = Position(choice, np.zeros(depth, np.int64),
                                np.full(depth, -relaxation.alpha[at]),
                                np.ones((depth, len(label)), bool))
            cost, path = np.empty(MAX_PREFIXES), np.empty(MAX_PREFIXES, np.int64)
            best[at] = -np.inf
            kept = np.zeros(0), np.zeros(0, np.int64)
            while choice[depth] >= 0:
                if clock.expired:
                    return np.concatenate(leaves), np.concatenate(paths), None
                n = sweep(
                    Leaf(bool(problem.limited), nodes, problem.to_left[leaf], problem.start,
                         allowed, left),
                    Duals(beta, relaxation.gamma[leaf], master.level_start[leaf], master.pairs),
                    table, Rows(label, weight, count), problem.n_classes, limits, TOLERANCE,
                    position, cost, path, STEPS)
                best[at] = max(best[at], cost[:n].max(initial=-np.inf))
                found = path[:n] >= 0
                kept = [np.concatenate(pair) for pair in
                        zip(kept, (cost[:n][found], path[:n][found]), strict=True)]
                good = np.sort(largest(kept[0], self.per_leaf))
                kept = kept[0][good], kept[1][good]
            leaves.append(np.full(len(kept[1]), leaf))
            paths.append(kept[1])
        return np.concatenate(leaves), np.concatenate(paths), best

    def warm_up(self) -> float:
        """Compile the kernel before the clock of a fit starts; return the seconds it took."""
        def run():
            X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
            problem = RestrictedProblem(X, y, 2, [[(0, 0.5), (0, 1.5)]] * 3)
            for link in ("node", "prefix"):
                master = Master(problem, link)
                master.add_tree(np.zeros(3, np.int64))
                Sweep()(master, master.solve(), np.ones(problem.n_splits, bool))

        return warm_up(METHOD, sweep, run)

    def _table(self, problem, node, left):
        """Sort a node's splits by feature and threshold, and the rows by where they turn left."""
        known = self.tables.get(node)
        if known is not None and known[-1].shape[1] == left.shape[1]:
            return known
        span = slice(problem.start[node], problem.start[node + 1])
        feature = problem.feature[span]
        sorted_split = np.lexsort((problem.threshold[span], feature))
        changes = np.flatnonzero(np.diff(feature[sorted_split])) + 1
        group = np.concatenate([[0], changes, [len(feature)]])
        enter = np.array([(~left[span][part]).sum(axis=0)
                          for part in np.split(sorted_split, changes)])
        order = np.argsort(enter, axis=1, kind="stable")
        self.tables[node] = Splits(group, sorted_split, order,
                                   np.take_along_axis(enter, order, axis=1))
        return self.tables[node]
