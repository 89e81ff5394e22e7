"""The estimator: optimal classification trees over all thresholds of numeric features."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from odtlib._numba.warm import warm_up
from odtlib.certificate import CertifiedMixin
from odtlib.continuous import _kernels as k
from odtlib.continuous.costs import Costs, check_splits, proof_of
from odtlib.continuous.solver import (
    CACHE_BYTES,
    MAX_CLASSES,
    SHORT,
    SortedColumns,
    ThresholdSearch,
    bytes_needed,
    decode,
    run_search,
    search_arrays,
    wide_numbers,
)
from odtlib.estimator import TreeClassifier
from odtlib.fit import Fit
from odtlib.heuristics.cart import single_leaf
from odtlib.heuristics.start import starting_tree, warm_up_start
from odtlib.heuristics.subtrees import DEEP, HORIZON, LOOKS, SubtreeSearch
from odtlib.report import Clock
from odtlib.tree import DecisionTree
from odtlib.trees import classifier_of, cut_back, plan_of

LOCAL = 0.6             # of the time for better trees, for the local search
CART_FACTOR = 8         # growing CART takes at most about as many times as long as sorting


@dataclass(eq=False, repr=False)
class ContinuousTreeClassifier(CertifiedMixin, TreeClassifier):
    """Find the classification tree with the fewest errors over all thresholds.

    No binarisation: every midpoint between neighbouring values of every feature is a candidate,
    compared exactly in float64.  Missing values (NaN) go to the better side of each test, exactly,
    and whether a value is missing is a test, too.

    Parameters
    ----------
    max_depth : int or None, default=3
        Maximum depth of the tree.  None for no limit.  Depth 2 takes milliseconds, depth 3 seconds,
        depth 4 minutes, on thousands of rows; depth 5 finishes on small or easy data only.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.  A limit below ``2**max_depth - 1``
        makes the search longer: every feature of the root is searched once for each division of
        the other nodes between the two children.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.  The same limit as
        ``max_nodes = max_leaf_nodes - 1``.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  Above 1 a
        slower search is used, because the optimal tree of a subset of the rows is then no longer a
        lower bound for the set.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  The objective is the
        misclassified weight plus ``split_penalty`` per split: a split stays only if it saves more.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.  They multiply the sample weights.
    max_gap : float, default=0.0
        Stop when the objective is proved to be within this share of the total weight of the
        optimum: 0.01 is one point of training accuracy.  Above 0 the search is faster, and the
        status is ``heuristic`` unless the bound meets the objective.
    start : {"cart", "local-search"}, None, DecisionTree or estimator, default="cart"
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  The search
        uses it once it has run for more than a moment, and returns it where a limit ends the search
        before a better tree is found.  "local-search" takes seconds; None stands for a single leaf.
    n_jobs : int, optional
        Number of threads; None means 1 and -1 all processors.  They share the features of the
        root, each with its own copy of the working arrays.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found so far is then returned with
        status ``time_limit``.  From depth 4 on the search has a tenth of the limit at first; then
        local search and exact subtrees of depth two improve the best tree for two fifths of the
        rest, or for nine tenths where a search of depth 5 or more has achieved nothing yet.
    cache : bool, default=True
        Keep the lower bounds of subsets of rows, at depth four and more, where the same splits in
        another order lead to the same rows.  It is used on features with few values (32 thresholds
        on average or fewer; with more, the same subset rarely recurs), takes up to 64 MB per
        thread, and never changes the optimum; False saves this memory.
    memory_limit : float, optional
        Memory limit in megabytes; None for no limit.  What the search needs is known before it
        begins; if it is more, the starting tree is returned with status ``memory_limit``.  The
        cache takes what is left over.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.  Only the starting tree makes any.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found.
    report_ : SolveReport
        Status, bounds and counters: ``nodes`` (thresholds split above the last two levels),
        ``depth_two`` problems solved, ``batches`` of thresholds swept, ``thresholds`` evaluated,
        ``cache_stored`` and ``cache_hits`` (bounds that the cache kept, and that it raised).
    classes_ : array
        The labels.

    Notes
    -----
    The problem is that of ConTree (Brita, van der Linden, Demirović, AAAI 2025) and of Quant-BnB
    (Mazumder, Meng, Wang, ICML 2022); intervals of thresholds are closed by the bounds of the
    former.  The sweep that solves the last two levels for 32 thresholds at once is explained in
    chapter 8 of the book.

    Weights and the price of a split are compared as integers: exactly if they are whole numbers,
    otherwise after rounding down to some 2**-57 of the total weight.  The objective is the true
    one of the tree, and the lower bound allows for the rounding.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odtlib import ContinuousTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ContinuousTreeClassifier(max_depth=2).fit(X, y)
    >>> model.report_.status, model.report_.objective
    ('optimal', 6.0)
    """

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "max_gap": [Interval(Real, 0, 1, closed="both")],
        "cache": ["boolean"],
    }

    _accepts_missing = _doubles_missing = True

    max_depth: int | None = 3
    _: KW_ONLY
    max_nodes: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: float = 1
    split_penalty: float = 0.0
    class_weight: dict | str | None = None
    max_gap: float = 0.0
    start: str | DecisionTree | BaseEstimator | None = "cart"
    n_jobs: int | None = None
    time_limit: float | None = None
    cache: bool = True
    memory_limit: float | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _warm_up(self, X, y, sample_weight):
        weighted = sample_weight is not None or self.min_samples_leaf > 1
        wide = wide_numbers(len(y), len(self.classes_), weighted)

        def run():
            X = np.array([[0.0], [1.0], [2.0], [3.0]])
            y = np.array([0, 1, 2, 1])
            cost = Costs(y, 3, np.full(4, 2.0) if weighted else None, 0.0, 1)
            arrays = search_arrays(4, 1, cost, 2, wide)
            columns = SortedColumns(X, y, cost, arrays, Clock())
            decode(columns.best_stump(cost), X, y, cost)
            ThresholdSearch(columns, cost, 2, arrays).advance(SHORT)

        start = "local-search" if self._gives_way(len(y)) else self.start
        return warm_up_start(start) + warm_up(
            "the search over all thresholds", k.search, run, (wide, weighted))

    def _gives_way(self, n_rows):
        """Return whether there is a time limit, and a depth for which it may be short."""
        return self.time_limit is not None and self._depth_within(n_rows) > HORIZON + 1

    def _solve(self, X, y, sample_weight):
        n_classes = len(self.classes_)
        if n_classes > MAX_CLASSES:
            raise ValueError(f"y holds {n_classes} classes; ContinuousTreeClassifier takes at most "
                             f"{MAX_CLASSES}. Are these labels, or a numeric target?")
        fit = Fit(Clock(self.time_limit), start=self._start_word(), verbose=self.verbose)
        cost = Costs(y, n_classes, sample_weight, float(self.split_penalty),
                     int(self.min_samples_leaf))
        max_nodes = self._split_limit
        fit.proof, fit.scale = proof_of(self, len(y), max_nodes), cost.total / cost.scale
        start = _Start(self, X, y, sample_weight, cost, max_nodes, fit.clock)
        tree, best, bound = self._search(X, y, sample_weight, cost, max_nodes, start, fit)
        wrong = tree.predict_codes(X) != y
        if cost.of(wrong, tree) > best:
            raise RuntimeError(f"the tree costs {cost.of(wrong, tree)}, the search counted "
                               f"{best}: please report this data set as a bug of odtlib.")
        fit.offer(tree, cost.split_penalty * tree.n_splits + float(
            np.count_nonzero(wrong) if sample_weight is None else sample_weight[wrong].sum()))
        fit.learn(cost.bound(bound))
        return tree, fit.report()

    def _search(self, X, y, sample_weight, cost, max_nodes, start, fit):
        """Return the best tree, its cost and a lower bound, in the unit of the search."""
        (n, p), clock = X.shape, fit.clock
        n_jobs = 1 if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        # each split takes a leaf's worth of rows from those below it
        depth = min(self._depth_within(n), max(0, n // cost.min_samples_leaf - 1),
                    n if max_nodes is None else max_nodes)
        if cost.penalty > 0:
            depth = min(depth, start.leaf_cost // cost.penalty)
        if depth == 0:
            return *start.known, start.leaf_cost
        wide = start.wide = wide_numbers(n, cost.n_classes, cost.weight is not None)
        arrays = search_arrays(n, p, cost, depth, wide, max_nodes)
        cache_bytes = CACHE_BYTES if self.cache else 0
        search, begin = None, clock.elapsed
        with fit.stops():
            if self.memory_limit is not None:
                spare = self.memory_limit * 1e6 / n_jobs - bytes_needed(arrays)
                if spare < 0:
                    raise MemoryError
                cache_bytes = int(min(cache_bytes, spare))
            columns = SortedColumns(X, y, cost, arrays, clock)
            sorted_in = clock.elapsed - begin
            depth = min(depth, columns.n_thresholds)
            if depth <= 1:
                tree = decode(columns.best_stump(cost), X, y, cost, sample_weight)
                best = cost.of(tree.predict_codes(X) != y, tree)
                return tree, best, best
            search = ThresholdSearch(
                columns, cost, depth, arrays, max_nodes=max_nodes, cache_bytes=cache_bytes,
                allowed_gap=int(self.max_gap * cost.total))
        if search is None:
            return *(start.known if fit.ended == "interrupted" else start.grown()), 0

        def watch(event, objective, bound):
            fit.note(event, objective / cost.scale, cost.bound(bound))

        seconds = CART_FACTOR * sorted_in
        run = run_search(search, fit, n_jobs, (lambda: start.grown()[1]) if
                         clock.remaining > seconds else None, watch, seconds,
                         start.improved if self._gives_way(n) else None)
        fit.counters = run.counters
        # a run cut short falls back on CART, unless growing it would overrun the limit by far
        if fit.ended == "time_limit" and sorted_in < 0.1:
            start.grown()
        if run.tree is not None and run.cost <= start.best:
            tree, best = decode(run.tree, X, y, cost, sample_weight), run.cost
        else:
            tree, best = start.known
        return tree, best, min(best, run.bound)


class _Start:
    """What the search can fall back on: a single leaf until the starting tree is asked for."""

    def __init__(self, model, X, y, sample_weight, cost, max_nodes, clock):
        self.rows = X, y, cost.n_classes, sample_weight
        self.model, self.cost, self.max_nodes, self.clock = model, cost, max_nodes, clock
        self.leaf_cost = cost.total - int(cost.of_classes.max())
        self.tree, self.best = None, self.leaf_cost
        self.start = model._given_start()
        if isinstance(self.start, DecisionTree):
            self.grown()        # a tree that does not fit is refused whatever the search does

    @property
    def known(self):
        """The best tree known so far, and its cost."""
        if self.tree is None:
            self.tree = single_leaf(*self.rows, np.argmax(self.cost.of_classes))
        return self.tree, self.best

    def grown(self, limit=None):
        """Return the starting tree or, if it is no worse, a single leaf, and the cost."""
        if self.start is None:
            return self.known
        start, self.start = self.start, None
        model, cost, (X, y, *_) = self.model, self.cost, self.rows
        if limit is None:
            limit = self.clock.time_limit and self.clock.remaining / 2
        tree = starting_tree(start, *self.rows, model._depth_within(len(y)),
                             model.min_samples_leaf, model.random_state, limit)
        if isinstance(start, DecisionTree):
            check_splits(tree, self.max_nodes)
        elif self.max_nodes is not None and tree.n_splits > self.max_nodes:
            tree = cut_back(tree, self.max_nodes, cost.split_penalty)
        self.keep(tree, cost.of(tree.predict_codes(X) != y, tree))
        return self.known

    def keep(self, tree, its_cost):
        """Take a tree if it is better."""
        if its_cost < self.best:
            self.tree, self.best = tree, its_cost

    def shallower(self, depth, clock):
        """Look for the best trees of smaller depths, which a budget of nodes leaves room for."""
        X, y, _, weight = self.rows
        small = copy(self.model)
        small.start, small.verbose, small.max_depth = None, 0, HORIZON
        while small.max_depth < depth:
            small.time_limit = clock.remaining / 2
            tree, report = small._solve(X, y, weight)
            self.keep(tree, self.cost.of(tree.predict_codes(X) != y, tree))
            if report.status != "optimal":
                break
            small.max_depth += 1

    def improved(self, nodes, closed):
        """Look for better subtrees of the best tree, also of the search; return the least cost."""
        X, y, n_classes, given = self.rows
        cost, model = self.cost, self.model
        if nodes is not None:
            tree = decode(nodes, X, y, cost, given)
            self.keep(tree, cost.of(tree.predict_codes(X) != y, tree))
        depth = model._depth_within(len(y))
        clock = Clock(LOOKS[closed == 0 and depth > DEEP] * self.clock.remaining)
        if self.max_nodes is not None and self.max_nodes < 2**depth - 1:
            self.shallower(depth, clock)
        self.start = "local-search"
        self.grown(LOCAL * clock.remaining)
        weight = np.ones(len(y)) if given is None else given

        def solve(rows, levels):
            labels = y[rows]
            if len(rows) < 2 * cost.min_samples_leaf or (labels == labels[0]).all():
                return None
            part = Costs(labels, n_classes, None if given is None else given[rows],
                         cost.split_penalty, cost.min_samples_leaf)
            arrays = search_arrays(len(rows), X.shape[1], part, levels, self.wide)
            columns = SortedColumns(X[rows], labels, part, arrays, clock)
            if min(levels, columns.n_thresholds) < 2:
                nodes = columns.best_stump(part)
            else:
                run = run_search(ThresholdSearch(columns, part, levels, arrays), Fit(clock))
                nodes = run.tree
            return None if nodes is None else plan_of(decode(nodes, X[rows], labels, part))

        def loss(inside, asked):
            if len(inside) < cost.min_samples_leaf:
                return np.full(len(asked), np.inf)
            label = np.argmax(np.bincount(y[inside], weight[inside], n_classes))
            return weight[asked] * (y[asked] != label)

        def judge(plan):
            most = len(y) if self.max_nodes is None else self.max_nodes
            tree = cut_back(classifier_of(plan, X, y, n_classes, given), most, cost.split_penalty)
            return tree, cost.of(tree.predict_codes(X) != y, tree)

        SubtreeSearch(X, depth, solve, loss, judge, cost.split_penalty,
                      clock, check_random_state(model.random_state)).run(
            *self.known, self.keep)
        return self.best
