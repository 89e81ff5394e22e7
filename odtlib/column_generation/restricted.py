"""The exact optimum of the restricted problem by dynamic programming."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from odtlib.column_generation import _kernels as k
from odtlib.column_generation.paths import RestrictedProblem
from odtlib.estimator import TreeClassifier, announce_compilation
from odtlib.heuristics.threshold_sampling import sample_splits, tree_of_splits
from odtlib.report import Clock, SolveReport, default_objective
from odtlib.tree import DecisionTree

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
        kept = min(widest, MOST_KEPT)
        self.known = choices
        # one unit more than all rows: without a known choice even the worst tree is better
        below = problem.units.sum() + 1.0
        if choices is not None:
            below = np.rint(problem.errors(choices) / problem.unit)
        self.state = np.zeros(k.N_STATE, np.int64)
        self.real = np.zeros((depth, k.N_REAL))
        self.real[0, k.BELOW] = self.real[0, k.BEST] = below
        self.tree = np.full((depth, problem.n_nodes), -1)
        rows = np.zeros((depth + 1, n_words), np.uint64)
        rows[0] = packed["whole"]
        self.arguments = (
            depth, problem.start, packed["left"], packed["word_class"], packed["word_weight"],
            problem.n_classes, packed["twins"], 0.5, self.state,
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
        """No choice has fewer errors, by weight."""
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


class CandidateTreeClassifier(TreeClassifier):
    """Base class: sample or take candidate splits, then solve the restricted problem."""

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "splits": [list, None],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "sample_share": [Interval(Real, 0, 1, closed="right")],
        "stopping": [StrOptions({"fixed", "no-new-root"})],
        "root_candidates": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"}), None],
        "node_candidates": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"}), None],
        "sampling": [StrOptions({"compiled", "sklearn"})],
        "n_jobs": [Interval(Integral, 1, None, closed="left")],
    }

    def _solve(self, X, y, sample_weight):
        n_classes = len(self.classes_)
        clock = Clock(self.time_limit)
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        leaf = DecisionTree.from_nested(int(np.argmax(np.bincount(y, weights))),
                                        n_classes=n_classes, n_features=X.shape[1])
        if self.max_depth == 0:
            tree = leaf.with_counts(X, y, n_classes, sample_weight)
            objective = default_objective(tree, X, y, sample_weight)
            return tree, SolveReport("optimal", objective, objective, clock.elapsed,
                                     proof="optimal at depth 0")
        cart = self.cart_ = None
        if self.splits is None:
            sampled = sample_splits(
                X, y, n_classes, sample_weight, max_depth=self.max_depth, n_trees=self.n_trees,
                sample_share=self.sample_share, stopping=self.stopping,
                root_candidates=self.root_candidates, node_candidates=self.node_candidates,
                backend=self.sampling, n_jobs=self.n_jobs, random_state=self.random_state,
                # as published: a third of the time
                time_limit=None if self.time_limit is None else self.time_limit / 3)
            splits, cart = sampled.splits, sampled.cart
            self.cart_ = tree_of_splits(cart, X, y, n_classes, sample_weight).replace(
                classes=self.classes_)
            if not splits[0]:
                tree = leaf.with_counts(X, y, n_classes, sample_weight)
                objective = default_objective(tree, X, y, sample_weight)
                return tree, SolveReport("heuristic", objective, 0.0, clock.elapsed,
                                         counters={"splits": 0, "trees": sampled.n_trees})
        else:
            splits = self.splits
            if len(splits) != 2 ** self.max_depth - 1:
                raise ValueError(f"splits has {len(splits)} lists; a tree of depth "
                                 f"{self.max_depth} has {2 ** self.max_depth - 1} feature nodes.")
        seconds = clock.elapsed
        self.problem_ = RestrictedProblem(X, y, n_classes, splits, sample_weight)
        start = None if cart is None else self.problem_.choose(cart)
        choices, bound, status, counters, trace = self._search(self.problem_, start, clock)
        tree = self.problem_.tree(choices)
        objective = default_objective(tree, X, y, sample_weight)
        if status == "optimal" or bound > objective:
            bound = objective
        counters = {"splits": self.problem_.n_splits, "sampling_seconds": seconds, **counters}
        trace.append((clock.elapsed, objective, bound, status))
        return tree, SolveReport(
            status, objective, bound, clock.elapsed, start=None if cart is None else "cart",
            counters=counters, trace=trace,
            proof=f"optimal for these {self.problem_.n_splits} candidate splits at depth "
                  f"{self.max_depth}")


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
    splits : list of list of (int, float), optional
        Candidate splits (feature, threshold) of every feature node in heap order.  By default
        they are sampled by CART, see :func:`odtlib.heuristics.sample_splits`.
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
                 sampling="compiled", n_jobs=1, time_limit=None, random_state=0, verbose=0):
        self.max_depth = max_depth
        self.splits = splits
        self.n_trees = n_trees
        self.sample_share = sample_share
        self.stopping = stopping
        self.root_candidates = root_candidates
        self.node_candidates = node_candidates
        self.sampling = sampling
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _search(self, problem, start, clock):
        announce_compilation(k.search, "the dynamic program over candidate splits", 4)
        start = np.zeros(problem.n_nodes, np.int64) if start is None else start
        program = DynamicProgram(problem, start)
        trace = [(clock.elapsed, problem.errors(start), 0.0, "start")]
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
        The least weight of misclassified rows.
    """
    program = DynamicProgram(problem)
    while not program.done:
        program.advance()
    return program.lower_bound


