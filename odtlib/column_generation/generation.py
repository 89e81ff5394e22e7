"""Column generation: solve, price, cut, until nothing improves."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from odtlib.column_generation.cuts import violated_point, violated_rows
from odtlib.mip.units import TooLarge

SIDES = {"none": None, "lower": "lower", "upper": "upper", "equal": "equal", "all": None,
         "extra": "equal"}


@dataclass
class Outcome:
    """Hold how column generation ended.

    Parameters
    ----------
    relaxation : Relaxation or None
        The last solution of the master's relaxation.
    bound : float
        No tree has more weight of correct rows, less penalties.
    converged : bool
        Whether no path improves the relaxation any more and, when rows are cut to convergence,
        no row constraint of the chosen kind is violated.
    """

    relaxation: object
    bound: float
    converged: bool


class ColumnGeneration:
    """Solve the relaxation of a master problem over all paths.

    Parameters
    ----------
    master : Master
        With the paths of at least one tree.
    pricing : list of callable
        Called one after the other until one returns paths, the cheapest first; see
        :class:`odtlib.column_generation.pricing.Enumeration`.
    clock : Clock
        Its limit ends the work.
    row_cuts : {"none", "lower", "upper", "equal", "all", "extra"}, default="none"
        Which constraints (1c) are added where violated; "all" has those of all rows from the
        beginning, "extra" adds points outside the data once no training row is violated.
    schedule : {"thorough", "published"}, default="thorough"
        "thorough" adds all violated rows in each iteration and ends with a separation that finds
        none.  "published" adds ten rows at a time, up to ten times, in each tenth iteration, and
        never at the end.
    separation : {"cp-sat", "milp"}, default="cp-sat"
        Solver of the model for points outside the data.
    merge_rows : bool, default=True
        Have one constraint for all rows that take the same branches.
    watch : callable, optional
        Called with the line of the iteration table after each iteration.

    Attributes
    ----------
    iterations : list of dict
        One line per iteration: value of the relaxation, bound, columns, cuts, who found columns,
        seconds spent in the master, in pricing and in separation.
    """

    def __init__(self, master, pricing, clock, *, row_cuts="none", schedule="thorough",
                 separation="cp-sat", merge_rows=True, watch=None):
        self.master, self.pricing, self.clock = master, pricing, clock
        self.row_cuts, self.schedule, self.separation = row_cuts, schedule, separation
        problem = master.problem
        self.rows = problem.representatives if merge_rows else np.arange(problem.n_rows)
        self.watch = watch
        self.iterations = []
        self.seconds = {"master": 0.0, "pricing": 0.0, "separation": 0.0}
        self.exact_calls = 0
        if row_cuts == "all":
            master.add_cuts(problem.goes_left[:, self.rows], "equal")

    def _timed(self, phase, work, *arguments):
        begin = time.perf_counter()
        answer = work(*arguments)
        self.seconds[phase] += time.perf_counter() - begin
        return answer

    def _cut(self, x, max_rows=None, points=False):
        """Add violated row constraints; return how many."""
        sides = SIDES[self.row_cuts]
        problem = self.master.problem
        rows = violated_rows(self.master, x, sides, self.rows)[:max_rows]
        branches = problem.goes_left[:, rows]
        if len(rows) == 0 and points and self.row_cuts == "extra":
            found, _ = violated_point(self.master, x, self.separation, self.clock.remaining)
            branches = problem.branches(found)
            branches = np.unique(branches, axis=1) if len(found) else branches
        self.master.add_cuts(branches, sides)
        return branches.shape[1]

    def solve(self, allowed=None):
        """Generate columns and cuts until the relaxation is solved or time is over.

        Trees use the splits (and with side constraints classes of leaves) in ``allowed``, a mask
        over the candidates, by default all; the master must hold the paths of a tree that does.
        """
        master, problem = self.master, self.master.problem
        if allowed is None:
            allowed = np.ones(problem.start[-1], bool)
        bound, last = np.inf, None
        cutting = SIDES[self.row_cuts] is not None
        while True:
            relaxation = self._timed("master", master.solve, self.clock.remaining)
            if relaxation is None:
                return Outcome(last, bound, False)
            number = len(self.iterations) + 1
            n_cuts = 0
            if cutting and self.schedule == "thorough":
                n_cuts = self._timed("separation", self._cut, relaxation.x)
                if n_cuts:
                    relaxation = self._timed("master", master.solve, self.clock.remaining)
            elif cutting and number % 10 == 0:
                for _ in range(10):
                    if relaxation is None:
                        break
                    new = self._timed("separation", self._cut, relaxation.x, 10, True)
                    if not new:
                        break
                    n_cuts += new
                    relaxation = self._timed("master", master.solve, self.clock.remaining)
            if relaxation is None:
                return Outcome(last, bound, False)
            last = relaxation
            new, best, who = self._price(relaxation, allowed)
            if best is not None:
                # one path per leaf: the relaxation gains at most the best reduced cost of each
                bound = min(bound, relaxation.value + np.maximum(best, 0.0).sum())
            if not new and best is not None and cutting and self.schedule == "thorough":
                n_cuts += self._timed("separation", self._cut, relaxation.x, None, True)
            line = {"iteration": number, "seconds": self.clock.elapsed,
                    "value": relaxation.value, "bound": bound, "columns": master.n_columns,
                    "new_columns": new, "cuts": master.n_cuts, "new_cuts": n_cuts,
                    "pricing": who,
                    **{f"{phase}_seconds": spent for phase, spent in self.seconds.items()}}
            self.iterations.append(line)
            if master.n_bytes > problem.max_bytes:
                raise TooLarge("the master problem does not fit into the memory limit.")
            if self.watch is not None:
                self.watch(line)
            if not new:
                settled = best is not None
                if not (settled and n_cuts and self.schedule == "thorough"):
                    return Outcome(relaxation, bound, settled)
            if self.clock.expired:
                return Outcome(relaxation, bound, False)

    def _price(self, relaxation, allowed):
        """Add the columns of the first pricer that finds new ones.

        Returns their number, the best reduced cost per leaf if the last pricer is exact, and the
        name of that pricer.
        """
        for price in self.pricing:
            leaf, path, best = self._timed("pricing", price, self.master, relaxation, allowed,
                                           self.clock.remaining)
            self.exact_calls += price.exact
            # a heuristic may find again what the master has: then the next one is called
            new = self.master.add_columns(leaf, path)
            if new:
                if price.exact:
                    for other in self.pricing:
                        if not other.exact:
                            other.restart(leaf)
                break
        return new, best, type(price).__name__
