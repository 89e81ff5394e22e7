"""The public estimator: optimal classification trees by the MurTree algorithm."""

from __future__ import annotations

from functools import partial
from math import lcm
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from odtlib._tolerance import PROOF, ROUNDING
from odtlib.estimator import BINARIZERS, TreeClassifier
from odtlib.heuristics import starting_tree, warm_up_start
from odtlib.report import Clock, SolveReport, default_objective, these
from odtlib.tree import LEAF, DecisionTree

from . import _search as S
from .columns import OverColumns
from .fronts import warm_up_fronts
from .preparation import possible_kernels, prepare
from .questions import Questions, other_run
from .solver import CACHES, CHILD_ORDERS, FEATURE_ORDERS, Solver, warm_up_search


def _penalised_errors(tree, X, y, sample_weight=None, *, penalty):
    return default_objective(tree, X, y, sample_weight) + penalty * tree.n_splits


class MurTreeClassifier(Questions, OverColumns, TreeClassifier):
    """Classification tree with the fewest training errors within limits on depth and size.

    The search of Demirović et al. (2022): dynamic programming over depth and node budget (Eq. 1),
    a specialised algorithm for depth two on pairwise frequency counts (Section 4.3), a lower bound
    from similar data sets (4.4), and a cache of solved subproblems (4.5).

    Parameters
    ----------
    max_depth : int, default=4
        Most tests on a path.  Each further level multiplies the time by about the number of 0/1
        columns.
    max_nodes : int, optional
        Most feature nodes (default: ``2 ** max_depth - 1``, a full tree).
    max_leaf_nodes : int, optional
        Most leaves: the same limit said in leaves, one more than feature nodes.
    min_samples_leaf : int, default=1
        Fewest rows in a leaf.  Above 1 the similarity bound does not hold and is not used, so the
        search takes longer.
    sparsity : float or sequence of float, default=0.0
        Cost of a feature node in units of misclassified weight (Eq. 19).  A split is made only if
        it saves more; large values give small trees, sooner.  A sequence gives the cost of a
        feature node at depth 0, 1, ...: a slower search without similarity bound.
    minimise_nodes : bool, default=False
        Whether, among the trees of least cost, one with the fewest feature nodes is found
        (Algorithm 7).  One more search in the filled cache.
    objective : {"errors", "balanced-accuracy", "f1"}, default="errors"
        What is minimised: the misclassified weight, one minus the mean recall of the classes, or
        one minus the F1 score of ``classes_[1]``.  F1 needs the whole Pareto front of the errors of
        both classes (Section 4.8.6) and much more time, seconds to a minute at depth 4; of the
        parameters below only the binariser and the limits then count.
    max_disparity : float, optional
        Fairness: the share of rows predicted ``classes_[1]`` may differ by at most so much between
        the two groups given to ``fit`` as ``protected``.  The fewest errors under that condition,
        exactly; small values take more time, and the same parameters count as for F1.
    binarizer : {"mdlp", "quantile", "all"}, transformer or None, default="mdlp"
        How features that are not 0/1 become 0/1 columns; not used when all features are 0/1.
        "mdlp" cuts by entropy and class, "quantile" at quantiles, "all" between any two values,
        which can make thousands of columns.  None refuses other features.  A transformer is cloned
        and fitted.  The tree is optimal for the columns that it makes.
    cache : {"dataset", "branch", "closure"} or None, default="dataset"
        What a solved subproblem is remembered by (Section 4.5): its rows, the tests on the path to
        it, or all tests that its rows share.  "branch" recognises fewer equal subproblems,
        "closure" costs more time each, and works on counts only: with weights it needs whole
        numbers of about the number of rows in all, and ``min_samples_leaf=1``.  Without a cache
        equal subproblems are solved again.
    similarity_bound : bool or "siblings", default=True
        Whether subproblems are bounded by similar ones (Proposition 9).  "siblings": by the
        children of other splits of the same node only.  With True also by the children of the
        nodes that other splits of its parent led to, which is not in the paper: child ``i, j`` by
        ``j, i`` and by ``k, j``, less the rows that only the other has.
    similarity_probes : int, default=2
        For the first so many splits of a node the larger child is solved to its optimum, where a
        bound just above the best tree would do: its similarity bound then closes more of the other
        splits.  0 switches it off: with "siblings" up to thirty times slower where many
        columns are similar.
    refined_bound : bool, default=True
        Whether a failed search leaves the refined bound of Eq. 17, or only that of DL8.5.
    infer_bounds : bool, default=False
        Whether the bound of a tree with more feature nodes is looked up for one with fewer
        (Proposition 11); of use with node budgets only.
    reuse_smaller : bool, default=False
        Whether an optimum that needs fewer feature nodes than allowed is entered for the budgets
        in between too (Proposition 10); of use with node budgets only.
    incremental_counts : bool, default=True
        Whether the larger child of a split is counted by subtraction, in the spirit of Section
        4.3.3.  With False both are counted from scratch.
    specialised_depth_two : bool, default=True
        Whether trees of depth two are solved on pairwise counts (Section 4.3).  With False the
        general search goes down to depth one: many times slower.
    feature_order : {"depth-two", "in-order", "gini", "random"}, default="depth-two"
        Which split is tried first: the one with the best depth-two tree, the first column, the
        purest sides, or any.
    child_order : {"dynamic", "post-order", "gap"}, default="dynamic"
        Which child is solved first: the one with more errors as a leaf, child 0, or the one with
        the larger gap between leaf and bound (Section 4.6).
    merge_rows : bool, default=True
        Whether equal rows that show every class are cancelled against each other beforehand.
    merge_columns : bool, default=True
        Whether, at every node, one of several columns that split its rows alike is enough.
    deepening : bool, default=False
        Whether the best trees of depth 3, 4 ... are found first (Section 4.8.5): good trees
        earlier when a deep search is cut short, for some more time in all.
    discrepancy_search : bool, default=False
        Whether trees are first looked for that follow the most promising splits but for 0, 1, 2 ...
        times above depth three (limited discrepancy): like ``deepening`` for trees of any depth,
        with the full node budget only.  Takes at most half of the time limit.
    start : {None, "cart", "local-search"}, DecisionTree or fitted estimator, default=None
        Warm start: a DecisionTree over the 0/1 columns, or an estimator over the features, whose
        thresholds are taken to the nearest column; only better trees are searched for.
    time_limit : float, optional
        Seconds after which the best tree so far comes back (CART at worst).  Where they do not
        suffice for the columns, the binariser leaves the last features uncut, and the bound is one
        for the columns that there are.
    memory_limit : float, optional
        Megabytes that the cache of solved subproblems may take; the result stays exact, the search
        may take longer.  Not limited are the data and the arrays of the search, whose size grows
        with the square of the number of columns and with ``max_depth``.
    n_jobs : int, optional
        Threads that share the splits of the root and the cache (default: one; -1: one for each
        core).  The optimum and the tree stay the same.
    random_state : int or RandomState, optional
        Seed of ``feature_order="random"`` and of the start.
    verbose : int, default=0
        1 prints incumbent, bound and gap while the search runs.

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
        As in scikit-learn.
    feature_names_in_ : ndarray of str
        As in scikit-learn.

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
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "sparsity": [Interval(Real, 0, None, closed="left"), "array-like"],
        "minimise_nodes": ["boolean"],
        "objective": [StrOptions({"errors", "balanced-accuracy", "f1"})],
        "max_disparity": [Interval(Real, 0, 1, closed="both"), None],
        "binarizer": [StrOptions(set(BINARIZERS)), HasMethods(["fit", "transform"]), None],
        "cache": [StrOptions({name for name in CACHES if name}), None],
        "similarity_bound": ["boolean", StrOptions({"siblings"})],
        "similarity_probes": [Interval(Integral, 0, None, closed="left")],
        "refined_bound": ["boolean"],
        "infer_bounds": ["boolean"],
        "reuse_smaller": ["boolean"],
        "incremental_counts": ["boolean"],
        "specialised_depth_two": ["boolean"],
        "feature_order": [StrOptions(set(FEATURE_ORDERS))],
        "child_order": [StrOptions(set(CHILD_ORDERS))],
        "merge_rows": ["boolean"],
        "merge_columns": ["boolean"],
        "deepening": ["boolean"],
        "discrepancy_search": ["boolean"],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
    }

    def __init__(self, max_depth=4, max_nodes=None, *, max_leaf_nodes=None, min_samples_leaf=1,
                 sparsity=0.0, minimise_nodes=False, objective="errors", max_disparity=None,
                 binarizer="mdlp", cache="dataset", similarity_bound=True, similarity_probes=2,
                 refined_bound=True, infer_bounds=False, reuse_smaller=False,
                 incremental_counts=True, specialised_depth_two=True, feature_order="depth-two",
                 child_order="dynamic", merge_rows=True, merge_columns=True, deepening=False,
                 discrepancy_search=False, start=None, time_limit=None, memory_limit=None,
                 n_jobs=None, random_state=None, verbose=0):
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.sparsity = sparsity
        self.minimise_nodes = minimise_nodes
        self.objective = objective
        self.max_disparity = max_disparity
        self.binarizer = binarizer
        self.cache = cache
        self.similarity_bound = similarity_bound
        self.similarity_probes = similarity_probes
        self.refined_bound = refined_bound
        self.infer_bounds = infer_bounds
        self.reuse_smaller = reuse_smaller
        self.incremental_counts = incremental_counts
        self.specialised_depth_two = specialised_depth_two
        self.feature_order = feature_order
        self.child_order = child_order
        self.merge_rows = merge_rows
        self.merge_columns = merge_columns
        self.deepening = deepening
        self.discrepancy_search = discrepancy_search
        self.start = start
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def dl85(cls, max_depth=4, **options):
        """Return the estimator set up like DL8.5 (Aglin et al., 2020), a baseline of the paper.

        Subproblems are branches, children are solved in a fixed order, columns are tried as they
        come, only the bound of DL8.5 is used, and depth two is nothing special.

        Parameters
        ----------
        max_depth : int, default=4
            Most tests on a path.
        **options
            Further parameters of the estimator; they win over those set here.

        Returns
        -------
        MurTreeClassifier
        """
        settings = {"cache": "branch", "similarity_bound": False, "refined_bound": False,
                    "incremental_counts": False, "specialised_depth_two": False,
                    "feature_order": "in-order", "child_order": "post-order",
                    "merge_rows": False, "merge_columns": False}
        return cls(max_depth, **{**settings, **options})

    def _solver(self, problem, depth, nodes):
        """Return a solver for trees of such a depth and so many feature nodes."""
        return Solver(
            problem, depth, nodes, penalty=self.sparsity,
            min_samples_leaf=self.min_samples_leaf, similarity=bool(self.similarity_bound),
            relatives=self.similarity_bound != "siblings", cache=self.cache,
            feature_order=self.feature_order, child_order=self.child_order,
            refine_bounds=self.refined_bound, infer_bounds=self.infer_bounds,
            probes=self.similarity_probes, store_smaller=self.reuse_smaller,
            n_jobs=effective_n_jobs(self.n_jobs), merge_columns=self.merge_columns,
            specialised=self.specialised_depth_two, incremental=self.incremental_counts,
            share_sizes=self.minimise_nodes, memory_limit=self.memory_limit,
            random_state=self.random_state)

    def fit(self, X, y, sample_weight=None, protected=None):
        """Fit the tree.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows, without missing values.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        protected : array, shape (n_rows,), optional
            Two distinct values that tell two groups apart; needed with ``max_disparity``, and of no
            use without.  The tree does not see it unless it is a feature too.

        Returns
        -------
        self
            With ``tree_`` and ``report_``.

        Raises
        ------
        ValueError
            If the data or a parameter cannot be used; the message says what to do instead.
        """
        if (protected is None) != (self.max_disparity is None):
            raise ValueError("max_disparity and protected belong together: give "
                             "MurTreeClassifier(max_disparity=...) and fit(..., protected=...).")
        if protected is not None:
            protected = column_or_1d(protected)
            check_consistent_length(y, protected)
            if sample_weight is not None:      # as of X and y, without the rows of weight zero
                protected = protected[_check_sample_weight(sample_weight, protected) > 0]
        self._protected = protected
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._protected

    def _warm_up(self, X, y, sample_weight):
        seconds = warm_up_start(self.start)
        if (self.max_disparity is not None or self.objective == "f1"
                or self._question == "front"):
            return seconds + warm_up_fronts()
        weighted = sample_weight is not None or self.objective == "balanced-accuracy"
        whole = sample_weight is None or not (sample_weight % 1).any()
        for kernel in possible_kernels(y, len(self.classes_), self.min_samples_leaf, weighted,
                                       whole):
            seconds += warm_up_search(kernel, self.cache == "closure" and kernel != "weights")
        return seconds

    def _solve(self, X, y, sample_weight):
        clock = Clock(self.time_limit)
        columns = self._columns(X, y, sample_weight, clock)
        data = (self, columns, y, sample_weight, clock)
        run = other_run(*data, self._protected)
        if run is not None:
            tree, report = run.run()
            if self._question is not None:
                self._answer = run.answer()
            return self._in_features(tree), report
        every = self._question == "path"
        kind = _BalancedRun if self.objective == "balanced-accuracy" else _Run
        run = kind(*data, smallest=0 if every else None)
        run.search()
        tree, report = run.finish()
        if every:
            self._answer = run.path(tree, report)
        return self._in_features(tree), report


MOST_DISCREPANCIES = 16
FINISHING = 0.4         # seconds for the tree of a search that was cut short


class _Run:
    """One fit: the data, the start, the search, and the tree with its report."""

    unit = 1.0      # what a cost of one stands for in the report

    def __init__(self, model, columns, y, sample_weight, clock, smallest=None):
        self.model, self.columns, self.y = model, columns, y
        self.n_classes, self.sample_weight, self.clock = len(model.classes_), sample_weight, clock
        self.depth, self.nodes = model._depth_within(len(y)), model._nodes(len(y))
        self.smallest = self.nodes if smallest is None else smallest
        self.problem = prepare(columns, y, self.n_classes, sample_weight,
                               min_samples_leaf=model.min_samples_leaf,
                               merge_rows=model.merge_rows, merge_columns=model.merge_columns,
                               clock=clock)
        self.solver = model._solver(self.problem, self.depth, self.nodes)
        self.trace = []
        self.status, self.bound = "optimal", -np.inf
        self.start, self.upper = None, np.inf        # a tree to begin with, and its cost
        self.predicted = None
        # As deep as any tree fits the node budget.
        self.safe_depth = min(self.depth, int(np.log2(self.nodes + 1)))
        if model.start is not None and smallest is None:
            self.begin_with(model._given_start())

    def begin_with(self, start):
        """Take a start that respects all limits as the tree to beat."""
        if isinstance(start, str) and self.columns.shape[1] == 0:
            return                                   # every tree is one leaf
        depth = self.safe_depth if isinstance(start, str) else self.depth
        tree = starting_tree(start, self.columns.astype(np.float64), self.y, self.n_classes,
                             self.sample_weight, depth, self.model.min_samples_leaf,
                             self.model.random_state, self.clock.remaining)
        if tree.n_splits > self.nodes:
            raise ValueError(f"start has {tree.n_splits} feature nodes and max_nodes is "
                             f"{self.nodes}; give a smaller tree or raise max_nodes.")
        self.take(tree)

    def take(self, tree):
        """Make a tree the one to beat."""
        self.start, self.upper = tree, self.cost(tree) - self.problem.offset

    def cost(self, tree):
        """Return the objective of a tree that carries the class weights of the training rows."""
        leaves = np.flatnonzero(tree.feature < 0)
        right = tree.value[leaves, tree.label[leaves]]
        return float((tree.value[leaves].sum(axis=1) - right).sum()
                     + self.model.sparsity * tree.n_splits)

    def record(self, event):
        """Note incumbent and bound, if one of them is new."""
        incumbent = min(self.solver.incumbent(), self.upper) + self.problem.offset
        bound = min(self.solver.bound() + self.problem.offset, incumbent)
        if not self.trace or self.trace[-1][1:3] != (incumbent, bound) or event != "search":
            self.trace.append((self.clock.elapsed, incumbent,
                               bound, event))
            if self.model.verbose:
                incumbent, bound = self.unit * incumbent, self.unit * bound
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
            expected = 1.5 * columns ** max(0.5, self.depth - 2.5)
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
        for allowed in range(MOST_DISCREPANCIES + 1):
            found = self.solver.discrepancy_tree(self.depth, allowed, until)
            if found is None:
                break
            if found[0] < self.upper:
                value = found[0] + self.problem.offset
                self.take(self.checked(found[1], value))
                self.trace.append((self.clock.elapsed, value, self.problem.offset,
                                   f"{allowed} discrepancies"))

    def search(self):
        """Run the search; keep status, bound, and cost and tree for each node budget."""
        solver = self.solver
        try:
            first = 3 if self.model.deepening and self.smallest == self.nodes else self.depth
            if self.model.discrepancy_search and self.smallest == self.nodes and self.depth > 3:
                self.explore()
            for depth in range(first, self.depth):       # anytime: the smaller problems first
                if solver.solve(depth, self.nodes, upper=self.upper, clock=self.clock) \
                        and solver.incumbent() < self.upper:
                    value = solver.incumbent() + self.problem.offset
                    self.take(self.checked(solver.tree(depth), value))
                    self.trace.append((self.clock.elapsed, value,
                                       self.problem.offset, f"depth {depth}"))
            self.begun = self.clock.elapsed
            self.pairs_before = int(solver.counters[S.DEPTH_TWO_PAIRS])
            finished = solver.solve(
                self.depth, self.nodes, smallest=self.smallest, upper=self.upper,
                clock=self.clock, watch=self.watch)
            if not finished:
                self.status = "time_limit"
        except KeyboardInterrupt:
            self.status = "interrupted"
        self.bound = solver.bound() + self.problem.offset
        self.record(self.status)
        self.counters = {**self.problem.counters, **solver.counted(),
                         "cache_bytes": solver.space.table.nbytes}
        if self.predicted is not None:
            self.counters["predicted_seconds"] = self.predicted
        costs = [solver.incumbent(n) for n in range(self.smallest, self.nodes + 1)]
        # A budget that gains nothing takes the tree of the one below.
        budgets = [self.smallest + k for k, cost in enumerate(costs)
                   if np.isfinite(cost) and (k == 0 or cost < costs[k - 1])]
        claims = [costs[n - self.smallest] + self.problem.offset if self.status == "optimal"
                  else np.inf for n in budgets]
        self.finishing = Clock(None if self.status == "optimal" else FINISHING)
        self.found = {n: self.checked(nested, claim) for n, nested, claim in zip(
            budgets, solver.trees(self.depth, budgets, self.finishing), claims, strict=True)}
        if budgets:
            self.found[self.nodes] = self.found[budgets[-1]]

    def smaller(self, tree):
        """Return a tree of the same cost with the fewest feature nodes (Algorithm 7).

        A search that is cut short leaves the tree, and costs the report its proof.
        """
        cost = self.cost(tree)
        value = cost - self.problem.offset
        if tree.n_splits == 0:
            return tree
        try:
            if not self.solver.solve(self.depth, tree.n_splits - 1, smallest=0, lower=value,
                                     upper=self.solver.just_above(value), clock=self.clock):
                self.status = "time_limit"
                return tree
        except KeyboardInterrupt:
            self.status = "interrupted"
            return tree
        found = [n for n in range(tree.n_splits) if np.isfinite(self.solver.incumbent(n))]
        for nested in self.solver.trees(self.depth, found):
            smaller = self.checked(nested, cost)
            if self.cost(smaller) <= cost + self.solver.slack:
                return smaller
        return tree

    def checked(self, nested, claim):
        """Turn the solver's nested tuples into a tree over the columns that costs as claimed."""
        feature, left, right = [], [], []            # a leaf leads to itself

        def add(part):
            index = len(feature)
            for nodes, value in ((feature, LEAF), (left, index), (right, index)):
                nodes.append(value)
            if not isinstance(part, tuple):
                return index, 0
            feature[index] = int(self.problem.columns[part[0]])
            left[index], depth_0 = add(part[1])
            right[index], depth_1 = add(part[2])
            return index, 1 + max(depth_0, depth_1)

        _, depth = add(nested)
        tested, zero, one = np.array(feature), np.array(left), np.array(right)
        rows, at = np.arange(len(self.y)), np.zeros(len(self.y), np.int64)
        for _ in range(depth):
            at = np.where(self.columns[rows, tested[at]] == 1, one[at], zero[at])
        value = np.bincount(at * self.n_classes + self.y, self.sample_weight,
                            len(feature) * self.n_classes).reshape(len(feature), -1)
        value = value.astype(np.float64)
        for index in np.flatnonzero(tested >= 0)[::-1]:
            value[index] = value[left[index]] + value[right[index]]
        tree = DecisionTree(tested, np.full(len(feature), 0.5), zero, one, value,
                            n_features=self.columns.shape[1]).pruned()
        if self.cost(tree) > claim + PROOF * self.problem.scale:
            raise RuntimeError(f"the tree has cost {self.cost(tree):g}, the search counted "
                               f"{claim:g}; please report this as a bug of odtlib.")
        return tree

    def finish(self):
        """Return the tree for the largest node budget and the report."""
        model = self.model
        fewest = ""
        trees = [self.found.get(self.nodes), self.start]
        if self.status != "optimal":                 # never worse than CART
            rows = np.arange(len(self.problem.rows))
            trees += [self.checked(nested, np.inf) for nested in (
                self.solver.greedy_tree(self.safe_depth, self.finishing),
                self.solver._leaf(rows)[1])]
        tree = min((tree for tree in trees if tree is not None), key=self.cost)
        if self.status == "optimal" and model.minimise_nodes and self.smallest == self.nodes:
            tree = self.smaller(tree)
            fewest = ", with the fewest feature nodes"
        objective, scale = self.unit * self.cost(tree), self.unit * self.problem.scale
        bound = min(self.unit * self.bound, objective)
        if self.status == "optimal" and objective - bound <= ROUNDING * scale:
            bound = objective                    # they are sums of the same numbers
        limits = f"depth {model.max_depth}"
        if self.nodes < 2 ** self.depth - 1:
            limits += f" and {self.nodes} feature nodes"
        if model.min_samples_leaf > 1:
            limits += f", {model.min_samples_leaf} rows a leaf"
        if model.sparsity:
            limits += f", sparsity {model.sparsity:g}"
        report = SolveReport(
            self.status, objective, bound, self.clock.elapsed, start=model._start_word(),
            counters=self.counters, scale=scale,
            trace=[(seconds, self.unit * incumbent, self.unit * bound, event)
                   for seconds, incumbent, bound, event in self.trace],
            proof=f"optimal for {these(self.columns.shape[1], 'predicate')} at {limits}{fewest}"
            if self.status == "optimal" else "",
            evaluate=self.evaluate())
        return tree, report

    def evaluate(self):
        """Return the function that recomputes the objective from a tree."""
        return partial(_penalised_errors, penalty=self.model.sparsity)

    def path(self, tree, report):
        """Return ``(nodes, cost, tree)`` for every node budget."""
        trees = {**self.found, self.nodes: tree}
        best, least, entries = None, np.inf, []
        for nodes in range(self.nodes + 1):
            if nodes in trees and (cost := self.cost(trees[nodes])) < least - self.solver.slack:
                best, least = trees[nodes], cost
            entries.append((nodes, self.unit * least, best))
        return entries


def balanced_loss(tree, X, y, sample_weight=None):
    """Return one minus the mean recall of the classes."""
    y = np.asarray(y)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    wrong = tree.predict(X) != y
    shares = [weight[wrong & (y == label)].sum() / weight[y == label].sum()
              for label in tree.classes if np.any(weight[y == label] > 0)]
    return float(np.mean(shares))


class _BalancedRun(_Run):
    """One fit for balanced accuracy: rows weigh as much as makes all classes equal."""

    def __init__(self, model, columns, y, sample_weight, clock, smallest=None):
        if np.any(model.sparsity):
            raise ValueError("objective='balanced-accuracy' cannot be combined with sparsity; "
                             "limit max_nodes instead.")
        self.given = np.ones(len(y)) if sample_weight is None else sample_weight
        totals = np.bincount(y, weights=self.given)
        present = totals[totals > 0]
        scale = float(len(y))
        if np.all(present == np.floor(present)):        # whole numbers keep the search exact
            common = lcm(*map(int, present))
            scale = float(common) if common * len(present) < 2 ** 50 else scale
        factor = scale / np.where(totals > 0, totals, 1.0)
        self.unit = 1.0 / (scale * len(present))
        super().__init__(model, columns, y, self.given * factor[y], clock, smallest)

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

    def evaluate(self):
        """Return the function that recomputes the objective from a tree."""
        return balanced_loss
