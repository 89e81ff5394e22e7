"""The public estimator: optimal classification trees by the MurTree algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from odtlib.estimator import BINARIZERS, BinarisingMixin, Outcome, TreeClassifier
from odtlib.heuristics.start import warm_up_start
from odtlib.tree import DecisionTree

from .additive import AdditiveRun, check_search
from .certificate import CertifiedColumns
from .columns import BudgetPathMixin
from .extensions.fronts import FrontEntry, warm_up_fronts
from .extensions.good_trees import GoodTreesMixin, warm_up_good_trees
from .extensions.tasks import RegularisedTree, extension_run, regularised_trees
from .objectives.additive import AdditiveObjective, FittedObjective
from .objectives.shares import Entropy, Gini
from .options import DEFAULT, MurTreeSearch
from .preparation import MANY_ROWS, likely_kernel
from .run import Rows, Run, outcome_of
from .solver import warm_up_search
from .weighting import balanced_rows, balanced_weights, cost_rows, error_rows, f1_tree

ADDITIVE = {"entropy": Entropy(), "gini": Gini()}


@dataclass(eq=False, repr=False)
class MurTreeClassifier(CertifiedColumns, GoodTreesMixin, BudgetPathMixin, BinarisingMixin,
                        TreeClassifier):
    """Find the classification tree with the fewest training errors, its depth and size limited.

    The search of Demirović et al. (2022): dynamic programming over depth and node budget (Eq. 1),
    a specialised algorithm for depth two on pairwise frequency counts (Section 4.3), a lower bound
    from similar data sets (4.4), and a cache of solved subproblems (4.5).

    Parameters
    ----------
    max_depth : int or None, default=4
        Maximum depth of the tree.  Each further level multiplies the time by about the number of
        0/1 columns.  None for no limit: a ``split_penalty`` then ends the search, with a proof for
        any depth; without one give a ``time_limit``.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  Above 1 the
        similarity bound does not hold and is not used, so the search takes longer.
    split_penalty : float or sequence of float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  Here that is misclassified weight
        (Eq. 19).  Where no deeper tree can cost less, because its splits alone cost as much, the
        report says "optimal at any depth"; a larger ``max_depth`` takes little more time then.  A
        sequence gives the cost of a split at depth 0, 1, ....
    objective : {"errors", "balanced-accuracy", "f1", "entropy", "gini"} or AdditiveObjective, \
            default="errors"
        What is minimised: the misclassified weight, one minus the mean recall of the classes, one
        minus the F1 score of ``classes_[1]``, the log loss or the Brier score of the shares in the
        leaves, or an objective of :mod:`odtlib.objectives`, the reader's own too.  F1 takes a few
        searches over weighted rows, each for a tree of better F1 than the last (Dinkelbach, 1967),
        whereas the paper builds the Pareto front of the errors of both classes (Section 4.8.6); it
        needs integer sample weights.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    max_disparity : float, optional
        Maximum difference in the shares of rows predicted as ``classes_[1]`` between any two of
        the groups given to ``fit`` as ``protected``, rows counted with their weight; None for no
        limit.  Exact, by a search of its own; small values and more groups take more time.  The
        product of the groups' sizes is limited to about four million.
    disparity : {"demographic-parity", "equal-opportunity"}, default="demographic-parity"
        "demographic-parity" compares shares of all rows of a group, "equal-opportunity" shares of
        those of class ``classes_[1]`` only.
    binarizer : {"auto", "mdlp", "quantile", "all"}, transformer or None, default="auto"
        How features that are not 0/1 become 0/1 columns; not used when all features are 0/1.
        "auto" makes about 120, evenly and where the classes change
        (:class:`odtlib.binarize.AutoBinarizer`).
        "mdlp" cuts by entropy and class, and drops what pays only together; "quantile" cuts at
        quantiles, "all" between any two values, which can make thousands of columns.  None refuses
        other features.  A transformer is cloned and fitted.  The tree is optimal for the columns
        that it makes.  Whole weights, unless their sum is large, move cuts as repeated rows do;
        other weights do not.  Categories of a data frame become columns too; see
        ``ordered_categories`` of :class:`odtlib.binarize.MDLPBinarizer`.  A warning names what the
        columns leave out.
    search : MurTreeSearch or other search, optional
        Options of the search; None means ``MurTreeSearch()``.  The search as the paper prints it is
        ``odtbook.published.PaperSearch()``.
    start : {None, "cart", "local-search"}, DecisionTree or fitted estimator, default=None
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  A
        DecisionTree without ``columns`` is one over the 0/1 columns; the thresholds of any other,
        and of an estimator, are moved to the nearest column.  Only better trees are searched for.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found so far is then returned (CART
        at worst).  Where the time does not suffice for the columns, the binariser leaves the last
        features uncut or makes evenly fewer columns, and no bound but zero is known.  Where CART's
        tree of the table itself is better (of depth 8 without a depth, and at most 256 leaves), the
        columns are its tests: ``report_.start`` is then "cart", and ``binarizer_`` has them.  It is
        not grown where ``binarizer`` is "mdlp" or no word, nor with limits on splits or
        ``max_disparity``.
    n_jobs : int, optional
        Number of threads; None means 1 and -1 all processors.  They share the splits of the root.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.  They are a ``start`` by a word and a random feature order; a
        fit without them draws nothing.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

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
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of str
        Names of these features, where ``fit`` saw a data frame.

    Examples
    --------
    >>> from odtlib import MurTreeClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = MurTreeClassifier(max_depth=2).fit(X, ["no", "yes", "yes", "no"])
    >>> model.report_.objective
    0.0
    """

    _certified_options = (*CertifiedColumns._certified_options,
                          ("max_disparity", None, "leave it at None"))
    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "split_penalty": [Interval(Real, 0, None, closed="left"), "array-like"],
        "objective": [StrOptions({"errors", "balanced-accuracy", "f1", *ADDITIVE}),
                      AdditiveObjective],
        "max_disparity": [Interval(Real, 0, 1, closed="both"), None],
        "disparity": [StrOptions({"demographic-parity", "equal-opportunity"})],
        "binarizer": [StrOptions(set(BINARIZERS)), HasMethods(["fit", "transform"]), None],
        "search": [MurTreeSearch, HasMethods(["run_of", "warm_up"]), None],
    }

    max_depth: int | None = 4
    max_nodes: int | None = None
    _: KW_ONLY
    max_leaf_nodes: int | None = None
    min_samples_leaf: float = 1
    split_penalty: float | Sequence[float] = 0.0
    objective: str | AdditiveObjective = "errors"
    class_weight: dict | str | None = None
    max_disparity: float | None = None
    disparity: str = "demographic-parity"
    binarizer: str | BaseEstimator | None = "auto"
    search: object = None
    start: str | DecisionTree | BaseEstimator | None = None
    time_limit: float | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None,
            protected: ArrayLike | None = None, costs: ArrayLike | None = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.  A missing value (NaN) goes to the better side of each test, which the
            search learns; where the fit saw none, to the side with more training weight.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        protected : array, shape (n_rows,), optional
            Group of each row; needed with ``max_disparity``, and otherwise not used.  The tree does
            not see it unless it is a feature too.
        costs : array, shape (n_rows, n_classes), optional
            Cost of predicting each of the labels, in their sorted order, for each row (default: 1
            for a wrong label).  Costs may be negative; the sum of those of the predicted labels,
            times the weights of the rows, is minimised.  ``y`` then only names the labels and
            guides the binariser.

        Returns
        -------
        self
            With ``tree_`` and ``report_``.

        Raises
        ------
        ValueError
            If the data or a parameter cannot be used; the message says what to do instead.
        """
        if (protected is not None) != (self.max_disparity is not None):
            raise ValueError("protected belongs together with max_disparity: give "
                             "MurTreeClassifier(max_disparity=...) and fit(..., protected=...).")
        self._fit(X, y, sample_weight, protected, costs)
        return self

    def _has_level_penalties(self):
        """Tell whether ``split_penalty`` is a sequence."""
        return getattr(self.split_penalty, "__len__", None) is not None

    @property
    def _additive(self):
        """The objective where it is additive, else None."""
        chosen = self.objective
        return ADDITIVE.get(chosen) if isinstance(chosen, str) else chosen

    def _certified_loss(self, y):
        """Return the objective where a proof is not about errors."""
        if self._additive is None and self.objective != "errors":
            raise ValueError(f"certificate has no proof for objective={self.objective!r}; leave it "
                             "at 'errors', or choose one whose leaves cost a function of sums.")
        return self._additive

    def _warm_up(self, X, y, sample_weight, task=None, protected=None, costs=None, tolerance=None):
        seconds = warm_up_start(self.start)
        if tolerance is not None:
            seconds += warm_up_good_trees()
        if task == "pareto_front":
            return seconds + warm_up_fronts()
        if protected is not None:
            seconds += warm_up_fronts()
        if hasattr(self.search, "run_of"):
            return seconds + self.search.warm_up()
        if self.objective == "balanced-accuracy":
            sample_weight = balanced_weights(y, sample_weight)[0]
        kernel = "sums" if self._additive else likely_kernel(
            y, len(self.classes_), self.min_samples_leaf, sample_weight,
            self.objective == "f1", costs)
        return seconds + warm_up_search(kernel, self.search)

    def _solve_over(self, columns, X, y, sample_weight, clock, task=None, protected=None,
                    costs=None, tolerance=None):
        if self.max_disparity is not None and protected is None:
            raise ValueError(f"{task} cannot be combined with max_disparity; leave it at None.")
        run = extension_run(self, columns, y, sample_weight, clock, task, protected, costs)
        if run is not None:
            return self._outcome(run, task)
        search = DEFAULT if self.search is None else self.search
        if self._has_level_penalties():
            self._check_level_penalties(search)
        kind = Run
        if self._additive is not None:
            check_search(search, "an additive objective")
            if self._additive.of_quantities:
                raise ValueError(f"{self._additive!r} is for targets that are numbers; give it to "
                                 "MurTreeRegressor, or choose another objective.")
            kind = partial(AdditiveRun, FittedObjective(
                self._additive, X, y, sample_weight, getattr(self, "feature_names_in_", None)))
        if tolerance is not None:
            kind, search, columns = self._counts(kind, task, tolerance, columns)
            if sample_weight is None and len(y) >= MANY_ROWS:
                sample_weight = np.ones(len(y))         # so that equal rows are one
        data = self, columns, y, sample_weight
        if self._additive is not None:
            rows = Rows(columns, y, sample_weight)
        elif costs is not None:
            rows = cost_rows(*data, costs)
        elif self.objective == "f1":
            tree, report = f1_tree(*data, clock, search)
            return Outcome(self._in_features(tree), report)
        elif self.objective == "balanced-accuracy":
            rows = balanced_rows(*data, clock, search)
        else:
            rows = error_rows(*data, clock, search)
        return outcome_of(kind, self, rows, clock, search, task)

    def _check_level_penalties(self, search):
        """Refuse penalties per level that do not fit the depth, or the search."""
        if self.max_depth is None:
            raise ValueError("split_penalty per level needs a max_depth; give a number.")
        try:
            penalties = np.asarray(self.split_penalty, dtype=np.float64)
        except (TypeError, ValueError):
            penalties = np.array(np.nan)
        if penalties.shape != (self.max_depth,) or not np.all((penalties >= 0)
                                                              & np.isfinite(penalties)):
            raise ValueError(f"split_penalty is {self.split_penalty}; give one number, or one for "
                             f"each of the {self.max_depth} levels, none negative.")
        for name in ("lookahead", "discrepancy_search"):
            if getattr(search, name):
                raise ValueError(f"split_penalty per level cannot be combined with {name}; leave "
                                 "it at its default.")

    def pareto_front(self, X: ArrayLike, y: ArrayLike,
                     sample_weight: ArrayLike | None = None) -> list[FrontEntry]:
        """Find the trees that are best for some trade-off between the errors of two classes.

        No tree within the limits has fewer errors of one class and not more of the other than one
        of these (Section 4.8.6).  The estimator is fitted too: ``tree_`` is the tree with the least
        errors.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of two classes.
        sample_weight : array of whole numbers, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).

        Returns
        -------
        list of FrontEntry
            ``(errors, optimal, tree)`` with ``errors = (of class 0, of class 1)``, in increasing
            order of the errors of class 0.  With ``optimal=False`` a limit ended the search: the
            front is that of a smaller depth.
        """
        front = self._fit(X, y, sample_weight, task="pareto_front")
        return [FrontEntry(errors, optimal and self._has_all_columns, self._finished(tree))
                for errors, optimal, tree in front]

    def regularisation_path(self, X: ArrayLike, y: ArrayLike,
                            sample_weight: ArrayLike | None = None) -> list[RegularisedTree]:
        """Find the optimal tree for every ``split_penalty``, in one search.

        The trees are the lower convex hull of errors against feature nodes, from :meth:`path`
        (Section 4.8.3).  The estimator is fitted too, without a penalty.

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
        list of RegularisedTree
            ``(low, high, errors, n_splits, optimal, tree)``, the largest penalty first: the tree
            minimises ``errors + split_penalty * n_splits`` for every penalty from ``low`` to
            ``high``.
        """
        if self._has_level_penalties() or self.split_penalty != 0:
            raise ValueError("regularisation_path goes through all penalties; leave split_penalty "
                             "at 0.")
        return regularised_trees(self.path(X, y, sample_weight))
