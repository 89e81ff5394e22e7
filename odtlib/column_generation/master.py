"""The restricted master problem over paths, kept in HiGHS and grown by columns and rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from odtlib._numba.vector import pack
from odtlib._tolerance import PROOF
from odtlib.column_generation import _highs
from odtlib.column_generation import _kernels as kernels
from odtlib.mip.units import TooLarge, look
from odtlib.requirements import needs

SLICE = 0.3             # seconds that a linear program is solved at a time
MOST_LINKS = 5_000_000  # linking rows; each takes some 100 bytes
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
        For every linked node the value of each of its splits (or, in the prefix form, of each way
        of splitting the nodes down to it).
    alpha : array, shape (n_ends,)
        Duals of "one path a leaf".
    gamma : list of array
        For every end the duals of its linking rows, level after level.
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
        down to this one, and its relaxation is exact without row constraints.
    clock : Clock, optional
        Building ends with TimeUp when it has expired.

    Attributes
    ----------
    ends : array of int
        The leaves that have columns: all; or, in the prefix form, the left one of any two siblings.
        Siblings share every split, so that there a column is the pair of their paths, and the
        nodes above the leaves need no linking rows.

    Notes
    -----
    The prefix form is the linear program of the dynamic program over nodes (Martin, Rardin and
    Campbell, Operations Research 38, 1990).
    """

    def __init__(self, problem, link="node", clock=None):
        self.highspy = needs("highspy", "solvers", "column generation")
        self.problem, self.link = problem, link
        sizes = np.diff(problem.start)
        self.pairs = link == "prefix"
        self.ends = np.arange(0, problem.n_leaves, 2 if self.pairs else 1)
        self.n_linked = problem.depth - 1 if self.pairs else problem.depth   # levels
        n_nodes = 2 ** self.n_linked - 1
        self.n_ways = np.empty(n_nodes, np.int64)   # values of rho at every linked node
        for node in range(n_nodes):
            above = self.n_ways[(node - 1) // 2] if self.pairs and node else 1
            self.n_ways[node] = above * sizes[node]
        self.rho_start = np.concatenate([[0], np.cumsum(self.n_ways)])
        self.nodes, self.to_left, self.level_start, self.link_row = [], [], [], []
        n_rows = len(self.ends)
        for leaf in range(problem.n_leaves):
            nodes, to_left = problem.path_nodes(leaf)
            self.nodes.append(nodes)
            self.to_left.append(to_left)
            ways = self.n_ways[nodes[:self.n_linked if leaf in self.ends else 0]]
            self.level_start.append(np.concatenate([[0], np.cumsum(ways)]))
            self.link_row.append(n_rows)
            n_rows += self.level_start[leaf][-1]
        if n_rows > MOST_LINKS:
            raise TooLarge(f"the candidate splits make {n_rows} linking rows; give fewer splits or "
                           "lower max_depth.")
        self.first_cut = n_rows
        self.lp = self._empty()
        self._build(n_rows, clock)
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

    def _build(self, n_rows, clock):
        bound = np.zeros(n_rows)
        bound[:len(self.ends)] = 1.0
        nothing = np.zeros(0, np.int32)
        self.lp.addRows(n_rows, bound, bound, 0, nothing, nothing, np.zeros(0))
        self.lp.changeObjectiveSense(self.highspy.ObjSense.kMaximize)
        entries = [[] for _ in range(self.rho_start[-1])]
        for leaf in self.ends:
            look(clock)
            for level, node in enumerate(self.nodes[leaf][:self.n_linked]):
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
        """Add paths, or in the prefix form their pairs; those that are there are passed over.

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
            at -= at % 2 if self.pairs else 0
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
            value[where] = self.values(at, path[where])
            rows = np.column_stack([np.full(len(where), np.searchsorted(self.ends, at)),
                                    self._link_rows(at, path[where])])
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

    def values(self, leaf, path):
        """Return what columns are worth: the value of a path, or of a pair of paths.

        Parameters
        ----------
        leaf : int
            One of :attr:`ends`.
        path : array of int, shape (n_paths,)
            Numbers of paths.

        Returns
        -------
        array, shape (n_paths,)
        """
        value = self.problem.values(leaf, path)
        return value + self.problem.values(leaf + 1, path) if self.pairs else value

    @property
    def least_value(self):
        """Columns worth less have a leaf with too few rows."""
        return -(2.0 if self.pairs else 1.0) * self.problem.limits[1] - 0.5 * self.problem.total

    def _link_rows(self, leaf, path):
        """Return the linking row at every level for paths to one leaf."""
        choices = self.problem.choices(leaf, path)[:, :self.n_linked]
        if self.pairs:
            sizes = np.diff(self.problem.start)[self.nodes[leaf]]
            for level in range(1, choices.shape[1]):
                choices[:, level] += choices[:, level - 1] * sizes[level]
        return self.link_row[leaf] + self.level_start[leaf][:-1] + choices

    def members(self, leaf, path, left, rows):
        """Tell which rows follow paths to one leaf, or one path of the pair.

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
        levels = slice(self.n_linked)
        kernels.path_rows(self.nodes[leaf][levels], self.to_left[leaf][levels], self.problem.start,
                          left, self.problem.choices(leaf, path), rows, member)
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
        for node in range(len(self.n_ways)):
            mine = allowed[problem.start[node]:problem.start[node + 1]]
            if self.pairs and node:
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
        end = lp.getRunTime() + seconds     # which counts from the first run
        status = self.highspy.HighsModelStatus.kTimeLimit
        # in slices, between which Python hears of Ctrl-C
        while status == self.highspy.HighsModelStatus.kTimeLimit and lp.getRunTime() < end:
            lp.setOptionValue("time_limit", min(end, lp.getRunTime() + SLICE))
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
            np.split(values[:n_rho], self.rho_start[1:-1]), dual[:len(self.ends)],
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
        return self._split_values(relaxation.rho, relaxation.x)

    def _split_values(self, rho, x):
        sizes = np.diff(self.problem.start)
        use = [values.reshape(-1, size).sum(axis=0)
               for values, size in zip(rho, sizes, strict=False) if len(values)]
        for leaf in self.ends if self.pairs else ():   # the nodes above the leaves
            mine = np.flatnonzero(self.leaf == leaf)
            last = self.problem.choices(leaf, self.path[mine])[:, -1]
            use.append(np.bincount(last, x[mine], sizes[self.nodes[leaf][-1]]))
        return use

    def best_tree(self):
        """Solve the integer master over the paths that it has by dynamic programming.

        The best subtree below a node depends on the splits above it alone.  So the pairs of
        sibling paths that are both there are joined at the nodes above the leaves, for every way
        of splitting what is above; of these the best are joined at the nodes above them, and so on
        up to the root.

        Returns
        -------
        array of int, shape (n_nodes,)
            For every node of the best tree the position in its list of splits.
        """
        problem = self.problem
        sizes = np.diff(problem.start)
        last = 2 ** (problem.depth - 1) - 1   # the first node above leaves
        best = {}                             # node -> splits above, value, choice
        for node in range(problem.n_nodes - 1, -1, -1):
            if node >= last:
                leaf = 2 * (node - last)
                ways = self.path[self.leaf == leaf]
                if not self.pairs:
                    ways = np.intersect1d(ways, self.path[self.leaf == leaf + 1])
                value = problem.values(leaf, ways) + problem.values(leaf + 1, ways)
            else:
                (left, of_left, _), (right, of_right, _) = best[2 * node + 1], best[2 * node + 2]
                ways, i, j = np.intersect1d(left, right, return_indices=True)
                value = of_left[i] + of_right[j]
            above, choice = np.divmod(ways, sizes[node])
            order = np.lexsort((-value, above))
            first = order[np.unique(above[order], return_index=True)[1]]
            best[node] = above[first], value[first], choice[first]
        choices = np.empty(problem.n_nodes, np.int64)
        above = np.zeros(problem.n_nodes, np.int64)
        for node in range(problem.n_nodes):
            ways, _, choice = best[node]
            choices[node] = choice[np.searchsorted(ways, above[node])]
            if node < last:
                above[2 * node + 1:2 * node + 3] = above[node] * sizes[node] + choices[node]
        return choices

    def solve_integer(self, seconds=np.inf, choices=None):
        """Solve the master with integral splits over the paths that it has by HiGHS.

        Given the splits, the best paths are integral by themselves.  :meth:`best_tree` gives the
        same answer in milliseconds.

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
        mip.setOptionValue("presolve", "off")   # that of HiGHS 1.14 can run for ever on a master
        # whole weights: anything less than one apart is the same tree weight
        mip.setOptionValue("mip_abs_gap", 0.99 if problem.unit == 1.0 else PROOF * problem.total)
        if np.isfinite(seconds):
            mip.setOptionValue("time_limit", max(0.0, seconds))
        if choices is not None and not self.pairs:
            start = np.zeros(n_rho + self.n_columns)
            start[self.rho_start[:-1] + choices] = 1.0
            number = [problem.path_number(leaf, choices) for leaf in range(problem.n_leaves)]
            start[n_rho + np.flatnonzero(self.path == np.array(number)[self.leaf])] = 1.0
            solution = self.highspy.HighsSolution()
            solution.col_value = start.tolist()
            mip.setSolution(solution)
        _highs.run(mip)
        status = mip.getModelStatus()
        proved = status == self.highspy.HighsModelStatus.kOptimal
        if mip.getInfo().primal_solution_status != self.highspy.kSolutionStatusFeasible:
            return None, False
        values = np.array(mip.getSolution().col_value)
        use = self._split_values(np.split(values[:n_rho], self.rho_start[1:-1]), values[n_rho:])
        return np.array([values.argmax() for values in use]), proved
