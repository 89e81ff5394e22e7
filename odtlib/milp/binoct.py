"""BinOCT: the estimator that builds the binary linear program and has it solved."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from odtlib._tolerance import PROOF
from odtlib.estimator import TreeClassifier
from odtlib.heuristics import starting_tree, warm_up_start
from odtlib.heuristics._ranks import RankedRows
from odtlib.milp import binoct_model
from odtlib.milp._formulated import EXACT, MOST_IN_CP_SAT
from odtlib.milp.binoct_model import FORMS, BinOCTModel, difference
from odtlib.milp.lns import NeighbourhoodSearch
from odtlib.milp.thresholds import candidate_cuts, tree_of
from odtlib.mip.engines import library
from odtlib.mip.units import MOST_WHOLE, class_costs, in_units
from odtlib.report import STATUSES, Clock, SolveReport
from odtlib.tree import DecisionTree


class BinOCTClassifier(TreeClassifier):
    """Find a classification tree by the binary linear program of Verwer & Zhang (2019).

    One binary variable says which feature a node tests; a few bits say which threshold, by a
    binary search through the list of candidates.  The model is given to a solver together with a
    starting tree.  On more than a few hundred rows open solvers seldom improve a good start within
    minutes: ``report_`` says what the start was worth and what the solver gained.

    Parameters
    ----------
    max_depth : int, default=2
        Depth of the full tree.  Variables and constraints double with every level.
    solver : {"highs", "cp-sat", "lns"}, default="highs"
        "highs": branch and cut.  "cp-sat": constraint programming on the same model; finds more
        within the same time, and needs whole or simple fractional weights.  "lns": BinOCT-LNS, a
        large-neighbourhood search; CP-SAT solves the model for two nodes at a time while all
        others stay.  It needs a start and proves nothing.
    thresholds : {"all", "boundary", "forest"}, default="all"
        Candidates.  "all" midpoints; "boundary": without those between two values that only have
        rows of one class (published; smaller, but from depth 2 on the best tree may be lost);
        "forest": those of a random forest of 20 trees (fewest, a heuristic restriction).
    add_thresholds : bool, default=True
        Whether the thresholds of CART and of the starting tree are added to the candidates, as in
        the authors' scripts.  With False a starting tree moves to the nearest candidates.
    rows : {"summed", "per_row", "chained", "ordered"}, default="summed"
        Form of the constraints that keep rows out of leaves: published sums with big Ms, one
        constraint for every row (many times as many), or sums taken from cumulative variables
        (sparser).  "ordered" is not BinOCT's encoding: a variable for every threshold in place of
        the bits, and two constraints a row and node.  All have the same trees as solutions; the
        last gives solvers most (depth 3 from CART, 30 s: HiGHS on Monk's 2, 24 errors to 18, to 23
        with "summed"; CP-SAT proves Monk's 1 in 0.9 instead of 2.3 CPU seconds).
    start : {"cart", "local-search", None}, DecisionTree or fitted estimator, default="cart"
        Tree to begin with; a run never ends with a worse one.  With None the solver begins from
        nothing, and CART is returned where it finds no tree in time.
    priorities : bool or None, default=None
        Branch on upper nodes, and on features before thresholds, first, as the scripts do.  None
        does so with CP-SAT, which it helped (depth 3, 15 s: Balance 74 to 70 errors, Monk's 2 19
        to 18); HiGHS offers no priorities.
    class_costs : dict or None, default=None
        Cost of misclassifying a row of a class, by label (default: one each): the price of a false
        negative, for instance.  Multiplies the row's weight.
    group_feature : int or None, default=None
        Column with two values whose groups should be treated alike (two classes only).
    group_price : float, default=0.0
        The objective gains ``group_price * total weight`` times the difference between the shares
        of the two groups for which the second class is predicted; 0.1 trades ten points of
        difference for one point of accuracy.
    relaxation : bool, default=False
        Solve the linear relaxation first and note its value in ``counters["lp_bound"]``.
    threads : int or None, default=None
        Threads of HiGHS (default 1) or workers of CP-SAT (default 2).
    settings : dict or None, default=None
        Further options of the solver, by its own names.  Of those tried with HiGHS at depth 3
        (``mip_heuristic_effort`` 0.5, no presolve) none found more in 15 s.
    time_limit : float, default=None
        Seconds for everything, the start and the building of the model included.
    random_state : int, RandomState or None, default=None
        Seed of start, forest, solver and search.
    verbose : int, default=0
        1 prints each better tree.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found.
    report_ : SolveReport
        ``optimal`` only with the solver's proof.  Counters: ``start_objective``, ``gain`` over it,
        ``thresholds``, sizes of the model, ``time_to_best``, and what the solver counts.
    classes_ : array
        The labels.

    Notes
    -----
    Rows of weight zero are left out.  The discrimination-aware objective and false-negative costs
    are the variations that Firat et al. (2020, Section 2) call easy.

    Examples
    --------
    >>> from odtlib import BinOCTClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = BinOCTClassifier(max_depth=2).fit(X, y)
    >>> model.report_.objective, model.report_.status
    (0.0, 'optimal')
    """

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "solver": [StrOptions({"highs", "cp-sat", "lns"})],
        "thresholds": [StrOptions({"all", "boundary", "forest"})],
        "add_thresholds": ["boolean"],
        "rows": [StrOptions(set(FORMS))],
        "priorities": ["boolean", None],
        "class_costs": [dict, None],
        "group_feature": [Interval(Integral, 0, None, closed="left"), None],
        "group_price": [Interval(Real, 0, None, closed="left")],
        "relaxation": ["boolean"],
        "threads": [Interval(Integral, 1, None, closed="left"), None],
        "settings": [dict, None],
    }

    def __init__(self, max_depth=2, *, solver="highs", thresholds="all", add_thresholds=True,
                 rows="summed", start="cart", priorities=None, class_costs=None,
                 group_feature=None, group_price=0.0, relaxation=False, threads=None,
                 settings=None, time_limit=None, random_state=None, verbose=0):
        self.max_depth = max_depth
        self.solver = solver
        self.thresholds = thresholds
        self.add_thresholds = add_thresholds
        self.rows = rows
        self.start = start
        self.priorities = priorities
        self.class_costs = class_costs
        self.group_feature = group_feature
        self.group_price = group_price
        self.relaxation = relaxation
        self.threads = threads
        self.settings = settings
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def formulate(self, X, y, sample_weight=None):
        """Build the model without solving it.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).

        Returns
        -------
        BinOCTModel
            Its ``model`` can be looked at, written to a file, relaxed and solved.
        """
        X, codes, weight, _ = self._training_arrays(X, y, sample_weight)
        problem = _Problem(self, X, codes, weight, Clock())
        if problem.trivial:
            raise ValueError("no model is needed: max_depth is 0 or every feature is constant.")
        return problem.build()

    def _warm_up(self, X, y, sample_weight):
        library(self.solver)
        if self.relaxation:
            library("highs")
        return warm_up_start(self.start)

    def _solve(self, X, y, sample_weight):
        if self.priorities and self.solver != "cp-sat":
            raise ValueError("branching priorities need solver='cp-sat'; set priorities=None.")
        if self.solver == "lns" and self.start is None:
            raise ValueError("solver='lns' improves a tree; give a start, such as 'cart'.")
        clock = Clock(self.time_limit)
        problem = _Problem(self, X, y, sample_weight, clock)
        report = _Run(self, problem, clock)()
        tree = problem.finish(report.pop("tree"), X, y, sample_weight)
        report = SolveReport(start=self._start_word(), evaluate=problem.objective, **report)
        return tree, report


class Objective:
    """Recompute the objective from a tree alone; a class, so that reports can be pickled."""

    def __init__(self, classes, costs, feature, price):
        self.classes, self.costs, self.feature, self.price = classes, costs, feature, price

    def __call__(self, tree, X, y, sample_weight=None):
        code = np.searchsorted(self.classes, np.asarray(y).ravel())
        weight = np.ones(len(code)) if sample_weight is None else np.asarray(sample_weight, float)
        predicted = tree.predict_codes(X)
        cost = weight * self.costs[code]
        value = float(cost[predicted != code].sum())
        if self.price:
            used = cost > 0
            column = np.asarray(X, float)[used, self.feature]
            value += self.price * weight.sum() * difference(
                predicted[used] == len(self.classes) - 1, (column == column.max()).astype(int))
        return value


class _Problem:
    """Training rows with costs, the start, and the candidates, made when they are needed."""

    def __init__(self, model, X, y, sample_weight, clock):
        self.settings, self.clock, self.depth = model, clock, model._depth_within(len(y))
        self.n_classes = len(model.classes_)
        costs = class_costs(model.class_costs, model.classes_)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        cost = weight * costs[y]
        if not cost.any():
            raise ValueError("all weights or costs are zero; give some row a positive one.")
        if model.group_feature is not None and model.group_feature >= X.shape[1]:
            raise ValueError(f"group_feature is {model.group_feature} and X has {X.shape[1]} "
                             "columns; give the number of a column.")
        self.objective = Objective(
            model.classes_, costs, model.group_feature,
            0.0 if model.group_feature is None else model.group_price)
        used = cost > 0
        self.X, self.y, self.cost, self.grown = X[used], y[used], cost[used], {}
        # rows and the model count in the unit that solvers resolve best
        self.scale, self.whole = in_units(
            self.cost, MOST_WHOLE if model.solver == "highs" else MOST_IN_CP_SAT)
        if not self.whole and model.solver != "highs":
            raise ValueError("the weights, times class_costs, have no small common denominator, "
                             "which CP-SAT needs; round them or use solver='highs'.")
        units = self.cost * self.scale
        self.rows = RankedRows(self.X, self.y, self.n_classes,
                               np.rint(units) if self.whole else units)
        self.groups, price = None, 0.0
        if model.group_feature is not None and model.group_price > 0:
            self.groups = self._groups(model, self.X)
            price = model.group_price * weight.sum() * self.scale
        self.unit = 1.0 if self.whole and self.groups is None else None
        self.price = price
        self.total = float(self.rows.weights.sum()) + price     # no tree costs more
        self.trivial = self.depth == 0 or all(len(v) < 2 for v in self.rows.values)
        # rows that agree in all features get the same label
        self.bound = float(self.rows.weights.sum() - self.rows.merged().attainable)

    def _groups(self, model, X):
        column = X[:, model.group_feature]
        if len(np.unique(column)) != 2 or self.n_classes != 2:
            raise ValueError("group_feature needs a column with two values and a y with two "
                             f"classes; there are {len(np.unique(column))} and {self.n_classes}.")
        return (column == column.max()).astype(int)

    def known_tree(self, start):
        """Return the starting tree, with classes that cost least."""
        model, limit = self.settings, None
        if isinstance(start, str) and start in self.grown:
            return self.grown[start]
        if start == "local-search" and self.clock.time_limit is not None:
            limit = max(0.05, self.clock.remaining / 3)
        tree = starting_tree(start, self.X, self.y, self.n_classes, self.cost, self.depth, 1,
                             model.random_state, limit)
        if isinstance(start, str):
            self.grown[start] = tree
        return tree

    def cuts(self, trees):
        """Return the candidate cuts, those of some trees added."""
        model = self.settings
        return candidate_cuts(self.rows, model.thresholds, max_depth=self.depth,
                              random_state=model.random_state,
                              trees=trees if model.add_thresholds else ())

    def build(self, start=None):
        """Return the model, over the candidates and what CART and the start add."""
        trees = [tree for tree in (self.known_tree("cart"), start) if tree is not None]
        cuts = self.cuts(trees)
        if not any(map(len, cuts)):     # nothing but one class between any two values
            cuts = candidate_cuts(self.rows, "all", max_depth=self.depth)
        return BinOCTModel(self.rows, cuts, self.depth, self.settings.rows, groups=self.groups,
                           price=self.price, clock=self.clock)

    def finish(self, tree, X, y, sample_weight):
        """Return the tree with the class weights of all rows."""
        return tree.with_counts(X, y, self.n_classes, sample_weight, relabel=False).pruned()

    def leaf(self):
        """Return the tree without a split."""
        value = np.bincount(self.rows.labels, self.rows.weights, self.n_classes)
        return DecisionTree([-1], [np.nan], [-1], [-1], value[None], n_features=self.X.shape[1])

    def value(self, tree):
        """Return the objective of a tree in the units of the rows."""
        predicted = tree.predict_codes(self.X)
        value = float(self.cost[predicted != self.y].sum()) * self.scale
        if self.whole:
            value = float(np.rint(value))
        if self.groups is not None:
            value += self.price * difference(predicted == self.n_classes - 1, self.groups)
        return value


class _Run:
    """One fit: the start, the solver, and what is reported."""

    def __init__(self, settings, problem, clock):
        self.settings, self.problem, self.clock = settings, problem, clock
        self.tree, self.best, self.bound = None, np.inf, problem.bound
        self.events, self.counters, self.status = [], {}, "time_limit"
        self.proof = "optimal at any depth"     # where only errors forced by equal rows are left

    def __call__(self):
        problem, settings = self.problem, self.settings
        start = None
        if problem.trivial:
            self.offer(problem.leaf(), "one leaf")
            self.bound = self.best      # one leaf treats all groups alike
            self.status, self.proof = "optimal", "optimal: no split is possible"
            return self.report()
        try:
            if settings.start is not None:
                self.offer(problem.known_tree(settings._given_start()), settings._start_word())
                self.offer(problem.leaf(), "one leaf")
                self.counters["start_objective"] = self.unscaled(self.best)
                start = self.tree
            n_rows, n_leaves = problem.rows.n_rows, 2**problem.depth
            # a variable for each row and leaf, or a pair of nodes for each node and level
            if n_leaves * max(3 * n_rows, 100 * problem.depth) > binoct_model.LARGEST:
                self.status = "memory_limit"
            elif settings.solver == "lns":
                self.search(start)
            else:
                self.solve(start)
        except KeyboardInterrupt:
            self.status = "interrupted"
        if self.tree is None:
            self.offer(problem.known_tree("cart"), "cart, as the solver found no tree")
            self.counters["fallback"] = 1
        self.status = self._closed(self.status)
        return self.report()

    def _closed(self, status):
        if self.best <= self.bound + PROOF * self.problem.total:
            return "optimal"
        return "heuristic" if status == "optimal" else status

    def unscaled(self, value):
        return value / self.problem.scale

    def offer(self, tree, event):
        """Keep a tree if it is the best so far."""
        value = self.problem.value(tree)
        if value < self.best:
            self.tree, self.best = tree, value
            self.note(self.clock.elapsed, event)

    def note(self, seconds, event):
        """Write a line of the trace."""
        self.events.append((seconds, self.unscaled(self.best),
                            self.unscaled(min(self.bound, self.best)), event))
        if self.settings.verbose and event not in ("bound",):
            print(f"{seconds:8.1f} s  objective {self.unscaled(self.best):g}  {event}", flush=True)

    def solve(self, start):
        """Give the model to HiGHS or CP-SAT."""
        problem, settings, clock = self.problem, self.settings, self.clock
        binoct = problem.build(start)
        n = int(binoct.n_cuts.sum())
        self.counters["thresholds"] = n
        kind = {"all": "", "boundary": "boundary ", "forest": "forest "}[settings.thresholds]
        added = "and added " if settings.add_thresholds and kind else ""
        self.proof = f"optimal for the {n} {kind}{added}thresholds at depth {problem.depth}"
        if not binoct.complete or clock.expired:
            return
        self.counters.update(binoct.model.sizes())
        self.counters["build_seconds"] = clock.elapsed
        if settings.relaxation:
            relaxed = binoct.model.relax(None if clock.time_limit is None else
                                         clock.remaining / 4)
            if relaxed.status == "optimal":
                self.counters["lp_bound"] = self.unscaled(relaxed.objective)
        x = None
        if start is not None:
            heap, label = binoct.heap(start)
            if problem.groups is None:
                # a full tree has more splits, which may serve it; that is not the solver's merit
                label = binoct.best_labels(heap, label)
                self.offer(binoct.tree(heap, label), "start, filled up to a full tree")
                self.counters["start_objective"] = self.unscaled(self.best)
            x = binoct.encode(heap, label)
        options = dict(settings.settings or {})
        if settings.solver == "highs" and problem.unit is None:
            options = {**EXACT, **options}
            if not problem.whole:
                options.setdefault("presolve", "off")   # wrong where costs are not whole
        begin, floor = clock.elapsed, self.bound
        in_order = settings.solver == "cp-sat" if settings.priorities is None else (
            settings.priorities)
        solution = binoct.model.solve(
            settings.solver, start=x, unit=problem.unit, threads=settings.threads,
            priorities=binoct.priorities() if in_order else None,
            time_limit=None if clock.time_limit is None else max(0.01, clock.remaining),
            random_state=_seed(settings.random_state), settings=options)
        for seconds, objective, bound, event in solution.events:
            self.bound = max(floor, min(bound, self.best))
            if event == "incumbent" and objective < self.best - PROOF * problem.total:
                self.best = float(objective)
            elif event != "bound":
                continue
            self.note(begin + seconds, event)
        self.counters["solver_bound"] = float(self.unscaled(solution.bound))
        self.counters.update(solution.counters)
        self.best = np.inf if self.tree is None else problem.value(self.tree)
        if solution.values is not None:
            heap, label = binoct.decode(solution.values)
            if problem.groups is None:
                label = binoct.best_labels(heap, label)
            tree = binoct.tree(heap, label)
            value = problem.value(tree)
            if value < self.best:
                self.tree, self.best = tree, value
        self.bound = min(max(floor, solution.bound), self.best)
        if solution.status == "infeasible":
            raise RuntimeError("the solver calls the model infeasible; please report this.")
        self.status = {"died": "memory_limit"}.get(solution.status, solution.status)
        if self.status != solution.status or self.status not in STATUSES:
            self.note(clock.elapsed, solution.events[-1][-1])
        if self.status not in STATUSES:     # the solver failed: what it had found stays
            self.status = "heuristic"

    def search(self, start):
        """Improve the start by BinOCT-LNS."""
        problem, settings = self.problem, self.settings
        cuts = problem.cuts([problem.known_tree("cart"), start])
        self.counters["thresholds"] = int(sum(map(len, cuts)))

        search = NeighbourhoodSearch(problem.rows, cuts, problem.depth, problem.groups,
                                     problem.price)

        def found(heap, label, event):
            self.offer(tree_of(heap, label, problem.rows, cuts), event)

        try:
            self.status = search.run(
                start, self.clock, found, floor=self.bound, unit=problem.unit,
                workers=settings.threads or 2, random_state=settings.random_state,
                settings=settings.settings)
        finally:
            self.counters.update(search.counters)

    def report(self):
        """Return the parts of the report, and the tree."""
        if "start_objective" in self.counters:
            self.counters["gain"] = self.counters["start_objective"] - self.unscaled(self.best)
        better = [self.events[i][0] for i in range(len(self.events))
                  if i == 0 or self.events[i][1] < self.events[i - 1][1]]
        self.counters["time_to_best"] = better[-1] if better else 0.0
        self.note(self.clock.elapsed, self.status)
        if self.status == "optimal":
            self.bound = self.best
        return {"tree": self.tree, "status": self.status, "objective": self.unscaled(self.best),
                "lower_bound": self.unscaled(self.bound), "seconds": self.clock.elapsed,
                "counters": self.counters, "trace": self.events, "proof": self.proof,
                "scale": self.unscaled(self.problem.total)}


def _seed(random_state):
    """Return a seed for a solver written in another language."""
    if isinstance(random_state, Integral):
        return int(random_state) % 2**31
    if random_state is None:
        return 0
    return int(random_state.randint(2**31 - 1))
