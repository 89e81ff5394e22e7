"""What the words of the papers mean here: thresholds and tests, all in one place.

A number in capitals is a threshold.  Gains are differences, data set by data set, of which positive
ones speak for the statement.  Every function returns whether the statement holds and what was
counted.  No statement holds where all values are equal.
"""

from __future__ import annotations

import numpy as np

from .evidence import Missing
from .rules import SHARE

LEVEL = 0.05                # of all tests
CLEAR = 0.5                 # points: "clearly", with a significant difference
SLIGHT = 1.0                # points: "slightly" is more than rounding and at most this
ROUNDING = 0.05             # points
COMPARABLE = 4.0            # points between the means of methods that are "comparable"
CLOSE = 1.0                 # points between two methods that are "comparable" on one data set
HALF = (0.4, 0.6)           # share of the data sets that are "about half"
REMARKABLE = 3.0            # points: "remarkably", "much" better or worse
VERY_CLOSE = 0.1            # points
SIMILAR = 0.02              # relative: "similar" values
SIMILAR_TIME = 1.25         # times: "similar, slightly larger"; a "relatively small" gain
COMPARABLE_ERRORS = 1.3     # times, largest over smallest
GOOD_COMPROMISE = 1.05      # times the least error
MUCH = 3.0                  # times: "much longer", "notably harder", "demanding"
ORDER = 10.0                # times: an order of magnitude
ORDERS = 100.0              # times: several of them, on
SOME = 0.25                 # of the data sets, with one order in the mean
FEW_SECONDS = 10.0
MINUTES = 600.0             # seconds, the papers' limit
SHALLOW = 0.25              # share of the largest depth
MOSTLY, HARDLY = 50, 10     # per cent of the predictions
STRAIGHT = 0.95             # R squared of a straight line
FEWEST = 5                  # lines on which a word about "most" or "all" is judged


def _gains(values):
    gains = np.asarray(values, float)
    gains = gains[~np.isnan(gains)]
    if len(gains) < FEWEST:
        raise Missing(f"{len(gains)} data sets have records of both; {FEWEST} are needed")
    return gains


def share(condition, text="data sets", *, of=None, at_least=SHARE):
    """Whether a condition holds on nine tenths of the lines that the paper speaks of."""
    condition = np.asarray(condition, bool)
    of = max(of or 0, len(condition))
    said = f"{int(condition.sum())} of {len(condition)} {text}"
    if len(condition) and condition.sum() >= at_least * of - 1e-9:
        return True, said
    if (~condition).sum() > (1 - at_least) * of + 1e-9:
        return False, said
    raise Missing(f"{of - len(condition)} of {of} {text} have no records; it holds on {said}")


def most(values, text="data sets"):
    """Whether "most" hold, "more than half": a gain on more than half of the lines."""
    gains = _gains(values)
    return bool((gains > 0).mean() > 0.5), f"{int((gains > 0).sum())} of {len(gains)} {text}"


def throughout(values, text="data sets"):
    """Whether it "always" holds: no loss on nine tenths of the lines, a gain on over half."""
    gains = _gains(values)
    held = (gains >= 0).mean() >= SHARE and (gains > 0).mean() > 0.5
    return bool(held), (f"{int((gains > 0).sum())} better and {int((gains == 0).sum())} equal of "
                        f"{len(gains)} {text}")


def wilcoxon(values, alternative):
    """P-value of the signed-rank test; 1 where all lines are equal."""
    from scipy import stats
    gains = np.round(_gains(values), 9)
    if not gains.any():
        return 1.0
    return float(stats.wilcoxon(gains[gains != 0], alternative=alternative).pvalue)


def clearly(values):
    """Whether gains are "clear": half a point in the mean, and significantly."""
    gains = _gains(values)
    p = wilcoxon(gains, "greater")
    return bool(gains.mean() >= CLEAR and p < LEVEL), f"by {gains.mean():.2f} points, p = {p:.2g}"


def better(values):
    """Whether one is "better": in the mean, and significantly."""
    gains = _gains(values)
    p = wilcoxon(gains, "greater")
    return bool(gains.mean() > 0 and p < LEVEL), f"by {gains.mean():.2f} points, p = {p:.2g}"


def about_equal(values):
    """Whether both are "about as accurate": not significantly apart, a median below a point."""
    gains = _gains(values)
    p = wilcoxon(gains, "two-sided")
    return bool(abs(np.median(gains)) < CLOSE and p >= LEVEL), (
        f"better on {int((gains > 0).sum())}, equal on {int((gains == 0).sum())}, worse on "
        f"{int((gains < 0).sum())}, median {np.median(gains):+.2f}, mean {gains.mean():+.2f} "
        f"points, p = {p:.2g}")


def comparable_on(values):
    """On how many data sets two methods are comparable: within one point, either way."""
    gains = _gains(values)
    return int((np.abs(gains) <= CLOSE).sum()), len(gains)


def factor(slow, quick):
    """Geometric mean of the ratios of two series of times, and how many there are."""
    ratio = np.asarray(slow, float) / np.asarray(quick, float)
    ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
    if not len(ratio):
        raise Missing("no data set has finite times of both")
    return float(np.exp(np.log(ratio).mean())), len(ratio)


def linear(copies, seconds):
    """Whether times of one data set grow linearly with its rows.

    A straight line fits with an R squared of 0.95, and from the fewest to the most rows the time
    grows by at least half, and at most a quarter more, of the factor by which the rows grow.
    """
    copies, seconds = np.asarray(copies, float), np.asarray(seconds, float)
    grown, rows = seconds[-1] / seconds[0], copies[-1] / copies[0]
    residual = seconds - np.polyval(np.polyfit(copies, seconds, 1), copies)
    total = ((seconds - seconds.mean()) ** 2).sum()
    fit = 1 - (residual ** 2).sum() / total if total > 0 else 0.0
    return bool(fit >= STRAIGHT and rows / 2 <= grown <= 1.25 * rows)
