"""CART, and CART tuned by cross-validation, over scikit-learn."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import chain
from math import ceil
from numbers import Integral, Real
from threading import TIMEOUT_MAX, Thread
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.model_selection import ParameterGrid, PredefinedSplit, check_cv
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from odtlib import _tree_kernels
from odtlib._numba.warm import warm_up
from odtlib._validation import class_weights, keeps_configuration
from odtlib.estimator import TreeClassifier
from odtlib.fit import Fit
from odtlib.heuristics.ranks import RankedRows
from odtlib.missing import DoubledColumns
from odtlib.report import Clock, TimeUp, default_objective
from odtlib.tree import LEAF, DecisionTree

PRUNING, DEPTHS = (0.01, 0.003, 0.0), 10    # ccp_alpha, and the small depths, without a grid
MOMENT = 0.25                            # seconds
FEW_CELLS = 50_000                       # a tree over so many takes less than that
ONE_LEAF = np.array([[-1, 0, -1, -1]])   # a table of nodes: feature, cut, left, right


def patient_clock(time_limit):
    """Return the clock for ranking rows and growing a first CART.

    It allows at least ``MOMENT`` seconds, so that small data get a tree under any limit.
    """
    return Clock(None if time_limit is None else max(time_limit, MOMENT))


def single_leaf(X, y, n_classes, sample_weight, label=None):
    """Return the tree without a split; ``y`` holds class indices, as is ``label`` (default: best).
    """
    value = np.bincount(y, sample_weight, n_classes).astype(float)
    return DecisionTree([LEAF], [np.nan], [LEAF], [LEAF], value[None], n_features=X.shape[1],
                        label=None if label is None else [label])


def warm_up_trees():
    """Compile what trees need to grow and to predict; return the seconds that it took."""
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    return warm_up("trees", _tree_kernels.apply,
                   lambda: RankedRows(X, y, 2).tree(ONE_LEAF).predict(X))


def cart_nodes(rows, random_state, chosen=None, *, targets=None, max_depth, clock=None,
               **parameters):
    """Grow a CART over ranked rows, or over the rows ``chosen``, as a table of nodes.

    With ``targets`` of all rows, (n_rows,) or (n_rows, n_outputs), it is one of regression.

    The table, shape (n_nodes, 4), holds feature, cut, left and right, as
    :meth:`RankedRows.tree` reads them.  Other parameters are those of scikit-learn's
    ``DecisionTreeClassifier``.  scikit-learn cannot be stopped: unless there are few cells, it
    grows the tree in a thread of its own, which is abandoned when the clock's limit has passed
    (TimeUp) or Ctrl-C arrives.
    """
    if max_depth == 0 or parameters.get("max_leaf_nodes") == 1 or len(rows.ranks) == 0:
        return ONE_LEAF
    chosen = slice(None) if chosen is None else chosen
    # ranks are small integers, so that float32, in which scikit-learn grows, holds them exactly
    kind = DecisionTreeClassifier if targets is None else DecisionTreeRegressor
    model = kind(max_depth=max_depth, random_state=random_state, **parameters)
    asked, outcome = rows.labels if targets is None else targets, []

    weight = rows.weights[chosen]
    weight = None if (weight == 1).all() else weight        # as scikit-learn takes ones

    def grow():
        try:
            with config_context(skip_parameter_validation=True):
                outcome.append(model.fit(rows.ranks[:, chosen].T.astype(np.float32),
                                         asked[chosen], weight, check_input=False).tree_)
        except Exception as error:
            outcome.append(error)

    if rows.ranks.size <= FEW_CELLS:
        if clock:
            clock.check()
        grow()
    else:
        thread = Thread(target=grow, daemon=True)
        thread.start()
        thread.join(clock and min(clock.remaining, TIMEOUT_MAX))
    if not outcome:
        raise TimeUp
    fitted = outcome[0]
    if isinstance(fitted, Exception):
        raise fitted
    leaf = fitted.children_left < 0
    return np.column_stack([np.where(leaf, -1, fitted.feature), np.floor(fitted.threshold),
                            fitted.children_left, fitted.children_right]).astype(np.int64)


@dataclass(eq=False, repr=False)
class CARTClassifier(TreeClassifier):
    """Grow a classification tree greedily, from the root down (CART, Breiman et al. 1984).

    scikit-learn grows the tree, on the ranks of the values instead of the values.  Where float32
    represents the values exactly, the training rows are divided as scikit-learn would divide them
    by the values (but for ``splitter="random"``, which draws a rank); elsewhere distinct values
    stay distinct.  Each threshold is then set to the midpoint, in float64, of the two neighbouring
    values among the node's training rows.  Missing values (NaN) go to the better side of each
    split, as in scikit-learn, and sparse rows are read like dense ones.

    Parameters
    ----------
    max_depth : int or None, default=3
        Maximum depth of the tree.  None grows until the leaves are pure.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that a split should reduce most; the last two are the same.
    splitter : {"best", "random"}, default="best"
        Best threshold of each feature, or one drawn from its ranks.
    min_samples_split : int or float, default=2
        Minimum number of samples that a node needs to be split; a float is a share of the
        training rows.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.  They multiply the weights of the rows, also
        in the objective.
    min_weight_fraction_leaf : float, default=0.0
        Minimum share of the total weight in a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features drawn at each node, or their share (default: all).  One with missing
        values counts twice.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves; None for no limit.  The node whose split reduces the impurity
        most is split first.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the impurity by a split, weighted by the node's share of the weight.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, as in scikit-learn.  Larger
        values give smaller trees.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.  It decides between equally good splits; an int gives the
        same tree again.

    Attributes
    ----------
    tree_ : DecisionTree
        Its ``value`` holds class weights with ``class_weight`` multiplied in.
    report_ : SolveReport
        Status ``heuristic``; the objective is the weight of misclassified training rows, class
        weights included.
    max_features_ : int
        Number of features drawn at each node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odtlib import CARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(CARTClassifier(max_depth=1, random_state=0).fit(X, y).report_.objective)
    50.0
    """

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
        "splitter": [StrOptions({"best", "random"})],
        "min_samples_split": [Interval(Integral, 2, None, closed="left"),
                              Interval(RealNotInt, 0.0, 1.0, closed="right")],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_features": [Interval(Integral, 1, None, closed="left"),
                         Interval(RealNotInt, 0.0, 1.0, closed="right"),
                         StrOptions({"sqrt", "log2"}), None],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    }

    _accepts_missing = _doubles_missing = True
    _sparse = "any"

    max_depth: int | None = 3
    _: KW_ONLY
    criterion: str = "gini"
    splitter: str = "best"
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    class_weight: dict | str | None = None
    min_weight_fraction_leaf: float = 0.0
    max_features: float | str | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    random_state: int | np.random.RandomState | None = None

    @keeps_configuration
    def cost_complexity_pruning_path(self, X: ArrayLike, y: ArrayLike,
                                     sample_weight: ArrayLike | None = None) -> Bunch:
        """Compute the values of ``ccp_alpha`` at which the tree becomes smaller.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            Labels of any type.
        sample_weight : array, shape (n_rows,), optional
            Weight of every row (default: 1).

        Returns
        -------
        Bunch
            ``ccp_alphas`` and ``impurities``, as scikit-learn's trees return them.
        """
        fitted, X, codes, weight = self._plain_data(X, y, sample_weight)
        doubled = fitted._doubled_columns(X)
        rows = RankedRows(X if doubled is None else doubled.rows, codes, len(fitted.classes_))
        parameters = {**fitted.get_params(), "class_weight": None}      # is in the weights already
        if self.max_depth == 0 or self.max_leaf_nodes == 1:             # one leaf
            parameters.update(max_depth=1, max_leaf_nodes=None, min_impurity_decrease=1e300)
        return DecisionTreeClassifier(**parameters).cost_complexity_pruning_path(
            rows.ranks.T.astype(np.float32), codes, weight)

    def to_sklearn(self, X: ArrayLike | None = None) -> DecisionTreeClassifier | Pipeline:
        model = super().to_sklearn(X)
        tree = model["tree"] if self._tree_over_columns else model
        tree.set_params(criterion=self.criterion).max_features_ = self.max_features_
        return model

    to_sklearn.__doc__ = TreeClassifier.to_sklearn.__doc__

    def _warm_up(self, X, y, sample_weight):
        return warm_up_trees()

    def _solve(self, X, y, sample_weight):
        clock = Clock()
        n, drawn = X.shape[1], self.max_features
        self.max_features_ = max(1, int(
            n if drawn is None else getattr(np, drawn)(n) if isinstance(drawn, str)
            else drawn if isinstance(drawn, Integral) else drawn * n))
        parameters = {**self.get_params(), "random_state": check_random_state(self.random_state)}
        del parameters["class_weight"]      # is in the weights already
        tree = _Grower(X, y, self.classes_, sample_weight, clock)(**parameters)
        return _judged(Fit(clock), tree, X, y, sample_weight)


@dataclass(eq=False, repr=False)
class TunedCARTClassifier(TreeClassifier):
    """Choose CART's depth and pruning by cross-validation, and grow it on all rows.

    All combinations are compared by the mean accuracy over the folds; the first of the best wins.
    Without a grid that is the one that prunes most, and of these the least deep one.  Sparse rows
    are read like dense ones.

    Class weights of the grid multiply the weights of the rows while a tree grows, and nothing else.
    The objective in the report and the accuracies use the weights of the rows, those of the
    parameter ``class_weight`` included, so that all combinations are measured in the same way.

    Parameters
    ----------
    max_depth : int or None, default=3
        Maximum depth of the tree.  None for no limit; the pruning alone is chosen then.
    grid : dict, list of dict or None, default=None
        The values to combine, by parameters of :class:`CARTClassifier`, as in scikit-learn's
        ``ParameterGrid``.  None takes ``ccp_alpha`` of 0.01, 0.003 and 0, and each ``max_depth``
        from 1 to the maximum; where that is above 10, 1 to 10 and the maximum.
        ``odtbook.published.cart_star`` gives the 80 combinations of Firat et al. (2020), Table 5.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  It is a lower
        limit for every combination: the larger of it and the grid's value counts.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.  They multiply the weights of the rows, also
        in the objective and in the accuracies that are compared.
    cv : int, splitter or iterable, default=10
        Folds, as scikit-learn takes them.  An int is lowered to the number of rows of the largest
        class where that is smaller (``report_.counters["folds"]`` says how many were used).  Pairs
        of rows, and ``PredefinedSplit``, number the rows given to ``fit``, also those of weight
        zero, which are left out of them.
    time_limit : float or None, default=None
        Time limit in seconds; None for no limit.  The folds are processed in order.  When time
        runs out, the combinations are compared on the folds that all of them have finished; within
        the first fold, only those that were evaluated are compared.  If there is no time to grow
        the final tree, the tree of the last fold is returned.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.  It decides between equally good splits; an int gives the
        same tree again.

    Attributes
    ----------
    tree_ : DecisionTree
        The best combination's tree, grown on all rows.
    report_ : SolveReport
        Status ``heuristic``, or ``time_limit``, or ``interrupted`` (Ctrl-C during the comparison).
    best_params_ : dict
        The combination chosen.
    best_score_ : float
        Its mean accuracy over the folds; NaN where time ran out before the first was compared.
    """

    _parameter_constraints = {
        **TreeClassifier._parameter_constraints,
        **{name: CARTClassifier._parameter_constraints[name]
           for name in ("max_depth", "min_samples_leaf")},
        "grid": [dict, list, None],
        "cv": ["cv_object"],
    }

    _accepts_missing = True     # each fold fills in its own
    _sparse = "any"

    max_depth: int | None = 3
    _: KW_ONLY
    grid: dict | list | None = None
    min_samples_leaf: float = 1
    class_weight: dict | str | None = None
    cv: Any = 10
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = None

    _numbers_rows = True        # folds may number the rows that were given

    def _warm_up(self, X, y, sample_weight, used=None):
        return warm_up_trees()

    def _solve(self, X, y, sample_weight, used):
        fit = Fit(Clock(self.time_limit))
        clock = fit.clock
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        combinations = self._combinations(len(y))
        same = {"max_depth": self.max_depth, "least_leaf": self.min_samples_leaf,
                "random_state": seed}
        accuracy = np.full((1, len(combinations)), np.nan)
        folds, trees, longest = [], {}, 0.0
        with fit.stops():
            folds = self._folds(X, y, used)
            accuracy = np.full((len(folds), len(combinations)), np.nan)
            for fold, (train, test) in enumerate(folds):
                grow = _Grower(X[train], y[train], self.classes_, weight[train], clock)
                for k, combination in enumerate(combinations):
                    if clock.remaining <= longest:     # the time that the last tree takes
                        raise TimeUp
                    begin = clock.elapsed
                    trees[k] = grow(**{**same, **combination})
                    longest = max(longest, clock.elapsed - begin)
                    hit = trees[k].predict_codes(X[test]) == y[test]
                    accuracy[fold, k] = np.average(hit, weights=weight[test])
        seen = ~np.isnan(accuracy)
        compared = accuracy[seen.all(axis=1)] if seen[0].all() else accuracy[:1]
        mean = compared.mean(axis=0)
        best = int(np.argmax(np.where(np.isnan(mean), -1.0, mean)))
        self.best_params_, self.best_score_ = combinations[best], float(mean[best])
        last = patient_clock(0.0 if fit.ended == "interrupted" else clock.time_limit and
                             clock.remaining)
        try:
            tree = _Grower(X, y, self.classes_, sample_weight, last)(
                **{**same, **self.best_params_})
        except TimeUp:
            tree = trees.get(best) or with_sides(
                single_leaf(X, y, len(self.classes_), sample_weight))
            fit.ended = fit.ended if fit.stopped else "time_limit"
        fit.counters = {"folds": len(folds), "combinations": len(combinations),
                        "fits": int(seen.sum()) + 1}
        return _judged(fit, tree, X, y, sample_weight)

    def _count_rows_per_leaf(self, n_rows):
        """Leave a share as it is: it is one of the rows of each fold."""

    def _combinations(self, n_rows):
        """Return the combinations of parameters that are compared."""
        grid = self.grid
        if grid is None:
            grid = {"ccp_alpha": PRUNING}
            if self.max_depth is not None:
                most = self._depth_within(n_rows)
                grid["max_depth"] = [*range(1, min(most - 1, DEPTHS) + 1), most]
        try:
            combinations = list(ParameterGrid(grid))
        except (TypeError, ValueError) as error:
            raise ValueError(f"grid is no grid ({error}); give a list of values for each "
                             "parameter.") from None
        known = CARTClassifier().get_params().keys() - {"random_state"}
        for combination in combinations:
            for name in combination.keys() - known:
                raise ValueError(f"grid has {name!r}, which is none of "
                                 f"{', '.join(sorted(known))}.")
            CARTClassifier(**combination)._validate_params()
        return combinations

    def _folds(self, X, y, used):
        cv, place = self.cv, np.arange(len(y))
        # Pairs number the rows that were given, and a splitter sees those that have weight.
        if isinstance(cv, PredefinedSplit) or np.iterable(cv):
            place = np.where(used, np.cumsum(used) - 1, -1)
        if isinstance(cv, Integral):
            cv = min(cv, np.bincount(y).max())
            if cv < 2:
                raise ValueError("TunedCARTClassifier cannot cross-validate: every class has one "
                                 "sample only; use CARTClassifier.")
        try:
            folds = [[place[part][place[part] >= 0] for part in pair]
                     for pair in check_cv(cv, y, classifier=True).split(X, y)]
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(f"cv makes no folds ({error}); give a number of folds, one of "
                             "scikit-learn's splitters, or pairs of training and testing rows."
                             ) from error
        if not folds or not all(map(len, chain(*folds))):
            raise ValueError("cv makes no folds, or one without rows that have weight; give a "
                             "number of folds of at least 2, or pairs of training and testing "
                             "rows.")
        return folds


class _Grower:
    """Grow trees of many parameters on the same rows.

    Ranks are computed once per class weight, and limits with the same effect share one tree.
    """

    def __init__(self, X, y, classes, sample_weight, clock):
        self.doubled = DoubledColumns(X) if np.isnan(X).any() else None
        self.X = X if self.doubled is None else self.doubled.rows
        self.y, self.classes, self.weight = y, classes, sample_weight
        self.clock, self.rows, self.trees = clock, {}, {}

    def __call__(self, *, max_depth, random_state, class_weight=None, min_samples_split=2,
                 min_samples_leaf=1, least_leaf=1, max_leaf_nodes=None, **parameters):
        key = repr(class_weight)
        if key not in self.rows:
            weight = class_weights(class_weight, self.classes[self.y])
            if self.weight is not None:
                weight *= self.weight
            self.rows[key] = RankedRows(self.X, self.y, len(self.classes), weight, self.clock)
        rows = self.rows[key]
        leaf, least, split = (limit if isinstance(limit, Integral) else ceil(limit * rows.n_rows)
                              for limit in (min_samples_leaf, least_leaf, min_samples_split))
        leaf = max(leaf, least)
        split = max(2, split, 2 * leaf)          # a node with fewer rows has no two leaves
        if max_leaf_nodes is not None:           # scikit-learn makes room for as many
            parameters["max_leaf_nodes"] = min(max_leaf_nodes, rows.n_rows)
        name = key, leaf, split, repr((max_depth, random_state, sorted(parameters.items())))
        if name not in self.trees:
            tree = rows.tree(cart_nodes(
                rows, random_state, max_depth=max_depth, min_samples_leaf=leaf,
                min_samples_split=split, clock=self.clock, **parameters))
            self.trees[name] = with_sides(tree) if self.doubled is None else \
                self.doubled.folded(tree)
        return self.trees[name]


def with_sides(tree):
    """Return a tree that sends what no row of its fit missed to the heavier side."""
    return tree._with(missing_left=np.full(tree.n_nodes, -1, np.int8))


def _judged(fit, tree, X, y, sample_weight):
    """Return a tree and its report."""
    fit.scale = len(y) if sample_weight is None else sample_weight.sum()
    fit.offer(tree, default_objective(tree, X, y, sample_weight))
    return tree, fit.report()
