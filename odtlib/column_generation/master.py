"""The restricted master problem over paths, kept in HiGHS and grown by columns and rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation._bits import pack

SIDES = {"lower": (1.0, np.inf), "upper": (-np.inf, 1.0), "equal": (1.0, 1.0)}


@dataclass
class Relaxation:
    """Hold a solution of the linear relaxation.

    Parameters
    ----------
    value : float
        Weight of correct rows.
    x : array, shape (n_columns,)
        Value of every path in the master, in the order of its columns.
    rho : list of array
        For every node the value of each of its splits (or, in the prefix form, of each way of
        splitting the nodes down to it).
    alpha : array, shape (n_leaves,)
        Duals of "one path a leaf".
    gamma : list of array
        For every leaf the duals of its linking rows, level after level.
    beta : array, shape (n_cuts,)
        Duals of the row constraints.
    """

    value: float
    x: np.ndarray
    rho: list
    alpha: np.ndarray
    gamma: list
    beta: np.ndarray


class Master:
    """Hold the master problem of Firat et al. (2020), Eqs. (1) to (6), for some of the paths.

    Maximise the weight of correct rows over paths ``x`` and splits ``rho``, with one path a leaf,
    paths linked by the splits they share, and row constraints added on demand.

    Parameters
    ----------
    problem : RestrictedProblem
        Rows and candidate splits.
    link : {"node", "prefix"}, default="node"
        How paths are linked.  "node" is the papers' form: the paths to each leaf below a node use
        each of its splits equally often.  "prefix" asks this for every way of splitting all nodes
        down to this one; many more rows, and a relaxation that is exact without row constraints.

    Notes
    -----
    The prefix form is the linear program of the dynamic program over nodes (Martin, Rardin and
    Campbell, Operations Research 38, 1990).
    """

    def __init__(self, problem, link="node"):
        import highspy
        self.highspy, self.problem, self.link = highspy, problem, link
        sizes = np.diff(problem.start)
        self.n_ways = np.empty(problem.n_nodes, np.int64)   # values of rho at every node
        for node in range(problem.n_nodes):
            above = self.n_ways[(node - 1) // 2] if link == "prefix" and node else 1
            self.n_ways[node] = above * sizes[node]
        self.rho_start = np.concatenate([[0], np.cumsum(self.n_ways)])
        self.nodes, self.to_left, self.level_start, self.link_row = [], [], [], []
        n_rows = problem.n_leaves
        for leaf in range(problem.n_leaves):
            nodes, to_left = problem.path_nodes(leaf)
            self.nodes.append(nodes)
            self.to_left.append(to_left)
            self.level_start.append(np.concatenate([[0], np.cumsum(self.n_ways[nodes])]))
            self.link_row.append(n_rows)
            n_rows += self.level_start[leaf][-1]
        self.first_cut = n_rows
        self.lp = self._empty()
        self._build(n_rows)
        self.leaf = np.zeros(0, np.int64)   # of every column
        self.path = np.zeros(0, np.int64)
        self.known = [set() for _ in range(problem.n_leaves)]
        self.branches = np.zeros((problem.n_splits, 0), bool)   # of the constrained rows
        self._pack_cuts()

    def _empty(self):
        lp = self.highspy.Highs()
        lp.silent()
        lp.setOptionValue("threads", 1)
        return lp

    def _build(self, n_rows):
        bound = np.zeros(n_rows)
        bound[:self.problem.n_leaves] = 1.0
        nothing = np.zeros(0, np.int32)
        self.lp.addRows(n_rows, bound, bound, 0, nothing, nothing, np.zeros(0))
        self.lp.changeObjectiveSense(self.highspy.ObjSense.kMaximize)
        entries = [[] for _ in range(self.rho_start[-1])]
        for leaf, nodes in enumerate(self.nodes):
            for level, node in enumerate(nodes):
                first = self.link_row[leaf] + self.level_start[leaf][level]
                for way in range(self.n_ways[node]):
                    entries[self.rho_start[node] + way].append(first + way)
        n, starts = len(entries), np.cumsum([0, *map(len, entries)])
        index = np.array([row for rows in entries for row in rows], np.int32)
        self.lp.addCols(n, np.zeros(n), np.zeros(n), np.full(n, np.inf), len(index),
                        starts[:-1].astype(np.int32), index, np.full(len(index), -1.0))

    def _pack_cuts(self):
        self.cut_left = pack(self.branches)
        self.cut_whole = pack(np.ones((1, self.n_cuts), bool))[0]

    @property
    def n_columns(self):
        """Number of paths in the master."""
        return len(self.leaf)

    @property
    def n_cuts(self):
        """Number of row constraints in the master."""
        return self.branches.shape[1]

    def add_columns(self, leaf, path):
        """Add paths; those that are there already are passed over.

        Parameters
        ----------
        leaf, path : sequence of int
            Leaf and number of every path.

        Returns
        -------
        int
            How many were new.
        """
        new = []
        for at, number in zip(leaf, path, strict=True):
            at, number = int(at), int(number)
            if number not in self.known[at]:
                self.known[at].add(number)
                new.append((at, number))
        if not new:
            return 0
        leaf, path = np.array(new).T
        columns = [None] * len(new)
        value = np.empty(len(new))
        for at in np.unique(leaf):
            where = np.flatnonzero(leaf == at)
            value[where] = self.problem.paths[0][at][path[where]]
            rows = np.column_stack([np.full(len(where), at), self._link_rows(at, path[where])])
            member = self.members(at, path[where], self.cut_left, np.arange(self.n_cuts))
            for i, column in enumerate(where):
                cuts = self.first_cut + np.flatnonzero(member[i])
                columns[column] = np.concatenate([rows[i], cuts])
        starts = np.cumsum([0, *map(len, columns)])
        n = len(new)
        self.lp.addCols(n, value, np.zeros(n), np.full(n, np.inf), int(starts[-1]),
                        starts[:-1].astype(np.int32), np.concatenate(columns).astype(np.int32),
                        np.ones(starts[-1]))
        self.leaf = np.concatenate([self.leaf, leaf])
        self.path = np.concatenate([self.path, path])
        self._simplex("primal")
        return n

    def add_tree(self, choices):
        """Add the paths of a whole tree, which make the master feasible.

        Parameters
        ----------
        choices : array of int, shape (n_nodes,)
            For every node the position in its list of splits.
        """
        leaves = range(self.problem.n_leaves)
        self.add_columns(leaves, [self.problem.path_number(leaf, choices) for leaf in leaves])

    def _link_rows(self, leaf, path):
        """Return the linking row at every level for paths to one leaf."""
        choices = self.problem.choices(leaf, path)
        if self.link == "prefix":
            sizes = np.diff(self.problem.start)[self.nodes[leaf]]
            for level in range(1, choices.shape[1]):
                choices[:, level] += choices[:, level - 1] * sizes[level]
        return self.link_row[leaf] + self.level_start[leaf][:-1] + choices

    def members(self, leaf, path, left, rows):
        """Tell which rows follow paths to one leaf.

        Parameters
        ----------
        leaf : int
            The leaf.
        path : array of int, shape (n_paths,)
            Numbers of paths.
        left : array of uint64
            The sets that the splits send left, packed.
        rows : array of int, shape (n_rows,)
            Positions in these sets.

        Returns
        -------
        array of bool, shape (n_paths, n_rows)
        """
        member = np.empty((len(path), len(rows)), bool)
        kernels.path_rows(self.nodes[leaf], self.to_left[leaf], self.problem.start, left,
                          self.problem.choices(leaf, path), rows, member)
        return member

    def row_sums(self, x, left, rows):
        """Return the left-hand side of the constraint (1c) of rows.

        Parameters
        ----------
        x : array, shape (n_columns,)
            Value of every path.
        left : array of uint64
            The sets that the splits send left, packed.
        rows : array of int, shape (n_rows,)
            Positions in these sets.

        Returns
        -------
        array, shape (n_rows,)
            1 for a tree.
        """
        sums = np.zeros(len(rows))
        used = x > 1e-9
        for leaf in range(self.problem.n_leaves):
            mine = np.flatnonzero(used & (self.leaf == leaf))
            sums += x[mine] @ self.members(leaf, self.path[mine], left, rows)
        return sums

    def add_cuts(self, branches, sides="upper"):
        """Add the constraint (1c) that a row follows one path, for labelled rows or any other.

        Parameters
        ----------
        branches : array of bool, shape (n_splits, n_rows)
            Which rows every split sends left.
        sides : {"upper", "lower", "equal"}, default="upper"
            At most, at least, or exactly one path.
        """
        n = branches.shape[1]
        if n == 0:
            return
        left = pack(branches)
        index = [[] for _ in range(n)]
        n_rho = int(self.rho_start[-1])
        for leaf in range(self.problem.n_leaves):
            mine = np.flatnonzero(self.leaf == leaf)
            member = self.members(leaf, self.path[mine], left, np.arange(n))
            for row in range(n):
                index[row].append(n_rho + mine[member[:, row]])
        index = [np.concatenate(parts) for parts in index]
        starts = np.cumsum([0, *map(len, index)])
        low, high = SIDES[sides]
        self.lp.addRows(n, np.full(n, low), np.full(n, high), int(starts[-1]),
                        starts[:-1].astype(np.int32), np.concatenate(index).astype(np.int32),
                        np.ones(starts[-1]))
        self.branches = np.concatenate([self.branches, branches], axis=1)
        self._pack_cuts()
        self._simplex("dual")

    def restrict(self, allowed):
        """Allow only some splits: paths through others, and these splits, are fixed at zero.

        Parameters
        ----------
        allowed : array of bool, shape (n_splits,)
            At least one at every node.
        """
        problem = self.problem
        upper = []
        for node in range(problem.n_nodes):
            mine = allowed[problem.start[node]:problem.start[node + 1]]
            if self.link == "prefix" and node:
                mine = (upper[(node - 1) // 2][:, None] & mine).ravel()
            upper.append(mine)
        usable = np.empty(self.n_columns, bool)
        for leaf in range(problem.n_leaves):
            mine = np.flatnonzero(self.leaf == leaf)
            splits = problem.start[self.nodes[leaf]] + problem.choices(leaf, self.path[mine])
            usable[mine] = allowed[splits].all(axis=1)
        high = np.where(np.concatenate([*upper, usable]), np.inf, 0.0)
        n = len(high)
        self.lp.changeColsBounds(n, np.arange(n, dtype=np.int32), np.zeros(n), high)
        self._simplex("dual")

    def _simplex(self, which):
        # new columns keep the basis primal feasible, new rows and bounds dual feasible
        self.lp.setOptionValue("simplex_strategy", 4 if which == "primal" else 1)

    def solve(self, seconds=np.inf):
        """Solve the linear relaxation from the last basis.

        Parameters
        ----------
        seconds : float, default=inf
            Time limit.

        Returns
        -------
        Relaxation or None
            None where time ran out.

        Raises
        ------
        RuntimeError
            If HiGHS ends in any other way.
        """
        lp = self.lp
        lp.setOptionValue("presolve", "off")
        lp.setOptionValue("time_limit", lp.getRunTime() + seconds)   # counts from the first run
        lp.run()
        status = lp.getModelStatus()
        if status == self.highspy.HighsModelStatus.kTimeLimit:
            return None
        if status != self.highspy.HighsModelStatus.kOptimal:
            raise RuntimeError("HiGHS ended the master problem with "
                               f"{lp.modelStatusToString(status)}.")
        solution = lp.getSolution()
        dual = np.array(solution.row_dual)
        values = np.array(solution.col_value)
        n_rho = self.rho_start[-1]
        return Relaxation(
            lp.getInfo().objective_function_value, values[n_rho:],
            np.split(values[:n_rho], self.rho_start[1:-1]), dual[:self.problem.n_leaves],
            [dual[row:row + start[-1]]
             for row, start in zip(self.link_row, self.level_start, strict=True)],
            dual[self.first_cut:])

    def split_values(self, relaxation):
        """Return how much of each split a relaxation uses.

        Parameters
        ----------
        relaxation : Relaxation
            From :meth:`solve`.

        Returns
        -------
        list of array
            For every node one number for each of its splits; they sum to one.
        """
        sizes = np.diff(self.problem.start)
        return [rho.reshape(-1, size).sum(axis=0)
                for rho, size in zip(relaxation.rho, sizes, strict=True)]

    def solve_integer(self, seconds=np.inf, choices=None):
        """Solve the master with integral splits over the paths that it has.

        Given the splits, the best paths are integral by themselves.

        Parameters
        ----------
        seconds : float, default=inf
            Time limit.
        choices : array of int, shape (n_nodes,), optional
            A known tree to begin with; its paths must be in the master.

        Returns
        -------
        choices : array of int or None
            For every node the position in its list of splits; None where no tree was found.
        proved : bool
            Whether no other tree of these paths is better.
        """
        problem, n_rho = self.problem, int(self.rho_start[-1])
        mip = self._empty()
        mip.passModel(self.lp.getModel())
        mip.changeColsIntegrality(n_rho, np.arange(n_rho, dtype=np.int32),
                                  np.full(n_rho, self.highspy.HighsVarType.kInteger))
        mip.setOptionValue("mip_rel_gap", 0.0)
        # whole weights: anything less than one apart is the same tree weight
        mip.setOptionValue("mip_abs_gap", 0.99 if problem.unit == 1.0 else 1e-9)
        if np.isfinite(seconds):
            mip.setOptionValue("time_limit", max(0.0, seconds))
        if choices is not None and self.link == "node":
            start = np.zeros(n_rho + self.n_columns)
            start[self.rho_start[:-1] + choices] = 1.0
            number = [problem.path_number(leaf, choices) for leaf in range(problem.n_leaves)]
            start[n_rho + np.flatnonzero(self.path == np.array(number)[self.leaf])] = 1.0
            solution = self.highspy.HighsSolution()
            solution.col_value = start.tolist()
            mip.setSolution(solution)
        mip.run()
        status = mip.getModelStatus()
        proved = status == self.highspy.HighsModelStatus.kOptimal
        if mip.getInfo().primal_solution_status != self.highspy.kSolutionStatusFeasible:
            return None, False
        values = np.split(np.array(mip.getSolution().col_value)[:n_rho], self.rho_start[1:-1])
        sizes = np.diff(problem.start)
        return np.array([value.reshape(-1, size).sum(axis=0).argmax()
                         for value, size in zip(values, sizes, strict=True)]), proved
