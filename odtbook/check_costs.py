"""What a leaf costs, with NumPy alone: each row has numbers, and their sums say it.

Costs are in a ``unit``, and what the arithmetic is off by is taken off.  Errors and squares are
whole numbers of it.  Other numbers are split into parts whose sums are exact.

``given`` costs are the reader's own, by the numbers of each row and a function of their sums.
Nobody knows how that function rounds, so the claim says "up to rounding".
"""
from collections import namedtuple

import numpy as np

from odtbook.certificate_file import one_of_each, require, running

MOVES = 45 * 2.0**-52       # of a sum, as a share of its terms, to see how a given cost rounds

# Numbers (n_rows, K); their cost, given sums (K, ...); what a row costs at the most, None where
# nobody knows; and what every tree costs besides.
Costs = namedtuple("Costs", "numbers cost most constant")


def errors(units, y, w):
    """Return the costs of classes ``y``: the weight of all but the heaviest."""
    whole = np.floor(w / units[0])
    return Costs(whole[:, None] * (y[:, None] == np.arange(y.max() + 1)),
                 lambda sums: sums.sum(axis=0) - sums.max(axis=0), whole, 0.0)


def squares(units, y, w):
    """Return the costs of targets: the squared distance to their mean, of scaled targets."""
    unit, _, centre, scale = units
    require(np.frexp(scale)[0] == 0.5, "a limit or unit is out of range")
    y, whole = (y - centre) * scale, np.floor(w / (unit * scale**2))
    each = whole[:, None] * y[:, None]**np.arange(3)
    slop = 2.0**-48 * len(y) * np.abs(y).max() * np.abs(each[:, 1]).sum()
    require(each.sum(axis=0).max() < 2**51, "a unit is out of range")
    return Costs(each, lambda sums: sums[2] - (sums[1]**2 / np.maximum(sums[0], 1) + slop),
                 whole * np.maximum(y - y.min(), y.max() - y)**2 * (1 + 1e-12), 0.0)


def shares(y, w):
    """Return the weight of each row in the column of its class."""
    return np.eye(int(y.max()) + 1)[y] * w[:, None]


def gini(sums):
    """Return the Brier score of the shares of the classes, given their sums in the first axis."""
    total = sums.sum(axis=0)
    return total - (sums**2).sum(axis=0) / np.maximum(total, 1e-300)


def entropy(sums):
    """Return the log loss of the shares of the classes."""
    there = sums > 0
    return (sums * np.log(np.where(there, sums.sum(axis=0), 1) / np.where(there, sums, 1))).sum(0)


def counts(events, exposure):
    """Return exposure, events, and what a rate for each row would leave out."""
    rate = events.sum() / exposure.sum() if events.any() else 1.0
    exposure = exposure * rate          # near the events, logarithms are small
    own = np.log(np.where(events > 0, events, 1) / np.where(events > 0, exposure, 1))
    return np.stack([exposure, events, events * own], axis=1)


def deviance(sums):
    """Return half the Poisson deviance of one rate: ``sum d log(d / e) - D log(D / E)``."""
    exposure, events, own = sums
    there = events > 0
    return own - events * np.log(np.where(there, events, 1) / np.where(there, exposure, 1))


def hazards(known, w):
    """Return the numbers of events and times: the exposure is the Nelson-Aalen estimate.

    ``known`` is (n_rows, 2): whether there was an event, and when it was or the row was last seen.
    """
    event, time = known.T
    order = np.argsort(time)
    at_risk = running(w[order[::-1]])[::-1][np.searchsorted(time[order], time[order])]
    risk = running((w * event)[order] / at_risk)
    return counts(w * event, w * risk[np.searchsorted(time[order], time, "right") - 1])


# How a claim calls it; the numbers of the rows, and the cost of their sums.
OTHERS = {"gini": ("Brier score", shares, gini), "entropy": ("log loss", shares, entropy),
          "poisson": ("half the Poisson deviance", lambda y, w: counts(w * y, w), deviance),
          "survival": ("log likelihood of survival", hazards, deviance),
          "given": ("the leaf costs given, up to rounding,", None, None)}


def exact_parts(numbers):
    """Return numbers as three parts, (n_rows, 3 K), each of which adds up exactly.

    Each is a multiple of a power of two, column by column; what the last leaves out is below
    ``n^3 2^-156`` of all, and rounded down.
    """
    parts = []
    for _ in range(3):
        total = np.maximum(np.abs(numbers).sum(axis=0), 1e-280)
        grid = 2.0**np.ceil(np.log2(total) - 52)
        parts.append(np.floor(numbers / grid) * grid)
        numbers = numbers - parts[-1]
    return np.concatenate(parts, axis=1)


def together(sums):
    """Return the sums of all parts, (K, ...), the small ones first."""
    large, middle, small = np.split(sums, 3)
    return large + (middle + small)


def given(unit, y, leaf_cost):
    """Return costs of the reader's own; ``y`` are the numbers, or these and a constant."""
    numbers, constant = y if isinstance(y, tuple) else (y, 0.0)

    def cost(sums):
        leaves = [leaf_cost(one.copy()) for one in sums.reshape(len(sums), -1).T]
        return one_of_each(leaves, sums.shape[1:])

    whole, moves = numbers.sum(axis=0)[:, None], np.diag(np.abs(numbers).sum(axis=0) * MOVES)
    moved = np.concatenate([whole + n * moves for n in (-2, -1, 0, 1, 2)], axis=1)
    change = np.abs(np.diff(cost(moved).reshape(5, -1), axis=0))
    change = np.minimum(change[[0, 3]], change[[1, 2]])     # a step is no rounding
    slop = max(2.0**-30 * cost(whole)[0], np.nanmax(change, initial=0.0))

    def checked(sums):
        found = cost(together(sums))
        require(np.all(found >= -slop), "a leaf cost is negative, or no finite number")
        return (found - slop) / unit

    return Costs(exact_parts(numbers), checked, None, constant)


def costs_of(objective, units, y, w, leaf_cost):
    """Return the costs of an objective: ``errors``, ``squares`` or one of ``OTHERS``."""
    if objective in ("errors", "squares"):
        return (squares if objective == "squares" else errors)(units, y, w)
    if objective == "given":
        return given(units[0], y, leaf_cost)
    _, made, cost = OTHERS[objective]
    numbers, unit = made(y, w), units[0]
    sizes, total = np.abs(numbers[numbers != 0]), np.abs(numbers).sum(axis=0)
    inside = np.all((sizes > 1e-150) & (sizes < 1e150))     # products of others may be lost
    # No logarithm above is larger than ``digits``, so it multiplies what sums are off by.
    digits = 4 + np.log(total.max() / sizes.min() if inside else np.inf) if len(sizes) else 0.0
    slop = total.sum() * digits * 2.0**-50 * (16 + len(total))
    return Costs(exact_parts(numbers), lambda sums: (cost(together(sums)) - slop) / unit,
                 2 * w / unit if objective == "gini" else None, 0.0)
