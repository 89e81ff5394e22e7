"""Drawings of the book that show an idea: no data, no records, numbers small enough to check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from odtbook.figures import COLORS, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bit_of_a_threshold", "linked_shares", "overlap", "point_between", "projected_means",
           "row_as_flow", "subtree_columns"]

BLUE, ORANGE, GREEN = COLORS[:3]
FAINT = 0.25


def _panels(n: int, height: float, rows: int = 1, **options) -> tuple[Figure, Sequence[Axes]]:
    """Make a figure of the width of the text, with bare panels beside or above each other."""
    figure, axes = plt.subplots(rows, n, figsize=(5.2, height), layout="constrained",
                                squeeze=False, **options)
    for ax in axes.flat:
        ax.axis("off")
    return figure, list(axes.flat)


def _arrow(ax: Axes, start, end, color: str, width: float = 1.8, dashed: bool = False) -> None:
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-" if dashed else "-|>", color=color,
                                 mutation_scale=11, linewidth=width, shrinkA=9, shrinkB=9,
                                 linestyle=":" if dashed else "-"))


def bit_of_a_threshold(value: float = 3.45) -> Figure:
    """Draw what one bit of a node says about one row: six thresholds, the first bit."""
    with style():
        figure, axes = _panels(1, 2.3, rows=2, sharex=True)
        for ax, bit, half, closed, word in zip(
                axes, (0, 1), ((4, 5, 6), (1, 2, 3)), ((1, 4), (3, 6)), ("right", "left"),
                strict=True):
            color = COLORS[1 - bit]
            ax.axhline(0, color="0.5", linewidth=1, zorder=1)
            ax.add_patch(Rectangle((closed[0], -0.3), closed[1] - closed[0], 0.6, alpha=FAINT,
                                   facecolor=color))
            for k in range(1, 7):
                ax.plot([k, k], [-0.3, 0.3], color=color if k in half else "0.5",
                        linewidth=4 if k in half else 1)
                ax.text(k, -0.75, f"$c_{k - 1}$", ha="center")
            ax.plot(value, 0, "o", markersize=10, color=GREEN, zorder=3)
            ax.text(0.1, 0.62, f"bit 0 is {bit}: the threshold is one of the thick ones",
                    va="center")
            other = "left" if word == "right" else "right"
            ax.text(0.1, -1.3, f"shaded rows must not go {word}: this one goes {other}",
                    va="center", color=color, fontweight="bold")
            ax.set(xlim=(0, 7), ylim=(-1.7, 1))
    return figure


def row_as_flow() -> Figure:
    """Draw one row as a unit of flow through a tree, once classified right and once wrong."""
    place = {0: (3, 3), 1: (1.2, 2), 2: (4.8, 2), 3: (0.3, 1), 4: (2.1, 1), 5: (3.9, 1),
             6: (5.7, 1), "sink": (3, -0.35)}
    tests, classes = {0: "$x_1$", 1: "$x_2$", 2: "$x_3$"}, {3: 0, 4: 1, 5: 0, 6: 1}
    path = (0, 2, 5)                       # of a row with x1 = 1 and x3 = 0
    with style():
        figure, axes = _panels(2, 2.8)
        for ax, label in zip(axes, (0, 1), strict=True):
            right = classes[path[-1]] == label
            for k in (0, 1, 2):
                for child in (2 * k + 1, 2 * k + 2):
                    on = k in path and child in path
                    _arrow(ax, place[k], place[child], (BLUE if right else ORANGE) if on
                           else "0.5", 2.6 if on else 1, dashed=not (on and right))
            for leaf in classes:
                on = leaf == path[-1] and right
                _arrow(ax, place[leaf], place["sink"], BLUE if on else "0.5", 2.6 if on else 1,
                       dashed=not on)
            for k, words in {**tests, **classes, "sink": "sink"}.items():
                ax.text(*place[k], words, ha="center", va="center", fontsize=10,
                        color="black", bbox={"boxstyle": "round,pad=0.3", "facecolor": "0.93",
                                             "edgecolor": "0.5"})
            ax.text(3, 4.05, f"row of class {label}", ha="center", fontweight="bold")
            ax.text(3, -1.15, "one unit arrives: right" if right else
                    "nothing can flow: one error", ha="center", color=BLUE if right else ORANGE,
                    fontweight="bold")
            ax.set(xlim=(-0.4, 6.4), ylim=(-1.4, 4.3))
    return figure


def linked_shares(first: Sequence[Sequence[float]] = ((0.5, 0), (0, 0.5)),
                  second: Sequence[Sequence[float]] = ((0, 0.5), (0.5, 0))) -> Figure:
    """Draw the shares of pairs of splits at two leaves, with the sums that each split has."""
    shown = {0: "0", 0.25: "¼", 0.5: "½", 0.75: "¾", 1: "1"}
    with style():
        figure, axes = _panels(2, 2.9)
        for k, (ax, shares) in enumerate(zip(axes, (first, second), strict=True)):
            table = np.asarray(shares, float)
            for i in range(2):
                for j in range(2):
                    ax.add_patch(Rectangle((j, 1 - i), 1, 1, facecolor=ORANGE, edgecolor="0.5",
                                           alpha=0.08 + 0.6 * table[i, j]))
                    ax.text(j + 0.5, 1.5 - i, shown[table[i, j]], ha="center", va="center",
                            fontsize=13)
                ax.text(2.25, 1.5 - i, shown[table[i].sum()], color=BLUE, fontsize=13,
                        ha="center", va="center", fontweight="bold")
                ax.text(i + 0.5, -0.25, shown[table[:, i].sum()], color=BLUE, fontsize=13,
                        ha="center", va="center", fontweight="bold")
                ax.text(-0.12, 1.5 - i, "ab"[i], ha="right", va="center", style="italic")
                ax.text(i + 0.5, 2.12, "ab"[i], ha="center", style="italic")
            ax.text(-0.42, 1, "root tests", rotation=90, ha="center", va="center")
            ax.text(1, 2.45, f"leaf {k}: left node tests", ha="center")
            ax.set(xlim=(-0.6, 2.5), ylim=(-0.5, 2.7), aspect="equal")
        figure.supxlabel("linked by node: the sums (blue) agree\n"
                         "linked by prefix: the cells (orange) must agree, and do not",
                         fontsize=10)
    return figure


def overlap(score: int = 4, left: int = 1, shared: int = 6, came: int = 2) -> Figure:
    """Draw the similarity bound: rows of two data sets, of which one has a known optimum."""
    with style():
        figure, (ax,) = _panels(1, 2.5)
        for x, color in ((-0.85, BLUE), (0.85, ORANGE)):
            ax.add_patch(Circle((x, 0), 1.5, facecolor=color, edgecolor=color, alpha=FAINT))
            ax.add_patch(Circle((x, 0), 1.5, fill=False, edgecolor=color, linewidth=1.5))
        for n, x, width in ((left, -1.65, 0.3), (shared, 0, 0.45), (came, 1.65, 0.3)):
            columns = max(1, round(np.sqrt(n)))
            for k in range(n):
                ax.plot(x + width * (k % columns - (columns - 1) / 2),
                        0.35 * (k // columns - (n - 1) // columns / 2), "o", color="0.5",
                        markersize=8)
        ax.text(-2, 1.35, f"A: solved,\n{score} errors", ha="right", va="center", color=BLUE,
                fontweight="bold")
        ax.text(2, 1.35, "D: not\nsolved", ha="left", va="center", color=ORANGE,
                fontweight="bold")
        gone = "one row left" if left == 1 else f"{left} rows left"
        ax.text(-2.5, 0, f"{gone}:\neach takes\nat most one\nerror away", ha="right",
                va="center")
        ax.text(2.5, 0, f"{came} rows came:\nthey take\nno error\naway", ha="left", va="center")
        ax.text(0, -1.75, f"D has at least {score} − {left} = {score - left} errors",
                ha="center", va="top", fontweight="bold")
        ax.set(xlim=(-4.3, 4.3), ylim=(-2.1, 1.9), aspect="equal")
    return figure


def point_between() -> Figure:
    """Draw three paths of which each row follows two, and a point that follows all three."""
    with style():
        figure, (ax,) = _panels(1, 3.0)
        for corner, width, height, color, words, at in (
                ((0, 0), 3, 2, BLUE, "$x_2 \\leq 2$", (2.95, 1.8)),
                ((0, 0), 2, 3, ORANGE, "$x_1 \\leq 2$", (0.05, 2.8)),
                ((1, 0), 2, 3, GREEN, "$x_1 > 1$", (2.95, 2.8))):
            ax.add_patch(Rectangle(corner, width, height, facecolor=color, alpha=FAINT))
            ax.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=color,
                                   linewidth=1.5))
            ax.text(*at, words, ha="left" if at[0] < 1 else "right", va="top", color="black",
                    bbox={"facecolor": "0.95", "edgecolor": color, "pad": 2})
        for x, y in ((0.5, 0.6), (2.5, 0.6), (1.5, 2.5)):
            ax.plot(x, y, "o", color="0.35", markersize=9, markeredgecolor="white")
            ax.text(x, y - 0.16, "row: ½ + ½ = 1", ha="center", va="top", color="black",
                    fontsize=9, bbox={"facecolor": "0.95", "edgecolor": "none", "pad": 1.5})
        ax.plot(1.5, 1.35, "*", color=COLORS[3], markersize=18, markeredgecolor="white")
        ax.text(1.5, 1.16, "no row: ½ + ½ + ½ > 1", ha="center", va="top", color="black",
                fontsize=9, bbox={"facecolor": "0.95", "edgecolor": "none", "pad": 1.5})
        ax.set(xlim=(-0.1, 3.1), ylim=(-0.1, 3.1))
    return figure


def projected_means(targets, cuts: Sequence[int], feasible, top: float = 9) -> Figure:
    """Draw the means of both children of some splits, and where a set projects them.

    Parameters
    ----------
    targets : ndarray of shape (n_rows, 2)
        The targets, in the order of the feature.
    cuts : sequence of int
        One panel for each: that many rows go left.
    feasible : odtlib.constrained.sets.FeasibleSet
        The two half-axes, or another set whose ``project`` is wanted.
    top : float, default=9
        The end of both axes.
    """
    with style():
        figure, axes = plt.subplots(1, len(cuts), figsize=(5.2, 3.1), layout="constrained",
                                    sharey=True)
        for ax, cut in zip(axes, cuts, strict=True):
            ax.plot([0, 0, top], [top, 0, 0], color="0.5", linewidth=4, alpha=0.5, zorder=1,
                    solid_capstyle="butt")
            added = 0.0
            for rows, color, mark in ((targets[:cut], BLUE, "o"), (targets[cut:], ORANGE, "s")):
                mean = rows.mean(axis=0)
                to = feasible.project(mean)
                added += len(rows) * ((mean - to) ** 2).sum()
                ax.plot(*rows.T, mark, color=color, alpha=0.5, markersize=6, clip_on=False)
                ax.plot(*mean, mark, color=color, markersize=11, markerfacecolor="none",
                        markeredgewidth=2, clip_on=False, zorder=3)
                if np.abs(mean - to).max() > 1e-9:
                    ax.annotate("", to, mean, arrowprops={"arrowstyle": "-|>", "color": color,
                                                          "linewidth": 2})
            ax.set(xlim=(-0.3, top), ylim=(-0.3, top), xlabel="course 1", aspect="equal")
            ax.set_title(f"threshold {cut}.5: adds {added:.1f}", fontsize=10)
        axes[0].set_ylabel("course 2")
    return figure


def subtree_columns(depth: int = 3) -> Figure:
    """Draw a column of each height below the depth: the splits that it chooses, and its leaves."""
    with style():
        figure, axes = _panels(depth, 2.3)
        for h, ax in enumerate(axes):
            chosen = {2**level - 1 for level in range(depth - h)}     # the path to the leftmost
            own = {k for level in range(h + 1) for k in range(
                2 ** (depth - h + level) - 1, 2 ** (depth - h + level) - 1 + 2**level)}
            place = {k: ((k + 1.5) / 2**level - 1, depth - level) for level in range(depth + 1)
                     for k in range(2**level - 1, 2 ** (level + 1) - 1)}
            for k, (x, y) in place.items():
                color = BLUE if k in chosen else ORANGE if k in own else "0.5"
                if k:
                    ax.plot(*zip((x, y), place[(k - 1) // 2], strict=True), color="0.5",
                            linestyle="-", linewidth=1, zorder=1)
                ax.plot(x, y, "o" if y else "s", color=color, markersize=9 if color != "0.5" else 5)
            splits, leaves = len(chosen) + sum(place[k][1] > 0 for k in own), 2**h
            ax.text(0.5, depth + 0.75, f"h = {h}", ha="center", fontweight="bold")
            ax.text(0.5, -0.9, f"{splits} splits,\n{leaves} " + ("leaf" if h == 0 else "leaves"),
                    ha="center", va="center")
            ax.set(xlim=(-0.05, 1.05), ylim=(-1.5, depth + 1.2))
    return figure
