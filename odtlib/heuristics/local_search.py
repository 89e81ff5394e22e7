"""Local search over trees: improve one split at a time while all others stay."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from odtlib._numba.warm import warm_up
from odtlib.estimator import TreeClassifier
from odtlib.fit import Fit, Pace
from odtlib.heuristics import _kernels
from odtlib.heuristics.cart import ONE_LEAF, cart_nodes, patient_clock, single_leaf, warm_up_trees
from odtlib.heuristics.ranks import RankedRows
from odtlib.report import Clock, TimeUp, default_objective
from odtlib.tolerance import ROUNDING

SHARE = 0.7              # of the rows, for the CART that a later restart begins with
CART_FACTOR = 8          # growing CART takes at most about as many times as long as ranking rows
DEPTH_TWO_WORK = 200_000  # rows read at most for one exact tree of depth two: about a millisecond
KNOWN = 4096              # sets of rows for which it is kept what such a tree reaches
PROOF = "optimal at any depth"


@dataclass(eq=False, repr=False)
class LocalSearchTreeClassifier(TreeClassifier):
    """Improve trees one split at a time, from many starting trees.

    Coordinate descent as Dunn (2018) uses it for optimal classification trees.  A sweep goes
    through the tree from the root down.  At a feature node every split of every feature is tried
    while all other splits stay, and leaves are labelled anew for each: the best one is taken, and
    among equals a random one.  A node is replaced by one of its children where that is as good, and
    a leaf above the depth limit is split where that makes it purer.  When a sweep improves nothing,
    one node is changed at random (a kick), and the result is kept unless it is worse. After
    ``patience`` kicks in a row without a better tree the search restarts from another CART.
    Missing values (NaN) go to the better side of each split.

    Parameters
    ----------
    max_depth : int or None, default=3
        Maximum depth of the tree.  None for no limit.  Each further level costs one more pass over
        the rows in each sweep.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    max_restarts : int or None, default=10
        Number of starting trees: the first is CART on all rows, the others are CARTs on a random 70
        % of them.  None restarts until ``time_limit``.
    patience : int, default=20
        Number of consecutive kicks without a better tree before the next restart.
    depth_two : bool, default=True
        Whether a node with two levels left gets its best subtree of depth two, instead of one best
        split after the other, where few rows and cuts make that quick (at most 200,000 rows read).
    time_limit : float or None, default=None
        Time limit in seconds; None for no limit.  Compilation is not included.  The search also
        ends when no tree can be better.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.  These are kicks, ties and subsamples; the same int gives the
        same tree unless the time limit ends the search.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found, without splits that change no prediction.
    report_ : SolveReport
        Status ``heuristic``, ``time_limit`` or ``interrupted``; ``optimal`` where only rows that
        agree in all features are misclassified.  ``lower_bound`` is the weight of the errors that
        every tree makes on such rows.  Counters: restarts, kicks, sweeps.

    Examples
    --------
    >>> from odtlib import LocalSearchTreeClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> print(LocalSearchTreeClassifier(max_depth=2, random_state=0).fit(X, y).report_.objective)
    0.0
    """

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "max_restarts": [Interval(Integral, 1, None, closed="left"), None],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "depth_two": ["boolean"],
    }

    _accepts_missing = _doubles_missing = True

    max_depth: int | None = 3
    _: KW_ONLY
    min_samples_leaf: float = 1
    class_weight: dict | str | None = None
    max_restarts: int | None = 10
    patience: int = 20
    depth_two: bool = True
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _warm_up(self, X, y, sample_weight):
        return warm_up_trees() + warm_up_search()

    def _solve(self, X, y, sample_weight):
        parameters = {**self.get_params(), "max_depth": self._depth_within(len(y))}
        del parameters["class_weight"]      # is in the weights already
        return search_trees(X, y, len(self.classes_), sample_weight, **parameters)


def search_trees(X, y, n_classes, sample_weight, *, max_depth, min_samples_leaf, max_restarts,
                 patience, depth_two, time_limit, random_state, verbose=0):
    """Return a tree and its report; parameters as in ``LocalSearchTreeClassifier``."""
    if max_restarts is None and time_limit is None:
        raise ValueError("max_restarts and time_limit are both None, so the search would never "
                         "end; give one of the two.")
    clock, preparation = Clock(time_limit), patient_clock(time_limit)
    if not X.shape[1]:
        max_depth = 0       # nothing to split
    random = check_random_state(random_state)
    fit = Fit(clock, partial(default_objective, X=X, y=y, sample_weight=sample_weight),
              scale=float(len(y) if sample_weight is None else sample_weight.sum()), start="cart",
              verbose=verbose)
    fit.proof = PROOF
    fit.offer(single_leaf(X, y, n_classes, sample_weight), event="one leaf")
    restart, cart_seconds, search, pace = 0, 0.0, None, Pace()

    def keep_if_better(nodes, event):
        return fit.offer(every_row.tree(nodes).pruned(), event=event)

    with fit.stops():
        every_row = RankedRows(X, y, n_classes, sample_weight, preparation)
        rows = every_row.merged()
        search = _Search(rows, max_depth, min_samples_leaf, patience, depth_two)
        fit.learn(rows.forced)
        while max_depth > 0 and restart != max_restarts:
            begin = clock.elapsed
            if restart > 0:
                if clock.remaining <= cart_seconds:
                    raise TimeUp         # no time left to grow another CART
                chosen = np.sort(random.permutation(rows.n_rows)[:int(SHARE * rows.n_rows) + 1])
                start = cart_nodes(rows, random, chosen, max_depth=max_depth,
                                   min_samples_leaf=min_samples_leaf, clock=clock)
            elif preparation.remaining < CART_FACTOR * preparation.elapsed:
                start = ONE_LEAF         # the search grows it sooner than CART
            else:
                start = cart_nodes(every_row, random, max_depth=max_depth,
                                   min_samples_leaf=min_samples_leaf, clock=preparation)
                keep_if_better(start, "cart")
            cart_seconds = clock.elapsed - begin
            search.begin(start, random.randint(1, 2**31 - 1))
            improved = False
            while not search.finished and not clock.expired:
                if pace.slice(search.step, lambda _: search.finished):
                    improved |= keep_if_better(search.kept, f"restart {restart}")
            if improved:        # the last of equals, wherever the slices have ended
                fit.offer(every_row.tree(search.kept).pruned(), equal=True)
            restart += 1
            if fit.objective <= fit.bound + ROUNDING * fit.scale:
                break
            if not search.finished:
                raise TimeUp
    if search is not None and search.growing:
        keep_if_better(search.nodes, "growing")
    kicks, sweeps = (0, 0) if search is None else \
        search.state[[_kernels.KICKS, _kernels.SWEEPS]].tolist()
    fit.counters = {"restarts": restart, "kicks": kicks, "sweeps": sweeps}
    return fit.tree, fit.report()


class _Search:
    """The arrays of one search, and the slices that the kernel works on them."""

    def __init__(self, rows, max_depth, min_samples_leaf, patience, depth_two):
        n_features, n_rows = rows.ranks.shape
        # in a sweep at most one old and one new leaf per row are in use
        capacity = min(2 ** min(max_depth + 1, 40) - 1, 4 * n_rows + 1)
        n_leaves = capacity // 2 + 1
        order = rows.sorted_rows()
        self.from_leaf = False
        signed = np.where(rows.labels == 0, -rows.weights, rows.weights)
        limits = _kernels.Limits(max_depth, min_samples_leaf, DEPTH_TWO_WORK if depth_two else 0)
        self.fixed = (order, _kernels.Rows(rows.ranks, rows.labels, rows.weights, signed,
                                           rows.members), limits, patience, rows.attainable)
        self.nodes = np.empty((capacity, 4), np.int64)
        self.unused = np.empty(capacity + 1, np.int64)
        self.kept, self.kept_unused = self.nodes.copy(), self.unused.copy()
        self.state = np.zeros(_kernels.N_STATE, np.int64)
        self.correct = np.zeros(_kernels.N_CORRECT)
        self.random = np.zeros(1, np.uint64)
        known = _kernels.Known(
            np.random.default_rng(0).integers(0, 2**64, n_rows, np.uint64),
            np.zeros(KNOWN, np.uint64), np.empty(KNOWN))
        self.scratch = order.copy(), _kernels.Scratch(
            np.empty((min(max_depth, n_rows) + capacity + 2, 4), np.int64),
            np.empty(capacity, np.int64), np.empty(capacity + 1, np.int64),
            np.empty(n_rows, np.int64), np.empty(n_rows, np.int64),
            _kernels.Leaves(np.empty((2, max(2, n_leaves), rows.n_classes)),
                            np.empty((2, n_leaves)), np.empty((2, n_leaves), np.int64)),
            np.empty(n_rows, np.bool_), np.empty(max(6, n_rows), np.int32),
            np.empty((5, rows.n_classes)), np.empty(2), np.empty((5, 2), np.int64), known)

    def begin(self, start, seed):
        """Start again from a table of nodes."""
        capacity, used = len(self.nodes), len(start)
        self.from_leaf = used == 1
        self.nodes[:] = _kernels.UNUSED
        self.nodes[:used] = start
        self.unused[0] = capacity - used
        self.unused[1:capacity - used + 1] = np.arange(used, capacity)
        self.state[[_kernels.HEIGHT, _kernels.FAILURES, _kernels.FINISHED]] = 0
        self.state[_kernels.FROZEN] = -1
        self.correct[:] = -1.0
        self.random[0] = seed

    def step(self, work):
        """Read about so many rows; return whether a better tree than before stands in ``kept``."""
        before = self.correct[_kernels.BEST]
        _kernels.search(work, *self.fixed, self.nodes, self.unused, self.kept, self.kept_unused,
                        self.state, self.correct, self.random, *self.scratch)
        return self.correct[_kernels.BEST] > before

    @property
    def growing(self):
        """Whether a search that began with a leaf has not got as far as keeping a tree."""
        return self.from_leaf and self.correct[_kernels.BEST] < 0

    @property
    def finished(self):
        """Whether the search around the present start has ended."""
        return bool(self.state[_kernels.FINISHED])


def warm_up_search():
    """Compile the kernels of the local search; return the seconds that it took."""
    def run():
        rows = RankedRows(np.array([[0.0], [1.0]]), np.array([0, 1]), 2).merged()
        search = _Search(rows, 1, 1, 0, True)
        search.begin(ONE_LEAF, 1)
        search.step(1000)

    return warm_up("the local search", _kernels.search, run)
