"""Regression trees whose every prediction satisfies constraints among the targets."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from odtlib.arrays import distinct_rows
from odtlib.constrained import sets
from odtlib.constrained._growth import Limits
from odtlib.constrained._losses import huber_points
from odtlib.constrained.builder import compile_growth, grow_tree, make_loss
from odtlib.constrained.sets.base import target_weights
from odtlib.estimator import TreeRegressor
from odtlib.fit import Fit
from odtlib.report import Clock
from odtlib.trees import cut_back

# Parameters that the estimators with constraints among the targets have in common.
SHARED = {
    "constraints": [sets.FeasibleSet, None],
    "target_weights": [StrOptions({"standardize"}), "array-like", None],
    "on_infeasible_targets": [StrOptions({"raise", "project", "keep"})],
    "tol": [Interval(Real, 0, None, closed="left")],
}


def stated_problem(estimator, Y, sample_weight):
    """Return the feasible set, the loss, and the weight of each row."""
    feasible = sets.Box() if estimator.constraints is None else estimator.constraints
    feasible.bind(Y.shape[1])
    w = np.ones(len(Y)) if sample_weight is None else sample_weight
    weights = estimator.target_weights
    if isinstance(weights, str):
        mean = np.average(Y, axis=0, weights=w)
        variance = np.average((Y - mean) ** 2, axis=0, weights=w)
        weights = 1.0 / np.where(variance > 0, variance, 1.0)
    else:
        weights = target_weights(weights, Y.shape[1], "target_weights")
    return feasible, make_loss(getattr(estimator, "criterion", "squared_error"), weights), w


def prepare_targets(estimator, Y, feasible, weights):
    """Do what it says of targets outside the set; return targets and which rows are feasible."""
    inside = feasible.contains(Y, estimator.tol)
    if inside.all() or estimator.on_infeasible_targets == "keep":
        return Y, inside
    if estimator.on_infeasible_targets == "project":
        Y = Y.copy()
        Y[~inside] = feasible.project(Y[~inside], weights)
        return Y, np.ones(len(Y), bool)
    worst = int(np.argmax(feasible.violation(Y)))
    raise ValueError(
        f"{int(np.sum(~inside))} of {len(Y)} training targets violate the constraints; the "
        f"worst is row {worst}: {feasible.explain(Y[worst])}. Pass on_infeasible_targets='project' "
        "to replace them by the nearest feasible vectors, 'keep' to train on them as they are, or "
        "correct the data or the constraints.")


def node_rows(tree, X):
    """List the rows that reach each node."""
    path = tree.decision_path(X).tocsc()
    return [path.indices[a:b] for a, b in zip(path.indptr[:-1], path.indptr[1:], strict=True)]


def node_costs(tree, X, Y, w, loss):
    """Return the training loss that every node would have as a leaf, shape (n_nodes,)."""
    return np.array([loss.cost(Y[rows], w[rows], value)
                     for rows, value in zip(node_rows(tree, X), tree.value, strict=True)])


@dataclass(eq=False, repr=False)
class ConstrainedTreeRegressor(TreeRegressor):
    """Grow a regression tree that predicts only vectors of a feasible set.

    Splits and leaves are chosen separately, so that all variants S(.):L(.) of Birbil et al. (2024)
    are here: S(O) is ``split="exact"``, S(A) ``"mean"``, S(M) ``"medoid"`` and S(R) ``"penalty"``;
    L(O) is ``leaf="project"``, L(A) ``"mean"``, L(M) ``"medoid"`` and L(R) ``"penalty"``.

    Parameters
    ----------
    constraints : FeasibleSet, optional
        A set of :mod:`odtlib.constrained.sets`; None allows every vector.
    split : {"mean", "exact", "medoid", "penalty"}, default="mean"
        How the two children of a candidate split are evaluated: by their unconstrained optimum
        (as fast as CART), by their best feasible prediction (as fast for sets with closed forms,
        otherwise a lazy search with the same optimum), by their training row of least loss
        (equation 6, slow), or by their penalised optimum: in a node of n rows "penalty" adds ``n *
        penalty_strength * distance(y, set)`` to the loss, zero exactly on the set; it needs
        ``criterion="squared_error"``.
    leaf : {"project", "medoid", "mean", "penalty"}, default="project"
        Prediction of a leaf.  With "project" and "medoid" every prediction is feasible; "mean" and
        "penalty" promise nothing, see ``leaf_feasible_``.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        Loss.  Poisson deviance is refused where the set forces zeros.
    penalty_strength : float, default=1.0
        The paper's lambda, in units of the targets.  With "penalty", 0 gives the mean, and any
        value above twice the distance of the mean from the set gives the exact projection.
    target_weights : None, "standardize" or array of shape (n_targets,), default=None
        Weight of each target in the loss; "standardize" divides by the variances, for targets in
        different units.
    max_depth : int, optional
        Maximum depth of the tree.  None for no limit.
    min_samples_split : int, default=2
        Minimum number of samples that a node needs to be split.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, as in scikit-learn.
    max_features : int or float, optional
        Number of features drawn at each node, or their share (default: all).
    on_infeasible_targets : {"raise", "project", "keep"}, default="raise"
        What to do with training targets outside the set.
    tol : float, default=1e-6
        Tolerance of every feasibility check, relative to the largest target of the vector.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  Nodes not yet split then become leaves.
    random_state : int, RandomState instance, optional
        Seed of the random choices.  They decide which features are drawn.

    Attributes
    ----------
    tree_ : DecisionTree
    report_ : SolveReport
        ``objective`` is the training loss; growth is greedy, so its status is "heuristic" although
        every split is exact.
    leaf_feasible_ : array of bool, shape (n_nodes,)
        Whether the prediction of each node is in the set (True for inner nodes).
    target_weights_ : array, shape (n_targets,)

    Notes
    -----
    The node problem (equation 3 of the paper) with squared error is the projection of the mean, so
    no mixed-integer program is solved.  Thresholds are midpoints.  Among equal splits the first
    feature and the lowest threshold win.

    Examples
    --------
    >>> import numpy as np
    >>> from odtlib.constrained import ConstrainedTreeRegressor, sets
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> y = np.array([[8, 0], [6, 0], [7, 0], [0, 5], [0, 6], [7, 0]])
    >>> model = ConstrainedTreeRegressor(sets.AtMostKNonzero(1, 0, 10), max_depth=1, split="exact")
    >>> model.fit(X, y).predict([[0.0], [9.0]])
    array([[7.        , 0.        ],
           [0.        , 3.66666667]])
    """

    _parameter_constraints = {
        **TreeRegressor._parameter_constraints,
        **SHARED,
        "split": [StrOptions({"mean", "exact", "medoid", "penalty"})],
        "leaf": [StrOptions({"project", "mean", "medoid", "penalty"})],
        "criterion": [StrOptions({"squared_error", "absolute_error", "poisson"})],
        "penalty_strength": [Interval(Real, 0, None, closed="left")],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left"),
                         Interval(Real, 0, 1, closed="right"), None],
    }

    _feasible_leaves = ("project", "medoid")
    _for_squares = ("penalty",)         # splits and leaves that need squared error

    constraints: sets.FeasibleSet | None = None
    _: KW_ONLY
    split: str = "mean"
    leaf: str = "project"
    criterion: str = "squared_error"
    penalty_strength: float = 1.0
    target_weights: str | ArrayLike | None = None
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: float = 1
    ccp_alpha: float = 0.0
    max_features: float | None = None
    on_infeasible_targets: str = "raise"
    tol: float = 1e-6
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = None

    def _solve(self, X, Y, sample_weight):
        fit, original = Fit(Clock(self.time_limit)), Y
        feasible, loss, w = stated_problem(self, Y, sample_weight)
        Y, inside = prepare_targets(self, Y, feasible, loss.weights)
        self._check_combination(Y, original, feasible, loss)
        p, most = X.shape[1], 1.0 if self.max_features is None else self.max_features
        limits = Limits(
            self._depth_within(len(X)), int(self.min_samples_split), int(self.min_samples_leaf),
            min(p, max(1, int(most if isinstance(most, Integral) else most * p))),
            int(check_random_state(self.random_state).randint(2**31)))
        growth = self._grow(X, Y, sample_weight, loss, feasible, limits, fit)
        tree = self._predictions(growth, Y, w, inside, feasible, loss, X)
        if self.ccp_alpha > 0:
            # scikit-learn's impurity is the mean over the targets, per unit of weight
            tree = cut_back(tree, tree.n_splits, self.ccp_alpha * w.sum() * Y.shape[1],
                            node_costs(tree, X, Y, w, loss))
        self.target_weights_ = loss.weights
        self.leaf_feasible_ = feasible.contains(tree.value, self.tol) | (tree.feature >= 0)
        if self.leaf in self._feasible_leaves and not self.leaf_feasible_.all():
            node = int(np.flatnonzero(~self.leaf_feasible_)[0])
            raise RuntimeError(f"the prediction of leaf {node} is not feasible "
                               f"({feasible.explain(tree.value[node])}); raise tol above the "
                               "accuracy of the projection.")
        single, cost = (loss.cost(original, w, value)
                        for value in (tree.value[0], tree.value[tree.apply(X)]))
        fit.scale = single if np.isfinite(single) else cost
        fit.offer(tree, cost)
        return tree, fit.report()

    def _warm_up(self, X, Y, sample_weight):
        feasible, loss, _ = stated_problem(self, Y, sample_weight)
        return compile_growth(loss, self.split, feasible)

    def _grow(self, X, Y, sample_weight, loss, feasible, limits, fit):
        rate = float(self.penalty_strength) if self.split == "penalty" else np.inf
        return grow_tree(X, Y, sample_weight, loss, self.split, feasible, rate, limits, fit)

    def _check_combination(self, Y, given, feasible, loss):
        """Refuse what cannot be done."""
        for kind in (self.split, self.leaf):
            if kind in self._for_squares and self.criterion != "squared_error":
                raise ValueError(f"{kind!r} needs criterion='squared_error', got "
                                 f"{self.criterion!r}; use split='exact' and leaf='project'.")
        if self.criterion == "poisson" and self.target_weights is not None:
            raise ValueError("Poisson deviance takes no target_weights; leave them out.")
        if self.split == "exact" or self.leaf == "project" or self.criterion == "poisson":
            loss.check(Y, given, feasible)

    def _predictions(self, growth, Y, w, inside, feasible, loss, X):
        """Give every node the prediction that it would have as a leaf."""
        tree, value = growth.tree, growth.tree.value.copy()
        only_squares = loss.name == "squared_error"
        if only_squares and self.leaf == "project":
            value = feasible.project(value, loss.weights)
        elif self.leaf == "penalty":
            value = huber_points(value, feasible, self.penalty_strength, loss.weights)
        elif not (only_squares and self.leaf == "mean"):
            for node, rows in enumerate(node_rows(tree, X)):
                if self.leaf == "medoid":
                    value[node] = self._medoid(loss.medoid, rows, Y, w, inside, feasible, loss)
                elif self.leaf == "mean" or (tree.feature[node] >= 0 and self.ccp_alpha == 0):
                    value[node] = loss.center(Y[rows], w[rows])
                else:
                    value[node] = loss.best(Y[rows], w[rows], feasible)
        return tree.replace(value=value)

    @staticmethod
    def _medoid(medoid, rows, Y, w, inside, feasible, loss):
        """Return the medoid of the feasible rows of a node."""
        candidates = Y[rows[inside[rows]]]
        if len(candidates):
            return medoid(Y[rows], w[rows], distinct_rows(candidates)[0])
        # No row of the node is feasible (on_infeasible_targets="keep").
        return loss.nearest(medoid(Y[rows], w[rows], Y[rows]), feasible)
