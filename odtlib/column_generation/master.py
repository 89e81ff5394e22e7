"""The restricted master problem over paths, kept in HiGHS and extended by columns and rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from odtlib._numba.vector import pack
from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation.units import look
from odtlib.fit import TooLarge
from odtlib.requirements import needs
from odtlib.solver_threads import run_highs, silent_highs
from odtlib.tolerance import PROOF

MAX_LINKS = 5_000_000   # linking rows
MOST_PATHS = 2.0**62    # numbers of paths
LINK_BYTES = 100        # of each
ENTRY_BYTES = 48        # of a nonzero, in HiGHS and here
SIDES = {"lower": (1.0, np.inf), "upper": (-np.inf, 1.0), "equal": (1.0, 1.0)}


@dataclass
class Relaxation:
    """Hold a solution of the linear relaxation.

    Parameters
    ----------
    value : float
        Weight of correct rows, less the penalty of splits.
    x : array, shape (n_columns,)
        Value of each path in the master, in the order of its columns.
    rho : list of array
        For each linked node the value of each of its splits (or, in the prefix form, of each way
        of splitting the nodes down to it).
    alpha : array, shape (n_ends,)
        Duals of "one path per leaf".
    gamma : list of array
        For each end the duals of its linking rows, level after level.
    beta : array, shape (n_cuts,)
        Duals of the row constraints.
    delta : array, shape (n_limits,)
        Duals of the limits over all leaves: of the budget of leaves, if there is one, and of the
        side constraints.
    """

    value: float
    x: np.ndarray
    rho: list
    alpha: np.ndarray
    gamma: list
    beta: np.ndarray
    delta: np.ndarray


class Master:
    """Hold the master problem of Firat et al. (2020), Eqs. (1) to (6), for some of the paths.

    Maximise the weight of correct rows over paths ``x`` and splits ``rho``, with one path per leaf,
    paths linked by the splits that they share, and row constraints added on demand.  A budget of
    leaves is one more row: the paths with rows are at most ``max_leaves``.  Each side constraint
    is one more row over the paths, which then carry the classes of their leaves.  A budget of
    features has a variable per feature that is at least the use of its splits at each node, and a
    row over these variables.  It has no dual in the reduced costs, because all splits ``rho`` are
    in the master.  What breaks a limit costs more than any tree within it, so that any tree makes
    the master feasible.

    Parameters
    ----------
    problem : RestrictedProblem
        Rows and candidate splits.
    link : {"node", "prefix"}, default="node"
        How paths are linked.  "node" is the papers' form: the paths to each leaf below a node use
        each of its splits equally often.  "prefix" asks this for each way of splitting all nodes
        down to this one; without a budget its relaxation is exact without row constraints.
    clock : Clock, optional
        Building ends with TimeUp when it has expired.

    Attributes
    ----------
    ends : array of int
        The leaves that have columns: all; or, in the prefix form, the left one of any two siblings.
        Siblings share all splits, so that there a column is the pair of their paths, and the nodes
        above the leaves need no linking rows.
    rho_sizes : array of int
        Number of variables ``rho`` of each linked node.

    Notes
    -----
    The prefix form is the linear program of the dynamic program over nodes (Martin, Rardin and
    Campbell, Operations Research 38, 1990).
    """

    def __init__(self, problem, link="node", clock=None):
        self.highspy = needs("highspy", "solvers", "column generation")
        self.problem, self.link = problem, link
        sizes = problem.sizes
        self.pairs = link == "prefix"
        if self.pairs and (problem.max_feature_cost is not None or problem.side is not None):
            raise ValueError("limits on features, recall, precision and disparity need the master "
                             "whose columns are paths; use link='node'.")
        self.ends = np.arange(0, problem.n_leaves, 2 if self.pairs else 1)
        self.n_linked = problem.depth - 1 if self.pairs else problem.depth   # levels
        n_nodes = 2 ** self.n_linked - 1
        self.rho_sizes = np.empty(n_nodes, np.int64)
        for node in range(n_nodes):
            above = self.rho_sizes[(node - 1) // 2] if self.pairs and node else 1
            self.rho_sizes[node] = above * sizes[node]
        self.rho_start = np.concatenate([[0], np.cumsum(self.rho_sizes)])
        self.n_rho = int(self.rho_start[-1])
        # the rows of each end: one, and behind all of these its linking rows, level after level
        linked = self.rho_sizes[problem.above[:, :self.n_linked]]
        linked[np.arange(problem.n_leaves) % 2 == 1] *= not self.pairs
        self.level_start = np.insert(linked.cumsum(axis=1), 0, 0, axis=1)
        stop = len(self.ends) + self.level_start[:, -1].cumsum()
        self.link_row, n_rows = stop - self.level_start[:, -1], int(stop[-1])
        if problem.n_paths > MOST_PATHS:
            raise TooLarge(f"the candidate splits make {problem.n_paths:.3g} paths, more than can "
                           "be numbered; give fewer splits or lower max_depth.")
        if n_rows > MAX_LINKS or problem.goes_left.size + LINK_BYTES * n_rows > problem.max_bytes:
            raise TooLarge(f"the candidate splits make {n_rows} linking rows; give fewer splits or "
                           "lower max_depth.")
        # behind the linking rows those of the limits, behind rho what breaks them
        low, high = [], []
        if problem.max_leaves is not None:
            low, high = [-np.inf], [float(problem.max_leaves)]
        if problem.side is not None:
            low, high = [*low, *problem.side.low], [*high, *problem.side.high]
        self.limit_rows = n_rows + np.arange(len(low))
        self.lp = self._empty()
        self._build(n_rows, clock)
        self._add_limits(np.array(low), np.array(high))
        if problem.max_feature_cost is not None:
            self._add_features()
        self.first_cut, self.first_path = self.lp.getNumRow(), self.lp.getNumCol()
        self.leaf = np.zeros(0, np.int64)   # of each column
        self.path = np.zeros(0, np.int64)
        self.splits = np.zeros((0, self.n_linked), np.int64)
        self.turns = np.zeros((0, self.n_linked), bool)
        self._every = {}        # of each end, values and effects of all its columns
        self.known = [set() for _ in range(problem.n_leaves)]
        self.branches = np.zeros((problem.n_splits, 0), bool)   # of the constrained rows
        self._pack_cuts()

    def _empty(self):
        lp = silent_highs(self.highspy)
        # HiGHS keeps a thread to the number of workers that its first run there had
        lp.setOptionValue("threads", 1)
        if lp.run() == self.highspy.HighsStatus.kError:
            lp.setOptionValue("threads", 0)
        return lp

    def _build(self, n_rows, clock):
        lp, problem = self.lp, self.problem
        bound = np.zeros(n_rows)
        bound[:len(self.ends)] = 1.0
        nothing = np.zeros(0, np.int32)
        lp.addRows(n_rows, bound, bound, 0, nothing, nothing, np.zeros(0))
        lp.changeObjectiveSense(self.highspy.ObjSense.kMaximize)
        lp.changeObjectiveOffset(problem.penalty)   # a tree has one leaf more than splits
        entries = [[] for _ in range(self.n_rho)]
        for leaf in self.ends:
            look(clock)
            for level, node in enumerate(problem.above[leaf, :self.n_linked]):
                first = self.link_row[leaf] + self.level_start[leaf][level]
                for i in range(self.rho_sizes[node]):
                    entries[self.rho_start[node] + i].append(first + i)
        n, starts = len(entries), np.cumsum([0, *map(len, entries)])
        index = np.array([row for rows in entries for row in rows], np.int32)
        lp.addCols(n, np.zeros(n), np.zeros(n), np.full(n, np.inf), len(index),
                   starts[:-1].astype(np.int32), index, np.full(len(index), -1.0))

    def _add_limits(self, low, high):
        """Add a row for each limit over all leaves, and a variable for what breaks either side."""
        lp, nothing = self.lp, np.zeros(0, np.int32)
        lp.addRows(len(low), low, high, 0, nothing, nothing, np.zeros(0))
        for limit, sign in ((high, -1.0), (low, 1.0)):
            rows = self.limit_rows[np.isfinite(limit)].astype(np.int32)
            n = len(rows)
            lp.addCols(n, np.full(n, -self.problem.limits[2]), np.zeros(n), np.full(n, np.inf), n,
                       np.arange(n, dtype=np.int32), rows, np.full(n, sign))

    def _add_features(self):
        """Add a variable per feature and what exceeds their budget, and the rows of both."""
        lp, problem = self.lp, self.problem
        first, nothing = lp.getNumCol(), np.zeros(0, np.int32)
        n = len(problem.feature_costs)
        value = np.append(np.zeros(n), -problem.limits[2])
        lp.addCols(n + 1, value, np.zeros(n + 1), np.full(n + 1, np.inf), 0, nothing, nothing,
                   np.zeros(0))
        for node in range(problem.n_nodes):
            span = slice(problem.start[node], problem.start[node + 1])
            feature = np.where(problem.no_split[span], -1,
                               problem.feature_of[problem.feature[span]])
            for f in np.unique(feature[feature >= 0]):
                mine = np.append(self.rho_start[node] + np.flatnonzero(feature == f), first + f)
                lp.addRow(-np.inf, 0.0, len(mine), mine.astype(np.int32),
                          np.append(np.ones(len(mine) - 1), -1.0))
        lp.addRow(-np.inf, float(problem.max_feature_cost), n + 1,
                  np.arange(first, first + n + 1, dtype=np.int32),
                  np.append(problem.feature_costs.astype(float), -1.0))

    def _pack_cuts(self):
        self.cut_left = pack(self.branches)
        self.cut_rows = pack(np.ones((1, self.n_cuts), bool))[0]

    @property
    def n_columns(self):
        """Number of paths in the master."""
        return len(self.leaf)

    @property
    def n_cuts(self):
        """Number of row constraints in the master."""
        return self.branches.shape[1]

    @property
    def n_bytes(self):
        """Estimate of the memory of the problem and of the master, in bytes."""
        n_paths = sum(map(len, self.problem.paths[0])) if "paths" in vars(self.problem) else 0
        return (self.problem.goes_left.size + 16 * n_paths + LINK_BYTES * self.first_cut
                + self.branches.size + ENTRY_BYTES * self.lp.getNumNz())

    def add_columns(self, leaf, path):
        """Add the paths, or in the prefix form their pairs, that are new; return their number.

        ``leaf`` and ``path`` are sequences: leaf and number of each path.
        """
        new = []
        for end, number in zip(leaf, path, strict=True):
            end, number = int(end), int(number)
            end -= end % 2 if self.pairs else 0
            if number not in self.known[end]:
                self.known[end].add(number)
                new.append((end, number))
        if not new:
            return 0
        leaf, path = np.array(new).T
        splits, turns = self.path_splits(leaf, path)
        linked = np.column_stack([np.searchsorted(self.ends, leaf), self._link_rows(leaf, splits)])
        member = self.members(splits, turns, self.cut_left, np.arange(self.n_cuts))
        n, value, limits = len(new), np.empty(len(new)), np.ones((len(new), len(self.limit_rows)))
        for end in np.unique(leaf):
            mine = leaf == end
            value[mine], effects = self.values(end, path[mine])
            limits[mine, :len(effects)] = effects.T
        cuts = np.arange(self.first_cut, self.first_cut + self.n_cuts)
        rows = np.hstack([linked, np.tile(np.append(self.limit_rows, cuts), (n, 1))])
        entries = np.hstack([np.ones(linked.shape), limits, member])
        used = entries != 0
        ends = used.sum(axis=1).cumsum()
        self.lp.addCols(n, value, np.zeros(n), np.full(n, np.inf), int(ends[-1]),
                        np.append(0, ends[:-1]).astype(np.int32), rows[used].astype(np.int32),
                        entries[used])
        for name, new in (("leaf", leaf), ("path", path), ("splits", splits), ("turns", turns)):
            setattr(self, name, np.concatenate([getattr(self, name), new]))
        self._simplex("primal")
        return n

    def reduced_costs(self):
        """Return what the last relaxation gains by one more of each column that it had."""
        return np.array(self.lp.getSolution().col_dual)[self.first_path:]

    def drop_columns(self, chosen):
        """Remove some columns, given as a mask over all; pricing may find them again."""
        gone = np.flatnonzero(chosen)
        if len(gone):
            self.lp.deleteCols(len(gone), (self.first_path + gone).astype(np.int32))
        for end, number in zip(self.leaf[gone], self.path[gone], strict=True):
            self.known[end].remove(number)
        for name in ("leaf", "path", "splits", "turns"):
            setattr(self, name, getattr(self, name)[~chosen])

    def add_tree(self, choices):
        """Add the paths of the tree that a choice at each node makes."""
        leaves = np.arange(self.problem.n_leaves)
        self.add_columns(leaves, self.problem.path_number(leaves, choices))

    def values(self, leaf, path):
        """Return values and effects of columns: of paths, or of pairs of paths."""
        return self._of_pairs(*(self.problem.values(each, path) for each in self._pair(leaf)))

    def every_value(self, leaf):
        """Return values and effects of all columns of an end; lists all paths."""
        if leaf not in self._every:
            value, effects = self.problem.paths
            self._every[leaf] = self._of_pairs(*((value[each], effects[each])
                                                 for each in self._pair(leaf)))
        return self._every[leaf]

    def _pair(self, leaf):
        return (leaf, leaf + 1) if self.pairs else (leaf,)

    @staticmethod
    def _of_pairs(first, *siblings):
        for value, effects in siblings:
            first = first[0] + value, first[1].astype(np.int64) + effects
        return first

    @property
    def least_value(self):
        """Value below which a column must have a leaf with too few rows."""
        return -(2.0 if self.pairs else 1.0) * self.problem.penalty - 0.5 * self.problem.total

    def path_splits(self, leaf, path):
        """Return the splits of paths, and whether they go left, on the levels that are linked."""
        return [part[:, :self.n_linked] for part in self.problem.path_splits(leaf, path)]

    def _link_rows(self, leaf, splits):
        """Return the linking row at each level for paths with given splits."""
        nodes = self.problem.above[leaf, :self.n_linked]
        choices = splits - self.problem.start[nodes]
        for level in range(1, self.n_linked) if self.pairs else ():
            choices[:, level] += choices[:, level - 1] * self.problem.sizes[nodes[:, level]]
        return self.link_row[leaf, None] + self.level_start[leaf, :-1] + choices

    def members(self, splits, to_left, left, rows):
        """Return which rows follow each of some paths, shape (n_paths, n_rows).

        ``splits`` and ``to_left`` are those of :meth:`RestrictedProblem.path_splits`, ``left`` the
        packed sets that the splits send left, ``rows`` positions in them.  In the prefix form a row
        follows one path of the pair.
        """
        member = np.empty((len(splits), len(rows)), bool)
        kernels.path_rows(splits, to_left, left, rows, member)
        return member

    def row_sums(self, x, left, rows):
        """Return the left-hand side of the constraint (1c) of each row; 1 for a tree.

        ``left`` and ``rows`` are those of :meth:`members`.
        """
        used = np.flatnonzero(x > 1e-9)
        return x[used] @ self.members(self.splits[used], self.turns[used], left, rows)

    def add_cuts(self, branches, sides="upper"):
        """Add the constraint (1c) that a row follows one path, for labelled rows or any other.

        ``branches``, (n_splits, n_rows), says which rows each split sends left, and ``sides``
        whether it is at most ("upper"), at least ("lower") or exactly ("equal") one path.
        """
        n = branches.shape[1]
        if n == 0:
            return
        left = pack(branches)
        member = self.members(self.splits, self.turns, left, np.arange(n))
        index = [self.first_path + np.flatnonzero(column) for column in member.T]
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

        ``allowed`` has a truth value for each candidate, with at least one for each choice: for
        each split and, with side constraints, each class of each leaf.
        """
        problem = self.problem
        upper = []
        for node in range(len(self.rho_sizes)):
            mine = allowed[problem.span(node)]
            if self.pairs and node:
                mine = (upper[(node - 1) // 2][:, None] & mine).ravel()
            upper.append(mine)
        chosen = problem.start[problem.choice_nodes[self.leaf]] + problem.choices(
            self.leaf, self.path)
        usable = allowed[chosen].all(axis=1)
        others = np.ones(self.first_path - self.n_rho, bool)
        high = np.where(np.concatenate([*upper, others, usable]), np.inf, 0.0)
        n = len(high)
        self.lp.changeColsBounds(n, np.arange(n, dtype=np.int32), np.zeros(n), high)
        self._simplex("dual")

    def _simplex(self, which):
        # new columns keep the basis primal feasible, new rows and bounds dual feasible
        self.lp.setOptionValue("simplex_strategy", 4 if which == "primal" else 1)

    def solve(self, seconds=np.inf):
        """Solve the linear relaxation from the last basis; None where time ran out.

        RuntimeError if HiGHS ends in any other way.
        """
        lp = self.lp
        lp.setOptionValue("presolve", "off")
        lp.setOptionValue("time_limit", lp.getRunTime() + seconds)    # counted from the first run
        run_highs(lp)
        status = lp.getModelStatus()
        if status == self.highspy.HighsModelStatus.kTimeLimit:
            return None
        if status != self.highspy.HighsModelStatus.kOptimal:
            raise RuntimeError("HiGHS ended the master problem with "
                               f"{lp.modelStatusToString(status)}.")
        solution = lp.getSolution()
        dual = np.array(solution.row_dual)
        values = np.array(solution.col_value)
        return Relaxation(
            lp.getInfo().objective_function_value, values[self.first_path:],
            np.split(values[:self.n_rho], self.rho_start[1:-1]), dual[:len(self.ends)],
            [dual[row:row + start[-1]]
             for row, start in zip(self.link_row, self.level_start, strict=True)],
            dual[self.first_cut:], dual[self.limit_rows])

    def split_values(self, relaxation):
        """Return for each choice how much a relaxation uses each candidate; they sum to 1."""
        return self._split_values(relaxation.rho, relaxation.x)

    def _split_values(self, rho, x):
        sizes = self.problem.sizes
        leaf_of = self.leaf[:len(x)]    # columns may have come in since
        use = [values.reshape(-1, size).sum(axis=0)
               for values, size in zip(rho, sizes, strict=False) if len(values)]
        for leaf in self.ends if self.pairs else ():   # the nodes above the leaves
            mine = np.flatnonzero(leaf_of == leaf)
            last = self.problem.choices(leaf, self.path[mine])[:, -1]
            use.append(np.bincount(last, x[mine], sizes[self.problem.above[leaf, -1]]))
        for leaf in () if self.problem.side is None else self.ends:     # classes
            mine = np.flatnonzero(leaf_of == leaf)
            use.append(np.bincount(self.path[mine] % self.problem.n_classes, x[mine],
                                   self.problem.n_classes))
        return use

    def best_tree(self):
        """Find the best tree over the paths; return the position of each node's split in its list.

        The best subtree below a node depends only on the splits above it, its prefix, and on the
        budget of leaves.  So the pairs of sibling paths that are both there are joined at the nodes
        above the leaves, for each prefix; of these the best are joined at the nodes above them, and
        so on up to the root.
        """
        problem = self.problem
        sizes = problem.sizes
        last = 2 ** (problem.depth - 1) - 1   # the first node above leaves
        budget = problem.max_leaves or 0      # 0: any number of leaves
        best = {}       # node -> prefixes; value, choice, budget on the left for each and budget
        for node in range(problem.n_nodes - 1, -1, -1):
            if node >= last:
                leaf = 2 * (node - last)
                prefix = self.path[self.leaf == leaf]
                if not self.pairs:
                    prefix = np.intersect1d(prefix, self.path[self.leaf == leaf + 1])
                values = [problem.values(side, prefix) for side in (leaf, leaf + 1)]
                value = np.tile(np.sum([v for v, _ in values], axis=0), (budget + 1, 1))
                if budget:
                    n_active = np.sum([effects[0] for _, effects in values], axis=0)
                    value[n_active > np.arange(budget + 1)[:, None]] = -np.inf
                to_left = np.zeros(value.shape, np.int64)
            else:
                left, right = best[2 * node + 1], best[2 * node + 2]
                prefix, i, j = np.intersect1d(left[0], right[0], return_indices=True)
                value = np.empty((budget + 1, len(prefix)))
                to_left = np.empty(value.shape, np.int64)
                for b in range(budget + 1):
                    shares = left[1][:b + 1, i] + right[1][b::-1, j]
                    to_left[b] = shares.argmax(axis=0)
                    value[b] = shares.max(axis=0)
            above, choice = np.divmod(prefix, sizes[node])
            first = [None] * (budget + 1)
            for b in range(budget + 1):
                order = np.lexsort((-value[b], above))
                first[b] = order[np.unique(above[order], return_index=True)[1]]
            best[node] = (np.unique(above),
                          *(np.array([table[b][positions] for b, positions in enumerate(first)])
                            for table in (value, to_left)),
                          np.array([choice[positions] for positions in first]))
        choices = np.empty(problem.n_nodes, np.int64)
        above, budgets = np.zeros((2, 2 * problem.n_nodes + 1), np.int64)
        budgets[0] = budget
        for node in range(problem.n_nodes):
            prefixes, _, to_left, choice = best[node]
            entry = budgets[node], np.searchsorted(prefixes, above[node])
            choices[node] = choice[entry]
            above[2 * node + 1:2 * node + 3] = above[node] * sizes[node] + choices[node]
            budgets[2 * node + 1:2 * node + 3] = to_left[entry], budgets[node] - to_left[entry]
        return choices

    def solve_integer(self, seconds=np.inf, choices=None):
        """Solve the master with integral splits over the paths that it has by HiGHS.

        Given the splits, the best paths are integral by themselves, unless side constraints hold.
        Without limits on features and predictions :meth:`best_tree` gives the same answer in
        milliseconds.  The paths of a known tree, ``choices``, must be in the master.  Returns the
        choices of the best tree, None where none was found, and whether no other tree of these
        paths is better.
        """
        problem, n_rho = self.problem, self.n_rho
        mip = self._empty()
        mip.passModel(self.lp.getModel())
        whole = np.arange(n_rho)
        if problem.side is not None:
            whole = np.append(whole, self.first_path + np.arange(self.n_columns))
        mip.changeColsIntegrality(len(whole), whole.astype(np.int32),
                                  np.full(len(whole), self.highspy.HighsVarType.kInteger))
        mip.setOptionValue("mip_rel_gap", 0.0)
        mip.setOptionValue("presolve", "off")   # that of HiGHS 1.14 can run for ever on a master
        # whole weights: anything less than one apart is the same tree weight
        mip.setOptionValue("mip_abs_gap", 0.99 if problem.unit == 1.0 else PROOF * problem.total)
        if np.isfinite(seconds):
            mip.setOptionValue("time_limit", max(0.0, seconds))
        if choices is not None and not self.pairs and problem.splittable:
            start = np.zeros(self.first_path + self.n_columns)
            start[self.rho_start[:-1] + choices] = 1.0
            number = problem.path_number(np.arange(problem.n_leaves), choices)
            start[self.first_path + np.flatnonzero(self.path == number[self.leaf])] = 1.0
            solution = self.highspy.HighsSolution()
            solution.col_value = start.tolist()
            mip.setSolution(solution)
        run_highs(mip)
        status = mip.getModelStatus()
        proved = status == self.highspy.HighsModelStatus.kOptimal
        if mip.getInfo().primal_solution_status != self.highspy.kSolutionStatusFeasible:
            return None, False
        values = np.array(mip.getSolution().col_value)
        use = self._split_values(np.split(values[:n_rho], self.rho_start[1:-1]),
                                 values[self.first_path:])
        return np.array([values.argmax() for values in use]), proved
