"""Pricing: find paths of positive reduced cost, by enumeration or at random."""

from __future__ import annotations

import numpy as np

from odtlib.column_generation import _kernels as kernels

TOLERANCE = 1e-6   # reduced costs above it are positive (Patel et al. 2023, Section 4.1)


def all_reduced_costs(master, relaxation, leaf, allowed):
    """Return the reduced cost of every path to a leaf (Firat et al. 2020, Eq. 7).

    Parameters
    ----------
    master : Master
        The master problem.
    relaxation : Relaxation
        Its duals.
    leaf : int
        The leaf.
    allowed : array of bool, shape (n_splits,)
        Splits that paths may use.

    Returns
    -------
    array, shape (n_paths,)
        Minus infinity for paths that are not allowed.
    """
    problem = master.problem
    value = problem.paths[0][leaf]
    cost = np.empty(len(value))
    kernels.reduced_costs(
        master.nodes[leaf], master.to_left[leaf], problem.start, allowed, master.cut_left,
        master.cut_whole, relaxation.beta, relaxation.gamma[leaf], master.level_start[leaf],
        master.link == "prefix", relaxation.alpha[leaf], value, cost)
    return cost


def some_reduced_costs(master, relaxation, leaf, path):
    """Return the reduced costs of some paths.

    Parameters
    ----------
    master : Master
        The master problem.
    relaxation : Relaxation
        Its duals.
    leaf, path : array of int, shape (n_paths,)
        The paths.

    Returns
    -------
    array, shape (n_paths,)
    """
    cost = np.empty(len(path))
    for at in np.unique(leaf):
        mine = np.flatnonzero(leaf == at)
        rows = master._link_rows(at, path[mine]) - master.link_row[at]
        member = master.members(at, path[mine], master.cut_left, np.arange(master.n_cuts))
        cost[mine] = (master.problem.paths[0][at][path[mine]] - relaxation.alpha[at]
                      - relaxation.gamma[at][rows].sum(axis=1) - member @ relaxation.beta)
    return cost


class Enumeration:
    """Price exactly: look at every path.

    Firat et al. (2020), Proposition 3, set this aside because the number of paths grows like the
    number of rows times features to the power of the depth; over candidate splits it is at most a
    few thousand a leaf.

    Parameters
    ----------
    per_leaf : int, default=50
        Most columns returned for a leaf, those of largest reduced cost.
    """

    exact = True

    def __init__(self, per_leaf=50):
        self.per_leaf = per_leaf

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths and the best reduced cost of every leaf.

        Parameters
        ----------
        master : Master
            The master problem.
        relaxation : Relaxation
            Its duals.
        allowed : array of bool, shape (n_splits,)
            Splits that paths may use.
        seconds : float, default=inf
            Time left; not looked at, enumeration takes milliseconds.

        Returns
        -------
        leaf, path : arrays of int
            The paths to add.
        best : array, shape (n_leaves,)
            Largest reduced cost of every leaf.
        """
        leaves, paths = [], []
        best = np.empty(master.problem.n_leaves)
        for leaf in range(master.problem.n_leaves):
            cost = all_reduced_costs(master, relaxation, leaf, allowed)
            best[leaf] = cost.max()
            good = np.flatnonzero(cost > TOLERANCE)
            if len(good) > self.per_leaf:
                good = good[np.argpartition(-cost[good], self.per_leaf)[:self.per_leaf]]
            leaves.append(np.full(len(good), leaf))
            paths.append(good)
        return np.concatenate(leaves), np.concatenate(paths), best


class RandomPaths:
    """Price by random paths whose splits are all different (Patel et al. 2023, Section 4.1).

    Parameters
    ----------
    random : numpy.random.RandomState
        Source of randomness.
    n_paths : int, default=100
        Paths drawn an iteration; all with positive reduced cost are returned.
    """

    exact = False

    def __init__(self, random, n_paths=100):
        self.random, self.n_paths = random, n_paths

    def draw(self, master, allowed, leaves):
        """Draw one path to each of some leaves.

        Parameters
        ----------
        master : Master
            The master problem.
        allowed : array of bool, shape (n_splits,)
            Splits that paths may use.
        leaves : array of int
            Where the paths end.

        Returns
        -------
        leaf, path : arrays of int
            Shorter than ``leaves`` where no different split was left.
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
                drawn.append((leaf, number))
        return np.array(drawn, np.int64).reshape(-1, 2).T

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths; see :class:`Enumeration`.

        Parameters
        ----------
        master, relaxation, allowed, seconds
            As for :class:`Enumeration`.

        Returns
        -------
        leaf, path : arrays of int
            The paths to add.
        best : None
            Nothing is proved.
        """
        leaves = self.random.randint(master.problem.n_leaves, size=self.n_paths)
        leaf, path = self.draw(master, allowed, leaves)
        good = some_reduced_costs(master, relaxation, leaf, path) > TOLERANCE
        return leaf[good], path[good], None

    def restart(self, leaves):
        """Be told for which leaves exact pricing found columns; nothing is remembered here.

        Parameters
        ----------
        leaves : array of int
            The leaves.
        """


class PathPool(RandomPaths):
    """Price by a pool of random paths (Firat et al. 2020, Section 4.2.3).

    Every iteration draws paths to leaves that had improving paths before, adds those of the pool
    with the largest positive reduced costs to the master, and keeps the best of the rest.

    Parameters
    ----------
    random : numpy.random.RandomState
        Source of randomness.
    pool_size : int, default=500
        Paths kept.
    n_leaves : int, default=200
        Paths drawn an iteration.
    n_added : int, default=100
        Most paths added to the master an iteration.
    """

    def __init__(self, random, pool_size=500, n_leaves=200, n_added=100):
        super().__init__(random, n_leaves)
        self.pool_size, self.n_added = pool_size, n_added
        self.pool = np.zeros((2, 0), np.int64)
        self.promising = None

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths; see :class:`Enumeration`.

        Parameters
        ----------
        master, relaxation, allowed, seconds
            As for :class:`Enumeration`.

        Returns
        -------
        leaf, path : arrays of int
            The paths to add.
        best : None
            Nothing is proved.
        """
        if self.promising is None:
            self.promising = np.arange(master.problem.n_leaves)
        leaves = self.random.choice(self.promising, size=self.n_paths)
        pool = np.concatenate([self.pool, self.draw(master, allowed, leaves)], axis=1)
        pool = np.unique(pool, axis=1)
        cost = some_reduced_costs(master, relaxation, *pool)
        order = np.argsort(-cost, kind="stable")
        n_good = min(self.n_added, int((cost > TOLERANCE).sum()))
        leaf, path = pool[:, order[:n_good]]
        self.pool = pool[:, order[n_good:n_good + self.pool_size]]
        if n_good:
            self.promising = np.unique(leaf)
        return leaf, path, None

    def restart(self, leaves):
        """Empty the pool and look at the leaves for which exact pricing found columns.

        Parameters
        ----------
        leaves : array of int
            The leaves.
        """
        self.pool = np.zeros((2, 0), np.int64)
        self.promising = np.unique(leaves)
