"""Pricing: find paths of positive reduced cost, by enumeration or at random."""

from __future__ import annotations

import numpy as np

from odtlib._arrays import distinct_rows
from odtlib.column_generation import _kernels as kernels
from odtlib.report import Clock, TimeUp

TOLERANCE = 1e-6        # reduced costs above it are positive (Patel et al. 2023, Section 4.1)


def all_reduced_costs(master, relaxation, leaf, allowed):
    """Return the reduced cost of each path to a leaf (Firat et al. 2020, Eq. 7).

    ``allowed`` (n_candidates,) says which splits, and with side constraints which classes, paths
    may use; other paths cost minus infinity.
    """
    problem = master.problem
    problem.enumerate_paths(None)
    value, effects = master.values(leaf, slice(None))
    if problem.side is not None:    # the kernel prices the splits
        value, closed = value.copy(), ~allowed[problem.span(problem.n_nodes + leaf)]
        value.reshape(-1, problem.n_classes)[:, closed] = -np.inf
    cost = np.zeros(np.prod(problem.sizes[master.nodes[leaf]]))
    kernels.reduced_costs(
        master.nodes[leaf], master.to_left[leaf], problem.start, allowed, master.cut_left,
        master.cut_rows, relaxation.beta, relaxation.gamma[leaf], master.level_start[leaf],
        master.pairs, relaxation.alpha[np.searchsorted(master.ends, leaf)], cost)
    cost = value + np.repeat(cost, len(value) // len(cost)) - relaxation.delta @ effects
    if problem.limited:
        cost[value < master.least_value] = -np.inf
    return cost


def some_reduced_costs(master, relaxation, leaf, path):
    """Return the reduced costs of some paths, given by their leaves and numbers."""
    cost = np.empty(len(path))
    for at in np.unique(leaf):
        mine = np.flatnonzero(leaf == at)
        rows = master._link_rows(at, path[mine]) - master.link_row[at]
        member = master.members(at, path[mine], master.cut_left, np.arange(master.n_cuts))
        value, effects = master.values(at, path[mine])
        cost[mine] = (value - relaxation.alpha[np.searchsorted(master.ends, at)]
                      - relaxation.gamma[at][rows].sum(axis=1) - member @ relaxation.beta
                      - relaxation.delta @ effects)
        cost[mine[value < master.least_value]] = -np.inf
    return cost


class Enumeration:
    """Price exactly: evaluate each path.

    Firat et al. (2020), Proposition 3, set this aside because the number of paths grows like the
    product of the numbers of rows and features, raised to the power of the depth; over candidate
    splits it is at most a few thousand per leaf.

    Parameters
    ----------
    per_leaf : int, optional
        Maximum number of columns returned for a leaf, those of largest reduced cost.  By default
        20; in the prefix form, whose relaxations are easy to solve, 200.
    """

    exact = True

    def __init__(self, per_leaf=None):
        self.per_leaf = per_leaf

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths and the best reduced cost of each leaf.

        ``relaxation`` holds the duals, and ``allowed`` is the mask of splits, and with side
        constraints classes of leaves, that paths may use.  Returns leaves and paths to add, and the
        largest reduced cost at each end of the master, shape (n_ends,), or None where time ran out.
        """
        clock = Clock(None if np.isinf(seconds) else seconds)
        leaves, paths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        best = np.empty(len(master.ends))
        per_leaf = self.per_leaf or (200 if master.pairs else 20)
        try:
            master.problem.enumerate_paths(clock)
        except TimeUp:
            return leaves[0], paths[0], None
        for at, leaf in enumerate(master.ends):
            if clock.expired:
                return np.concatenate(leaves), np.concatenate(paths), None
            cost = all_reduced_costs(master, relaxation, leaf, allowed)
            best[at] = cost.max()
            good = largest(cost, per_leaf)
            leaves.append(np.full(len(good), leaf))
            paths.append(good)
        return np.concatenate(leaves), np.concatenate(paths), best


def largest(cost, max_columns):
    """Return the positions of the largest reduced costs that are positive."""
    good = np.flatnonzero(cost > TOLERANCE)
    if len(good) > max_columns:
        good = good[np.argpartition(-cost[good], max_columns)[:max_columns]]
    return good


class RandomPaths:
    """Price by random paths whose splits are all different (Patel et al. 2023, Section 4.1).

    Parameters
    ----------
    random : numpy.random.RandomState
        Source of randomness.
    n_paths : int, default=100
        Paths drawn per iteration; all with positive reduced cost are returned.
    """

    exact = False

    def __init__(self, random, n_paths=100):
        self.random, self.n_paths = random, n_paths

    def draw(self, master, allowed, leaves):
        """Draw one path to each of some leaves, of ``allowed`` splits; return leaves and paths.

        They are fewer than ``leaves`` where no different split was left.  With side constraints
        the path comes with each class.
        """
        problem = master.problem
        drawn = []
        for leaf in leaves:
            nodes = master.nodes[leaf]
            seen, number = set(), 0
            for node in nodes:
                here = np.arange(problem.start[node], problem.start[node + 1])
                fresh = [s for s in here if allowed[s]
                         and (problem.feature[s], problem.threshold[s]) not in seen]
                if not fresh:
                    break
                split = fresh[self.random.randint(len(fresh))]
                seen.add((problem.feature[split], problem.threshold[split]))
                number = number * len(here) + int(split) - int(here[0])
            else:
                n_classes = 1 if problem.side is None else problem.n_classes
                drawn += [(leaf, number * n_classes + c) for c in range(n_classes)]
        return np.array(drawn, np.int64).reshape(-1, 2).T

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths, and None: a heuristic proves no bound."""
        leaves = master.ends[self.random.randint(len(master.ends), size=self.n_paths)]
        leaf, path = self.draw(master, allowed, leaves)
        good = some_reduced_costs(master, relaxation, leaf, path) > TOLERANCE
        return leaf[good], path[good], None

    def restart(self, leaves):
        """Do nothing: random pricing keeps no state between iterations."""


class PathPool(RandomPaths):
    """Price by a pool of random paths (Firat et al. 2020, Section 4.2.3).

    Each iteration draws paths to leaves that had improving paths before, adds those of the pool
    with the largest positive reduced costs to the master, and keeps the best of the rest.

    Parameters
    ----------
    random : numpy.random.RandomState
        Source of randomness.
    pool_size : int, default=500
        Paths kept.
    n_leaves : int, default=200
        Paths drawn per iteration.
    n_added : int, default=100
        Maximum number of paths added to the master per iteration.
    attempts : int, default=1
        Number of draws before it reports that it finds nothing.
    leaf_priority : bool, default=True
        Draw paths to leaves that had improving paths before, else to all leaves.
    reset : bool, default=True
        Empty the pool whenever exact pricing had to step in.
    """

    def __init__(self, random, pool_size=500, n_leaves=200, n_added=100, attempts=1,
                 leaf_priority=True, reset=True):
        super().__init__(random, n_leaves)
        self.pool_size, self.n_added, self.attempts = pool_size, n_added, attempts
        self.leaf_priority, self.reset = leaf_priority, reset
        self.pool = np.zeros((2, 0), np.int64)
        self.promising = None

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths, and None: a heuristic proves no bound."""
        for _ in range(self.attempts):
            leaf, path = self._attempt(master, relaxation, allowed)
            if len(leaf):
                break
        return leaf, path, None

    def _attempt(self, master, relaxation, allowed):
        if self.promising is None or not self.leaf_priority:
            self.promising = master.ends
        leaves = self.random.choice(self.promising, size=self.n_paths)
        pool = np.concatenate([self.pool, self.draw(master, allowed, leaves)], axis=1)
        pool = distinct_rows(pool.T)[0].T
        cost = some_reduced_costs(master, relaxation, *pool)
        order = np.argsort(-cost, kind="stable")
        n_good = min(self.n_added, int((cost > TOLERANCE).sum()))
        leaf, path = pool[:, order[:n_good]]
        self.pool = pool[:, order[n_good:n_good + self.pool_size]]
        if n_good:
            self.promising = np.unique(leaf)
        return leaf, path

    def restart(self, leaves):
        """Empty the pool, and draw next for the leaves for which exact pricing found columns."""
        if self.reset:
            self.pool = np.zeros((2, 0), np.int64)
        self.promising = np.unique(leaves)
