"""Compare methods over many data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from odtlib.plotting import COLORS, ink_of, listing, new_axes
from odtlib.requirements import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


def corrected_interval(differences: ArrayLike, test_share: float,
                       level: float = 0.95) -> tuple[float, float]:
    """Return an interval for the mean difference of two methods over resampled test sets.

    Training sets of different folds share most of their rows, so that the usual t-interval is too
    short.  The variance is multiplied by ``1 / J + n_test / n_train`` in place of ``1 / J``, as
    Nadeau and Bengio (2003) propose.

    Parameters
    ----------
    differences : array, shape (n_test_sets,)
        One difference per test set, at least two.
    test_share : float
        Share of the rows in each test set, 0.2 for five folds.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    low, high : float
    """
    from scipy.stats import t
    differences = np.asarray(differences, dtype=np.float64)
    count = len(differences)
    if differences.ndim != 1 or count < 2:
        raise ValueError("corrected_interval needs a vector of at least two differences.")
    if not 0 < test_share < 1:
        raise ValueError(f"test_share is {test_share}; give the share of the rows in a test set, "
                         "between 0 and 1.")
    width = t.ppf(0.5 + level / 2, count - 1) * differences.std(ddof=1) * np.sqrt(
        1 / count + test_share / (1 - test_share))
    return float(differences.mean() - width), float(differences.mean() + width)


def critical_difference(scores: DataFrame, alpha: float = 0.05, ax: Axes | None = None, *,
                        higher_is_better: bool = True) -> tuple[Axes, DataFrame]:
    """Compare methods over many data sets by ranks: Friedman and Nemenyi tests, and a diagram.

    The diagram shows what that of Demšar (2006) does, with one line per method: a dot at its
    average rank (1 is best), and on the right a bar beside methods whose ranks do not differ
    significantly.

    Parameters
    ----------
    scores : DataFrame of shape (n_data_sets, n_methods)
        One row per data set (or split), one column per method; at least three methods and two rows.
    alpha : float, default=0.05
        Level of both tests. When the Friedman test does not reject at this level, the Nemenyi
        test is not consulted: all methods are joined by one bar.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure.
    higher_is_better : bool, default=True
        False for errors and times.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With ``ax.alt``.
    table : DataFrame
        Average rank and mean score of every method, best first. ``table.attrs`` holds
        ``friedman_p``, ``critical_difference`` (in ranks) and ``nemenyi_p`` (a DataFrame).
    """
    import pandas as pd
    from scipy.stats import friedmanchisquare, studentized_range

    scikit_posthocs = needs("scikit_posthocs", "experiments", "critical_difference")
    scores = pd.DataFrame(scores)
    n_rows, n_methods = scores.shape
    if n_methods < 3 or n_rows < 2:
        raise ValueError(f"scores has {n_rows} rows and {n_methods} columns; the Friedman test "
                         "needs at least two data sets and three methods (for two methods use "
                         "scipy.stats.wilcoxon).")
    if scores.isna().any(axis=None):
        raise ValueError("scores has missing values; drop the data sets that not every method "
                         "has run on.")
    if not scores.columns.is_unique:
        raise ValueError("scores has two columns of the same name; give every method its own.")
    ranks = scores.rank(axis=1, ascending=not higher_is_better).mean().sort_values(kind="stable")
    with np.errstate(invalid="ignore"):
        friedman = float(friedmanchisquare(*scores.to_numpy().T).pvalue)
    friedman = 1.0 if np.isnan(friedman) else friedman  # every row is one tie
    nemenyi = scikit_posthocs.posthoc_nemenyi_friedman(scores.to_numpy())
    nemenyi.index = nemenyi.columns = scores.columns
    nemenyi = nemenyi.fillna(1.0)
    quantile = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    table = pd.DataFrame({"average rank": ranks, "mean score": scores.mean()[ranks.index]})
    table.attrs = {"friedman_p": friedman, "nemenyi_p": nemenyi, "alpha": alpha,
                   "critical_difference": float(quantile * np.sqrt(n_methods * (n_methods + 1)
                                                                  / (6 * n_rows)))}
    judged = nemenyi if friedman < alpha else nemenyi * 0 + 1.0

    ax = new_axes((5.2, 1.0 + 0.28 * n_methods)) if ax is None else ax
    ink, place = ink_of(ax), np.arange(n_methods)
    ax.plot(ranks, place, "o", color=COLORS[0], ms=7, zorder=3)
    for y, rank in zip(place, ranks):
        ax.annotate(f"{rank:.2f}", (rank, y), (8, 0), textcoords="offset points", va="center",
                    color=ink)
    right = ranks.max() + 0.18 * (n_methods - 1)
    for k, (first, last) in enumerate(_groups(judged.loc[ranks.index, ranks.index], alpha)):
        ax.plot(2 * [right + 0.03 * (n_methods - 1) * k], [first - 0.2, last + 0.2],
                color=COLORS[1], ls="-", lw=4, solid_capstyle="butt")
    distance = table.attrs["critical_difference"]
    low = max(ranks.min() - 0.05 * (n_methods - 1), 1)
    ax.plot([low, low + distance], 2 * [-1], "|-", color=ink, lw=1.2)
    ax.annotate(f"critical difference {distance:.2f}", (low, -1), (0, 6),
                textcoords="offset points", color=ink)
    ax.set_yticks(place, ranks.index)
    ax.tick_params(axis="y", length=0)
    ax.set(ylim=(n_methods - 0.5, -2), xlabel="average rank (1 is best)")
    ax.grid(axis="y", lw=0.5)
    order = ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items())
    pairs = [(a, b) for i, a in enumerate(ranks.index) for b in ranks.index[i + 1:]
             if judged.loc[a, b] < alpha]
    ax.alt = (f"Average ranks of {n_methods} methods over {n_rows} data sets, 1 is best: {order}. "
              f"Friedman test p = {friedman:.2g}. "
              + (f"Significantly different at level {alpha:g} (Nemenyi): "
                 f"{listing(f'{a} and {b}' for a, b in pairs)}." if pairs else
                 f"No two methods differ significantly at level {alpha:g}."))
    return ax, table


def _groups(p_values, alpha):
    """Return first and last position of the largest groups without a significant difference."""
    n, groups = len(p_values), []
    for first in range(n):
        last = max(k for k in range(first, n) if p_values.iloc[first, k] >= alpha or k == first)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups
