"""The estimator that puts column generation together."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from odtlib._numba.warm import warm_up
from odtlib._validation import plain_copy
from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation.branch_and_price import BranchAndPrice, dive
from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import Master
from odtlib.column_generation.options import (
    ColumnGenerationSearch,
    TreeLimits,
)
from odtlib.column_generation.paths import RestrictedProblem
from odtlib.column_generation.pricing import Enumeration
from odtlib.column_generation.restricted import CandidateParameters
from odtlib.column_generation.side_constraints import side_constraints
from odtlib.report import Clock
from odtlib.requirements import needs
from odtlib.tolerance import PROOF

MAX_FEATURE_COST = 1_000_000


@dataclass(eq=False, repr=False)
class ColumnGenerationClassifier(CandidateParameters):
    """Build a tree by column generation over root-to-leaf paths.

    The method of Firat et al. (2020) and Patel et al. (2023): candidate splits sampled by CART, a
    master problem over paths, pricing, row constraints as cuts, and an integer master.  Each
    step of both papers is an option of ``search``.

    Parameters
    ----------
    max_depth : int or None, default=4
        Maximum depth of the tree.  None for no limit.
    splits : list of list of (int, float), "all" or None, default=None
        A list holds the candidate splits (feature, threshold) of each feature node in level order.
        "all" takes every threshold between neighbouring values at each node; combine it with
        ``link="prefix"``.  None samples them by CART, see
        :func:`odtlib.heuristics.sample_splits`.  A path may end early, at a leaf.
    sampling : ThresholdSampling or None, default=None
        How candidates are sampled; None takes the defaults of :class:`ThresholdSampling`.
    max_nodes : int or None, default=None
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.  They count in the sampling, too.
    time_limit : float or None, default=None
        Time limit in seconds; None for no limit.  Sampling takes at most a third of it.
    memory_limit : float or None, default=None
        Memory limit in megabytes; None for no limit.  It counts the large arrays and the master;
        where they do not fit, the tree is the best so far, and the status is ``memory_limit``.
    n_jobs : int or None, default=None
        Number of threads; None means 1 and -1 all processors.  Only the sampling uses several.
    random_state : int, RandomState or None, default=0
        Seed of the random choices.  They are those of the sampling.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.
    search : ColumnGenerationSearch or None, default=None
        Pricing, cuts, form of the master, integer solution; None takes the defaults of
        :class:`ColumnGenerationSearch`.
    limits : TreeLimits or None, default=None
        Limits over the whole tree: on recall, precision, disparity between groups, and the cost of
        the features that are tested.  ``integer="branch-and-price"`` proves the optimum.  They are
        refused with ``link="prefix"``, and those on predictions need ``pricing="enumeration"`` or a
        pricing heuristic.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree found.
    report_ : SolveReport
        ``counters``: ``relaxation`` (value of the last master, weight of correct rows), whether it
        ``converged`` and is ``integral``, ``iterations``, ``columns``, ``cuts``, ``relaxations``
        solved by branch-and-price, and seconds in each phase; the ``disparity`` of the tree where
        it is limited.
    cart_ : DecisionTree or None
        The CART of all rows; the tree is never worse.  None where splits were given.
    iterations_ : list of dict
        The iteration table; ``pandas.DataFrame(model.iterations_)`` shows it.
    problem_ : RestrictedProblem
        The candidates; missing where no split was found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odtlib import ColumnGenerationClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ColumnGenerationClassifier(max_depth=2).fit(X, y)
    >>> model.report_.status, model.report_.objective
    ('optimal', 6.0)
    """

    _parameter_constraints = {
        **CandidateParameters._parameter_constraints,
        "search": [ColumnGenerationSearch, None],
        "limits": [TreeLimits, None],
    }

    _: KW_ONLY
    search: ColumnGenerationSearch | None = None
    limits: TreeLimits | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None,
            protected: ArrayLike | None = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows, without missing values.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Weight of every row (default: 1), from 1e-100 to 1e100.  A row of weight zero is left
            out; its label is still one of ``classes_``.
        protected : array, shape (n_rows,), optional
            Group of each row; needed with ``max_disparity``, and used for nothing else.  It may,
            but need not, be one of the features.

        Returns
        -------
        self
            With ``tree_`` and ``report_``.

        Raises
        ------
        ValueError
            If the data or a parameter cannot be used, or no tree is found within the limits; the
            message says what to do instead.
        """
        plain_copy(self)._validate_params()
        if (protected is None) != (self._limits.max_disparity is None):
            raise ValueError("max_disparity and protected belong together; give "
                             f"{type(self).__name__}(limits=TreeLimits(max_disparity=...)) and "
                             "fit(..., protected=...).")
        self._fit(X, y, sample_weight, protected)
        return self

    @property
    def _limits(self):
        return self.limits or TreeLimits()

    @property
    def _steps(self):
        return self.search or ColumnGenerationSearch()

    def _side_constraints(self, y, sample_weight, protected):
        limits = self._limits
        side = side_constraints(
            y, np.ones(len(y)) if sample_weight is None else sample_weight, self.classes_,
            min_recall=limits.min_recall, min_precision=limits.min_precision,
            max_disparity=limits.max_disparity, disparity=limits.disparity, protected=protected)
        if side is not None and self._steps.pricing not in ("enumeration", None):
            raise ValueError("limits on recall, precision and disparity are priced by "
                             "enumeration; set pricing='enumeration'.")
        return side

    def _feature_limits(self):
        limits, n_features = self._limits, self.n_features_in_
        if limits.max_feature_cost is None:
            if limits.feature_costs is not None:
                raise ValueError("feature_costs has no effect without max_feature_cost; give both.")
            return {}
        costs = np.ones(n_features) if limits.feature_costs is None else limits.feature_costs
        costs = np.asarray(costs)
        if costs.shape != (n_features,) or costs.dtype.kind not in "iuf" or not np.all(
                (costs >= 0) & (costs == np.rint(costs)) & (costs <= MAX_FEATURE_COST)):
            raise ValueError(f"feature_costs needs {n_features} whole numbers, one per feature, "
                             f"from 0 to {MAX_FEATURE_COST}; multiply fractions by a power of ten.")
        return {"feature_costs": costs.astype(np.int64),
                "max_feature_cost": int(limits.max_feature_cost),
                "feature_of": self.binarizer_.feature_ if self._tree_over_columns else None}

    def _pricing(self):
        """Return the pricing methods in the order in which they are tried."""
        search = self._steps
        methods = [Enumeration() if isinstance(kind, str) else deepcopy(kind)
                   for kind in (search.heuristic_pricing, search.pricing) if kind is not None]
        if not methods:
            raise ValueError("pricing and heuristic_pricing are both None: nothing would ever find "
                             "a path; give one of them.")
        if search.integer == "branch-and-price" and search.pricing is None:
            raise ValueError("branch-and-price needs exact pricing; set pricing='enumeration'.")
        return methods

    def _warm_up(self, X, y, sample_weight, protected=None):
        needs("highspy", "solvers", type(self).__name__)

        def run():
            X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
            problem = RestrictedProblem(X, y, 2, [[(0, 0.5), (0, 1.5)]] * 3)
            for link in ("node", "prefix"):
                master = Master(problem, link)
                master.add_tree(np.zeros(3, np.int64))
                ColumnGeneration(master, [Enumeration()], Clock(), row_cuts="upper").solve()

        methods = self._steps.heuristic_pricing, self._steps.pricing
        return (super()._warm_up(X, y, sample_weight)
                + warm_up("column generation", kernels.reduced_costs, run)
                + sum(method.warm_up() for method in methods if hasattr(method, "warm_up")))

    def _search(self, fit, start):
        search, clock, counters = self._steps, fit.clock, fit.counters
        pricing = self._pricing()

        def offer(choices, event=None):
            fit.offer(partial(self.problem_.tree, choices), self.problem_.cost(choices), event)

        offer(start, "start")
        problem, factor = self.problem_.for_solver(clock)     # values below are in its unit
        if problem.side is not None:
            problem.enumerate_paths(clock)
        master = Master(problem, search.link, clock)
        master.add_tree(start)
        if search.start_columns is not None:
            search.start_columns(master, clock)

        def watch(line):
            if line["bound"] < np.inf:
                fit.note("iteration", bound=self._least_errors(problem, line["bound"]) / factor,
                         seconds=line["seconds"])
            line["value"] /= factor
            line["bound"] /= factor

        generation = ColumnGeneration(
            master, pricing, clock, row_cuts=search.row_cuts, merge_rows=search.merge_rows,
            watch=watch)
        bound, begin = np.inf, clock.elapsed
        try:
            if fit.objective <= fit.bound and search.row_cuts in ("upper", "equal", "all"):
                # the tree to start from makes no error, and solves the relaxation: it puts no row
                # on two paths
                counters.update(relaxation=problem.total / factor, integral=True, converged=True,
                                relaxations=0)
            elif search.integer == "branch-and-price":
                exact = BranchAndPrice(generation, start)
                try:
                    exact.run()
                finally:
                    bound, counters["relaxations"] = exact.bound, exact.n_solved
                    offer(exact.choices)
            else:
                outcome = generation.solve()
                bound = outcome.bound
                if outcome.relaxation is not None:
                    use = master.split_values(outcome.relaxation)
                    counters["integral"] = bool(min(v.max() for v in use) > 1.0 - 1e-6)
                    counters["relaxation"] = outcome.relaxation.value / factor
                counters["converged"] = outcome.converged
                counters["relaxation_seconds"] = clock.elapsed - begin
                begin = clock.elapsed
                candidate = self._integer(search.integer, generation, start, counters)
                if candidate is not None:
                    offer(candidate)
        finally:
            counters.update(
                iterations=len(generation.iterations), columns=master.n_columns,
                cuts=master.n_cuts, integer_seconds=clock.elapsed - begin,
                **{f"{phase}_seconds": spent for phase, spent in generation.seconds.items()})
            self.iterations_ = generation.iterations
            fit.learn(self._least_errors(problem, bound) / factor)
            if fit.objective - fit.bound <= PROOF * fit.total:
                fit.finish()
        if fit.ended != "optimal":
            clock.check()

    @staticmethod
    def _integer(method, generation, best, counters):
        """Return the tree that the generated paths give, None if there is none."""
        master, problem = generation.master, generation.master.problem
        if method == "diving":
            return dive(generation, best)
        if method == "master" and problem.splittable:
            counters["integer_proved"] = True
            return master.best_tree()
        candidate, counters["integer_proved"] = master.solve_integer(
            generation.clock.remaining, best)
        return candidate

    @staticmethod
    def _least_errors(problem, bound):
        """Turn a bound on correct weight into one on errors."""
        if not np.isfinite(bound):
            return 0.0
        errors = max(0.0, problem.total - bound)
        if problem.unit == 1.0:         # whole weights: so are the errors
            return max(0.0, float(np.ceil(errors - PROOF * max(1e4, problem.total))))
        return errors
