"""The public estimator: optimal classification trees by the MurTree algorithm."""

from __future__ import annotations

from collections import namedtuple
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


def _penalised_errors(tree, X, y, sample_weight=None, *, penalty):
    return default_objective(tree, X, y, sample_weight) + penalty * tree.n_splits


MOST_NODES = 4095

PathEntry = namedtuple("PathEntry", "max_nodes objective optimal tree")


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
    max_leaf_nodes : int, optional
        Most leaves: the same limit said in leaves, one more than feature nodes.
    min_samples_leaf : int, default=1
        Fewest rows in a leaf.  Above 1 the similarity bound does not hold and is not used, so the
        search takes longer.
    sparsity : float, default=0.0
        Cost of a feature node in units of misclassified weight (Eq. 19).  A split is made only if
        it saves more; large values give small trees, sooner.
    minimise_nodes : bool, default=False
        Whether, among the trees of least cost, one with the fewest feature nodes is found
        (Algorithm 7).  One more search in the filled cache.
    binarizer : {"mdlp", "quantile", "all"}, transformer or None, default="mdlp"
        How features that are not 0/1 become 0/1 columns; not used when all features are 0/1.
        "mdlp" cuts by entropy and class, "quantile" at quantiles, "all" between any two values,
        which can make thousands of columns.  None refuses other features.  A transformer is cloned
        and fitted.  The tree is optimal for the columns that it makes.
    cache : {"dataset", "branch", "closure"} or None, default="dataset"
        What a solved subproblem is remembered by (Section 4.5): its rows, the tests on the path to
        it, or all tests that its rows share.  "branch" recognises fewer equal subproblems,
        "closure" costs more time each.  Without a cache equal subproblems are solved again.
    similarity_bound : bool, default=True
        Whether subproblems are bounded by similar ones (Proposition 9).
    refined_bound : bool, default=True
        Whether a failed search leaves the refined bound of Eq. 17, or only that of DL8.5.
    infer_bounds : bool, default=False
        Whether the bound of a tree with more feature nodes is looked up for one with fewer
        (Proposition 11); of use with node budgets only.
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
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "minimise_nodes": ["boolean"],
        "binarizer": [StrOptions(set(BINARIZERS)), HasMethods(["fit", "transform"]), None],
        "cache": [StrOptions({name for name in CACHES if name}), None],
        "similarity_bound": ["boolean"],
        "refined_bound": ["boolean"],
        "infer_bounds": ["boolean"],
        "incremental_counts": ["boolean"],
        "specialised_depth_two": ["boolean"],
        "feature_order": [StrOptions(set(FEATURE_ORDERS))],
        "child_order": [StrOptions(set(CHILD_ORDERS))],
        "merge_rows": ["boolean"],
        "merge_columns": ["boolean"],
        "deepening": ["boolean"],
        "start": [StrOptions({"cart", "local-search"}), DecisionTree, None],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
    _accepts_categories = True

    def __init__(self, max_depth=4, max_nodes=None, *, max_leaf_nodes=None, min_samples_leaf=1,
                 sparsity=0.0, minimise_nodes=False, binarizer="mdlp", cache="dataset",
                 similarity_bound=True, refined_bound=True, infer_bounds=False,
                 incremental_counts=True, specialised_depth_two=True, feature_order="depth-two",
                 child_order="dynamic", merge_rows=True, merge_columns=True, deepening=False,
                 start=None, time_limit=None, memory_limit=None, random_state=None, verbose=0):
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.sparsity = sparsity
        self.minimise_nodes = minimise_nodes
        self.binarizer = binarizer
        self.cache = cache
        self.similarity_bound = similarity_bound
        self.refined_bound = refined_bound
        self.infer_bounds = infer_bounds
        self.incremental_counts = incremental_counts
        self.specialised_depth_two = specialised_depth_two
        self.feature_order = feature_order
        self.child_order = child_order
        self.merge_rows = merge_rows
        self.merge_columns = merge_columns
        self.deepening = deepening
        self.start = start
        self.time_limit = time_limit
        self.memory_limit = memory_limit
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

    def _nodes(self, n_rows):
        """Return the node budget that all limits leave."""
        nodes = 2 ** self.max_depth - 1
        if self.max_nodes is not None:
            nodes = min(nodes, self.max_nodes)
        if self.max_leaf_nodes is not None:
            nodes = min(nodes, self.max_leaf_nodes - 1)
        if nodes > MOST_NODES:
            nodes = min(nodes, n_rows - 1)           # more leaves than rows are of no use
        if nodes > MOST_NODES:
            raise ValueError(f"max_depth={self.max_depth} allows {nodes} feature nodes, more than "
                             f"the {MOST_NODES} that a search can keep; give max_nodes or a "
                             "max_depth of 12 or less.")
        return nodes

    def _solver(self, problem, nodes):
        announce_compilation(S.search, "MurTree", seconds=10)
        return Solver(
            problem, self.max_depth, nodes, penalty=self.sparsity,
            min_samples_leaf=self.min_samples_leaf, similarity=self.similarity_bound,
            cache=self.cache, feature_order=self.feature_order, child_order=self.child_order,
            refine_bounds=self.refined_bound, infer_bounds=self.infer_bounds,
            merge_columns=self.merge_columns, specialised=self.specialised_depth_two,
            incremental=self.incremental_counts, share_sizes=self.minimise_nodes,
            memory_limit=self.memory_limit, random_state=self.random_state)

    def _solve(self, X, y, sample_weight):
        clock = Clock(self.time_limit)
        every = getattr(self, "_every_budget", False)
        run = _Run(self, self._columns(X, y, sample_weight), y, sample_weight, clock,
                   smallest=0 if every else None)
        run.search()
        tree, report = run.finish()
        if every:
            self._path = run.path(tree, report)
        return self._in_features(tree), report

    def path(self, X, y, sample_weight=None):
        """Find the optimal tree for every node budget from 0 to the limit, in one search.

        All budgets share one pass over the splits and one cache (Section 4.5.5).  The estimator is
        fitted too: ``tree_`` is the tree for the largest budget.  The limits, ``sparsity`` and
        ``time_limit`` hold; ``start`` and ``minimise_nodes`` are not used.

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
        list of PathEntry
            ``(max_nodes, objective, optimal, tree)`` for each budget, the smallest first.
        """
        self._every_budget = True
        try:
            self.fit(X, y, sample_weight)
        finally:
            del self._every_budget
        names = None if self._tree_over_columns else self.tree_.feature_names
        entries, optimal = self.__dict__.pop("_path"), self.report_.status == "optimal"
        return [PathEntry(nodes, cost, optimal, self._in_features(tree).replace(
            classes=self.classes_, **({"feature_names": names} if names else {})))
            for nodes, cost, tree in entries]


class _Run:
    """One fit: the data, the start, the search, and the tree with its report."""

    def __init__(self, model, columns, y, sample_weight, clock, smallest=None):
        self.model, self.columns, self.y = model, columns, y
        self.n_classes, self.sample_weight, self.clock = len(model.classes_), sample_weight, clock
        self.depth, self.nodes = model.max_depth, model._nodes(len(y))
        self.smallest = self.nodes if smallest is None else smallest
        self.problem = prepare(columns, y, self.n_classes, sample_weight,
                               min_samples_leaf=model.min_samples_leaf,
                               merge_rows=model.merge_rows, merge_columns=model.merge_columns)
        self.solver = model._solver(self.problem, self.nodes)
        clock.exclude(self.solver.compile_seconds)
        self.trace = []
        self.status, self.bound = "optimal", -np.inf
        self.start, self.upper = None, np.inf        # a tree to begin with, and its cost
        # As deep as any tree fits the node budget.
        self.safe_depth = min(self.depth, int(np.log2(self.nodes + 1)))
        if model.start is not None and smallest is None:
            self.begin_with(model.start)

    def begin_with(self, start):
        """Take a start that respects all limits as the tree to beat."""
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
                print(f"MurTree {self.clock.elapsed:8.1f} s  incumbent {incumbent:g}  "
                      f"bound {bound:g}  gap {incumbent - bound:g}", flush=True)

    def search(self):
        """Run the search; keep status, bound, and cost and tree for each node budget."""
        solver = self.solver
        try:
            first = 3 if self.model.deepening and self.smallest == self.nodes else self.depth
            for depth in range(first, self.depth):       # anytime: the smaller problems first
                if solver.solve(depth, self.nodes, upper=self.upper, clock=self.clock) \
                        and solver.incumbent() < self.upper:
                    value = solver.incumbent() + self.problem.offset
                    self.take(self.checked(solver.tree(depth), value))
                    self.trace.append((self.clock.elapsed, value,
                                       self.problem.offset, f"depth {depth}"))
            finished = solver.solve(
                self.depth, self.nodes, smallest=self.smallest, upper=self.upper,
                clock=self.clock, watch=lambda _: self.record("search"))
            if not finished:
                self.status = "time_limit"
        except KeyboardInterrupt:
            self.status = "interrupted"
        self.bound = solver.bound() + self.problem.offset
        self.record(self.status)
        self.counters = {**self.problem.counters, **solver.counted(),
                         "cache_bytes": solver.space.table.nbytes}
        budgets = [n for n in range(self.smallest, self.nodes + 1)
                   if np.isfinite(solver.incumbent(n))]
        claims = [solver.incumbent(n) + self.problem.offset for n in budgets]
        self.found = {n: self.checked(nested, claim) for n, nested, claim
                      in zip(budgets, solver.trees(self.depth, budgets), claims, strict=True)}

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
                                     upper=value + 1e-9 * max(1.0, abs(value)),
                                     clock=self.clock):
                self.status = "time_limit"
                return tree
        except KeyboardInterrupt:
            self.status = "interrupted"
            return tree
        for nodes in range(tree.n_splits):
            if np.isfinite(self.solver.incumbent(nodes)):
                return self.checked(self.solver.trees(self.depth, [nodes])[0], cost)
        return tree

    def checked(self, nested, claim):
        """Turn the solver's nested tuples into a tree over the columns that costs as claimed."""
        used = []

        def convert(part):
            if not isinstance(part, tuple):
                return part
            column, zero, one = part
            used.append(int(self.problem.columns[column]))
            return (len(used) - 1, 0.5, convert(zero), convert(one))

        converted = convert(nested)
        tree = DecisionTree.from_nested(converted, n_classes=self.n_classes, n_features=len(used))
        tree = tree.with_counts(self.columns[:, used], self.y, self.n_classes, self.sample_weight)
        tree = tree.replace(feature=np.array([*used, -1])[tree.feature],
                            n_features=self.columns.shape[1]).pruned()
        if self.cost(tree) > claim + 1e-7 * max(1.0, abs(claim)):
            raise RuntimeError(f"the tree has cost {self.cost(tree):g}, the search counted "
                               f"{claim:g}; please report this as a bug of odtlib.")
        return tree

    def finish(self):
        """Return the tree for the largest node budget and the report."""
        model = self.model
        fewest = ""
        trees = [self.found.get(self.nodes), self.start]
        if self.status != "optimal":                 # never worse than CART
            trees.append(self.checked(self.solver.greedy_tree(self.safe_depth), np.inf))
        tree = min((tree for tree in trees if tree is not None), key=self.cost)
        if self.status == "optimal" and model.minimise_nodes and self.smallest == self.nodes:
            tree = self.smaller(tree)
            fewest = ", with the fewest feature nodes"
        objective = self.cost(tree)
        limits = f"depth {self.depth}"
        if self.nodes < 2 ** self.depth - 1:
            limits += f" and {self.nodes} feature nodes"
        if model.min_samples_leaf > 1:
            limits += f", {model.min_samples_leaf} rows a leaf"
        if model.sparsity:
            limits += f", sparsity {model.sparsity:g}"
        start = model.start if model.start is None or isinstance(model.start, str) else "tree"
        report = SolveReport(
            self.status, objective, min(self.bound, objective),
            self.clock.elapsed, start=start,
            counters=self.counters, trace=self.trace, compile_seconds=self.solver.compile_seconds,
            proof=f"optimal for these {self.columns.shape[1]} predicates at {limits}{fewest}"
            if self.status == "optimal" else "",
            evaluate=partial(_penalised_errors, penalty=model.sparsity))
        return tree, report

    def path(self, tree, report):
        """Return ``(nodes, cost, tree)`` for every node budget."""
        trees = {**self.found, self.nodes: tree}
        best, entries = None, []
        for nodes in range(self.nodes + 1):
            if nodes in trees and (best is None or self.cost(trees[nodes]) < self.cost(best)):
                best = trees[nodes]
            entries.append((nodes, self.cost(best), best))
        return entries
