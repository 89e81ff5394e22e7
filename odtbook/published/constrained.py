"""The models of Birbil et al. (2024), and the splits and leaves of their released code."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.utils._param_validation import StrOptions

from odtbook.published import _medoid_kernels as kernels
from odtlib import ConstrainedTreeRegressor
from odtlib._numba.warm import SECONDS, warm_up
from odtlib.constrained.builder import LazyBuilder
from odtlib.constrained.regressor import node_rows
from odtlib.constrained.sets import (
    AtMostKNonzero,
    Box,
    FeasibleSet,
    Implication,
    Indicator,
    MixedBinary,
)

SECONDS[METHOD := "medoids by mean distance"] = 2
MEDOID, PRINTED, RELEASED_PENALTY = "euclidean-medoid", "linear-penalty", "released-penalty"
WORDS = {MEDOID, PRINTED, RELEASED_PENALTY}


def paper_model(name: str, version: str = "corrected", max_courses: int | None = None,
                n_targets: int | None = None) -> FeasibleSet:
    """Return one of the three models of Birbil et al. (2024), as printed or as corrected.

    Parameters
    ----------
    name : {"class", "scores", "cars"}
        Data set.
    version : {"corrected", "printed"}, default="corrected"
        The printed scores model swaps targets in its third line, the printed cars model has one
        target only, and the printed class model allows one course although the data has two.
    max_courses : int, optional
        For class: maximum number of courses (default: 2 corrected, 1 printed).
    n_targets : int, optional
        For class: number of courses on offer (default: any).

    Returns
    -------
    FeasibleSet
        It knows the signed residuals of equation 5, see :class:`PaperTreeRegressor`.
    """
    if version not in ("corrected", "printed"):
        raise ValueError(f"version must be 'corrected' or 'printed', got {version!r}.")
    printed = version == "printed"
    if name == "class":
        model = AtMostKNonzero(max_courses or (1 if printed else 2), 0.0,
                               110.0 if printed else 100.0, n_targets)
        model._signed_residuals = (1.0, 0.0, 100.0)
    elif name == "scores" and printed:
        # y_j <= 110 b_j, y_2 >= 50 b_3, y_1 + y_2 >= 110 b_1 (the paper counts from one)
        A = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0], [-1, -1, 0]]
        B = [[-110, 0, 0], [0, -110, 0], [0, 0, -110], [0, 0, 50], [110, 0, 0]]
        model = MixedBinary(A, B, np.zeros(5), lower=0.0, upper=110.0)
        model._signed_residuals = ([1.0, -1.0, 0.0], 0.0, 100.0)
    elif name == "scores":
        model = (Box(0.0, 100.0, 3) & Implication(({1: 1.0}, 50.0), [2], 3)
                 & Implication(({1: 1.0, 2: 1.0}, 110.0), [0], 3))
        model._signed_residuals = ([1.0, -1.0, 0.0], 0.0, 100.0)
    elif name == "cars" and printed:
        model = AtMostKNonzero(1, 1.0, 100_000.0, n_targets=1)
    elif name == "cars":
        model = Indicator(0, 1, 1.0, 110_000.0)
        model._signed_residuals = (0.0, 0.0, [0.0, np.inf])
    else:
        raise ValueError(f"name must be 'class', 'scores' or 'cars', got {name!r}.")
    return model


def has_signed_residuals(feasible: FeasibleSet) -> bool:
    """Return whether a set is a model of the paper to which its equation 5 applies.

    Parameters
    ----------
    feasible : FeasibleSet
        Any set.

    Returns
    -------
    bool
    """
    return hasattr(feasible, "_signed_residuals")


def euclidean_medoid(Y: ArrayLike, w: ArrayLike | None = None,
                     candidates: ArrayLike | None = None,
                     weights: ArrayLike | None = None) -> np.ndarray:
    """Return the row of least total Euclidean distance, as the released code takes it.

    Parameters
    ----------
    Y : array, shape (n_rows, n_targets)
        Rows.
    w : array, shape (n_rows,), optional
        Their weights (default: one each).
    candidates : array, shape (n_candidates, n_targets), optional
        Rows to choose from (default: ``Y``); the first of equals is taken.
    weights : array, shape (n_targets,), optional
        Weight of each target in the squared distance (default: one each).

    Returns
    -------
    array, shape (n_targets,)
    """
    w = np.ones(len(Y)) if w is None else w
    candidates = Y if candidates is None else candidates
    root = 1.0 if weights is None else np.sqrt(weights)
    blocks = np.array_split(candidates * root, 1 + len(candidates) * len(Y) // 10**7)
    return candidates[np.argmin(np.concatenate([cdist(b, Y * root) @ w for b in blocks]))]


def solve_courses(mean: ArrayLike, max_courses: int, strength: float | None = None) -> np.ndarray:
    """Return what the paper's program predicts for a child of the class data, found by SCIP.

    The paper minimises the squared error over all rows of the child.  About their mean this is the
    same but for a constant, and quicker.

    Parameters
    ----------
    mean : array, shape (n_targets,)
        Mean grades of the child's rows.
    max_courses : int
        Maximum number of courses with a grade.
    strength : float, optional
        Weight of the signed residuals (equation 5), which stand for the constraints then.  As in
        the released code they count once for each row, and bounds of 0 and 100 stay.

    Returns
    -------
    array, shape (n_targets,)
        Grades between 0 and 100, to about 0.02: SCIP takes the error within its tolerance.
    """
    from ortools.math_opt.python import mathopt
    program = mathopt.Model()
    grades = [program.add_variable(lb=0.0, ub=100.0) for _ in mean]
    taken = [program.add_binary_variable() for _ in mean]
    error = sum((grade - m) * (grade - m) for grade, m in zip(grades, mean, strict=True))
    residuals = [grade - 110.0 * one for grade, one in zip(grades, taken, strict=True)]
    residuals.append(sum(taken) - max_courses)
    if strength is None:
        for residual in residuals:
            program.add_linear_constraint(residual <= 0.0)
        program.minimize(error)
    else:
        program.minimize(error + strength * sum(residuals))
    result = mathopt.solve(program, mathopt.SolverType.GSCIP)
    return np.array(result.variable_values(grades))


class _Builder(LazyBuilder):
    """Split by the squared error about the point that a word predicts for each child."""

    def __init__(self, X, Y, w, loss, split, points, limits, fit):
        super().__init__(X, Y, w, loss, split, Box(), np.inf, None, limits, fit)
        self.points = points

    def _raise_bounds(self, start, end, rows, sums, count):
        table, listed, weights = self.table, self.listed, self.loss.weights
        if self.points is None:
            return True, self._by_feature(count, lambda same: kernels.euclidean_medoids(
                table.order, table.targets, table.sample_weight, start, end, listed.feature[same],
                listed.position[same], listed.n_side[same], listed.sums_left[same], sums,
                listed.plain[same], weights, listed.low[same]))
        for side, part in enumerate((listed.sums_left[:count], sums - listed.sums_left[:count])):
            n = listed.n_side[:count, side]
            mean = part / n[:, None] + self.origin
            moved = (weights * (mean - self.points(mean, n)) ** 2).sum(axis=1)
            listed.low[:count, side] = listed.plain[:count, side] + n * moved
        return True, count


class PaperTreeRegressor(ConstrainedTreeRegressor):
    """Grow the trees of :class:`~odtlib.ConstrainedTreeRegressor`, or those of the paper's code.

    Parameters are those of the base class.  Three more words for ``split`` and ``leaf`` repeat
    Birbil et al. (2024); all need ``criterion="squared_error"``.  "euclidean-medoid" takes the row
    of least mean Euclidean distance, as the released code does.  On sets of :func:`paper_model`,
    "linear-penalty" adds ``penalty_strength`` times the signed residuals (equation 5 as printed),
    which rewards slack, and "released-penalty" n times as much, with targets within the bounds of
    the released code.

    Examples
    --------
    >>> import numpy as np
    >>> from odtbook.published import PaperTreeRegressor, paper_model
    >>> X, y = np.arange(4.0).reshape(-1, 1), np.array([[9.0, 0], [8, 0], [0, 7], [0, 5]])
    >>> model = PaperTreeRegressor(paper_model("class"), leaf="released-penalty", max_depth=1)
    >>> model.fit(X, y).predict([[0.0]])
    array([[8., 0.]])
    """

    _parameter_constraints = {
        **ConstrainedTreeRegressor._parameter_constraints,
        "split": [StrOptions({"mean", "exact", "medoid", "penalty"} | WORDS)],
        "leaf": [StrOptions({"project", "mean", "medoid", "penalty"} | WORDS)],
    }
    _feasible_leaves = (*ConstrainedTreeRegressor._feasible_leaves, MEDOID)
    _for_squares = (*ConstrainedTreeRegressor._for_squares, *WORDS)

    def _grow(self, X, Y, sample_weight, loss, feasible, limits, fit):
        if self.split not in WORDS:
            return super()._grow(X, Y, sample_weight, loss, feasible, limits, fit)
        return _Builder(X, Y, sample_weight, loss, self.split,
                        self._points(self.split, feasible, loss), limits, fit).run()

    def _warm_up(self, X, Y, sample_weight):
        if self.split not in WORDS:
            return super()._warm_up(X, Y, sample_weight)

        def run():
            X, Y = np.arange(8.0).reshape(-1, 1), np.tile(np.eye(2), (4, 1))
            small = PaperTreeRegressor(split=MEDOID, leaf="mean", max_depth=1)
            tree, _ = small._solve(X, Y, None)
            tree.apply(X)

        return warm_up(METHOD, kernels.euclidean_medoids, run)

    def _points(self, word, feasible, loss):
        """Return what a penalty predicts for given means and weights of rows; None for medoids."""
        if word == MEDOID:
            return None
        if not has_signed_residuals(feasible):
            raise ValueError(f"{word!r} reproduces Birbil et al. and needs a set made by "
                             "paper_model; use 'penalty'.")
        coefficients, lower, upper = map(np.asarray, feasible._signed_residuals)
        shift = 0.5 * float(self.penalty_strength) * coefficients
        if word == RELEASED_PENALTY:
            return lambda means, n: np.clip(means - shift, lower, upper)
        return lambda means, n: means - shift / loss.weights / n[:, None]

    def _predictions(self, growth, Y, w, inside, feasible, loss, X):
        if self.leaf not in WORDS:
            return super()._predictions(growth, Y, w, inside, feasible, loss, X)
        points = self._points(self.leaf, feasible, loss)
        if points is not None:
            return growth.tree.replace(value=points(growth.tree.value, growth.weight))

        def medoid(Y, w, candidates):
            return euclidean_medoid(Y, w, candidates, loss.weights)

        return growth.tree.replace(value=np.array([
            self._medoid(medoid, rows, Y, w, inside, feasible, loss)
            for rows in node_rows(growth.tree, X)]))
