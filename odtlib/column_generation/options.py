"""The options of column generation that a user rarely changes."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints

from odtlib._validation import SearchOptions, plain
from odtlib.column_generation.restricted import SAMPLING_CONSTRAINTS

CONSTRAINTS = {
    **SAMPLING_CONSTRAINTS,
    "start_columns": [StrOptions({"cart", "sampled"})],
    "link": [StrOptions({"node", "prefix"})],
    "cut_schedule": [StrOptions({"thorough", "published"})],
    "separation": [StrOptions({"cp-sat", "milp"})],
    "heuristic_pricing": [StrOptions({"pool", "random"}), None],
    "subproblems": [StrOptions({"merged", "per-class"})],
    "pricing_options": [dict, None],
    "merge_rows": ["boolean"],
    "integer": [StrOptions({"master", "milp", "diving", "branch-and-price"})],
}


@dataclass(repr=False)
class ColumnGenerationSearch(SearchOptions):
    """Choose the steps of column generation that the papers and their programs do differently.

    The defaults keep the papers' model, price exactly and cut to convergence.  Options can be
    tuned as those of an estimator, by names such as ``search__n_trees``.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees to sample splits from.
    stopping : {"fixed", "no-new-root"}, default="fixed"
        "fixed" grows ``n_trees`` trees; "no-new-root" goes on until that many in a row bring no new
        root split.
    root_candidates, node_candidates : int, "all" or None, default=None
        Number of splits kept at the root and at each other node; None keeps the papers' numbers.
    sampling : {"compiled", "sklearn"}, default="compiled"
        What grows the trees; the two differ where splits are equally good.
    start_columns : {"cart", "sampled"}, default="cart"
        Paths in the first master: those of the CART of all rows, or also those of 100 CARTs on
        80 % of the rows whose splits are all candidates (Patel et al., step 4).
    link : {"node", "prefix"}, default="node"
        Form of the linking constraints, see :class:`~odtlib.column_generation.master.Master`.
        "prefix" needs no row constraints for an exact relaxation.
    cut_schedule : {"thorough", "published"}, default="thorough"
        "thorough" adds all violated rows in each iteration and ends with a separation that finds
        none; "published" adds ten rows at a time, up to ten times, in each tenth iteration.
    separation : {"cp-sat", "milp"}, default="cp-sat"
        Solver of the separation model for ``row_cuts="extra"``.
    heuristic_pricing : {"pool", "random"} or None, default=None
        What is tried before exact pricing: the pool of Firat et al., 100 random paths as in Patel
        et al., or nothing.
    subproblems : {"merged", "per-class"}, default="merged"
        One integer program per leaf (Patel et al.) or one per leaf and class (Firat et al.).
    pricing_options : dict, default=None
        Further choices of the pricing methods in use, by the names of their parameters: of
        :class:`~odtlib.column_generation.pricing.PathPool` (``pool_size``, ``n_leaves``,
        ``n_added``, ``attempts``, ``leaf_priority``, ``reset``),
        :class:`~odtlib.column_generation.pricing.RandomPaths` (``n_paths``),
        :class:`~odtlib.column_generation.pricing.Enumeration` and
        :class:`~odtlib.column_generation.pricing.Sweep` (``per_leaf``),
        :class:`~odtlib.column_generation.subproblems.Subproblems` (``first_only``, ``distinct``,
        ``needed_only``, ``separate_duals``, ``scale``, ``warm_start``).
    merge_rows : bool, default=True
        Treat rows that take the same branch at all candidates as one, in row constraints and
        integer programs (Patel et al., step 5).  It does not change the optimum.
    integer : {"master", "milp", "diving", "branch-and-price"}, default="master"
        How the tree is found.  "master" solves the integer master over the generated paths, as both
        papers do, by a dynamic program in milliseconds; "milp" solves it by HiGHS, which may take
        hours where the relaxation is weak.  "diving" fixes splits from the root down, with column
        generation in between; "branch-and-price" proves the optimum of the candidates.

    Raises
    ------
    ValueError
        If an option has a value that does not exist.

    Examples
    --------
    >>> from odtlib import ColumnGenerationClassifier, ColumnGenerationSearch
    >>> exact = ColumnGenerationSearch(integer="branch-and-price")
    >>> model = ColumnGenerationClassifier(max_depth=2, search=exact)
    """

    _parameter_constraints = CONSTRAINTS

    n_trees: int = 300
    stopping: str = "fixed"
    root_candidates: int | str | None = None
    node_candidates: int | str | None = None
    sampling: str = "compiled"
    start_columns: str = "cart"
    link: str = "node"
    cut_schedule: str = "thorough"
    separation: str = "cp-sat"
    heuristic_pricing: str | None = None
    subproblems: str = "merged"
    pricing_options: dict | None = None
    merge_rows: bool = True
    integer: str = "master"

    def __post_init__(self):
        values = {name: plain(name, value, CONSTRAINTS.get(name, ()))
                  for name, value in self.get_params(deep=False).items()}
        validate_parameter_constraints(CONSTRAINTS, values, type(self).__name__)
