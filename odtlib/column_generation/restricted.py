"""The exact optimum of the restricted problem by dynamic programming."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._param_validation import StrOptions

from odtlib._numba.warm import warm_up
from odtlib.column_generation import _kernels as k
from odtlib.column_generation.certificate import CertifiedCandidates
from odtlib.column_generation.options import ThresholdSampling
from odtlib.column_generation.paths import RestrictedProblem, check_size
from odtlib.column_generation.units import look
from odtlib.estimator import TreeClassifier
from odtlib.fit import Fit, TooLarge
from odtlib.heuristics.cart import single_leaf
from odtlib.heuristics.start import starting_tree, warm_up_start
from odtlib.heuristics.threshold_sampling import (
    TreeSampler,
    sample_splits,
    tree_of_splits,
    warm_up_sampling,
)
from odtlib.report import Clock, TimeUp, default_objective, pluralised
from odtlib.tree import midpoint
from odtlib.trees import cut_back

MAX_KEPT = 128          # row sets that a node keeps for similarity bounds
MAX_TREE_BYTES = 2**31  # of the best subtrees for each level and budget
MEGABYTE = 1e6


class DynamicProgram:
    """Search for the best choice of splits of a restricted problem, resumable after each slice.

    Parameters
    ----------
    problem : RestrictedProblem
        Rows and candidate splits.
    choices : array of int, shape (n_nodes,), optional
        A known choice; only better ones are looked for.
    distinct_splits : bool, default=False
        Use no split twice on a path.
    """

    def __init__(self, problem, choices=None, distinct_splits=False):
        self.problem = problem
        self.identity = np.full(problem.n_splits, -1)
        if distinct_splits:
            self.identity = problem.identity
            if choices is not None and not problem.has_distinct_splits(choices):
                choices = None
        self.known = choices
        depth, n_nodes = problem.depth, problem.n_nodes
        n_words = len(problem.packed["all_rows"])
        widest = int(problem.sizes.max())
        # at most so many leaves below a node of each level; 0: any number
        budget = problem.max_leaves or 0
        self.max_leaves = np.array([min(budget, 2 ** (depth - h)) for h in range(depth)])
        n_budgets = budget + 1
        if 2 * depth * n_budgets * n_nodes * 8 > min(problem.max_bytes, MAX_TREE_BYTES):
            raise TooLarge(f"the best trees of {n_budgets} budgets at depth {depth} take too much "
                           "memory; lower max_depth or max_leaf_nodes.")
        # similarity bounds hold for errors alone, and for the same candidates
        kept = 0 if problem.limited or distinct_splits else min(widest, MAX_KEPT)
        if kept and np.isfinite(problem.max_bytes):
            left_over = problem.max_bytes - problem.goes_left.size
            kept = int(max(0, min(kept, left_over // (8 * n_nodes * n_words))))
        # more than any tree within the limits costs: without a known choice even the worst is new
        below = problem.unit_limits[2]
        if choices is not None:
            below = np.rint((problem.cost(choices) + problem.penalty) / problem.unit)
        self.state = np.zeros(k.N_STATE, np.int64)
        self.best = np.full((depth, n_budgets), -np.inf)
        self.best[0, self.max_leaves[0]] = below
        rows = np.zeros((depth + 1, n_words), np.uint64)
        rows[0] = problem.packed["all_rows"]
        self.tree = np.full((depth, n_budgets, n_nodes), -1)
        self.frames = k.Frames(
            np.zeros((depth, k.N_FRAME), np.int64), self.best, np.zeros((depth, n_budgets)), rows,
            np.zeros((depth, widest), np.int64), self.tree,
            np.zeros((depth, n_budgets, n_nodes), np.int64))
        self.kept = k.Kept(np.zeros((n_nodes, kept, n_words), np.uint64), np.zeros((n_nodes, kept)),
                           np.zeros(n_nodes, np.int64))
        self.scratch = k.Scratch(np.zeros(n_words, np.int64), np.zeros((2, problem.n_classes)),
                                 np.zeros(widest), np.zeros(widest, np.int64))

    def step(self, work):
        """Search until about ``work`` words of bit sets have been read."""
        problem, packed = self.problem, self.problem.packed
        words = k.Words(packed["word_class"], packed["word_weight"], packed["word_count"],
                        packed["minority"])
        k.search(work, problem.depth,
                 k.Splits(bool(problem.limited), problem.start, packed["left"], self.identity),
                 words, problem.n_classes, problem.unit_limits, 0.5, self.max_leaves, self.state,
                 self.frames, self.kept, self.scratch)
        if self.done and self.choices is None:
            raise ValueError("no tree over these candidate splits has distinct splits on each "
                             "path; give more splits, lower max_depth, or set "
                             "distinct_splits=False.")

    @property
    def done(self):
        """Whether the search has ended: the best choice is proved optimal."""
        return self.state[k.PHASE] == k.DONE

    def tell(self, fit):
        """Tell a fit the bound, and the best choice if there is one."""
        fit.learn(self.lower_bound)
        if self.choices is not None:
            fit.offer(partial(self.problem.tree, self.choices), self.cost, "better tree")

    @property
    def choices(self):
        """The best choice that is known, None if there is none yet."""
        tree = self.tree[0, self.max_leaves[0]]
        return tree.copy() if tree[0] >= 0 else self.known

    @property
    def cost(self):
        """Cost of the best choice: weight of errors, and penalty of splits."""
        return float(self.best[0, self.max_leaves[0]] * self.problem.unit - self.problem.penalty)

    @property
    def lower_bound(self):
        """No choice costs less."""
        if self.done:
            return self.cost
        packed = self.problem.packed
        minority = k.set_weight(packed["minority"], packed["word_weight"]) * self.problem.unit
        return min(self.cost, minority)

    @property
    def counters(self):
        """What the search counted."""
        return {"subproblems": int(self.state[k.SUBPROBLEMS]),
                "last_splits": int(self.state[k.BOTTOMS]),
                "bounded": int(self.state[k.BOUNDED])}


def all_splits(X, n_nodes=1, clock=None, max_bytes=np.inf):
    """Return a split (feature, threshold) between any two neighbouring values of each feature.

    TooLarge is raised where ``n_nodes`` nodes with these candidates need too much memory.
    """
    values = []
    for column in X.T:
        look(clock)
        values.append(np.unique(column))
    check_size(n_nodes, n_nodes * sum(len(v) - 1 for v in values), len(X), max_bytes)
    return [(f, float(midpoint(low, high))) for f, column in enumerate(values)
            for low, high in zip(column[:-1], column[1:], strict=True)]


class CandidateTreeClassifier(TreeClassifier):
    """Base class: sample or take candidate splits, then solve the restricted problem."""

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "splits": [list, StrOptions({"all"}), None],
        "sampling": [ThresholdSampling, None],
    }

    def _warm_up(self, X, y, sample_weight):
        def run():
            X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
            sampled = sample_splits(X, y, 2, max_depth=2, n_trees=1)
            problem = RestrictedProblem(X, y, 2, sampled.splits)
            program = DynamicProgram(problem, problem.choose(sampled.cart))
            Fit(Clock()).work(program)
            problem.tree(program.choices).predict(X)
            float(program.lower_bound)

        return warm_up_start("cart") + warm_up_sampling() + warm_up(
            "the dynamic program over candidate splits", k.search, run)

    def _solve(self, X, y, sample_weight, protected=None):
        splits = self.splits
        depth, max_nodes = self._depth_within(len(X)), self._node_budget(len(X))
        if isinstance(splits, list):
            if self.max_depth is not None:  # the lists make the tree
                depth = self.max_depth
            else:
                depth = (len(splits) + 1).bit_length() - 1
            _check_splits(splits, depth)
        self.cart_ = None
        vars(self).pop("problem_", None)        # of an earlier fit
        fit = CandidateFit(self, X, y, sample_weight, depth,
                           self._side_constraints(y, sample_weight, protected))
        side, limits = fit.side, self._feature_limits()
        if (depth == 0 or max_nodes == 0 or self.min_samples_leaf > len(y)
                or (side is None and self.split_penalty >= fit.total)):
            fit.proof = "optimal without a split"
            fit.offer(fit.leaf())
            fit.finish()
            return fit.outcome()
        with fit.stops():
            if self._split_limit is not None:
                limits["max_leaves"] = max_nodes + 1
            self._solve_candidates(fit, splits, limits)
        if side is not None and hasattr(self, "problem_") and fit.objective < np.inf \
                and fit.objective >= self.problem_.limits[2]:
            raise ValueError(
                f"no tree of these candidate splits has {' and '.join(side.names)}; weaken a limit."
                if fit.ended == "optimal" else f"no tree with {' and '.join(side.names)} was found "
                "within the limits of the search; weaken one, or give more time.")
        fit.fall_back(int(self.min_samples_leaf), max_nodes, only_leaf="max_feature_cost" in limits)
        return fit.outcome()

    def _solve_candidates(self, fit, splits, limits):
        """Sample the candidates where none are given, and search among them."""
        cart, cut = None, ""
        if not isinstance(splits, list):
            check_size(2 ** fit.depth - 1, 0, len(fit.X))
            splits, cart, fit.counters, cut = self._candidates(fit)
            self.cart_ = fit.tree_of(cart).replace(classes=self.classes_)
            if not splits[0]:
                if fit.counters.get("trees") == 0:
                    raise TimeUp            # before the first tree of the sample
                fit.counters = {"splits": 0, **fit.counters}
                fit.proof = f"optimal for 0 candidate splits at depth {fit.depth}{cut}"
                fit.offer(fit.leaf())
                fit.finish()
                return
            fit.start = "cart"
        sampled = {**fit.counters, "sampling_seconds": fit.clock.elapsed}
        self.problem_ = problem = RestrictedProblem(
            fit.X, fit.y, fit.n_classes, splits, fit.weight,
            min_samples_leaf=int(self.min_samples_leaf), split_penalty=self.split_penalty,
            side=fit.side, early_leaves=getattr(self, "distinct_splits", False),
            max_bytes=fit.max_bytes, clock=fit.clock, **limits)
        n_splits = sum(map(len, splits))
        fit.counters = {"splits": n_splits, **sampled}
        limit = "" if problem.max_leaves is None else f" with at most {problem.max_leaves} leaves"
        if problem.max_feature_cost is not None:
            limit += f" with features that cost at most {problem.max_feature_cost}"
        if fit.side is not None:
            limit += f" with {' and '.join(fit.side.names)}"
        fit.proof = (f"optimal for {pluralised(n_splits, 'candidate split')} at depth "
                     f"{fit.depth}{limit}{cut}")
        self._search(fit, problem.choose([None] * problem.n_nodes if cart is None else cart))

    def _feature_limits(self):
        """Return the arguments of the problem that limit its features."""
        return {}

    def _side_constraints(self, y, sample_weight, protected):
        """Return the constraints over the predictions of all leaves, or None."""
        return None

    def _candidates(self, fit):
        """Return the candidate splits of each node, the splits of CART, counters, and what a report
        has to say of the sample."""
        clock, n_nodes = fit.clock, 2 ** fit.depth - 1
        rows = fit.X, fit.y, fit.n_classes, fit.weight
        if self.splits == "all":
            candidates = all_splits(fit.X, n_nodes, clock, fit.max_bytes)
            cart = TreeSampler(*rows, fit.depth, clock=clock).grow()
            return [candidates] * n_nodes, cart, {}, ""
        options = (self.sampling or ThresholdSampling()).get_params()
        sampled = sample_splits(
            *rows, max_depth=fit.depth, **options,
            n_jobs=effective_n_jobs(self.n_jobs), random_state=self.random_state,
            # as published: a third of the time
            time_limit=None if self.time_limit is None else self.time_limit / 3)
        cut = "" if sampled.complete else (
            f", of a sample that the time limit ended after {sampled.n_trees} tree"
            f"{'s' * (sampled.n_trees != 1)}")
        return sampled.splits, sampled.cart, {"trees": sampled.n_trees}, cut


def _check_splits(splits, depth):
    """Refuse lists of splits that make no full tree of a depth, or hold what is no split."""
    if depth > 62 or (depth and len(splits) != 2 ** depth - 1):
        n_nodes = 2 ** depth - 1 if depth <= 62 else f"2**{depth} - 1"
        raise ValueError(f"splits has {len(splits)} lists; a tree of depth {depth} has {n_nodes} "
                         "feature nodes.")
    for node, candidates in enumerate(splits):
        for split in candidates:
            if not (isinstance(split, (tuple, list)) and len(split) == 2
                    and isinstance(split[0], Integral) and isinstance(split[1], Real)
                    and not np.isnan(split[1])):
                raise ValueError(f"splits has {split!r} for node {node}; give pairs of the number "
                                 "of a feature and a threshold.")


class CandidateFit(Fit):
    """A fit over candidate splits: its rows and limits, and the trees that need no candidates."""

    def __init__(self, model, X, y, weight, depth, side=None):
        self.X, self.y, self.weight, self.depth, self.side = X, y, weight, depth, side
        self.n_classes, self.total = len(model.classes_), float(
            len(y) if weight is None else weight.sum())
        self.penalty = float(getattr(model, "split_penalty", 0.0))
        self.max_bytes = np.inf if model.memory_limit is None else model.memory_limit * MEGABYTE
        super().__init__(
            Clock(model.time_limit), partial(default_objective, X=X, y=y, sample_weight=weight,
                                             split_penalty=self.penalty),
            scale=self.total + self.penalty, verbose=model.verbose)

    def tree_of(self, splits):
        """Return the tree of a split, or None, for each node."""
        return tree_of_splits(splits, self.X, self.y, self.n_classes, self.weight)

    def leaf(self):
        """Return the best tree without a split; ValueError if side constraints allow none."""
        weight = np.bincount(self.y, self.weight, self.n_classes)
        if self.side is not None:
            broken = [self.side.broken_by(np.full(len(self.y), c)) for c in range(self.n_classes)]
            if min(broken) > 0:
                raise ValueError(f"no tree with {' and '.join(self.side.names)} was found without "
                                 "a split; raise the limits of the search, or weaken one of these.")
            weight = np.where(np.array(broken) > 0, -1.0, weight)
        return single_leaf(self.X, self.y, self.n_classes, self.weight, weight.argmax())

    def fall_back(self, min_samples_leaf=1, max_nodes=np.inf, only_leaf=False):
        """Offer a leaf and CART, which keeps no limit over all leaves, where little is known."""
        nothing = self.objective == np.inf
        if nothing and self.stopped:
            self.start = "cart"
            if self.side is None and not only_leaf:
                tree = starting_tree("cart", self.X, self.y, self.n_classes, self.weight,
                                     self.depth, min_samples_leaf, 0,
                                     self.clock.remaining if self.ended == "time_limit" else 0.0)
                self.offer(cut_back(tree, max_nodes, self.penalty))
        if nothing or (self.stopped and self.side is None):
            self.offer(self.leaf())

    def outcome(self):
        tree, report = super().outcome()
        if self.side is not None:
            report.counters.update(self.side.measures(tree.predict_codes(self.X)))
        return tree, report


@dataclass(eq=False, repr=False)
class CandidateParameters(CertifiedCandidates, CandidateTreeClassifier):
    """The parameters of the estimators whose candidates can be given, or sampled."""

    max_depth: int | None = 4
    _: KW_ONLY
    splits: list | str | None = None
    sampling: ThresholdSampling | None = None
    max_nodes: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: float = 1
    split_penalty: float = 0.0
    class_weight: dict | str | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = 0
    verbose: int = 0


@dataclass(eq=False, repr=False)
class RestrictedTreeClassifier(CandidateParameters):
    """Find the best tree whose splits come from a small set of candidates at each node.

    This is the problem that the column generation of Firat et al. (2020) and Patel et al. (2023)
    solves by integer programming; a depth-first search over nodes and bit sets of rows solves it
    exactly, in milliseconds for the papers' candidate sets.

    Parameters
    ----------
    max_depth : int or None, default=4
        Maximum depth of the tree.  None for no limit.  Each further level multiplies the work by up
        to twice the number of candidates of a node.
    splits : list of list of (int, float), "all" or None, default=None
        A list holds the candidate splits (feature, threshold) of each feature node in level order.
        "all" takes every threshold between neighbouring values at each node, for small depths and
        data.  None samples them by CART, see :func:`odtlib.heuristics.sample_splits`.
    sampling : ThresholdSampling or None, default=None
        How candidates are sampled; None takes the defaults of :class:`ThresholdSampling`.
    max_nodes : int or None, default=None
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.  They count in the sampling, too.
    time_limit : float or None, default=None
        Time limit in seconds; None for no limit.  Sampling takes at most a third of it.
    memory_limit : float or None, default=None
        Memory limit in megabytes; None for no limit.  It counts the large arrays; where they do
        not fit, the tree is CART's, and the status is ``memory_limit``.
    n_jobs : int or None, default=None
        Number of threads; None means 1 and -1 all processors.  Only the sampling uses several.
    random_state : int, RandomState or None, default=0
        Seed of the random choices.  0 draws the samples of the published program.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.
    distinct_splits : bool, default=False
        Use no split twice on a path, as in the k-CTCP of Firat et al. (2020, Definition 2).  A
        repeated split sends all rows one way, so allowing it allows smaller trees, which can be
        better.  A path on which no other split is left ends early.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree.
    report_ : SolveReport
        The objective is the weight of errors, plus ``split_penalty`` per split.  ``counters``:
        candidate ``splits``, ``subproblems``, ``last_splits`` tried at nodes above leaves, and
        subproblem pairs ``bounded`` without a search.
    cart_ : DecisionTree or None
        The CART of all rows, where the search starts (without the splits that break a limit);
        None where splits were given.
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

    _parameter_constraints = {
        **CandidateTreeClassifier._parameter_constraints,
        "distinct_splits": ["boolean"],
    }

    _: KW_ONLY
    distinct_splits: bool = False

    def _search(self, fit, start):
        program = DynamicProgram(self.problem_, start, self.distinct_splits)
        if program.choices is not None:
            fit.offer(partial(self.problem_.tree, start), program.cost, "start")
        try:
            fit.work(program)
        finally:
            fit.counters.update(program.counters)
        fit.finish()


def optimum(problem, distinct_splits=False):
    """Solve a restricted problem.

    Parameters
    ----------
    problem : RestrictedProblem
        Rows and candidate splits.
    distinct_splits : bool, default=False
        Use no split twice on a path, as in the k-CTCP of Firat et al. (2020).

    Returns
    -------
    float
        The least weight of misclassified rows, plus the penalty of each split.
    """
    program = DynamicProgram(problem, distinct_splits=distinct_splits)
    Fit(Clock()).work(program)
    return program.lower_bound
