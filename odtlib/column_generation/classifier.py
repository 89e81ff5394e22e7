"""The estimator that puts column generation together."""

from __future__ import annotations

from inspect import signature
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from odtlib._numba.warm import warm_up
from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation.branch_and_price import BranchAndPrice, dive
from odtlib.column_generation.candidates import NODE_BYTES, CandidateGeneration
from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import Master
from odtlib.column_generation.options import ColumnGenerationSearch
from odtlib.column_generation.paths import RestrictedProblem, check_size
from odtlib.column_generation.pricing import Enumeration, PathPool, RandomPaths, Sweep
from odtlib.column_generation.restricted import (
    MEGABYTE,
    STOPPED_BY,
    CandidateTreeClassifier,
    DynamicProgram,
    Run,
)
from odtlib.column_generation.side_constraints import side_constraints
from odtlib.column_generation.subproblems import Subproblems
from odtlib.heuristics.threshold_sampling import TreeSampler, tree_of_splits
from odtlib.mip.units import TooLarge
from odtlib.report import Clock, TimeUp, status_of
from odtlib.requirements import needs
from odtlib.tolerance import PROOF

MAX_FEATURE_COST = 1_000_000
SWITCHES = ("leaf_priority", "reset", "first_only", "distinct", "needed_only", "separate_duals",
            "warm_start")


class ColumnGenerationClassifier(CandidateTreeClassifier):
    """Build a tree by column generation over root-to-leaf paths.

    The method of Firat et al. (2020) and Patel et al. (2023): candidate splits sampled by CART, a
    master problem over paths, pricing, row constraints as cuts, and an integer master.  Each
    step of both papers is a choice of a parameter or of ``search``.  The defaults keep the papers'
    model, price exactly and cut to convergence; ``link="prefix"`` with ``row_cuts="none"`` is the
    fastest way to a tree that is proved optimal for its candidates.

    Parameters
    ----------
    max_depth : int, default=4
        Maximum depth of the tree.
    splits : list of list of (int, float), "all", "generate" or None, default=None
        A list holds the candidate splits (feature, threshold) of each feature node in level order.
        "all" takes every threshold between neighbouring values at each node; combine it with
        ``pricing="sweep"`` and ``link="prefix"``.  None samples them by CART, see
        :func:`odtlib.heuristics.sample_splits`.  "generate" samples them too, takes the best tree
        of these, and then generates splits over all thresholds until none can improve it, see
        :class:`odtlib.column_generation.candidates.CandidateGeneration`: the tree is then proved
        optimal over all thresholds.  ``max_depth`` is then the only limit that may be set, and of
        ``search`` only the options of the sampling are used.
    sample_share : float, default=0.9
        Share of the rows behind each sampled tree.  Both papers state 0.9; the published numbers
        of Patel et al. come from 0.7.
    pricing : {"enumeration", "sweep", "cp-sat", "milp"} or None, default="enumeration"
        Exact pricing.  Enumeration takes milliseconds, the integer programs thousands of times
        longer.  "sweep" needs no list of all paths, for very many candidates.  None stops where
        the heuristic finds nothing, without a bound, as Firat et al. do for large data.
    row_cuts : {"none", "lower", "upper", "equal", "all", "extra"}, default="upper"
        Constraints (1c), which put each row on one path.  "none" leaves them out; "upper", "lower"
        and "equal" add violated ones as cuts: at most, at least, or exactly one path; "all" has
        those of all training rows from the beginning (Firat et al.); "extra" adds cuts for points
        outside the data, too (Patel et al.).  Without them the relaxation of the node form is weak.
    search : ColumnGenerationSearch or None, default=None
        All other steps; None takes the defaults of :class:`ColumnGenerationSearch`.
    max_feature_cost : int or None, default=None
        Maximum sum of the costs of the features that the tree tests, each paid once; None for no
        limit.  With the default costs it is the maximum number of distinct features.  It is a
        constraint over the whole tree, which a dynamic program over nodes cannot handle;
        ``integer="branch-and-price"`` proves the optimum.  Like limits on recall, precision and
        disparity, it is refused with ``link="prefix"``.
    feature_costs : array of int, shape (n_features,), or None, default=None
        Cost of each feature, a whole number; None makes each cost 1.
    min_recall : dict or None, default=None
        Minimum share of the rows of a class that are predicted as this class, for labels of ``y``:
        ``{"bad": 0.8}``.  This limit and the next two are side constraints: one row, and one dual
        value, of the master each.  A leaf then takes the class that keeps them, not always the best
        for its rows.  Rows count with their weight, ``class_weight`` included.  They need
        ``pricing="enumeration"`` or a pricing heuristic; ``integer="branch-and-price"`` proves the
        optimum.
    min_precision : dict or None, default=None
        Minimum share of rows of a class among those predicted as this class; it also holds where no
        row is predicted so.
    max_disparity : float or None, default=None
        Maximum difference in the shares of rows predicted as ``classes_[1]`` between any two of
        the groups given to ``fit`` as ``protected``; None for no limit.
    disparity : {"demographic-parity", "equal-opportunity"}, default="demographic-parity"
        "demographic-parity" compares shares of all rows of a group, "equal-opportunity" shares of
        those of class ``classes_[1]`` only.
    max_nodes : int or None, default=None
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int, default=1
        Minimum number of samples per leaf.
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
        Seed of the random choices.  They are those of the sampling and of heuristic pricing.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree found.
    report_ : SolveReport
        ``counters``: ``relaxation`` (value of the last master, weight of correct rows), whether it
        ``converged`` and is ``integral``, ``iterations``, ``columns``, ``cuts``, ``relaxations``
        solved by branch-and-price, and seconds in each phase; the ``disparity`` of the tree where
        it is limited.  With ``splits="generate"``: sampled ``splits``, ``candidates_optimum`` (cost
        of their best tree) and the number of splits ``generated``, over all prefixes.
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
        **CandidateTreeClassifier._parameter_constraints,
        "row_cuts": [StrOptions({"none", "lower", "upper", "equal", "all", "extra"})],
        "splits": [list, StrOptions({"all", "generate"}), None],
        "pricing": [StrOptions({"enumeration", "sweep", "cp-sat", "milp"}), None],
        "search": [ColumnGenerationSearch, None],
        "max_feature_cost": [Interval(Integral, 0, None, closed="left"), None],
        "feature_costs": ["array-like", None],
        "min_recall": [dict, None],
        "min_precision": [dict, None],
        "max_disparity": [Interval(Real, 0, 1, closed="both"), None],
        "disparity": [StrOptions({"demographic-parity", "equal-opportunity"})],
    }

    def __init__(self, max_depth: int = 4, *, splits: list | str | None = None,
                 sample_share: float = 0.9, pricing: str | None = "enumeration",
                 row_cuts: str = "upper", search: ColumnGenerationSearch | None = None,
                 max_feature_cost: int | None = None, feature_costs: ArrayLike | None = None,
                 min_recall: dict | None = None, min_precision: dict | None = None,
                 max_disparity: float | None = None, disparity: str = "demographic-parity",
                 max_nodes: int | None = None, max_leaf_nodes: int | None = None,
                 min_samples_leaf: int = 1, split_penalty: float = 0.0,
                 class_weight: dict | str | None = None, time_limit: float | None = None,
                 memory_limit: float | None = None, n_jobs: int | None = None,
                 random_state: int | np.random.RandomState | None = 0, verbose: int = 0) -> None:
        self.max_depth = max_depth
        self.splits = splits
        self.sample_share = sample_share
        self.pricing = pricing
        self.row_cuts = row_cuts
        self.search = search
        self.max_feature_cost = max_feature_cost
        self.feature_costs = feature_costs
        self.min_recall = min_recall
        self.min_precision = min_precision
        self.max_disparity = max_disparity
        self.disparity = disparity
        self.max_nodes = max_nodes
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.split_penalty = split_penalty
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        if (protected is None) != (self.max_disparity is None):
            raise ValueError("max_disparity and protected belong together: give "
                             f"{type(self).__name__}(max_disparity=...) and "
                             "fit(..., protected=...).")
        self._fit(X, y, sample_weight, protected)
        return self

    def _side_constraints(self, y, sample_weight, protected):
        side = side_constraints(
            y, np.ones(len(y)) if sample_weight is None else sample_weight, self.classes_,
            min_recall=self.min_recall, min_precision=self.min_precision,
            max_disparity=self.max_disparity, disparity=self.disparity, protected=protected)
        if side is not None and self.pricing not in ("enumeration", None):
            raise ValueError("limits on recall, precision and disparity are priced by "
                             "enumeration; set pricing='enumeration'.")
        return side

    def _sampling_options(self):
        return self.search or ColumnGenerationSearch()

    def _feature_limits(self, n_features):
        if self.max_feature_cost is None:
            if self.feature_costs is not None:
                raise ValueError("feature_costs has no effect without max_feature_cost; give both.")
            return {}
        costs = np.ones(n_features) if self.feature_costs is None else self.feature_costs
        costs = np.asarray(costs)
        if costs.shape != (n_features,) or costs.dtype.kind not in "iuf" or not np.all(
                (costs >= 0) & (costs == np.rint(costs)) & (costs <= MAX_FEATURE_COST)):
            raise ValueError(f"feature_costs needs {n_features} whole numbers, one per feature, "
                             f"from 0 to {MAX_FEATURE_COST}; multiply fractions by a power of ten.")
        return {"feature_costs": costs.astype(np.int64),
                "max_feature_cost": int(self.max_feature_cost)}

    def _pricing(self, random):
        """Return the pricing methods in the order in which they are tried."""
        search = self.search or ColumnGenerationSearch()
        kinds = []
        if search.heuristic_pricing is not None:
            kinds.append({"pool": PathPool, "random": RandomPaths}[search.heuristic_pricing])
        if self.pricing is not None:
            kinds.append({"enumeration": Enumeration, "sweep": Sweep}.get(self.pricing,
                                                                          Subproblems))
        given = {RandomPaths: {"random": random}, PathPool: {"random": random},
                 Subproblems: {"solver": self.pricing, "merged": search.subproblems == "merged",
                               "merge_rows": search.merge_rows}}
        options = dict(search.pricing_options or {})
        methods, known = [], []
        for kind in kinds:
            fixed = given.get(kind, {})
            mine = [name for name in signature(kind).parameters if name not in fixed]
            known += mine
            methods.append(kind(**fixed, **{name: options[name] for name in mine
                                            if name in options}))
        unknown = set(options) - set(known)
        if unknown:
            raise ValueError(f"pricing_options has {unknown.pop()!r}, which the pricing in use "
                             f"does not know; it knows {', '.join(known) or 'nothing'}.")
        for name, value in options.items():
            wanted = bool if name in SWITCHES else Real
            if not isinstance(value, wanted) or (wanted is Real and value < 1):
                raise ValueError(f"pricing_options has {name}={value!r}; give "
                                 + ("True or False." if wanted is bool else "a number of at "
                                    "least 1."))
        if not methods:
            raise ValueError("pricing and heuristic_pricing are both None: nothing would ever find "
                             "a path; give one of them.")
        if search.integer == "branch-and-price" and self.pricing is None:
            raise ValueError("branch-and-price needs exact pricing; set pricing='enumeration'.")
        if search.link == "prefix" and self.pricing in ("cp-sat", "milp"):
            raise ValueError("the subproblem models price the papers' form only; use link='node' "
                             "or pricing='enumeration'.")
        return methods

    def _warm_up(self, X, y, sample_weight, protected=None):
        search = self.search or ColumnGenerationSearch()
        needs("highspy", "solvers", type(self).__name__)
        if self.pricing == "cp-sat" or (self.row_cuts == "extra" and search.separation == "cp-sat"):
            needs("ortools.sat.python.cp_model", "solvers", type(self).__name__)

        def run():
            X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
            problem = RestrictedProblem(X, y, 2, [[(0, 0.5), (0, 1.5)]] * 3)
            for link in ("node", "prefix"):
                master = Master(problem, link)
                master.add_tree(np.zeros(3, np.int64))
                ColumnGeneration(master, [Enumeration()], Clock(), row_cuts="upper").solve()
                Sweep()(master, master.solve(), np.ones(problem.n_splits, bool))
            for depth in (2, 3):
                CandidateGeneration(X, y, 2, np.ones(3), Clock(), PROOF).run(depth, 0.0)

        return (super()._warm_up(X, y, sample_weight)
                + warm_up("column generation", kernels.reduced_costs, run))

    def _solve(self, X, y, sample_weight, protected=None):
        if not (isinstance(self.splits, str) and self.splits == "generate"):
            return super()._solve(X, y, sample_weight, protected)
        standard = signature(type(self)).parameters
        for name in ("pricing", "row_cuts", "max_feature_cost", "feature_costs", "min_recall",
                     "min_precision", "max_disparity", "max_nodes", "max_leaf_nodes",
                     "min_samples_leaf", "split_penalty"):
            given, default = getattr(self, name), standard[name].default
            if given is not None if default is None else given != default:
                raise ValueError(f"splits='generate' has no use for {name}; leave it at its "
                                 "default, or take splits=None.")
        clock = Clock(self.time_limit)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        total, depth = float(weight.sum()), self._depth_within(len(X))
        max_bytes = np.inf if self.memory_limit is None else self.memory_limit * MEGABYTE
        run = Run(X, y, len(self.classes_), sample_weight, depth, 0.0, clock, max_bytes, None)
        self.cart_, self.iterations_ = None, []
        if depth == 0:
            return run.outcome(run.leaf(), "optimal", proof="optimal without a split")
        tree, bound, counters, trace, status = run.leaf(), 0.0, {}, [], "optimal"
        try:
            check_size(2 ** depth - 1, 0, len(X))
            splits, cart, counters = self._candidates(run)
            self.cart_ = tree_of_splits(cart, X, y, run.n_classes, sample_weight).replace(
                classes=self.classes_)
            tree = min(self.cart_.replace(classes=None), tree, key=run.objective)
            trace.append((clock.elapsed, run.objective(tree), 0.0, "start"))
            if splits[0]:
                self.problem_ = RestrictedProblem(X, y, run.n_classes, splits, sample_weight,
                                                  max_bytes=max_bytes, clock=clock)
                program = DynamicProgram(self.problem_, self.problem_.choose(cart))
                while not program.done:
                    if clock.expired:
                        raise TimeUp
                    program.advance()
                tree = self.problem_.tree(program.choices)
            known = objective = run.objective(tree)
            counters = {**counters, "splits": sum(map(len, splits)), "candidates_optimum": known}
            trace.append((clock.elapsed, known, 0.0, "candidates"))
            if NODE_BYTES * depth * X.size > max_bytes:
                raise TooLarge("the bounds of all thresholds do not fit into the memory limit.")
            generation = CandidateGeneration(X, y, run.n_classes, weight, clock, PROOF * total)

            def watch(value, upper, found):
                nonlocal tree, objective, bound
                if total - value < objective - PROOF * total:
                    tree = tree_of_splits(found, X, y, run.n_classes, sample_weight)
                    objective = run.objective(tree)
                bound = max(bound, min(total - upper, objective))
                line = {"seconds": clock.elapsed, "objective": objective, "bound": bound,
                        "generated": generation.n_generated}
                counters["generated"] = line["generated"]
                self.iterations_.append(line)
                if trace[-1][1:3] != (objective, bound):
                    trace.append((line["seconds"], objective, bound, "new split"))
                    if self.verbose:
                        print("{seconds:8.2f} s  objective {objective:g}  bound {bound:g}  "
                              "{generated} splits generated".format(**line), flush=True)

            generation.run(depth, total - known, watch)
        except (TimeUp, TooLarge, KeyboardInterrupt) as error:
            status = STOPPED_BY[type(error)]
        return run.outcome(tree, status, bound, start="cart", counters=counters, trace=trace,
                           proof=f"optimal over all thresholds at depth {depth}")

    def _search(self, problem, start, clock):
        search = self.search or ColumnGenerationSearch()
        problem, factor = problem.for_solver(clock)     # values below are in its unit
        pricing = self._pricing(check_random_state(self.random_state))
        if problem.side is not None:
            problem.enumerate_paths(clock)
        best = start
        trace = [(clock.elapsed, problem.cost(best) / factor, 0.0, "start")]
        master = Master(problem, search.link, clock)
        master.add_tree(best)
        if search.start_columns == "sampled" and self.splits is None:
            self._add_sampled(problem, master, clock, search.sampling)
        counters = {}
        ended = None

        def watch(line):
            if line["bound"] < np.inf:
                trace.append((line["seconds"], problem.cost(best) / factor,
                              self._least_errors(problem, line["bound"]) / factor, "iteration"))
            line["value"] /= factor
            line["bound"] /= factor
            if self.verbose:
                print("{iteration:5d}  {seconds:8.2f} s  value {value:.4f}  bound {bound:.4f}  "
                      "{columns} paths  {cuts} cuts".format(**line), flush=True)

        generation = ColumnGeneration(
            master, pricing, clock, row_cuts=self.row_cuts, schedule=search.cut_schedule,
            separation=search.separation, merge_rows=search.merge_rows, watch=watch)
        bound = np.inf
        begin = clock.elapsed
        try:
            if search.integer == "branch-and-price":
                exact = BranchAndPrice(generation, best)
                try:
                    exact.run()
                finally:
                    best, bound = exact.choices, exact.bound
                counters["relaxations"] = exact.n_solved
                outcome = None
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
                best = self._integer(search.integer, generation, best, counters)
        except KeyboardInterrupt:
            ended = "interrupted"
        except TooLarge:
            ended = "memory_limit"
        counters.update(
            iterations=len(generation.iterations), columns=master.n_columns, cuts=master.n_cuts,
            integer_seconds=clock.elapsed - begin,
            **{f"{phase}_seconds": spent for phase, spent in generation.seconds.items()})
        self.iterations_ = generation.iterations
        least = self._least_errors(problem, bound)
        status = status_of(ended or ("time_limit" if clock.expired else "heuristic"),
                           problem.cost(best), least, problem.total)
        return best, least / factor, status, counters, trace

    @staticmethod
    def _integer(method, generation, best, counters):
        """Return the better of a known tree and the one that the generated paths give."""
        master, problem = generation.master, generation.master.problem
        if method == "diving":
            found = dive(generation, best)
        elif method == "master" and problem.splittable:
            found, counters["integer_proved"] = master.best_tree(), True
        else:
            found, counters["integer_proved"] = master.solve_integer(
                generation.clock.remaining, best)
        if found is not None and problem.cost(found) < problem.cost(best):
            return found
        return best

    def _add_sampled(self, problem, master, clock, sampling):
        """Add the paths of 100 CARTs on 80 % of the rows, where their splits are candidates."""
        sampler = TreeSampler(problem.X, problem.y, problem.n_classes, problem.weights,
                              problem.depth, sampling)
        candidates = [set(node) for node in problem.splits]
        leaves, paths = [], []
        for seed in range(100):
            if clock.expired:
                break
            tree = sampler.grow(sampler.part(0.8, seed))
            choices = problem.choose(tree)
            for leaf in range(problem.n_leaves):
                if all(tree[node] in candidates[node] for node in master.nodes[leaf]):
                    leaves.append(leaf)
                    paths.append(problem.path_number(leaf, choices))
        master.add_columns(leaves, paths)

    @staticmethod
    def _least_errors(problem, bound):
        """Turn a bound on correct weight into one on errors."""
        if not np.isfinite(bound):
            return 0.0
        errors = max(0.0, problem.total - bound)
        if problem.unit == 1.0:         # whole weights: so are the errors
            return max(0.0, float(np.ceil(errors - PROOF * max(1e4, problem.total))))
        return errors
