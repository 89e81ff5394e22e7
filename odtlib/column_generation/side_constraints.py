"""Constraints over the predictions of all leaves: recall, precision, parity between groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from odtlib.text import number_text
from odtlib.tolerance import ROUNDING


@dataclass(frozen=True)
class SideConstraints:
    """Hold linear constraints over the classes that a tree predicts for the training rows.

    Constraint ``i`` is ``low[i] <= sum of effect[i, r, class predicted for r] <= high[i]``, in the
    unit of the weights.

    Parameters
    ----------
    names : tuple of str
        What each limits, in words.
    effect : array, shape (n_constraints, n_rows, n_classes)
        What each row adds when it is predicted as each class.
    low, high : array, shape (n_constraints,)
        Limits of the sums.
    scale : float
        Weight of all rows.
    """

    names: tuple
    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scale: float

    def times(self, factor):
        """Return the constraints in another unit of the weights."""
        return replace(self, effect=factor * self.effect, low=factor * self.low,
                       high=factor * self.high, scale=factor * self.scale)

    def excess(self, totals):
        """Return the total by which sums, shape (n_constraints, ...), break the limits.

        It is 0 where they break them by rounding errors only.
        """
        low, high = (np.reshape(limit, (-1,) + (1,) * (np.ndim(totals) - 1))
                     for limit in (self.low, self.high))
        over = np.maximum(low - totals, totals - high)
        return np.where(over > ROUNDING * self.scale, over, 0.0).sum(axis=0)

    def totals(self, predicted):
        """Return the sums for the predicted classes of the rows."""
        return self.effect[:, np.arange(len(predicted)), predicted].sum(axis=1)

    def broken_by(self, predicted):
        """Return by how much the predicted classes of the rows break the limits."""
        return float(self.excess(self.totals(predicted)))

    def measures(self, predicted):
        """Return the largest disparity, where it is limited, for a report."""
        both = np.isfinite(self.low) & np.isfinite(self.high)
        if not both.any():
            return {}
        return {"disparity": float(np.abs(self.totals(predicted)[both]).max() / self.scale)}


def side_constraints(y, weight, classes, *, min_recall=None, min_precision=None,
                     max_disparity=None, disparity="demographic-parity", protected=None):
    """Return the side constraints that the parameters of the classifier ask for, None for none.

    ``y`` holds class numbers; the other parameters are those of
    :class:`~odtlib.ColumnGenerationClassifier`.
    """
    names, effects, low, high = [], [], [], []
    n_classes, total = len(classes), float(weight.sum())

    def add(name, effect, lower_limit, upper_limit):
        names.append(name)
        effects.append(effect)
        low.append(lower_limit)
        high.append(upper_limit)

    for code, share in _of_classes(min_recall, classes, "min_recall"):
        effect, of_class = np.zeros((len(y), n_classes)), y == code
        # as shares of all weight: a light class beside heavy ones is no rounding error
        effect[of_class, code] = weight[of_class] * (total / weight[of_class].sum())
        add(f"recall of {classes[code]} at least {number_text(share)}", effect, share * total,
            np.inf)
    for code, share in _of_classes(min_precision, classes, "min_precision"):
        effect = np.zeros((len(y), n_classes))
        effect[:, code] = weight * ((y == code) - share)
        add(f"precision of {classes[code]} at least {number_text(share)}", effect, 0.0, np.inf)
    if max_disparity is not None:
        counted = np.ones(len(y), bool) if disparity == "demographic-parity" else y == 1
        groups, group = np.unique(protected, return_inverse=True)
        size = np.bincount(group.ravel()[counted], weight[counted], len(groups))
        if len(groups) < 2 or n_classes != 2 or not np.all(size > 0):
            raise ValueError(
                f"protected has {len(groups)} distinct values and y {n_classes} classes; there "
                "must be two classes and at least two groups" + (
                    "." if disparity == "demographic-parity" else
                    f", each with rows of class {classes[-1]}."))
        for a, b in combinations(range(len(groups)), 2):
            effect = np.zeros((len(y), 2))
            for one, sign in ((a, 1.0), (b, -1.0)):
                rows = counted & (group.ravel() == one)
                effect[rows, 1] = sign * weight[rows] * (total / size[one])
            add(f"disparity between {groups[a]} and {groups[b]} at most "
                f"{number_text(max_disparity)}", effect, -max_disparity * total,
                max_disparity * total)
    if not names:
        return None
    return SideConstraints(tuple(names), np.array(effects), np.array(low), np.array(high), total)


def _of_classes(shares, classes, name):
    """Yield class number and share of a dict from labels to shares."""
    code_of_label = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    for label, share in (shares or {}).items():
        if label not in code_of_label or not 0 <= share <= 1:
            raise ValueError(f"{name} has {label!r}: {share!r}; give labels of y, and shares from "
                             "0 to 1.")
        yield code_of_label[label], float(share)
