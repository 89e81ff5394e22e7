"""A thin layer between a formulation and a solver: named blocks of arrays in, a solution out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from odtbook.formulations.run import run
from odtlib.column_generation.units import common_denominator
from odtlib.report import Clock
from odtlib.requirements import needs

if TYPE_CHECKING:
    from pandas import DataFrame
    from scipy.sparse import csr_array

KINDS = ("continuous", "integer", "implied")
MAX_IN_PROCESS = 20_000     # nonzeros up to which a model is solved in this process
MAX_EXACT_INTEGER = 2**53   # beyond it float64 skips integers
MAX_OBJECTIVE = 2**60       # of CP-SAT, which counts in 64 bits
LOSS = 37                   # costs rounded down change the largest objective by 2**-37 of it


class Block(NamedTuple):
    """Hold what a name stands for: the columns or rows from number ``first``, in a shape."""

    name: str
    first: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many columns or rows."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass
class Solution:
    """Hold what a solver found.

    Parameters
    ----------
    status : str
        ``optimal`` (the solver's proof), ``infeasible``, ``time_limit``, ``interrupted``,
        ``node_limit`` (where ``settings`` hold one), or ``died`` (the solver's process ended
        before its time: out of memory, most likely).
    values : array or None
        Value of every column in the best solution found; None where there is none.
    objective, bound : float
        Objective of this solution (``inf`` without one), and a lower bound for all solutions
        (``-inf`` where nothing is known).
    seconds : float
        Wall time.
    events : list of (float, float, float, str)
        Seconds, incumbent, bound, and what happened.
    counters : dict
        What the solver counts.
    """

    status: str = "time_limit"
    values: np.ndarray | None = None
    objective: float = np.inf
    bound: float = -np.inf
    seconds: float = 0.0
    events: list = field(default_factory=list)
    counters: dict = field(default_factory=dict)


class Model:
    """Hold a mixed-integer linear program, to be minimised, in named blocks.

    Variables and rows are added many at a time, as arrays; a solver receives the whole model in
    one call.

    Parameters
    ----------
    name : str, default="model"
        Written into LP files.

    Examples
    --------
    >>> import numpy as np
    >>> from odtbook.formulations.model import Model
    >>> model = Model()
    >>> x = model.add_variables("x", 3, cost=[-5, -4, -3], kind="integer")
    >>> model.add_rows("weight", 1, np.zeros(3), x, [2, 3, 1], upper=3)
    >>> print(model.row("weight"))
    weight: 2 x(0) + 3 x(1) + x(2) <= 3
    >>> model.solve().objective
    -8.0
    """

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.offset = 0.0       # added to the objective
        self.variables, self.constraints = {}, {}
        self.n_columns = self.n_rows = 0
        self._columns = {"lower": [], "upper": [], "cost": [], "kind": []}
        self._rows = {"lower": [], "upper": [], "matrix": []}
        self._arrays = None

    def add_variables(self, name: str, shape: int | tuple[int, ...] = (), *,
                      lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, cost: ArrayLike = 0.0,
                      kind: str = "continuous") -> NDArray[np.int_]:
        """Add a block of variables.

        Parameters
        ----------
        name : str
            Name of the block.
        shape : int or tuple of int, default=()
            Shape of its index; ``()`` for a single variable.
        lower, upper, cost : float or array, default=0.0, 1.0 and 0.0
            Bounds and coefficients in the objective, broadcast to the shape.
        kind : {"continuous", "integer", "implied"}, default="continuous"
            "implied" is continuous for HiGHS, and integer for CP-SAT, which knows nothing else:
            use it where some optimal solution has integer values once the integer variables are
            fixed.  Costs that sum up rows should be integer, not continuous: HiGHS 1.14 called
            wrong solutions of one toy model in fourteen optimal when its presolve met continuous
            ones.

        Returns
        -------
        array of int, the shape of the block
            The numbers of the columns, to be used in rows and to read solutions.
        """
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}; use one of {', '.join(KINDS)}.")
        block = self._block(self.variables, name, shape, self.n_columns)
        for key, value in (("lower", lower), ("upper", upper), ("cost", cost)):
            self._columns[key].append(
                np.broadcast_to(np.asarray(value, float), block.shape).ravel())
        self._columns["kind"].append(np.full(block.size, KINDS.index(kind), np.int8))
        self.n_columns += block.size
        return np.arange(block.first, self.n_columns).reshape(block.shape)

    def add_rows(self, name: str, shape: int | tuple[int, ...], row: ArrayLike, column: ArrayLike,
                 value: ArrayLike, *, lower: ArrayLike = -np.inf,
                 upper: ArrayLike = np.inf) -> None:
        """Add a block of linear constraints ``lower <= sum value * column <= upper``.

        Parameters
        ----------
        name : str
            Name of the block.
        shape : int or tuple of int
            Shape of its index.
        row : array of int, shape (n_nonzeros,)
            For every entry the number of its row within the block, counted along the last axis
            first (as ``np.ravel_multi_index`` does).
        column : array of int, shape (n_nonzeros,)
            The number of its column.  Entries for the same place are added up.
        value : float or array, shape (n_nonzeros,)
            Its coefficient.
        lower, upper : float or array, default=-inf and inf
            Sides, broadcast to the shape.

        Raises
        ------
        ValueError
            If a row or a column does not exist, or a name is taken.
        """
        block = self._block(self.constraints, name, shape, self.n_rows)
        row, column = np.asarray(row).ravel(), np.asarray(column).ravel()
        value = np.broadcast_to(np.asarray(value, float), row.shape)
        if len(row) and (row.min() < 0 or row.max() >= block.size
                         or column.min() < 0 or column.max() >= self.n_columns):
            del self.constraints[name]
            raise ValueError(f"an entry of the rows {name!r} lies outside the {block.size} rows "
                             f"of the block or the {self.n_columns} columns of the model.")
        matrix = sparse.csr_array((value, (row.astype(np.int32), column.astype(np.int32))),
                                  shape=(block.size, self.n_columns))
        matrix.sum_duplicates()
        self._rows["matrix"].append(matrix)
        for key, side in (("lower", lower), ("upper", upper)):
            self._rows[key].append(np.broadcast_to(np.asarray(side, float), block.shape).ravel())
        self.n_rows += block.size

    def _block(self, blocks, name, shape, first):
        if name in blocks:
            raise ValueError(f"the name {name!r} is taken; choose another.")
        shape = (int(shape),) if np.ndim(shape) == 0 else tuple(int(n) for n in shape)
        self._arrays = None
        blocks[name] = Block(name, first, shape)
        return blocks[name]

    def arrays(self) -> dict[str, Any]:
        """Return the model as the arrays that HiGHS takes, rows one after the other.

        ``cost``, ``lower``, ``upper``, ``kind`` (0 continuous, 1 integer, 2 implied),
        ``row_lower``, ``row_upper``, ``start``, ``index``, ``value``, ``offset``.
        """
        if self._arrays is None:
            def joined(parts, kind=float):
                return np.concatenate(parts) if parts else np.zeros(0, kind)

            matrix = self._rows["matrix"]
            for part in matrix:
                part.resize(part.shape[0], self.n_columns)      # with the variables added since
            start = np.concatenate([[0], *(np.diff(part.indptr) for part in matrix)]).cumsum()
            # one copy is enough; in sparse.vstack NumPy would lose a Ctrl-C
            matrix[:] = [sparse.csr_array(
                (joined([part.data for part in matrix]),
                 joined([part.indices for part in matrix], np.int32), start),
                shape=(self.n_rows, self.n_columns))]
            columns = {key: joined(parts) for key, parts in self._columns.items()}
            self._arrays = {
                **columns, "kind": joined(self._columns["kind"], np.int8),
                "row_lower": joined(self._rows["lower"]), "row_upper": joined(self._rows["upper"]),
                "start": matrix[0].indptr.astype(np.int32, copy=False),
                "index": matrix[0].indices.astype(np.int32, copy=False),
                "value": matrix[0].data, "offset": float(self.offset)}
        self._arrays["offset"] = float(self.offset)
        return self._arrays

    @property
    def matrix(self) -> csr_array:
        """The coefficients, a ``scipy.sparse.csr_array`` of shape (n_rows, n_columns)."""
        self.arrays()
        return self._rows["matrix"][0]

    def sizes(self) -> dict[str, int]:
        """Count what a solver gets: ``integer`` and ``continuous`` variables, rows and nonzeros."""
        a = self.arrays()
        integer = int(np.count_nonzero(a["kind"] == 1))
        return {"integer": integer, "continuous": self.n_columns - integer, "rows": self.n_rows,
                "nonzeros": len(a["index"])}

    def table(self) -> DataFrame:
        """Return a data frame with one line per block: name, content, shape, count, nonzeros."""
        pd = needs("pandas", "plot", "Model.table")
        a, lines = self.arrays(), []
        for block in self.variables.values():
            kind = "-" if not block.size else KINDS[a["kind"][block.first]]
            lines.append((block.name, f"{kind} variables", block.shape, block.size, 0))
        for block in self.constraints.values():
            nonzeros = int(a["start"][block.first + block.size] - a["start"][block.first])
            lines.append((block.name, "rows", block.shape, block.size, nonzeros))
        return pd.DataFrame(lines, columns=["name", "what", "shape", "count", "nonzeros"])

    def row(self, name: str | int, *index: int) -> str:
        """Write a row, given by its number or by its block and its place in it, as an equation."""
        number = name
        if isinstance(name, str):
            if name not in self.constraints:
                raise ValueError(f"there are no rows {name!r}; the model has "
                                 f"{', '.join(self.constraints)}.")
            block = self.constraints[name]
            index = index or (0,) * len(block.shape)
            if len(index) != len(block.shape) or not all(
                    0 <= i < n for i, n in zip(index, block.shape, strict=True)):
                raise ValueError(f"the rows {name!r} have the shape {block.shape}; {index} is no "
                                 "place in it.")
            number = block.first + int(np.ravel_multi_index(index, block.shape))
        a = self.arrays()
        entries = slice(a["start"][number], a["start"][number + 1])
        return f"{_name(self.constraints, number)}: " + _equation(
            [(value, _name(self.variables, column)) for value, column
             in zip(a["value"][entries], a["index"][entries], strict=True)],
            a["row_lower"][number], a["row_upper"][number])

    def evaluate(self, values: ArrayLike) -> float:
        """Return the objective of a point, an array with a value per column."""
        return float(self.arrays()["cost"] @ values + self.offset)

    def violated(self, values: ArrayLike, tolerance: float = 1e-6) -> str | None:
        """Return the first row, bound or integrality that a point violates, or None."""
        a, values = self.arrays(), np.asarray(values, float)
        outside = ((values < a["lower"] - tolerance) | (values > a["upper"] + tolerance)
                   | ((a["kind"] == 1) & (np.abs(values - np.rint(values)) > tolerance)))
        if outside.any():
            column = int(np.flatnonzero(outside)[0])
            return f"{_name(self.variables, column)} = {values[column]:g}"
        left = self.matrix @ values
        wrong = np.flatnonzero((left < a["row_lower"] - tolerance)
                               | (left > a["row_upper"] + tolerance))
        return f"{self.row(int(wrong[0]))}, left side {left[wrong[0]]:g}" if len(wrong) else None

    def relax(self, time_limit: float | None = None) -> Solution:
        """Solve the linear relaxation with HiGHS: integrality is forgotten.

        Parameters
        ----------
        time_limit : float, default=None
            Seconds; without a solution in time ``status`` is ``time_limit`` and the bound -inf.

        Returns
        -------
        Solution
            Objective and bound are the value of the relaxation.
        """
        return self._run("relaxation", Clock(time_limit), {
            "n_jobs": 1, "settings": {}, "unit": None, "start": None, "seed": 0}, Solution())

    def solve(self, solver: str = "highs", *, start: ArrayLike | None = None,
              priorities: ArrayLike | None = None, time_limit: float | None = None, n_jobs: int = 1,
              unit: float | None = None, random_state: int = 0,
              settings: dict[str, Any] | None = None,
              in_subprocess: bool | None = None) -> Solution:
        """Solve the program.

        Parameters
        ----------
        solver : {"highs", "cp-sat"}, default="highs"
            CP-SAT needs integer coefficients and finite bounds, see :meth:`to_integer`.
        start : array, shape (n_columns,), optional
            A solution to begin with, NaN where a value is open.  HiGHS checks it and fills gaps by
            solving what is left; CP-SAT takes it as a hint.
        priorities : array of int, shape (n_columns,), optional
            CP-SAT branches on larger ones first where it follows the given order at all (0: not
            listed).  HiGHS has no priorities, and a ValueError says so.
        time_limit : float, default=None
            Seconds; models of more than 20,000 nonzeros are solved in a process of their own,
            which is killed at the limit.
        n_jobs : int, default=1
            Number of threads of HiGHS or workers of CP-SAT.
        unit : float, optional
            All objective values are multiples of it (1 where rows count one each): bounds are
            rounded up, and a gap below one unit closes the search.
        random_state : int, default=0
            Seed of the solver.
        settings : dict, optional
            Further options of the solver, by its own names.
        in_subprocess : bool, optional
            Whether the solver gets a process of its own (default: by size, see ``time_limit``).

        Returns
        -------
        Solution

        Raises
        ------
        ValueError
            If the solver cannot take the model or an option.
        """
        clock = Clock(time_limit)
        if solver not in ("highs", "cp-sat"):
            raise ValueError(f"solver is {solver!r}; use 'highs' or 'cp-sat'.")
        if priorities is not None and solver == "highs":
            raise ValueError("HiGHS offers no branching priorities; leave them out or use "
                             "solver='cp-sat'.")
        options = {"start": None if start is None else np.asarray(start, float), "unit": unit,
                   "settings": settings or {}, "seed": int(random_state),
                   "priorities": None if priorities is None else np.asarray(priorities),
                   "n_jobs": n_jobs}
        solution = Solution()
        if start is not None and not np.isnan(options["start"]).any():
            wrong = self.violated(options["start"])
            if wrong:
                raise ValueError(f"the start violates {wrong}.")
            solution.values = options["start"]
            solution.objective = self.evaluate(solution.values)
            solution.events.append((0.0, solution.objective, -np.inf, "start"))
        return self._run(solver, clock, options, solution, in_subprocess)

    def _run(self, engine, clock, options, solution, in_subprocess=None):
        unit = options["unit"]

        def rounded(bound):
            return bound if not unit or not np.isfinite(bound) else (
                np.ceil(bound / unit - 1e-6) * unit)

        def receive(message):
            what, *rest = message
            if what == "done":
                status, objective, bound, values, counters = rest
                solution.status, solution.counters = status, counters
                if values is not None and (solution.values is None
                                           or objective < solution.objective):
                    solution.objective, solution.values = objective, values
                solution.bound = max(solution.bound, rounded(bound))
                if status == "optimal":
                    # a start's own value may lie above what the solver, in its units, proves
                    solution.bound = min(objective, solution.objective)
                    if unit:            # off by what the solver allows
                        solution.objective = np.rint(solution.objective / unit) * unit
                        solution.bound = solution.objective
                event = status
            elif what == "died":
                solution.status, event = "died", f"the solver's process ended with {rest[0]}"
            elif what == "incumbent":
                if rest[0] >= solution.objective:
                    return
                solution.objective, solution.values = rest
                event = "incumbent"
            else:
                bound = min(rounded(rest[0]), solution.objective)
                if bound <= solution.bound:
                    return
                solution.bound, event = bound, "bound"
            solution.events.append((clock.elapsed, solution.objective, solution.bound, event))

        arrays = self.arrays() if engine != "cp-sat" else self.to_integer()
        if in_subprocess is None:       # in one process HiGHS knows one number of threads only
            in_subprocess = len(arrays["index"]) > MAX_IN_PROCESS or (
                engine != "cp-sat" and options["n_jobs"] != 1)
        solution.status = "time_limit"
        ended = "time_limit" if clock.expired else run(
            engine, arrays, options, clock, in_subprocess, receive)
        if ended == "interrupted":
            solution.status = "interrupted"
        solution.seconds = clock.elapsed
        return solution

    def to_integer(self, scale: float | None = None) -> dict[str, Any]:
        """Return :meth:`arrays` in whole numbers, and ``scale``, the multiplier of the objective.

        Each row is multiplied as it needs, and so is the objective; with a given ``scale`` it is
        multiplied by that and rounded.  Costs without a small common denominator are multiplied by
        a power of two and rounded *down*, so that bounds hold: where no variable is negative, a
        solution loses at most 1e-11 of the largest objective.  ValueError if a coefficient of a
        row is no fraction with a denominator of up to a million, a product is too large, a bound is
        infinite, or a variable is continuous: CP-SAT cannot take such a model.
        """
        a = self.arrays()
        for j in np.flatnonzero(a["kind"] == 0)[:1]:
            raise ValueError("CP-SAT has no continuous variables, and "
                             f"{_name(self.variables, j)} is one; use solver='highs'.")
        for side in ("lower", "upper"):
            for j in np.flatnonzero((a[side] != np.rint(a[side])) | ~np.isfinite(a[side]))[:1]:
                raise ValueError("CP-SAT needs finite whole bounds, and "
                                 f"{_name(self.variables, j)} has {a[side][j]:g}; use "
                                 "solver='highs'.")
        finite_lower = np.where(np.isfinite(a["row_lower"]), a["row_lower"], 0.0)
        finite_upper = np.where(np.isfinite(a["row_upper"]), a["row_upper"], 0.0)
        rows = np.repeat(np.arange(self.n_rows), np.diff(a["start"]))
        broken = np.zeros(self.n_rows, bool)
        broken[rows[a["value"] != np.rint(a["value"])]] = True
        broken |= (finite_lower != np.rint(finite_lower)) | (finite_upper != np.rint(finite_upper))
        factor = np.ones(self.n_rows)
        for row in np.flatnonzero(broken):
            entries = a["value"][a["start"][row]:a["start"][row + 1]]
            factor[row] = common_denominator([*entries, finite_lower[row], finite_upper[row]],
                                       lambda row=row: _name(self.constraints, row))
        cost = a["cost"]
        if scale is None:
            scale, cost = self._whole_costs()
        else:
            cost = cost * scale
        result = {
            "value": a["value"] * factor[rows], "cost": cost, "lower": a["lower"],
            "upper": a["upper"], "row_lower": finite_lower * factor,
            "row_upper": finite_upper * factor}
        for key, values in result.items():
            if len(values) and np.abs(values).max() >= MAX_EXACT_INTEGER:
                raise ValueError(f"the model has a {key} of {np.abs(values).max():.3g} in whole "
                                 "numbers, too large for CP-SAT; use solver='highs'.")
            result[key] = np.rint(values).astype(np.int64)
        result["row_lower"][~np.isfinite(a["row_lower"])] = -(1 << 61)
        result["row_upper"][~np.isfinite(a["row_upper"])] = 1 << 61
        return {**a, **result, "scale": scale}

    def _whole_costs(self):
        """Return a multiplier that makes all costs whole, and the whole costs."""
        a = self.arrays()
        cost = a["cost"]
        size = np.maximum(np.abs(a["lower"]), np.abs(a["upper"]))
        largest, total = np.abs(cost).max(initial=0.0), float(np.abs(cost) @ size)
        try:
            scale = 1 if np.all(cost == np.rint(cost)) else common_denominator(
                cost, lambda: "the objective")
            if largest * scale < MAX_EXACT_INTEGER and total * scale < MAX_OBJECTIVE:
                return scale, np.rint(cost * scale)
        except ValueError:
            pass
        lost = size[cost != np.rint(cost)].sum()        # by rounding down, before multiplication
        scale = 2.0 ** np.floor(min(np.log2(lost / total) + LOSS, np.log2(MAX_EXACT_INTEGER)
                                    - 1 - np.log2(largest), np.log2(MAX_OBJECTIVE / total)))
        return scale, np.floor(cost * scale)

    def __repr__(self):
        sizes = ", ".join(f"{count} {what}" for what, count in self.sizes().items())
        return f"<{self.name}: {sizes}>"


def _name(blocks, number):
    for block in blocks.values():
        if block.first <= number < block.first + block.size:
            if not block.shape or (block.shape == (1,)):
                return block.name
            index = np.unravel_index(number - block.first, block.shape)
            return f"{block.name}({','.join(str(int(i)) for i in index)})"
    raise ValueError(f"there is no number {number}.")


def _terms(terms):
    text = ""
    for value, name in terms:
        sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
        size = "" if abs(value) == 1 else f"{abs(value):.12g} "
        text += f"{sign}{size}{name}"
    return text


def _equation(terms, lower, upper):
    left = _terms(terms) or "0"
    if lower == upper:
        return f"{left} = {upper:.12g}"
    if np.isneginf(lower):
        return f"{left} <= {upper:.12g}"
    if np.isposinf(upper):
        return f"{left} >= {lower:.12g}"
    return f"{lower:.12g} <= {left} <= {upper:.12g}"
