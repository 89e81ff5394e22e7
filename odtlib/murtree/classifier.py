"""The public estimator: optimal classification trees by the MurTree algorithm."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from odtlib.binarize import MDLPBinarizer, QuantileBinarizer, ThresholdBinarizer
from odtlib.estimator import TreeClassifier, announce_compilation
from odtlib.heuristics import starting_tree
from odtlib.report import Clock, SolveReport, default_objective
from odtlib.tree import DecisionTree

from . import _search as S
from .preparation import MOST_COPIES, prepare
from .solver import CACHES, CHILD_ORDERS, FEATURE_ORDERS, Solver

BINARIZERS = {"mdlp": MDLPBinarizer, "quantile": QuantileBinarizer, "all": ThresholdBinarizer}
MOST_CELLS_FOR_A_LATE_START = 2e7     # rows x columns for which CART takes a fraction of a second


def _penalised_errors(tree, X, y, sample_weight=None, *, penalty):
    return default_objective(tree, X, y, sample_weight) + penalty * tree.n_splits


class MurTreeClassifier(TreeClassifier):
    """Classification tree with the fewest training errors within limits on depth and size.

    The search of Demirovic et al. (2022): dynamic programming over depth and node budget (Eq. 1),
    a specialised algorithm for depth two on pairwise frequency counts (Section 4.3), a lower bound
    from similar data sets (4.4), and a cache of solved subproblems (4.5).

    Parameters
    ----------
    max_depth : int, default=4
        Most tests on a path.  Each further level multiplies the time by about the number of 0/1
        columns.
    max_nodes : int, optional
        Most feature nodes (default: ``2 ** max_depth - 1``, a full tree).
    min_samples_leaf : int, default=1
        Fewest rows in a leaf.  Above 1 the similarity bound does not hold and is not used, so the
        search takes longer.
    sparsity : float, default=0.0
        Cost of a feature node in units of misclassified weight (Eq. 19).  A split is made only if
        it saves more; large values give small trees, sooner.
    binarizer : {"mdlp", "quantile", "all"}, transformer or None, default="mdlp"
        How features that are not 0/1 become 0/1 columns; not used when all features are 0/1.
        "mdlp" cuts by entropy and class, "quantile" at quantiles, "all" between any two values,
        which can make thousands of columns.  None refuses other features.  A transformer is cloned
        and fitted.  The tree is optimal for the columns that it makes.
    cache : {"dataset"} or None, default="dataset"
        What a solved subproblem is remembered by.  Without a cache equal subproblems are solved
        again.
    similarity_bound : bool, default=True
        Whether subproblems are bounded by similar ones (Proposition 9).
    refined_bound : bool, default=True
        Whether a failed search leaves the refined bound of Eq. 17, or only that of DL8.5.
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
    start : {None, "cart", "local-search"} or DecisionTree, default=None
        Tree to begin with, over the 0/1 columns; only better ones are looked for.
    time_limit : float, optional
        Seconds after which the best tree so far comes back (CART at worst).
    memory_limit : float, optional
        Bytes that the cache may take; the result stays exact, the search may take longer.
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
    classes_, n_features_in_, feature_names_in_
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
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "binarizer": [StrOptions(set(BINARIZERS)), HasMethods(["fit", "transform"]), None],
        "cache": [StrOptions({name for name in CACHES if name}), None],
        "similarity_bound": ["boolean"],
        "refined_bound": ["boolean"],
        "feature_order": [StrOptions(set(FEATURE_ORDERS))],
        "child_order": [StrOptions(set(CHILD_ORDERS))],
        "merge_rows": ["boolean"],
        "merge_columns": ["boolean"],
        "start": [StrOptions({"cart", "local-search"}), DecisionTree, None],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
    _accepts_categories = True

    def __init__(self, max_depth=4, max_nodes=None, *, min_samples_leaf=1, sparsity=0.0,
                 binarizer="mdlp", cache="dataset", similarity_bound=True, refined_bound=True,
                 feature_order="depth-two", child_order="dynamic", merge_rows=True,
                 merge_columns=True, start=None, time_limit=None, memory_limit=None,
                 random_state=None, verbose=0):
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.min_samples_leaf = min_samples_leaf
        self.sparsity = sparsity
        self.binarizer = binarizer
        self.cache = cache
        self.similarity_bound = similarity_bound
        self.refined_bound = refined_bound
        self.feature_order = feature_order
        self.child_order = child_order
        self.merge_rows = merge_rows
        self.merge_columns = merge_columns
        self.start = start
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

    def _keeps_frame(self, X):
        return super()._keeps_frame(X) and any(
            getattr(kind, "kind", "O") not in "biuf" for kind in X.dtypes)

    # From a table to 0/1 columns and back -----------------------------------------------------

    def _columns(self, X, y, sample_weight):
        """Return the 0/1 columns of the training rows; sets ``binarizer_``.

        The binariser sees a row with a whole weight so many times; other weights do not move cuts.
        """
        frame = self._keeps_frame(X)
        self.binarizer_, self._tree_over_columns = None, False
        if not frame and np.all((X == 0) | (X == 1)):
            return X.astype(np.uint8)
        if self.binarizer is None:
            raise ValueError("binarizer=None needs features that are 0 or 1 and X has others; "
                             "give binarizer='mdlp' or another one.")
        chosen = self.binarizer
        self.binarizer_ = BINARIZERS[chosen]() if isinstance(chosen, str) else clone(chosen)
        seen_X, seen_y = X, y
        if sample_weight is not None:
            whole = np.all(sample_weight == np.floor(sample_weight))
            copies = sample_weight if whole else sample_weight > 0
            if copies.sum() <= MOST_COPIES * len(y) + 1024:
                seen = np.repeat(np.arange(len(y)), copies.astype(np.int64))
                seen_X = X.iloc[seen] if frame else X[seen]
                seen_y = y[seen]
        columns = np.asarray(self.binarizer_.fit(seen_X, seen_y).transform(X))
        if not np.all((columns == 0) | (columns == 1)):
            raise ValueError("the binarizer made columns that are not 0/1; give one that does.")
        self._tree_over_columns = bool(
            frame or not getattr(self.binarizer_, "maps_to_original_", False))
        return columns.astype(np.uint8)

    def _in_features(self, tree):
        """Write a tree over the columns in the original features, or name its columns."""
        if self.binarizer_ is None:
            return tree
        if not self._tree_over_columns:
            return self.binarizer_.to_original(tree)
        names = self.binarizer_.get_feature_names_out()
        return tree.replace(feature_names=tuple(str(name) for name in names),
                            n_features=len(names))

    # The fit ----------------------------------------------------------------------------------

    def _nodes(self):
        full = 2 ** self.max_depth - 1
        return full if self.max_nodes is None else min(self.max_nodes, full)

    def _solver(self, problem, **options):
        announce_compilation(S.search, "MurTree", seconds=9)
        settings = dict(
            penalty=self.sparsity, min_samples_leaf=self.min_samples_leaf,
            similarity=self.similarity_bound, cache=self.cache,
            feature_order=self.feature_order, child_order=self.child_order,
            refine_bounds=self.refined_bound, merge_columns=self.merge_columns,
            memory_limit=self.memory_limit, random_state=self.random_state)
        return Solver(problem, self.max_depth, self._nodes(), **{**settings, **options})

    def _solve(self, X, y, sample_weight):
        clock = Clock(self.time_limit)
        columns = self._columns(X, y, sample_weight)
        n_classes = len(self.classes_)
        run = _Run(self, columns, y, n_classes, sample_weight, clock)
        tree, report = run.finish(*run.search())
        return self._in_features(tree), report


class _Run:
    """One fit: the data, the start, the search, and the tree with its report."""

    def __init__(self, model, columns, y, n_classes, sample_weight, clock):
        self.model, self.columns, self.y = model, columns, y
        self.n_classes, self.sample_weight, self.clock = n_classes, sample_weight, clock
        self.depth, self.nodes = model.max_depth, model._nodes()
        self.problem = prepare(columns, y, n_classes, sample_weight,
                               min_samples_leaf=model.min_samples_leaf,
                               merge_rows=model.merge_rows, merge_columns=model.merge_columns)
        self.solver = model._solver(self.problem)
        self.trace = []
        self.fallback = None
        start = model.start
        if start is None and clock.time_limit is not None \
                and columns.size > MOST_CELLS_FOR_A_LATE_START:
            start = "cart"
        if start is not None:
            self.fallback = self.heuristic_tree(start)

    def heuristic_tree(self, start):
        """Return a start over the columns that respects all limits."""
        depth = self.depth
        if isinstance(start, str):                  # as deep as every tree fits the node budget
            depth = min(depth, int(np.log2(self.nodes + 1)))
        tree = starting_tree(start, self.columns.astype(np.float64), self.y, self.n_classes,
                             self.sample_weight, depth, self.model.min_samples_leaf,
                             self.model.random_state, self.clock.remaining)
        if tree.n_splits > self.nodes:
            raise ValueError(f"start has {tree.n_splits} feature nodes and max_nodes is "
                             f"{self.nodes}; give a smaller tree or raise max_nodes.")
        return tree

    def cost(self, tree):
        """Return the objective of a tree over the columns."""
        return _penalised_errors(tree, self.columns, self.y, self.sample_weight,
                                 penalty=self.model.sparsity)

    def record(self, event):
        """Note incumbent and bound, if one of them is new."""
        incumbent = min(self.solver.incumbent, self.upper) + self.problem.offset
        bound = min(self.solver.bound + self.problem.offset, incumbent)
        if not self.trace or self.trace[-1][1:3] != (incumbent, bound) or event != "search":
            self.trace.append((self.clock.elapsed - self.solver.compile_seconds, incumbent,
                               bound, event))
            if self.model.verbose:
                print(f"MurTree {self.clock.elapsed:8.1f} s  incumbent {incumbent:g}  "
                      f"bound {bound:g}  gap {incumbent - bound:g}", flush=True)

    def search(self):
        """Run the search; return the status and the proved bound on the objective."""
        self.upper = np.inf
        if self.fallback is not None:
            self.upper = self.cost(self.fallback) - self.problem.offset
        status = "optimal"
        try:
            finished = self.solver.solve(
                self.depth, self.nodes, upper=self.upper, clock=self.clock,
                watch=lambda solver: self.record("search"))
            if not finished:
                status = "time_limit"
        except KeyboardInterrupt:
            status = "interrupted"
        bound = self.solver.bound + self.problem.offset
        self.record(status)
        return status, bound

    def finish(self, status, bound):
        """Build the tree, check that it costs what the search says, and write the report."""
        solver, model = self.solver, self.model
        counters = {**self.problem.counters,
                    **dict(zip(S.COUNTER_NAMES, solver.counters.tolist(), strict=True)),
                    "cache_bytes": solver.space.table.nbytes}
        claimed = min(solver.incumbent, self.upper) + self.problem.offset
        if solver.incumbent < self.upper:
            tree = self.over_columns(solver.tree(min(self.depth, self.nodes)))
        elif self.fallback is not None:
            tree = self.fallback
        else:
            tree = self.heuristic_tree("cart")
        tree = tree.with_counts(self.columns, self.y, self.n_classes, self.sample_weight).pruned()
        objective = self.cost(tree)
        if np.isfinite(claimed) and objective > claimed + 1e-7 * max(1.0, abs(claimed)):
            raise RuntimeError(f"the tree has cost {objective:g}, the search counted {claimed:g}; "
                               "please report this as a bug of odtlib.")
        if status != "optimal" and self.columns.size <= MOST_CELLS_FOR_A_LATE_START:
            cart = self.heuristic_tree("cart")
            if self.cost(cart) < objective:
                tree, objective = cart, self.cost(cart)
        limits = f"depth {self.depth}"
        if self.nodes < 2 ** self.depth - 1:
            limits += f" and {self.nodes} feature nodes"
        if model.min_samples_leaf > 1:
            limits += f", {model.min_samples_leaf} rows a leaf"
        if model.sparsity:
            limits += f", sparsity {model.sparsity:g}"
        start = model.start if model.start is None or isinstance(model.start, str) else "tree"
        report = SolveReport(
            status, objective, min(bound, objective),
            self.clock.elapsed - solver.compile_seconds, start=start, counters=counters,
            trace=self.trace, compile_seconds=solver.compile_seconds,
            proof=f"optimal for these {self.columns.shape[1]} predicates at {limits}"
            if status == "optimal" else "",
            evaluate=partial(_penalised_errors, penalty=model.sparsity))
        return tree, report

    def over_columns(self, nested):
        """Turn the solver's nested tuples into a tree over the given columns."""
        def convert(part):
            if not isinstance(part, tuple):
                return part
            column, zero, one = part
            return (int(self.problem.columns[column]), 0.5, convert(zero), convert(one))
        return DecisionTree.from_nested(convert(nested), n_classes=self.n_classes,
                                        n_features=self.columns.shape[1])
