"""Random problems and parameters, which can be made simpler one choice at a time."""

from typing import NamedTuple

import numpy as np

EXTREME = np.array([-1.7e308, -1.0, -1e-300, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.7e308])


class Nothing(Exception):
    """What was drawn is no case: there is nothing to compare."""


def need(condition):
    """Give the case up unless a condition holds."""
    if not condition:
        raise Nothing


class Problem(NamedTuple):
    """Rows, labels or targets, weights or None; and those of the rows of positive weight."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    rows: np.ndarray
    labels: np.ndarray
    kept: np.ndarray

    @property
    def used(self):
        """Return which rows have a positive weight."""
        return np.ones(len(self.X), bool) if self.weight is None else self.weight > 0

    @property
    def classes(self):
        """Return the labels, as codes from 0."""
        return np.unique(self.labels, return_inverse=True)[1]


class Draw:
    """The random choices of one fit.

    Every choice takes one random number, whatever comes of it, and the values of the table come
    from another generator.  So ``simpler`` can undo some of them without changing the others:
    ``("choice", 3)`` is the first of the values that the third choice has, ``("row", 3)`` leaves a
    row out, ``("column", 1)`` a column, and ``"weights"`` and ``"ranks"`` are taken for themselves.
    """

    def __init__(self, seed, simpler=()):
        self.random = np.random.default_rng([seed, 0])
        self.values = np.random.default_rng([seed, 1])
        self.simpler, self.parts = frozenset(simpler), []

    def _is_simple(self, part):
        self.parts.append(part)
        return part in self.simpler

    def pick(self, first, *others):
        """Return one of several values; the first is the simplest."""
        number = int(self.random.integers(1 + len(others)))
        simple = self._is_simple(("choice", len(self.parts)))
        return first if simple or not number else others[number - 1]

    def number(self, low, high):
        """Return a whole number; the lowest is the simplest."""
        return self.pick(*range(low, high + 1))

    def chance(self, share):
        """Return True with a probability; False is simpler."""
        true = self.random.random() < share
        return bool(true and not self._is_simple(("choice", len(self.parts))))

    # ---------------------------------------------------------------------------- tables

    def value(self, *options):
        """Return one of several values of a table."""
        return options[int(self.values.integers(len(options)))]

    def shape(self, rows, features):
        """Draw the shape of a table, before some rows and columns are left out."""
        self.n = self.value(*range(1, rows + 1), *range(rows // 2, rows + 1))
        p = self.value(*range(1, features + 1))
        self.rows_left = [row for row in range(self.n) if not self._is_simple(("row", row))]
        self.columns_left = [j for j in range(p) if not self._is_simple(("column", j))]
        return self.n, p

    def left(self, of_rows):
        """Return what is left of an array with a value for each row."""
        return None if of_rows is None else np.asarray(of_rows)[self.rows_left]

    def features(self, n, p, binary=False, missing=False):
        """Return features with ties, constants, and values that are hard to tell apart."""
        columns = []
        for _ in range(p):
            few = self.values.integers(0, max(2, n // 2), n)
            kinds = {"binary": few % 2.0, "few": few.astype(float), "constant": np.full(n, 3.25),
                     "normal": self.values.normal(size=n), "far from zero": 1e8 + few * 1e-3,
                     "one ulp": 1.0 + few * np.spacing(1.0),
                     "extreme": EXTREME[self.values.integers(0, len(EXTREME), n)]}
            columns.append(kinds["binary" if binary else self.value(*kinds)])
        X = np.column_stack(columns)
        if n > 3 and self.values.random() < 0.3:            # rows that are there twice
            X[:n // 2] = X[n - n // 2:]
        if missing:
            X[self.values.random(X.shape) < self.value(0.1, 0.4, 0.9)] = np.nan
        X = X[self.rows_left][:, self.columns_left]
        if self._is_simple("ranks"):
            X = np.column_stack([np.where(np.isnan(x), x, np.unique(x, return_inverse=True)[1])
                                 for x in X.T]) if X.size else X
        return X

    def weights(self, n, whole=False):
        """Return weights of one of many kinds, or None."""
        kinds = [None, np.ones(n), self.values.integers(1, 6, n).astype(float),
                 np.full(n, self.value(3.0, 7.0, 1000.0))]
        if not whole:
            kinds += [self.values.integers(1, 10**6, n).astype(float),
                      self.values.random(n) + 0.01, self.values.integers(1, 4, n) / 3,
                      10.0 ** self.values.uniform(-12, 12, n)]
        weight = self.value(*kinds)
        if weight is None or self._is_simple("weights"):
            return None
        weight = weight.copy()
        if not whole and self.values.random() < 0.3:
            weight *= 10.0 ** self.values.integers(-12, 13)
        if self.values.random() < 0.4:
            weight[self.values.random(n) < 0.3] = 0.0
        weight = self.left(weight)
        if len(weight) and not weight.any():
            weight[0] = 1.0
        return weight

    def labels(self, n, X, most, named):
        """Return labels that a shallow tree nearly explains, or any, or of one class only."""
        classes = self.value(*range(2, most + 1))
        y, some = self.values.integers(0, classes, n), self.values.random(n) < 0.3
        explained, lonely, names = self.values.random(3)
        y = self.left(y)
        if explained < 0.5 and X.size:          # by one split, or by two that pay together
            sides = [x > np.quantile(np.unique(x), 0.5, method="lower") for x in np.nan_to_num(X).T]
            side = sides[0] ^ sides[-1] if explained < 0.3 and len(sides) > 1 else sides[0]
            y = (y * self.left(some) + side) % classes
        if lonely < 0.05:
            y = np.ones_like(y)
        if named and names < 0.2:
            return np.array(["no", "yes", "maybe", "never", "ä b"])[y]
        return y

    def classified(self, rows=12, features=4, classes=5, *, binary=None, missing=False,
                   whole=False, named=True):
        """Draw a classification problem."""
        n, p = self.shape(rows, features)
        binary = self.values.random() < 0.25 if binary is None else binary
        X = self.features(n, p, binary, missing)
        y, weight = self.labels(n, X, classes, named), self.weights(n, whole)
        return self.problem(X, y, weight)

    def measured(self, rows=12, features=4, *, outputs=None, missing=False, binary=None):
        """Draw a regression problem."""
        n, p = self.shape(rows, features)
        binary = self.values.random() < 0.25 if binary is None else binary
        X = self.features(n, p, binary, missing)
        return self.problem(X, self.targets(n, X, outputs), self.weights(n))

    def targets(self, n, X, outputs=None):
        """Return targets of one of several sizes, some of them far from the others."""
        shape = n if outputs is None else (n, outputs)
        y = self.value(self.values.normal(size=shape),
                       self.values.integers(0, 4, shape).astype(float),
                       10.0 ** self.values.integers(-4, 5, shape),
                       1e6 + self.values.normal(size=shape), np.full(shape, 0.1))
        explained, scaled, factor = *self.values.random(2), self.values.integers(-6, 7)
        y = self.left(y)
        if explained < 0.3 and X.size:
            x = np.nan_to_num(X[:, 0])
            y = y + 2 * (x > np.median(x)).reshape(-1, *[1] * (np.ndim(y) - 1))
        return y * 10.0 ** factor if scaled < 0.2 else y

    def problem(self, X, y, weight):
        """Return a problem; there must be something left of it."""
        need(X.size)
        used = np.ones(len(X), bool) if weight is None else weight > 0
        return Problem(X, y, weight, X[used], y[used],
                       np.ones(used.sum()) if weight is None else weight[used])

    def budget(self, depth):
        """Return a number of feature nodes, or None for the full tree."""
        limited, most = self.chance(0.3), 2**depth - 1
        return self.number(0, most) if limited else None

    def price(self, problem, *shares):
        """Return the price of a split as one of several shares of the weight, the first zero."""
        return float(self.pick(*shares) * problem.kept.sum())


def shrink(fails, seed):
    """Return the choices to undo so that the fit still fails, as many as possible.

    ``fails(draw)`` tells whether it does, and draws from the argument alone.
    """
    def still(simpler):
        draw = Draw(seed, simpler)
        return draw.parts if fails(draw) else None

    simpler, parts = set(), still(())
    for _ in range(3 if parts else 0):          # what depends on the clock may not fail again
        before = set(simpler)
        for part in sorted(set(parts), key=str, reverse=True):
            if part not in simpler and (found := still(simpler | {part})) is not None:
                simpler.add(part)
                parts = found
        if simpler == before:
            break
    return frozenset(simpler)
