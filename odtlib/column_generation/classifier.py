"""The estimator that puts column generation together."""

from __future__ import annotations

from inspect import signature
from numbers import Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from odtlib._numba.warm import warm_up
from odtlib._tolerance import PROOF
from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation.branch_and_price import BranchAndPrice, dive
from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import Master
from odtlib.column_generation.paths import RestrictedProblem
from odtlib.column_generation.pricing import Enumeration, PathPool, RandomPaths, Sweep
from odtlib.column_generation.restricted import CandidateTreeClassifier
from odtlib.column_generation.subproblems import Subproblems
from odtlib.heuristics.threshold_sampling import TreeSampler
from odtlib.report import Clock
from odtlib.requirements import needs

SWITCHES = ("leaf_priority", "reset", "first_only", "distinct", "needed_only", "warm_start")


class ColumnGenerationClassifier(CandidateTreeClassifier):
    """Build a tree by column generation over root-to-leaf paths.

    The method of Firat et al. (2020) and Patel et al. (2023): candidate splits sampled by CART, a
    master problem over paths, pricing, row constraints as cuts, and an integer master.  Every
    step of both papers is a choice of a parameter.  The defaults keep the papers' model, price
    exactly and cut to convergence; ``link="prefix", row_cuts="none"`` is the fastest way to a
    tree that is proved optimal for its candidates.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree.
    splits : list of list of (int, float), "all" or None, default=None
        Candidate splits (feature, threshold) of every feature node in heap order; or every
        threshold between neighbouring values at every node, for which pricing="sweep" with
        link="prefix" is made.  None samples them by CART, see
        :func:`odtlib.heuristics.sample_splits`.
    n_trees : int, default=300
        Trees to sample from.
    sample_share : float, default=0.9
        Share of the rows behind each of them.  Both papers state 0.9; the published numbers of
        Patel et al. come from 0.7.
    stopping : {"fixed", "no-new-root"}, default="fixed"
        Grow ``n_trees`` trees, or go on until so many in a row bring no new root split.
    root_candidates, node_candidates : int, "all" or None, default=None
        Splits kept at the root and at every other node; None keeps the papers' numbers.
    sampling : {"compiled", "sklearn"}, default="compiled"
        What grows the trees; they differ where splits are equally good.
    class_costs : dict, default=None
        Cost of misclassifying a row of a class, for instance of a false negative; 1 for classes
        that it does not name.  The costs multiply the sample weights, also in the sampling.
    min_samples_leaf : int, default=1
        Fewest rows of a leaf.  Above 1 nodes may do without a split.
    leaf_penalty : float, default=0.0
        What every leaf adds to the objective; more makes smaller trees.
    start_columns : {"cart", "sampled"}, default="cart"
        Paths in the first master: those of the CART of all rows, or also those of 100 CARTs on
        80 % of the rows whose splits are all candidates (Patel et al., step 4).
    link : {"node", "prefix"}, default="node"
        Form of the linking constraints, see :class:`~odtlib.column_generation.master.Master`.
        "prefix" needs no row constraints for an exact relaxation.
    row_cuts : {"none", "lower", "upper", "equal", "all", "extra"}, default="upper"
        Constraints (1c), each row on one path: never, or as cuts from one or both sides, or those
        of all training rows from the beginning (Firat et al.), or also of points outside the
        data (Patel et al.).  Without them the relaxation of the node form is weak.
    cut_schedule : {"thorough", "published"}, default="thorough"
        All violated rows in each iteration and a final separation; or ten rows at a time, up to
        ten times, in every tenth iteration.
    separation : {"cp-sat", "milp"}, default="cp-sat"
        Solver of the separation model for ``row_cuts="extra"``.
    heuristic_pricing : {"pool", "random"} or None, default=None
        Tried before exact pricing: the pool of Firat et al., 100 random paths of Patel et al., or
        nothing.
    pricing : {"enumeration", "sweep", "cp-sat", "milp"} or None, default="enumeration"
        Exact pricing.  Enumeration takes milliseconds, the integer programs thousands of times
        longer.  "sweep" needs no list of all paths, for very many candidates.  None stops where
        the heuristic finds nothing, without a bound, as Firat et al. do for large data.
    subproblems : {"merged", "per-class"}, default="merged"
        One integer program a leaf (Patel et al.) or one a leaf and class (Firat et al.).
    pricing_options : dict, default=None
        Further choices of the pricing methods in use, by the names of their parameters: of
        :class:`~odtlib.column_generation.pricing.PathPool` (``pool_size``, ``n_leaves``,
        ``n_added``, ``attempts``, ``leaf_priority``, ``reset``),
        :class:`~odtlib.column_generation.pricing.RandomPaths` (``n_paths``),
        :class:`~odtlib.column_generation.pricing.Enumeration` and
        :class:`~odtlib.column_generation.pricing.Sweep` (``per_leaf``),
        :class:`~odtlib.column_generation.subproblems.Subproblems` (``first_only``, ``distinct``,
        ``needed_only``, ``scale``, ``warm_start``).
    merge_rows : bool, default=True
        Treat rows that branch alike on all candidates as one, in row constraints and integer
        programs (Patel et al., step 5).  The answer is the same.
    integer : {"master", "milp", "diving", "branch-and-price"}, default="master"
        How the tree is found: by the integer master over the paths generated, as in both papers,
        which a dynamic program solves in milliseconds; the same by HiGHS, which may take hours
        where the relaxation is weak; fixing splits from the root down with column generation in
        between; or branch-and-price, which proves the optimum of the candidates.
    n_jobs : int, default=1
        Threads for the sampling.
    time_limit : float, default=None
        Seconds; sampling takes at most a third of it.
    random_state : int, RandomState or None, default=0
        Seed of the sampling and of heuristic pricing.
    verbose : int, default=0
        1 prints a line an iteration.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree found.
    report_ : SolveReport
        ``counters``: ``relaxation`` (value of the last master, weight of correct rows), whether it
        ``converged`` and is ``integral``, ``iterations``, ``columns``, ``cuts``, ``relaxations``
        solved by branch-and-price, and seconds in each phase.
    cart_ : DecisionTree or None
        The CART of all rows, which the tree is never worse than; None where splits were given.
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
        "start_columns": [StrOptions({"cart", "sampled"})],
        "link": [StrOptions({"node", "prefix"})],
        "row_cuts": [StrOptions({"none", "lower", "upper", "equal", "all", "extra"})],
        "cut_schedule": [StrOptions({"thorough", "published"})],
        "separation": [StrOptions({"cp-sat", "milp"})],
        "heuristic_pricing": [StrOptions({"pool", "random"}), None],
        "pricing": [StrOptions({"enumeration", "sweep", "cp-sat", "milp"}), None],
        "subproblems": [StrOptions({"merged", "per-class"})],
        "pricing_options": [dict, None],
        "merge_rows": ["boolean"],
        "integer": [StrOptions({"master", "milp", "diving", "branch-and-price"})],
    }

    def __init__(self, max_depth=4, *, splits=None, n_trees=300, sample_share=0.9,
                 stopping="fixed", root_candidates=None, node_candidates=None,
                 sampling="compiled", class_costs=None, min_samples_leaf=1, leaf_penalty=0.0,
                 start_columns="cart", link="node", row_cuts="upper",
                 cut_schedule="thorough", separation="cp-sat", heuristic_pricing=None,
                 pricing="enumeration", subproblems="merged", pricing_options=None,
                 merge_rows=True, integer="master", n_jobs=1, time_limit=None, random_state=0,
                 verbose=0):
        self.max_depth = max_depth
        self.splits = splits
        self.n_trees = n_trees
        self.sample_share = sample_share
        self.stopping = stopping
        self.root_candidates = root_candidates
        self.node_candidates = node_candidates
        self.sampling = sampling
        self.class_costs = class_costs
        self.min_samples_leaf = min_samples_leaf
        self.leaf_penalty = leaf_penalty
        self.start_columns = start_columns
        self.link = link
        self.row_cuts = row_cuts
        self.cut_schedule = cut_schedule
        self.separation = separation
        self.heuristic_pricing = heuristic_pricing
        self.pricing = pricing
        self.subproblems = subproblems
        self.pricing_options = pricing_options
        self.merge_rows = merge_rows
        self.integer = integer
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _pricing(self, random):
        kinds = []
        if self.heuristic_pricing is not None:
            kinds.append({"pool": PathPool, "random": RandomPaths}[self.heuristic_pricing])
        if self.pricing is not None:
            kinds.append({"enumeration": Enumeration, "sweep": Sweep}.get(self.pricing,
                                                                          Subproblems))
        given = {RandomPaths: {"random": random}, PathPool: {"random": random},
                 Subproblems: {"solver": self.pricing, "merged": self.subproblems == "merged",
                               "merge_rows": self.merge_rows}}
        options = dict(self.pricing_options or {})
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
        if self.integer == "branch-and-price" and self.pricing is None:
            raise ValueError("branch-and-price needs exact pricing; set pricing='enumeration'.")
        if self.link == "prefix" and self.pricing in ("cp-sat", "milp"):
            raise ValueError("the subproblem models price the papers' form only; use link='node' "
                             "or pricing='enumeration'.")
        return methods

    def _warm_up(self, X, y, sample_weight):
        needs("highspy", "solvers", type(self).__name__)
        if self.pricing == "cp-sat" or (self.row_cuts == "extra" and self.separation == "cp-sat"):
            needs("ortools.sat.python.cp_model", "solvers", type(self).__name__)

        def run():
            X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
            problem = RestrictedProblem(X, y, 2, [[(0, 0.5), (0, 1.5)]] * 3)
            for link in ("node", "prefix"):
                master = Master(problem, link)
                master.add_tree(np.zeros(3, np.int64))
                ColumnGeneration(master, [Enumeration()], Clock(), row_cuts="upper").solve()
                Sweep()(master, master.solve(), np.ones(problem.n_splits, bool))

        return (super()._warm_up(X, y, sample_weight)
                + warm_up("column generation", kernels.reduced_costs, run))

    def _search(self, problem, start, clock):
        problem, factor = problem.for_solver(clock)     # values below are in its unit
        pricing = self._pricing(check_random_state(self.random_state))
        best = problem.choose([None] * problem.n_nodes) if start is None else start
        trace = [(clock.elapsed, problem.cost(best) / factor, 0.0, "start")]
        master = Master(problem, self.link, clock)
        master.add_tree(best)
        if self.start_columns == "sampled" and self.splits is None:
            self._add_sampled(problem, master, clock)
        counters = {}
        interrupted = False

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
            master, pricing, clock, row_cuts=self.row_cuts, schedule=self.cut_schedule,
            separation=self.separation, merge_rows=self.merge_rows, watch=watch)
        bound = np.inf
        begin = clock.elapsed
        try:
            if self.integer == "branch-and-price":
                search = BranchAndPrice(generation, best)
                try:
                    search.run()
                finally:
                    best, bound = search.choices, search.bound
                counters["relaxations"] = search.n_solved
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
                best = self._integer(problem, generation, best, clock, counters)
        except KeyboardInterrupt:
            interrupted = True
        counters.update(
            iterations=len(generation.iterations), columns=master.n_columns, cuts=master.n_cuts,
            integer_seconds=clock.elapsed - begin,
            **{f"{phase}_seconds": spent for phase, spent in generation.seconds.items()})
        self.iterations_ = generation.iterations
        least = self._least_errors(problem, bound)
        errors = problem.cost(best)
        status = "heuristic"
        if errors <= least + PROOF * problem.total:
            status = "optimal"
        elif interrupted:
            status = "interrupted"
        elif clock.expired:
            status = "time_limit"
        return best, least / factor, status, counters, trace

    def _integer(self, problem, generation, best, clock, counters):
        master = generation.master
        if self.integer == "diving":
            found = dive(generation, best)
        elif self.integer == "master":
            found, counters["integer_proved"] = master.best_tree(), True
        else:
            found, counters["integer_proved"] = master.solve_integer(clock.remaining, best)
        if found is not None and problem.cost(found) < problem.cost(best):
            return found
        return best

    def _add_sampled(self, problem, master, clock):
        """Add the paths of 100 CARTs on 80 % of the rows, where their splits are candidates."""
        sampler = TreeSampler(problem.X, problem.y, problem.n_classes, problem.weights,
                              problem.depth, self.sampling)
        offers = [set(node) for node in problem.splits]
        leaves, paths = [], []
        for seed in range(100):
            if clock.expired:
                break
            tree = sampler.grow(sampler.part(0.8, seed))
            choices = problem.choose(tree)
            for leaf in range(problem.n_leaves):
                if all(tree[node] in offers[node] for node in master.nodes[leaf]):
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
