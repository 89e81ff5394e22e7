"""Heuristics of the papers for columns: sampled at the start, drawn at random, or from a pool."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from odtlib.arrays import distinct_rows
from odtlib.column_generation.master import Master
from odtlib.column_generation.pricing import TOLERANCE
from odtlib.heuristics.threshold_sampling import TreeSampler, spawned

# Of the pool of Firat et al.: paths drawn and, at most, added to the master in each iteration, and
# paths kept.
POOL_DRAWN, POOL_ADDED, POOL_KEPT = 200, 100, 500


@dataclass(frozen=True)
class SampledColumns:
    """Begin with the paths of CARTs of random rows, where their splits are candidates.

    Step 4 of Patel et al. (2023).

    Parameters
    ----------
    backend : {"compiled", "sklearn"}, default="compiled"
        What grows the trees, as in :class:`~odtlib.ThresholdSampling`.
    n_trees : int, default=100
        Number of trees.
    share : float, default=0.8
        Share of the rows behind each tree.
    seed : int, default=0
        Seed of these rows; 0 draws those of the published program.
    """

    backend: str = "compiled"
    n_trees: int = 100
    share: float = 0.8
    seed: int = 0

    def __call__(self, master, clock):
        """Add the paths to a master; those found by then where the clock expires."""
        problem = master.problem
        sampler = TreeSampler(problem.X, problem.y, problem.n_classes, problem.weights,
                              problem.depth, self.backend, seed=self.seed)
        candidates = [set(node) for node in problem.splits]
        leaves, paths = [], []
        for number in range(self.n_trees):
            if clock.expired:
                break
            tree = sampler.grow(sampler.part(self.share, number))
            choices = problem.choose(tree)
            for leaf in range(problem.n_leaves):
                if all(tree[node] in candidates[node] for node in problem.above[leaf]):
                    leaves.append(leaf)
                    paths.append(problem.path_number(leaf, choices))
        master.add_columns(leaves, paths)


def some_reduced_costs(master, relaxation, leaf, path):
    """Return the reduced costs of some paths, given by their leaves and numbers."""
    cost = np.empty(len(path))
    for at in np.unique(leaf):
        mine = np.flatnonzero(leaf == at)
        splits, turns = master.path_splits(leaf[mine], path[mine])
        rows = master._link_rows(leaf[mine], splits) - master.link_row[at]
        member = master.members(splits, turns, master.cut_left, np.arange(master.n_cuts))
        value, effects = master.values(at, path[mine])
        cost[mine] = (value - relaxation.alpha[np.searchsorted(master.ends, at)]
                      - relaxation.gamma[at][rows].sum(axis=1) - member @ relaxation.beta
                      - relaxation.delta @ effects)
        cost[mine[value < master.least_value]] = -np.inf
    return cost


class RandomPaths:
    """Price by random paths whose splits are all different (Patel et al. 2023, Section 4.1).

    Parameters
    ----------
    random : int or RandomState, default=0
        Seed of the random choices; each fit begins with it.  0 draws as the published program, and
        no other seed shares a draw with it or with the parts of the rows that it samples.
    n_paths : int, default=100
        Paths drawn per iteration; all with positive reduced cost are returned.
    """

    exact = False

    def __init__(self, random: int | np.random.RandomState = 0, n_paths: int = 100) -> None:
        self.random, self.n_paths = check_random_state(
            spawned(random) if isinstance(random, Integral) and random else random), n_paths
        self.given = random, n_paths        # what makes two of them alike

    def __eq__(self, other):
        return type(self) is type(other) and self.given == other.given

    def draw(self, master: Master, allowed: NDArray[np.bool_],
             leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw one path to each of some leaves, of ``allowed`` splits; return leaves and paths.

        They are fewer than ``leaves`` where no different split was left.  With side constraints
        the path comes with each class.
        """
        problem = master.problem
        drawn = []
        for leaf in leaves:
            nodes = master.problem.above[leaf]
            seen, number = set(), 0
            for node in nodes:
                here = np.arange(problem.start[node], problem.start[node + 1])
                closed = None in seen       # a node above has no split
                fresh = [s for s in (here[-1:] if closed else here) if allowed[s]
                         and (closed or (problem.feature[s], problem.threshold[s]) not in seen)]
                if not fresh:
                    break
                split = fresh[self.random.randint(len(fresh))]
                seen.add(None if problem.no_split[split]
                         else (problem.feature[split], problem.threshold[split]))
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

    def restart(self, leaves: NDArray[np.int64]) -> None:
        """Do nothing: random pricing keeps no state between iterations."""


class PathPool(RandomPaths):
    """Price by a pool of random paths (Firat et al. 2020, Section 4.2.3).

    Each iteration draws 200 paths to leaves that had improving paths before, adds up to 100 of the
    pool, those of the largest positive reduced costs, to the master, and keeps the best 500 of the
    rest.  The pool is emptied whenever exact pricing had to step in.

    Parameters
    ----------
    random : int or RandomState, default=0
        Seed of the random choices; each fit begins with it.
    """

    def __init__(self, random: int | np.random.RandomState = 0) -> None:
        super().__init__(random, POOL_DRAWN)
        self.pool = np.zeros((2, 0), np.int64)
        self.promising = None

    def __call__(self, master, relaxation, allowed, seconds=np.inf):
        """Return improving paths, and None: a heuristic proves no bound."""
        if self.promising is None:
            self.promising = master.ends
        leaves = self.random.choice(self.promising, size=self.n_paths)
        pool = np.concatenate([self.pool, self.draw(master, allowed, leaves)], axis=1)
        pool = distinct_rows(pool.T)[0].T
        cost = some_reduced_costs(master, relaxation, *pool)
        order = np.argsort(-cost, kind="stable")
        n_good = min(POOL_ADDED, int((cost > TOLERANCE).sum()))
        leaf, path = pool[:, order[:n_good]]
        self.pool = pool[:, order[n_good:n_good + POOL_KEPT]]
        if n_good:
            self.promising = np.unique(leaf)
        return leaf, path, None

    def restart(self, leaves: NDArray[np.int64]) -> None:
        """Empty the pool, and draw next for the leaves for which exact pricing found columns."""
        self.pool = np.zeros((2, 0), np.int64)
        self.promising = np.unique(leaves)


def heuristic_pricing(word: str, random: int | np.random.RandomState = 0) -> RandomPaths | None:
    """Return what a word of the experiments stands for.

    Parameters
    ----------
    word : {"none", "pool", "random"}
        Nothing, the pool of Firat et al., or 100 random paths as in Patel et al.
    random : int or RandomState, default=0
        Seed of the random choices.

    Returns
    -------
    RandomPaths or None
    """
    return {"none": lambda seed: None, "pool": PathPool, "random": RandomPaths}[word](random)
