"""A line in each leaf: least squares on a few regressors, with a ridge penalty."""

from __future__ import annotations

from numbers import Real

import numpy as np

from .additive import AdditiveObjective

FLAT = 1e-6     # a regressor that varies less than this share, beside the others, gets no slope


def one_regressor(sums):
    """Return the cost of the best line on a single regressor; see :class:`LinearLeaves`."""
    weight = max(sums[0], 1e-300)
    mean, best = sums[1] / weight, 0.0
    for k in range(2, len(sums) - 1, 3):
        varies = sums[k + 1] - sums[k] / weight * sums[k]
        along = sums[k + 2] - sums[k] * mean
        saved = along / max(varies, 1e-300) * along
        best = max(best, saved if varies > FLAT * sums[k + 1] else 0.0)
    return sums[-1] - mean * sums[1] - best


def all_regressors(sums):
    """Return the cost of the line on all regressors; leave in ``sums`` what gives its slopes.

    They are the products of 1, the regressors and the target with each other, row by row of the
    upper triangle.  Row ``a`` becomes what the rows before leave of it (Cholesky without roots).
    """
    n = 1
    while n * (n + 1) // 2 < len(sums):
        n += 1
    for a in range(n):
        row_a = a * n - a * (a - 1) // 2 - a
        whole = sums[row_a + a]
        for b in range(a):
            row_b = b * n - b * (b - 1) // 2 - b
            pivot = sums[row_b + b]
            factor = sums[row_b + a] / max(pivot, 1e-300) if pivot > 0 else 0.0
            for c in range(a, n):
                sums[row_a + c] -= factor * sums[row_b + c]
        if a < n - 1 and sums[row_a + a] <= FLAT * whole:
            sums[row_a + a] = 0.0
    return sums[-1]


class LinearLeaves(AdditiveObjective):
    """A line in each leaf: the least squared error of ``b_0 + b x`` for some features ``x``.

    A leaf also pays ``alpha |b|^2`` times its weight (ridge).  Each row pays its part of that, so
    two leaves with one line cost as much as one leaf; a penalty for each leaf would make splits
    that change nothing cost something.  The numbers of a row are its weight times the products of
    1, x and y with each other.

    The tree predicts with the lines (``tree_.slopes``).  The features must be numbers, and trees
    split them like all others.  A regressor gets no slope in a leaf where it varies, beside the
    others, by less than 1e-6 of its squares around its mean over all rows: values that differ by
    .2 % of their distance to that mean count as equal, since sums keep no more digits of slopes.
    Rows whose weights are 1e6 apart can come to this.  "Optimal" is meant among these lines, and up
    to 1e-9 of the squares of the targets around their mean.

    Parameters
    ----------
    features : sequence of int or str
        The regressors: positions, or names of columns of a data frame.
    alpha : float, default=0.0
        Ridge penalty, in the unit of the squared regressors; at least 0.
    single : bool, default=False
        Whether each leaf uses only one of the features, the best.
    """

    of_quantities = True
    adds_last = True
    ill_conditioned = True      # where a regressor hardly varies, slopes are quotients of rounding

    def __init__(self, features, alpha=0.0, single=False):
        super().__init__()
        self.features, self.alpha, self.single = features, alpha, single

    @property
    def leaf_cost(self):
        """The function that returns the cost of a leaf."""
        return one_regressor if self.single else all_regressors

    def statistics(self, X, y, sample_weight):
        """Return the numbers of each row, with one target ``y`` (n_rows,)."""
        if (np.ndim(y) != 1 or isinstance(self.features, str) or len(self.features) == 0
                or not isinstance(self.alpha, Real) or not self.alpha >= 0):
            raise ValueError(f"{self!r} needs one target, a list of at least one feature, and an "
                             f"alpha of at least 0; y has shape {np.shape(y)}.")
        x = np.column_stack([self._feature(X, feature) for feature in self.features])
        weight, total = sample_weight, sample_weight.sum()
        self.unit_ = np.frexp(np.abs(x).max(axis=0))[1]     # powers of 2: no square is 0 or inf
        x = np.ldexp(x, -self.unit_)
        # Centred and in their own scale, sums lose least.
        self.centre_, self.mean_ = weight @ x / total, float(weight @ y / total)
        self.spread_ = np.sqrt(weight @ (x - self.centre_) ** 2 / total)
        self.spread_[self.spread_ == 0] = 1.0
        x, y = (x - self.centre_) / self.spread_, y - self.mean_
        ridge = np.ldexp(self.alpha * weight[:, None] / self.spread_ ** 2, -2 * self.unit_)
        if self.single:
            of_each = [[weight * x[:, k], weight * x[:, k] ** 2 + ridge[:, k], weight * x[:, k] * y]
                       for k in range(x.shape[1])]
            return np.column_stack([weight, weight * y, *sum(of_each, []), weight * y ** 2])
        z = np.column_stack([np.ones(len(y)), x, y])
        first, second = np.triu_indices(z.shape[1])
        products = weight[:, None] * z[:, first] * z[:, second]
        products[:, (first == second) & (first > 0) & (first <= x.shape[1])] += ridge
        return products

    def leaf_value(self, sums):
        """Return the value at zero of all features, and the slope along each of ``features``."""
        q = len(self.spread_)
        slopes = np.zeros(q)
        if self.single:
            weight, of_y, of_each = sums[0], sums[1], sums[2:-1].reshape(q, 3)
            varies = of_each[:, 1] - of_each[:, 0] ** 2 / weight
            along = of_each[:, 2] - of_each[:, 0] * of_y / weight
            used = varies > FLAT * of_each[:, 1]
            if used.any():
                best = np.argmax(np.where(used, along ** 2 / np.where(used, varies, 1.0), -1.0))
                slopes[best] = along[best] / varies[best]
            intercept = (of_y - of_each[:, 0] @ slopes) / weight
        else:
            all_regressors(sums)
            rows = np.zeros((q + 2, q + 2))
            rows[np.triu_indices(q + 2)] = sums
            line = np.zeros(q + 1)
            for a in range(q, -1, -1):
                if rows[a, a] > 0:
                    line[a] = (rows[a, -1] - rows[a, a + 1:-1] @ line[a + 1:]) / rows[a, a]
            intercept, slopes = line[0], line[1:]
        slopes = slopes / self.spread_
        return np.array([self.mean_ + intercept - self.centre_ @ slopes,
                         *np.ldexp(slopes, -self.unit_)])
