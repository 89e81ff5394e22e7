"""What integer programs and column generation share: units of weights, and limits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

MAX_WHOLE_SUM = 1e6         # of whole weights: solvers tell objectives one apart up to it
TOTAL = 1e4     # that other weights are brought to: an absolute 1e-6 is then 1e-10 of it


def look(clock):
    """Raise TimeUp if a clock has expired; None is a clock without limit."""
    if clock is not None:
        clock.check()


def in_units(weight, most=MAX_WHOLE_SUM):
    """Return the factor that brings weights to the unit in which a solver resolves them best.

    They become the smallest integers in the same proportions, or sum up to 10,000 where such
    integers sum up to more than ``most``.  The second result says whether they become integers.
    """
    share = weight / weight.max()
    try:
        whole = np.all(weight == np.rint(weight)) and weight.sum() < 2**53
        multiple = weight.max() if whole else common_denominator(share, lambda: "the weights")
    except ValueError:
        multiple = np.inf
    if multiple * share.sum() <= most:
        numbers = np.rint(share * multiple).astype(np.int64)
        return multiple / np.gcd.reduce(numbers) / weight.max(), True
    return TOTAL / share.sum() / weight.max(), False


def common_denominator(values, what):
    """Return the least number that makes all values whole.

    ValueError if a value is no fraction with a denominator of up to a million, or the least common
    multiple of the denominators is above 2**40; ``what()`` says in its message what they are.
    """
    least = 1
    for value in np.unique(values):
        fraction = Fraction(float(value)).limit_denominator(1_000_000)
        if abs(float(fraction) - value) > 1e-14 * abs(value):       # more than rounding
            raise ValueError(f"CP-SAT needs whole coefficients, and {what()} has {value:.17g}; "
                             "use solver='highs' or round the weights.")
        least = int(np.lcm(least, fraction.denominator))
        if least > 2**40:
            raise ValueError(f"CP-SAT needs whole coefficients, and those of {what()} have no "
                             "small common denominator; use solver='highs' or round the weights.")
    return least
