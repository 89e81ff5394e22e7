"""Pricing: find paths of positive reduced cost by enumeration."""

from __future__ import annotations

import numpy as np

from odtlib.column_generation import _kernels as kernels
from odtlib.report import Clock, TimeUp

TOLERANCE = 1e-6        # reduced costs above it are positive (Patel et al. 2023, Section 4.1)


def all_reduced_costs(master, relaxation, leaf, allowed):
    """Return the reduced cost of each path to a leaf (Firat et al. 2020, Eq. 7).

    ``allowed`` (n_candidates,) says which splits, and with side constraints which classes, paths
    may use; other paths cost minus infinity.
    """
    problem = master.problem
    value, effects = master.every_value(leaf)
    if problem.side is not None:    # the kernel prices the splits
        value, closed = value.copy(), ~allowed[problem.span(problem.n_nodes + leaf)]
        value.reshape(-1, problem.n_classes)[:, closed] = -np.inf
    nodes, to_left = problem.path_nodes(leaf)
    cost = np.zeros(np.prod(problem.sizes[nodes]))
    kernels.reduced_costs(
        nodes, to_left, problem.start, allowed, master.cut_left,
        master.cut_rows, relaxation.beta, relaxation.gamma[leaf], master.level_start[leaf],
        master.pairs, relaxation.alpha[np.searchsorted(master.ends, leaf)], cost)
    cost = value + np.repeat(cost, len(value) // len(cost)) - relaxation.delta @ effects
    if problem.limited:
        cost[value < master.least_value] = -np.inf
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
        for position, leaf in enumerate(master.ends):
            if clock.expired:
                return np.concatenate(leaves), np.concatenate(paths), None
            cost = all_reduced_costs(master, relaxation, leaf, allowed)
            best[position] = cost.max()
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
