"""Figures of the book: a style for light and dark pages, and the plane as a tree cuts it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from odtlib.plotting import (
    BOX_INK,
    COLORS,
    INK,
    REGION,
    color_of,
    counted,
    ink_of,
    leaf_color,
    listing,
    new_axes,
    settings,
    tree_alt,
    words_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from odtlib.tree import DecisionTree

__all__ = ["COLORS", "partition", "style"]

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
THEMES = {"both": ("none", INK), "light": ("#FFFFFF", BOX_INK), "dark": ("#121212", "#E0E0E0")}


def style(theme: str = "both") -> AbstractContextManager:
    """Draw everything inside the ``with`` block readable on light and dark pages.

    Parameters
    ----------
    theme : {"both", "light", "dark"}, default="both"
        ``"both"`` is a transparent background with grey text, of contrast 4.3 on the white and
        on the dark page. ``"light"`` and ``"dark"`` paint their own background, with text of
        contrast above 10.

    Returns
    -------
    context manager
        The previous settings come back at its end.
    """
    if theme not in THEMES:
        raise ValueError(f"theme is {theme!r}; use 'both', 'light' or 'dark'.")
    # A notebook's backend turns interactive when it is first used; inside the block that would be
    # undone at its end, and later figures would not be shown.
    plt.draw_if_interactive()
    return mpl.rc_context(settings(*THEMES[theme]))


def partition(tree: DecisionTree, X: ArrayLike | None = None, y: ArrayLike | None = None,
              features: tuple[int, int] = (0, 1), ax: Axes | None = None, *,
              limits: Sequence[float] | None = None, feature_names: Sequence[str] | None = None,
              class_names: Sequence[str] | None = None) -> Axes:
    """Draw how a tree cuts the plane of two features: one exact rectangle per leaf.

    Parameters
    ----------
    tree : DecisionTree
        A tree that splits on no other features than these two.
    X : array-like of shape (n_rows, n_features), default=None
        Rows to show, in the features of the tree.
    y : array-like of shape (n_rows,), default=None
        Their labels: the colour and the shape of the points.
    features : pair of int, default=(0, 1)
        The features of the horizontal and of the vertical axis.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; by default a new figure.
    limits : (left, right, bottom, top), default=None
        The part of the plane to show; by default the rows, or else the thresholds, with a margin.
    feature_names, class_names : sequence of str, default=None
        Names to show instead of those in the tree.

    Returns
    -------
    matplotlib.axes.Axes
        With ``ax.alt``.
    """
    other = sorted(set(tree.feature[tree.feature >= 0].tolist()) - set(features))
    if other:
        raise ValueError(f"The tree also splits on {listing(tree.feature_name(j) for j in other)};"
                         " a partition of the plane needs a tree over the two features alone.")
    words = words_of(tree, None, feature_names, class_names)
    if X is not None:
        X = np.asarray(X, np.float64)
    if limits is None:
        shown = [np.r_[tree.threshold[tree.feature == j], [] if X is None else X[:, j]]
                 for j in features]
        limits = [edge for values in shown for edge in _margin(values, 0.3 if X is None else 0.05)]
    ax = new_axes((5.0, 4.2)) if ax is None else ax
    ink = ink_of(ax)
    for leaf, left, right, bottom, top in _rectangles(tree, features, limits):
        ax.add_patch(Rectangle((left, bottom), right - left, top - bottom, zorder=1,
                               facecolor=(*leaf_color(tree, leaf), REGION), edgecolor=ink,
                               linewidth=0.8))
    handles = []
    if tree.kind == "classification":
        found = set(tree.label[tree.feature < 0].tolist())
        codes = None if X is None or y is None else _codes_of(y, tree.classes)
        for k, name in enumerate(words.classes):
            handle = Patch(facecolor=(*to_rgb(color_of(k)), REGION), edgecolor=ink, label=name)
            if codes is not None and np.any(codes == k):
                rows = X[codes == k]
                handle = ax.scatter(rows[:, features[0]], rows[:, features[1]], s=22, zorder=3,
                                    marker=MARKERS[k % len(MARKERS)], color=color_of(k),
                                    edgecolor="white", linewidth=0.5, label=name)
            elif k not in found:
                continue
            handles.append(handle)
    elif tree.value.shape[1] == 1 and np.ptp(tree.value[tree.feature < 0]) > 0:
        values = tree.value[tree.feature < 0]
        scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(values.min(), values.max()), "cividis")
        bar = ax.figure.colorbar(scale, ax=ax, alpha=REGION)
        bar.set_label("prediction", color=ink)
        bar.ax.tick_params(colors=ink)
        bar.outline.set_edgecolor(ink)
    if X is not None and (y is None or tree.kind == "regression"):
        ax.scatter(X[:, features[0]], X[:, features[1]], s=14, color=ink, zorder=3, linewidth=0)
    names = [tree.feature_name(j) if feature_names is None else feature_names[j] for j in features]
    ax.set(xlim=limits[:2], ylim=limits[2:], xlabel=names[0], ylabel=names[1])
    if 2 <= len(handles) <= len(COLORS):
        ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False,
                  ncol=min(4, len(handles)), labelcolor=ink)
    rows = "" if X is None else f" {counted(len(X), 'row is', 'rows are')} shown as points."
    ax.alt = (f"The plane of {names[0]} (horizontal) and {names[1]} (vertical), cut into "
              f"{counted(tree.n_leaves, 'rectangle', 'rectangles')} by a tree.{rows} "
              f"{tree_alt(tree, words)}")
    return ax




def _codes_of(y, classes):
    y = np.asarray(y)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y holds the label {y[unknown].tolist()[0]!r}, which the tree does not "
                         f"know; its classes are {listing(classes)}.")
    order = np.argsort(classes)
    return order[np.searchsorted(classes, y, sorter=order)]


def _margin(values, share):
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    extra = share * (high - low) or 1.0
    return low - extra, high + extra


def _rectangles(tree, features, limits):
    """Yield (leaf, left, right, bottom, top) for every leaf that is seen within the limits."""
    stack = [(0, tuple(limits))]
    while stack:
        node, (left, right, bottom, top) = stack.pop()
        if left >= right or bottom >= top:
            continue
        if tree.feature[node] < 0:
            yield node, left, right, bottom, top
            continue
        t = tree.threshold[node]
        if tree.feature[node] == features[0]:
            parts = (left, min(t, right), bottom, top), (max(t, left), right, bottom, top)
        else:
            parts = (left, right, bottom, min(t, top)), (left, right, max(t, bottom), top)
        stack += [(tree.right[node], parts[1]), (tree.left[node], parts[0])]
