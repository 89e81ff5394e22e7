"""Options of column generation, in objects: the sampling, the steps, the limits over the tree."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from odtlib._validation import SearchOptions
from odtlib.column_generation.cuts import RowCuts

_COUNT = Interval(Integral, 1, None, closed="left")


@dataclass(repr=False)
class ThresholdSampling(SearchOptions):
    """Choose how candidate splits are sampled: CARTs of random rows, and the splits they use most.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees to sample splits from (the papers' tau).
    sample_share : float, default=0.9
        Share of the rows behind each tree; a smaller share gives more varied candidates.  Both
        papers state 0.9; the published numbers of Patel et al. come from 0.7.
    stopping : {"fixed", "no-new-root"}, default="fixed"
        "fixed" grows ``n_trees`` trees, as Patel et al. do, and Algorithm 1 of Firat et al. as
        printed, whose counter is never reset; "no-new-root" goes on until that many in a row bring
        no new root split, as Firat et al. describe it.
    root_candidates : int, "all" or None, default=None
        Number of the most frequent splits that the root keeps; more can only improve the training
        accuracy.  None keeps the papers' ``150 // n`` for a tree of ``n`` feature nodes, at least
        one.
    node_candidates : int, "all" or None, default=None
        The same for each other node; None keeps the papers' ``100 // n``.
    add_cart : bool, default=False
        Whether the splits of the CART of all rows are added to those kept, as the texts of both
        papers say.  By default they count among them, as in the program of Patel et al.
    backend : {"compiled", "sklearn"}, default="compiled"
        What grows the trees; the two differ where splits are equally good.

    Raises
    ------
    ValueError
        If an option has a value that does not exist.
    """

    n_trees: int = 300
    sample_share: float = 0.9
    stopping: str = "fixed"
    root_candidates: int | str | None = None
    node_candidates: int | str | None = None
    add_cart: bool = False
    backend: str = "compiled"

    _parameter_constraints = {
        "n_trees": [_COUNT],
        "sample_share": [Interval(Real, 0, 1, closed="right")],
        "stopping": [StrOptions({"fixed", "no-new-root"})],
        "root_candidates": [_COUNT, StrOptions({"all"}), None],
        "node_candidates": [_COUNT, StrOptions({"all"}), None],
        "add_cart": ["boolean"],
        "backend": [StrOptions({"compiled", "sklearn"})],
    }


@dataclass(repr=False)
class TreeLimits(SearchOptions):
    """Limit what the whole tree predicts and tests, which no dynamic program over nodes can do.

    Limits on recall, precision and disparity are side constraints: one row, and one dual value, of
    the master each.  A leaf then takes the class that keeps them, not always the best for its rows.
    Rows count with their weight, ``class_weight`` included.

    Parameters
    ----------
    min_recall : dict or None, default=None
        Minimum share of the rows of a class that are predicted as this class, for labels of ``y``:
        ``{"bad": 0.8}``.
    min_precision : dict or None, default=None
        Minimum share of rows of a class among those predicted as this class; it also holds where no
        row is predicted so.  Rows of less than 1e-12 of all weight may break it.
    max_disparity : float or None, default=None
        Maximum difference in the shares of rows predicted as ``classes_[1]`` between any two of
        the groups given to ``fit`` as ``protected``; None for no limit.
    disparity : {"demographic-parity", "equal-opportunity"}, default="demographic-parity"
        "demographic-parity" compares shares of all rows of a group, "equal-opportunity" shares of
        those of class ``classes_[1]`` only.
    max_feature_cost : int or None, default=None
        Maximum sum of the costs of the features that the tree tests, each paid once; None for no
        limit.  With the default costs it is the maximum number of distinct features.  A feature of
        words is paid once, whichever of its categories are asked for.  A candidate that divides no
        rows, but leads them to the candidates of a node below, is paid too.
    feature_costs : array of int, shape (n_features,), or None, default=None
        Cost of each feature, a whole number; None makes each cost 1.

    Raises
    ------
    ValueError
        If an option has a value that does not exist.
    """

    min_recall: dict | None = None
    min_precision: dict | None = None
    max_disparity: float | None = None
    disparity: str = "demographic-parity"
    max_feature_cost: int | None = None
    feature_costs: ArrayLike | None = None

    _parameter_constraints = {
        "min_recall": [dict, None],
        "min_precision": [dict, None],
        "max_disparity": [Interval(Real, 0, 1, closed="both"), None],
        "disparity": [StrOptions({"demographic-parity", "equal-opportunity"})],
        "max_feature_cost": [Interval(Integral, 0, None, closed="left"), None],
        "feature_costs": ["array-like", None],
    }


@dataclass(repr=False)
class ColumnGenerationSearch(SearchOptions):
    """Choose the steps of column generation that the papers and their programs do differently.

    The defaults keep the papers' model, price exactly and cut to convergence; ``link="prefix"``
    with ``row_cuts="none"`` is the fastest way to a tree that is proved optimal for its candidates.

    Parameters
    ----------
    pricing : "enumeration", pricing method or None, default="enumeration"
        Exact pricing.  Enumeration takes milliseconds.  A pricing method is an object such as
        ``odtbook.published.Subproblems("cp-sat")``, the integer programs of the papers, which take
        thousands of times longer, or ``odtbook.published.Sweep()``, which needs no list of all
        paths.  None stops where the heuristic finds nothing, without a bound,
        as Firat et al. do for large data.
    heuristic_pricing : pricing method or None, default=None
        What is tried before exact pricing: an object such as ``odtbook.published.PathPool()``, the
        pool of Firat et al., or ``odtbook.published.RandomPaths()``, 100 random paths as in Patel
        et al.; or nothing.
    row_cuts : {"none", "lower", "upper", "equal", "all"} or RowCuts, default="upper"
        Constraints (1c), which put each row on one path.  "none" leaves them out; "upper", "lower"
        and "equal" add violated ones as cuts: at most, at least, or exactly one path; "all" has
        those of all training rows from the beginning (Firat et al.).  An object is a variant of
        its own, such as ``odtbook.published.row_cuts("extra")``, which adds points outside the
        data (Patel et al.).  Without them the relaxation of the node form is weak.
    merge_rows : bool, default=True
        Have one row constraint for all rows that take the same branch at all candidates (Patel et
        al., step 5).  It does not change the optimum.
    start_columns : callable or None, default=None
        What adds paths to the first master, beside those of the CART of all rows, such as
        ``odtbook.published.SampledColumns()`` (Patel et al., step 4).
    link : {"node", "prefix"}, default="node"
        Form of the linking constraints, see :class:`~odtlib.column_generation.master.Master`.
        "prefix" needs no row constraints for an exact relaxation.
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

    pricing: object = "enumeration"
    heuristic_pricing: object = None
    row_cuts: str | RowCuts = "upper"
    merge_rows: bool = True
    start_columns: object = None
    link: str = "node"
    integer: str = "master"

    _parameter_constraints = {
        "pricing": [StrOptions({"enumeration"}), callable, None],
        "heuristic_pricing": [callable, None],
        "row_cuts": [StrOptions({"none", "lower", "upper", "equal", "all"}),
                     HasMethods(["begin", "rounds", "add"])],
        "merge_rows": ["boolean"],
        "start_columns": [callable, None],
        "link": [StrOptions({"node", "prefix"})],
        "integer": [StrOptions({"master", "milp", "diving", "branch-and-price"})],
    }
