"""Row constraints (1c) of the master problem, as cutting planes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from odtlib.column_generation.master import Master

TOLERANCE = 1e-6


def violated_rows(master, x, sides, rows=None):
    """Return the training rows whose constraint (1c) a relaxation violates on some side.

    ``rows`` are those to look at (default: one of each group that branches alike).
    """
    problem = master.problem
    rows = problem.representatives if rows is None else rows
    sums = master.row_sums(x, problem.packed_rows, rows)
    wrong = np.zeros(len(rows), bool)
    if sides != "lower":
        wrong |= sums > 1.0 + TOLERANCE
    if sides != "upper":
        wrong |= sums < 1.0 - TOLERANCE
    return rows[wrong]


class RowCuts:
    """Add the violated constraints of all training rows in each iteration, until none is left.

    Parameters
    ----------
    sides : {"lower", "upper", "equal"}, default="upper"
        A row follows at least, at most, or exactly one path.
    """

    until_none = True       # the relaxation is solved only when none is violated

    def __init__(self, sides: str = "upper") -> None:
        self.sides = sides

    def begin(self, master: Master, rows: NDArray[np.int_]) -> None:
        """Add the constraints that the first master has."""

    def rounds(self, iteration: int) -> int:
        """Return how often constraints are looked for in an iteration (the first is 1)."""
        return 1

    def add(self, master: Master, x: NDArray[np.float64], rows: NDArray[np.int_], seconds: float,
            last: bool = False) -> int:
        """Add violated constraints and return their number.

        ``x`` is the value of each path, ``rows`` are the training rows to look at, and ``last``
        says that no path improves the relaxation any more.
        """
        wrong = violated_rows(master, x, self.sides, rows)
        master.add_cuts(master.problem.goes_left[:, wrong], self.sides)
        return len(wrong)


class NoRows(RowCuts):
    """Leave the row constraints out: the relaxation is that of the paths alone."""

    until_none = False

    def rounds(self, iteration: int) -> int:
        """Look for no constraint."""
        return 0


class AllRows(NoRows):
    """Have the constraints of all training rows from the beginning (Firat et al. 2020)."""

    def begin(self, master: Master, rows: NDArray[np.int_]) -> None:
        """Add the constraint that each row follows exactly one path."""
        master.add_cuts(master.problem.goes_left[:, rows], "equal")


def row_cuts_of(kind):
    """Return what a word of ``row_cuts`` stands for; an object stands for itself."""
    if not isinstance(kind, str):
        return kind
    return {"none": NoRows, "all": AllRows}.get(kind, lambda: RowCuts(kind))()
