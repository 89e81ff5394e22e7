"""The exact optimum of the restricted problem by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from odtlib._numba.warm import warm_up
from odtlib.column_generation import _kernels as k
from odtlib.column_generation.paths import RestrictedProblem, check_size
from odtlib.estimator import TreeClassifier
from odtlib.heuristics import starting_tree, warm_up_sampling, warm_up_start
from odtlib.heuristics.threshold_sampling import TreeSampler, sample_splits, tree_of_splits
from odtlib.mip.units import TooLarge, class_costs, look
from odtlib.report import Clock, SolveReport, TimeUp, default_objective, these
from odtlib.tree import DecisionTree, midpoint

SLICE = 20_000_000   # words between two looks at the clock: some 30 ms
MOST_KEPT = 128      # row sets a node remembers for similarity bounds


class DynamicProgram:
    """Search for the best choice of splits of a restricted problem, resumable after every slice.

    Parameters
    ----------
    problem : RestrictedProblem
        Rows and candidate splits.
    choices : array of int, shape (n_nodes,), optional
        A known choice; only better ones are looked for.
    """

    def __init__(self, problem, choices=None):
        self.problem = problem
        packed, depth = problem.packed, problem.depth
        n_words = len(packed["whole"])
        widest = int(np.diff(problem.start).max())
        # similar row sets bound errors, not what leaves cost
        kept = 0 if problem.limited else min(widest, MOST_KEPT)
        self.known = choices
        # more than any allowed tree costs: without a known choice even the worst is better
        below = problem.unit_limits[2]
        if choices is not None:
            below = np.rint(problem.cost(choices) / problem.unit)
        self.state = np.zeros(k.N_STATE, np.int64)
        self.real = np.zeros((depth, k.N_REAL))
        self.real[0, k.BELOW] = self.real[0, k.BEST] = below
        self.tree = np.full((depth, problem.n_nodes), -1)
        rows = np.zeros((depth + 1, n_words), np.uint64)
        rows[0] = packed["whole"]
        self.arguments = (
            depth, problem.start, packed["left"], packed["word_class"], packed["word_weight"],
            packed["word_count"], problem.n_classes, problem.unit_limits, packed["twins"], 0.5,
            self.state,
            np.zeros((depth, k.N_FRAME), np.int64), self.real, rows,
            np.zeros((depth, widest), np.int64), self.tree,
            np.zeros((depth, problem.n_nodes), np.int64),
            np.zeros((problem.n_nodes, kept, n_words), np.uint64),
            np.zeros((problem.n_nodes, kept)), np.zeros(problem.n_nodes, np.int64),
            np.zeros(n_words, np.int64), np.zeros((2, problem.n_classes)), np.zeros(widest))

    def advance(self, work=SLICE):
        """Search for one slice.

        Parameters
        ----------
        work : int, default=SLICE
            About how many words of bit sets to read.
        """
        k.search(work, *self.arguments)

    @property
    def done(self):
        """Whether the search has ended: the best choice is proved optimal."""
        return self.state[k.PHASE] == k.DONE

    @property
    def choices(self):
        """The best choice that is known, None if there is none yet."""
        found = self.tree[0, 0] >= 0
        return self.tree[0].copy() if found else self.known

    @property
    def lower_bound(self):
        """No choice costs less: weight of errors, and what leaves cost."""
        packed = self.problem.packed
        best = self.real[0, k.BEST]
        if self.done:
            return best * self.problem.unit
        twins = k._weight(packed["twins"], packed["word_weight"])
        return min(best, twins) * self.problem.unit

    @property
    def counters(self):
        """What the search counted."""
        return {"subproblems": int(self.state[k.SUBPROBLEMS]),
                "last_splits": int(self.state[k.BOTTOMS]),
                "bounded": int(self.state[k.BOUNDED])}


def all_splits(X, n_nodes=1, clock=None):
    """Return a split between any two neighbouring values of each feature.

    Parameters
    ----------
    X : array of float64, shape (n_rows, n_features)
        Rows.
    n_nodes : int, default=1
        How many nodes are to have them; TooLarge is raised where that is too much.
    clock : Clock, optional
        TimeUp is raised when it has expired.

    Returns
    -------
    list of (int, float)
    """
    values = []
    for column in X.T:
        look(clock)
        values.append(np.unique(column))
    check_size(n_nodes, n_nodes * sum(len(own) - 1 for own in values), len(X))
    return [(f, float(midpoint(low, high))) for f, column in enumerate(values)
            for low, high in zip(column[:-1], column[1:], strict=True)]


@dataclass(frozen=True)
class Cost:
    """Recompute the objective of a tree: misclassified weight, and the penalty of its leaves.

    Parameters
    ----------
    classes : array
        Labels.
    costs : array of float, shape (n_classes,)
        Cost of misclassifying a row of each.
    leaf_penalty : float
        Cost of every leaf.
    """

    classes: object
    costs: object
    leaf_penalty: float

    def weights(self, y, sample_weight=None):
        """Return the weight of every row, its class's included.

        Parameters
        ----------
        y : array, shape (n_rows,)
            Labels.
        sample_weight : array of float, shape (n_rows,), optional
            Weight of every row (default: one).

        Returns
        -------
        array of float, shape (n_rows,), or None
            None where every weight is one.
        """
        if np.all(self.costs == 1.0):
            return sample_weight
        weight = self.costs[np.searchsorted(self.classes, y)]
        return weight if sample_weight is None else weight * sample_weight

    def __call__(self, tree, X, y, sample_weight=None):
        """Evaluate a tree.

        Parameters
        ----------
        tree : DecisionTree
            The tree.
        X, y, sample_weight
            Rows, labels and weights.

        Returns
        -------
        float
        """
        weight = self.weights(np.asarray(y), sample_weight)
        return default_objective(tree, X, y, weight) + self.leaf_penalty * tree.n_leaves


class CandidateTreeClassifier(TreeClassifier):
    """Base class: sample or take candidate splits, then solve the restricted problem."""

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "splits": [list, StrOptions({"all"}), None],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "sample_share": [Interval(Real, 0, 1, closed="right")],
        "stopping": [StrOptions({"fixed", "no-new-root"})],
        "root_candidates": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"}), None],
        "node_candidates": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"}), None],
        "sampling": [StrOptions({"compiled", "sklearn"})],
        "class_costs": [dict, None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "leaf_penalty": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Interval(Integral, 1, None, closed="left")],
    }

    def _warm_up(self, X, y, sample_weight):
        def run():
            X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
            sampled = sample_splits(X, y, 2, max_depth=2, n_trees=1)
            problem = RestrictedProblem(X, y, 2, sampled.splits)
            program = DynamicProgram(problem, problem.choose(sampled.cart))
            while not program.done:
                program.advance()
            problem.tree(program.choices).predict(X)
            float(program.lower_bound)

        return warm_up_start("cart") + warm_up_sampling() + warm_up(
            "the dynamic program over candidate splits", k.search, run)

    def _solve(self, X, y, sample_weight):
        clock = Clock(self.time_limit)
        rule = Cost(self.classes_, class_costs(self.class_costs, self.classes_),
                    self.leaf_penalty)
        splits = self.splits
        depth = self._depth_within(len(X))
        if isinstance(splits, list):
            depth = int(self.max_depth)     # the lists make the tree
            _check_splits(splits, depth)
        weight = rule.weights(self.classes_[y], sample_weight)
        if weight is not None and not weight.all():     # classes that cost nothing
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.cart_ = None
        run = _Run(X, y, len(self.classes_), weight, depth, rule, clock)
        try:
            if depth == 0:
                return run.tree(run.leaf(), "optimal", proof="optimal at depth 0")
            cart, counters = None, {}
            if not isinstance(splits, list):
                check_size(2 ** depth - 1, 0, len(X))
                splits, cart, counters = self._candidates(run)
                self.cart_ = tree_of_splits(cart, X, y, run.n_classes, weight).replace(
                    classes=self.classes_)
                if not splits[0]:
                    return run.tree(run.leaf(), "heuristic", counters={"splits": 0, **counters})
            counters["sampling_seconds"] = clock.elapsed
            self.problem_ = RestrictedProblem(
                X, y, run.n_classes, splits, weight,
                min_samples_leaf=int(self.min_samples_leaf), leaf_penalty=self.leaf_penalty,
                clock=clock)
            counters = {"splits": self.problem_.n_splits, **counters}
            start = None if cart is None else self.problem_.choose(cart)
            choices, bound, status, found, trace = self._search(self.problem_, start, clock)
        except (TimeUp, TooLarge) as error:      # nothing was searched: CART is what there is
            status = "time_limit" if isinstance(error, TimeUp) else "memory_limit"
            tree = starting_tree("cart", X, y, run.n_classes, weight, depth,
                                 int(self.min_samples_leaf), 0)
            return run.tree(min(tree, run.leaf(), key=run.objective), status, start="cart")
        tree = self.problem_.tree(choices)
        objective = run.objective(tree)
        if status == "optimal" or bound > objective:
            bound = objective
        trace.append((clock.elapsed, objective, bound, status))
        return run.tree(
            tree, status, bound, start=None if cart is None else "cart",
            counters={**counters, **found}, trace=trace,
            proof=f"optimal for {these(self.problem_.n_splits, 'candidate split')} at depth "
                  f"{depth}")

    def _candidates(self, run):
        """Return the candidate splits of every node, the splits of CART, and counters."""
        clock, n_nodes = run.clock, 2 ** run.depth - 1
        rows = run.X, run.y, run.n_classes, run.weight
        if self.splits == "all":
            found = all_splits(run.X, n_nodes, clock)
            if not found:
                raise ValueError("splits='all' finds no threshold: every column of X is constant.")
            return [found] * n_nodes, TreeSampler(*rows, run.depth).grow(), {}
        sampled = sample_splits(
            *rows, max_depth=run.depth, n_trees=self.n_trees, sample_share=self.sample_share,
            stopping=self.stopping, root_candidates=self.root_candidates,
            node_candidates=self.node_candidates, backend=self.sampling, n_jobs=self.n_jobs,
            random_state=self.random_state,
            # as published: a third of the time
            time_limit=None if self.time_limit is None else self.time_limit / 3)
        return sampled.splits, sampled.cart, {"trees": sampled.n_trees}


def _check_splits(splits, depth):
    """Refuse lists of splits that make no full tree of a depth, or hold what is no split."""
    if depth > 62 or (depth and len(splits) != 2 ** depth - 1):
        n_nodes = 2 ** depth - 1 if depth <= 62 else f"2**{depth} - 1"
        raise ValueError(f"splits has {len(splits)} lists; a tree of depth {depth} has {n_nodes} "
                         "feature nodes.")
    for node, own in enumerate(splits):
        for split in own:
            if not (isinstance(split, (tuple, list)) and len(split) == 2
                    and isinstance(split[0], Integral) and isinstance(split[1], Real)
                    and not np.isnan(split[1])):
                raise ValueError(f"splits has {split!r} for node {node}; give pairs of the number "
                                 "of a feature and a threshold.")


@dataclass(frozen=True)
class _Run:
    """The rows of a fit, and what its report needs."""

    X: np.ndarray
    y: np.ndarray
    n_classes: int
    weight: np.ndarray
    depth: int
    rule: Cost
    clock: Clock

    def leaf(self):
        """Return the tree without a split."""
        return DecisionTree.from_nested(
            int(np.argmax(np.bincount(self.y, self.weight))), n_classes=self.n_classes,
            n_features=self.X.shape[1]).with_counts(self.X, self.y, self.n_classes, self.weight)

    def objective(self, tree):
        """Return the objective of a tree over class numbers."""
        return (default_objective(tree, self.X, self.y, self.weight)
                + self.rule.leaf_penalty * tree.n_leaves)

    def tree(self, tree, status, bound=0.0, **report):
        """Return a tree and its report."""
        objective = self.objective(tree)
        if objective == 0.0 and status != "optimal":
            status, report["proof"] = "optimal", "optimal at any depth"
        total = len(self.y) if self.weight is None else self.weight.sum()
        return tree, SolveReport(
            status, objective, objective if status == "optimal" else bound, self.clock.elapsed,
            evaluate=self.rule, scale=total + self.rule.leaf_penalty, **report)


class RestrictedTreeClassifier(CandidateTreeClassifier):
    """Find the best tree whose splits come from a small set of candidates at every node.

    This is the problem that the column generation of Firat et al. (2020) and Patel et al. (2023)
    solves by integer programming; a depth-first search over nodes and bit sets of rows solves it
    exactly, in milliseconds for the papers' candidate sets.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree; each level more multiplies the work by up to twice the number of
        candidates of a node.
    splits : list of list of (int, float), "all" or None, default=None
        Candidate splits (feature, threshold) of every feature node in heap order; or every
        threshold between neighbouring values at every node, for small depths and data.  None
        samples them by CART, see :func:`odtlib.heuristics.sample_splits`.
    n_trees : int, default=300
        Trees to sample from.
    sample_share : float, default=0.9
        Share of the rows behind each of them; smaller gives more varied candidates.
    stopping : {"fixed", "no-new-root"}, default="fixed"
        Grow ``n_trees`` trees, or go on until so many in a row bring no new root split.
    root_candidates, node_candidates : int, "all" or None, default=None
        Splits kept at the root and at every other node; more can only improve the training
        accuracy.  None keeps the papers' numbers.
    sampling : {"compiled", "sklearn"}, default="compiled"
        What grows the trees; they differ where splits are equally good.
    class_costs : dict, default=None
        Cost of misclassifying a row of a class, for instance of a false negative; 1 for classes
        that it does not name.  The costs multiply the sample weights, also in the sampling.
    min_samples_leaf : int, default=1
        Fewest rows of a leaf.  Above 1 nodes may do without a split.
    leaf_penalty : float, default=0.0
        What every leaf adds to the objective; more makes smaller trees.
    n_jobs : int, default=1
        Threads for the sampling.
    time_limit : float, default=None
        Seconds; sampling takes at most a third of it.
    random_state : int, RandomState or None, default=0
        Seed of the sampling; 0 draws the parts of the published program.
    verbose : int, default=0
        1 prints every better tree.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree.
    report_ : SolveReport
        ``counters``: candidate ``splits``, ``subproblems``, ``last_splits`` tried at nodes above
        leaves, and subproblem pairs ``bounded`` without a search.
    cart_ : DecisionTree or None
        The CART of all rows, which the tree is never worse than; None where splits were given.
    problem_ : RestrictedProblem
        The candidates; missing where no split was found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odtlib import RestrictedTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RestrictedTreeClassifier(max_depth=2).fit(X, y)
    >>> model.report_.status, model.report_.objective
    ('optimal', 6.0)
    """

    _parameter_constraints = CandidateTreeClassifier._parameter_constraints

    def __init__(self, max_depth=4, *, splits=None, n_trees=300, sample_share=0.9,
                 stopping="fixed", root_candidates=None, node_candidates=None,
                 sampling="compiled", class_costs=None, min_samples_leaf=1, leaf_penalty=0.0,
                 n_jobs=1, time_limit=None, random_state=0, verbose=0):
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
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _search(self, problem, start, clock):
        start = problem.choose([None] * problem.n_nodes) if start is None else start
        program = DynamicProgram(problem, start)
        trace = [(clock.elapsed, problem.cost(start), 0.0, "start")]
        status = "optimal"
        try:
            while not program.done:
                if clock.expired:
                    status = "time_limit"
                    break
                program.advance()
                best = program.real[0, k.BEST] * problem.unit
                if best < trace[-1][1]:
                    trace.append((clock.elapsed, best, program.lower_bound, "better tree"))
                    if self.verbose:
                        print(f"{clock.elapsed:8.2f} s  {best:g} errors", flush=True)
        except KeyboardInterrupt:
            status = "interrupted"
        return program.choices, program.lower_bound, status, program.counters, trace


def optimum(problem):
    """Solve a restricted problem.

    Parameters
    ----------
    problem : RestrictedProblem
        Rows and candidate splits.

    Returns
    -------
    float
        The least weight of misclassified rows, with what leaves cost.
    """
    program = DynamicProgram(problem)
    while not program.done:
        program.advance()
    return program.lower_bound


