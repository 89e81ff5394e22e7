"""The public estimator: optimal regression trees by the search of MurTree."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, StrOptions

from odtlib.estimator import BinarisingMixin, TreeRegressor
from odtlib.heuristics.start import warm_up_start
from odtlib.tree import DecisionTree

from .additive import AdditiveRun, check_search
from .certificate import CertifiedColumns
from .columns import BudgetPathMixin
from .extensions.good_trees import GoodTreesMixin, warm_up_good_trees
from .objectives.absolute_error import AbsoluteError
from .objectives.additive import AdditiveObjective, FittedObjective
from .objectives.linear import LinearLeaves
from .objectives.poisson import Poisson
from .objectives.squared_error import SquaredError
from .options import DEFAULT, MurTreeSearch
from .run import Rows, outcome_of
from .solver import warm_up_search

LOSSES = {"squared_error": SquaredError(), "poisson": Poisson()}


@dataclass(eq=False, repr=False)
class MurTreeRegressor(CertifiedColumns, GoodTreesMixin, BudgetPathMixin, BinarisingMixin,
                       TreeRegressor):
    """Find the regression tree with the least training error within limits on depth and size.

    The search of :class:`odtlib.MurTreeClassifier` on sums of targets (Demirović et al., 2022,
    Section 4.8.2): dynamic programming over depth and node budget, a cache of solved subproblems,
    and depth-two trees from pairwise sums.  Two bounds hold for regression.  Rows that agree in all
    columns cost at least their error around a common prediction (equivalent points).  And a data
    set that lacks some rows of a similar one costs less by at most what these rows can cost within
    the range of the targets.

    Parameters
    ----------
    max_depth : int or None, default=3
        Maximum depth of the tree.  Each further level multiplies the time by about the number of
        0/1 columns.  None for no limit: a ``split_penalty`` then ends the search, with a proof for
        any depth; without one give a ``time_limit``.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.
    loss : {"squared_error", "absolute_error", "poisson"} or AdditiveObjective, \
            default="squared_error"
        What is minimised, summed over the rows: squared error, of one target or several; absolute
        error; half the Poisson deviance of counts or rates; or an objective of
        :mod:`odtlib.objectives`, the reader's own too.  Leaves predict means, medians, rates or
        what the objective says.  Absolute error takes several times longer, as medians do not
        follow from sums.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  Above 1 the
        similarity bound does not hold and is not used, so the search takes longer.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  Here that is the loss (Eq. 19).
    binarizer : {"quantile", "all"}, transformer or None, default="quantile"
        How features that are not 0/1 become 0/1 columns; see :class:`odtlib.MurTreeClassifier`.
        The tree is optimal for the columns that it makes.
    search : MurTreeSearch, optional
        Options of the search; None means ``MurTreeSearch()``.  Not available for regression, and
        refused, are the closure cache, ``merge_rows=False``, ``deepening`` and
        ``discrepancy_search``.
    start : {None, "cart"}, DecisionTree or fitted estimator, default=None
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  A
        DecisionTree without ``columns`` is one over the 0/1 columns; the thresholds of any other,
        and of an estimator, are moved to the nearest column.  Only better trees are searched for.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found so far is then returned (CART
        at worst).  Where the time does not suffice for the columns, the binariser leaves the last
        features uncut or makes evenly fewer columns, and no bound but zero is known.  Where CART's
        tree of the table itself is better (of depth 8 without a depth, and at most 256 leaves), the
        columns are its tests: ``report_.start`` is then "cart", and ``binarizer_`` has them.  It is
        not grown where ``binarizer`` is no word, nor with limits on splits.
    n_jobs : int, optional
        Number of threads; None means 1 and -1 all processors.  They share the splits of the root.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.  They are a ``start`` by "cart" and a random feature order; a
        fit without them draws nothing.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree, in the original features where columns are thresholds.
    report_ : SolveReport
        Status, loss, lower bound, counters and the anytime trace.
    binarizer_ : transformer or None
        What made the columns; None if the features were 0/1.

    Notes
    -----
    Sums are floating point.  Targets are centred and scaled first, so that rounding stays below
    1e-12 of the loss of a single leaf; trees closer than that count as equal, and "optimal" is said
    within 1e-9 of it.

    Examples
    --------
    >>> from odtlib import MurTreeRegressor
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = MurTreeRegressor(max_depth=2).fit(X, [1.0, 2.0, 2.0, 4.0])
    >>> model.report_.objective
    0.0
    """

    _parameter_constraints = {
        **TreeRegressor._parameter_constraints,
        "loss": [StrOptions({"squared_error", "absolute_error", "poisson"}), AdditiveObjective],
        "binarizer": [StrOptions({"quantile", "all"}), HasMethods(["fit", "transform"]),
                      None],
        "search": [MurTreeSearch, None],
        "start": [StrOptions({"cart"}), HasMethods("predict"), None],
    }

    max_depth: int | None = 3
    max_nodes: int | None = None
    _: KW_ONLY
    max_leaf_nodes: int | None = None
    loss: str | AdditiveObjective = "squared_error"
    min_samples_leaf: float = 1
    split_penalty: float = 0.0
    binarizer: str | BaseEstimator | None = "quantile"
    search: MurTreeSearch | None = None
    start: str | DecisionTree | BaseEstimator | None = None
    time_limit: float | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _check_targets(self, y):
        targets = super()._check_targets(y)
        if targets.shape[1] > 1 and self.loss in ("absolute_error", "poisson"):
            raise ValueError(f"y has {targets.shape[1]} columns and loss={self.loss!r} is for one; "
                             "give one target, or another loss.")
        return targets if targets.shape[1] > 1 else targets[:, 0]

    @property
    def _regressors(self):
        """The features that lines in the leaves use, or None."""
        return self.loss.features if isinstance(self.loss, LinearLeaves) else None

    def _in_features(self, tree):
        """As in the base class; what a line adds to its value at zero becomes slopes."""
        tree = super()._in_features(tree)
        if self._regressors is None:
            return tree
        names = list(getattr(self, "feature_names_in_", ()))
        used = [names.index(one) if one in names else one for one in self._regressors]
        slopes = np.zeros((tree.n_nodes, tree.n_features))
        np.add.at(slopes, (slice(None), used), tree.value[:, 1:])
        return tree.replace(value=tree.value[:, :1], slopes=slopes)

    def _warm_up(self, X, y, sample_weight, task=None, tolerance=None):
        counted = 0.0 if tolerance is None else warm_up_good_trees()
        return counted + warm_up_start(self.start) + warm_up_search("sums")

    _certified_options = ()

    def _certified_loss(self, y):
        """Return the loss where a proof is not about a squared error, or is about several."""
        if self.loss == "absolute_error":
            raise ValueError("certificate has no proof for loss='absolute_error'; its leaves cost "
                             "no function of sums.")
        return None if self.loss == "squared_error" and y.ndim == 1 else LOSSES.get(
            self.loss, self.loss)

    def _solve_over(self, columns, X, y, sample_weight, clock, task=None, tolerance=None):
        search = DEFAULT if self.search is None else self.search
        check_search(search, type(self).__name__)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        if tolerance is not None:
            y = y.copy()                # trees are built later, when the caller may have changed it
        fitted = AbsoluteError(y, weight) if self.loss == "absolute_error" else FittedObjective(
            LOSSES.get(self.loss, self.loss), X, y, weight,
            getattr(self, "feature_names_in_", None))
        if getattr(self.loss, "leaf_value", True) is None:
            raise ValueError(f"{self.loss!r} has no leaf_value, which says what a leaf "
                             "predicts; write it as a method, or give a function.")
        if self._regressors is not None and self._tree_over_columns:
            raise ValueError("LinearLeaves needs features that are numbers, as trees over other "
                             "columns do not see them; encode categories first.")
        kind = partial(AdditiveRun, fitted)
        if tolerance is not None:
            if self.loss == "absolute_error":
                raise ValueError(f"{task} cannot be combined with loss='absolute_error', whose "
                                 "leaves cost no function of sums; choose another loss.")
            kind, search, columns = self._counts(kind, task, tolerance, columns)
        rows = Rows(columns, y, weight,
                    as_given=lambda tree: self._with_weights(tree, columns, y, weight))
        return outcome_of(kind, self, rows, clock, search, task)
