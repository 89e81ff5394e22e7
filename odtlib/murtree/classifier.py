"""The public estimator: optimal classification trees by the MurTree algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import islice
from math import gcd, lcm
from numbers import Real
from typing import Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from odtlib._validation import LARGEST, MOST
from odtlib.estimator import BINARIZERS, BinarisingMixin, Outcome, TreeClassifier
from odtlib.heuristics import starting_tree, warm_up_start
from odtlib.report import Clock, SolveReport, pluralised
from odtlib.tolerance import PROOF, ROUNDING
from odtlib.tree import DecisionTree

from . import _search as S
from .certificate import CertifiedMixin
from .columns import BudgetPathMixin, tree_over_columns
from .extensions.fronts import FrontEntry, errors_by_class, warm_up_fronts
from .extensions.good_trees import GoodTrees, OptimalTrees, warm_up_good_trees
from .extensions.tasks import RegularisedTree, extension_run, regularised_trees
from .options import MurTreeSearch
from .preparation import (
    MANY_ROWS,
    MAX_COPIES,
    equal_rows,
    grouped_rows,
    possible_kernels,
    prepare,
)
from .solver import Solver, warm_up_search


class MurTreeClassifier(CertifiedMixin, BudgetPathMixin, BinarisingMixin, TreeClassifier):
    """Find the classification tree with the fewest training errors, its depth and size limited.

    The search of Demirović et al. (2022): dynamic programming over depth and node budget (Eq. 1),
    a specialised algorithm for depth two on pairwise frequency counts (Section 4.3), a lower bound
    from similar data sets (4.4), and a cache of solved subproblems (4.5).

    Parameters
    ----------
    max_depth : int or None, default=4
        Maximum depth of the tree.  None for no limit.  Each further level multiplies the time by
        about the number of 0/1 columns.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  Above 1 the
        similarity bound does not hold and is not used, so the search takes longer.
    split_penalty : float or sequence of float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  Here that is misclassified weight
        (Eq. 19).  Where no deeper tree can cost less, because its splits alone cost as much, the
        report says "optimal at any depth"; a larger ``max_depth`` takes little more time then.  A
        sequence gives the cost of a split at depth 0, 1, ....
    objective : {"errors", "balanced-accuracy", "f1"}, default="errors"
        What is minimised: the misclassified weight, one minus the mean recall of the classes, or
        one minus the F1 score of ``classes_[1]``.  F1 takes a few searches over weighted rows, each
        for a tree of better F1 than the last (Dinkelbach, 1967), whereas the paper builds the
        Pareto front of the errors of both classes (Section 4.8.6); it needs integer sample weights.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    max_disparity : float, optional
        Maximum difference in the shares of rows predicted as ``classes_[1]`` between any two of
        the groups given to ``fit`` as ``protected``, rows counted with their weight; None for no
        limit.  Exact, by a search of its own; small values and more groups take more time.  The
        product of the groups' sizes is limited to about four million.
    disparity : {"demographic-parity", "equal-opportunity"}, default="demographic-parity"
        "demographic-parity" compares shares of all rows of a group, "equal-opportunity" shares of
        those of class ``classes_[1]`` only.
    binarizer : {"auto", "mdlp", "quantile", "all"}, transformer or None, default="auto"
        How features that are not 0/1 become 0/1 columns; not used when all features are 0/1.
        "auto" makes about 120, evenly and where the classes change
        (:class:`odtlib.binarize.AutoBinarizer`).
        "mdlp" cuts by entropy and class, and drops what pays only together; "quantile" cuts at
        quantiles, "all" between any two values, which can make thousands of columns.  None refuses
        other features.  A transformer is cloned and fitted.  The tree is optimal for the columns
        that it makes.  Categories of a data frame become columns too; see ``ordered_categories``
        of :class:`odtlib.binarize.MDLPBinarizer`.  A warning names what the columns leave out.
    search : MurTreeSearch or other search, optional
        Options of the search; None means ``MurTreeSearch()``.  The search as the paper prints it is
        ``odtbook.published.PaperSearch()``.
    start : {None, "cart", "local-search"}, DecisionTree or fitted estimator, default=None
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  A
        DecisionTree is one over the 0/1 columns; the thresholds of an estimator are moved to the
        nearest column.  Only better trees are searched for.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found so far is then returned (CART
        at worst).  Where the time does not suffice for the columns, the binariser leaves the last
        features uncut or makes evenly fewer columns, and no bound but zero is known.
    memory_limit : float, optional
        Memory limit in megabytes; None for no limit.  It limits the cache of solved subproblems;
        the result stays exact.  Not limited are the data and the arrays of the search, whose size
        grows with the square of the number of columns and with ``max_depth``.
    n_jobs : int, optional
        Number of threads; None means 1 and -1 all processors.  They share the splits of the root.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree, in the original features where columns are thresholds.
    report_ : SolveReport
        Status, errors, lower bound, counters and the anytime trace.
    binarizer_ : transformer or None
        What made the columns; None if the features were 0/1.
    classes_ : ndarray
        The labels, sorted.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of str
        Names of these features, where ``fit`` saw a data frame.

    Examples
    --------
    >>> from odtlib import MurTreeClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = MurTreeClassifier(max_depth=2).fit(X, ["no", "yes", "yes", "no"])
    >>> model.report_.objective
    0.0
    """

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "split_penalty": [Interval(Real, 0, None, closed="left"), "array-like"],
        "objective": [StrOptions({"errors", "balanced-accuracy", "f1"})],
        "max_disparity": [Interval(Real, 0, 1, closed="both"), None],
        "disparity": [StrOptions({"demographic-parity", "equal-opportunity"})],
        "binarizer": [StrOptions(set(BINARIZERS)), HasMethods(["fit", "transform"]), None],
        "search": [MurTreeSearch, HasMethods(["run_of", "warm_up"]), None],
    }

    def __init__(self, max_depth: int | None = 4, max_nodes: int | None = None, *,
                 max_leaf_nodes: int | None = None, min_samples_leaf: float = 1,
                 split_penalty: float | Sequence[float] = 0.0, objective: str = "errors",
                 class_weight: dict | str | None = None, max_disparity: float | None = None,
                 disparity: str = "demographic-parity",
                 binarizer: str | BaseEstimator | None = "auto",
                 search: object = None,
                 start: str | DecisionTree | BaseEstimator | None = None,
                 time_limit: float | None = None, memory_limit: float | None = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.split_penalty = split_penalty
        self.objective = objective
        self.class_weight = class_weight
        self.max_disparity = max_disparity
        self.disparity = disparity
        self.binarizer = binarizer
        self.search = search
        self.start = start
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None,
            protected: ArrayLike | None = None, costs: ArrayLike | None = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.  A missing value (NaN) goes to the better side of each test, which the
            search learns; where the fit saw none, to the side with more training weight.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        protected : array, shape (n_rows,), optional
            Group of each row; needed with ``max_disparity``, and otherwise not used.  The tree does
            not see it unless it is a feature too.
        costs : array, shape (n_rows, n_classes), optional
            Cost of predicting each of the labels, in their sorted order, for each row (default: 1
            for a wrong label).  Costs may be negative; the sum of those of the predicted labels,
            times the weights of the rows, is minimised.  ``y`` then only names the labels and
            guides the binariser.

        Returns
        -------
        self
            With ``tree_`` and ``report_``.

        Raises
        ------
        ValueError
            If the data or a parameter cannot be used; the message says what to do instead.
        """
        if (protected is not None) != (self.max_disparity is not None):
            raise ValueError("protected belongs together with max_disparity: give "
                             "MurTreeClassifier(max_disparity=...) and fit(..., protected=...).")
        self._fit(X, y, sample_weight, protected, costs)
        return self

    def _has_level_penalties(self):
        """Tell whether ``split_penalty`` is a sequence."""
        return getattr(self.split_penalty, "__len__", None) is not None

    def _warm_up(self, X, y, sample_weight, task=None, protected=None, costs=None, tolerance=None):
        seconds = warm_up_start(self.start)
        if task in ("good_trees", "optimal_trees"):
            seconds += warm_up_good_trees()
        if protected is not None or task == "pareto_front":
            return seconds + warm_up_fronts()
        if hasattr(self.search, "run_of"):
            return seconds + self.search.warm_up()
        weighted = (sample_weight is not None or costs is not None
                    or self.objective != "errors")
        whole = sample_weight is None or not (sample_weight % 1).any()
        closure = self.search is not None and self.search.cache == "closure"
        for kernel in possible_kernels(y, len(self.classes_), self.min_samples_leaf, weighted,
                                       whole):
            seconds += warm_up_search(kernel, closure and kernel != "weights")
        return seconds

    def _solve(self, X, y, sample_weight, task=None, protected=None, costs=None, tolerance=None):
        clock = Clock(self.time_limit)
        if self.max_disparity is not None and protected is None:
            raise ValueError(f"{task} cannot be combined with max_disparity; leave it at None.")
        columns = self._columns(X, y, sample_weight, clock)
        if task == "good_trees":
            columns = columns.copy()        # its trees are built later, when X may have changed
        run = extension_run(self, columns, y, sample_weight, clock, task, protected, costs,
                            tolerance)
        if run is not None:
            tree, report = run.run()
            answer = None if task is None else run.answer()
            return Outcome(self._in_features(tree), report, answer)
        search = MurTreeSearch() if self.search is None else self.search
        if self._has_level_penalties():
            self._check_level_penalties(search)
        data = (self, columns, y, sample_weight, clock, search)
        if costs is not None:
            return self._outcome(_CostRun(*data, costs))
        if self.objective == "f1":
            tree, report = _f1_tree(*data)
            return Outcome(self._in_features(tree), report, None)
        kind = _BalancedRun if self.objective == "balanced-accuracy" else _plain_run
        return self._outcome(kind(*data, path=task == "path"))

    def _check_level_penalties(self, search):
        """Refuse penalties per level that do not fit the depth, or the search."""
        if self.max_depth is None:
            raise ValueError("split_penalty per level needs a max_depth; give a number.")
        shape = np.shape(self.split_penalty)
        if shape != (self.max_depth,) or not np.all(np.asarray(self.split_penalty) >= 0):
            raise ValueError(f"split_penalty has shape {shape}; give one number, or one for each "
                             f"of the {self.max_depth} levels, none negative.")
        for name in ("lookahead", "discrepancy_search"):
            if getattr(search, name):
                raise ValueError(f"split_penalty per level cannot be combined with {name}; leave "
                                 "it at its default.")

    def pareto_front(self, X: ArrayLike, y: ArrayLike,
                     sample_weight: ArrayLike | None = None) -> list[FrontEntry]:
        """Find the trees that are best for some trade-off between the errors of two classes.

        No tree within the limits has fewer errors of one class and not more of the other than one
        of these (Section 4.8.6).  The estimator is fitted too: ``tree_`` is the tree with the least
        errors.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of two classes.
        sample_weight : array of whole numbers, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).

        Returns
        -------
        list of FrontEntry
            ``(errors, optimal, tree)`` with ``errors = (of class 0, of class 1)``, in increasing
            order of the errors of class 0.  With ``optimal=False`` a limit ended the search: the
            front is that of a smaller depth.
        """
        front = self._fit(X, y, sample_weight, task="pareto_front")
        return [FrontEntry(errors, optimal and self._has_all_columns, self._finished(tree))
                for errors, optimal, tree in front]

    def regularisation_path(self, X: ArrayLike, y: ArrayLike,
                            sample_weight: ArrayLike | None = None) -> list[RegularisedTree]:
        """Find the optimal tree for every ``split_penalty``, in one search.

        The trees are the lower convex hull of errors against feature nodes, from :meth:`path`
        (Section 4.8.3).  The estimator is fitted too, without a penalty.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).

        Returns
        -------
        list of RegularisedTree
            ``(low, high, errors, n_splits, optimal, tree)``, the largest penalty first: the tree
            minimises ``errors + split_penalty * n_splits`` for every penalty from ``low`` to
            ``high``.
        """
        if self._has_level_penalties() or self.split_penalty != 0:
            raise ValueError("regularisation_path goes through all penalties; leave split_penalty "
                             "at 0.")
        return regularised_trees(self.path(X, y, sample_weight))

    def optimal_trees(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
                      limit: int = 1000) -> OptimalTrees:
        """Count and list all trees of least objective: :meth:`good_trees` without a tolerance.

        Two trees differ if they are written differently: another column, another order, another
        class in a leaf where classes tie.  ``max_nodes`` keeps splits out that save nothing: give
        the ``n_splits`` of a fit with ``MurTreeSearch(minimise_nodes=True)`` for the smallest trees
        only.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        limit : int, default=1000
            Maximum number of trees that are listed; all are counted.

        Returns
        -------
        OptimalTrees
            ``(count, trees, errors, complete)``; with ``complete=False`` a limit ended the
            search and there may be more.
        """
        if limit < 1:
            raise ValueError(f"limit is {limit}; ask for at least one tree.")
        good = self._good_trees(X, y, sample_weight, "optimal_trees", 0.0)
        if good is None:
            return OptimalTrees(1, [self.tree_], self.report_.objective, False)
        return OptimalTrees(good.count, list(islice(good, min(int(limit), MOST))),
                            self.report_.objective, True)

    def good_trees(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
                   tolerance: float) -> GoodTrees:
        """Count all trees within a tolerance of the optimum, and give access to each of them.

        The set is also called the Rashomon set (Xin et al., 2022).  It has the trees within the
        limits whose errors, plus ``split_penalty`` for each feature node, exceed the least by
        ``tolerance`` at most.  A leaf predicts a class with the largest weight among its rows;
        where classes tie, each makes a tree.  Two trees differ if they are written differently.
        Splits that lead to two leaves of one class, and empty leaves, are not counted.  The
        estimator is fitted too: ``tree_`` is the first of the trees.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        tolerance : float
            How much more than the optimum a tree may cost, in the unit of ``report_.objective``.
            Time and memory grow with the subproblems that lie on good trees, not with the number
            of trees.

        Returns
        -------
        GoodTrees
            A sequence of trees in the order of their objective, with its ``count``.

        Raises
        ------
        TimeoutError
            If ``time_limit`` ended the count; ``tree_`` is then the best tree that was found.
        """
        if not 0 <= tolerance < np.inf:
            raise ValueError(f"tolerance is {tolerance}; give a number of at least 0, in the unit "
                             "of report_.objective.")
        good = self._good_trees(X, y, sample_weight, "good_trees", tolerance)
        if good is None:
            raise TimeoutError("good_trees was ended before all trees were counted; give a smaller "
                               "tolerance, a smaller max_depth, a larger split_penalty or more "
                               "time.")
        return good

    def _good_trees(self, X, y, sample_weight, task, tolerance):
        """Fit and count all trees within a tolerance; None where a limit ended the count."""
        good, over_columns = self._fit(X, y, sample_weight, task=task, tolerance=tolerance)
        if good is None or not self._has_all_columns:
            return None
        fitted = copy(self)                      # the trees stay those of this fit
        return good(lambda nested: fitted._finished(over_columns(nested)))


MAX_DISCREPANCIES = 16
FINISHING = 0.4         # seconds for the tree of a search that was cut short


class _Run:
    """One fit: the data, the start, the search, and the tree with its report."""

    def __init__(self, model, columns, y, sample_weight, clock, search, *, path=False,
                 counts=None, unit=1.0, shift=0.0, groups=None):
        self.model, self.options, self.columns, self.y = model, search, columns, y
        self.sample_weight, self.clock = sample_weight, clock
        self.depth, self.nodes = model._depth_within(len(y)), model._nodes(len(y))
        self.wants_path, self.smallest = path, 0 if path else self.nodes
        # The depth that is searched; less than the tree's with a look-ahead.
        self.horizon = min(self.depth, search.lookahead or self.depth)
        self.problem, self.solver = self.prepared(counts, groups)
        # The report says unit * cost + shift.
        self.unit, self.shift = unit * self.problem.unit, shift
        self.trace = []
        self.ended, self.bound = "optimal", -np.inf
        self.start, self.upper = None, np.inf        # a tree to begin with, and its cost
        self.predicted = None
        # As deep as any tree fits the node budget.
        self.safe_depth = min(self.depth, int(np.log2(self.nodes + 1)))
        if model.start is not None:
            self.begin_with(model._given_start())

    @property
    def n_classes(self):
        """The number of labels."""
        return len(self.model.classes_)

    def prepared(self, counts, groups=None):
        """Return the reduced problem and its solver."""
        model, search = self.model, self.options
        problem = prepare(self.columns, self.y, self.n_classes, self.sample_weight, counts=counts,
                          min_samples_leaf=model.min_samples_leaf, merge_rows=search.merge_rows,
                          merge_columns=search.merge_columns, clock=self.clock, groups=groups)
        return problem, Solver(
            problem, self.horizon, self.nodes, split_penalty=model.split_penalty,
            min_samples_leaf=model.min_samples_leaf, search=search,
            n_jobs=effective_n_jobs(model.n_jobs), memory_limit=model.memory_limit)

    def begin_with(self, start):
        """Take a start that respects all limits as the tree to beat."""
        if isinstance(start, str) and self.columns.shape[1] == 0:
            return                                   # every tree is one leaf
        depth = self.safe_depth if isinstance(start, str) else self.depth
        tree = self.started(start, depth, self.columns, self.y, self.sample_weight)
        if tree.n_splits > self.nodes:
            raise ValueError(f"start has {tree.n_splits} feature nodes and max_nodes is "
                             f"{self.nodes}; give a smaller tree or raise max_nodes.")
        self.set_incumbent(tree)

    def started(self, start, depth, columns, y, sample_weight):
        """Return the tree of a start, of a depth at most."""
        return starting_tree(start, columns.astype(np.float64), y, self.n_classes, sample_weight,
                             depth, self.model.min_samples_leaf, self.options.random_state,
                             self.clock.remaining)

    def set_incumbent(self, tree):
        """Make a tree the one to beat."""
        self.start, self.upper = tree, self.cost(tree) - self.problem.offset

    def cost(self, tree):
        """Return the objective of a tree that carries the class weights of the training rows."""
        leaves = np.flatnonzero(tree.feature < 0)
        right = tree.value[leaves, tree.label[leaves]]
        penalties = np.asarray(self.model.split_penalty, np.float64)
        spent = (penalties[tree.node_depth[tree.feature >= 0]].sum() if penalties.ndim
                 else penalties * tree.n_splits)
        return float((tree.value[leaves].sum(axis=1) - right).sum() + spent)

    def shown(self, cost):
        """Return a cost as the report says it."""
        return self.unit * cost + self.shift

    def record(self, event):
        """Note incumbent and bound, if one of them is new."""
        incumbent = min(self.solver.incumbent(), self.upper) + self.problem.offset
        bound = min(self.solver.bound() + self.problem.offset, incumbent)
        if not self.trace or self.trace[-1][1:3] != (incumbent, bound) or event != "search":
            self.note(incumbent, bound, event)

    def note(self, incumbent, bound, event):
        """Add a line to the trace, and print it where that is asked for."""
        self.trace.append((self.clock.elapsed, incumbent, bound, event))
        if self.model.verbose:
            incumbent, bound = self.shown(incumbent), self.shown(bound)
            print(f"MurTree {self.clock.elapsed:8.1f} s  incumbent {incumbent:g}  "
                  f"bound {bound:g}  gap {incumbent - bound:g}"
                  f"{'' if event == 'search' else '  ' + event}", flush=True)

    def predict_time(self):
        """Tell from the first slice of a search how long all of it may take, to a factor of five.

        Over the data sets of the paper the number of pairs of depth-two problems grows about as
        ``columns ** (depth - 2.5)``; what one takes is measured.
        """
        pairs = int(self.solver.counters[S.DEPTH_TWO_PAIRS]) - self.pairs_before
        columns = int(self.solver.state[0, S.N_ACTIVE])
        if self.predicted is None and pairs > 0 and columns > 0:
            expected = 1.5 * columns ** min(max(0.5, self.depth - 2.5), 50)
            self.predicted = (self.clock.elapsed - self.begun) * max(1.0, expected / pairs)
            self.record(f"predicted {self.predicted:.3g} s, within a factor of five")

    def watch(self, solver):
        """Note what the search knows after a slice."""
        if self.predicted is None:
            self.predict_time()
        self.record("search")

    def explore(self):
        """Look for good trees by limited discrepancy, the first choices first."""
        if self.nodes < 2 ** self.depth - 1:
            raise ValueError("discrepancy_search needs the full node budget; leave out max_nodes "
                             "and max_leaf_nodes, or use deepening.")
        until = Clock(self.clock.remaining / 2)
        for allowed in range(MAX_DISCREPANCIES + 1):
            found = self.solver.discrepancy_tree(self.depth, allowed, until)
            if found is None:
                break
            if found[0] < self.upper:
                value = found[0] + self.problem.offset
                self.set_incumbent(self.checked(found[1], value))
                self.trace.append((self.clock.elapsed, value, self.problem.offset,
                                   f"{allowed} discrepancies"))

    def look_ahead(self):
        """Grow a tree deeper than is searched; keep the end, bound and tree."""
        if self.nodes < min(2 ** self.depth, len(self.y)) - 1:
            raise ValueError("lookahead needs the full node budget; leave out max_nodes and "
                             "max_leaf_nodes, or give split_penalty for a smaller tree.")
        solver, offset = self.solver, self.problem.offset
        nested, first, self.ended = solver.lookahead_tree(self.depth, self.horizon, self.clock,
                                                          FINISHING)
        left = self.clock.remaining if self.ended == "heuristic" else 0.0
        self.finishing = Clock(max(FINISHING, left))
        self.bound = offset + solver.least
        if first is not None:       # a tree of more depth has at least so many splits
            self.bound = offset + min(first, solver.least
                                      + (self.horizon + 1) * solver.penalty)
        self.found = {self.nodes: self.checked(nested, np.inf)}
        for cost, event in ((first, f"depth {self.horizon}"),
                            (self.cost(self.found[self.nodes]) - offset, "look-ahead")):
            if cost is not None:
                cost = min(cost, self.upper) + offset
                self.note(cost, min(self.bound, cost), event)
        self.count()

    def count(self):
        """Keep what the search counted."""
        self.counters = {**self.problem.counters, **self.solver.counted(),
                         "cache_bytes": self.solver.space.table.nbytes}

    def search(self):
        """Run the search; keep its end, bound, and cost and tree for each node budget."""
        if self.horizon < self.depth:
            self.look_ahead()
            return
        solver = self.solver
        try:
            first = 3 if self.options.deepening and self.smallest == self.nodes else self.depth
            if self.options.discrepancy_search and self.smallest == self.nodes and self.depth > 3:
                self.explore()
            for depth in range(first, self.depth):       # anytime: the smaller problems first
                if solver.solve(depth, self.nodes, upper=self.upper, clock=self.clock) \
                        and solver.incumbent() < self.upper:
                    value = solver.incumbent() + self.problem.offset
                    self.set_incumbent(self.checked(solver.tree(depth), value))
                    self.trace.append((self.clock.elapsed, value,
                                       self.problem.offset, f"depth {depth}"))
            self.begun = self.clock.elapsed
            self.pairs_before = int(solver.counters[S.DEPTH_TWO_PAIRS])
            finished = solver.solve(
                self.depth, self.nodes, smallest=self.smallest, upper=self.upper,
                clock=self.clock, watch=self.watch)
            if not finished:
                self.ended = "time_limit"
        except KeyboardInterrupt:
            self.ended = "interrupted"
        self.bound = solver.bound() + self.problem.offset
        self.record("search")
        self.count()
        if self.predicted is not None:
            self.counters["predicted_seconds"] = self.predicted
        costs = [solver.incumbent(n) for n in range(self.smallest, self.nodes + 1)]
        # A budget that gains nothing takes the tree of the one below.
        budgets = [self.smallest + k for k, cost in enumerate(costs)
                   if np.isfinite(cost) and (k == 0 or cost < costs[k - 1])]
        claims = [costs[n - self.smallest] + self.problem.offset if self.ended == "optimal"
                  else np.inf for n in budgets]
        self.finishing = Clock(None if self.ended == "optimal" else FINISHING)
        self.found = {n: self.checked(nested, claim) for n, nested, claim in zip(
            budgets, solver.trees(self.depth, budgets, self.finishing), claims, strict=True)}
        if budgets:
            self.found[self.nodes] = self.found[budgets[-1]]

    def smaller(self, tree):
        """Return a tree of the same cost with the fewest feature nodes (Algorithm 7).

        With it, whether that is proved: a search that is cut short leaves the tree.
        """
        cost = self.cost(tree)
        value = cost - self.problem.offset
        if tree.n_splits == 0:
            return tree, True
        try:
            if not self.solver.solve(self.depth, tree.n_splits - 1, smallest=0, lower=value,
                                     upper=self.solver.just_above(value), clock=self.clock):
                return tree, False
        except KeyboardInterrupt:
            return tree, False
        found = [n for n in range(tree.n_splits) if np.isfinite(self.solver.incumbent(n))]
        for nested in self.solver.trees(self.depth, found):
            smaller = self.checked(nested, cost)
            if self.cost(smaller) <= cost + self.solver.slack:
                return smaller, True
        return tree, True

    def checked(self, nested, claim):
        """Turn the solver's nested tuples into a tree over the columns that costs as claimed."""
        tree = tree_over_columns(nested, self.columns, self.y, self.n_classes, self.sample_weight,
                                 self.problem.columns)
        if self.cost(tree) > claim + PROOF * self.problem.scale:
            raise RuntimeError(f"the tree has cost {self.cost(tree):g}, the search counted "
                               f"{claim:g}; please report this as a bug of odtlib.")
        return tree

    def finish(self):
        """Return the tree for the largest node budget and the report."""
        model = self.model
        fewest = ""
        trees = [self.found.get(self.nodes), self.start]
        if self.ended != "optimal":                 # never worse than CART
            rows = np.arange(len(self.problem.rows))
            trees += [self.checked(nested, np.inf) for nested in (
                self.solver.greedy_tree(self.safe_depth, self.finishing),
                self.solver._leaf(rows)[1])]
        tree = min((tree for tree in trees if tree is not None), key=self.cost)
        if self.ended == "optimal" and self.options.minimise_nodes and self.smallest == self.nodes:
            tree, proved = self.smaller(tree)
            fewest = ", with the fewest feature nodes" if proved else ""
        objective = self.shown(self.cost(tree))
        scale = self.unit * self.problem.scale + abs(self.shift)
        bound = self.shown(self.bound)
        if objective - bound <= ROUNDING * scale:
            bound = objective                    # they are sums of the same numbers
        # The splits of a deeper tree alone may cost as much.
        limits = model._limits(len(self.y), any_depth=(
            self.nodes == 2 ** self.depth - 1 and self.solver.penalty > 0
            and np.ndim(model.split_penalty) == 0
            and self.cost(tree) <= (self.problem.offset + self.solver.least
                                    + (self.depth + 1) * self.solver.penalty)))
        if np.any(model.split_penalty):
            limits += (", split penalties per level" if np.ndim(model.split_penalty)
                       else f", split penalty {model.split_penalty:g}")
        report = SolveReport(
            self.ended, objective, bound, self.clock.elapsed, start=model._start_word(),
            counters=self.counters, scale=scale,
            trace=[(seconds, self.shown(incumbent), self.shown(bound), event)
                   for seconds, incumbent, bound, event in self.trace],
            proof=f"optimal for {pluralised(self.columns.shape[1], 'predicate')} at "
                  f"{limits}{fewest}")
        return tree, report

    def path(self, tree, report):
        """Return ``(nodes, cost, tree)`` for every node budget."""
        leaf = {} if 0 in self.found else {
            0: self.checked(self.solver._leaf(np.arange(len(self.problem.rows)))[1], np.inf)}
        trees = {**leaf, **self.found, self.nodes: tree}
        best, least, entries = None, np.inf, []
        for nodes in range(self.nodes + 1):
            if nodes in trees and (cost := self.cost(trees[nodes])) < least - self.solver.slack:
                best, least = trees[nodes], cost
            entries.append((nodes, self.shown(least), best))
        return entries


def _plain_run(model, columns, y, sample_weight, clock, search, *, path):
    """Return the run for the errors; of equal rows with equal labels one, where they are many."""
    data, groups, few = (clock, search), None, None
    if model.min_samples_leaf == 1 and search.merge_rows and not clock.expired:
        if len(y) >= MANY_ROWS:
            groups = grouped_rows(columns)
        if not np.any(model.split_penalty):
            few = equal_rows(y, len(model.classes_), sample_weight, groups)
    if few is None:
        return _Run(model, columns, y, sample_weight, *data, path=path, groups=groups)
    kept, weight, unit = few
    return _FewRowsRun(model, columns[kept], y[kept], weight, *data, path=path, unit=unit)


class _FewRowsRun(_Run):
    """One fit to rows that stand for several, of whole weights in a unit."""

    def __init__(self, model, columns, y, weight, clock, search, *, path, unit):
        self.compile_seconds = warm_up_search("weights") \
            if weight.sum() > MAX_COPIES * len(y) + 1024 else 0.0
        clock.start += self.compile_seconds
        super().__init__(model, columns, y, None if (weight == 1).all() else weight, clock, search,
                         path=path, unit=unit)

    def finish(self):
        """Return tree and report; the tree with the given weights."""
        self.scaled, report = super().finish()
        report.compile_seconds = self.compile_seconds
        return self.as_given(self.scaled), report

    def path(self, tree, report):
        """Return ``(nodes, cost, tree)`` for every node budget."""
        return [(nodes, cost, self.as_given(best))
                for nodes, cost, best in super().path(self.scaled, report)]

    def as_given(self, tree):
        """Return a tree with the given weights."""
        return tree.replace(value=self.unit * tree.value)


class _BalancedRun(_Run):
    """One fit for balanced accuracy: rows weigh as much as makes all classes equal."""

    def __init__(self, model, columns, y, sample_weight, clock, search, *, path):
        if np.any(model.split_penalty):
            raise ValueError("objective='balanced-accuracy' cannot be combined with split_penalty; "
                             "limit max_nodes instead.")
        self.given = np.ones(len(y)) if sample_weight is None else sample_weight
        totals = np.bincount(y, weights=self.given)
        present = totals[totals > 0]
        scale = float(len(y))
        if np.all(present == np.floor(present)):        # whole numbers keep the search exact
            common = lcm(*map(int, present))
            scale = float(common) if common * len(present) < 2 ** 50 else scale
        factor = scale / np.where(totals > 0, totals, 1.0)
        super().__init__(model, columns, y, self.given * factor[y], clock, search, path=path,
                         unit=1.0 / (scale * len(present)))

    def finish(self):
        """Return tree and report; the tree with the given weights."""
        self.scaled, report = super().finish()
        if report.proof:
            report.proof += ", balanced accuracy"
        return self.as_given(self.scaled), report

    def path(self, tree, report):
        """Return ``(nodes, cost, tree)`` for every node budget."""
        return [(nodes, cost, self.as_given(best))
                for nodes, cost, best in super().path(self.scaled, report)]

    def as_given(self, tree):
        """Return a tree with the given weights in place of the balanced ones."""
        return tree.with_counts(self.columns, self.y, self.n_classes, self.given, relabel=False)


def _f1_tree(model, columns, y, sample_weight, clock, search):
    """Return the tree of best F1 and its report, by searches over weighted rows.

    With e0 and e1 errors of the classes and P rows of class 1, one minus F1 is (e0 + e1) /
    (2 P - e1 + e0).  It is below a / b exactly where (b - a) e0 + (b + a) e1 < 2 P a: a cost of
    weighted rows, in whole numbers.  A search that finds no such tree proves a / b.
    """
    if len(model.classes_) != 2:
        raise ValueError(f"objective='f1' needs two classes and y has {len(model.classes_)}; "
                         "choose another objective.")
    if np.any(model.split_penalty):
        raise ValueError("objective='f1' cannot be combined with split_penalty; limit max_nodes "
                         "instead.")
    given = np.ones(len(y)) if sample_weight is None else sample_weight
    if np.any(given != np.floor(given)):
        raise ValueError("objective='f1' needs whole sample weights, as errors are counted; round "
                         "them or multiply them by a constant.")
    if given.sum() ** 2 >= 2 ** 51:
        raise ValueError(f"the weights sum to {given.sum():g}, and F1 is exact for at most 4e7; "
                         "use fewer rows or smaller weights.")
    positives = int(given[y == 1].sum())

    def loss_of(tree):
        errors_0, errors_1 = map(int, errors_by_class(tree, columns, y, given))
        a, b = errors_0 + errors_1, 2 * positives - errors_1 + errors_0
        return (a, b) if positives else (1, 1)      # without a positive row F1 is zero

    def as_given(tree):
        return tree.with_counts(columns, y, 2, given, relabel=False)

    leaves = [as_given(DecisionTree.from_nested(label, n_classes=2, n_features=columns.shape[1]))
              for label in range(2)]
    best = min(leaves, key=lambda tree: loss_of(tree)[0] / loss_of(tree)[1])
    a, b = loss_of(best)
    ended, bound, counters, rounds, trace = "optimal", 0.0, {}, 0, []
    trace.append((clock.elapsed, a / b, bound, "one leaf"))
    while 0 < a < b:
        common = gcd(a, b)
        a, b = a // common, b // common
        weight = given * np.where(y == 1, b + a, b - a)
        try:
            run = _Run(model, columns, y, weight, clock, search)
            beaten = best.with_counts(columns, y, 2, weight, relabel=False)
            if run.cost(beaten) - run.problem.offset < run.upper:
                run.set_incumbent(beaten)
            run.search()
            tree, report = run.finish()
        except KeyboardInterrupt:
            ended = "interrupted"
            break
        rounds += 1
        for name, count in run.counters.items():
            counters[name] = counters.get(name, 0) + count
        tree, ended = as_given(tree), report.status
        # for every tree a' b - a b' is at least this, and b' at least the rows of class 1
        lead = report.lower_bound - 2 * positives * a
        if np.isfinite(lead):
            bound = max(bound, a / b + min(0.0, lead) / (b * positives))
        found = loss_of(tree)
        better = found[0] * b < a * found[1]
        if better or found[0] * b == a * found[1]:  # as good, perhaps with fewer feature nodes
            best = tree
        if better:
            a, b = found
            trace.append((clock.elapsed, a / b, min(bound, a / b), f"search {rounds}"))
        if ended not in ("optimal", "heuristic") or not better:
            break
    objective = a / b
    if ended == "optimal":
        bound = objective
    return best.pruned(), SolveReport(
        ended, objective, bound, clock.elapsed, start=model._start_word(),
        counters={**counters, "searches": rounds}, trace=trace, scale=1.0,
        proof=f"optimal for {pluralised(columns.shape[1], 'predicate')} at "
              f"{model._limits(len(y))}, F1")


class _CostRun(_Run):
    """One fit to costs, as errors of weighted rows.

    A row with costs c stands for a row of each label k, of weight max(c) - c[k].  To predict k is
    then wrong by the weights of the other labels: c[k] plus a number that no tree changes.
    """

    def __init__(self, model, columns, y, sample_weight, clock, search, costs):
        if costs.shape[1] != len(model.classes_):
            raise ValueError(f"costs has {costs.shape[1]} columns and y has "
                             f"{len(model.classes_)} labels; give one column per label.")
        if model.objective != "errors":
            raise ValueError(f"objective={model.objective!r} cannot be combined with costs; leave "
                             "it at 'errors'.")
        self.given, self.costs = (columns, y, sample_weight), costs
        if sample_weight is not None:
            costs = costs * sample_weight[:, None]
        most = costs.max(axis=1)
        saved = most[:, None] - costs
        equal = ~saved.any(axis=1)
        # each row is a sample of its leaf, in the unit of the costs
        saved[equal] = saved.max() or np.abs(costs).max() or 1.0
        if saved.max() > LARGEST:
            raise ValueError(f"costs, times weights, differ by up to {saved.max():g} in a row; "
                             f"divide them by a number so that none exceeds {LARGEST:g}.")
        self.saved = saved
        shift = float((most - saved.sum(axis=1)).sum() + saved[equal, 0].sum())
        row, label = np.nonzero(saved)
        super().__init__(model, columns[row], label, saved[row, label], clock, search,
                         counts=np.diff(row, prepend=-1) > 0, shift=shift)

    def started(self, start, depth, columns, y, sample_weight):
        """Return the tree of a start: grown for the label that saves most, or as given."""
        tree = super().started(start, depth, self.given[0], self.saved.argmax(axis=1),
                               self.saved.max(axis=1))
        return tree.with_counts(columns, y, self.n_classes, sample_weight)

    def finish(self):
        """Return tree and report; the tree with the weights of the given labels."""
        tree, report = super().finish()
        if report.proof:
            report.proof += ", costs of rows"
        columns, y, weight = self.given
        return tree.with_counts(columns, y, self.n_classes, weight, relabel=False), report
