"""The fit that the classifiers by integer programs share: start, solve, read the tree, report."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from odtbook.formulations.engines import library
from odtlib.column_generation.units import MAX_WHOLE_SUM, in_units
from odtlib.estimator import Outcome, TreeClassifier
from odtlib.fit import STOPPED, Fit
from odtlib.heuristics.cart import single_leaf
from odtlib.heuristics.start import starting_tree, warm_up_start
from odtlib.report import Clock, default_objective, status_of
from odtlib.text import number_text
from odtlib.tolerance import PROOF, ROUNDING
from odtlib.tree import DecisionTree
from odtlib.trees import cut_back

MAX_SUM_IN_CP_SAT = 2**40   # of whole weights
# CP-SAT 9.15 calls trees optimal that are not, and programs infeasible, where costs add up to much:
# in 5,000 random fits from 2**32.3 on, in a twentieth at 2**35; never without its presolve
MAX_SUM_IN_PRESOLVE = 2**31
ROUNDED_SHARE = 0.1        # share of what a proof leaves open that rounding weights down may cost
MAX_NONZEROS = 60_000_000   # some 100 bytes each while a model is built and passed on
SECONDS_PER_NONZERO = 4e-7  # to build an integer program, generously
# HiGHS's own tolerances are absolute and larger than what weights that are not whole can bear
EXACT = dict.fromkeys(("mip_feasibility_tolerance", "primal_feasibility_tolerance",
                       "dual_feasibility_tolerance"), 1e-9)


class Formulation(NamedTuple):
    """A program that can be built: how, its approximate size, the trees that it covers, counters.

    ``build()`` returns None if time is over, or an object with a ``model``, ``start(tree)``, which
    writes a tree as a solution, and ``tree(values)``, which reads one.
    """

    build: Any
    n_nonzeros: int
    space: str
    counters: dict


def disparity(positive, groups, weight):
    """Return the absolute difference of the groups' weighted shares of positive predictions."""
    total = np.bincount(groups, weight, 2)
    return abs(float(np.subtract(*(np.bincount(groups, weight * positive, 2) / total))))


def disparity_of(tree, X, groups, sample_weight=None):
    """Return the disparity of a tree on the training rows."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    return disparity(tree.predict_codes(X) == 1, groups, weight)


@dataclass
class Problem:
    """Training rows and limits of one fit; ``units`` are the weights times ``factor``.

    Weights that are not ``whole`` in this unit are ``rounded`` down for CP-SAT: every tree then
    costs the program at most what it costs in fact, so that its bounds hold.
    """

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None
    n_classes: int
    depth: int
    max_splits: int
    min_samples_leaf: int
    factor: float
    whole: bool
    split_penalty: float
    groups: np.ndarray | None
    max_disparity: float | None
    rounded: bool = False

    @property
    def weight(self):
        """Weight of every row."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    @property
    def units(self):
        """Weights in the unit that a solver resolves best.

        HiGHS errs where weights lie too far apart: the least of them, which together are a tenth of
        what a proof leaves open, become zero.  A bound without them holds with them.
        """
        units = self.weight * self.factor
        if self.whole:
            return np.rint(units)
        if self.rounded:
            return np.floor(units)
        if self.groups is None:
            order = np.argsort(units)
            units[order[np.cumsum(units[order]) <= 0.1 * PROOF * units.sum()]] = 0.0
        return units

    @property
    def scale(self):
        """Largest objective that a tree of one split can have."""
        return float(self.weight.sum()) + self.split_penalty

    @property
    def counted(self):
        """Whether the objective is a sum of whole units."""
        return self.whole and not self.split_penalty

    def size_limits(self):
        """Return the options that all models have in common, in the solver's unit."""
        full = 2 ** self.depth - 1
        return {"split_penalty": self.split_penalty * self.factor,
                "max_splits": None if self.max_splits >= full else self.max_splits,
                "min_samples_leaf": self.min_samples_leaf}

    def limits(self):
        """Return the options that BinOCTModel and NeighbourhoodSearch have in common."""
        return {**self.size_limits(), "groups": self.groups, "max_disparity": self.max_disparity}

    def cost(self, tree):
        """Return the objective of a tree, or infinity where it breaks the limit on disparity."""
        if self.max_disparity is not None and disparity_of(
                tree, self.X, self.groups, self.sample_weight) > self.max_disparity + ROUNDING:
            return np.inf
        return default_objective(tree, self.X, self.y, self.sample_weight, self.split_penalty)

    def start(self, start, random_state, time_limit):
        """Return a starting tree within depth and leaf size."""
        return starting_tree(start, self.X, self.y, self.n_classes, self.sample_weight,
                             self.depth, self.min_samples_leaf, random_state, time_limit)

    def checked(self, tree):
        """Return a tree without needless splits, None where a solver's tolerance broke a limit."""
        if self.groups is None:
            try:
                tree = self.start(tree, None, None)
            except ValueError:
                return None
        else:           # other labels may be fairer than those with the fewest errors
            tree = tree.with_counts(self.X, self.y, self.n_classes, self.sample_weight,
                                    relabel=False).pruned()
            if np.unique(tree.apply(self.X), return_counts=True)[1].min() < self.min_samples_leaf:
                return None
        return tree if tree.n_splits <= self.max_splits else None


class ProgramFit(Fit):
    """A fit by a program, which begins from a tree.

    A tree that was not ``given`` stands in for one that the solver does not find; the trace shows
    it where it remains.
    """

    def __init__(self, problem, clock, tree, start, bound, verbose):
        super().__init__(clock, problem.cost, scale=problem.scale, start=start, bound=bound,
                         verbose=verbose)
        self.given, self.ended, self.shown = start is not None, "time_limit", np.inf
        self.offer(tree)
        if self.given:
            self.counters["start_objective"] = self.objective
        self.note("start" if self.given else "nothing", None if self.given else np.inf)

    def note(self, event, objective=None, bound=None, seconds=None):
        """As in the base class; no incumbent that was shown is followed by a worse one."""
        self.shown = min(self.shown, self.objective if objective is None else objective)
        super().note(event, self.shown, bound, seconds)

    def take(self, tree):
        """Keep a tree for what is proved of it, although another one may be better."""
        self.objective = np.inf
        self.offer(tree)


@dataclass(eq=False, repr=False)
class ProgramClassifier(TreeClassifier):
    """Base class of the classifiers by integer programs.

    A subclass defines ``_formulate(problem, trees, clock)``, which returns a
    :class:`Formulation`; ``trees`` are those that a start has given.
    """

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "solver": [StrOptions({"highs", "cp-sat"})],
    }

    max_depth: int | None = 2
    _: KW_ONLY
    max_nodes: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: float = 1
    split_penalty: float = 0.0
    class_weight: dict | str | None = None
    solver: str = "highs"
    start: str | DecisionTree | BaseEstimator | None = "cart"
    n_jobs: int | None = None
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    search = max_disparity = None       # parameters of BinOCT only
    _resolved = np.inf      # sum of the weights over the least one up to which HiGHS proves

    def _warm_up(self, X, y, sample_weight, **task):
        library(self.solver)
        if getattr(self.search, "relaxation", False):
            library("highs")
        return warm_up_start(self.start)

    def _solve(self, X, y, sample_weight, protected=None, budgets=False):
        """Return the outcome; with ``budgets`` its answer is one for each number of splits."""
        clock = Clock(self.time_limit)
        problem = self._problem(self._model_columns(X, y, sample_weight), y, sample_weight,
                                protected)
        if not budgets:
            return self._search(problem, clock)
        most, outcomes, ended = problem.max_splits, [], None
        for splits in range(most + 1):
            problem.max_splits = splits
            own = Clock(None if self.time_limit is None
                        else max(0.05, clock.remaining / (most + 1 - splits)))
            outcomes.append(self._search(problem, own, outcomes[-1].tree if outcomes else None,
                                         ended))
            if outcomes[-1].report.status == "interrupted":
                ended = "interrupted"
            elif clock.expired:
                ended = "time_limit"
        return outcomes[-1]._replace(answer=outcomes)

    def _model_columns(self, X, y, sample_weight):
        """Return the columns that splits test."""
        return X

    def _tree_of_features(self, tree):
        """Return a tree over the columns as the user sees it."""
        return tree

    def _problem(self, X, y, sample_weight, protected=None):
        n_rows, depth = len(y), self._depth_within(len(y))
        weight = np.ones(n_rows) if sample_weight is None else sample_weight
        # the program counts in a unit of its own, all else in the weights as they were given
        highs = self.solver == "highs"
        factor, whole = in_units(weight, MAX_WHOLE_SUM if highs else MAX_SUM_IN_CP_SAT)
        rounded = not (highs or whole)
        if rounded:
            factor = n_rows / (ROUNDED_SHARE * PROOF) / weight.sum()
        fair = self.max_disparity is not None
        if fair != (protected is not None):
            raise ValueError("max_disparity and protected belong together: "
                             f"give {type(self).__name__}(max_disparity=...) and "
                             "fit(..., protected=...).")
        groups = None
        if fair:
            values, groups = np.unique(protected, return_inverse=True)
            groups = groups.ravel()
            if len(values) != 2 or len(self.classes_) != 2:
                raise ValueError(f"protected has {len(values)} distinct values and y "
                                 f"{len(self.classes_)} classes; there must be two groups and two "
                                 "classes.")
            if rounded:
                raise ValueError("CP-SAT compares the shares of groups in whole numbers, and the "
                                 "weights, class_weight included, have no small common "
                                 "denominator; round them or use solver='highs'.")
        return Problem(X, y, sample_weight, len(self.classes_), depth, self._node_budget(n_rows),
                       min(int(self.min_samples_leaf), n_rows), factor, whole,
                       float(self.split_penalty), groups, self.max_disparity, rounded)

    def _search(self, problem, clock, smaller=None, ended=None):
        """Solve one problem; ``smaller`` is the best tree of fewer splits, if that is known.

        What has ``ended`` the search for fewer splits leaves that tree.
        """
        grown, begin = self._begin(problem, clock, smaller, ended is None)
        run = ProgramFit(problem, clock, begin, self._start_word(), self._lower_bound(problem),
                         self.verbose)
        space = "all trees"
        with run.stops():
            if ended is not None:
                run.ended = ended
            elif problem.max_splits == 0 or np.all(problem.X == problem.X[0]):
                run.finish()        # a leaf is all there is
                space = self._space(problem)
            else:
                formulation = self._formulate(problem, grown, clock)
                space = formulation.space
                run.counters.update(formulation.counters, nonzeros=formulation.n_nonzeros)
                if formulation.n_nonzeros > MAX_NONZEROS:
                    run.ended = "memory_limit"
                elif formulation.n_nonzeros * SECONDS_PER_NONZERO < clock.remaining:
                    self._run_solver(problem, formulation, run)
        if run.ended == "infeasible":
            if problem.counted and problem.groups is None:
                raise RuntimeError("the solver calls the program infeasible, which it never is; "
                                   "please report this data set as a bug of odtlib.")
            run.ended, run.bound = "heuristic", 0.0     # weights too far apart for its tolerances
        return self._outcome(problem, run, space)

    def _lower_bound(self, problem):
        """Return a number that no objective is below."""
        return 0.0

    def _run_solver(self, problem, formulation, run):
        """Build the program, have it solved, and keep its tree if it is the best."""
        clock, highs = run.clock, self.solver == "highs"
        program = formulation.build()
        if program is None or clock.expired:
            return
        built, floor = clock.elapsed, run.bound
        run.counters.update(program.model.sizes(), build_seconds=built)
        settings = {}
        if highs and not (problem.counted and problem.groups is None):
            settings.update(EXACT)
        if highs and not problem.whole:
            settings["presolve"] = "off"    # HiGHS's has been seen to err where costs are not whole
        if self.solver == "cp-sat" and problem.units.sum() > MAX_SUM_IN_PRESOLVE:
            settings["cp_model_presolve"] = False
        begin = clock.elapsed
        solution = program.model.solve(
            self.solver, n_jobs=effective_n_jobs(self.n_jobs),
            unit=1.0 if problem.counted else None, settings=settings,
            start=program.start(run.tree) if run.given else None,
            priorities=self._priorities(program),
            time_limit=None if clock.time_limit is None else max(0.05, clock.remaining),
            random_state=int(check_random_state(self.random_state).randint(2**31 - 1)))
        run.counters.update(solution.counters, solver_bound=solution.bound / problem.factor)
        units = problem.units
        proves = not highs or units.sum() <= self._resolved * units[units > 0].min()
        for seconds, incumbent, bound, event in solution.events:
            run.note(event, incumbent / problem.factor,
                     max(floor, bound / problem.factor) if proves else floor, begin + seconds)
        if proves:
            run.bound = max(floor, solution.bound / problem.factor)
        found = None
        if solution.values is not None:
            found = problem.checked(program.tree(solution.values))
        if found is not None and run.offer(found, equal=True):
            run.shown = run.objective       # a tree can cost less than its program says
        elif not run.given:
            # a stand-in may lie outside the program's candidates: what is proved goes first
            if found is not None and problem.cost(found) <= run.bound + PROOF * problem.scale:
                run.take(found)
            else:
                run.counters["fallback"] = 1
        # a Ctrl-C before counts
        run.ended = solution.status if proves or solution.status in STOPPED else "heuristic"

    def _priorities(self, program):
        """Return the branching priorities, or None."""

    def _begin(self, problem, clock, smaller, grow=True):
        """Return the trees grown, and the best after cutting them back to the limits.

        CART stands in where there is no start and the solver finds nothing better.
        """
        start = "cart" if self.start is None else self._given_start()
        limit = None if clock.time_limit is None else clock.time_limit / 4
        grown = []
        if grow and problem.X.shape[1] > 0:
            grown.append(problem.start(start, self.random_state, limit))
        candidates = [single_leaf(problem.X, problem.y, problem.n_classes, problem.sample_weight)]
        for tree in (*grown, *([] if smaller is None else [smaller])):
            tree = problem.start(tree, None, None)
            tree = cut_back(tree, problem.max_splits, problem.split_penalty)
            candidates.append(tree.with_counts(problem.X, problem.y, problem.n_classes,
                                               problem.sample_weight))
        return grown, min(candidates, key=problem.cost)

    def _outcome(self, problem, run, space):
        if "fallback" in run.counters or run.shown > run.objective:
            if not run.given and run.ended != "optimal":
                run.counters["fallback"] = 1
                run.note("cart, as the solver found no tree")
        if run.ended not in STOPPED:
            run.ended = "memory_limit" if run.ended == "died" else "heuristic"
        if status_of(run.ended, run.objective, run.bound, problem.scale) == "optimal":
            run.bound = run.objective       # a solver's bound is right up to its tolerance
        if run.given:
            run.counters["gain"] = run.counters["start_objective"] - run.objective
        if problem.groups is not None:
            run.counters["disparity"] = disparity_of(run.tree, problem.X, problem.groups,
                                                     problem.sample_weight)
        run.counters["time_to_best"] = next(
            (seconds for seconds, incumbent, _, _ in run.trace
             if incumbent <= run.objective + PROOF * problem.scale), run.clock.elapsed)
        run.proof = f"optimal for {space} at {self._limits(problem)}"
        return Outcome(self._tree_of_features(run.tree), run.report())

    def _limits(self, problem):
        limits = self._depth_in_words()
        if problem.max_splits < min(2 ** problem.depth, len(problem.y)) - 1:
            limits += f" and {problem.max_splits} feature nodes"
        if self.min_samples_leaf > 1:
            limits += f", {self.min_samples_leaf} samples per leaf"
        if self.split_penalty:
            limits += f", split_penalty {number_text(self.split_penalty)}"
        if self.max_disparity is not None:
            limits += f", disparity {number_text(self.max_disparity)}"
        return limits


def add_terms(model, name, shape, *terms, **sides):
    """Add a block of rows as a sum of terms ``(row, column, value)``, each of which broadcasts."""
    parts = [np.broadcast_arrays(*term) for term in terms]
    model.add_rows(name, shape, *(np.concatenate([part[k].ravel() for part in parts])
                                  for k in range(3)), **sides)
