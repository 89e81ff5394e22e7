"""Column generation: solve, price, cut, until nothing improves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from odtlib.column_generation.cuts import RowCuts, row_cuts_of
from odtlib.column_generation.master import Master
from odtlib.column_generation.paths import PATHS_PER_LOOK
from odtlib.fit import TooLarge
from odtlib.report import Clock


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
    row_cuts : {"none", "lower", "upper", "equal", "all"} or RowCuts, default="none"
        Which constraints (1c) are added where violated; "all" has those of all rows from the
        beginning, and an object decides for itself, see
        :class:`odtlib.column_generation.cuts.RowCuts`.
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

    def __init__(self, master: Master, pricing: list[Callable], clock: Clock, *,
                 row_cuts: str | RowCuts = "none", merge_rows: bool = True,
                 watch: Callable | None = None) -> None:
        self.master, self.pricing, self.clock = master, pricing, clock
        self.row_cuts = row_cuts_of(row_cuts)
        problem = master.problem
        self.rows = problem.representatives if merge_rows else np.arange(problem.n_rows)
        self.watch = watch
        self.iterations = []
        self.seconds = {"master": 0.0, "pricing": 0.0, "separation": 0.0}
        self.exact_calls = 0
        self.row_cuts.begin(master, self.rows)

    def _timed(self, phase, work, *arguments):
        begin = time.perf_counter()
        answer = work(*arguments)
        self.seconds[phase] += time.perf_counter() - begin
        return answer

    def _cut(self, x, last=False):
        """Add violated row constraints; return how many."""
        return self._timed("separation", self.row_cuts.add, self.master, x, self.rows,
                           self.clock.remaining, last)

    def solve(self, allowed: np.ndarray | None = None) -> Outcome:
        """Generate columns and cuts until the relaxation is solved or time is over.

        Trees use the splits (and with side constraints classes of leaves) in ``allowed``, a mask
        over the candidates, by default all; the master must hold the paths of a tree that does.
        """
        master, problem = self.master, self.master.problem
        if allowed is None:
            allowed = np.ones(problem.start[-1], bool)
        bound, last = np.inf, None
        while True:
            relaxation = self._timed("master", master.solve, self.clock.remaining)
            if relaxation is None:
                return Outcome(last, bound, False)
            number = len(self.iterations) + 1
            n_cuts = 0
            for _ in range(self.row_cuts.rounds(number)):
                new = self._cut(relaxation.x)
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
            if not new and best is not None and self.row_cuts.until_none:
                n_cuts += self._cut(relaxation.x, last=True)
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
                if not (settled and n_cuts and self.row_cuts.until_none):
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
            new = 0
            for first in range(0, len(leaf), PATHS_PER_LOOK):
                span = slice(first, first + PATHS_PER_LOOK)
                new += self.master.add_columns(leaf[span], path[span])
                if new and self.clock.expired:
                    break
            if new:
                if price.exact:
                    for other in self.pricing:
                        if not other.exact:
                            other.restart(leaf)
                break
        return new, best, type(price).__name__
