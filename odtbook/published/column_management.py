"""Columns that leave the master again, which Firat et al. (2020, Section 8) leave to later work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import Master
from odtlib.report import Clock
from odtlib.tolerance import PROOF


class ManagedColumns(ColumnGeneration):
    """Column generation that removes poor columns whenever the relaxation improves.

    Parameters are those of the base class, and one more.  The columns that the master has at the
    beginning stay, and so do those that the relaxation uses.  It ends, since a column leaves only
    after a gain.

    Parameters
    ----------
    least : float, default=1.0
        A column leaves if its reduced cost is below minus so many rows.

    Attributes
    ----------
    n_dropped : int
        How many columns have left.

    Examples
    --------
    >>> import numpy as np
    >>> from odtbook.published import ManagedColumns
    >>> from odtlib.column_generation.master import Master
    >>> from odtlib.column_generation.paths import RestrictedProblem
    >>> from odtlib.column_generation.pricing import Enumeration
    >>> from odtlib.report import Clock
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.array([0, 1, 1, 0, 0, 1, 1, 0])
    >>> problem = RestrictedProblem(X, y, 2, [[(0, k + 0.5) for k in range(7)]] * 3)
    >>> master = Master(problem)
    >>> master.add_tree(np.zeros(3, int))
    >>> generation = ManagedColumns(master, [Enumeration()], Clock(), row_cuts="upper")
    >>> round(generation.solve().relaxation.value, 6)
    7.0
    """

    def __init__(self, master: Master, pricing: list[Callable], clock: Clock, *,
                 least: float = 1.0, **options: Any) -> None:
        super().__init__(master, pricing, clock, **options)
        self.least, self.n_dropped = least, 0
        self._value, self._given = -np.inf, master.n_columns

    def _price(self, relaxation, allowed):
        if relaxation.value > self._value + PROOF * self.master.problem.total:
            self._value = relaxation.value
            poor = (relaxation.x < PROOF) & (self.master.reduced_costs() < -self.least)
            poor[:self._given] = False
            self.master.drop_columns(poor)
            relaxation.x = relaxation.x[~poor]
            self.n_dropped += int(poor.sum())
        return super()._price(relaxation, allowed)
