"""Ranks of methods over data sets, and the tests behind them."""

import sys

import numpy as np
import pandas as pd
import pytest
from pictures import close_figures as close_figures
from scipy.stats import friedmanchisquare, sem, t

from odtbook import statistics
from odtlib.plotting import COLORS


def test_critical_difference():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.normal(size=(30, 4)) + [0, 0.1, 2, 4],
                          columns=["CART", "CART*", "BinOCT", "MurTree"])
    ax, table = statistics.critical_difference(scores)
    expected = scores.rank(axis=1, ascending=False).mean()
    assert table.index.tolist() == expected.sort_values().index.tolist()
    assert table["average rank"].to_dict() == pytest.approx(expected.to_dict())
    assert table.attrs["friedman_p"] == pytest.approx(friedmanchisquare(*scores.T.to_numpy())[1])
    # Demsar (2006), Table 5(a): q = 2.569 for four methods at 0.05.
    assert table.attrs["critical_difference"] == pytest.approx(2.569 * np.sqrt(20 / 180), abs=1e-3)
    apart = table.attrs["nemenyi_p"] < 0.05
    for a in scores:
        for b in scores:  # the p values and the critical difference are one and the same test
            distance = abs(expected[a] - expected[b])
            assert apart.loc[a, b] == (distance > table.attrs["critical_difference"])
    assert "MurTree and CART" in ax.alt and "CART and CART*" not in ax.alt
    _, errors = statistics.critical_difference(-scores, higher_is_better=False)
    assert errors["average rank"].to_dict() == table["average rank"].to_dict()


def test_critical_difference_without_a_difference():
    rng = np.random.default_rng(1)
    same = pd.DataFrame(np.tile(rng.random((6, 1)), 3), columns=list("abc"))
    for scores in (same, pd.DataFrame(rng.random((6, 3)), columns=list("abc"))):
        ax, table = statistics.critical_difference(scores)
        assert table.attrs["friedman_p"] > 0.05
        assert ax.alt.endswith("No two methods differ significantly at level 0.05.")
        assert bars(ax) == [(0, 2)]  # one bar joins all


def bars(ax):
    """First and last method beside each bar."""
    return [(round(line.get_ydata()[0] + 0.2), round(line.get_ydata()[1] - 0.2))
            for line in ax.lines if line.get_color() == COLORS[1]]


def test_bars_stand_beside_the_methods_that_do_not_differ():
    rng = np.random.default_rng(3)
    scores = pd.DataFrame(rng.normal(size=(25, 6)) + 0.45 * np.arange(6), columns=list("abcdef"))
    ax, table = statistics.critical_difference(scores)
    p = table.attrs["nemenyi_p"].loc[table.index, table.index].to_numpy()
    pairs = {(i, j) for i in range(6) for j in range(i + 1, 6) if p[i, j] >= 0.05}
    covered = {(i, j) for a, b in bars(ax) for i in range(a, b + 1) for j in range(i + 1, b + 1)}
    assert len(bars(ax)) > 1
    assert covered == pairs
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table.index)


@pytest.mark.parametrize("scores, message", [
    (np.ones((5, 2)), "at least two data sets and three methods"),
    (np.ones((1, 3)), "at least two data sets and three methods"),
    (np.array([[1.0, 2, 3], [1, np.nan, 2]]), "missing values"),
    (pd.DataFrame(np.ones((3, 3)), columns=["a", "a", "b"]), "two columns of the same name"),
])
def test_critical_difference_refuses(scores, message):
    with pytest.raises(ValueError, match=message):
        statistics.critical_difference(scores)


def test_a_missing_package_for_ranks_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(ModuleNotFoundError, match=r"critical_difference needs scikit_posthocs, "
                                                  r"which is not installed; pip .*\[experiments\]"):
        statistics.critical_difference(np.ones((3, 3)))


def test_the_corrected_interval_is_wider_by_the_share_of_the_test_rows():
    rng = np.random.default_rng(0)
    differences = rng.normal(1, 2, 10)
    plain = t.interval(0.95, 9, differences.mean(), sem(differences))
    low, high = statistics.corrected_interval(differences, 0.2)
    assert (low + high) / 2 == pytest.approx(differences.mean())
    # 1/10 + 1/4 in place of 1/10
    assert high - low == pytest.approx((plain[1] - plain[0]) * np.sqrt(3.5))
    assert statistics.corrected_interval(differences, 0.2, 0.5)[0] > low
    with pytest.raises(ValueError, match="at least two"):
        statistics.corrected_interval([1.0], 0.2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        statistics.corrected_interval(differences, 20)
